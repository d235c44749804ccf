"""Ops on Tensors from outside, whose backward is a closure of the user's own, as those on Values are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from micrograd import Tensor, Value, compile, grad, no_grad

RNG = np.random.default_rng(0)


def leaf(*shape: int) -> Tensor:
    return Tensor(RNG.uniform(-1, 1, shape), requires_grad=True)


def mine(a: Tensor, b: Tensor) -> Tensor:
    """a * b, for operands of one shape."""
    out = Tensor(a.data * b.data, _children=(a, b), _op="mine")

    def _backward() -> None:
        a.grad += out.grad * b.data
        b.grad += out.grad * a.data

    out._backward = _backward
    return out


# Programs of which `times` is an op: the row's, or the one written by hand.
PROGRAMS: dict[str, Callable[[Callable, Tensor, Tensor], Tensor]] = {
    "among the others": lambda times, x, y: (times(x.exp(), y * 2) + x).tanh(),
    "in a compiled function": lambda times, x, y: compile(lambda t: t * t)(times(x, y)),
    "twice the same operand": lambda times, x, y: times(x, x) + y,
    "on each other": lambda times, x, y: times(times(x, y), times(y, y) + 1),
    "on views": lambda times, x, y: times(x[:1], y.reshape(3, 2).T[1:]).sum(axis=1),
    "a constant operand": lambda times, x, y: times(x, y.detach()) * y,
    "an operand of integers": lambda times, x, y: times(x, Tensor(np.arange(6).reshape(2, 3))) * y,
    "on what in-place ops made": lambda times, x, y: times(_added(x * 1, y), y),
    "made larger by broadcasting": lambda times, x, y: times(x, x) + times(y[0], y[0]),
}


def _added(x: Tensor, y: Tensor) -> Tensor:
    x += y
    return x


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_closure_sends_what_the_row_sends(program):
    x, y = leaf(2, 3), leaf(2, 3)
    wanted = grad(program(Tensor.__mul__, x, y).sum(), [x, y], allow_unused=True)
    loss = program(mine, x, y).sum()
    for times in (1, 2):
        loss.backward(retain_graph=True)
        for t, g in zip((x, y), wanted, strict=True):
            np.testing.assert_allclose(t.grad, times * g, rtol=1e-12)
    np.testing.assert_allclose(grad(loss, x)[0], wanted[0], rtol=1e-12)


def test_gradient_that_a_closure_assigns_is_copied_in_the_dtype_of_its_operand():
    x = Tensor(np.ones(2, np.float32), requires_grad=True)
    out, given = Tensor(np.ones(2, np.float32), (x,), "mine"), np.full(2, 3.0)
    out._backward = lambda: setattr(x, "grad", given)
    out.sum().backward()
    given[:] = 100
    assert (x.grad.tolist(), x.grad.dtype) == ([3.0, 3.0], np.float32)


def test_closure_cannot_write_to_the_gradient_that_others_are_sent_too():
    x = leaf(2)
    out = mine(x, x)
    out._backward = lambda: out.grad.fill(100)
    with pytest.raises(ValueError, match="read-only"):
        (out + x).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("left", [None, "q", [1.0, 2.0, 3.0], np.ones((2, 3)), 1.0, np.ones(2, complex)], ids=str)
def test_gradient_of_the_wrong_shape_or_kind_is_refused_and_none_changes(left):
    x, y = leaf(2), leaf(2)
    out = mine(x, y)
    out._backward = lambda: setattr(x, "grad", left)
    with pytest.raises((TypeError, ValueError)) as caught:
        (out + y).sum().backward(retain_graph=True)
    assert any("'mine'" in note for note in caught.value.__notes__)
    assert (x.grad, y.grad) == (None, None)


def test_graph_is_walked_by_hand_and_no_two_grads_are_one_array():
    a, b = leaf(2), leaf(2)
    c = a + b
    c.grad = np.ones(2)
    c._backward()
    a.grad *= 10
    c._backward()
    assert [t.grad.tolist() for t in (a, b, c)] == [[11.0, 11.0], [2.0, 2.0], [1.0, 1.0]]


CHANGES: dict[str, Callable[[Tensor, Tensor, Tensor], Any]] = {
    "data of an operand": lambda x, h, out: h.data.fill(100),
    "an operand in place": lambda x, h, out: h.__iadd__(1),
    "a leaf in no_grad": lambda x, h, out: no_grad()(x.zero_)(),
    "through a view": lambda x, h, out: h.detach().fill_(100),
    "the result in place": lambda x, h, out: out.__iadd__(1),
    "the result's data": lambda x, h, out: out.data.fill(100),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_operands_that_a_closure_reads_must_not_have_changed(change):
    x = leaf(2)
    h = x * 1
    out = mine(h, x)
    change(x, h, out)
    with pytest.raises(RuntimeError, match="'mine'"):
        (out + x).sum().backward()
    assert x.grad is None


def test_looking_at_data_is_no_change():
    x = leaf(2)
    h = x * 1
    view = h[:1]
    out = mine(h, x)
    _ = x.data, h.data, out.data, view.data, x.detach().data
    (out.sum() + view.sum()).backward()
    np.testing.assert_allclose(x.grad, 2 * x.data + [1, 0])


@pytest.mark.parametrize("children", [5, None, (1.0,), (Value(2.0),), np.ones(2)], ids=repr)
def test_operands_are_a_tuple_of_tensors(children):
    with pytest.raises(TypeError, match="operands of a Tensor"):
        Tensor([1.0], children, "mine")


def test_operands_that_no_gradient_can_reach_are_constants():
    x = leaf(2)
    with no_grad():
        inside = Tensor([1.0, 1.0], (x,), "mine")
    of_constants, of_integers = Tensor([1.0], (Tensor([1.0]),), "mine"), Tensor([1], (x,), "mine")
    assert [t.requires_grad for t in (inside, of_constants, of_integers)] == [False] * 3
