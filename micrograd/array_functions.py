"""NumPy's functions, for nodes: `exp(x)` beside `x.exp()`, and those that NumPy has as functions alone.

The elementwise ones take Values, Tensors, arrays and numbers alike. The others are of arrays. In both, a node among the
operands makes the result a node; arrays and lists of numbers give arrays, as NumPy does.

>>> from micrograd.tensor import Tensor
>>> x = Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
>>> left, right = split(x, 2)
>>> (left * log(right)).sum().backward()
>>> x.grad.round(4)
array([1.0986, 1.3863, 0.3333, 0.5   ])

`sum`, `max`, `min` and `abs` are not in `__all__`: a star import would hide Python's own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from . import arrays, ops
from .array_node import record
from .engine import Value
from .graph import Node
from .modes import stand_in
from .rows import Row
from .tensor import Tensor

# fmt: off
__all__ = [
    "exp", "log", "log1p", "sqrt", "sin", "cos", "tanh", "sigmoid", "softplus", "relu", "leaky_relu", "gelu",
    "maximum", "minimum", "where", "clip",
    "mean", "var", "std", "prod", "cumsum", "logsumexp", "softmax", "log_softmax",
    "reshape", "transpose", "swapaxes", "expand_dims", "squeeze", "broadcast_to", "take_along_axis", "split",
    "concatenate", "stack", "matmul",
]
# fmt: on

Axis = int | Sequence[int] | None

# ---------------------------------------------------------------------------------------------------------------------
# Elementwise


def _operand(x: Any) -> Any:
    """What a row takes: nodes and numbers as they are, lists as arrays."""
    return x if isinstance(x, (Node, Tensor, int, float)) or hasattr(x, "_apply") else _array(x)


def _array(x: Any) -> np.ndarray:
    array = np.asarray(x)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"found {type(x).__name__} {x!r:.60}: an operand is a node, a number or an array of numbers")
    return array


def _elementwise(row: Row, what: str) -> Callable[[Any], Any]:
    """The function of a row of one operand."""

    def function(a: Any) -> Any:
        return row(_operand(a))

    function.__name__ = function.__qualname__ = row.word.lower()
    function.__doc__ = f"{what}, elementwise: of a Value, a Tensor, an array or a number."
    return function


exp = _elementwise(ops.exp, "e to the power of a")
log = _elementwise(ops.log, "The natural logarithm: -inf at 0, nan below")
log1p = _elementwise(ops.log1p, "log(1 + a), exact for small a")
sqrt = _elementwise(ops.sqrt, "The square root; nan below 0")
sin = _elementwise(ops.sin, "The sine, in radians")
cos = _elementwise(ops.cos, "The cosine, in radians")
tanh = _elementwise(ops.tanh, "The hyperbolic tangent")
sigmoid = _elementwise(ops.sigmoid, "1 / (1 + exp(-a))")
softplus = _elementwise(ops.softplus, "log(1 + exp(a)), without overflow")
relu = _elementwise(ops.relu, "a where it is positive, else 0; the gradient at 0 is 0")
gelu = _elementwise(ops.gelu, "The Gaussian error linear unit in its tanh form (Hendrycks and Gimpel, 2016)")
abs = _elementwise(ops.abs_, "The magnitude; its gradient at 0 is 0")


def leaky_relu(a: Any, slope: float = 0.01) -> Any:
    """a where it is positive, else slope * a; the gradient at 0 is the slope."""
    return ops.leaky_relu(float(slope))(_operand(a))


def maximum(a: Any, b: Any) -> Any:
    """The greater of the two, elementwise, which gets the gradient; a tie shares it."""
    return ops.maximum(_operand(a), _operand(b))


def minimum(a: Any, b: Any) -> Any:
    """The smaller of the two, elementwise, which gets the gradient; a tie shares it."""
    return ops.minimum(_operand(a), _operand(b))


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b; each gets the gradient where it was chosen, and 0 elsewhere.

    The three are broadcast together. A condition that is a node holds where it is not 0, and gets no gradient.

    >>> x = Tensor([-1.0, 2.0], requires_grad=True)
    >>> where(x > 0, x, 10 * x)
    Tensor([-10.,   2.], grad_fn=<WhereBackward0>)
    >>> where(Value(1.0) > 0, Value(2.0), 3.0)
    Value(data=2.0, grad=0)
    """
    if isinstance(a, Value) or isinstance(b, Value) or isinstance(condition, Value):
        return _where_of_values(condition, a, b)
    chosen = stand_in(condition)._node._data if isinstance(condition, Tensor) else _array(condition)
    row = arrays.where(chosen != 0)  # a new array: what is written to the condition later changes nothing
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return record(row, _operand(a), _operand(b))
    out = row.forward(_operand(a), _operand(b))
    return Tensor(out) if isinstance(condition, Tensor) else out


