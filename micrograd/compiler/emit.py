"""From Symbols to the text of a function, and from the text to the function.

Each Symbol that the results need becomes a line of Python, in the order in which they were made:

>>> from .simplify import Graph
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

Numbers are written as one would by hand: what is used once stands where it is used. Where Python raises (`1.0 / 0.0`,
`exp(1000.0)`), the same lines are run again with the functions of `floats`, which answer as IEEE 754 has it.

An operation on arrays writes to a buffer (`np.add(x, y, b0)`), and the buffer is free again after its last reader; so
an operation often writes over its own operand. Each call takes a set of buffers from a stock, and puts it back at its
end: two threads never share one. What is returned stands in no buffer.
"""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import floats
from .simplify import ELEMENTWISE
from .symbols import BY_COLUMNS, OWN, VIEWS, Symbol, needed, opened, symbols_in

# An operation's sign, and how strongly it binds
SIGNS = {
    "less": ("<", 0), "less_equal": ("<=", 0), "greater": (">", 0), "greater_equal": (">=", 0),
    "equal": ("==", 0), "not_equal": ("!=", 0),
    "add": ("+", 1), "subtract": ("-", 1), "multiply": ("*", 2), "divide": ("/", 2),
}  # fmt: skip
LOOSE, NEGATIVE, ATOM = -1, 3, 5
REDUCTIONS = {".sum": "add", ".max": "maximum", ".min": "minimum"}
FAST = vars(floats) | {name: getattr(math, name) for name in ("exp", "log", "log1p", "sqrt", "sin", "cos")}
FAST |= {"power": math.pow}
WIDEST = 72  # the longest expression of numbers that is put into another
Updates = Sequence[tuple[Symbol, Any]]  # an input, and what is to be subtracted from it when all else is computed


class Code:
    """The text of a program, and the function that it defines: `run`, or `careful` where that raises."""

    def __init__(self, parameters: list[str], reading: list[str], outputs: Any, updates: Updates = ()):
        writer = Writer(outputs, updates)
        self.source = writer.source(parameters, reading)
        self.lines = len(writer.lines)
        self.buffers = writer.shapes
        self.run = self.careful = _define(self.source, FAST | writer.names)
        if any(symbol.shape is None and symbol.op != "input" for symbol in writer.order):  # for where Python raises
            careful = Writer(outputs, updates, careful=True).source(parameters, reading)
            self.careful = _define(careful, vars(floats) | writer.names)


def _define(source: str, names: dict[str, Any]) -> Callable:
    exec(compile(source, "<micrograd.compile>", "exec"), names)
    return names["program"]


