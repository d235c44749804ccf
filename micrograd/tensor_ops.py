"""The ops of a Tensor, as methods: each records one row of the derivative table, or composes several."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from . import arrays, ops
from .array_node import ArrayNode, fits, record
from .modes import stand_in
from .rows import Row

if TYPE_CHECKING:
    from .tensor import Tensor

Shape = int | Sequence[int]
Axis = int | Sequence[int] | None


def _unary(row: Row) -> Callable[[Tensor], Tensor]:
    """The method of a row of one operand."""

    def method(self: Tensor) -> Tensor:
        return record(row, self)

    method.__name__ = row.name
    method.__doc__ = f"`{row.word.lower()}`, elementwise: see the method of that name of Value."
    return method


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
    return np.array(index, dtype=int if isinstance(index, list) and not index else None)


def real_dtype(dtype: Any) -> np.dtype:
    """The dtype, which must be one of real numbers."""
    found = np.dtype(dtype)
    if found.kind not in "fiub":
        raise TypeError(f"a Tensor holds real numbers, which dtype {found} is not for")
    return found


def _axis(axis: Any, ndim: int) -> Any:
    """An axis as a row's setting: an int from 0 on, a tuple of them, or None; AxisError if there is none such."""
    if axis is None:
        return None
    if isinstance(axis, (tuple, list, range)):
        return normalize_axis_tuple(tuple(axis), ndim)
    return normalize_axis_index(operator.index(axis), max(ndim, 1))


class TensorOps:
    """What a Tensor can do, apart from what it is."""

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
    __neg__, __abs__ = _unary(ops.neg), _unary(ops.abs_)
    exp, log, log1p, sqrt = _unary(ops.exp), _unary(ops.log), _unary(ops.log1p), _unary(ops.sqrt)
    sin, cos, tanh = _unary(ops.sin), _unary(ops.cos), _unary(ops.tanh)
    sigmoid, softplus, relu, gelu = _unary(ops.sigmoid), _unary(ops.softplus), _unary(ops.relu), _unary(ops.gelu)

    def __pos__(self) -> Self:
        return self

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, (int, float, np.integer, np.floating)):
            return record(ops.power(float(other) if isinstance(other, np.number) else other), self)
        return record(ops.pow, self, other) if fits(other) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return record(ops.pow, other, self) if fits(other) else NotImplemented

    def leaky_relu(self, slope: float = 0.01) -> Tensor:
        """self where it is positive, else slope * self."""
        return record(ops.leaky_relu(float(slope)), self)

    def maximum(self, other: Any) -> Tensor:
        """The greater of the two, elementwise; a tie shares the gradient."""
        return record(ops.maximum, self, other)

    def minimum(self, other: Any) -> Tensor:
        """The smaller of the two, elementwise; a tie shares the gradient."""
        return record(ops.minimum, self, other)

    def clip(self, low: float | None = None, high: float | None = None) -> Tensor:
        """self, kept between the bounds (plain numbers); the gradient passes at the bounds themselves."""
        if not all(bound is None or isinstance(bound, (int, float, np.number)) for bound in (low, high)):
            raise TypeError("the bounds of clip are plain numbers: for arrays write x.maximum(low).minimum(high)")
        return record(arrays.clip(low, high), self)

    def astype(self, dtype: Any) -> Tensor:
        """self in another dtype, of real numbers."""
        return record(arrays.astype(real_dtype(dtype)), self)

    # ---- shapes

    def reshape(self, *shape: Any) -> Tensor:
        """The elements in another shape; one length may be -1."""
        wanted = tuple(map(operator.index, shape[0] if len(shape) == 1 and np.ndim(shape[0]) else shape))
        if wanted.count(-1) == 1:
            rest = -int(np.prod(wanted))
            if rest > 0 and self.size % rest == 0:  # else NumPy says what is wrong
                wanted = tuple(self.size // rest if n == -1 else n for n in wanted)
        return record(arrays.reshape(wanted), self)

    def flatten(self) -> Tensor:
        """All elements along one axis."""
        return self.reshape(-1)

    def transpose(self, *axes: Any) -> Tensor:
        """The axes in another order, as in NumPy: none given reverses them."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], Sequence) else axes or range(self.ndim)[::-1]
        return record(arrays.transpose(normalize_axis_tuple(tuple(order), self.ndim)), self)

    def swapaxes(self, a: int, b: int) -> Tensor:
        """Two axes, swapped."""
        order = list(range(self.ndim))
        a, b = normalize_axis_index(a, self.ndim), normalize_axis_index(b, self.ndim)
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
        lengths = (shape,) if isinstance(shape, (int, np.integer)) else shape
        return record(arrays.broadcast_to(tuple(map(operator.index, lengths))), self)

    def __getitem__(self, index: Any) -> Tensor:
        return record(arrays.getitem(plain_index(index)), self)

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
        axis = _axis(axis, self.ndim)
        axes = tuple(range(self.ndim)) if axis is None or not self.ndim else normalize_axis_tuple(axis, self.ndim)
        rest = [a for a in range(self.ndim) if a not in axes]
        n = int(np.prod([self.shape[a] for a in axes]))
        factors = self.transpose(*axes, *rest).reshape(n, *(self.shape[a] for a in rest)) * 1
        while n > 1:
            half = n // 2
            last = [factors[2 * half :]] if n % 2 else []
            factors = record(arrays.concatenate(0), factors[:half] * factors[half : 2 * half], *last)
            n -= half
        shape = tuple(1 if a in axes else m for a, m in enumerate(self.shape) if keepdims or a not in axes)
        return factors.reshape(shape) if n else factors.sum(0).reshape(shape) + 1

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
