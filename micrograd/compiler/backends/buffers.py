"""The memory of a program of arrays: which buffer each array is written to, and when that is free again.

An operation often overwrites its own operands:

>>> from ..graph import Graph
>>> a = Graph().input("a", (4,), np.dtype(float))
>>> e = np.exp(a)
>>> s = np.sin(e)
>>> plan = Buffers([a, e, s, s + 1.0], [s + 1.0], [])
>>> plan.take(e), plan.take(s, over=[e]), plan.shapes
(0, 0, [((4,), dtype('float64'), 'C')])

Each call takes a set of buffers from a stock and returns it at the end, so threads never share one. Outputs are never
stored in buffers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from ...tensor.optional import np
from ..opset import ELEMENTWISE
from ..symbols import BY_COLUMNS, VIEWS, Symbol, symbols_in


class Buffers:
    """The buffers of the steps `order`; `outputs` get new arrays, `lasting` are read after all steps."""

    def __init__(self, order: Sequence[Symbol], outputs: Any, lasting: Any):
        self.shapes: list[tuple[tuple[int, ...], Any, Any]] = []  # of the buffers: shape, dtype and memory order
        self.of: dict[Symbol, int] = {}  # the buffer of a Symbol's array
        self.kept: set[Symbol] = {base(symbol) for symbol in symbols_in(outputs)}
        self.uses: dict[Symbol, int] = defaultdict(int)
        self._free: dict[tuple[Any, Any, str], list[int]] = defaultdict(list)
        self._by_columns = by_columns(order)
        self._last: dict[Symbol, Symbol] = {}  # the last reader of each
        for symbol in order:
            for operand in symbols_in(symbol.args):
                self.uses[operand] += 1
                self._last[base(operand)] = symbol  # a reader of a view reads its base
        for symbol in symbols_in((outputs, lasting)):
            self.uses[symbol] += 2  # it gets its own line, and its memory is never overwritten
            self._last.pop(base(symbol), None)

    def take(self, symbol: Symbol, over: Iterable[Any] = ()) -> int:
        """A buffer for the Symbol: that of an operand in `over` if this is its last reader, or a free one."""
        kind = self._kind(symbol)
        for operand in over:
            mine = operand.__class__ is Symbol and operand in self.of and self._last.get(operand) is symbol
            if mine and self._kind(operand) == kind:
                self.of[symbol] = self.of.pop(operand)
                return self.of[symbol]
        if not self._free[kind]:
            self._free[kind].append(len(self.shapes))
            self.shapes.append(kind)
        self.of[symbol] = self._free[kind].pop()
        return self.of[symbol]

    def release(self, reader: Symbol) -> None:
        """Free the buffers that this Symbol was the last to read."""
        for symbol in [x for x in self.of if self._last.get(x) is reader]:
            self._free[self._kind(symbol)].append(self.of.pop(symbol))

    def _kind(self, symbol: Symbol) -> tuple[Any, Any, str]:
        """The shape, dtype and memory order of its buffer."""
        return symbol.shape, symbol.dtype, "F" if symbol in self._by_columns else "C"


def base(symbol: Symbol) -> Symbol:
    """The Symbol whose memory this one shares: itself, unless it is a view."""
    while symbol.op in VIEWS and symbol.args[0].__class__ is Symbol:
        symbol = symbol.args[0]
    return symbol


def by_columns(order: Sequence[Symbol]) -> set[Symbol]:
    """The Symbols stored in Fortran order, as the weights of `Linear` are, and whatever is added to them."""
    found: set[Symbol] = set()
    for symbol in [x for x in order if x.shape]:
        like = symbol.args[2:] if symbol.op == "matmul_like" else symbol.args if symbol.op in ELEMENTWISE else ()
        like = [x for x in like if x.__class__ is Symbol and x.shape == symbol.shape]
        if symbol.named == BY_COLUMNS or any(x in found for x in like):
            found.add(symbol)
    return found


class Stock(list[list[Any]]):
    """Sets of buffers that no call is using, each with the views of it that the program reads.

    >>> stock = Stock({"np": np})
    >>> stock.like["b0"] = np.empty((2, 3))
    >>> stock.view("b0", ".reshape(6)"), stock.view("v0", "[2:4]"), stock.view("b0", ".copy()")
    ('v0', 'v1', 'b0.copy()')
    >>> [x.shape for x in stock.borrow()]
    [(2, 3), (6,), (2,)]
    """

    def __init__(self, names: dict[str, Any]):
        self.names = names  # of what the expressions refer to
        self.like: dict[str, Any] = {}  # the first set, by name
        self.views: dict[str, str] = {}  # the name of each view, by its expression

    def view(self, text: str, how: str) -> str:
        """The name of a view of a buffer; the expression itself if it is none, or that of another array."""
        whole = f"{text}{how}"
        if how and text in self.like and whole not in self.views:
            array = eval(whole, self.names, self.like)
            if array.__class__ is np.ndarray and np.may_share_memory(array, self.like[text]):
                self.views[whole] = f"v{len(self.views)}"
                self.like[self.views[whole]] = array
        return self.views.get(whole, whole)

    def borrow(self) -> list[np.ndarray]:
        """A set for this call alone. Checking before popping would be a race between threads."""
        try:
            return self.pop()
        except IndexError:
            new = {name: np.empty_like(array) for name, array in self.like.items() if name[0] == "b"}
            for text, name in self.views.items():
                new[name] = eval(text, self.names, new)
            return [*new.values()]
