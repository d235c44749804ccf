"""Labels and indices of compiled functions: what the function itself refuses, its program refuses by the same words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compile_helpers import JAX, C
from compiled_functions import LABELLED, SCORES, W, X, floats, ints, words

import micrograd
from micrograd import Tensor, Value, gradient
from micrograd import functional as F
from micrograd.optim import SGD, Adam


@pytest.mark.parametrize("backend", ["auto", "python", "numpy", JAX])
@pytest.mark.parametrize("what", LABELLED)
def test_labels_that_are_arguments_are_checked_in_each_call(what: str, backend: str):
    f, right, wrong = LABELLED[what]
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
