"""NumPy's functions for nodes: `exp(x)` beside `x.exp()`, and those that are not methods, such as `where` and `stack`.

Most are generated: one for each public row of `ops`, taking Values, Tensors, arrays and numbers, and one for each
method of Tensor, taking arrays too. The others are written here, and registered by `@function`. If an operand is a
node, so is the result; arrays and lists of numbers give arrays, as in NumPy. An array of Values (the product of an
array and a Value is one) is left to NumPy, whose functions call the Values' methods.

>>> from micrograd.tensor import Tensor
>>> x = Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
>>> left, right = split(x, 2)
>>> (left * right.log()).sum().backward()
>>> x.grad.round(4)
array([1.0986, 1.3863, 0.3333, 0.5   ])

Names of Python's builtins (`sum`, `max`, `abs`, ...) are left out of `__all__`, so that a star import does not shadow
them.
"""

from __future__ import annotations

import builtins
import inspect
import operator
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..engine import ops
from ..engine.graph import Node
from ..engine.modes import stand_in
from ..engine.rows import Row
from ..engine.value import Value
from ..engine.words import check, unknown
from . import arrays
from .node import may_meet, record
from .settings import Axis as Axis  # for the signatures of methods, which are those of functions here
from .settings import Shape as Shape
from .settings import plain_array
from .tensor import Tensor, as_tensor

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def function(made: Callable) -> Callable:
    """Register a public function, which also implements NumPy's function of the same name for Tensors."""
    FUNCTIONS[made.__name__] = made
    return made


def _operand(x: Any) -> Any:
    """An operand as rows take it: nodes and numbers unchanged, lists as arrays."""
    return x if isinstance(x, (Node, Tensor, int, float)) or hasattr(x, "_apply") else _checked_array(x, True)


def _checked_array(x: Any, of_values: bool = False) -> np.ndarray:
    array = np.asarray(x)
    if array.dtype.kind in "fiub" or (of_values and _has_values(array)):
        return array
    raise TypeError(f"found {type(x).__name__} {x!r:.60}: an operand is a node, a number or an array of numbers")


def _has_values(x: Any) -> bool:
    """True for an array of Values, or of Values and numbers."""
    return isinstance(x, np.ndarray) and x.dtype.kind == "O" and all(isinstance(v, (Value, int, float)) for v in x.flat)


# ---------------------------------------------------------------------------------------------------------------------
# Generated from the tables


def elementwise(row: Row, name: str = "") -> Callable:
    """The function of a row."""

    def unary(a: Any) -> Any:
        return _applied(row, _operand(a))

    def binary(a: Any, b: Any) -> Any:
        return _applied(row, _operand(a), _operand(b))

    return _described(unary if row.to_b is None else binary, name, _documented(row, name))


def _documented(row: Row, name: str) -> str:
    """The docstring of a row's function, with an example."""
    takes, numbers = "a, b: nodes, arrays or numbers, broadcast together", (3.0, 4.0)
    if row.to_b is None:
        takes, numbers = "a: a node, an array or a number", (0.5,) if row.forward(0.5) > -1 else (2.0,)
    returns = "The result for each element: a node for nodes, an array for arrays, else a number"
    call = f"round(micrograd.{name}({', '.join(map(str, numbers))}), 4)"
    example = f">>> import micrograd\n>>> {call}\n{round(row.forward(*numbers), 4)}\n"
    return f"{row.doc}.\n\nArgs:\n    {takes}.\n\nReturns:\n    {returns}.\n\n{example}"


def _applied(row: Row, *operands: Any) -> Any:
    """The row applied to the operands; elementwise in Python if one is an array of Values."""
    if any(map(_has_values, operands)):
        return np.frompyfunc(row, len(operands), 1)(*operands)
    return row(*operands)


def _described(made: Callable, name: str, doc: str | None) -> Callable:
    made.__name__ = made.__qualname__ = name
    made.__module__, made.__doc__ = __name__, doc
    return made


def _with_settings(name: str, maker: Callable[..., Row]) -> Callable:
    def made(a: Any, *settings: Any, **named: Any) -> Any:
        return _applied(maker(*settings, **named), _operand(a))

    return _described_by(getattr(Tensor, name), made)


