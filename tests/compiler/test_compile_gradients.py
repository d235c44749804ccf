"""`gradient(f)` of a compiled function: the backward graph as a program of its own, as often as one likes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compile_helpers import BACKENDS

import micrograd
from micrograd import Tensor, Value, grad, gradient, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from micrograd.common.trees import leaves


def test_gradient_of_a_gradient_is_a_program_that_can_be_printed():
    slope = gradient(gradient(micrograd.compile(lambda x: x**4)))
    assert [slope(2.0), slope(1.0), slope.cache_info().misses] == [48.0, 12.0, 1]
    assert slope.source == "def program(x):\n    t1 = 12.0 * (x * x)\n    return t1\n"
    assert str(slope.lowered).count("multiply") == 2


def test_gradient_is_taken_in_the_form_of_the_arguments():
    f = gradient(micrograd.compile(lambda p, x: (p["w"][0] * x + p["w"][1]) ** 2))
    assert f({"w": [2.0, 1.0]}, 3.0) == ({"w": [42.0, 14.0]}, 28.0)


def test_gradient_of_nodes_is_a_node_that_can_be_differentiated():
    w, x = Value(3.0), Value(2.0)
    slope = gradient(micrograd.compile(lambda x: w * x**3))(x)
    slope.backward()
    assert (slope.data, x.grad, w.grad) == (36.0, 36.0, 12.0)


INTEGERS: list[Any] = [
    (2.0, 3), (3, 2.0), (np.ones(2), 3), (2, np.ones(2)), (np.ones(2), np.int64(3)), (np.ones(2), np.array([2, 3])),
    (2.0, True), (np.float32([1, 2]), 3),
]  # fmt: skip


@pytest.mark.parametrize("transform", [gradient, value_and_grad, jacobian, hessian])
@pytest.mark.parametrize("args", INTEGERS)
def test_integer_is_no_input_of_a_transform_compiled_or_not(transform: Any, args: Any):
    """As in JAX, whose jit takes it as a number, and whose grad does not differentiate it."""
    f = lambda x, n: (x * x * n + x).sum() if isinstance(args[0], np.ndarray) else x * x * n + x  # noqa: E731
    for compiled in (transform(micrograd.compile(f)), micrograd.compile(transform(f))):
        for a, b in zip(leaves(compiled(*args)), leaves(transform(f)(*args)), strict=True):
            np.testing.assert_allclose(getattr(a, "data", a), b, rtol=1e-6)


def test_integers_in_lists_samples_and_scalars_are_no_inputs_either():
    f = lambda x: x[0] * x[1]  # noqa: E731
    assert gradient(micrograd.compile(f))([2.0, 3]) == gradient(f)([2.0, 3]) == [3.0, None]
    one = lambda w, x: w * x[0] * x[1]  # noqa: E731
    batch = gradient(micrograd.compile(one, batch=True))
    assert batch(2.0, np.array([[1, 2], [3, 4]])).tolist() == [2.0, 12.0]
    assert gradient(micrograd.compile(one, scalars=True))(2.0, np.array([3, 4])) == 12.0
    with pytest.raises(TypeError, match=r"write 2\.0 for 2"):
        gradient(micrograd.compile(one, batch=True))(2, np.array([[1, 2]]))


@pytest.mark.parametrize("make", [lambda: Value(2.0), lambda: Tensor(2.0, requires_grad=True)], ids=["Value", "Tensor"])
@pytest.mark.parametrize(
    "product",
    [
        lambda x, w: jvp(lambda y: y * y, (w,), (w,))[1] * x,
        lambda x, w: vjp(lambda y: y * y, w)[1](w) * x,
        lambda x, w: hvp(lambda y: y**3)(w, w) * x,
        lambda x, w: grad(w * x, w, grad_outputs=w, create_graph=True)[0] * x,
    ],
)
def test_gradient_or_tangent_that_is_passed_from_outside_is_read_each_time(make: Any, product: Any):
    found = []
    for way in (lambda f: f, micrograd.compile):
        w = make()
        f, x = way(lambda x, w=w: product(x, w) + w), type(w)(3.0, requires_grad=False)
        f(x)
        w.data = w.data * 2
        f(x).backward()
        found.append((float(f(x).data), float(w.grad)))
    assert found[0] == pytest.approx(found[1])


def test_failed_backward_leaves_every_grad_as_it_was():
    w, v = Value(2.0), Value(3.0)
    out = micrograd.compile(lambda x: w * v * x)(5.0)
    for bad, good in ((w, v), (v, w)):
        bad.grad = "no number"
        with pytest.raises(TypeError):
            out.backward()
        assert (bad.grad, good.grad) == ("no number", 0)
        bad.grad = 0
    out.backward()
    assert (w.grad, v.grad) == (15.0, 10.0)


BEFORE = {
    "unset": [0, 0, 0],
    "numbers": [1.5, -2.0, 0.0],
    "None": [None, 1.5, 0],
    "nodes": [Value(2.0), 1.5, 0],
    "infinities": [float("inf"), float("-inf"), 1e308],
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("backend", BACKENDS)
def test_gradient_is_added_to_whatever_was_there_as_in_eager_mode(backend: str, before: list[Any]):
    def f(x: Any) -> Any:
        return sum(w * w * w for w in weights) * x + 1e308 * weights[2]

    weights = [Value(1.0), Value(-2.0), Value(3.0)]
    compiled, found = micrograd.compile(f, backend=backend), []
    for run in (f, compiled, compiled):
        for w, g in zip(weights, before, strict=True):
            w.grad = g
        run(2.0).backward()
        found.append([(type(w.grad), getattr(w.grad, "data", w.grad)) for w in weights])
    assert found[1:] == found[:1] * 2


# ---------------------------------------------------------------------------------------------------------------------
# Gradients as nodes, with hooks and frozen leaves

KINDS = {"value": Value, "tensor": lambda x, **named: Tensor([x], **{"requires_grad": True, **named})}
each_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def total(x: Any) -> Any:
    return x.sum() if isinstance(x, Tensor) else x


def numbers(found: Any) -> list[float]:
    """The sums of what was found."""
    return [
        None if x is None else float(np.sum(getattr(x, "data", x) if not isinstance(x, np.ndarray) else x))
        for x in found
    ]


@each_kind
@pytest.mark.parametrize("where", ["outside", "an argument", "both"])
@pytest.mark.parametrize("way", ["grad", "backward"])
def test_hook_of_a_leaf_is_applied_once_in_each_pass_as_in_eager_mode(make: Any, where: str, way: str):
    def run(compiled: bool) -> list[Any]:
        w, x, seen = make(3.0), make(2.0), []
        for node in [w] * (where != "an argument") + [x] * (where != "outside"):
            node.register_hook(lambda g: [seen.append(1), g * 10][1])
        f = lambda x: total(w * w * x * x)  # noqa: E731
        f = micrograd.compile(f) if compiled else f
        first = second = ()
        if way == "grad":
            first = grad(f(x), [w, x], create_graph=True)
            second = grad(total(first[0] * first[1]), [w, x])
        else:
            f(x).backward(create_graph=True)
            first = w.grad, x.grad
        return [numbers(first), numbers(second), len(seen), *numbers(grad(f(x), [w, x]))]

    assert run(True) == run(False)


@each_kind
@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_gradients_are_nodes_while_one_of_several_parameters_is_frozen(make: Any, backend: str):
    a, b, c = params = make(2.0), make(3.0), make(4.0)
    f = lambda x: total(a * b * c * a * x)  # noqa: E731
    compiled = micrograd.compile(f, backend=backend)
    x = make(1.5, requires_grad=False)
    for frozen in ([], [b], [b, c], [], [a]):
        for p in params:
            p.requires_grad = p not in frozen
        free = [p for p in params if p.requires_grad]
        found = []
        for g in (compiled, f):
            slopes = grad(g(x), free, create_graph=True)
            found.append([*numbers(slopes), *numbers(grad(total(sum(s * s for s in slopes)), free))])
        assert found[0] == pytest.approx(found[1])


@each_kind
def test_parameter_frozen_between_the_call_and_the_pass_gets_no_gradient(make: Any):
    a, b = make(2.0), make(3.0)
    for f in (lambda x: total(a * b * x), micrograd.compile(lambda x: total(a * b * x))):
        out = f(make(1.5, requires_grad=False))
        b.requires_grad = False
        (slope,) = grad(out, [a], create_graph=True)
        assert numbers([slope]) == [4.5]
        b.requires_grad = True
