"""Threads may walk graphs that share leaves, and inner nodes, at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from engine_helpers import at_once

from micrograd import Value, backward, grad, no_grad
from micrograd.engine import walk
from micrograd.scalars.turns import turn_within

THREADS, PASSES = 4, 60
pytestmark = pytest.mark.usefixtures("impatient")


def many(f: Callable[[], object]) -> Callable[[], None]:
    def job() -> None:
        for _ in range(PASSES):
            f()

    return job


def test_totals_are_exact_where_threads_share_leaves():
    leaves = [Value(float(i)) for i in range(20)]

    def step() -> None:
        sum(leaf * 3 for leaf in leaves).backward()

    at_once(*[many(step)] * THREADS)
    assert [leaf.grad for leaf in leaves] == [3.0 * THREADS * PASSES] * 20


def test_totals_are_exact_where_threads_walk_the_very_same_graph():
    x, w = Value(3.0), Value(2.0)
    shared = x * w
    y = shared
    for _ in range(20):
        y = y + shared
    at_once(*[many(y.backward)] * THREADS)
    assert (x.grad, w.grad) == (42.0 * THREADS * PASSES, 63.0 * THREADS * PASSES)


def test_inner_grads_are_those_of_one_whole_pass():
    x = Value(3.0)
    shared = x * 2
    one, other = sum([shared] * 10), sum([shared] * 7)
    at_once(many(one.backward), many(other.backward))
    assert shared.grad in (10.0, 7.0)
    assert x.grad == 2 * (10.0 + 7.0) * PASSES


def test_totals_are_exact_where_roots_are_walked_from_different_sides():
    x = Value(1.0)
    base = x * 2
    left, right = base * 5, base + 1
    at_once(
        many(left.backward), many(right.backward), many(lambda: backward([left, right])), many(lambda: grad(left, x))
    )
    assert x.grad == (10.0 + 2.0 + 12.0) * PASSES


def test_totals_are_exact_with_hand_written_closures():
    x = Value(3.0)
    out = Value(9.0, (x,), "square")

    def _backward() -> None:
        x.grad += 2 * x.data * out.grad

    out._backward = _backward
    y = x * 5
    at_once(many(out.backward), many(out.backward), many(y.backward))
    assert x.grad == (6.0 + 6.0 + 5.0) * PASSES


def test_totals_are_exact_while_other_threads_fail():
    x = Value(3.0)
    good, bad = x * 5, x * 7

    def hook(g: float) -> None:
        raise KeyError

    bad.register_hook(hook)

    def failing() -> None:
        with pytest.raises(KeyError):
            bad.backward()

    at_once(many(good.backward), many(failing), many(good.backward))
    assert x.grad == 10.0 * PASSES


def test_hooks_may_come_and_go_while_other_threads_walk():
    x = Value(3.0)
    y = x * 2

    def come_and_go() -> None:
        other = Value(1.0)
        handle = other.register_hook(lambda g: g * 10)
        (other * 2).backward()
        handle.remove()
        assert other.grad == 20.0

    at_once(many(y.backward), many(come_and_go), many(come_and_go))
    assert x.grad == 2.0 * PASSES


def test_a_hook_runs_once_for_each_pass():
    x = Value(3.0)
    seen = []
    x.register_hook(seen.append)
    at_once(*[many((x * 2).backward)] * THREADS)
    assert seen == [2.0] * THREADS * PASSES


def test_modes_of_threads_do_not_meet():
    def quiet() -> None:
        with no_grad():
            assert not (Value(1.0) * 2).requires_grad
        assert (Value(1.0) * 2).requires_grad

    def loud() -> None:
        assert (Value(1.0) * 2).requires_grad

    at_once(many(quiet), many(loud), many(quiet), many(loud))


def test_second_order_passes_may_share_a_graph_too():
    x = Value(3.0)
    y = x**3

    def second() -> float:
        (first,) = grad(y, x, create_graph=True)
        return grad(first, x)[0]

    assert at_once(*[second] * THREADS) == [18.0] * THREADS


def test_a_pass_that_waits_in_vain_for_its_turn_says_why(monkeypatch):
    monkeypatch.setattr(walk, "turn", turn_within(0.3))
    x, inside, done = Value(3.0), threading.Event(), threading.Event()
    y = Value(9.0, (x,), "waits")
    y._backward = lambda: (inside.set(), done.wait(30))
    other = threading.Thread(target=y.backward)
    other.start()
    try:
        inside.wait(30)
        with pytest.raises(TimeoutError, match="take turns"):
            (x * 2).backward()
        assert x.grad == 0
    finally:
        done.set()
        other.join()
    (x * 2).backward()
    assert x.grad == 2.0


def test_an_error_of_a_hook_that_met_a_timeout_of_its_own_arrives():
    def hook(g: float) -> None:
        try:
            raise TimeoutError("of the hook")
        except TimeoutError:
            raise RuntimeError("of the hook too")  # noqa: B904

    x = Value(3.0)
    x.register_hook(hook)
    with pytest.raises(RuntimeError, match="of the hook too"):
        (x * 2).backward()
