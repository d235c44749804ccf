"""A node of a trace belongs to that trace: it is not left outside, and where one is, it cannot be used."""

from __future__ import annotations

import copy
import pickle
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, Value, draw_dot, grad, nn
from micrograd.optim import SGD

LEFT: Any = None


class Holder:
    __slots__ = ("__dict__", "slot")
    of_class: Any = None

    def __init__(self) -> None:
        self.h: Any = Value(0.0)
        self.states: Any = {"h": 1.0}
        self.log: Any = [1.0]
        self.queue: Any = deque([Value(1.0)], maxlen=3)
        self.seen: Any = set()


def in_an_attribute(a: Holder, x: Any) -> None:
    a.h = a.h * 0.9 + x


def in_a_new_attribute(a: Holder, x: Any) -> None:
    a.new = x * 2


def in_a_slot(a: Holder, x: Any) -> None:
    a.slot = x * 2


def in_a_class(a: Holder, x: Any) -> None:
    Holder.of_class = x * 2


def in_a_global(_: Holder, x: Any) -> None:
    global LEFT
    LEFT = x * 2


def in_a_dict(a: Holder, x: Any) -> None:
    a.states["h"] = x * 2


def in_a_list(a: Holder, x: Any) -> None:
    a.log.append(x * 2)


def in_a_deque(a: Holder, x: Any) -> None:
    a.queue.append(x * 2)


def in_a_set(a: Holder, x: Any) -> None:
    a.seen.add(x * 2)


def in_an_object(a: Holder, x: Any) -> None:
    a.h = Holder()
    a.h.log = [(x, {"x": x * 2})]


def in_a_closure(a: Holder, x: Any) -> None:
    y = x * 2
    a.h = lambda: y


PLACES = {
    in_an_attribute: "the attribute 'h' of Holder",
    in_a_new_attribute: "the attribute 'new' of Holder",
    in_a_slot: "the attribute 'slot' of Holder",
    in_a_class: "the attribute 'of_class' of Holder",
    in_a_global: "the global 'LEFT'",
    in_a_dict: "a dict",
    in_a_list: "a list",
    in_a_deque: "a deque",
    in_a_set: "a set",
    in_an_object: "the attribute 'h' of Holder",
    in_a_closure: "the attribute 'h' of Holder",
}


def contents(a: Holder) -> tuple[Any, ...]:
    parts = a.log, a.queue, a.seen, a.states.items()
    return LEFT, Holder.of_class, hasattr(a, "slot"), dict(vars(a)), *map(list, parts)


@pytest.mark.parametrize("store", PLACES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [2.0, np.ones(2)], ids=["number", "array"])
def test_a_node_that_is_left_behind_is_refused_and_taken_back(store: Callable, x: Any):
    a = Holder()
    before = contents(a)

    def f(x: Any) -> Any:
        store(a, x)
        return x * 3

    with pytest.raises(RuntimeError, match=f"cannot leave a node in {PLACES[store]}"):
        micrograd.compile(f)(x)
    assert contents(a) == before


@pytest.mark.parametrize("store", PLACES, ids=lambda f: f.__name__)
def test_a_trace_that_is_refused_leaves_no_node(store: Callable):
    a = Holder()
    before = contents(a)

    def f(x: Any) -> Any:
        store(a, x)
        return x * float(x)

    with pytest.raises(RuntimeError, match="cannot look"):
        micrograd.compile(f)(2.0)
    assert contents(a) == before


def test_a_node_in_a_variable_outside_is_refused():
    last = None

    def f(x: Any) -> Any:
        nonlocal last
        last = x * 2
        return last

    with pytest.raises(RuntimeError, match="cannot leave a node in the variable 'last'"):
        micrograd.compile(f)(2.0)
    assert last is None


def test_a_node_in_an_object_that_is_given_by_keyword_is_refused():
    class State:
        h: Any = 1.0

    state = State()

    def f(x: Any, state: Any = None) -> Any:
        state.h = state.h * x
        return state.h

    with pytest.raises(RuntimeError, match="cannot leave a node in the attribute 'h' of State"):
        micrograd.compile(f)(2.0, state=state)
    assert state.h == 1.0


