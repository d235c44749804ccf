"""What the tests of `compile` share."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isclose
from typing import Any

import numpy as np
from tensor_helpers import leaves, numbers, seed
from tensor_ops_list import Op

from micrograd import grad, gradient


def unwatched(f: Callable) -> Callable:
    """f, in what guards do not look into: each compilation would watch all of the tables of ops that it leads to."""
    return lru_cache(maxsize=0)(f)


def near(a: Any, b: Any, tolerance: float = 1e-12) -> bool:
    """Are two trees of numbers the same, to 1e-12 of their size?"""
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(near(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def same(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Equal to 1e-12 of the greatest element: sums may be taken in another order."""
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(abs(b).max(initial=0), 1))


def first_order(op: Op, call: Callable, operands: list[np.ndarray]) -> list[np.ndarray]:
    inputs = leaves(operands)
    out = call(*inputs)
    if not out.requires_grad:
        return [out.data]
    return [out.detach().data, *numbers(grad(out, inputs, seed(op, out), allow_unused=True), inputs)]


def squared_gradient(op: Op) -> Callable:
    """The sum of the squares of an op's gradients, each element of its result weighted by another number."""

    def square(*inputs: Any) -> Any:
        weighted = lambda *xs: (out := op.call(*xs)) * out * seed(op, out)  # noqa: E731
        gradients = gradient(weighted)(*inputs)
        return sum((g * g).sum() for g in (gradients if isinstance(gradients, tuple) else [gradients]))

    return square
