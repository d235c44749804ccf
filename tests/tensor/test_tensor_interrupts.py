"""A Ctrl-C at any line of what changes a Tensor in place leaves it as it was, or as it is meant to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from interrupts import ctrl_c as ctrl_c
from interrupts import interrupted_everywhere

from micrograd import Tensor
from micrograd.tensor.node import Unusable

WRITES: dict[str, Callable[[Tensor], Any]] = {
    "+=": lambda y: y.__iadd__(1.0),
    "*=": lambda y: y.__imul__(3.0),
    "/= itself": lambda y: y.__itruediv__(y),
    "[1:] =": lambda y: y.__setitem__(slice(1, None), 5.0),
}
TARGETS = {
    "itself": lambda x: (x, x, []),
    "a base": lambda x: (x, x, [x[:2], x[1:], x[1:][:1]]),
    "a view": lambda x: (x, x[1:], [x[:2]]),
    "a view of a view": lambda x: (x, x[1:][:1], [x[:2], x[0:]]),
}


def numbers(x: Tensor, base: Tensor, others: list[Tensor]) -> list[list[float]]:
    """What is read of a Tensor and its views that can be used, and the gradients that come back from them."""
    tensors = [t for t in (base, *others) if not isinstance(t._node, Unusable)]
    loss = sum((i + 2.0) * (t * t).sum() for i, t in enumerate(tensors)) + x.sum()
    x.grad = None
    loss.backward(retain_graph=True)
    return [t.data.tolist() for t in tensors] + [x.grad.tolist()]


def fresh(target: str) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
    x = Tensor([1.0, 2.0, 4.0], requires_grad=True)
    base, written, views = TARGETS[target](x * 2)
    return x, base, written, [written, *views]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Python drops one inside a __del__
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_interrupt_at_any_line_of_a_write_leaves_all_of_it_or_nothing(write, target: str):
    def running() -> tuple[Any, ...]:
        x, base, written, tensors = fresh(target)
        return lambda: write(written), x, base, written, tensors

    expected = []
    for times in range(3):
        x, base, written, tensors = fresh(target)
        for _ in range(times):
            write(written)
        expected.append(numbers(x, base, tensors))
    for _, x, base, written, tensors in interrupted_everywhere(running):
        found = numbers(x, base, tensors)
        assert found in expected[:2]
        write(written)
        assert numbers(x, base, tensors) == expected[expected.index(found) + 1]


@pytest.mark.parametrize("frozen", [True, False])
def test_interrupt_at_any_line_of_freezing_loses_no_gradient_and_no_hook(frozen: bool):
    def running() -> tuple[Any, ...]:
        x, seen = Tensor([1.0, 2.0], requires_grad=True, label="x"), []
        x.register_hook(seen.append)
        y = (x * x).sum()
        x.grad = np.array([10.0, 20.0])
        if not frozen:
            x.requires_grad_(False)
        return lambda: x.requires_grad_(not frozen), x, y, seen

    for _, x, y, seen in interrupted_everywhere(running, 10):
        z = (x * x).sum()
        assert z.requires_grad == x.requires_grad
        x.requires_grad_(True)
        y.backward()
        assert (x.grad.tolist(), len(seen), x.label) == ([12.0, 24.0], 1, "x")
