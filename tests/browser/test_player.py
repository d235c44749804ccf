"""What only a browser shows of the player: sizes, overlaps, themes, motion, notebooks; the steps are in tests/viz."""

import pytest
from drawn_graphs import arrays, network, neuron, paths

from micrograd import Value
from micrograd.viz import player

GRAPHS = {"neuron": neuron, "paths": paths, "network": network, "arrays": arrays}


def at_each_step(page, expression):
    """What this JavaScript expression is at each step, from first to last."""
    return page.run(
        "document.getElementById('first').click();"
        "const scrub = document.getElementById('scrub'), found = []; for (;;) {"
        f" found.push({expression}); if (scrub.value === scrub.max) return found;"
        " document.getElementById('next').click() }"
    )


def pick(page, selector):
    """Click something in the menu."""
    page.run("document.getElementById('more').open = true")
    page.click(selector)


def text(page, selector):
    return page.run("return document.querySelector(arguments[0]).textContent", selector)


def step(page):
    return int(page.run("return document.getElementById('scrub').value"))


def card(page, name):
    """The element of the card with this name."""
    return page.run(
        "return [...document.querySelectorAll('.card')]"
        ".find(e => e.getAttribute('aria-label').split(',')[0] === arguments[0])",
        name,
    )


# ------------------------------------------------------------------------------------------------ looks
def test_the_track_and_the_buttons_go_where_they_say(page):
    page.open(player(neuron()).html)
    page.click("#last")
    assert (step(page), text(page, "#phase")) == (12, "Done")
    page.click("#first")
    assert (step(page), text(page, "#phase")) == (0, "Ready")
    page.click("#next")
    assert text(page, "#phase") == "Forward 1 of 5"
    page.click("#back")
    assert step(page) == 0
    page.click("#track")  # in the middle
    assert text(page, "#phase") == "Backward begins"
    assert page.run("return document.querySelectorAll('#marks circle.mark').length") == 6
    assert page.run("return document.querySelectorAll('#marks rect.mark').length") == 7


@pytest.mark.parametrize("width", [480, 1400])
def test_the_result_is_in_sight_when_the_page_opens(page, width):
    page.open(player(network()).html, width)
    assert page.run(
        "const a = arguments[0].getBoundingClientRect(),"
        " b = document.getElementById('scroll').getBoundingClientRect(); return a.right <= b.right && a.left >= b.left"
        " && a.top >= b.top && a.bottom <= b.bottom",
        card(page, "loss"),
    )


def long_names():
    a, b = Value(3.0, label="the weight of the first"), Value(2.0, label="what comes from outside")
    return (a * b + a * a).tanh() * a


LOOK = """(() => {
    const [svg, why, app, bar] = ['graph', 'why', 'app', 'bar'].map(id => document.getElementById(id));
    const texts = [...svg.querySelectorAll('text')], card = document.querySelector('.card.forward, .card.backward');
    const [a, b] = [card ?? svg, document.getElementById('scroll')].map(e => e.getBoundingClientRect());
    const scale = svg.clientWidth / svg.viewBox.baseVal.width;
    return {
        scale, type: scale * Math.min(...texts.map(e => parseFloat(getComputedStyle(e).fontSize))),
        seen: a.right > b.left && a.left < b.right && a.bottom > b.top && a.top < b.bottom,
        fits: document.documentElement.scrollWidth <= innerWidth && why.scrollWidth <= why.clientWidth,
        place: [bar.offsetTop, app.offsetHeight],
    } })()"""


