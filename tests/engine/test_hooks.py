"""Hooks: what they see, what they may change, in which order they run."""

from __future__ import annotations

import threading

import pytest
from engine_helpers import calls_of, raising

import micrograd
from micrograd import Value, grad, no_grad
from micrograd.engine import walk


@pytest.mark.parametrize("place", ["leaf", "inner", "root"])
def test_a_hook_sees_the_complete_gradient_of_this_pass(place: str):
    seen = []
    x = Value(3.0)
    y = x * 2
    z = y * y + y
    {"leaf": x, "inner": y, "root": z}[place].register_hook(seen.append)
    z.backward()
    z.backward()
    assert seen == [{"leaf": 26.0, "inner": 13.0, "root": 1.0}[place]] * 2


KINDS = {"value": Value, "tensor": lambda x: micrograd.Tensor(x, requires_grad=True)}
both = pytest.mark.parametrize("kind", KINDS)


@both
@pytest.mark.parametrize("place", ["leaf", "inner", "root"])
def test_what_a_hook_returns_replaces_the_gradient(kind: str, place: str):
    x = KINDS[kind](3.0)
    y = x * 2
    z = y * 5
    {"leaf": x, "inner": y, "root": z}[place].register_hook(lambda g: g * 10)
    z.backward()
    assert x.grad == 100.0


def test_a_hook_that_returns_zero_replaces_too():
    x = Value(3.0)
    x.register_hook(lambda g: 0)
    (x * 2).backward()
    assert x.grad == 0


def test_a_leaf_that_is_a_root_runs_its_hooks():
    x = Value(3.0)
    x.register_hook(lambda g: g * 10)
    x.backward()
    assert x.grad == 10.0


def test_a_hook_on_a_leaf_comes_before_accumulation():
    x = Value(3.0)
    x.grad = 100.0
    x.register_hook(lambda g: g * 10)
    (x * 2).backward()
    assert x.grad == 120.0


def test_hooks_run_in_the_order_of_registration_each_on_what_the_last_returned():
    x = Value(3.0)
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: g * 10)
    (x * 2).backward()
    assert x.grad == 30.0


@both
def test_a_removed_hook_is_not_called_and_the_others_are(kind: str):
    x = KINDS[kind](3.0)
    handle = x.register_hook(raising(AssertionError()))
    x.register_hook(lambda g: g * 10)
    handle.remove()
    handle.remove()
    (x * 2).backward()
    assert x.grad == 20.0


def test_the_same_hook_registered_twice_is_removed_once():
    x = Value(3.0)

    def twice(g: float) -> float:
        return g * 2

    x.register_hook(twice)
    x.register_hook(twice).remove()
    (x * 1).backward()
    assert x.grad == 2.0


@both
def test_once_its_hooks_are_removed_a_pass_is_what_it_was_before(kind):
    x = KINDS[kind](3.0)
    y = x * x + x
    for _ in range(3):
        y.backward(retain_graph=True)
    before = calls_of(lambda: y.backward(retain_graph=True))
    handles = [x.register_hook(lambda g: g * 10), x.register_hook(lambda g: g + 1)]
    for handle in handles:
        handle.remove()
    assert calls_of(lambda: y.backward(retain_graph=True)) == before
    assert float(x.grad) == 5 * 7.0


def test_a_hook_may_remove_itself():
    x = Value(3.0)
    handle = x.register_hook(lambda g: (handle.remove(), g * 10)[1])
    y = x * 2
    y.backward()
    y.backward()
    assert x.grad == 22.0


def test_a_handle_may_outlive_its_node():
    handle = Value(3.0).register_hook(print)
    handle.remove()


def test_a_hook_sees_nodes_under_create_graph():
    x = Value(3.0)
    handle = x.register_hook(lambda g: g * x)
    (slope,) = grad(x * x, x, create_graph=True)
    handle.remove()
    assert grad(slope, x) == (12.0,)


def test_a_hook_may_return_a_value_in_an_ordinary_pass():
    x = Value(3.0)
    x.register_hook(lambda g: Value(g) * 10)
    (x * 2).backward()
    assert (x.grad, type(x.grad)) == (20.0, float)


def test_hooks_of_leaves_run_in_an_order_that_depends_on_the_program_alone():
    leaves = [Value(float(i)) for i in range(50)]
    order: list[int] = []
    for i, leaf in enumerate(leaves):
        leaf.register_hook(lambda g, i=i: order.append(i))
    total = sum(leaves)
    total.backward()
    assert order in (list(range(50)), list(range(50))[::-1])


def test_a_hook_or_a_mode_elsewhere_leaves_a_compiled_pass_its_short_way(monkeypatch: pytest.MonkeyPatch):
    bystander, seen = Value(1.0), []
    handle = bystander.register_hook(seen.append)
    entered, done = threading.Event(), threading.Event()

    def other() -> None:
        with no_grad():
            entered.set()
            done.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        entered.wait(10)
        x = Value(3.0)
        loss = micrograd.compile(lambda x: x * x)(x)
        with monkeypatch.context() as patch:
            patch.setattr(walk, "propagate", raising(AssertionError("a walk")))
            loss.backward()
        assert x.grad == 6.0
        (x * bystander).backward()
        micrograd.compile(lambda x: x * 2)(bystander).backward()
        assert seen == [3.0, 2.0]
    finally:
        done.set()
        thread.join()
        handle.remove()


@pytest.mark.parametrize("place", ["leaf", "inner"])
def test_a_hook_on_an_input_changes_what_grad_gives(place: str):
    x = Value(3.0)
    y = x * 2
    node = {"leaf": x, "inner": y}[place]
    node.register_hook(lambda g: g * 10)
    assert grad(y * y, node) == ({"leaf": 240.0, "inner": 120.0}[place],)
