"""Optimizers and schedules: what they do, step by step, and that it is what PyTorch does."""

import copy
import math

import pytest

from micrograd.engine import Value
from micrograd.nn import MLP
from micrograd.optim import (
    SGD,
    Adam,
    AdamW,
    CosineAnnealingLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    Optimizer,
    StepLR,
    clip_grad_norm,
)

START = [1.5, -0.7, 0.0, 3.0]


# ---------------------------------------------------------------------------------------------------------------------
# As PyTorch does


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (StepLR, {"step_size": 3, "gamma": 0.5}),
        (LinearLR, {}),
        (LinearLR, {"start_factor": 1.0, "end_factor": 0.1, "total_iters": 8}),
        (CosineAnnealingLR, {"T_max": 10}),
        (CosineAnnealingLR, {"T_max": 4, "eta_min": 0.01}),
        (LambdaLR, {"lr_lambda": lambda t: 1 / (1 + t)}),
    ],
)
def test_ten_steps_of_a_schedule_equal_pytorchs(kind, settings):
    torch = pytest.importorskip("torch")
    theirs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in START]
    ours = [Value(x) for x in START]
    rates = []
    for module, params in ((torch.optim, theirs), (None, ours)):
        optimizer = (module.SGD if module else SGD)(params, lr=0.2)
        schedule = (getattr(module.lr_scheduler, kind.__name__) if module else kind)(optimizer, **settings)
        rates.append([])
        for _ in range(11):
            rates[-1].append(optimizer.param_groups[0]["lr"] if module else optimizer.lr)
            optimizer.step()
            schedule.step()
    assert rates[1] == pytest.approx(rates[0], rel=1e-12, abs=1e-15)


# ---------------------------------------------------------------------------------------------------------------------
# By hand


def test_momentum_adds_up():
    x = Value(0.0)
    optimizer = SGD([x], lr=1.0, momentum=0.5)
    for expected in (-1.0, -2.5, -4.25):
        x.grad = 1.0
        optimizer.step()
        assert x.data == expected


def test_a_first_step_of_adam_is_as_long_as_the_rate():
    x, y = Value(0.0), Value(0.0)
    optimizer = Adam([x, y], lr=0.5, eps=1e-12)
    x.grad, y.grad = 1e-3, -1e6
    optimizer.step()
    assert (x.data, y.data) == pytest.approx((-0.5, 0.5), rel=1e-8)


def test_adam_survives_gradients_of_zero_and_gradients_whose_square_overflows():
    x, y = Value(1.0), Value(1.0)
    optimizer = Adam([x, y])
    x.grad, y.grad = 0.0, 1e200
    optimizer.step()
    assert (x.data, y.data) == (1.0, 1.0)


def test_a_gradient_that_is_a_node_is_used_as_a_number():
    x = Value(1.0)
    (x * x).backward(create_graph=True)
    assert clip_grad_norm([x], 100.0) == 2.0
    SGD([x], lr=0.25).step()
    assert x.data == 0.5


@pytest.mark.parametrize("make", [lambda p: SGD(p, 0.1, momentum=0.9), Adam, AdamW])
def test_a_nan_in_a_gradient_is_not_hidden(make):
    x, y = Value(1.0), Value(1.0)
    optimizer = make([x, y])
    x.grad, y.grad = math.nan, 1.0
    optimizer.step()
    assert math.isnan(x.data)
    assert y.data < 1.0


def test_a_warm_up_and_a_decay_are_one_function():
    optimizer = SGD([Value(0.0)], lr=2.0)
    schedule = LambdaLR(optimizer, lambda t: min((t + 1) / 2, 1.0) * 0.5**t)
    rates = []
    for _ in range(4):
        rates.append(optimizer.lr)
        schedule.step()
    assert rates == [1.0, 1.0, 0.5, 0.25]


def test_an_optimizer_and_a_schedule_of_ones_own_need_one_method_each():
    class Sign(Optimizer):
        def _update(self, p, g, state):
            p.data -= self.lr * (1 if g > 0 else -1)

    class Halving(LRScheduler):
        def lr_at(self, t):
            return self.base_lr / 2**t

    x = Value(10.0)
    optimizer = Sign([x], lr=4.0)
    schedule = Halving(optimizer)
    for _ in range(3):
        x.grad = 123.0
        optimizer.step()
        schedule.step()
    assert x.data == 10.0 - 4.0 - 2.0 - 1.0


