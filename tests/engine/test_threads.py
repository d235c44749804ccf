"""Threads may walk graphs that share leaves, and inner nodes, at the same time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from engine_helpers import Boom, at_once, raising, square

from micrograd import Value, backward, grad

THREADS, PASSES = 4, 60
pytestmark = pytest.mark.usefixtures("impatient")


def many(f: Callable[[], object]) -> Callable[[], None]:
    def job() -> None:
        for _ in range(PASSES):
            f()

    return job


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


# What threads do to a leaf at the same time, and what all of it adds to its gradient, once each
TOTALS: dict[str, tuple[Callable[[Value], list[Callable]], float]] = {
    "a leaf in graphs of their own": (lambda x: [lambda: (x * 3).backward()] * THREADS, 3.0 * THREADS),
    "the very same graph": (lambda x: [sum([x * 2] * 20).backward] * THREADS, 40.0 * THREADS),
    "hand-written closures": (lambda x: [square(x).backward] * 2 + [(x * 5).backward], 17.0),
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
