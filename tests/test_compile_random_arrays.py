"""Random programs of arrays: views, buffers written over, sums of gradients. Compiled and eager they agree."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, concatenate, where

PROGRAMS = 1000 if os.environ.get("CI") == "true" else 300
UNARY: list[Callable] = [
    lambda a: a.tanh(),
    lambda a: (a * 0.3).exp(),
    lambda a: a.relu(),
    lambda a: a.sigmoid(),
    lambda a: a.softplus(),
    lambda a: a * a,
    lambda a: -a,
    lambda a: 2.0 - a,
    lambda a: a / 3.0 + 1,
    lambda a: abs(a),
    lambda a: a.transpose(),
    lambda a: a.reshape(-1),
    lambda a: a.reshape(a.shape[::-1]),
    lambda a: a[::-1],
    lambda a: a[:1],
    lambda a: a[[0, 0, -1]],
    lambda a: a[..., None],
    lambda a: a.sum(0),
    lambda a: a.sum(-1, keepdims=True),
    lambda a: a.mean(),
    lambda a: a.max(-1),
    lambda a: a.softmax(-1),
    lambda a: a.logsumexp(0),
    lambda a: a.cumsum(0),
    lambda a: a.var(0),
    lambda a: a.detach() * 2,
    lambda a: where(a > 0, a, a * 0.5),
    lambda a: concatenate([a, a * 2], 0),
]
BINARY: list[Callable] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / (b * b + 1),
    lambda a, b: a.maximum(b),
    lambda a, b: where(a > b, a, b),
    lambda a, b: a @ b,
    lambda a, b: a @ b.transpose(),
    lambda a, b: concatenate([a, b], 0),
]


def random_program(seed: int) -> tuple[Callable, list[np.ndarray], np.ndarray]:
    """A function of two Tensors, which closes over a third one; and arrays for them."""
    rng = np.random.default_rng(seed)
    shapes = [tuple(rng.integers(1, 4, rng.integers(1, 4)).tolist()) for _ in range(2)]
    arrays = [rng.uniform(-1.5, 1.5, shapes[rng.integers(2)]) for _ in range(3)]
    values: list[Any] = [Tensor(a) for a in arrays]
    steps: list[tuple[Callable, list[int]]] = []
    for _ in range(rng.integers(3, 20)):
        ops = UNARY if rng.random() < 0.6 else BINARY
        op = ops[rng.integers(len(ops))]
        picked = [int(i) for i in rng.integers(max(0, len(values) - 6), len(values), 1 if op in UNARY else 2)]
        try:
            out = op(*(values[i] for i in picked))
        except (ValueError, IndexError, TypeError):
            continue
        if out.size < 300 and np.isfinite(out.data).all() and abs(out.data).max(initial=0) < 50:
            values.append(out)
            steps.append((op, picked))
    several = bool(rng.integers(2))

    def function(x: Any, y: Any, w: Any) -> Any:
        made = [x, y, w]
        for op, picked in steps:
            made.append(op(*(made[i] for i in picked)))
        total = sum((v * (k + 1)).sum() for k, v in enumerate(made))
        return [total, *made[-3:]] if several else total

    return function, arrays[:2], arrays[2]


def run(function: Callable, compiled: bool, arrays: list[np.ndarray], weight: np.ndarray) -> list[Any]:
    """What it gives and all gradients, in three calls; the results are looked at when all have been made."""
    w = Tensor(weight, requires_grad=True)
    call = (lambda x, y: function(x, y, w)) if not compiled else micrograd.compile(lambda x, y: function(x, y, w))
    results: list[Any] = []
    for scale in (1.0, 0.9, 1.0):
        x, y = Tensor(arrays[0] * scale, requires_grad=True), arrays[1] * scale
        out = call(x, Tensor(y) if not compiled else y)
        outs = out if isinstance(out, list) else [out]
        for k, part in enumerate(outs):
            if part.requires_grad:
                (part.sum() * (k + 1)).backward(retain_graph=True)
        results += [*(part.detach().data for part in outs), x.grad, w.grad]
    return results


@pytest.mark.parametrize("block", range(10))
def test_random_programs_of_arrays_are_the_same_compiled(block: int):
    for seed in range(block * PROGRAMS // 10, (block + 1) * PROGRAMS // 10):
        function, arrays, weight = random_program(seed)
        found, expected = (run(function, compiled, arrays, weight) for compiled in (True, False))
        for a, b in zip(found, expected, strict=True):
            assert (a is None) == (b is None), seed
            if a is not None:
                tolerance = 1e-12 * max(1.0, abs(b).max(initial=0))
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=tolerance, err_msg=f"seed {seed}", strict=True)
