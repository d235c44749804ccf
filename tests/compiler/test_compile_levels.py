"""Programs of many scalars: what `compile` makes arrays of gives what the scalars give."""

from __future__ import annotations

import gc
import math
import os
import random
import tracemalloc
from collections.abc import Callable
from functools import reduce
from itertools import chain, pairwise, product
from typing import Any

import numpy as np
import pytest
from compile_helpers import near, with_gradients
from demo_helpers import demo_module

import micrograd
from micrograd import Value
from micrograd import functional as F
from micrograd.nn import MLP
from micrograd.optim import SGD
from micrograd.scalars.passes import topological


def matrix(rng: random.Random, rows: int, columns: int) -> list[list[Value]]:
    return [[Value(rng.gauss(0, 0.5)) for _ in range(columns)] for _ in range(rows)]


def linear(x: list[Any], weights: list[list[Value]]) -> list[Any]:
    return [sum(w * a for w, a in zip(row, x, strict=True)) for row in weights]


def small_gpt() -> Any:
    """The demo's language model in scalars, as small as can be: each letter looks back at those before it."""
    rng, model = random.Random(0), demo_module("microgpt").ValueGPT(width=4, heads=2, layers=1)
    for p in model.parameters():
        p.data = rng.gauss(0, 0.5)
    return model


def test_numbers_side_by_side_become_arrays_and_a_long_chain_stays_straight_python():
    wide = micrograd.compile(lambda xs: sum((x * 0.5).sin() for x in xs))
    wide([0.1 * i for i in range(2000)])
    assert wide.source.count("np.sin") == 1
    long = micrograd.compile(lambda x: reduce(lambda y, _: (y * 0.5 + x).sin(), range(2000), x))
    long(1.0)
    assert "np." not in long.source


def bytes_held(model: Any) -> int:
    """What stays in memory of one trace and one run."""
    f = micrograd.compile(model.loss)
    gc.collect()
    tracemalloc.start()
    try:
        f(name="annabella")
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_compiled_program_keeps_little_of_what_it_was_built_from():
    """One of two is enough: what a first call loads is not the program's, nor is the interpreter's table of names.

    That table doubles by megabytes now and then, in whichever test names the one string too many.
    """
    model = small_gpt()
    nodes = len(topological([model.loss("annabella")]))
    assert any(bytes_held(model) < 150 * nodes for _ in range(2))


def test_building_leaves_the_garbage_collector_as_it_was():
    seen = []
    micrograd.compile(lambda x: x * (seen.append(gc.isenabled()) or 1.0))(1.0)
    assert (seen, gc.isenabled()) == ([False], True)
    with pytest.raises(ZeroDivisionError):
        micrograd.compile(lambda x: x * (1 / 0))(1.0)
    assert gc.isenabled()