def of_array(method: Callable) -> Callable:
    """The function of a method of Tensor; it takes arrays and lists too, and returns arrays for them."""
    numpys = getattr(np, method.__name__, None)

    def made(a: Any, *settings: Any, **named: Any) -> Any:
        check(named)
        if isinstance(a, Tensor):
            return method(a, *settings, **named)
        array = _checked_array(a, numpys is not None)
        if array.dtype == object:
            return numpys(array, *settings, **named)  # type: ignore[misc]
        out = method(Tensor(array), *settings, **named)
        return [part.data for part in out] if isinstance(out, list) else out.data[()]

    return _described_by(method, made)


def _described_by(method: Callable, made: Callable) -> Callable:
    """Name, signature and docstring of a method, for a function whose first parameter is `a`."""
    self, *settings = inspect.signature(method).parameters.values()
    made = wraps(method)(made)  # whose `__wrapped__` tells where the annotations are defined
    made.__signature__ = inspect.Signature([self.replace(name="a"), *settings])  # type: ignore[attr-defined]
    takes = "    a: a Tensor, or an array or a list, for which the result is an array.\n"
    doc = inspect.cleandoc(method.__doc__ or "").replace("Args:\n", f"Args:\n{takes}", 1)
    return _described(made, method.__name__, doc)


for _name, _row in ops.PUBLIC.items():
    function(elementwise(_row, _name))
for _name, _maker in ops.MAKERS.items():
    function(_with_settings(_name, _maker))
for _name, _method in vars(Tensor).items():
    if _name[0] != "_" and inspect.isfunction(_method) and _name not in FUNCTIONS:
        function(of_array(_method))


def __getattr__(name: str) -> Callable:
    if name not in FUNCTIONS:
        raise unknown(f"module {__name__!r}", name)
    return FUNCTIONS[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *FUNCTIONS})


# ---------------------------------------------------------------------------------------------------------------------
# Written by hand: functions of one array that are not methods


@function
def pow(a: Any, exponent: Any) -> Any:
    """a ** exponent, elementwise.

    Args:
        a: a Value, a Tensor, an array or a number.
        exponent: likewise; broadcast with a.

    Returns:
        A node if one of the two is, else an array or a number.

    >>> pow(2.0, 3.0), pow(Value(2.0), 3.0)
    (8.0, Value(data=8.0, grad=0))
    """
    a, exponent = _operand(a), _operand(exponent)
    return a**exponent if isinstance(a, (Node, Tensor)) else _applied(ops.pow, a, exponent)


@function
def where(condition: Any, a: Any, b: Any) -> Any:
    """Choose from a where the condition holds, else from b.

    Args:
        condition: booleans, or numbers that count as true unless 0: an array, a Tensor, or for Values a single one.
        a, b: nodes, arrays or numbers; the three are broadcast together.

    Returns:
        An array, a Tensor if one of the three is, or a Value.

    a and b get the gradient where they were chosen, and 0 elsewhere; the condition gets none.

    >>> from micrograd.tensor import Tensor
    >>> x = Tensor([-1.0, 2.0], requires_grad=True)
    >>> where(x > 0, x, 10 * x)
    Tensor([-10.,   2.], grad_fn=<WhereBackward0>)
    >>> where(Value(1.0) > 0, Value(2.0), 3.0)
    Value(data=2.0, grad=0)
    """
    if isinstance(condition, (Tensor, np.ndarray)):
        a, b = (as_tensor(x) if may_meet(x) else x for x in (a, b))
    if isinstance(a, Value) or isinstance(b, Value) or isinstance(condition, Value):
        return _where_of_values(condition, a, b)
    chosen = stand_in(condition)._node._data if isinstance(condition, Tensor) else _checked_array(condition)
    row = arrays.where(chosen != 0)  # a new array, unaffected by later writes to the condition
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return record(row, _operand(a), _operand(b))
    out = row.forward(_operand(a), _operand(b))
    return Tensor(out) if isinstance(condition, Tensor) else out


def _where_of_values(condition: Any, a: Any, b: Any) -> Any:
    """`where` composed of ops on Values, so that the graph does not depend on the condition."""
    if not isinstance(condition, (Value, int, float, np.bool_)):
        raise TypeError(f"the condition of where() for Values is a Value or a bool; found {type(condition).__name__}")
    no = ops.equal(condition, 0.0) if isinstance(condition, Value) else float(not condition)
    return ops.gate(a, 1 - no) + ops.gate(b, no)


