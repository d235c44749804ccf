"""grad(): the gradients of some nodes with respect to others, with .grad of none changed."""

from __future__ import annotations

import pytest

from micrograd import Value, grad, no_grad


def test_grad_gives_a_tuple_and_leaves_all_grads_alone():
    x, w = Value(3.0), Value(4.0)
    y = x * w
    assert grad(y * 2, [x, w, y]) == (8.0, 6.0, 2.0)
    assert (x.grad, w.grad, y.grad) == (0, 0, 0)


def test_grad_of_one_input_needs_no_list():
    x = Value(3.0)
    assert grad(x * x, x) == (6.0,)


def test_grad_of_a_node_by_itself_is_one():
    x = Value(3.0)
    y = x * 2
    assert grad(y, y) + grad(x, x) == (1.0, 1.0)


def test_grad_takes_several_outputs_with_a_gradient_each():
    x = Value(3.0)
    assert grad([x * 2, x * 3], x, [1.0, 10.0]) == (32.0,)


def test_grad_gives_the_same_input_twice_when_asked_for_twice():
    x = Value(3.0)
    assert grad(x * x, [x, x]) == (6.0, 6.0)


def test_an_unused_input_gives_none_where_that_is_allowed():
    x, other = Value(3.0), Value(4.0)
    assert grad(x * 2, [other, x], allow_unused=True) == (None, 2.0)


def test_gradients_are_plain_numbers_unless_a_graph_is_asked_for():
    x = Value(3.0)
    (x * x).backward()
    assert type(x.grad) is type(grad(x * x, x)[0]) is float


@pytest.mark.parametrize(("order", "wanted"), [(1, 405.0), (2, 540.0), (3, 540.0), (4, 360.0), (5, 120.0), (6, 0.0)])
def test_create_graph_gives_derivatives_of_any_order(order: int, wanted: float):
    x = Value(3.0)
    y = x**5
    for _ in range(order):
        (y,) = grad(y, x, create_graph=True)
    assert y.data == wanted


def test_a_gradient_of_create_graph_can_be_used_in_a_loss():
    x, w = Value(3.0), Value(2.0)
    y = (w * x) ** 2
    (slope,) = grad(y, x, create_graph=True)  # 2 w^2 x
    (slope * slope).backward()
    assert (x.grad, w.grad) == (2 * 24.0 * 8.0, 2 * 24.0 * 4 * 2.0 * 3.0)


def test_backward_with_create_graph_leaves_nodes_in_grad():
    x = Value(3.0)
    (x**3).backward(create_graph=True)
    assert x.grad.data == 27.0
    assert grad(x.grad, x) == (18.0,)


def test_a_fresh_grad_adds_no_node_to_what_create_graph_leaves():
    x = Value(3.0)
    y = x**3
    y.backward(create_graph=True)
    assert x.grad._op == grad(y, x, create_graph=True)[0]._op


def test_an_ordinary_pass_after_one_with_create_graph_grows_no_graph():
    x = Value(3.0)
    (x**3).backward(create_graph=True)
    (x * 2).backward()
    assert float(x.grad) == 29.0
    assert not getattr(x.grad, "_prev", ())


def test_create_graph_works_inside_no_grad():
    x = Value(3.0)
    y = x**3
    with no_grad():
        y.backward(create_graph=True)
    assert grad(x.grad, x) == (18.0,)


def test_a_given_gradient_is_differentiated_too_under_create_graph():
    x, g = Value(3.0), Value(2.0)
    (slope,) = grad(x * x, x, grad_outputs=g, create_graph=True)
    assert grad(slope, [x, g]) == (4.0, 6.0)


def test_a_gradient_that_depends_on_nothing_is_a_constant():
    x = Value(3.0)
    (slope,) = grad(x * 2, x, create_graph=True)
    assert (slope.data, slope.requires_grad) == (2.0, False)


def test_gradients_of_a_subclass_are_of_the_subclass_under_create_graph():
    class Mine(Value):
        pass

    x = Mine(3.0)
    (slope,) = grad(x**3, x, create_graph=True)
    assert type(slope) is Mine
