"""The public form of a program, which states as data what is read, computed, returned and updated.

`f.lowered` has the program of a compiled function in this form, and printing it shows the program as a page. A back end
makes a function of it, and imports this module alone. The guide `docs/lowered.md` describes the form, and shows a back
end of ten lines.

>>> from .api import compile
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

A program is a `Lowered`, its steps are `Symbol`s, operands first, and each of its inputs has a `Read`, which says where
the input comes from. `symbol.op` is "input" or one of the operations in `OPSET`, `symbol.args` are its operands and
settings, and `symbol.named` has more settings. `evaluate` says what each operation does to arrays. Before a program is
vectorized and simplified, its operations on numbers are rows of the derivative table.

>>> f.lowered.steps[-1].op, f.lowered.steps[-1].args, f.lowered.version
('multiply', (x, tanh(y)), 1)
>>> f.lowered.run(Value(2.0), 0.5)
([0.9242343145200195], [0.46211715726000974])

`VERSION` is the version of this form. It goes up whenever a program can hold what a back end for the version before
does not know, such as an operation, a kind of Read or a field. A back end that states another version is refused.
"""

from __future__ import annotations

import itertools
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from operator import call
from typing import Any, ClassVar, NamedTuple

from ..common.trees import leaves
from ..engine.locks import holding
from ..scalars import floats
from ..tensor.optional import library, np
from .graph import rebuilt
from .primitives import ELEMENTWISE, OPSET, SPECIAL, evaluate
from .simplify import RULES, axes_of
from .symbols import BY_COLUMNS, VIEWS, Symbol, is_uniform, needed, symbols_in

__all__ = [
    "BY_COLUMNS", "ELEMENTWISE", "KINDS", "OPSET", "SPECIAL", "VERSION", "VIEWS", "Lowered", "Read", "Symbol",
    "at_once", "axes_of", "bracketed", "evaluate", "floats", "holding", "is_uniform", "leaves", "library", "needed",
    "np", "reader", "reading", "rewritten", "sliced", "symbols_in", "vector",
]  # fmt: skip

VERSION = 1

