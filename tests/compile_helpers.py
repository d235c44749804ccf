"""What the tests of `compile` share."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import isclose
from typing import Any

import numpy as np
from smooth_ops import BINARY, UNARY, allowed
from tensor_helpers import leaves, numbers, seed
from tensor_ops_list import Op

from micrograd import grad, gradient


def near(a: Any, b: Any, tolerance: float = 1e-12) -> bool:
    """Are two trees of numbers the same, to 1e-12 of their size?"""
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(near(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def random_function(seed: int) -> tuple[Callable, list[float]]:
    """A function of a list of Values, and a point where it is smooth."""
    rng = random.Random(seed)
    point = [rng.uniform(-3, 3) for _ in range(rng.randint(1, 4))]
    xs, steps = point[:], []
    for _ in range(rng.randint(1, 25)):
        name = rng.choice([*UNARY, *BINARY, *BINARY, *BINARY])
        picked = [rng.randrange(len(xs)) for _ in range(1 if name in UNARY else 2)]
        numbers = [xs[i] for i in picked]
        if allowed(name, numbers):
            _, on_numbers, _ = UNARY.get(name) or BINARY[name]
            result = on_numbers(*numbers)
            if abs(result) < 1e3:
                xs.append(result)
                steps.append((name, picked))
    weights = [rng.uniform(-2, 2) for _ in xs]

    def function(values: list[Any]) -> Any:
        values = list(values)
        for name, picked in steps:
            on_values, _, _ = UNARY.get(name) or BINARY[name]
            values.append(on_values(*(values[i] for i in picked)))
        return sum(w * v for w, v in zip(weights, values, strict=True))

    return function, point


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
