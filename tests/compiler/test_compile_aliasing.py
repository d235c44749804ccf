"""One node in two places of a compiled function is two operands, and gets the gradients of both, as it does eagerly.

And what a call has seen stays as it was: a later change of an argument is not in its gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compile_helpers import eager_step, same, with_gradients

import micrograd
from micrograd import Tensor, Value, grad, gradient, value_and_grad
from micrograd.common.trees import leaves
from micrograd.optim import SGD

# What is compiled, given a node that it may close over; and what it is called with
PLACES: dict[str, tuple[Callable, Callable]] = {
    "two arguments": (lambda w: lambda a, b: a * b * b + a, lambda x: (x, x)),
    "a list": (lambda w: lambda xs: xs[0] * xs[1] + xs[2] * 3, lambda x: ([x, x, x],)),
    "a dict": (lambda w: lambda d: d["a"] * d["b"] ** 2, lambda x: ({"a": x, "b": x},)),
    "closed over": (lambda w: lambda a: a * w * w + a, lambda x: (x,)),
    "all of them": (lambda w: lambda a, xs: w * a * xs[0] * xs[1]["k"], lambda x: (x, [x, {"k": x}])),
    "a node made of it": (lambda w: lambda a, b: a * b * b * w, lambda x: (x, x * 2)),
}
KINDS: dict[str, Callable[[], Any]] = {
    "a Value": lambda: Value(1.5),
    "a Tensor": lambda: Tensor([1.0, -2.0, 0.5], requires_grad=True),
}


def total(out: Any) -> Any:
    """What a function gives, as a loss."""
    return out.sum() if isinstance(out, Tensor) else out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_node_in_two_places_gets_both_gradients(place: str, kind: str):
    """On other back ends, and in programs that are drawn: see test_hunt."""
    found = []
    for compiled in (False, True):
        x = KINDS[kind]()
        f, arguments = PLACES[place][0](x), PLACES[place][1]
        f = micrograd.compile(f) if compiled else f
        (slope,) = grad(total(f(*arguments(x))), x, create_graph=True)
        (curve,) = grad(total(slope), x)
        total(f(*arguments(x))).backward()
        found.append([np.array(part) for part in (x.grad, slope.data, curve)])
    same(*found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("transform", [gradient, value_and_grad])
def test_gradient_of_a_compiled_function_counts_each_place_alone(transform: Callable, place: str, kind: str):
    x = KINDS[kind]()
    fn, args = PLACES[place][0](x), PLACES[place][1](x)
    f = lambda *args: total(fn(*args))  # noqa: E731
    expected = [part.data for part in leaves(transform(f)(*args))]
    for compiled in (transform(micrograd.compile(f)), micrograd.compile(transform(f))):
        same([part.data for part in leaves(compiled(*args))], expected)


def test_sample_that_is_given_twice_gets_both_gradients():
    x, w = np.array([1.0, 2.0, -3.0]), Value(1.5)
    f = lambda x, a, b: x * a * b + a * w  # noqa: E731
    micrograd.compile(f, batch=True)(x, w, w).sum().backward()
    found, w.grad = w.grad, 0
    sum(f(number, w, w) for number in x.tolist()).backward()
    assert found == w.grad


def test_update_reads_the_array_of_its_parameter_before_it_writes_it():
    def trained(compiled: bool) -> list[float]:
        w, v = (Tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
        loss = lambda a, b: ((w * v * a - b) ** 2).sum()  # noqa: E731
        optimizer = SGD([w, v], lr=0.1)
        step = micrograd.compile(loss, update=optimizer)
        for _ in range(3):
            args = w.detach(), v.detach().data  # the very arrays that are written
            step(*args) if compiled else eager_step(loss, optimizer, *args)
        return [*w.tolist(), *v.tolist()]

    np.testing.assert_allclose(trained(True), trained(False), rtol=1e-12)


def test_gradients_are_not_summed_into_the_array_that_another_parameter_gets():
    f = lambda x, w: ((x.reshape(4) + w) ** 2).sum() + x[0].sum()  # noqa: E731
    x, w = Tensor([[0.0, 1.0], [2.0, 3.0]], requires_grad=True), Tensor(np.ones(4), requires_grad=True)
    same(with_gradients(micrograd.compile(f), [x, w], x, w), with_gradients(f, [x, w], x, w))


def test_create_graph_tells_a_closed_over_node_from_what_was_computed_from_it():
    x = Value(3.0)
    y = x * 2
    out = micrograd.compile(lambda: x * y)()
    assert grad(out, x) == (12.0,)
    (slope,) = grad(out, x, create_graph=True)
    assert (slope.data, *grad(slope, x)) == (12.0, 4.0)


INSIDE: dict[str, tuple[Callable, Callable]] = {
    "two arguments": (lambda w, y: lambda a, b: grad(a * b, a, create_graph=True)[0] * 1, lambda w, y: (w, w)),
    "closed over": (lambda w, y: lambda a: grad(a * w, w)[0] * a, lambda w, y: (w,)),
    "closed over twice": (lambda w, y: lambda a: grad(w * y, w)[0] * a, lambda w, y: (1.0,)),
    "with its history": (lambda w, y: lambda a: grad(w * a, w)[0] * a, lambda w, y: (y,)),
}


@pytest.mark.parametrize(("make", "args"), INSIDE.values(), ids=INSIDE)
def test_gradient_inside_by_a_node_in_two_places_is_refused(make: Callable, args: Callable):
    w = Value(3.0)
    y = w * 2
    f = micrograd.compile(make(w, y))
    with pytest.raises(RuntimeError, match="two arguments of a compiled function are one node"):
        f(*args(w, y))


def test_gradient_inside_by_a_node_in_one_place_is_that_of_eager():
    w, v = Value(3.0), Value(5.0)
    f = micrograd.compile(lambda a, b: grad(a * b * w, a, create_graph=True)[0] + grad(w * w * b, w)[0])
    out = f(v, 2.0)
    out.backward()
    assert (out.data, w.grad, v.grad) == (18.0, 2.0, 0)


# ---------------------------------------------------------------------------------------------------------------------
# What a call has seen


CHANGES: dict[str, Callable[[Any], object]] = {
    "a Value": lambda args: setattr(args[0], "data", 7.0),
    "a list": lambda args: args[1].__setitem__(0, 7.0),
    "an array": lambda args: args[2].fill(7.0),
    "the length of a list": lambda args: args[1].append(7.0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("several", [False, True])
def test_change_after_a_call_is_not_in_its_gradient(change: Callable, several: bool):
    def f(v: Any, xs: Any, a: Any) -> Any:
        out = v * w * xs[0] * a[0] * a[1]
        return [out, v] if several else out

    w, args = Value(2.0), (Value(3.0), [5.0], np.array([1.0, 4.0]))
    out = micrograd.compile(f, scalars=True)(*args)
    change(args)
    w.data = 11.0
    (out[0] if several else out).backward()
    assert (args[0].grad, w.grad) == (40.0, 60.0)


def test_second_order_from_a_value_that_has_changed_raises():
    w, x = Value(2.0), Value(3.0)
    out = micrograd.compile(lambda a: a * a * w)(x)
    w.data = 7.0
    with pytest.raises(RuntimeError, match="was changed since"):
        grad(out, x, create_graph=True)


@pytest.mark.parametrize("change", [lambda t: setattr(t, "data", t.data * 9.0), lambda t: t.data.fill(7.0)])
@pytest.mark.parametrize("which", [0, 1], ids=["argument", "closed over"])
@pytest.mark.parametrize(
    "fn", [lambda x, w: (x * x * w).sum(), lambda x, w: x * x * w], ids=["fused", "second program"]
)
def test_call_of_tensors_is_differentiated_at_the_numbers_that_it_had(fn: Any, which: int, change: Any):
    x, w = (Tensor(data, requires_grad=True) for data in ([3.0, 4.0], [1.0, 2.0]))
    f = micrograd.compile(lambda x: fn(x, w))
    out, again = f(x).sum(), f(x).sum()
    change([x, w][which])
    assert [g.tolist() for g in grad(out, [x, w])] == [[6.0, 16.0], [9.0, 16.0]]
    with pytest.raises(RuntimeError, match="was changed since"):
        grad(again, [x, w], create_graph=True)