def _where_of_values(condition: Any, a: Any, b: Any) -> Any:
    """`where` in ops on Values: their graph is the same whichever is chosen."""
    if not isinstance(condition, (Value, int, float, np.bool_)):
        raise TypeError(f"the condition of a choice between Values is one, or a bool; found {type(condition).__name__}")
    no = ops.equal(condition, 0.0) if isinstance(condition, Value) else float(not condition)
    return ops.gate(a, 1 - no) + ops.gate(b, no)


def clip(a: Any, low: float | None = None, high: float | None = None) -> Any:
    """a, kept between the bounds, which are plain numbers or None; the gradient passes at the bounds themselves."""
    for bound in (low, high):
        if not (bound is None or isinstance(bound, Real)):
            raise TypeError(f"clip's bounds are numbers, found {type(bound).__name__}: maximum and minimum take nodes")
    return _clip_number(low, high)(a) if isinstance(a, (Value, int, float)) else _clip_array(a, low, high)


@lru_cache(maxsize=1024)
def _clip_number(low: float | None, high: float | None) -> Row:
    """The row of a number's clip, with the rule of an array's."""
    lowest, highest = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    forward = lambda a: ops.lib(a).minimum(ops.lib(a).maximum(a, lowest), highest)  # noqa: E731
    return Row("clip", forward, arrays.clip(low, high).to_a)


# ---------------------------------------------------------------------------------------------------------------------
# Of one array


def _of_array(function: Callable) -> Callable:
    """The function of a Tensor, made to take arrays and lists too, which it answers with arrays."""

    @wraps(function)
    def called(a: Any, *settings: Any, **named: Any) -> Any:
        if isinstance(a, Tensor):
            return function(a, *settings, **named)
        out = function(Tensor(_array(a)), *settings, **named)
        return [part.data for part in out] if isinstance(out, list) else out.data[()]

    return called


@_of_array
def _clip_array(a: Any, low: Any, high: Any) -> Any:
    return a.clip(low, high)


