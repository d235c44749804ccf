"""The demos' losses, compiled, are those of the demos, with the same gradients."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from demo_helpers import demo_module

import micrograd
from micrograd import nn
from micrograd.functional import cross_entropy, mse


def gradients(model: Any, loss: Any) -> list[Any]:
    model.zero_grad()
    loss.backward()
    return [p.grad for p in model.parameters()]


def same(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.max(np.abs(b)))


@pytest.mark.parametrize("name", ["moons", "circles", "xor", "spiral"])
def test_the_loss_of_moons_is_the_same_compiled(name: str):
    moons = demo_module("moons")
    points, labels = (x[::4] for x in moons.make_data(name, 0))
    model = nn.MLP(2, [8, 8, 1], rng=random.Random(0))
    f = micrograd.compile(lambda: moons.total_loss(model, points, labels))
    for _ in range(2):
        loss, scores = f()
        expected, wanted = moons.total_loss(model, points, labels)
        same([x.data for x in (loss, *scores)], [x.data for x in (expected, *wanted)])
        same([gradients(model, loss)], [gradients(model, expected)])  # one may be next to nothing
        for p in model.parameters():
            p.data -= 0.1 * p.grad


def test_the_loss_of_digits_is_the_same_compiled():
    digits = demo_module("digits")
    images, _, classes, _ = digits.make_data(0)
    model = digits.make_model(np.random.default_rng(0))
    f = micrograd.compile(lambda x, y: cross_entropy(model(x), y))
    for dtype, tolerance in ((np.float32, 1e-5), (float, 1e-12)):
        if dtype is float:
            model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
        for i in range(0, 96, 32):
            x, y = images[i : i + 32].astype(dtype), classes[i : i + 32]
            loss, expected = f(x, y), cross_entropy(model(x), y)
            same([loss.item()], [expected.item()], tolerance)
            same(gradients(model, loss), gradients(model, expected), tolerance)
    assert f.cache_info().misses == 2


def test_the_loss_of_linear_regression_is_the_same_compiled():
    line = demo_module("linear_regression")
    inputs, targets = line.make_data(0)
    model = nn.Linear(inputs.shape[1], 1, rng=np.random.default_rng(0))
    targets = targets.reshape(-1, 1)
    f = micrograd.compile(lambda x, y: mse(model(x), y))
    same([f(inputs, targets).item()], [mse(model(inputs), targets).item()])
    same(gradients(model, f(inputs, targets)), gradients(model, mse(model(inputs), targets)))
