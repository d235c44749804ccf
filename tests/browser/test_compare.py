"""The page of `viz.compare` as people use it: it opens where two graphs differ, and steps through both."""

import math

import pytest

from micrograd import Value
from micrograd.viz import compare

ACTIVE = (
    "[...document.querySelectorAll('iframe')].map(f => f.contentDocument"
    "?.querySelector('.card.backward, .card.forward')?.getAttribute('aria-label').split(',')[0])"
)


def wrong():
    a, b = Value(2.0, label="a"), Value(-0.5, label="b")
    n = a * b
    n.label = "n"
    out = Value(math.tanh(n.data), (n,), "tanh", label="out")

    def backward():
        n.grad += 1 - out.data**2

    out._backward = backward
    reference = n.tanh()
    reference.label = "out"
    return compare(out * 3, reference * 3)


@pytest.fixture
def opened(page):
    def open_it(**how):
        page.open(wrong().html, **how)
        page.wait("[...document.querySelectorAll('iframe')].every(f => f.contentDocument?.querySelector('.card'))")
        return page

    return open_it


def test_comparison_opens_at_the_first_difference_and_keys_and_buttons_step_both(opened):
    page = opened()
    page.wait(f"{ACTIVE}.join() === 'out,out'")
    assert page.text("#verdict").endswith("the gradient from the right, 3.0000, is not multiplied in")
    pills = page.run(
        "return [...document.querySelectorAll('iframe')]"
        ".map(f => f.contentDocument.querySelector(\"[class='pill backward'] text:last-child\").textContent)"
    )
    assert pills == ["+= 0.42", "= 1.26"]
    page.press("Home")
    page.wait(f"{ACTIVE}.join() === 'n,n'")
    assert page.text("#verdict") == "n is -1.0000 in both."
    page.click("#next")
    page.wait(f"{ACTIVE}.join() === 'out,out'")
    assert page.text("#verdict") == "out is -0.7616 in both."
    page.press("End", "ArrowRight")  # they stop at the difference
    assert "is not multiplied in" in page.text("#verdict")
    said = page.text("#at").split()
    assert said[1] == said[3]


@pytest.mark.parametrize("dark", [False, True])
def test_comparison_is_accessible_and_fits(opened, dark):
    page = opened(width=1280, height=720, dark=dark)
    assert page.axe() == []
    page.console()  # axe posts messages to the frames, which have another origin in its view
    page.resize(390, 844)
    assert page.run("return document.documentElement.scrollWidth") <= 390
