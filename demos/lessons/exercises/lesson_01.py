"""The exercises of lesson 1."""

import math
from typing import Any

from check import exercise, near


@exercise("1.1")
def _(slope: Any) -> str | None:
    if not callable(slope):
        return f"give the function itself, slope, not what it returns; found {type(slope).__name__}"
    for f, x, wanted in ((lambda x: x * x, 3.0, 6.0), (math.exp, 0.0, 1.0), (lambda x: 5.0, 2.0, 0.0)):
        if not near(found := slope(f, x), wanted):
            return f"of one function the slope at {x} is {wanted}, yours says {float(found):.4g}; is it rise over run?"
    return None


@exercise("1.2")
def _(step: Any) -> str | None:
    if step in ("down", "up"):
        return None if step == "down" else "the slope is positive: a step up would raise the loss"
    return f'answer "up" or "down"; found {step!r}'


@exercise("1.3")
def _(x: Any) -> str | None:
    if near(x, -1 / 3, 0.01):
        return "that is where the slope is zero too, but the curve has its local top there"
    return (
        None if near(x, 1.0, 0.01) else f"the slope at {float(x):.4g} is not zero yet: take more steps, or smaller ones"
    )


@exercise("1.4")
def _(error: Any) -> str | None:
    if near(error, 5e-3, 1e-4):
        return "that is the error of the one-sided difference; nudge to both sides"
    return None if near(error, 1e-6, 1e-8) else f"{float(error):.2g} is not it: how far is the two-sided slope from 7?"
