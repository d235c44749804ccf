"""Labels and indices of compiled functions: what the function itself refuses, its program refuses by the same words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compile_helpers import JAX, C

import micrograd
from micrograd import Tensor, Value, gradient, nn
from micrograd import functional as F
from micrograd.optim import SGD, Adam

X = np.random.default_rng(0).normal(size=(4, 3))
W = Tensor(np.random.default_rng(1).normal(size=(3, 3)), requires_grad=True)
EMBEDDING = nn.Embedding(3, 2)
SCORES = [Value(0.5), Value(-0.3)]


def ints(*xs: int) -> np.ndarray:
    return np.array(xs)


def floats(*xs: float) -> np.ndarray:
    return np.array(xs, float)


def words(f: Callable, *args: Any) -> str:
    with pytest.raises((IndexError, ValueError)) as error:
        f(*args)
    return f"{error.type.__name__}: {error.value}"


# a function of labels, some that are right, and some that are wrong
OF_ARRAYS: dict[str, tuple[Callable, np.ndarray, np.ndarray]] = {
    "cross_entropy of -1": (lambda y: F.cross_entropy(X @ W, y), ints(0, 1, 2, 1), ints(0, -1, 2, 1)),
    "cross_entropy of 3": (lambda y: F.cross_entropy(X @ W, y, "none"), ints(0, 1, 2, 1), ints(0, 1, 2, 3)),
    "cross_entropy of what is computed": (lambda y: F.cross_entropy(X @ W, y - 1), ints(1, 2, 1, 3), ints(1, 0, 1, 3)),
    "nll": (lambda y: F.nll((X @ W).log_softmax(), y), ints(0, 1, 2, 1), ints(0, -1, 2, 1)),
    "hinge of 0": (lambda y: F.hinge((X @ W)[:, 0], y), floats(1, -1, 1, 1), floats(1, 0, 1, 1)),
    "bce of 2": (lambda y: F.bce_with_logits((X @ W)[:, 0], y), floats(0, 1, 0.5, 1), floats(0, 1, 2, 1)),
    "an index": (lambda y: W[y].sum(), ints(0, -3), ints(0, 3)),
    "an index among others": (lambda y: (W * 2)[y, 1:].sum(), ints(0, 2), ints(0, -4)),
    "a row of the identity": (lambda y: (Tensor(np.eye(3))[y] @ W).sum(), ints(0, 2), ints(0, 5)),
    "take_along_axis": (
        lambda y: micrograd.take_along_axis(W, y, 1).sum(), np.zeros((3, 1), int), np.full((3, 1), 3),
    ),
    "an embedding of -1": (lambda y: EMBEDDING(y).sum(), ints(0, 2), ints(0, -1)),
    "an embedding of 3": (lambda y: EMBEDDING(y).sum(), ints(0, 2), ints(3, 1)),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["auto", "python", "numpy", JAX])
@pytest.mark.parametrize("what", OF_ARRAYS)
def test_labels_that_are_arguments_are_checked_in_each_call(what: str, backend: str):
    f, right, wrong = OF_ARRAYS[what]
    expected = words(f, Tensor(wrong))
    compiled = micrograd.compile(f, backend=backend)
    for _ in range(2):
        np.testing.assert_allclose(compiled(right).data, f(Tensor(right)).data, rtol=1e-12)
        assert words(compiled, wrong) == expected
    assert compiled.cache_info().misses == 1
    assert words(micrograd.compile(lambda: f(Tensor(wrong)), backend=backend)) == expected  # known when it is traced


@pytest.mark.parametrize("backend", ["auto", JAX])
def test_gradient_alone_checks_an_index_too(backend: str):
    slope = gradient(micrograd.compile(lambda x, y: x[y].sum(), backend=backend))
    slope(X, ints(0, 1))
    assert "out of bounds" in words(slope, X, ints(0, 4))


@pytest.mark.parametrize("backend", ["python", "numpy"])
def test_labels_of_values_are_checked(backend: str):
    hinge, bce = (
        micrograd.compile(lambda ys, f=f: f(SCORES, ys), backend=backend) for f in (F.hinge, F.bce_with_logits)
    )
    hinge([1.0, -1.0]), bce([1.0, 0.0])
    assert words(hinge, [1.0, 0.0]) == words(F.hinge, SCORES, [1, 0.0])
    assert words(bce, [2.0, 0.0]) == words(F.bce_with_logits, SCORES, [2.0, 0])


def test_label_in_a_value_from_outside_is_checked_as_it_is_now():
    label = Value(1.0, requires_grad=False)
    f = micrograd.compile(lambda: F.hinge(SCORES, [label, 1.0]))
    f()
    label.data = 0.0
    assert words(f).startswith("ValueError: targets[0] is 0.0: a hinge loss takes -1 or 1")


def test_labels_in_arrays_taken_apart_and_of_samples_are_checked():
    apart = micrograd.compile(lambda ys: F.hinge(SCORES, ys), scalars=True)
    batch = micrograd.compile(lambda ys: F.hinge(SCORES, ys), batch=True)
    apart(floats(1, -1)), batch(np.ones((3, 2)))
    assert words(apart, floats(1, 0)) == words(F.hinge, SCORES, [1, 0.0])
    assert "targets[1] is 5.0" in words(batch, np.array([[1.0, 1.0], [1.0, 5.0]]))


LOSSES: dict[str, tuple[Callable[[Any, Any, Any], Any], np.ndarray, str]] = {
    "a label": (lambda x, w, y: F.cross_entropy(x @ w, y), ints(0, -1, 2, 1), r"targets\[1\] is -1"),
    "an index": (lambda x, w, y: (w[y] ** 2).sum(), ints(0, 3, 2, 1), "3.* out of bounds"),
    "an index from the end": (lambda x, w, y: (w[y] ** 2).sum(), ints(0, -4, 2, 1), "-4.* out of bounds"),
}


@pytest.mark.parametrize(("loss", "wrong", "message"), LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("how", [SGD, Adam])
@pytest.mark.parametrize("backend", ["auto", C, JAX])
def test_step_with_a_wrong_label_updates_nothing(
    backend: str, how: Any, loss: Callable, wrong: np.ndarray, message: str
):
    w = Tensor(W.data, requires_grad=True)
    optimizer = how([w], lr=0.1)
    step = micrograd.compile(lambda x, y: loss(x, w, y), update=optimizer, backend=backend)
    step(X, ints(0, 1, 2, 1))
    before = w.data.copy(), repr(optimizer.state_dict())
    assert re.search(message, words(step, X, wrong))
    np.testing.assert_array_equal(w.data, before[0])
    assert repr(optimizer.state_dict()) == before[1]
