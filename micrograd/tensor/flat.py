"""The gradients of many parameters as one flat array, which workers send to each other, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def summed(total: Callable[[np.ndarray], Any], data: list[Any], grads: list[Any]) -> list[Any]:
    """Gradients summed over all workers, by one call of `total` on one flat array.

    `data` has the number or the array of each parameter, whose shapes and dtypes the sums get. A gradient that is None
    counts as zeros, so that the flat array has the same length on every worker.
    """
    sizes, dtypes = [np.size(x) for x in data], {np.dtype(getattr(x, "dtype", float)) for x in data}
    parts = [np.zeros(size) if g is None else np.ravel(g) for g, size in zip(grads, sizes, strict=True)]
    flat = np.concatenate(parts, dtype=np.result_type(*dtypes))
    returned = total(flat)
    sums = np.asarray(returned)
    if sums.shape != flat.shape or sums.dtype.kind != "f":
        found = f"an array of shape {sums.shape} and dtype {sums.dtype}" if sums.dtype != object else repr(returned)
        hint = ", which a function without `return` returns" if returned is None else ""
        raise ValueError(
            f"reduce= must return the sum over all workers, {flat.size} floats in one dimension; found {found:.200}"
            + hint
        )
    return [
        part.reshape(x.shape).astype(x.dtype) if isinstance(x, np.ndarray) else float(part[0])
        for x, part in zip(data, np.split(sums, np.cumsum(sizes)[:-1]), strict=True)
    ]
