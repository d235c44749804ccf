"""`compile(loss, update=optimizer)` beside the loop of `zero_grad`, `backward` and `step`: the same numbers, always.

Between its steps, a training program keeps numbers where it works on them (`compiler.offload`). Whoever looks at them
finds them; what is written is seen by the next step.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count
from threading import get_ident
from typing import Any

import numpy as np
import pytest
from compile_helpers import IN_C, IN_JAX, JAX, C, eager_step
from interrupts import ctrl_c as ctrl_c
from interrupts import interrupted_at, met_at

import micrograd
from micrograd import Tensor, Value, detect_anomaly, gradient, no_grad
from micrograd.compiler.offload import Away, AwayValue, Store
from micrograd.engine.value import fill_slots
from micrograd.nn import MLP, Linear, Module, Sequential, Tanh
from micrograd.optim import SGD, Adam, AdamW, CosineAnnealingLR, Optimizer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
Y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)

OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "SGD": lambda p, **named: SGD(p, 0.1, **named),
    "decay": lambda p, **named: SGD(p, 0.1, weight_decay=0.01, **named),
    "momentum": lambda p, **named: SGD(p, 0.05, momentum=0.9, weight_decay=0.01, **named),
    "nesterov": lambda p, **named: SGD(p, 0.05, momentum=0.9, nesterov=True, **named),
    "Adam": lambda p, **named: Adam(p, 0.05, weight_decay=0.01, **named),
    "AdamW": lambda p, **named: AdamW(p, 0.05, **named),
}


class Values(Module):
    """A network of scalars, in whose order of parameters the program of levels would not put them."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.net = MLP(2, [3, 1], activation="tanh")
        for p in self.net.parameters():
            p.data = rng.normal()

    def loss(self, x: Any, y: Any) -> Any:
        found = [self.net(row) for row in x]
        return sum((score - target) ** 2 for score, target in zip(found, y, strict=True)) / len(found)

    def replace_bias(self) -> None:
        self.net.layers[0].neurons[0].b = Value(0.25)


