"""Labels and indices of compiled functions: what the function itself refuses, its program refuses by the same words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from compile_helpers import JAX, eager_step

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


@pytest.mark.parametrize("how", [SGD, Adam])
@pytest.mark.parametrize("backend", ["auto", JAX])
def test_step_with_a_wrong_label_updates_nothing(how: Any, backend: str):
    w = Tensor(W.data, requires_grad=True)
    optimizer = how([w], lr=0.1)
    step = micrograd.compile(lambda x, y: F.cross_entropy(x @ w, y), update=optimizer, backend=backend)
    step(X, ints(0, 1, 2, 1))
    before = w.data.copy(), repr(optimizer.state_dict())
    assert "targets[1] is -1" in words(step, X, ints(0, -1, 2, 1))
    np.testing.assert_array_equal(w.data, before[0])
    assert repr(optimizer.state_dict()) == before[1]


@pytest.mark.parametrize("how", [SGD, Adam])
@pytest.mark.parametrize("backend", ["python", "numpy"])
def test_label_that_is_trained_is_checked_as_it_is_now(how: Any, backend: str):
    """In a vector program its number is in an array of all parameters."""
    answers = []
    for compiled in (False, True):
        ws, label = [Value(0.5 + i / 100) for i in range(40)], Value(0.9)
        optimizer, xs = how([*ws[:3], label, *ws[3:]], lr=0.03), [i / 100 for i in range(40)]

        def loss(xs: Any, ws: Any = ws, label: Any = label) -> Any:
            return F.bce_with_logits([sum(w * x for w, x in zip(ws, xs, strict=True)), ws[0] * xs[1]], [label, 1.0])

        whole = micrograd.compile(loss, update=optimizer, backend=backend)
        step = (lambda xs, f=whole: f(xs).data) if compiled else partial(eager_step, loss, optimizer)
        losses = [step(xs)]
        while label.data <= 1:
            losses.append(step(xs))
        before = [p.data for p in optimizer.params], repr(optimizer.state_dict())
        answers.append((losses, words(step, xs)[:30], before[0]))
        assert ([p.data for p in optimizer.params], repr(optimizer.state_dict())) == before
    assert answers[0][1] == answers[1][1] == "ValueError: targets[0] is 1.0" + answers[0][1][-1]
    for eager, ours in zip(*answers, strict=True):
        assert ours == (eager if isinstance(eager, str) else pytest.approx(eager, rel=1e-9))
