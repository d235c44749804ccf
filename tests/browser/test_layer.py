"""A dense layer, opened in the player: two tables, whose numbers are those of the model."""

import random

import numpy as np
import pytest
from drawn_graphs import classifier, network
from selenium.webdriver.common.action_chains import ActionChains

from micrograd import Tensor, Value
from micrograd.functional import cross_entropy
from micrograd.nn import MLP, Linear, ReLU, Sequential
from micrograd.viz import player
from micrograd.viz.values import short

from .test_player import card

POINTS = [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)]
FITS = """
const table = document.getElementById('table');
return [table.scrollWidth <= table.clientWidth, document.body.scrollWidth <= innerWidth];
"""
READ = """
return [...document.querySelectorAll(`[data-way=${arguments[0]}] [data-cell]`)].map(({dataset}) => {
  const cell = document.querySelector(`[data-way=${arguments[0]}] [data-cell="${dataset.cell}"]`);
  cell.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
  const [product, number] = document.getElementById(`told-${arguments[0]}`).childNodes;
  return [product.textContent + (number.matches('b') ? number.textContent : ''), cell.classList[1]];
})
"""


def values(points):
    """A hidden layer of Values of which a neuron is dead, and an input may be 0: the graph, its name, its gradients."""
    random.seed(3)
    model = MLP(2, [4, 1])
    loss = sum([(model([Value(a, label="a"), Value(b, label="b")]) - 1.0) ** 2 for a, b in points], start=Value(0.0))
    loss.backward(retain_graph=True)
    grads = [[w.grad for w in neuron.w] for neuron in model.layers[0].neurons]
    return loss, "Layer #1", np.array(grads)


def linear(points):
    """The same of arrays."""
    rng = np.random.default_rng(0)
    layer = Linear(2, 4, rng=rng)
    model = Sequential(layer, ReLU(), Linear(4, 3, rng=rng))
    loss = cross_entropy(model(Tensor(np.array(points))), [int(a + b) for a, b in points])
    loss.backward(retain_graph=True)
    return loss, "Linear #1", layer.weight.grad


def enter(page, name):
    page.run("[...document.querySelectorAll('#tabs button')].find(e => /layers|modules/.test(e.textContent)).click()")
    page.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", card(page, name))
    page.wait("document.getElementById('table').clientHeight")


def opened(page, made, points=POINTS[:1], width=1280, height=720, dark=False):
    """The page of a graph, with its first layer entered; gives the gradients of that layer."""
    loss, name, grads = made(points)
    html = player(loss, max_nodes=5).html
    page.open(html, width=width, height=height, dark=dark, reduced_motion=True)
    enter(page, name)
    return grads


def told(grads):
    """What the table has for these gradients: each as text, and its look."""
    return [(short(g), ("low", "zero", "high")[int(np.sign(g)) + 1]) for g in grads.ravel()]


def read(page, way="backward"):
    return [(text.split("= ")[-1], look) for text, look in page.run(READ, way)]


@pytest.mark.parametrize("made", [values, linear])
@pytest.mark.parametrize("points", [POINTS[:1], POINTS], ids=["sample", "batch"])
def test_cells_are_the_gradients_of_the_weights(page, made, points):
    grads = opened(page, made, points)
    assert (grads == 0).any()
    assert read(page) == told(grads)


@pytest.mark.parametrize("made", [values, linear])
def test_one_sample_of_a_batch_has_the_gradients_that_it_has_alone(page, made):
    opened(page, made, POINTS)
    assert page.text(".samples output") == "all 4, added up"
    page.run("document.getElementById('sample').focus()")
    page.press("ArrowRight", "ArrowRight")
    assert page.text(".samples output") == "2 of 4"
    alone = made(POINTS[1:2])[2].ravel() / (len(POINTS) if made is linear else 1)  # cross_entropy is a mean
    assert [float(text.replace("−", "-")) for text, _ in read(page)] == pytest.approx(alone, rel=0.05)