class Tensors(Module):
    """A network of arrays."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.net = Sequential(Linear(2, 3, rng=rng), Tanh(), Linear(3, 1, rng=rng))

    def loss(self, x: Any, y: Any) -> Any:
        return ((self.net(x).reshape(len(y)) - y) ** 2).mean()

    def replace_bias(self) -> None:
        self.net[0].bias = Tensor(np.full(3, 0.25), requires_grad=True)


KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    "numbers": (Values, {"scalars": True, "backend": "python"}),
    "levels": (Values, {"scalars": True, "backend": "numpy"}),
    "arrays": (Tensors, {}),
    "jax": (Tensors, {"backend": "jax"}),
}
IN_LOOPS: dict[str, tuple[type, dict[str, Any]]] = {
    "levels in C": (Values, {"scalars": True, "backend": "c"}),
    "arrays in C": (Tensors, {"backend": "c"}),
}
OF_ALL = [pytest.param(k, marks=[IN_JAX] if k == "jax" else []) for k in KINDS]
each_kind = pytest.mark.parametrize("kind", OF_ALL)
each_kind_and_loops = pytest.mark.parametrize("kind", OF_ALL + [pytest.param(k, marks=IN_C) for k in IN_LOOPS])
each_optimizer = pytest.mark.parametrize("name", OPTIMIZERS)


class Pair:
    """Two equal models: one trained by a compiled step, one by the eager loop."""

    def __init__(
        self,
        kind: str,
        name: str = "Adam",
        prepare: Callable[[Any], object] = lambda model: None,
        check: bool = False,
        **named: Any,
    ):
        made, settings = (KINDS | IN_LOOPS)[kind]
        self.settings: dict[str, Any] = {**settings, "check": check}
        self.models = made(), made()
        for model in self.models:
            prepare(model)
        self.optimizers = [OPTIMIZERS[name](model.parameters(), **named) for model in self.models]
        self.compiled, self.eager = model, _ = self.models
        self.step = micrograd.compile(lambda x, y: model.loss(x, y), update=self.optimizers[0], **self.settings)

    def loss(self, which: int, x: Any = X, y: Any = Y) -> Any:
        model = self.models[which]
        return model.loss(x.tolist(), y.tolist()) if isinstance(model, Values) else model.loss(Tensor(x), Tensor(y))

    def eager_step(self, which: int = 1, x: Any = X, y: Any = Y) -> Any:
        return float(eager_step(lambda: self.loss(which, x, y), self.optimizers[which]))

    def one(self, which: int, x: Any, y: Any) -> Any:
        """A step of the one or the other."""
        return self.eager_step(1, x, y) if which else self.step(x, y).item()

    def run(self, steps: int = 3) -> None:
        for _ in range(steps):
            np.testing.assert_allclose(self.step(X, Y).data, self.eager_step(), rtol=1e-11)

    def check(self) -> None:
        for p, q in zip(self.compiled.parameters(), self.eager.parameters(), strict=True):
            np.testing.assert_allclose(p.data, q.data, rtol=1e-11, atol=1e-13)
        ours, theirs = (optimizer.state_dict() for optimizer in self.optimizers)
        assert ours["settings"] == theirs["settings"]
        for a, b in zip(ours["state"], theirs["state"], strict=True):
            assert a.keys() == b.keys()
            assert {type(x) for x in a.values()} == {type(x) for x in b.values()}
            for key in a:
                np.testing.assert_allclose(a[key], b[key], rtol=1e-10, atol=1e-14)


# ---------------------------------------------------------------------------------------------------------------------
# What happens between steps: to the one and to the other. What it gives must be the same, and so must all that follows


def by_argument(model: Any) -> Any:
    """The gradient of a parameter times an argument, twice, by the argument."""
    two = 2.0 if isinstance(model, Values) else np.array(2.0)
    return gradient(lambda t: model.parameters()[0] * t * t)(two)


Event = Callable[[Pair, int, Any, Optimizer], Any]
LOOKS: dict[str, Event] = {  # they give what the eager loop gives, and lead to no other trace
    "all numbers": lambda pair, i, model, _: [p.data for p in model.parameters()],
    "repr": lambda pair, i, model, _: [repr(p) for p in model.parameters()],
    "an op": lambda pair, i, model, _: [p * 2 for p in model.parameters()],
    "deepcopy": lambda pair, i, model, _: copy.deepcopy(model),
    "detach": lambda pair, i, model, _: [p.detach() for p in model.parameters()],
    "the number of states": lambda pair, i, _, optimizer: len(optimizer.state),
    "all states": lambda pair, i, _, optimizer: [dict(x) for x in optimizer.state.values()],
    "state_dict": lambda pair, i, model, optimizer: (model.state_dict(), optimizer.state_dict()),
    "a deep copy of all": lambda pair, i, _, optimizer: copy.deepcopy(optimizer).state_dict(),
    "an eager loss": lambda pair, i, model, _: model.loss(X, Y),
    "a gradient": lambda pair, i, model, _: by_argument(model),
    "a drawing": lambda pair, i, model, _: re.sub("[0-9]", "", micrograd.draw_dot(model.parameters()[0] * 2).source),
    "a step in Python": lambda pair, i, *_: pair.eager_step(i),
    "a rate": lambda pair, i, _, optimizer: setattr(optimizer, "lr", optimizer.lr * 0.5),
    "a schedule": lambda pair, i, _, optimizer: CosineAnnealingLR(optimizer, T_max=6).step(),
}


def fails(pair: Pair, which: int, *_: Any) -> None:
    """A compiled step without labels changes nothing."""
    with pytest.raises((TypeError, ValueError)):
        pair.step(X, "no labels") if which == 0 else int("no labels")


def has_a_nan(pair: Pair, which: int, *_: Any) -> None:
    """A compiled step with a nan changes nothing where anomalies are detected."""
    nan = np.full_like(X, np.nan)
    with detect_anomaly(), pytest.raises(RuntimeError, match="nan"):
        pair.step(nan, Y) if which == 0 else pair.loss(1, nan).backward()


def compiled_loss(pair: Pair, which: int, model: Any, _: Any) -> float:
    """A forward program reads the parameters that a step has left."""
    f = micrograd.compile(lambda x, y: model.loss(x, y), **pair.settings)
    return f(X, Y).item() if which == 0 else pair.loss(1).item()


def step_with_a_hook(pair: Pair, which: int, model: Any, _: Any) -> float:
    """A hook sees each gradient while it is there."""
    handle = model.parameters()[0].register_hook(lambda g: g * 0.5)
    loss = pair.one(which, X, Y)
    handle.remove()
    return loss


def freeze(model: Any, *answers: bool) -> None:
    for answer in answers:
        model.parameters()[0].requires_grad = answer


def set_states(optimizer: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    optimizer.state.update({p: change(x) for p, x in optimizer.state.items()})


def set_count(optimizer: Any, steps: int) -> None:
    """Another dict for the first parameter, which has made so many steps."""
    first = optimizer.params[0]
    optimizer.state[first] = {**optimizer.state[first], "steps": steps}


def into_one_dict(optimizer: Any) -> None:
    optimizer.state = {p: dict(x) for p, x in optimizer.state.items()}


CHANGES: dict[str, Event] = {
    "data": lambda pair, i, model, _: [setattr(p, "data", p.data * 0.5) for p in model.parameters()],
    "one": lambda pair, i, model, _: setattr(model.parameters()[2], "data", model.parameters()[2].data + 1.0),
    "load_state_dict": lambda pair, i, *both: [x.load_state_dict(copy.deepcopy(x.state_dict())) for x in both],
    "a state": lambda pair, i, _, optimizer: [x.update(mean=x["mean"] * 0.5) for x in optimizer.state.values()],
    "another state": lambda pair, i, _, optimizer: set_states(optimizer, lambda x: {**x, "mean": x["mean"] * 2.0}),
    "a state with another count": lambda pair, i, _, optimizer: set_count(optimizer, 2),
    "a state's dict": lambda pair, i, _, optimizer: [setattr(x, "data", {}) for x in optimizer.state.values()],
    "another dict of states": lambda pair, i, _, optimizer: into_one_dict(optimizer),
    "no state": lambda pair, i, _, optimizer: [x.clear() for x in optimizer.state.values()],
    "a setting": lambda pair, i, _, optimizer: setattr(optimizer, "weight_decay", 0.5),
    "a frozen one": lambda pair, i, model, _: freeze(model, False),
    "freezing or not": lambda pair, i, model, _: freeze(model, not model.parameters()[0].requires_grad),
    "freezing and back": lambda pair, i, model, _: freeze(model, False, True),
    "another parameter": lambda pair, i, model, _: model.replace_bias(),
    "a batch of another size": lambda pair, i, *_: pair.one(i, X[:5], Y[:5]),
    "a step that fails": fails,
    "a nan": has_a_nan,
    "a compiled loss": compiled_loss,
    "a step with a hook": step_with_a_hook,
}


EVENTS = LOOKS | CHANGES


@pytest.mark.long
@each_kind
@pytest.mark.parametrize("event", EVENTS)
def test_changes_between_steps_act_as_in_the_eager_loop(kind: str, event: str):
    pair = Pair(kind)
    for _ in range(3):
        pair.run(2)
        found = [EVENTS[event](pair, i, pair.models[i], pair.optimizers[i]) for i in (0, 1)]
        same(*found)
    pair.run(2)
    pair.check()
    assert pair.step.cache_info()[:2] == (7, 1) or event in CHANGES


@pytest.mark.long
@each_kind_and_loops
@each_optimizer
def test_steps_of_every_rule_may_be_interleaved_with_others(kind: str, name: str):
    def unused(model: Any) -> None:
        """A parameter without a part in the loss, which is left alone."""
        model.unused = Value(3.0) if isinstance(model, Values) else Tensor([3.0], requires_grad=True)

    pair = Pair(kind, name, unused)
    for event in ("a step in Python", "freezing or not", "a step in Python", "freezing or not"):
        pair.run(2)
        for i in (0, 1):
            EVENTS[event](pair, i, pair.models[i], pair.optimizers[i])
    pair.run(2)
    pair.check()


def same(found: Any, expected: Any) -> None:
    """The same structure of numbers, nodes and texts."""
    assert type(found) is type(expected)
    if isinstance(expected, (list, tuple)):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        same(list(found.values()), list(expected.values()))
    elif isinstance(expected, Module):
        same(found.parameters(), expected.parameters())
    elif isinstance(expected, str) or expected is None:
        assert (found or "")[:12] == (expected or "")[:12]
    else:
        np.testing.assert_allclose(getattr(found, "data", found), getattr(expected, "data", expected), rtol=1e-10)


@pytest.mark.long
@pytest.mark.parametrize("check", [False, True], ids=["", "checked"])
@pytest.mark.parametrize("which", [0, -1], ids=["in the loss", "without a part in it"])
@pytest.mark.parametrize("name", ["momentum", "Adam"])
@each_kind_and_loops
def test_frozen_parameter_and_its_state_stay_until_it_goes_on(kind: str, name: str, which: int, check: bool):
    def unused(model: Any) -> None:
        model.unused = Value(3.0) if isinstance(model, Values) else Tensor([3.0], requires_grad=True)

    pair = Pair(kind, name, unused, check=check)
    for is_frozen in (True, False, True, False):  # the first of these before the first step
        for model in pair.models:
            model.parameters()[which].requires_grad = not is_frozen
        pair.run(2)
        pair.check()
        for optimizer in pair.optimizers:
            optimizer.load_state_dict(optimizer.state_dict())


@pytest.mark.parametrize("backend", ["python", "numpy", C])
@pytest.mark.parametrize("first", [True, False])
def test_value_that_only_the_optimizer_knows_stays_while_it_is_frozen(first: bool, backend: str):
    w, other = Value(1.0), Value(1.0)
    step = micrograd.compile(lambda: w * w, update=SGD([w, other], 0.1, weight_decay=0.1), backend=backend)
    found = []
    for is_frozen in (first, not first, first, not first):
        other.requires_grad = not is_frozen
        step()
        found.append(other.data)
    assert found == pytest.approx([1.0, 0.99, 0.99, 0.99**2] if first else [0.99, 0.99, 0.99**2, 0.99**2])


@each_kind
def test_two_programs_of_one_optimizer_may_take_turns(kind: str):
    pair = Pair(kind)
    model = pair.compiled
    other = micrograd.compile(lambda x, y: 3.0 * model.loss(x, y), update=pair.optimizers[0], **pair.settings)
    for which in (0, 0, 1, 0, 1, 1, 0):
        (other if which else pair.step)(X, Y)
        eager_step(lambda which=which: pair.loss(1) * (3.0 if which else 1.0), pair.optimizers[1])
    pair.check()


@each_kind
def test_first_step_that_fails_leaves_no_state(kind: str):
    pair = Pair(kind)
    fails(pair, 0)
    assert [x for x in pair.optimizers[0].state.values() if x] == []
    pair.run(1)
    pair.check()


@each_kind
def test_old_graph_keeps_the_numbers_that_it_saw(kind: str):
    pair = Pair(kind, "SGD")
    pair.run(2)
    p, q = (model.parameters()[0] for model in pair.models)
    earlier = [(x * x).sum() if isinstance(x, Tensor) else x * x for x in (p, q)]
    pair.run(2)
    for x, y in zip((p, q), earlier, strict=True):
        x.grad = 0 if isinstance(x, Value) else None
        y.backward()
    np.testing.assert_allclose(p.grad, q.grad, rtol=1e-11)


def test_graph_through_a_view_that_is_alive_raises_after_a_step():
    w = Tensor([1.0, 2.0], requires_grad=True)
    view = w[:1]
    earlier = (view * view).sum()
    micrograd.compile(lambda: (w * 3).sum(), update=SGD([w], lr=1.0))()
    with pytest.raises(RuntimeError, match="changed in place"):
        earlier.backward()


@pytest.mark.parametrize("kind", ["arrays", JAX])
def test_array_that_shares_memory_with_a_parameter_sees_the_step(kind: str):
    pair = Pair(kind, "SGD")
    shared = pair.compiled.parameters()[0].detach()
    pair.run(3)
    np.testing.assert_array_equal(shared.data, pair.compiled.parameters()[0].data)
    pair.check()


# ---------------------------------------------------------------------------------------------------------------------
# Where the numbers are between steps


@pytest.mark.parametrize("kind", ["levels", JAX])
def test_numbers_stay_away_between_steps_and_come_home_when_looked_at(kind: str):
    pair = Pair(kind)
    pair.run(1)
    params, states = pair.compiled.parameters(), list(pair.optimizers[0].state.values())
    assert all(isinstance(getattr(p, "_node", p), Away) and p.requires_grad for p in params)  # which needs no number
    assert all(isinstance(state.kept, Store) for state in states)
    found = [params[0].data is not None, isinstance(getattr(params[0], "_node", params[0]), Away), states[0]["steps"]]
    pair.run(1)
    assert [*found, states[0]["steps"]] == [True, False, 1, 2]  # also of one who holds the dict


def test_node_that_is_made_of_the_class_of_one_that_is_away_is_at_home():
    """An op reads the class of an operand, whose number another thread's step takes away in that moment."""
    made = fill_slots(object.__new__(AwayValue), 3.0)
    assert (type(made), made.data) == (Value, 3.0)


