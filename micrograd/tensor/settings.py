"""Shapes, axes, indices and dtypes as users pass them, checked and converted to the settings of rows."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..engine.modes import stand_in
from .node import ArrayNode

Shape = int | Sequence[int]
Axis = int | Sequence[int] | None


def plain_array(x: Any) -> Any:
    """The numbers of a Tensor, or of what makes an array, as a new array that later writes to x do not change."""
    return stand_in(x)._node._data.copy() if isinstance(x, ArrayNode.kind) else np.array(x)


def plain_index(index: Any) -> Any:
    """An index as NumPy takes it: Tensors become arrays; arrays and lists are copied, against later changes."""
    if isinstance(index, tuple):
        return tuple(map(plain_index, index))
    if isinstance(index, ArrayNode.kind):
        return plain_array(index)
    if isinstance(index, (slice, bool, EllipsisType)) or index is None:
        return index
    if isinstance(index, (int, np.integer)):
        return int(index)
    array = np.array(index)
    return array if array.size or isinstance(index, np.ndarray) else array.astype(int)  # NumPy makes floats of []


def real_dtype(dtype: Any) -> np.dtype:
    """The dtype; TypeError if it is not one of real numbers."""
    found = np.dtype(dtype)
    if found.kind not in "fiub":
        raise TypeError(f"a Tensor holds real numbers, found dtype {found}")
    return found


def lengths(*shape: Any) -> tuple[int, ...]:
    """A shape passed as separate ints, or as one sequence of them."""
    found = shape[0] if len(shape) == 1 and isinstance(shape[0], (Sequence, np.ndarray)) else shape
    try:
        return tuple(map(operator.index, found))
    except TypeError:
        raise TypeError(f"a shape is made of ints, found {found!r:.60}") from None


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes that `axis` names, as a tuple; None is all."""
    found = axis_of(axis, ndim)
    return tuple(range(ndim)) if found is None or not ndim else found if isinstance(found, tuple) else (found,)


def axis_of(axis: Any, ndim: int) -> Any:
    """An axis as a row's setting: a non-negative int, a tuple of them, or None; AxisError if out of bounds."""
    if axis is None:
        return None
    if isinstance(axis, (tuple, list, range)):
        return normalize_axis_tuple(tuple(axis), ndim)
    return normalize_axis_index(operator.index(axis), max(ndim, 1))
