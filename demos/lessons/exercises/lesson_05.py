"""The exercises of lesson 5."""

from typing import Any

from check import exercise, near


@exercise("5.1")
def _(names: Any) -> str | None:
    wanted = ["f", "e", "d", "a", "b"]
    if sorted(names) != sorted(wanted):
        return f"each of a, b, d, e, f once; found {names}"
    if names.index("d") < names.index("e"):
        return "d is an operand of e as well: it must wait for it"
    return None if list(names) == wanted else f"not {names}: who has got all parts after d has sent?"


@exercise("5.2")
def _(grad: Any) -> str | None:
    if near(grad, 5.0):
        return "that would be right; this walk finds something else: run it"
    return (
        None if near(grad, 3.0) else f"it does not find {float(grad):.4g}: who sends before its second part is there?"
    )


@exercise("5.3")
def _(count: Any) -> str | None:
    if count == 20:
        return "each number is used twice, and the walk goes both ways: not 20, twice as many at each step"
    return None if count == 2**20 else f"not {count}: try it with 3 doublings, then with 4"
