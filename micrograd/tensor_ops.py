"""The ops of a Tensor, as methods: each records one row of the derivative table, or composes several."""

from __future__ import annotations

import builtins
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from . import arrays, ops
from .array_node import ArrayNode, fits, record
from .methods import Elementwise, elementwise
from .modes import stand_in
from .rows import Row
from .words import checked

if TYPE_CHECKING:
    from .tensor import Tensor

Shape = int | Sequence[int]
Axis = int | Sequence[int] | None


def _binary(row: Row) -> tuple[Callable[[Tensor, Any], Tensor], Callable[[Tensor, Any], Tensor]]:
    """The method of a binary operator, and that of its reflection."""

    def method(self: Tensor, other: Any) -> Any:
        return record(row, self, other) if fits(other) else NotImplemented

    def reflected(self: Tensor, other: Any) -> Any:
        return record(row, other, self) if fits(other) else NotImplemented

    return method, reflected


def plain_index(index: Any) -> Any:
    """An index as NumPy takes it: Tensors as arrays, arrays and lists as copies that nobody else can change."""
    if isinstance(index, tuple):
        return tuple(map(plain_index, index))
    if isinstance(index, ArrayNode.kind):
        return stand_in(index)._node._data.copy()
    if isinstance(index, (slice, bool, EllipsisType)) or index is None:
        return index
    if isinstance(index, (int, np.integer)):
        return int(index)
    array = np.array(index)
    return array if array.size or isinstance(index, np.ndarray) else array.astype(int)  # an empty list is of integers


def real_dtype(dtype: Any) -> np.dtype:
    """The dtype, which must be one of real numbers."""
    found = np.dtype(dtype)
    if found.kind not in "fiub":
        raise TypeError(f"a Tensor holds real numbers, which dtype {found} is not for")
    return found


def lengths(*shape: Any) -> tuple[int, ...]:
    """A shape that is given as ints, or as one sequence of them."""
    found = shape[0] if len(shape) == 1 and isinstance(shape[0], (Sequence, np.ndarray)) else shape
    try:
        return tuple(map(operator.index, found))
    except TypeError:
        raise TypeError(f"a shape is made of ints, found {found!r:.60}") from None


def _axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """All the axes that are meant."""
    found = _axis(axis, ndim)
    return tuple(range(ndim)) if found is None or not ndim else found if isinstance(found, tuple) else (found,)


def _axis(axis: Any, ndim: int) -> Any:
    """An axis as a row's setting: an int from 0 on, a tuple of them, or None; AxisError if there is none such."""
    if axis is None:
        return None
    if isinstance(axis, (tuple, list, range)):
        return normalize_axis_tuple(tuple(axis), ndim)
    return normalize_axis_index(operator.index(axis), max(ndim, 1))


