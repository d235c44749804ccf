"""Graphs may be large, and go when nobody holds them."""

from __future__ import annotations

import gc
import inspect
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest
from engine_helpers import Boom, over_kinds, square

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


def test_long_chain_of_hand_written_closures_works_too():
    x = y = Value(0.0)  # whose square is 0, and the square's slope too: so we add a path on which 1 comes back
    for _ in range(20_000):
        y = square(y) + x
    y.backward()
    assert x.grad == 1.0


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
    def hook(g: float) -> None:
        raise Boom

    y = forward_only(x)
    y.register_hook(hook)
    with suppress(Boom):
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


def test_parameter_does_not_keep_the_graphs_that_it_was_used_in(without_collector):
    x = Value(0.5)
    refs = [weakref.ref(and_backward(x)) for _ in range(3)]
    assert [ref() for ref in refs] == [None] * 3


def test_letting_a_graph_go_frees_its_inner_nodes_while_the_root_lives(without_collector):
    y = Value(0.5) * 2
    inner = weakref.ref(y)
    root = y + 1
    del y
    root.backward(retain_graph=False)
    assert inner() is None


def caches(thing: object, home: str) -> list:
    """The cached functions of a module of this name, or of a class in it."""
    found = []
    for x in vars(thing).values():
        x = getattr(x, "__func__", x)
        if hasattr(x, "cache_parameters"):
            found.append(x)
        elif inspect.isclass(x) and x.__module__ == home:
            found += caches(x, home)
    return found


MODULES = [name for _, name, _ in walk_packages(micrograd.__path__, "micrograd.") if "__main__" not in name]


@pytest.mark.parametrize("name", MODULES)
def test_every_cache_that_takes_arguments_has_a_bound(name):
    asked = [x for x in caches(import_module(name), name) if inspect.signature(x).parameters]
    assert [x.__qualname__ for x in asked if x.cache_parameters()["maxsize"] is None] == []


def test_collector_is_paused_and_comes_back_once_it_is_wanted_again():
    with collector.without_collector():
        with collector.without_collector():
            pass
        assert not gc.isenabled()  # the outer pause goes on
    assert gc.isenabled()
