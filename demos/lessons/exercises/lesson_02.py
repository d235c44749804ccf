"""The exercises of lesson 2."""

import ast
from typing import Any

from check import exercise, function, kind, near, number_exercise, words

from micrograd import Value


@exercise("2.1")
def _(out: Any) -> str | None:
    if not isinstance(out, Value):
        return f"build it of Values, so that it remembers; found {kind(out)}"
    if near(out, 0.0):
        return "that is 0, as a + b * b - c is: write the brackets"
    if not near(out, -6.0):
        return f"(a + b) * (b - c) is -6 here, yours is {out.data:.4g}"
    if out._op != "*" or sorted(node._op for node in out._prev) != ["+", "-"]:
        return "the number is right, but it is no product of a sum and a difference; are a, b and c Values?"
    return None


number_exercise(
    "2.2",
    4,
    {
        3: "that counts the two products and the sum; a is a node too",
        5: "there are two products and a sum, and how many more?",
        6: "each a that you write is the same node, because an operand is not copied",
        8: "each a that you write is the same node, because an operand is not copied",
        7: "each a that you write is the same node, because an operand is not copied",
    },
    "there are not {:g} nodes; draw it, and count the boxes",
    tolerance=0,
)


@exercise("2.3", of=words)
def _(ops: Any) -> str | None:
    found = list(ops)
    if "" in found:
        return "leave out the empty ones, which belong to leaves"
    if sorted(found) != ["*", "*", "+", "+", "tanh"]:
        return f"a neuron of two inputs has two products, two sums and a tanh; yours has {found}"
    if found[0] != "tanh":
        return "these are the right ones; go from the result back, so that tanh comes first"
    return None if found[1:3] == ["+", "+"] else "a result comes before its operands: both sums, then the products"


@exercise("2.4", of=function)
def _(formula: Any) -> str | None:
    a, b, c = Value(2.0, label="a"), Value(-3.0, label="b"), Value(0.5, label="c")
    named = a + b
    named.label = "sum"
    for node, needed in (
        (a, "a leaf is written by its label"),
        (a + b, "write the two operands with the operation between them"),
        (a - b, "a minus stands between its operands, and their order matters"),
        (a + 10, "a constant has no label, so write its number"),
        (-a, "neg is written as (-a)"),
        (c * (a - b), "brackets around each operation keep the order"),
        (a / b / c, "brackets around each operation keep the order"),
        ((a + b) ** 2, "a power is written as (a)**2, with brackets"),
        (Value(-3.0) ** 2, "a power is written as (a)**2, with brackets, since -3.0**2 is -(3.0**2)"),
        (named * c, "the sum has a label, but it is no leaf: write what it was made from"),
        (((a * b + c).tanh() - a.exp()) * a, "other operations are methods, such as .tanh()"),
        ((-a).exp(), "neg is written as (-a), with brackets, or a method would be called first"),
    ):
        try:
            text = formula(node)
        except IndexError:
            return f"an operand is asked for that is not there: a leaf is a node whose _prev is empty; {needed}"
        if not isinstance(text, str):
            return f"a formula is a text; found {kind(text)}"
        try:
            if not all(map(_may_stand, ast.walk(ast.parse(text, mode="eval")))):
                return f"{text!r:.60} is more than names, numbers, operations and methods: {needed}"
            found = eval(text, {"__builtins__": {}}, {"a": a, "b": b, "c": c})
            value = float(getattr(found, "data", found))
        except Exception as error:
            return f"Python cannot read {text!r} ({type(error).__name__}): {needed}"
        if not near(value, node.data, 1e-9):
            return f"{text} is {value:.4g}, and the node holds {node.data:.4g}: {needed}"
    return None if "10" in formula(a + 10) else "a number stays a number"


def _may_stand(part: ast.AST) -> bool:
    """Whether a part of a formula is a name, a number, an operation or the call of a method."""
    if isinstance(part, ast.Attribute):
        return not part.attr.startswith("_")
    if isinstance(part, ast.Constant):
        return isinstance(part.value, int | float)
    if isinstance(part, ast.Call):
        return isinstance(part.func, ast.Attribute) and not part.args
    return isinstance(part, ast.Expression | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop | ast.Name | ast.Load)