def test_slider_of_the_samples_is_drawn_through_all_of_them_with_the_mouse_and_then_obeys_the_arrow_keys(page):
    opened(page, values, POINTS)
    slider, step = page.driver.find_element("id", "sample"), page.run("return document.getElementById('scrub').value")
    slider, step = page.driver.find_element("id", "sample"), page.run("return document.getElementById('scrub').value")
    page.run("window.seen = []; addEventListener('input', e => seen.push(e.target.value))")
    half = slider.size["width"] // 2
    mouse = ActionChains(page.driver, 50).move_to_element_with_offset(slider, 8 - half, 0).click_and_hold()
    for place in (-half // 2, 0, half // 2, half - 2):
        mouse.move_to_element_with_offset(slider, place, 0)
    mouse.release().perform()
    assert page.run("return seen") == ["1", "2", "3", "4"]
    assert page.text(".samples output") == "4 of 4"
    page.press("ArrowLeft")
    assert page.text(".samples output") == "3 of 4"
    assert page.run("return document.getElementById('scrub').value") == step


def test_hovered_cell_tells_its_product_in_both_tables(page):
    opened(page, values)
    told = [text for text, _ in page.run(READ, "backward")]
    assert all(text.endswith("0.00") or text.count("×") == text.count("=") == 1 for text in told)
    assert all(" × " in text for text, _ in page.run(READ, "forward"))
    assert page.count("[data-way=backward] .lit") == 3  # the cell, what is above, and what is at the right


def test_arrows_read_the_cells_and_leave_the_step_alone(page):
    opened(page, values)
    page.run("document.querySelector('[data-way=backward]').focus()")
    before = page.run("return [document.getElementById('scrub').value, document.activeElement.dataset.at]")
    page.press("ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowLeft", "ArrowDown")
    after = page.run("return [document.getElementById('scrub').value, document.activeElement.dataset.at]")
    assert [before[0], "1,0"] == after
    assert page.text("#live") == page.text("#told-backward")


def test_numbers_follow_a_drag(page):
    loss, name, _ = values(POINTS[2:3])
    page.open(player(loss, max_nodes=5).html, width=1280, height=720, reduced_motion=True)
    ActionChains(page.driver).drag_and_drop_by_offset(card(page, "b"), 60, 0).perform()
    b = float(card(page, "b").get_attribute("aria-valuenow"))
    assert b != 1
    card(page, name).click()
    assert read(page) == told(values([(1.0, b)])[2])


def test_step_of_descent_moves_the_numbers(page):
    opened(page, values)
    before = read(page)
    page.click("#rest .step")
    assert read(page) != before


def test_button_leads_to_the_neurons_and_back(page):
    opened(page, values)
    page.click(".tabler")
    assert page.run("return document.getElementById('table').hidden")
    assert page.text(".tabler") == "Show as two tables"
    page.click(".tabler")
    assert not page.run("return document.getElementById('table').hidden")
    page.click("#first")
    assert page.run("return document.getElementById('table').hidden")  # while it is stepped through, one sees the graph


def chosen(page, loss):
    """The page of a graph whose operation `linear` was clicked."""
    page.open(player(loss).html, width=1280, height=720, reduced_motion=True)
    page.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", card(page, "h"))
    assert page.count(".card.chosen") == 1


def of_one_linear():
    layer = Linear(3, 2, rng=np.random.default_rng(0))
    h = layer(Tensor(np.arange(12.0).reshape(4, 3)))
    h.label = "h"
    return layer, h


def test_operation_linear_offers_its_table_where_nothing_is_folded(page):
    layer, h = of_one_linear()
    loss = (h**2).sum()
    loss.backward(retain_graph=True)
    chosen(page, loss)
    page.click("#why .tabler")
    assert read(page) == told(layer.weight.grad)


def test_layer_whose_weight_is_used_elsewhere_too_has_no_table(page):
    layer, h = of_one_linear()
    chosen(page, (h**2).sum() + (layer.weight**2).sum())
    assert page.count(".tabler") == 0


@pytest.mark.parametrize(("width", "height", "dark"), [(1280, 720, True), (390, 844, False)], ids=["screen", "phone"])
@pytest.mark.parametrize(
    "made", [values, linear, lambda _: (network(), "Layer #2", None)], ids=["Values", "Linear", "16"]
)
def test_tables_fit_the_width_and_pass_axe(page, made, width, height, dark):
    opened(page, made, POINTS, width, height, dark)
    assert page.run(FITS) == [True, True]
    if height == 720:
        assert page.run("const e = document.getElementById('table'); return e.scrollHeight <= e.clientHeight + 1")
    assert page.axe() == []


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1440, 789), (780, 900), (390, 844)])
def test_table_of_a_card_has_numbers_that_can_be_read_side_by_side_but_on_a_phone(page, width, height):
    """Whatever the panel below takes, and although a batch of twelve stands at its edges."""
    page.open(player(classifier()).html, width=width, height=height, reduced_motion=True)
    page.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", card(page, "v1"))
    page.click("#why .tabler")
    small, cells, numbers, side_by_side = page.run(
        "const texts = [...document.querySelectorAll('#table svg .inside')];"
        "const [a, b] = [...document.querySelectorAll('#table figure')].map(e => e.getBoundingClientRect());"
        "const size = text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;"
        "return [Math.min(...texts.map(size)), document.querySelectorAll('#table [data-cell]').length, texts.length,"
        " b.left >= a.right && b.top === a.top]"
    )
    assert small >= 11
    assert numbers == cells == 32
    assert side_by_side == (width > 760)
    assert page.run(FITS) == [True, True]
    assert page.axe() == []


def test_page_without_a_layer_does_not_pay_for_it():
    a = Value(2.0, label="a")
    assert "layer" not in str(player(a * a).story()["scenes"][0].keys())
    assert len(player(a * a).html) + 3_000 < len(player(values(POINTS[:1])[0]).html)
