"""The graph of Symbols: equal ones are one object, and each is simplified as it is made.

>>> graph = Graph()
>>> x, y = graph.input("x"), graph.input("y")
>>> x * 1.0 + 0.0, x**2
(x, multiply(x, x))
>>> x + y is y + x
True

The rules at the end are local: they look at one operation and its operands. They reassociate nothing, and do not care
for the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Any

import numpy as np

from ..rows import Row
from .frozen import Frozen, Shapeless
from .symbols import NUMBERS, Symbol, evaluate, inferred, needed, number_type, settings, stand_in, symbols_in


class Graph:
    """All Symbols of one program, in the order in which they were made: operands first."""

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.known: dict[Symbol, Any] = {}
        self._made: dict[Any, Symbol] = {}
        self._arrays: dict[int, tuple[Any, Any]] = {}  # constants: what was given, and the copy that is kept

    def input(self, name: str, shape: tuple[int, ...] | None = None, dtype: Any = None, order: Any = ()) -> Symbol:
        """A Symbol for what comes from outside; `order` is `BY_COLUMNS` for an array that stands so in memory."""
        return self._new("input", (name,), order, shape, dtype)

    def constant(self, array: np.ndarray) -> Symbol:
        """A Symbol for an array that is known: it becomes plain when the graph is `rebuilt`."""
        symbol = self.input("constant", array.shape, array.dtype)
        self.known[symbol] = array
        return symbol

    def _new(self, op: Any, args: tuple[Any, ...], named: tuple, shape: Any, dtype: Any) -> Symbol:
        symbol = Symbol(self, op, args, named, shape, dtype)
        self.symbols.append(symbol)
        return symbol

    def make(self, op: Any, args: tuple[Any, ...], named: tuple = ()) -> Any:
        """The Symbol of an operation; the same one if it was made before, or a simpler one that is equal."""
        numbers = _are_numbers(args)
        if not numbers and op in ELEMENTWISE:
            args = thinned(op, args)
        simpler = simplified(self, op, args, named)
        if simpler is not None:
            return simpler
        keys = tuple(map(_key, args))
        key = (op, frozenset(keys)) if op == "add" or op == "multiply" else (op, named, *keys)
        found = self._made.get(key)
        if found is None:
            if not numbers:
                args = tuple(map(self._own, args))
            shape, dtype = number_type(op) if numbers else inferred(op, args, named)
            found = self._made[key] = self._new(op, args, named, shape, dtype)
        return found

    def forward(self, row: Row, operands: tuple[Any, ...]) -> Any:
        """A row's forward function on Symbols; if it cannot run on them (it fills an array, say), a Symbol for it."""
        if not any(True for _ in symbols_in((*operands, *settings(row.forward)))):
            return np.asarray(row.forward(*operands))
        if row.name == "scatter" and (found := _plain_scatter(row)):
            return self.make("scatter", (operands[0], *found))
        try:
            return row.forward(*operands)
        except Shapeless:
            raise
        except (Frozen, TypeError, ValueError, IndexError) as error:
            try:
                closed = settings(row.forward)
                return self.make(row, (closed if any(True for _ in symbols_in(closed)) else (), *operands))
            except Exception:
                raise error from None

    def let_go(self) -> None:
        """Forget the Symbols: they know their graph, and such circles would wait for Python's collector."""
        self.symbols, self.known, self._made, self._arrays = [], {}, {}, {}

    def _own(self, x: Any) -> Any:
        """A constant array as a copy that nobody else can change; the copy is made once."""
        if isinstance(x, np.ndarray):
            if id(x) not in self._arrays:
                kept = x.copy() if any(x.strides) or not x.size else np.broadcast_to(x.flat[0], x.shape)
                self._arrays[id(x)] = (x, kept)
                self._arrays[id(kept)] = (kept, kept)
            return self._arrays[id(x)][1]
        return type(x)(map(self._own, x)) if x.__class__ in (tuple, list) else x


def _are_numbers(args: tuple[Any, ...]) -> bool:
    """Are the operands plain numbers all? In a graph of scalars they always are, and need no second look."""
    for x in args:
        cls = x.__class__
        if cls is Symbol:
            if x.shape is not None:
                return False
        elif cls is not float and cls is not int:
            return False
    return True


def _key(x: Any) -> Any:
    """What tells an argument from others; arrays and Symbols by their identity, 0.0 from -0.0, and 1 from 1.0."""
    cls = x.__class__
    if cls is Symbol:
        return x
    if cls is np.ndarray:
        return id(x), cls
    if cls is float:
        return x, copysign(1.0, x)
    if cls is tuple or cls is list:
        return cls, *map(_key, x)
    if cls is slice:
        return cls, x.start, x.stop, x.step
    return x, cls


