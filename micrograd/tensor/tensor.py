"""`Tensor`: an array that records the operations that produced it, with the nodes, rows and walk of `Value`.

Each method records one row of the derivative table, or composes several; `functions.py` makes a function of each.
"""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..common.words import checked
from ..engine.rows import lib
from ..scalars import ops
from ..scalars.kinds import traced
from ..scalars.methods import Elementwise, elementwise
from . import arrays, fused
from .arrays import Axis, Shape, axes_of, axis_of, lengths, plain_index, real_dtype, takes_numpys_names
from .handle import Handle, comparison
from .node import ArrayNode, accepts_value, is_operand, record, to_tensor


def _operator(apply: Callable[[Any, Any], Any]) -> tuple[Callable[[Tensor, Any], Any], Callable[[Tensor, Any], Any]]:
    """The methods of a binary operator: `__op__` and `__rop__`."""

    def method(self: Tensor, other: Any) -> Any:
        return apply(self, other) if is_operand(other) else NotImplemented

    def reflected(self: Tensor, other: Any) -> Any:
        return apply(other, self) if is_operand(other) else NotImplemented

    return method, reflected


def _matmul(a: Any, b: Any) -> Tensor:
    """a @ b, where a vector is a row on the left and a column on the right."""
    a, b = as_tensor(a), as_tensor(b)
    left, right = a.shape, b.shape  # read once, because `shape` is a property
    if not left or not right:
        raise ValueError(
            f"@ needs at least one dimension on each side, found shapes {left} and {right}: use * for a number"
        )
    k, n = left[-1], right[max(len(right) - 2, 0)]
    if k != n:
        hint = f": did you mean a @ b.{'T' if len(right) == 2 else 'swapaxes(-1, -2)'}?" if k == right[-1] else ""
        raise ValueError(f"cannot multiply {left} by {right}: their inner lengths are {k} and {n}{hint}")
    out = record(arrays.matmul, a if len(left) > 1 else a.expand_dims(0), b if len(right) > 1 else b.expand_dims(1))
    added_axes = [axis for axis, shape in ((-2, left), (-1, right)) if len(shape) == 1]
    return out.squeeze(added_axes) if added_axes else out


_to_a_node, _of_a_number = _operator(partial(record, ops.pow))


