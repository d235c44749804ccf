"""What only a browser shows of the player: sizes, overlaps, themes, motion, notebooks; the steps are in tests/viz."""

import pytest
from drawn_graphs import arrays, filmed_network, network, neuron, paths

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
def test_track_goes_where_it_says(page):
    page.open(player(neuron()).html)
    page.click("#track")  # in the middle
    assert page.text("#phase") == "Backward begins"
    assert page.count("#marks circle.mark") == 6
    assert page.count("#marks rect.mark") == 7


ROWS = """[...document.querySelectorAll('.rows.chain > *')].map(row => [row.tagName, row.childElementCount,
    Math.max(...[...row.children].map(e => e.getBoundingClientRect().top)) <
    Math.min(...[...row.children].filter(e => e.textContent).map(e => e.getBoundingClientRect().bottom))])"""


@pytest.mark.parametrize("graph", [neuron, arrays])
def test_chain_rule_has_a_row_for_its_heads_and_one_for_each_operand(page, graph):
    page.open(player(graph()).html, 1600, 900, reduced_motion=True)
    found = [row for rows in at_each_step(page, ROWS) for row in rows]
    assert len(found) > 5
    assert all(row == ["DIV", 8, True] for row in found)


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
def test_page_can_be_read_at_every_step_which_is_in_sight_and_does_not_jump(page, graph, width):
    page.open(player(graph()).html, width, reduced_motion=True)
    looks = at_each_step(page, LOOK)
    assert all(0.846 <= look["scale"] <= 1.601 and look["type"] >= 10.99 for look in looks)
    assert [look["seen"] and look["fits"] for look in looks] == [True] * len(looks)
    assert all(look["place"] == looks[1]["place"] for look in looks[1:])
    page.run("document.querySelector('.card').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert page.run(f"return {LOOK}.fits")


def by_hand():
    """A backward of one's own, whose second use of an operand sends nothing that is known."""
    a, b = Value(0.2, label="a"), Value(-0.3, label="b")
    s = a * b + a
    square = Value(s.data * s.data, (s, s), "square")

    def backward():
        s.grad += 2 * s.data * square.grad

    square._backward = backward
    return square + b * a


def busy():
    """Numbers that are long, and used often."""
    a, b = Value(-123456.789, label="a"), Value(3e-12, label="b")
    return a * b + a * 1e-9 + (a * 2 - b) / 3 + b * a + a


CROWDED = """(() => {  // pills that lie over another or are wide, texts that leave their card, numbers that touch
    const pills = [...document.querySelectorAll('.pill rect')], boxes = pills.map(e => e.getBoundingClientRect());
    const over = (a, b, near = 0) => a.x < b.x + b.width + near && b.x < a.x + a.width
      && a.y < b.y + b.height && b.y < a.y + a.height;
    return [
      ...boxes.filter((a, i) => pills[i].getAttribute('width') > 120 || boxes.some((b, k) => k > i && over(a, b)))
        .map(a => `pill ${a.width}`),
      ...[...document.querySelectorAll('.card')].flatMap(card => {
        const body = card.querySelector('.body').getBBox(), keys = [...card.querySelectorAll('.key, .use')];
        return [
          ...[...card.querySelectorAll(':scope > text')].filter(text => { const b = text.getBBox();
            return b.x < body.x - 1 || b.x + b.width > body.x + body.width + 6 }),
          ...[...card.querySelectorAll('.number')].filter(n => keys.some(e => over(n.getBBox(), e.getBBox(), 2))),
        ].map(text => text.textContent) })];
    })()"""


@pytest.mark.parametrize("graph", [*GRAPHS.values(), busy, by_hand])
def test_pills_cover_no_other_texts_stay_on_their_cards_and_numbers_beside_their_keys_at_every_step(page, graph):
    for width in (600, 1280) if graph is by_hand else (1400,):
        page.open(player(graph(), names={}).html, width, 700, reduced_motion=True)
        assert {str(found) for found in at_each_step(page, CROWDED)} == {"[]"}


@pytest.mark.parametrize(
    ("graph", "place", "chosen", "dark"),
    [
        (network, "step=4", False, False),
        (arrays, "step=4", False, True),
        (arrays, "place=end", False, False),
        (neuron, "step=7&ask=1", False, True),
        (neuron, "place=end", True, False),
        (by_hand, "place=end", True, False),
    ],
    ids=["folded", "heat-maps", "gradients", "a guess", "paths", "a leaf that cannot be changed"],
)
def test_player_can_be_used_by_everybody(page, graph, place, chosen, dark):
    page.open(player(graph(), names={}).html, dark=dark, reduced_motion=True, fragment=place)
    if chosen:
        page.click(".card")
    assert page.axe() == []


def test_player_follows_the_system_s_colours_and_wish_for_no_motion(page):
    page.open(player(neuron()).html, dark=True, reduced_motion=True)
    dark = page.run("return getComputedStyle(document.body).backgroundColor")
    pulses = "return document.querySelectorAll('.pulse, .arriving, .filling').length"
    assert page.run(pulses) == 0
    page.press("Home", "ArrowRight")
    assert page.run(pulses) == 0
    page.emulate()
    page.wait("document.documentElement.dataset.theme === 'light'")
    assert page.run("return getComputedStyle(document.body).backgroundColor") != dark
    page.press("ArrowRight")
    assert page.count(".pulse") == 2


# ------------------------------------------------------------------------------------------------ notebooks
def notebook(*shown, ground="#fff"):
    """A page around outputs, as a trusted notebook has them."""
    outputs = "".join(f"<section>{one._repr_mimebundle_()['text/html']}</section>" for one in shown)
    return f"<!doctype html><html lang=en><title>n</title><body style='background:{ground};margin:0'>{outputs}"


def in_frame(page, script, k=0):
    return page.run(f"const inner = document.querySelectorAll('iframe')[{k}].contentDocument; {script}")


READY = (
    "[...document.querySelectorAll('iframe')].every(f => f.dataset.frame || f.contentDocument.querySelector('.card'))"
)


def test_picture_stays_where_scripts_are_taken_away(page):
    page.open(
        notebook(player(neuron())).replace("<iframe", "<iframe sandbox")
    )  # as an untrusted notebook's viewer does
    assert page.run("return document.querySelector('img').offsetHeight") > 100
    assert page.run("return document.querySelector('iframe').offsetHeight") == 0
    page.console()  # that the script was blocked is said there


def test_pictures_in_a_notebook_give_way_to_players_that_share_nothing_and_keep_their_place(page):
    page.open(notebook(player(neuron()), player(paths())))
    page.wait(READY)
    assert page.run("return document.querySelector('img').offsetHeight") == 0
    page.wait("document.querySelector('iframe').offsetHeight > 300")
    in_frame(page, "inner.getElementById('first').click()", 1)
    in_frame(page, "inner.getElementById('back').click()")
    assert in_frame(page, "return inner.getElementById('scrub').value", 1) == "0"
    page.run("const f = document.querySelector('iframe'); f.contentDocument.body.dataset.old = 1; f.srcdoc = f.srcdoc")
    page.wait(f"!document.querySelector('iframe').contentDocument.body?.dataset.old && {READY}")
    assert in_frame(page, "return inner.getElementById('scrub').value") == "11", "after it was loaded once more"


@pytest.mark.parametrize(("ground", "theme"), [("rgb(30, 30, 46)", "dark"), ("#fff", "light")])
def test_player_in_a_notebook_takes_its_colours(page, ground, theme):
    shown = [player(neuron()), filmed_network()]
    page.open(notebook(*shown, ground=ground), dark=theme == "light")  # the system says otherwise
    page.wait(READY)
    assert in_frame(page, "return inner.documentElement.dataset.theme") == theme
    dark = in_frame(page, "return getComputedStyle(inner.body).backgroundColor", 1)
    assert dark == {"dark": "rgb(15, 20, 28)", "light": "rgb(246, 248, 251)"}[theme]
