"""Symbols: what stands for numbers and arrays while a program is traced.

The rows of the derivative table run on numbers, on arrays and on nodes. They run on Symbols too: a Symbol has the
operators, methods and protocols of an array (`np.exp(symbol)` asks it), and answers each with another Symbol, which
says what would have been computed. So neither a forward function nor a derivative is written anew for the compiler.

>>> from .simplify import Graph
>>> x = Graph().input("x", (2, 3), np.dtype(float))
>>> y = np.exp(x * 2.0).sum(axis=0)
>>> y, y.shape
(dot([1. 1.], exp(multiply(x, 2.0))), (3,))

Plain numbers and arrays among the operands are constants; an operation on constants alone never comes here, and so is
folded by itself.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import floats
from ..array_library import matmul_like
from ..rows import Row
from .frozen import MASKED, READ, Shapeless, frozen

BY_COLUMNS = (("order", "F"),)
VIEWS = {".reshape", ".transpose", ".swapaxes", "broadcast_to", "getitem"}  # they may share their operand's memory


class _Library:
    """What rows use on Symbols: NumPy, and what the package has of its own."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def gate(self, a: Any, b: Any) -> Any:
        """a where b is over 0, else 0."""
        return np.where(b <= 0, 0.0, a)

    def column_sums(self, a: Any) -> Any:
        """The sums of a matrix's columns."""
        return a.sum(axis=0)

    def matmul_like(self, a: Any, b: Any, like: Any) -> Any:
        """a @ b in the memory order of `like`."""
        return like.graph.make("matmul_like", (a, b, like))

    def full(self, shape: Any, a: Any, dtype: Any = None) -> Any:
        """An array of this shape whose elements are all a."""
        return np.broadcast_to(a, shape)


class Symbol:
    """What `op` would give for `args`; `shape` is None for a number of Python's.

    `op` is the name of a function of NumPy's ("add", "where"), of a method (".sum"), "getitem", or a row whose forward
    function needs real arrays.
    """

    __slots__ = ("args", "dtype", "graph", "named", "number", "op", "shape")

    def __init__(self, graph: Any, op: Any, args: tuple[Any, ...], named: tuple, shape: Any, dtype: Any):
        self.graph, self.op, self.args, self.named = graph, op, args, named
        self.shape, self.dtype = shape, dtype
        self.number = len(graph.symbols)

    def __repr__(self) -> str:
        return _text(self, 5)

    T = property(lambda self: self.transpose(tuple(range(self.ndim))[::-1]))
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))

    # ---- an array's manners

    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __array_namespace__(self) -> Any:
        return LIBRARY

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        if method != "__call__" or named:
            raise frozen(f"numpy.{ufunc.__name__}.{method} cannot be traced")
        return self.graph.make(ufunc.__name__, inputs)

    def __array_function__(self, function: Callable, types: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if function in (np.shape, np.ndim, np.size):
            return function(stand_in(self))
        if getattr(np, function.__name__, None) is not function:
            return NotImplemented
        return self.graph.make(function.__name__, tuple(args), tuple(named.items()))

    def __getitem__(self, index: Any) -> Any:
        if any(x.dtype == bool for x in symbols_in(index)):
            raise frozen(MASKED, Shapeless)
        return self.graph.make("getitem", (self, index))

    def _apply(self, row: Row, operands: Any) -> Any:
        return self.graph.forward(row, tuple(operands))

    def copy(self) -> Symbol:
        """Itself: nothing can be written to it."""
        return self

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def _frozen(self, *_: Any, **__: Any) -> Any:
        raise frozen(READ.format("a number"))

    __bool__ = __float__ = __int__ = __index__ = __array__ = __round__ = item = tolist = __setitem__ = _frozen


def _text(x: Any, depth: int) -> str:
    """An operation with its operands, and so on for a few."""
    if x.__class__ is not Symbol or x.op == "input":
        return str(x.args[0]) if x.__class__ is Symbol else str(x)
    name = x.op if x.op.__class__ is str else x.op.name
    return f"{name}({', '.join(_text(part, depth - 1) for part in x.args) if depth else '...'})"


LIBRARY = _Library()


def _infix(op: str) -> tuple[Callable, Callable]:
    """An operator's method, and its reflection."""

    def method(self: Symbol, other: Any) -> Any:
        return self.graph.make(op, (self, other))

    def reflected(self: Symbol, other: Any) -> Any:
        return self.graph.make(op, (other, self))

    return method, reflected


def _method(name: str) -> Callable:
    def method(self: Symbol, *args: Any, **named: Any) -> Any:
        return self.graph.make("." + name, (self, *args), tuple(named.items()))

    return method


def _reduction(op: str) -> Callable:
    """A method whose settings are always named, so that equal ones are one."""

    def method(self: Symbol, axis: Any = None, keepdims: bool = False) -> Any:
        return self.graph.make(op, (self,), (("axis", axis), ("keepdims", bool(keepdims))))

    return method


INFIX = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "matmul": "@"}
UFUNCS = {"sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power"}
COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal"}
NUMBERS: dict[str, Callable] = vars(floats) | {
    UFUNCS.get(name, COMPARISONS.get(name, name)): getattr(operator, name) for name in (*INFIX, *COMPARISONS)
}
NUMBERS |= {"not_equal": operator.ne, "negative": operator.neg, "absolute": abs}
NUMBERS |= {"detach": lambda a: a, "divide": floats.divide, "power": floats.power}
_COMPARING, _BOOL = {*COMPARISONS.values(), "not_equal"}, np.dtype(bool)
for _name in INFIX:
    for _dunder, _made in zip((f"__{_name}__", f"__r{_name}__"), _infix(UFUNCS.get(_name, _name)), strict=True):
        setattr(Symbol, _dunder, _made)
