"""What several tests of Tensors use."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tensor_ops_list import OPS, Op

from micrograd import Tensor, no_grad

every_op = pytest.mark.parametrize("op", OPS, ids=str)
Arrays = list[np.ndarray]


def parameter(*data: Any) -> Tensor:
    return Tensor(np.array(data, dtype=float), requires_grad=True)


def equal(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(found.detach() if isinstance(found, Tensor) else found), expected)


def leaves(operands: Sequence[np.ndarray]) -> list[Tensor]:
    return [Tensor(a, requires_grad=True) for a in operands]


def seed(op: Op, out: Any) -> np.ndarray:
    """A gradient to start from, in which no two elements are the same."""
    rng = np.random.default_rng(len(op.name))
    return rng.uniform(0.5, 1.5, tuple(out.shape)).astype(str(out.dtype).removeprefix("torch."))


def plain(gradient: Any, like: Any) -> np.ndarray:
    """A gradient of ours or of PyTorch's as an array, where None is zeros."""
    if gradient is None:
        return np.zeros(tuple(like.shape))
    if isinstance(gradient, Tensor):
        return gradient.detach().numpy()
    return gradient if isinstance(gradient, np.ndarray) else gradient.numpy(force=True)


def numbers(gradients: Sequence[Any], likes: Sequence[Any]) -> Arrays:
    return [plain(g, like) for g, like in zip(gradients, likes, strict=True)]


def directions(arrays: Sequence[np.ndarray]) -> Arrays:
    rng = np.random.default_rng(7)
    return [rng.uniform(-1, 1, a.shape) for a in arrays]


def in_no_grad(write: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    """A write to a leaf, which is refused elsewhere."""
    return no_grad()(write)


# Ways to write 17 over all of a Tensor, or to take 17 from it
WRITES: dict[str, Callable[[Tensor], Any]] = {
    "data[...] =": lambda x: x.data.__setitem__(..., 17.0),
    "data =": lambda x: setattr(x, "data", np.full(x.shape, 17.0)),
    "data -=": lambda x: setattr(x, "data", operator.isub(x.data, 17.0)),
    "data of detach()": lambda x: x.detach().data.fill(17.0),
    "numpy()": lambda x: x.detach().numpy().fill(17.0),
    "fill_": in_no_grad(lambda x: x.fill_(17.0)),
    "fill_ of detach()": lambda x: x.detach().fill_(17.0),
    "a view": in_no_grad(lambda x: x.reshape(-1).__setitem__(..., 17.0)),
}
