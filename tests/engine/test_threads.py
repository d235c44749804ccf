"""Threads may walk graphs that share leaves, and inner nodes, at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import pytest
from engine_helpers import Boom, at_once, raising

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


def closure(x: Value) -> Value:
    """An op of the user's own, whose slope is 6."""
    out = Value(9.0, (x,), "mine")

    def _backward() -> None:
        x.grad += 6 * out.grad

    out._backward = _backward
    return out


def failing(x: Value) -> None:
    y = x * 7
    y.register_hook(raising(Boom()))
    with pytest.raises(Boom):
        y.backward()


def hooks_that_come_and_go(x: Value) -> None:
    other = Value(1.0)
    handle = other.register_hook(lambda g: g * 10)
    (other * 2).backward()
    handle.remove()
    assert other.grad == 20.0


def many_paths(x: Value) -> Value:
    inner = x * 2
    return sum([inner] * 20)


# What threads do to a leaf at the same time, and what all of it adds to its gradient, once each
TOTALS: dict[str, tuple[Callable[[Value], list[Callable]], float]] = {
    "a leaf in graphs of their own": (lambda x: [lambda: (x * 3).backward()] * THREADS, 3.0 * THREADS),
    "the very same graph": (lambda x: [many_paths(x).backward] * THREADS, 40.0 * THREADS),
    "hand-written closures": (lambda x: [closure(x).backward] * 2 + [(x * 5).backward], 17.0),
    "others that fail": (lambda x: [(x * 5).backward, partial(failing, x), (x * 5).backward], 10.0),
    "hooks that come and go": (lambda x: [(x * 2).backward] + [partial(hooks_that_come_and_go, x)] * 2, 2.0),
}


@pytest.mark.parametrize(("jobs", "total"), TOTALS.values(), ids=TOTALS)
def test_totals_are_exact_where_threads_share(jobs: Callable[[Value], list[Callable]], total: float):
    x = Value(3.0)
    at_once(*map(many, jobs(x)))
    assert x.grad == total * PASSES


def test_totals_are_exact_where_roots_are_walked_from_different_sides():
    x = Value(1.0)
    base = x * 2
    left, right = base * 5, base + 1
    at_once(
        many(left.backward), many(right.backward), many(lambda: backward([left, right])), many(lambda: grad(left, x))
    )
    assert x.grad == (10.0 + 2.0 + 12.0) * PASSES


def test_inner_grads_are_those_of_one_whole_pass():
    x = Value(3.0)
    shared = x * 2
    one, other = sum([shared] * 10), sum([shared] * 7)
    at_once(many(one.backward), many(other.backward))
    assert shared.grad in (10.0, 7.0)
    assert x.grad == 2 * (10.0 + 7.0) * PASSES


def test_hook_runs_once_for_each_pass():
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


def test_pass_that_waits_in_vain_for_its_turn_says_why(monkeypatch):
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


def test_error_of_a_hook_that_met_a_timeout_of_its_own_arrives():
    def hook(g: float) -> None:
        try:
            raise TimeoutError("of the hook")
        except TimeoutError:
            raise RuntimeError("of the hook too")  # noqa: B904

    x = Value(3.0)
    x.register_hook(hook)
    with pytest.raises(RuntimeError, match="of the hook too"):
        (x * 2).backward()
