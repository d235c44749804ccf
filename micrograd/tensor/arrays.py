"""Rows for arrays: shapes, selection, reductions and matrix products. The elementwise rows are in `engine/ops.py`.

As in `ops`, a rule uses only what arrays and Tensors share: operators, methods of the same name, other rows. A
parameter named `like` is used for its shape and dtype only, so its value is not saved. Most rows have settings (an
axis, a shape, an index): functions make these rows, and cache them (`maker`) where the settings are hashable. What
writes to an array is a function of `library`.

A rule need not undo broadcasting: `ArrayNode._fit` sums its result to the operand's shape.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache, wraps
from numbers import Number
from typing import Any, TypeVar

from ..engine import ops
from ..engine.ops import lib
from ..engine.rows import Many, Row
from .library import index_types, is_basic

Axis = int | tuple[int, ...] | None
Maker = TypeVar("Maker", bound=Callable[..., Row])


def maker(make: Maker) -> Maker:
    """Cache a function that makes a row from its settings, whose numbers must be integers.

    The cache does not distinguish 2.0 from 2, so it could return a row made with a float where an int is needed. The
    arguments become `row.settings`.
    """
    names = make.__code__.co_varnames[: make.__code__.co_argcount]

    @lru_cache(maxsize=4096)
    @wraps(make)
    def made(*settings: Any) -> Row:
        settings = tuple(map(_setting, settings))
        row = make(*settings)
        row.settings = dict(zip(names, settings, strict=False))  # which leaves out defaults
        return row

    return made  # type: ignore[return-value]


def _setting(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(operator.index, x))
    return operator.index(x) if isinstance(x, Number) and not isinstance(x, bool) else x  # type: ignore[arg-type]


def keepdims_shape(like: Any, axis: Axis) -> tuple[int, ...]:
    """The shape of a reduction over the axis with keepdims."""
    axes = range(like.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(1 if i in axes or i - like.ndim in axes else n for i, n in enumerate(like.shape))


def spread(g: Any, like: Any, axis: Axis) -> Any:
    """The gradient of a reduction, broadcast to the shape that was reduced."""
    return full(like.shape)(g) if axis is None else broadcast_to(like.shape)(reshape(keepdims_shape(like, axis))(g))


# ---- shapes


@maker
def reshape(shape: tuple[int, ...]) -> Row:
    """a.reshape(shape)."""
    return Row("reshape", lambda a: a.reshape(shape), lambda g, _out, like: reshape(like.shape)(g), view=True)


@maker
def transpose(axes: tuple[int, ...]) -> Row:
    """a.transpose(axes), where `axes` lists all axes, none negative."""
    back = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    return Row("transpose", lambda a: a.transpose(axes), lambda g, _out, like: transpose(back)(g), view=True)


@maker
def broadcast_to(shape: tuple[int, ...]) -> Row:
    """a broadcast to the shape, without a copy."""
    return Row(
        "broadcast_to", lambda a: lib(a).broadcast_to(a, shape), lambda g, _out, like: sum_to(like.shape)(g), view=True
    )


@maker
def full(shape: tuple[int, ...]) -> Row:
    """A new array of this shape, filled with the scalar a."""
    return Row("full", lambda a: lib(a).full(shape, a, a.dtype), lambda g, _out, like: sum_to(like.shape)(g))


@maker
def sum_to(shape: tuple[int, ...]) -> Row:
    """The adjoint of broadcasting: a summed over the axes that broadcasting from `shape` added or stretched."""

    def forward(a: Any) -> Any:
        a = a.reshape((1,) * (len(shape) - a.ndim) + a.shape)
        extra = a.ndim - len(shape)
        axes = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and a.shape[i + extra] != 1))
        return a.sum(axis=axes, keepdims=True).reshape(shape) if axes else a

    return Row("sum_to", forward, lambda g, _out, like: broadcast_to(like.shape)(g))


@maker
def astype(dtype: Any) -> Row:
    """a.astype(dtype)."""
    return Row("astype", lambda a: a.astype(dtype), lambda g, _out, like: g.astype(like.dtype))


# ---- selection


def getitem(index: Any) -> Row:
    """a[index], for every kind of index that NumPy has. An element selected twice gets the sum of both gradients."""
    if index_types(index) <= {int}:  # with an Ellipsis NumPy returns a view even of a single element
        index = (*index, ...) if isinstance(index, tuple) else (index, ...)
    return Row(
        "getitem",
        lambda a: a[index],
        lambda g, _out, like: scatter(index, like.shape)(g),
        view=is_basic(index),
        settings={"index": index},
    )


def scatter(index: Any, shape: tuple[int, ...]) -> Row:
    """The adjoint of `getitem`: zeros of the shape, with a added at the index."""
    return Row(
        "scatter",
        lambda a: lib(a).scatter(a, index, shape),
        lambda g, _out, like: getitem(index)(g),
        settings={"index": index, "shape": shape},
    )


def setitem(index: Any) -> Row:
    """A copy of a in which a[index] is replaced by b."""

    def to_b(g: Any, like: Any, _b: Any) -> Any:
        part = getitem(index)(g)
        return part if is_basic(index) else part * _winners(index, like)

    return Row(
        "setitem",
        lambda a, b: lib(a).setitem(a, index, b),
        lambda g, _a, _b: setitem(index)(g, 0.0),
        to_b,
        settings={"index": index},
    )


def _winners(index: Any, like: Any) -> Any:
    """For repeated indices: 1 for the element of a[index] that was written last, 0 for those it overwrote."""
    xp = lib(like if not hasattr(like, "_node") else like._node._data)
    places = xp.zeros(like.shape, dtype=int)
    turn = xp.arange(places[index].size).reshape(places[index].shape)
    places[index] = turn
    return 1.0 * (places[index] == turn)


def take_along_axis(indices: Any, axis: int) -> Row:
    """NumPy's take_along_axis; the integer indices have as many dimensions as a."""
    return Row(
        "take_along_axis",
        lambda a: lib(a).take_along_axis(a, indices, axis),
        lambda g, _out, like: _put_along_axis(indices, axis, like.shape)(g),
        settings={"indices": indices, "axis": axis},
    )


