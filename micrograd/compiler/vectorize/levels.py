"""Levels: a graph of many scalars becomes a few array operations, and its sums of products become matrix products.

A level is a list of nodes of one operation (an op, a sum, a dot product) whose operands are known. It becomes a few
array operations:

    tables      dot products that pair every list of left factors with every list of right factors are a product of two
                matrices: the scores of all neurons of a layer, for all samples, are one `@`
    rows        other dot products are the rows of two matrices, which are multiplied; shorter rows end with zeros
    groups      other sums, and equal ops, are one operation on whole arrays, if their operands are stored in the same
                arrays, or in small arrays

Under `batch` each node is a row of an array, with a column for each sample, or a single column if all samples share it:
the scores of a layer are again one `@`, of its weights and the samples' columns.

The result is a function of Tensors, which is traced and differentiated like one that a user wrote. For

    [relu(w0 * x0 + w1 * x1 + b) for x0, x1 in samples for w0, w1, b in neurons]

it computes `relu(x @ w.T + b)`. Leaves (parameters) may be stored in any order, chosen so that what is read together is
a slice.

>>> from ..api import compile
>>> from ...engine import Value
>>> neurons = [[Value(1.0), Value(2.0), Value(0.5)], [Value(3.0), Value(4.0), Value(-0.5)]]
>>> def layer(samples):
...     return [(w0 * x0 + w1 * x1 + b).relu() for x0, x1 in samples for w0, w1, b in neurons]
>>> f = compile(layer, scalars=True, backend="numpy")
>>> f(np.ones((3, 2)))[:2]
[Value(data=3.5, grad=0), Value(data=6.5, grad=0)]
>>> print(*[line.strip() for line in f.source.splitlines() if "@ " in line])
t1 = np.maximum(samples.reshape(3, 2) @ p[0:4].reshape(2, 2).T + p[4:6], 0.0).reshape(6)  # (6,)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import chain, starmap
from math import gcd, prod
from operator import mul
from typing import Any

from ...tensor.optional import Tensor, np, record
from ..symbols import Symbol
from .array_slots import Ids, Places
from .sums_of_products import ONE, NormalForm, Term, constant

Dot = tuple[tuple[tuple[float, int], ...], tuple[int, ...], int]  # the left factors, the right factors, the node
SMALL = 512  # to join arrays of at most this many elements takes less time than an operation on each


class Levels:
    """The plan: which nodes are computed together, and the matrices of nodes that they read.

    Args:
        form: the graph.
        blocks: the Symbols of the inputs that arrive in arrays, by element; None for an element that nothing reads.
        free: the inputs of the last array. The plan chooses their order, and stores it in `free`.
        samples: their number, under `batch`.
    """

    def __init__(
        self, form: NormalForm, blocks: Sequence[Sequence[Any]], free: Sequence[Symbol], samples: int | None = None
    ):
        self.form = form
        self.at: Places = Places(form.size, samples)
        self.steps: list[tuple[Callable[[], Tensor], list[Ids]]] = []  # each with the matrices that it reads
        self._filler: int | None = None  # the node for the number 0, if one is needed
        number = form.number
        for block in blocks:
            self.at.put(np.array([number.get(symbol, ONE) for symbol in block], int), (len(block),))
        self.at.array[np.array([number[symbol] for symbol in free], int)] = len(blocks)
        self.at.shapes.append((len(free),))
        for level in self._levels():
            self._level(level)
        self._order_leaves(len(blocks))
        self.free: list[Symbol] = sorted(free, key=lambda symbol: self.at.place[number[symbol]])

    def _levels(self) -> Iterator[list[int]]:
        """The nodes of one operation that are computed together, each list after the lists that it reads.

        Of the operations with a node that is ready, the one that is farthest from the outputs comes first. So ragged
        data meet, since the part with less work waits for the part with more.
        """
        below, missing = [0] * self.form.size, [0] * self.form.size
        users: dict[int, list[int]] = defaultdict(list)
        ready: dict[Any, list[int]] = defaultdict(list)
        operations: dict[int, Any] = {}
        for i, operation, operands in self._nodes():
            for x in operands:
                users[x].append(i)
            missing[i], operations[i] = len(operands), operation
            if not operands:
                ready[operation].append(i)
        for i in reversed(operations):
            below[i] = 1 + max([below[x] for x in users[i]], default=0)
        while ready:
            farthest = max(ready, key=lambda operation: max(below[i] for i in ready[operation]))
            yield (nodes := sorted(ready.pop(farthest)))
            for user in chain.from_iterable([users[i] for i in nodes]):
                missing[user] -= 1
                if not missing[user]:
                    ready[operations[user]].append(user)

    def _nodes(self) -> Iterator[tuple[int, Any, set[int]]]:
        """Each node with its operation, and with its operands that are computed too. Operands come first."""
        form, leaves = self.form, len(self.form.leaves)

        def read(terms: list[Term]) -> set[int]:
            return {x for _, p, q in terms for x in (p, q) if x >= leaves}

        for i in range(leaves, form.nodes):
            if i in form.ops:
                row, xs = form.ops[i]
                yield i, row, {x for x in xs if x.__class__ is int and x >= leaves}
            elif i in form.sums:
                for _, p, _ in form.sums[i]:
                    if p in form.dots:
                        yield p, ("dot", form.dots[p][0][1] < leaves), read(form.dots[p])
                yield i, "sum", read(form.sums[i])

    def _level(self, nodes: list[int]) -> None:
        """Plan one level: its dot products, sums and ops."""
        form, at = self.form, self.at
        dots: dict[Any, dict[Any, int]] = defaultdict(dict)
        rest: dict[Any, list[int]] = defaultdict(list)
        twins: list[tuple[int, int]] = []
        for i in nodes:
            if i in form.dots:
                terms = form.dots[i]
                left, right = tuple([(c, p) for c, p, _ in terms]), tuple([q for _, _, q in terms])
                twins.append((i, dots[left].setdefault(right, i)))
            elif i in form.sums:
                form.sums[i].sort(key=self._stores)
                rest[("sum", *((self._store(p), self._store(q)) for _, p, q in form.sums[i]))].append(i)
            else:
                row, xs = form.ops[i]
                rest[(row, *(self._store(x) if x.__class__ is int else None for x in xs))].append(i)
        for ids, shape in chain(self._tables(dots), starmap(self._group, rest.items())):
            at.put(ids, shape)
        for i, twin in twins:
            at.array[i], at.place[i] = at.array[twin], at.place[twin]

    def _stores(self, term: Term) -> tuple[int, int]:
        """The arrays that store a term's factors. Terms with the same can form one array."""
        _, p, q = term
        return (-2 if p == ONE else -self.at.array[p], -2 if q == ONE else -self.at.array[q])

    def _store(self, x: int) -> int:
        """The array that stores a node; -1 for any small array, since these are joined to be read."""
        k = -2 if x == ONE else int(self.at.array[x])
        return -1 if k >= 0 and self.at.samples is None and prod(self.at.shapes[k]) <= SMALL else k

    # ---- from a level to array operations

    def _tables(self, dots: dict[Any, dict[Any, int]]) -> Iterator[tuple[Ids, tuple[int, ...]]]:
        """Dot products. Lists of left factors that meet the same lists of right factors form a table."""
        alike: dict[Any, list[Any]] = defaultdict(list)
        for left, rights in dots.items():
            alike[all(p == ONE for _, p in left), *rights].append(left)
        single: dict[Any, list[Dot]] = defaultdict(list)
        for (plain, *rights), lefts in alike.items():
            full = len(lefts) > 1 and (len(rights) > 1 or self.at.samples is not None)
            size, alone = len(lefts) * len(rights) * len(rights[0]), 32 if self.at.samples is None else 4
            large = size > 128 and not (plain and len(lefts) == 1)  # such as one neuron's scores of many samples
            if full or large or (not plain and size == len(rights[0]) > alone):
                yield self._table(dots, plain, lefts, rights)
            else:
                for left in lefts:
                    coefficients = tuple(c for c, _ in left)
                    different = coefficients[:1] if len({*coefficients}) == 1 else coefficients
                    single[plain, different] += [(left, right, dots[left][right]) for right in rights]
        for (plain, _), members in single.items():
            for similar in _of_similar_length(members):
                yield self._rows(plain, similar)

    def _table(self, dots: Any, plain: bool, lefts: list[Any], rights: list[Any]) -> tuple[Ids, tuple[int, ...]]:
        ids = np.array([[dots[left][right] for left in lefts] for right in rights])
        left = np.array([[p for _, p in left] for left in lefts])
        right, weights = np.array(rights), np.array([[c for c, _ in left] for left in lefts])
        at, alone = self.at, ids.size == 1
        # The elements of the table are in creation order
        turned = bool(ids.shape[0] > 1 and ids.shape[1] > 1 and ids[1, 0] < ids[0, 1])
        if turned:
            ids = ids.T

        def table() -> Tensor:
            order = np.lexsort((at.place[right[0]], at.array[right[0]])) if alone else slice(None)
            numbers, b = at.numbers(weights[:, order]), at.whole(right[:, order])
            if plain:
                a: Any = Tensor(at.constants(weights))
            elif numbers.__class__ is float:
                a = at.whole(left[:, order])
            else:
                a = at.whole(left[:, order]) * numbers
            out = self._product(a, b) if turned else self._product(b, a)
            return out * numbers if numbers.__class__ is float and not plain else out

        self.steps.append((table, [right] if plain else [right, left] if turned else [left, right]))
        return ids.copy(), ids.shape

    def _product(self, a: Tensor, b: Tensor) -> Tensor:
        """For each row of a and each of b, the sum of their products; under `batch`, for each sample."""
        if self.at.samples is None:
            return a @ b.transpose()
        (m, k, of_a), (n, _, of_b) = a.shape, b.shape
        if of_a == of_b == 1:
            return (a.reshape(m, k) @ b.reshape(n, k).transpose()).reshape(m, n, 1)
        if of_a == 1:
            return self._product(b, a).transpose(1, 0, 2)
        if of_b == 1 and m == 1:
            return (b.reshape(n, k) @ a.reshape(k, of_a)).reshape(1, n, of_a)
        return b.reshape(n, k) @ a if of_b == 1 else (a.reshape(m, 1, k, of_a) * b.reshape(1, n, k, of_b)).sum(2)

    def _rows(self, plain: bool, members: list[Dot]) -> tuple[Ids, tuple[int, ...]]:
        """Dot products that form no table: factors in two matrices, multiplied and summed along the rows.

        Shorter rows are filled up with zeros. The longest dot product comes last.
        """
        longest = members[-1][0]
        weights = np.array([c for c, _ in longest])
        zero = len(longest) > len(members[0][0]) and self._zero()
        left = np.array([[p for _, p in left] + [zero] * (len(longest) - len(left)) for left, _, _ in members])
        right = np.array([[*right] + [zero] * (len(longest) - len(right)) for _, right, _ in members])

        def rows() -> Tensor:
            terms = self.at.read(right)
            if not plain:
                terms = terms * self.at.read(left)
            terms = self.at.fill(right.shape, terms)
            return terms @ weights if self.at.samples is None else (terms * self.at.constants(weights)).sum(1)

        self.steps.append((rows, [right] if plain else [left, right]))
        return np.array([i for _, _, i in members]), (len(members),)

    def _zero(self) -> int:
        """A node for the number 0."""
        if self._filler is None:
            self._filler = int(self.at.add(1)[0])
            self.steps.append((lambda: Tensor(self.at.constants(np.zeros(1))), []))
        return self._filler

    def _group(self, key: Any, members: list[int]) -> tuple[Ids, tuple[int, ...]]:
        """Sums of the same arrays, or the same op on them: one operation on whole arrays."""
        row, ids = key[0], np.array(members)
        if row == "sum":  # each term has three columns, its coefficients and factors
            terms = [[x for term in self.form.sums[i] for x in term] for i in members]
        else:
            terms = [self.form.ops[i][1] for i in members]
        columns = [np.array(column) for column in zip(*terms, strict=True)]
        read = [k for k, x in enumerate(columns) if x.dtype.kind == "i" and x[0] != ONE]
        if read:
            # The nodes are in the order of their operands in memory
            order = np.lexsort((self.at.place[columns[read[0]]], self.at.array[columns[read[0]]]))
            ids, columns = ids[order], [x[order] for x in columns]
        shape = self._shape(columns[read[0]] if read else None, len(ids))
        columns = [x.reshape(shape) for x in columns]

        def step() -> Tensor:
            out = self._sum(columns) if row == "sum" else record(row, *map(self.at.operand, columns))
            return self.at.fill(shape, out)

        self.steps.append((step, [columns[k] for k in read]))
        return ids, shape

    def _sum(self, columns: list[np.ndarray]) -> Any:
        total: Any = None
        for number, p, q in zip(map(self.at.operand, columns[::3]), columns[1::3], columns[2::3], strict=True):
            factors = [self.at.read(x) for x in (p, q) if x.flat[0] != ONE]
            term = reduce(mul, [*factors, number])  # the number is last, as in most functions
            total = term if total is None else total + term
        return total

    def _shape(self, first: Ids | None, n: int) -> tuple[int, ...]:
        """The shape of the array read first, if all of it is read in order; else one row for each run of neighbours."""
        if first is None or len(set(self.at.array[first].tolist())) > 1:
            return (n,)
        shape = self.at.shapes[self.at.array[first[0]]]
        if int(np.prod(shape)) == n and (self.at.place[first] == np.arange(n)).all():
            return shape
        place = np.where(self.at.place[first] < 0, first, self.at.place[first])  # the place of a leaf is chosen later
        apart = np.diff(place)
        run = gcd(n, *(np.flatnonzero(apart != apart[:1]) + 1).tolist())
        return (n // run, run) if 1 < run < n else (n,)

    # ---- the order of the leaves, and the run

    def _order_leaves(self, free: int) -> None:
        """Choose the places of the free leaves. The matrices that a table reads come first, and are contiguous."""
        place = 0
        matrices = [ids for _, read in self.steps for ids in read]
        matrices.sort(key=lambda ids: ids.ndim < 2 or 1 in ids.shape)
        # All nodes come last, because an output may be a leaf that no step reads
        for ids in (*matrices, np.arange(self.form.size)):
            for i in ids[self.at.array[ids] == free].tolist():
                if self.at.place[i] < 0:
                    self.at.place[i] = place
                    place += 1

    def __call__(self, inputs: list[Tensor], outs: list[Any]) -> Tensor:
        """The outputs as one vector (under `batch`, the rows of a matrix), from the input arrays."""
        self.at.tensors = list(inputs)
        for step, _ in self.steps:
            self.at.tensors.append(step())
        nodes = [self.form.number[x] if x.__class__ is Symbol else constant(x) for x in outs]
        constants = [x for x in nodes if x.__class__ is float]
        constant_ids = iter(self.at.put_more(np.array(constants)) if constants else ())
        ids = np.array([next(constant_ids) if x.__class__ is float else x for x in nodes])
        out = self.at.read(ids)
        self.at.tensors, self.steps = [], []  # a trace treats nodes that no longer exist as constants
        return out.broadcast_to(ids.shape if self.at.samples is None else (len(ids), self.at.samples))


def _of_similar_length(dots: list[Dot]) -> Iterator[list[Dot]]:
    """The dot products in groups, from short to long. As rows of one length, each group is at least half full."""
    group: list[Dot] = []
    terms = 0
    for dot in sorted(dots, key=lambda dot: len(dot[0])):
        n = len(dot[0])
        if group and (len(group) + 1) * n > 2 * (terms + n):
            yield group
            group, terms = [], 0
        group.append(dot)
        terms += n
    yield group
