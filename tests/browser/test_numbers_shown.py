"""Numbers in view: each has the sign and the size that its label says, in every graph, window and step."""

import random
from functools import cache

import pytest
from drawn_graphs import arrays, attended, crowd, expression, network, neuron, paths

from micrograd import Value
from micrograd.nn import MLP
from micrograd.viz import player


def xor(points=(((0.0, 1.0), 1),)):
    random.seed(1337)
    model = MLP(2, [4, 1], activation="tanh")
    loss = sum((model(x) - label) ** 2 for x, label in points)
    loss.label = "loss"
    return loss


def tiny():
    a, b = Value(-4.0, label="a"), Value(0.0035, label="b")
    return (a * b + a * 1e-7) * 1e-9


GRAPHS = {
    "expression": expression,
    "one point": xor,
    "network": network,
    "neuron": neuron,
    "paths": paths,
    "arrays": arrays,
    "crowd": crowd,
    "tiny": tiny,
    "attended": lambda: attended()[0].sum(),
}


@cache
def html(name):
    return player(GRAPHS[name](), names={}).html


WINDOWS = [(1280, 720), (1440, 789), (1920, 1000), (390, 844)]
OFF = """
    const read = text => +text.replaceAll("−", "-"), found = [];
    for (const card of document.querySelectorAll("#graph .card")) {
      const label = card.getAttribute("aria-label");
      for (const [word, kind] of [["data", "data"], ["gradient", "grad"]]) {
        const said = label.match(new RegExp(`(?:^|, )${word} ([−.e0-9]+)(?:,|$)`));
        const slot = card.querySelector(`.number.${kind}`);
        if (!said || !slot) continue;
        const [x, y] = [said[1], slot.textContent].map(read);
        const alike = Math.abs(x - y) <= .05 * Math.abs(x) && Math.sign(x) === Math.sign(y);
        if (!alike) found.push(`${label}: ${slot.textContent}`);
        const [text, body] = [slot, card.querySelector(".body")].map(e => e.getBoundingClientRect());
        if (text.left < body.left) found.push(`${label}: ${slot.textContent} leaves its card`);
      }
    }
    return found;
"""


@pytest.mark.parametrize("size", WINDOWS, ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize("name", GRAPHS)
def test_number_in_view_is_the_one_that_its_label_says(page, name, size):
    page.open(html(name), *size, reduced_motion=True)
    for _ in range(6):
        assert page.run(OFF) == []
        page.run("document.getElementById('descend').click()")
