"""The graph of Symbols. Equal Symbols are one object, and each is simplified when it is created.

>>> graph = Graph()
>>> x, y = graph.input("x"), graph.input("y")
>>> x * 1.0 + 0.0, x**2
(x, multiply(x, x))
>>> x + y is y + x
True

The shape and dtype of a new Symbol are inferred by running the operation on zeros (`inferred`). If all operands turn
out to be known, the operation is run on them (`evaluate`):

>>> a = graph.input("a", (2, 3), np.dtype("f4"))
>>> (a.T @ a).shape, rebuilt(a.sum() + x, {a: np.ones((2, 3), "f4")})
((3, 3), add(6.0, x))
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Mapping
from math import copysign
from typing import Any

from ..engine.rows import Row
from ..scalars import floats
from ..tensor.optional import np
from .primitives import ELEMENTWISE, evaluate
from .simplify import RULES
from .symbols import BINARY, COMPARISONS, Symbol, is_uniform, needed, stand_in, symbols_in
from .trace_errors import ELSEWHERE, frozen, refusing

NUMBERS: dict[str, Callable[..., Any]] = {op: getattr(operator, name) for name, op in (BINARY | COMPARISONS).items()}
NUMBERS |= {"negative": operator.neg, "absolute": abs} | vars(floats)  # divide, power and others
# The dtypes of operations on numbers, by the operation's or the row's name; None if it is not here
NUMBER_TYPES = dict.fromkeys([*COMPARISONS.values(), *map("__{}__".format, COMPARISONS)], np.dtype(bool))


class Graph:
    """All Symbols of one program in creation order, so operands come first."""

    def __init__(self, rules: dict[str, Callable[..., Any]] = RULES) -> None:
        self.rules = rules  # of `simplify`
        self.symbols: list[Symbol] = []
        self.known: dict[Symbol, Any] = {}
        self._made: dict[Any, Symbol] = {}
        self._rows: dict[Row, dict[Any, Symbol]] = defaultdict(dict)
        self._arrays: dict[int, tuple[Any, Any]] = {}  # constants: the original array, and the copy that is stored

    def input(self, name: str, shape: tuple[int, ...] | None = None, dtype: Any = None, order: Any = ()) -> Symbol:
        """A Symbol for an input; `order` is `BY_COLUMNS` for an array in Fortran order."""
        return Symbol(self, "input", (name,), order, shape, dtype and dtype.newbyteorder("="))

    def constant(self, array: np.ndarray) -> Symbol:
        """A Symbol for a known array. `rebuilt` replaces the Symbol by the array."""
        symbol = self.input("constant", array.shape, array.dtype)
        self.known[symbol] = array
        return symbol

    def make(self, op: str, args: tuple[Any, ...], named: tuple[Any, ...] = (), like: Symbol | None = None) -> Any:
        """The Symbol of an operation: the existing Symbol if it was made before, or a simpler Symbol that is equal.

        `like` is a Symbol with the shape and dtype of the result, if these are known.
        """
        if len(args) == 2 and not named:
            a, b = args
            if a.__class__ is b.__class__ is Symbol and a.shape is b.shape is None:  # no rule changes two numbers
                key = (op, b, a) if (op == "add" or op == "multiply") and a.number > b.number else (op, a, b)
                if (symbol := self._made.get(key)) is None:
                    symbol = self._made[key] = Symbol(self, op, args, (), None, NUMBER_TYPES.get(op))
                return symbol
        numbers = all(map(_is_number, args))
        if not numbers and op in ELEMENTWISE:
            args = thinned(op, tuple([np.asarray(x) if x.__class__ is list else x for x in args]))
        rule = self.rules.get(op)
        simpler = None if rule is None else rule(self, *args, **dict(named)) if named else rule(self, *args)
        if simpler is not None:
            return simpler
        keys = [x if x.__class__ is Symbol else _key(x) for x in args]
        if (op == "add" or op == "multiply") and _is_turned(*args):
            keys.reverse()
        key = (op, named, *keys)
        symbol = self._made.get(key)
        if symbol is None:
            args = tuple(map(self._own, args))
            shape, dtype = inferred(op, args, named) if like is None else (like.shape, like.dtype)
            symbol = self._made[key] = Symbol(self, op, args, named, shape, dtype)
        return symbol

    def made(self, op: str, args: tuple[Any, ...], named: tuple[Any, ...]) -> Symbol | None:
        """The Symbol of an operation, if it was made before."""
        return self._made.get((op, named, *args))

    def on_numbers(self, row: Row, args: tuple[Any, ...]) -> Any:
        """The Symbol of a row on numbers (under `batch`, one for each sample). `rebuilt` makes operations of it."""
        key, plain = args, True
        for x in args:
            if x.__class__ is not Symbol:
                key = tuple(map(_key, args))
            elif x.graph is not self:
                raise frozen(ELSEWHERE)
            elif x.shape is not None:
                plain = False
        made = self._rows[row]
        if (symbol := made.get(key)) is None:
            if key is not args and not symbols_in(args):
                return row.forward(*args)
            shape, dtype = (None, NUMBER_TYPES.get(row.name)) if plain else inferred(row, args, ())
            symbol = made[key] = Symbol(self, row, args, (), shape, dtype)
        return symbol

    def forward(self, row: Row, operands: tuple[Any, ...]) -> Any:
        """A row's forward function on Symbols. If the row has settings, its constant operands become Symbols too."""
        if not symbols_in((*operands, *row.settings.values())):
            return np.asarray(row.forward(*operands))
        if row.settings:
            operands = tuple(self.constant(x) if x.__class__ is np.ndarray else x for x in operands)
        return row.forward(*operands)

    def let_go(self) -> None:
        """Release the Symbols: they refer to their graph, and such cycles would wait for the garbage collector."""
        self.symbols, self.known, self._made, self._rows, self._arrays = [], {}, {}, {}, {}
        self.__class__ = EndedGraph  # type: ignore[assignment]

    def _own(self, x: Any) -> Any:
        """A private copy of a constant array, made once."""
        if isinstance(x, np.ndarray):
            if id(x) not in self._arrays:
                copy = x.astype(x.dtype.newbyteorder("="))
                if x.size and not any(x.strides):  # all elements are one in memory
                    copy = np.broadcast_to(copy.flat[0], x.shape)
                self._arrays[id(x)] = (x, copy)
                self._arrays[id(copy)] = (copy, copy)
            return self._arrays[id(x)][1]
        return type(x)(map(self._own, x)) if x.__class__ in (tuple, list) else x


