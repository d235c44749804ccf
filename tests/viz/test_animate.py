"""The moving picture of a graph: when each number is seen, and that it stands still for whoever wants that."""

import re
import xml.etree.ElementTree as ET

from drawn_graphs import neuron

from micrograd import Value, no_grad, viz
from micrograd.viz.playing.keyframes import Clock

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture):
    """(classes, text) of every text, in the order of the document."""
    return [(t.get("class", "").split(), t.text) for t in ET.fromstring(picture.svg).iter(f"{SVG}text")]


def seen(picture, kind):
    """Of the texts of one kind, but for the dashes of what is unknown, the text and the class that says when it is
    seen: "t3", "l3-4"; "" is always."""
    found = [
        (text, [c for c in classes if re.fullmatch(r"[tl]\d+(-\d+)?", c)])
        for classes, text in texts(picture)
        if kind in classes and "unknown" not in classes
    ]
    return [(text, when[0] if when else "") for text, when in found]


# ------------------------------------------------------------------------------------------------ when


def test_gradient_of_several_uses_grows_and_is_bold_when_it_is_whole():
    a = Value(3.0, label="a")
    picture = viz.animate(a * a + a * 2)
    of_a = [
        (text, "whole" in classes) for classes, text in texts(picture) if "grad" in classes and "unknown" not in classes
    ][:2]
    assert of_a == [("2.00", False), ("8.00", True)]


def test_every_class_that_moves_has_its_keyframes_and_at_rest_the_last_step_is_seen():
    svg = viz.animate(neuron(), seconds=0.5).svg
    assert "animation-duration:7s;animation-iteration-count:infinite" in svg, "12 steps, and two more of rest"
    named = [name for classes in re.findall(r'class="([^"]*)"', svg) for name in classes.split()]
    used = {name for name in named if re.fullmatch(r"[tlwfb]\d+(-\d+)?", name)}
    assert used == set(re.findall(r"@keyframes (\S+?)\{", svg))
    assert len(used) > 20
    for name, rest in re.findall(r"\.([tw]\d+(?:-\d+)?)\{([^}]*)\}@keyframes", svg):
        assert rest.startswith("opacity:0;") == ("-" in name), "what is seen for a while only"
    assert "@media(prefers-reduced-motion:reduce){.t{animation:none!important}}" in svg


def test_keyframes_stay_within_the_period_and_what_is_seen_to_its_end_stays():
    clock = Clock(3, 1.0)
    for step in range(3):
        clock.landing(step, 3), clock.between(step, step + 1), clock.faint_until(step), clock.drawn(step)
        clock.drawn(step, backward=True)
    assert all(0 <= float(x) <= 100 for x in re.findall(r"([\d.]+)%", clock.style()))
    assert clock.between(1, 3) == "t t1"


# ------------------------------------------------------------------------------------------------ what


def test_ten_nodes_take_less_than_40_kb_and_fetch_nothing():
    svg = viz.animate(neuron()).svg
    assert len(svg.encode()) < 40_000
    assert re.findall(r"<script|href|url\(", svg) == []


def test_without_gradients_there_is_a_forward_pass():
    with no_grad():
        constant = Value(2.0) * 3
    for root in (constant, Value(2.0, requires_grad=False) * 3):
        captions = [text for text, _ in seen(viz.animate(root), "caption")]
        assert not [text for text in captions if text.startswith("Backward")]


# ------------------------------------------------------------------------------------------------ kept


def test_picture_is_as_wide_as_asked_and_no_wider_than_its_graph():
    assert ET.fromstring(viz.animate(neuron(), width=380).svg).get("width") == "380"
    small = viz.animate(Value(2.0) * 3, width=2000).svg
    assert float(ET.fromstring(small).get("width")) < 500
    assert "translateX" not in small


def test_picture_in_a_readme_has_type_that_can_be_read():
    """At the 838 pixels that GitHub gives it, no type is below 12 pixels, and no line has a number that says 1."""
    picture = viz.animate(neuron()).svg
    assert float(ET.fromstring(picture).get("width")) <= 838 * 13 / 12
    assert "\u00d7 1.00" not in [text for classes, text in texts(viz.animate(neuron())) if "factor" in classes]
    assert [text for classes, text in texts(viz.animate(neuron())) if "factor" in classes] == [
        "\u00d7 \u22123.00",
        "\u00d7 2.00",
        "\u00d7 0.50",
        "\u00d7 0.22",
    ]
