"""A `Function` whose methods use operations compiles: its backward is the derivative, on every back end."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compile_helpers import BACKENDS, JAX, LOOPED, C, looped, same
from function_helpers import FUNCTIONS, Cube, make

import micrograd
from micrograd import Function, Tensor, Value, grad, gradient, hessian, jvp, nn, where
from micrograd.optim import SGD, Adam

ARRAYS = np.random.default_rng(0).uniform(0.5, 2.0, (2, 3))
Tree = Any


def applied(name: str) -> Callable[..., Any]:
    """What one of the Functions gives of x and y: a list of results."""
    written, call, _ = FUNCTIONS[name]
    methods = {name: x for name, x in vars(written).items() if name in ("forward", "backward")}
    op = type(written.__name__, (Function,), methods)
    return lambda x, y: call(op.apply, x, y)


def total(results: Any) -> Any:
    return sum(z * z if isinstance(z, Value) else (z * z).sum() for z in results)


def three_orders(call: Callable, x: Any, y: Any) -> Tree:
    """The results, and the gradients of their squares, of those gradients, and of the gradients of these."""
    results = [*call(x, y)]
    found, loss = [*results], total(results)
    for _ in range(3):
        slopes = [g for g in grad(loss, [x, y], create_graph=True, allow_unused=True) if g is not None]
        found += slopes
        loss = total(slopes)
        if not loss.requires_grad:
            break
    return found


def numbers_of(tree: Tree) -> list[Any]:
    return [np.asarray(x.data) for x in tree]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_of_values_is_the_same_compiled_to_the_third_order(name: str, backend: str):
    call, xs = applied(name), [Value(0.7), Value(1.3)]
    f = micrograd.compile(lambda x, y: three_orders(call, x, y), backend=backend)
    same(numbers_of(f(*xs)), numbers_of(three_orders(call, *xs)))


@pytest.mark.parametrize("backend", ["numpy", C, JAX])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_of_tensors_is_the_same_compiled_to_the_third_order(name: str, backend: str):
    call, xs = applied(name), [Tensor(a, requires_grad=True) for a in ARRAYS]
    f = micrograd.compile(lambda x, y: three_orders(call, x, y), backend=backend)
    same(numbers_of(f(*xs)), numbers_of(three_orders(call, *xs)), 1e-11)


@pytest.mark.parametrize("target", LOOPED)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_the_same_as_loops(name: str, target: str):
    call, xs = applied(name), [Tensor(a, requires_grad=True) for a in ARRAYS]
    same(looped(target, lambda x, y: three_orders(call, x, y), *xs), numbers_of(three_orders(call, *xs)), 1e-11)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_backward_through_a_checked_call_sends_what_its_backward_says(name: str):
    call, xs = applied(name), [Tensor(a, requires_grad=True) for a in ARRAYS]
    f = micrograd.compile(call, check=True)
    for results in (f(*xs), call(*xs)):
        total(results).backward()
    for x in xs:
        if x.grad is not None:  # that of both, which are the same
            (g,) = grad(total(call(*xs)), [x])
            np.testing.assert_allclose(x.grad, 2 * g, rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Its backward, and not the derivative of what it computes


class Straight(Function):
    """The sign, whose derivative is that of the identity."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.inside = abs(x) < 2.0
        return x.sign()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return where(ctx.inside, 3.0 * g, 0.0)


def straight(model: Any, x: Any) -> Any:
    return Straight.apply(model(x)) ** 2 + Straight.apply(x[0] * 4.0)


@pytest.mark.parametrize("backend", ["auto", *BACKENDS])
def test_network_of_many_values_is_differentiated_by_its_backward(backend: str):
    model, points = nn.MLP(2, [8, 1], rng=random.Random(0)), np.random.default_rng(0).normal(size=(40, 2))
    loss = lambda points: sum(straight(model, x) for x in points)  # noqa: E731
    found = []
    for f in (
        micrograd.compile(loss, scalars=True, backend=backend),
        lambda points: loss([[*map(Value, x)] for x in points]),
    ):
        model.zero_grad()
        f(points).backward()
        found.append([p.grad for p in model.parameters()])
    same(*found)
    assert any(found[0])


