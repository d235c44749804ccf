"""The graph of one point as a list of instructions: a page follows it for thousands of points, with other parameters.

An instruction is [op, operand, ...], where an operand is ["x", i], an input; ["p", i], a parameter; ["c", number]; or
["v", i], the result of an instruction. The model is called once. If what it computes depends on its input in another
way than by these ops (an `if`), the list is wrong for other points: it is compared with the model at a few.
"""

import math
import random
from collections.abc import Callable
from operator import add, mul, neg, pow, sub, truediv
from typing import Any

from micrograd import Value, no_grad

OPS: dict[str, Callable[..., Any]] = {
    "+": add, "-": sub, "*": mul, "/": truediv, "**": pow, "neg": neg,
    **{name: getattr(Value, name) for name in (
        "exp", "log", "tanh", "sin", "cos", "sqrt", "abs", "sigmoid", "softplus", "relu", "leaky_relu", "maximum",
        "minimum", "reciprocal", "expm1", "log1p", "sinh", "cosh", "tan", "arctan", "square",
    )},
}  # fmt: skip
WORDS = {"ReLU": "relu", "max": "maximum", "min": "minimum"}


def surface(model: Any, inputs: int) -> dict[str, Any] | None:
    """The instructions, those that are the model's answers, and those of each neuron by layer; None if it has others.

    >>> from micrograd.nn import MLP
    >>> found = surface(MLP(2, [1]), 2)
    >>> [op for op, *_ in found["code"]], found["scores"], found["layers"]
    (['*', '+', '*', '+'], [['v', 3]], [[['v', 3]]])
    """
    parameters = list(model.parameters())
    x = [Value(0.37 + 0.21 * i) for i in range(inputs)]
    layers, out = [], x
    if hasattr(model, "layers"):
        for layer in model.layers:
            out = layer(out)
            layers.append(out if isinstance(out, list) else [out])
    else:
        out = model(x)
    scores = out if isinstance(out, list) else [out]
    known = {id(v): ["x", i] for i, v in enumerate(x)} | {id(p): ["p", i] for i, p in enumerate(parameters)}
    code: list[list[Any]] = []
    if not all(isinstance(score, Value) for score in scores) or not all(_write(s, known, code) for s in scores):
        return None
    found = {
        "code": code,
        "scores": [known[id(score)] for score in scores],
        "layers": [[known.get(id(value), ["c", 0]) for value in layer] for layer in layers],
    }
    return found if _agrees(found, model, parameters, inputs) else None


def _write(root: Value, known: dict[int, list[Any]], code: list[list[Any]]) -> bool:
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in known:
            continue
        if not node._prev:
            known[id(node)] = ["c", node.data]
        elif not ready:
            stack += [(node, True), *((operand, False) for operand in node._prev)]
        else:
            op = WORDS.get(node._op, node._op)
            operands = [known[id(operand)] for operand in node._prev]
            if op.startswith("**") and op != "**":  # the exponent is a constant, and a part of the name
                op, operands = "**", [*operands, ["c", float(op[2:])]]
            if op not in OPS:
                return False
            known[id(node)] = ["v", len(code)]
            code.append([op, *operands])
    return True


def _agrees(found: dict[str, Any], model: Any, parameters: list[Value], inputs: int) -> bool:
    """Whether the instructions give what the model gives, at points that it was not called with."""
    rng = random.Random(0)
    for _ in range(4):
        x = [rng.uniform(-1.5, 1.5) for _ in range(inputs)]
        with no_grad():
            out = model([Value(number) for number in x])
        wanted = [value.data for value in (out if isinstance(out, list) else [out])]
        if not all(
            math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) or a != a
            for a, b in zip(followed(found, x, [p.data for p in parameters]), wanted, strict=True)
        ):
            return False
    return True


def followed(found: dict[str, Any], x: list[float], p: list[float]) -> list[float]:
    """The scores for one point, by the instructions; as the page computes them, for it to be checked."""
    results: list[Value] = []
    read = {"x": x, "p": p}

    def value(operand: list[Any]) -> Any:
        kind, what = operand
        return results[what] if kind == "v" else Value(what if kind == "c" else read[kind][what])

    with no_grad():
        for op, *operands in found["code"]:
            results.append(OPS[op](*map(value, operands)))
    return [value(score).data for score in found["scores"]]