@elementwise(
    lambda row: lambda self: record(row, self),
    lambda row: lambda self, other: record(row, self, other),
    lambda row: _operator(partial(record, row)),
    comparison,
)
class Tensor(Handle, Elementwise):
    """An array that records the operations that produced it.

    Use it instead of Values for data and weights in bulk, where a graph with a node for each number would be slow.

    Args:
        data: a number, a (nested) list of numbers, an array or a Tensor, which is copied. Python floats become float64.
        _children, _op: the operands and the name of a hand-written op. Assign its backward as `out._backward = f`, a
            function without arguments that adds to the operands' `.grad`, which are zeros when it runs.
        requires_grad: whether to accumulate a gradient in `.grad`, for float dtypes only.
        dtype: a real NumPy dtype, by default that of the data.
        label: the name shown in drawings.

    Raises:
        TypeError: the data are not real numbers.
        RuntimeError: `requires_grad` with a dtype that is not a float.

    `.grad` is None, or an array of the Tensor's shape and dtype (a Tensor under `create_graph`).

    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> y = (x * x).sum()
    >>> y.backward()
    >>> y, x.grad
    (Tensor(30., grad_fn=<SumBackward0>), array([[2., 4.],
           [6., 8.]]))
    """

    __slots__ = ()

    @property
    def _prev(self) -> tuple[Tensor, ...]:
        return tuple(node.tensor for node in self._node._prev)  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    # ---- elementwise: the rows of Value

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, (int, float, np.integer, np.floating)):
            return record(ops.power(float(other) if isinstance(other, np.number) else other), self)
        return _to_a_node(self, other)

    __rpow__ = _of_a_number

    def astype(self, dtype: Any) -> Tensor:
        """A copy with another dtype.

        Args:
            dtype: a real NumPy dtype.

        Returns:
            A Tensor of the same shape. The gradient is cast back.

        Raises:
            TypeError: the dtype is not a real one.

        >>> Tensor([1.5, 2.5]).astype(int)
        Tensor([1, 2])
        """
        return record(arrays.astype(real_dtype(dtype)), self)

    # ---- shapes

    def reshape(self, shape: Shape, *more: int) -> Tensor:
        """The elements in another shape, in C order.

        Args:
            shape: the new lengths, as one sequence or as several ints. A -1 stands for the length that remains.
            *more: the other lengths, if `shape` is the first.

        Returns:
            A Tensor of that shape, which is a view where NumPy makes one.

        Raises:
            ValueError: the shape has another number of elements.

        >>> Tensor([1, 2, 3, 4]).reshape(2, -1).tolist()
        [[1, 2], [3, 4]]
        """
        return record(arrays.reshape(lengths(shape, *more)), self)

    def flatten(self, start: int = 0) -> Tensor:
        """Merge the axes from `start` on into one.

        Args:
            start: the first axis to merge, by default of all axes.

        Returns:
            A Tensor of shape (*shape[:start], product of the other lengths).

        >>> Tensor([[1, 2], [3, 4]]).flatten()
        Tensor([1, 2, 3, 4])
        """
        start = normalize_axis_index(start, max(self.ndim, 1))
        return self.reshape((*self.shape[:start], math.prod(self.shape[start:])))

    def transpose(self, axes: int | Sequence[int] | None = None, *more: int) -> Tensor:
        """The axes in another order.

        Args:
            axes: the axes in their new order, as one sequence or as several ints, or None to reverse them.
            *more: the other axes, if `axes` is the first.

        Returns:
            A view, of the lengths in the new order.

        >>> x = Tensor([[1, 2], [3, 4]])
        >>> x.transpose().tolist(), x.transpose(0, 1).tolist()
        ([[1, 3], [2, 4]], [[1, 2], [3, 4]])
        """
        if axes is None:
            axes = range(self.ndim)[::-1]
        order = axes if isinstance(axes, Sequence) else (axes, *more)
        return record(arrays.transpose(normalize_axis_tuple(tuple(order), self.ndim)), self)

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """Swap two axes.

        Args:
            axis1, axis2: the axes.

        Returns:
            A view, with the two lengths exchanged.

        >>> Tensor([[[1, 2, 3]]]).swapaxes(0, 2).shape
        (3, 1, 1)
        """
        a, b = normalize_axis_index(axis1, self.ndim), normalize_axis_index(axis2, self.ndim)
        axes = [*range(self.ndim)]
        axes[a], axes[b] = b, a
        return self.transpose(axes)

    T = property(transpose, doc="The transpose.")

    def expand_dims(self, axis: int | Sequence[int]) -> Tensor:
        """Insert axes of length 1.

        Args:
            axis: the position in the result, an int or several.

        Returns:
            A view of as many dimensions more.

        >>> Tensor([1, 2, 3]).expand_dims(0).shape
        (1, 3)
        """
        ndim = self.ndim + (len(axis) if isinstance(axis, Sequence) else 1)
        shape = [*self.shape]
        for place in sorted(normalize_axis_tuple(axis, ndim)):
            shape.insert(place, 1)
        return self.reshape(shape)

    def squeeze(self, axis: Axis = None) -> Tensor:
        """Remove axes of length 1.

        Args:
            axis: the axes to remove, an int or several, or None for all of length 1.

        Returns:
            A view without them.

        Raises:
            ValueError: an axis has another length than 1.

        >>> Tensor([[[1, 2, 3]]]).squeeze().shape
        (3,)
        """
        return self.reshape(np.squeeze(self._node._data, axis=axis_of(axis, self.ndim)).shape)

    def broadcast_to(self, shape: Shape) -> Tensor:
        """Broadcast to a shape, by NumPy's rules.

        Args:
            shape: the shape of the result.

        Returns:
            A Tensor of that shape. The gradient is summed over the broadcast axes.

        Raises:
            ValueError: the shapes are not compatible.

        >>> Tensor([1, 2]).broadcast_to((2, 2)).tolist()
        [[1, 2], [1, 2]]
        """
        return record(arrays.broadcast_to(lengths(shape)), self)

    def __getitem__(self, index: Any) -> Tensor:
        return record(arrays.getitem(plain_index(index)), self)

    # ---- selection

    def flip(self, axis: Axis = None) -> Tensor:
        """Reverse the order of the elements along axes.

        Args:
            axis: an int or several, or None for all axes.

        Returns:
            A view of the same shape.

        >>> Tensor([1, 2, 3]).flip()
        Tensor([3, 2, 1])
        """
        axes = axes_of(axis, self.ndim)
        return self[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(self.ndim))]

    def roll(self, shift: int | Sequence[int], axis: Axis = None) -> Tensor:
        """Shift the elements cyclically.

        Args:
            shift: the number of places, or one for each axis.
            axis: an int or several, or None to shift the flattened elements and restore the shape.

        Returns:
            A Tensor of the same shape.

        >>> Tensor([1, 2, 3]).roll(1)
        Tensor([3, 1, 2])
        """
        return moved(np.roll, self, shift=shift, axis=axis)

    def repeat(self, repeats: int | Sequence[int], axis: int | None = None) -> Tensor:
        """Repeat each element.

        Args:
            repeats: how often, an int or one for each element along the axis.
            axis: the axis to repeat along, or None to flatten first.

        Returns:
            A Tensor that is longer along the axis.

        >>> Tensor([1, 2]).repeat(2).tolist()
        [1, 1, 2, 2]
        """
        return moved(np.repeat, self, repeats=repeats, axis=axis)

    def tile(self, reps: Shape) -> Tensor:
        """Repeat the whole array along each axis.

        Args:
            reps: how often, an int for the last axis, or one for each.

        Returns:
            A Tensor with each length multiplied by that of `reps`.

        >>> Tensor([1, 2]).tile(2).tolist()
        [1, 2, 1, 2]
        """
        return moved(np.tile, self, reps=reps)

    def pad(self, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Tensor:
        """Pad each axis at both ends.

        Args:
            pad_width: the number of elements to add, as one int, a pair (before, after), or a pair for each axis.
            mode: "constant", or a mode of NumPy's that repeats elements ("edge", "reflect", "symmetric", "wrap").
            constant_values: the number to pad with in mode "constant", or several, as in `pad_width`.

        Returns:
            A Tensor with each length increased by its pair. The gradient flows through all that was padded.

        Raises:
            TypeError, ValueError: a `pad_width` that is no int, is negative, or does not fit the number of axes, or a
                mode that is none of these.

        >>> Tensor([1, 2]).pad((1, 2)).tolist()
        [0, 1, 2, 0, 0]
        >>> Tensor([1, 2]).pad(1, "edge").tolist()
        [1, 1, 2, 2]
        """
        if mode in ("edge", "reflect", "symmetric", "wrap"):
            return moved(np.pad, self, pad_width=pad_width, mode=mode)
        if mode != "constant":
            raise ValueError(
                f"a Tensor is padded in the modes constant, edge, reflect, symmetric and wrap, found {mode!r:.60}: "
                "compute what stands at the ends, and put it there with concatenate"
            )
        widths = np.broadcast_to(pad_width, (self.ndim, 2))
        if widths.dtype.kind not in "iu":
            raise TypeError(f"pad_width is made of ints, found {pad_width!r:.60}")
        if widths.min(initial=0) < 0:
            raise ValueError(f"pad_width is never negative, found {pad_width!r:.60}: an index removes elements")
        sides = list(zip(widths.tolist(), self.shape, strict=True))
        all_of_axis = slice(None)  # without padding, because a program for any batch does not know the length
        index = tuple(slice(before, before + n) if before or after else all_of_axis for (before, after), n in sides)
        shape = tuple(before + n + after for (before, after), n in sides)
        if constant_values.__class__ in (int, float) and not constant_values:
            return record(arrays.scatter(index, shape), self)
        around = np.pad(np.zeros(self.shape, self.dtype), widths, constant_values=constant_values)
        return record(arrays.setitem(index), around, self)

    def diag(self, k: int = 0) -> Tensor:
        """The diagonal of a matrix, or the matrix with a given diagonal.

        Args:
            k: the number of the diagonal, 0 for the main one and positive above it.

        Returns:
            The k-th diagonal of a matrix, a vector. Of a vector of length n, a square matrix of n + abs(k) rows with
            it as the k-th diagonal, and zeros elsewhere.

        >>> Tensor([1, 2]).diag().tolist()
        [[1, 0], [0, 2]]
        """
        if self.ndim != 1:
            return moved(np.diag, self, k=k)
        index = tuple(np.arange(self.size) + builtins.max(shift, 0) for shift in (-k, k))
        return record(arrays.scatter(index, (self.size + abs(k),) * 2), self)

    def tril(self, k: int = 0) -> Tensor:
        """The lower triangle, with zeros above the k-th diagonal of the last two axes.

        Args:
            k: the last diagonal to keep, as in `diag`.

        Returns:
            A Tensor of the same shape.

        >>> Tensor([[1, 2], [3, 4]]).tril().tolist()
        [[1, 0], [3, 4]]
        """
        return record(arrays.where(_triangle(self, k)), self, self.dtype.type(0))

    def triu(self, k: int = 0) -> Tensor:
        """The upper triangle, with zeros below the k-th diagonal of the last two axes.

        Args:
            k: the first diagonal to keep, as in `diag`.

        Returns:
            A Tensor of the same shape.

        >>> Tensor([[1, 2], [3, 4]]).triu().tolist()
        [[1, 2], [0, 4]]
        """
        return record(arrays.where(~_triangle(self, k - 1)), self, self.dtype.type(0))

    def sort(self, axis: int | None = -1) -> Tensor:
        """Sort in ascending order.

        Args:
            axis: the axis to sort along, or None to flatten first.

        Returns:
            A Tensor of the same shape, or a vector for None. The gradient is permuted back.

        >>> Tensor([3, 1, 2]).sort()
        Tensor([1, 2, 3])
        """
        if axis is None:
            return self.flatten().sort(0)
        a, along = traced(self)._node._data, axis_of(axis, self.ndim)
        return record(arrays.take_along_axis(lib(a).argsort(a, along, "stable"), along, "sort"), self)

    # ---- reductions: `axis` is None (all axes), an int or several; `keepdims` keeps them with length 1

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The sum over axes.

        Args:
            axis: an int or several, or None for all axes.
            keepdims: keep the reduced axes with length 1.

        Returns:
            A Tensor without those axes.

        >>> Tensor([[1.0, 2.0], [3.0, 4.0]]).sum(axis=0)
        Tensor([4., 6.])
        """
        return record(arrays.sum(axis_of(axis, self.ndim), keepdims), self)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The mean over axes.

        Args:
            axis, keepdims: as in `sum`.

        Returns:
            A Tensor without those axes. The mean of no elements is nan.

        >>> Tensor([[1.0, 2.0], [3.0, 4.0]]).mean(axis=0)
        Tensor([2., 3.])
        """
        return record(arrays.mean(axis_of(axis, self.ndim), keepdims), self)

    def max(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The maximum over axes.

        Args:
            axis, keepdims: as in `sum`.

        Returns:
            A Tensor without those axes. Tied elements share the gradient equally, and `argmax` gives the index.

        >>> Tensor([[1.0, 4.0], [3.0, 2.0]]).max(axis=0)
        Tensor([3., 4.])
        """
        return record(arrays.extreme("max", axis_of(axis, self.ndim), keepdims), self)

    def min(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The minimum over axes.

        Args:
            axis, keepdims: as in `sum`.

        Returns:
            A Tensor without those axes. Tied elements share the gradient equally, and `argmin` gives the index.

        >>> Tensor([[1.0, 4.0], [3.0, 2.0]]).min(axis=0)
        Tensor([1., 2.])
        """
        return record(arrays.extreme("min", axis_of(axis, self.ndim), keepdims), self)

    def var(self, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
        """The variance over axes, the sum of squared deviations divided by n - ddof.

        Args:
            axis, keepdims: as in `sum`.
            ddof: 0 for the variance of these n elements, 1 for an unbiased estimate from a sample.

        Returns:
            A Tensor without those axes, which is inf or nan if `ddof` is n or more.

        >>> Tensor([1.0, 3.0]).var(), Tensor([1.0, 3.0]).var(ddof=1)
        (Tensor(1.), Tensor(2.))
        """
        axis = axis_of(axis, self.ndim)
        mean = self.mean(axis, True)
        n = self.size // max(mean.size, 1)
        return ((self - mean) ** 2).sum(axis, keepdims) / builtins.max(n - ddof, 0)

    def std(self, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
        """The standard deviation over axes, the square root of the variance.

        Args:
            axis, keepdims, ddof: as in `var`.

        Returns:
            A Tensor without those axes. Where it is 0, so is the gradient, as in PyTorch.

        >>> Tensor([1.0, 3.0]).std()
        Tensor(1.)
        """
        return record(fused.deviation, self.var(axis, keepdims, ddof))

    def prod(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The product over axes.

        Args:
            axis, keepdims: as in `sum`.

        Returns:
            A Tensor without those axes, of the dtype that `sum` has. The gradient is correct for zero factors too.

        >>> Tensor([2.0, 3.0, 4.0]).prod()
        Tensor(24.)
        """
        if self.dtype.kind != "f":  # small integers and bools become int64 or uint64
            self = self.astype(np.zeros(0, self.dtype).sum().dtype)
        axes = axes_of(axis, self.ndim)
        rest = [a for a in range(self.ndim) if a not in axes]
        shape = tuple(self.shape[a] for a in rest)
        n = math.prod(self.shape[a] for a in axes)
        factors = self.transpose(*axes, *rest).reshape(n, *shape) * 1
        while n > 1:
            half = n // 2
            factors = record(arrays.concatenate(0), factors[:half] * factors[half : 2 * half], factors[2 * half :])
            n -= half
        if keepdims:
            shape = arrays.keepdims_shape(self, axes)
        return factors.reshape(shape) if n else factors.sum(0).reshape(shape) + 1

    def norm(self, ord: float | str | None = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The norm of the vectors along an axis, or of all elements.

        Args:
            ord: None is the Euclidean norm, over any axes. Over one axis any number p, for sum(|x|**p)**(1/p): 1 is the
                sum of absolute values, inf and -inf are the largest and the smallest of them, and 0 is the number of
                elements that are not 0. Over two axes "fro" is the Frobenius norm.
            axis, keepdims: as in `sum`.

        Returns:
            A Tensor without those axes, of floats. Where the norm is 0, so is its gradient.

        Raises:
            ValueError: there is no such norm over that number of axes.

        >>> Tensor([3.0, 4.0]).norm(), Tensor([1.0, 2.0]).norm(3) ** 3
        (Tensor(5.), Tensor(9.))
        """
        axes = axes_of(axis, self.ndim)
        if ord is None or (ord == "fro" and len(axes) == 2):
            ord = 2
        elif len(axes) != 1 or not isinstance(ord, Real):
            allowed = {1: "None or a number", 2: 'None or "fro"'}.get(len(axes), "None")
            raise ValueError(
                f"a norm over {len(axes)} axes takes ord={allowed}, found {ord!r}: name an axis, or flatten()"
            )
        if self.dtype.kind != "f":  # squares of integers overflow
            self = self.astype(float)
        if ord == 2:
            return record(fused.length, (self * self).sum(axis, keepdims))
        if abs(ord) == math.inf:
            extreme = Tensor.max if ord == math.inf else Tensor.min
            return extreme(abs(self), axis, keepdims)
        if ord in (0, 1):
            return abs(self if ord else self.sign()).sum(axis, keepdims)
        return record(fused.norm(float(ord), axes, keepdims), self)

    def cumsum(self, axis: int | None = None) -> Tensor:
        """The cumulative sum.

        Args:
            axis: the axis to sum along, or None to flatten first.

        Returns:
            A Tensor of the same shape, or a vector for None.

        >>> Tensor([1.0, 2.0, 3.0]).cumsum()
        Tensor([1., 3., 6.])
        """
        if axis is None:
            return self.flatten().cumsum(0)
        return record(arrays.cumsum(axis_of(axis, self.ndim)), self)

    def logsumexp(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """log(sum(exp(a))) over axes, without overflow.

        Args:
            axis, keepdims: as in `sum`.

        Returns:
            A Tensor without those axes. The gradient is the softmax.

        >>> Tensor([1000.0, 1000.0]).logsumexp()
        Tensor(1000.69314718)
        """
        out = record(fused.logsumexp(axis_of(axis, self.ndim)), self)
        return out if keepdims else out.squeeze(axes_of(axis, self.ndim))

    def softmax(self, axis: int = -1) -> Tensor:
        """exp(a) / sum(exp(a)), without overflow.

        Args:
            axis: the axis along which the probabilities sum to 1.

        Returns:
            A Tensor of the same shape.

        >>> Tensor([1000.0, 1000.0]).softmax()
        Tensor([0.5, 0.5])
        """
        return record(fused.softmax(axis_of(axis, self.ndim)), self)

    def log_softmax(self, axis: int = -1) -> Tensor:
        """log(softmax(a)), without underflow.

        Args:
            axis: as in `softmax`.

        Returns:
            A Tensor of the same shape.

        >>> Tensor([1000.0, 0.0]).log_softmax()
        Tensor([    0., -1000.])
        """
        return record(fused.log_softmax(axis_of(axis, self.ndim)), self)

    # ---- products

    __matmul__: ClassVar[Callable[[Any, Any], Tensor]]
    __rmatmul__: ClassVar[Callable[[Any, Any], Tensor]]
    __matmul__, __rmatmul__ = _operator(_matmul)


def _triangle(a: Tensor, k: int) -> np.ndarray:
    """True on and below the k-th diagonal of the last two axes."""
    if not a.ndim:
        raise ValueError("a triangle is part of a matrix, found a Tensor of shape ()")
    return np.tri(*a.shape[-2:], k=k, dtype=bool)


def moved(function: Callable, a: Any, **settings: Any) -> Tensor:
    """Apply a NumPy function that only moves elements: it is run on their indices, which then select from a."""
    indices = function(np.arange(a.size).reshape(a.shape), **settings)
    return record(arrays.getitem(indices), a.flatten())


Tensor.clip = takes_numpys_names(Tensor.clip)
for _name, _method in [*vars(Tensor).items(), ("__init__", Handle.__init__)]:
    if callable(_method) and not {"axis", "_children"}.isdisjoint(inspect.signature(_method).parameters):
        setattr(Tensor, _name, checked(_method))


def as_tensor(x: Any) -> Tensor:
    """x itself if it is a Tensor, else a Tensor of it."""
    if isinstance(x, Tensor):
        return x
    return to_tensor(x) if accepts_value(x) else Tensor(x)


ArrayNode.tensor_class = Tensor
