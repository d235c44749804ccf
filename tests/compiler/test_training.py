"""`compile(loss, update=optimizer)` beside the loop of `zero_grad`, `backward` and `step`: the same numbers, always.

Between its steps, a training program keeps numbers where it works on them (`compiler.offload`). Whoever looks at them
finds them; what is written is seen by the next step.
"""

from __future__ import annotations

import copy
import pickle
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import count
from typing import Any

import numpy as np
import pytest
from compile_helpers import C
from interrupts import ctrl_c as ctrl_c
from interrupts import interrupted_at

import micrograd
from micrograd import Function, Tensor, Value, detect_anomaly, gradient, lazy
from micrograd.compiler.offload import Away, AwayState, AwayValue
from micrograd.engine.value import fill_slots
from micrograd.nn import MLP, Linear, Module, Sequential, Tanh
from micrograd.nn.saving import load, save
from micrograd.optim import SGD, Adam, AdamW, CosineAnnealingLR, Optimizer
from micrograd.scalars import ops

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
Y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)

OPTIMIZERS: dict[str, Callable[[Any], Optimizer]] = {
    "SGD": lambda p: SGD(p, 0.1),
    "decay": lambda p: SGD(p, 0.1, weight_decay=0.01),
    "momentum": lambda p: SGD(p, 0.05, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda p: SGD(p, 0.05, momentum=0.9, nesterov=True),
    "Adam": lambda p: Adam(p, 0.05, weight_decay=0.01),
    "AdamW": lambda p: AdamW(p, 0.05),
}
NO_JAX = pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed: pip install -e '.[jax]'")


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


class Tensors(Module):
    """A network of arrays."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.net = Sequential(Linear(2, 3, rng=rng), Tanh(), Linear(3, 1, rng=rng))

    def loss(self, x: Any, y: Any) -> Any:
        return ((self.net(x).reshape(len(y)) - y) ** 2).mean()


KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    "numbers": (Values, {"scalars": True, "backend": "python"}),
    "levels": (Values, {"scalars": True, "backend": "numpy"}),
    "arrays": (Tensors, {}),
    "jax": (Tensors, {"backend": "jax"}),
}
each_kind = pytest.mark.parametrize("kind", [pytest.param(k, marks=[NO_JAX] * (k == "jax")) for k in KINDS])
each_optimizer = pytest.mark.parametrize("name", OPTIMIZERS)


class Double(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2.0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2.0


def _lazily(params: list[Any]) -> list[Any]:
    with lazy():
        doubled = [p * 2 for p in params]
    return [x.data for x in doubled]


class Pair:
    """Two equal models: one trained by a compiled step, one by the eager loop."""

    def __init__(self, kind: str, name: str = "Adam", prepare: Callable[[Any], object] = lambda model: None):
        made, settings = KINDS[kind]
        self.compiled, self.eager = made(), made()
        for model in (self.compiled, self.eager):
            prepare(model)
        self.optimizers = [OPTIMIZERS[name](model.parameters()) for model in (self.compiled, self.eager)]
        model = self.compiled
        self.step = micrograd.compile(lambda x, y: model.loss(x, y), update=self.optimizers[0], **settings)

    def eager_step(self, which: int = 1, x: Any = X, y: Any = Y) -> Any:
        model, optimizer = (self.compiled, self.eager)[which], self.optimizers[which]
        optimizer.zero_grad()
        values = isinstance(model, Values)
        loss = model.loss(x.tolist(), y.tolist()) if values else model.loss(Tensor(x), Tensor(y))
        loss.backward()
        optimizer.step()
        return loss

    def run(self, steps: int = 3) -> None:
        for _ in range(steps):
            np.testing.assert_allclose(self.step(X, Y).data, self.eager_step().data, rtol=1e-11)

    def each(self, change: Callable[[Any, Optimizer], object]) -> None:
        """The same change to both."""
        for model, optimizer in zip((self.compiled, self.eager), self.optimizers, strict=True):
            change(model, optimizer)

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


@each_kind
@each_optimizer
def test_steps_are_those_of_the_eager_loop(kind: str, name: str):
    pair = Pair(kind, name)
    pair.run(10)
    pair.check()
    assert pair.step.cache_info()[:2] == (9, 1)


@each_kind
def test_a_schedule_sets_the_rate_of_the_next_step(kind: str):
    pair = Pair(kind)
    schedules = [CosineAnnealingLR(optimizer, T_max=6) for optimizer in pair.optimizers]
    for _ in range(6):
        pair.run(1)
        for schedule in schedules:
            schedule.step()
    pair.check()
    assert pair.step.cache_info().misses == 1


LOOKS: dict[str, Callable[[Any, Optimizer], object]] = {
    "data": lambda model, _: [p.data for p in model.parameters()],
    "one": lambda model, _: model.parameters()[1].data,
    "repr": lambda model, _: [repr(p) for p in model.parameters()],
    "an op": lambda model, _: [p * 2 for p in model.parameters()],
    "both operands": lambda model, _: [p * p for p in model.parameters()],
    "copy": lambda model, _: copy.copy(model.parameters()[0]),
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model.parameters()[0])),
    "detach": lambda model, _: [p.detach() for p in model.parameters()],
    "state": lambda _, optimizer: [dict(x) for x in optimizer.state.values()],
    "state_dict": lambda model, optimizer: (model.state_dict(), optimizer.state_dict()),
    "an eager loss": lambda model, _: model.loss(X, Y),
    "lazy": lambda model, _: _lazily(model.parameters()),
    "a gradient": lambda model, _: gradient(lambda t: model.parameters()[0] * t * t)(
        2.0 if isinstance(model, Values) else np.array(2.0)
    ),
    "a Function": lambda model, _: [Double.apply(p) for p in model.parameters()],
    "a drawing": lambda model, _: re.sub("[0-9]", "", micrograd.draw_dot(model.parameters()[0] * 2).source),
}


@each_kind
@pytest.mark.parametrize("look", LOOKS)
def test_who_looks_finds_what_the_eager_loop_would_have_and_disturbs_nothing(kind: str, look: str):
    pair = Pair(kind)
    for _ in range(3):
        pair.run(2)
        found, expected = (
            LOOKS[look](model, optimizer)
            for model, optimizer in zip((pair.compiled, pair.eager), pair.optimizers, strict=True)
        )
        _same(found, expected)
    pair.check()
    assert pair.step.cache_info().misses == 1


def _same(found: Any, expected: Any) -> None:
    """The same structure of numbers, nodes and texts."""
    assert type(found) is type(expected)
    if isinstance(expected, (list, tuple)):
        for a, b in zip(found, expected, strict=True):
            _same(a, b)
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        _same(list(found.values()), list(expected.values()))
    elif isinstance(expected, Module):
        _same(found.parameters(), expected.parameters())
    elif isinstance(expected, str):
        assert found[:12] == expected[:12]
    else:
        np.testing.assert_allclose(getattr(found, "data", found), getattr(expected, "data", expected), rtol=1e-10)


CHANGES: dict[str, Callable[[Any, Optimizer], object]] = {
    "data": lambda model, _: [setattr(p, "data", p.data * 0.5) for p in model.parameters()],
    "one": lambda model, _: setattr(model.parameters()[2], "data", model.parameters()[2].data + 1.0),
    "load_state_dict": lambda model, optimizer: [
        x.load_state_dict(copy.deepcopy(x.state_dict())) for x in (model, optimizer)
    ],
    "a state": lambda _, optimizer: [x.update(mean=x["mean"] * 0.5) for x in optimizer.state.values()],
    "another state": lambda _, optimizer: optimizer.state.update(
        {p: {**x, "mean": x["mean"] * 2.0} for p, x in optimizer.state.items()}
    ),
    "no state": lambda _, optimizer: [x.clear() for x in optimizer.state.values()],
    "a setting": lambda _, optimizer: setattr(optimizer, "weight_decay", 0.5),
    "a frozen one": lambda model, _: setattr(model.parameters()[1], "requires_grad", False),
    "freezing and back": lambda model, _: [setattr(model.parameters()[1], "requires_grad", x) for x in (False, True)],
}


@each_kind
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_written_is_seen_by_the_next_step(kind: str, change: str):
    pair = Pair(kind)
    for _ in range(2):
        pair.run(2)
        pair.each(CHANGES[change])
    pair.run(2)
    pair.check()


@each_kind
@each_optimizer
def test_compiled_and_eager_steps_of_one_optimizer_may_alternate(kind: str, name: str):
    pair = Pair(kind, name)
    for _ in range(3):
        pair.run(2)
        pair.eager_step(0)
        pair.eager_step(1)
    pair.check()


@each_kind
@each_optimizer
def test_a_frozen_parameter_is_left_alone_or_not_as_in_the_eager_loop(kind: str, name: str):
    def frozen(model: Any) -> None:
        model.frozen = Value(3.0) if kind in ("numbers", "levels") else Tensor([3.0], requires_grad=True)

    pair = Pair(kind, name, frozen)
    pair.run(2)
    pair.each(lambda model, _: setattr(model.parameters()[0], "requires_grad", False))
    pair.run(3)
    pair.each(lambda model, _: setattr(model.parameters()[0], "requires_grad", True))
    pair.run(2)
    pair.check()


@each_kind
def test_batches_of_other_sizes_share_parameters_and_state(kind: str):
    pair = Pair(kind)
    for n in (12, 5, 12, 5, 12):
        loss = pair.step(X[:n], Y[:n])
        np.testing.assert_allclose(loss.data, pair.eager_step(1, X[:n], Y[:n]).data, rtol=1e-11)
    pair.check()
    assert pair.step.cache_info().misses == 2


@each_kind
def test_a_run_resumes_from_a_file(kind: str, tmp_path: Any):
    pair, later = Pair(kind), Pair(kind)
    pair.run(3)
    save({"model": pair.compiled, "optimizer": pair.optimizers[0]}, tmp_path / "run.safetensors")
    later.run(1)
    load(tmp_path / "run.safetensors", into={"model": later.compiled, "optimizer": later.optimizers[0]})
    losses = [[x.step(X, Y).item() for _ in range(3)] for x in (pair, later)]
    assert losses[0] == losses[1]


@each_kind
def test_a_step_that_fails_changes_nothing(kind: str):
    pair = Pair(kind)
    with pytest.raises((TypeError, ValueError)):
        pair.step(X, "no labels")
    assert [x for x in pair.optimizers[0].state.values() if x] == []
    pair.run(2)
    with pytest.raises((TypeError, ValueError)):
        pair.step(X, "no labels")
    pair.run(1)
    pair.check()


@each_kind
def test_a_forward_program_reads_the_parameters_that_a_step_has_left(kind: str):
    pair = Pair(kind)
    settings = KINDS[kind][1]
    model = pair.compiled
    value = micrograd.compile(lambda x, y: model.loss(x, y), **settings)
    for _ in range(3):
        pair.run(1)
        expected = pair.eager.loss(X.tolist() if model.__class__ is Values else Tensor(X), Y)
        np.testing.assert_allclose(value(X, Y).data, expected.data, rtol=1e-11)
    pair.check()


@each_kind
def test_a_parameter_that_is_replaced_is_no_longer_trained_and_the_new_one_not_yet(kind: str):
    pair = Pair(kind)
    pair.run(2)

    def replace(model: Any, _: Any) -> None:
        if isinstance(model, Values):
            model.net.layers[0].neurons[0].b = Value(0.25)
        else:
            model.net[0].bias = Tensor(np.full(3, 0.25), requires_grad=True)

    pair.each(replace)
    pair.run(2)
    pair.check()


@pytest.mark.parametrize("kind", ["levels", pytest.param("jax", marks=NO_JAX)])
def test_numbers_stay_away_between_steps_and_come_home_when_looked_at(kind: str):
    pair = Pair(kind)
    pair.run(1)
    params, states = pair.compiled.parameters(), list(pair.optimizers[0].state.values())
    nodes = params if kind == "levels" else [p._node for p in params]
    assert all(isinstance(node, Away) for node in nodes)
    assert all(isinstance(state, AwayState) for state in states)
    assert [p.requires_grad for p in params] == [True] * len(params)  # which needs no number
    assert isinstance(nodes[0], Away)
    _ = params[0].data
    assert not isinstance(nodes[0], Away)
    held = states[0]
    assert held["steps"] == 1
    pair.run(1)
    assert held["steps"] == 2  # also of one who holds the dict


@each_kind
def test_an_old_graph_keeps_the_numbers_that_it_saw(kind: str):
    pair = Pair(kind, "SGD")
    pair.run(2)
    p, q = (model.parameters()[0] for model in (pair.compiled, pair.eager))
    earlier = [(x * x).sum() if isinstance(x, Tensor) else x * x for x in (p, q)]
    pair.run(2)
    for x, y in zip((p, q), earlier, strict=True):
        x.grad = 0 if isinstance(x, Value) else None
        y.backward()
    np.testing.assert_allclose(p.grad, q.grad, rtol=1e-11)


@pytest.mark.parametrize("kind", ["arrays", pytest.param("jax", marks=NO_JAX)])
def test_who_shares_the_memory_of_a_parameter_sees_the_step(kind: str):
    pair = Pair(kind, "SGD")
    shared = pair.compiled.parameters()[0].detach()
    pair.run(3)
    np.testing.assert_array_equal(shared.data, pair.compiled.parameters()[0].data)
    pair.check()


def test_an_optimizer_of_the_users_own_takes_its_own_step():
    class Halving(SGD):
        def _update(self, p: Any, g: Any, state: dict[str, Any]) -> None:
            super()._update(p, g if abs(g) < 0.1 else g / 2, state)

    w, v = Value(1.0), Value(1.0)
    step, plain = micrograd.compile(lambda: w * w, update=Halving([w], 0.1)), Halving([v], 0.1)
    for _ in range(3):
        step()
        plain.zero_grad()
        (v * v).backward()
        plain.step()
    assert w.data == v.data


@pytest.mark.parametrize("backend", ["auto", C, pytest.param("jax", marks=NO_JAX)])
def test_a_tensor_of_one_number_goes_from_eager_to_compiled_steps_and_back(backend: str):
    w, v = Tensor(2.0, requires_grad=True), Tensor(2.0, requires_grad=True)
    opt, plain = Adam([w], 0.1), Adam([v], 0.1)
    step = micrograd.compile(lambda x: (w * w * x).sum(), update=opt, backend=backend)

    def eager_step(p: Tensor, optimizer: Optimizer) -> None:
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()

    for _ in range(3):
        eager_step(w, opt)
        step(np.ones(1))
        eager_step(v, plain)
        eager_step(v, plain)
        assert w.item() == pytest.approx(v.item(), rel=1e-12)


@NO_JAX
def test_float32_stays_float32_on_a_device_and_its_rates_are_those_of_python():
    def trained(backend: str) -> list[np.ndarray]:
        w = Tensor(np.linspace(-1, 1, 5), dtype="float32", requires_grad=True)
        opt = Adam([w], 0.01)
        step = micrograd.compile(lambda x: (w * w * x).sum(), update=opt, backend=backend)
        for _ in range(5):
            step(np.ones(5, "float32"))
        return [w.data, opt.state[w]["mean"], opt.state[w]["squares"]]

    for found, expected in zip(trained("jax"), trained("numpy"), strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@each_kind
def test_a_nan_is_found_where_anomalies_are_detected(kind: str):
    pair = Pair(kind)
    pair.run(1)
    with detect_anomaly(), pytest.raises(RuntimeError, match="nan"):
        pair.step(np.full_like(X, np.nan), Y)
    pair.run(1)
    pair.check()


def test_the_update_is_part_of_the_source_and_of_the_lowered_program():
    pair = Pair("numbers", "momentum")
    pair.step(X[:1], Y[:1])
    assert "(setattr, update[1], '_data'," in pair.step.source
    assert "'velocity'" in pair.step.source
    assert "updates" in str(pair.step.lowered)


def test_a_loss_that_is_its_own_gradient_is_read_before_it_is_written():
    """The gradients of v * w are w and v: what is subtracted from one is the other, before the step."""
    v, w = Tensor([2.0], requires_grad=True), Tensor([3.0], requires_grad=True)
    micrograd.compile(lambda: (v * w).sum(), update=SGD([v, w], lr=1.0, momentum=0.5))()
    assert (v.tolist(), w.tolist()) == ([-1.0], [1.0])


def test_the_rows_of_the_engine_do_not_see_that_a_number_was_away():
    """Every op of one and of two Values, on numbers that are away."""
    pair = Pair("levels", "SGD")
    p, q = pair.compiled.parameters()[:2]
    a, b = pair.eager.parameters()[:2]
    for row in (ops.mul, ops.add, ops.exp, ops.tanh):
        pair.run(1)
        both = row.to_b is not None
        found, expected = (x._apply(row, (x, y) if both else (x,)) for x, y in ((p, q), (a, b)))
        assert type(found) is Value
        assert found.data == pytest.approx(expected.data, rel=1e-11)
    pair.run(1)
    for found, expected in ((p + 1.0, a + 1.0), (2.0 - q, 2.0 - b), (-p, -a), (p * p, a * a)):
        assert type(found) is Value
        assert found.data == pytest.approx(expected.data, rel=1e-11)
        pair.run(1)


@each_kind
def test_a_hook_of_a_parameter_sees_each_gradient_while_it_is_there(kind: str):
    pair = Pair(kind)
    seen: list[int] = []
    pair.run(1)
    handles = [
        model.parameters()[0].register_hook(lambda g, i=i: (seen.append(i), g * 0.5)[1])
        for i, model in enumerate((pair.compiled, pair.eager))
    ]
    pair.run(2)
    for handle in handles:
        handle.remove()
    pair.run(2)
    pair.check()
    assert seen == [0, 1, 0, 1]


def _numbers(model: Any, optimizer: Optimizer) -> list[Any]:
    """All numbers of a training, without looking at one by its node."""
    states = optimizer.state_dict()["state"]
    return [*(np.copy(p.data) for p in model.parameters()), *(np.copy(x) for state in states for x in state.values())]


def _equal(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(np.allclose(x, y, rtol=1e-10, atol=1e-13) for x, y in zip(a, b, strict=True))


@each_kind
@pytest.mark.parametrize("first", [True, False], ids=["the first", "a later"])
@pytest.mark.usefixtures("without_collector")  # Python drops a Ctrl-C that comes in what JAX does as it collects
def test_a_step_that_is_interrupted_is_made_whole_or_not_at_all(kind: str, first: bool):
    pair = Pair(kind)
    pair.run(2)
    if first:
        pair.each(lambda _, optimizer: [state.clear() for state in optimizer.state.values()])
    model, optimizer = pair.compiled, pair.optimizers[0]
    states = copy.deepcopy([x.state_dict() for x in (model, optimizer)])
    held = list(optimizer.state.values())
    before = _numbers(model, optimizer)
    pair.eager_step()
    after = _numbers(pair.eager, pair.optimizers[1])
    for line in count():
        hit = interrupted_at(line, lambda: pair.step(X, Y))
        found = _numbers(model, optimizer)
        assert _equal(found, after) or (hit and _equal(found, before)), line
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


def test_a_node_that_is_made_of_the_class_of_one_that_is_away_is_at_home():
    """An op reads the class of an operand, whose number another thread's step takes away in that moment."""
    made = fill_slots(object.__new__(AwayValue), 3.0)
    assert (type(made), made.data) == (Value, 3.0)


@each_kind
@pytest.mark.parametrize("apart", [False, True], ids=["in the program", "apart"])
def test_steps_of_several_threads_are_whole_while_others_look(kind: str, apart: bool):
    def prepare(model: Any) -> None:
        if apart:  # the optimizer takes its own step
            model.parameters()[0].register_hook(lambda g: g)

    pair = Pair(kind, prepare=prepare)
    pair.run(1)
    model, optimizer, settings = pair.compiled, pair.optimizers[0], KINDS[kind][1]
    loss = micrograd.compile(lambda x, y: model.loss(x, y), **settings)
    jobs = [lambda: pair.step(X, Y), lambda: _numbers(model, optimizer), lambda: model.loss(X.tolist(), Y)] * 2
    jobs.append(lambda: loss(X, Y))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(jobs)) as pool:
            for done in [pool.submit(lambda job=job: [job() for _ in range(25)]) for job in jobs]:
                done.result()
    finally:
        sys.setswitchinterval(before)
    for _ in range(50):
        pair.eager_step()
    pair.check()


@pytest.mark.parametrize("kind", ["levels", pytest.param("jax", marks=NO_JAX)])
def test_a_look_that_is_interrupted_loses_nothing(kind: str):
    pair = Pair(kind)
    pair.run(1)
    model, optimizer = pair.compiled, pair.optimizers[0]
    for line in count():
        pair.step(X, Y)
        pair.eager_step()
        hit = interrupted_at(line, lambda: (model.parameters()[0].data, len(optimizer.state[optimizer.params[0]])))
        expected = _numbers(pair.eager, pair.optimizers[1])
        assert _equal(_numbers(model, optimizer), expected), line
        if not hit:
            break
    assert line > 5
