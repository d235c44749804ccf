"""Ops from outside, of Values and of Tensors, whose backward is a closure of the user's own, as in the classic."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from engine_helpers import over_kinds, square

from micrograd import Value, backward, compile, detect_anomaly, grad, no_grad


class Extended(Value):
    """A Value with one op more."""

    def square(self) -> Value:
        return square(self)


def with_closure(x: Any, closure: Callable[[], object], op: str = "mine") -> Any:
    """An op of x from outside, with this closure."""
    out = type(x)(6.0, (x,), op)
    out._backward = closure
    return out


@pytest.mark.parametrize(("cls", "op"), [(Value, square), (Extended, Extended.square)])
def test_op_from_outside_works_among_the_others(cls: type[Value], op: Callable):
    x = cls(3.0)
    y = op(x * 2) + x
    y.backward()
    y.backward()
    assert (type(y), y.data, x.grad) == (cls, 39.0, 50.0)


@over_kinds
def test_closure_may_replace_that_of_a_built_in_op(kind: Callable):
    x = kind(3.0)
    y = x * 2

    def _backward():
        x.grad += 100 * y.grad

    y._backward = _backward
    assert (y._op, y._prev[0] is x, y._backward is _backward) == ("*", True, True)
    (y + 0).backward()
    assert x.grad == 100.0


@over_kinds
def test_closure_sees_its_own_grad_whole_and_its_operands_at_zero(kind: Callable):
    x, seen = kind(3.0), []
    x.grad = 55.0
    out = with_closure(x, lambda: seen.append((float(out.grad), float(x.grad))))
    (out * 3 + out * 4).backward()
    assert seen == [(7.0, 0.0)]
    assert x.grad == 55.0


@over_kinds
def test_closure_may_assign_where_others_add(kind: Callable):
    x = kind(3.0)
    x.grad = 5.0
    out = with_closure(x, lambda: setattr(x, "grad", 2 * out.grad))
    (out + x).backward()
    assert x.grad == 8.0


@over_kinds
def test_closure_on_the_same_operand_twice_adds_once_for_each(kind: Callable):
    x = kind(3.0)
    out = type(x)(9.0, (x, x), "mine")

    def _backward():
        x.grad += 3 * out.grad
        x.grad += 3 * out.grad

    out._backward = _backward
    out.backward()
    assert x.grad == 6.0


@over_kinds
def test_constant_collects_nothing_from_a_closure(kind: Callable):
    x, c = kind(3.0), kind(2.0).detach()
    fresh, out = c.grad, type(x)(6.0, (x, c), "mine")

    def _backward():
        x.grad += c.data * out.grad
        c.grad += x.data * out.grad

    out._backward = _backward
    out.backward()
    assert (x.grad, c.grad) == (2.0, fresh)


def test_default_closure_of_the_classic_does_a_leaf_no_harm():
    x = Value(3.0)
    x._backward = lambda: None
    (x * 2).backward()
    (x * 2).backward()
    assert (x.is_leaf, x.grad) == (True, 4.0)


def test_leaf_with_a_closure_is_pickled_without_it():
    x = Value(3.0, label="x")
    x._backward = lambda: None
    assert pickle.loads(pickle.dumps(x)).label == "x"


@over_kinds
def test_op_from_outside_that_is_given_no_closure_sends_nothing(kind: Callable):
    x = kind(3.0)
    (type(x)(1.0, (x,), "step") + x).backward()
    assert x.grad == 1.0


@pytest.mark.parametrize("part", ["q", None, [1.0]])
def test_closure_that_leaves_no_number_is_named(part: object):
    x = Value(3.0)
    x.grad = 5.0
    with pytest.raises(TypeError, match="'mine'"):
        with_closure(x, lambda: setattr(x, "grad", part)).backward()
    assert x.grad == 5.0


@pytest.mark.parametrize("closure", [5, None])
def test_closure_must_be_a_function(closure: object):
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
def test_closure_must_be_a_function_whose_body_a_call_runs(node: Value, closure: Callable):
    before = node._op
    with pytest.raises(TypeError, match="_backward is a function that runs when it is called"):
        node._backward = closure
    assert (node._backward is closure, node._op) == (False, before)


@over_kinds
def test_released_node_takes_no_closure_and_has_none_to_call(kind: Callable):
    y = kind(3.0) * 2
    y.backward(retain_graph=False)
    with pytest.raises(RuntimeError, match="released"):
        y._backward = lambda: None
    with pytest.raises(RuntimeError, match="released"):
        y._backward()


def replaced(y: Any) -> Any:
    y._backward = lambda: None
    return y


@over_kinds
@pytest.mark.parametrize("made", [square, lambda x: replaced(x * x)], ids=["made", "replaced"])
@pytest.mark.parametrize("ask", [grad, lambda y, x, create_graph: y.backward(create_graph=create_graph)])
def test_create_graph_refuses_hand_written_closures_by_name(kind: Callable, ask: Callable, made: Callable):
    x = kind(3.0)
    fresh, out = x.grad, made(x)
    with pytest.raises(RuntimeError, match=rf"'{out._op[-1]}|square'"):
        ask(out * 2, x, create_graph=True)
    assert x.grad is fresh


@over_kinds
@pytest.mark.parametrize(
    "made", [lambda kind, x: kind(1.0, (x,), "mine"), lambda kind, x: replaced(x * x)], ids=["made", "replaced"]
)
def test_compile_refuses_hand_written_closures_by_name(kind: Callable, made: Callable):
    x = kind(2.0)
    made = partial(made, type(x))
    with pytest.raises(RuntimeError, match=r"cannot use (mine|\*), whose derivative was written by hand"):
        compile(lambda x: made(x) * 2)(x).backward()
    assert not x.grad


@over_kinds
def test_op_from_outside_inside_no_grad_is_a_constant(kind: Callable):
    x = kind(3.0)
    with no_grad():
        assert not square(x).requires_grad


@over_kinds
def test_backward_of_one_node_called_by_hand_adds_to_its_operands(kind: Callable):
    a, b = kind(2.0), kind(-3.0)
    c = a * b
    c.grad = 10.0
    c._backward()
    c._backward()
    assert (a.grad, b.grad, c.grad) == (-60.0, 40.0, 10.0)


@pytest.mark.parametrize("x", [Value(2.0), Value(2.0, requires_grad=False)])
def test_backward_of_a_leaf_by_hand_does_nothing(x: Value):
    x.grad = 3.0
    x._backward()
    assert x.grad == 3.0


def wrapped(node: Any, seen: list[float]) -> None:
    """Put a closure around the node's own."""
    old = node._backward

    def closure() -> None:
        seen.append(float(node.grad))
        old()

    node._backward = closure


