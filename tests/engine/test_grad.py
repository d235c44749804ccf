"""grad(): the gradients of some nodes with respect to others, with .grad of none changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from engine_helpers import over_kinds

import micrograd
from micrograd import Value, backward, grad, no_grad
from micrograd.scalars.passes import run_pass


def of_inner(x: Any, w: Any) -> tuple[Any, ...]:
    y = x * w
    return grad(y * 2, [x, w, y])


def of_ancestors(x: Any, turn: int) -> tuple[Any, ...]:
    y = x * 2
    return grad([y, y * 5, y][::turn], x, [100.0, 1.0, 1000.0][::turn])


GRADS: dict[str, tuple[Callable, tuple[Any, ...]]] = {  # of x, which is 3, and w, which is 4
    "several inputs, of which one is a result": (of_inner, (8.0, 6.0, 2.0)),
    "one input, which needs no list": (lambda x, w: grad(x * x, x), (6.0,)),
    "a leaf by itself": (lambda x, w: grad(x, x), (1.0,)),
    "a gradient for each of several roots": (lambda x, w: grad([x * 2, x * 3], x, [1.0, 10.0]), (32.0,)),
    "no gradient for one of them": (lambda x, w: grad([x * 2, x * 3], x, [None, 10.0]), (32.0,)),
    "roots that are ancestors of one another": (lambda x, w: of_ancestors(x, 1), (2210.0,)),
    "the same in another order": (lambda x, w: of_ancestors(x, -1), (2210.0,)),
    "the same input twice": (lambda x, w: grad(x * x, [x, x]), (6.0, 6.0)),
    "an input that is not used": (lambda x, w: grad(x * 2, [w, x], allow_unused=True), (None, 2.0)),
}


@over_kinds
@pytest.mark.parametrize(("ask", "wanted"), GRADS.values(), ids=GRADS)
def test_grad_gives_a_tuple_and_leaves_all_grads_alone(kind: Callable, ask: Callable, wanted: tuple[Any, ...]):
    x, w = kind(3.0), kind(4.0)
    fresh = x.grad
    assert ask(x, w) == wanted
    assert (x.grad, w.grad) == (fresh, fresh)


@over_kinds
@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (lambda x, other: grad(x * 2, other), RuntimeError, "input 0 .*allow_unused=True"),
        (lambda x, other: grad(x * 2, [x, other]), RuntimeError, "input 1 .*allow_unused=True"),
        (lambda x, other: grad(x * 2, other.detach()), RuntimeError, "an input requires no gradient"),
        (lambda x, other: backward([x * 2, x * 3], [1.0]), ValueError, "2 roots need a list of 2 gradients.* found 1"),
        (lambda x, other: backward([x * 2, x * 3], 1.0), ValueError, "2 roots .*found float"),
    ],
)
def test_grad_refuses_what_cannot_be_asked_for(kind: Callable, code: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        code(kind(3.0), kind(4.0))


@over_kinds
def test_backward_with_inputs_gives_them_alone_a_gradient(kind: Callable):
    x, w, other = (kind(data) for data in (3.0, 4.0, 5.0))
    fresh, y = x.grad, x * w
    (y * 2).backward(inputs=[w, other])
    assert (x.grad, w.grad, other.grad) == (fresh, 6.0, fresh)
    y = x * 2
    (y * 5).backward(inputs=y)  # one needs no list, and may be an inner node
    assert (x.grad, y.grad) == (fresh, 5.0)


@over_kinds
@pytest.mark.parametrize(("order", "wanted"), [(1, 405.0), (2, 540.0), (3, 540.0), (4, 360.0), (5, 120.0), (6, 0.0)])
def test_create_graph_gives_derivatives_of_any_order(kind: Callable, order: int, wanted: float):
    x = kind(3.0)
    y = x**5
    for _ in range(order):
        (y,) = grad(y, x, create_graph=True)
    assert y.data == wanted


@over_kinds
def test_create_graph_gives_gradients_that_can_be_used_in_a_loss(kind: Callable):
    x, w = kind(3.0), kind(2.0)
    y = (w * x) ** 2
    (slope,) = grad(y, x, create_graph=True)  # 2 w^2 x
    (slope * slope).backward()
    assert (x.grad, w.grad) == (2 * 24.0 * 8.0, 2 * 24.0 * 4 * 2.0 * 3.0)


def test_gradients_are_plain_numbers_unless_a_graph_is_asked_for():
    x = Value(3.0)
    (x * x).backward()
    assert type(x.grad) is type(grad(x * x, x)[0]) is float


@over_kinds
def test_backward_with_create_graph_leaves_nodes_in_grad(kind: Callable):
    x = kind(3.0)
    (x**3).backward(create_graph=True)
    assert x.grad.data == 27.0
    assert grad(x.grad, x) == (18.0,)


def test_fresh_grad_adds_no_node_to_what_create_graph_leaves():
    x = Value(3.0)
    y = x**3
    y.backward(create_graph=True)
    assert x.grad._op == grad(y, x, create_graph=True)[0]._op


def test_ordinary_pass_after_one_with_create_graph_grows_no_graph():
    x = Value(3.0)
    (x**3).backward(create_graph=True)
    (x * 2).backward()
    assert float(x.grad) == 29.0
    assert not getattr(x.grad, "_prev", ())


@over_kinds
def test_create_graph_works_inside_no_grad(kind: Callable):
    x = kind(3.0)
    y = x**3
    with no_grad():
        y.backward(create_graph=True)
    assert grad(x.grad, x) == (18.0,)


@over_kinds
def test_create_graph_differentiates_a_given_gradient_too(kind: Callable):
    x, g = kind(3.0), kind(2.0)
    (slope,) = grad(x * x, x, grad_outputs=g, create_graph=True)
    assert grad(slope, [x, g]) == (4.0, 6.0)


@over_kinds
def test_create_graph_gives_a_constant_where_a_gradient_depends_on_nothing(kind: Callable):
    x = kind(3.0)
    (slope,) = grad(x * 2, x, create_graph=True)
    assert (slope.data, slope.requires_grad) == (2.0, False)


def test_gradients_of_a_subclass_are_of_the_subclass_under_create_graph():
    class Mine(Value):
        pass

    x = Mine(3.0)
    (slope,) = grad(x**3, x, create_graph=True)
    assert type(slope) is Mine


# ---------------------------------------------------------------------------------------------------------------------
# Ways that were let go


def shared(kind: Any) -> tuple[Any, Any, Any, Any]:
    """Two heads on one trunk, which is let go by the pass of the first."""
    x, w = kind(3.0), kind(5.0)
    h = x * x
    second = h * w
    (h * w * 2).backward(retain_graph=False)
    return x, w, h, second


@over_kinds
def test_branch_that_was_let_go_is_no_hindrance_where_it_is_not_on_the_way(kind: Callable):
    x, w, h, second = shared(kind)
    assert grad(second, [w], retain_graph=True) == (9.0,)
    assert grad(h * w, [w, h], retain_graph=True) == (9.0, 5.0)
    w.grad = None if isinstance(w, micrograd.Tensor) else 0
    second.backward(inputs=[w])
    assert (w.grad, float(x.grad)) == (9.0, 60.0)


@over_kinds
def test_way_through_a_branch_that_was_let_go_raises_even_where_there_is_another(kind: Callable):
    x, w, h, second = shared(kind)
    for output, inputs in ((second + x, [x]), (second, [h, x]), (h * 2 * w, [w, x])):
        with pytest.raises(RuntimeError, match="released by an earlier backward pass"):
            grad(output, inputs)
    inner = h * w
    inner.backward(retain_graph=False, inputs=[w])
    with pytest.raises(RuntimeError, match="released"):
        grad(inner + h, [h])


@over_kinds
def test_backward_to_an_input_behind_a_branch_that_was_let_go_raises_as_grad_does(kind: Callable):
    x = kind(3.0)
    h = x * x
    y = h * 2
    y.backward(retain_graph=False)
    with pytest.raises(RuntimeError, match="released"):
        backward(y * 3, inputs=h)


@pytest.mark.parametrize("passes", [lambda x: x + 1, lambda x: -x.sum(), lambda x: x.reshape(2, 1).mean(0)])
def test_graph_that_saved_nothing_is_not_let_go(passes: Any):
    x = micrograd.Tensor([1.0, 2.0], requires_grad=True)
    y = passes(x).sum()
    y.backward()
    once = x.grad.copy()
    y.backward()
    assert x.grad.tolist() == (2 * once).tolist()


# ---------------------------------------------------------------------------------------------------------------------
# Many inputs: what was quadratic took minutes here


@over_kinds
def test_gradients_by_many_inputs(kind: Callable):
    xs = [kind(float(i % 7)) for i in range(16_000)]
    y = sum(x * x for x in xs)
    assert [float(g) for g in grad(y, xs, retain_graph=True)] == [2.0 * (i % 7) for i in range(16_000)]
    backward(y, inputs=xs)
    assert xs[5].grad == 10.0


def test_derivatives_of_functions_of_many_numbers():
    xs = [float(i % 7) for i in range(2_000)]
    square = lambda xs: sum(x * x for x in xs)  # noqa: E731
    assert micrograd.gradient(square)(xs) == micrograd.gradient(micrograd.compile(square))(xs) == [2 * x for x in xs]
    assert micrograd.jvp(square, (xs,), (xs,)) == (sum(x * x for x in xs), 2 * sum(x * x for x in xs))
    ws = [Value(x) for x in xs]
    micrograd.compile(lambda: square(ws))().backward()
    assert [w.grad for w in ws] == [2 * x for x in xs]


def test_pass_to_inputs_that_are_apart_takes_them_as_independent():
    x = Value(3.0)
    y = x * x
    assert run_pass([x * y], [1.0], inputs=[x, y], stop=True)[1] == {x: 9.0, y: 3.0}
