"""Tensors that record and Tensors that do not: modes, detach(), requires_grad."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from engine_helpers import over_kinds
from tensor_helpers import equal, parameter

from micrograd import Tensor, detect_anomaly, einsum, is_grad_enabled, nn, no_grad
from micrograd.tensor import arrays


@pytest.mark.parametrize("op", [lambda x: arrays.concatenate(0)(x, x), lambda x: x[0], lambda x: x @ x, lambda x: x.T])
def test_every_kind_of_op_heeds_no_grad(op: Callable):
    x = parameter(1, 2)
    with no_grad():
        assert not op(x).requires_grad
    assert op(x).requires_grad
    assert is_grad_enabled()


@pytest.mark.parametrize("frozen", [False, True])
def test_leaf_frozen_or_unfrozen_after_its_use_gets_none_and_the_others_get_theirs(frozen: bool):
    x, c = parameter(2), Tensor([3.0], requires_grad=frozen)
    y = (x * c).sum()
    assert c.requires_grad_(not frozen) is c
    y.backward()
    equal(x.grad, [3])
    assert c.grad is None


@over_kinds
def test_to_freeze_and_unfreeze_changes_nothing(kind: Callable):
    x, seen = kind(3.0), []
    x.label = "x"
    handle = x.register_hook(lambda g: seen.append(float(g)))
    before = x * 2
    before.backward(retain_graph=True)
    for wanted in (False, True, False, True):
        x.requires_grad = wanted
        assert (float(x.grad), x.label, x.requires_grad) == (2, "x", wanted)
    before.backward()
    (x * 5).backward()
    assert (float(x.grad), seen) == (9, [2, 2, 5])
    handle.remove()
    (x * 5).backward()
    assert (float(x.grad), seen) == (14, [2, 2, 5])


def test_write_and_zeroed_gradient_of_a_frozen_leaf_stay():
    x = parameter(1, 2)
    view, shared = x[:1], x.detach()
    (x * 2).sum().backward()
    x.requires_grad_(False)
    used = (x * parameter(1, 1)).sum()
    x += 1
    x.grad = None
    x.requires_grad_(True)
    equal(x, [2, 3])
    equal(shared, [2, 3])
    assert x.grad is None
    with pytest.raises(RuntimeError, match="changed in place"):
        used.backward()
    (x * x).sum().backward()
    equal(x.grad, [4, 6])
    equal(view, [2])


def test_detach_gives_a_constant_that_shares_the_memory():
    x = parameter(1, 2)
    d = (x * 1).detach()
    assert (d.requires_grad, d.is_leaf) == (False, True)
    leaf = x.detach()
    leaf[0] = 9
    equal(x, [9, 2])


MADE = {
    "an op": (lambda x: x.log(), r"Tensor\(\[0\.\]"),  # the line of an op
    "einsum": (lambda x: einsum("i,i->", x, Tensor([np.inf])), ""),  # the line of einsum
    "a layer": (lambda x: nn.Linear.from_neurons(nn.Layer(1, 1))(x * np.inf), ""),  # the line of a layer
}


@pytest.mark.parametrize("name", MADE)
def test_detect_anomaly_names_operand_and_line_also_where_the_op_has_many_or_a_layer_called_it(name: str):
    make, operand = MADE[name]
    with np.errstate(all="ignore"), detect_anomaly():
        y = make(parameter(0))
        with pytest.raises(RuntimeError, match=rf"nan.*{operand}.*test_tensor_modes\.py:\d+: .*  # the line of {name}"):
            (y * 0).sum().backward()


def test_backward_pass_does_not_warn():
    x = parameter(0)
    with np.errstate(all="ignore"):
        y = x.log() + x.sqrt() + 1 / x
    y.backward()  # warnings are errors here
    equal(x.grad, [np.nan])