def rebuilt(outputs: Any, values: dict[Symbol, Any]) -> Any:
    """The outputs in a new graph, where some Symbols are known to be these values: constants, folded anew."""
    graph, new = Graph(), dict(values)

    def renewed(x: Any) -> Any:
        if x.__class__ is Symbol:
            return new[x]
        return type(x)(map(renewed, x)) if x.__class__ in (tuple, list) else x

    for symbol in needed(outputs):
        if symbol not in new:
            args = renewed(symbol.args)
            if symbol.op == "input":
                new[symbol] = graph.input(symbol.args[0], symbol.shape, symbol.dtype, symbol.named)
            elif any(True for _ in symbols_in(args)):
                new[symbol] = graph.make(symbol.op, args, symbol.named)
            elif symbol.shape is None and symbol.op.__class__ is str:
                new[symbol] = NUMBERS[symbol.op](*args)
            else:
                new[symbol] = evaluate(symbol.op, args, dict(symbol.named))
    graph.let_go()
    return renewed(outputs)


# ---------------------------------------------------------------------------------------------------------------------
# Simpler forms, operation by operation


ELEMENTWISE = {name for name, x in vars(np).items() if isinstance(x, np.ufunc) and x.signature is None} | {"where"}


def thinned(op: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of an elementwise operation, with a number for an array of equal ones, and nothing broadcast in
    advance: where shape and dtype of the result stay what they are."""
    thin = tuple(map(_thin, args))
    if all(a is b for a, b in zip(thin, args, strict=True)) or not any(True for _ in symbols_in(thin)):
        return args
    return thin if inferred(op, thin, ()) == inferred(op, args, ()) else args


def _thin(x: Any) -> Any:
    if x.__class__ is np.ndarray and x.size and x.dtype.kind == "f":
        return float(x.flat[0]) if not any(x.strides) or (x == x.flat[0]).all() else x
    return x.args[0] if x.__class__ is Symbol and x.op == "broadcast_to" and x.args[0].__class__ is Symbol else x


def _plain_scatter(row: Row) -> tuple[Any, Any] | None:
    """Index and shape of a row that scatters to a slice, or to several."""
    found = dict(zip(row.forward.__code__.co_freevars, settings(row.forward), strict=True))
    index = found["index"] if found["index"].__class__ is tuple else (found["index"],)
    plain = all(i.__class__ in (slice, int) or i is None or i is ... for i in index)
    return (found["index"], found["shape"]) if plain else None


def simplified(graph: Graph, op: Any, args: tuple[Any, ...], named: tuple) -> Any:
    """A simpler Symbol that is equal, or None."""
    rule = RULES.get(op) if op.__class__ is str else None
    if rule is None:
        return None
    return rule(graph, *args, **dict(named)) if named else rule(graph, *args)


def _is(x: Any, number: float) -> bool:
    return (x.__class__ is float or x.__class__ is int) and x == number


def _fits(kept: Any, *others: Any) -> bool:
    """May `kept` stand for an elementwise operation on itself and the others, as far as shape and dtype go?"""
    if kept.__class__ is not Symbol:
        return False
    return kept.dtype is None or kept.dtype.kind == "f"


def _add(graph: Graph, a: Any, b: Any) -> Any:
    for x, y in ((a, b), (b, a)):
        if x.__class__ is y.__class__ is Symbol and y.op == "scatter" and x.shape == y.shape and x.dtype == y.dtype:
            return graph.make("accumulate", (x, *y.args[:2]))
    if _is(b, 0) and _fits(a):
        return a
    if _is(a, 0) and _fits(b):
        return b
    return None


def _subtract(graph: Graph, a: Any, b: Any) -> Any:
    if _is(b, 0) and _fits(a):
        return a
    return -b if _is(a, 0) and _fits(b) else None


def _multiply(graph: Graph, a: Any, b: Any) -> Any:
    for x, y in ((a, b), (b, a)):
        if _is(y, 1) and _fits(x):
            return x
        if _is(y, -1) and _fits(x):
            return -x
    return None


def _divide(graph: Graph, a: Any, b: Any) -> Any:
    return a if _is(b, 1) and _fits(a) else None


def _power(graph: Graph, a: Any, b: Any) -> Any:
    if not _fits(a):
        return None
    if _is(b, 1):
        return a
    return a * a if _is(b, 2) else a * a * a if _is(b, 3) and a.shape is None else None


def _where(graph: Graph, condition: Any, a: Any, b: Any) -> Any:
    """Where the condition is a plain bool: one of the two. Where one of the two is 0: a mask."""
    if condition.__class__ not in (bool, np.bool_):
        return _gated(graph, condition, b) if _is(a, 0) else None
    chosen, other = (a, b) if condition else (b, a)
    if all(x.shape is None for x in symbols_in((a, b))):
        return chosen
    like = np.where(True, stand_in(chosen), stand_in(other))
    if chosen.__class__ is not Symbol:
        return np.broadcast_to(np.asarray(chosen, like.dtype), like.shape)
    return chosen if (chosen.shape, chosen.dtype) == (like.shape, like.dtype) else None


def _gated(graph: Graph, condition: Any, a: Any) -> Any:
    """where(condition, 0.0, a) on an array."""
    if any(x.__class__ is not Symbol or not x.shape for x in (condition, a)) or a.shape != condition.shape:
        return None
    return graph.make("gated", (a, graph.make("mask_of", (condition, a.dtype)))) if a.dtype.kind == "f" else None


def _gated_again(graph: Graph, a: Any, mask: Any) -> Any:
    return graph.make("where", (mask.args[0], 0.0, a)) if a.__class__ is not Symbol else None


def _maximum(graph: Graph, a: Any, b: Any) -> Any:
    """relu: with the mask that its gradient uses too."""
    return _gated(graph, a <= 0, a) if _is(b, 0) and a.__class__ is Symbol and a.shape else None


def _matmul(graph: Graph, a: Any, b: Any) -> Any:
    """An outer product is elementwise."""
    return a * b if len(a.shape) == len(b.shape) == 2 and a.shape[1] == 1 else None


def _sum(graph: Graph, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum of a vector, of the rows or of the columns of a matrix: a product with ones."""
    axes = list(range(a.ndim)) if axis is None or not a.ndim else sorted({i % a.ndim for i in np.atleast_1d(axis)})
    n = int(np.prod([a.shape[i] for i in axes]))
    if a.dtype.kind != "f" or not n or (n > 4096 and a.dtype.itemsize < 8):  # NumPy's own sums lose less in float32
        return None
    if n == 1:
        return a.reshape(tuple(1 if i in axes else m for i, m in enumerate(a.shape) if keepdims or i not in axes))
    if len(axes) == a.ndim > 1 and not keepdims:
        return a.reshape((n,)).sum(0)
    if a.ndim not in (1, 2) or len(axes) != 1:
        return None
    ones = np.broadcast_to(np.ones((), a.dtype), a.shape[axes[0]])
    total = graph.make("dot", (ones, a) if axes[0] == 0 else (a, ones))
    return total.reshape(tuple(1 if i in axes else n for i, n in enumerate(a.shape))) if keepdims else total


def _mean(graph: Graph, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum over the number."""
    total = a.sum(axis=axis, keepdims=keepdims)
    return total / float(a.size // max(total.size, 1)) if a.dtype.kind == "f" and a.size else None


def _negative(graph: Graph, a: Any) -> Any:
    return a.args[0] if a.op == "negative" else None


def _absolute(graph: Graph, a: Any) -> Any:
    """The sign does not matter: exp(-abs(x)) and exp(-abs(-x)) are computed once."""
    if a.op == "negative":
        return abs(a.args[0])
    if a.op == "multiply" and a.args[0].__class__ in (float, int) and a.args[0] < 0:
        return abs(-a.args[0] * a.args[1])
    return None


def _reshape(graph: Graph, a: Any, *shape: Any) -> Any:
    wanted = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if wanted == a.shape:
        return a
    if a.op == ".reshape":
        return graph.make(".reshape", (a.args[0], wanted))
    if a.op in ELEMENTWISE and sum(1 for _ in symbols_in(a.args)) == 1:  # an op with numbers: before the reshape
        inner = [x.args[0] if x.__class__ is Symbol and x.op == ".reshape" else x for x in a.args]
        if all(x.shape == wanted if x.__class__ is Symbol else x.__class__ is float for x in inner):
            return graph.make(a.op, tuple(inner))
    return None


def _swapaxes(graph: Graph, a: Any, i: int, j: int) -> Any:
    order = list(range(a.ndim))
    order[i], order[j] = order[j], order[i]
    return graph.make(".transpose", (a, tuple(order)))


def _transpose(graph: Graph, a: Any, *axes: Any) -> Any:
    order = tuple(axes[0]) if len(axes) == 1 and not isinstance(axes[0], int) else axes
    if order == tuple(range(a.ndim)):
        return a
    if a.size in a.shape:  # a row or a column
        return a.reshape(tuple(a.shape[i] for i in order))
    if a.op == ".transpose":
        return a.args[0].transpose(tuple(a.args[1][i] for i in order))
    if a.op == "matmul" and a.args[0].ndim == a.args[1].ndim == 2:
        return a.args[1].transpose((1, 0)) @ a.args[0].transpose((1, 0))
    return graph.make(".transpose", (a, order)) if axes != (order,) else None


def _broadcast_to(graph: Graph, a: Any, shape: Any) -> Any:
    if a.shape == tuple(shape):
        return a
    return a.reshape(tuple(shape)) if a.size == np.prod(shape) else None


def _astype(graph: Graph, a: Any, dtype: Any) -> Any:
    return a if a.dtype == dtype else None


RULES: dict[str, Callable[..., Any]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "power": _power,
    "where": _where,
    "maximum": _maximum,
    "matmul": _matmul,
    "negative": _negative,
    "gated": _gated_again,
    ".sum": _sum,
    ".mean": _mean,
    "absolute": _absolute,
    ".reshape": _reshape,
    ".swapaxes": _swapaxes,
    ".transpose": _transpose,
    "broadcast_to": _broadcast_to,
    ".astype": _astype,
}
