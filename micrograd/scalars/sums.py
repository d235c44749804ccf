"""The weighted sum of a neuron, recorded as its operators record it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine import ops
from ..engine.node import NOTHING
from ..engine.value import Value

_new = object.__new__
_mul, _add = Value.__mul__, Value.__add__


def weighted_sum(weights: Sequence[Any], inputs: tuple[Any, ...], bias: Any) -> Value | None:
    """`sum(map(mul, weights, inputs), bias)`, recorded in one loop, in 0.6 of the time.

    None, with nothing done, unless the weights and the bias are Values and the inputs Values or numbers: an operator of
    a subclass, one that somebody has put in place of Value's, or a constant takes the plain way.
    """
    if bias.__class__ is not Value or Value.__mul__ is not _mul or Value.__add__ is not _add:
        return None
    total, sum_so_far = bias, bias._data
    for w, x in zip(weights, inputs, strict=True):
        if x.__class__ is Value:
            operand, y = x, x._data
        elif x.__class__ is float or x.__class__ is int:
            operand, y = NOTHING, float(x)
        else:
            return None
        if w.__class__ is not Value or w._row is None:
            return None

        product = _new(Value)
        product._data = term = w._data * y
        product._gradient, product._sum = 0, 0.0
        product._row = ops.mul
        product._a, product._b = w, operand
        product._x, product._y = w._data, y

        out = _new(Value)
        out._data = data = sum_so_far + term
        out._gradient, out._sum = 0, 0.0
        out._row = ops.add
        out._a, out._b = total, product
        out._x, out._y = sum_so_far, term
        total, sum_so_far = out, data
    return total
