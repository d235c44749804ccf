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

Numbers are written as a person would write them, so an expression that is used once is inlined. If Python raises
(`1.0 / 0.0`, `exp(1000.0)`), the same lines run again with the functions of `floats`, which follow IEEE 754. Arrays are
written in the same way, such as `np.maximum(x @ p0.T + p1, 0.0)` (see `expressions`).
"""

from __future__ import annotations

import builtins
import operator
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import starmap
from typing import Any

from ..lowered import (
    ELEMENTWISE,
    VIEWS,
    Lowered,
    Read,
    Symbol,
    at_once,
    bracketed,
    floats,
    library,
    needed,
    np,
    reading,
    symbols_in,
    vector,
)  # fmt: skip
from .expressions import ATOM, FAST, Text

LARGE = 2**17  # bytes: malloc maps such a block again at each allocation
WIDEST, SHORT = 88, 12  # the longest expression, and the longest operand that always stays in place
SCALARS = ELEMENTWISE - {"where"} | {".sum", ".max", ".min"}  # operations that return NumPy's numbers for shape ()


def lacks(program: Lowered) -> str:
    """An empty string, since this back end can compile every program."""
    return ""


class Code:
    """The source of a program, and its function: `run`, or `careful` if `run` raises."""

    def __init__(self, program: Lowered):
        writer = Writer(program)
        if any(symbol.shape and symbol.size * symbol.dtype.itemsize >= LARGE for symbol in program.steps):
            keep_memory()
        self.source: str = writer.source()
        self.run: Callable[..., Any] = _define(self.source, FAST | writer.names)
        self.careful: Callable[..., Any] = self.run
        if any(symbol.shape is None and symbol.op != "input" for symbol in writer.order):
            careful = Writer(program, careful=True)
            self.careful = _define(careful.source(), vars(floats) | careful.names)

    def __call__(self, *arguments: Any) -> Any:
        """Run the program."""
        try:
            return self.run(*arguments)
        except (ArithmeticError, ValueError):
            return self.careful(*arguments)


compile = Code


@cache
def keep_memory() -> None:
    """Have malloc keep freed memory for the next step, instead of mapping it again, at four times the cost.

    In glibc, blocks up to the size of the largest that was ever freed are kept. This one has the largest size that
    glibc admits (see mallopt(3)). It is never written to, and so takes no memory.
    """
    np.empty(2**25 - 2**16, np.int8)


def _define(source: str, names: dict[str, Any]) -> Callable:
    exec(builtins.compile(source, "<micrograd.compile>", "exec"), names)
    return names["program"]


class Writer(Text):
    """Writes one program, line by line. A short expression that is used once is written where it is used."""

    def __init__(self, program: Lowered, careful: bool = False):
        super().__init__(careful)
        outputs = program.outputs
        self.names.update(vector=vector, at_once=at_once, setitem=operator.setitem, isub=operator.isub)
        self.program = program
        self.reads: dict[str, Read] = {read.name: read for read in program.reads}
        self.writes: list[tuple[str, Symbol, Any]] = list(starmap(_in_place, program.updates))
        self.order: list[Symbol] = needed((outputs, self.writes))
        self.uses: Counter[Symbol] = Counter(symbols_in([*(x.args for x in self.order), outputs, self.writes]))
        self.uses.update(symbols_in(outputs))  # counted twice, so each output has its own line
        self.returned: set[Symbol] = {base(symbol) for symbol in symbols_in(outputs)}

    def source(self) -> str:
        """The whole source."""
        for symbol in self.order:
            if symbol.op == "input":
                self.of[symbol] = symbol.args[0], ATOM
            elif symbol.shape is None:
                text, strength = self.number(symbol)
                alone = self.uses[symbol] > 1 or len(text) > WIDEST
                self.of[symbol] = self.line(text) if alone else (text, strength)
            else:
                self.of[symbol] = self._array(symbol)
        answer = self._output(self.program.outputs)
        lines = [*reading(self.program.reads), *self.lines]
        if self.writes:
            writes = (f"    {write}" for write in starmap(self._write, self.writes))
            lines += [f"answer = {answer}", "at_once(", *writes, ")"]
            answer = "answer"
        lines.append(f"return {answer}")
        text = "".join(f"    {line}\n" for line in lines)
        constants = (f"    # {name}: {_described(x)}\n" for name, x in self.names.items() if name[0] == "k")
        of_arrays = any(symbol.shape is not None for symbol in self.order)
        quiet = '@np.errstate(all="ignore")\n' * of_arrays
        return f"{quiet}def program({', '.join(self.program.parameters)}):\n{''.join(constants)}{text}"

    def _array(self, symbol: Symbol) -> tuple[str, int]:
        """The expression of an array, or the name of its line. Long operands get lines until it is short enough."""
        if symbol.ndim and (symbol.op == "accumulate" or (symbol.op == "scatter" and library.is_basic(symbol.args[1]))):
            return self._added(symbol)
        text, strength = self.array(symbol)
        inside = dict.fromkeys(x for x in symbols_in(symbol.args) if x.shape is not None and len(self.of[x][0]) > SHORT)
        for longest in sorted(inside, key=lambda x: -len(self.of[x][0])):
            if len(text) > WIDEST:
                self.of[longest] = self._own_line(longest)
                text, strength = self.array(symbol)
        self.of[symbol] = text, strength
        return self._own_line(symbol) if self.uses[symbol] > 1 else (text, strength)

    def _own_line(self, symbol: Symbol) -> tuple[str, int]:
        return self.line(self.of[symbol][0], f"  # {symbol.shape}")

    def _added(self, symbol: Symbol) -> tuple[str, int]:
        """Lines that add an array to a slice of another one, or of zeros."""
        if symbol.op == "scatter":
            a, index, shape = symbol.args
            zeros, sign = f"np.zeros({shape}, np.{symbol.dtype})", "="
            name = self.line(zeros, f"  # {shape}")
        else:
            total, a, index = symbol.args
            name, sign = self.of[total] if total.__class__ is Symbol else (self.argument(total), ATOM), "+="
            if not self._is_own(total, symbol):
                name = self.line(f"{self.within(total, ATOM)}.copy()", f"  # {symbol.shape}")
            elif not name[0].isidentifier():
                name = self._own_line(total)
        self.lines.append(f"{name[0]}[{self.index(index)}] {sign} {self.argument(a)}")
        return name

    def _is_own(self, total: Any, symbol: Symbol) -> bool:
        """True if nothing else reads this array, so that it may be changed."""
        fresh = total.__class__ is Symbol and total.op not in VIEWS and total.op != "input"
        return fresh and self.uses[total] == 1 and (total.shape, total.dtype) == (symbol.shape, symbol.dtype)

    def _write(self, how: str, target: Symbol, new: Any) -> str:
        """A call that writes to an array, or to where a number was read from."""
        text = self.argument(new)
        if target.shape is not None:
            if new.__class__ is Symbol and base(new).op == "input":
                text += ".copy()"  # as it was before all writes
            return f"({how}, {self.argument(target)}, {'..., ' * (how == 'setitem')}{text}),"
        read = self.reads[target.args[0]]
        if read.kind == "value":
            return f"(setattr, {read.place}, '_data', {text}),"
        text = f"int({text})" if read.kind == "count" else text
        return f"(setitem, {read._replace(keys=read.keys[:-1]).place}, {read.keys[-1]!r}, {text}),"

    def _output(self, tree: Any) -> str:
        if tree.__class__ in (tuple, list):
            return bracketed(tree, self._output)
        text, shape = self.argument(tree), getattr(tree, "shape", None)
        if shape is None:
            return text
        if not shape:  # NumPy's number, as in eager mode
            return text if tree.__class__ is Symbol and tree.op in SCALARS else f"{text}[()]"
        fresh = tree.__class__ is Symbol and base(tree) in self.returned and base(tree).op != "input"
        if fresh:
            self.returned.discard(base(tree))  # a second output with this array gets a copy
        return text if fresh else f"{text}.copy()"


def base(symbol: Symbol) -> Symbol:
    """The Symbol whose memory this Symbol shares, which is itself unless it is a view."""
    while symbol.op in VIEWS and symbol.args[0].__class__ is Symbol:
        symbol = symbol.args[0]
    return symbol


def _described(x: Any) -> str:
    """A constant, for a comment."""
    if x.__class__ is not np.ndarray or x.size == 1:
        return repr(x).replace("\n", " ")
    of_one_number = f", all {x.flat[0]}" if x.size and not any(x.strides) else ""
    return f"{x.dtype}{list(x.shape)}{of_one_number}"


def _in_place(target: Symbol, new: Any) -> tuple[str, Symbol, Any]:
    """How a new value is written. A difference from the array itself is subtracted in place, without a second array."""
    if target.shape is not None and new.op == "subtract" and new.args[0] is target:
        return "isub", target, new.args[1]
    return "setitem", target, new
