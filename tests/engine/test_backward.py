"""Backward passes over Values and Tensors: what they add, and where."""

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


def rungs(x: Any) -> Any:
    """A ladder, through which there are 2**60 ways."""
    for _ in range(60):
        x = x + x
    return x


def short_and_long(x: Any) -> Any:
    long = base = x * 2
    for _ in range(10):
        long = long + 1
    return base + long


PASSES: dict[str, tuple[Callable[[Any], None], float]] = {  # from x, which is 3, and what they add to its gradient
    "x + x": (lambda x: (x + x).backward(), 2.0),
    "x * x": (lambda x: (x * x).backward(), 6.0),
    "x - x": (lambda x: (x - x).backward(), 0.0),
    "x / x": (lambda x: (x / x).backward(), 0.0),
    "sixty rungs": (lambda x: rungs(x).backward(), 2.0**60),
    "a short and a long path to the same node": (lambda x: short_and_long(x).backward(), 4.0),
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
def test_constants_collect_nothing(kind: Callable):
    x, c = kind(3.0), kind(2.0).detach()
    fresh, y = c.grad, x * c + 5
    five = y._prev[1]
    y.backward()
    assert (c.grad, five.grad, x.grad) == (fresh, fresh, 2.0)


# ---------------------------------------------------------------------------------------------------------------------
# Again and again


def test_inner_grads_are_those_of_the_last_pass_alone():
    x = Value(3.0)
    y = x * x
    z = y * 2
    z.backward()
    z.backward(10.0)
    assert (z.grad, y.grad) == (10.0, 20.0)
    (z * 10).backward()  # through a graph that was extended since
    assert (x.grad, y.grad) == (12.0 + 120.0 + 120.0, 20.0)


@pytest.mark.parametrize("fresh", [0, 0.0, None])
def test_grad_may_be_reset_to_zero_or_none(fresh):
    x = Value(3.0)
    x.grad = fresh
    (x * x).backward()
    assert x.grad == 6.0


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
    assert (x.grad, y._prev) == (before, ())


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


@pytest.mark.parametrize("op", [lambda x: x * x, lambda x: x.exp(), lambda x: x**3, lambda x: x / (x + 1)])
def test_changing_data_after_forward_never_alters_first_order_gradients(op):
    x = Value(0.5)
    y = op(x)
    (wanted,) = grad(y, x)
    x.data, y.data = 100.0, -100.0
    assert grad(y, x) == (wanted,)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_changing_data_after_forward_raises_under_create_graph_unless_it_was_put_back(which: int):
    x, c = Value(0.0), Value(2.0, requires_grad=False)
    y = x.exp()
    node = (x, y, c)[which]
    out, was = y * c, node.data
    node.data = 7.0
    with pytest.raises(RuntimeError, match=rf"used {was}, now 7\.0; rerun the forward pass"):
        grad(out, x, create_graph=True)
    node.data = was
    assert grad(out, x, create_graph=True)[0].data == 2.0


# ---------------------------------------------------------------------------------------------------------------------
# grad_fn


@over_kinds
def test_grad_fn_is_pytorchs_view_of_the_graph(kind: Callable):
    a, b = kind(2.0), kind(3.0)
    y = a * b + b
    ((left, i), (right, j)) = y.grad_fn.next_functions
    assert (left.name(), type(right), right.variable is b, i, j) == ("MulBackward0", AccumulateGrad, True, 0, 0)
    assert all(fn.variable is leaf for (fn, _), leaf in zip(left.next_functions, (a, b), strict=True))
    assert (right.next_functions, right.name()) == ((), "AccumulateGrad")
    assert not hasattr(left, "variable")
    assert (a * a.detach()).grad_fn.next_functions[1] == (a * 3).grad_fn.next_functions[1] == (None, 0)
    with pytest.raises(AttributeError):
        y.grad_fn = None


@over_kinds
def test_grad_fn_is_the_same_object_as_long_as_somebody_holds_it(kind: Callable):
    a = kind(2.0)
    fn = (a * a).grad_fn
    assert fn is fn._node.grad_fn
    assert fn.next_functions[0][0] is fn.next_functions[1][0]
