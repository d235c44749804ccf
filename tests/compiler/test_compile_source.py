"""The source of a program of arrays: NumPy as a person would write it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, nn
from micrograd.compiler.backends import python
from micrograd.compiler.graph import Graph
from micrograd.compiler.lowered import Lowered
from micrograd.functional import cross_entropy
from micrograd.optim import SGD

STEP = Path(__file__).with_name("training_step.txt")


def source(fn: Any, *args: Any) -> str:
    f = micrograd.compile(fn, backend="numpy")
    f(*args)
    return f.source


def test_source_of_a_training_step_is_the_numpy_that_one_would_write():
    """After a change that is meant, print `step.source` into the file, and read it."""
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    step = micrograd.compile(lambda x, y: cross_entropy(model(x), y), update=SGD(model.parameters(), lr=0.1))
    step(np.zeros((64, 784)), np.zeros(64, int))
    assert step.source == STEP.read_text(encoding="utf-8")


def test_gradient_of_a_large_relu_is_what_where_gives_bit_for_bit():
    w = Tensor(np.random.default_rng(0).normal(size=(60, 60)), requires_grad=True)
    f = micrograd.compile(lambda scale: (w.relu() * scale).sum())
    scale = np.where(np.eye(60) > 0, np.inf, -1.0)
    f(scale).backward()
    assert f.source.count("gate(") == 1
    np.testing.assert_array_equal(w.grad, np.where(w.data <= 0, 0.0, scale))
    assert not np.signbit(w.grad[w.data <= 0]).any()


def test_array_added_to_a_slice_is_added_in_place():
    w = Tensor(np.ones(4), requires_grad=True)
    f = micrograd.compile(lambda: (w[:2] * 3.0).sum() + (w * w)[1:].sum())
    f().backward()
    assert f.source.count("+= ") == 1
    np.testing.assert_array_equal(w.grad, [3.0, 5.0, 2.0, 2.0])


def test_array_that_is_read_again_is_copied_before_something_is_added_to_it():
    a = Graph().input("a", (4,), np.dtype(float))
    doubled = a * 2.0
    added = a.graph.make("accumulate", (doubled, a[:1], slice(0, 1)))
    found = python.compile(Lowered(("a",), (), [doubled, added, doubled + 1.0]))(np.full(4, 3.0))
    np.testing.assert_array_equal(found, [[6.0] * 4, [9.0, 6.0, 6.0, 6.0], [7.0] * 4])


@pytest.mark.parametrize(
    ("fn", "line"),
    [
        (lambda x: (x * 2 + 1).exp(), "np.exp(x * 2 + 1)"),
        (lambda x: x - (x - 1.0), "x - (x - 1.0)"),
        (lambda x: x / (x * 3.0), "x / (x * 3.0)"),
        (lambda x: -(x + 1.0) @ x.T, "-(x + 1.0) @ x.T"),
        (lambda x: x.sum(axis=1, keepdims=True) * x, "x.sum(axis=1, keepdims=True) * x"),
        (lambda x: (x > 1.0) == (x < 2.0), "(x > 1.0) == (x < 2.0)"),
    ],
)
def test_expression_is_written_in_one_line_with_the_parentheses_that_it_needs(fn: Any, line: str):
    x = np.arange(6.0).reshape(2, 3) + 1
    text = source(fn, x)
    assert f" {line}  # (2, " in text, text
    np.testing.assert_array_equal(eval(line), np.asarray(fn(Tensor(x))))


def test_line_that_would_get_too_long_is_written_as_several():
    text = source(lambda x: sum((x + float(i)).exp() * (x - float(i)).exp() for i in range(1, 5)).tanh(), np.ones(3))
    assert max(map(len, text.splitlines())) < 120
    assert text.count("np.exp") == 8
