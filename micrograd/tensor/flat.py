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
    sizes, dtypes = [np.size(x) for x in data], {np.dtype(getattr(x, "dtype", float)) for x in data}
    parts = [np.zeros(size) if g is None else np.ravel(g) for g, size in zip(grads, sizes, strict=True)]
    flat = np.concatenate(parts, dtype=np.result_type(*dtypes))
    found = total(flat)
    sums = np.asarray(found)
    if sums.shape != flat.shape or sums.dtype.kind != "f":
        what = f"an array of shape {sums.shape} and dtype {sums.dtype}" if sums.dtype != object else repr(found)
        raise ValueError(
            f"reduce= must return the sum over all workers, {flat.size} floats in one dimension; found {what:.200}"
            + ", which a function without `return` returns" * (found is None)
        )
    return [
        part.reshape(x.shape).astype(x.dtype) if isinstance(x, np.ndarray) else float(part[0])
        for x, part in zip(data, np.split(sums, np.cumsum(sizes)[:-1]), strict=True)
    ]
