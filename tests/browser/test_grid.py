"""An array that was chosen, as large grids: letters on the axes, arcs over the word, the gradient beside it."""

import numpy as np
import pytest

from micrograd import Tensor, Value, softmax
from micrograd.nn import Module
from micrograd.viz import player

from .test_player import card, text


def attention(word="anna", named=True):
    rng = np.random.default_rng(0)
    x = Tensor(rng.normal(size=(len(word), 3)), requires_grad=True, label="x")
    a = softmax(x @ x.T, axis=-1)
    a.label = "attention"
    return a, player(((a @ x) ** 2).sum(), names={x: word} if named else None).html


def choose(page, name):
    page.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", card(page, name))


def test_a_softmax_opens_large_with_letters_and_its_gradient_beside_it(page):
    page.open(attention()[1], width=1280, height=720, reduced_motion=True)
    choose(page, "attention")
    shown = page.run(
        "return [...document.querySelectorAll('.grid')].map(e => [e.closest('figure').firstChild.textContent,"
        "[...e.querySelectorAll('.letter')].map(t => t.textContent).join(''),"
        "e.querySelector('.cell').getBoundingClientRect().width, e.getBoundingClientRect().bottom < innerHeight])"
    )
    assert [(name, letters, wide >= 14, seen) for name, letters, wide, seen in shown] == [
        ("attention.data", "anna", True, True),
        ("attention.grad", "anna", True, True),
    ]
    low = "e => e.getBoundingClientRect().bottom"
    above = f"const low = {low}; return low(arguments[0]) < low(document.querySelector('#scroll'))"
    assert page.run(above, card(page, "attention"))
    assert page.axe() == []


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_attention_with_letters_opens_without_a_click(page, width, dark):
    page.open(attention("charlie")[1], width=width, height=720, dark=dark, reduced_motion=True)
    cells = "return [...document.querySelectorAll('.grid .cell')].map(e => e.getBoundingClientRect().width)"
    assert min(page.run(cells)) >= 14
    words = "return [...document.querySelectorAll('.grid .letter')].map(t => t.textContent).join('')"
    assert page.run(words) == "charlie" * 2
    page.run("document.querySelector('.grid').focus()")
    page.press("ArrowDown")
    assert text(page, "#live").startswith("c: c ")
    assert page.axe() == []
    page.press("Home")
    assert page.run("return document.querySelectorAll('.grid').length") == 0


def test_letters_stand_in_the_scenes_of_a_folded_graph_too(page):
    class Look(Module):
        def __init__(self):
            self.w = Tensor(np.eye(3), requires_grad=True)

        def forward(self, x):
            return softmax(x @ self.w @ x.T, axis=-1) @ x

    x = Tensor(np.random.default_rng(0).normal(size=(4, 3)), requires_grad=True, label="x")
    root = Look()(Look()(x)).sum()
    page.open(player(root, max_nodes=1, names={x: "anna"}).html, fragment="scene=0", reduced_motion=True)
    assert text(page, "#tabs [aria-pressed=true]") == "looks"
    page.run("document.getElementById('more').open = true")
    page.click("#find")
    page.press(*"softmax")
    assert " of " in text(page, "#hits")
    page.press("Escape", "Enter")
    letters = "return [...document.querySelectorAll('.grid .letter')].map(t => t.textContent).join('')"
    assert page.run(letters) == "anna" * 2


def test_a_row_says_and_draws_what_it_looks_at(page):
    a, html = attention()
    page.open(html, reduced_motion=True)
    choose(page, "attention")
    page.run("document.querySelector('.grid').focus()")
    page.press("ArrowDown", "ArrowDown")
    wanted = ", ".join(f"{letter} {x:.2f}" for letter, x in zip("anna", a.data[1], strict=True))
    assert text(page, "#live") == f"n: {wanted}"
    arcs = page.run(
        "return [...document.querySelectorAll('.grid .arcs path')].map(e => parseFloat(e.style.strokeWidth))"
    )
    assert arcs == [pytest.approx(4 * x / a.data.max(), abs=0.051) for x in a.data[1]]
    page.run(
        "document.querySelectorAll('.grid')[0].querySelectorAll('.cell')[12]"
        ".dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    assert page.run("return document.querySelector('.grid').dataset.row") == "3"


def test_without_a_word_rows_have_numbers_and_numbers_have_no_grid(page):
    page.open(attention(named=False)[1], reduced_motion=True)
    choose(page, "x")
    page.run("document.querySelector('.grid').focus()")
    page.press("ArrowDown")
    assert text(page, "#live").startswith("Row 1: 1 0.13, 2 ")
    page.open(player(Value(2.0, label="a") * 3).html)
    choose(page, "a")
    assert page.run("return document.querySelectorAll('.grid').length") == 0


def test_a_word_that_fits_no_axis_is_refused():
    x = Tensor(np.ones((4, 3)), requires_grad=True)
    for word in ("emma!", 4, ""):
        with pytest.raises(ValueError, match="one letter for each place of an axis"):
            player(x.sum(), names={x: word})
