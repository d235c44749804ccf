"""Rows for arrays, and their settings: shapes, selection, reductions, products. The elementwise ones are in `ops.py`.

As in `ops`, a rule uses only what arrays and Tensors share: operators, methods of the same name, other rows. A
parameter named `like` is used for its shape and dtype only, so its value is not saved. Most rows have settings, such as
an axis, a shape or an index. Functions make these rows, and cache them (`cached_row`) where the settings are hashable.
A forward function that writes to an array is in `library`.

A rule need not undo broadcasting, because `ArrayNode._cast_gradient` sums the rule's result to the operand's shape.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, wraps
from types import EllipsisType
from typing import Any, TypeVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..engine.rows import Row, lib
from ..scalars import ops
from ..scalars.kinds import plain, traced
from ..scalars.rows import Many
from .library import index_types, is_basic

Shape = int | Sequence[int]
Axis = int | Sequence[int] | None
MakeRow = TypeVar("MakeRow", bound=Callable[..., Row])


def with_settings(make_row: MakeRow) -> MakeRow:
    """Decorate a function that makes a row: `row.settings` has the function's arguments, by name."""
    names = make_row.__code__.co_varnames[: make_row.__code__.co_argcount]

    @wraps(make_row)
    def made_with(*settings: Any) -> Row:
        row = make_row(*settings)
        row.settings = dict(zip(names, settings, strict=False))  # without the defaults
        return row

    return made_with  # type: ignore[return-value]


def cached_row(make_row: MakeRow) -> MakeRow:
    """The same for hashable settings, for which the row is made once.

    The cache does not distinguish 2.0 from 2, so its callers check their numbers first; see `axis_of` and `lengths`.
    """
    return lru_cache(maxsize=4096)(with_settings(make_row))  # type: ignore[return-value]


