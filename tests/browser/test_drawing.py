"""The built-in layout's SVG in a browser: as a document, as an image, twice on one page, light and dark."""

import base64

import pytest
from drawn_graphs import network, neuron

from micrograd import Value, draw_dot
from micrograd.viz.drawing import svg


def named():
    """A neuron with its gradients, whose output has a long name."""
    out = neuron()
    out.label = "a rather long name for an output"
    out.backward()
    return out


GRAPHS = {"neuron": named, "network": network, "square": lambda: (lambda a: a * a)(Value(float("nan"), label="a"))}


def drawn(name, rankdir="LR"):
    return svg.write(draw_dot(GRAPHS[name](), max_nodes=100).graph, rankdir)


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
@pytest.mark.parametrize("name", GRAPHS)
def test_no_text_leaves_its_card_and_no_card_lies_over_another(page, name, rankdir):
    page.open(drawn(name, rankdir))
    assert page.count("svg > g > .card > .body") > 1
    outside, overlaps = page.run(
        "const cards = [...document.querySelectorAll('.card')].map(g => {"
        "  const {e: x, f: y} = g.transform.baseVal[0].matrix;"
        "  const {width, height} = g.querySelector('.body').getBBox(); return {g, x, y, width, height}; });"
        "return [cards.flatMap(({g, width}) => [...g.querySelectorAll('text:not(.op, .sign)')].filter(t => {"
        "    const b = t.getBBox(); return b.x < -1 || b.x + b.width > width + 1; }).map(t => t.textContent)),"
        "  cards.filter((a, i) => cards.some((b, k) => k > i && a.x < b.x + b.width && b.x < a.x + a.width"
        "    && a.y < b.y + b.height && b.y < a.y + a.height)).length]"
    )
    assert (outside, overlaps) == ([], 0)


@pytest.mark.parametrize("dark", [False, True])
def test_two_drawings_share_a_page_and_can_be_read_in_the_system_s_colours_and_as_an_image(page, dark):
    picture, image = drawn("neuron"), base64.b64encode(drawn("neuron").encode()).decode()
    image = f"<img alt='' src='data:image/svg+xml;base64,{image}'>"
    html = f"<!doctype html><html lang=en><title>t</title><main><h1>t</h1>{picture}{picture}{image}</main>"
    assert page.open(html, dark=dark).axe() == []
    ground = page.run("return getComputedStyle(document.querySelector('.ground')).fill")
    assert ground == ("rgb(15, 20, 28)" if dark else "rgb(246, 248, 251)")
    page.wait("document.querySelector('img').complete")
    assert page.run("return document.querySelector('img').naturalWidth") > 100
