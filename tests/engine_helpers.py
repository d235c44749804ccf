"""What several tests of the engine use."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import micrograd
from micrograd import Value
from micrograd.common.collector import without_collector
from micrograd.engine import walk
from micrograd.engine.modes import modes_on
from micrograd.scalars.hooks import hooked

# The two kinds of node, for laws that hold for both. The second is looked up when it is used, for it needs NumPy.
KINDS: dict[str, Callable] = {"Value": Value, "Tensor": lambda data: micrograd.Tensor(data, requires_grad=True)}
over_kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


class Boom(Exception):
    """Raised where users' code raises."""


def raising(error: BaseException) -> Callable:
    """A hook that raises."""

    def hook(g: float) -> None:
        raise error

    return hook


def square(x: Any) -> Any:
    """An op from outside, written as the classic's are, of a node of any class."""
    out = type(x)(x.data * x.data, (x,), "square")

    def _backward():
        x.grad += 2 * x.data * out.grad

    out._backward = _backward
    return out


def recorded() -> bool:
    """Is what is computed here recorded? Asked of the ops themselves."""
    return (Value(1.0) * 2).requires_grad


PATHS = ["numbers", "watched"]


@contextmanager
def walking(path: str) -> Iterator[None]:
    """A pass over plain numbers, alone or with a watcher that changes nothing."""
    if hooked or modes_on:
        gc.collect()  # tracebacks of failed passes may hold some
    assert not hooked, "a test has left a hook behind"
    assert not modes_on, "a test has left a mode behind"
    with pytest.MonkeyPatch.context() as patch:
        if path == "watched":
            patch.setattr(walk, "watchers", [lambda node, g: g])
        yield


def calls_of(function: Callable) -> int:
    """How many calls the function makes: what a pass costs, on any machine."""
    count = 0

    def counting(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    with without_collector():  # which calls what waits for the end of other tests' objects
        sys.setprofile(counting)
        try:
            function()
        finally:
            sys.setprofile(before)
    return count


def at_once(*jobs: Callable[[], object]) -> list[object]:
    """Run each job in a separate thread, all starting together; their results, or what they raised."""
    start = threading.Barrier(len(jobs))
    results: list[object] = [None] * len(jobs)

    def work(i: int) -> None:
        start.wait()
        try:
            results[i] = jobs[i]()
        except BaseException as error:
            results[i] = error

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    errors = [r for r in results if isinstance(r, BaseException)]
    if errors:
        raise errors[0]
    return results
