"""`compile(loss, update=SGD(...))`: a whole training step as one program."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from compile_helpers import C

import micrograd
from micrograd import Tensor, Value, gradient, nn, no_grad
from micrograd.functional import cross_entropy
from micrograd.optim import SGD, Adam, AdamW, LambdaLR, Optimizer, StepLR

RNG = np.random.default_rng(0)
X, CLASSES = RNG.normal(size=(20, 3)), RNG.integers(0, 4, 20)


def network(dtype: Any = np.float64) -> tuple[list[Tensor], Callable[[Any], Tensor]]:
    """Parameters, always the same, and the loss of inputs."""
    rng = np.random.default_rng(1)
    params = [Tensor(rng.normal(size=shape).astype(dtype), requires_grad=True) for shape in ((3, 5), (5,), (5, 4))]
    return params, lambda x: cross_entropy((x @ params[0] + params[1]).tanh() @ params[2], CLASSES)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_steps_are_those_of_backward_and_step(dtype: Any, tolerance: float):
    (ours, loss), (theirs, eager) = network(dtype), network(dtype)
    fused, plain = SGD(ours, lr=0.5), SGD(theirs, lr=0.5)
    step = micrograd.compile(loss, update=fused)
    for i in range(10):
        fused.lr = plain.lr = 0.5 / (i + 1)
        expected = eager(Tensor(X.astype(dtype)))
        plain.zero_grad()
        expected.backward()
        plain.step()
        found = step(X.astype(dtype))
        np.testing.assert_allclose(found.data, expected.data, rtol=tolerance)
    assert step.cache_info()[:2] == (9, 1)
    for p, q in zip(ours, theirs, strict=True):
        assert p.dtype == dtype
        np.testing.assert_allclose(p.data, q.data, rtol=tolerance, atol=tolerance)


def test_the_loss_is_a_constant_and_no_grad_is_written():
    params, loss = network()
    out = micrograd.compile(loss, update=SGD(params, lr=0.1))(X)
    assert not out.requires_grad
    assert [p.grad for p in params] == [None] * 3


def test_a_loss_that_is_a_parameter_is_what_it_was_before_the_step():
    w = Tensor(2.0, requires_grad=True)
    assert micrograd.compile(lambda: w, update=SGD([w], lr=0.5))().item() == 2.0
    assert w.item() == 1.5


def test_a_parameter_without_a_part_in_the_loss_stays():
    v, w = (Tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    micrograd.compile(lambda: (w * w).sum(), update=SGD([v, w], lr=0.25))()
    assert (v.data.tolist(), w.data.tolist()) == ([1.0, 2.0], [0.5, 1.0])


def test_a_parameter_that_is_not_the_optimizers_stays():
    v, w = (Tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    micrograd.compile(lambda: (v * w).sum(), update=SGD([w], lr=1.0))()
    assert (v.data.tolist(), w.data.tolist()) == ([1.0, 2.0], [0.0, 0.0])


def test_a_graph_through_a_view_from_before_the_step_keeps_the_old_parameters_or_raises_if_the_view_is_alive():
    w = Tensor([1.0, 2.0], requires_grad=True)
    earlier = (w[:1] * w[:1]).sum()
    micrograd.compile(lambda: (w * 3).sum(), update=SGD([w], lr=1.0))()
    earlier.backward()
    assert (w.grad.tolist(), w.data.tolist()) == ([2.0, 0.0], [-2.0, -1.0])

    view = w[:1]
    earlier = (view * view).sum()
    micrograd.compile(lambda: (w * 3).sum(), update=SGD([w], lr=1.0))()
    with pytest.raises(RuntimeError, match="changed in place"):
        earlier.backward()


def test_the_printed_program_shows_the_new_parameters():
    params, loss = network()
    step = micrograd.compile(loss, update=SGD(params, lr=0.1))
    step(X)
    _, updates = str(step.lowered).split("updates\n")
    assert [line.split(" = ")[0].strip() for line in updates.splitlines()] == ["p0", "p1", "p2"]
    assert [new.op for _, new in step.lowered.updates] == ["subtract"] * 3


W, V = Tensor([1.0], requires_grad=True), Value(1.0)


def test_what_is_no_optimizer_is_refused():
    with pytest.raises(TypeError, match=r"takes an optimizer.*found \[Tensor"):
        micrograd.compile(lambda: W * 2, update=[W])


SETTINGS = {
    "momentum": lambda p: SGD(p, 0.1, momentum=0.9),
    "nesterov": lambda p: SGD(p, 0.1, momentum=0.9, nesterov=True),
    "weight decay": lambda p: SGD(p, 0.1, weight_decay=0.1),
    "Adam": lambda p: Adam(p, 0.1, weight_decay=0.1),
    "AdamW": lambda p: AdamW(p, 0.1),
    "SGD": lambda p: SGD(p, 0.1),
}


@pytest.mark.parametrize("backend", ["auto", C, "jax"])
@pytest.mark.parametrize("optimizer", SETTINGS.values(), ids=SETTINGS)
def test_parameters_that_share_memory_are_updated_one_after_the_other_as_without_a_program(
    optimizer: Callable, backend: str
):
    if backend == "jax":
        pytest.importorskip("jax")

    def trained(compiled: bool) -> np.ndarray:
        base = Tensor([0.1, 0.2, 0.3, 0.4, 0.5])
        a, b = base[:4].requires_grad_(), base[2:].requires_grad_()
        opt, loss = optimizer([a, b]), lambda x: (a * x).tanh().sum() + (b * b * x).sum()
        step = micrograd.compile(loss, update=opt, backend=backend)
        for x in (0.1, 0.2, 0.3):
            if compiled:
                step(x)
            else:
                opt.zero_grad()
                loss(x).backward()
                opt.step()
        return base.data

    np.testing.assert_allclose(trained(True), trained(False), rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: Tensor([1.0]), "returns one loss"),
        (lambda: W.broadcast_to((2,)), "returns one loss"),
        (lambda: (W * 2, W * 3), "returns one loss"),
        (lambda: (W * 2, Tensor([1.0]) + 1), "returns one loss"),
        (lambda: Tensor([1.0], requires_grad=True) * 2, "none of the parameters"),
    ],
)
def test_a_function_that_gives_no_loss_of_the_parameters_is_refused(function: Callable, message: str):
    with pytest.raises(ValueError, match=message):
        micrograd.compile(function, update=SGD([W], lr=1.0))()


@pytest.mark.parametrize("reduce", [None, lambda flat: flat], ids=["a program", "its own step"])
def test_a_step_that_has_no_gradient_for_no_grad_says_so(reduce: Any):
    step = micrograd.compile(lambda x: x * W, update=SGD([W], lr=1.0, reduce=reduce))
    with no_grad(), pytest.raises(ValueError, match=r"which nothing has inside no_grad\(\)$"):
        step(2.0)


def test_a_parameter_among_the_arguments_is_refused():
    step = micrograd.compile(lambda x, w: (x * w * W).sum(), update=SGD([W], lr=1.0))
    with pytest.raises(TypeError, match="found one among the arguments: w requires a gradient"):
        step(2.0, W)


def test_a_step_cannot_be_differentiated_or_be_a_part_of_another_program():
    step = micrograd.compile(lambda: W * 2, update=SGD([W], lr=1.0))
    with pytest.raises(TypeError, match="compiled without update="):
        gradient(step)
    with pytest.raises(TypeError, match="cannot be called inside"):
        micrograd.compile(lambda: step() * 2)()


# ---------------------------------------------------------------------------------------------------------------------
# Several workers


def parameters(kind: str) -> list[Any]:
    return [Value(0.5), Value(-1.0)] if kind == "Values" else [Tensor([0.5, -1.0], requires_grad=True)]


def loss_of(params: list[Any]) -> Callable:
    if len(params) == 2:
        return lambda x, y: (params[0] * x + params[1] - y) ** 2
    return lambda x, y: ((params[0] * x - y) ** 2).sum()


def numbers(params: list[Any]) -> np.ndarray:
    return np.array([np.asarray(p.data) for p in params])


@pytest.mark.parametrize("optimizer", [lambda p, f: SGD(p, 0.1, 0.9, reduce=f), lambda p, f: Adam(p, 0.1, reduce=f)])
@pytest.mark.parametrize("kind", ["Values", "Tensors"])
def test_a_compiled_step_of_a_worker_does_what_the_eager_one_does(kind: str, optimizer: Callable):
    seen: list[int] = []

    def total(flat: np.ndarray) -> np.ndarray:
        seen.append(len(flat))
        return flat * 3.0

    eager, compiled = parameters(kind), parameters(kind)
    loss, opt = loss_of(eager), optimizer(eager, total)
    step = micrograd.compile(loss_of(compiled), update=optimizer(compiled, total))
    for i in range(5):
        opt.zero_grad()
        x = 0.5 * i if kind == "Values" else np.array([0.5 * i, 1.0])
        found = loss(x, 2.0)
        found.backward()
        opt.step()
        answer = step(x, 2.0)
        assert answer.item() == pytest.approx(found.item(), rel=1e-12)
        assert not answer.requires_grad
    np.testing.assert_allclose(numbers(compiled), numbers(eager), rtol=1e-12)
    assert seen == [2] * 10
    assert (step.cache_info().misses, step.cache_info().hits) == (1, 4)
    assert "def program" in step.source


def test_a_step_of_a_worker_is_refused_where_any_step_is():
    step = micrograd.compile(lambda: W * 2, update=SGD([W], lr=1.0, reduce=lambda flat: flat))
    with pytest.raises(TypeError, match="compiled without update="):
        gradient(step)
    with pytest.raises(TypeError, match="cannot be called inside"):
        micrograd.compile(lambda: step() * 2)()
    with pytest.raises(ValueError, match="returns one loss"):
        micrograd.compile(lambda: Tensor([1.0]), update=SGD([W], lr=1.0, reduce=lambda flat: flat))()


def test_a_method_may_be_the_step_of_a_worker():
    w = Tensor([2.0], requires_grad=True)

    class Model:
        @micrograd.compile(update=SGD([w], lr=0.25, reduce=lambda flat: 2 * flat))
        def step(self):
            return (w * w).sum()

    assert Model().step().item() == 4.0
    assert w.tolist() == [0.0]


# ---------------------------------------------------------------------------------------------------------------------
# Steps that are replaced, and settings that are changed inside


@pytest.mark.parametrize("how", [SGD, Adam, AdamW])
@pytest.mark.parametrize("method", ["step", "zero_grad", "_update"])
@pytest.mark.parametrize("on", ["the optimizer", "its class", "the base class", "the optimizer, since a step"])
def test_a_replaced_method_of_the_optimizer_is_called(how: Any, method: str, on: str, monkeypatch):
    w, called = Value(2.0), []
    optimizer = how([w], lr=0.1)
    step = micrograd.compile(lambda: w * w, update=optimizer)
    if "since" in on:
        step()
    target = optimizer if "optimizer" in on else how if on == "its class" else Optimizer
    monkeypatch.setattr(target, method, lambda *_: called.append(method))
    before = w.data
    step()
    overridden = on == "the base class" and method == "_update"  # by each class
    assert called == ([] if overridden else [method])
    assert (w.data == before) == (method != "zero_grad" and not overridden)
    monkeypatch.undo()
    step()
    assert w.data != before


def change_lr(optimizer: Any, _: Any) -> None:
    optimizer.lr *= 0.5


def change_betas(optimizer: Any, _: Any) -> None:
    optimizer.betas = (0.5, 0.5)


CHANGES: dict[str, tuple[Callable, str]] = {
    "lr": (change_lr, "the lr of Adam"),
    "betas": (change_betas, "the betas of Adam"),
    "load_state_dict": (lambda optimizer, _: optimizer.load_state_dict(optimizer.state_dict()), "the lr of Adam"),
    "a schedule": (lambda optimizer, _: SCHEDULES[0].step(), "the t of StepLR"),
    "another schedule": (lambda optimizer, _: SCHEDULES[1].step(), "the t of LambdaLR"),
    "a new schedule": (lambda optimizer, _: StepLR(optimizer, 1), "the step_size of StepLR"),
    "eval": (lambda _, model: model.eval(), "the training of Linear"),
    "training": (lambda _, model: setattr(model, "training", False), "the training of Linear"),
}
OPTIMIZER = Adam([Value(1.0)], lr=0.5)
SCHEDULES: list[Any] = [StepLR(OPTIMIZER, 1), LambdaLR(OPTIMIZER, lambda t: 1 / (t + 1))]


@pytest.mark.parametrize("whole", [True, False], ids=["in a step", "in a loss"])
@pytest.mark.parametrize("what", CHANGES)
def test_a_setting_that_is_changed_inside_is_refused_and_stays(what: str, whole: bool):
    model = nn.Linear(1, 1)
    optimizer = Adam(model.parameters(), lr=0.5)
    change, words = CHANGES[what]

    def loss(x: Any) -> Any:
        change(optimizer, model)
        return model(x).sum()

    before = repr(optimizer.state_dict()), repr([schedule.state_dict() for schedule in SCHEDULES])
    f = micrograd.compile(loss, update=optimizer if whole else None)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=rf"cannot change {words}.*outside of it; at .*\.py:\d+: "):
            f(np.ones((2, 1)))
    assert before == (repr(optimizer.state_dict()), repr([schedule.state_dict() for schedule in SCHEDULES]))
    assert model.training


LOOKS: dict[str, Callable[[Any], Any]] = {  # at the states of an optimizer, or another one in their place
    "none": lambda opt: None,
    "the states": lambda opt: len(opt.state),
    "a number": lambda opt: opt.state[opt.params[0]]["mean"],
    "a state in another's place": lambda opt: opt.state.__setitem__(
        opt.params[0], {"mean": 3.0, "squares": 1.0, "steps": 2}
    ),
    "a dict in the place of all": lambda opt: setattr(opt, "state", {p: dict(x) for p, x in opt.state.items()}),
    "updated states": lambda opt: opt.state.update({opt.params[1]: {"mean": 3.0, "squares": 1.0, "steps": 2}}),
    "cleared states": lambda opt: [state.clear() for state in opt.state.values()],
    "those of a file": lambda opt: opt.load_state_dict(opt.state_dict()),
    "a copy by pickle": lambda opt: pickle.dumps(opt.state_dict()),
    "a deep copy": lambda opt: deepcopy(opt),
    "a step in Python": lambda opt: opt.step(),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_states_that_are_looked_at_or_replaced_between_steps_are_those_of_the_next_step(look: Callable[[Any], Any]):
    """With Values, whose states are in the program between its steps, and two programs that take turns."""

    def trained(how: Callable[..., Any]) -> list[float]:
        params = [Value(0.5), Value(-1.0), Value(2.0)]
        opt = Adam(params, lr=0.1)
        steps = [how(lambda c=c: sum(c * p * p for p in params), opt) for c in (1.0, 3.0)]
        for i, which in enumerate((0, 0, 0, 0, 1, 0, 0, 1, 1, 0)):
            steps[which]()
            if i in (2, 6, 7):
                look(opt)
        return [p.data for p in params] + [state[name] for state in opt.state.values() for name in sorted(state)]

    def eager(loss: Callable[[], Any], opt: Any) -> Callable[[], None]:
        def step() -> None:
            opt.zero_grad()
            loss().backward()
            opt.step()
            opt.zero_grad()  # as after a compiled step

        return step

    found = trained(lambda loss, opt: micrograd.compile(loss, update=opt, backend="numpy"))
    np.testing.assert_allclose(found, trained(eager), rtol=1e-12)
