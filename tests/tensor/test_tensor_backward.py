"""backward() and grad() on Tensors, as users of PyTorch know them; and whose arrays the gradients are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_helpers import equal, parameter

from micrograd import Tensor, Value, backward, grad, no_grad
from micrograd.tensor import arrays
from micrograd.viz import animate, compare, draw_dot, player, trace

# ---------------------------------------------------------------------------------------------------------------------
# backward()


@pytest.mark.parametrize(
    "kind", [list, np.array, Tensor, lambda g: np.array(g, np.float32), lambda g: np.array(g, int)]
)
def test_gradient_may_be_an_array_or_a_tensor_of_any_real_dtype(kind: Callable):
    x = parameter(1, 2)
    (x * 2).backward(kind([1.0, 10.0]))
    equal(x.grad, [2, 20])
    assert x.grad.dtype == np.float64


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_gradient_of_one_element_has_its_shape_and_may_be_written_to(shape: Any):
    x = Tensor(np.full(shape, 3.0), requires_grad=True)
    for passes in (1, 2):
        (x * x).backward()
        np.testing.assert_array_equal(x.grad, np.full(shape, 6.0 * passes), strict=True)
    x.grad[...] = 0
    assert x.grad == 0


def test_gradient_takes_on_the_roots_dtype_under_create_graph_too():
    x = Tensor([1.0, 2.0], dtype="float32", requires_grad=True)
    x.backward(Tensor([1.0, 2.0]), create_graph=True)
    assert x.grad.dtype == np.float32


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([np.ones(3)], ValueError, r"\(2,\) .* \(3,\)"),
        ([1j * np.ones(2)], TypeError, "real"),
        ([np.array(["a", "b"])], TypeError, "real"),
    ],
)
def test_gradient_must_be_real_numbers_of_the_roots_shape(given: list, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        (parameter(1, 2) * 2).backward(*given)


@pytest.mark.parametrize("kept", ["retain_graph", "create_graph"])
def test_graph_that_is_kept_can_be_walked_again(kept: str):
    x = parameter(1, 2)
    y = (x**3).sum()
    for how in ({kept: True}, {kept: True}, {"retain_graph": False, "create_graph": kept == "create_graph"}):
        y.backward(**how)
    equal(x.grad if kept == "retain_graph" else x.grad.detach(), [9, 36])
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


# ---------------------------------------------------------------------------------------------------------------------
# grad(), roots


def test_grad_to_an_inner_tensor_leaves_what_is_below_it():
    x = parameter(1, 2)
    h = x * x
    (g,) = grad((h * h).sum(), h)
    h.backward(g)  # the rest of the way
    equal(x.grad, [4, 32])


@pytest.mark.parametrize("order", [1, -1])
def test_roots_of_both_kinds_raise_and_name_both(order: int):
    v, x = Value(2.0), Tensor(3.0, requires_grad=True)
    with pytest.raises(TypeError, match="found Values and Tensors together"):
        backward([v * 2, x * 2][::order])
    assert (v.grad, x.grad) == (0, None)


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
    equal(first, [3, 3])
    equal(y.grad, [8, 8])
    y += 1
    backward((y * y).sum(), create_graph=True)
    equal(y.grad.data, [8 + 6, 8 + 10])


def test_retain_grad_of_a_constant_raises():
    with pytest.raises(RuntimeError, match="requires a gradient"):
        Tensor([1.0]).retain_grad()


# ---------------------------------------------------------------------------------------------------------------------
# Whose arrays gradients are


WAYS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda x, y: x + y,
    "sum": lambda x, y: (x + y).sum(),
    "concatenate": lambda x, y: arrays.concatenate(0)(x, y).reshape(2, -1).sum(0),
    "views": lambda x, y: (x.reshape(1, -1).T.flatten() + y[...]).sum(),
    "where": lambda x, y: arrays.where(np.array([True, False, True]))(x, y),
}


def by_backward(out: Tensor, x: Tensor, y: Tensor) -> tuple[np.ndarray, ...]:
    out.backward(np.ones(out.shape))
    return x.grad, y.grad


def by_grad(out: Tensor, x: Tensor, y: Tensor) -> tuple[np.ndarray, ...]:
    return grad(out, [x, y], np.ones(out.shape))


@pytest.mark.parametrize("get", [by_backward, by_grad])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_gradients_of_two_leaves_share_no_memory_and_can_be_updated_in_place(way: Callable, get: Callable):
    x, y = parameter(1, 2, 3), parameter(4, 5, 6)
    to_x, to_y = get(way(x, y), x, y)
    assert not np.shares_memory(to_x, to_y)
    before = to_x.copy()
    for g in (to_x, to_y):
        g *= 2
        g.reshape(-1)[0] += 1  # a view where the memory is in order
    equal(to_x, 2 * before + [1, 0, 0])


def test_input_or_root_that_is_named_twice_gets_arrays_of_its_own():
    x = parameter(1, 2)
    first, second = grad((x * 2).sum(), [x, x])
    first *= 0
    equal(second, [2, 2])
    backward([x, x], [np.ones(2), np.ones(2)])
    equal(x.grad, [2, 2])


@pytest.mark.parametrize("f", [lambda x: x, lambda x: x + x + x, lambda x: x.reshape(1, 2).reshape(2)])
def test_gradient_that_the_user_gave_is_not_adopted(f: Callable):
    x, g = parameter(1, 2), np.array([1.0, 1.0])
    f(x).backward(g)
    x.grad[...] = 99
    equal(g, [1, 1])
    g[...] = 77
    equal(x.grad, [99, 99])


def test_array_that_the_user_set_or_took_is_not_written_to():
    x, g = parameter(1, 2), np.array([5.0, 5.0])
    x.grad = g
    (x * 2).sum().backward()
    taken = x.grad
    (x * 3).sum().backward()
    equal(g, [5, 5])
    equal(taken, [7, 7])
    equal(x.grad, [10, 10])


def test_retained_gradients_share_no_memory_with_those_of_leaves():
    x = parameter(1, 2)
    y = x + 1
    y.retain_grad()
    y.sum().backward()
    x.grad[...] = 99
    equal(y.grad, [1, 1])


def test_gradient_is_laid_out_as_its_leaf_wherever_it_came_from():
    x = Tensor(np.ones((3, 4)), requires_grad=True)
    (x.T * np.ones((4, 3))).sum().backward()
    assert x.grad.flags.c_contiguous
    by_columns = Tensor(np.ones((4, 3)).T, requires_grad=True)
    (by_columns.T * np.ones((4, 3))).sum().backward()
    assert by_columns.grad.flags.f_contiguous


# ---------------------------------------------------------------------------------------------------------------------
# The .grad of an inner Tensor


def test_grad_of_an_inner_tensor_is_none_with_a_warning_as_in_pytorch():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"the \.grad of a Tensor that '\*' made is not kept.*retain_grad\(\)"):
            assert y.grad is None
        y.sum().backward(retain_graph=True)


def test_grad_of_a_leaf_a_constant_and_a_retained_tensor_warns_of_nothing():
    x, c = Tensor([1.0], requires_grad=True), Tensor([2.0])
    y = x * c
    y.retain_grad()
    with no_grad():
        z = x * 2
    assert [t.grad for t in (x, c, y, z, y.detach(), (c * 2))] == [None] * 6
    y.sum().backward()
    assert (y.grad, x.grad) == ([1.0], [2.0])


@pytest.mark.parametrize(
    "look", [repr, str, draw_dot, player, animate, lambda t: t.show(), trace, lambda t: compare(t, t)]
)
def test_pictures_of_an_inner_tensor_warn_of_nothing(look):
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    y = (x * 2).tanh().sum()
    y.backward(retain_graph=True)
    assert look(y)


@pytest.mark.parametrize("change", [lambda x: setattr(x, "data", 5.0), lambda x: x.data.fill(5.0)])
def test_data_set_between_two_passes_changes_no_gradient_where_pytorchs_does(change):
    torch = pytest.importorskip("torch")
    x, theirs = Tensor(4.0, requires_grad=True), torch.tensor(4.0, requires_grad=True)
    for leaf, write in ((x, change), (theirs, lambda x: x.data.fill_(5.0))):
        y = leaf**3
        y.backward(retain_graph=True)
        write(leaf)
        y.backward()
    assert (x.grad, theirs.grad) == (48 + 48, 48 + 75)
