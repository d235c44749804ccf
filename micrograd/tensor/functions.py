"""NumPy's functions for nodes: `exp(x)` beside `x.exp()`, and those that are not methods, such as `where` and `stack`.

Most of the functions are generated: one for each public row of `ops`, which takes Values, Tensors, arrays and numbers,
and one for each method of Tensor, which takes arrays too. The other functions are written here, and registered by
`@function`. If an operand is a node, so is the result. Arrays and lists of numbers give arrays, as in NumPy. (An array
of Values, such as the product of an array and a Value, is for NumPy's own functions, which call the Values' methods.)
For Tensors, NumPy's functions of the same names call the functions here, by the protocols at the end of this file.

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
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial, wraps
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..common.trees import leaves, tree_map
from ..common.words import checked, unknown
from ..engine.rows import Row
from ..engine.value import Node, Value
from ..scalars import ops
from ..scalars.kinds import hidden, is_node, read_data, traced
from . import arrays
from .arrays import Axis as Axis  # for the signatures of methods, which are those of functions here
from .arrays import Shape as Shape
from .arrays import plain_array, renamed, takes_numpys_names
from .node import accepts_value, operand, record
from .tensor import Tensor, as_tensor, moved

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def function(on_tensors: Callable) -> Callable:
    """Register a public function of Tensors, arrays and lists. Without a Tensor among them, the result is an array.

    The function also implements NumPy's function of the same name for Tensors.
    """

    on_tensors = checked(takes_numpys_names(on_tensors))

    @wraps(on_tensors)
    def called(*operands: Any, **keywords: Any) -> Any:
        out = on_tensors(*operands, **keywords)
        if any(map(is_node, leaves((operands, keywords)))):
            return out
        return [part.data for part in out] if isinstance(out, list) else out.data[()]

    FUNCTIONS[on_tensors.__name__] = called
    return called


def _operand(x: Any) -> Any:
    """An operand for a row: nodes and numbers unchanged, lists as arrays."""
    return x if isinstance(x, (int, float)) or hasattr(x, "_apply") else operand(np.asarray(x))[1]


# ---------------------------------------------------------------------------------------------------------------------
# Generated from the tables, and from the methods of Tensor


def elementwise(row: Row, name: str) -> Callable:
    """The function of a row, with an example."""

    def unary(a: Any) -> Any:
        return row(_operand(a))

    def binary(a: Any, b: Any) -> Any:
        return row(_operand(a), _operand(b))

    function: Callable
    if row.to_b is None:
        function, takes = unary, "a: a node, an array or a number"
        numbers = (0.5,) if row.forward(0.5) > -1 else (2.0,)  # some functions are nan at 0.5
    else:
        function, takes, numbers = binary, "a, b: nodes, arrays or numbers, broadcast together", (3.0, 4.0)
    function.__name__ = function.__qualname__ = name
    returns = "The result for each element, as a node for nodes, an array for arrays, and else a number"
    call = f"round(micrograd.{name}({', '.join(map(str, numbers))}), 4)"
    example = f">>> import micrograd\n>>> {call}\n{round(row.forward(*numbers), 4)}\n"
    function.__doc__ = f"{row.doc}.\n\nArgs:\n    {takes}.\n\nReturns:\n    {returns}.\n\n{example}"
    return function


def _like_method(name: str, function: Callable) -> Callable:
    """A function whose first parameter is `a`, with the name, the signature and the docstring of a method of Tensor."""
    method = getattr(Tensor, name)
    function = wraps(method)(function)  # its `__wrapped__` tells where the annotations are defined
    self, *settings = inspect.signature(method).parameters.values()
    settings = [x for x in settings if x.kind is not x.VAR_KEYWORD]  # clip has `**_misspelt`
    function.__signature__ = inspect.Signature([self.replace(name="a"), *settings])  # type: ignore[attr-defined]
    takes = "    a: a Tensor, or an array or a list, for which the result is an array.\n"
    function.__doc__ = inspect.cleandoc(method.__doc__ or "").replace("Args:\n", f"Args:\n{takes}", 1)
    function.__module__, function.__qualname__ = __name__, name
    return function


FUNCTIONS |= {name: elementwise(row, name) for name, row in ops.PUBLIC.items()}
for _name, _maker in ops.MAKERS.items():
    FUNCTIONS[_name] = takes_numpys_names(
        _like_method(_name, lambda a, *rest, _of=_maker, **keywords: _of(*rest, **keywords)(_operand(a)))
    )
for _name, _method in vars(Tensor).items():
    if _name[0] != "_" and _name not in FUNCTIONS and inspect.isfunction(_method):
        function(_like_method(_name, lambda a, *rest, _of=_method, **keywords: _of(as_tensor(a), *rest, **keywords)))


def __getattr__(name: str) -> Callable:
    if name not in FUNCTIONS:
        raise unknown(f"module {__name__!r}", name)
    return FUNCTIONS[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *FUNCTIONS})


# ---------------------------------------------------------------------------------------------------------------------
# Written by hand: functions of one array that are not methods


def pow(a: Any, exponent: Any) -> Any:
    """a ** exponent, elementwise.

    Args:
        a: a Value, a Tensor, an array or a number.
        exponent: likewise, broadcast with a.

    Returns:
        A node if one of the two is, else an array or a number.

    >>> pow(2.0, 3.0), pow(Value(2.0), 3.0)
    (8.0, Value(data=8.0, grad=0))
    """
    a, exponent = _operand(a), _operand(exponent)
    return a**exponent if isinstance(a, (Node, Tensor)) else ops.pow(a, exponent)


FUNCTIONS["pow"] = pow


@function
def where(condition: Any, a: Any, b: Any) -> Any:
    """Choose from a where the condition holds, else from b.

    Args:
        condition: an array or a Tensor of booleans, or of numbers, which count as true unless 0. For Values a single
            boolean or number.
        a, b: nodes, arrays or numbers. The three are broadcast together.

    Returns:
        An array, a Tensor if one of the three is, or a Value.

    a and b get the gradient where they were chosen, and 0 elsewhere. The condition gets none.

    >>> from micrograd.tensor import Tensor
    >>> x = Tensor([-1.0, 2.0], requires_grad=True)
    >>> where(x > 0, x, 10 * x)
    Tensor([-10.,   2.], grad_fn=<WhereBackward0>)
    >>> where(Value(1.0) > 0, Value(2.0), 3.0)
    Value(data=2.0, grad=0)
    """
    if isinstance(condition, (Tensor, np.ndarray)):
        a, b = (as_tensor(x) if accepts_value(x) else x for x in (a, b))
    if isinstance(condition, Tensor) and not any(isinstance(x, (Tensor, Value)) for x in (a, b)):
        a = Tensor(a, dtype=np.where(True, a, b).dtype)  # alone, they would be numbers to `compile`
    if any(isinstance(x, Value) for x in (condition, a, b)):
        return _where_of_values(condition, a, b)
    mask = traced(condition)._node._data if isinstance(condition, Tensor) else _operand(np.asarray(condition))
    return record(arrays.where(mask != 0), a, b)  # != makes a new array, unaffected by later writes to the condition


def _where_of_values(condition: Any, a: Any, b: Any) -> Any:
    """`where` composed of ops on Values, so that the graph does not depend on the condition."""
    if not isinstance(condition, (Value, int, float, np.bool_)):
        raise TypeError(f"the condition of where() for Values is a Value or a bool; found {type(condition).__name__}")
    no = ops.equal(condition, 0.0) if isinstance(condition, Value) else float(not condition)
    return ops.gate(a, 1 - no) + ops.gate(b, no)


@function
def take_along_axis(a: Any, indices: Any, axis: int | None = -1) -> Any:
    """Select elements along the axis by index, such as those from `argsort`, or from `argmax` with keepdims.

    Args:
        a: a Tensor, or an array or a list, for which the result is an array.
        indices: integers, of as many dimensions as a. The other axes are broadcast.
        axis: the axis of the indices, or None to flatten a first.

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
    a, indices = as_tensor(a), plain_array(indices)
    if indices.dtype.kind not in "iu":
        raise TypeError(f"take_along_axis takes integer indices, found dtype {indices.dtype}")
    if axis is None:
        a, axis = a.flatten(), 0
    if indices.ndim != a.ndim:
        raise ValueError(
            f"take_along_axis of shape {a.shape} needs indices of {a.ndim} dimensions, found {indices.shape}"
        )
    axis = normalize_axis_index(axis, a.ndim)
    shape = np.broadcast_shapes(_with_length(a.shape, axis, 1), _with_length(indices.shape, axis, 1))
    indices = np.broadcast_to(indices, _with_length(shape, axis, indices.shape[axis]))
    shape = _with_length(shape, axis, a.shape[axis])
    if a.shape != shape:
        a = a.broadcast_to(shape)
    return record(arrays.take_along_axis(indices, axis), a)


