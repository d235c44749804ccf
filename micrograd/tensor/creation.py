"""Functions that create Tensors: zeros, ones, ranges, and random numbers.

A shape is passed as in NumPy, `zeros((2, 3))`, or as in PyTorch, `zeros(2, 3)`. The `_like` functions take the shape
and dtype of a Tensor, an array, or a list of numbers. In all of them:

- `requires_grad` makes the Tensor a parameter; it needs a float dtype.
- `dtype` is a real NumPy dtype.
- `rng` is the NumPy Generator to draw from, by default the package's own, which `manual_seed` seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.words import checked
from .arrays import Shape, lengths
from .randomness import generator
from .tensor import Tensor

Generator = np.random.Generator | None


# ---------------------------------------------------------------------------------------------------------------------
# From a shape


def zeros(*shape: Shape, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Make a Tensor of zeros.

    Args:
        *shape: the lengths of the axes, as several ints or one sequence.
        requires_grad: whether to accumulate a gradient in `.grad`, for float dtypes only.
        dtype: a real NumPy dtype, float64 by default.

    Returns:
        A Tensor of that shape.

    >>> zeros(2, 3).shape, zeros((2, 3)).shape
    ((2, 3), (2, 3))
    """
    return full(lengths(*shape), 0.0, requires_grad=requires_grad, dtype=dtype)


