"""Rewrite rules for Symbols, by operation.

A rule looks at one operation and its operands, and returns an equal Symbol or None. Rules do not reassociate, and they
preserve the sign of zero. The exception is x + 0.0, which becomes x, because every sum starts with 0.0.

>>> from .graph import Graph
>>> a = Graph().input("a", (2, 3), np.dtype(float))
>>> a.reshape(6).reshape(3, 2).reshape(2, 3) is a
True
>>> a.T.T is a, a.sum(axis=0), (a * a).sum()
(True, .sum(a), .sum(multiply(a, a)))
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Any

from ..scalars.rows import nothing
from ..tensor.optional import library, np
from .primitives import ELEMENTWISE
from .symbols import Symbol, stand_in, symbols_in


def _equals(x: Any, number: float) -> bool:
    """True for a Python number that is equal to this number, and has its sign."""
    return (x.__class__ is float or x.__class__ is int) and x == number and copysign(1.0, x) == copysign(1.0, number)


def _fits(a: Any) -> bool:
    """True if `a` has the dtype of an elementwise operation on `a` and a number, and so may replace the operation."""
    return a.__class__ is Symbol and (a.dtype is None or a.dtype.kind == "f")


def _unless(number: float, rule: Callable[..., Any] = nothing) -> Callable[..., Any]:
    """The rule of an operation which, with this number on the right, returns its left operand."""
    return lambda graph, a, b: a if _equals(b, number) and _fits(a) else rule(graph, a, b)


def _add(graph: Any, a: Any, b: Any) -> Any:
    if a.__class__ is b.__class__ is Symbol:
        for x, y in ((a, b), (b, a)):
            if y.op == "scatter" and x.shape == y.shape and x.dtype == y.dtype:
                return graph.make("accumulate", (x, *y.args[:2])) if library.is_basic(y.args[1]) else None
        return None
    return b if _equals(a, 0) and _fits(b) else None


def _multiply(graph: Any, a: Any, b: Any) -> Any:
    if a.__class__ is b.__class__ is Symbol:
        return None
    x, y = (a, b) if a.__class__ is Symbol else (b, a)
    if _equals(y, 1) and _fits(x):
        return x
    if _equals(y, -1) and _fits(x):
        return -x
    return graph.make("where", (x.args[0], x.args[1] * y, x.args[2] * y)) if _is_choice(x) else None


def _is_choice(x: Any) -> bool:
    """True for a `where` of two constants on an array. An operation on it can be applied to the constants instead."""
    return x.__class__ is Symbol and x.op == "where" and bool(x.shape) and not symbols_in(x.args[1:])


def _power(graph: Any, a: Any, b: Any) -> Any:
    if not _fits(a):
        return None
    if _equals(b, 0.5) and a.shape is not None:  # as NumPy's own a**0.5 is
        return graph.make("sqrt", (a,))
    if _equals(b, 2):
        return a * a
    return a * a * a if _equals(b, 3) and a.shape is None else None


def _where(graph: Any, condition: Any, a: Any, b: Any) -> Any:
    """The operand that a plain bool chooses."""
    if condition.__class__ not in (bool, np.bool_):
        return None
    chosen, other = (a, b) if condition else (b, a)
    if all(x.shape is None for x in symbols_in((a, b))):
        return chosen
    like = np.where(True, stand_in(chosen), stand_in(other))
    if chosen.__class__ is not Symbol:
        return np.broadcast_to(np.asarray(chosen, like.dtype), like.shape)
    return chosen if (chosen.shape, chosen.dtype) == (like.shape, like.dtype) else None


def _matmul(graph: Any, a: Any, b: Any) -> Any:
    """A product of matrices, one of which has one element, is elementwise."""
    if len(a.shape) == len(b.shape) == 2 and a.shape[1] == 1 in (a.shape[0], b.shape[1]):
        return a * b
    return None


def axes_of(a: Any, axis: Any) -> list[int]:
    """The axes of a reduction."""
    return list(range(a.ndim)) if axis is None or not a.ndim else sorted({i % a.ndim for i in np.atleast_1d(axis)})


def _sum(graph: Any, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """A sum of single elements is a reshape, and so is a sum that was computed before without keeping its axes."""
    axes = axes_of(a, axis)
    shape = tuple(1 if i in axes else m for i, m in enumerate(a.shape))  # with the axes kept
    if keepdims and (twin := graph.made(".sum", (a,), (("axis", axis), ("keepdims", False)))) is not None:
        return twin.reshape(shape)
    if a.dtype.kind != "f" or a.shape != shape:
        return None
    return a if keepdims else a.reshape(tuple(m for i, m in enumerate(shape) if i not in axes))


def _negative(graph: Any, a: Any) -> Any:
    if _is_choice(a):
        return graph.make("where", (a.args[0], -a.args[1], -a.args[2]))
    return a.args[0] if a.op == "negative" else None


def _absolute(graph: Any, a: Any) -> Any:
    """abs(-x) is abs(x), so that exp(-abs(x)) and exp(-abs(-x)) are computed once. (Not for unsigned integers.)"""
    if not _fits(a):
        return None
    if a.op == "negative":
        return abs(a.args[0])
    if a.op == "multiply" and a.args[0].__class__ in (float, int) and a.args[0] < 0:
        return abs(-a.args[0] * a.args[1])
    return None


def _reshape(graph: Any, a: Any, shape: tuple[int, ...]) -> Any:
    if shape == a.shape:
        return a
    if a.op == ".reshape":
        return a.args[0].reshape(shape)
    if a.op == ".sum" and dict(a.named)["keepdims"]:
        return a.args[0].sum(dict(a.named)["axis"]).reshape(shape)
    if a.op in ELEMENTWISE and len(symbols_in(a.args)) == 1:  # with numbers, so it can be done before a reshape
        inner = [x.args[0] if x.__class__ is Symbol and x.op == ".reshape" else x for x in a.args]
        if all(x.shape == shape if x.__class__ is Symbol else x.__class__ is float for x in inner):
            return graph.make(a.op, tuple(inner))
    return None


def _transpose(graph: Any, a: Any, order: tuple[int, ...]) -> Any:
    if order == tuple(range(a.ndim)):
        return a
    if a.size in a.shape:  # a row or a column
        return a.reshape(tuple(a.shape[i] for i in order))
    if a.op == ".transpose":
        return a.args[0].transpose(tuple(a.args[1][i] for i in order))
    if a.op == "matmul" and a.args[0].ndim == a.args[1].ndim == 2:
        return a.args[1].T @ a.args[0].T
    return None


def _broadcast_to(graph: Any, a: Any, shape: Any) -> Any:
    if a.shape == tuple(shape):
        return a
    return a.reshape(tuple(shape)) if a.shape is not None and a.size == np.prod(shape) else None


def _astype(graph: Any, a: Any, dtype: Any) -> Any:
    return a if a.dtype == dtype else None


RULES: dict[str, Callable[..., Any]] = {
    "add": _unless(0, _add),
    "subtract": _unless(0),
    "multiply": _unless(1, _multiply),
    "divide": _unless(1),
    "power": _unless(1, _power),
    "where": _where,
    "matmul": _matmul,
    "negative": _negative,
    ".sum": _sum,
    "absolute": _absolute,
    ".reshape": _reshape,
    ".transpose": _transpose,
    "broadcast_to": _broadcast_to,
    ".astype": _astype,
}
