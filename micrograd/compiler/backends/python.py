"""The Python back end: from Symbols to the source of a function, and the function itself.

Each Symbol that the outputs need becomes a line of Python, in creation order:

>>> from ..graph import Graph
>>> graph = Graph()
>>> x, y = graph.input("x"), graph.input("y")
>>> e = np.exp(x * y)
>>> code = compile(Lowered(("x", "y"), (), e, (e * y, e * x)))
>>> print(code.source.rstrip())
def program(x, y):
    t1 = exp(x * y)
    t2 = t1 * y
    t3 = t1 * x
    return (t1, (t2, t3))
>>> code(0.0, 2.0)
(1.0, (2.0, 0.0))

Numbers are written as one would by hand: an expression used once is inlined. Where Python raises (`1.0 / 0.0`,
`exp(1000.0)`), the same lines run again with the functions of `floats`, which follow IEEE 754. An array operation
writes to a buffer (`np.add(x, y, b0)`): see `buffers`.
"""

from __future__ import annotations

import builtins
import operator
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any

from ...scalars import floats
from ...tensor.optional import library, np
from ..graph import rebuilt
from ..lowered import Lowered, Read
from ..opset import ELEMENTWISE
from ..resident import at_once
from ..symbols import VIEWS, Symbol, needed, symbols_in
from .buffers import Buffers, Stock, base
from .expressions import ATOM, FAST, REDUCTIONS, Text
from .numpy_forms import FORMS

WIDEST = 72  # the longest expression of numbers that is inlined
SCALARS = ELEMENTWISE - {"where"} | {*REDUCTIONS}  # what returns NumPy's numbers, not arrays of shape ()


def lacks(program: Lowered) -> str:
    """Nothing."""
    return ""


class Code:
    """The source of a program, and its function: `run`, or `careful` where that raises."""

    def __init__(self, program: Lowered):
        outputs, updates = program.outputs, program.updates
        if any(symbol.shape is not None for symbol in program.steps):
            outputs, updates = rebuilt((outputs, updates), {}, FORMS)
        sources = {read.name: read for read in program.reads}
        writer = Writer(outputs, updates, sources)
        lines = reading(program.reads)
        self.source: str = writer.source(program.parameters, lines)
        self.run: Callable[..., Any] = _define(self.source, FAST | writer.names)
        self.careful: Callable[..., Any] = self.run
        if any(symbol.shape is None and symbol.op != "input" for symbol in writer.order):  # used if Python raises
            careful = Writer(outputs, updates, sources, careful=True)
            self.careful = _define(careful.source(program.parameters, lines), vars(floats) | careful.names)

    def __call__(self, *given: Any) -> Any:
        """Run the program."""
        try:
            return self.run(*given)
        except (ArithmeticError, ValueError):
            return self.careful(*given)


compile = Code


def _define(source: str, names: dict[str, Any]) -> Callable:
    exec(builtins.compile(source, "<micrograd.compile>", "exec"), names)
    return names["program"]


def reader(program: Lowered) -> Callable[..., tuple[Any, ...]]:
    """A function of the program's parameters that returns its inputs, for other back ends."""
    names = [symbol.args[0] for symbol in program.steps if symbol.op == "input"]
    lines = [*reading(program.reads), f"return ({', '.join([*names, ''])})"]
    text = "".join(f"    {line}\n" for line in lines)
    return _define(f"def program({', '.join(program.parameters)}):\n{text}", {"np": np, "vector": vector})


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
    """The lines that read the inputs."""
    lines = []
    if leaves := [read.name for read in reads if (read.parameter, read.kind) == ("leaves", "given")]:
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


