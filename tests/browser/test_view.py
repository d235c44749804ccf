"""What is seen of a graph: zoom, moving, map, search, keys, export, and the view for a projector."""

import base64
import time
from itertools import pairwise

import pytest
from drawn_graphs import arrays, attention, expression, gpt, network, neuron
from selenium.webdriver.common.action_chains import ActionChains

from micrograd import Value
from micrograd.nn import Neuron
from micrograd.viz import player

from .test_player import READY, at_each_step, in_frame, notebook, pick, step


def seen(page):
    """The part of the scene in sight: x, y, width, height, and pixels per unit."""
    return page.run(
        "const svg = document.getElementById('graph'), b = svg.viewBox.baseVal;"
        "return [b.x, b.y, b.width, b.height, svg.clientWidth / b.width]"
    )


def focused(page):
    return page.run(
        "return document.activeElement.getAttribute('aria-label')?.split(',')[0] ?? document.activeElement.id"
    )


# ------------------------------------------------------------------------------------------------ zoom
AT = (
    "const [x, y] = arguments, m = document.getElementById('graph').getScreenCTM(); return [(x - m.e) / m.a,"
    " (y - m.f) / m.d]"
)


def test_wheel_zooms_about_the_pointer_and_keys_and_buttons_zoom_and_show_all_again(page):
    page.open(player(neuron()).html, 1400, 560)  # the graph fills the window: it does not move to its middle
    before, there = seen(page)[4], page.run(AT, 600, 300)
    page.run(
        "document.getElementById('scroll').dispatchEvent(new WheelEvent('wheel', {deltaY: -700, clientX: 600,"
        " clientY: 300, bubbles: true, cancelable: true}))"
    )
    assert seen(page)[4] > 1.3 * before
    assert page.run(AT, 600, 300) == pytest.approx(there, abs=0.5)
    found = []
    for key in "0++---0":
        page.press(key)
        found.append(seen(page)[4] / before)
    assert found == pytest.approx([1, 1.25, 1.25**2, 1.25, 1, 0.8, 1], rel=1e-3)
    pick(page, "#closer")
    pick(page, "#whole")
    assert seen(page)[4] == pytest.approx(before, rel=1e-3)


