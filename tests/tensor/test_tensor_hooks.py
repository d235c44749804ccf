"""Hooks on Tensors: what they see, and what they may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_helpers import equal, parameter

from micrograd import Tensor


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


def test_hook_that_writes_to_its_argument_changes_no_other_gradient():
    a, b = parameter(1, 2), parameter(3, 4)

    def tamper(g: np.ndarray) -> None:
        g *= 10

    a.register_hook(tamper)
    try:
        (a + b).sum().backward()
    except ValueError:  # the array is read-only
        assert (a.grad, b.grad) == (None, None)
    else:
        equal(b.grad, [1, 1])


def test_hook_that_keeps_its_argument_keeps_what_it_saw():
    x, seen = parameter(1, 2), []
    x.register_hook(seen.append)
    (x * 2).sum().backward()
    x.grad[...] = 99
    equal(seen, [[2, 2]])


def test_constant_cannot_be_hooked():
    with pytest.raises(RuntimeError, match="requires_grad=True"):
        Tensor([1.0]).register_hook(print)
