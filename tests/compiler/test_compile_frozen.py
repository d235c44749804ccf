"""What a compiled function may not do: its program could not do it again. Each raises, and names the user's line."""

from __future__ import annotations

import copy
import math
import pickle
import random
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from function_helpers import Cube

import micrograd
from micrograd import Tensor, Value, grad, nn, no_grad, value_and_grad, where
from micrograd.engine.value import Node
from micrograd.optim import SGD, clip_grad_norm

W = Value(2.0)
T = Tensor([1.0, 2.0], requires_grad=True)
C = Tensor([1.0, 2.0])
DROPOUT = nn.Dropout(0.5)
OWN_DROPOUT = nn.Dropout(0.5, rng=np.random.default_rng(0))
OPTIMIZER = SGD([W], lr=0.1)


def writes(x: Any) -> Any:
    W.data = 3.0  # here
    return W * x


def updates(x: Any) -> Any:
    W.data -= 0.1 * W.grad  # here
    return W * x


def steps(x: Any) -> Any:
    OPTIMIZER.step()  # here
    return W * x


def trains(x: Any) -> Any:
    loss = W * x
    loss.backward()  # here
    return loss


def trains_by_function(x: Any) -> Any:
    loss = W * x
    micrograd.backward(loss)  # here
    return loss


OF_NUMBERS = [
    (lambda x: x if x > 0 else -x, "where(condition, a, b)"),  # here
    (lambda x: x * (1 if W > 0 else 2), "where(condition, a, b)"),  # here
    (lambda x: x and W, "where(condition, a, b)"),  # here
    (lambda x: max(x, W), "where(condition, a, b)"),  # here
    (lambda x: sorted([x, W]), "where(condition, a, b)"),  # here
    (lambda x: x * float(x), "by keyword"),  # here
    (lambda x: x * int(x), "by keyword"),  # here
    (lambda x: x * round(x), "by keyword"),  # here
    (lambda x: x * [1, 2][x], "by keyword"),  # here
    (lambda x: x * math.exp(x), "by keyword"),  # here
    (lambda x: x * x.data, "on nodes instead of their data"),  # here
    (lambda x: x * x.item(), "on nodes instead of their data"),  # here
    (lambda x: x * W.data, "on the node itself"),  # here
    (lambda x: (x, f"{W:.2f}"), "on the node itself"),  # here
    (writes, "change parameters outside of the function"),
    (updates, "change parameters outside of the function"),
    (steps, "change parameters outside of the function"),
    (trains, "call backward() on what comes back"),
    (trains_by_function, "call backward() on what comes back"),
    (lambda x: x * random.random(), "pass the draws as an argument"),  # here
    (lambda x: x * np.random.rand(), "pass the draws as an argument"),  # here
]


@pytest.mark.parametrize(("look", "advice"), OF_NUMBERS)
def test_what_cannot_be_done_with_numbers_raises_and_says_what_to_write(look: Callable, advice: str):
    with pytest.raises(RuntimeError, match=r"test_compile_frozen.py:\d+: .*# here$") as raised:
        micrograd.compile(look)(1.0)
    assert advice in str(raised.value)
    assert W.data == 2.0


@pytest.mark.parametrize("node", [W, micrograd.Tensor(2.0)], ids=["value", "tensor"])
def test_a_copy_would_hold_the_number_too(node: Any):
    with pytest.raises(RuntimeError, match="on the node itself"):
        micrograd.compile(lambda x: x * copy.copy(node).item())(1.0)


def adds(x: Any) -> Any:
    x += 1  # here
    return x


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


def draws(x: Any) -> Any:
    noise = micrograd.randn(2)  # here
    return x + noise


OF_ARRAYS = [
    (lambda x: x if x.sum() > 0 else -x, "where(condition, a, b)"),  # here
    (lambda x: x if C.sum() > 0 else -x, "where(condition, a, b)"),  # here
    (lambda x: x * x.sum().item(), "on nodes instead of their data"),  # here
    (lambda x: x * float(C[0]), "by keyword"),  # here
    (lambda x: x * C[0].item(), "on nodes instead of their data"),  # here
    (lambda x: x * C.data, "on the node itself"),  # here
    (lambda x: x * C.numpy(), "on the node itself"),  # here
    (lambda x: x * micrograd.Tensor(C), "on the node itself"),  # here
    (lambda x: x * C.tolist()[0], "on the node itself"),  # here
    (lambda x: x[int(C.argmax())], "on the node itself"),  # here
    (lambda x: x[x.argmax()], "by keyword"),  # here
    (lambda x: x.data * 2, "on nodes instead of their data"),  # here
    (lambda x: np.asarray(x) * 2, "on nodes instead of their data"),  # here
    (lambda x: x[x > 0], "where(condition, a, 0.0)"),  # here
    (adds, "Write y = y + ..."),
    (puts, "Write y = y + ..."),
    (puts_outside, "change parameters outside of the function"),
    (writes_the_array, "change parameters outside of the function"),
    (lambda x: DROPOUT(x), "eval()"),  # here
    (lambda x: OWN_DROPOUT(x), "eval()"),  # here
    (draws, "pass the draws as an argument"),
]


