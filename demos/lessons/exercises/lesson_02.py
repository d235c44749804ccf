"""The exercises of lesson 2."""

from typing import Any

from check import exercise, near


@exercise("2.1")
def _(out: Any) -> str | None:
    if not hasattr(out, "_prev"):
        return f"build it of Values, so that it remembers; found {type(out).__name__}"
    return None if near(out, -6.0) else f"(a + b) * (b - c) is -6 here, yours is {float(out):.4g}"


@exercise("2.2")
def _(count: Any) -> str | None:
    return None if count == 4 else "a * a is one node that uses a twice: an operand is not copied. Count in the drawing"


@exercise("2.3")
def _(ops: Any) -> str | None:
    found = list(ops) if isinstance(ops, list | tuple) else ops
    if not isinstance(found, list):
        return f"a list of the names of the ops, such as ['+', '*']; found {type(ops).__name__}"
    if sorted(found) != ["*", "*", "+", "+", "tanh"]:
        return f"a neuron of two inputs has two products, two sums and a tanh; yours has {found}"
    return None if found[0] == "tanh" else "these are the right ones; go from the result down, so that tanh comes first"
