"""The gradients of many parameters as one flat array, and back: what workers send to each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def summed(total: Callable[[np.ndarray], Any], data: list[Any], grads: list[Any]) -> list[Any]:
    """Gradients summed over all workers, by one call of `total` on one flat array.

    `data` holds what the parameters hold, numbers or arrays: the sums get their shapes and dtypes. None among the
    gradients counts as zeros, so that the array has the same length on every worker.
    """
    sizes = [x.size if isinstance(x, np.ndarray) else 1 for x in data]
    ends = np.cumsum(sizes).tolist()
    flat = np.zeros(ends[-1], np.result_type(*{getattr(x, "dtype", np.dtype(float)) for x in data}))
    for g, size, end in zip(grads, sizes, ends, strict=True):
        if g is not None:
            flat[end - size : end] = g.ravel() if isinstance(g, np.ndarray) else g
    found = total(flat)
    sums = np.asarray(found)
    if sums.shape != flat.shape or sums.dtype.kind != "f":
        what = f"an array of shape {sums.shape} and dtype {sums.dtype}" if sums.dtype != object else repr(found)
        raise ValueError(
            f"reduce= must return the sum over all workers, {flat.size} floats in one dimension; found {what:.200}"
            + ", which a function without `return` returns" * (found is None)
        )
    return [
        sums[end - size : end].reshape(x.shape).astype(x.dtype) if isinstance(x, np.ndarray) else float(sums[end - 1])
        for x, size, end in zip(data, sizes, ends, strict=True)
    ]
