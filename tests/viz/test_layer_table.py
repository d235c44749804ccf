"""A layer as two tables: each gradient is the product of the numbers at its edges."""

import random
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

from micrograd import Tensor, Value, viz
from micrograd.nn import MLP, Conv2d, Layer, Linear
from micrograd.viz.drawing.svg import MARGIN
from micrograd.viz.text import text_width
from micrograd.viz.values import short

SVG = "{http://www.w3.org/2000/svg}"


def cells(drawing):
    """The look and the tooltip of each cell, in the order of the document."""
    found = [(rect.get("class"), rect.find(f"{SVG}title")) for rect in ET.fromstring(drawing.svg).iter(f"{SVG}rect")]
    return [(look, title.text or "") for look, title in found if title is not None]


def hidden_layer():
    """A layer of neurons of which some are dead, and its inputs, of which some are 0."""
    random.seed(1337)
    model = MLP(2, [6, 5, 1])
    h = model.layers[0]([Value(0.4), Value(-0.7)])
    ((model.layers[2](model.layers[1](h)) - 1) ** 2).backward()
    return model.layers[1], h


def linear():
    layer, x = Linear(3, 4, rng=np.random.default_rng(0)), Tensor([[0.5, 0.0, -2.0]])
    (layer(x).relu() ** 2).sum().backward()
    return layer, x


def numbers(layer, x):
    """The gradients of the weights, those of the biases, and the inputs."""
    if isinstance(layer, Linear):
        assert layer.bias is not None
        return layer.weight.grad, layer.bias.grad, x.data.ravel()
    grads = np.array([[w.grad for w in neuron.w] for neuron in layer.neurons])
    return grads, np.array([neuron.b.grad for neuron in layer.neurons]), np.array([a.data for a in x])


@pytest.mark.parametrize("made", [hidden_layer, linear])
def test_each_gradient_is_the_one_from_the_right_times_the_input_above(made):
    layer, x = made()
    grads, sent, row = numbers(layer, x)
    products = [text for _, text in cells(viz.draw_layer(layer, x)) if "=" in text]
    assert products == [f"{short(s)} × {short(y)} = {short(s * y)}" for s in sent for y in row]
    assert [float(text.split("= ")[1].replace("−", "-")) for text in products] == pytest.approx(grads.ravel(), rel=0.05)


@pytest.mark.parametrize("made", [hidden_layer, linear])
def test_dead_neuron_is_an_empty_row_and_an_input_of_zero_an_empty_column(made):
    layer, x = made()
    grads, sent, row = numbers(layer, x)
    looks = np.array([look for look, text in cells(viz.draw_layer(layer, x)) if "=" in text]).reshape(grads.shape)
    assert (sent == 0).any()
    assert (row == 0).any()
    assert {*looks[sent == 0].ravel(), *looks[:, row == 0].ravel()} == {"zero"}
    assert np.array_equal(looks == "plus", grads > 0)


def test_largest_gradient_is_spelled_out():
    layer, x = hidden_layer()
    grads, sent, row = numbers(layer, x)
    i, j = np.unravel_index(abs(grads).argmax(), grads.shape)
    drawn = viz.draw_layer(layer, x)
    product = (
        f"{short(sent[i])} × {short(row[j])} = {short(grads[i, j])}, the gradient of weight {j + 1} of neuron {i + 1}"
    )
    assert drawn.words == f"A layer of 6 inputs and 5 neurons: {product}"
    assert product in re.findall(r">([^<>]+)</text>", drawn.svg)


@pytest.mark.parametrize("inputs", [1, 3, 16, 32])
def test_texts_of_one_line_stand_beside_each_other_and_within_the_picture(inputs):
    layer, x = Linear(inputs, 2, rng=np.random.default_rng(0)), Tensor(np.ones((1, inputs)))
    layer(x).sum().backward()
    picture = ET.fromstring(viz.draw_layer(layer, x).svg)
    lines = {}
    for text in picture.iter(f"{SVG}text"):
        start, size = float(text.get("x", "")), {"title": 14.5, "caption": 14}.get(text.get("class", ""), 12.5)
        lines.setdefault(text.get("y"), []).append((start, start + text_width(text.text or "", size)))
    wide = float(picture.get("width", "")) - 2 * MARGIN
    for spans in lines.values():
        assert all(end <= start for (_, end), (start, _) in pairwise([*sorted(spans), (wide, wide)]))


def summed():
    layer = Linear(2, 2, rng=np.random.default_rng(0))
    layer(Tensor([[1.0, 2.0], [3.0, -1.0]])).sum().backward()
    return layer, [1.0, 2.0]


def diverged(x, into="weight"):
    layer = Linear(2, 2, rng=np.random.default_rng(0))
    getattr(layer, into).data.flat[0] = x
    with np.errstate(all="ignore"):
        layer(Tensor([[1.0, 2.0]])).tanh().sum().backward()
    return layer, [1.0, 2.0]


@pytest.mark.parametrize(
    ("made", "error", "said"),
    [
        (lambda: diverged(np.nan), ValueError, r"nan or inf, first weight\[0, 0\] = nan; a table shows"),
        (lambda: diverged(-np.inf), ValueError, r"first weight\[0, 0\] = -inf; a table shows"),
        (lambda: diverged(np.inf, "bias"), ValueError, r"first bias\[0\] = inf; a table shows"),
        (summed, ValueError, "not those of this sample alone"),
        (lambda: (Layer(2, 3), [1.0, 2.0, 3.0]), ValueError, "x has 3 numbers; the layer takes 2"),
        (lambda: (Layer(40, 2), [1.0] * 40), ValueError, "40 inputs and 2 neurons; 32 can be drawn"),
        (lambda: (Conv2d(1, 1, 2), [1.0]), TypeError, "found Conv2d"),
    ],
)
def test_what_is_no_layer_of_one_sample_is_refused(made, error, said):
    with pytest.raises(error, match=said):
        viz.draw_layer(*made())
