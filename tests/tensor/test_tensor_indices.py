"""Indices of every kind that NumPy has: what they select, and where the gradients go."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tensor_helpers import seed
from tensor_ops_list import OPS, Shape

from micrograd import Tensor, grad

INDICES: list[Any] = [
    0, -1, np.int64(1), (0, 1), (-1, -1, -1), (0, 1, 2),
    slice(None), slice(1, None), slice(None, None, -1), slice(None, None, 2), slice(-2, -9, -1), slice(2, 1), slice(9),
    ..., (..., 0), (0, ...), (slice(None), ..., slice(1)), (), (..., None), None, (None, 0, None), (slice(1), None),
    [0, 1, 0, 0], [-1, 0, -1], np.array([[0, 1], [1, 1]]), ([0, 1, 1], [2, 2, 2]), ([0, 0], slice(None), [1, 1]),
    (slice(None), [0, 0, 2], None), ([[0], [1]], [[0, 2]]), (0, [1, 1], slice(None, None, -1)), (np.array(1), 0),
    np.array([], int), [], (slice(None), []), np.array(1), np.array([0, 0, 1], np.uint8), (0, ..., [1, 1]),
    np.arange(24).reshape(2, 3, 4) % 3 == 0, np.array([True, False]), [True, False], np.zeros((2, 3), bool), True,
    False, np.array(True), (slice(None), np.array([True, False, True])), (0, np.eye(3, 4, dtype=bool)),
    (np.array([[True, False, True], [False, True, True]]), [0, 1, 1, 3]), (True, 0), ((0, 1), (2, 2)), range(2),
]  # fmt: skip
every_index = pytest.mark.parametrize("index", INDICES, ids=lambda i: re.sub(r"\s+", " ", repr(i))[:60])
CUBE = np.arange(24.0).reshape(2, 3, 4) / 7


def counted(index: Any, g: np.ndarray) -> np.ndarray:
    """The adjoint of indexing, by counting."""
    places = np.arange(CUBE.size).reshape(CUBE.shape)[index]
    return np.bincount(np.ravel(places), g.ravel(), CUBE.size).reshape(CUBE.shape)


@every_index
def test_index_selects_as_in_numpy_and_its_gradients_accumulate(index: Any):
    x = Tensor(CUBE, requires_grad=True)
    out = x[index]
    g = seed(OPS[0], out)
    out.backward(g)
    np.testing.assert_array_equal(out.data, CUBE[index])
    np.testing.assert_allclose(x.grad, counted(index, g), rtol=1e-13)


@every_index
def test_index_can_be_differentiated_twice(index: Any):
    x = Tensor(CUBE, requires_grad=True)
    (slope,) = grad((x[index] ** 3).sum(), x, create_graph=True)
    (second,) = grad(slope.sum(), x)
    np.testing.assert_allclose(second, 6 * CUBE * counted(index, np.ones(CUBE[index].shape)), rtol=1e-13)


@every_index
def test_value_written_at_an_index_gets_the_gradient_of_what_was_there(index: Any):
    x, v = Tensor(CUBE, requires_grad=True), Tensor(CUBE[index] + 1, requires_grad=True)
    y = x * 2
    y[index] = v
    expected = 2 * CUBE
    expected[index] = v.data
    np.testing.assert_array_equal(y.data, expected)

    g = np.arange(1.0, 25.0).reshape(CUBE.shape)
    y.backward(g)
    kept = np.ones(CUBE.shape)
    kept[index] = 0
    np.testing.assert_array_equal(x.grad, 2 * g * kept)
    if np.all(counted(index, np.ones(v.shape)) <= 1):  # several writes to one place have a test of their own
        np.testing.assert_array_equal(v.grad, g[index])


def test_write_of_several_values_to_one_place_gives_the_last_the_gradient():
    v = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = Tensor(np.zeros(3))
    y[[0, 2, 0]] = v
    y.backward(np.array([10.0, 20.0, 30.0]))
    np.testing.assert_array_equal(y.data, [3, 0, 2])
    np.testing.assert_array_equal(v.grad, [0, 30, 10])


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 4), (1, 1, 4), (1, 1, 3, 1)])
def test_value_written_is_broadcast_and_its_gradient_summed(shape: Shape):
    y, v = Tensor(np.zeros((2, 3, 4))), Tensor(np.ones(shape), requires_grad=True)
    y[0] = v
    y.backward(np.ones(y.shape))
    assert v.grad.shape == shape
    assert v.grad.sum() == 12


def test_index_may_be_a_tensor():
    x = Tensor(CUBE, requires_grad=True)
    np.testing.assert_array_equal(x[Tensor([1, 1, 0])].data, CUBE[[1, 1, 0]])
    np.testing.assert_array_equal(x[:, Tensor(2)].data, CUBE[:, 2])


@pytest.mark.parametrize("index", [np.array([0, 2]), np.array([True, False, True]), [0, 2], Tensor([0, 2])], ids=repr)
def test_index_that_is_changed_after_the_forward_pass_changes_nothing(index: Any):
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x[index]
    index[0] = index[1] = 1
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, [1, 0, 1])
