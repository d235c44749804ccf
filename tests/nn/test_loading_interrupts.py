"""A state that is loaded while a Ctrl-C comes is loaded wholly or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest
from interrupts import ctrl_c as ctrl_c
from interrupts import interrupted_everywhere

from micrograd import nn

MODELS: dict[str, Callable[[], Any]] = {
    "Values": lambda: nn.MLP(2, [2, 1]),
    "Tensors": lambda: nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)),
}


def numbers(model: Any) -> list[Any]:
    return [np.array(p.data).tolist() for p in model.parameters()]


@pytest.mark.parametrize("made", MODELS.values(), ids=MODELS)
def test_state_is_loaded_wholly_or_not_at_all_and_a_retry_is_right(made: Callable[[], Any]):
    loaded, other = made(), made()
    state, before = loaded.state_dict(), other.state_dict()

    def fresh() -> tuple[Callable[[], None], Any]:
        model = made()
        model.load_state_dict(before)
        # In a context of its own, since a Ctrl-C as `no_grad` begins may leave that mode on
        return lambda: copy_context().run(model.load_state_dict, state), model

    for _, model in interrupted_everywhere(fresh):
        assert numbers(model) in (numbers(other), numbers(loaded))
        model.load_state_dict(state)
        assert numbers(model) == numbers(loaded)
