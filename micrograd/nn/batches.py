"""`batches`: random mini-batches of arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..tensor.creation import generator
from ..tensor.tensor import Tensor


def batches(*arrays: Any, size: int, rng: np.random.Generator | None = None) -> Iterator[tuple[Any, ...]]:
    """Iterate once over arrays in random mini-batches.

    Args:
        *arrays: arrays, Tensors or sequences, each with n samples on its first axis.
        size: samples in a batch; the last batch is smaller if `size` does not divide n.
        rng: NumPy generator that draws the order; by default the package's (`micrograd.manual_seed`).

    Returns:
        Iterator of tuples with one part of each array, of shape (size, ...). Every sample appears exactly once. The
        order is drawn by the call itself, not by the first iteration.

    Raises:
        ValueError: there are no arrays, one has no axes, their lengths differ, or `size` is not a positive integer.

    >>> rng = np.random.default_rng(0)
    >>> [(x.tolist(), y.tolist()) for x, y in batches([1, 2, 3, 4, 5], "abcde", size=2, rng=rng)]
    [([3, 5], ['c', 'e']), ([4, 1], ['d', 'a']), ([2], ['b'])]
    """
    parts = [x if isinstance(x, (Tensor, np.ndarray)) else np.asarray(list(x)) for x in arrays]
    if not parts or not all(x.ndim for x in parts):
        raise ValueError("batches() needs an array at least, and each with samples along its first axis")
    if len({len(x) for x in parts}) > 1:
        raise ValueError(f"found {', '.join(str(len(x)) for x in parts)} samples: each array needs the same number")
    if not isinstance(size, (int, np.integer)) or size < 1:
        raise ValueError(f"size must be a whole number of samples, at least 1; found {size!r:.50}")
    order = generator(rng).permutation(len(parts[0]))
    return (tuple(x[order[i : i + size]] for x in parts) for i in range(0, len(order), size))
