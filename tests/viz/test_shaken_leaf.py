"""A leaf is shaken: what follows it sways by its own derivative, and paths that meet add or cancel. In Node."""

import pytest
from drawn_graphs import neuron

from micrograd import Tensor, Value
from micrograd.viz import player

SWINGS = (
    "Object.fromEntries(all('.sways').map(e =>"
    " [e.getAttribute('aria-label').split(',')[0], e.querySelector('text.swing').textContent]))"
)


def cancelling():
    """out = 2a - 2a + a*b, where two paths from a cancel."""
    a, b = Value(3.0, label="a"), Value(0.5, label="b")
    c = a * 2 - a * 2
    c.label = "c"
    out = c + a * b
    out.label = "out"
    return out


def test_each_card_sways_by_its_derivative_and_one_sentence_says_so(page):
    page.open(player(neuron()).html).focus("x1").press("s")
    assert page.get(SWINGS) == {
        "x1": "sways 1.00",
        "x1 * w1": "sways −3.00",
        "v1": "sways −3.00",
        "n": "sways −3.00",
        "o": "sways −0.67",
    }
    assert page.text("#live") == "x1 sways by 1, and o by −0.6702."
    assert page.texts(".pill.ratio") == ["× −3.00", "", "", "× 0.22"]
    assert "−3.00 × 0.22= −0.6702" in page.text("#why")


def test_paths_that_cancel_leave_a_card_still(page):
    swings = page.open(player(cancelling()).html).focus("a").press("s").get(SWINGS)
    assert "c" not in swings
    assert swings["out"] == "sways 0.50"


def test_paths_that_meet_show_their_parts_and_the_sum(page):
    x = Value(2.0, label="x")
    page.open(player(x * x + x).html).focus("x").press("s")
    assert page.get("all('.sways').map(e => e.querySelectorAll('rect.swing').length)") == [1, 3, 3]


def test_shake_ends_with_the_key_with_escape_and_with_a_step(page):
    page.open(player(neuron()).html)
    for end in ("s", "Escape", "Home"):
        page.focus("b").press("s")
        assert page.count(".sways") == 3
        page.press(end)
        assert page.count(".sways, .swing") == 0


def test_leaf_that_is_held_sways_until_it_is_let_go(page):
    page.open(player(neuron()).html)
    page.run("pointer('pointerdown', cardOf('x1')); passTime(440)")
    assert page.count(".sways") == 0
    page.pass_time(20)
    assert page.count(".sways") == 5
    page.run("pointer('pointerup', cardOf('x1')); cardOf('x1').click()")
    assert page.count(".sways, .card.chosen") == 0


def test_shake_does_not_give_away_what_is_asked(page):
    page.open(player(neuron(), names={}, ask=True).html).press("ArrowRight").focus("x1").press("s")
    assert "guess them first" in page.text("#said")
    assert page.get(SWINGS) == {}
    assert page.text("#phase") == "Backward 1 of 5"
    page.click("#ask")
    assert "x1" in page.focus("x1").press("s").get(SWINGS)


@pytest.mark.parametrize(
    ("graph", "name", "said"),
    [
        (neuron, "n", "n cannot be shaken: only a leaf"),
        (lambda: (Tensor([1.0, 2.0], requires_grad=True, label="t") * 2).sum(), "t", "t cannot be shaken"),
    ],
    ids=["computed", "an array"],
)
def test_card_that_cannot_be_shaken_says_why(page, graph, name, said):
    page.open(player(graph()).html).focus(name).press("s")
    assert said in page.text("#said")
