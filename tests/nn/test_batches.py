"""`batches`: every sample once, shuffled, in equal shares for all workers."""

import numpy as np
import pytest

from micrograd.nn.batches import batches
from micrograd.tensor import Tensor
from micrograd.tensor.randomness import generator, manual_seed


def test_batches_are_every_sample_once_in_step_and_shuffled():
    x, y = np.arange(10), np.arange(10) * 2
    parts = list(batches(x, y, size=4, rng=np.random.default_rng(0)))
    assert [len(a) for a, _ in parts] == [4, 4, 2]
    assert all((b == 2 * a).all() for a, b in parts)
    order = [int(i) for a, _ in parts for i in a]
    assert sorted(order) == [*range(10)] != order


def test_batches_follow_the_generator_and_the_seed_of_the_package():
    def order(**kwargs):
        return [x.tolist() for (x,) in batches(np.arange(20), size=7, **kwargs)]

    a, b = (order(rng=np.random.default_rng(4)) for _ in range(2))
    manual_seed(1)
    first = order()
    assert order() != first
    manual_seed(1)
    assert order() == first
    assert a == b != first
    assert generator() is generator()


def test_batches_of_tensors_keep_their_gradients():
    ((x,),) = batches(Tensor([[1.0], [2.0]], requires_grad=True), size=10)
    assert x.requires_grad


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_shares_of_all_workers_make_up_each_batch(workers):
    samples = np.arange(23)

    def of(share):
        return list(batches(samples, samples * 2, size=10, rng=np.random.default_rng(0), share=share))

    for whole, *parts in zip(of((0, 1)), *(of((rank, workers)) for rank in range(workers)), strict=True):
        for i in (0, 1):
            assert np.concatenate([part[i] for part in parts]).tolist() == whole[i].tolist()
        sizes = [len(part[0]) for part in parts]
        assert max(sizes) - min(sizes) <= 1
        assert {part.whole for part in parts} == {len(whole[0])}


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: batches(size=2), ValueError, "needs at least one array"),
        (lambda: batches([1, 2], [1], size=2), ValueError, "the arrays have 2, 1 samples"),
        (lambda: batches([1, 2], size=0), ValueError, "at least 1; found 0"),
        (lambda: batches([1, 2], size=1.5), ValueError, "found 1.5"),
        (lambda: batches(np.array(1.0), size=1), ValueError, "samples along its first axis"),
        (lambda: batches([1, 2], size=1, rng=7), TypeError, "rng must be a NumPy Generator"),
        (lambda: batches([1, 2], size=1, share=(2, 2)), ValueError, r"there is no share \(2, 2\): workers are"),
        (lambda: batches([1, 2], size=1, share=(-1, 2)), ValueError, "numbered from 0"),
        (lambda: batches([1, 2], size=1, share=(0, 0)), ValueError, "numbered from 0"),
        (lambda: batches([1, 2], size=1, share=(0.0, 2)), TypeError, "share= takes"),
        (lambda: batches([1, 2], size=1, share=2), TypeError, "the number of workers.*, found 2"),
        (lambda: batches([1, 2], size=1, share=None), TypeError, "share= takes"),
    ],
)
def test_wrong_batches_are_refused_at_the_call(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


# ---------------------------------------------------------------------------------------------------------------------
# Kinds of argument: rows, or a refusal


class Table:
    """As a table of pandas: to iterate over it gives the names of the columns, to index it a column."""

    def __init__(self, **columns):
        self.columns = columns

    def __iter__(self):
        return iter(self.columns)

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name):
        return self.columns[name]

    def to_numpy(self):
        return np.stack([np.asarray(column) for column in self.columns.values()], axis=1)


class TableWithProtocol(Table):
    """Which NumPy converts by itself too."""

    def __array__(self, dtype=None, copy=None):
        return self.to_numpy()


class Column:
    """As a column of pandas with labels of its own: an index means a label."""

    def __init__(self, *numbers):
        self.labels = {10 * i: x for i, x in enumerate(numbers)}

    def __iter__(self):
        return iter(self.labels.values())

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, label):
        return self.labels[label]

    def to_numpy(self):
        return np.array([*self.labels.values()])


class OnlyProtocol:
    """An array of another library."""

    def __array__(self, dtype=None, copy=None):
        return np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        (Table(x=[1.0, 3.0, 5.0], y=[2.0, 4.0, 6.0]), ROWS),
        (TableWithProtocol(x=[1.0, 3.0, 5.0], y=[2.0, 4.0, 6.0]), ROWS),
        (Column(1.0, 2.0, 3.0), [1.0, 2.0, 3.0]),
        (OnlyProtocol(), ROWS),
        (ROWS, ROWS),
        (tuple(map(tuple, ROWS)), ROWS),
        (range(3), [0, 1, 2]),
        (b"abc", [97, 98, 99]),
    ],
)
def test_batches_of_a_table_are_its_rows(given, rows):
    found = {i: row.tolist() for x, y in batches(given, np.arange(3), size=2) for row, i in zip(x, y, strict=True)}
    assert [found[i] for i in range(3)] == rows


def test_batches_of_pytorchs_tensors_are_their_rows():
    torch = pytest.importorskip("torch")
    ((batch,),) = batches(torch.tensor(ROWS), size=3)
    assert sorted(batch.tolist()) == ROWS


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": [1.0], "y": [2.0]}, "found dict: make a list of its samples"),
        ({1.0, 2.0}, "found set: make a list of its samples"),
        (frozenset({1.0}), "found frozenset: make a list"),
        ({1: 2}.keys(), "found dict_keys: make a list"),
        ((x for x in (1.0, 2.0)), "found generator: make a list of its samples"),
        (iter([1.0]), "found list_iterator: make a list"),
        (map(float, "12"), "found map: make a list"),
        (zip([1.0], [2.0], strict=True), "found zip: make a list"),
    ],
)
def test_what_has_no_rows_in_order_is_refused(given, message):
    with pytest.raises(TypeError, match=message):
        batches(given, size=2)