@pytest.mark.parametrize("backend", ["auto", C, JAX])
def test_tensor_of_one_number_goes_from_eager_to_compiled_steps_and_back(backend: str):
    w, v = Tensor(2.0, requires_grad=True), Tensor(2.0, requires_grad=True)
    opt, plain = Adam([w], 0.1), Adam([v], 0.1)
    step = micrograd.compile(lambda x: (w * w * x).sum(), update=opt, backend=backend)

    for _ in range(3):
        eager_step(lambda: (w * w).sum(), opt)
        step(np.ones(1))
        for _ in range(2):
            eager_step(lambda: (v * v).sum(), plain)
        assert w.item() == pytest.approx(v.item(), rel=1e-12)


@pytest.mark.parametrize("backend", ["auto", C, JAX])
@each_optimizer
def test_parameters_that_share_memory_are_updated_one_after_the_other(name: str, backend: str):
    def trained(compiled: bool) -> np.ndarray:
        base = Tensor([0.1, 0.2, 0.3, 0.4, 0.5])
        a, b = base[:4].requires_grad_(), base[2:].requires_grad_()
        opt, loss = OPTIMIZERS[name]([a, b]), lambda x: (a * x).tanh().sum() + (b * b * x).sum()
        step = micrograd.compile(loss, update=opt, backend=backend)
        for x in (0.1, 0.2, 0.3):
            step(x) if compiled else eager_step(loss, opt, x)
        return base.data

    np.testing.assert_allclose(trained(True), trained(False), rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# What a step gives, and what it refuses

W = Tensor([1.0], requires_grad=True)


@each_kind
def test_loss_of_a_step_is_a_constant_and_no_grad_is_left(kind: str):
    pair = Pair(kind)
    assert not pair.step(X, Y).requires_grad
    assert not [p for p in pair.compiled.parameters() if p.grad]


def test_loss_that_is_a_parameter_is_what_it_was_before_the_step():
    w = Tensor(2.0, requires_grad=True)
    assert micrograd.compile(lambda: w, update=SGD([w], lr=0.5))().item() == 2.0
    assert w.item() == 1.5


def test_parameter_that_is_not_the_optimizers_stays():
    v, w = (Tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    micrograd.compile(lambda: (v * w).sum(), update=SGD([w], lr=1.0))()
    assert (v.data.tolist(), w.data.tolist()) == ([1.0, 2.0], [0.0, 0.0])


def test_loss_that_is_its_own_gradient_is_read_before_it_is_written():
    """The gradients of v * w are w and v: what is subtracted from one is the other, before the step."""
    v, w = Tensor([2.0], requires_grad=True), Tensor([3.0], requires_grad=True)
    micrograd.compile(lambda: (v * w).sum(), update=SGD([v, w], lr=1.0, momentum=0.5))()
    assert (v.tolist(), w.tolist()) == ([-1.0], [1.0])


def test_update_is_part_of_the_source():
    pair = Pair("numbers", "momentum")
    pair.step(X[:1], Y[:1])
    assert "(setattr, update[1], '_data'," in pair.step.source
    assert "'velocity'" in pair.step.source


NO_LOSS = {
    "an array": (lambda: Tensor([1.0]), "returns one loss"),
    "two elements": (lambda: W.broadcast_to((2,)), "returns one loss"),
    "two losses": (lambda: (W * 2, W * 3), "returns one loss"),
    "a loss and a constant": (lambda: (W * 2, Tensor([1.0]) + 1), "returns one loss"),
    "other parameters": (lambda: Tensor([1.0], requires_grad=True) * 2, "none of the parameters"),
}


@pytest.mark.parametrize(("function", "message"), NO_LOSS.values(), ids=NO_LOSS)
def test_function_that_gives_no_loss_of_the_parameters_is_refused(function: Callable, message: str):
    with pytest.raises(ValueError, match=message):
        micrograd.compile(function, update=SGD([W], lr=1.0))()
    with pytest.raises(ValueError, match="returns one loss"):  # also where the optimizer takes its own step
        micrograd.compile(lambda: W.detach(), update=SGD([W], lr=1.0, reduce=lambda flat: flat))()


def test_step_refuses_no_grad_transforms_and_other_programs():
    step = micrograd.compile(lambda x: x * W, update=SGD([W], lr=1.0))
    with no_grad(), pytest.raises(ValueError, match=r"which nothing has inside no_grad\(\)$"):
        step(2.0)
    with pytest.raises(TypeError, match="compiled without update="):
        gradient(step)
    with pytest.raises(TypeError, match="cannot be called inside"):
        micrograd.compile(lambda: step(1.0) * 2)()


def test_parameter_among_the_arguments_is_refused():
    step = micrograd.compile(lambda x, w: (x * w * W).sum(), update=SGD([W], lr=1.0))
    with pytest.raises(TypeError, match="found one among the arguments: w requires a gradient"):
        step(2.0, W)


def test_update_that_is_no_optimizer_is_refused():
    with pytest.raises(TypeError, match=r"takes an optimizer.*found \[Tensor"):
        micrograd.compile(lambda: W * 2, update=[W])


# ---------------------------------------------------------------------------------------------------------------------
# Optimizers that take their own step: of workers, of the user's own classes, with methods that are replaced


@each_kind
@pytest.mark.parametrize("name", ["momentum", "Adam"])
def test_step_of_a_worker_does_what_the_eager_one_does(kind: str, name: str):
    seen: list[int] = []

    def total(flat: np.ndarray) -> np.ndarray:
        seen.append(len(flat))
        return flat * 3.0

    pair = Pair(kind, name, reduce=total)
    pair.run(5)
    pair.check()
    assert seen == [13] * 10
    assert pair.step.cache_info()[:2] == (4, 1)
    assert not pair.step(X, Y).requires_grad
    assert pair.step.source


def test_optimizer_of_the_users_own_takes_its_own_step():
    class Halving(SGD):
        def _update(self, p: Any, g: Any, state: dict[str, Any]) -> None:
            super()._update(p, g if abs(g) < 0.1 else g / 2, state)

    w, v = Value(1.0), Value(1.0)
    step, plain = micrograd.compile(lambda: w * w, update=Halving([w], 0.1)), Halving([v], 0.1)
    for _ in range(3):
        step()
        eager_step(lambda: v * v, plain)
    assert w.data == v.data


@pytest.mark.parametrize("method", ["step", "zero_grad", "_update"])
@pytest.mark.parametrize("on", ["the optimizer", "its class", "the optimizer, since a step"])
def test_replaced_method_of_the_optimizer_is_called(method: str, on: str, monkeypatch: pytest.MonkeyPatch):
    w, called = Value(2.0), []
    optimizer = Adam([w], lr=0.1)
    step = micrograd.compile(lambda: w * w, update=optimizer)
    if "since" in on:
        step()
    monkeypatch.setattr(Adam if on == "its class" else optimizer, method, lambda *_: called.append(method))
    before = w.data
    step()
    assert called == [method]
    assert (w.data == before) == (method != "zero_grad")
    monkeypatch.undo()
    step()
    assert w.data != before


# ---------------------------------------------------------------------------------------------------------------------
# Interrupts and threads


def numbers(model: Any, optimizer: Optimizer) -> list[Any]:
    """All numbers of a training, without looking at one by its node."""
    states = optimizer.state_dict()["state"]
    return [*(np.copy(p.data) for p in model.parameters()), *(np.copy(x) for state in states for x in state.values())]


def equal(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(np.allclose(x, y, rtol=1e-10, atol=1e-13) for x, y in zip(a, b, strict=True))


@each_kind
def test_reader_between_any_two_moves_of_a_step_waits_for_the_whole(kind: str, monkeypatch: pytest.MonkeyPatch):
    pair = Pair(kind)
    pair.run(1)
    p, state = pair.compiled.parameters()[0], pair.optimizers[0].state
    shape, names = np.shape(p.data), {*state[p]}
    readers, ours = [], get_ident()

    def one_by_one(*calls: Any) -> None:
        for call, *args in calls:
            call(*args)
            if get_ident() == ours:
                readers.extend([pool.submit(lambda: np.shape(p.data)), pool.submit(lambda: {*state[p]})])
                wait(readers, 0.01)

    with ThreadPoolExecutor(64) as pool:
        monkeypatch.setattr("micrograd.compiler.offload.at_once", one_by_one)
        pair.step(X, Y)
    assert all(reader.result() in (shape, names) for reader in readers)
    assert bool(readers) == (kind in ("levels", "jax"))


@each_kind
@pytest.mark.parametrize("steps", [True, False], ids=["a step", "a look"])
def test_step_and_look_that_meet_at_any_line_are_whole(kind: str, steps: bool):
    pair, few = Pair(kind), (X[:2], Y[:2])
    model, optimizer = pair.compiled, pair.optimizers[0]
    look = lambda: numbers(model, optimizer)  # noqa: E731
    step = lambda: pair.step(*few)  # noqa: E731
    for line in count():
        before = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
        step()
        step()  # which finds what the first has left
        met = met_at(line, *((step, look) if steps else (look, step)))
        found = numbers(model, optimizer)
        model.load_state_dict(before[0])
        optimizer.load_state_dict(before[1])
        for _ in range(2 + (met or steps)):
            step()
        assert equal(found, numbers(model, optimizer)), line
        if not met:
            break
    assert line > 5


@pytest.mark.long
@each_kind
@pytest.mark.parametrize("first", [True, False], ids=["the first", "a later"])
@pytest.mark.usefixtures("without_collector")  # Python drops a Ctrl-C that comes in what JAX does as it collects
def test_step_that_is_interrupted_is_made_whole_or_not_at_all(kind: str, first: bool):
    pair, few = Pair(kind), (X[:2], Y[:2])
    pair.step(*few)  # the program is traced before it is interrupted
    pair.eager_step(1, *few)
    model, optimizer = pair.compiled, pair.optimizers[0]
    if first:
        for one in pair.optimizers:
            CHANGES["no state"](pair, 0, None, one)
    states = copy.deepcopy([x.state_dict() for x in (model, optimizer)])
    held = list(optimizer.state.values())
    before = numbers(model, optimizer)
    pair.eager_step(1, *few)
    after = numbers(pair.eager, pair.optimizers[1])
    for line in count():
        hit = interrupted_at(line, lambda: pair.step(*few))
        found = numbers(model, optimizer)
        assert equal(found, after) or (hit and equal(found, before)), line
        if not hit:
            break
        for x, state in zip((model, optimizer), states, strict=True):
            x.load_state_dict(state)
        if line % 2:  # half of them begin with states that the program had
            for known, state in zip(held, states[1]["state"], strict=True):
                known.clear()
                known.update(state)
            optimizer.state.update(zip(optimizer.params, held, strict=True))
    assert line > 20


@pytest.mark.parametrize("kind", ["levels", JAX])
def test_look_that_is_interrupted_loses_nothing(kind: str):
    pair, few = Pair(kind), (X[:2], Y[:2])
    model, optimizer = pair.compiled, pair.optimizers[0]
    p = model.parameters()[0]
    for line in count():
        pair.step(*few)
        pair.eager_step(1, *few)
        hit = interrupted_at(line, lambda: (p.data, len(optimizer.state[p])))
        assert equal(numbers(model, optimizer), numbers(pair.eager, pair.optimizers[1])), line
        if not hit:
            break
    assert line > 5


@each_kind
@pytest.mark.parametrize("apart", [False, True], ids=["in the program", "apart"])
@pytest.mark.usefixtures("impatient")
def test_steps_of_several_threads_are_whole_while_others_look(kind: str, apart: bool):
    def prepare(model: Any) -> None:
        if apart:  # the optimizer takes its own step
            model.parameters()[0].register_hook(lambda g: g)

    pair = Pair(kind, prepare=prepare)
    pair.run(1)
    model, optimizer = pair.compiled, pair.optimizers[0]
    loss = micrograd.compile(lambda x, y: model.loss(x, y), **pair.settings)
    jobs = [lambda: pair.step(X, Y), lambda: numbers(model, optimizer), lambda: model.loss(X.tolist(), Y)] * 2
    jobs.append(lambda: loss(X, Y))
    with ThreadPoolExecutor(len(jobs)) as pool:
        for done in [pool.submit(lambda job=job: [job() for _ in range(25)]) for job in jobs]:
            done.result()
    for _ in range(50):
        pair.eager_step()
    pair.check()
