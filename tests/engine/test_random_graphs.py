"""Random expression graphs against an oracle that works the other way round: dual numbers, carried forward.

The oracle shares nothing with the engine: each op says once more what it does, and its derivative is written as one
learns it at school. That it can fail is tested too: a rule that is planted wrong must be caught.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from engine_helpers import PATHS, plant, walking
from hypothesis import given
from hypothesis import strategies as st
from smooth_ops import BINARY, UNARY, allowed

from micrograd import Value, backward, grad
from micrograd.engine import ops

GRAPHS = 2000


@dataclass(frozen=True)
class Dual:
    """A number and its derivatives with respect to each input."""

    x: float
    d: tuple[float, ...]


def along(x: float, *parts: tuple[float, Dual]) -> Dual:
    """The chain rule: a result, and pairs (slope, operand)."""
    return Dual(x, tuple(sum(slope * d for slope, d in zip(slopes, ds, strict=True)) for slopes, ds in _columns(parts)))


def _columns(parts: tuple[tuple[float, Dual], ...]):
    slopes = [slope for slope, _ in parts]
    return [(slopes, ds) for ds in zip(*(operand.d for _, operand in parts), strict=True)]


def random_graph(seed: int) -> tuple[list[Value], list[Value], list[Dual]]:
    """Leaves, then all nodes of a random graph above them, and the same nodes as dual numbers."""
    rng = random.Random(seed)
    count = rng.randint(1, 4)
    numbers = [rng.uniform(-3, 3) for _ in range(count)]
    values = [Value(x) for x in numbers]
    duals = [Dual(x, tuple(float(i == j) for j in range(count))) for i, x in enumerate(numbers)]
    leaves = values[:]
    for _ in range(rng.randint(1, 25)):
        name = rng.choice([*UNARY, *BINARY, *BINARY, *BINARY])
        picked = [rng.randrange(len(values)) for _ in range(1 if name in UNARY else 2)]
        xs = [duals[i].x for i in picked]
        if not allowed(name, xs):
            continue
        on_values, on_numbers, slopes = UNARY.get(name) or BINARY[name]
        slope = slopes(*xs)
        dual = along(
            on_numbers(*xs), *zip(slope if name in BINARY else [slope], [duals[i] for i in picked], strict=True)
        )
        if max(map(abs, (dual.x, *dual.d))) < 1e4:
            values.append(on_values(*(values[i] for i in picked)))
            duals.append(dual)
    return leaves, values, duals


@pytest.fixture(params=PATHS)
def path(request) -> Iterator[None]:
    """Both ways through the engine."""
    with walking(request.param):
        yield


over_paths = pytest.mark.usefixtures("path")


def disagreement(seed: int) -> float:
    """The greatest error of the engine's gradients in a random graph, relative to their size where that is over 1."""
    leaves, values, duals = random_graph(seed)
    rng = random.Random(-seed - 1)
    roots = [rng.randrange(len(values)) for _ in range(rng.randint(1, 3))]
    weights = [rng.uniform(-2, 2) for _ in roots]
    backward([values[i] for i in roots], weights)
    wanted = [sum(w * duals[i].d[j] for w, i in zip(weights, roots, strict=True)) for j in range(len(leaves))]
    return max(abs(leaf.grad - d) / max(1.0, abs(d)) for leaf, d in zip(leaves, wanted, strict=True))


@over_paths
@pytest.mark.parametrize("block", range(10))
def test_random_graphs_agree_with_dual_numbers(block: int):
    size = GRAPHS // 10
    errors = {seed: disagreement(seed) for seed in range(block * size, (block + 1) * size)}
    assert {seed: error for seed, error in errors.items() if not error <= 1e-10} == {}


def test_the_random_graphs_use_every_op_and_are_not_small():
    graphs = [random_graph(seed)[1] for seed in range(100)]
    half = Value(0.5)
    names = {UNARY[name][0](half)._op for name in UNARY} | {BINARY[name][0](half, half)._op for name in BINARY}
    assert {node._op for values in graphs for node in values if node._op} == names
    assert sum(map(len, graphs)) > 1000


# ---------------------------------------------------------------------------------------------------------------------
# The oracle can fail

PLANTED = {
    "a power of two that is 2.001": (ops.power(2), "to_a", lambda g, out, a: g * 2.001 * a),
    "a product that forgets its other operand": (ops.mul, "to_b", lambda g, a, b: g),
    "a sum off by a millionth": (ops.add, "to_a", lambda g, a, b: g * 1.000001),
    "a quotient with the wrong sign": (ops.div, "to_b", lambda g, a, b: g * a / (b * b)),
    "a difference with the wrong sign": (ops.sub, "to_b", lambda g, a, b: g),
    "an exp that uses its operand": (ops.exp, "to_a", lambda g, out, a: g * a),
    "a tanh without the square": (ops.tanh, "to_a", lambda g, out, a: g * (1 - out)),
    "a sigmoid without its complement": (ops.sigmoid, "to_a", lambda g, out, a: g * out),
    "a cosine with the wrong sign": (ops.cos, "to_a", lambda g, out, a: g * ops.sin(a)),
    "a relu that is always open": (ops.relu, "to_a", lambda g, out, a: g),
    "a maximum that pays both": (ops.maximum, "to_b", lambda g, a, b: g),
    "a gelu of the other kind": (ops.gelu, "to_a", lambda g, out, a: g * ops.sigmoid(1.702 * a)),
    "a softplus that is a relu": (ops.softplus, "to_a", lambda g, out, a: g * (a > 0)),
    "a log of ten": (ops.log, "to_a", lambda g, out, a: g / (a * math.log(10))),
}


