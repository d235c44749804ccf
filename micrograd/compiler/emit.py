"""Code generation: from Symbols to the source of a function, and the function itself.

Each Symbol that the outputs need becomes a line of Python, in creation order:

>>> from .graph import Graph
>>> graph = Graph()
>>> x, y = graph.input("x"), graph.input("y")
>>> e = np.exp(x * y)
>>> code = Code(["x", "y"], [], (e, (e * y, e * x)))
>>> print(code.source.rstrip())
def program(x, y):
    t1 = exp(x * y)
    t2 = t1 * y
    t3 = t1 * x
    return (t1, (t2, t3))
>>> code.run(0.0, 2.0)
(1.0, (2.0, 0.0))

Numbers are written as one would by hand: an expression used once is inlined. Where Python raises (`1.0 / 0.0`,
`exp(1000.0)`), the same lines run again with the functions of `floats`, which follow IEEE 754.

An array operation writes to a buffer (`np.add(x, y, b0)`), which is free again after its last reader, so operations
often overwrite their own operands. Each call takes a set of buffers from a stock and returns it at the end, so threads
never share one. Outputs are never stored in buffers.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..engine import floats
from ..tensor.library import is_basic
from .symbols import BY_COLUMNS, ELEMENTWISE, VIEWS, Symbol, needed, symbols_in
from .text import ATOM, FAST, SIGNS, Text

WIDEST = 72  # the longest expression of numbers that is inlined
Updates = Sequence[tuple[Symbol, Any]]  # an input, and what to subtract from it after everything else


class Code:
    """The source of a program, and its function: `run`, or `careful` where that raises.

    `graph` is the program as a graph, for drawing.
    """

    def __init__(self, parameters: list[str], reading: list[str], outputs: Any, updates: Updates = ()):
        writer = Writer(outputs, updates)
        self.source = writer.source(parameters, reading)
        self.graph = drawing(writer)
        self.run = self.careful = _define(self.source, FAST | writer.names)
        if any(symbol.shape is None and symbol.op != "input" for symbol in writer.order):  # used if Python raises
            careful = Writer(outputs, updates, careful=True)
            self.careful = _define(careful.source(parameters, reading), vars(floats) | careful.names)

    def __call__(self, *given: Any) -> Any:
        """Run the program."""
        try:
            return self.run(*given)
        except (ArithmeticError, ValueError):
            return self.careful(*given)


def _define(source: str, names: dict[str, Any]) -> Callable:
    exec(compile(source, "<micrograd.compile>", "exec"), names)
    return names["program"]


class Writer(Text):
    """Writes one program, line by line."""

    def __init__(self, outputs: Any, updates: Updates = (), careful: bool = False):
        super().__init__(careful)
        self.names["vector"] = vector
        self.order, self.outputs, self.updates = needed((outputs, updates)), outputs, updates
        self.shapes: list[tuple[tuple[int, ...], Any, str]] = []  # of the buffers: shape, dtype and memory order
        self.buffer: dict[Symbol, int] = {}  # the buffer of a Symbol's array
        self.free: dict[tuple[Any, Any, str], list[int]] = defaultdict(list)
        self.by_columns = by_columns(self.order)
        self.uses: dict[Symbol, int] = defaultdict(int)
        self.ends: dict[Symbol, list[Symbol]] = defaultdict(list)  # by last reader
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Count the uses, and find the last reader of each array; a reader of a view reads its base."""
        last: dict[Symbol, Symbol] = {}
        for symbol in self.order:
            for operand in symbols_in(symbol.args):
                self.uses[operand] += 1
                self.uses[operand] += symbol.op == "detach"  # it has the same text
        for symbol in symbols_in(self.outputs):
            self.uses[symbol] += 2  # an output gets its own line, and its memory is never overwritten
        for symbol in self.order:
            for operand in symbols_in(symbol.args):
                last[base(operand)] = symbol
        for _, change in self.updates:
            last.pop(base(change), None)  # it is read at the very end
            self.uses[change] += 2
        outside = {base(symbol) for symbol in symbols_in(self.outputs)}
        for symbol, reader in last.items():
            if symbol not in outside:
                self.ends[reader].append(symbol)
        self.kept = outside

    def source(self, parameters: list[str], reading: list[str]) -> str:
        """The whole source."""
        for symbol in self.order:
            if symbol.op == "input":
                self.of[symbol] = symbol.args[0], ATOM
            elif symbol.op == "detach":
                self.of[symbol] = self.of[symbol.args[0]]
            elif symbol.shape is None:
                self._number(symbol)
            else:
                self._array(symbol)
            for ended in self.ends[symbol]:
                if ended in self.buffer:
                    self._release(ended)
        answer = self._output(self.outputs)
        body = self.lines
        if any(symbol.shape is not None for symbol in self.order):
            body = [*body, f"answer = {answer}", *map(self._update, self.updates)]
            body = ['with np.errstate(all="ignore"):', *("    " + line for line in body)]
            answer = "answer"
        if self.shapes:
            self.names["stock"] = Stock(self.shapes)
            body = ["buffers = stock.borrow()", *self._unpacked(), *body, "stock.append(buffers)"]
        text = "".join(f"    {line}\n" for line in [*reading, *body, f"return {answer}"])
        return f"def program({', '.join(parameters)}):\n{text}"

    def _unpacked(self) -> list[str]:
        kinds = [f"{shape} {dtype}{', by columns' * (order == 'F')}" for shape, dtype, order in self.shapes]
        return [f"b{i} = buffers[{i}]  # {kind}" for i, kind in enumerate(kinds)]

    def _update(self, update: tuple[Symbol, Any]) -> str:
        target, change = map(self.argument, update)
        return f"np.subtract({target}, {change}, out={target})  # {update[0].shape}"

    def _output(self, tree: Any) -> str:
        if tree.__class__ in (tuple, list):
            inner = ", ".join(map(self._output, tree))
            return f"[{inner}]" if tree.__class__ is list else f"({inner}{',' * (len(tree) == 1)})"
        if tree.__class__ is np.ndarray:
            return f"{self.argument(tree)}.copy()"
        if tree.__class__ is not Symbol or tree.shape is None:
            return self.argument(tree) if getattr(tree, "dtype", None) is None else f"float({self.argument(tree)})"
        fresh = base(tree) in self.kept and base(tree).op != "input"
        self.kept.discard(base(tree))  # a second output with this array gets a copy
        return self.argument(tree) if fresh else f"{self.argument(tree)}.copy()"

    def _number(self, symbol: Symbol) -> None:
        """Write the expression where it is used, if that is one place and it is short; else as a line."""
        text, strength = self.number(symbol)
        alone = self.uses[symbol] > 1 or len(text) > WIDEST
        self.of[symbol] = self.line(text) if alone else (text, strength)

    # ---- arrays

    def _array(self, symbol: Symbol) -> None:
        """Write a line that computes an array, into a buffer if possible."""
        op, args = symbol.op, symbol.args
        into = bool(symbol.ndim) and symbol not in self.kept
        if into and (op == "accumulate" or (op == "scatter" and is_basic(args[1]))):
            self._added(symbol)
        elif into and op == "gated":
            bits = f".view(np.{args[1].dtype})"
            text = f"{self.within(args[0], ATOM)}{bits}, {self.argument(args[1])}"
            self._into(symbol, f"np.bitwise_and({text}", over=True, after=bits)
        elif into and op == "mask_of":
            self._into(symbol, f"np.subtract({self.within(args[0], ATOM)}.view(np.int8), 1")
        elif into and op in ("matmul", "dot"):
            name = "np.dot" if all(x.ndim < 3 for x in args) else "np.matmul"
            self._into(symbol, f"{name}({self.argument(args[0])}, {self.argument(args[1])}")
        elif into and op == "matmul_like":
            self._into(symbol, f"np.matmul({self.argument(args[0])}, {self.argument(args[1])}")
        elif into and op in ELEMENTWISE and op != "where":
            self._into(symbol, f"np.{op}({', '.join(map(self.argument, args))}", over=True)
        else:
            self._line(symbol, self.array(symbol))

    def _into(self, symbol: Symbol, call: str, over: bool = False, after: str = "") -> None:
        """A line that ends with the buffer that it writes to."""
        out = self._take(symbol, symbol.args if over else ())
        self.lines.append(f"{call}, out={out}{after})  # {symbol.shape}")

    def _added(self, symbol: Symbol) -> None:
        """An array added to a slice of another one, or of zeros."""
        if symbol.op == "scatter":
            (a, index, _), sign = symbol.args, "="
            out = self._take(symbol)
            self.lines.append(f"{out}.fill(0.0)")
        else:
            (total, a, index), sign = symbol.args, "+="
            text = self.argument(total)
            out = self._take(symbol, over=(total,))  # not over a, which is added next
            if out != text:
                self.lines.append(f"np.copyto({out}, {text})")
        self.lines.append(f"{out}[{self.index(index)}] {sign} {self.argument(a)}  # {symbol.shape}")

    def _line(self, symbol: Symbol, text: str) -> None:
        """A line for the array; a view used once is inlined instead."""
        inside = base(symbol) is not symbol and self.uses[symbol] == 1 and len(text) < WIDEST
        self.of[symbol] = (text, ATOM) if inside else self.line(text, f"  # {symbol.shape}")

    def _take(self, symbol: Symbol, over: Iterable[Any] = ()) -> str:
        """A buffer for the Symbol: that of an operand in `over` if this is its last reader, or a free one."""
        place, kind = None, self._kind(symbol)
        for operand in over:
            if operand.__class__ is Symbol and self._ends_here(operand, symbol) and self._kind(operand) == kind:
                place = self.buffer.pop(operand)
                break
        if place is None:
            spare = self.free[kind]
            place = spare.pop() if spare else len(self.shapes)
            if place == len(self.shapes):
                self.shapes.append(kind)
        self.buffer[symbol] = place
        self.of[symbol] = f"b{place}", ATOM
        return f"b{place}"

    def _ends_here(self, operand: Symbol, reader: Symbol) -> bool:
        return operand in self.buffer and any(operand is ended for ended in self.ends[reader])

    def _kind(self, symbol: Symbol) -> tuple[Any, Any, str]:
        """The shape, dtype and memory order of its buffer."""
        return symbol.shape, symbol.dtype, "F" if symbol in self.by_columns else "C"

    def _release(self, symbol: Symbol) -> None:
        self.free[self._kind(symbol)].append(self.buffer.pop(symbol))