def test_two_fingers_zoom_about_their_middle(page):
    page.open(player(neuron()).html, 800, 600, reduced_motion=True)
    page.cdp("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    before, there = seen(page)[4], page.run(AT, 400, 250)
    page.cdp("Input.synthesizePinchGesture", x=400, y=250, scaleFactor=2, gestureSourceType="touch")
    page.cdp("Emulation.setTouchEmulationEnabled", enabled=False)
    assert seen(page)[4] == pytest.approx(2 * before, rel=0.3)  # the first pixels are to tell a pinch
    assert page.run("return visualViewport.scale") == 1  # the page itself stays as it was
    assert page.run(AT, 400, 250) == pytest.approx(there, abs=12)
    assert page.count(".card.chosen") == 0


def test_drag_moves_the_graph_and_chooses_nothing(page):
    page.open(player(expression()).html, 590, 900, reduced_motion=True, fragment="place=end")
    before = seen(page)
    near = page.run(
        "return [...document.querySelectorAll('.card:not(.leaf)')].find(e => {"
        " const { left } = e.getBoundingClientRect(); return left > 100 && left < 300 })"
    )
    ActionChains(page.driver, 20).move_to_element(near).click_and_hold().move_by_offset(-90, 0).release().perform()
    after = seen(page)
    assert after[0] == pytest.approx(before[0] + 90 / before[4], abs=1)
    assert page.count(".card.chosen") == 0


def test_graph_that_could_not_be_read_opens_folded(page):
    made = player(network(), names={}).html
    for size, tab in {(1400, 900): "layers", (2000, 3000): "neurons"}.items():
        page.open(made, *size)
        assert page.text("#tabs [aria-pressed=true]") == tab


THROUGH = """
    const cards = [...document.querySelectorAll('.card')].map(e => [e.getAttribute('aria-label').split(',')[0], e]);
    return [...document.querySelectorAll('.wire')].flatMap(wire => {
      const path = wire.querySelector('path'), long = path.getTotalLength(), title = wire.textContent;
      const points = Array.from({length: 200}, (_, k) => path.getPointAtLength(long * k / 199))
        .map(point => point.matrixTransform(path.getScreenCTM()));
      return cards.filter(([name, card]) => {
        const b = card.querySelector('.body').getBoundingClientRect();
        const inside = ({x, y}) => x > b.left && x < b.right && y > b.top && y < b.bottom;
        return !title.split(/ → |, [0-9]+ uses/).some(end => end.split(",")[0] === name) && points.some(inside);
      }).map(([name]) => [title, name]);
    })
"""  # lines that run through a card


WHOLE = """
    const svg = document.getElementById('graph'), room = svg.getBoundingClientRect(), scale = svg.getScreenCTM().a;
    const cards = [...document.querySelectorAll('.card .body')].map(e => e.getBoundingClientRect());
    return scale > 0.846 && cards.length > 3 && document.getElementById('map').hasAttribute('hidden')
      && cards.every(b => b.left > room.left && b.right < room.right && b.top > room.top && b.bottom < room.bottom);
"""
GRAPHS = {"expression": expression, "network": network, "attention": attention, "gpt": gpt}


OUT_OF_SIGHT = """[...document.querySelectorAll('%s')].filter(e => e.childElementCount).filter(e => {
    const [a, b] = [e, document.getElementById('scroll')].map(e => e.getBoundingClientRect());
    return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
}).map(e => document.getElementById('phase').textContent + ': ' + e.textContent)"""
LAST = ".card:last-child"


@pytest.mark.parametrize("name", GRAPHS)
def test_every_graph_opens_readable_in_a_window_and_in_a_column_of_a_notebook(page, name):
    """With type of 11 pixels or more: tight, folded, and in rows, where that takes it; graphs of numbers whole."""
    made = player(GRAPHS[name](), names={})
    page.open(made.html, 1400, 900, reduced_motion=True)
    assert page.run(WHOLE) or name in ("attention", "gpt")
    assert page.run(THROUGH) == []
    assert page.run(f"return {OUT_OF_SIGHT % LAST}") == []
    page.open(notebook(made), 780, 900, reduced_motion=True)
    page.wait(READY)
    page.wait("document.querySelector('iframe').offsetHeight > 300")
    assert in_frame(page, WHOLE.replace("document", "inner")) or name not in ("expression", "network")
    assert in_frame(page, f"return {OUT_OF_SIGHT % LAST}".replace("document", "inner")) == []


# ------------------------------------------------------------------------------------------------ search
def test_search_brings_what_it_found_into_sight(page):
    page.open(player(network()).html, reduced_motion=True)
    page.press("/", *"w[15]")
    assert focused(page) == "Search by name"
    assert page.run(
        "const a = document.querySelector('.card.found').getBoundingClientRect(),"
        " b = document.getElementById('scroll').getBoundingClientRect();"
        "return a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom"
    )


# ------------------------------------------------------------------------------------------------ keyboard


def test_play_is_within_three_tabs_and_the_graph_is_one_stop_in_topological_order(page):
    page.open(player(neuron()).html, fragment="step=3")
    page.press("Tab", "Tab", "Tab")
    assert focused(page) == "Play"
    assert page.run("return document.querySelectorAll('.card[tabindex=\"0\"]').length") == 1
    page.run("document.querySelector('#more summary').focus()")
    page.press("Tab")
    names = [focused(page)]
    for _ in range(9):
        page.press("ArrowRight")
        names.append(focused(page))
    order = page.run(
        "return [...document.querySelectorAll('.card')].map(e => e.getAttribute('aria-label').split(',')[0])"
    )
    assert names == order
    page.press("ArrowLeft", "Home")
    assert focused(page) == "x1"
    assert step(page) == 3


# ------------------------------------------------------------------------------------------------ export
def download(page, folder, button, kind):
    page.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    pick(page, button)
    for _ in range(200):
        if found := [path for path in folder.glob(f"*.{kind}") if path.stat().st_size]:
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"no {kind} was saved")


