"""Where the interpreter has no lock, nothing relies on it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from micrograd import Tensor, Value, compile
from micrograd.compiler import offload
from micrograd.optim import SGD, Adam

at_once = offload.at_once


def values() -> list[Value]:
    return [Value(0.01 * i) for i in range(100)]


def tensors() -> list[Tensor]:
    return [Tensor(np.linspace(-1, 1, 100), requires_grad=True)]


def loss_of(params: list) -> Callable[[], Value | Tensor]:
    return lambda: sum((p * p - 0.5 if isinstance(p, Value) else (p * p - 0.5).sum()) ** 2 for p in params)


def trained(params: list, optimizer: type, steps: int = 5) -> list[float]:
    step = compile(loss_of(params), update=optimizer(params, lr=0.01))
    for _ in range(steps):
        step()
    return np.ravel([p.data for p in params]).tolist()


@pytest.fixture
def free_threaded(monkeypatch):
    """As where `python -X gil=0` runs. What relies on the lock fails."""
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)

    def relies(*calls: object) -> None:
        raise AssertionError("changed at once, which is at once for this thread alone")

    monkeypatch.setattr(offload, "at_once", relies)
    monkeypatch.setattr("micrograd.compiler.backends.python.at_once", relies)


@pytest.mark.parametrize("optimizer", [SGD, Adam])
@pytest.mark.parametrize("made", [values, tensors])
def test_compiled_step_takes_no_number_away_and_trains_as_it_does_elsewhere(free_threaded, made, optimizer):
    params = made()
    found = trained(params, optimizer)
    assert {type(getattr(p, "_node", p)) for p in params} == {type(getattr(p, "_node", p)) for p in made()}
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
        elsewhere.setattr(offload, "at_once", at_once)
        elsewhere.setattr("micrograd.compiler.backends.python.at_once", at_once)
        np.testing.assert_allclose(found, trained(made(), optimizer), rtol=1e-12)


def test_program_that_reads_the_same_numbers_again_and_again_leaves_them_in_their_nodes(free_threaded):
    params = values()
    loss = compile(lambda x: sum((p * x) ** 2 for p in params), backend="numpy")
    assert len({loss(2.0).data for _ in range(2 * offload.PATIENCE)}) == 1
    assert {type(p) for p in params} == {Value}