@pytest.mark.parametrize("width", [480, 1400])
@pytest.mark.parametrize("graph", [*GRAPHS.values(), long_names])
def test_at_every_step_it_can_be_read_the_step_is_in_sight_and_the_page_does_not_jump(page, graph, width):
    page.open(player(graph()).html, width, reduced_motion=True)
    looks = at_each_step(page, LOOK)
    assert all(0.846 <= look["scale"] <= 1.601 and look["type"] >= 10.99 for look in looks)
    assert [look["seen"] and look["fits"] for look in looks] == [True] * len(looks)
    assert all(look["place"] == looks[1]["place"] for look in looks[1:])
    page.run("document.querySelector('.card').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert page.run(f"return {LOOK}.fits")


@pytest.mark.parametrize("name", GRAPHS)
def test_no_pill_covers_another_and_no_text_leaves_its_card(page, name):
    page.open(player(GRAPHS[name]()).html, fragment="step=9999")
    overlaps = page.run(
        "const boxes = [...document.querySelectorAll('.pill rect')].map(e => e.getBBox());"
        "return boxes.filter((a, i) => boxes.some((b, k) => k > i && a.x < b.x + b.width && b.x < a.x + a.width"
        " && a.y < b.y + b.height && b.y < a.y + a.height)).length"
    )
    assert overlaps == 0
    outside = page.run(
        "return [...document.querySelectorAll('.card')].flatMap(card => {"
        "  const body = card.querySelector('.body').getBBox();"
        "  return [...card.querySelectorAll(':scope > text')].filter(t => { const b = t.getBBox();"
        "    return b.x < body.x - 1 || b.x + b.width > body.x + body.width + 6; }).map(t => t.textContent); })"
    )
    assert outside == []


def by_hand():
    """A backward of one's own, whose second use of an operand sends nothing that is known."""
    a, b = Value(0.2, label="a"), Value(-0.3, label="b")
    s = a * b + a
    square = Value(s.data * s.data, (s, s), "square")

    def backward():
        s.grad += 2 * s.data * square.grad

    square._backward = backward
    return square + b * a


@pytest.mark.parametrize("width", [600, 1280])
def test_no_pill_of_a_step_covers_the_number_of_another(page, width):
    page.open(player(by_hand(), names={}).html, width, 700, reduced_motion=True)
    boxes = "[...document.querySelectorAll('.pill rect')].map(e => e.getBoundingClientRect())"
    apart = (
        f"(boxes => boxes.every((a, i) => boxes.every((b, k) => k <= i || a.left >= b.right || b.left >= a.right"
        f" || a.top >= b.bottom || b.top >= a.bottom)))({boxes}) || document.getElementById('phase').textContent"
    )
    assert at_each_step(page, "[...document.querySelectorAll('.pill.backward')].length > 1").count(True) > 1
    assert {*at_each_step(page, apart)} == {True}


def busy():
    """Numbers that are long, and used often."""
    a, b = Value(-123456.789, label="a"), Value(3e-12, label="b")
    return a * b + a * 1e-9 + (a * 2 - b) / 3 + b * a + a


@pytest.mark.parametrize("graph", [busy, paths, neuron])
def test_no_number_runs_into_its_key_or_its_dots_and_no_pill_is_wide(page, graph):
    page.open(player(graph()).html, reduced_motion=True)
    found = at_each_step(
        page,
        "[[...document.querySelectorAll('.card')].flatMap(card => [...card.querySelectorAll('.number')]"
        ".filter(n => [...card.querySelectorAll('.key, .use')].some(e => { const a = n.getBBox(), b = e.getBBox();"
        "  return a.x < b.x + b.width + 2 && a.y < b.y + b.height && b.y < a.y + a.height; }))"
        ".map(n => n.textContent)),"
        " Math.max(0, ...[...document.querySelectorAll('.pill rect')].map(e => +e.getAttribute('width')))]",
    )
    assert [touching for touching, _ in found if touching] == []
    assert max(wide for _, wide in found) < 120


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    ("graph", "place"),
    [(network, "step=4"), (arrays, "step=4"), (arrays, "place=end"), (neuron, "step=7&ask=1")],
    ids=["folded", "heat-maps", "gradients", "a guess"],
)
def test_everybody_can_use_it(page, graph, place, dark):
    page.open(player(graph(), names={}).html, dark=dark, reduced_motion=True, fragment=place)
    assert page.axe() == []