@function
@of_array
def take_along_axis(a: Any, indices: Any, axis: int | None) -> Any:
    """Select elements along the axis by index, such as those from `argsort`, or from `argmax` with keepdims.

    Args:
        indices: integers, of as many dimensions as a; the other axes are broadcast.
        axis: the axis of the indices; None flattens a first.

    Returns:
        The elements, in the shape of the broadcast indices.

    Raises:
        TypeError: the indices are not integers.
        ValueError: they have another number of dimensions than a.

    An element selected more than once gets the sum of the gradients.

    >>> from micrograd.tensor import Tensor
    >>> x = Tensor([[3.0, 1.0, 2.0]])
    >>> take_along_axis(x, np.argsort(x.data), 1)
    Tensor([[1., 2., 3.]])
    """
    places = plain_array(indices)
    if places.dtype.kind not in "iu":
        raise TypeError(f"take_along_axis takes integer indices, found dtype {places.dtype}")
    if axis is None:
        a, axis = a.flatten(), 0
    if places.ndim != a.ndim:
        raise ValueError(
            f"take_along_axis of shape {a.shape} needs indices of {a.ndim} dimensions, found {places.shape}"
        )
    axis = normalize_axis_index(axis, a.ndim)
    wide = np.broadcast_shapes(_with_length(a.shape, axis, 1), _with_length(places.shape, axis, 1))
    places = np.broadcast_to(places, _with_length(wide, axis, places.shape[axis]))
    if a.shape != (shape := _with_length(wide, axis, a.shape[axis])):
        a = a.broadcast_to(shape)
    return record(arrays.take_along_axis(places, axis), a)


