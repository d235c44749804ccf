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
