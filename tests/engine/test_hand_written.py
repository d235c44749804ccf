"""Ops from outside, whose backward is a closure of the user's own, as in the classic."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import pytest
from engine_helpers import square

from micrograd import Value, grad, no_grad


class Extended(Value):
    """A Value with one op more."""

    def square(self) -> Value:
        return square(self, Extended)


@pytest.mark.parametrize(("cls", "op"), [(Value, square), (Extended, Extended.square)])
def test_an_op_from_outside_works_among_the_others(cls: type[Value], op):
    x = cls(3.0)
    y = op(x * 2) + x
    y.backward()
    y.backward()
    assert (type(y), y.data, x.grad) == (cls, 39.0, 50.0)


def test_a_monkeypatched_operator_leaves_the_rules_of_others_alone(monkeypatch):
    def mul(self: Value, other: float) -> Value:
        out = Value(self.data * float(other), (self,), "mine")

        def _backward():
            self.grad += 1000 * out.grad

        out._backward = _backward
        return out

    monkeypatch.setattr(Value, "__mul__", mul)
    x, y = Value(3.0), Value(0.5)
    (x * 2).backward()
    y.tanh().backward()
    assert (x.grad, y.grad) == (1000.0, pytest.approx(1 - math.tanh(0.5) ** 2))


def test_a_closure_may_replace_that_of_a_built_in_op():
    x = Value(3.0)
    y = x * 2

    def _backward():
        x.grad += 100 * y.grad

    y._backward = _backward
    (y + 0).backward()
    assert (x.grad, y._op, y._prev[0]) == (100.0, "*", x)


def test_a_closure_sees_its_own_grad_set_and_its_operands_at_zero():
    seen = []
    x = Value(3.0)
    x.grad = 55.0
    out = Value(6.0, (x,), "mine")
    out._backward = lambda: seen.append((out.grad, x.grad))
    (out * 7).backward()
    assert seen == [(7.0, 0)]
    assert x.grad == 55.0


def test_a_closure_may_assign_where_others_add():
    x = Value(3.0)
    x.grad = 5.0
    out = Value(6.0, (x,), "mine")
    out._backward = lambda: setattr(x, "grad", 2 * out.grad)
    (out + x).backward()
    assert x.grad == 8.0


def test_a_closure_on_the_same_operand_twice_adds_once_for_each():
    x = Value(3.0)
    out = Value(9.0, (x, x), "mine")

    def _backward():
        x.grad += 3 * out.grad
        x.grad += 3 * out.grad

    out._backward = _backward
    out.backward()
    assert x.grad == 6.0


def test_a_constant_collects_nothing_from_a_closure():
    x, c = Value(3.0), Value(2.0, requires_grad=False)
    out = Value(6.0, (x, c), "mine")

    def _backward():
        x.grad += c.data * out.grad
        c.grad += x.data * out.grad

    out._backward = _backward
    out.backward()
    assert (x.grad, c.grad) == (2.0, 0)


def test_the_default_closure_of_the_classic_does_a_leaf_no_harm():
    x = Value(3.0)
    x._backward = lambda: None
    (x * 2).backward()
    (x * 2).backward()
    assert (x.is_leaf, x.grad) == (True, 4.0)


def test_a_leaf_with_a_closure_is_pickled_without_it():
    x = Value(3.0, label="x")
    x._backward = lambda: None
    assert pickle.loads(pickle.dumps(x)).label == "x"


def test_an_op_from_outside_that_is_given_no_closure_sends_nothing():
    x = Value(3.0)
    (Value(1.0, (x,), "step") + x).backward()
    assert x.grad == 1.0


@pytest.mark.parametrize("part", ["q", None, [1.0]])
def test_a_closure_that_leaves_no_number_is_named(part: object):
    x = Value(3.0)
    x.grad = 5.0
    out = Value(6.0, (x,), "mine")
    out._backward = lambda: setattr(x, "grad", part)
    with pytest.raises(TypeError, match="'mine'"):
        out.backward()
    assert x.grad == 5.0


@pytest.mark.parametrize("closure", [5, None])
def test_what_is_no_function_is_no_closure(closure):
    with pytest.raises(TypeError, match="_backward"):
        (Value(3.0) * 2)._backward = closure


def generator():
    yield


async def coroutine():
    pass


async def both():
    yield


@pytest.mark.parametrize("closure", [generator, coroutine, both])
@pytest.mark.parametrize("node", [Value(3.0) * 2, Value(3.0)])
def test_a_function_whose_body_a_call_does_not_run_is_no_closure(node: Value, closure: Callable):
    before = node._op
    with pytest.raises(TypeError, match="_backward is a function that runs when it is called"):
        node._backward = closure
    assert (node._backward is closure, node._op) == (False, before)


def test_a_node_that_was_let_go_takes_no_closure():
    y = Value(3.0) * 2
    y.backward(retain_graph=False)
    with pytest.raises(RuntimeError, match="released"):
        y._backward = lambda: None


@pytest.mark.parametrize("ask", [grad, lambda y, x, create_graph: y.backward(create_graph=create_graph)])
def test_create_graph_refuses_hand_written_closures_by_name(ask):
    x = Value(3.0)
    with pytest.raises(RuntimeError, match="'square'"):
        ask(square(x) * 2, x, create_graph=True)
    assert x.grad == 0


def test_an_op_from_outside_inside_no_grad_is_a_constant():
    x = Value(3.0)
    with no_grad():
        assert not square(x).requires_grad


def test_calling_backward_of_one_node_by_hand_adds_to_its_operands():
    a, b = Value(2.0), Value(-3.0)
    c = a * b
    c.grad = 10.0
    c._backward()
    c._backward()
    assert (a.grad, b.grad) == (-60.0, 40.0)


@pytest.mark.parametrize("x", [Value(2.0), Value(2.0, requires_grad=False)])
def test_backward_of_a_leaf_by_hand_does_nothing(x: Value):
    x.grad = 3.0
    x._backward()
    assert x.grad == 3.0


def wrapped(node: Value, seen: list[float]) -> None:
    """Put a closure around the node's own."""
    old = node._backward

    def closure() -> None:
        seen.append(node.grad)
        old()

    node._backward = closure


@pytest.mark.parametrize("times", [1, 2])
def test_a_closure_may_be_wrapped_around_the_old_one(times):
    x, seen = Value(3.0), []
    y = x * x
    for _ in range(times):
        wrapped(y, seen)
    (y * 2).backward()
    (y * 2).backward()
    assert (x.grad, seen) == (24.0, [2.0] * 2 * times)


def test_a_wrapped_closure_works_in_an_order_of_ones_own():
    x, seen = Value(3.0), []
    y = x * x
    wrapped(y, seen)
    y.grad = 1.0
    y._backward()
    assert (x.grad, seen) == (6.0, [1.0])
