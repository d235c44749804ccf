"""The exercises of lesson 6."""

import math
from typing import Any

from check import exercise, near

from micrograd import Value


@exercise("6.1")
def _(softplus: Any) -> str | None:
    for place in (-2.0, 0.0, 1.0):
        x = Value(place)
        out = softplus(x) * 2
        out.backward()
        if not near(out, 2 * math.log(1 + math.exp(place))):
            return f"it is not log(1 + exp(x)) at {place}"
        if not near(x.grad, 2 / (1 + math.exp(-place))):
            return f"at {place} the slope is {1 / (1 + math.exp(-place)):.4f}: nudge it, and look at the signs"
    return None


@exercise("6.2")
def _(grad: Any) -> str | None:
    if near(grad, 8.0):
        return "that is one pass; there were five, and nothing was set to zero"
    return None if near(grad, 40.0) else f"not {float(grad):.4g}: one pass gives 8"


@exercise("6.3")
def _(root: Any) -> str | None:
    x, far = Value(0.0), Value(3.0)
    root(x).backward()
    root(far).backward()
    if x.grad != x.grad:
        return "at 0 the gradient is nan still: what is the slope of a square root at 0?"
    return (
        None
        if near(x.grad, 0.0) and near(far.grad, 1.0)
        else f"at 0 it should be 0 and at 3 1; found {x.grad}, {far.grad}"
    )