@pytest.mark.parametrize("backend", ["auto", "numpy", C])
def test_function_of_a_sample_is_differentiated_by_its_backward(backend: str):
    model, points = nn.MLP(2, [8, 1], rng=random.Random(0)), np.random.default_rng(0).normal(size=(5, 2))
    f = micrograd.compile(lambda x: straight(model, x), batch=True, backend=backend, check=True)
    slopes = micrograd.compile(gradient(lambda x: straight(model, x)), batch=True, backend=backend)(points)
    same([f(points).data], [np.array([straight(model, [*map(Value, x)]).data for x in points])])
    eager = [[part.data for part in gradient(lambda x: straight(model, x))([*x])] for x in points]
    same([x.data for x in slopes], [*np.array(eager).T])


@pytest.mark.parametrize("how", [SGD, Adam])
@pytest.mark.parametrize("kind", [Value, Tensor])
def test_step_trains_by_its_backward(kind: Any, how: Any):
    def trained(compiled: bool) -> list[Any]:
        w = kind(0.3, requires_grad=True)
        optimizer = how([w], lr=0.1)
        loss = lambda x: (Straight.apply(w * x) - w) ** 2  # noqa: E731
        step = micrograd.compile(loss, update=optimizer, check=True)
        for _ in range(3):
            if compiled:
                step(0.5)
            else:
                optimizer.zero_grad()
                loss(0.5).backward()
                optimizer.step()
        return [w.data]

    same(trained(True), trained(False))


@pytest.mark.parametrize("x", [0.5, np.array([0.5, 1.5])])
def test_transforms_of_a_function_compile(x: Any):
    for op in (Cube, Straight):
        bend = hessian(lambda x, op=op: total([op.apply(x), x]))
        np.testing.assert_allclose(micrograd.compile(bend)(x).data, bend(x))
    found = micrograd.compile(lambda x, v: jvp(Cube.apply, (x,), (v,)))(x, 2.0 * x)
    same([part.data for part in found], jvp(Cube.apply, (x,), (2.0 * x,)))


def test_function_that_returns_its_argument_may_be_called_in_a_backward():
    same_again = make(lambda ctx, g: g, lambda ctx, x: x)
    op = make(lambda ctx, g: same_again.apply(g) * same_again.apply(ctx.saved_tensors[0]), saved)
    bend = hessian(op.apply)
    assert micrograd.compile(bend)(3.0).data == bend(3.0) == 1.0


@pytest.mark.parametrize("kind", [Value, Tensor])
def test_node_from_outside_that_forward_returns_or_saves_is_read_in_each_call(kind: Any):
    w = kind(3.0)

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(w)
        return w

    op = make(lambda ctx, g: g * ctx.saved_tensors[0], forward)
    f = micrograd.compile(lambda x: op.apply(x) * x)
    for k in (3.0, 5.0):
        w.data = k
        for call in (f, lambda x: op.apply(x) * x):
            x = kind(2.0, requires_grad=True)
            out = call(x)
            out.backward()
            assert (float(out.data), float(x.grad), w.grad or 0) == (2 * k, k + 2 * k, 0)


def test_node_from_outside_is_read_in_each_call():
    w = Value(2.0)
    f = micrograd.compile(lambda x: Product.apply(x, w))
    assert f(3.0).data == 6.0
    w.data = 5.0
    y = f(3.0)
    y.backward()
    assert (y.data, w.grad) == (15.0, 3.0)