@_of_array
def sum(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The sum over the axis, over several, or (None) over all."""
    return a.sum(axis, keepdims)


@_of_array
def mean(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The mean over the axis, over several, or (None) over all."""
    return a.mean(axis, keepdims)


@_of_array
def var(a: Any, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Any:
    """The variance: the sum of squares from the mean, over n - ddof."""
    return a.var(axis, keepdims, ddof)


@_of_array
def std(a: Any, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Any:
    """The standard deviation: the root of `var`."""
    return a.std(axis, keepdims, ddof)


@_of_array
def max(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The greatest values; those who tie share the gradient."""
    return a.max(axis, keepdims)


@_of_array
def min(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The smallest values; those who tie share the gradient."""
    return a.min(axis, keepdims)


@_of_array
def prod(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The product over the axis, or (None) over all."""
    return a.prod(axis, keepdims)


@_of_array
def cumsum(a: Any, axis: int | None = None) -> Any:
    """The running sum along the axis; None flattens first."""
    return a.cumsum(axis)


@_of_array
def logsumexp(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """log(sum(exp(a))), without overflow."""
    return a.logsumexp(axis, keepdims)


@_of_array
def softmax(a: Any, axis: int = -1) -> Any:
    """exp(a) / sum(exp(a)) along the axis."""
    return a.softmax(axis)


@_of_array
def log_softmax(a: Any, axis: int = -1) -> Any:
    """log(softmax(a)), without underflow."""
    return a.log_softmax(axis)


@_of_array
def reshape(a: Any, shape: int | Sequence[int]) -> Any:
    """The elements in another shape; one length may be -1."""
    return a.reshape(shape)


@_of_array
def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """The axes in another order; None reverses them."""
    return a.transpose() if axes is None else a.transpose(axes)


@_of_array
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes, swapped."""
    return a.swapaxes(axis1, axis2)


@_of_array
def expand_dims(a: Any, axis: int) -> Any:
    """A new axis of length 1, at `axis`."""
    return a.expand_dims(axis)


@_of_array
def squeeze(a: Any, axis: Axis = None) -> Any:
    """Without the axes of length 1, or without those named."""
    return a.squeeze(axis)


@_of_array
def broadcast_to(a: Any, shape: int | Sequence[int]) -> Any:
    """Stretched to the shape, by NumPy's rules."""
    return a.broadcast_to(shape)


@_of_array
def take_along_axis(a: Any, indices: Any, axis: int | None) -> Any:
    """`a[..., indices[...], ...]` along the axis: what `argmax` or `argsort` pointed at; None flattens first.

    >>> x = Tensor([[3.0, 1.0, 2.0]])
    >>> take_along_axis(x, np.argsort(x.data), 1)
    Tensor([[1., 2., 3.]])
    """
    places = stand_in(indices)._node._data.copy() if isinstance(indices, Tensor) else np.array(indices)
    if places.dtype.kind not in "iu":
        raise TypeError(f"take_along_axis takes integer indices, found dtype {places.dtype}")
    if axis is None:
        a, axis = a.flatten(), 0
    if places.ndim != a.ndim:
        raise ValueError(
            f"take_along_axis of shape {a.shape} needs indices of {a.ndim} dimensions, found {places.shape}"
        )
    axis = _axis(axis, a.ndim)
    wide = np.broadcast_shapes(_with_length(a.shape, axis, 1), _with_length(places.shape, axis, 1))
    places = np.broadcast_to(places, _with_length(wide, axis, places.shape[axis]))
    if a.shape != (shape := _with_length(wide, axis, a.shape[axis])):
        a = a.broadcast_to(shape)
    return record(arrays.take_along_axis(places, axis), a)


def _with_length(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


@_of_array
def split(a: Any, sections: int | Sequence[int], axis: int = 0) -> Any:
    """A list of parts along the axis: so many of equal length or, for a list of places, cut at each of these.

    >>> [part.tolist() for part in split(Tensor([1, 2, 3, 4]), [1, 3])]
    [[1], [2, 3], [4]]
    """
    axis = _axis(axis, a.ndim)
    length = a.shape[axis]
    if isinstance(sections, (int, np.integer)):
        if sections < 1 or length % sections:
            raise ValueError(f"axis {axis} of shape {a.shape} cannot be split into {sections} equal sections")
        sections = range(length // sections, length, length // sections) if length else [0] * (sections - 1)
    cuts = [None, *map(operator.index, sections), None]
    before = (slice(None),) * axis
    return [a[(*before, slice(start, stop))] for start, stop in pairwise(cuts)]


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= operator.index(axis) < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return operator.index(axis) % ndim


# ---------------------------------------------------------------------------------------------------------------------
# Of several arrays


def tensors_of(operands: Any, what: str) -> list[Tensor]:
    """A sequence of operands, all as Tensors."""
    if isinstance(operands, (Node, str)) or not hasattr(operands, "__len__"):
        raise TypeError(f"{what} takes a list of Tensors, found {type(operands).__name__}")
    if not len(operands):
        raise ValueError(f"{what} needs one Tensor at least, found an empty list")
    return [x if isinstance(x, Tensor) else Tensor(_array(x)) for x in operands]


def answer(out: Tensor, operands: Any) -> Any:
    """The result as it is if a Tensor was among the operands, else its array."""
    return out if any(isinstance(x, Tensor) for x in operands) else out.data[()]


def concatenate(operands: Any, axis: int | None = 0) -> Any:
    """The operands, joined along an axis that they have; None flattens them first.

    >>> concatenate([Tensor([1.0]), Tensor([2.0, 3.0])])
    Tensor([1., 2., 3.])
    """
    tensors = tensors_of(operands, "concatenate")
    if axis is None:
        tensors, axis = [t.flatten() for t in tensors], 0
    return answer(_joined(tensors, axis), operands)


def stack(operands: Any, axis: int = 0) -> Any:
    """The operands, which have the same shape, along a new axis.

    >>> stack([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])], axis=1)
    Tensor([[1., 3.],
            [2., 4.]])
    """
    tensors = tensors_of(operands, "stack")
    if len({t.shape for t in tensors}) > 1:
        raise ValueError(f"stack needs operands of one shape, found {', '.join(str(t.shape) for t in tensors)}")
    axis = _axis(axis, tensors[0].ndim + 1)
    return answer(_joined([t.expand_dims(axis) for t in tensors], axis), operands)


def _joined(tensors: list[Tensor], axis: int) -> Tensor:
    return record(arrays.concatenate(operator.index(axis)), *tensors)


def matmul(a: Any, b: Any) -> Any:
    """a @ b, of vectors, matrices or batches of matrices."""
    return answer(Tensor.__matmul__(*tensors_of([a, b], "matmul")), (a, b))
