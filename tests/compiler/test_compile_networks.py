"""Random networks of scalars, with gaps, skips, norms and rows of many lengths: as arrays they give the same."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Value

NETWORKS = 500 if os.environ.get("CI") == "true" else 100
ACTIVATIONS: list[Callable] = [
    lambda v: v.tanh(),
    lambda v: v.relu(),
    lambda v: v.sigmoid(),
    lambda v: (v * 0.1).exp(),
    lambda v: v * v * 0.1,
    lambda v: v.maximum(0.3),
    lambda v: 1 / (v * v + 1),
    lambda v: abs(v),
    lambda v: -v,
]


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
