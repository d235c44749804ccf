"""`compile(fn, batch=True)`: fn is written for one sample, and called with arrays of many."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from compile_helpers import BACKENDS, JAX

import micrograd
from micrograd import Value, grad, gradient, nn, no_grad

POINTS = np.array([[0.0, 1.0], [2.0, -3.0], [4.0, 5.0]])


def test_program_is_as_long_for_many_samples_as_for_few():
    f = micrograd.compile(lambda x: (x * x + 1).log(), batch=True)
    f(np.ones(3))
    lines = f.source.count("\n")
    f(np.ones(3000))
    assert f.source.count("\n") == lines


def test_division_of_numbers_by_zero_gives_inf_in_a_batch_too():
    w = Value(0.0)
    out = micrograd.compile(lambda x: x + 1 / w, batch=True)(np.zeros(2))
    assert out.data.tolist() == [np.inf, np.inf]


# ---------------------------------------------------------------------------------------------------------------------
# Matrices recovered


def dot(a: list[Any], b: list[Any]) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True))


WEIGHTS = [[Value(0.1 * i - 0.3 * j + 0.05) for i in range(6)] for j in range(4)]
NUMBERS = np.random.default_rng(0).normal(size=(4, 6)).tolist()
RAGGED = np.random.default_rng(1).normal(size=(5, 3, 6))


def layer(x: Any) -> Any:
    """Weights times what differs from sample to sample."""
    return [(dot(w, x[0]) + w[0]).tanh() for w in WEIGHTS]


def rows_of_a_sample(x: Any) -> Any:
    """The same weights for three rows of each sample."""
    return [dot(w, row) for row in x for w in WEIGHTS]


def attention(x: Any) -> Any:
    """Both factors differ from sample to sample."""
    x = [[w * a for w, a in zip(WEIGHTS[0], row, strict=True)] for row in x]
    shares = [[dot(a, b).exp() for b in x] for a in x]
    return [dot(row, [r[0] for r in x]) / sum(row) for row in shares]


def times_numbers(x: Any) -> Any:
    """A matrix of numbers."""
    return [dot(c, row) * w[0] for row in x for c, w in zip(NUMBERS, WEIGHTS, strict=True)]


def mixed(x: Any) -> Any:
    """Operands from several arrays, and some more than once."""
    sums = [w[0] + a for w, a in zip(WEIGHTS, x[0], strict=False)]
    return [dot([*s, w[1], a], [a, *s, w[2]]) for s, w, a in zip([sums] * 4, WEIGHTS, x[1], strict=False)]


def some_alike(x: Any) -> Any:
    """Results of which some do not depend on the sample, and one is a number."""
    return [WEIGHTS[0][0] * 2, x[0][0] * WEIGHTS[0][1], 3.0 + 0 * WEIGHTS[0][0].detach()]


FUNCTIONS = [layer, rows_of_a_sample, attention, times_numbers, mixed, some_alike]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_matrices_of_samples_give_what_each_sample_gives(function: Any):
    flat = [w for row in WEIGHTS for w in row]

    def weighted(values: Any) -> Any:
        return sum(k * v for k, v in enumerate(values, 1))

    for samples in (RAGGED, RAGGED[:1]):
        found = micrograd.compile(function, batch=True, backend="numpy")(samples)
        expected = [function(x) for x in samples.tolist()]
        numbers = [[v.item() if hasattr(v, "item") else v for v in values] for values in zip(*expected, strict=True)]
        np.testing.assert_allclose([out.data for out in found], numbers, rtol=1e-12)
        slopes = grad(weighted(out.sum() for out in found), flat, allow_unused=True)
        theirs = grad(sum(map(weighted, expected)), flat, allow_unused=True)
        pairs = [[g or 0.0 for g in gradients] for gradients in (slopes, theirs)]
        np.testing.assert_allclose(*pairs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [layer, attention, some_alike])
@pytest.mark.parametrize("backend", [*BACKENDS, JAX])
def test_batch_without_samples_gives_none_and_slopes_of_zero(backend: str, function: Any):
    """Such as the share of a worker that has nothing to do."""
    found = micrograd.compile(function, batch=True, backend=backend)(RAGGED[:0])
    assert {out.shape for out in found} == {(0,)}
    slopes = grad(sum(out.sum() for out in found), [w for row in WEIGHTS for w in row], allow_unused=True)
    assert not any(slopes)


@pytest.mark.parametrize("function", FUNCTIONS[:-1])
def test_second_derivatives_through_matrices_are_those_of_each_sample(function: Any):
    def total(x: Any) -> Any:
        return sum(v * v for v in function(x))

    def slope(x: Any) -> Any:
        return sum(g * g for row in gradient(total)(x) for g in row)

    with no_grad():
        found = gradient(micrograd.compile(slope, batch=True, backend="numpy"))(RAGGED)
        expected = [gradient(slope)(x) for x in RAGGED.tolist()]
    np.testing.assert_allclose(np.moveaxis(np.array(found), -1, 0), np.array(expected, float), rtol=1e-11)


def test_network_becomes_products_of_matrices_by_itself():
    model = nn.MLP(2, [8, 8, 1], rng=random.Random(0))
    f = micrograd.compile(lambda x: (1 - model(x)) ** 2, batch=True)
    f(POINTS[:, :2])
    assert f.source.count(" @ ") == 3
    assert f.source.count("\n") < 40


@pytest.mark.parametrize(
    ("args", "kind", "message"),
    [
        ((np.ones(3), np.ones(4)), ValueError, "holds 4 samples, an array before it 3"),
        ((np.ones(3), np.array(1.0)), ValueError, "no axis: with batch=True the first axis"),
        ((1.0, 2.0), TypeError, "needs an array of samples"),
        ((np.ones(3), micrograd.Tensor(np.ones(3))), TypeError, "takes Values and plain arrays"),
    ],
)
def test_arguments_without_samples_raise(args: Any, kind: type[Exception], message: str):
    with pytest.raises(kind, match=message):
        micrograd.compile(lambda x, y: x * y, batch=True)(*args)


def test_create_graph_through_a_batch_says_what_to_write():
    w = Value(2.0)
    out = micrograd.compile(lambda x: w * x * x, batch=True)(np.ones(2)).sum()
    with pytest.raises(RuntimeError, match=r"compile\(gradient\(fn\), batch=True\)"):
        grad(out, w, create_graph=True)


def test_batched_function_inside_of_a_compiled_one_raises():
    inner = micrograd.compile(lambda x: x * x, batch=True)
    with pytest.raises(TypeError, match="cannot be called inside"):
        micrograd.compile(lambda x: inner(x))(np.ones(3))


@pytest.mark.parametrize("constant", [3, np.float32(3.0), Value(3.0, requires_grad=False)])
@pytest.mark.parametrize("backend", BACKENDS)
def test_result_that_is_the_same_for_all_samples_is_one_of_each(constant: Any, backend: str):
    x = np.arange(4.0)
    alone = micrograd.compile(lambda x: constant, batch=True, backend=backend)(x)
    a, b = micrograd.compile(lambda x: (x * 2.0, constant), batch=True, backend=backend)(x)
    assert [t.data.tolist() for t in (alone, a, b)] == [[3.0] * 4, [0.0, 2.0, 4.0, 6.0], [3.0] * 4]


def test_slope_that_is_the_same_for_all_samples_is_one_number():
    found = micrograd.compile(gradient(lambda x, y: x.floor() + y.sin()), batch=True)(POINTS[:, 0], POINTS[:, 1])
    np.testing.assert_allclose([x.data for x in found], [[0.0] * 3, np.cos(POINTS[:, 1])], rtol=1e-12)


def without_slopes(x: Any) -> Any:
    with no_grad():
        return x * 1.0


@pytest.mark.parametrize("constant", [lambda x: x.detach(), without_slopes])
@pytest.mark.parametrize("length", [1, 40])
@pytest.mark.parametrize("settings", [{"batch": True}, {"batch": True, "backend": "python"}, {"backend": "numpy"}])
def test_detached_part_has_no_slope_in_a_program_of_any_length(constant: Any, length: int, settings: dict):
    def f(x: Any, s: Any, w: Any) -> Any:
        parts = [(constant(x * s + i) * s).sin() + constant(x * s) * constant(x * s) for i in range(length)]
        return sum(parts) + gradient(lambda y: w * 1.0)(x) / (1.5 + (w + x).sin())

    slopes = []
    for way in (lambda f: f, lambda f: micrograd.compile(f, **settings)):
        s, w, compiled = Value(2.0), Value(0.7), way(f) is not f
        batched = compiled and "batch" in settings
        y = way(f)(np.array([1.5]) if batched else Value(1.5, requires_grad=False), s, w)
        (y.sum() if batched else y).backward()
        slopes.append((s.grad, w.grad))
    assert slopes[1] == pytest.approx(slopes[0], rel=1e-12)
