"""What a compiled function may not do: its program could not do it again. Each raises, names the user's line, and is
taken back.
"""

from __future__ import annotations

import copy
import math
import pickle
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, Value, draw_dot, grad, nn, no_grad, where
from micrograd.engine.value import Node
from micrograd.optim import SGD, Adam, StepLR, clip_grad_norm

W, T, C = Value(2.0), Tensor([1.0, 2.0], requires_grad=True), Tensor([1.0, 2.0])
LINEAR = nn.Linear(2, 2)
OPTIMIZER, OF_ARRAYS = SGD([W], lr=0.1), SGD(LINEAR.parameters(), lr=0.1)
DROPOUT, OWN_DROPOUT = nn.Dropout(0.5), nn.Dropout(0.5, rng=np.random.default_rng(0))
OWN, OWN_ARRAYS, OLD = random.Random(0), np.random.default_rng(0), np.random.RandomState(0)


def updates(x: Any) -> Any:
    W.data -= 0.1 * W.grad  # here
    return W * x


def adds(x: Any) -> Any:
    x += 1  # here
    return x


def by_closure(x: Any) -> Any:
    out = Value(4.0, (x * W,), "square")
    out._backward = lambda: None
    return out


def puts(x: Any) -> Any:
    x[0] = 1.0  # here
    return x


def puts_outside(x: Any) -> Any:
    with no_grad():
        T[0] = 1.0  # here
    return x * T


def writes_the_array(x: Any) -> Any:
    T.data[0] = 3.0  # here
    return x * T


class Noise:
    def __init__(self, rng: Any):
        self.rng = rng

    def __call__(self) -> Any:
        return self.rng.normal() if hasattr(self.rng, "normal") else self.rng.gauss(0, 1)  # here


NOISES = [Noise(OWN), Noise(OWN_ARRAYS), Noise(OLD)]
BRANCH, KEYWORD, OF_DATA = "where(condition, a, b)", "by keyword", "on nodes instead of their data"
ITSELF, OUTSIDE, ON_THE_RESULT = "on the node itself", "change parameters outside of", "call backward() on the result"
DRAWS, SET = "pass the draws as an argument", "cannot change requires_grad"
GRAD, BITS, CONDITIONS = "cannot look at or change .grad", "combines masks alone", "Write (a > 0) * (b > 0) for both"
OF_NUMBERS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda x: x if x > 0 else -x, BRANCH),  # here
    (lambda x: x * (1 if W > 0 else 2), BRANCH),  # here
    (lambda x: max(x, W), BRANCH),  # here
    (lambda x: sorted([x, W]), BRANCH),  # here
    (lambda x: x * float(x), KEYWORD),  # here
    (lambda x: x * [1, 2][x], KEYWORD),  # here
    (lambda x: x * math.exp(x), KEYWORD),  # here
    (lambda x: x * x.data, OF_DATA),  # here
    (lambda x: x * x.item(), OF_DATA),  # here
    (lambda x: x * W.data, ITSELF),  # here
    (lambda x: (x, f"{W:.2f}"), ITSELF),  # here
    (lambda x: [setattr(W, "data", 3.0), W * x][1], OUTSIDE),  # here
    (updates, OUTSIDE),
    (lambda x: [OPTIMIZER.step(), W * x][1], OUTSIDE),  # here
    (lambda x: [(W * x).backward(), x][1], ON_THE_RESULT),  # here
    (lambda x: [micrograd.backward(W * x), x][1], ON_THE_RESULT),  # here
    (lambda x: x * random.random(), DRAWS),  # here
    (lambda x: x * np.random.rand(), DRAWS),  # here
    *((lambda x, noise=noise: x * noise(), DRAWS) for noise in NOISES),
    (lambda x: by_closure(x) * 2.0, "cannot use square, whose derivative was written by hand"),  # here
    (lambda x: [setattr(W, "requires_grad", False), W * x][1], SET),  # here
    (lambda x: [T.requires_grad_(False), (T * x).sum()][1], SET),  # here
    (lambda x: [OPTIMIZER.zero_grad(), W * x][1], GRAD),  # here
    (lambda x: [clip_grad_norm([W], 1.0), W * x][1], GRAD),  # here
    (lambda x: [OF_ARRAYS.zero_grad(), LINEAR.bias.sum() * x][1], GRAD),  # here
    (lambda x: W * x + W.grad, GRAD),  # here
    (lambda x: LINEAR.bias.sum() * x * float(LINEAR.bias.grad is None), GRAD),  # here
    (lambda x: x * x.grad, GRAD),  # here
    (lambda x: x * ((x > 0) & (x < 1)), CONDITIONS),  # here
    (lambda x: x * (True | (W > 0)), CONDITIONS),  # here
]
OF_TENSORS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda x: x if x.sum() > 0 else -x, BRANCH),  # here
    (lambda x: x if C.sum() > 0 else -x, BRANCH),  # here
    (lambda x: x * x.sum().item(), OF_DATA),  # here
    (lambda x: x * float(C[0]), KEYWORD),  # here
    (lambda x: x * C[0].item(), OF_DATA),  # here
    (lambda x: x * C.data, ITSELF),  # here
    (lambda x: x * C.numpy(), ITSELF),  # here
    (lambda x: x * micrograd.Tensor(C), ITSELF),  # here
    (lambda x: x * C.tolist()[0], ITSELF),  # here
    (lambda x: x[int(C.argmax())], ITSELF),  # here
    (lambda x: x[x.argmax()], KEYWORD),  # here
    (lambda x: x.data * 2, OF_DATA),  # here
    (lambda x: np.asarray(x) * 2, OF_DATA),  # here
    (lambda x: x[x > 0], "where(condition, a, 0.0)"),  # here
    (lambda x: where((x > 0) & 1, x, -x), BITS),  # here
    (lambda x: where(~x.astype(int), x, -x), BITS),  # here
    (lambda x: where(np.array([1, 2]) ^ (x > 0), x, -x), BITS),  # here
    (adds, "Write y = y + ..."),
    (puts, "Write y = y + ..."),
    (puts_outside, OUTSIDE),
    (writes_the_array, OUTSIDE),
    (lambda x: DROPOUT(x), "eval()"),  # here
    (lambda x: OWN_DROPOUT(x), "eval()"),  # here
    (lambda x: x + micrograd.randn(2), DRAWS),  # here
]


