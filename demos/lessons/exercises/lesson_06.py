"""The exercises of lesson 6."""

import math
from typing import Any

from check import exercise, function, kind, near, number_exercise

from micrograd import Value


@exercise("6.1", of=function)
def _(softplus: Any) -> str | None:
    for place in (-2.0, 0.0, 1.0):
        x = Value(place)
        found = softplus(x)
        if not isinstance(found, Value):
            return f"it should return a Value, and returns {kind(found)}"
        if not near(found, math.log(1 + math.exp(place))):
            return f"it is not log(1 + exp(x)) at {place:g}; that line was right"
        (found * 2).backward()
        if near(x.grad, 1 / (1 + math.exp(-place))):
            return "multiply by what arrives from the right: out.grad is missing"
        if not near(x.grad, 2 / (1 + math.exp(-place))):
            return f"at {place:g} the slope is {1 / (1 + math.exp(-place)):.4f}: nudge it, and look at the signs"
    return None


number_exercise(
    "6.2",
    40.0,
    {
        8.0: "that is one pass; there were five, and nothing was set to zero",
    },
    "not {:.4g}: one pass gives 8, and what do five?",
)


@exercise("6.3", of=function)
def _(root: Any) -> str | None:
    x, far = Value(0.0), Value(3.0)
    if not isinstance(root(x), Value):
        return f"it should return a Value, and returns {kind(root(x))}"
    root(x).backward()
    root(far).backward()
    if x.grad != x.grad:
        return "at 0 the gradient is still nan: what is the slope of a square root at 0?"
    return (
        None
        if near(x.grad, 0.0) and near(far.grad, 1.0)
        else f"the gradient should be 0 at 0, and 1 at 3; found {x.grad:.4g} and {far.grad:.4g}"
    )
