"""The exercises of lesson 1."""

from collections.abc import Callable
from typing import Any

from check import exercise, function, kind, near, number, numbers


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
        ("x ** 5", lambda x: x**5, 2.0, 80.0),
    ):
        found = number(slope(f, x))
        if found == 0 and wanted:
            return f"the slope of {name} at {x:g} is {wanted:g}, yours is 0: is the nudge lost to rounding?"
        if abs(found) > 1000:
            return f"{found:.4g} is far too large: subtract one result from the other, with brackets, and then divide"
        if near(found, 2 * wanted) and wanted:
            return f"the slope of {name} at {x:g} is {wanted:g}, yours is twice that; the sides are 2 * h apart"
        if near(found, -wanted) and wanted:
            return f"the slope of {name} at {x:g} is {wanted:g}, yours is {found:.4g}; what is subtracted from what?"
        if wanted and 0 < found / wanted < 0.1:
            return "that is how far the result moves; divide it by how far x was moved, which is 2 * h"
        if wanted and 0.8 < found / wanted < 1.2 and not near(found, wanted):
            return f"the slope of {name} at {x:g} is {wanted:g}, yours is {found:.4g}: try a smaller nudge"
        if not near(found, wanted):
            return f"the slope of {name} at {x:g} is {wanted:g}, yours is {found:.4g}: (right - left) / (2 * h)?"
    return None if min(asked) < 3 < max(asked) else "the slope is right, but you nudged to one side only"


@exercise("1.2")
def _(step: Any) -> str | None:
    if isinstance(step, str) and step.strip().lower() in ("down", "up"):
        return None if step.strip().lower() == "down" else "the slope is positive, so the dial goes up with x"
    return f'answer "up" or "down"; found {step!r:.40}'


@exercise("1.3", of=number)
def _(x: float) -> str | None:
    if x == 2:
        return "that is where you start; now take a hundred steps, each against the slope"
    if near(x, -1 / 3, 0.01):
        return "the slope is zero there too, but that is a top of the curve, not a bottom"
    if not -1 < x < 2:
        return f"at {x:.4g} you have gone uphill, or too far; move against the slope, by a twentieth of it"
    if abs(x) < 1e-3:
        return "0 is the slope that you should end at; the question is at which x"
    if 0.8 < x < 1.3 and not near(x, 1.0, 0.01):
        return f"at {x:.4g} you are nearly there: are those a hundred steps, each of a twentieth of the slope?"
    return None if near(x, 1.0, 0.01) else f"the slope at {x:.4g} is not zero yet; move on, against the slope"


@exercise("1.4", of=numbers(2))
def _(slopes: list[float]) -> str | None:
    for_a, for_b = slopes
    if near(for_a, 9.0) and near(for_b, 12.0):
        return "the order is the other way round; the slope for a comes first"
    if near(for_a, 6.0):
        return "6 is the part of one of the two a's; both move when the knob is turned"
    if not near(for_a, 12.0):
        return f"the slope for a is not {for_a:.4g}; nudge a to both sides of 3, and leave b at 2"
    if not near(for_b, 9.0):
        return f"the slope for b is not {for_b:.4g}; nudge b to both sides of 2, and leave a at 3"
    return None


@exercise("1.5", of=function)
def _(lowest: Callable[..., Any]) -> str | None:
    bowls: tuple[tuple[str, Callable[..., float], list[float], list[float]], ...] = (
        ("(x - 3) ** 2", lambda x: (x - 3) ** 2, [0.0], [3.0]),
        ("x * x + 4 * (y - 1) ** 2", lambda x, y: x * x + 4 * (y - 1) ** 2, [2.0, 5.0], [0.0, 1.0]),
        ("x * x + 100 * y * y", lambda x, y: x * x + 100 * y * y, [1.0, 1.0], [0.0, 0.0]),
        ("a bowl with five knobs", lambda *xs: sum((x - i) ** 2 for i, x in enumerate(xs)), [9.0] * 5, [0, 1, 2, 3, 4]),
    )
    for name, bowl, start, wanted in bowls:
        runs = [0]

        def machine(*knobs: float, bowl: Callable[..., float] = bowl, runs: list[int] = runs) -> float:
            runs[0] += 1
            if runs[0] > 20_000:
                raise TimeoutError("the machine may run 20,000 times: take fewer steps, or longer ones")
            return bowl(*knobs)

        found = lowest(machine, list(start))
        if not isinstance(found, list | tuple) or len(found) != len(start):
            return f"for {name}, return a list with {len(start)} of the knobs' numbers; found {kind(found)}"
        far = max(abs(number(x) - y) for x, y in zip(found, wanted, strict=True))
        if not far < 1e6:
            return f"for {name} the numbers explode: when the dial goes up, go back, and halve the step"
        if bowl(*found) >= bowl(*start) and found != wanted:
            return f"for {name} the dial is no lower than at the start: which way does the step go?"
        if far > 0.05 and runs[0] < 1000:
            return f"for {name} you end {far:.2g} away, and ran the machine {runs[0]} times of 20,000: take more steps"
        if far > 0.05:
            return f"for {name} you end {far:.2g} away from the lowest place: are the steps too few, or too short?"
    return None