def held() -> list[Any]:
    """What a function could change: numbers, gradients, settings and generators."""
    nodes = [W, T, C, *LINEAR.parameters()]
    of_nodes = [(repr(node.data), repr(node.grad), node.requires_grad) for node in nodes]
    generators = random.getstate(), str(np.random.get_state(legacy=False)), *map(pickle.dumps, (OWN, OWN_ARRAYS, OLD))
    return [of_nodes, *generators]


@pytest.mark.parametrize(
    ("f", "advice", "x"),
    [*((f, advice, 1.0) for f, advice in OF_NUMBERS), *((f, advice, np.array([1.0, 2.0])) for f, advice in OF_TENSORS)],
)
def test_forbidden_statement_raises_at_its_line_and_is_taken_back(f: Callable, advice: str, x: Any):
    W.grad = 3.0
    before = held()
    with pytest.raises(RuntimeError, match=r"test_refused.py:\d+: .*# here$") as raised:
        micrograd.compile(f)(x)
    assert advice in str(raised.value)
    assert held() == before


@pytest.mark.parametrize(
    ("f", "advice"),
    [
        (lambda x: x * copy.copy(W).item(), ITSELF),
        (lambda x: [setattr(x, "requires_grad", False), x * 2][1], SET),
    ],
    ids=["a copy", "an argument"],
)
def test_forbidden_statement_raises_in_a_library_and_of_an_argument_too(f: Callable, advice: str):
    with pytest.raises(RuntimeError, match=rf"{advice}.*; at .*\.py:\d+: "):
        micrograd.compile(f)(x := Value(1.0))
    assert x.requires_grad


def test_after_a_failure_the_function_can_be_traced():
    f = micrograd.compile(lambda x, strict=True: x * float(x) if strict else x * x)
    with pytest.raises(RuntimeError, match="cannot look"):
        f(3.0)
    assert f(3.0, strict=False).data == 9.0
    assert (W * 2).data == 4.0


