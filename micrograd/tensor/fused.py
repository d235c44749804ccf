"""Fused rows, each of which restates a composition of other rows, for speed.

Without this file you would write a composition of several nodes, which has the same derivatives. A fused row makes one
node, with one forward function, less to save, and a backward pass with fewer temporary arrays. It may also be more
accurate. Only in this file is a derivative written that follows from other rows. So `tests/tensor/test_fused.py`
compares every row here with its composition, in values, first and second derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..engine.rows import Row, lib
from ..scalars import ops
from ..scalars.rows import Each
from .arrays import Axis, broadcast_to, cached_row, keepdims_shape, mean, reshape, with_settings
from .arrays import sum as total

# ---- affine layers

column_sums: Row = Row("column_sums", lambda a: lib(a).column_sums(a), lambda g, _o, like: broadcast_to(like.shape)(g))

linear: Each = Each(
    "linear",
    lambda x, w, b: _plus(x @ w.T, b),  # x: (..., in), w: (out, in), b: (out,)
    lambda g, _x, w, _b: g @ w,
    lambda g, x, like, _b: _matmul_like(_matrix(g).T, _matrix(x), like),
    lambda g, _x, _w, _b: column_sums(_matrix(g)),
)


def _matrix(a: Any) -> Any:
    """a as a matrix: all axes but the last merged."""
    return a if a.ndim == 2 else reshape((math.prod(a.shape[:-1]), a.shape[-1]))(a)


def _matmul_like(a: Any, b: Any, like: Any) -> Any:
    """a @ b; for arrays, in the memory order of `like`."""
    return a @ b if hasattr(a, "_node") else lib(like).matmul_like(a, b, like)


def _plus(a: Any, b: Any) -> Any:
    """a + b, in place if the dtypes match."""
    if a.dtype != b.dtype:
        return a + b
    a += b
    return a


# ---- roots and norms


def _root(name: str) -> Row:
    """A square root whose gradient at 0 is 0."""
    return Row(name, lambda a: lib(a).sqrt(a), lambda g, out, _a: ops.gate(g, out) / (2 * out + (1 - ops.step(out))))


deviation: Row = _root("std")
length: Row = _root("norm")


@with_settings
def norm(ord: float, axis: Axis, keepdims: bool) -> Row:
    """(|a|**ord).sum(axis)**(1/ord). The gradient is 0 where a is 0, and where the norm is."""

    def rule(g: Any, out: Any, a: Any) -> Any:
        keep = reshape(keepdims_shape(a, axis))
        g, out, magnitude = keep(g), keep(out), abs(a)
        ratio = (magnitude + (1 - ops.step(magnitude))) / (out + (1 - ops.step(out)))  # without a division by 0
        return g * ops.step(out) * ops.sign(a) * ratio ** (ord - 1)

    return Row("norm", lambda a: (abs(a) ** ord).sum(axis=axis, keepdims=keepdims) ** (1 / ord), rule)


# ---- softmax and its logarithm


def _top(a: Any, axis: Axis) -> Any:
    """The maximum over the axis with keepdims, as floats; for an empty array, its sum."""
    return 1.0 * (a.max(axis=axis, keepdims=True) if a.size else a.sum(axis=axis, keepdims=True))


@cached_row
def logsumexp(axis: Axis) -> Row:
    """log(sum(exp(a))) over the axis, with keepdims. The maximum is subtracted first, so nothing overflows."""

    def forward(a: Any) -> Any:
        top = _top(a, axis)
        top = lib(a).where(abs(top) == math.inf, 0.0, top)
        return lib(a).log(lib(a).exp(a - top).sum(axis=axis, keepdims=True)) + top

    return Row("logsumexp", forward, lambda g, out, a: g * ops.exp(a - out))


@cached_row
def softmax(axis: Axis) -> Row:
    """exp(a) / sum(exp(a)) over the axis."""

    def forward(a: Any) -> Any:
        e = lib(a).exp(a - _top(a, axis))
        return e / e.sum(axis=axis, keepdims=True)

    return Row("softmax", forward, lambda g, out, _a: out * (g - (g * out).sum(axis=axis, keepdims=True)))


@cached_row
def log_softmax(axis: Axis) -> Row:
    """log(softmax(a)) over the axis, without underflow."""

    def forward(a: Any) -> Any:
        a, xp = a - _top(a, axis), lib(a)
        return a - xp.log(xp.exp(a).sum(axis=axis, keepdims=True))

    return Row("log_softmax", forward, lambda g, out, _a: g - ops.exp(out) * g.sum(axis=axis, keepdims=True))


# ---- losses, reduction included

# From the losses, a Tensor or an array, to the result for each `reduction=`
REDUCTIONS: dict[str, Any] = {"mean": mean(None, False), "sum": total(None, False), "none": lambda losses: losses}


@cached_row
def hinge(reduction: str) -> Row:
    """max(0, 1 - a * b), reduced."""
    reduce = REDUCTIONS[reduction]

    def rule(g: Any, a: Any, b: Any) -> Any:
        return ops.gate(b * (g / -a.size if reduction == "mean" else -g), 1 - a * b)

    return Row("hinge", lambda a, b: reduce(np.maximum(1 - a * b, 0.0)), rule, lambda g, a, b: rule(g, b, a))


OF_PAIRS = {"hinge": hinge}  # the losses of scores and targets, by the name that `functional` gives them


@with_settings
def cross_entropy(classes: np.ndarray, reduction: str) -> Row:
    """-log(softmax(a)) at these classes, reduced. The gradient is softmax - onehot, divided by n for the mean."""

    def forward(a: Any) -> Any:
        a = a - a.max(-1, keepdims=True)
        right = a.reshape(-1, a.shape[-1])[np.arange(classes.size), classes.reshape(-1)]
        return REDUCTIONS[reduction](np.log(np.exp(a).sum(-1)) - right.reshape(classes.shape))

    def rule(g: Any, _out: Any, a: Any) -> Any:
        onehot = (np.arange(a.shape[-1]) == classes[..., None]).astype(a.dtype)
        if reduction == "none":
            g = reshape((*classes.shape, 1))(g)
        if reduction == "mean":
            g = g / classes.size
        return (softmax(-1)(a) - onehot) * g

    return Row("cross_entropy", forward, rule)
