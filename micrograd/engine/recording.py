"""How an op is recorded: compute the result; store the row, the operands, and the numbers that the rules will need.

The plain way is `Value._apply`, which takes any row and any operands. The functions here do the same for the operators
of Value several times as fast, and leave to `_apply` what is not ordinary: a mode that runs instead of ops, and
operands of different classes.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

from .modes import how, modes_on
from .node import NOTHING, Node, fill_slots
from .rows import Row

_new = object.__new__


def number(x: Any) -> float | None:
    """x as a float if it is a real number (Python's or NumPy's), else None."""
    return float(x) if isinstance(x, (float, int, Real)) else None


def most_derived(a: type, b: type) -> type:
    """The class of a result, given those of its operands: the one that is further from Value."""
    return a if len(a.__mro__) >= len(b.__mro__) else b


def record_unary(row: Row, a: Any) -> Any:
    """The result of a unary row, recorded."""
    records = True
    if modes_on and (state := how.get()) is not None:
        if state.instead is not None:
            return state.instead(row, (a,))
        records = state.records
    x = a._data
    out = _new(a.__class__)
    out._data = data = row.forward(x)
    out._gradient, out._sum = 0, 0.0
    if records and a._row is not None:
        out._row, out._a, out._b = row, a, NOTHING
        out._x, out._y = data, x  # as the rule is called: (g, out, a)
    else:
        out._row = None  # a constant: its other slots stay empty
    return out


def method_of(row: Row) -> Callable[..., Any]:
    """The method of Value for a unary row."""
    return lambda self: record_unary(row, self)


def operator_of(row: Row) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """The methods of Value for a binary row: `__op__` and `__rop__`."""
    forward = row.forward

    def method(self: Any, other: Any) -> Any:
        records = True
        if modes_on and (state := how.get()) is not None:
            if state.instead is not None:
                return self._apply(row, (self, other))
            records = state.records
        # The number first: in lazy mode, reading it computes the node, which changes the node's class
        x, cls = self._data, self.__class__
        if other.__class__ is cls:
            b, y = other, other._data
        elif other.__class__ is float or other.__class__ is int:
            b, y = NOTHING, float(other)
        elif isinstance(other, Node) and other._is_number:
            b, y, cls = other, other._data, most_derived(cls, other.__class__)
        elif (y := number(other)) is not None:
            b = NOTHING
        else:
            return self._apply(row, (self, other))
        out: Any = _new(cls)
        out._data, out._gradient, out._sum = forward(x, y), 0, 0.0
        if records and (self._row is not None or b._row is not None):
            out._row, out._a, out._b = row, self, b
            out._x, out._y = x, y
        else:
            out._row = None  # a constant: its other slots stay empty
        return out

    def reflected(self: Any, other: Any) -> Any:
        # Fast for a number before a node that requires a gradient, such as 2 * x
        if modes_on or self._row is None or (x := number(other)) is None:
            return self._apply(row, (other, self))
        y = self._data
        return fill_slots(_new(self.__class__), forward(x, y), row, NOTHING, self, x, y)

    return method, reflected
