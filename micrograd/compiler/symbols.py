"""Symbols: placeholders for numbers and arrays while a program is traced.

The rows of the derivative table run on numbers, arrays and nodes. They also run on Symbols: a Symbol has the operators,
methods and protocols of an array (`np.exp(symbol)` calls one of them), and each returns another Symbol that describes
the result. So neither forward functions nor derivatives are rewritten for the compiler.

>>> from .graph import Graph
>>> x = Graph().input("x", (2, 3), np.dtype(float))
>>> y = np.exp(x * 2.0).sum(axis=0)
>>> y, y.shape
(.sum(exp(multiply(x, 2.0))), (3,))

Plain numbers and arrays among the operands are constants. An operation on constants alone never reaches this module, so
constants are folded at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..engine.rows import Row
from ..tensor.optional import np
from .trace_errors import MASKED, READ, frozen, refusing

BY_COLUMNS = (("order", "F"),)
VIEWS = {".reshape", ".transpose", "broadcast_to", "getitem", "windows", "squeeze"}  # may share memory


class _Library:
    """The functions that rows call on Symbols: NumPy's, and the package's own."""

    def __getattr__(self, name: str) -> Any:
        def function(*args: Any, **named: Any) -> Any:
            if symbols := symbols_in(args):
                return symbols[0].graph.make(name, args, (*named.items(),))
            return getattr(np, name)(*args, **named)

        return function

    def gate(self, a: Any, b: Any) -> Any:
        """a where b is positive, else 0."""
        return self.where(b <= 0, 0.0, a)

    def column_sums(self, a: Any) -> Any:
        """The sums of a matrix's columns."""
        return a.sum(axis=0)

    def rint(self, a: Any) -> Any:
        """The nearest integers. Integers stay as they are."""
        return a if getattr(a.dtype, "kind", "f") in "iu" else a.graph.make("rint", (a,))

    def full(self, shape: Any, a: Any, dtype: Any = None) -> Any:
        """An array of this shape whose elements are all a."""
        return self.broadcast_to(a, shape)