KINDS = {
    "as_is": "",
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
    kind: str = "as_is"
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
    """A slice as text, as it is written between square brackets."""
    return ":".join("" if part is None else str(part) for part in (x.start, x.stop, x.step)[: 2 + bool(x.step)])


def bracketed(x: Any, text: Callable[[Any], str]) -> str:
    """A list or tuple as text, by a function for the text of each element."""
    inner = ", ".join(map(text, x))
    return f"[{inner}]" if x.__class__ is list else f"({inner}{',' * (len(x) == 1)})"


@dataclass(frozen=True)
class Lowered:
    """A program before it is written for a back end.

    Args:
        parameters: the names of the program's parameters. These are "leaves" (the data of outside nodes, if the program
            reads any), "update" (the objects that the program writes to, if any), the parameters of the function, and
            the incoming gradients.
        reads: where each input comes from.
        values: a tree of Symbols and constants.
        gradients: a list of Symbols and constants; None for a program that returns the values alone.
        by: the names of the inputs to which the gradients belong.
        updates: pairs (input, its new value), written to where the input was read from, after everything else and all
            at once.
        leaves: the outside nodes, whose data the parameter "leaves" has, in order.
    """

    version: ClassVar[int] = VERSION

    parameters: tuple[str, ...]
    reads: tuple[Read, ...]
    values: Any
    gradients: list[Any] | None = None
    by: tuple[str, ...] = ()
    updates: tuple[tuple[Symbol, Any], ...] = ()
    leaves: tuple[Any, ...] = ()

    @property
    def outputs(self) -> Any:
        """The values and, if there are any, the gradients, as the program returns them."""
        return self.values if self.gradients is None else (self.values, self.gradients)

    @cached_property
    def steps(self) -> tuple[Symbol, ...]:
        """The Symbols that the program needs, operands first; those of `op == "input"` are read."""
        return tuple(needed((self.outputs, self.updates)))

    @property
    def inputs(self) -> list[Symbol]:
        """The Symbols that are read."""
        return [symbol for symbol in self.steps if symbol.op == "input" and symbol not in symbol.graph.known]

    def run(self, *arguments: Any) -> Any:
        """Compute the outputs step by step. This says what the program means, but it is slow, and updates nothing.

        Args:
            *arguments: an argument for each of the program's parameters.
        """
        with np.errstate(all="ignore"):
            return rebuilt(self.outputs, dict(zip(self.inputs, reader(self)(*arguments), strict=True)))

    @cached_property
    def names(self) -> dict[Symbol, str]:
        """A name for each Symbol: an input has its own, and the others are t1, t2, ... in order."""
        numbers = itertools.count(1)
        return {x: x.args[0] if x.op == "input" else f"t{next(numbers)}" for x in self.steps}

    def shown(self, x: Any) -> str:
        """An operand or setting as text."""
        if x.__class__ is Symbol:
            return self.names[x]
        if x.__class__ in (tuple, list):
            return bracketed(x, self.shown)
        if x.__class__ is slice:
            return sliced(x)
        if x.__class__ is np.ndarray:
            return f"constant {type_of(x)}"
        return "..." if x is ... else str(x)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        inputs = {x.args[0]: x for x in self.inputs}
        if self.reads:
            yield "reads"
        for read in self.reads:
            name = f"{read.name}: {type_of(inputs[read.name])}" if read.name in inputs else read.name
            yield f"    {name} = {read.place}{KINDS[read.kind]}"
        yield "steps"
        for x in self.steps:
            if x.op != "input":
                operands = [*map(self.shown, x.args), *(f"{name}={self.shown(part)}" for name, part in x.named)]
                name = getattr(x.op, "word", x.op).lstrip(".")  # before the program is simplified, an op may be a row
                yield f"    {self.names[x]}: {type_of(x)} = {name}({', '.join(operands)})"
        yield "outputs"
        yield from (f"    {self.shown(x)}" for x in (self.values if self.values.__class__ is list else [self.values]))
        if self.gradients:
            yield "gradients"
            yield from (f"    {name}: {self.shown(x)}" for name, x in zip(self.by, self.gradients, strict=True))
        if self.updates:
            yield "updates"
            yield from (f"    {self.shown(x)} = {self.shown(new)}" for x, new in self.updates)


def type_of(x: Any) -> str:
    """The shape and dtype of a Symbol or array, as text."""
    return "number" if x.shape is None else f"{x.dtype}{list(x.shape)}"


# ---------------------------------------------------------------------------------------------------------------------
# For back ends


def rewritten(tree: Any, rules: Mapping[str, Callable[..., Any]]) -> Any:
    """The tree of Symbols with some operations replaced, for a back end that lacks them.

    Args:
        tree: Symbols and constants, in lists and tuples.
        rules: by operation, a function of the graph, the operands and the settings. It returns an equal Symbol, or None
            to leave the operation as it is.
    """
    return rebuilt(tree, {}, RULES | {**rules})


def at_once(*calls: tuple[Any, ...]) -> None:
    """Make calls, (function, *arguments), of functions written in C, so no Ctrl-C and no other thread comes between."""
    deque(starmap(call, calls), 0)


def reader(program: Lowered) -> Callable[..., tuple[Any, ...]]:
    """A function of the program's parameters that returns the numbers and arrays of its inputs, in order."""
    names = [symbol.args[0] for symbol in program.inputs]
    lines = [*reading(program.reads), f"return ({', '.join([*names, ''])})"]
    text = "".join(f"    {line}\n" for line in lines)
    namespace: dict[str, Any] = {"np": np, "vector": vector}
    exec(f"def program({', '.join(program.parameters)}):\n{text}", namespace)
    return namespace["program"]


READING = {
    "number": "float({0})",
    "value": "{0}._data",
    "tensor": "{0}._node._data",
    "array": "np.asarray({0}, np.{1})",
    "lists": "{0}.astype(float).tolist()",
    "flat": "{0}.astype(float, copy=False).reshape(-1)",
    "samples": 'np.array({0}.T, float, order="C")  # the samples last',
    "vector": "vector({0})",
    "count": "float({0})",
}


def reading(reads: Iterable[Read]) -> list[str]:
    """The lines of Python that read the inputs."""
    lines = []
    if leaves := [read.name for read in reads if (read.parameter, read.kind) == ("leaves", "as_is")]:
        lines.append(f"{', '.join(leaves)}, = leaves")
    for read in reads:
        if read.kind in READING:
            lines.append(f"{read.name} = {READING[read.kind].format(read.place, read.dtype)}")
        elif read.parameter != "leaves" and read.name != read.place:
            lines.append(f"{read.name} = {read.place}")
        if read.kind == "lists":
            lines += _unpacking(read.name, read.shape)
    return lines


def _unpacking(name: str, shape: tuple[int, ...]) -> Iterator[str]:
    """The lines that unpack nested lists of numbers."""
    names = [f"{name}_{i}" for i in range(shape[0])] if shape else []
    if names:
        yield f"{', '.join(names)}, = {name}"
    for inner in names:
        yield from _unpacking(inner, shape[1:])


def vector(numbers: Any) -> np.ndarray:
    """The array of a list of floats, in a third of the time of np.array; an array is returned unchanged."""
    packed = numbers.__class__ is np.ndarray
    return numbers if packed else np.frombuffer(struct.pack(f"{len(numbers)}d", *numbers))
