"""`compile(f, check=True)` and `check_compiled`: the function itself runs beside its program."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, Value, check_compiled, nn
from micrograd import functional as F
from micrograd.optim import SGD, Adam, AdamW


def planted(f: Any, change: Callable[[Any], Any]) -> None:
    """Make the program traced last return what `change` makes of its results and gradients."""
    code = f.program.code
    f.program.code = lambda *given: change(code(*given))


def wrong_gradient(answer: Any) -> Any:
    outs, grads = answer
    return outs, [grads[0] * 1.001, *grads[1:]]


def layered() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 4, rng=np.random.default_rng(0)), nn.Tanh(), nn.Linear(4, 1))


X = np.random.default_rng(1).normal(size=(5, 2))
Y = X.sum(1, keepdims=True)


# ---------------------------------------------------------------------------------------------------------------------
# What differs


DIFFERENT: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a number": (lambda x, k: k * x, r"gives 4.0 for the result.* itself 10.0"),
    "one in a tree": (lambda x, k: [x, {"a": k * x}], r"4.0 for result\[1\]\['a'\]"),
    "a bool": (lambda x, k: (x, k > 3), r"(False|0) for result\[1\].*(True|1)"),
    "how many": (lambda x, k: [x] * int(k), r"gives \[.*, and the function itself \["),
    "a text": (lambda x, k: [x, f"{k}"], r"'2.0' for result\[1\].*'5.0'"),
    "an element": (lambda x, k: Tensor([1.0, 1.0]) * np.array([2.0, k]), r"2.0 for \[1\] of the r"),
    "a shape": (lambda x, k: Tensor([2.0]) * np.ones((1, int(k))), r"the shape \(1, 2\) for"),
}


@pytest.mark.parametrize(("use", "message"), DIFFERENT.values(), ids=DIFFERENT)
def test_constant_that_has_changed_is_found_and_retrace_reads_it_again(use: Callable, message: str):
    k = [2.0]
    f = micrograd.compile(lambda x: use(x, k[0]), check=True)
    f(2.0)
    k[0] = 5.0
    with pytest.raises(RuntimeError, match=message) as found:
        f(2.0)
    assert re.search(r"call retrace\(\); <compiled .*test_compile_checked.py:\d+: ", str(found.value))
    f.retrace()
    f(2.0)


@pytest.mark.parametrize("x", [Value(2.0, label="speed"), Tensor([2.0], requires_grad=True, label="speed")])
def test_wrong_gradient_is_found_and_names_the_parameter(x: Any):
    w = type(x)(x.data, requires_grad=True, label="weight")
    f = micrograd.compile(lambda x: (x * w * w).sum() if isinstance(x, Tensor) else x * w * w, check=True)
    f(x)
    planted(f, wrong_gradient)
    with pytest.raises(RuntimeError, match=r"4.00\d+ for .*the gradient .* speed, and .* itself 4.0"):
        f(x)


def test_parameter_without_a_label_is_named_as_its_module_names_it():
    model = layered()
    f = micrograd.compile(lambda x: model(x).sum(), check=True)
    f(X)
    planted(f, wrong_gradient)
    with pytest.raises(RuntimeError, match=r"with respect to 0.weight"):
        f(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_is_no_difference(dtype: type):
    a = np.random.default_rng(0).normal(size=(40, 30)).astype(dtype)
    w = Tensor(a.T.copy(), requires_grad=True)
    f = micrograd.compile(lambda x: ((x @ w).softmax() * (x @ w)).sum(), check=True)
    f(a).backward()
    planted(f, lambda answer: ([answer[0][0] * dtype(1 + 1e-3)], answer[1]))
    with pytest.raises(RuntimeError, match="for the result"):
        f(a)


def test_nan_and_inf_are_equal_to_themselves():
    f = micrograd.compile(lambda x: [x / 0.0, (x - x) / 0.0, x.log()], check=True)
    assert str([y.data for y in f(1.0)]) == "[inf, nan, 0.0]"


# ---------------------------------------------------------------------------------------------------------------------
# After a checked call all is as after one call


@pytest.mark.parametrize("how", [SGD, Adam, AdamW])
@pytest.mark.parametrize("kind", [Value, Tensor])
@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_checked_step_is_one_step(kind: Any, how: Any, backend: str):
    def trained(check: bool) -> list[Any]:
        params = [kind(x, requires_grad=True) for x in (0.1, 0.2, 1.0)]  # of which the last takes no part
        w, b, _ = params
        optimizer = how(params, lr=0.1, weight_decay=0.01)
        step = micrograd.compile(lambda x: (w * x + b).tanh() ** 2, update=optimizer, backend=backend, check=check)
        losses = [step(kind(0.5, requires_grad=False)).data for _ in range(3)]
        states = [x for p in (w, b) for x in optimizer.state[p].values()]
        return [*losses, *states, *(p.data for p in params), *(p.grad or 0.0 for p in params)]

    for a, b in zip(trained(True), trained(False), strict=True):
        np.testing.assert_array_equal(a, b)


def test_checked_call_changes_no_grad_statistics_or_generator():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)).eval()
    f = micrograd.compile(lambda x: model(x).sum(), check=True)
    before = {name: x.copy() for name, x in model.state_dict().items()}
    states = random.getstate(), str(np.random.get_state(legacy=False))
    for _ in range(2):
        f(X)
    assert all(p.grad is None for p in model.parameters())
    assert all(np.array_equal(x, before[name]) for name, x in model.state_dict().items())
    assert states == (random.getstate(), str(np.random.get_state(legacy=False)))


def test_step_that_differs_changes_nothing():
    k, model = [1.0], layered()
    optimizer = Adam(model.parameters(), lr=0.1)
    step = micrograd.compile(lambda x, y: k[0] * F.mse(model(x), y), update=optimizer)
    step(X, Y)
    before = [p.data.copy() for p in model.parameters()], repr(optimizer.state_dict())
    k[0] = 2.0
    with check_compiled(), pytest.raises(RuntimeError, match=r"call retrace\(\)"):
        step(X, Y)
    for p, data in zip(model.parameters(), before[0], strict=True):
        np.testing.assert_array_equal(p.data, data)
    assert repr(optimizer.state_dict()) == before[1]


@pytest.mark.parametrize("kind", [Value, Tensor])
def test_frozen_parameter_is_left_as_it_is(kind: Any):
    w, b = kind(0.5, requires_grad=True), kind(0.25, requires_grad=True)
    optimizer = SGD([w, b], lr=0.1, weight_decay=0.1)
    b.requires_grad = False
    step = micrograd.compile(lambda x: (w * x + b) ** 2, update=optimizer, check=True)
    step(2.0)
    assert w.data < 0.5
    assert b.data == 0.25


def test_loss_of_a_step_may_be_in_a_tree():
    w = Value(0.5)
    step = micrograd.compile(lambda: {"loss": w * w, "name": "square"}, update=SGD([w], lr=0.25), check=True)
    assert step()["loss"].data == 0.25
    assert w.data == 0.25


def test_loss_of_a_step_is_compared_too():
    w = Value(0.5)
    step = micrograd.compile(lambda x: (w * x) ** 2, update=SGD([w], lr=0.1), check=True)
    step(2.0)
    w.data = 0.5
    planted(step, lambda answer: ([answer[0][0] + 1.0], *answer[1:]))
    with pytest.raises(RuntimeError, match=r"gives 2.0 for the loss, and the function itself 1.0"):
        step(2.0)
    assert w.data == 0.5


@pytest.mark.parametrize("lr", [0.1, 1e-15, 0.0])
def test_wrong_gradient_in_a_step_is_found_at_any_learning_rate(lr: float):
    w, k = Tensor([1.0, 2.0], requires_grad=True), [2.0]
    step = micrograd.compile(lambda: ((w - w.detach()) * k[0]).sum(), update=SGD([w], lr=lr), check=True)
    step()
    k[0], before = 3.0, w.data.tolist()
    with pytest.raises(RuntimeError, match="call retrace"):
        step()
    assert w.data.tolist() == before


def test_checked_step_of_which_the_function_raises_changes_nothing():
    w, calls = Tensor([1.0, 2.0], requires_grad=True), []

    class Once(micrograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return 2 * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            calls.append(1)
            if len(calls) > 1:
                raise ValueError("called twice")
            return 2 * g

    w.grad = np.array([5.0, 6.0])
    step = micrograd.compile(lambda: Once.apply(w).sum(), update=SGD([w], lr=0.1), check=True)
    with pytest.raises(ValueError, match="called twice"):
        step()
    assert (w.data.tolist(), w.grad.tolist()) == ([1.0, 2.0], [5.0, 6.0])


def test_wrong_update_of_a_right_loss_is_found():
    w = Value(0.5, label="weight")
    step = micrograd.compile(lambda x: (w * x) ** 2, update=SGD([w], lr=0.1, momentum=0.5), check=True)
    step(2.0)
    start, planted_number = w.data, 9.0
    planted(step, lambda answer: (setattr(w, "data", planted_number), answer)[1])
    with pytest.raises(RuntimeError, match=r"gives 9.0 for the new 'data' of weight, and the function itself -"):
        step(2.0)
    assert w.data == start


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_view_of_a_parameter_sees_the_checked_step(backend: str):
    w = Tensor([0.5, 0.25], requires_grad=True)
    view = w.detach()
    step = micrograd.compile(lambda x: ((w * x) ** 2).sum(), update=SGD([w], lr=0.1), backend=backend, check=True)
    step(2.0)
    np.testing.assert_array_equal(view.data, w.data)
    assert w.data[0] != 0.5


@pytest.mark.parametrize("use", [lambda _: 3.0, lambda w: [w, w]])
def test_what_is_no_loss_is_refused_as_without_a_check(use: Callable):
    w = Value(2.0)
    with pytest.raises(ValueError, match="returns one loss"):
        micrograd.compile(lambda: use(w), update=SGD([w], lr=0.1), check=True)()
    assert w.data == 2.0


# ---------------------------------------------------------------------------------------------------------------------
# Where it holds


def test_context_checks_every_compiled_function_of_a_program():
    k = [1.0]
    f, g = micrograd.compile(lambda x: k[0] * x), micrograd.gradient(micrograd.compile(lambda x: x / k[0]))
    h = micrograd.compile(lambda x: f(x) * 2.0)  # itself uncompiled: so is f
    for each in (f, g):
        each(1.0)
    k[0] = 2.0
    assert f(1.0).data == 1.0
    with check_compiled():
        h(1.0)
        for each in (f, g):
            with pytest.raises(RuntimeError, match="call retrace"):
                each(1.0)
    assert f(1.0).data == 1.0


def test_transform_of_a_checked_function_is_checked():
    k = [1.0]
    f = micrograd.gradient(micrograd.compile(lambda x: k[0] * x * x, check=True))
    assert f(3.0) == 6.0
    k[0] = 2.0
    with pytest.raises(RuntimeError, match=r"gives 6.0 .* itself 12.0"):
        f(3.0)


def test_no_samples_differ_in_nothing():
    f = micrograd.compile(lambda x: [2 * x, "text"], batch=True, check=True)
    assert f(np.ones(0))[0].shape == (0,)


@pytest.mark.parametrize("n", [1, 5])
def test_samples_are_checked_one_by_one(n: int):
    k, model = [1.0], nn.MLP(2, [3, 1])
    f = micrograd.compile(lambda x, c: [k[0] * model(x), c * x[0], k[0]], batch=True, check=True)
    assert [out.shape for out in f(X[:n], 2.0)] == [(n,)] * 3
    k[0] = 2.0
    with pytest.raises(RuntimeError, match=r"for \[0\] of result\[0\]"):
        f(X[:n], 2.0)
