"""An array that was chosen, as large grids: letters on the axes, arcs over the word, the gradient beside it."""

from drawn_graphs import attended

from .test_player import card


def choose(page, name):
    page.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", card(page, name))


def test_softmax_opens_large_with_letters_and_its_gradient_beside_it(page):
    page.open(attended()[1], width=1280, height=720, reduced_motion=True)
    choose(page, "attention")
    shown = page.run(
        "return [...document.querySelectorAll('.grid')].map(e => ["
        "e.closest('figure').firstElementChild.textContent.trim(),"
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
