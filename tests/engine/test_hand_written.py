"""Ops from outside, of Values and of Tensors, whose backward is a closure of the user's own, as in the classic."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from engine_helpers import over_kinds, square

from micrograd import Value, backward, compile, detect_anomaly, grad, no_grad


class Extended(Value):
    """A Value with one op more."""

    square = square


@pytest.mark.parametrize(("cls", "op"), [(Value, square), (Extended, Extended.square)])
def test_op_from_outside_works_among_the_others(cls: type[Value], op: Callable):
    x = cls(3.0)
    y = op(x * 2) + x
    y.backward()
    y.backward()
    assert (type(y), y.data, x.grad) == (cls, 39.0, 50.0)


SENT: dict[str, tuple[Callable[[Any, Any], object], float]] = {  # by a closure of x and of out, whose gradient is 7
    "added": (lambda x, out: setattr(x, "grad", x.grad + 2 * out.grad), 14.0),
    "assigned": (lambda x, out: setattr(x, "grad", 2 * out.grad), 14.0),
    "nothing": (lambda x, out: None, 0.0),
}


@over_kinds
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("closure", "sent"), SENT.values(), ids=SENT)
def test_closure_sees_its_whole_grad_and_what_it_sends_is_added(
    kind: Callable, closure: Callable, sent: float, times: int
):
    x, seen = kind(3.0), []
    x.grad = 5.0
    out = type(x)(6.0, (x,) * times, "mine")

    def _backward():
        seen.append((float(out.grad), float(x.grad)))
        closure(x, out)

    out._backward = _backward
    (out * 3 + out * 4 + x).backward()
    assert seen == [(7.0, 0.0)]
    assert x.grad == 5.0 + sent + 1.0


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


@over_kinds
def test_op_from_outside_needs_no_closure_and_is_a_constant_in_no_grad(kind: Callable):
    x = kind(3.0)
    (type(x)(1.0, (x,), "step") + x).backward()
    assert x.grad == 1.0
    with no_grad():
        assert not square(x).requires_grad


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
@pytest.mark.parametrize("times", [1, 2])
def test_closure_may_be_wrapped_around_the_old_one(kind: Callable, times: int):
    x, seen = kind(3.0), []
    y = x * x
    for _ in range(times):
        old = y._backward
        y._backward = lambda old=old: (seen.append(float(y.grad)), old())
    z = y * 2
    z.backward(retain_graph=True)
    z.backward(retain_graph=True)
    y.grad = 2.0
    y._backward()
    assert (x.grad, seen) == (36.0, [2.0] * 3 * times)


@over_kinds
def test_closure_of_a_leaf_is_called_where_it_is_a_root_and_is_not_pickled(kind: Callable):
    x, seen = kind(3.0), []
    x._backward = lambda: seen.append(float(x.grad))
    (x * 2).backward()
    x.backward()
    backward([x], [2.0])
    assert (seen, x.is_leaf, float(x.grad)) == ([3.0, 5.0], True, 5.0)
    assert pickle.loads(pickle.dumps(x)).grad == 5.0


@over_kinds
def test_backward_of_one_node_called_by_hand_adds_to_its_operands(kind: Callable):
    a, b = kind(2.0), kind(-3.0)
    c = a * b
    c.grad = 10.0
    for node in (c, c, a, b.detach()):
        node._backward()
    assert (a.grad, b.grad, c.grad) == (-60.0, 40.0, 10.0)


# ---------------------------------------------------------------------------------------------------------------------
# Refusals


@pytest.mark.parametrize("part", ["q", None, [1.0]])
def test_closure_that_leaves_no_number_is_named(part: object):
    x = Value(3.0)
    x.grad = 5.0
    out = Value(6.0, (x,), "mine")
    out._backward = lambda: setattr(x, "grad", part)
    with pytest.raises(TypeError, match="'mine'"):
        out.backward()
    assert x.grad == 5.0


def generator():
    yield


async def coroutine():
    pass


async def both():
    yield


@pytest.mark.parametrize("closure", [5, None, generator, coroutine, both])
@pytest.mark.parametrize("node", [Value(3.0) * 2, Value(3.0)])
def test_closure_must_be_a_function_whose_body_a_call_runs(node: Value, closure: Any):
    before = node._op
    with pytest.raises(TypeError, match=r"_backward is a function (that runs when it is called|without arguments)"):
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


def made(kind: type, x: Any) -> Any:
    return kind(1.0, (x,), "mine")


def replaced(kind: type, x: Any) -> Any:
    y = x * x
    y._backward = lambda: None
    return y


DERIVED: dict[str, Callable[[Callable, Any], object]] = {
    "grad": lambda f, x: grad(f(x), x, create_graph=True),
    "backward": lambda f, x: f(x).backward(create_graph=True),
    "compile": lambda f, x: compile(f)(x).backward(),
}


@over_kinds
@pytest.mark.parametrize(("op", "name"), [(made, "mine"), (replaced, r"\*")], ids=["made", "replaced"])
@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED)
def test_closure_is_refused_by_name_where_a_rule_is_needed(kind: Callable, derive: Callable, op: Callable, name: str):
    x = kind(3.0)
    fresh, cls = x.grad, type(x)
    with pytest.raises(RuntimeError, match=f"{name}.* by hand"):
        derive(lambda x: op(cls, x) * 2, x)
    assert x.grad is fresh


@over_kinds
def test_nan_that_a_closure_leaves_is_found_where_the_closure_was_given(kind: Callable):
    x = kind(2.0)
    with detect_anomaly():
        out = type(x)(1.0, (x,), "mine")
        out._backward = lambda: setattr(x, "grad", float("nan") * out.grad)
        with pytest.raises(RuntimeError, match=r"(?s)'mine'.*test_hand_written.py:\d+: out._backward"):
            out.backward()
