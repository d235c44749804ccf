"""Value beside NumPy's numbers and arrays, which it takes without knowing them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from micrograd import Value


@pytest.mark.parametrize(("data", "name"), [(np.True_, "bool"), (np.ones(3), "ndarray"), (np.array(1.0), "ndarray")])
def test_data_that_is_no_number_is_refused(data, name):
    with pytest.raises(TypeError, match="real number") as caught:
        Value(data)
    assert name in str(caught.value)


def test_array_times_a_value_is_an_array_of_values():
    x = Value(2.0)
    for product in (np.array([1.0, 3.0]) * x, x * np.array([1.0, 3.0])):
        assert [v.data for v in product] == [2.0, 6.0]
    sum(product).backward()
    assert x.grad == 4.0


MATRIX = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
FUNCTIONS: list[Callable[[Any], Any]] = [
    np.exp, np.log, np.log1p, np.sqrt, np.sin, np.cos, np.tanh, np.abs, np.negative, np.prod,
    lambda x: (MATRIX @ x) ** 2,
    lambda x: np.mean(x) * np.maximum(x, 1.0),
    lambda x: np.max(x) * np.min(x) - np.clip(x, 0.6, 1.5),
    lambda x: np.dot(x, x) * np.concatenate([x, x[:1]]),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_numpys_functions_of_arrays_of_values_call_the_ops(function: Callable):
    numbers, step = np.array([0.5, 0.9, 1.7]), 1e-6
    values = np.array([*map(Value, numbers)])
    y = np.sum(function(values))
    y.backward()
    slopes = [np.sum(function(numbers + d) - function(numbers - d)) / (2 * step) for d in step * np.eye(3)]
    assert y.data == pytest.approx(np.sum(function(numbers)))
    assert [v.grad for v in values] == pytest.approx(slopes, rel=1e-6)


@pytest.mark.parametrize("part", [Value(2.0), np.float32(2.0), np.float64(2.0)], ids=lambda part: type(part).__name__)
def test_gradient_that_a_closure_adds_becomes_a_plain_float(part):
    x = Value(3.0)
    out = Value(6.0, (x,), "mine")

    def _backward():
        x.grad += part * out.grad

    out._backward = _backward
    out.backward()
    assert (x.grad, type(x.grad)) == (2.0, float)
