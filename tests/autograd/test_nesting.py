"""Transforms inside of transforms: a derivative depends on all that its function read, wherever that came from."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from typing import Any

import numpy as np
import pytest
import tensor_ops_list

import micrograd
from micrograd import Tensor, Value, grad, gradient, hessian, hvp, jacobian, jvp, no_grad, value_and_grad, vjp
from micrograd.common.trees import leaves

WAYS: dict[str, Callable[[Callable], Callable]] = {"eager": lambda f: f, "compiled": micrograd.compile}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Callable[[Callable], Callable]:
    return WAYS[request.param]


# ---------------------------------------------------------------------------------------------------------------------
# Numbers and arrays


def test_closed_over_nodes_are_differentiated(way: Callable):
    assert gradient(way(lambda x: x * gradient(way(lambda y: x * y))(2.0)))(3.0) == 6.0
    assert gradient(way(lambda x: gradient(way(lambda y: x * y * y))(1.0)))(2.0) == 2.0
    assert gradient(way(lambda s: hvp(way(lambda y: s * y**3))(2.0, 1.0)))(5.0) == 12.0
    assert gradient(way(lambda s: gradient(way(lambda v: (s * v).sum()))(np.ones(3)).sum()))(2.0) == 3.0


def lazily(f: Callable) -> Callable:
    return micrograd.lazy()(f)


@pytest.mark.parametrize(
    "f",
    [
        lambda s, v: (micrograd.stack([s, s * s, v[0]]) * v).sum(),
        lambda s, v: np.stack([v[0], s, s * s]).prod() * micrograd.concatenate([v, micrograd.stack([s, s])]).mean(),
        lambda s, v: micrograd.where(v > 0, s * v, s).sum() / s,
        lambda s, v: np.hypot(s, v).sum() * s + (v**2) @ (s**v),
    ],
)
@pytest.mark.parametrize(
    "inner", [lambda f: f, micrograd.compile, lazily, lambda f: lambda s: micrograd.compile(lambda: f(s))()]
)
def test_number_is_an_operand_like_an_array_of_shape_0(f: Callable, inner: Callable, way: Callable):
    v = Tensor([0.5, 1.2, 0.7])
    expected = [transform(lambda s: f(s, v))(np.array(1.3)) for transform in (gradient, hessian)]
    found = [transform(way(inner(lambda s: f(s, v))))(1.3) for transform in (gradient, hessian)]
    np.testing.assert_allclose([float(x) for x in found], expected, rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# What comes out


@pytest.mark.parametrize("transform", [gradient, value_and_grad, jacobian, hessian])
def test_plain_comes_back_only_where_nothing_read_requires_a_gradient(transform: Callable, way: Callable):
    w = Value(3.0)
    f = lambda x: x * x * x * w  # noqa: E731
    assert all(isinstance(g, Value) for g in leaves(transform(way(f))(2.0)))
    with no_grad():
        assert all(type(g) is float for g in leaves(transform(way(f))(2.0)))
    w.requires_grad = False
    assert all(type(g) is float for g in leaves(transform(way(f))(2.0)))


def test_plain_pass_from_a_value_goes_through_the_arrays_that_it_was_computed_from():
    x = Value(3.0)
    slope = gradient(lambda x: (Tensor([1.0, 2.0]) * x * x).sum())(x)
    assert isinstance(slope, Value)
    (slope * slope).backward()  # of 36 * x**2
    assert x.grad == 216.0


def test_answer_that_leads_to_inputs_alone_is_a_constant():
    w = Value(3.0)
    assert [g.requires_grad for g in gradient(lambda x, y: x * x + y * w)(2.0, 1.0)] == [False, True]
    value, slope = value_and_grad(lambda x: x * x)(Value(2.0, requires_grad=False))
    assert (value.data, value.requires_grad, slope.data, slope.requires_grad) == (4.0, False, 4.0, False)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: vjp(lambda y: y**3, 2.0)[1](s),
        lambda s: hvp(lambda y: y**4 / 4)(2.0, s),
        lambda s: jvp(lambda y: y**3, (2.0,), (s,))[1],
        lambda s: gradient(lambda y, k=0: y * k)(12.0, k=s) * 12,
        lambda s: gradient(lambda y, k: y * k, argnum=0)(1.0, s) * 12,
    ],
    ids=["vjp", "hvp", "jvp", "keyword", "an argument that is not asked about"],
)
def test_seeds_and_arguments_that_are_nodes_count_as_read(call: Callable):
    w = Value(5.0)
    assert grad(call(w), w) == (12.0,)
    assert gradient(call)(5.0) == 12.0


def test_in_place_write_to_an_argument_differentiates_by_what_was_given():
    def f(x: Any) -> Any:
        y = x
        y *= 2
        return (y * y).sum()

    x = Tensor([3.0], requires_grad=True)
    assert gradient(f)(x).tolist() == [24.0]
    assert x.tolist() == [3.0]


@pytest.mark.parametrize("f", [math.sin, lambda x: x * gradient(lambda y: y * y)(float(x))], ids=["math.sin", "float"])
def test_float_of_a_node_does_not_lose_its_derivative_in_silence(f: Callable):
    with pytest.raises(TypeError, match=r"float\(\) of a node would lose its derivative.*take its \.data"):
        gradient(f)(1.0)
    with pytest.raises(TypeError, match="would lose its derivative"):
        gradient(lambda x: f(x.sum()))(np.ones(1))
    assert gradient(lambda x: x * x.item() if x > 0 and f"{x:.1f}" else x)(2.0) == 2.0
    assert gradient(lambda x: x * Value(3.0))(1.0).data == 3.0


def test_derivative_that_cannot_be_carried_raises_and_names_the_way_out():
    w = Value(2.0)

    def by_hand(x: Any) -> Any:
        out = Value(x.data * w.data, (x, w), "mine")
        out._backward = lambda: setattr(x, "grad", x.grad + w.data * out.grad)
        return out

    with pytest.raises(RuntimeError, match="written by hand") as caught:
        gradient(by_hand)(3.0)
    assert "inside no_grad()" in "".join(caught.value.__notes__)
    with no_grad():
        assert gradient(by_hand)(3.0) == 2.0


# ---------------------------------------------------------------------------------------------------------------------
# argnum and has_aux


def test_argnum_picks_the_arguments(way: Callable):
    f = way(lambda x, y, z: x * y * y * z)
    assert gradient(f, argnum=1)(2.0, 3.0, 5.0) == gradient(f, -2)(2.0, 3.0, 5.0) == 60.0
    assert gradient(f, argnum=(2, 0))(2.0, 3.0, 5.0) == (18.0, 45.0)
    assert gradient(f, argnum=(0,))(2.0, 3.0, 5.0) == (45.0,)
    assert value_and_grad(f, argnum=0)(2.0, 3.0, 5.0) == (90.0, 45.0)
    assert hessian(f, argnum=1)(2.0, 3.0, 5.0) == hvp(f, argnum=1)(2.0, 3.0, 5.0, 1.0) == 20.0
    assert jacobian(f, argnum=(1, 2))(2.0, 3.0, 5.0) == (60.0, 18.0)


def test_aux_comes_back_beside_the_gradient_in_the_kind_of_the_arguments(way: Callable):
    f = way(lambda x: (x**3, {"square": x * x, "name": "cube"}))
    assert gradient(f, has_aux=True)(2.0) == (12.0, {"square": 4.0, "name": "cube"})
    assert value_and_grad(f, has_aux=True)(2.0) == ((8.0, {"square": 4.0, "name": "cube"}), 12.0)
    slope, aux = gradient(f, has_aux=True)(Value(2.0))
    assert grad(slope + aux["square"], slope) == (1.0,)
    with pytest.raises(TypeError, match=r"has_aux=True needs a function that returns a pair"):
        gradient(lambda x: x, has_aux=True)(2.0)


# ---------------------------------------------------------------------------------------------------------------------
# jvp


@pytest.mark.parametrize("op", tensor_ops_list.OPS, ids=str)
def test_forward_and_backward_are_transposes_of_one_another(op: tensor_ops_list.Op):
    rng = np.random.default_rng(0)
    for xs in op.runs():
        vs = [rng.standard_normal(x.shape) for x in xs]
        value, tangent = jvp(op.call, xs, vs)
        g = rng.standard_normal(np.shape(value))
        back = vjp(op.call, *xs)[1](g)
        back = back if isinstance(back, tuple) else (back,)
        products = [np.sum(g * tangent), sum(np.sum(a * b) for a, b in zip(back, vs, strict=True))]
        assert products[0] == pytest.approx(products[1], rel=1e-9, abs=1e-9)


def test_jvp_of_what_does_not_move_is_zero():
    assert jvp(lambda x: 3.0, (2.0,), (1.0,)) == (3.0, 0.0)
    _, tangent = jvp(lambda x, y: [x * 2, np.ones(2)], (np.ones(3), 1), (np.zeros(3), 0))
    assert [t.tolist() for t in tangent] == [[0.0, 0.0, 0.0], [0.0, 0.0]]


def test_node_that_left_its_transform_leads_to_no_input_any_more():
    """Though an inner transform has seen it lead to one."""
    left = []

    def f(x: Any) -> Any:
        left.append(x * 2)
        return (x * gradient(lambda z: (z * left[-1]).sum())(np.ones(1))).sum()

    assert np.array_equal(gradient(f)(np.ones(1)), [4.0])
    found = gradient(lambda z: (z * left[0]).sum())(np.ones(1))
    assert type(found) is np.ndarray
    assert np.array_equal(found, [2.0])


# ---------------------------------------------------------------------------------------------------------------------
# Linear


BEFORE = copy_context()
ELSEWHERE: dict[str, Callable[[Callable, Any], Any]] = {
    "a thread": lambda f, x: ThreadPoolExecutor(1).submit(f, x).result(),
    "another context": lambda f, x: Context().run(f, x),
    "a context from before": lambda f, x: BEFORE.run(f, x),
    "here": lambda f, x: f(x),
}


@pytest.mark.parametrize("where", ELSEWHERE)
@pytest.mark.parametrize("x", [3.0, np.array([3.0, 3.0])])
def test_derivative_that_is_taken_in_another_thread_is_differentiated_too(where: str, x: Any):
    run = ELSEWHERE[where]

    def f(x: Any) -> Any:
        y = x * x
        return y * run(gradient(lambda t: y * t * t), x) + run(lambda t: hvp(lambda u: y * u**3)(t, t), x)

    slope = 10 * 3.0**4 + 24 * 3.0**3  # of 2 x**5 + 6 x**4
    np.testing.assert_allclose(gradient(f)(x), slope)
    np.testing.assert_allclose(jvp(f, (x,), (x,))[1], 3 * slope)
    w = Value(2.0)
    (gradient(lambda t: run(gradient(lambda u: u * w * w), t) * t)(3.0)).backward()
    assert w.grad == 4.0


@pytest.mark.parametrize("x", [1.5, np.array([1.5, -2.0])], ids=["number", "array"])
def test_hook_changes_what_jvp_gives_as_it_changes_the_gradient(x: Any):
    def f(x: Any) -> Any:
        y = x * x
        y.register_hook(lambda g: g * 10)
        return y * 3

    np.testing.assert_allclose(jvp(f, (x,), (1 + 0 * x,))[1], 60 * x)
    np.testing.assert_allclose(gradient(f)(x), 60 * x)


def test_jvp_goes_through_a_closure_on_numbers():
    def f(x: Value) -> Value:
        out = Value(x.data**2, (x,), "square")
        out._backward = lambda: setattr(x, "grad", x.grad + 2 * x.data * out.grad)
        return out * 3

    assert jvp(f, (5.0,), (2.0,)) == (75.0, 60.0)


def test_jvp_needs_a_row_where_arrays_are_concerned():
    def f(x: Any) -> Any:
        out = Tensor(2 * x.data, (x,), "double")
        out._backward = lambda: setattr(x, "grad", x.grad + 2 * out.grad)
        return out

    with pytest.raises(RuntimeError, match="jvp needs the derivative of 'double' as a row"):
        jvp(f, (np.ones(2),), (np.ones(2),))
    assert jvp(lambda x: Value(x.data, (x,), "same") * 0.0, (2.0,), (1.0,)) == (0.0, 0.0)


def test_pass_goes_through_a_gradient_whose_inputs_have_become_constants():
    """The loss of a physics-informed network, u' = u: the operands of some nodes require no gradient any more."""
    w, x = Tensor([1.5], requires_grad=True), np.array([0.1, 0.5, 0.9])

    def u(x: Any) -> Any:
        return np.tanh(x * w)

    def loss(scale: float) -> float:
        u, slope = np.tanh(scale * x), scale / np.cosh(scale * x) ** 2
        return float(((slope - u) ** 2).sum())

    ((gradient(u)(x) - u(x)) ** 2).sum().backward()
    h = 1e-6
    np.testing.assert_allclose(w.grad, [(loss(1.5 + h) - loss(1.5 - h)) / (2 * h)], rtol=1e-6)
