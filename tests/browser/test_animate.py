"""The moving picture in a browser: by itself, inside an <img>, and at rest."""

import pytest
from drawn_graphs import expression, neuron

from micrograd import Value, viz

STEP = 1200  # milliseconds
LAST = 8
VISIBLE = """
const shown = e => { for (; e instanceof SVGElement; e = e.parentElement)
  if (Number(getComputedStyle(e).opacity) < 0.2) return false; return true };
return [...document.querySelectorAll(arguments[0])].filter(shown).map(e => e.textContent)"""

OUTSIDE = """
const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1
  && a.bottom <= b.bottom + 1;
const box = e => e.getBoundingClientRect();
const alone = t => t.parentElement.tagName == 'svg' || t.classList.contains('factor');  // beside a line, in no card
return [...document.querySelectorAll('text')].filter(t => !inside(box(t), box(alone(t)
  ? document.documentElement : t.parentElement.querySelector('rect'))))
  .map(t => t.textContent)"""


@pytest.fixture(scope="module")
def picture():
    a, b, c = Value(2.0, label="a"), Value(-3.0, label="b"), Value(5.5, label="c")
    e = a * b
    d = e + c
    e.label, d.label = "e", "d"
    return viz.animate(d.tanh())


def at(page, step):
    page.run(f"document.getAnimations().forEach(a => {{ a.pause(); a.currentTime = {(step + 0.7) * STEP} }})")
    return page


def visible(page, selector):
    return page.driver.execute_script(VISIBLE, selector)


def test_each_step_shows_one_caption_and_as_many_numbers_as_are_known(page, picture):
    page.open(picture.svg)
    known = []
    for step in range(LAST + 1):
        at(page, step)
        assert len(visible(page, ".caption")) == 1
        known.append(
            (len(visible(page, ".number.data:not(.unknown)")), len(visible(page, ".number.grad:not(.unknown)")))
        )
    assert known == [(3, 0), (4, 0), (5, 0), (6, 0), (6, 1), (6, 2), (6, 4), (6, 6), (6, 6)]


def test_reduced_motion_shows_the_last_state_and_nothing_moves(page, picture):
    at(page.open(picture.svg), LAST)
    end = [visible(page, "text"), visible(page, ".line")]
    page.open(picture.svg, reduced_motion=True)
    assert page.run("return document.getAnimations().length") == 0
    assert [visible(page, "text"), visible(page, ".line")] == end


def test_animation_keeps_texts_in_their_cards(page, picture):
    page.open(picture.svg)
    for step in range(LAST + 1):
        assert at(page, step).run(OUTSIDE) == [], step


def test_notebook_s_output_can_be_used_by_everybody(page, picture):
    output = picture._repr_mimebundle_()["text/html"]
    page.open(f'<!doctype html><html lang="en"><title>t</title><main><h1>t</h1>{output}</main>', 480)
    assert page.axe() == []
    assert page.run("return document.documentElement.scrollWidth") == 480


def test_wide_graph_moves_behind_a_narrow_picture_so_that_each_step_is_in_view(page):
    numbers = {"x1": 2, "w1": -3, "x2": 0, "w2": 1, "b": 6.88}
    x1, w1, x2, w2, b = (Value(x, label=name) for name, x in numbers.items())
    narrow = viz.animate((x1 * w1 + x2 * w2 + b).tanh(), width=380)
    page.open(f"<!doctype html><style>svg {{ max-width: 100%; height: auto }}</style><p>{narrow.svg}</p>", 374)
    by = "const frame = document.querySelector('svg').getBoundingClientRect();"  # 358 pixels, as on a phone
    for step in range(1, 11):
        at(page, step)
        assert page.run(
            f"{by} return [...document.querySelectorAll('.body:is(.forward, .backward)')]"
            ".filter(e => getComputedStyle(e).opacity > .5)"
            ".map(e => e.getBoundingClientRect()).map(box => box.left >= frame.left && box.right <= frame.right)"
        ) == [True]
    sizes = page.run(
        f"{by} return [...document.querySelectorAll('text:not(.aside)')]"
        ".map(e => parseFloat(getComputedStyle(e).fontSize) * frame.width / 380)"
    )
    assert min(sizes) >= 11
    page.open(narrow.svg, 380, reduced_motion=True)
    assert page.run("return [...document.querySelectorAll('.body')].every(e => e.getBoundingClientRect().right < 380)")


def long_names():
    """A product of two means, whose names are long."""
    first, second = Value(2.0, label="mean_of_all_the_losses"), Value(3.0, label="weight_of_the_largest_WWWWWW")
    return first * second + second.tanh() * first


@pytest.mark.parametrize("width", [300, 380, None])
@pytest.mark.parametrize("graph", [neuron, expression, long_names])
def test_caption_fits_its_picture(page, graph, width):
    page.open(viz.animate(graph(), width=width).svg, 1200)
    left, right = page.run(
        "const boxes = [...document.querySelectorAll('.caption')].map(e => e.getBBox());"
        "return [Math.min(...boxes.map(b => b.x)), Math.max(...boxes.map(b => b.x + b.width))"
        " - document.documentElement.viewBox.baseVal.width]"
    )
    assert left >= 0
    assert right <= 0
