"""NumPy's protocols: on a Tensor `np.exp(t)`, `np.sum(t, axis=0)` and `array * t` call the functions of `functions.py`.

A NumPy function without a counterpart there runs on the arrays if that loses no gradient: for Tensors that require
none, or if the result has no floats (a shape, an index, a bool, a string). Otherwise it raises.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import ops
from ..engine.modes import hidden, look
from ..engine.rows import Row
from ..engine.trees import leaves, tree_map
from . import einstein as einstein  # registers einsum in FUNCTIONS
from .functions import FUNCTIONS, elementwise
from .node import ArrayNode, record
from .tensor import Tensor

OPERATORS: dict[np.ufunc, Row] = {
    np.add: ops.add, np.subtract: ops.sub, np.multiply: ops.mul, np.divide: ops.div, np.power: ops.pow,
    np.negative: ops.neg, np.remainder: ops.remainder, np.floor_divide: ops.floor_divide,
}  # fmt: skip
ROWS: dict[Any, Callable[..., Any]] = {ufunc: elementwise(row) for ufunc, row in OPERATORS.items()}
ROWS |= {getattr(np, name, getattr(np.linalg, name, None)): made for name, made in FUNCTIONS.items()}
ROWS[np.rint] = FUNCTIONS["round"]
del ROWS[None]  # functions that NumPy does not have
REFLECTED: dict[Any, tuple[Callable[..., Any], Callable[..., Any]]] = {
    np.less: (operator.lt, operator.gt), np.less_equal: (operator.le, operator.ge),
    np.greater: (operator.gt, operator.lt), np.greater_equal: (operator.ge, operator.le),
    np.equal: (operator.eq, operator.eq), np.not_equal: (operator.ne, operator.ne),
}  # fmt: skip
SHAPE_ALONE: set[Callable[..., Any]] = {np.zeros_like, np.ones_like, np.full_like, np.empty_like}


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
    """`__array_ufunc__` of Tensor: NumPy's elementwise functions."""
    if method != "__call__" or named:  # np.add.reduce, or with an `out`
        name = f"{ufunc.__name__}.{method}".removesuffix(".__call__")
        return _on_arrays(getattr(ufunc, method), inputs, named, name)
    if ufunc in OPERATORS and inputs[0].__class__ is np.ndarray:  # `array * tensor`
        return record(OPERATORS[ufunc], *inputs)
    if ufunc in ROWS:
        return ROWS[ufunc](*inputs)
    if ufunc in REFLECTED:
        there, back = REFLECTED[ufunc]
        return there(*inputs) if isinstance(inputs[0], Tensor) else back(*inputs[::-1])
    return _on_arrays(ufunc, inputs, named, ufunc.__name__)


def array_function(self: Tensor, function: Callable, types: Any, args: Any, named: Any) -> Any:
    """`__array_function__` of Tensor: all other NumPy functions."""
    if function in ROWS:
        return ROWS[function](*args, **named)
    return _on_arrays(function, args, named, function.__name__)


Tensor.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
Tensor.__array_function__ = array_function  # type: ignore[attr-defined]


def _on_arrays(function: Any, args: tuple[Any, ...], named: dict[str, Any], name: str) -> Any:
    """NumPy's own function, if no gradient is lost by it; until that is known, on arrays that it cannot write to."""
    read = (args, [*named.values()])
    if function in SHAPE_ALONE:  # of the first argument
        read = args[1:], [x for key, x in named.items() if key not in ("a", "prototype")]
    if not any(isinstance(x, ArrayNode.kind) and x.requires_grad for x in leaves(read)):
        args, named = tree_map(_array, (args, named))
        return function(*args, **named)
    try:
        if not name.endswith(".at"):  # which writes to arrays that cannot be written to
            with hidden(None):  # a result without floats has no derivative to miss
                shown = tree_map(_read_only, (args, named))
                out = function(*shown[0], **shown[1])
            if not any(map(_is_float, leaves(out))):
                return out
    except ValueError as error:
        if "read-only" not in str(error):
            raise
    recording = ", ".join(sorted({f.__name__ for f in ROWS}))
    raise TypeError(
        f"numpy.{name}({', '.join(['...', *named])}) records no graph of a Tensor: pass t.detach(), or use one of "
        f"NumPy's functions that do: {recording}"
    )


def _array(x: Any) -> Any:
    """The array of a Tensor; anything else is returned unchanged."""
    return x.data if isinstance(x, ArrayNode.kind) else x


def _read_only(x: Any) -> Any:
    """The same as an array that cannot be written to."""
    x = look(x._node) if isinstance(x, ArrayNode.kind) else x
    if isinstance(x, np.ndarray):
        x = x.view()
        x.flags.writeable = False
    return x


def _is_float(x: Any) -> bool:
    """True if x has floats, through which a gradient could flow."""
    return isinstance(x, float) or np.dtype(getattr(x, "dtype", bool)).kind in "fc"
