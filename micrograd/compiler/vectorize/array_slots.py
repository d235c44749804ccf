"""Places: the array that stores a node, its position there, and how nodes are read as an array of any shape.

Most reads are a whole array or a slice of one. Evenly spaced places need no copy:

>>> at = Places(6, None)
>>> at.put(np.arange(6), (2, 3))
>>> at.tensors = [Tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])]
>>> at.read(np.array([4, 5])), at.read(np.array([[0, 3], [1, 4], [2, 5]])).shape
(Tensor([4., 5.]), (3, 2))

Any other read is a `take`. Its adjoint `place` sums the elements that go to the same place:

>>> at.read(np.array([5, 0, 0]))
Tensor([5., 0., 0.])
>>> place(np.array([5, 0, 0]), 6).forward(np.array([1.0, 2.0, 3.0]))
array([5., 0., 0., 0., 0., 1.])

Under `batch` each array has one more axis, the last: a column for each sample, or a single column if all samples share
it. Ids, places and shapes leave this axis out.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

from ...engine.rows import Row, lib
from ...tensor.optional import Tensor, arrays, np, record
from ..primitives import placed
from ..symbols import Symbol, is_uniform
from .sums_of_products import ONE

Ids = np.ndarray  # the numbers of nodes


def take(ids: Ids) -> Row:
    """The elements of a vector (rows of a matrix) at these places; its adjoint is `place`."""
    return Row(
        "take",
        lambda a: np.take(a, ids, axis=0),
        lambda g, _out, like: place(ids, like.shape[0])(g),
        settings={"ids": ids},
    )


def place(ids: Ids, n: int) -> Row:
    """A vector of n elements (a matrix of n rows): at each place, the sum of the elements that go there."""
    flat = ids.reshape(-1)
    order = np.argsort(flat, kind="stable")
    plan = ids, order, *np.unique(flat[order], return_index=True)
    return Row(
        "place",
        lambda a: lib(a).placed(a, plan, n) if a.__class__ is Symbol else placed(a, plan, n),
        lambda g, _out, _a: take(ids)(g),
        settings={"ids": ids, "n": n},
    )


class Places:
    """The array and place of each node, for making a plan, and the arrays as Tensors, for running it."""

    def __init__(self, size: int, samples: int | None):
        self.samples = samples
        self.array: np.ndarray = np.full(size, -1)  # for each node, the array that stores it
        self.place: np.ndarray = np.full(size, -1)  # for each node, its place in the flattened array
        self.shapes: list[tuple[int, ...]] = []
        self.tensors: list[Tensor] = []

    def put(self, ids: Ids, shape: tuple[int, ...]) -> None:
        """Store these nodes as the next array, in which an element with the id ONE is unused."""
        used = ids != ONE
        self.array[ids[used]] = len(self.shapes)
        self.place[ids[used]] = np.arange(ids.size)[used.reshape(-1)]
        self.shapes.append(shape)

    def put_more(self, numbers: np.ndarray) -> Ids:
        """New nodes for these constants."""
        ids = self.add(len(numbers))
        self.tensors.append(Tensor(self.constants(numbers)))
        return ids

    def add(self, n: int) -> Ids:
        """New nodes, which the next array stores."""
        ids = np.arange(len(self.array), len(self.array) + n)
        self.array = np.append(self.array, np.full(n, len(self.shapes)))
        self.place = np.append(self.place, np.arange(n))
        self.shapes.append((n,))
        return ids

    # ---- reading

    def read(self, ids: Ids) -> Tensor:
        """The nodes as an array of the shape of `ids`, or one that broadcasts to it."""
        stores = np.unique(self.array[ids])
        if len(stores) == 1:
            return self._elements(self.tensors[stores[0]], self.place[ids])
        if ids.ndim == 2 and (self.array[ids] == self.array[ids[0]]).all():  # side by side
            cuts = [0, *(np.flatnonzero(np.diff(self.array[ids[0]])) + 1).tolist(), ids.shape[1]]
            if len(cuts) < 6:
                return self._joined(1, [self.whole(ids[:, i:j]) for i, j in pairwise(cuts)])
        flat = [self._flat(self.tensors[k]) for k in stores.tolist()]
        starts = np.zeros(len(self.tensors), int)
        starts[stores] = np.cumsum([0, *(len(t) for t in flat[:-1])])
        return self._elements(self._joined(0, flat), starts[self.array[ids]] + self.place[ids])

    def whole(self, ids: Ids) -> Tensor:
        """The nodes as an array of exactly the shape of `ids`."""
        return self.fill(ids.shape, self.read(ids))

    def fill(self, shape: tuple[int, ...], a: Any) -> Tensor:
        """The result of a read, broadcast to its full shape."""
        return a.broadcast_to(shape if self.samples is None else (*shape, a.shape[-1]))

    def operand(self, x: np.ndarray) -> Any:
        """The nodes of these ids or, if the array has floats, these numbers."""
        return self.read(x) if x.dtype.kind == "i" else self.numbers(x)

    def numbers(self, numbers: np.ndarray) -> Any:
        """The number, if all are the same; otherwise the array, for operations with arrays of nodes."""
        return float(numbers.flat[0]) if is_uniform(numbers) else self.constants(numbers)

    def constants(self, numbers: np.ndarray) -> np.ndarray:
        """The array, for operations with arrays of nodes."""
        return numbers if self.samples is None else numbers[..., None]

    def _flat(self, a: Tensor) -> Tensor:
        return a.flatten() if self.samples is None else a.reshape(prod(a.shape[:-1]), a.shape[-1])

    def _joined(self, axis: int, parts: list[Tensor]) -> Tensor:
        if self.samples is not None:
            columns = next((part.shape[-1] for part in parts if part.shape[-1] != 1), 1)
            parts = [part.broadcast_to((*part.shape[:-1], columns)) for part in parts]
        return record(arrays.concatenate(axis), *parts)

    def _elements(self, a: Tensor, places: np.ndarray) -> Tensor:
        """The elements of a at these places of its flattened form: a slice if the places are evenly spaced."""
        last = () if self.samples is None else a.shape[-1:]
        if a.shape == (*places.shape, *last) and (places.reshape(-1) == np.arange(places.size)).all():
            return a
        grid = places.reshape(-1, places.shape[-1]) if places.ndim else places.reshape(1, 1)
        rows, columns = grid.shape
        start, down, right = int(grid[0, 0]), _step(grid[:, 0]), _step(grid[0])
        flat = self._flat(a)
        if down is None or right is None or not (grid == grid[:1] + (grid[:, :1] - start)).all():
            return record(take(places), flat)
        if down == 0 or rows == 1:
            return _slice(flat, start, columns, right)
        if right == 0 or columns == 1:
            return _slice(flat, start, rows, down).reshape(rows, 1, *last)
        if right == 1 and down == columns:
            return _slice(flat, start, rows * columns, 1).reshape(rows, columns, *last)
        if down == 1 and right == rows:
            return _slice(flat, start, rows * columns, 1).reshape(columns, rows, *last).swapaxes(0, 1)
        return record(take(places), flat)


def _slice(flat: Tensor, start: int, n: int, step: int) -> Tensor:
    if (start, n, step) == (0, len(flat), 1) or len(flat) == 1:
        return flat
    if step < 0:
        return record(take(start + step * np.arange(n)), flat)
    return flat[start : start + (n - 1) * step + 1 : step if step > 1 and n > 1 else None]


def _step(line: np.ndarray) -> int | None:
    """The distance between neighbours if it is constant, else None."""
    if len(line) == 1:
        return 0
    steps = np.diff(line)
    return int(steps[0]) if (steps == steps[0]).all() else None
