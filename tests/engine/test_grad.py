"""grad(): the gradients of some nodes with respect to others, with .grad of none changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from engine_helpers import over_kinds

import micrograd
from micrograd import Value, backward, grad, no_grad


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


def in_no_grad(x: Any) -> Any:
    y = x**3
    with no_grad():
        y.backward(create_graph=True)
    return x.grad


def through_a_seed(x: Any) -> Any:
    """With a gradient that depends on x too."""
    return grad(x**2, x, grad_outputs=x**2, create_graph=True)[0]


def in_a_loss(x: Any) -> Any:
    (slope,) = grad(x**2, x, create_graph=True)
    return slope * slope


SLOPES: dict[str, tuple[Callable, float, float]] = {  # what is made of x, which is 3, its number and its derivative
    "backward": (lambda x: (x**3).backward(create_graph=True) or x.grad, 27.0, 18.0),
    "inside no_grad": (in_no_grad, 27.0, 18.0),
    "times a gradient that is given": (through_a_seed, 2 * 27.0, 6 * 9.0),
    "used in a loss": (in_a_loss, 36.0, 24.0),
}


@over_kinds
@pytest.mark.parametrize(("make", "number", "derivative"), SLOPES.values(), ids=SLOPES)
def test_create_graph_gives_nodes_to_go_on_with(kind: Callable, make: Callable, number: float, derivative: float):
    x = kind(3.0)
    slope = make(x)
    assert (slope.data, grad(slope, x)) == (number, (derivative,))


def test_fresh_grad_adds_no_node_to_what_create_graph_leaves_and_an_ordinary_pass_grows_no_graph():
    x = Value(3.0)
    y = x**3
    y.backward(create_graph=True)
    assert x.grad._op == grad(y, x, create_graph=True)[0]._op
    (x * 2).backward()
    assert (float(x.grad), getattr(x.grad, "_prev", ())) == (29.0, ())


@over_kinds
def test_create_graph_gives_a_constant_where_a_gradient_depends_on_nothing(kind: Callable):
    x = kind(3.0)
    (slope,) = grad(x * 2, x, create_graph=True)
    assert (slope.data, slope.requires_grad) == (2.0, False)


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
        for ask in (grad, lambda output, inputs: backward(output, inputs=inputs)):
            with pytest.raises(RuntimeError, match="released by an earlier backward pass"):
                ask(output, inputs)
    inner = h * w
    inner.backward(retain_graph=False, inputs=[w])
    with pytest.raises(RuntimeError, match="released"):
        grad(inner + h, [h])


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
