"""Laws of derivatives that hold for all numbers, which hypothesis draws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micrograd import Value, grad

numbers = st.floats(-100, 100, allow_subnormal=False)
positive = st.floats(0.01, 100)


def slopes(f, *xs: float) -> list[float]:
    """The gradient of f there; 0 where f does not depend on an operand."""
    values = [Value(x) for x in xs]
    y = f(*values)
    return [g or 0.0 for g in grad(y, values, allow_unused=True)] if y.requires_grad else [0.0] * len(xs)


def about(wanted: list[float]) -> object:
    return pytest.approx(wanted, rel=1e-9, abs=1e-9)


@given(numbers, numbers)
def test_gradients_of_a_sum_and_of_its_mirror_image_are_the_same(a: float, b: float):
    assert slopes(lambda x, y: x + y, a, b) == slopes(lambda x, y: y + x, a, b)


@given(numbers, numbers)
def test_the_greater_and_the_smaller_share_the_gradient_of_the_sum(a: float, b: float):
    assert slopes(lambda x, y: x.maximum(y) + x.minimum(y), a, b) == [1.0, 1.0]


@given(numbers, numbers, numbers, numbers)
def test_a_pass_is_linear_in_the_gradient_that_it_is_given(a: float, b: float, g: float, h: float):
    x, y = Value(a), Value(b)
    z = x * y + x.tanh()
    parts = [grad(z, [x, y], w) for w in (g, h)]
    assert grad(z, [x, y], g + h) == about([sum(pair) for pair in zip(*parts, strict=True)])


@given(numbers, st.integers(1, 5))
def test_passes_add_up(a: float, times: int):
    x = Value(a)
    y = x * 3
    for _ in range(times):
        y.backward()
    assert x.grad == 3.0 * times


@given(positive, st.floats(-3, 3))
def test_mixed_partials_do_not_depend_on_their_order(a: float, b: float):
    def second(i: int, j: int) -> float:
        values = [Value(min(a, 5.0)), Value(b)]
        x, y = values
        (first,) = grad((x**y) * (x * y).sin(), values[i], create_graph=True)
        return grad(first, values[j])[0]

    assert second(0, 1) == pytest.approx(second(1, 0), rel=1e-9, abs=1e-9)