class EndedGraph(Graph):
    """A graph whose trace has ended. Nothing can be computed from its Symbols any more."""


for _name in ("input", "constant", "make", "on_numbers", "forward"):  # not in the class's body; see `traced_nodes`
    setattr(EndedGraph, _name, refusing(ELSEWHERE))


def _is_number(x: Any) -> bool:
    return x.shape is None if x.__class__ is Symbol else x.__class__ is float or x.__class__ is int


def _is_turned(a: Any, b: Any) -> bool:
    """True if a + b has the key of b + a. In a key, the older Symbol comes first, and a constant last."""
    return b.__class__ is Symbol and (a.__class__ is not Symbol or a.number > b.number)


def _key(x: Any) -> Any:
    """The cache key of an argument. Arrays and Symbols are equal only to themselves, 0.0 is not -0.0, 1 not 1.0."""
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


def rebuilt(outputs: Any, values: Mapping[Symbol, Any] = {}, rules: dict[str, Callable[..., Any]] = RULES) -> Any:
    """The outputs in a new graph, simplified again, and folded with the known values of some Symbols."""
    graph, new = Graph(rules), dict(values)
    for symbol in symbols_in(outputs)[:1]:
        new |= symbol.graph.known

    def renewed(x: Any) -> Any:
        if x.__class__ is Symbol:
            return new[x]
        return type(x)(map(renewed, x)) if x.__class__ in (tuple, list) else x

    for symbol in needed(outputs):
        if symbol not in new:
            args = tuple([new[x] if x.__class__ is Symbol else renewed(x) for x in symbol.args])
            if symbol.op == "input":
                new[symbol] = graph.input(symbol.args[0], symbol.shape, symbol.dtype, symbol.named)
            elif symbol.op.__class__ is not str:
                new[symbol] = symbol.op.forward(*args)
            elif symbols_in(args):
                new[symbol] = graph.make(symbol.op, args, symbol.named, symbol)
            elif symbol.shape is None and symbol.op in NUMBERS:
                new[symbol] = NUMBERS[symbol.op](*args)
            else:
                new[symbol] = evaluate(symbol.op, args, dict(symbol.named))
    graph.let_go()
    return renewed(outputs)


def thinned(op: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of an elementwise operation, with numbers for uniform arrays and without explicit broadcasts.

    They are as before if that would change the shape or dtype of the result.
    """
    thin = tuple(map(_thin, args))
    if all(a is b for a, b in zip(thin, args, strict=True)) or not symbols_in(thin):
        return args
    return thin if inferred(op, thin, ()) == inferred(op, args, ()) else args


def _thin(x: Any) -> Any:
    if isinstance(x, np.floating):
        return float(x)
    if x.__class__ is np.ndarray and x.size and x.dtype.kind == "f":
        return float(x.flat[0]) if not any(x.strides) or is_uniform(x) else x
    return x.args[0] if x.__class__ is Symbol and x.op == "broadcast_to" and x.args[0].__class__ is Symbol else x


def inferred(op: Any, args: tuple[Any, ...], named: tuple[Any, ...]) -> tuple[Any, Any]:
    """Shape and dtype of the result of an operation, or of a row on arrays."""
    arrays = any(x.__class__ is np.ndarray for x in args) or any(x.shape is not None for x in symbols_in(args))
    if op == ".item" or not (arrays or op == "broadcast_to"):
        return None, NUMBER_TYPES.get(op)
    zeros = tuple(map(stand_in, args))
    with np.errstate(all="ignore"):
        out = op.forward(*zeros) if isinstance(op, Row) else evaluate(op, zeros, dict(named))
    return np.shape(out), out.dtype
