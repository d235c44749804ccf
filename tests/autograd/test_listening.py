"""A mode of one's own is told what is about to happen; without one, nothing is in the way."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from micrograd import (
    Function,
    Tensor,
    Value,
    detect_anomaly,
    functional,
    grad,
    gradient,
    lazy,
    nn,
    optim,
    stack,
    strict,
)
from micrograd.engine.modes import Intercepting, Interceptor, listener

MESSAGES = [
    name for name, method in vars(Interceptor).items() if callable(method) and name[0] != "_" and name != "recorded"
]


class Double(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        return args[0].data * 2

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * 2


class Hearing(Interceptor):
    """Notes each message, and does what the ordinary interceptor does."""

    def __init__(self) -> None:
        self.heard: list[str] = []


def _noting(name: str) -> Callable[..., Any]:
    def message(self: Hearing, *found: Any) -> Any:
        self.heard.append(name)
        return getattr(Interceptor, name)(self, *found)

    return message


for _name in MESSAGES:
    setattr(Hearing, _name, _noting(_name))


class hearing(Intercepting):
    def __init__(self) -> None:
        self.value = Hearing()


def trained() -> Any:
    w = Value(3.0)
    (w * w).backward()
    return w


SAID: dict[str, Callable[[], object]] = {
    "read": lambda: Value(1.0).data,
    "look": lambda: Tensor([1.0]).shape,
    "freeze": lambda: setattr(Value(1.0), "requires_grad", False),
    "backward": lambda: (Value(1.0) * 2).backward(),
    "seen": lambda: grad((x := Value(1.0)) * 2, x),
    "meets_arrays": lambda: Tensor([1.0]) == Value(1.0),
    "crossed": lambda: gradient(lambda number: stack([number, Tensor(1.0)]).sum())(3.0),
    "verify": lambda: functional.cross_entropy(Tensor([[1.0, 2.0]]), np.array([1])),
    "asked": lambda: grad((x := Value(1.0)) * 2, x),
    "own_op": lambda: Double.apply(Value(1.0)),
    "draw": lambda: nn.Dropout(0.5)(Tensor([1.0])),
    "change": lambda: nn.Linear(1, 1).eval(),
    "scores": lambda: functional.cross_entropy([Value(1.0), Value(2.0)], 1),
    "step": lambda: optim.SGD([trained()], lr=0.1).step(),
    "scaled": lambda: optim.clip_grad_norm([trained()], 0.5),
}


def test_each_message_is_sent_by_something():
    assert SAID.keys() == set(MESSAGES)


@pytest.mark.parametrize("name", SAID)
def test_interceptor_is_told_what_is_about_to_happen(name: str):
    SAID[name]()  # nobody listens
    with (mode := hearing()):
        assert listener() is mode.value
        SAID[name]()
    assert name in mode.value.heard
    assert listener() is not mode.value


@pytest.mark.parametrize("modes", [*product([strict, detect_anomaly, lazy, hearing], repeat=3)])
def test_modes_inside_each_other_run_each_op_once(modes: Any):
    w = Value(2.0)
    with modes[0](), modes[1](), modes[2]():
        y = w * 3.0 + 1.0
    assert y.data == 7.0
    y.backward()
    assert w.grad == 3.0