@over_paths
@pytest.mark.parametrize(("row", "rule", "wrong"), PLANTED.values(), ids=PLANTED)
def test_a_rule_that_is_planted_wrong_is_caught(monkeypatch, row, rule: str, wrong):
    row = ops.power(row.settings["n"]) if row.settings else row  # other tests may have pushed it out of the cache
    plant(monkeypatch, row, rule, wrong)
    assert max(disagreement(seed) for seed in range(300)) > 1e-8


# ---------------------------------------------------------------------------------------------------------------------
# Laws that hold for all numbers

numbers = st.floats(-100, 100, allow_subnormal=False)
positive = st.floats(0.01, 100)


def slopes(f, *xs: float) -> list[float]:
    """The gradient of f there; 0 where f does not depend on an operand."""
    values = [Value(x) for x in xs]
    y = f(*values)
    return [g or 0.0 for g in grad(y, values, allow_unused=True)] if y.requires_grad else [0.0] * len(xs)


def about(wanted: list[float]) -> object:
    return pytest.approx(wanted, rel=1e-9, abs=1e-9)


@given(numbers, numbers)
def test_gradients_of_a_sum_and_of_its_mirror_image_are_the_same(a: float, b: float):
    assert slopes(lambda x, y: x + y, a, b) == slopes(lambda x, y: y + x, a, b)


@given(numbers, numbers, numbers)
def test_the_distributive_law_holds_for_gradients(a: float, b: float, c: float):
    left = slopes(lambda x, y, z: x * (y + z), a, b, c)
    assert left == about(slopes(lambda x, y, z: x * y + x * z, a, b, c))


@given(numbers, positive)
def test_a_quotient_is_a_product_with_the_inverse(a: float, b: float):
    assert slopes(lambda x, y: x / y, a, b) == about(slopes(lambda x, y: x * y**-1, a, b))


@given(numbers, numbers)
def test_a_difference_is_a_sum_with_the_negative(a: float, b: float):
    assert slopes(lambda x, y: x - y, a, b) == slopes(lambda x, y: x + (-y), a, b)


@given(positive)
def test_exp_undoes_log(a: float):
    assert slopes(lambda x: x.log().exp(), a) == about([1.0])


@given(st.floats(-20, 20))
def test_tanh_is_a_sigmoid_in_disguise(a: float):
    assert slopes(lambda x: x.tanh(), a) == about(slopes(lambda x: 2 * (2 * x).sigmoid() - 1, a))


@given(numbers)
def test_sine_and_cosine_lie_on_the_circle(a: float):
    assert slopes(lambda x: x.sin() ** 2 + x.cos() ** 2, a) == about([0.0])


@given(st.floats(-30, 30))
def test_the_slope_of_softplus_is_the_sigmoid(a: float):
    assert slopes(lambda x: x.softplus(), a) == [Value(a).sigmoid().data]


@given(numbers, numbers)
def test_the_greater_and_the_smaller_share_the_gradient_of_the_sum(a: float, b: float):
    assert slopes(lambda x, y: x.maximum(y) + x.minimum(y), a, b) == [1.0, 1.0]


@given(numbers, numbers, numbers, numbers)
def test_a_pass_is_linear_in_the_gradient_that_it_is_given(a: float, b: float, g: float, h: float):
    x, y = Value(a), Value(b)
    z = x * y + x.tanh()
    parts = [grad(z, [x, y], w) for w in (g, h)]
    assert grad(z, [x, y], g + h) == about([sum(pair) for pair in zip(*parts, strict=True)])


@given(numbers, st.integers(1, 5))
def test_passes_add_up(a: float, times: int):
    x = Value(a)
    y = x * 3
    for _ in range(times):
        y.backward()
    assert x.grad == 3.0 * times


@given(positive, st.floats(-3, 3))
def test_mixed_partials_do_not_depend_on_their_order(a: float, b: float):
    def second(i: int, j: int) -> float:
        values = [Value(min(a, 5.0)), Value(b)]
        x, y = values
        (first,) = grad((x**y) * (x * y).sin(), values[i], create_graph=True)
        return grad(first, values[j])[0]

    assert second(0, 1) == pytest.approx(second(1, 0), rel=1e-9, abs=1e-9)
