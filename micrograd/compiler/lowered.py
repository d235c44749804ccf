"""A lowered program: what is read, computed, returned and updated, as data. A back end makes a function of it.

>>> from .interface import compile
>>> from ..engine import Value
>>> f = compile(lambda x, y: x * y.tanh())
>>> f(Value(2.0), 0.5)
Value(data=0.9242343145200195, grad=0)
>>> print(f.lowered)
reads
    x: number = x, a Value
    y: number = y
steps
    t1: number = tanh(y)
    t2: number = multiply(x, t1)
outputs
    t2
gradients
    x: t1

The steps are Symbols, operands first: `symbol.op` is one of `opset`, `symbol.args` are its operands and settings.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ..tensor.optional import np
from .symbols import Symbol, needed, symbols_in

KINDS = {
    "given": "",
    "number": ", as a float",
    "value": ", a Value",
    "tensor": ", a Tensor",
    "array": ", as an array",
    "lists": ", each number by itself",
    "flat": ", flattened",
    "samples": ", the samples last",
    "vector": ", as a vector",
    "count": ", a count",
}


class Read(NamedTuple):
    """Where an input comes from: a parameter of the program, then keys into it. `kind` is one of `KINDS`.

    For the kind "vector", `keys` are the names of the numbers that form it; "lists" and "flat" have the array's shape.
    """

    name: str
    parameter: str
    keys: tuple[Any, ...] = ()
    kind: str = "given"
    dtype: Any = None
    shape: tuple[int, ...] = ()

    @property
    def place(self) -> str:
        """The expression for what is read."""
        if self.kind == "vector" and not self.parameter:
            return f"[{', '.join(self.keys)}]"
        texts = (sliced(key) if isinstance(key, slice) else repr(key) for key in self.keys)
        return self.parameter + "".join(f"[{text}]" for text in texts)


def sliced(x: slice) -> str:
    """The text of a slice between square brackets."""
    return ":".join("" if part is None else str(part) for part in (x.start, x.stop, x.step)[: 2 + bool(x.step)])


@dataclass(frozen=True)
class Lowered:
    """A program before it is written for a back end.

    Args:
        parameters: the names of what it is called with: "leaves" (the outside nodes' data) if it reads any, "update"
            (what it writes to) if it does, the function's arguments, and the incoming gradients.
        reads: where each input comes from.
        values: a tree of Symbols and constants.
        gradients: the same, a list; None for a program that returns the values alone.
        by: the names of the inputs that these are the gradients of.
        updates: pairs (input, its new value), written to where the input was read from, after everything else and all
            at once.
    """

    parameters: tuple[str, ...]
    reads: tuple[Read, ...]
    values: Any
    gradients: list[Any] | None = None
    by: tuple[str, ...] = ()
    updates: tuple[tuple[Symbol, Any], ...] = ()

    @property
    def outputs(self) -> Any:
        """What the program returns."""
        return self.values if self.gradients is None else (self.values, self.gradients)

    @cached_property
    def steps(self) -> tuple[Symbol, ...]:
        """The Symbols that it needs, operands first; those of `op == "input"` are read."""
        return tuple(needed((self.outputs, self.updates)))

    @cached_property
    def names(self) -> dict[Symbol, str]:
        """A name for each Symbol: that of the input, or t1, t2, ... in order."""
        names: dict[Symbol, str] = {}
        turn = itertools.count(1)
        for x in self.steps:
            names[x] = x.args[0] if x.op == "input" else f"t{next(turn)}"
        return names

    def shown(self, x: Any) -> str:
        """An operand or setting as text."""
        if x.__class__ is Symbol:
            return self.names[x]
        if x.__class__ in (tuple, list):
            inner = ", ".join(map(self.shown, x))
            return f"[{inner}]" if x.__class__ is list else f"({inner}{',' * (len(x) == 1)})"
        if x.__class__ is slice:
            return sliced(x)
        if x.__class__ is np.ndarray:
            return f"constant {kind_of(x)}"
        return "..." if x is ... else str(x)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        inputs = {x.args[0]: x for x in self.steps if x.op == "input"}
        if self.reads:
            yield "reads"
        for read in self.reads:
            kind = f": {kind_of(inputs[read.name])}" if read.name in inputs else ""
            yield f"    {read.name}{kind} = {read.place}{KINDS[read.kind]}"
        yield "steps"
        for x in self.steps:
            if x.op != "input":
                operands = [*map(self.shown, x.args), *(f"{name}={self.shown(part)}" for name, part in x.named)]
                yield f"    {self.names[x]}: {kind_of(x)} = {x.op.lstrip('.')}({', '.join(operands)})"
        yield "outputs"
        yield from (f"    {self.shown(x)}" for x in (self.values if self.values.__class__ is list else [self.values]))
        if self.gradients:
            yield "gradients"
            yield from (f"    {name}: {self.shown(x)}" for name, x in zip(self.by, self.gradients, strict=True))
        if self.updates:
            yield "updates"
            yield from (f"    {self.shown(x)} = {self.shown(new)}" for x, new in self.updates)


def kind_of(x: Any) -> str:
    """The shape and dtype of a Symbol or array, as text."""
    return "number" if x.shape is None else f"{x.dtype}{list(x.shape)}"


# ---------------------------------------------------------------------------------------------------------------------
# A program as a graph


class Step:
    """A node of the drawing: an operation of the program, an input or a constant."""

    requires_grad = False

    def __init__(self, op: str, operands: tuple[Step, ...] = (), label: str = "", data: Any = ""):
        self._op = op
        self._prev = operands
        self.label = label
        self.data = data

    def __repr__(self) -> str:
        return f"<{self.label or self._op or self.data}>"


def drawing(program: Lowered) -> list[Step]:
    """The outputs of a program as nodes for `draw_dot`; a step has a label if it is used more than once."""
    steps: dict[Any, Step] = {}
    uses = Counter(symbols_in([*(x.args for x in program.steps), program.outputs, program.outputs]))

    def step(x: Any) -> Step:
        if x.__class__ is np.ndarray:
            return steps.setdefault(id(x), Step("", data=str(x.shape)))
        return steps[x] if x.__class__ is Symbol else Step("", data=x)

    for symbol in program.steps:
        data = "number" if symbol.shape is None else str(symbol.shape)
        if symbol.op == "input":
            steps[symbol] = Step("", label=program.names[symbol], data=data)
        else:
            sign, operands = symbol.op.lstrip("."), symbol.args
            if symbol.shape is None and sign in SIGNS:
                sign = SIGNS[sign]
            elif sign == "getitem":
                sign, operands = f"[{program.shown(symbol.args[1]).strip('()')}]", symbol.args[:1]
            found = tuple(step(x) for x in operands if x.__class__ in (Symbol, np.ndarray, float, int))
            steps[symbol] = Step(sign, found, program.names[symbol] if uses[symbol] > 1 else "", data)
    roots = [steps[symbol] for symbol in symbols_in(program.outputs)]
    for target, new in program.updates:
        made = step(new)
        roots.append(Step(made._op, made._prev, steps[target].label, made.data))
    return list(dict.fromkeys(roots))


SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "less": "<", "less_equal": "<=", "greater": ">"}
SIGNS |= {"greater_equal": ">=", "equal": "==", "not_equal": "!="}
