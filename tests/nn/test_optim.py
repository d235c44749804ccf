"""Optimizers and schedules, of Values and of Tensors: PyTorch's steps, and what is refused."""

import math
from functools import partial

import numpy as np
import pytest

from micrograd import compile
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
from micrograd.tensor import Tensor

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


def test_adam_hides_no_nan_and_takes_gradients_of_zero_or_whose_square_overflows():
    params = [Value(1.0), Value(1.0), Value(1.0), Value(1.0)]
    optimizer = Adam(params, lr=0.5)
    for p, g in zip(params, (math.nan, 0.0, 1e200, 1e-3), strict=True):
        p.grad = g
    optimizer.step()
    assert [p.data for p in params] == pytest.approx([math.nan, 1.0, 1.0, 0.5], rel=1e-4, nan_ok=True)


@pytest.mark.parametrize("x", [Value(1.0), Tensor([1.0, 2.0], requires_grad=True)], ids=["value", "tensor"])
def test_gradient_that_is_a_node_is_used_as_its_numbers(x):
    before = np.array(x.data)
    (x**3 if isinstance(x, Value) else (x**3).sum()).backward(create_graph=True)
    assert clip_grad_norm([x], 1e9) == pytest.approx(np.linalg.norm(3 * before**2))
    SGD([x], lr=0.5).step()
    np.testing.assert_array_equal(x.data, before - 0.5 * 3 * before**2)
    assert x.is_leaf


# ---------------------------------------------------------------------------------------------------------------------
# Tensors: PyTorch's steps, and what shares memory with a parameter


