"""The exercises of lesson 14."""

import math
from typing import Any

import numpy as np
from check import exercise, function, kind, near, number, number_exercise


@exercise("14.1", of=number)
def _(found: Any) -> str | None:
    for order, value in ((1, 80.0), (2, 160.0)):
        if near(found, value):
            return f"that is derivative {order}; go on"
    return None if near(found, 240.0) else f"not {float(found):.4g}: 5 * x**4, and then the slope of that, twice"


@exercise("14.2", of=function)
def _(coefficients: Any) -> str | None:
    found = coefficients(lambda x: x.log1p(), 0.0, 4)
    if not isinstance(found, list | tuple | np.ndarray):
        return f"a list of numbers is needed here; found {kind(found)}"
    if len(found) != 5:
        return f"degree 4 has five coefficients, c0 to c4; yours has {len(found)}"
    if all(near(c, d) for c, d in zip(found, (0, 1, -1, 2, -6), strict=True)):
        return "those are the derivatives; differentiate c * x**3 three times: what is c multiplied by?"
    if all(near(c, d) for c, d in zip(found, (0, 1, -1 / 2, 2 / 3, -6 / 4), strict=True)):
        return "divided by k; it should be by k! = 1 * 2 * ... * k"
    wanted = (0, 1, -1 / 2, 1 / 3, -1 / 4)
    for k, (c, d) in enumerate(zip(found, wanted, strict=True)):
        if not near(c, d):
            return f"for log(1 + x) around 0, c{k} is {d:.4g}, yours is {float(c):.4g}"
    elsewhere = coefficients(lambda x: x**2, 3.0, 1)
    return None if near(elsewhere[1], 6.0) else "around 0 it is right; take the derivatives at `at`"


@exercise("14.3", of=function)
def _(root: Any) -> str | None:
    found = root(lambda x: x * x - 2, 1.0)
    if near(found, 0.0):
        return "that is where the slope is zero; the zero of the tangent is the value divided by the slope, back from x"
    if near(found, -math.sqrt(2)):
        return "that is a root, the other one: from 1 the tangent leads to the right"
    if not near(found, math.sqrt(2), 1e-9):
        return f"for x * x - 2 from 1 it should give 1.414214, yours gives {float(found):.6f}"
    cube = root(lambda x: x**3 - 8, 3.0)
    return None if near(cube, 2.0, 1e-9) else f"for x**3 - 8 from 3 it should give 2, yours gives {number(cube):.6f}"


number_exercise(
    "14.4",
    0.1,
    {
        0.2: "2 / 10 would be it if the bend of 10 * y**2 were 10; differentiate twice",
        1.0: "the direction x alone would allow that; which direction bends most?",
        0.05: "that is 1 / λ, the rate that reaches the bottom of that direction in one step; up to twice that works",
    },
    "not {:.4g}: 2 / λ, where λ is the largest bend",
)
