"""Numbers as text: one table for every view, in which no number other than 0 reads as 0."""

import math
import random

import pytest

from micrograd.viz.page import numbers
from micrograd.viz.values import FORMATS, short, thickness, typeset, value_text


def some_numbers():
    """Of every size, on both sides of each limit of the formats, and half way between two texts."""
    rng = random.Random(41)
    limits = [least for rows in FORMATS.values() for least, *_ in rows if least]
    near = [x * (1 + off) for x in limits for off in (-1e-3, -1e-9, 0, 1e-9, 1e-3)]
    ties = [k / 32 for k in range(-64, 64)] + [1e6 + k / 2 for k in range(8)] + [1_250_000.0, 1_350_000.0, 1_000_050.0]
    sizes = [rng.uniform(1, 10) * 10.0 ** rng.randint(-20, 20) for _ in range(1500)]
    usual = [rng.uniform(1, 10) * 10.0 ** rng.randint(-5, 5) for _ in range(1500)]
    return [sign * x for x in [*near, *ties, *sizes, *usual, 5e-324, 1.7e308, 1e-150] for sign in (1, -1)]


def read(text):
    return float(text.replace("−", "-"))


@pytest.fixture
def written(page):
    page.load(numbers())
    return lambda given, form, room=None: page.run(
        "const [given, form, room] = arguments; return given.map(x => written(x, form, room ?? Infinity))",
        given,
        form,
        room,
    )


@pytest.mark.parametrize("form", FORMATS)
def test_python_and_page_write_a_number_alike(written, form):
    given = some_numbers()
    assert written(given, form) == [typeset(x, form) for x in given]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("room", [*range(1, 12), None])
def test_number_keeps_its_sign_and_its_size_in_any_width(written, form, room):
    given = some_numbers()
    for x, text in zip(given, written(given, form, room), strict=True):
        assert abs(read(text) - x) <= 0.0501 * abs(x), text
        assert text.startswith("−") == (x < 0)


@pytest.mark.parametrize("room", [6, 7])
def test_number_fits_a_small_card(written, room):
    given = [x for x in some_numbers() if 1e-9 < abs(x) < 1e9]
    sign = room - 6
    assert max(map(len, written([x for x in given if x > 0 or sign], "short", room))) <= room


@pytest.mark.parametrize(("form", "zero"), [("full", "0.0000"), ("short", "0.00"), ("fine", "0.000000")])
def test_zero_of_either_sign_is_a_plain_zero(written, form, zero):
    assert written([0.0, -0.0], form) == [zero, zero] == [value_text(0.0, form), value_text(-0.0, form)]


def test_what_is_no_number_has_a_word(written):
    assert written([None, "NaN", "Infinity", "-Infinity"], "full") == ["–", "nan", "inf", "−inf"]
    assert [typeset(x) for x in (math.nan, math.inf, -math.inf)] == ["nan", "inf", "−inf"]


def test_small_number_in_no_room_becomes_a_power_of_ten(written):
    assert written([0.006, -0.0035, 0.0004, 0.0066], "short", 4) == ["6e−3", "−0.0035", "4e−4", "0.0066"]
    assert short(0.0066) == "0.0066"


def test_line_of_a_gradient_is_as_wide_in_python_as_in_the_page(page):
    page.load(numbers())
    given = [1e-9, 1e-4, 0.003, 1.0, 55.0, 1e6]
    assert page.run("return arguments[0].map(thickness)", given) == pytest.approx([thickness(g) for g in given])
