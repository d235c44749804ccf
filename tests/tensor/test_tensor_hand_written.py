"""Ops on Tensors from outside, whose backward is a closure of the user's own, as those on Values are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from micrograd import Tensor, Value, backward, compile, detect_anomaly, grad, no_grad

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
    "alone": lambda times, x, y: times(x, y),
    "among the others": lambda times, x, y: (times(x.exp(), y * 2) + x).tanh(),
    "twice the same operand": lambda times, x, y: times(x, x) + y,
    "on each other": lambda times, x, y: times(times(x, y), times(y, y) + 1),
    "on views": lambda times, x, y: times(x[:1], y.reshape(3, 2).T[1:]).sum(axis=1),
    "a constant operand": lambda times, x, y: times(x, y.detach()) * y,
    "on what in-place ops made": lambda times, x, y: times(_added(x * 1, y), y),
    "made larger by broadcasting": lambda times, x, y: times(x, x) + times(y[0], y[0]),
}


def _added(x: Tensor, y: Tensor) -> Tensor:
    x += y
    return x


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_closure_sends_what_the_row_sends(program):
    x, y = leaf(2, 3), leaf(2, 3)
    wanted = grad(program(Tensor.__mul__, x, y).sum(), [x, y], allow_unused=True)
    loss = program(mine, x, y).sum()
    for times in (1, 2):
        loss.backward(retain_graph=True)
        for t, g in zip((x, y), wanted, strict=True):
            np.testing.assert_allclose(t.grad, times * g, rtol=1e-12)
    np.testing.assert_allclose(grad(loss, x)[0], wanted[0], rtol=1e-12)


def test_a_closure_sees_its_own_grad_whole_and_its_operands_at_zero():
    x, seen = leaf(2), []
    x.grad = [5.0, 5.0]
    out = mine(x, x)
    out._backward = lambda: seen.append((out.grad.tolist(), x.grad.tolist()))
    (out * 3 + out * 4).sum().backward()
    assert seen == [([7.0, 7.0], [0.0, 0.0])]
    assert (x.grad.tolist(), out.grad) == ([5.0, 5.0], None)


def test_what_a_closure_assigns_is_copied_and_in_the_dtype_of_its_operand():
    x = Tensor(np.ones(2, np.float32), requires_grad=True)
    out, given = Tensor(np.ones(2, np.float32), (x,), "mine"), np.full(2, 3.0)
    out._backward = lambda: setattr(x, "grad", given)
    out.sum().backward()
    given[:] = 100
    assert (x.grad.tolist(), x.grad.dtype) == ([3.0, 3.0], np.float32)


def test_a_closure_cannot_write_to_the_gradient_that_others_are_sent_too():
    x, out = leaf(2), None
    out = mine(x, x)

    def _backward() -> None:
        out.grad[:] = 100

    out._backward = _backward
    with pytest.raises(ValueError, match="read-only"):
        (out + x).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize(
    "left",
    [None, "q", [1.0, 2.0, 3.0], np.ones(3), np.ones((2, 3)), 1.0, np.ones(2, complex), Tensor([1.0, 2.0, 3.0])],
    ids=lambda left: f"{type(left).__name__} {np.shape(left)}",
)
def test_a_gradient_of_the_wrong_shape_or_kind_is_refused_and_none_changes(left):
    x, y = leaf(2), leaf(2)
    out = mine(x, y)
    out._backward = lambda: setattr(x, "grad", left)
    with pytest.raises((TypeError, ValueError)) as caught:
        (out + y).sum().backward(retain_graph=True)
    assert any("'mine'" in note for note in caught.value.__notes__)
    assert (x.grad, y.grad) == (None, None)


def test_hooks_see_and_replace_what_a_closure_gets_and_sends():
    x, y = leaf(2), leaf(2)
    out = mine(x, y)
    out.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    out.sum().backward()
    np.testing.assert_allclose(x.grad, 10 * y.data + 1)
    np.testing.assert_allclose(y.grad, 10 * x.data)


def test_a_closure_replaces_the_rule_of_an_ordinary_node_and_may_call_the_old_one():
    x = leaf(2)
    y, seen = x * x, []
    for _ in range(2):
        old = y._backward

        def closure(old: Callable = old) -> None:
            seen.append(y.grad.tolist())
            old()

        y._backward = closure
    assert y._backward is closure
    (y * 2).sum().backward(retain_graph=True)
    np.testing.assert_allclose(x.grad, 4 * x.data)
    assert seen == [[2.0, 2.0]] * 2


def test_a_graph_is_walked_by_hand_and_no_two_grads_are_one_array():
    a, b = leaf(2), leaf(2)
    c = a + b
    c.grad = np.ones(2)
    c._backward()
    a.grad *= 10
    c._backward()
    assert [t.grad.tolist() for t in (a, b, c)] == [[11.0, 11.0], [2.0, 2.0], [1.0, 1.0]]


def test_what_a_closure_adds_to_a_constant_is_dropped_whatever_its_dtype():
    x, c = leaf(2), Tensor([2, 3])
    out = mine(x, c)
    out.sum().backward()
    assert (x.grad.tolist(), c.grad) == ([2.0, 3.0], None)


CHANGES: dict[str, Callable[[Tensor, Tensor, Tensor], Any]] = {
    "data of an operand": lambda x, h, out: h.data.fill(100),
    "data of a leaf": lambda x, h, out: x.data.fill(100),
    "new data": lambda x, h, out: setattr(x, "data", np.full(2, 100.0)),
    "an operand in place": lambda x, h, out: h.__iadd__(1),
    "a leaf in no_grad": lambda x, h, out: no_grad()(x.zero_)(),
    "through a view": lambda x, h, out: h.detach().fill_(100),
    "the result in place": lambda x, h, out: out.__iadd__(1),
    "the result's data": lambda x, h, out: out.data.fill(100),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_a_closure_reads_must_not_have_changed(change):
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


@pytest.mark.parametrize("made", [lambda x: mine(x, x), lambda x: replaced(x * x)])
@pytest.mark.parametrize("ask", [grad, lambda y, x, create_graph: y.backward(create_graph=create_graph)])
def test_create_graph_refuses_hand_written_closures_by_name(ask, made):
    x = leaf(2)
    out = made(x)
    with pytest.raises(RuntimeError, match=rf"'{out._op[-1]}|mine'"):
        ask(out.sum(), x, create_graph=True)
    assert x.grad is None


def replaced(y: Any) -> Any:
    y._backward = lambda: None
    return y


@pytest.mark.parametrize("x", [Value(2.0), Tensor(2.0, requires_grad=True)], ids=["Value", "Tensor"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: (Value if isinstance(x, Value) else Tensor)(1.0, (x,), "mine") * 2,
        lambda x: replaced(x * x) + 0,
    ],
    ids=["made", "replaced"],
)
def test_compile_refuses_hand_written_closures_by_name(function, x):
    with pytest.raises(RuntimeError, match=r"cannot use (mine|\*), whose derivative was written by hand"):
        compile(function)(x).backward()
    assert not x.grad


def test_a_compiled_function_of_what_a_closure_made_goes_on_into_it():
    x = leaf(3)
    compile(lambda t: (t * t).sum())(mine(x, x)).backward()
    np.testing.assert_allclose(x.grad, 4 * x.data**3)


@pytest.mark.parametrize("children", [5, None, (1.0,), (Value(2.0),), np.ones(2)], ids=repr)
def test_the_operands_are_a_tuple_of_tensors(children):
    with pytest.raises(TypeError, match="operands of a Tensor"):
        Tensor([1.0], children, "mine")


def test_what_no_gradient_can_reach_is_a_constant():
    x = leaf(2)
    with no_grad():
        inside = Tensor([1.0, 1.0], (x,), "mine")
    of_constants, of_integers = Tensor([1.0], (Tensor([1.0]),), "mine"), Tensor([1], (x,), "mine")
    assert [t.requires_grad for t in (inside, of_constants, of_integers)] == [False] * 3


def test_an_op_that_is_given_no_closure_sends_nothing():
    x = leaf(2)
    (Tensor([1.0, 2.0], (x,), "step") + x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_graph_that_was_let_go_takes_no_closure():
    out = mine(leaf(2), leaf(2))
    loss = out.sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="released"):
        out._backward = lambda: None
    with pytest.raises(RuntimeError, match="released"):
        backward(loss)


@pytest.mark.parametrize("x", [Value(3.0), Tensor(3.0, requires_grad=True)], ids=["Value", "Tensor"])
def test_the_closure_of_a_root_without_operands_is_called(x):
    seen = []
    x._backward = lambda: seen.append(float(x.grad))
    x.backward()
    backward([x], [2.0])
    assert (seen, x.is_leaf, float(x.grad)) == ([1.0, 3.0], True, 3.0)


@pytest.mark.parametrize("kind", [Value, Tensor])
def test_a_nan_that_a_closure_leaves_is_found_where_the_closure_was_given(kind):
    x = kind(2.0, requires_grad=True)
    with detect_anomaly():
        out = kind(1.0, (x,), "mine")
        out._backward = lambda: setattr(x, "grad", float("nan") * out.grad)
        with pytest.raises(RuntimeError, match=r"(?s)'mine'.*test_tensor_hand_written.py:\d+: out._backward"):
            out.backward()


@pytest.mark.parametrize("kind", [Value, Tensor])
def test_the_closure_of_a_released_node_raises(kind):
    c = kind(2.0, requires_grad=True) * 3
    c.backward(retain_graph=False)
    with pytest.raises(RuntimeError, match="released"):
        c._backward()
