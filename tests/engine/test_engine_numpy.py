"""Value beside NumPy's numbers and arrays, which it takes without knowing them."""

from __future__ import annotations

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


@pytest.mark.parametrize("fn", [np.exp, np.log, np.log1p, np.sqrt, np.sin, np.cos, np.tanh, np.abs, np.negative])
def test_numpy_functions_of_arrays_of_values_call_the_ops(fn):
    x = Value(0.5)
    y = fn(np.array([x]))[0]
    y.backward()
    assert y.data == pytest.approx(float(fn(0.5)))
    assert x.grad != 0


@pytest.mark.parametrize("reduce", [np.sum, np.mean, np.prod])
def test_numpy_reductions_of_arrays_of_values_are_values(reduce):
    x = np.array([Value(2.0), Value(6.0)])
    assert reduce(x).data == reduce([2.0, 6.0])


def test_matrix_product_of_arrays_of_values_has_gradients():
    w = np.array([[Value(1.0), Value(2.0)], [Value(3.0), Value(4.0)]])
    (w @ np.array([10.0, 20.0])).sum().backward()
    assert [[v.grad for v in row] for row in w] == [[10.0, 20.0], [10.0, 20.0]]


@pytest.mark.parametrize("part", [Value(2.0), np.float32(2.0), np.float64(2.0)], ids=lambda part: type(part).__name__)
def test_gradient_that_a_closure_adds_becomes_a_plain_float(part):
    x = Value(3.0)
    out = Value(6.0, (x,), "mine")

    def _backward():
        x.grad += part * out.grad

    out._backward = _backward
    out.backward()
    assert (x.grad, type(x.grad)) == (2.0, float)