SETTINGS = [
    (SGD, {"lr": 0.05}),
    (SGD, {"lr": 0.05, "weight_decay": 0.1}),
    (SGD, {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.1}),
    (SGD, {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    (Adam, {}),
    (Adam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    (AdamW, {"lr": 0.1}),
    (AdamW, {"lr": 0.1, "weight_decay": 0.5}),
    (AdamW, {"lr": 0.1, "weight_decay": 0.0, "betas": (0.0, 0.0)}),
]
ARRAYS = [np.array([[1.5, -0.7], [0.2, 3.0]]), np.array([0.5, -0.5]), np.array(2.0)]
POINTS = np.array([[0.3, 1.0], [-1.2, 0.4], [2.0, 0.1]])


def loss_of(matrix, vector, scale, x):
    """Something with curvature, in whichever package's arrays; of shapes (2, 2), (2,) and ()."""
    return (((x @ matrix + vector).tanh() * scale - x) ** 2).sum()


def descend(optimizer, params, x, steps=10):
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(*params, x).backward()
        optimizer.step()
    return params


def leaves(dtype=float):
    return [Tensor(a, dtype=dtype, requires_grad=True) for a in ARRAYS]


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_ten_steps_equal_pytorchs(kind, settings):
    torch = pytest.importorskip("torch")
    theirs = [torch.tensor(a, requires_grad=True) for a in ARRAYS]
    descend(getattr(torch.optim, kind.__name__)(theirs, **settings), theirs, torch.from_numpy(POINTS))
    ours = leaves()
    for p, q in zip(descend(kind(ours, **settings), ours, POINTS), theirs, strict=True):
        assert p.detach().data == pytest.approx(q.detach().numpy(), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_values_that_are_frozen_stay_and_go_on_as_in_pytorch(kind, settings):
    torch = pytest.importorskip("torch")
    theirs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (1.0, -2.0)]
    ours = [Value(1.0), Value(-2.0)]
    for params, optimizer in (
        (theirs, getattr(torch.optim, kind.__name__)(theirs, **settings)),
        (ours, kind(ours, **settings)),
    ):
        for is_frozen in (True, False, True, True, False):
            params[0].requires_grad = not is_frozen
            optimizer.zero_grad()
            ((params[0] * params[1] - 1) ** 2 + params[1] ** 2).backward()
            optimizer.step()
    assert [p.data for p in ours] == pytest.approx([p.item() for p in theirs], rel=1e-12)


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_arrays_move_as_the_same_numbers_as_values_do(kind, settings):
    array, values = Tensor([1.0, -2.0], requires_grad=True), [Value(1.0), Value(-2.0)]
    first, second = kind([array], **settings), kind(iter(values), **settings)
    for _ in range(5):
        first.zero_grad(), second.zero_grad()
        (array**4).sum().backward(), sum(v**4 for v in values).backward()
        first.step(), second.step()
    assert array.tolist() == pytest.approx([v.data for v in values], rel=1e-13)


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_single_precision_stays_single(kind, settings):
    params = leaves(np.float32)
    optimizer = kind(params, **settings)
    descend(optimizer, params, POINTS.astype(np.float32), 3)
    assert {p.dtype for p in params} == {np.dtype(np.float32)}
    kept = [x for state in optimizer.state.values() for x in state.values() if not isinstance(x, int)]
    assert {x.dtype for x in kept} <= {np.dtype(np.float32)}


def test_zero_grad_and_reset_grad_make_grads_none():
    p, q = Tensor([1.0], requires_grad=True), Value(1.0)
    for forget in (SGD([p, q], 0.1).zero_grad, SGD([p, q], 0.1).reset_grad):
        (p * 2).backward(), (q * 2).backward()
        forget()
        assert (p.grad, q.grad, type(q.grad)) == (None, 0, int)


def test_parameter_that_no_pass_has_reached_stays_where_it_is():
    p, q = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    optimizer = AdamW([p, q], lr=0.1)
    (p * 2).backward()
    optimizer.step()
    assert p.tolist() != [1.0]
    assert q.tolist() == [1.0]
    assert optimizer.state[q] == {}


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_step_is_in_place_so_that_views_and_detached_tensors_follow(kind, settings):
    p = Tensor([[1.0, 2.0]], requires_grad=True)
    turned, same, array = p.T.detach(), p.detach(), p.data
    optimizer = kind([p], **settings)
    (p * p).sum().backward()
    optimizer.step()
    assert p.tolist() != [[1.0, 2.0]]
    assert turned.tolist() == [[p.tolist()[0][0]], [p.tolist()[0][1]]]
    assert same.tolist() == array.tolist() == p.tolist()
    assert p.is_leaf


def test_step_while_a_graph_and_a_view_still_need_the_weights_moves_the_view_and_fails_the_next_pass():
    p = Tensor([1.0, 2.0], requires_grad=True)
    view = p[:1].detach()
    loss = (p * p).sum()
    loss.backward(retain_graph=True)
    SGD([p], lr=0.25).step()
    assert p.tolist() == [0.5, 1.0]
    assert view.tolist() == [0.5]
    with pytest.raises(RuntimeError, match="changed in place"):
        loss.backward()


def test_step_does_not_touch_the_gradient_nor_keep_it():
    p = Tensor([1.0], requires_grad=True)
    optimizer = SGD([p], lr=0.5, momentum=0.9)
    (p * p).backward()
    grad = p.grad
    optimizer.step()
    grad += 100
    p.grad = np.zeros(1)
    optimizer.step()
    assert p.tolist() == pytest.approx([1.0 - 0.5 * 2.0 - 0.5 * 0.9 * 2.0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros(3), r"mean has shape \(3,\), not \(2,\)"),
        (np.zeros(2), "mean has dtype float64, which does not fit into float32"),
        (np.zeros(2, complex), "mean has dtype complex128"),
        ([0.0, 0.0], "mean is a list, not an array"),
        (0.5, "mean is a float, not an array"),
    ],
)
def test_state_of_other_shapes_or_dtypes_is_refused_and_changes_nothing(wrong, message):
    def make():
        p = Tensor([1.0, 2.0], dtype="float32", requires_grad=True)
        optimizer = Adam([p], lr=0.5)
        (p * p).sum().backward()
        optimizer.step()
        return optimizer

    optimizer, state = make(), make().state_dict()
    state["settings"]["lr"], state["state"][0]["mean"] = 0.1, wrong
    before = optimizer.state_dict()
    with pytest.raises(ValueError, match=f"nothing was loaded: parameter 0: {message}"):
        optimizer.load_state_dict(state)
    assert repr(optimizer.state_dict()) == repr(before)


# ---------------------------------------------------------------------------------------------------------------------
# Wrong inputs


def exhausted():
    generator = (p for p in [Value(1.0)])
    list(generator)
    return generator


X, T = Value(1.0), Tensor([1.0], requires_grad=True)
NOT_PARAMETERS = [
    (exhausted, ValueError, "found an empty one: there is nothing to train"),
    (lambda: (p for p in [X, X]), ValueError, "parameter 1 of .* is in the list twice"),
    (lambda: X, TypeError, "found Value: put the parameters in a list"),
    (lambda: {"x": X}, TypeError, "found dict"),
    (lambda: MLP(1, [1]), TypeError, r"found MLP: pass its .parameters\(\)"),
    (lambda: [X, 1.0], TypeError, "parameter 1 of .* is a float, not a Value"),
    (lambda: [X * 2], ValueError, r"parameter 0 of .* is the result of '\*'"),
    (lambda: [Value(1.0, requires_grad=False)], ValueError, "parameter 0 of .* is a constant"),
    (lambda: [X, Value(2.0), X], ValueError, "parameter 2 of .* is in the list twice"),
    (lambda: T, TypeError, "found Tensor: put the parameters in a list"),
    (lambda: [Tensor([1.0])], ValueError, "parameter 0 of .* is a constant"),
    (lambda: [np.ones(2)], TypeError, "parameter 0 of .* is a ndarray, not a Value or a Tensor"),
]


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
@pytest.mark.parametrize("kind", ["values", "float64", "float32", "mixed"])
def test_norm_is_right_where_a_square_overflows_and_where_a_gradient_is_no_number(kind, grads, norm):
    if kind == "float32" and norm == 5e200:
        grads, norm = [3e30, 4e30], 5e30
    if kind == "values":
        params = [Value(0.0) for _ in grads]
        for p, g in zip(params, grads, strict=True):
            p.grad = g
    elif kind == "mixed":
        params = [Value(0.0), Tensor([0.0], requires_grad=True), Tensor(np.zeros((0, 3)), requires_grad=True)]
        params[0].grad, params[1].grad, params[2].grad = grads[0], np.array(grads[1:]), np.zeros((0, 3))
    else:
        params = [Tensor(np.zeros(2), requires_grad=True, dtype=kind)]
        params[0].grad = np.array(grads, kind)
    with np.errstate(invalid="ignore"):
        assert clip_grad_norm(iter(params), 1.0) == pytest.approx(norm, nan_ok=True)
    after = np.hstack([np.ravel(p.grad) for p in params])
    if math.isfinite(norm):
        assert after == pytest.approx(np.array(grads) / max(norm, 1.0), rel=1e-6)
    else:
        assert np.isnan(after).any()  # the next step will show it


@pytest.mark.parametrize(("make", "error", "message"), NOT_PARAMETERS)
@pytest.mark.parametrize("user", [lambda p: SGD(p, lr=0.1), Adam, lambda p: clip_grad_norm(p, 1.0)])
def test_optimizer_refuses_what_are_no_parameters(make, error, message, user):
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
        (lambda: SGD([X], 0.1, reduce=4), TypeError, "reduce= takes a function that sums an array .*, found 4"),
        (lambda: StepLR(0.1, 3), TypeError, "a schedule sets the lr of an optimizer, found float"),
        (lambda: StepLR(Optimizer([X]), 3), TypeError, "found Optimizer, which has none"),
        (lambda: Optimizer([X], 0.1).step(), NotImplementedError, "_update"),
        (lambda: LRScheduler(SGD([X], 0.1)), NotImplementedError, "lr_at"),
    ],
)
def test_wrong_settings_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


