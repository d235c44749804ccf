"""Optimizers with `reduce=`: several workers, each with a share of the batch, take the steps of one process."""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from micrograd import Value
from micrograd.optim import SGD, Adam, AdamW, clip_grad_norm
from micrograd.tensor import Tensor

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((12, 3)), RNG.standard_normal((12, 1))
KINDS = [(SGD, {"lr": 0.1, "momentum": 0.9}), (Adam, {"lr": 0.1}), (AdamW, {"lr": 0.1, "weight_decay": 0.1})]


def arrays():
    """A small network of Tensors, and a function from a share of the samples to its part of the mean loss."""
    rng = np.random.default_rng(1)
    w, v = (Tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((3, 4), (4, 1)))
    return [w, v], lambda rows: (((X[rows] @ w).tanh() @ v - Y[rows]) ** 2).sum() / len(X)


def numbers():
    """A line through the same samples, in Values."""
    w = [Value(x) for x in (0.5, -1.0, 2.0)]
    return w, lambda rows: sum((sum(a * b for a, b in zip(w, X[i], strict=True)) - Y[i, 0]) ** 2 for i in rows) / len(X)


def both():
    """An array and a number among the parameters."""
    w, scale = Tensor(np.ones((3, 1)), requires_grad=True), Value(0.5)

    def loss(rows):
        error = X[rows] @ w - Y[rows]
        return (error * error).sum() / len(X), (scale - 2.0) ** 2 * (len(rows) / len(X))

    return [w, scale], loss


def backward(loss):
    for part in loss if isinstance(loss, tuple) else (loss,):
        part.backward()


def data_of(params):
    return [p.data if isinstance(p, Value) else p.detach().numpy().copy() for p in params]


def on_workers(n, work):
    """What work(rank, total) returns on each of n threads; total sums an array over them, in the order of ranks."""
    barrier, flats = threading.Barrier(n, timeout=30), [None] * n

    def worker(rank):
        def total(flat):
            flats[rank] = flat
            barrier.wait()
            answer = sum(flats)
            barrier.wait()
            return answer

        return work(rank, total)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(worker, range(n)))


def trained(make, kind, settings, rows, total=None, steps=20, limit=None):
    params, loss = make()
    optimizer = kind(params, **settings, reduce=total)
    for _ in range(steps):
        optimizer.zero_grad()
        backward(loss(rows))
        if limit is not None:
            optimizer.reduce()
            clip_grad_norm(params, limit)
        optimizer.step()
    return data_of(params)


@pytest.mark.parametrize("limit", [None, 0.3])
@pytest.mark.parametrize(("kind", "settings"), KINDS)
@pytest.mark.parametrize("make", [arrays, numbers, both])
def test_shares_of_unequal_size_on_three_workers_give_the_steps_of_one(make, kind, settings, limit):
    alone = trained(make, kind, settings, range(12), limit=limit)
    shares = [range(7), range(7, 11), range(11, 12)]
    found = on_workers(3, lambda rank, total: trained(make, kind, settings, shares[rank], total, limit=limit))
    for params in found:
        for p, first, expected in zip(params, found[0], alone, strict=True):
            assert np.array_equal(p, first)
            assert p == pytest.approx(expected, rel=1e-11, abs=1e-11)


def seen_by(params, result=lambda flat: flat):
    """An optimizer of the parameters whose `reduce` notes what it was called with."""
    seen = []
    return SGD(params, lr=1.0, reduce=lambda flat: (seen.append(flat.copy()), result(flat))[1]), seen


def test_all_gradients_come_as_one_array_once_a_step():
    a, b, c = Tensor(np.ones((2, 2)), requires_grad=True), Value(1.0), Tensor(2.0, requires_grad=True)
    optimizer, seen = seen_by([a, b, c])
    a.grad, b.grad, c.grad = np.array([[1.0, 2.0], [3.0, 4.0]]), 5.0, np.array(6.0)
    optimizer.step()
    assert [(flat.shape, flat.tolist()) for flat in seen] == [((6,), [1, 2, 3, 4, 5, 6])]
    assert (a.tolist(), b.data, c.item()) == ([[0.0, -1.0], [-2.0, -3.0]], -4.0, -4.0)


