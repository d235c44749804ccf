"""What single ops on Tensors promise beyond their values: ties, bounds, defaults, edges of their domains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tensor_ops_list import BINARY, Op

from micrograd import Tensor, where


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize(
    ("axis", "expected"),
    [(None, [[0.25, 0.25, 0], [0.25, 0.25, 0]]), (0, [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]), (1, [[0.5, 0.5, 0]] * 2)],
)
def test_those_who_tie_for_an_extreme_share_its_gradient(name: str, axis: Any, expected: Any):
    x = Tensor(np.array([[2.0, 2, 1], [2, 2, 1]]) * (1 if name == "max" else -1), requires_grad=True)
    getattr(x, name)(axis).sum().backward()
    np.testing.assert_array_equal(x.grad, expected)


def test_clip_keeps_integers_whatever_was_clipped_before():
    assert Tensor([1, 5]).clip(0.0, 3.0).dtype == np.float64
    assert Tensor([1, 5]).clip(0, 3).dtype == np.int64


def test_minus_infinity_masks_a_logit():
    x = Tensor([0.0, -np.inf, 0.0], requires_grad=True)
    out = x.logsumexp() + x.log_softmax()[0] + x.softmax()[2]
    out.backward()
    assert out.item() == pytest.approx(np.log(2) - np.log(2) + 0.5)
    np.testing.assert_allclose(x.grad, [0.75, 0, 0.25], atol=1e-15)


def test_prod_of_one_factor_is_a_number_of_its_own():
    x = Tensor([3.0])
    p = x.prod()
    p += 1
    assert x.item() == 3.0


def test_astype_carries_the_gradient_back_in_the_operands_dtype_and_to_integers_makes_a_constant():
    x = Tensor(np.array([1.5, 2.5], np.float32), requires_grad=True)
    y, integers = x.astype(np.float64), x.astype(int)
    y.backward(np.array([1 / 3, 1.0]))
    assert (y.dtype, x.grad.dtype, integers.requires_grad, integers.tolist()) == (np.float64, np.float32, False, [1, 2])


def test_mixed_dtypes_promote_as_in_numpy_and_each_gets_a_gradient_of_its_own():
    x = Tensor(np.ones(2, np.float32), requires_grad=True)
    y = Tensor(np.ones(2), requires_grad=True)
    z = x * y
    z.sum().backward()
    assert (z.dtype, x.grad.dtype, y.grad.dtype) == (np.float64, np.float32, np.float64)


@pytest.mark.parametrize("op", [op for op in BINARY if op.name.startswith("__")], ids=str)
def test_numbers_do_not_promote_float32(op: Op):
    x = Tensor(np.ones(2, np.float32))
    assert {op.call(x, 2).dtype, op.call(2, x).dtype, op.call(x, 2.5).dtype, op.call(2.5, x).dtype} == {x.dtype}


def test_integer_tensor_computes_like_an_integer_array():
    x = Tensor([3, 4])
    assert [(x * 2).dtype, (x + x).dtype, x.sum().dtype, (x / 2).dtype] == [np.int64, np.int64, np.int64, np.float64]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "value"), [("softmax", 1), ("log_softmax", 0), ("logsumexp", 1.5), ("prod", 1.5)])
@pytest.mark.parametrize("axis", [0, -1])
def test_number_has_one_axis_for_those_that_need_one(name: str, value: float, axis: int, dtype: str):
    x = Tensor(1.5, dtype=dtype, requires_grad=True)
    y = getattr(x, name)(axis)
    y.backward()
    assert (y.item(), y.shape, y.dtype, x.grad.shape, x.grad.dtype) == (value, (), dtype, (), dtype)


@pytest.mark.parametrize("dtype", [complex, object, "M8", "U3"])
@pytest.mark.parametrize("make", [lambda d: Tensor([1.0], dtype=d), lambda d: Tensor([1.0]).astype(d)])
def test_dtype_that_is_not_of_real_numbers_is_refused(make: Any, dtype: Any):
    with pytest.raises(TypeError, match="real numbers"):
        make(dtype)


@pytest.mark.parametrize("condition", ["yes", 1j, None, [None, 1]])
def test_condition_that_is_no_array_of_bools_or_numbers_is_refused(condition: Any):
    with pytest.raises(TypeError, match="found"):
        where(condition, Tensor([1.0, 2.0]), 0.0)
