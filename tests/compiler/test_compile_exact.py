"""To the last bit: a program gives the dtype, the integers and the signs of zeros that the function gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compile_helpers import BACKENDS

import micrograd
from micrograd import Tensor, Value, gradient, where


def same_bits(found: Any, expected: Any) -> None:
    found, expected = np.asarray(getattr(found, "data", found)), np.asarray(getattr(expected, "data", expected))
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(expected)  # a nan has no sign
        np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


# One function each; what is added to 0 is left out, since x + 0 is simplified to x (`simplify` says so)
SIGNED: dict[str, Callable] = {
    "x / 0.0 and x / -0.0": lambda x: [x / 0.0, x / -0.0],
    "x * 0.0 and x * -0.0": lambda x: [x * 0.0, x * -0.0, 1.0 / (x * 0.0), 1.0 / (x * -0.0)],
    "0.0 / x and -0.0 / x": lambda x: [0.0 / x, -0.0 / x],
    "x - 0": lambda x: x - 0.0,
    "0 - x": lambda x: 1.0 / (0.0 - x),
    "-x": lambda x: [-x, -1.0 * -x, 1.0 / -x],
    "x * 1": lambda x: [x * 1.0, x * -1.0, x * 1, x * -1],
    "x / 1": lambda x: [x / 1.0, x / -1.0],
    "x ** n": lambda x: [x**1, x**2, x**3, x**-1, x**1.0],
    "abs": lambda x: [abs(x), abs(-x), abs(-2.0 * x), 1.0 / abs(x)],
    "relu": lambda x: [x.relu(), x.maximum(0.0), x.minimum(0.0), 1.0 / x.relu()],
    "maximum of -0.0": lambda x: [x.maximum(-0.0), x.minimum(-0.0)],
    "where": lambda x: [where(x > 0.0, x, 0.0), where(x > 0.0, 0.0, x), where(x > 0.0, x, -0.0)],
    "a function of a zero": lambda x: [(x * 0.0).tanh(), (x * -0.0).sin(), (x * -0.0).sqrt()],
}
ZEROS = (0.0, -0.0, 1.5, -1.5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SIGNED)
def test_zeros_of_numbers_keep_their_signs(name: str, backend: str):
    if (name, backend) == ("0 - x", "numpy"):
        return  # as a sum of terms it is 0.0 + -1.0 * x
    f = SIGNED[name]
    compiled = micrograd.compile(f, backend=backend)
    for x in ZEROS:
        found, expected = compiled(x), f(Value(x))
        for a, b in zip(*(y if isinstance(y, list) else [y] for y in (found, expected)), strict=True):
            same_bits(a, b)


@pytest.mark.parametrize("f", SIGNED.values(), ids=SIGNED)
def test_zeros_in_arrays_keep_their_signs(f: Callable):
    x = np.array(ZEROS)
    with np.errstate(all="ignore"):
        found, expected = micrograd.compile(f)(x), f(Tensor(x))
    for a, b in zip(*(y if isinstance(y, list) else [y] for y in (found, expected)), strict=True):
        same_bits(a, b)


def test_array_of_both_zeros_is_no_single_number():
    zeros = np.array([0.0, -0.0])
    f = lambda x: [x / zeros, x * zeros, zeros * x + zeros * -1.0]  # noqa: E731
    with np.errstate(all="ignore"):
        for a, b in zip(micrograd.compile(f)(np.ones(2)), f(Tensor(np.ones(2))), strict=True):
            same_bits(a, b)


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_zeros_may_be_constants_of_one_program(backend: str):
    f = lambda xs: [x / c for x in xs for c in (0.0, -0.0)]  # noqa: E731
    for a, b in zip(micrograd.compile(f, backend=backend)([1.0, 2.0]), f([Value(1.0), Value(2.0)]), strict=True):
        same_bits(a, b)


# ---------------------------------------------------------------------------------------------------------------------
# dtypes

OF_ARRAYS: dict[str, Callable] = {
    "identity": lambda x: x,
    "+ 0": lambda x: [x + 0, x + 0.0, 0 + x, x - 0, x - 0.0],
    "* 1": lambda x: [x * 1, x * 1.0, 1 * x, x / 1, x / 1.0],
    "* 2": lambda x: [x * 2, x * 2.5, x / 2, 7 / (x + 1), x * 3, x * 3.0],
    "-": lambda x: [-x, 3 - x, 2.5 - x],
    "**": lambda x: [x**1, x**2, x**3, x**2.0, (x + 1.0) ** -1, x**1.0],
    "sums": lambda x: [x.sum(), x.sum(axis=0), x.sum(axis=1, keepdims=True), x.mean(), x.mean(axis=-1)],
    "greatest": lambda x: [x.max(), x.min(axis=0), x.maximum(2), x.minimum(2), x.relu(), abs(x)],
    "products": lambda x: [x @ x.transpose(), (x * x).sum(), x @ (x.transpose() * 0.5)],
    "shapes": lambda x: [x.reshape(6), x.transpose(), x[1], x[:, ::2], x.flatten()[2:], x.broadcast_to((2, 2, 3))],
    "conditions": lambda x: [where(x > 1, x, 0), where(x > 1, x, 0.0), where(True, x[0], x * 2.5)],
    "bools and ints": lambda x: [x * True, x * 1, x + True, x + 1],
    "cumsum": lambda x: [x.cumsum(axis=0), x.cumsum(axis=1) * 2],
    "functions": lambda x: [(x * 0.25).exp(), (x + 1.0).sqrt(), (x * 0.5).tanh()],
    "constants": lambda x: [x * np.arange(3), x + np.ones((2, 3)), x * np.float32(2), x + np.int64(3)],
    "astype": lambda x: [x.astype(float) * 2, x.astype(np.int64) + 1, (x * 1.7).astype(int)],
}


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8, np.float64, np.float32, np.float16])
@pytest.mark.parametrize("f", OF_ARRAYS.values(), ids=OF_ARRAYS)
def test_array_of_any_dtype_gives_what_it_gives_eagerly(f: Callable, dtype: Any):
    compiled = micrograd.compile(f)
    for x in (np.arange(6).reshape(2, 3), np.array([[5, 0, 2], [3, 3, 1]])):
        found, expected = compiled(x.astype(dtype)), f(Tensor(x.astype(dtype)))
        for a, b in zip(*(y if isinstance(y, list) else [y] for y in (found, expected)), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            exact = a.dtype.kind in "iub"
            np.testing.assert_allclose(a.data, b.data, rtol=0 if exact else 4 * np.finfo(a.dtype).eps)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_gradient_beside_an_array_of_another_dtype_has_its_own(dtype: Any):
    w, x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), np.array([[1, 2], [3, 5]], dtype)
    loss = lambda x: ((w @ x * x) ** 2).mean() + (x * w.sum()).sum()  # noqa: E731
    micrograd.compile(loss)(x).backward()
    found, w.grad = w.grad, None
    loss(Tensor(x)).backward()
    assert found.dtype == w.grad.dtype == np.float64
    np.testing.assert_allclose(found, w.grad, rtol=1e-12)
    assert gradient(micrograd.compile(lambda a, n: (a * n).sum()))(np.ones(2, "f4"), np.array([2, 3])).dtype == "f4"


def test_long_sum_of_float32_is_numpys_own():
    x = np.random.default_rng(0).uniform(size=100_001).astype("f4")
    found, expected = (f(x) for f in (micrograd.compile(lambda x: [x.sum(), x.mean()]), lambda x: [x.sum(), x.mean()]))
    for a, b in zip(found, expected, strict=True):
        same_bits(a, b)