class Writer(Text):
    """Writes one program, line by line."""

    def __init__(
        self, outputs: Any, updates: Sequence[tuple[Symbol, Any]], sources: Mapping[str, Read], careful: bool = False
    ):
        super().__init__(careful)
        self.names.update(vector=vector, at_once=at_once, setitem=operator.setitem)
        self.outputs = outputs
        self.sources = sources
        self.writes: list[tuple[str, Symbol, Any]] = list(starmap(_in_place, updates))
        self.order: list[Symbol] = needed((outputs, self.writes))
        self.buffers: Buffers = Buffers(self.order, outputs, [new for _, _, new in self.writes])
        self.stock: Stock = Stock(self.names)

    def source(self, parameters: Sequence[str], reading: list[str]) -> str:
        """The whole source."""
        for symbol in self.order:
            if symbol.op == "input":
                self.of[symbol] = symbol.args[0], ATOM
            elif symbol.shape is None:
                self._number(symbol)
            else:
                self._array(symbol)
            self.buffers.release(symbol)
        answer = self._output(self.outputs)
        body, of_arrays = self.lines, any(symbol.shape is not None for symbol in self.order)
        if of_arrays or self.writes:
            writes = [f"    {write}" for write in starmap(self._write, self.writes)]
            body = [*body, f"answer = {answer}", *(["at_once(", *writes, ")"] if writes else [])]
            answer = "answer"
        if of_arrays:
            body = ['with np.errstate(all="ignore"):', *("    " + line for line in body)]
        if self.buffers.shapes:
            self.names["stock"] = self.stock
            body = ["buffers = stock.borrow()", *self._unpacked(), *body, "stock.append(buffers)"]
        text = "".join(f"    {line}\n" for line in [*reading, *body, f"return {answer}"])
        return f"def program({', '.join(parameters)}):\n{text}"

    def _unpacked(self) -> list[str]:
        kinds = [f"{shape} {dtype}{', by columns' * (order == 'F')}" for shape, dtype, order in self.buffers.shapes]
        what = {f"b{i}": kind for i, kind in enumerate(kinds)} | {v: text for text, v in self.stock.views.items()}
        self.stock.append([self.stock.like[name] for name in what])
        return [f"{name} = buffers[{i}]  # {text}" for i, (name, text) in enumerate(what.items())]

    def _write(self, how: str, target: Symbol, new: Any) -> str:
        """A call that writes to an array, or to where a number was read from."""
        text = self.argument(new)
        if target.shape is not None:
            name = self.argument(target)
            if new.__class__ is Symbol and base(new).op == "input":
                text += ".copy()"  # as it was before all writes
            rest = f"..., {text}" if how == "setitem" else f"{text}, {name}"
            return f"({how}, {name}, {rest}),  # {target.shape}"
        read = self.sources[target.args[0]]
        if read.kind == "value":
            return f"(setattr, {read.place}, '_data', {text}),"
        text = f"int({text})" if read.kind == "count" else text
        return f"(setitem, {read._replace(keys=read.keys[:-1]).place}, {read.keys[-1]!r}, {text}),"

    def _output(self, tree: Any) -> str:
        if tree.__class__ in (tuple, list):
            inner = ", ".join(map(self._output, tree))
            return f"[{inner}]" if tree.__class__ is list else f"({inner}{',' * (len(tree) == 1)})"
        text, shape = self.argument(tree), getattr(tree, "shape", None)
        if shape is None:
            return text
        if not shape:  # NumPy's number, as in eager mode
            return text if tree.__class__ is Symbol and tree.op in SCALARS else f"{text}[()]"
        fresh = tree.__class__ is Symbol and base(tree) in self.buffers.kept and base(tree).op != "input"
        if fresh:
            self.buffers.kept.discard(base(tree))  # a second output with this array gets a copy
        return text if fresh else f"{text}.copy()"

    def _number(self, symbol: Symbol) -> None:
        """Write the expression where it is used, if that is one place and it is short; else as a line."""
        text, strength = self.number(symbol)
        alone = self.buffers.uses[symbol] > 1 or len(text) > WIDEST
        self.of[symbol] = self.line(text) if alone else (text, strength)

    # ---- arrays

    def _array(self, symbol: Symbol) -> None:
        """Write a line that computes an array, into a buffer if possible."""
        op, args = symbol.op, symbol.args
        into = bool(symbol.ndim) and symbol not in self.buffers.kept
        if into and (op == "accumulate" or (op == "scatter" and library.is_basic(args[1]))):
            self._added(symbol)
        elif into and op == "gated":
            bits = f".view(np.{args[1].dtype})"
            text = f"{self.stock.view(self.within(args[0], ATOM), bits)}, {self.argument(args[1])}"
            self._into(symbol, f"np.bitwise_and({text}", over=True, after=bits)
        elif into and op == "mask_of":
            self._into(symbol, f"np.subtract({self.stock.view(self.within(args[0], ATOM), '.view(np.int8)')}, 1")
        elif into and op in ("matmul", "dot", "matmul_like"):
            name = "np.matmul" if op == "matmul_like" or any(x.ndim > 2 for x in args) else "np.dot"
            self._into(symbol, f"{name}({self.argument(args[0])}, {self.argument(args[1])}")
        elif into and op in ELEMENTWISE and op != "where":
            self._into(symbol, f"np.{op}({', '.join(map(self.argument, args))}", over=True)
        else:
            self._line(symbol, self.array(symbol))

    def _into(self, symbol: Symbol, call: str, over: bool = False, after: str = "") -> None:
        """A line that ends with the buffer that it writes to."""
        out = self._take(symbol, symbol.args if over else ())
        self.lines.append(f"{call}, out={self.stock.view(out, after)})  # {symbol.shape}")

    def _added(self, symbol: Symbol) -> None:
        """An array added to a slice of another one, or of zeros."""
        if symbol.op == "scatter":
            a, index, _ = symbol.args
            out = self._take(symbol)
            self.lines.append(f"{out}.fill(0.0)")
        else:
            total, a, index = symbol.args
            text = self.argument(total)
            out = self._take(symbol, over=(total,))  # not over a, which is added next
            if out != text:
                self.lines.append(f"np.copyto({out}, {text})")
        place, text = f"[{self.index(index)}]", self.argument(a)
        part = self.stock.view(out, place)
        if symbol.op == "scatter":
            line = f"{out}{place} = {text}"
        else:
            line = f"np.add({part}, {text}, out={part})" if part in self.stock.like else f"{part} += {text}"
        self.lines.append(f"{line}  # {symbol.shape}")

    def _line(self, symbol: Symbol, text: str) -> None:
        """A line for the array; a view used once is inlined instead, and that of a buffer is made with the buffer."""
        operands = symbols_in(symbol.args)  # an index may be one too
        head = self.argument(operands[0]) if symbol.op in VIEWS and len(operands) == 1 else ""
        if text.startswith(head) and (name := self.stock.view(head, text.removeprefix(head))) in self.stock.like:
            self.of[symbol] = name, ATOM
            return
        inside = base(symbol) is not symbol and self.buffers.uses[symbol] == 1 and len(text) < WIDEST
        self.of[symbol] = (text, ATOM) if inside else self.line(text, f"  # {symbol.shape}")

    def _take(self, symbol: Symbol, over: Iterable[Any] = ()) -> str:
        """The name of the Symbol's buffer."""
        i = self.buffers.take(symbol, over)
        name = f"b{i}"
        self.stock.like.setdefault(name, np.empty(*self.buffers.shapes[i]))
        self.of[symbol] = name, ATOM
        return name


def _in_place(target: Symbol, new: Any) -> tuple[str, Symbol, Any]:
    """How a new value is written: an array from which something is subtracted needs no second one."""
    if target.shape is not None and new.op == "subtract" and new.args[0] is target:
        return "np.subtract", target, new.args[1]
    return "setitem", target, new


def vector(numbers: list[float]) -> np.ndarray:
    """np.array of a list of floats, in a third of the time."""
    return np.frombuffer(struct.pack(f"{len(numbers)}d", *numbers))
