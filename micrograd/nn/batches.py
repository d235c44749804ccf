"""Mini-batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..tensor.creation import generator
from ..tensor.tensor import Tensor


def batches(*arrays: Any, size: int, rng: np.random.Generator | None = None) -> Iterator[tuple[Any, ...]]:
    """One epoch: tuples of parts of the arrays, `size` samples each, in an order drawn at random.

    The arrays (or Tensors) have the same number of samples along their first axis; each sample comes once, and the last
    batch is smaller where they do not divide. The order is drawn at once, from the package's generator unless `rng` is
    given.

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