# ---------------------------------------------------------------------------------------------------------------------
# States that somebody takes out


def forget_all(optimizer):
    optimizer.state.clear()


def forget_one(optimizer):
    del optimizer.state[optimizer.params[0]]


def forget_the_content_of_one(optimizer):
    optimizer.state[optimizer.params[1]].clear()


def replace_one(optimizer):
    optimizer.state[optimizer.params[0]] = {}


@pytest.mark.parametrize("forget", [forget_all, forget_one, forget_the_content_of_one, replace_one])
@pytest.mark.parametrize("make", [partial(SGD, lr=0.1, momentum=0.9), partial(Adam, lr=0.1), partial(AdamW, lr=0.1)])
@pytest.mark.parametrize("kind", [Value, Tensor])
def test_state_that_was_taken_out_begins_again_eagerly_and_compiled(kind, make, forget):
    found = []
    for compiled in (False, True):
        params = [kind(1.0, requires_grad=True), kind(-2.0, requires_grad=True)]
        optimizer = make(params)
        loss = lambda params=params: sum((p - 3.0) ** 2 for p in params)  # noqa: E731
        step = compile(loss, update=optimizer) if compiled else None
        for i in range(9):
            if i in (3, 6):
                forget(optimizer)
            if step:
                step()
            else:
                optimizer.zero_grad()
                loss().backward()
                optimizer.step()
        found.append([float(p.data) for p in params])
        assert all(optimizer.state[p] for p in params)
        assert len(optimizer.state_dict()["state"]) == 2
    assert found[1] == pytest.approx(found[0], rel=1e-12)


def test_state_that_was_cleared_is_saved_as_empty():
    optimizer = Adam([Value(1.0)])
    optimizer.state.clear()
    assert optimizer.state_dict()["state"] == [{}]
