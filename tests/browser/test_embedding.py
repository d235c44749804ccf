"""A player inside of another page: new stories in place, places, heights."""

import json
import random
import re
from pathlib import Path

from micrograd import Value
from micrograd.nn import MLP
from micrograd.viz import player


def graph(a=2.0):
    x, y = Value(a, label="a"), Value(-3.0, label="b")
    return x * y + x


def frame(page, made, attributes="", size='style="width:100%;height:300px"'):
    """A page of another origin that shows a player, and notes what the player says."""
    source = made.html.replace("&", "&amp;").replace('"', "&quot;")
    page.open(
        '<!doctype html><html lang="en"><title>t</title><script>window.said = [];'
        "addEventListener('message', e => said.push(e.data))</script>"
        f'<iframe title="p" {attributes} {size} srcdoc="{source}"></iframe></html>'
    )


def post(page, **message):
    page.run("document.querySelector('iframe').contentWindow.postMessage(arguments[0], '*')", message)


def inner(page, expression):
    return f"document.querySelector('iframe').contentDocument.{expression}"


def text(page, selector):
    return page.run(f"return {inner(page, f'querySelector({json.dumps(selector)}).textContent')}")


def test_message_that_comes_before_the_page_is_unpacked_is_heard(page):
    go = "this.contentWindow.postMessage({micrograd: 'go', place: 'step=3'}, '*')"
    frame(page, player(graph()), f'onload="{go}"')
    page.wait(inner(page, "getElementById('scrub')?.value === '3'"))


def test_story_of_another_shape_opens_at_the_view_that_a_page_of_it_opens_at(page):
    """In this frame that is the view of layers; one of the same shape stays in the layer that is open."""

    def network(x, more=False):
        random.seed(0)
        out = MLP(2, [9, 9, 1])([Value(x, label="x"), Value(0.5, label="y")])
        return out.tanh() if more else out

    frame(page, player(network(1.0)), size='style="width:800px;height:600px"')
    pressed = inner(page, "querySelector('#tabs [aria-pressed=true]')?.textContent")
    page.wait(f"{pressed} === 'layers'")
    folded = inner(page, "querySelector('.card.module')")
    page.run(f"{folded}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    crumbs = text(page, "#crumbs")
    assert crumbs.startswith("layers›")
    before = text(page, "#graph")
    post(page, micrograd="story", story=player(network(2.0)).story())
    page.wait(inner(page, f"querySelector('#graph').textContent !== {json.dumps(before)}"))
    assert text(page, "#crumbs") == crumbs
    post(page, micrograd="story", story=player(network(1.0, more=True)).story())
    page.wait(f"{pressed} === 'layers'")


def test_page_of_the_guide_moves_the_player_and_follows_it(page, tmp_path):
    guide = (Path(__file__).parents[2] / "docs" / "inside.md").read_text(encoding="utf-8")
    (tmp_path / "index.html").write_text(re.search(r"^```html\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)[1])
    x, w, b = Value(2.0, label="x"), Value(-3.0, label="w"), Value(6.5, label="b")
    player((x * w + b).tanh(), panels=False).save(tmp_path / "neuron.html")
    page.open(tmp_path / "index.html")
    page.wait("parseInt(frame.style.height) > 200")
    page.run("x.value = -1; x.oninput()")
    page.driver.switch_to.frame("neuron")
    page.wait("document.querySelector('.card .data').textContent === '−1.0000'")
    page.run("parent.postMessage({micrograd: 'leaf', leaf: 0, name: 'x', value: 1.5}, '*')")
    page.driver.switch_to.default_content()
    page.wait("x.value === '1.5'")


def test_frame_of_another_origin_is_told_the_height(page):
    frame(page, player(graph()), 'sandbox="allow-scripts"')
    page.wait("said.some(m => m.micrograd === 'size' && m.height > 200)")


def test_hostile_story_runs_nothing(page):
    page.open(player(graph()).html)
    story = json.dumps(player(graph(7.0)).story()).replace('"nodes": 4', '"nodes": "<img src=x onerror=alert(1)>"')
    page.run("window.postMessage({micrograd: 'story', story: JSON.parse(arguments[0])}, '*')", story)
    page.wait("document.querySelector('.card .data').textContent === '7.0000'")
    assert page.count("img") == 0