@pytest.mark.parametrize("dark", [False, True])
def test_view_is_saved_as_svg_and_png(page, tmp_path, dark):
    page.open(player(neuron()).html, fragment="step=9", dark=dark, reduced_motion=True)
    saved = download(page, tmp_path, "#svg", "svg")
    assert saved.name == "o-step9.svg"
    png = download(page, tmp_path, "#png", "png").read_bytes()
    size = [int.from_bytes(png[at : at + 4], "big") for at in (16, 20)]
    wide, tall = page.run("const e = document.getElementById('scroll'); return [e.clientWidth, e.clientHeight]")
    assert size == [2 * wide, 2 * tall]
    ground, ink = (
        page.run(f"return getComputedStyle(document.querySelector('{at}')).{what}")
        for at, what in (("#stage", "backgroundColor"), (".card .title", "fill"))
    )
    page.open(
        f'<!doctype html><img alt="" src="data:image/svg+xml;base64,{base64.b64encode(saved.read_bytes()).decode()}">'
    )
    assert page.run("return document.querySelector('img').naturalWidth") == wide
    page.open(saved)
    assert page.run("return getComputedStyle(document.querySelector('.card .title')).fill") == ink
    assert page.run("return getComputedStyle(document.querySelector('svg > rect')).fill") == ground


def test_link_leads_to_the_step(page):
    page.open(player(neuron()).html, fragment="step=9")
    page.run("window.copied = ''; navigator.clipboard.writeText = text => { copied = text; return Promise.resolve() }")
    pick(page, "#link")
    page.wait("copied.endsWith('#step=9')")
    page.wait("document.getElementById('said').textContent === 'The link is copied.'")


# ------------------------------------------------------------------------------------------------ present, sizes
def test_view_for_a_projector_is_clean_and_large(page):
    page.open(player(arrays(), present=True).html, 1280, 720, reduced_motion=True)
    page.press("Home")
    for _ in range(4):
        page.press("ArrowRight")
        small = page.run(
            "const scale = document.getElementById('graph').getScreenCTM().a;"
            "const texts = [...document.querySelectorAll('h1, #phase, #caption, #graph text')]"
            ".filter(e => e.textContent);"
            "const size = e => parseFloat(getComputedStyle(e).fontSize) * (e.closest('#graph') ? scale : 1);"
            "return Math.min(...texts.map(size))"
        )
        assert small >= 17.99
    wide = "return document.getElementById(arguments[0]).offsetWidth"
    assert [page.run(wide, name) <= 1 for name in ("bar", "panels")] == [True] * 2
    assert page.text("#caption").startswith("Forward 4")
    room = page.run("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert room == [1280, 720]
    assert page.axe() == []
    page.press("p")
    assert page.run(wide, "bar") > 500


ACTIVE = ".card.forward, .card.backward, .pill.forward, .pill.backward"


def wide_and_high():
    """With lines that lead past many cards."""
    a, b = Value(-4.0, label="a"), Value(2.0, label="b")
    c, d = a + b, a * b + b**3
    c += c + 1 - a
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    return (c - d) ** 2 / d


@pytest.mark.parametrize(
    ("graph", "options", "keys", "what"),
    [
        (wide_and_high, {"present": True}, [], ACTIVE),
        (expression, {"present": True}, ["+", "+"], ".card.forward, .card.backward"),
        (neuron, {}, [], ".card"),
    ],
    ids=["a projector", "a projector, zoomed, in rows", "a neuron, whole"],
)
def test_active_cards_stay_in_sight_in_a_small_window_at_every_step(page, graph, options, keys, what):
    page.open(player(graph(), names={}, **options).html, 1280, 720, reduced_motion=True)
    page.press("Home", *keys)
    assert not any(at_each_step(page, OUT_OF_SIGHT % what))


def no_map(page):
    return page.run("return document.getElementById('map').hasAttribute('hidden')")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (800, 560)])
