"""Tensors' graphs are large, go when nobody holds them, and are nobody else's: memory, threads, tasks."""

from __future__ import annotations

import sys
import tracemalloc
import weakref
from collections.abc import Callable

import numpy as np
import pytest
from engine_helpers import at_once

from micrograd import Tensor, grad, no_grad
from micrograd.tensor import arrays

X = np.arange(6.0).reshape(2, 3) / 6


def weights() -> Tensor:
    return Tensor(np.ones((3, 2)), requires_grad=True)


# ---------------------------------------------------------------------------------------------------------------------
# What a step does: each of these, many times


def train_in_place(w: Tensor) -> None:
    ((X @ w.T.T).relu() - 1).sum().backward()
    with no_grad():
        w -= 1e-6 * w.grad
    w.data -= 1e-6 * w.grad
    w.grad = None


def twice_differentiated(w: Tensor) -> None:
    (slope,) = grad((w**3).sum(), w, create_graph=True)
    grad(slope.sum(), w)


def views_and_writes(w: Tensor) -> None:
    y = w * 2
    y[0] = w[1]
    y += 1
    row = y[1]
    y[1] *= y[0]
    row = y[1]
    (row * y.T[:, 0]).sum().backward()
    y.T.detach()[0] = 3


def a_failing_pass(w: Tensor) -> None:
    y = w.exp()
    handle = y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    handle.remove()


def forward_alone(w: Tensor) -> None:
    arrays.concatenate(0)(w, (w * w).softmax(), w[:1])


STEPS = [train_in_place, forward_alone, twice_differentiated, views_and_writes, a_failing_pass]


def growth(step: Callable[[Tensor], None], times: int) -> int:
    """How many blocks of memory more the interpreter holds after so many steps than after a tenth of them."""
    w = weights()
    del [tuple([None] * n) for n in range(1, 20) for _ in range(2000)][:]  # fill the interpreter's store of tuples
    for _ in range(times // 10):
        step(w)
    before = sys.getallocatedblocks()
    for _ in range(times):
        step(w)
    return sys.getallocatedblocks() - before


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.usefixtures("without_collector")
def test_steps_leave_nothing_behind_without_the_collector(step: Callable[[Tensor], None]):
    assert min(growth(step, 500) for _ in range(2)) < 50  # once, an interpreter may fill stores of its own


# ---------------------------------------------------------------------------------------------------------------------
# Nodes die by reference count


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize(
    "end", [lambda held: held.clear(), lambda held: held[0].backward()], ids=["forgotten", "passed"]
)
def test_large_array_inside_of_a_graph_dies_with_the_graph_and_after_a_pass(end: Callable):
    x = Tensor(np.ones(1000), requires_grad=True)
    inner = x.exp()
    kept = weakref.ref(inner.data)
    held = [(inner * inner).sum()]
    del inner
    assert kept() is not None
    end(held)
    assert kept() is None


def test_op_whose_rule_needs_no_values_keeps_no_array_alive():
    x = Tensor(np.ones(1000), requires_grad=True)
    inner = x * 2
    kept = weakref.ref(inner.data)
    inner.data = np.zeros(1000)
    assert kept() is None


@pytest.mark.usefixtures("without_collector")
def test_views_die_and_the_base_can_be_changed_again():
    base = Tensor(np.ones((100, 2)), requires_grad=True) * 1
    views = [base[i] for i in range(100)]
    refs = [weakref.ref(view._node) for view in views]
    del views
    base += 1
    assert [r() for r in refs] == [None] * 100


def test_many_changes_in_place_die_without_recursion():
    y = Tensor(1.0, requires_grad=True) * 1
    for _ in range(20_000):
        y += 1
    y.backward()
    del y


def test_large_arrays_are_not_kept_by_the_gradient_of_a_view():
    x = Tensor(np.ones(4), requires_grad=True)
    x.broadcast_to((1000, 4)).sum().backward()
    assert x.grad.base is None
    assert x.grad.nbytes == 32


# ---------------------------------------------------------------------------------------------------------------------
# Threads and tasks


@pytest.mark.usefixtures("impatient")
def test_threads_that_make_views_of_one_base_lose_none_and_keep_none():
    w = weights()

    def job() -> None:
        for _ in range(100):
            (w.T[0] * w[:, 0]).sum().backward(inputs=[Tensor(1.0, requires_grad=True)])

    at_once(*[job] * 4)
    with no_grad():
        w += 1
    w.data -= 1
    np.testing.assert_array_equal(w.data, np.ones((3, 2)))


def test_gradient_that_many_send_to_is_summed_in_one_array():
    """Of a hundred parts the first two make an array, and the others are added to it."""
    w = Tensor(np.ones(200_000), requires_grad=True)
    xs = [Tensor(np.full(200_000, float(i))) for i in range(100)]
    loss = sum((w * x).sum() for x in xs)
    tracemalloc.start()
    loss.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * w.data.nbytes
    assert (w.grad == 4950).all()
