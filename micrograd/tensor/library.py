"""The functions that rows call on arrays, as they call `floats` for numbers: NumPy's, and those defined here.

A function that fills an array is here too. A row calls `scatter(a, index, shape)`, so that the compiler need not look
inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from types import EllipsisType, NoneType
from typing import Any

import numpy as np


def __getattr__(name: str) -> Any:
    """NumPy's function of that name, which becomes an attribute of this module when a row first calls it."""
    if name.startswith("_"):
        raise AttributeError(f"{__name__} has no attribute {name!r}")
    function = globals()[name] = getattr(np, name)
    return function


INTEGERS: dict[int, np.dtype[Any]] = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


def gate(a: Any, b: Any) -> np.ndarray:
    """0 where b <= 0, else a.

    `np.where` branches on each element, and takes ten times as long if the branches are unpredictable. A product of 0
    or 1 with the bits of a, read as an integer, has no branch. Unlike a * (b > 0) it makes no nan of an infinite a.
    """
    if a.__class__ is b.__class__ and a.shape == b.shape and a.dtype is b.dtype and a.itemsize in INTEGERS:
        bits = (~(b <= 0)).astype(INTEGERS[a.itemsize])
        bits *= a.view(bits.dtype)
        return bits.view(a.dtype)
    return np.where(b <= 0, 0.0, a)


def column_sums(a: np.ndarray) -> np.ndarray:
    """The sums of a matrix's columns, as a product with ones, because BLAS is faster than NumPy's `sum`."""
    return _ones(len(a), a.dtype) @ a


def matmul_like(a: np.ndarray, b: np.ndarray, like: np.ndarray) -> np.ndarray:
    """a @ b in the memory order of `like`, of the same shape. To add arrays of two orders takes five times as long."""
    return np.matmul(a, b, out=np.empty_like(like, a.dtype))


# ---- functions that write to a new array


def index_types(index: Any) -> set[type]:
    """The types of the parts of an index."""
    return {*map(type, index)} if isinstance(index, tuple) else {type(index)}


def is_basic(index: Any) -> bool:
    """True for a basic index, for which NumPy returns a view: ints, slices, None and `...`."""
    return index_types(index) <= _BASIC


_BASIC = {int, slice, NoneType, EllipsisType}


def scatter(a: np.ndarray, index: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Zeros of the shape, with a added at the index, also where the index names an element twice."""
    out = np.zeros(shape, a.dtype)
    if is_basic(index):
        out[index] = a
    else:
        np.add.at(out, index, a)
    return out


def setitem(a: np.ndarray, index: Any, b: Any) -> np.ndarray:
    """A copy of a in which a[index] is replaced by b."""
    out = np.array(a)
    out[index] = b
    return out


def scatter_along_axis(a: np.ndarray, indices: np.ndarray, axis: int, shape: tuple[int, ...]) -> np.ndarray:
    """Zeros of the shape, with each element of a added at its index along the axis."""
    places: list[Any] = list(np.indices(indices.shape, sparse=True))
    places[axis] = indices
    return scatter(a, tuple(places), shape)


def windows(a: np.ndarray, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> np.ndarray:
    """The sliding windows of a over its last axes, as a view of shape (..., *size, *counts)."""
    n = len(size)
    spans = tuple(d * (k - 1) + 1 for k, d in zip(size, dilation, strict=True))
    last_axes = tuple(range(-n, 0))
    every_window = np.lib.stride_tricks.sliding_window_view(a, spans, last_axes)  # type: ignore[call-overload]
    steps = (..., *(slice(None, None, step) for step in (*stride, *dilation)))
    return np.moveaxis(every_window[steps], last_axes, tuple(range(-2 * n, -n)))


def windows_back(
    a: np.ndarray, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int], shape: tuple[int, ...]
) -> np.ndarray:
    """The adjoint of `windows`: zeros of the shape, with each window added at its position."""
    n, out = len(size), np.zeros(shape, a.dtype)
    for place in product(*map(range, size)):
        ends = zip(place, stride, dilation, a.shape[-n:], strict=True)
        steps = (slice(d * i, d * i + s * (m - 1) + 1, s) for i, s, d, m in ends)
        out[(..., *steps)] += a[(..., *place, *[slice(None)] * n)]
    return out


def einsum_of(letters: Sequence[Sequence[int]], output: Sequence[int], *operands: Any) -> np.ndarray:
    """np.einsum of operands whose axes are named by numbers; never a view of an operand."""
    operands_and_letters = [x for pair in zip(operands, letters, strict=True) for x in pair]
    out = np.einsum(*operands_and_letters, output, optimize=len(operands) > 1)
    return np.array(out) if len(operands) == 1 else np.asarray(out)


rint: Any = np.round  # unlike np.rint, this leaves integers as they are
_ones = lru_cache(maxsize=64)(np.ones)