def test_a_copied_optimizer_moves_copies_of_the_parameters():
    x = Value(0.0)
    optimizer = SGD([x], lr=1.0)
    x.grad = 1.0
    twin = copy.deepcopy(optimizer)
    twin.step()
    assert (x.data, twin.params[0].data) == (0.0, -1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Wrong inputs


def exhausted():
    generator = (p for p in [Value(1.0)])
    list(generator)
    return generator


X = Value(1.0)
NOT_PARAMETERS = [
    (exhausted, ValueError, "found an empty one: there is nothing to train"),
    (lambda: (p for p in [X, X]), ValueError, "parameter 1 of .* is in the list twice"),
    (list, ValueError, "found an empty one: there is nothing to train"),
    (lambda: X, TypeError, "found Value: put the parameters in a list"),
    (lambda: {"x": X}, TypeError, "found dict"),
    (lambda: {X}, TypeError, "found set"),
    (lambda: None, TypeError, "found NoneType"),
    (lambda: MLP(1, [1]), TypeError, r"found MLP: pass its .parameters\(\)"),
    (lambda: [X, 1.0], TypeError, "parameter 1 of .* is a float, not a Value"),
    (lambda: [X * 2], ValueError, r"parameter 0 of .* is the result of '\*'"),
    (lambda: [Value(1.0, requires_grad=False)], ValueError, "parameter 0 of .* is a constant"),
    (lambda: [X, Value(2.0), X], ValueError, "parameter 2 of .* is in the list twice"),
]


@pytest.mark.parametrize("many", [iter, tuple, lambda ps: (p for p in ps)])
def test_parameters_may_come_from_whatever_gives_them_one_by_one(many):
    params = [Value(1.0), Value(2.0)]
    for p in params:
        p.grad = 0.1
    SGD(many(params), lr=0.3).step()
    assert [p.data for p in params] == [1.0 - 0.3 * 0.1, 2.0 - 0.3 * 0.1]  # the classic line, bit by bit
    assert clip_grad_norm(many(params), 100.0) == pytest.approx(math.sqrt(0.02))


@pytest.mark.parametrize(
    ("grads", "norm"),
    [
        ([3.0, -4.0], 5.0),
        ([3e200, 4e200], 5e200),
        ([math.inf, 1.0], math.inf),
        ([1.0, -math.inf], math.inf),
        ([math.nan, 1.0], math.nan),
        ([math.nan, math.inf], math.nan),
        ([-math.inf, math.nan], math.nan),
        ([0.25, 0.0], 0.25),
        ([0.0, 0.0], 0.0),
    ],
)
@pytest.mark.parametrize("kind", ["values", "array"])
def test_the_norm_is_right_where_a_square_overflows_and_where_a_gradient_is_no_number(kind, grads, norm):
    import numpy as np

    from micrograd.tensor import Tensor

    if kind == "values":
        params = [Value(0.0) for _ in grads]
        for p, g in zip(params, grads, strict=True):
            p.grad = g
    else:
        params = [Tensor(np.zeros(2), requires_grad=True)]
        params[0].grad = np.array(grads)
    with np.errstate(invalid="ignore"):
        assert clip_grad_norm(params, 1.0) == pytest.approx(norm, nan_ok=True)
    after = np.hstack([p.grad for p in params])
    if math.isfinite(norm):
        assert after == pytest.approx(np.array(grads) / max(norm, 1.0), rel=1e-6)
    else:
        assert np.isnan(after).any()  # the next step will show it


@pytest.mark.parametrize(("make", "error", "message"), NOT_PARAMETERS)
@pytest.mark.parametrize("user", [lambda p: SGD(p, lr=0.1), Adam, lambda p: clip_grad_norm(p, 1.0)])
def test_what_are_no_parameters_is_refused(make, error, message, user):
    with pytest.raises(error, match=message):
        user(make())


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SGD([X], lr=-0.1), ValueError, "lr must not be below 0, found -0.1"),
        (lambda: SGD([X], lr=math.nan), ValueError, "lr must not be below 0, found nan"),
        (lambda: SGD([X], lr="fast"), TypeError, "lr must be a number, found str"),
        (lambda: SGD([X], lr=X), TypeError, "lr must be a number, found Value"),
        (lambda: SGD([X], 0.1, momentum=-1), ValueError, "momentum must not be below 0"),
        (lambda: SGD([X], 0.1, weight_decay=-1), ValueError, "weight_decay must not be below 0"),
        (lambda: SGD([X], 0.1, nesterov=True), ValueError, "needs momentum > 0"),
        (lambda: Adam([X], betas=(0.9, 1.0)), ValueError, "betas must be two numbers from 0 to below 1"),
        (lambda: Adam([X], betas=(0.9,)), ValueError, "betas must be two numbers"),
        (lambda: Adam([X], eps=0.0), ValueError, "eps must be above 0"),
        (lambda: clip_grad_norm([X], -1.0), ValueError, "max_norm must not be below 0"),
        (lambda: StepLR(SGD([X], 0.1), 0), ValueError, "step_size must be a whole number of steps, at least 1"),
        (lambda: CosineAnnealingLR(SGD([X], 0.1), T_max=1.5), ValueError, "T_max must be a whole number"),
        (lambda: StepLR(0.1, 3), TypeError, "a schedule sets the lr of an optimizer, found float"),
        (lambda: StepLR(Optimizer([X]), 3), TypeError, "found Optimizer, which has none"),
        (lambda: Optimizer([X], 0.1).step(), NotImplementedError, "_update"),
        (lambda: LRScheduler(SGD([X], 0.1)), NotImplementedError, "lr_at"),
    ],
)
def test_wrong_settings_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
