"""A leaf under a real mouse, and inside of another page; all that follows is in tests/viz/test_changed_leaf.py."""

import re
from pathlib import Path

import numpy as np
import pytest
from drawn_graphs import neuron
from selenium.webdriver.common.action_chains import ActionChains

from micrograd import Tensor
from micrograd.viz import player

from .test_embedding import frame
from .test_player import card


def drag(page, element, by):
    """To the right, by so many pixels."""
    ActionChains(page.driver, 20).move_to_element(element).click_and_hold().move_by_offset(by, 0).release().perform()
    page.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_leaf_is_dragged_with_the_mouse(page):
    page.open(player(neuron()).html, fragment="place=end", reduced_motion=True)
    drag(page, card(page, "x1"), 50)
    assert card(page, "x1").get_attribute("aria-label").startswith("x1, data 2.5000")
    assert page.count(".card.chosen") == 0


def test_number_of_an_array_is_dragged_with_the_mouse(page):
    x = Tensor(np.array([[1.0, -2.0], [0.5, 3.0]]), requires_grad=True, label="x")
    page.open(player((x * x).sum()).html, reduced_motion=True, fragment="place=end")
    drag(page, page.run("return document.querySelector('.card .cell')"), 100)
    assert "data 17.2500" in card(page, "out").get_attribute("aria-label")


def test_leaf_is_typed_over_its_card_and_the_page_around_hears_of_it(page):
    frame(page, player(neuron()))
    page.wait("document.querySelector('iframe').contentDocument.querySelectorAll('.card').length")
    page.driver.switch_to.frame(0)
    ActionChains(page.driver, 20).double_click(card(page, "x1")).send_keys("7.25").perform()
    assert page.run(
        "const [a, b] = [arguments[0], document.activeElement].map(e => e.getBoundingClientRect());"
        "return b.left >= a.left - 1 && b.top >= a.top - 10 && b.bottom <= a.bottom + 10",
        card(page, "x1"),
    )
    page.press("Enter")
    assert card(page, "x1").get_attribute("aria-label").startswith("x1, data 7.2500")
    page.driver.switch_to.default_content()
    page.wait("said.some(m => m.micrograd === 'leaf' && m.leaf === 0 && m.name === 'x1' && m.value === 7.25)")


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (900, 600)])
def test_leaf_is_typed_after_a_double_click_though_the_graph_moves_up_below_the_pointer(page, width, height):
    page.open(player(neuron()).html, width, height, reduced_motion=True)
    b = card(page, "b")
    before = b.rect["y"]
    ActionChains(page.driver, 20).double_click(b).send_keys("7.25").perform()
    assert b.rect["y"] < before - b.rect["height"] / 3  # the panel below the graph has grown
    page.press("Enter")
    assert b.get_attribute("aria-label").startswith("b, data 7.2500")


@pytest.mark.parametrize("reduced_motion", [False, True])
def test_shaken_cards_move_unless_less_motion_was_asked_for(page, reduced_motion):
    page.open(player(neuron()).html, reduced_motion=reduced_motion, fragment="place=end")
    page.run("arguments[0].focus()", card(page, "w1"))
    page.press("s")
    moving = page.run("return getComputedStyle(document.querySelector('.sways')).animationName")
    assert moving == ("none" if reduced_motion else "sway")
    assert page.axe() == []


NETWORK = """<!doctype html><meta name="viewport" content="width=device-width"><style>{style}</style>
<section><div id="network"></div></section><script type="module">{code}
const wires = [Array.from({{length: 8}}, (_, i) => [2 * i, 2 * i + 1]), [Array.from({{length: 8}}, (_, i) => 16 + i)]];
const plane = {{inputs: 2, surface: {{layers: [Array(8).fill(0), [0]]}}}};
const biases = [Array.from({{length: 8}}, (_, i) => 24 + i), [32]];
new Network(document.getElementById("network"), () => {{}}).begin({{wires, biases}}, plane);
</script>"""


@pytest.mark.parametrize(("width", "least"), [(390, 44), (360, 44), (1280, 26)])
def test_neuron_of_the_training_page_is_large_enough_for_a_finger_and_covers_no_other(page, width, least):
    live = Path(__file__).parents[2] / "site" / "live"
    script = (live / "pictures.js").read_text(encoding="utf-8")
    code = re.sub(r"^import .*$", "", script, flags=re.MULTILINE).replace("export ", "")
    style = re.sub(r"@import[^;]*;", "", (live / "style.css").read_text(encoding="utf-8"))
    page.open(NETWORK.format(style=style, code=code), width, 844)
    boxes = page.run(
        "return [...document.querySelectorAll('.neuron')].map(each => {"
        "const {left, right, top, bottom} = each.getBoundingClientRect(); return [left, right, top, bottom]; })"
    )
    assert len(boxes) == 11
    assert all(right - left >= least and bottom - top >= least for left, right, top, bottom in boxes)
    assert all(left >= 0 and right <= width for left, right, *_ in boxes)
    pairs = [(a, b) for k, a in enumerate(boxes) for b in boxes[:k]]
    assert all(a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2] for a, b in pairs)