@pytest.mark.parametrize(("look", "advice"), OF_ARRAYS)
def test_what_cannot_be_done_with_arrays_raises_and_says_what_to_write(look: Callable, advice: str):
    with pytest.raises(RuntimeError, match=r"test_compile_frozen.py:\d+: .*# here$") as raised:
        micrograd.compile(look)(np.array([1.0, 2.0]))
    assert advice in str(raised.value)
    np.testing.assert_array_equal(T.detach().data, [1.0, 2.0])


def by_hand(x: Any) -> Any:
    out = Value(2.0, (x,), "double")
    return out * 2  # here


@pytest.mark.parametrize(("f", "name"), [(lambda x: Cube.apply(x), "Cube"), (by_hand, "double")])
def test_an_op_with_a_derivative_of_its_own_is_refused_by_name(f: Callable, name: str):
    with pytest.raises(RuntimeError, match=f"cannot use {name}, whose derivative was written by hand.*test_compile_fr"):
        micrograd.compile(f)(Value(1.0))


def test_a_draw_is_taken_back():
    states = random.getstate(), repr(np.random.get_state())
    for draw in (random.random, np.random.rand):
        with pytest.raises(RuntimeError, match="cannot draw"):
            micrograd.compile(lambda x, draw=draw: x * draw())(1.0)
    assert (random.getstate(), repr(np.random.get_state())) == states


def draw_by(generator: Any) -> Callable[[], Any]:
    return {"random": random.random, "numpy": np.random.rand, "micrograd": lambda: micrograd.rand(1)}[generator]


@pytest.mark.parametrize("w", [Value(3.0), Tensor([3.0], requires_grad=True)])
def test_a_result_that_another_thread_computed_is_refused(w: Any):
    """It would be a constant, though it depends on the parameter."""

    def f(x: Any) -> Any:
        return pool.submit(lambda: w * w).result() * x

    with ThreadPoolExecutor(1) as pool:
        pool.submit(print).result()
        with pytest.raises(RuntimeError, match=r"cannot use the result of '\*'"):
            micrograd.compile(f)(2.0 if isinstance(w, Value) else np.ones(1))


def in_a_thread(x: Any) -> Any:
    thread = threading.Thread(target=lambda: None)
    thread.start()  # here
    return x