def ones(*shape: Shape, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Make a Tensor of ones.

    Args:
        *shape, requires_grad, dtype: as in `zeros`.

    Returns:
        A Tensor of that shape.

    >>> ones(2)
    Tensor([1., 1.])
    """
    return full(lengths(*shape), 1.0, requires_grad=requires_grad, dtype=dtype)


def full(shape: Shape, value: float, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Make a Tensor filled with one number.

    Args:
        shape: the lengths of the axes, an int or a sequence.
        value: the number.
        requires_grad: as in `zeros`.
        dtype: a real NumPy dtype, by default that of the number.

    Returns:
        A Tensor of that shape.

    >>> full((2,), 7.0)
    Tensor([7., 7.])
    """
    return Tensor(np.full(lengths(shape), value, dtype), requires_grad=requires_grad)


def randn(*shape: Shape, rng: Generator = None, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Draw samples from the standard normal distribution.

    Args:
        *shape, requires_grad, dtype: as in `zeros`.
        rng: the NumPy Generator to draw from, by default the package's own, which `manual_seed` seeds.

    Returns:
        A Tensor of that shape.

    Raises:
        TypeError: `rng` is not a NumPy Generator.

    >>> randn(2, 3).shape
    (2, 3)
    """
    return Tensor(generator(rng).standard_normal(lengths(*shape)), requires_grad=requires_grad, dtype=dtype)


def rand(*shape: Shape, rng: Generator = None, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Draw samples from the uniform distribution on [0, 1).

    Args:
        *shape, requires_grad, dtype: as in `zeros`.
        rng: as in `randn`.

    Returns:
        A Tensor of that shape.

    Raises:
        TypeError: `rng` is not a NumPy Generator.

    >>> rand(2, 3).shape
    (2, 3)
    """
    return Tensor(generator(rng).random(lengths(*shape)), requires_grad=requires_grad, dtype=dtype)


def arange(*bounds: float, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Make a Tensor of evenly spaced numbers, up to a bound that is left out.

    Args:
        *bounds: `arange(stop)`, `arange(start, stop)` or `arange(start, stop, step)`.
        requires_grad: as in `zeros`.
        dtype: a real NumPy dtype, by default an integer one if all bounds are integers, else float64.

    Returns:
        A Tensor of shape (ceil((stop - start) / step),).

    >>> arange(2, 5)
    Tensor([2, 3, 4])
    """
    return Tensor(np.arange(*bounds, dtype=dtype), requires_grad=requires_grad)


def linspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, *, requires_grad: bool = False, dtype: Any = None
) -> Tensor:
    """Make a Tensor of evenly spaced numbers between two bounds.

    Args:
        start, stop: the bounds.
        num: how many numbers.
        endpoint: whether `stop` is the last of them.
        requires_grad: as in `zeros`.
        dtype: a real NumPy dtype, float64 by default.

    Returns:
        A Tensor of shape (num,).

    >>> linspace(0, 1, 3)
    Tensor([0. , 0.5, 1. ])
    """
    return Tensor(np.linspace(start, stop, num, endpoint, dtype=dtype), requires_grad=requires_grad)


def eye(rows: int, columns: int | None = None, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Make a matrix with ones on the diagonal and zeros elsewhere.

    Args:
        rows: the number of rows.
        columns: the number of columns, by default that of rows.
        requires_grad, dtype: as in `zeros`.

    Returns:
        A Tensor of shape (rows, columns).

    >>> eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return Tensor(np.eye(rows, columns, dtype=dtype or float), requires_grad=requires_grad)


# ---------------------------------------------------------------------------------------------------------------------
# Like another Tensor


def zeros_like(x: Any, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Make a Tensor of zeros, in the shape of another.

    Args:
        x: a Tensor, an array, or a list of numbers.
        requires_grad: as in `zeros`.
        dtype: a real NumPy dtype, by default that of x.

    Returns:
        A Tensor of x's shape.

    >>> zeros_like([1.0, 2.0])
    Tensor([0., 0.])
    """
    return full_like(x, 0, requires_grad=requires_grad, dtype=dtype)


def ones_like(x: Any, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Make a Tensor of ones, in the shape of another.

    Args:
        x, requires_grad, dtype: as in `zeros_like`.

    Returns:
        A Tensor of x's shape.

    >>> ones_like([1.0, 2.0])
    Tensor([1., 1.])
    """
    return full_like(x, 1, requires_grad=requires_grad, dtype=dtype)


def full_like(x: Any, value: float, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Make a Tensor filled with one number, in the shape of another.

    Args:
        x, requires_grad, dtype: as in `zeros_like`.
        value: the number.

    Returns:
        A Tensor of x's shape.

    >>> full_like([1.0, 2.0], 7)
    Tensor([7., 7.])
    """
    x = x if isinstance(x, (Tensor, np.ndarray)) else np.asarray(x)
    return full(x.shape, value, requires_grad=requires_grad, dtype=x.dtype if dtype is None else dtype)


def randn_like(x: Any, *, rng: Generator = None, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Draw samples from the standard normal distribution, in the shape of a Tensor.

    Args:
        x, requires_grad, dtype: as in `zeros_like`.
        rng: as in `randn`.

    Returns:
        A Tensor of x's shape.

    Raises:
        TypeError: the dtype is not a float.

    >>> randn_like([1.0, 2.0]).shape
    (2,)
    """
    return _drawn_like(randn, x, dtype, rng=rng, requires_grad=requires_grad)


def rand_like(x: Any, *, rng: Generator = None, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Draw samples from the uniform distribution on [0, 1), in the shape of a Tensor.

    Args:
        x, requires_grad, dtype: as in `zeros_like`.
        rng: as in `randn`.

    Returns:
        A Tensor of x's shape.

    Raises:
        TypeError: the dtype is not a float.

    >>> rand_like([1.0, 2.0]).shape
    (2,)
    """
    return _drawn_like(rand, x, dtype, rng=rng, requires_grad=requires_grad)


def _drawn_like(draw: Any, x: Any, dtype: Any, **named: Any) -> Tensor:
    like = zeros_like(x, dtype=dtype)
    if like.dtype.kind != "f":  # as integers, all samples of rand would be 0
        raise TypeError(f"random draws are floats, found dtype {like.dtype}: pass dtype=float")
    return draw(like.shape, dtype=like.dtype, **named)


for _name, _function in [*globals().items()]:
    if getattr(_function, "__module__", "") == __name__ and _name[0] != "_":
        globals()[_name] = checked(_function)