class Writer:
    """Writes one program, line by line."""

    def __init__(self, outputs: Any, updates: Updates = (), careful: bool = False):
        self.order, self.outputs, self.updates, self.careful = needed((outputs, updates)), outputs, updates, careful
        self.names = {"np": np, "inf": math.inf, "nan": math.nan, "vector": vector}
        self.text: dict[Symbol, tuple[str, int]] = {}
        self.lines: list[str] = []
        self.shapes: list[tuple[tuple[int, ...], Any, str]] = []  # of the buffers, with dtype and memory order
        self.buffer: dict[Symbol, int] = {}  # where a Symbol's array stands
        self.free: dict[tuple[Any, Any, str], list[int]] = defaultdict(list)
        self.by_columns = by_columns(self.order)
        self.uses: dict[Symbol, int] = defaultdict(int)
        self.ends: dict[Symbol, list[Symbol]] = defaultdict(list)  # whose last reader is the key
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Count the uses, and find the last reader of each array; who looks at a view reads what it is a view of."""
        last: dict[Symbol, Symbol] = {}
        for symbol in self.order:
            for operand in symbols_in(symbol.args):
                self.uses[operand] += 1
                self.uses[operand] += symbol.op == "detach"  # it is the same text
        for symbol in symbols_in(self.outputs):
            self.uses[symbol] += 2  # an output has a line of its own, and its memory is never written over
        for symbol in self.order:
            for operand in symbols_in(symbol.args):
                last[base(operand)] = symbol
        for _, change in self.updates:
            last.pop(base(change), None)  # it is read when all else is done
            self.uses[change] += 2
        outside = {base(symbol) for symbol in symbols_in(self.outputs)}
        for symbol, reader in last.items():
            if symbol not in outside:
                self.ends[reader].append(symbol)
        self.kept = outside

    def source(self, parameters: list[str], reading: list[str]) -> str:
        """The whole text."""
        for symbol in self.order:
            if symbol.op == "input":
                self.text[symbol] = symbol.args[0], ATOM
            elif symbol.op == "detach":
                self.text[symbol] = self.text[symbol.args[0]]
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
            self.names |= {"stock": [], "new_buffers": _maker(self.shapes)}
            begin = ["buffers = stock.pop() if stock else new_buffers()", *self._unpacked()]
            body = [*begin, *body, "stock.append(buffers)"]
        text = "".join(f"    {line}\n" for line in [*reading, *body, f"return {answer}"])
        return f"def program({', '.join(parameters)}):\n{text}"

    def _unpacked(self) -> list[str]:
        kinds = [f"{shape} {dtype}{', by columns' * (order == 'F')}" for shape, dtype, order in self.shapes]
        return [f"b{i} = buffers[{i}]  # {kind}" for i, kind in enumerate(kinds)]

    def _update(self, update: tuple[Symbol, Any]) -> str:
        target, change = map(self._argument, update)
        return f"np.subtract({target}, {change}, out={target})  # {update[0].shape}"

    def _output(self, tree: Any) -> str:
        if tree.__class__ in (tuple, list):
            inner = ", ".join(map(self._output, tree))
            return f"[{inner}]" if tree.__class__ is list else f"({inner}{',' * (len(tree) == 1)})"
        if tree.__class__ is np.ndarray:
            return f"{self._argument(tree)}.copy()"
        if tree.__class__ is not Symbol or tree.shape is None:
            return self._argument(tree) if getattr(tree, "dtype", None) is None else f"float({self._argument(tree)})"
        fresh = base(tree) in self.kept and base(tree).op != "input"
        self.kept.discard(base(tree))  # who else returns it gets a copy
        return self._argument(tree) if fresh else f"{self._argument(tree)}.copy()"

    # ---- numbers

    def _number(self, symbol: Symbol) -> None:
        """Write the expression where it is used, if that is one place and it is short; else as a line."""
        text, strength = self._expression(symbol)
        if self.uses[symbol] > 1 or len(text) > WIDEST:
            name = f"t{len(self.lines) + 1}"
            self.lines.append(f"{name} = {text}")
            text, strength = name, ATOM
        self.text[symbol] = text, strength

    def _expression(self, symbol: Symbol) -> tuple[str, int]:
        op, args = symbol.op, symbol.args
        if op in SIGNS and not (self.careful and op == "divide"):
            sign, strength = SIGNS[op]
            tight = strength + (op != "add" and op != "multiply")  # Python would chain comparisons
            left = self._within(args[0], strength or tight)
            return f"{left} {sign} {self._within(args[1], tight)}", strength
        if op == "negative":
            return f"-{self._within(args[0], NEGATIVE)}", NEGATIVE
        if op == "where":
            yes, no = self._within(args[1], 0), self._within(args[2], 0)
            return f"{yes} if {self._within(args[0], 0)} else {no}", LOOSE
        if op in ("maximum", "minimum") and args[1].__class__ is float and args[1] == args[1]:
            a, b = self._named(args[0]), self._within(args[1], 0)
            return f"{b} if {a} {'<' if op == 'maximum' else '>'} {b} else {a}", LOOSE  # a nan stays one
        if op == ".item":
            return f"{self._within(args[0], ATOM)}.item()", ATOM
        name = "abs" if op == "absolute" else op
        return f"{name}({', '.join(map(self._argument, args))})", ATOM

    def _within(self, x: Any, strength: int) -> str:
        """The text of an operand, in brackets if it binds less than what is around it."""
        if x.__class__ is np.ndarray:
            return self._argument(x)
        text, own = self.text[x] if x.__class__ is Symbol else self._constant(x)
        return f"({text})" if own < strength else text

    def _named(self, x: Symbol) -> str:
        """The name of an operand that stands in a line twice."""
        if self.text[x][1] != ATOM or "(" in self.text[x][0]:
            name = f"t{len(self.lines) + 1}"
            self.lines.append(f"{name} = {self.text[x][0]}")
            self.text[x] = name, ATOM
        return self.text[x][0]

    def _constant(self, x: Any) -> tuple[str, int]:
        text = repr(float(x)) if isinstance(x, (float, int, np.number)) else repr(x)
        return text, NEGATIVE if text[0] == "-" else ATOM

    # ---- arrays

    def _array(self, symbol: Symbol) -> None:
        """Write a line that computes an array, into a buffer where there can be one."""
        op, args = symbol.op, symbol.args
        into = bool(symbol.ndim) and symbol not in self.kept
        if into and op in ("scatter", "accumulate"):
            self._added(symbol)
        elif into and op == "gated":
            bits = f".view(np.{args[1].dtype})"
            text = f"{self._within(args[0], ATOM)}{bits}, {self._argument(args[1])}"
            self._into(symbol, f"np.bitwise_and({text}", over=True, after=bits)
        elif into and op == "mask_of":
            self._into(symbol, f"np.subtract({self._within(args[0], ATOM)}.view(np.int8), 1")
        elif into and op in ("matmul", "dot"):
            name = "np.dot" if all(x.ndim < 3 for x in args) else "np.matmul"
            self._into(symbol, f"{name}({self._argument(args[0])}, {self._argument(args[1])}")
        elif into and op == "matmul_like":
            self._into(symbol, f"np.matmul({self._argument(args[0])}, {self._argument(args[1])}")
        elif into and op in ELEMENTWISE and op != "where":
            self._into(symbol, f"np.{op}({', '.join(map(self._argument, args))}", over=True)
        else:
            self._line(symbol, self._call(symbol))

    def _into(self, symbol: Symbol, call: str, over: bool = False, after: str = "") -> None:
        """A line that ends with the buffer that it writes to."""
        out = self._take(symbol, symbol.args if over else ())
        self.lines.append(f"{call}, out={out}{after})  # {symbol.shape}")

    def _added(self, symbol: Symbol) -> None:
        """An array, added to a slice of another one, or of zeros."""
        if symbol.op == "scatter":
            (a, index, _), sign = symbol.args, "="
            out = self._take(symbol)
            self.lines.append(f"{out}.fill(0.0)")
        else:
            (total, a, index), sign = symbol.args, "+="
            text = self._argument(total)
            out = self._take(symbol, over=(total,))  # not over a, which is still to be added
            if out != text:
                self.lines.append(f"np.copyto({out}, {text})")
        self.lines.append(f"{out}[{self._index(index)}] {sign} {self._argument(a)}  # {symbol.shape}")

    def _line(self, symbol: Symbol, text: str) -> None:
        if base(symbol) is not symbol and self.uses[symbol] == 1 and len(text) < WIDEST:
            self.text[symbol] = text, ATOM  # a view that is used once stands where it is used
            return
        name = f"t{len(self.lines) + 1}"
        self.lines.append(f"{name} = {text}  # {symbol.shape}")
        self.text[symbol] = name, ATOM

    def _take(self, symbol: Symbol, over: Iterable[Any] = ()) -> str:
        """A buffer for the Symbol; if nobody reads one of the operands `over` which it may go any more, that one's."""
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
        self.text[symbol] = f"b{place}", ATOM
        return f"b{place}"

    def _ends_here(self, operand: Symbol, reader: Symbol) -> bool:
        return operand in self.buffer and any(operand is ended for ended in self.ends[reader])

    def _kind(self, symbol: Symbol) -> tuple[Any, Any, str]:
        """What a buffer for it is like."""
        return symbol.shape, symbol.dtype, "F" if symbol in self.by_columns else "C"

    def _release(self, symbol: Symbol) -> None:
        self.free[self._kind(symbol)].append(self.buffer.pop(symbol))

    def _call(self, symbol: Symbol) -> str:
        op, args = symbol.op, symbol.args
        named = [f"{name}={self._argument(x)}" for name, x in symbol.named]
        if op == "getitem":
            return f"{self._within(args[0], ATOM)}[{self._index(args[1])}]"
        if op in OWN:
            self.names[op] = OWN[op]
            return f"{op}({', '.join(map(self._argument, args))})"
        if op in REDUCTIONS:
            return f"np.{REDUCTIONS[op]}.reduce({', '.join([self._argument(args[0]), *named])})"
        if op.__class__ is not str:
            return self._opened(symbol)
        head, rest = (self._within(args[0], ATOM), args[1:]) if op[0] == "." else ("np.", args)
        return f"{head}{op}({', '.join([*map(self._argument, rest), *named])})"

    def _opened(self, symbol: Symbol) -> str:
        """A call of a row's own forward function; what of its settings is a Symbol is put in first."""
        row, (closed, *operands) = symbol.op, symbol.args
        name = f"k{len(self.names)}_{row.word.strip('_')}"
        called = f"{name}({', '.join(map(self._whole, operands))})"
        if not any(True for _ in symbols_in(closed)):
            self.names[name] = row.forward
            return called
        self.names[name] = opened(row.forward)
        return called.replace("(", f"({', '.join(map(self._argument, closed))})(", 1)

    def _whole(self, x: Any) -> str:
        """The text of an operand that must be an array, not one of NumPy's scalars."""
        return f"np.asarray({self._argument(x)})" if getattr(x, "shape", None) == () else self._argument(x)

    def _index(self, index: Any) -> str:
        if index.__class__ is tuple:
            return ", ".join(map(self._index, index)) or "()"
        if index.__class__ is slice:
            ends = ["" if x is None else str(x) for x in (index.start, index.stop, index.step)]
            return ":".join(ends if index.step is not None else ends[:2])
        return "..." if index is ... else self._argument(index)

    def _argument(self, x: Any) -> str:
        if x.__class__ is Symbol:
            return self.text[x][0]
        if x.__class__ in (tuple, list):
            inner = ", ".join(map(self._argument, x))
            return f"({inner}{',' * (len(x) == 1)})" if x.__class__ is tuple else f"[{inner}]"
        if isinstance(x, np.dtype):
            return f"np.{x.name}"
        if x is None or x is ... or x.__class__ in (bool, int, float, str):
            return "..." if x is ... else repr(x)
        if x.__class__ is slice:
            return f"slice({x.start}, {x.stop}, {x.step})"
        name = f"k{len(self.names)}"
        self.names[name] = x
        return name


def vector(numbers: list[float]) -> np.ndarray:
    """What np.array makes of a list of floats, in a third of the time."""
    return np.frombuffer(struct.pack(f"{len(numbers)}d", *numbers))


def base(symbol: Symbol) -> Symbol:
    """The Symbol in whose memory this one stands: itself, unless it is a view."""
    while symbol.op in VIEWS and symbol.args[0].__class__ is Symbol:
        symbol = symbol.args[0]
    return symbol


def by_columns(order: list[Symbol]) -> set[Symbol]:
    """Those whose arrays stand in memory column by column, as the weights of `Linear` do, and what is added to them."""
    found: set[Symbol] = set()
    for symbol in order:
        like = symbol.args[2:] if symbol.op == "matmul_like" else symbol.args if symbol.op in ELEMENTWISE else ()
        like = [x for x in like if x.__class__ is Symbol and x.shape == symbol.shape]
        if symbol.named == BY_COLUMNS or any(x in found for x in like):
            found.add(symbol)
    return found


def _maker(shapes: list[tuple[tuple[int, ...], Any, str]]) -> Callable[[], list[np.ndarray]]:
    return lambda: [np.empty(shape, dtype, order) for shape, dtype, order in shapes]  # type: ignore[call-overload]