for _name, _op in {**COMPARISONS, "ne": "not_equal"}.items():
    setattr(Symbol, f"__{_name}__", _infix(_op)[0])
for _name in ("reshape", "transpose", "swapaxes", "astype", "cumsum"):
    setattr(Symbol, _name, _method(_name))
for _name in ("sum", "mean", "max", "min"):
    setattr(Symbol, _name, _reduction("." + _name))
Symbol.__neg__ = lambda self: self.graph.make("negative", (self,))  # type: ignore[attr-defined]
Symbol.__pos__ = lambda self: self  # type: ignore[attr-defined]
Symbol.__abs__ = lambda self: self.graph.make("absolute", (self,))  # type: ignore[attr-defined]


def needed(outputs: Any) -> list[Symbol]:
    """The Symbols that the outputs depend on, operands first."""
    found: set[Symbol] = set()
    waiting = list(symbols_in(outputs))
    while waiting:
        symbol = waiting.pop()
        if symbol not in found:
            found.add(symbol)
            waiting += symbols_in(symbol.args)
    return sorted(found, key=lambda symbol: symbol.number)


def symbols_in(x: Any) -> Iterator[Symbol]:
    """The Symbols among the arguments, in lists and tuples too."""
    if x.__class__ is Symbol:
        yield x
    elif x.__class__ in (tuple, list):
        for part in x:
            yield from symbols_in(part)


# ---------------------------------------------------------------------------------------------------------------------
# Shapes: an operation is tried on arrays of zeros, which take no memory


def stand_in(x: Any) -> Any:
    """An array of zeros in the place of a Symbol; its elements are one and the same. For a number, a zero."""
    if x.__class__ is Symbol and x.shape is None:
        return 0.0 if x.dtype is None else False
    if x.__class__ is Symbol:
        return np.broadcast_to(np.zeros((), x.dtype), x.shape)
    return type(x)(map(stand_in, x)) if x.__class__ in (tuple, list) else x


def number_type(op: Any) -> tuple[None, Any]:
    """Shape and dtype of an operation on numbers."""
    return None, _BOOL if op in _COMPARING else None


def inferred(op: Any, args: tuple[Any, ...], named: tuple) -> tuple[Any, Any]:
    """Shape and dtype of an operation."""
    arrays = any(x.__class__ is np.ndarray for x in args) or any(x.shape is not None for x in symbols_in(args))
    if op == ".item" or not arrays:
        return number_type(op)
    with np.errstate(all="ignore"):
        out = evaluate(op, tuple(map(stand_in, args)), dict(named))
    return np.shape(out), out.dtype


def mask_of(condition: Any, dtype: Any) -> Any:
    """0 where the condition holds, else all bits set."""
    return np.subtract(condition.view(np.int8), 1, dtype=f"i{np.dtype(dtype).itemsize}")


def gated(a: Any, mask: Any) -> Any:
    """`where(condition, 0.0, a)` by bits: exact, and many times faster, since nothing branches."""
    return np.bitwise_and(a.view(mask.dtype), mask).view(a.dtype)


def scatter(a: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Zeros, but for a at the index."""
    return accumulate(np.zeros(shape, a.dtype), a, index)


def accumulate(total: Any, a: Any, index: Any) -> Any:
    """The total, with a added at the index."""
    total = np.array(total)
    total[index] += a
    return total


OWN = {"mask_of": mask_of, "gated": gated, "scatter": scatter, "accumulate": accumulate, "matmul_like": matmul_like}


def evaluate(op: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The operation on real arrays."""
    if op == "getitem":
        return args[0][args[1]]
    if op in OWN:
        return OWN[op](*args)
    if isinstance(op, str):
        return getattr(args[0], op[1:])(*args[1:], **named) if op[0] == "." else getattr(np, op)(*args, **named)
    return (opened(op.forward)(*args[0]) if args[0] else op.forward)(*args[1:])


def opened(function: Any) -> Callable:
    """A function that takes what the given one closes over, and gives that function with these for it."""

    def with_settings(*settings: Any) -> Callable:
        cells = tuple(map(types.CellType, settings))
        return types.FunctionType(function.__code__, function.__globals__, closure=cells)

    return with_settings


def settings(function: Any) -> tuple[Any, ...]:
    """What a function closes over."""
    return tuple(cell.cell_contents for cell in getattr(function, "__closure__", None) or ())