class Product(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y * SCALE

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y * SLOPE, g * x


SCALE, SLOPE = 1.0, 1.0


@pytest.mark.parametrize(
    ("change", "result"),
    [
        (("SCALE", 2.0), (24.0, 4.0)),
        (("SLOPE", 7.0), (12.0, 28.0)),
    ],
)
def test_what_its_methods_name_is_watched(change: Any, result: Any, monkeypatch: pytest.MonkeyPatch):
    f = micrograd.compile(lambda x, y: Product.apply(x, y))
    f(x := Value(3.0), y := Value(4.0))
    monkeypatch.setitem(globals(), *change)
    out = f(x, y)
    out.backward()
    assert (out.data, x.grad) == result


def test_what_forward_returns_may_be_a_number_or_an_array():
    number = make(lambda ctx, g: g * 2.0, lambda ctx, x: 3.0)
    array = make(lambda ctx, g: g * 2.0, lambda ctx, x: np.array([3.0, 4.0]))
    for op, x in ((number, Value(5.0)), (array, Tensor([5.0, 6.0], requires_grad=True))):
        f = micrograd.compile(lambda x, op=op: op.apply(x) * x, check=True)
        out = f(x)
        (out if isinstance(x, Value) else out.sum()).backward()
        np.testing.assert_array_equal(x.grad, op.apply(x).data + 2.0 * x.data)


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


T = Tensor([0.5, 1.0], requires_grad=True)
FROZEN = {  # a Function, and what is said of it, with the line
    "reads a number": (make(lambda ctx, g: g, lambda ctx, x: np.exp(x.data)), "cannot look at .data"),  # here
    "branches": (make(lambda ctx, g: g, lambda ctx, x: x if x.sum() > 0 else -x), "cannot look at"),  # here
    "reads in backward": (make(lambda ctx, g: np.exp(g.data)), "cannot look at .data"),  # here
    "writes in place": (make(lambda ctx, g: g, lambda ctx, x: x.__iadd__(1)), "change a Tensor in place"),  # here
    "draws": (make(lambda ctx, g: g, lambda ctx, x: x * random.random()), "cannot draw random numbers"),  # here
    "draws in backward": (make(lambda ctx, g: g * random.random()), "cannot draw random numbers"),  # here
    "draws an array in backward": (make(lambda ctx, g: g * np.random.rand()), "cannot draw random numbers"),  # here
}


@pytest.mark.parametrize("name", FROZEN)
def test_method_that_a_program_could_not_do_again_is_refused(name: str):
    op, message = FROZEN[name]
    states = random.getstate(), str(np.random.get_state(legacy=False))
    with pytest.raises(RuntimeError, match=rf"{message}.*test_own_ops.py:\d+: .*# here$"):
        micrograd.compile(lambda x: op.apply(x).sum())(T)
    assert states == (random.getstate(), str(np.random.get_state(legacy=False)))


class Kept:
    now: Any = None


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_node_that_a_method_leaves_behind_is_taken_back(where: str):
    keep = lambda ctx, x: [setattr(Kept, "now", x), x * 1.0][1]  # noqa: E731
    op = make(lambda ctx, g: g, keep) if where == "forward" else make(keep)
    with pytest.raises(RuntimeError, match="cannot store a node in the attribute 'now' of Kept"):
        micrograd.compile(lambda x: op.apply(x))(Value(1.0))
    assert Kept.now is None


def computed(ctx: Any, x: Any) -> Any:
    ctx.twice = x * 2.0
    return x * 1.0


def saved(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x)
    return x * 1.0


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (make(lambda ctx, g: g * ctx.twice, computed), r"ctx.twice, which forward made, may depend on an argument"),
        (make(lambda ctx, g: ctx.saved_tensors[0].detach(), saved), "reads the numbers in a node"),
        (make(lambda ctx, g: np.array([7.0, 8.0])), "argument 0 is a plain ndarray"),
        (make(lambda ctx, g: Tensor([7.0, 8.0])), "argument 0 was not computed from the node g"),
    ],
)
def test_second_derivative_that_would_be_wrong_is_refused_as_uncompiled(op: Any, message: str):
    twice = hessian(lambda x: (op.apply(x) ** 2).sum())
    for f in (twice, micrograd.compile(twice)):
        with pytest.raises(RuntimeError, match=message):
            f(np.array([0.5, 1.0]))


def test_gradient_of_another_shape_is_refused_as_uncompiled():
    op = make(lambda ctx, g: g.sum())
    message = r"backward returned an unfit gradient of argument 0: a Tensor of shape \(2,\) cannot have .* shape \(\)"
    with pytest.raises(ValueError, match=message):
        op.apply(T).sum().backward()
    with pytest.raises(ValueError, match=message):
        micrograd.compile(lambda x: op.apply(x).sum())(T)
