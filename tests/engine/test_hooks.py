"""Hooks, of Values and of Tensors: what they see, what they may change, in which order they run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from engine_helpers import calls_of, over_kinds, raising

import micrograd
from micrograd import Value, grad
from micrograd.engine import walk


@over_kinds
@pytest.mark.parametrize(("place", "sees"), [("leaf", 26.0), ("inner", 13.0), ("root", 1.0)])
def test_hook_sees_the_complete_gradient_of_this_pass_alone(kind: Callable, place: str, sees: float):
    seen: list[float] = []
    x = kind(3.0)
    y = x * 2
    z = y * y + y
    {"leaf": x, "inner": y, "root": z}[place].register_hook(lambda g: seen.append(float(g)))
    for _ in range(2):
        z.backward(retain_graph=True)
    assert seen == [sees] * 2


@over_kinds
@pytest.mark.parametrize("place", ["leaf", "inner", "root"])
def test_result_of_a_hook_replaces_the_gradient(kind: Callable, place: str):
    x = kind(3.0)
    y = x * 2
    z = y * 5
    node = {"leaf": x, "inner": y, "root": z}[place]
    node.register_hook(lambda g: g * 10)
    assert grad(z, x, retain_graph=True) == (100.0,)
    z.backward()
    assert x.grad == 100.0


HOOKS: dict[str, tuple[list[Callable], float]] = {  # of a leaf that is sent 2, and what is added to its gradient
    "nothing": ([lambda g: None], 2.0),
    "zero": ([lambda g: g * 0], 0.0),
    "one on what the last returned": ([lambda g: g + 1, lambda g: g * 10], 30.0),
    "the same twice": ([abs, abs], 2.0),
}


@over_kinds
@pytest.mark.parametrize(("hooks", "added"), HOOKS.values(), ids=HOOKS)
def test_hooks_of_a_leaf_run_in_order_and_before_accumulation(kind: Callable, hooks: list[Callable], added: float):
    x = kind(3.0)
    x.grad = 100.0
    for hook in hooks:
        x.register_hook(hook)
    (x * 2).backward()
    assert x.grad == 100.0 + added


@over_kinds
def test_removed_hook_is_not_called_and_the_others_are(kind: Callable):
    x, hook = kind(3.0), lambda g: g * 10
    gone = [x.register_hook(raising(AssertionError())), x.register_hook(hook)]
    x.register_hook(hook)
    itself = x.register_hook(lambda g: itself.remove())
    for handle in (*gone, *gone):
        handle.remove()
    for _ in range(2):
        (x * 2).backward()
    assert x.grad == 40.0
    del x
    itself.remove()  # a handle may outlive its node


@over_kinds
def test_removed_hooks_cost_a_pass_nothing(kind: Callable):
    x = kind(3.0)
    y = x * x + x
    for _ in range(3):
        y.backward(retain_graph=True)
    before = calls_of(lambda: y.backward(retain_graph=True))
    handles = [x.register_hook(lambda g: g * 10), x.register_hook(lambda g: g + 1)]
    for handle in handles:
        handle.remove()
    assert calls_of(lambda: y.backward(retain_graph=True)) == before
    assert float(x.grad) == 5 * 7.0


@over_kinds
def test_hook_sees_nodes_under_create_graph_and_is_differentiated_through(kind: Callable):
    x = kind(3.0)
    y = x * 1
    y.register_hook(lambda g: g * x)
    (slope,) = grad(y * y, x, create_graph=True)
    assert slope.data == 18.0  # 2 y, times the hook's x
    assert grad(slope, x) == (6.0 + 18.0,)  # to x: 2 y; to y: 2 x, and the hook's x


def test_hook_may_return_a_value_in_an_ordinary_pass():
    x = Value(3.0)
    x.register_hook(lambda g: Value(g) * 10)
    (x * 2).backward()
    assert (x.grad, type(x.grad)) == (20.0, float)


def test_hook_elsewhere_leaves_a_compiled_pass_its_short_way(monkeypatch: pytest.MonkeyPatch):
    x, bystander, seen = Value(3.0), Value(1.0), []
    bystander.register_hook(seen.append)
    loss = micrograd.compile(lambda x: x * x)(x)
    with monkeypatch.context() as patch:
        patch.setattr(walk, "propagate", raising(AssertionError("a walk")))
        loss.backward()
    micrograd.compile(lambda x: x * 2)(bystander).backward()
    assert (x.grad, seen) == (6.0, [2.0])
