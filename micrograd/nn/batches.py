"""`batches`: random mini-batches of arrays."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Set
from operator import index
from typing import Any

from ..tensor.optional import Tensor, np
from ..tensor.randomness import generator


class Batch(tuple):
    """A worker's samples of each array. `whole` is the number of samples in the batch, over all workers."""

    whole: int


def batches(
    *arrays: Any, size: int, rng: np.random.Generator | None = None, share: tuple[int, int] = (0, 1)
) -> Iterator[Batch]:
    """Iterate once over arrays in random mini-batches.

    Use it as the inner loop of a training, `for x, y in batches(images, labels, size=32)`, once in each epoch.

    Args:
        *arrays: arrays, Tensors, sequences or tables with a method `to_numpy`, as pandas has them, each with n samples
            on its first axis.
        size: samples in a batch, over all workers. The last batch is smaller if `size` does not divide n.
        rng: NumPy generator that draws the order, by default the package's (`micrograd.manual_seed`), or where NumPy
            is not installed Python's. Workers that share the batches must seed it alike.
        share: this worker's number, from 0, and the number of workers. Each gets its part of every batch. The parts
            differ by one sample at most, and are empty where a batch has fewer samples than there are workers.

    Returns:
        Iterator of tuples with one part of each array, of shape (size, ...), or (about size / workers, ...). Every
        sample appears exactly once, on one of the workers. The order is drawn by the call itself, not by the first
        iteration. A mean over the whole batch is a sum divided by the attribute `whole` of the tuple.

    Raises:
        TypeError: `share` is not a pair of integers, or instead of an array there is a dict, a set or an iterator.
        ValueError: there are no arrays, one has no axes, their lengths differ, `size` is not a positive integer, or
            there is no such worker.

    >>> rng = np.random.default_rng(0)
    >>> [(x.tolist(), y.tolist()) for x, y in batches([1, 2, 3, 4, 5], "abcde", size=2, rng=rng)]
    [([3, 5], ['c', 'e']), ([4, 1], ['d', 'a']), ([2], ['b'])]
    >>> rng = np.random.default_rng(0)
    >>> [(batch[0].tolist(), batch.whole) for batch in batches([1, 2, 3, 4, 5], size=2, rng=rng, share=(1, 2))]
    [([5], 2), ([1], 2), ([2], 1)]
    """
    columns: list[Any] = [_samples(x) for x in arrays]
    if not columns or (np and not all(column.ndim for column in columns)):
        raise ValueError("batches() needs at least one array, and each with samples along its first axis")
    lengths = [len(column) for column in columns]
    n = lengths[0]
    if lengths != [n] * len(columns):
        raise ValueError(f"the arrays have {', '.join(map(str, lengths))} samples, but need equally many")
    if not isinstance(size, (int, np.integer)) or size < 1:
        raise ValueError(f"size must be a whole number of samples, at least 1; found {size!r:.50}")
    try:
        rank, workers = map(index, share)
    except (TypeError, ValueError):
        raise TypeError(f"share= takes (this worker's number, the number of workers), found {share!r:.50}") from None
    if not 0 <= rank < workers:
        raise ValueError(f"there is no share {share}: workers are numbered from 0, and the last of n has number n - 1")
    order = generator(rng).permutation(n) if np else random.sample(range(n), n)
    return (_batch(columns, order[i : i + size], rank, workers) for i in range(0, n, size))


def _samples(x: Any) -> Any:
    """The samples as an array or a Tensor, or without NumPy as a list."""
    # A mapping would give its keys, a set has no order, and an iterator ends after one epoch.
    if isinstance(x, (Mapping, Set, Iterator)):
        raise TypeError(f"batches() takes arrays and sequences, found {type(x).__name__}: make a list of its samples")
    if not np:
        return list(x)
    if isinstance(x, (Tensor, np.ndarray)):
        return x
    if hasattr(x, "to_numpy"):  # a table, whose iterator would give the names of its columns
        return np.asarray(x.to_numpy())
    return np.asarray(x if hasattr(x, "__array__") else list(x))


def _batch(columns: list[Any], indices: Any, rank: int, workers: int) -> Batch:
    """The worker's share of the samples at these indices."""
    n = len(indices)
    own = indices[n * rank // workers : n * (rank + 1) // workers]
    batch = Batch(column[own] if np else [column[i] for i in own] for column in columns)
    batch.whole = n
    return batch