def test_mistake_of_the_function_is_reported_as_ever():
    with pytest.raises(TypeError, match=r"takes Values and numbers|unsupported"):
        micrograd.compile(lambda x: x + "a")(1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Settings of optimizers, schedules and modules

ADAM = Adam([Value(1.0)], lr=0.5)
SCHEDULE: Any = StepLR(ADAM, 1)
SETTINGS: dict[str, tuple[Callable[[Any, Any], object], str]] = {
    "lr": (lambda optimizer, _: setattr(optimizer, "lr", 0.25), "the lr of Adam"),
    "betas": (lambda optimizer, _: setattr(optimizer, "betas", (0.5, 0.5)), "the betas of Adam"),
    "load_state_dict": (lambda optimizer, _: optimizer.load_state_dict(optimizer.state_dict()), "the lr of Adam"),
    "a schedule": (lambda optimizer, _: SCHEDULE.step(), "the t of StepLR"),
    "a new schedule": (lambda optimizer, _: StepLR(optimizer, 1), "the step_size of StepLR"),
    "eval": (lambda _, model: model.eval(), "the training of Linear"),
    "training": (lambda _, model: setattr(model, "training", False), "the training of Linear"),
}


@pytest.mark.parametrize("whole", [True, False], ids=["in a step", "in a loss"])
@pytest.mark.parametrize("what", SETTINGS)
def test_setting_that_is_changed_inside_is_refused_and_stays(what: str, whole: bool):
    model = nn.Linear(1, 1)
    optimizer = Adam(model.parameters(), lr=0.5)
    change, words = SETTINGS[what]

    def loss(x: Any) -> Any:
        change(optimizer, model)
        return model(x).sum()

    states = lambda: repr([x.state_dict() for x in (optimizer, SCHEDULE)])  # noqa: E731
    before = states()
    f = micrograd.compile(loss, update=optimizer if whole else None)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=rf"cannot change {words}.*outside of it; at .*\.py:\d+: "):
            f(np.ones((2, 1)))
    assert states() == before
    assert model.training


# ---------------------------------------------------------------------------------------------------------------------
# Threads


def test_compiler_leaves_the_threads_of_a_process_as_they_are():
    """A debugger or gevent replaces `Thread.start` too."""
    before = threading.Thread.start
    micrograd.compile(lambda x: x * 2)(1.0)
    assert threading.Thread.start is before
    assert before.__module__ == "threading"


@pytest.mark.parametrize("w", [Value(3.0), Tensor([3.0], requires_grad=True)])
def test_result_that_another_thread_computed_is_refused(w: Any):
    """It would be a constant, though it depends on the parameter."""

    def f(x: Any) -> Any:
        return pool.submit(lambda: w * w).result() * x

    with ThreadPoolExecutor(1) as pool:
        pool.submit(print).result()
        with pytest.raises(RuntimeError, match=r"cannot use the result of '\*'"):
            micrograd.compile(f)(2.0 if isinstance(w, Value) else np.ones(1))


@pytest.mark.parametrize("draw", [random.random, lambda: micrograd.rand(1)], ids=["random", "micrograd"])
@pytest.mark.usefixtures("impatient")
def test_another_thread_may_draw_during_a_trace(draw: Callable):
    numpys = type(np.random.mtrand._rand._bit_generator.lock)
    if draw is not random.random and numpys is not type(threading.RLock()):
        pytest.skip("this NumPy's locks cannot be held while one draws, so its draws in other threads may be refused")
    done = threading.Event()

    def draw_on() -> None:
        while not done.is_set():
            draw()

    thread = threading.Thread(target=draw_on, daemon=True)
    thread.start()
    try:
        f = micrograd.compile(lambda x: sum(x * i for i in range(100)))
        assert f(2.0).data == 9900.0
        with pytest.raises(RuntimeError, match="cannot draw"):
            micrograd.compile(lambda x: x * draw())(np.ones(1))
    finally:
        done.set()
        thread.join()


