"""Graphs may be large, and go when nobody holds them."""

from __future__ import annotations

import gc
import re
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from engine_helpers import over_kinds

import micrograd
from micrograd import Value, detect_anomaly, grad
from micrograd.common import collector

MILLION = 1_000_000


def long_chain() -> float:
    """The gradient at the far end of a chain of a million nodes, all of which are gone afterwards."""
    x = y = Value(1.0)
    for _ in range(MILLION):
        y = y + 1
    y.backward()
    return x.grad


def test_chain_of_a_million_nodes_works_even_with_the_small_stack_of_a_thread():
    assert sys.getrecursionlimit() < MILLION
    found = []
    thread = threading.Thread(target=lambda: found.append(long_chain()), daemon=True)
    thread.start()
    thread.join(timeout=120)
    assert found == [1.0]


def forward_only(x: Any) -> Any:
    return (x * 2 + 1).tanh().relu() ** 2 / x


def and_backward(x: Any) -> Any:
    y = forward_only(x)
    y.backward()
    return y


def and_hooked(x: Any) -> Any:
    y = forward_only(x)
    y.register_hook(lambda g: g)
    y.backward()
    return y


def and_looked_at(x: Any) -> Any:
    y = and_backward(x)
    y._prev, y._backward, y.grad_fn.next_functions, repr(y)
    return y


def and_failed(x: Any) -> Any:
    y = forward_only(x)
    y.register_hook(lambda g: 1 / 0)
    with suppress(ZeroDivisionError):
        y.backward()
    return y


def to_second_order(x: Any) -> Any:
    y = forward_only(x)
    (slope,) = grad(y, x, create_graph=True)
    slope.backward()
    return y + slope


def checked(x: Any) -> Any:
    with detect_anomaly():
        return and_backward(x)


@over_kinds
@pytest.mark.parametrize(
    "use", [forward_only, and_backward, and_hooked, and_looked_at, and_failed, to_second_order, checked]
)
def test_nodes_die_by_reference_count(kind: Callable, use: Callable, without_collector: None):
    y = use(kind(0.5))
    inner = y._prev[0] if y._prev else y  # a pass over Tensors lets its graph go
    watched = [weakref.ref(x) for node in (y, inner) for x in (node, getattr(node, "_node", node))]
    del y, inner
    assert [ref() for ref in watched] == [None] * 4


def test_letting_a_graph_go_frees_its_inner_nodes_while_the_root_lives(without_collector):
    y = Value(0.5) * 2
    inner = weakref.ref(y)
    root = y + 1
    del y
    root.backward(retain_graph=False)
    assert inner() is None


def test_every_cache_of_a_function_with_arguments_has_a_bound():
    unbounded = re.compile(r"@(?:functools\.)?cache\s+def \w+\((?!\))|maxsize=None|lru_cache\(None")
    sources = {path.name: path.read_text(encoding="utf-8") for path in Path(micrograd.__file__).parent.rglob("*.py")}
    assert [name for name, source in sources.items() if unbounded.search(source)] == []


def test_collector_is_paused_and_comes_back_once_it_is_wanted_again():
    with collector.without_collector():
        with collector.without_collector():
            pass
        assert not gc.isenabled()  # the outer pause goes on
    assert gc.isenabled()
