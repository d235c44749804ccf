"""The exercises of lesson 1."""

from collections.abc import Callable
from typing import Any

from check import exercise, function, near, number, numbers


@exercise("1.1", of=function)
def _(slope: Callable[..., Any]) -> str | None:
    asked = []

    def square(x: float) -> float:
        asked.append(x)
        return x * x

    for name, f, x, wanted in (
        ("x * x", square, 3.0, 6.0),
        ("10 - 2 * x", lambda x: 10 - 2 * x, 5.0, -2.0),
        ("7", lambda x: 7.0, 2.0, 0.0),
        ("x * x * x", lambda x: x * x * x, 2.0, 12.0),
    ):
        found = number(slope(f, x))
        if near(found, 2 * wanted) and wanted:
            return (
                f"the slope of {name} at {x:g} is {wanted:g}, yours is twice that: from one side to the other is 2 * h"
            )
        if near(found, -wanted) and wanted:
            return f"the slope of {name} at {x:g} is {wanted:g}, yours is {found:.4g}: what is subtracted from what?"
        if not near(found, wanted):
            return f"the slope of {name} at {x:g} is {wanted:g}, yours is {found:.4g}: a small nudge? (2 * h)?"
    return None if min(asked) < 3 < max(asked) else "the slope is right, but you nudged to one side only"


@exercise("1.2")
def _(step: Any) -> str | None:
    if isinstance(step, str) and step in ("down", "up"):
        return None if step == "down" else "the slope is positive: with x, the dial would go up too"
    return f'answer "up" or "down"; found {step!r:.40}'


@exercise("1.3", of=number)
def _(x: float) -> str | None:
    if x == 2:
        return "that is where you start: now take a hundred steps, each against the slope"
    if near(x, -1 / 3, 0.01):
        return "the slope is zero there too, but that is a top of the curve, not a bottom"
    if not -1 < x < 2:
        return f"at {x:.4g} you have gone uphill, or too far: against the slope, by a twentieth of it"
    return None if near(x, 1.0, 0.01) else f"the slope at {x:.4g} is not zero yet: a hundred steps?"


@exercise("1.4", of=numbers(2))
def _(slopes: list[float]) -> str | None:
    for_a, for_b = slopes
    if near(for_a, 9.0) and near(for_b, 12.0):
        return "the other way round: first the one for a"
    if near(for_a, 6.0):
        return "6 is the part of one of the two a's; both move when the knob is turned"
    if not near(for_a, 12.0):
        return f"not {for_a:.4g} for a: nudge a to both sides of 3, and leave b at 2"
    return None if near(for_b, 9.0) else f"not {for_b:.4g} for b: nudge b to both sides of 2, and leave a at 3"
