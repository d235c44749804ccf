"""Autograd on Tensors, as users of PyTorch know it: one sentence a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_helpers import equal, parameter

from micrograd import Tensor, backward

# ---------------------------------------------------------------------------------------------------------------------
# The graph that is seen


def test_operands_are_the_tensors_themselves_and_a_constant_the_same_one_each_time():
    x = parameter(1, 2)
    y = x * np.array([3.0, 4.0])
    left, constant = y._prev
    assert (left is x, y._prev[1] is constant, y._op) == (True, True, "*")
    equal(constant, [3, 4])


def test_result_without_a_gradient_is_a_leaf_without_history():
    y = Tensor([1.0]) + Tensor([2.0])
    assert (y.is_leaf, y.requires_grad, y.grad_fn, y._prev) == (True, False, None, ())


def test_retained_gradient_accumulates_as_a_leafs_does():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    (y * 3).sum().backward(retain_graph=True)
    first = y.grad
    (y * 5).sum().backward(retain_graph=True)
    np.testing.assert_array_equal(y.grad, [8, 8])
    np.testing.assert_array_equal(first, [3, 3])
    y += 1
    backward((y * y).sum(), create_graph=True)
    np.testing.assert_array_equal(y.grad.data, [8 + 6, 8 + 10])
    y.grad = None
    backward(y.sum(), inputs=[y], retain_graph=True)
    backward(y.sum(), inputs=[y])
    np.testing.assert_array_equal(y.grad, [2, 2])


def test_retain_grad_of_a_constant_raises():
    with pytest.raises(RuntimeError, match="requires a gradient"):
        Tensor([1.0]).retain_grad()


# ---------------------------------------------------------------------------------------------------------------------
# The same programs in PyTorch

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "a perceptron": lambda x, w: ((x @ w).tanh() @ w.T).relu().sum(),
    "attention": lambda x, w: ((x @ w @ (x @ w).T / 2).softmax(-1) @ x).mean(),
    "normalisation": lambda x, w: ((x - x.mean(0)) / ((x - x.mean(0)) ** 2 + 0.1).mean(0) ** 0.5 * w[0, 0]).sum(),
    "in place": lambda x, w: ((x * 2).__iadd__(w[0]).__imul__(x) ** 2).sum(),
    "shared": lambda x, w: (lambda h: (h * h + h[::1] / (h + 5)).sum())(x @ w + x),
    "masked": lambda x, w: (x * w[0])[x.detach() > 0].sum() + x[[0, 0, 1]].log_softmax(0)[1].sum(),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program_that_reads_the_same_in_pytorch_gives_the_same(program: Callable):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    data = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    ours = [Tensor(a, requires_grad=True) for a in data]
    theirs = [torch.tensor(a, requires_grad=True) for a in data]
    y, z = program(*ours), program(*theirs)
    y.backward()
    z.backward()
    assert y.item() == pytest.approx(z.item(), rel=1e-12)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), rtol=1e-10, atol=1e-12)