def test_network_on_known_samples_with_a_hinge_loss_is_one_product_a_layer():
    rng = random.Random(0)
    points = [(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(60)]
    model = MLP(2, [8, 8, 1])

    def loss() -> Any:
        hinges = [(1 - math.copysign(1, x * y) * model([x, y])).relu() for x, y in points]
        return sum(hinges) / len(hinges) + 1e-3 * sum(p * p for p in model.parameters())

    step = micrograd.compile(loss, update=SGD(model.parameters(), lr=0.0), backend="numpy")
    assert near(step().data, loss().data)
    assert not {"take", "placed", "concatenate"} & {x.op for x in step.lowered.steps}  # as a person would write it


@pytest.mark.parametrize("sizes", [[1], [1, 1], [1, 4, 1]], ids=str)
def test_single_neuron_on_known_samples_is_one_product_for_however_many(sizes: list[int]):
    """The scores share their weights, and differ in their coefficients alone."""

    def lines(n: int) -> int:
        rng, model = random.Random(0), MLP(2, sizes, activation="tanh", rng=random.Random(0))
        samples = [([rng.gauss(0, 1), rng.gauss(0, 1)], rng.choice([-1, 1])) for _ in range(n)]
        f = lambda: sum((model(x) - y) ** 2 for x, y in samples) / n  # noqa: E731
        compiled = micrograd.compile(f, backend="numpy")
        assert near(with_gradients(compiled, model.parameters()), with_gradients(f, model.parameters()))
        return compiled.source.count("\n")

    assert lines(100) == lines(200) < 60


@pytest.mark.parametrize("rows_first", [True, False])
def test_table_of_dot_products_is_one_product_in_whichever_order_it_was_made(rows_first: bool):
    rng = random.Random(1)
    xs, ws = matrix(rng, 6, 40), matrix(rng, 5, 40)

    def loss() -> Any:
        outer, inner = (xs, ws) if rows_first else (ws, xs)
        table = [[sum(a * b for a, b in zip(one, other, strict=True)) for other in inner] for one in outer]
        return sum(x.tanh() for row in table for x in row)

    f = micrograd.compile(loss, backend="numpy")
    assert near(with_gradients(f, xs[0] + ws[0]), with_gradients(loss, xs[0] + ws[0]))
    assert f.source.count(" @ ") <= 6


def test_exponentials_of_lists_of_all_lengths_are_one_operation():
    """The greatest of a longer list takes more steps to find: the shorter lists wait."""
    rng = random.Random(5)
    lists = [[Value(rng.gauss(0, 1)) for _ in range(n)] for n in range(1, 9)]
    loss = lambda: -sum(F.softmax(xs)[-1].log() for xs in lists)  # noqa: E731
    f, params = micrograd.compile(loss, backend="numpy"), [*chain.from_iterable(lists)]
    assert near(with_gradients(f, params), with_gradients(loss, params))
    assert f.source.count("np.exp(") == 1


def test_attention_over_more_lengths_takes_no_more_products():
    """Each letter looks back at one more than the last: the shorter sums are filled up with zeros."""
    model, products = small_gpt(), []
    f = micrograd.compile(model.loss, backend="numpy")
    for name in ("diana", "christopher"):
        assert near(f(name=name).data, model.loss(name).data)
        products.append(sum(x.op == "matmul" for x in f.lowered.steps))
    assert products[0] == products[1]


def test_sums_of_products_that_are_filled_up_keep_inf_and_nan_to_themselves():
    rng = random.Random(3)
    lists = [([Value(rng.random()) for _ in range(n)], [Value(rng.random()) for _ in range(n)]) for n in range(2, 60)]
    lists[0][0][0].data, lists[30][1][2].data = math.inf, math.nan
    sums = lambda: [sum(a * b for a, b in zip(*pair, strict=True)).exp() for pair in lists]  # noqa: E731
    f = micrograd.compile(sums, backend="numpy")
    np.testing.assert_allclose([x.data for x in f()], [x.data for x in sums()], rtol=1e-12)
    assert "concatenate" in {x.op for x in f.lowered.steps}


def test_graph_of_a_built_program_does_not_wait_for_the_collector():
    weights = matrix(random.Random(0), 40, 40)
    gc.collect()
    gc.disable()
    try:
        micrograd.compile(lambda: sum(linear(linear(weights[0], weights), weights)), backend="numpy")()
        assert gc.collect() < 1000  # of 6,400 operations
    finally:
        gc.enable()


@pytest.mark.parametrize("settings", [{"backend": "numpy"}, {"batch": True}], ids=str)
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradient_taken_inside_is_the_same_in_arrays(settings: dict[str, Any], create_graph: bool):
    """Without a graph its ops are not recorded, so that it is not made of levels."""

    def f(x: Any) -> Any:
        (slope,) = micrograd.grad(x * x * w + x.exp(), x, create_graph=create_graph)
        return slope * x

    w = Value(3.0)
    xs = np.array([0.5, 1.0, 2.0]) if "batch" in settings else 0.5
    found = micrograd.compile(lambda x: f(x * w), **settings)(xs)
    wanted = [f(Value(x) * w).data for x in np.atleast_1d(xs).tolist()]
    assert near(np.atleast_1d(found.data).tolist(), wanted)


# ---------------------------------------------------------------------------------------------------------------------
# Random networks, with gaps, skips, norms and rows of many lengths

NETWORKS = 500 if os.environ.get("CI") == "true" else 100
ACTIVATIONS: list[Callable] = [
    lambda v: v.tanh(), lambda v: v.relu(), lambda v: v.sigmoid(), lambda v: (v * 0.1).exp(), lambda v: v * v * 0.1,
    lambda v: v.maximum(0.3), lambda v: 1 / (v * v + 1), abs, lambda v: -v,
]  # fmt: skip


class Network:
    """A loss over some samples; what it is like, the seed decides."""

    def __init__(self, seed: int):
        rng = self.rng = random.Random(seed)
        self.widths = [rng.randint(1, 5) for _ in range(rng.randint(2, 4))]
        self.layers = [self.layer(a, b) for a, b in pairwise(self.widths)]
        self.skips, self.norm, self.ragged, self.decay, self.several = (rng.random() < 0.3 for _ in range(5))
        n = rng.randint(1, 7)
        self.x = np.array([[rng.uniform(-1, 1) for _ in range(self.widths[0])] for _ in range(n)])
        self.y = np.array([rng.uniform(-1, 1) for _ in range(n)])

    def layer(self, before: int, width: int) -> tuple[Any, Any, Callable]:
        """Weights, some of which are missing, biases or none, and an activation."""
        rng = self.rng
        weights = [{j: Value(rng.uniform(-1, 1)) for j in range(before) if rng.random() < 0.85} for _ in range(width)]
        biases = [Value(rng.uniform(-1, 1)) for _ in range(width)] if rng.random() < 0.7 else None
        return weights, biases, rng.choice(ACTIVATIONS)

    def parameters(self) -> list[Value]:
        weights = [w for rows, _, _ in self.layers for row in rows for w in row.values()]
        return weights + [b for _, biases, _ in self.layers for b in biases or []]

    def scores(self, x: Any) -> list[Any]:
        for weights, biases, activation in self.layers:
            sums = [sum((w * x[j] for j, w in row.items()), 0.1 * x[0]) for row in weights]
            out = [activation(s + b) for s, b in zip(sums, biases, strict=True)] if biases else sums
            if self.skips and len(out) == len(x):
                out = [a + b for a, b in zip(out, x, strict=True)]
            if self.norm:
                out = [a * (sum(b * b for b in out) + 1e-3) ** -0.5 for a in out]
            x = out
        return x

    def loss(self, samples: Any, targets: Any) -> Any:
        scores = [self.scores(x) for x in samples]
        totals = [sum(s[: 1 + i % len(s)] if self.ragged else s) for i, s in enumerate(scores)]
        wrong = [t - y for t, y in zip(totals, targets, strict=True)]
        loss = sum(w * w for w in wrong) / len(wrong)
        if self.decay:
            loss = loss + 0.01 * sum(p * p for p in self.parameters())
        return [loss, *wrong[:2]] if self.several else loss


@pytest.mark.parametrize("block", range(10))
def test_random_networks_of_scalars_are_the_same_as_arrays(block: int):
    for seed in range(block * NETWORKS // 10, (block + 1) * NETWORKS // 10):
        network = Network(seed)
        compiled = micrograd.compile(network.loss, scalars=True, backend="numpy")
        for scale in (1.0, 0.9):
            found = run(network, compiled, network.x * scale, network.y)
            constants = [[Value(a, requires_grad=False) for a in x] for x in (network.x * scale).tolist()]
            expected = run(network, network.loss, constants, network.y.tolist())
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12, err_msg=f"seed {seed}")


def run(network: Network, call: Callable, x: Any, y: Any) -> list[float]:
    """What it gives, and all gradients."""
    for p in network.parameters():
        p.grad = 0
    out = call(x, y)
    outs = out if isinstance(out, list) else [out]
    for k, part in enumerate(outs):
        part.backward(k + 1.0)
    return [*(part.item() for part in outs), *(p.grad for p in network.parameters())]


# ---------------------------------------------------------------------------------------------------------------------
# Constants near the limits: a factor is merged only where it stays moderate

LIMITS = [1e-310, 5e-324, 1e-200, 1e160, 1e308, -1e200, math.inf, -math.inf, math.nan, -0.0, 0.0, 3.0, -1e16, 2.0**63]
MERGED: dict[str, Callable[..., Any]] = {
    "quotients": lambda x, y, c, d: x / c / d,
    "products": lambda x, y, c, d: c * x * d,
    "a product of products": lambda x, y, c, d: (x * c) * (y * d),
    "a square": lambda x, y, c, d: (x * c) ** 2 * d,
    "a scaled product": lambda x, y, c, d: -(x * c) * y / -d,
    "a scaled sum": lambda x, y, c, d: (x + c) * d + y,
    "a divided sum": lambda x, y, c, d: (c - x - y) / d,
    "numbers that are added": lambda x, y, c, d: c - (x + d) + y,
    "numbers that cancel": lambda x, y, c, d: x * y + c - c,
}


@pytest.mark.parametrize("name", MERGED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_constants_near_the_limits_are_merged_only_where_that_is_the_same(name: str):
    """x / 1e-310 was x * inf: nan at 0. And (x + 1e16) - 1e16 was x."""
    points = np.array([*product([0.0, 1.0, -2.5, 1e3, math.inf, math.nan], [1.0, 0.5, 0.0])])
    f = MERGED[name]
    for turn in range(len(LIMITS)):  # each number once in a program, since what is used twice is not merged
        pairs = [*zip(LIMITS, LIMITS[turn:] + LIMITS[:turn], strict=True)]
        each = lambda points, pairs=pairs: [f(x, y, c, d) for x, y in points for c, d in pairs]  # noqa: E731
        found = [out.data for out in micrograd.compile(each, scalars=True, backend="numpy")(points)]
        expected = [out.data for out in each([[Value(x), Value(y)] for x, y in points.tolist()])]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


def test_numbers_that_alternate_in_a_long_sum_take_few_operations():
    """Of two numbers that cancel, one stays with its operand."""
    f = micrograd.compile(lambda xs: sum(x - 1.0 if i % 2 else x + 1.0 for i, x in enumerate(xs)), scalars=True)
    xs = np.random.default_rng(0).normal(size=1500)
    assert near(f(xs).item(), float(xs.sum()))
    assert len(f.source.splitlines()) < 20