@pytest.mark.parametrize("graph", [neuron, by_hand], ids=["its paths", "that it cannot be changed"])
def test_everybody_can_read_what_is_said_of_a_leaf(page, graph):
    page.open(player(graph()).html, fragment="place=end", reduced_motion=True)
    page.click(".card")
    assert page.axe() == []


def test_it_follows_the_system_s_colours(page):
    page.open(player(neuron()).html, dark=True)
    dark = page.run("return getComputedStyle(document.body).backgroundColor")
    page.emulate(dark=False)
    page.wait("document.documentElement.dataset.theme === 'light'")
    assert page.run("return getComputedStyle(document.body).backgroundColor") != dark


def test_nothing_moves_for_those_who_asked_for_that(page):
    page.open(player(neuron()).html, reduced_motion=True)
    assert not page.run("return document.querySelector('.arriving, .filling')")
    page.press("Home", "ArrowRight")
    assert page.run("return document.querySelectorAll('.pulse').length") == 0
    page.emulate(reduced_motion=False)
    page.press("ArrowRight")
    assert page.run("return document.querySelectorAll('.pulse').length") == 2


@pytest.mark.parametrize(
    "label", ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a & b \"'", "{0}"]
)
def test_hostile_labels_do_nothing(page, label):
    a = Value(2.0, label=label)
    page.open(player(a * a + 1).html)
    assert not any(at_each_step(page, "document.querySelectorAll('img').length"))
    assert text(page, ".card .title").startswith(label[:9])


# ------------------------------------------------------------------------------------------------ notebooks
def notebook(*roots, ground="#fff"):
    """A page around outputs, as a trusted notebook has them."""
    outputs = "".join(f"<section>{player(root)._repr_mimebundle_()['text/html']}</section>" for root in roots)
    return f"<!doctype html><html lang=en><title>n</title><body style='background:{ground};margin:0'>{outputs}"


def in_frame(page, script, k=0):
    return page.run(f"const inner = document.querySelectorAll('iframe')[{k}].contentDocument; {script}")


READY = "[...document.querySelectorAll('iframe')].every(f => f.contentDocument.querySelector('.card'))"


def test_in_a_notebook_the_picture_gives_way_to_the_player(page):
    page.open(notebook(neuron()))
    page.wait(READY)
    assert page.run("return document.querySelector('img').offsetHeight") == 0
    page.wait("document.querySelector('iframe').offsetHeight > 300")


def test_where_scripts_are_taken_away_the_picture_stays(page):
    html = notebook(neuron()).replace("<iframe", "<iframe sandbox")  # as an untrusted notebook's viewer does
    page.open(html)
    assert page.run("return document.querySelector('img').offsetHeight") > 100
    assert page.run("return document.querySelector('iframe').offsetHeight") == 0
    page.console()  # that the script was blocked is said there


def test_several_outputs_share_nothing(page):
    page.open(notebook(neuron(), paths()))
    page.wait(READY)
    in_frame(page, "inner.getElementById('first').click()", 1)
    assert in_frame(page, "return inner.getElementById('scrub').value", 0) == "12"
    assert in_frame(page, "return inner.getElementById('scrub').value", 1) == "0"


def test_a_frame_that_is_loaded_anew_keeps_its_place(page):
    page.open(notebook(neuron()))
    page.wait(READY)
    in_frame(page, "inner.getElementById('back').click()")
    page.run("const f = document.querySelector('iframe'); f.contentDocument.body.dataset.old = 1; f.srcdoc = f.srcdoc")
    page.wait(f"!document.querySelector('iframe').contentDocument.body?.dataset.old && {READY}")
    assert in_frame(page, "return inner.getElementById('scrub').value") == "11"


@pytest.mark.parametrize(("ground", "theme"), [("#111", "dark"), ("#fff", "light"), ("rgb(30, 30, 46)", "dark")])
def test_in_a_notebook_it_takes_the_notebook_s_colours(page, ground, theme):
    page.open(notebook(neuron(), ground=ground), dark=theme == "light")  # the system says otherwise
    page.wait(READY)
    assert in_frame(page, "return inner.documentElement.dataset.theme") == theme