def _put_along_axis(indices: Any, axis: int, shape: tuple[int, ...]) -> Row:
    """The adjoint of `take_along_axis`."""
    return Row(
        "put_along_axis",
        lambda a: lib(a).scatter_along_axis(a, indices, axis, shape),
        lambda g, _out, like: take_along_axis(indices, axis)(g),
        settings={"indices": indices, "axis": axis, "shape": shape},
    )


def where(condition: Any) -> Row:
    """a where the condition, a plain boolean array, holds, else b."""
    return Row(
        "where",
        lambda a, b: lib(condition).where(condition, a, b),
        lambda g, like, _: where(condition)(g, 0.0),
        lambda g, _, like: where(condition)(0.0, g),
        settings={"condition": condition},
    )


# ---- windows, for convolution and pooling


@maker
def windows(size: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Row:
    """The sliding windows of a over its last axes, as a view of shape (..., *size, *counts).

    A window starts at every `stride`-th element of an axis, and takes every `dilation`-th element from there.
    """
    return Row(
        "windows",
        lambda a: lib(a).windows(a, size, stride, dilation),
        lambda g, _out, like: _windows_back(size, stride, dilation, like.shape)(g),
        view=True,
    )


@maker
def _windows_back(size: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...], shape: Any) -> Row:
    """The adjoint of `windows`: zeros of the shape, with each window added at its position."""
    return Row(
        "windows_back",
        lambda a: lib(a).windows_back(a, size, stride, dilation, shape),
        lambda g, _out, like: windows(size, stride, dilation)(g),
    )


# ---- reductions


@maker
def sum(axis: Axis, keepdims: bool) -> Row:
    """The sum over one axis, several, or (None) all."""
    return Row("sum", lambda a: a.sum(axis=axis, keepdims=keepdims), lambda g, _out, like: spread(g, like, axis))


@maker
def mean(axis: Axis, keepdims: bool) -> Row:
    """The mean over the axis."""

    def forward(a: Any) -> Any:
        if a.dtype.kind != "f" or a.dtype.itemsize < 4 or a.size < 2:  # NumPy sums in a larger dtype, warns or refuses
            return a.mean(axis=axis, keepdims=keepdims)
        total = a.sum(axis=axis, keepdims=keepdims)
        return total / (a.size // total.size)

    def rule(g: Any, _out: Any, like: Any) -> Any:
        return spread(g * (math.prod(keepdims_shape(like, axis)) / max(math.prod(like.shape), 1)), like, axis)

    return Row("mean", forward, rule)


@maker
def extreme(name: str, axis: Axis, keepdims: bool, first: bool = False) -> Row:
    """The `max` or `min` over the axis; tied elements share the gradient equally, or the `first` one gets it."""

    def rule(g: Any, out: Any, a: Any) -> Any:
        keep = reshape(keepdims_shape(a, axis))
        chosen = ops.equal(a, keep(out))
        if first:
            return keep(g) * (chosen * ops.equal(cumsum(axis)(chosen), 1.0))  # type: ignore[arg-type]
        return keep(g) * (chosen / chosen.sum(axis=axis, keepdims=True))

    return Row(name, lambda a: getattr(a, name)(axis=axis, keepdims=keepdims), rule)


@maker
def cumsum(axis: int) -> Row:
    """The cumulative sum along the axis."""
    flip = getitem((slice(None),) * axis + (slice(None, None, -1),))
    return Row("cumsum", lambda a: a.cumsum(axis=axis), lambda g, _out, _a: flip(cumsum(axis)(flip(g))))


@maker
def sort(axis: int) -> Row:
    """a sorted in ascending order along the axis."""
    return Row("sort", lambda a: lib(a).sort(a, axis), lambda g, _out, a: _sorted_as(axis, False)(g, a))


@maker
def _sorted_as(axis: int, forth: bool) -> Row:
    """a permuted along the axis by the order that sorts b or, unless `forth`, by its inverse."""

    def forward(a: Any, b: Any) -> Any:
        places = lib(b).argsort(b, axis, "stable")
        return lib(a).take_along_axis(a, places if forth else lib(b).argsort(places, axis), axis)

    return Row("sorted_as", forward, lambda g, _a, b: _sorted_as(axis, not forth)(g, b), lambda g, _a, b: ops.zero(b))


# ---- products

matmul: Row = Row(
    "@",
    lambda a, b: a @ b,  # at least two dimensions each; further ones are batches
    lambda g, _a, b: g @ b.swapaxes(-1, -2),
    lambda g, a, _b: a.swapaxes(-1, -2) @ g,
    word="matmul",
)


# ---- several operands


@maker
def concatenate(axis: int) -> Many:
    """The operands joined along an existing axis."""

    def rule(g: Any, *likes: Any) -> list[Any]:
        parts, start = [], 0
        for like in likes:
            stop = start + like.shape[axis]
            parts.append(getitem((slice(None),) * (axis % like.ndim) + (slice(start, stop),))(g))
            start = stop
        return parts

    return Many("concatenate", lambda *arrays: lib(arrays[0]).concatenate(arrays, axis), rule, needs_values=False)