def test_random_draw_of_another_thread_is_not_repeated():
    def f(x: Any) -> Any:
        if not drawn:  # a function is traced twice where something was drawn
            pool.submit(lambda: drawn.append(random.random())).result()
        return x * x

    drawn: list[float] = []
    state = random.getstate()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(print).result()  # which starts the thread
        micrograd.compile(f)(1.0)
    after = random.getstate()
    random.setstate(state)
    assert drawn == [random.random()]
    assert random.getstate() == after


def test_grad_refuses_during_a_trace_alone_and_is_the_slot_itself_before_and_after():
    """A property of Python takes ten times as long, and a training loop reads `.grad` of every parameter."""
    w, during = Value(2.0), []

    def f(x):
        during.append(Node.grad is Node._gradient)
        return x * w

    assert Node.grad is Node._gradient
    micrograd.compile(f)(1.0)
    with pytest.raises(RuntimeError, match="grad"):
        micrograd.compile(lambda x: x * w.grad)(1.0)
    assert Node.grad is Node._gradient
    assert during == [False]


def test_trace_that_ends_in_one_thread_leaves_grad_refusing_in_another():
    w, inside, ended, found = Value(2.0), threading.Event(), threading.Event(), []

    def f(x):
        inside.set()
        ended.wait(10)
        return x * w.grad

    def trace():
        with pytest.raises(RuntimeError, match="grad"):
            micrograd.compile(f)(1.0)
        found.append(True)

    other = threading.Thread(target=trace)
    other.start()
    inside.wait(10)
    micrograd.compile(lambda x: x * w)(1.0)
    ended.set()
    other.join()
    assert found == [True]


# ---------------------------------------------------------------------------------------------------------------------
# What may be written in place of it


def test_parameter_may_be_compared_for_where():
    w = Value(2.0)
    f = micrograd.compile(lambda x: where(w > x, w, x))
    found = [f(1.0).data, f(3.0).data]
    w.data = 10.0
    assert [*found, f(3.0).data] == [2.0, 3.0, 10.0]


@pytest.mark.parametrize(("create_graph", "expected"), [(True, 24.0), (False, 12.0)])
def test_gradient_by_a_parameter_inside_is_a_constant_without_a_graph(create_graph: bool, expected: float):
    w = Value(3.0)

    def f(x: Any) -> Any:
        (slope,) = grad(w * w * x, w, create_graph=create_graph)
        return w * slope

    out = micrograd.compile(f)(2.0)
    out.backward()
    assert (out.data, w.grad) == (36.0, expected)


# ---------------------------------------------------------------------------------------------------------------------
# A node of a trace belongs to that trace: it is not left outside

LEFT: Any = None


class Holder:
    __slots__ = ("__dict__", "slot")
    of_class: Any = None

    def __init__(self) -> None:
        self.h: Any = Value(0.0)
        self.states: Any = {"h": 1.0}
        self.log: Any = [1.0]
        self.seen: Any = set()


def in_a_global(_: Holder, x: Any) -> None:
    global LEFT
    LEFT = x * 2


def in_an_object(a: Holder, x: Any) -> None:
    a.h = Holder()
    a.h.log = [(x, {"x": x * 2})]


LEAVES: dict[str, tuple[Callable[[Holder, Any], object], str]] = {
    "an attribute": (lambda a, x: setattr(a, "h", a.h * 0.9 + x), "the attribute 'h' of Holder"),
    "a new attribute": (lambda a, x: setattr(a, "new", x * 2), "the attribute 'new' of Holder"),
    "a slot": (lambda a, x: setattr(a, "slot", x * 2), "the attribute 'slot' of Holder"),
    "a class": (lambda a, x: setattr(Holder, "of_class", x * 2), "the attribute 'of_class' of Holder"),
    "a new attribute of a class": (lambda a, x: setattr(Holder, "fresh", x * 2), "the attribute 'fresh' of Holder"),
    "a global": (in_a_global, "the global 'LEFT'"),
    "a dict": (lambda a, x: a.states.update(h=x * 2), "a dict"),
    "a list": (lambda a, x: a.log.append(x * 2), "a list"),
    "a set": (lambda a, x: a.seen.add(x * 2), "a set"),
    "an object": (in_an_object, "the attribute 'h' of Holder"),
    "a closure": (lambda a, x: setattr(a, "h", lambda: x), "the attribute 'h' of Holder"),
}


