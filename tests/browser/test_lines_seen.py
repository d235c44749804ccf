"""Lines are seen: what lies over them is beside them, at rest, in every window."""

import random

import pytest
from drawn_graphs import expression, neuron, paths

from micrograd.nn import MLP
from micrograd.viz import player


def point():
    """The loss of one point of XOR, with 49 cards."""
    random.seed(1337)
    loss = (MLP(2, [4, 1], activation="tanh")((0.0, 1.0)) - 1) ** 2
    loss.label = "loss"
    return loss


GRAPHS = {"expression": expression, "one point": point, "neuron": neuron, "paths": paths}
SEEN = """  // for each line that carries a gradient, in sight: its pixels, and those of them that nothing lies over
    const svg = document.getElementById("graph"), m = svg.getScreenCTM();
    const room = svg.parentElement.getBoundingClientRect();
    const covers = [...svg.querySelectorAll(".card .body, .badge rect, .pill rect, .pill text")].map(e => {
      const {left, right, top, bottom} = e.getBoundingClientRect(), text = e.tagName === "text";
      return {left, right, top: top + 2 * text, bottom: bottom - 3 * text};  // a text has no ink at its very edges
    });
    return [...svg.querySelectorAll(".wire.flows:not(.dead)")].flatMap(wire => {
      const line = wire.querySelector(".line"), long = line ? line.getTotalLength() * m.a : 0;
      let all = 0, seen = 0;
      for (let along = 0; along <= long; along += 2) {
        const {x, y} = line.getPointAtLength(along / m.a).matrixTransform(m);
        if (x < room.left || x > room.right || y < room.top || y > room.bottom) continue;
        all += 2;
        seen += 2 * !covers.some(b => x > b.left && x < b.right && y > b.top && y < b.bottom);
      }
      return all > long - 4 ? [[wire.querySelector("title").textContent, all, seen]] : [];
    });
"""
ON_CARDS = """
    const cards = [...document.querySelectorAll("#graph .card .body, .badge rect")].map(e => e.getBoundingClientRect());
    return [...document.querySelectorAll("#graph .pill.beside text")].filter(text => {
      const {left, right, top, bottom} = text.getBoundingClientRect();
      return cards.some(b => left + 2 < b.right && b.left < right - 2 && top + 4 < b.bottom && b.top < bottom - 4);
    }).map(text => text.textContent);
"""


@pytest.mark.parametrize("size", [(1280, 720), (1440, 789), (1920, 1000)], ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("present", [False, True], ids=["", "present"])
def test_line_is_seen_nearly_whole_and_its_number_stands_beside_it(page, name, size, present):
    page.open(player(GRAPHS[name](), names={}, present=present).html, *size, reduced_motion=True)
    lines = page.run(SEEN)
    assert sum(seen for *_, seen in lines) >= 0.97 * sum(whole for _, whole, _ in lines)
    assert [line for line, whole, seen in lines if seen < min(20, whole)] == []
    assert page.run(ON_CARDS) == []
