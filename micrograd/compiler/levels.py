"""Levels: a graph of many scalars becomes a few operations on arrays, and its sums of products become matrix products.

A node stands one level above its highest operand, and equal operations of a level become one operation on arrays:

    tables      dot products that pair every list of left factors with every list of right ones are a product of two
                matrices: the scores of all neurons of a layer, for all samples, are one `@`
    places      which elements of which array an operation reads: mostly all of it or a slice, else a `take`

Under `batch` each node is a row of an array, with a column for each sample, or one column for what is the same for all:
a layer's scores are one `@` again, of its weights and the samples' columns.

What comes out is a function of Tensors, which is traced and differentiated like one that a user wrote. For

    [relu(w0 * x0 + w1 * x1 + b) for x0, x1 in samples for w0, w1, b in neurons]

it computes `relu(x @ w.T + b)`. Leaves (parameters) may be put in any order: so that what is read together is a slice.

>>> from .interface import compile
>>> from ..engine import Value
>>> neurons = [[Value(1.0), Value(2.0), Value(0.5)], [Value(3.0), Value(4.0), Value(-0.5)]]
>>> def layer(samples):
...     return [(w0 * x0 + w1 * x1 + b).relu() for x0, x1 in samples for w0, w1, b in neurons]
>>> f = compile(layer, scalars=True, backend="numpy")
>>> f(np.ones((3, 2)))[:2]
[Value(data=3.5, grad=0), Value(data=6.5, grad=0)]
>>> for line in f.source.splitlines():
...     if "dot" in line or "add" in line:
...         print(line.strip())
np.dot(samples.reshape((3, 2)), p[0:4].reshape((2, 2)).transpose((1, 0)), out=b0)  # (3, 2)
np.add(b0, p[4:6], out=b0)  # (3, 2)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .. import arrays
from ..array_node import record, record_many
from ..rows import Row
from ..tensor import Tensor
from .normal import ONE, NormalForm, Term
from .symbols import Symbol

Ids = np.ndarray  # numbers of nodes


def take(ids: Ids) -> Row:
    """The elements of a vector (the rows of a matrix) at these places; its adjoint, `place`, adds them up there."""
    return Row("take", lambda a: np.take(a, ids, axis=0), lambda g, _out, like: place(ids, like.shape[0])(g))


def place(ids: Ids, n: int) -> Row:
    """A vector of n elements (a matrix of n rows): at each place the sum of what belongs there."""
    flat = ids.reshape(-1)
    order = np.argsort(flat, kind="stable")
    targets, starts = np.unique(flat[order], return_index=True)

    def placed(a: Any) -> Any:
        if a.ndim == ids.ndim:
            return np.bincount(flat, a.reshape(-1), n)
        out = np.zeros((n, a.shape[-1]))
        out[targets] = np.add.reduceat(a.reshape(-1, a.shape[-1])[order], starts, axis=0)
        return out

    return Row("place", placed, lambda g, _out, _a: take(ids)(g))


class Levels:
    """The plan: which nodes are computed together, and the matrices of the nodes that they read.

    Args:
        form: the graph.
        blocks: the Symbols of the inputs that come in arrays, in the order of these.
        free: the other inputs, which come last, and in an order that the plan chooses (`free`).
        samples: how many, under `batch`. The last axis of each array is then theirs, and of length 1 where the nodes
            are the same for all; ids, places and shapes are without it.
    """

    def __init__(
        self, form: NormalForm, blocks: Sequence[Sequence[Symbol]], free: Sequence[Symbol], samples: int | None = None
    ):
        self.form, self.samples = form, samples
        self.array = np.full(form.size, -1)  # of each node: in which array it stands,
        self.place = np.full(form.size, -1)  # and where
        self.shapes: list[tuple[int, ...]] = []
        self.steps: list[tuple[Callable[[list[Tensor]], Tensor], list[Ids]]] = []
        number = form.number
        for block in blocks:
            self._place(np.array([number.get(symbol, ONE) for symbol in block], int), (len(block),))
        self.array[np.array([number[symbol] for symbol in free], int)] = len(blocks)
        self.shapes.append((len(free),))
        for level in self._levels():
            self._level(level)
        self._order_leaves(len(blocks))
        self.free = sorted(free, key=lambda symbol: self.place[number[symbol]])

    def _levels(self) -> list[list[int]]:
        """The nodes of each level, from the first."""
        form, height = self.form, [0] * self.form.size
        found: dict[int, list[int]] = defaultdict(list)

        def over(terms: list[Term]) -> int:
            return 1 + max([height[x] for _, p, q in terms for x in (p, q) if x != ONE], default=0)

        for i in range(len(form.number)):
            if i in form.ops:
                height[i] = 1 + max(height[x] for x in form.ops[i][1] if x.__class__ is int)
            elif i in form.sums:
                for _, p, _ in form.sums[i]:
                    if p in form.dots:
                        height[p] = over(form.dots[p])
                        found[height[p]].append(p)
                height[i] = over(form.sums[i])
            if height[i]:
                found[height[i]].append(i)
        return [found[level] for level in sorted(found)]

    def _level(self, nodes: list[int]) -> None:
        """Plan one level: its dot products, its sums and its ops."""
        form = self.form
        dots: dict[Any, dict[Any, int]] = defaultdict(dict)
        rest: dict[Any, list[int]] = defaultdict(list)
        twins: list[tuple[int, int]] = []
        for i in nodes:
            if i in form.dots:
                terms = form.dots[i]
                left, right = tuple([(c, p) for c, p, _ in terms]), tuple([q for _, _, q in terms])
                twins.append((i, dots[left].setdefault(right, i)))
            elif i in form.sums:
                form.sums[i].sort(key=self._kind)
                rest[("sum", *map(self._kind, form.sums[i]))].append(i)
            else:
                row, xs = form.ops[i]
                rest[(row, *(self.array[x] if x.__class__ is int else None for x in xs))].append(i)
        planned = [self._tables(dots), *(self._group(key, members) for key, members in rest.items())]
        for ids, shape in [pair for pairs in planned for pair in pairs]:
            self._place(ids, shape)
        for i, twin in twins:
            self.array[i], self.place[i] = self.array[twin], self.place[twin]

    def _place(self, ids: Ids, shape: tuple[int, ...]) -> None:
        inside = ids != ONE
        self.array[ids[inside]] = len(self.shapes)
        self.place[ids[inside]] = np.arange(ids.size)[inside.reshape(-1)]
        self.shapes.append(shape)

    # ---- what is computed together

    def _tables(self, dots: dict[Any, dict[Any, int]]) -> list[tuple[Ids, tuple[int, ...]]]:
        """Dot products: lists of left factors that meet the same lists of right ones make a table."""
        alike: dict[Any, list[Any]] = defaultdict(list)
        for left, rights in dots.items():
            alike[all(p == ONE for _, p in left), *rights].append(left)
        single: dict[Any, list[tuple[Any, Any, int]]] = defaultdict(list)
        made = []
        for (plain, *rights), lefts in alike.items():
            full = len(lefts) > 1 and (len(rights) > 1 or self.samples is not None)
            size, alone = len(lefts) * len(rights) * len(rights[0]), 32 if self.samples is None else 4
            if full or (not plain and (size > 128 or size == len(rights[0]) > alone)):
                made.append(self._table(dots, plain, lefts, rights))
            else:
                for left in lefts:
                    for right in rights:
                        coefficients = tuple(c for c, _ in left)
                        single[plain, coefficients].append((left, right, dots[left][right]))
        return made + [self._rows(plain, c, members) for (plain, c), members in single.items()]

    def _table(self, dots: Any, plain: bool, lefts: list[Any], rights: list[Any]) -> tuple[Ids, tuple[int, ...]]:
        ids = np.array([[dots[left][right] for left in lefts] for right in rights])
        left = np.array([[p for _, p in left] for left in lefts])
        right, weights = np.array(rights), np.array([[c for c, _ in left] for left in lefts])
        alone = ids.size == 1
        turned = bool(ids.shape[0] > 1 and ids.shape[1] > 1 and ids[1, 0] < ids[0, 1])
        if turned:  # in the order in which they were written
            ids = ids.T
        read = [right] if plain else [right, left] if turned else [left, right]

        def table(tensors: list[Tensor]) -> Tensor:
            order = np.lexsort((self.place[right[0]], self.array[right[0]])) if alone else slice(None)
            numbers = self._numbers(weights[:, order])
            b = self._whole(right[:, order], tensors)
            if plain:
                a: Any = Tensor(self._with_samples(weights[:, order]))
            else:
                a = self._whole(left[:, order], tensors)
                a = a if numbers.__class__ is float else a * numbers
            out = self._product(a, b) if turned else self._product(b, a)
            return out if plain or numbers.__class__ is not float else _times(out, numbers)

        self.steps.append((table, read))
        return ids.copy(), ids.shape

    def _product(self, a: Tensor, b: Tensor) -> Tensor:
        """For each row of a and each of b, the sum of their products; under `batch`, for each sample."""
        if self.samples is None:
            return a @ b.transpose()
        (m, k, of_a), (n, _, of_b) = a.shape, b.shape
        if of_a == of_b == 1:
            return (a.reshape(m, k) @ b.reshape(n, k).transpose()).reshape(m, n, 1)
        if of_a == 1:
            return self._product(b, a).transpose(1, 0, 2)
        if of_b == 1 and m == 1:
            return (b.reshape(n, k) @ a.reshape(k, of_a)).reshape(1, n, of_a)
        return b.reshape(n, k) @ a if of_b == 1 else (a.reshape(m, 1, k, of_a) * b.reshape(1, n, k, of_b)).sum(2)

    def _rows(self, plain: bool, coefficients: tuple[float, ...], members: Any) -> tuple[Ids, tuple[int, ...]]:
        """Dot products of no table: factors side by side in two matrices, multiplied and summed along the rows."""
        left = np.array([[p for _, p in left] for left, _, _ in members])
        right, weights = np.array([right for _, right, _ in members]), np.array(coefficients)

        def rows(tensors: list[Tensor]) -> Tensor:
            terms = self.read(right, tensors)
            if not plain:
                terms = terms * self.read(left, tensors)
            terms, numbers = self._to(right.shape, terms), self._numbers(weights)
            return _times(terms.sum(1), numbers) if numbers.__class__ is float else (terms * numbers).sum(1)

        self.steps.append((rows, [right] if plain else [left, right]))
        return np.array([i for _, _, i in members]), (len(members),)

    def _group(self, key: Any, members: list[int]) -> list[tuple[Ids, tuple[int, ...]]]:
        """Sums of the same arrays, or the same op on them: one operation on whole arrays."""
        ids = np.array(members)
        if key[0] == "sum":
            terms = [self.form.sums[i] for i in members]
            columns = [[np.array([t[k][j] for t in terms]) for j in range(3)] for k in range(len(terms[0]))]
            first = next((p for _, p, _ in columns if p[0] != ONE), None)
        else:
            columns = [self._operands([self.form.ops[i][1][k] for i in members]) for k in range(len(key) - 1)]
            first = next((x for x in columns if x.dtype.kind == "i"), None)
        if first is not None:  # in the order of what is read
            order = np.lexsort((self.place[first], self.array[first]))
            ids, first = ids[order], first[order]
            columns = [[x[order] for x in c] if isinstance(c, list) else c[order] for c in columns]
        shape = self._shape(first, len(ids))
        step = self._sum(columns, shape) if key[0] == "sum" else self._op(key[0], columns, shape)
        read = [x for c in columns for x in (c[1:] if isinstance(c, list) else [c]) if x.dtype.kind == "i"]
        self.steps.append((step, [x.reshape(shape) for x in read if x.reshape(-1)[0] != ONE]))
        return [(ids, shape)]

    def _operands(self, xs: list[Any]) -> np.ndarray:
        return np.array(xs, dtype=int if xs[0].__class__ is int else float)

    def _shape(self, first: Ids | None, n: int) -> tuple[int, ...]:
        """The shape of the array that is read first, if all of it is read in its order."""
        if first is not None and len(set(self.array[first].tolist())) == 1:
            shape = self.shapes[self.array[first[0]]]
            if int(np.prod(shape)) == n and (self.place[first] == np.arange(n)).all():
                return shape
        return (n,)

    def _sum(self, columns: Any, shape: tuple[int, ...]) -> Callable[[list[Tensor]], Tensor]:
        def summed(tensors: list[Tensor]) -> Tensor:
            total: Any = None
            for c, p, q in columns:
                term: Any = None if p[0] == ONE else self.read(p.reshape(shape), tensors)
                if q[0] != ONE:
                    term = term * self.read(q.reshape(shape), tensors)
                weights = self._numbers(c.reshape(shape))
                term = _times(term, weights) if term is not None else weights
                total = term if total is None else total + term
            return self._to(shape, total)

        return summed

    def _op(self, row: Row, columns: Any, shape: tuple[int, ...]) -> Callable[[list[Tensor]], Tensor]:
        def op(tensors: list[Tensor]) -> Tensor:
            xs = [
                self.read(x.reshape(shape), tensors) if x.dtype.kind == "i" else self._numbers(x.reshape(shape))
                for x in columns
            ]
            return self._to(shape, record(row, *xs))

        return op

    def _kind(self, term: Term) -> tuple[int, int]:
        """Of a term: the arrays in which its factors stand; terms of one kind can be one array."""
        _, p, q = term
        return (-2 if p == ONE else -self.array[p], -2 if q == ONE else -self.array[q])

    # ---- where it is read

    def _order_leaves(self, free: int) -> None:
        """Give the free leaves their places: those that a table reads first, each of its matrices in a row."""
        turn = 0
        matrices = [ids for _, read in self.steps for ids in read]
        matrices.sort(key=lambda ids: ids.ndim < 2 or 1 in ids.shape)
        for ids in (*matrices, np.arange(self.form.size)):  # the last: an output may be a leaf
            for i in ids[self.array[ids] == free].tolist():
                if self.place[i] < 0:
                    self.place[i] = turn
                    turn += 1

    def __call__(self, inputs: list[Tensor], outs: list[Any]) -> Tensor:
        """The outputs as one vector (under `batch` the rows of a matrix), from the arrays of the inputs."""
        tensors = list(inputs)
        for step, _ in self.steps:
            tensors.append(step(tensors))
        numbers = {symbol: i for symbol, i in self.form.number.items() if symbol not in self.form.constants}
        constants = [self.form.constants.get(x, x) for x in outs if x not in numbers]
        if constants:
            tensors.append(Tensor(self._with_samples(np.array(constants, float))))
        self.array = np.append(self.array, np.full(len(constants), len(tensors) - 1))
        self.place = np.append(self.place, np.arange(len(constants)))
        turn = iter(range(self.form.size, self.form.size + len(constants)))
        ids = np.array([numbers[x] if x in numbers else next(turn) for x in outs])
        found = self.read(ids, tensors)
        return found.broadcast_to(ids.shape if self.samples is None else (len(ids), self.samples))

    def read(self, ids: Ids, tensors: list[Tensor]) -> Tensor:
        """The nodes as an array of the shape of `ids`, or one that broadcasts to it."""
        which = np.unique(self.array[ids])
        if len(which) == 1:
            return self._places(tensors[which[0]], self.place[ids])
        if ids.ndim == 2 and (self.array[ids] == self.array[ids[0]]).all():  # side by side
            cuts = [0, *(np.flatnonzero(np.diff(self.array[ids[0]])) + 1).tolist(), ids.shape[1]]
            if len(cuts) < 6:
                return self._joined(1, [self._whole(ids[:, i:j], tensors) for i, j in pairwise(cuts)])
        flat = [self._flat(tensors[k]) for k in which.tolist()]
        starts = np.zeros(len(tensors), int)
        starts[which] = np.cumsum([0, *(len(t) for t in flat[:-1])])
        return self._places(self._joined(0, flat), starts[self.array[ids]] + self.place[ids])

    def _whole(self, ids: Ids, tensors: list[Tensor]) -> Tensor:
        """The nodes as an array of the shape of `ids`."""
        return self._to(ids.shape, self.read(ids, tensors))

    def _to(self, shape: tuple[int, ...], a: Any) -> Tensor:
        return a.broadcast_to(shape if self.samples is None else (*shape, a.shape[-1]))

    def _joined(self, axis: int, parts: list[Tensor]) -> Tensor:
        if self.samples is not None:
            columns = max(part.shape[-1] for part in parts)
            parts = [part.broadcast_to((*part.shape[:-1], columns)) for part in parts]
        return record_many(arrays.concatenate(axis), parts)

    def _flat(self, a: Tensor) -> Tensor:
        return a.flatten() if self.samples is None else a.reshape(-1, a.shape[-1])

    def _numbers(self, numbers: np.ndarray) -> Any:
        """One number, where all are the same; else an array that goes with those of nodes."""
        first = numbers.reshape(-1)[0]
        if (numbers == first).all():
            return float(first)
        return self._with_samples(numbers)

    def _with_samples(self, numbers: np.ndarray) -> np.ndarray:
        return numbers if self.samples is None else numbers[..., None]

    def _places(self, a: Tensor, places: np.ndarray) -> Tensor:
        """The elements of a at these places of its flat form: a slice, where the places are evenly spaced."""
        columns_of_samples = () if self.samples is None else a.shape[-1:]
        if a.shape == (*places.shape, *columns_of_samples) and (places.reshape(-1) == np.arange(places.size)).all():
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
            return _slice(flat, start, rows, down).reshape(rows, 1, *columns_of_samples)
        if right == 1 and down == columns:
            return _slice(flat, start, rows * columns, 1).reshape(rows, columns, *columns_of_samples)
        if down == 1 and right == rows:
            return _slice(flat, start, rows * columns, 1).reshape(columns, rows, *columns_of_samples).swapaxes(0, 1)
        return record(take(places), flat)


def _slice(flat: Tensor, start: int, n: int, step: int) -> Tensor:
    if step == 0 or n == 1:
        return flat[start : start + 1]
    if (start, n, step) == (0, len(flat), 1):
        return flat
    if step == 1:
        return flat[start : start + n]
    return (
        flat[start : start + (n - 1) * step + 1 : step] if step > 0 else record(take(start + step * np.arange(n)), flat)
    )


def _step(line: np.ndarray) -> int | None:
    """The distance from each to the next, if it is always the same."""
    if len(line) == 1:
        return 0
    steps = np.diff(line)
    return int(steps[0]) if (steps == steps[0]).all() else None


def _times(a: Any, numbers: Any) -> Any:
    return a if numbers.__class__ is float and numbers == 1 else a * numbers
