"""A dense layer, opened in the player: two tables, whose numbers are those of the model."""

import random

import numpy as np
import pytest
from drawn_graphs import arrays, network, neuron

from micrograd import Tensor, Value
from micrograd.functional import cross_entropy
from micrograd.nn import MLP, Linear, ReLU, Sequential
from micrograd.viz import player
from micrograd.viz.values import short

from .test_player import card

CELLS = """
const hover = cell => cell.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
return [...document.querySelectorAll(`[data-way=${arguments[0]}] [data-cell]`)].map(cell => {
  const at = cell.dataset.cell;
  hover(document.querySelector(`[data-way=${arguments[0]}] [data-cell="${at}"]`));
  return [at, document.querySelector(`#told-${arguments[0]}`).firstChild.textContent
    + (document.querySelector(`#told-${arguments[0]} b`).previousSibling
       ? document.querySelector(`#told-${arguments[0]} b`).textContent : ''), cell.classList[1]];
})
"""


def values(samples=1):
    """A hidden layer of Values with dead neurons and an input of 0, and the loss."""
    random.seed(3)
    model = MLP(2, [4, 1])
    points = [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)][:samples]
    loss = sum((model([Value(a), Value(b)]) - 1.0) ** 2 for a, b in points)
    loss.backward()
    layer = model.layers[0]
    sent = np.array([[n.b.grad for n in layer.neurons]])
    return player(loss, max_nodes=5), "Layer #1", layer, np.array(points), sent


def linear(samples=1):
    """The same of arrays."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(samples, 3))
    x[:, 1] = 0
    layer = Linear(3, 4, rng=rng)
    h = layer(Tensor(x))
    h.retain_grad()
    cross_entropy(Sequential(ReLU(), Linear(4, 3, rng=rng))(h), np.arange(samples) % 3).backward(retain_graph=True)
    loss = cross_entropy(Sequential(ReLU(), Linear(4, 3, rng=rng))(h), np.arange(samples) % 3)
    return loss, layer, x


def grads_of(layer):
    return np.array([[w.grad for w in n.w] for n in layer.neurons])


def opened(page, made, name, width=1280, height=720, **looks):
    """The page of a graph, with the box of this name entered."""
    page.open(made.html, width=width, height=height, reduced_motion=True, **looks)
    page.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", card(page, name))
    page.wait("!document.getElementById('table').hidden")
    return page


def read(text):
    return float(text.replace("−", "-"))


@pytest.mark.parametrize("samples", [1, 4])
def test_gradients_of_an_opened_layer_are_those_of_its_weights(page, samples):
    made, name, layer, _, _ = values(samples)
    grads = grads_of(layer)
    told = opened(page, made, name).run(CELLS, "backward")
    assert [text.split("= ")[-1] for _, text, _ in told] == [short(g) for g in grads.ravel()]
    assert [look for _, _, look in told] == [["low", "zero", "high"][int(np.sign(g)) + 1] for g in grads.ravel()]
