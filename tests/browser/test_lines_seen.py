"""Lines are seen: what lies over them is beside them, at rest, in every window."""

import random

import pytest
from drawn_graphs import attention, classifier, expression, neuron, paths

from micrograd.nn import MLP
from micrograd.viz import player

from .test_player import at_each_step


def point():
    """The loss of one point of XOR, with 49 cards."""
    random.seed(1337)
    loss = (MLP(2, [4, 1], activation="tanh")((0.0, 1.0)) - 1) ** 2
    loss.label = "loss"
    return loss


def four_points():
    """The loss of the four points of XOR, with Values and without their labels."""
    random.seed(1337)
    model, points = MLP(2, [4, 1], activation="tanh"), [((0, 0), -1), ((0, 1), 1), ((1, 0), 1), ((1, 1), -1)]
    return sum((model(x) - y) ** 2 for x, y in points)


GRAPHS = {
    "expression": expression,
    "one point": point,
    "four points": four_points,
    "neuron": neuron,
    "paths": paths,
    "classifier": classifier,
    "attention": attention,
}
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
@pytest.mark.parametrize("name", ["expression", "one point", "neuron", "paths"])
@pytest.mark.parametrize("present", [False, True], ids=["", "present"])
def test_line_is_seen_nearly_whole_and_its_number_stands_beside_it(page, name, size, present):
    page.open(player(GRAPHS[name](), names={}, present=present).html, *size, reduced_motion=True)
    lines = page.run(SEEN)
    assert sum(seen for *_, seen in lines) >= 0.97 * sum(whole for _, whole, _ in lines)
    assert [line for line, whole, seen in lines if seen < min(20, whole)] == []
    assert page.run(ON_CARDS) == []


# ------------------------------------------------------------------------------------------------ the first view
CUT = """  // the cards that are not wholly in sight, and whether a map says so
    const room = document.getElementById("scroll").getBoundingClientRect();
    const out = b => b.left < room.left || b.right > room.right || b.top < room.top - 1 || b.bottom > room.bottom + 1;
    const cards = [...document.querySelectorAll("#graph .card")];
    const cut = cards.filter(card => out(card.querySelector(".body").getBoundingClientRect()));
    const small = Math.min(...[...document.querySelectorAll("#graph text")].filter(text => text.textContent)
      .map(text => parseFloat(getComputedStyle(text).fontSize) * document.getElementById("graph").getScreenCTM().a));
    const names = card => card.getAttribute("aria-label").split(",")[0];
    return [cut.map(names), !document.getElementById("map").hasAttribute("hidden"), small];
"""
WINDOWS = [(1280, 720), (1440, 789), (1920, 1000)]


@pytest.mark.parametrize("size", WINDOWS, ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize("name", ["expression", "four points", "neuron", "paths", "classifier"])
def test_first_view_holds_the_graph_in_type_that_can_be_read(page, name, size):
    page.open(player(GRAPHS[name](), names={}).html, *size, reduced_motion=True)
    cut, _, small = page.run(CUT)
    assert cut == []
    assert small >= 10.99
    assert page.run("const p = document.getElementById('panels'); return p.scrollHeight - p.clientHeight") <= 0


@pytest.mark.parametrize("size", [*WINDOWS, (390, 844)], ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize("name", GRAPHS)
def test_map_is_there_while_a_card_is_cut(page, name, size):
    page.open(player(GRAPHS[name](), names={}).html, *size, reduced_motion=True)
    cut, mapped, _ = page.run(CUT)
    assert mapped == bool(cut)
    page.press("0")  # all of it
    assert page.run(CUT)[:2] == [[], False]


@pytest.mark.parametrize("size", [*WINDOWS, (390, 844)], ids=lambda size: "x".join(map(str, size)))
def test_first_step_shows_where_the_graph_begins(page, size):
    page.open(player(point(), names={}).html, *size, reduced_motion=True)
    page.press("Home")
    cut = page.run(CUT)[0]
    assert "layers.0.neurons.1.w[0]" not in cut


HALF = """  // what of the panels' text is cut at their lower edge, or behind the buttons below
    const panels = document.getElementById("panels"), range = document.createRange();
    range.selectNodeContents(panels);
    const {top} = panels.getBoundingClientRect();
    const bars = ["bar"].map(id => document.getElementById(id).getBoundingClientRect().top).filter(y => y > top);
    const low = Math.min(top + panels.clientTop + panels.clientHeight, ...bars);
    return [...range.getClientRects()].filter(b => b.height < 30 && b.top < low - 1 && b.bottom > low + 1).length;
"""


@pytest.mark.parametrize("size", [*WINDOWS, (390, 844), (360, 640)], ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize("name", ["expression", "neuron", "classifier"])
def test_panels_end_below_a_whole_line_at_each_step(page, name, size):
    page.open(player(GRAPHS[name](), names={}).html, *size, reduced_motion=True)
    card = "document.querySelector('.card')"
    page.run(f"{card}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert page.run(HALF) == 0
    page.press("Escape", "Home")
    assert not any(at_each_step(page, f"(() => {{ {HALF} }})()"))


def test_phase_is_told_as_text(page):
    page.open(player(neuron(), names={}).html, reduced_motion=True)
    for key in ("End", "ArrowLeft", "Home", "ArrowRight"):
        page.press(key)
        look = page.run(
            "const {backgroundColor, borderStyle, boxShadow} = getComputedStyle(document.getElementById('phase'));"
            "return [backgroundColor, borderStyle, boxShadow]"
        )
        assert look == ["rgba(0, 0, 0, 0)", "none", "none"]


@pytest.mark.parametrize("size", WINDOWS, ids=lambda size: "x".join(map(str, size)))
def test_buttons_stay_where_they_are_whatever_the_panel_says(page, size):
    page.open(player(expression(), names={}).html, *size, reduced_motion=True)
    places = []
    for key in ("End", "Home", "ArrowRight", "End"):
        page.press(key)
        places.append(page.run("return document.getElementById('play').getBoundingClientRect().top"))
    assert len(set(places)) == 1
    assert places[0] < size[1] - 30


def test_panel_at_rest_is_one_line_and_opens_on_demand(page):
    page.open(player(expression(), names={}).html, 1280, 720, reduced_motion=True)
    height = "return document.getElementById('panels').offsetHeight"
    assert page.run(height) < 60
    assert page.text("#rest").startswith(
        "g follows b most: 645.58 for each 1Click a number: why? Take a step: g 24.70 → 8.97"
    )
    page.click("#rest .whole")
    assert page.run(height) > 100
    assert page.run("return getComputedStyle(document.getElementById('why')).display") != "none"
