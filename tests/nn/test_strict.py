"""strict(): mistakes of a training loop that are silent otherwise give a warning, once for each line."""

import inspect
import random
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from demo_helpers import demo_module

import micrograd
from micrograd import Tensor, Value, compile, detect_anomaly, enable_grad, lazy, manual_seed, nn, no_grad, strict
from micrograd.functional import bce_with_logits, cross_entropy, log_softmax, mse, softmax
from micrograd.optim import SGD, Adam, clip_grad_norm

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((20, 3)), RNG.standard_normal(20)
CLASSES = RNG.integers(0, 4, 20)


@contextmanager
def warned():
    """The texts of the warnings, and the lines of this file that they name: there, once the block is over."""
    found = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of what another test left, which is collected just then
        yield found
    assert all(x.filename == __file__ and x.category is UserWarning for x in caught)
    lines = inspect.getsource(inspect.getmodule(warned)).splitlines()
    found += [(str(x.message), lines[x.lineno - 1].strip()) for x in caught]


def weights(kind):
    return Value(3.0) if kind == "Value" else Tensor([3.0, 1.0], requires_grad=True)


def total(x):
    return x if isinstance(x, Value) else x.sum()


BOTH = pytest.mark.parametrize("kind", ["Value", "Tensor"])
NOT_CLEARED = "step(): gradients were not cleared since the last step: call zero_grad() before backward()"


@pytest.mark.parametrize("name", ["linear_regression", "moons", "digits"])
def test_strict_finds_nothing_in_the_demos(name, capsys):
    demo = demo_module(name)
    rng = np.random.default_rng(0)
    trainings = {
        "linear_regression": lambda: demo.train(nn.Linear(3, 1), *demo.make_data(0), epochs=3),
        "moons": lambda: demo.train(nn.MLP(2, [4, 1]), X[:, :2], np.sign(Y), 3),
        "digits": lambda: demo.train(demo.make_conv(rng), RNG.random((64, 1, 8, 8)), RNG.integers(0, 10, 64), 2, rng),
    }
    with strict():  # warnings are errors
        trainings[name]()


def train(kind, clear, clip, passes, make, function):
    w = weights(kind)
    model = nn.Module()
    model.w = w
    optimizer = make([w], lr=0.1)
    loss = function(lambda x: total(w * w * x))
    clearing = {
        "optimizer": optimizer.zero_grad,
        "module": model.zero_grad,
        "by hand": lambda: setattr(w, "grad", None if kind == "Tensor" else 0.0),
        "never": lambda: None,
    }
    for _ in range(4):
        clearing[clear]()
        for i in range(passes):
            loss(1.0 + i).backward()
        if clip:
            clip_grad_norm([w], 0.5)
        optimizer.step()


@BOTH
@pytest.mark.parametrize("clear", ["never", "optimizer", "module", "by hand"])
@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("function", [lambda f: f, compile], ids=["eager", "compiled"])
@pytest.mark.parametrize(("passes", "make"), [(1, Adam), (3, SGD)])
def test_strict_warns_once_of_gradients_that_were_not_cleared_and_lets_several_passes_accumulate(
    kind, clear, clip, function, passes, make
):
    with warned() as found, strict():
        train(kind, clear, clip, passes, make, function)
    assert found == ([(NOT_CLEARED, "optimizer.step()")] if clear == "never" else [])


def test_strict_does_not_mind_the_same_gradient_again_nor_a_call_inside_that_has_ended():
    w = Value(1.0)
    optimizer = SGD([w], lr=0.1)

    @strict
    def train(deeper: bool):
        if deeper:
            train(False)
        optimizer.zero_grad()
        (w * 3).backward()
        optimizer.step()

    with warned() as found:
        train(True)
    assert found == []


def test_strict_lets_two_players_share_a_loss():
    """The pass of one adds to what the other has used, which is cleared before it is used again."""
    a, b = Value(1.0), Value(2.0)
    players = SGD([a], lr=0.1), SGD([b], lr=0.1)

    with warned() as found, strict():
        for i in range(6):
            players[i % 2].zero_grad()
            (a * b * (i + 1)).backward()
            players[i % 2].step()
    assert found == []


@BOTH
def test_strict_warns_of_a_step_before_any_backward_and_of_a_repeated_one(kind):
    w = weights(kind)
    optimizer = SGD([w], lr=0.1)

    with warned() as found, strict():
        optimizer.step()
        total(w * w).backward()
        optimizer.step()
        optimizer.step()  # again
    assert found == [
        ("step() before backward(): no parameter of this optimizer has a gradient", "optimizer.step()"),
        (NOT_CLEARED, "optimizer.step()  # again"),
    ]


def scores(kind):
    x = RNG.standard_normal((2, 3))
    return Tensor(x, requires_grad=True) if kind == "Tensor" else [[Value(n) for n in row] for row in x]


def each(kind, f, x):
    return f(x) if kind == "Tensor" else [f(row) for row in x]