def test_a_state_that_a_training_step_moves_on_is_refused():
    w, mean = Value(1.0), Holder()

    def loss(x: Any) -> Any:
        mean.h = mean.h * 0.9 + w * 0.1
        return mean.h * x

    step = micrograd.compile(loss, update=SGD([w], lr=0.1))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cannot leave a node in the attribute 'h' of Holder"):
            step(1.0)
    assert (mean.h.data, w.data) == (0.0, 1.0)


def test_what_is_changed_without_nodes_stays():
    a = Holder()

    def f(x: Any) -> Any:
        a.log.append(2.0)
        a.states["called"] = True
        return x * 2

    assert micrograd.compile(f)(2.0).data == 4.0
    assert (a.log, a.states["called"]) == ([1.0, 2.0], True)


# A place that the guards do not find: what was left there can be looked at, and is good for nothing
def left(x: Any) -> Any:
    found: list[Any] = []
    hidden = map(found.append, [0])  # an iterator is not followed

    def f(x: Any, put: Any = None) -> Any:
        put.send(x * 2)
        return x * 3

    def keep() -> Any:
        while True:
            found.append((yield))

    put = keep()
    next(put)
    assert list(hidden) == [None]
    micrograd.compile(f)(x, put=put)
    return found[1]


USES: list[Callable[[Any], Any]] = [
    lambda x: x * 2,
    lambda x: 2 - x,
    lambda x: -x,
    lambda x: Value(2.0) * x if isinstance(x, Value) else Tensor([2.0, 1.0]) * x,
    lambda x: x.relu(),
    lambda x: x > 0,
    lambda x: x.data,
    lambda x: x.item(),
    lambda x: float(x),
    lambda x: bool(x),
    lambda x: x.detach(),
    lambda x: x.backward(),
    lambda x: micrograd.backward(x),
    lambda x: grad(x, x),
    lambda x: copy.copy(x),
    lambda x: pickle.dumps(x),
    lambda x: draw_dot(x),
    lambda x: micrograd.compile(lambda y: y * x)(2.0 if isinstance(x, Value) else np.ones(2)),
    lambda x: micrograd.compile(lambda: x)(),
    lambda x: micrograd.compile(lambda y: y * 2)(x),
]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("x", [Value(2.0), Tensor([1.0, 2.0], requires_grad=True)], ids=["value", "tensor"])
def test_a_node_of_a_trace_that_has_ended_cannot_be_used(use: Callable, x: Any):
    node = left(x)
    with pytest.raises(RuntimeError, match=r"made while a function was compiled.*pass it as an argument"):
        use(node)
    assert "of a trace that has ended" in repr(node)


def test_backward_of_a_sum_that_a_trace_left_raises():
    out: list[Any] = []
    with pytest.raises(RuntimeError, match="cannot leave"):
        micrograd.compile(lambda x: [out.append(x + 1), x][1])(Value(2.0))
    assert not out


def test_backward_inside_is_refused_for_chosen_inputs_too():
    w = Value(2.0)

    def f(x: Any) -> Any:
        loss = w * x
        micrograd.backward(loss, inputs=[w])
        return loss

    with pytest.raises(RuntimeError, match=r"cannot call backward\(\)"):
        micrograd.compile(f)(1.0)
    assert w.grad == 0


def test_a_recurrent_network_that_takes_and_returns_its_state_is_compiled():
    w = nn.Linear(2, 2)

    def step(h: Any, x: Any) -> Any:
        return (w(x) + h).tanh()

    f, h, hs = micrograd.compile(step), np.zeros(2), np.zeros(2)
    for x in np.eye(2):
        h, hs = f(h, x).data, step(Tensor(hs), Tensor(x)).data
    np.testing.assert_allclose(h, hs, rtol=1e-12)