class Symbol:
    """The result of `op` on `args`; `shape` is None for a Python number.

    `op` is "input", an operation of `primitives` or, for numbers in a trace, a row. `args` are its operands and
    settings, and `named` are more settings.
    """

    __slots__ = ("args", "dtype", "graph", "named", "number", "op", "shape")

    def __init__(self, graph: Any, op: Any, args: tuple[Any, ...], named: tuple[Any, ...], shape: Any, dtype: Any):
        self.graph: Any = graph
        self.op: Any = op
        self.args: tuple[Any, ...] = args
        self.named: tuple[Any, ...] = named
        self.shape: Any = shape
        self.dtype: Any = dtype
        self.number: int = len(graph.symbols)
        graph.symbols.append(self)

    def __repr__(self) -> str:
        return _text(self, 5)

    T = property(lambda self: self.transpose(tuple(range(self.ndim))[::-1]))
    ndim: property = property(lambda self: len(self.shape))
    size: property = property(lambda self: int(np.prod(self.shape)))

    # ---- array protocols

    __array_priority__ = 1000

    def __array_namespace__(self) -> Any:
        return LIBRARY

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        if method != "__call__" or named:
            raise frozen(f"numpy.{ufunc.__name__}.{method} cannot be traced: use methods of nodes, such as x.sum()")
        return self.graph.make(ufunc.__name__, inputs)

    def __array_function__(self, function: Callable, types: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if function in (np.shape, np.ndim, np.size):
            return function(stand_in(self))
        if getattr(np, function.__name__, None) is not function:
            return NotImplemented
        return self.graph.make(function.__name__, tuple(args), tuple(named.items()))

    def __getitem__(self, index: Any) -> Any:
        if any(x.dtype == bool for x in symbols_in(index)):
            raise frozen(MASKED)
        return self.graph.make("getitem", (self, index))

    def _apply(self, row: Row, operands: Any) -> Any:
        return self.graph.forward(row, tuple(operands))

    def copy(self) -> Symbol:
        """The Symbol itself, since Symbols are immutable."""
        return self

    def swapaxes(self, i: int, j: int) -> Any:
        """The transpose with these axes exchanged."""
        order = list(range(self.ndim))
        order[i], order[j] = order[j], order[i]
        return self.graph.make(".transpose", (self, tuple(order)))

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


def _text(x: Any, depth: int) -> str:
    """An operation with its operands, nested to a given depth."""
    if x.__class__ is not Symbol:
        return str(x)
    if x.op == "input":
        return x.args[0]
    operands = ", ".join(_text(part, depth - 1) for part in x.args) if depth else "..."
    return f"{getattr(x.op, 'word', x.op)}({operands})"


for _name in ("bool", "float", "int", "index", "array", "round", "setitem"):
    setattr(Symbol, f"__{_name}__", refusing(READ.format("a number")))
Symbol.item = Symbol.tolist = refusing(READ.format("a number"))  # type: ignore[attr-defined]

LIBRARY = _Library()


def _infix(op: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator's method, and its reflection."""

    def method(self: Symbol, other: Any) -> Any:
        return self.graph.make(op, (self, other))

    def reflected(self: Symbol, other: Any) -> Any:
        return self.graph.make(op, (other, self))

    return method, reflected


def _method(op: str) -> Callable:
    def method(self: Symbol, *args: Any, **named: Any) -> Any:
        return self.graph.make(op, (self, *args), tuple(named.items()))

    return method


def _shaping(op: str) -> Callable:
    """A method that takes a tuple of integers, or the integers themselves; the operation takes a tuple."""

    def method(self: Symbol, *numbers: Any) -> Any:
        if len(numbers) == 1 and not isinstance(numbers[0], int):
            (numbers,) = numbers
        return self.graph.make(op, (self, tuple(numbers)))

    return method


def _reduction(op: str) -> Callable:
    """A reduction method; its settings are always named, so that equal calls have equal keys."""

    def method(self: Symbol, axis: Any = None, keepdims: bool = False) -> Any:
        axis = axis[0] if axis.__class__ is tuple and len(axis) == 1 else axis
        return self.graph.make(op, (self,), (("axis", axis), ("keepdims", bool(keepdims))))

    return method


# Python's operators, and the operations that they stand for
BINARY = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power", "matmul": "matmul"}
COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
COMPARISONS |= {"eq": "equal", "ne": "not_equal"}
for _name, _op in (BINARY | COMPARISONS).items():
    _method_of, _reflected = _infix(_op)
    setattr(Symbol, f"__{_name}__", _method_of)
    if _name in BINARY:
        setattr(Symbol, f"__r{_name}__", _reflected)
for _name in ("reshape", "transpose"):
    setattr(Symbol, _name, _shaping("." + _name))
for _name in ("astype", "cumsum"):
    setattr(Symbol, _name, _method("." + _name))
for _name in ("sum", "mean", "max", "min"):
    setattr(Symbol, _name, _reduction("." + _name))
Symbol.__neg__ = lambda self: self.graph.make("negative", (self,))  # type: ignore[attr-defined]
Symbol.__pos__ = lambda self: self  # type: ignore[attr-defined]
Symbol.__abs__ = lambda self: self.graph.make("absolute", (self,))  # type: ignore[attr-defined]


def needed(outputs: Any) -> list[Symbol]:
    """The Symbols that the outputs depend on, operands first."""
    seen: set[Symbol] = set()
    waiting = symbols_in(outputs)
    while waiting:
        symbol = waiting.pop()
        if symbol not in seen:
            seen.add(symbol)
            waiting += symbols_in(symbol.args)
    return sorted(seen, key=lambda symbol: symbol.number)


def symbols_in(x: Any) -> list[Symbol]:
    """The Symbols among the arguments, in lists and tuples too."""
    if x.__class__ is Symbol:
        return [x]
    symbols = []
    if x.__class__ in (tuple, list):
        for part in x:
            if part.__class__ is Symbol:
                symbols.append(part)
            else:
                symbols += symbols_in(part)
    return symbols


def is_uniform(x: np.ndarray) -> bool:
    """True if all elements are the same number; 0.0 and -0.0 differ."""
    first = x.flat[0]
    return bool((x == first).all() and (first != 0 or (np.signbit(x) == np.signbit(first)).all()))


def stand_in(x: Any) -> Any:
    """Zeros with the shape and dtype of a Symbol, sharing one element in memory; for a number, a zero.

    In a tuple or a list, each Symbol is replaced. Anything else is returned unchanged.
    """
    if x.__class__ in (tuple, list):
        return type(x)(map(stand_in, x))
    if x.__class__ is not Symbol:
        return x
    if x.shape is None:
        return 0.0 if x.dtype is None else False
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)
