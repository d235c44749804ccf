"""What the tests of `compile` share."""

from __future__ import annotations

from math import isclose
from typing import Any


def near(a: Any, b: Any, tolerance: float = 1e-12) -> bool:
    """Are two trees of numbers the same, to 1e-12 of their size?"""
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(near(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