def in_a_pool(x: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return x * pool.submit(lambda: W.data).result()  # here


@pytest.mark.parametrize("f", [in_a_thread, in_a_pool])
def test_a_thread_is_not_started_inside(f: Callable):
    with pytest.raises(RuntimeError, match=r"cannot start a thread.*; at .*: "):
        micrograd.compile(f)(1.0)
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


OWN, OWN_ARRAYS, OLD = random.Random(0), np.random.default_rng(0), np.random.RandomState(0)


class Noise:
    def __init__(self, rng: Any):
        self.rng = rng

    def __call__(self) -> Any:
        return self.rng.normal() if hasattr(self.rng, "normal") else self.rng.gauss(0, 1)  # here


def by_closure(rng: Any) -> Any:
    return lambda x: x * (rng.gauss(0, 1) if isinstance(rng, random.Random) else rng.normal())  # here


def by_attribute(rng: Any) -> Any:
    noise = Noise(rng)
    return lambda x: x * noise()


@pytest.mark.parametrize("rng", [OWN, OWN_ARRAYS, OLD], ids=["random", "generator", "state"])
@pytest.mark.parametrize("way", [by_closure, by_attribute])
def test_draws_from_a_generator_of_the_users_are_refused_and_taken_back(way: Callable, rng: Any):
    before = pickle.dumps(rng)
    with pytest.raises(RuntimeError, match=r"cannot draw random numbers.*# here$"):
        micrograd.compile(way(rng))(1.0)
    assert pickle.dumps(rng) == before


def test_draws_from_a_global_generator_of_the_users_are_refused():
    with pytest.raises(RuntimeError, match="cannot draw"):
        micrograd.compile(lambda x: x * OWN.random())(1.0)
    with pytest.raises(RuntimeError, match="cannot draw"):
        micrograd.compile(lambda x: x * OWN_ARRAYS.normal(size=2))(np.ones(2))


@pytest.mark.parametrize("generator", ["random", "numpy", "micrograd"])
def test_another_thread_may_draw_during_a_trace(generator: str):
    if generator != "random" and not isinstance(np.random.mtrand._rand._bit_generator.lock, type(threading.RLock())):
        pytest.skip("this NumPy's locks cannot be held while one draws, so its draws in other threads may be refused")
    done, draw = threading.Event(), draw_by(generator)

    def draw_on() -> None:
        while not done.is_set():
            draw()

    def long(x: Any) -> Any:
        return sum(x * i for i in range(100))

    thread = threading.Thread(target=draw_on, daemon=True)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        assert [micrograd.compile(long)(2.0).data for _ in range(3)] == [9900.0] * 3
        with pytest.raises(RuntimeError, match="cannot draw"):
            micrograd.compile(lambda x: x * draw())(np.ones(1))
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()


def test_what_another_thread_drew_is_not_drawn_again():
    drawn: list[float] = []

    pool = ThreadPoolExecutor(1)
    pool.submit(random.getstate).result()

    def f(x: Any) -> Any:
        if not drawn:
            pool.submit(lambda: drawn.append(random.random())).result()
        return x * x

    state = random.getstate()
    micrograd.compile(f)(1.0)
    random.setstate(state)
    assert drawn == [random.random()]
    after = random.getstate()
    random.setstate(state)
    drawn.clear()
    micrograd.compile(f)(1.0)
    assert random.getstate() == after
    pool.shutdown()


def test_a_draw_in_a_helper_is_found_there():
    def helper() -> float:
        return random.gauss(0, 1)  # there

    with pytest.raises(RuntimeError, match="# there"):
        micrograd.compile(lambda x: x * helper())(1.0)


def test_after_a_failure_the_function_can_be_traced():
    f = micrograd.compile(lambda x, strict=True: x * float(x) if strict else x * x)
    with pytest.raises(RuntimeError, match="cannot look"):
        f(3.0)
    assert f(3.0, strict=False).data == 9.0
    assert (W * 2).data == 4.0


def test_dropout_in_use_can_be_compiled():
    model = nn.Sequential(nn.Dropout(0.5)).eval()
    assert micrograd.compile(lambda x: model(x))(np.ones(3)).data.tolist() == [1.0] * 3


def test_where_takes_the_place_of_an_if():
    f = value_and_grad(micrograd.compile(lambda x: where(x > 0, x * x, -x)))
    assert [f(3.0), f(-3.0)] == [(9.0, 6.0), (3.0, -1.0)]


def test_a_parameter_may_be_compared_for_where():
    w, t = Value(2.0), Tensor([1.0, 5.0], requires_grad=True)
    number = micrograd.compile(lambda x: where(w > x, w, x))
    array = micrograd.compile(lambda x: where(t > x, t, x))
    assert (number(1.0).data, number(3.0).data) == (2.0, 3.0)
    assert array(np.array([3.0, 3.0])).data.tolist() == [3.0, 5.0]
    w.data = 10.0
    assert number(3.0).data == 10.0


@pytest.mark.parametrize(("create_graph", "expected"), [(True, 24.0), (False, 12.0)])
def test_a_gradient_by_a_parameter_may_be_asked_for_inside_where_it_is_a_constant_without_a_graph(
    create_graph: bool, expected: float
):
    w = Value(3.0)

    def f(x: Any) -> Any:
        (slope,) = grad(w * w * x, w, create_graph=create_graph)
        return w * slope

    out = micrograd.compile(f)(2.0)
    out.backward()
    assert (out.data, w.grad) == (36.0, expected)


def test_a_mistake_of_the_function_is_reported_as_ever():
    with pytest.raises(TypeError, match=r"takes Values and numbers|unsupported"):
        micrograd.compile(lambda x: x + "a")(1.0)


V, PARAMETERS = Value(2.0), nn.Linear(2, 2).parameters()
OF_ARRAYS = SGD(PARAMETERS, lr=0.1)


def zeroes_by_optimizer(x: Any) -> Any:
    OPTIMIZER.zero_grad()  # here
    return W * x


def clips(x: Any) -> Any:
    clip_grad_norm([V], 1.0)  # here
    return V * x


def sets(x: Any) -> Any:
    V.grad = 0.0  # here
    return V * x


def zeroes_arrays(x: Any) -> Any:
    OF_ARRAYS.zero_grad()  # here
    return (PARAMETERS[0] * x).sum()


def zeroes_a_module(x: Any) -> Any:
    MODULE.zero_grad()  # here
    return MODULE([x])


MODULE = nn.Neuron(1)
OF_GRADS = [
    zeroes_by_optimizer,
    clips,
    sets,
    zeroes_arrays,
    zeroes_a_module,
    lambda x: V * x + V.grad,  # here
    lambda x: (PARAMETERS[0] * x).sum() * float(PARAMETERS[0].grad is None),  # here
    lambda x: x * x.grad,  # here
]


@pytest.mark.parametrize("f", OF_GRADS)
def test_gradients_that_were_accumulated_are_not_read_or_written_inside(f: Callable):
    V.grad = 3.0
    with pytest.raises(RuntimeError, match=r"cannot look at or change \.grad.*test_compile_frozen.py:\d+: .*# here$"):
        micrograd.compile(f)(1.0)
    assert V.grad == 3.0


def test_grad_refuses_during_a_trace_alone_and_is_the_slot_itself_before_and_after():
    """A property of Python takes ten times as long, and a training loop reads `.grad` of every parameter."""
    w = Value(2.0)
    during = []

    def f(x):
        during.append(Node.grad is Node._gradient)
        return x * w

    assert Node.grad is Node._gradient
    micrograd.compile(f)(1.0)
    with pytest.raises(RuntimeError, match="grad"):
        micrograd.compile(lambda x: x * w.grad)(1.0)
    assert Node.grad is Node._gradient
    assert during == [False]


def test_a_trace_that_ends_in_one_thread_leaves_grad_refusing_in_another():
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
