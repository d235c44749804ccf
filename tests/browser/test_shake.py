"""A leaf is shaken: what follows it sways by its own derivative, and paths that meet add or cancel."""

import pytest
from drawn_graphs import neuron
from selenium.webdriver.common.action_chains import ActionChains

from micrograd import Tensor, Value
from micrograd.viz import player

from .test_player import card, pick, text

SWINGS = (
    "Object.fromEntries([...document.querySelectorAll('.sways')].map(e =>"
    " [e.getAttribute('aria-label').split(',')[0], e.querySelector('text.swing').textContent]))"
)


def shake(page, name, key="s"):
    page.run("arguments[0].focus()", card(page, name))
    page.press(key)


def cancelling():
    """d = 2a - 2a + a*b, where two paths from a cancel."""
    a, b = Value(3.0, label="a"), Value(0.5, label="b")
    c = a * 2 - a * 2
    c.label = "c"
    out = c + a * b
    out.label = "out"
    return out


def test_each_card_sways_by_its_derivative_and_one_sentence_says_so(page):
    page.open(player(neuron()).html, reduced_motion=True)
    shake(page, "x1")
    assert page.run(f"return {SWINGS}") == {
        "x1": "sways 1.00",
        "x1 * w1": "sways −3.00",
        "x1 * w1 + x2 * w2": "sways −3.00",
        "n": "sways −3.00",
        "o": "sways −0.67",
    }
    assert text(page, "#live") == "x1 sways by 1, and o by −0.6702."
    pills = page.run("return [...document.querySelectorAll('.pill.ratio')].map(e => e.textContent)")
    assert pills == ["× −3.00", "× 1.00", "× 1.00", "× 0.22"]
    assert "−3.00 × 0.22= −0.6702" in text(page, "#why")
    assert page.axe() == []


def test_paths_that_meet_show_their_parts_and_the_sum(page):
    page.open(player(cancelling()).html, reduced_motion=True)
    shake(page, "a")
    swings = page.run(f"return {SWINGS}")
    assert "c" not in swings  # it stands still: what comes along the two paths cancels
    assert swings["out"] == "sways 0.50"
    square = Value(2.0, label="x")
    page.open(player(square * square + square).html, reduced_motion=True)
    shake(page, "x")
    bars = page.run("return [...document.querySelectorAll('.sways')].map(e => e.querySelectorAll('rect.swing').length)")
    assert bars == [1, 3, 3]


@pytest.mark.parametrize("reduced_motion", [False, True])
def test_cards_move_unless_less_motion_was_asked_for(page, reduced_motion):
    page.open(player(neuron()).html, reduced_motion=reduced_motion, fragment="place=end")
    shake(page, "w1")
    moving = page.run("return getComputedStyle(document.querySelector('.sways')).animationName")
    assert moving == ("none" if reduced_motion else "sway")
    assert page.run("return document.querySelectorAll('rect.swing').length") == 5


def test_it_ends_with_the_key_with_escape_and_with_a_step(page):
    page.open(player(neuron()).html, reduced_motion=True)
    for end in ("s", "Escape", "Home"):
        shake(page, "b")
        assert page.run("return document.querySelectorAll('.sways').length") == 3
        page.press(end)
        assert page.run("return document.querySelectorAll('.sways, .swing').length") == 0


def test_a_leaf_that_is_held_sways_until_it_is_let_go(page):
    page.open(player(neuron()).html, reduced_motion=True)
    ActionChains(page.driver).move_to_element(card(page, "x1")).click_and_hold().perform()
    page.wait("document.querySelectorAll('.sways').length === 5")
    ActionChains(page.driver).release().perform()
    assert page.run("return document.querySelectorAll('.sways, .card.chosen').length") == 0


def test_a_button_beside_the_paths_shakes_it(page):
    page.open(player(neuron()).html, reduced_motion=True)
    page.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", card(page, "w1"))
    page.click("#why .shake")
    assert text(page, "#live").startswith("w1 sways by 1")


def test_a_shake_does_not_give_away_what_is_asked(page):
    page.open(player(neuron(), names={}, ask=True).html, reduced_motion=True)
    page.press("ArrowRight")
    shake(page, "x1")
    assert "guess them first" in text(page, "#said")
    assert page.run(f"return {SWINGS}") == {}
    assert text(page, "#phase") == "Backward 1 of 5"
    pick(page, "#ask")
    shake(page, "x1")
    assert "x1" in page.run(f"return {SWINGS}")


def test_what_cannot_be_shaken_says_why(page):
    page.open(player(neuron()).html, reduced_motion=True)
    shake(page, "n")
    assert "n cannot be shaken: only a leaf" in text(page, "#said")
    page.open(player((Tensor([1.0, 2.0], requires_grad=True, label="t") * 2).sum()).html, reduced_motion=True)
    shake(page, "t")
    assert "t cannot be shaken" in text(page, "#said")
    pick(page, "#whole")
