"""Tensors from nothing: zeros, ones, ranges and random numbers; and `manual_seed`, for all that is drawn at random.

Functions that take a shape take it as NumPy does, `zeros((2, 3))`, or as PyTorch does, `zeros(2, 3)`. The `_like`s take
the shape and the dtype of a Tensor, or of whatever makes one.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from .tensor import Tensor, lengths

__all__ = [
    "zeros",
    "ones",
    "full",
    "randn",
    "rand",
    "arange",
    "linspace",
    "eye",
    "zeros_like",
    "ones_like",
    "full_like",
    "randn_like",
    "rand_like",
    "manual_seed",
]

Shape = int | Sequence[int]
_generator = np.random.default_rng()


def manual_seed(seed: int) -> None:
    """Seed what micrograd draws from: Python's `random`, for networks of Values, and its own NumPy generator.

    NumPy's global state (`np.random.seed`) is neither used nor touched.

    >>> manual_seed(0)
    >>> first = randn(2)
    >>> manual_seed(0)
    >>> (first == randn(2)).all()
    np.True_
    """
    global _generator
    fresh = np.random.default_rng(operator.index(seed))
    random.seed(operator.index(seed))
    _generator = fresh


def generator(rng: np.random.Generator | None = None) -> np.random.Generator:
    """The generator to draw from: the one given, or else the package's."""
    if rng is None:
        return _generator
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a NumPy Generator, found {type(rng).__name__}: np.random.default_rng(seed) is one"
        )
    return rng


# ---------------------------------------------------------------------------------------------------------------------
# Of a given shape


def zeros(*shape: Shape, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Zeros, float64 unless a dtype is given.

    >>> zeros(2, 3).shape, zeros((2, 3)).shape
    ((2, 3), (2, 3))
    """
    return full(lengths(*shape), 0.0, requires_grad=requires_grad, dtype=dtype)


def ones(*shape: Shape, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Ones, float64 unless a dtype is given."""
    return full(lengths(*shape), 1.0, requires_grad=requires_grad, dtype=dtype)


def full(shape: Shape, value: float, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """The same number everywhere.

    >>> full((2,), 7.0)
    Tensor([7., 7.])
    """
    return Tensor(np.full(lengths(shape), value, dtype), requires_grad=requires_grad)


def randn(
    *shape: Shape, rng: np.random.Generator | None = None, requires_grad: bool = False, dtype: Any = None
) -> Tensor:
    """Draws from the normal distribution of mean 0 and deviation 1."""
    return Tensor(generator(rng).standard_normal(lengths(*shape)), requires_grad=requires_grad, dtype=dtype)


def rand(
    *shape: Shape, rng: np.random.Generator | None = None, requires_grad: bool = False, dtype: Any = None
) -> Tensor:
    """Draws from the uniform distribution between 0 and 1."""
    return Tensor(generator(rng).random(lengths(*shape)), requires_grad=requires_grad, dtype=dtype)


def arange(*bounds: float, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """`arange(stop)`, `arange(start, stop)` or `arange(start, stop, step)`; integers where all bounds are.

    >>> arange(2, 5)
    Tensor([2, 3, 4])
    """
    return Tensor(np.arange(*bounds, dtype=dtype), requires_grad=requires_grad)


def linspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, *, requires_grad: bool = False, dtype: Any = None
) -> Tensor:
    """`num` numbers at equal distances from start to stop, the last one included unless `endpoint` is False.

    >>> linspace(0, 1, 3)
    Tensor([0. , 0.5, 1. ])
    """
    return Tensor(np.linspace(start, stop, num, endpoint, dtype=dtype), requires_grad=requires_grad)


def eye(rows: int, columns: int | None = None, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Ones on the diagonal, zeros elsewhere; square unless columns are given."""
    return Tensor(np.eye(rows, columns, dtype=dtype or float), requires_grad=requires_grad)


# ---------------------------------------------------------------------------------------------------------------------
# Like another


def _like(x: Any, dtype: Any) -> tuple[tuple[int, ...], Any]:
    x = x if isinstance(x, (Tensor, np.ndarray)) else np.asarray(x)
    return x.shape, x.dtype if dtype is None else dtype


def zeros_like(x: Any, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Zeros of x's shape and dtype."""
    return full_like(x, 0, requires_grad=requires_grad, dtype=dtype)


def ones_like(x: Any, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Ones of x's shape and dtype."""
    return full_like(x, 1, requires_grad=requires_grad, dtype=dtype)


def full_like(x: Any, value: float, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """The same number everywhere, in x's shape and dtype."""
    shape, dtype = _like(x, dtype)
    return full(shape, value, requires_grad=requires_grad, dtype=dtype)


def randn_like(
    x: Any, *, rng: np.random.Generator | None = None, requires_grad: bool = False, dtype: Any = None
) -> Tensor:
    """Draws from the normal distribution, in x's shape and dtype, which must be a float's."""
    shape, dtype = _drawn_like(x, dtype)
    return randn(shape, rng=rng, requires_grad=requires_grad, dtype=dtype)


def rand_like(
    x: Any, *, rng: np.random.Generator | None = None, requires_grad: bool = False, dtype: Any = None
) -> Tensor:
    """Draws between 0 and 1, in x's shape and dtype, which must be a float's."""
    shape, dtype = _drawn_like(x, dtype)
    return rand(shape, rng=rng, requires_grad=requires_grad, dtype=dtype)


def _drawn_like(x: Any, dtype: Any) -> tuple[tuple[int, ...], Any]:
    shape, dtype = _like(x, dtype)
    if np.dtype(dtype).kind != "f":  # an integer would cut every draw from rand to 0
        raise TypeError(f"random draws are floats, found dtype {np.dtype(dtype)}: give dtype=float")
    return shape, dtype