@over_kinds
@pytest.mark.parametrize("times", [1, 2])
def test_closure_may_be_wrapped_around_the_old_one(kind: Callable, times: int):
    x, seen = kind(3.0), []
    y = x * x
    for _ in range(times):
        wrapped(y, seen)
    z = y * 2
    z.backward(retain_graph=True)
    z.backward(retain_graph=True)
    assert (x.grad, seen) == (24.0, [2.0] * 2 * times)


@over_kinds
def test_wrapped_closure_may_be_called_by_hand(kind: Callable):
    x, seen = kind(3.0), []
    y = x * x
    wrapped(y, seen)
    y.grad = 1.0
    y._backward()
    assert (x.grad, seen) == (6.0, [1.0])


@over_kinds
def test_closure_of_a_root_without_operands_is_called(kind: Callable):
    x, seen = kind(3.0), []
    x._backward = lambda: seen.append(float(x.grad))
    x.backward()
    backward([x], [2.0])
    assert (seen, x.is_leaf, float(x.grad)) == ([1.0, 3.0], True, 3.0)


@over_kinds
def test_nan_that_a_closure_leaves_is_found_where_the_closure_was_given(kind: Callable):
    x = kind(2.0)
    with detect_anomaly():
        out = type(x)(1.0, (x,), "mine")
        out._backward = lambda: setattr(x, "grad", float("nan") * out.grad)
        with pytest.raises(RuntimeError, match=r"(?s)'mine'.*test_hand_written.py:\d+: out._backward"):
            out.backward()