def keepdims_shape(like: Any, axis: Any) -> tuple[int, ...]:
    """The shape of a reduction over the axis with keepdims."""
    axes = range(like.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(1 if i in axes or i - like.ndim in axes else n for i, n in enumerate(like.shape))


def spread(g: Any, like: Any, axis: Axis) -> Any:
    """The gradient of a reduction, broadcast to the shape that was reduced."""
    return full(like.shape)(g) if axis is None else broadcast_to(like.shape)(reshape(keepdims_shape(like, axis))(g))


# ---- settings that users pass, checked


def plain_array(x: Any) -> Any:
    """A new array of x, a Tensor, an array or a list. Later writes to x do not change the array."""
    return traced(x)._node._data.copy() if hasattr(type(x), "_node") else np.array(x)


def plain_index(index: Any) -> Any:
    """An index that NumPy takes: Tensors become arrays, and arrays and lists are copied, against later changes."""
    if isinstance(index, tuple):
        return tuple(map(plain_index, index))
    if isinstance(index, (slice, bool, EllipsisType)) or index is None:
        return index
    if isinstance(index, (int, np.integer)):
        return int(index)
    array = plain_array(index)
    is_empty_list = isinstance(index, Sequence) and not array.size
    return array.astype(int) if is_empty_list else array  # NumPy makes floats of []


def real_dtype(dtype: Any) -> np.dtype:
    """The dtype; TypeError if it is not a dtype of real numbers."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "fiub":
        raise TypeError(f"a Tensor holds real numbers, found dtype {dtype}")
    return dtype


NUMPYS_NAMES = {  # of parameters that have another name here
    "a_min": "low", "a_max": "high", "min": "low", "max": "high", "indices_or_sections": "sections", "x": "a", "y": "b",
    "arr": "a", "ary": "a", "m": "a", "v": "a", "A": "a", "arrays": "operands", "tup": "operands",
    "newshape": "shape",  # before NumPy 2.1
}  # fmt: skip


def renamed(keywords: Mapping[str, Any], parameters: Iterable[str]) -> dict[str, Any]:
    """Keyword arguments, in which NumPy's names of the parameters are replaced by the names here.

    If an argument has both names, the second one keeps its name, and the function refuses it.
    """
    arguments: dict[str, Any] = {}
    for name, x in keywords.items():
        here = name if name in parameters else NUMPYS_NAMES.get(name, name)
        arguments[here if here in parameters and here not in arguments else name] = x
    return arguments


def takes_numpys_names(function: Callable) -> Callable:
    """Let a function take its keyword arguments by NumPy's names too."""
    parameters = inspect.signature(function).parameters

    @wraps(function)
    def called(*args: Any, **keywords: Any) -> Any:
        return function(*args, **renamed(keywords, parameters))

    return called


def lengths(*shape: Any) -> tuple[int, ...]:
    """A shape that was passed as separate ints, or as one sequence of ints."""
    if len(shape) == 1 and isinstance(shape[0], (Sequence, np.ndarray)):
        (shape,) = shape
    try:
        return tuple(map(operator.index, shape))
    except TypeError:
        raise TypeError(f"a shape is made of ints, found {shape!r:.60}") from None


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes that `axis` names, as a tuple, which for None are all axes."""
    axes = axis_of(axis, ndim)
    if axes is None or not ndim:
        return tuple(range(ndim))
    return axes if isinstance(axes, tuple) else (axes,)


def axis_of(axis: Any, ndim: int) -> Any:
    """An axis as a row's setting: a non-negative int, a tuple of them, or None; AxisError if out of bounds."""
    if axis is None:
        return None
    if isinstance(axis, (tuple, list, range)):
        return normalize_axis_tuple(tuple(axis), ndim)
    return normalize_axis_index(operator.index(axis), max(ndim, 1))


# ---- shapes


@cached_row
def reshape(shape: tuple[int, ...]) -> Row:
    """a.reshape(shape)."""
    return Row("reshape", lambda a: a.reshape(shape), lambda g, _out, like: reshape(like.shape)(g), view=True)


@cached_row
def transpose(axes: tuple[int, ...]) -> Row:
    """a.transpose(axes), where `axes` lists all axes, none negative."""
    back = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    return Row("transpose", lambda a: a.transpose(axes), lambda g, _out, like: transpose(back)(g), view=True)


@cached_row
def broadcast_to(shape: tuple[int, ...]) -> Row:
    """a broadcast to the shape, without a copy."""
    back = lambda g, _out, like: sum_to(like.shape)(g)  # noqa: E731
    return Row("broadcast_to", lambda a: lib(a).broadcast_to(a, shape), back, view=True)


@cached_row
def full(shape: tuple[int, ...]) -> Row:
    """A new array of this shape, filled with the scalar a."""
    return Row("full", lambda a: lib(a).full(shape, a, a.dtype), lambda g, _out, like: sum_to(like.shape)(g))


@cached_row
def sum_to(shape: tuple[int, ...]) -> Row:
    """The adjoint of broadcasting: a summed over the axes that broadcasting from `shape` added or stretched."""

    def forward(a: Any) -> Any:
        a = a.reshape((1,) * (len(shape) - a.ndim) + a.shape)
        added = a.ndim - len(shape)
        axes = (*range(added), *(i for i in range(added, a.ndim) if shape[i - added] == 1 != a.shape[i]))
        return a.sum(axis=axes, keepdims=True).reshape(shape) if axes else a

    return Row("sum_to", forward, lambda g, _out, like: broadcast_to(like.shape)(g))


@cached_row
def astype(dtype: Any) -> Row:
    """a.astype(dtype)."""
    return Row("astype", lambda a: a.astype(dtype), lambda g, _out, like: g.astype(like.dtype))


# ---- selection


def _lib(a: Any, index: Any) -> Any:
    """The library of a. While `compile` traces, a may be a constant and the index a symbol, whose library this is."""
    if a.__class__ is np.ndarray:
        for part in index if isinstance(index, tuple) else (index,):
            if hasattr(part, "__array_namespace__") and not isinstance(part, (np.ndarray, np.generic)):
                return lib(part)
    return lib(a)


@with_settings
def getitem(index: Any) -> Row:
    """a[index], for every kind of index that NumPy has. An element selected twice gets the sum of both gradients."""
    at = index
    if index_types(index) <= {int}:  # with an Ellipsis NumPy returns a view even of a single element
        at = (*index, ...) if isinstance(index, tuple) else (index, ...)
    return Row("getitem", lambda a: a[at], lambda g, _out, like: scatter(at, like.shape)(g), view=is_basic(index))


@with_settings
def scatter(index: Any, shape: tuple[int, ...]) -> Row:
    """The adjoint of `getitem`: zeros of the shape, with a added at the index."""
    return Row("scatter", lambda a: _lib(a, index).scatter(a, index, shape), lambda g, _out, like: getitem(index)(g))


@with_settings
def setitem(index: Any) -> Row:
    """A copy of a in which a[index] is replaced by b."""

    def to_b(g: Any, like: Any, _b: Any) -> Any:
        part = getitem(index)(g)
        return part if is_basic(index) else part * _last_written(index, like)

    return Row("setitem", lambda a, b: lib(a).setitem(a, index, b), lambda g, _a, _b: setitem(index)(g, 0.0), to_b)


def _last_written(index: Any, like: Any) -> Any:
    """For repeated indices: 1 for an element of b that stays in a[index] = b, 0 for an element that is overwritten."""
    xp = lib(plain(like))
    writer = xp.zeros(like.shape, dtype=int)  # the number of the element of b that was written to each place
    number = xp.arange(writer[index].size).reshape(writer[index].shape)
    writer[index] = number
    return 1.0 * (writer[index] == number)


@with_settings
def take_along_axis(indices: Any, axis: int, name: str = "take_along_axis") -> Row:
    """NumPy's take_along_axis, for integer indices of as many dimensions as a. Those of argsort give `sort`."""
    back = lambda g, _out, like: _put_along_axis(indices, axis, like.shape)(g)  # noqa: E731
    return Row(name, lambda a: _lib(a, indices).take_along_axis(a, indices, axis), back)


@with_settings
def _put_along_axis(indices: Any, axis: int, shape: tuple[int, ...]) -> Row:
    """The adjoint of `take_along_axis`."""
    back = lambda g, _out, like: take_along_axis(indices, axis)(g)  # noqa: E731
    return Row("put_along_axis", lambda a: _lib(a, indices).scatter_along_axis(a, indices, axis, shape), back)


@with_settings
def where(condition: Any) -> Row:
    """a where the condition, a plain boolean array, holds, else b."""
    to_a, to_b = lambda g, like, _: where(condition)(g, 0.0), lambda g, _, like: where(condition)(0.0, g)
    return Row("where", lambda a, b: lib(condition).where(condition, a, b), to_a, to_b)


# ---- windows, for convolution and pooling


@cached_row
def windows(size: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Row:
    """The sliding windows of a over its last axes, as a view of shape (..., *size, *counts).

    A window starts at every `stride`-th element of an axis, and takes every `dilation`-th element from there.
    """
    back = lambda g, _out, like: _windows_back(size, stride, dilation, like.shape)(g)  # noqa: E731
    return Row("windows", lambda a: lib(a).windows(a, size, stride, dilation), back, view=True)


@cached_row
def _windows_back(size: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...], shape: Any) -> Row:
    """The adjoint of `windows`: zeros of the shape, with each window added at its position."""
    back = lambda g, _out, like: windows(size, stride, dilation)(g)  # noqa: E731
    return Row("windows_back", lambda a: lib(a).windows_back(a, size, stride, dilation, shape), back)


# ---- reductions


@cached_row
def sum(axis: Axis, keepdims: bool) -> Row:
    """The sum over one axis, several, or (None) all."""
    return Row("sum", lambda a: a.sum(axis=axis, keepdims=keepdims), lambda g, _out, like: spread(g, like, axis))


@cached_row
def mean(axis: Axis, keepdims: bool) -> Row:
    """The mean over the axis."""

    def forward(a: Any) -> Any:
        if a.dtype.kind != "f" or a.dtype.itemsize < 4 or a.size < 2:  # NumPy sums in a larger dtype, warns or refuses
            return a.mean(axis=axis, keepdims=keepdims)
        total = a.sum(axis=axis, keepdims=keepdims)
        return total / (a.size // total.size)

    def rule(g: Any, _out: Any, like: Any) -> Any:
        return spread(g * (g.size / max(like.size, 1)), like, axis)

    return Row("mean", forward, rule)


@cached_row
def extreme(name: str, axis: Axis, keepdims: bool, first: bool = False) -> Row:
    """The `max` or `min` over the axis. Tied elements share the gradient equally, unless only the `first` gets it.

    With `first`, the last of several nan gets the gradient, as in PyTorch.
    """

    def rule(g: Any, out: Any, a: Any) -> Any:
        keep = reshape(keepdims_shape(a, axis))
        g, out = keep(g), keep(out)
        tied = ops.equal(a, out)
        if not first:
            return g * (tied / tied.sum(axis=axis, keepdims=True))
        tied = tied + (1 - ops.equal(a, a))  # where there is a nan, out is nan, which equals nothing
        last = tied.sum(axis=axis, keepdims=True)
        number = 1 + (last - 1) * (1 - ops.equal(out, out))  # of the tied element that gets the gradient
        return g * (tied * ops.equal(cumsum(axis)(tied), number))  # type: ignore[arg-type]

    return Row(name, lambda a: getattr(a, name)(axis=axis, keepdims=keepdims), rule)


@cached_row
def cumsum(axis: int) -> Row:
    """The cumulative sum along the axis."""
    flip = getitem((slice(None),) * axis + (slice(None, None, -1),))
    return Row("cumsum", lambda a: a.cumsum(axis=axis), lambda g, _out, _a: flip(cumsum(axis)(flip(g))))


# ---- products

matmul: Row = Row(
    "@",
    lambda a, b: a @ b,  # at least two dimensions each; further ones are batches
    lambda g, _a, b: g @ b.swapaxes(-1, -2),
    lambda g, a, _b: a.swapaxes(-1, -2) @ g,
    word="matmul",
)


# ---- several operands


@cached_row
def concatenate(axis: int) -> Many:
    """The operands joined along an existing axis."""

    def rule(g: Any, *likes: Any) -> list[Any]:
        parts, start = [], 0
        for like in likes:
            stop = start + like.shape[axis]
            parts.append(getitem((slice(None),) * (axis % like.ndim) + (slice(start, stop),))(g))
            start = stop
        return parts

    return Many("concatenate", lambda *arrays: lib(arrays[0]).concatenate(arrays, axis), rule, reads_values=False)


@lru_cache(maxsize=1024)
def einsum(inputs: tuple[str, ...], output: str) -> Many:
    """An einsum in which no operand repeats a letter. The gradient of an einsum is another einsum:

        out  = einsum("ij,jk->ik", a, b)
        da   = einsum("ik,jk->ij", g, b)      g replaces the operand, whose letters become those of the result

    A summed letter that only this operand has is neither in g nor in another operand. The gradient is broadcast along
    the axis of this letter.
    """
    numbers = {c: i for i, c in enumerate(dict.fromkeys("".join(inputs)))}
    of_inputs = [[numbers[c] for c in letters] for letters in inputs]
    of_output = [numbers.get(c, len(numbers)) for c in output]

    def gradient(g: Any, i: int, operands: tuple[Any, ...]) -> Any:
        others = [*inputs[:i], *inputs[i + 1 :]]
        shared = "".join(c for c in inputs[i] if c in output or any(c in letters for letters in others))
        part = einsum((output, *others), shared)(g, *operands[:i], *operands[i + 1 :])
        lengths = dict(zip(shared, part.shape, strict=True))
        part = reshape(tuple(lengths.get(c, 1) for c in inputs[i]))(part)
        return broadcast_to(np.broadcast_shapes(part.shape, operands[i].shape))(part)

    return Many(
        "einsum",
        lambda *operands: lib(operands[0]).einsum_of(of_inputs, of_output, *operands),
        lambda g, *operands: [gradient(g, i, operands) for i in range(len(inputs))],
        settings={"inputs": inputs, "output": output},
    )
