"""The exercises of lesson 2."""

from typing import Any

from check import exercise, kind, near, number_exercise, words

from micrograd import Value


@exercise("2.1")
def _(out: Any) -> str | None:
    if not isinstance(out, Value):
        return f"build it of Values, so that it remembers; found {kind(out)}"
    if not near(out, -6.0):
        return f"(a + b) * (b - c) is -6 here, yours is {out.data:.4g}"
    if out._op != "*" or sorted(node._op for node in out._prev) != ["+", "-"]:
        return "the number is right, but not as a product of a sum and a difference: are a, b and c Values?"
    return None


number_exercise(
    "2.2",
    4,
    {
        3: "that counts the two products and the sum; a is a node too",
        5: "there are two products and a sum, and how many more?",
        7: "each a that you write is the same node: an operand is not copied",
    },
    "not {:g}: draw it, and count the boxes",
    tolerance=0,
)


@exercise("2.3", of=words)
def _(ops: Any) -> str | None:
    found = list(ops)
    if "" in found:
        return "leave out the empty ones: they belong to leaves"
    if sorted(found) != ["*", "*", "+", "+", "tanh"]:
        return f"a neuron of two inputs has two products, two sums and a tanh; yours has {found}"
    return None if found[0] == "tanh" else "these are the right ones; go from the result back, so that tanh comes first"
