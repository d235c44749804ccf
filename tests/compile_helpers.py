"""What the tests of `compile` share."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import isclose
from typing import Any

from smooth_ops import BINARY, UNARY, allowed


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
