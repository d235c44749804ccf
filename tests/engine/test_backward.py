"""Backward passes over Values: what they add, and where."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from engine_helpers import Boom, over_kinds, raising

from micrograd import Value, backward, grad
from micrograd.scalars.grad_fn import AccumulateGrad

# ---------------------------------------------------------------------------------------------------------------------
# The shapes of graphs


PASSES: dict[str, tuple[Callable[[Any], None], float]] = {  # from x, which is 3, and what they add to its gradient
    "x + x": (lambda x: (x + x).backward(), 2.0),
    "x * x": (lambda x: (x * x).backward(), 6.0),
    "x - x": (lambda x: (x - x).backward(), 0.0),
    "x / x": (lambda x: (x / x).backward(), 0.0),
    "a detached operand": (lambda x: ((x * x).detach() * x).backward(), 9.0),
    "a gradient that is given": (lambda x: (x * x).backward(0.5), 3.0),
    "a gradient that is a node": (lambda x: (x * x).backward(type(x)(0.5)), 3.0),
    "a leaf and what depends on it as roots": (lambda x: backward([x, x * 2]), 3.0),
    "roots from a generator": (lambda x: backward(x * i for i in range(1, 4)), 6.0),
    "arguments by PyTorch's names": (lambda x: backward(tensors=[x * 2, x * x], grad_tensors=[1.0, 10.0]), 62.0),
}


@over_kinds
@pytest.mark.parametrize(("run", "wanted"), PASSES.values(), ids=PASSES)
def test_backward_adds_all_parts_to_a_leaf(kind: Callable, run: Callable[[Any], None], wanted: float):
    x = kind(3.0)
    run(x)
    assert x.grad == pytest.approx(wanted)
    assert not hasattr(x.grad, "requires_grad")


@over_kinds
def test_backward_along_sixty_rungs_takes_sixty_steps(kind: Callable):
    a = y = kind(1.0)
    for _ in range(60):
        y = y + y
    y.backward()
    assert a.grad == 2.0**60


@over_kinds
def test_backward_awaits_a_short_and_a_long_path_to_the_same_node(kind: Callable):
    x = kind(1.0)
    base = x * 2
    long = base
    for _ in range(10):
        long = long + 1
    (base + long).backward()
    assert x.grad == 4.0


@over_kinds
def test_constants_collect_nothing(kind: Callable):
    x, c = kind(3.0), kind(2.0).detach()
    fresh, y = c.grad, x * c + 5
    five = y._prev[1]
    y.backward()
    assert (c.grad, five.grad, x.grad) == (fresh, fresh, 2.0)


def test_backward_walks_a_graph_that_was_extended_since():
    x = Value(3.0)
    y = x * 2
    y.backward()
    (y * 10).backward()
    assert (x.grad, y.grad) == (22.0, 10.0)


# ---------------------------------------------------------------------------------------------------------------------
# Again and again


def test_inner_grads_are_those_of_the_last_pass_alone():
    x = Value(3.0)
    y = x * x
    z = y * 2
    z.backward()
    z.backward(10.0)
    assert (z.grad, y.grad) == (10.0, 20.0)


@pytest.mark.parametrize("fresh", [0, 0.0, None])
def test_grad_may_be_reset_to_zero_or_none(fresh):
    x = Value(3.0)
    y = x * x
    y.backward()
    x.grad = fresh
    y.backward()
    assert x.grad == 6.0


def test_retain_graph_false_lets_the_graph_go():
    x = Value(3.0)
    y = x * 2
    z = y + 1
    z.backward(retain_graph=False)
    assert (x.grad, y._prev, z._prev) == (2.0, (), ())


@over_kinds
@pytest.mark.parametrize("again", [lambda y, z: z.backward(), lambda y, z: (y * y).backward(), lambda y, z: grad(z, y)])
@pytest.mark.parametrize("first", [lambda z, x: z.backward(retain_graph=False), partial(grad, retain_graph=False)])
def test_released_graph_says_so(kind: Callable, first: Callable, again: Callable):
    x = kind(3.0)
    y = x * x
    z = y * y
    first(z, x)
    before = x.grad
    with pytest.raises(RuntimeError, match="released by an earlier backward pass: pass retain_graph=True to that one"):
        again(y, z)
    assert x.grad == before


@over_kinds
def test_failed_pass_does_not_release_the_graph(kind: Callable):
    x = kind(3.0)
    y = x * 2
    handle = y.register_hook(raising(Boom()))
    with pytest.raises(Boom):
        y.backward(retain_graph=False)
    handle.remove()
    y.backward(retain_graph=False)
    assert x.grad == 2.0


# ---------------------------------------------------------------------------------------------------------------------
# Data that changes after the forward pass


@pytest.mark.parametrize(
    "op", [lambda x: x * x, lambda x: x.exp(), lambda x: x**3, lambda x: x.tanh(), lambda x: x / (x + 1)]
)
def test_changing_data_after_forward_never_alters_first_order_gradients(op):
    x = Value(0.5)
    y = op(x)
    (wanted,) = grad(y, x)
    x.data, y.data = 100.0, -100.0
    assert grad(y, x) == (wanted,)


@pytest.mark.parametrize("which", [0, 1])
def test_changing_data_after_forward_raises_under_create_graph(which: int):
    x = Value(0.5)
    y = x.exp()
    (x, y)[which].data = 7.0
    with pytest.raises(RuntimeError, match="rerun the forward pass"):
        grad(y, x, create_graph=True)


def test_changing_a_constant_after_forward_raises_under_create_graph():
    x, c = Value(0.5), Value(2.0, requires_grad=False)
    y = x * c
    c.data = 7.0
    with pytest.raises(RuntimeError, match=r"used 2\.0, now 7\.0"):
        grad(y, x, create_graph=True)


def test_data_that_was_put_back_counts_as_unchanged():
    x = Value(0.5)
    y = x.exp()
    x.data += 1.0
    x.data -= 1.0
    assert grad(y, x, create_graph=True)[0].data == y.data


# ---------------------------------------------------------------------------------------------------------------------
# grad_fn


@over_kinds
def test_next_functions_lead_down_to_the_leaves(kind: Callable):
    a, b = kind(2.0), kind(3.0)
    ((left, i), (right, j)) = (a * b + b).grad_fn.next_functions
    assert (left.name(), type(right), right.variable is b, i, j) == ("MulBackward0", AccumulateGrad, True, 0, 0)
    assert all(fn.variable is leaf for (fn, _), leaf in zip(left.next_functions, (a, b), strict=True))
    assert (right.next_functions, right.name()) == ((), "AccumulateGrad")
    assert not hasattr(left, "variable")


@over_kinds
def test_grad_fn_of_a_leaf_and_of_a_constant_is_none(kind: Callable):
    x = kind(2.0)
    assert (x * x.detach()).grad_fn.next_functions[1] == (x * 3).grad_fn.next_functions[1] == (None, 0)
    assert x.grad_fn is None


@over_kinds
def test_grad_fn_is_the_same_object_as_long_as_somebody_holds_it(kind: Callable):
    a = kind(2.0)
    y = a * a
    fn = y.grad_fn
    assert fn is y.grad_fn
    assert fn.next_functions[0][0] is fn.next_functions[1][0]


def test_grad_fn_is_read_only():
    with pytest.raises(AttributeError):
        Value(2.0).grad_fn = None
