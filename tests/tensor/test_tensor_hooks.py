"""Hooks on Tensors: what they see, and what they may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_helpers import equal, parameter


@pytest.mark.parametrize(
    ("wrong", "error"),
    [(lambda g: "abc", (TypeError, ValueError)), (lambda g: np.ones(3), ValueError), (lambda g: 1j * g, TypeError)],
    ids=["text", "shape", "complex"],
)
def test_hook_must_return_a_gradient(wrong: Callable, error: Any):
    x = parameter(1, 2)
    x.register_hook(wrong)
    with pytest.raises(error):
        (x * 2).sum().backward()
    assert x.grad is None


def test_hook_cannot_write_to_its_argument_which_others_may_have_too():
    a, b = parameter(1, 2), parameter(3, 4)
    a.register_hook(lambda g: g.fill(10.0))
    with pytest.raises(ValueError, match="read-only"):
        (a + b).sum().backward()
    assert (a.grad, b.grad) == (None, None)


def test_hook_that_keeps_its_argument_keeps_what_it_saw():
    x, seen = parameter(1, 2), []
    x.register_hook(seen.append)
    (x * 2).sum().backward()
    x.grad[...] = 99
    equal(seen, [[2, 2]])