@BOTH
def test_strict_warns_of_what_is_no_score(kind):
    x = scores(kind)
    sigmoid = (lambda x: x.sigmoid()) if kind == "Tensor" else (lambda row: [n.sigmoid() for n in row])

    with warned() as found, strict():
        cross_entropy(x, [0, 2])
        cross_entropy(each(kind, softmax, x), [0, 2])
        cross_entropy(each(kind, log_softmax, x), [0, 2])
        cross_entropy(each(kind, sigmoid, x), [0, 2])
        nn.SoftmaxLoss()(each(kind, softmax, x), [0, 2])
        bce_with_logits(sigmoid(x[0]), [0, 1, 1])
        bce_with_logits(x[0], [0, 1, 1])
    assert [line[:45] for _, line in found] == [
        "cross_entropy(each(kind, softmax, x), [0, 2])",
        "cross_entropy(each(kind, log_softmax, x), [0,",
        "cross_entropy(each(kind, sigmoid, x), [0, 2])",
        "nn.SoftmaxLoss()(each(kind, softmax, x), [0, ",
        "bce_with_logits(sigmoid(x[0]), [0, 1, 1])",
    ]
    assert [next(word for word in ("log_softmax", "softmax", "sigmoid") if word in text) for text, _ in found] == [
        "softmax", "log_softmax", "sigmoid", "softmax", "sigmoid"
    ]  # fmt: skip


def test_strict_warns_where_a_loss_is_broadcast_to_all_pairs():
    model = nn.Linear(3, 1)

    with warned() as found, strict():
        for _ in range(2):
            ((model(X) - Y) ** 2).mean()
        ((Y - model(X)) ** 2).mean()
        ((model(X).reshape(-1) - Tensor(Y.reshape(-1, 1))) ** 2).mean()
        (1 - model(X) * Y).relu().mean()
    assert [line for _, line in found] == [
        "((model(X) - Y) ** 2).mean()",
        "((Y - model(X)) ** 2).mean()",
        "((model(X).reshape(-1) - Tensor(Y.reshape(-1, 1))) ** 2).mean()",
        "(1 - model(X) * Y).relu().mean()",
    ]
    assert found[0][0] == "'-' of shapes (20, 1) and (20,) gives all pairs: reshape one"


def test_strict_is_silent_about_other_broadcasting():
    model, x = nn.Linear(3, 1), Tensor(Y, requires_grad=True)

    with warned() as found, strict():
        mse(model(X), Y.reshape(-1, 1))
        model(X).reshape(-1) - Y
        x.reshape(-1, 1) - x  # all differences, on purpose
        Tensor(Y.reshape(-1, 1)) * Tensor(Y)
        x @ Y.reshape(-1, 1)
        model(X[:1]) - Y[:1]
        nn.LayerNorm1d(20)(x.reshape(1, 20))
    assert found == []


def test_strict_changes_no_number_and_leaves_no_trace():
    def train():
        random.seed(1), manual_seed(1)
        model, net = nn.MLP(2, [3, 1]), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4))
        params = model.parameters() + net.parameters()
        optimizer = Adam(params, lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            mse([model(x[:2]) for x in X], list(Y)).backward()
            cross_entropy(net(X), CLASSES).backward()
            optimizer.step()
        assert not any(getattr(p, "_node", p)._hooks for p in params) or inside
        return [p.data.tolist() if isinstance(p, Tensor) else p.data for p in params]

    inside = []
    expected = train()
    inside.append(1)
    with strict():
        found = train()
    assert found == expected
    inside.clear()
    assert train() == expected
    assert not micrograd.engine.modes.modes_on


@pytest.mark.parametrize("decorate", [strict, strict()], ids=["@strict", "@strict()"])
def test_strict_decorates_a_function_and_remembers_between_its_calls(decorate):
    w = Value(1.0)
    optimizer = SGD([w], lr=0.1)

    @decorate
    def step():
        (w * w).backward()
        optimizer.step()

    with warned() as found:
        for _ in range(3):
            step()
    assert found == [(NOT_CLEARED, "optimizer.step()")]
    assert not w._hooks


@pytest.mark.parametrize("again", [False, True], ids=["", "entered again"])
@pytest.mark.parametrize("inside", [detect_anomaly, no_grad, enable_grad, lazy])
def test_strict_warns_once_of_what_happens_in_a_mode_inside(inside, again):
    w = Value(3.0)
    optimizer = SGD([w], 0.1)
    scores = softmax(Tensor([[1.0, 2.0], [1.0, 3.0]]))
    with warned() as found, (outside := strict()), inside(), outside if again else no_grad(), inside():
        with enable_grad():
            (w * w).backward()
        clip_grad_norm([w], 1.0)
        optimizer.step()
        optimizer.step()
        cross_entropy(scores, [0, 1])
    assert [line for _, line in found] == ["optimizer.step()", "cross_entropy(scores, [0, 1])"]


def test_strict_inside_and_around_other_modes():
    w = Tensor(np.ones((3, 1)), requires_grad=True)

    with warned() as found:
        with strict(), lazy():
            (w - np.ones(3)).sum().realize()
        with lazy(), strict():
            (w - np.ones(3)).mean().realize()
        with strict(), micrograd.no_grad(), strict():
            pass
        with strict():
            compile(lambda y: (w - y).sum())(np.ones(3))
            compile(strict(lambda y: (w - y).sum()))(np.ones(3))
    assert [line for _, line in found] == ["(w - np.ones(3)).mean().realize()"]