def test_parameter_without_a_gradient_counts_as_zeros_and_takes_the_others_sum():
    a, b = Tensor(np.ones(2), requires_grad=True), Value(1.0)
    answer = np.ones(3)
    optimizer, seen = seen_by([a, b], lambda flat: answer)
    optimizer.reduce()
    answer[:] = 9.0  # memory that the function uses again
    optimizer.step()
    assert seen[0].tolist() == [0.0, 0.0, 0.0]
    assert (a.tolist(), b.data) == ([0.0, 0.0], 0.0)


@pytest.mark.parametrize(("kinds", "wide"), [(["f4"], "f4"), (["f4", "f8"], "f8"), (["f2", "f4"], "f4")])
def test_gradients_travel_in_the_widest_dtype_and_come_back_in_their_own(kinds, wide):
    params = [Tensor(np.ones(2), dtype=kind, requires_grad=True) for kind in kinds]
    optimizer, seen = seen_by(params)
    for p in params:
        p.grad = np.full(2, 0.5, p.dtype)
    optimizer.reduce()
    assert seen[0].dtype == wide
    assert [p.grad.dtype for p in params] == kinds


def test_gradients_that_are_nodes_are_sent_as_numbers():
    x, t = Value(3.0), Tensor([3.0], requires_grad=True)
    optimizer, seen = seen_by([x, t])
    (x * x).backward(create_graph=True)
    (t * t).sum().backward(create_graph=True)
    optimizer.step()
    assert seen[0].tolist() == [6.0, 6.0]
    assert (x.data, t.tolist()) == (-3.0, [-3.0])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "3 floats in one dimension; found None, which a function without `return` returns"),
        (np.zeros(2), r"found an array of shape \(2,\) and dtype float64"),
        (np.zeros((3, 1)), r"found an array of shape \(3, 1\)"),
        (np.zeros(3, int), "dtype int64"),
        (np.zeros(3, complex), "dtype complex128"),
        ("sum", "dtype <U3"),
    ],
)
def test_reduce_that_gives_no_sum_of_the_gradients_is_refused_and_changes_nothing(answer, message):
    a, b = Tensor(np.ones(2), requires_grad=True), Value(1.0)
    a.grad, b.grad = np.full(2, 0.5), 0.25
    optimizer = Adam([a, b], reduce=lambda flat: answer)
    with pytest.raises(ValueError, match=message):
        optimizer.step()
    assert (a.grad.tolist(), b.grad, a.tolist(), b.data) == ([0.5, 0.5], 0.25, [1.0, 1.0], 1.0)
    assert list(optimizer.state.values()) == [{}, {}]


@pytest.mark.parametrize("total", [None, lambda flat: 2 * flat])
def test_gradient_is_reduced_once_a_step_and_a_second_time_raises(total):
    x = Value(1.0)
    optimizer = SGD([x], lr=0.0, reduce=total)
    for again in (optimizer.zero_grad, optimizer.step):
        optimizer.reduce()
        with pytest.raises(RuntimeError, match="reduced already: call zero_grad"):
            optimizer.reduce()
        again()
    optimizer.reduce()


def test_state_says_nothing_of_the_workers_and_a_copy_trains_copies():
    x = Value(1.0)
    alone, together = Adam([x]), Adam([x], reduce=lambda flat: flat)
    assert together.state_dict() == alone.state_dict()
    assert repr(together) == repr(alone)
    together.load_state_dict(alone.state_dict())
    together.reduce()
    twin = copy.deepcopy(together)
    with pytest.raises(RuntimeError, match="reduced already"):
        twin.reduce()
    twin.params[0].grad = 1.0
    twin.step()
    assert twin.params[0].data < x.data == 1.0