@elementwise(lambda row: lambda self: record(row, self), lambda row: lambda self, other: record(row, self, other))
class TensorOps(Elementwise):
    """What a Tensor can do, apart from what it is. `array_functions` makes a function of each method."""

    __slots__ = ()
    _node: ArrayNode

    shape = property(lambda self: self._node._data.shape, doc="The lengths of its axes.")
    ndim = property(lambda self: self._node._data.ndim, doc="The number of its axes.")
    size = property(lambda self: self._node._data.size, doc="The number of its elements.")
    dtype = property(lambda self: self._node._data.dtype, doc="The NumPy dtype of its elements.")

    # ---- elementwise: the rows that Value uses

    __add__, __radd__ = _binary(ops.add)
    __sub__, __rsub__ = _binary(ops.sub)
    __mul__, __rmul__ = _binary(ops.mul)
    __truediv__, __rtruediv__ = _binary(ops.div)
    __mod__, __rmod__ = _binary(ops.remainder)
    __floordiv__, __rfloordiv__ = _binary(ops.floor_divide)

    def __pos__(self) -> Self:
        return self

    def __neg__(self) -> Tensor:
        return record(ops.neg, self)

    def __abs__(self) -> Tensor:
        return record(ops.abs_, self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, (int, float, np.integer, np.floating)):
            return record(ops.power(float(other) if isinstance(other, np.number) else other), self)
        return record(ops.pow, self, other) if fits(other) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return record(ops.pow, other, self) if fits(other) else NotImplemented

    def astype(self, dtype: Any) -> Tensor:
        """self in another dtype, of real numbers."""
        return record(arrays.astype(real_dtype(dtype)), self)

    # ---- shapes

    def reshape(self, shape: Shape, *more: int) -> Tensor:
        """The elements in another shape; one length may be -1."""
        wanted = lengths(shape, *more)
        if wanted.count(-1) == 1:
            rest = -math.prod(wanted)
            if rest > 0 and self.size % rest == 0:  # else NumPy says what is wrong
                wanted = tuple(self.size // rest if n == -1 else n for n in wanted)
        return record(arrays.reshape(wanted), self)

    def flatten(self, start: int = 0) -> Tensor:
        """All axes from `start` on as one."""
        start = normalize_axis_index(start, max(self.ndim, 1))
        return self.reshape((*self.shape[:start], math.prod(self.shape[start:])))

    def transpose(self, axes: int | Sequence[int] | None = None, *more: int) -> Tensor:
        """The axes in another order; None reverses them."""
        order = range(self.ndim)[::-1] if axes is None else axes if isinstance(axes, Sequence) else (axes, *more)
        return record(arrays.transpose(normalize_axis_tuple(tuple(order), self.ndim)), self)

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """Two axes, swapped."""
        order = list(range(self.ndim))
        a, b = normalize_axis_index(axis1, self.ndim), normalize_axis_index(axis2, self.ndim)
        order[a], order[b] = order[b], order[a]
        return self.transpose(order)

    T = property(transpose, doc="The transpose.")

    def expand_dims(self, axis: int) -> Tensor:
        """A new axis of length 1, at `axis`."""
        shape = list(self.shape)
        shape.insert(normalize_axis_index(axis, self.ndim + 1), 1)
        return self.reshape(shape)

    def squeeze(self, axis: Axis = None) -> Tensor:
        """Without the axes of length 1, or without those named."""
        return self.reshape(np.squeeze(self._node._data, axis=_axis(axis, self.ndim)).shape)

    def broadcast_to(self, shape: Shape) -> Tensor:
        """Stretched to the shape, by NumPy's rules."""
        return record(arrays.broadcast_to(lengths(shape)), self)

    def __getitem__(self, index: Any) -> Tensor:
        return record(arrays.getitem(plain_index(index)), self)

    # ---- selection

    def flip(self, axis: Axis = None) -> Tensor:
        """Backwards along the axis, along several, or (None) along all."""
        axes = _axes(axis, self.ndim)
        return self[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(self.ndim))]

    def roll(self, shift: int | Sequence[int], axis: Axis = None) -> Tensor:
        """Moved along the axis; what leaves at the end comes in at the beginning. None rolls all as if flat."""
        return _chosen(self, np.roll, shift, axis)

    def repeat(self, repeats: int | Sequence[int], axis: int | None = None) -> Tensor:
        """Each element so many times along the axis; None flattens first."""
        return _chosen(self, np.repeat, repeats, axis)

    def tile(self, reps: Shape) -> Tensor:
        """The whole, so many times along each axis."""
        return _chosen(self, np.tile, reps)

    def pad(self, pad_width: Any, mode: str = "constant", constant_values: float = 0) -> Tensor:
        """Wider by `pad_width` before and after each axis (one int, a pair, or a pair for each axis).

        The mode is "constant", or one of NumPy's that repeat elements: "edge", "reflect", "symmetric", "wrap".
        """
        if mode != "constant":
            return _chosen(self, np.pad, pad_width, mode=mode)
        inside = np.pad(np.ones(self.shape, bool), pad_width)
        starts = np.broadcast_to(pad_width, (self.ndim, 2))[:, 0].tolist()
        index = tuple(slice(start, start + n) for start, n in zip(starts, self.shape, strict=True))
        out = record(arrays.scatter(index, inside.shape), self)
        return record(arrays.where(inside), out, constant_values) if constant_values else out

    def diag(self, k: int = 0) -> Tensor:
        """The k-th diagonal of a matrix, or a matrix of zeros that has this vector there."""
        if self.ndim != 1:
            return _chosen(self, np.diag, k)
        where = tuple(np.arange(self.size) + builtins.max(shift, 0) for shift in (-k, k))
        return record(arrays.scatter(where, (self.size + abs(k),) * 2), self)

    def tril(self, k: int = 0) -> Tensor:
        """Zero above the k-th diagonal of the last two axes."""
        return record(arrays.where(np.tri(*self.shape[-2:], k=k, dtype=bool)), self, 0)

    def triu(self, k: int = 0) -> Tensor:
        """Zero below the k-th diagonal of the last two axes."""
        return record(arrays.where(~np.tri(*self.shape[-2:], k=k - 1, dtype=bool)), self, 0)

    def sort(self, axis: int | None = -1) -> Tensor:
        """In ascending order along the axis; None flattens first. Each element gets the gradient of its new place."""
        return self.flatten().sort(0) if axis is None else record(arrays.sort(_axis(axis, self.ndim)), self)

    # ---- reductions: `axis` is None (all), an int or several; `keepdims` leaves them with length 1

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The sum."""
        return record(arrays.sum(_axis(axis, self.ndim), keepdims), self)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The mean."""
        return record(arrays.mean(_axis(axis, self.ndim), keepdims), self)

    def max(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The greatest values, without their places (see `argmax`); those who tie share the gradient."""
        return record(arrays.extreme("max", _axis(axis, self.ndim), keepdims), self)

    def min(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The smallest values; those who tie share the gradient."""
        return record(arrays.extreme("min", _axis(axis, self.ndim), keepdims), self)

    def var(self, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
        """The variance: the sum of squares from the mean, over n - ddof."""
        axis = _axis(axis, self.ndim)
        mean = self.mean(axis, True)
        n = self.size // max(mean.size, 1)
        return ((self - mean) ** 2).sum(axis, keepdims) / (n - ddof)

    def std(self, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
        """The standard deviation: the root of `var`. Where all are equal its gradient is 0, as in PyTorch."""
        return record(arrays.deviation, self.var(axis, keepdims, ddof))

    def prod(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The product; its gradient is right where factors are zero too, since it multiplies in pairs."""
        axes = _axes(axis, self.ndim)
        rest = [a for a in range(self.ndim) if a not in axes]
        n = math.prod(self.shape[a] for a in axes)
        factors = self.transpose(*axes, *rest).reshape(n, *(self.shape[a] for a in rest)) * 1
        while n > 1:
            half = n // 2
            last = [factors[2 * half :]] if n % 2 else []
            factors = record(arrays.concatenate(0), factors[:half] * factors[half : 2 * half], *last)
            n -= half
        shape = tuple(1 if a in axes else m for a, m in enumerate(self.shape) if keepdims or a not in axes)
        return factors.reshape(shape) if n else factors.sum(0).reshape(shape) + 1

    def norm(self, ord: float | None = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The length of the vectors along the axis, or (None) of all elements; where it is 0 so is the gradient.

        `ord` is 2 (or None), 1 for the sum of the magnitudes, inf or -inf for the greatest or the smallest of them.
        """
        if ord is not None and len(_axes(axis, self.ndim)) != 1:
            raise ValueError(f"norm with ord={ord} is one of vectors, found {self.ndim} axes: give one, or flatten()")
        if ord not in _NORMS:
            raise ValueError(f"norm takes ord 1, 2, inf or -inf, found {ord!r}")
        return _NORMS[ord](self, axis, keepdims)

    def cumsum(self, axis: int | None = None) -> Tensor:
        """The running sum along the axis; None flattens first."""
        if axis is None:
            return self.flatten().cumsum(0)
        return record(arrays.cumsum(_axis(axis, self.ndim)), self)

    def logsumexp(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """log(sum(exp(self))), without overflow."""
        out = record(arrays.logsumexp(_axis(axis, self.ndim)), self)
        return out if keepdims else out.squeeze(tuple(range(self.ndim)) if axis is None else axis)

    def softmax(self, axis: int = -1) -> Tensor:
        """exp(self) / sum(exp(self)) along the axis."""
        return record(arrays.softmax(_axis(axis, self.ndim)), self)

    def log_softmax(self, axis: int = -1) -> Tensor:
        """log(softmax(self)), without underflow."""
        return record(arrays.log_softmax(_axis(axis, self.ndim)), self)

    # ---- products

    def __matmul__(self, other: Any) -> Any:
        return _matmul(self, other) if fits(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return _matmul(other, self) if fits(other) else NotImplemented


def _chosen(a: Any, function: Callable, *settings: Any, **named: Any) -> Tensor:
    """Of a, the elements that NumPy's function chooses: what it does to their places says which."""
    places = function(np.arange(a.size).reshape(a.shape), *settings, **named)
    return record(arrays.getitem(places), a.flatten())


_NORMS: dict[float | None, Callable[..., Tensor]] = {
    1: lambda a, *over: abs(a).sum(*over),
    2: lambda a, *over: record(arrays.length, (a * a).sum(*over)),
    math.inf: lambda a, *over: abs(a).max(*over),
    -math.inf: lambda a, *over: abs(a).min(*over),
}
_NORMS[None] = _NORMS[2]
for _name, _method in [*vars(TensorOps).items()]:
    if callable(_method) and "axis" in inspect.signature(_method).parameters:
        setattr(TensorOps, _name, checked(_method))


def _matmul(a: Any, b: Any) -> Tensor:
    """a @ b, with a vector taken as a row on the left and as a column on the right."""
    a, b = _tensor(a), _tensor(b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(
            f"@ needs a dimension on either side, found shapes {a.shape} and {b.shape}: use * for a number"
        )
    out = record(arrays.matmul, a if a.ndim > 1 else a.expand_dims(0), b if b.ndim > 1 else b.expand_dims(1))
    gone = [axis for axis, x in ((-2, a), (-1, b)) if x.ndim == 1]
    return out.squeeze(gone) if gone else out


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, ArrayNode.kind) else ArrayNode.kind(x)


def linear(x: Any, weight: Any, bias: Any = None) -> Tensor:
    """x @ weight.T + bias, in one node: see `functional.linear`."""
    x, weight = _tensor(x), _tensor(weight)
    if bias is None:
        return x @ weight.T
    bias = _tensor(bias)
    if weight.ndim == 2 and bias.ndim == 1:
        return record(arrays.linear, x, weight, bias)
    return x @ weight.T + bias