def test_map_shows_the_whole_of_a_graph_that_is_not_leads_there_and_hides_no_card(page, width, height):
    page.open(player(neuron()).html, width, height, reduced_motion=True, fragment="place=end")
    assert no_map(page)
    page.open(player(expression()).html, width, height, reduced_motion=True, fragment="place=end")
    page.press("End")  # a phone begins at the leaves
    assert page.run(f"return {OUT_OF_SIGHT % '.card[aria-label^=g]'}") == []
    under = page.run(
        "const box = e => e.getBoundingClientRect(), map = box(document.getElementById('map'));"
        "const stage = box(document.getElementById('scroll'));"
        "return [map.width, [...document.querySelectorAll('.card .body')].map(box).filter(b => b.right > map.left &&"
        " b.left < map.right && b.bottom > map.top && b.top < Math.min(map.bottom, stage.bottom)).length,"
        " document.querySelectorAll('#map .at').length, document.querySelectorAll('#map path').length]"
    )
    assert under[0] > (290 if width == 390 else 60)
    assert under[1:] == [0, 33, 45]
    page.press("ArrowLeft")
    assert page.count("#map .now") == 1
    before = seen(page)
    page.run(
        "const map = document.getElementById('map'), {x, y, height} = map.getBoundingClientRect();"
        "map.dispatchEvent(new PointerEvent('pointerdown', {pointerId: 1, bubbles: true, clientX: x + 8,"
        " clientY: y + height / 2}))"
    )
    assert seen(page)[:2] != before[:2]
    page.press("0")
    assert no_map(page)


def test_panels_can_be_left_out(page):
    page.open(player(neuron(), panels=False).html)
    assert page.run("return document.getElementById('panels').offsetHeight") == 0
    assert page.run("return document.getElementById('bar').offsetHeight") > 0


@pytest.mark.parametrize(("options", "wanted"), [({"height": 500}, 500), ({"present": True}, 450), ({}, None)])
def test_frame_is_as_high_as_it_is_told(page, options, wanted):
    source = player(neuron(), **options).html.replace("&", "&amp;").replace('"', "&quot;")
    page.open(f'<!doctype html><iframe title="p" style="width:800px;border:0" srcdoc="{source}"></iframe>')
    page.wait("document.querySelector('iframe').offsetHeight > 300")
    height = page.run("return document.querySelector('iframe').offsetHeight")
    if wanted:
        assert abs(height - wanted) <= 2
    page.run("document.querySelector('iframe').style.width = '1200px'")
    page.run("return new Promise(done => setTimeout(done, 200))")
    after = page.run("return document.querySelector('iframe').offsetHeight")
    assert (after > height) == bool(options.get("present"))


def test_steps_on_a_phone_are_buttons_below_the_graph(page):
    page.open(player(neuron()).html, 390, 844, reduced_motion=True)
    tops = [
        page.run(f"return document.getElementById('{name}').getBoundingClientRect().top")
        for name in ("stage", "panels", "bar")
    ]
    assert all(a < b for a, b in pairwise(tops))
    low = page.run("return document.getElementById('bar').getBoundingClientRect().bottom")
    assert 800 < low <= 844, "they stick to the lower edge of the screen"
    sizes = page.run(
        "return [...document.querySelectorAll('#bar > button, #more summary')].map(e => e.getBoundingClientRect())"
        ".flatMap(box => [box.width, box.height])"
    )
    assert min(sizes) >= 40
    assert page.run(
        "const {width, height} = document.getElementById('scrub').getBoundingClientRect();"
        "return [width > 300, height >= 38]"
    ) == [True, True]
    assert page.run("return document.documentElement.scrollWidth") == 390
    assert page.axe() == []


@pytest.mark.parametrize(("width", "height"), [(390, 700), (360, 640)])
def test_map_on_a_low_phone_takes_no_room_from_the_graph_and_each_move_is_a_line(page, width, height):
    graph = Neuron(2)([Value(1.0, label="x0"), Value(-2.0, label="x1")])
    page.open(player(graph).html, width, height, reduced_motion=True, fragment="place=end")
    cut, under, starts = page.run(
        "const box = e => e.getBoundingClientRect(), all = s => [...document.querySelectorAll(s)].map(box);"
        "const room = box(document.getElementById('scroll')), map = box(document.getElementById('map'));"
        "return [all('.card .body').filter(b => b.top < room.top || b.bottom > room.bottom).length,"
        " map.top >= room.bottom && map.width > 0, all('#why .math .token').map(b => b.left)]"
    )
    assert (cut, under) == (0, True)
    assert len(starts) == 4
    assert len(set(starts)) == 1
