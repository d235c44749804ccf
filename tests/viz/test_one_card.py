"""One card and one writer of SVG: a drawing, a step of a moving picture and the loop show the same."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from drawn_graphs import expression, neuron

from micrograd import Tensor, Value, draw_dot, no_grad, trace
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


def passed(root):
    """The root after a backward pass that leaves every gradient where it is seen."""
    for node in trace(root)[0]:
        if hasattr(node, "_retains_grad"):
            node._retains_grad = True
    root.backward(retain_graph=True)
    return root


def flows(picture):
    """For each line: its class, and the widths of its strands."""
    groups = [g for g in ET.fromstring(picture).iter(f"{SVG}g") if "wire" in g.get("class", "").split()]
    strands = [[part.get("style") for part in g if "line" in part.get("class", "").split()] for g in groups]
    return [(g.get("class"), *widths) for g, widths in zip(groups, strands, strict=True)]


def factors(picture):
    return sorted(text.text for text in ET.fromstring(picture).iter(f"{SVG}text") if text.get("class") == "factor")


@pytest.mark.parametrize("name", ["neuron", "README", "reused", "arrays", "mixed"])
def test_after_a_backward_pass_a_drawing_has_the_lines_and_the_numbers_of_the_moving_picture_at_its_end(name):
    root = passed((GRAPHS | {"mixed": mixed})[name]())
    scene = PlayedGraph(one_root(root, "a test"), {}).story(40).scenes[0]
    made, still = Timeline(scene, placed(scene, film=True)), draw_dot(root, names={}).svg()
    end = made.svg(made.end)
    assert flows(still) == flows(end)
    assert factors(still) == factors(end)


def mixed():
    """A sum of arrays whose gradients have both signs, one sign, and none."""
    x = Tensor(np.array([[1.0, -2.0], [0.5, 3.0]]), requires_grad=True)
    return (x * np.array([[1.0, -1.0], [2.0, 3.0]])).relu().sum() * 2.0


def test_line_into_a_fold_says_the_signs_of_all_that_it_carried():
    a, b = Value(2.0, label="a"), Value(-1.0, label="b")
    terms = [a * b * k for k in range(1, 40)]
    looks = {kind for kind, *_ in flows(draw_dot(passed(sum(terms)), max_nodes=12, names={}).svg())}
    assert {"wire flows above", "wire flows below"} & looks


@pytest.mark.parametrize("form", ["svg", "source"])
def test_drawing_says_nothing_of_gradients_before_there_is_one(form):
    drawing = draw_dot(neuron(), names={})
    text = {"svg": seen_text(drawing.svg()), "source": drawing.source}[form]
    assert not re.search(r'flows|factor|Gradient of|penwidth="3| dir=', text)


def seen_text(picture):
    """A picture without its style sheet and its descriptions."""
    return re.sub("<(title|desc|style)>.*?</", "", picture, flags=re.DOTALL)


def test_legend_of_a_drawing_names_the_root_and_both_signs():
    said = "".join(ET.fromstring(draw_dot(passed(neuron()), names={}).svg()).itertext())
    assert "Gradient of o: positive, negative" in said
    assert "Two strands" not in said
    assert "Two strands" in "".join(ET.fromstring(draw_dot(passed(mixed()), names={}).svg()).itertext())


def test_drawing_runs_no_backward_of_the_users():
    a, ran = Value(2.0, label="a"), []
    out = Value(4.0, (a,), "mine")
    out._backward = lambda: ran.append(1)
    out.backward()
    ran.clear()
    assert "flows" not in draw_dot(out, names={}).svg()
    assert ran == []


def test_line_of_an_array_that_was_written_over_is_grey_and_the_drawing_stands():
    x = Tensor(np.ones(3), requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    z.retain_grad()
    y.retain_grad()
    z.backward(retain_graph=True)
    with no_grad():
        y.data[:] = 0
    assert "card" in draw_dot(z, names={}).svg()


# ------------------------------------------------------------------------------------------------ arrays
@pytest.mark.parametrize("shape", [(2,), (5, 3), (3, 2, 2), (40, 50)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
def test_array_is_a_heat_map_in_a_drawing_as_in_the_moving_picture(shape, dtype):
    x = Tensor((np.arange(np.prod(shape)).reshape(shape) % 5 - 2).astype(dtype))
    if dtype.startswith("float"):
        x = passed((Tensor(x.data, requires_grad=True) * 2).sum())
    still = draw_dot(x, names={}).svg()
    scene = PlayedGraph(one_root(x, "a test"), {}).story(40).scenes[0]
    made = Timeline(scene, placed(scene))
    assert cells(still) == cells(made.svg(made.end))
    assert cells(still)
    assert not re.search(r"\.\.|\u2026|mean ", seen_text(still))


def cells(picture):
    return sorted(
        (p.get("class"), p.get("fill-opacity")) for p in ET.fromstring(picture).iter() if p.get("fill-opacity")
    )