def vector(numbers: list[float]) -> np.ndarray:
    """np.array of a list of floats, in a third of the time."""
    return np.frombuffer(struct.pack(f"{len(numbers)}d", *numbers))


def base(symbol: Symbol) -> Symbol:
    """The Symbol whose memory this one shares: itself, unless it is a view."""
    while (seen := _seen_by(symbol)).__class__ is Symbol:
        symbol = seen
    return symbol


def _seen_by(view: Symbol) -> Any:
    """The operand that a view shares memory with; None if it is not a view."""
    return view.args[0] if view.op in VIEWS else None


def by_columns(order: list[Symbol]) -> set[Symbol]:
    """The Symbols stored in Fortran order, as the weights of `Linear` are, and whatever is added to them."""
    found: set[Symbol] = set()
    for symbol in order:
        like = symbol.args[2:] if symbol.op == "matmul_like" else symbol.args if symbol.op in ELEMENTWISE else ()
        like = [x for x in like if x.__class__ is Symbol and x.shape == symbol.shape]
        if symbol.named == BY_COLUMNS or any(x in found for x in like):
            found.add(symbol)
    return found


class Stock(list[list[np.ndarray]]):
    """Sets of buffers that no call is using."""

    def __init__(self, shapes: Sequence[tuple[tuple[int, ...], Any, Any]]):
        self.shapes = shapes

    def borrow(self) -> list[np.ndarray]:
        """A set for this call alone. Checking before popping would be a race between threads."""
        try:
            return self.pop()
        except IndexError:
            return [np.empty(shape, dtype, order) for shape, dtype, order in self.shapes]


