"""The exercises of lesson 21."""

import math
from typing import Any

import numpy as np
from check import exercise, function, kind, near, number, number_exercise


@exercise("21.1", of=number)
def _(found: Any) -> str | None:
    for order, value in ((1, 50_000.0), (2, 20_000.0)):
        if near(found, value):
            return f"that is derivative {order}; go on"
    hints = {
        100_000.0: "that is x**5 itself, without a derivative",
        1200.0: "that is derivative 4, one too many",
        120.0: "that is derivative 5, two too many",
        60.0: "60 is the factor; x**2 is left, and it is 100",
        600.0: "the factor of 60 is right, but x**2 is left, and not x",
        60_000.0: "the factor of 60 is right, but x**2 is left, and not x**3",
        12_000.0: "5 * 4 * 3 is 60, not 120",
        30.0: "those are the factors of x**3 and x**2 alone",
    }
    if hint := next((hint for wrong, hint in hints.items() if near(found, wrong)), None):
        return hint
    return None if near(found, 6000.0) else f"not {number(found):.4g}: 5 * x**4, and then the slope of that, twice"


@exercise("21.2", of=function)
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
    if all(near(c, d) for c, d in zip(found, (0, 1, -2, 12, -144), strict=True)):
        return "multiplied by k!; divide by it"
    if all(near(c, d) for c, d in zip(found, (0, 1 / 2, -1 / 3, 2 / 4, -6 / 5), strict=True)):
        return "divided by k + 1; it should be by k! = 1 * 2 * ... * k"
    wanted = (0, 1, -1 / 2, 1 / 3, -1 / 4)
    for k, (c, d) in enumerate(zip(found, wanted, strict=True)):
        if not near(c, d):
            return f"for log(1 + x) around 0, c{k} is {d:.4g}, yours is {number(c):.4g}"
    elsewhere = coefficients(lambda x: x**2, 3.0, 1)
    return None if near(elsewhere[1], 6.0) else "around 0 it is right; take the derivatives at `at`"


@exercise("21.3", of=function)
def _(root: Any) -> str | None:
    found = root(lambda x: x * x - 2, 1.0)
    if near(found, 0.0):
        return "that is where the slope is zero; the zero of the tangent is the value divided by the slope, back from x"
    if near(found, 1.5, 1e-9):
        return "that is where one step leads; take ten of them"
    for step, why in (
        (lambda x: x + (x * x - 2) / (2 * x), "value / slope is added; it is subtracted"),
        (lambda x: x - 2 * x / (x * x - 2), "slope / value is upside down: go as far as value / slope"),
        (lambda x: x - 2 * x, "that subtracts the slope; divide the value by it"),
        (lambda x: (x * x - 2) / (2 * x), "x is replaced by value / slope; subtract that from x"),
        (lambda x: x - (x * x - 2), "that subtracts the value; divide it by the slope"),
    ):
        place = 1.0
        for _ in range(10):
            place = step(place)
        if near(found, place, 1e-6):
            return why
    if near(found, -math.sqrt(2)):
        return "that is a root, the other one: from 1 the tangent leads to the right"
    if not near(found, math.sqrt(2), 1e-9):
        return f"for x * x - 2 from 1 it should give 1.414214, yours gives {number(found):.6f}"
    cube = root(lambda x: x**3 - 8, 3.0)
    return None if near(cube, 2.0, 1e-9) else f"for x**3 - 8 from 3 it should give 2, yours gives {number(cube):.6f}"


number_exercise(
    "21.4",
    0.1,
    {
        0.2: "2 / 10 would be it if the bend of 10 * y**2 were 10; differentiate twice",
        2.0: "2 must be divided by the largest bend, which is 20",
        0.02: "2 / 100? The slope of 10 * y**2 is 20 * y, so its bend is 20",
        20.0: "20 is the largest bend, λ; the limit is 2 / λ",
        10.0: "10 * y**2 bends by 20, and the limit is 2 divided by that",
        1.0: "the direction x alone would allow that; which direction bends most?",
        0.05: "that is 1 / λ, the rate that reaches the bottom of that direction in one step; up to twice that works",
    },
    "not {:.4g}: 2 / λ, where λ is the largest bend",
)


@exercise("21.5", of=function)
def _(solved: Any) -> str | None:
    rng = np.random.default_rng(215)
    for size in (2, 8, 40):
        factors = rng.normal(size=(size, size))
        matrix = factors @ factors.T / size + np.diag(np.linspace(0.5, 5, size))
        b, asked = rng.normal(size=size), [0]

        def times(v: Any, matrix: Any = matrix, asked: list[int] = asked) -> Any:
            asked[0] += 1
            return matrix @ np.asarray(v)

        found, wanted = np.asarray(solved(times, b.copy())), np.linalg.solve(matrix, b)
        if found.shape != b.shape:
            return f"the solution has the shape of b, {b.shape}; yours has {found.shape}"
        if not np.isfinite(found).all():
            return "there is nan or inf in it: stop when the residual is 0, before dividing by it"
        if not np.allclose(found, wanted, rtol=1e-4, atol=1e-6):
            if asked[0] < 2:
                return "one product is too few: repeat the step, in new directions"
            if asked[0] < size:
                return f"with {size} numbers you stopped after {asked[0]} products: up to {size} steps are needed"
            if np.linalg.norm(matrix @ found - b) > np.linalg.norm(b):
                return "the residual grows: r becomes *smaller* by far * times(d)"
            left = np.linalg.norm(matrix @ found - b) / np.linalg.norm(b)
            return f"with {size} numbers the residual is still {left:.1g} of b: is the ratio new r @ r over old?"
        if asked[0] > size + 2:
            return f"{asked[0]} products for {size} numbers: keep times(d) in a variable, and stop after {size} steps"
    return None
