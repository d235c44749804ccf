"""One card and one writer of SVG: a drawing, a step of a moving picture and the loop show the same."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from drawn_graphs import expression, neuron

from micrograd import Tensor, Value, draw_dot
from micrograd.viz.playing.animation import Timeline
from micrograd.viz.playing.placement import placed
from micrograd.viz.playing.views import PlayedGraph, one_root

SVG = "{http://www.w3.org/2000/svg}"
TIMED = re.compile(r"([tlwfb])(\d+)(?:-(\d+))?")


def reused():
    a = Value(3.0, label="a")
    return (a * a + a * -2.0) * 0.0


def arrays():
    x = Tensor(np.array([[1.0, -1.0], [0.0, np.nan]]), requires_grad=True)
    return (x * 2).sum()


GRAPHS = {
    "neuron": neuron,
    "README": expression,
    "reused": reused,
    "arrays": arrays,
    "leaf": lambda: Value(2.0, label="a"),
}


def film(root):
    scene = PlayedGraph(one_root(root, "a test"), {}).story(40).scenes[0]
    return Timeline(scene, placed(scene))


def seen(element, step=None):
    """An element and what is in it as plain data; of a loop, what is visible at the end of this step."""
    classes, looks = [], element.get("class", "").split()
    for name in looks:
        timed = TIMED.fullmatch(name)
        if timed is None:
            classes += [] if name == "t" else [name]
        elif step is not None:
            kind, start, end = timed[1], int(timed[2]), int(timed[3] or 10_000)
            if kind in "fb" or (kind in "tl" and not start <= step < end):
                return None
            classes += ["waiting"] if kind == "w" and step < start else []
    attributes = {key: x for key, x in element.attrib.items() if key not in ("class", "rx")}
    inside = [x for x in (seen(child, step) for child in element if child.tag != f"{SVG}style") if x is not None]
    return element.tag, sorted(classes), attributes, element.text, inside


@pytest.mark.parametrize("name", GRAPHS)
def test_step_by_itself_is_what_the_loop_shows_at_its_end(name):
    made = film(GRAPHS[name]())
    loop = ET.fromstring(made.svg())
    for step, *_ in made.captions():
        assert seen(ET.fromstring(made.svg(step))) == seen(loop, step), step


def cards(picture):
    """The groups of the cards of a picture."""
    return [g for g in ET.fromstring(picture).iter(f"{SVG}g") if "card" in g.get("class", "").split()]


def parts(card):
    """What is on a card, but for its gradient, its tooltip, and what only happens in a pass."""
    passing = {"grad", "forward", "backward", "receiving", "on"}
    own = [part for part in card if part.tag != f"{SVG}title" and not passing & {*part.get("class", "").split()}]
    found = [part for each in own for part in each.iter() if part.get("class") != "body"]
    right = next(float(part.get("width")) for part in card if "body" in part.get("class", "").split())
    from_right = [right * bool({"end", "number"} & {*part.get("class", "").split()}) for part in found]
    return [
        (part.tag, part.get("class"), part.text, round(float(part.get("x", 0)) - start), part.get("y"))
        for part, start in zip(found, from_right, strict=True)
    ]


@pytest.mark.parametrize("name", ["neuron", "reused", "leaf"])  # the README's has cards called v1 in the player
def test_drawing_at_rest_has_the_cards_of_the_moving_picture(name):
    out = GRAPHS[name]()
    made, still = film(out), cards(draw_dot(out, names={"out": out}).svg())
    assert list(map(parts, still)) == list(map(parts, cards(made.svg(made.seeded))))


def lines(picture):
    """For each line: its class, its width and its dash, and where its arrowhead is on the card that it points to."""
    places = {}
    for card in cards(picture):
        x, y = map(float, re.findall(r"[-\d.]+", card.get("transform")))
        body = next(part for part in card if "body" in part.get("class", "").split())
        places[x, y] = (float(body.get("width")), float(body.get("height")))
    found = []
    for wire in [g for g in ET.fromstring(picture).iter(f"{SVG}g") if "wire" in g.get("class", "").split()]:
        x, y = map(float, re.findall(r"[-\d.]+", wire[1].get("d"))[:2])
        reached = min(
            places,
            key=lambda at: max(at[0] - 60 - x, x - at[0] - places[at][0], at[1] - y, y - at[1] - places[at][1], 0),
        )
        found.append((wire.get("class"), wire[0].get("style"), round(x - reached[0]), round(y - reached[1])))
    return sorted(found)


@pytest.mark.parametrize("name", ["neuron", "README", "reused"])
def test_before_the_backward_pass_the_lines_of_a_drawing_and_of_the_moving_picture_are_the_same(name):
    root = GRAPHS[name]()
    made = film(root)
    assert [line[:3] for line in lines(draw_dot(root, names={}).svg())] == [
        line[:3] for line in lines(made.svg(made.seeded))
    ]


def test_when_all_gradients_are_known_every_arrow_points_back_and_is_as_wide_as_its_gradient():
    made = film(neuron())
    for kind, style, *_ in lines(made.svg(made.end)):
        assert re.fullmatch("wire flows (above|below)", kind)
        assert re.fullmatch(r"stroke-width:\d(\.\d)?", style)
    ends = {(e, look) for e in range(len(made.scene.wires)) for *_, look, back, _ in made.looks(e) if back}
    assert len({e for e, _ in ends}) == len(made.scene.wires)