def contents(a: Holder) -> tuple[Any, ...]:
    parts = a.log, a.seen, a.states.items()
    return LEFT, Holder.of_class, hasattr(Holder, "fresh"), hasattr(a, "slot"), dict(vars(a)), *map(list, parts)


@pytest.mark.parametrize("refused", [False, True], ids=["a whole trace", "a trace that is refused"])
@pytest.mark.parametrize("x", [2.0, np.ones(2)], ids=["number", "array"])
@pytest.mark.parametrize("what", LEAVES)
def test_node_that_is_left_behind_is_refused_and_taken_back(what: str, x: Any, refused: bool):
    a = Holder()
    before = contents(a)
    leave, place = LEAVES[what]

    def f(x: Any) -> Any:
        leave(a, x)
        return x * (float(x) if refused else 3)

    with pytest.raises(RuntimeError, match="cannot look" if refused else f"cannot store a node in {place}"):
        micrograd.compile(f)(x)
    assert contents(a) == before


def test_node_in_a_variable_outside_is_refused():
    last = None

    def f(x: Any) -> Any:
        nonlocal last
        last = x * 2
        return last

    with pytest.raises(RuntimeError, match="cannot store a node in the variable 'last'"):
        micrograd.compile(f)(2.0)
    assert last is None


REPLACE = {
    "an item of a dict": ({"w": Value(3.0)}, lambda d: d["w"], lambda d: d.update(w=Value(2.0))),
    "an item of a list": ([Value(3.0)], lambda d: d[0], lambda d: d.__setitem__(0, 2.0)),
    "an item of a long list": ([Value(3.0)] + [1.0] * 200, lambda d: d[0], lambda d: d.pop(0)),
    "an attribute": (SimpleNamespace(w=Value(3.0)), lambda d: d.w, lambda d: delattr(d, "w")),
    "an item of an array": (np.array([Value(3.0), None]), lambda d: d[0], lambda d: d.fill(2.0)),
}


@pytest.mark.parametrize("place", REPLACE)
def test_node_that_the_function_replaces_is_no_constant(place: str):
    before, read, replace = REPLACE[place]
    d = copy.deepcopy(before)

    def f(x: Any) -> Any:
        y = read(d) * x
        replace(d)
        return y

    with pytest.raises(RuntimeError, match="no variable, attribute, list or dict"):
        micrograd.compile(f)(1.0)


def test_change_without_nodes_stays():
    a = Holder()

    def f(x: Any) -> Any:
        a.log.append(2.0)
        a.states["called"] = True
        return x * 2

    assert micrograd.compile(f)(2.0).data == 4.0
    assert (a.log, a.states["called"]) == ([1.0, 2.0], True)


def left(x: Any) -> Any:
    """A node that a trace left in a place that the guards do not find."""
    found: list[Any] = []

    def keep() -> Any:
        while True:
            found.append((yield))

    put = keep()
    next(put)
    micrograd.compile(lambda x, put=None: [put.send(x * 2), x * 3][1])(x, put=put)
    return found[0]


USES: list[Callable[[Any], Any]] = [
    lambda x: x * 2,
    lambda x: Value(2.0) * x if isinstance(x, Value) else Tensor([2.0, 1.0]) * x,
    lambda x: x.relu(),
    lambda x: x > 0,
    lambda x: x.data,
    lambda x: float(x),
    lambda x: x.detach(),
    lambda x: micrograd.backward(x),
    lambda x: grad(x, x),
    lambda x: pickle.dumps(x),
    lambda x: draw_dot(x),
    lambda x: micrograd.compile(lambda: x)(),
    lambda x: micrograd.compile(lambda y: y * 2)(x),
]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("x", [Value(2.0), Tensor([1.0, 2.0], requires_grad=True)], ids=["value", "tensor"])
def test_node_of_a_trace_that_has_ended_cannot_be_used(use: Callable, x: Any):
    node = left(x)
    with pytest.raises(RuntimeError, match=r"belongs to the trace of a compiled.*pass the result as an argument"):
        use(node)
    assert "of a trace that has ended" in repr(node)