# ---------------------------------------------------------------------------------------------------------------------
# A program as a graph


class Step:
    """A node of the drawing: an operation of the program, an input or a constant."""

    requires_grad = False

    def __init__(self, op: str, operands: tuple[Step, ...] = (), label: str = "", data: Any = ""):
        self._op, self._prev, self.label, self.data = op, operands, label, data

    def __repr__(self) -> str:
        return f"<{self.label or self._op or self.data}>"


def drawing(writer: Writer) -> list[Step]:
    """The outputs of a program as nodes for `draw_dot`: Steps instead of Symbols, which the trace releases."""
    steps: dict[Any, Step] = {}

    def step(x: Any) -> Step:
        if x.__class__ is np.ndarray:
            return steps.setdefault(id(x), Step("", data=str(x.shape)))
        return steps[x] if x.__class__ is Symbol else Step("", data=x)

    for symbol in writer.order:
        text, data = writer.of[symbol][0], "number" if symbol.shape is None else str(symbol.shape)
        name = text if text.isidentifier() else ""
        if symbol.op == "input":
            steps[symbol] = Step("", label=name, data=data)
        elif symbol.op == "detach":
            steps[symbol] = steps[symbol.args[0]]
        else:
            drawn = symbol.args if symbol.op != "getitem" else symbol.args[:1]
            operands = tuple(step(x) for x in drawn if x.__class__ in (Symbol, np.ndarray, float, int))
            steps[symbol] = Step(_sign(writer, symbol), operands, name, data)
    roots = [steps[symbol] for symbol in symbols_in(writer.outputs)]
    for target, change in writer.updates:
        roots.append(Step("subtract", (steps[target], step(change)), steps[target].label, str(target.shape)))
    return list(dict.fromkeys(roots))


def _sign(writer: Writer, symbol: Symbol) -> str:
    if symbol.op == "getitem":
        return f"[{writer.index(symbol.args[1])}]"
    if symbol.shape is None and symbol.op in SIGNS:
        return SIGNS[symbol.op][0]
    return symbol.op.lstrip(".")