def _with_length(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


@function
@of_array
def split(a: Any, sections: int | Sequence[int], axis: int = 0) -> Any:
    """Split a along the axis.

    Args:
        sections: the number of parts, all of one length; or a list of the indices at which to cut.
        axis: the axis to split.

    Returns:
        A list of the parts.

    Raises:
        ValueError: the axis cannot be divided into that number of equal parts.

    >>> from micrograd.tensor import Tensor
    >>> [part.tolist() for part in split(Tensor([1, 2, 3, 4]), [1, 3])]
    [[1], [2, 3], [4]]
    """
    axis = normalize_axis_index(axis, a.ndim)
    length = a.shape[axis]
    if isinstance(sections, (int, np.integer)):
        if sections < 1 or length % sections:
            raise ValueError(f"axis {axis} of shape {a.shape} cannot be split into {sections} equal sections")
        sections = range(length // sections, length, length // sections) if length else [0] * (sections - 1)
    cuts = [None, *map(operator.index, sections), None]
    before = (slice(None),) * axis
    return [a[(*before, slice(start, stop))] for start, stop in pairwise(cuts)]


# ---------------------------------------------------------------------------------------------------------------------
# Functions of several arrays


def of_arrays(made: Callable) -> Callable:
    """Register a function of several arrays, or of a list of them, that returns a Tensor.

    If no operand is a Tensor, the result is an array. If one is an array of Values, NumPy's function of that name runs.
    """

    @wraps(made)
    def called(*operands: Any, **named: Any) -> Any:
        check(named)
        given = (*operands, *named.values())
        every = [x for part in given for x in (part if isinstance(part, (list, tuple)) else (part,))]
        if any(map(_has_values, every)):
            return getattr(np, made.__name__)(*operands, **named)
        out = made(*operands, **named)
        return out if any(isinstance(x, (Tensor, Node)) for x in every) else out.data[()]

    return function(called)


def tensors_of(operands: Any, what: str) -> list[Tensor]:
    """The operands, of which there must be at least one, as Tensors."""
    if isinstance(operands, (Node, str)) or not hasattr(operands, "__len__"):
        raise TypeError(f"{what} takes a list of Tensors, found {type(operands).__name__}")
    if not len(operands):
        raise ValueError(f"{what} needs at least one Tensor, found an empty list")
    return [*map(as_tensor, operands)]


@of_arrays
def concatenate(operands: Any, axis: int | None = 0) -> Any:
    """Join a list of operands along an existing axis.

    Args:
        operands: Tensors or arrays, whose shapes differ at most along the axis.
        axis: the axis to join along; None flattens them first.

    Returns:
        A Tensor if one of them is, else an array; its length along the axis is the sum of theirs.

    Raises:
        TypeError: `operands` is not a list.
        ValueError: it is empty, or the shapes do not match.

    >>> from micrograd.tensor import Tensor
    >>> concatenate([Tensor([1.0]), Tensor([2.0, 3.0])])
    Tensor([1., 2., 3.])
    """
    tensors = tensors_of(operands, "concatenate")
    if axis is None:
        tensors, axis = [t.flatten() for t in tensors], 0
    return _concatenated(tensors, axis)


@of_arrays
def stack(operands: Any, axis: int = 0) -> Any:
    """Join a list of operands along a new axis.

    Args:
        operands: n Tensors or arrays of one shape.
        axis: the position of the new axis in the result.

    Returns:
        A Tensor if one of them is, else an array; of their shape with length n inserted at `axis`.

    Raises:
        TypeError: `operands` is not a list.
        ValueError: it is empty, or the shapes differ.

    >>> from micrograd.tensor import Tensor
    >>> stack([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])], axis=1)
    Tensor([[1., 3.],
            [2., 4.]])
    """
    tensors = tensors_of(operands, "stack")
    if len({t.shape for t in tensors}) > 1:
        raise ValueError(f"stack needs operands of one shape, found {', '.join(str(t.shape) for t in tensors)}")
    axis = normalize_axis_index(axis, tensors[0].ndim + 1)
    return _concatenated([t.expand_dims(axis) for t in tensors], axis)


def _concatenated(tensors: list[Tensor], axis: int) -> Tensor:
    return record(arrays.concatenate(operator.index(axis)), *tensors)


@of_arrays
def matmul(a: Any, b: Any) -> Any:
    """a @ b, for vectors, matrices or batches of matrices.

    Args:
        a: shape (..., n, k), or (k,) for a vector.
        b: shape (..., k, m), or (k,) for a vector.

    Returns:
        A Tensor if one of the two is, else an array; of shape (..., n, m), without the axis that a vector lacks.

    Raises:
        ValueError: an operand is a number, or the shapes do not match.

    >>> from micrograd.tensor import Tensor
    >>> matmul(Tensor([[1.0, 2.0]]), [[3.0], [4.0]])
    Tensor([[11.]])
    """
    return operator.matmul(*tensors_of([a, b], "matmul"))


@of_arrays
def dot(a: Any, b: Any) -> Any:
    """NumPy's dot product: a sum over the last axis of a and the second to last of b (the only one of a vector).

    Args:
        a: shape (..., k), or a number.
        b: shape (..., k, m) or (k,), or a number.

    Returns:
        A Tensor if one of the two is, else an array; of shape (*a.shape[:-1], *b.shape[:-2], m). Numbers multiply.

    >>> from micrograd.tensor import Tensor
    >>> dot(Tensor([1.0, 2.0]), [3.0, 4.0])
    Tensor(11.)
    """
    x, y = tensors_of([a, b], "dot")
    if not x.ndim or not y.ndim:
        return x * y
    columns = y.transpose(-2, *range(y.ndim - 2), -1) if y.ndim > 2 else y
    out = x @ columns.reshape(columns.shape[0], -1) if y.ndim > 2 else x @ y
    return out.reshape((*x.shape[:-1], *columns.shape[1:]))


@of_arrays
def outer(a: Any, b: Any) -> Any:
    """The outer product: each element of a times each of b.

    Args:
        a, b: Tensors or arrays; flattened.

    Returns:
        A Tensor if one of the two is, else an array; of shape (a.size, b.size).

    >>> from micrograd.tensor import Tensor
    >>> outer(Tensor([1.0, 2.0]), [3.0, 4.0]).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    x, y = tensors_of([a, b], "outer")
    return x.reshape(-1, 1) * y.flatten()


@of_arrays
def hstack(operands: Any) -> Any:
    """Join a list of operands horizontally: along the second axis, or for vectors along their only one.

    Args:
        operands: Tensors or arrays, whose shapes differ at most along that axis.

    Returns:
        A Tensor if one of them is, else an array.

    >>> from micrograd.tensor import Tensor
    >>> hstack([Tensor([1.0]), Tensor([2.0, 3.0])])
    Tensor([1., 2., 3.])
    """
    tensors = [x if x.ndim else x.reshape(1) for x in tensors_of(operands, "hstack")]
    return _concatenated(tensors, 0 if tensors[0].ndim == 1 else 1)


@of_arrays
def vstack(operands: Any) -> Any:
    """Join a list of operands vertically: along the first axis, where a vector is a row.

    Args:
        operands: Tensors or arrays, whose shapes differ at most along that axis.

    Returns:
        A Tensor if one of them is, else an array.

    >>> from micrograd.tensor import Tensor
    >>> vstack([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    tensors = [x if x.ndim > 1 else x.reshape(1, -1) for x in tensors_of(operands, "vstack")]
    return _concatenated(tensors, 0)


__all__ = [name for name in FUNCTIONS if not hasattr(builtins, name)]  # pyright: ignore[reportUnsupportedDunderAll]