def _with_length(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


@function
def split(a: Any, sections: int | Sequence[int], axis: int = 0) -> Any:
    """Split a along the axis.

    Args:
        a: a Tensor, or an array or a list, for which the result is a list of arrays.
        sections: the number of parts, all of one length, or a list of the indices at which to cut.
        axis: the axis to split.

    Returns:
        A list of the parts.

    Raises:
        ValueError: the axis cannot be divided into that number of equal parts.

    >>> from micrograd.tensor import Tensor
    >>> [part.tolist() for part in split(Tensor([1, 2, 3, 4]), [1, 3])]
    [[1], [2, 3], [4]]
    """
    a = as_tensor(a)
    axis = normalize_axis_index(axis, a.ndim)
    length = a.shape[axis]
    if isinstance(sections, (int, np.integer)):
        if sections < 1 or length % sections:
            raise ValueError(f"axis {axis} of shape {a.shape} cannot be split into {sections} equal sections")
        sections = [length // sections * i for i in range(1, sections)]
    cuts = [None, *map(operator.index, sections), None]
    before = (slice(None),) * axis
    return [a[(*before, slice(start, stop))] for start, stop in pairwise(cuts)]


# ---------------------------------------------------------------------------------------------------------------------
# Functions of several arrays


def tensors_of(operands: Any, what: str) -> list[Tensor]:
    """The operands, of which there must be at least one, as Tensors."""
    if isinstance(operands, (Node, str)) or not hasattr(operands, "__len__"):
        raise TypeError(f"{what} takes a list of Tensors, found {type(operands).__name__}")
    if not len(operands):
        raise ValueError(f"{what} needs at least one Tensor, found an empty list")
    return [*map(as_tensor, operands)]


@function
def concatenate(operands: Any, axis: int | None = 0) -> Any:
    """Join a list of operands along an existing axis.

    Args:
        operands: Tensors or arrays, whose shapes differ at most along the axis.
        axis: the axis to join along, or None to flatten them first.

    Returns:
        A Tensor if one of them is, else an array. Its length along the axis is the sum of their lengths.

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
    return record(arrays.concatenate(operator.index(axis)), *tensors)


@function
def stack(operands: Any, axis: int = 0) -> Any:
    """Join a list of operands along a new axis.

    Args:
        operands: n Tensors or arrays of one shape.
        axis: the position of the new axis in the result.

    Returns:
        A Tensor if one of them is, else an array, of their shape with length n inserted at `axis`.

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
    return concatenate([t.expand_dims(axis) for t in tensors], axis)


@function
def matmul(a: Any, b: Any) -> Any:
    """a @ b, for vectors, matrices or batches of matrices.

    Args:
        a: shape (..., n, k), or (k,) for a vector.
        b: shape (..., k, m), or (k,) for a vector.

    Returns:
        A Tensor if one of the two is, else an array, of shape (..., n, m), without the axis that a vector lacks.

    Raises:
        ValueError: an operand is a number, or the shapes do not match.

    >>> from micrograd.tensor import Tensor
    >>> matmul(Tensor([[1.0, 2.0]]), [[3.0], [4.0]])
    Tensor([[11.]])
    """
    return operator.matmul(*tensors_of([a, b], "matmul"))


@function
def dot(a: Any, b: Any) -> Any:
    """NumPy's dot product, a sum over the last axis of a and the second to last of b (the only one of a vector).

    Args:
        a: shape (..., k), or a number.
        b: shape (..., k, m) or (k,), or a number.

    Returns:
        A Tensor if one of the two is, else an array, of shape (*a.shape[:-1], *b.shape[:-2], m). Numbers multiply.

    >>> from micrograd.tensor import Tensor
    >>> dot(Tensor([1.0, 2.0]), [3.0, 4.0])
    Tensor(11.)
    """
    x, y = tensors_of([a, b], "dot")
    if not x.ndim or not y.ndim:
        return x * y
    if y.ndim < 3:
        return x @ y
    columns = y.transpose(-2, *range(y.ndim - 2), -1)
    rest = columns.shape[1:]
    return (x @ columns.reshape(len(columns), math.prod(rest))).reshape((*x.shape[:-1], *rest))


@function
def outer(a: Any, b: Any) -> Any:
    """The outer product, each element of a times each of b.

    Args:
        a, b: Tensors or arrays, which are flattened.

    Returns:
        A Tensor if one of the two is, else an array, of shape (a.size, b.size).

    >>> from micrograd.tensor import Tensor
    >>> outer(Tensor([1.0, 2.0]), [3.0, 4.0]).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    x, y = tensors_of([a, b], "outer")
    return x.reshape(-1, 1) * y.flatten()


@function
def hstack(operands: Any) -> Any:
    """Join a list of operands horizontally, along the second axis, or for vectors along their only one.

    Args:
        operands: Tensors or arrays, whose shapes differ at most along that axis.

    Returns:
        A Tensor if one of them is, else an array.

    >>> from micrograd.tensor import Tensor
    >>> hstack([Tensor([1.0]), Tensor([2.0, 3.0])])
    Tensor([1., 2., 3.])
    """
    tensors = [x if x.ndim else x.reshape(1) for x in tensors_of(operands, "hstack")]
    return concatenate(tensors, 0 if tensors[0].ndim == 1 else 1)


@function
def vstack(operands: Any) -> Any:
    """Join a list of operands vertically, along the first axis, where a vector is a row.

    Args:
        operands: Tensors or arrays, whose shapes differ at most along that axis.

    Returns:
        A Tensor if one of them is, else an array.

    >>> from micrograd.tensor import Tensor
    >>> vstack([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return concatenate([x if x.ndim > 1 else x.reshape(1, -1) for x in tensors_of(operands, "vstack")])


@function
def einsum(subscripts: Any, *operands: Any, optimize: Any = True) -> Any:
    """Einstein summation over the named axes of the operands, with all of NumPy's notation.

    Args:
        subscripts: a letter for each axis, as in "ij,jk->ik". Axes with the same letter are multiplied elementwise, and
            letters missing from the result are summed. A letter repeated in one operand takes its diagonal, "..." is
            for axes that are broadcast. Without "->", the result has the letters that occur once, in alphabetical
            order.
        operands: one Tensor, array or list for each part of `subscripts`. Instead of a string, a list of ints may
            follow each operand, and one for the result: `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
        optimize: as NumPy has it; the operands are multiplied in a good order in any case.

    Returns:
        A Tensor, or an array if no operand is a Tensor, with one axis for each letter of the result.

    Raises:
        ValueError: the subscripts do not fit the operands, or axes with the same letter differ in length.
        TypeError: there are neither subscripts nor lists of ints.

    >>> from micrograd.tensor import Tensor
    >>> m = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> einsum("ij,j->i", m, [1.0, 10.0]), einsum("ii", m)
    (Tensor([21., 43.]), Tensor(5.))
    """
    arguments = [subscripts, *operands]
    of_letters = isinstance(subscripts, str)
    positions = range(1, len(arguments)) if of_letters else range(0, len(arguments) // 2 * 2, 2)  # of the operands
    tensors = tensors_of([arguments[i] for i in positions], "einsum")
    inputs, output = _letters(arguments, positions, [t.shape for t in tensors])
    pairs = [_diagonal(t, letters) for t, letters in zip(tensors, inputs, strict=True)]
    row = arrays.einsum(tuple(letters for _, letters in pairs), output)
    return record(row, *[t for t, _ in pairs])


def _letters(arguments: list[Any], positions: Sequence[int], shapes: list[tuple[int, ...]]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with "..." replaced by letters, parsed by NumPy."""
    for i, shape in zip(positions, shapes, strict=True):
        arguments[i] = np.broadcast_to(0.0, shape)
    subscripts = [x for i, x in enumerate(arguments) if i not in positions]
    lists = [x for x in subscripts if isinstance(x, (list, tuple, np.ndarray))]
    ints = [x for axes in lists for x in axes if isinstance(x, (int, np.integer))]
    if not all(0 <= x < 52 for x in ints):  # NumPy has 52 letters
        raise ValueError(f"the ints that name the axes of einsum are in the range [0, 52), found {ints}")
    try:
        path: Any = np.einsum_path(*arguments, optimize=False, einsum_call=True)[1]  # type: ignore[call-overload]
    except (ValueError, TypeError) as error:
        error.add_note(f"in einsum of {', '.join(map(repr, subscripts))}: {shapes}")
        raise
    order, *rest = path[0]  # the only step, of all operands
    text, _, output = next(part for part in rest if isinstance(part, str)).partition("->")
    inputs = [letters for _, letters in sorted(zip(order, text.split(","), strict=True))]
    for letters, shape in zip(inputs, shapes, strict=True):
        if len({*zip(letters, shape, strict=True)}) > len({*letters}):
            raise ValueError(f"einsum takes the diagonal of axes of one length, found {letters!r} for shape {shape}")
    return inputs, output


def _diagonal(a: Tensor, letters: str) -> tuple[Tensor, str]:
    """The Tensor with distinct letters: if letters are repeated, the diagonal over their axes."""
    unique = "".join(dict.fromkeys(letters))
    if len(unique) == len(letters):
        return a, letters
    indices = np.ix_(*(np.arange(a.shape[letters.index(c)]) for c in unique))
    return a[tuple(indices[unique.index(c)] for c in letters)], unique


# ---------------------------------------------------------------------------------------------------------------------
# NumPy's protocols: on a Tensor `np.exp(t)`, `np.sum(t, axis=0)` and `array * t` call the functions above. A NumPy
# function without a counterpart here runs on the arrays if that loses no gradient, because the Tensors require none or
# the result has no floats (a shape, an index, a bool, a string). Otherwise the call raises.

OPERATORS: dict[np.ufunc, Row] = {
    np.add: ops.add, np.subtract: ops.sub, np.multiply: ops.mul, np.divide: ops.div, np.power: ops.pow,
    np.negative: ops.neg, np.remainder: ops.remainder, np.floor_divide: ops.floor_divide,
}  # fmt: skip


def _round(a: Tensor, decimals: int = 0) -> Any:
    """`np.round` of a Tensor."""
    if a.dtype.kind != "f":
        return Tensor(np.round(read_data(a._node), decimals))
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return (a * scale).round() / scale
    return (a / scale).round() * scale if decimals else a.round()


ROWS: dict[Any, Callable[..., Any]] = {ufunc: partial(record, row) for ufunc, row in OPERATORS.items()}
ROWS |= {getattr(np, name, getattr(np.linalg, name, None)): made for name, made in FUNCTIONS.items()}
ROWS |= {np.rint: FUNCTIONS["round"], np.round: _round, np.around: _round}
ROWS |= {np.fabs: operator.abs, np.positive: operator.pos}
for _move in (np.moveaxis, np.ravel, np.fliplr, np.flipud, np.rot90, np.atleast_1d, np.atleast_2d, np.atleast_3d):
    ROWS[_move] = partial(moved, _move)
ROWS |= {np.amax: FUNCTIONS["max"], np.amin: FUNCTIONS["min"]}
del ROWS[None]  # functions that NumPy does not have
REFLECTED: dict[Any, Callable[..., Any]] = {  # the comparison with its operands in the other order
    np.less: operator.gt, np.less_equal: operator.ge, np.greater: operator.lt, np.greater_equal: operator.le,
    np.equal: operator.eq, np.not_equal: operator.ne,
}  # fmt: skip
BY_DTYPE: set[np.ufunc] = {np.rint, np.fabs, np.square, np.reciprocal}  # for integers, NumPy's own results
SHAPE_ALONE: set[Callable[..., Any]] = {np.zeros_like, np.ones_like, np.full_like, np.empty_like}


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
    """`__array_ufunc__` of Tensor: NumPy's elementwise functions."""
    if method == "__call__" and not keywords:  # neither np.add.reduce nor an `out`
        if ufunc in BY_DTYPE and self.dtype.kind != "f":
            return Tensor(ufunc(read_data(self._node)))
        if ufunc in ROWS:
            return ROWS[ufunc](*inputs)
        if ufunc in REFLECTED:
            return REFLECTED[ufunc](*inputs[::-1])
    name = f"{ufunc.__name__}.{method}".removesuffix(".__call__")
    return _on_arrays(getattr(ufunc, method), inputs, keywords, name)


def array_function(self: Tensor, function: Callable, types: Any, args: Any, keywords: Any) -> Any:
    """`__array_function__` of Tensor: all other NumPy functions."""
    if function not in ROWS:
        return _on_arrays(function, args, keywords, function.__name__)
    ours, signature = ROWS[function], _signature(ROWS[function])
    head, rest = _arguments(function, args, keywords, signature.parameters)
    try:
        signature.bind(*head, **rest)
    except TypeError:  # np.sum(x, dtype=...), np.where(condition)
        lacking = [f"{name}=" for name in rest if name not in signature.parameters]
        return _on_arrays(function, args, keywords, function.__name__, lacking)
    return ours(*head, **rest)


_signature: Callable[..., inspect.Signature] = lru_cache(maxsize=1024)(inspect.signature)


def _arguments(
    function: Callable, args: Any, keywords: Any, parameters: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The first argument of a NumPy function (of einsum, all positional arguments), and the rest by the names here."""
    try:
        theirs = _signature(function)
    except ValueError:  # in an older NumPy some functions in C have no signature: np.concatenate(arrays, axis, out)
        rest = {name: x for name, x in keywords.items() if x is not None and (name, x) != ("casting", "same_kind")}
        return args[:2] if len(args) == 3 and args[2] is None else args, rest
    arguments = theirs.bind(*args, **keywords).arguments
    first, *others = theirs.parameters.values()
    head, defaults = arguments.pop(first.name), {p.name: p.default for p in others}
    rest = renamed(arguments | arguments.pop("kwargs", {}), parameters)
    for name, x in [*rest.items()]:
        default = defaults.get(name, arguments)  # no argument is the dictionary itself
        if name not in parameters and (x is default or (isinstance(x, (str, int)) and x == default)):
            del rest[name]  # an argument at its default needs no counterpart here
    return head if first.kind is inspect.Parameter.VAR_POSITIONAL else (head,), rest


Tensor.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
Tensor.__array_function__ = array_function  # type: ignore[attr-defined]


def _on_arrays(function: Any, args: Any, keywords: dict[str, Any], name: str, lacking: Sequence[str] = ()) -> Any:
    """NumPy's own function, if the call loses no gradient. As long as that is unknown, its arrays are read-only.

    Without the keywords `lacking`, the call would be recorded.
    """
    elements_of = (args, [*keywords.values()])
    if function in SHAPE_ALONE:  # the function reads no elements of the first argument
        elements_of = args[1:], [x for key, x in keywords.items() if key not in ("a", "prototype")]
    if not any(isinstance(x, Tensor) and x.requires_grad for x in leaves(elements_of)):
        written = {id(x.data): x for x in leaves(keywords.get("out")) if isinstance(x, Tensor)}
        args, keywords = tree_map(lambda x: x.data if isinstance(x, Tensor) else x, (args, keywords))
        return tree_map(lambda x: written.get(id(x), x), function(*args, **keywords))
    try:
        if not name.endswith(".at"):  # np.add.at writes, even to read-only arrays
            with hidden(None):  # a result without floats has no derivative to miss
                args, read_only = tree_map(_read_only, (args, keywords))
                out = function(*args, **read_only)
            if not any(map(_is_float, leaves(out))):
                return out
    except ValueError as error:
        if "read-only" not in str(error) and not lacking:
            raise
    recorded = ", ".join(sorted({f.__name__ for f in ROWS}))
    hint = f"leave out {', '.join(lacking)}" if lacking else f"use one of NumPy's functions that do: {recorded}"
    call = f"numpy.{name}({', '.join(['...', *(lacking or keywords)])})"
    raise TypeError(f"{call} records no graph of a Tensor: pass t.detach(), or {hint}")


def _read_only(x: Any) -> Any:
    """x; if x is a Tensor or an array, its array as a view that cannot be written to."""
    x = read_data(x._node) if isinstance(x, Tensor) else x
    if isinstance(x, np.ndarray):
        x = x.view()
        x.flags.writeable = False
    return x


def _is_float(x: Any) -> bool:
    """True if x has floats, through which a gradient could flow."""
    return isinstance(x, float) or np.dtype(getattr(x, "dtype", bool)).kind in "fc"


__all__ = [name for name in FUNCTIONS if not hasattr(builtins, name)]  # pyright: ignore[reportUnsupportedDunderAll]
