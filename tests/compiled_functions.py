"""Functions that are compiled, by the compiler's tests and by those of the back ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from function_helpers import Cube, Exp, Product

import micrograd
from micrograd import Tensor, Value, concatenate, einsum, gradient, nn, stack, where
from micrograd import functional as F

# ---------------------------------------------------------------------------------------------------------------------
# Functions of arrays, layers and losses, and what they are called with

RNG = np.random.default_rng(0)
A, B, ROWS, SQUARE, CUBE = (RNG.normal(size=shape) for shape in ((3, 4), (4, 5), (4, 3), (3, 3), (2, 3, 4)))
MASK = A > 0.3
IMAGE = RNG.normal(size=(1, 1, 7, 9))
SIGNS = np.array([[1.0, -1, 1], [1, 1, 1], [-1, -1, 1], [1, 1, -1]])
Case = tuple[Callable[..., Any], tuple[np.ndarray, ...]]


def filled(layer: Any) -> Any:
    """The layer, with other numbers than those that it begins with."""
    for p in layer.parameters():
        p.data = RNG.normal(size=p.shape)
    return layer


FUNCTIONS: dict[str, Case] = {
    "stack": (lambda a, b: stack([a, b], 1), (A, A * 2)),
    "slices put together": (lambda a: concatenate([a[:, :2].tanh(), a[:, 2:].exp()], 1), (A,)),
    "slices of all kinds": (lambda a: a[..., ::-2, None, 0], (CUBE,)),
    "where by a comparison": (lambda a, b: where(a > b, a, b * 2), (A, A[::-1].copy())),
    "where by two comparisons": (lambda a: where((a > -0.5) & (a < 1) | ~(a < 1.5), a, a * 2), (A,)),
    "where by a mask and a comparison": (lambda a: where(np.logical_or(MASK ^ (a > 0), False), a, a * 2), (A,)),
    "masks by NumPy's functions": (lambda a: where(np.logical_not(a > 0) | np.logical_xor(a > 1, MASK), a, 1), (A,)),
    "elements by two lists": (lambda a: a[[0, 2, 0], [1, 1, 1]], (A,)),
    "rows by an argument": (lambda a, places: a[places], (A, np.array([0, 2, 2]))),
    "rows of a constant": (lambda a, places: Tensor(SQUARE)[places] * a, (SQUARE, np.array([0, 2, 1]))),
    "a mask that is an array": (lambda a: a[A > 0], (A,)),
    "row by row": (lambda a: sum(row * i for i, row in enumerate(a)), (A,)),
    "a transposed product": (lambda a, b: (a @ b).T @ a, (A, B)),
    "a sum added to what it is made of": (lambda a: a.cumsum(0).exp() + a[::-1].exp(), (A,)),
    "a sum over an axis of a number": (lambda a: (a * a).sum(-1, keepdims=True), (np.array(2.0),)),
    "sums that keep an axis and drop it": (lambda a: a.sum(1).sum() + a * a.sum(1, keepdims=True), (A,)),
    "windows with gaps": (lambda x, w: F.conv2d(x, w, stride=2, dilation=2), (IMAGE, CUBE.reshape(2, 1, 3, 4))),
    "its shape alone": (lambda a: a * np.prod(np.shape(a)) + np.ndim(a) * np.size(a), (A,)),
    "arrays like it": (lambda a: a + np.zeros_like(a) + np.ones_like(a) * np.full_like(a, 2.0), (A,)),
    "a diagonal": (lambda a: einsum("ii->i", a), (SQUARE,)),
    "products of matrices": (lambda a, b: einsum("...ij,jk->...ik", a, b), (CUBE, B)),
    "a product of three": (lambda a, b, c: einsum("ij,jk,k->i", a, b, c), (A, B, B[0])),
    "cross_entropy": (F.cross_entropy, (ROWS, np.array([0, 2, 1, 1]))),
    "mse": (lambda x: F.mse(x, SIGNS), (ROWS,)),
    "hinge": (lambda x: F.hinge(x, SIGNS), (ROWS,)),
    "bce_with_logits": (lambda x: F.bce_with_logits(x, (SIGNS > 0).astype(float)), (ROWS,)),
    "Linear of three axes": (filled(nn.Linear(4, 2)), (CUBE,)),
    "Linear without a bias": (filled(nn.Linear(3, 2, bias=False)), (ROWS,)),
    "Dropout in use": (nn.Dropout(0.5).eval(), (ROWS,)),
    "LayerNorm1d": (filled(nn.LayerNorm1d(3)), (ROWS,)),
    "BatchNorm1d in use": (filled(nn.BatchNorm1d(3).eval()), (ROWS,)),
    "Conv2d": (filled(nn.Conv2d(2, 3, 2, padding=1)), (RNG.normal(size=(2, 2, 3, 3)),)),
    "MaxPool2d": (nn.MaxPool2d(2), (RNG.normal(size=(1, 2, 4, 4)),)),
    "Embedding": (filled(nn.Embedding(5, 3)), (np.array([[0, 3], [3, 4]]),)),
    "Functions of a user": (lambda a, b: Product.apply(Exp.apply(Cube.apply(a)), b), (A, A[::-1].copy())),
    "the gradient of a Function": (gradient(lambda a: Exp.apply(Cube.apply(a)).sum()), (A,)),
    "MLP": (filled(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))), (ROWS,)),
}


# ---------------------------------------------------------------------------------------------------------------------
# Functions of labels and indices

X = np.random.default_rng(0).normal(size=(4, 3))
W = Tensor(np.random.default_rng(1).normal(size=(3, 3)), requires_grad=True)
EMBEDDING = nn.Embedding(3, 2)
SCORES = [Value(0.5), Value(-0.3)]


def ints(*xs: int) -> np.ndarray:
    return np.array(xs)


def floats(*xs: float) -> np.ndarray:
    return np.array(xs, float)


def words(f: Callable, *args: Any) -> str:
    with pytest.raises((IndexError, ValueError)) as error:
        f(*args)
    return f"{error.type.__name__}: {error.value}"


# a function of labels, some that are right, and some that are wrong
LABELLED: dict[str, tuple[Callable, np.ndarray, np.ndarray]] = {
    "cross_entropy of -1": (lambda y: F.cross_entropy(X @ W, y), ints(0, 1, 2, 1), ints(0, -1, 2, 1)),
    "cross_entropy of 3": (lambda y: F.cross_entropy(X @ W, y, "none"), ints(0, 1, 2, 1), ints(0, 1, 2, 3)),
    "cross_entropy of what is computed": (lambda y: F.cross_entropy(X @ W, y - 1), ints(1, 2, 1, 3), ints(1, 0, 1, 3)),
    "nll": (lambda y: F.nll((X @ W).log_softmax(), y), ints(0, 1, 2, 1), ints(0, -1, 2, 1)),
    "hinge of 0": (lambda y: F.hinge((X @ W)[:, 0], y), floats(1, -1, 1, 1), floats(1, 0, 1, 1)),
    "bce of 2": (lambda y: F.bce_with_logits((X @ W)[:, 0], y), floats(0, 1, 0.5, 1), floats(0, 1, 2, 1)),
    "an index": (lambda y: W[y].sum(), ints(0, -3), ints(0, 3)),
    "an index among others": (lambda y: (W * 2)[y, 1:].sum(), ints(0, 2), ints(0, -4)),
    "a row of the identity": (lambda y: (Tensor(np.eye(3))[y] @ W).sum(), ints(0, 2), ints(0, 5)),
    "take_along_axis": (
        lambda y: micrograd.take_along_axis(W, y, 1).sum(), np.zeros((3, 1), int), np.full((3, 1), 3),
    ),
    "an embedding of -1": (lambda y: EMBEDDING(y).sum(), ints(0, 2), ints(0, -1)),
    "an embedding of 3": (lambda y: EMBEDDING(y).sum(), ints(0, 2), ints(3, 1)),
}  # fmt: skip
