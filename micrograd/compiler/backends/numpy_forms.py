"""What NumPy computes faster in another form: a second set of rewrite rules, applied by the Python back end alone.

A choice between 0 and an array is a bit mask, which relu and its gradient share; a sum is a product with ones.

>>> from ..graph import Graph
>>> a = Graph(FORMS).input("a", (2, 3), np.dtype(float))
>>> a.sum(axis=0), np.maximum(a, 0.0)
(dot([1. 1.], a), gated(a, mask_of(less_equal(a, 0), float64)))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor.optional import np
from ..simplify import RULES, axes_of, is_number
from ..symbols import Symbol


def _where(graph: Any, condition: Any, a: Any, b: Any) -> Any:
    """A mask if one of the two is 0."""
    if condition.__class__ is Symbol and is_number(a, 0):
        return _gated(graph, condition, b)
    return RULES["where"](graph, condition, a, b)


def _gated(graph: Any, condition: Any, a: Any) -> Any:
    """where(condition, 0.0, a) on an array."""
    if any(x.__class__ is not Symbol or not x.shape for x in (condition, a)) or a.shape != condition.shape:
        return None
    return graph.make("gated", (a, graph.make("mask_of", (condition, a.dtype)))) if a.dtype.kind == "f" else None


def _gated_again(graph: Any, a: Any, mask: Any) -> Any:
    return graph.make("where", (mask.args[0], 0.0, a)) if a.__class__ is not Symbol else None


def _maximum(graph: Any, a: Any, b: Any) -> Any:
    """relu, with the mask that its gradient uses too."""
    return _gated(graph, a <= 0, a) if is_number(b, 0) and a.__class__ is Symbol and a.shape else None


def _less_equal(graph: Any, a: Any, b: Any) -> Any:
    """relu(x) <= 0 where x <= 0, so that both share one mask."""
    if not is_number(b, 0) or a.__class__ is not Symbol or a.op != "gated" or a.args[1].op != "mask_of":
        return None
    operand, condition = a.args[0], a.args[1].args[0]
    return condition if condition is (operand <= 0) else None


def _sum(graph: Any, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum of a vector, or over an axis of a matrix, as a product with ones."""
    axes = axes_of(a, axis)
    n = int(np.prod([a.shape[i] for i in axes]))
    if a.dtype.kind != "f" or not n or (n > 4096 and a.dtype.itemsize < 8):  # NumPy's own sums lose less in float32
        return None
    if n == 1:
        return RULES[".sum"](graph, a, axis, keepdims)
    if n == a.size and a.ndim > 1:
        return a.reshape((n,)).sum(0).reshape(tuple(1 for i in range(a.ndim) if keepdims or i not in axes))
    if a.ndim not in (1, 2) or len(axes) != 1:
        return None
    ones = np.broadcast_to(np.ones((), a.dtype), a.shape[axes[0]])
    total = graph.make("dot", (ones, a) if axes[0] == 0 else (a, ones))
    return total.reshape(tuple(1 if i in axes else n for i, n in enumerate(a.shape))) if keepdims else total


FORMS: dict[str, Callable[..., Any]] = RULES | {
    "where": _where,
    "maximum": _maximum,
    "less_equal": _less_equal,
    "gated": _gated_again,
    ".sum": _sum,
}
