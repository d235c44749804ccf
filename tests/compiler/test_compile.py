"""What a call of a compiled function gives and leaves: results, histories, memory, threads, and how a program looks.

That the numbers are those of the function is tested by laws: see test_equal.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from compile_helpers import BACKENDS, JAX, C
from engine_helpers import at_once

import micrograd
from micrograd import Tensor, Value, grad, gradient, nn, value_and_grad


def test_inputs_alone_get_their_gradient():
    v, w = Value(2.0), Value(3.0)
    micrograd.compile(lambda: v * w)().backward(inputs=[v])
    assert (v.grad, w.grad) == (3.0, 0)


def test_second_pass_over_a_compiled_value_adds_again():
    w = Value(2.0)
    out = micrograd.compile(lambda: w * 3)()
    out.backward()
    out.backward(10.0)
    assert w.grad == 33.0


def test_graph_that_was_walked_is_let_go_unless_it_is_retained():
    w = Tensor([1.0, 2.0], requires_grad=True)
    loss = micrograd.compile(lambda x: (w * x).sum())(np.ones(2))
    loss.backward(retain_graph=True)
    loss.backward()
    with pytest.raises(RuntimeError, match="was released"):
        loss.backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_number_and_a_tensor_get_their_gradients_from_one_pass():
    w, x = Tensor([0.5, 0.4], requires_grad=True), Value(3.0)
    f = micrograd.compile(lambda x: (w * w * x).sum(keepdims=True))
    f(x).backward()
    (2 * f(x)).backward()
    assert (type(x.grad), x.grad, w.grad.tolist()) == (float, pytest.approx(3 * 0.41), pytest.approx([9.0, 7.2]))


def test_memory_does_not_grow_with_the_calls():
    model = nn.MLP(2, [4, 1], rng=random.Random(0))
    f = micrograd.compile(lambda x, y: (model(x) - y) ** 2)

    def steps(n: int) -> int:
        for _ in range(n):
            model.zero_grad()
            f([1.0, 2.0], 0.5).backward()
        return sys.getallocatedblocks()

    before = steps(3000)  # until the interpreter's free lists are full, of 2,000 tuples each
    assert steps(200) - before < 50


WITHOUT_NODES = [3, 2.5, True, None, "a", [], {}, [3, "a"], {"a": (1.0, None)}, np.ones(2)]


@pytest.mark.parametrize("found", WITHOUT_NODES, ids=str)
@pytest.mark.parametrize("backend", ["auto", "python", "numpy", C])
def test_function_may_return_no_node_at_all(found: Any, backend: str):
    for x in (2.0, Value(2.0), np.ones(2)):
        f = micrograd.compile(lambda x: found, backend=backend)
        for _ in range(2):
            np.testing.assert_equal(f(x), found)


@pytest.mark.parametrize("w", [Value(2.0), Tensor([2.0], requires_grad=True)], ids=["value", "tensor"])
def test_parameter_that_is_detached_is_read_at_each_call(w: Any):
    x = 3.0 if isinstance(w, Value) else np.array([3.0])
    f = micrograd.compile(lambda x: x * w.detach())
    assert f(x).item() == 6.0
    w.data = w.data * 5
    assert f(x).item() == 30.0


# ---------------------------------------------------------------------------------------------------------------------
# Looking at a program


def test_source_is_the_program_that_one_would_write_by_hand():
    f = value_and_grad(micrograd.compile(lambda x, y: (x * y).exp() + x))
    f(1.0, 2.0)
    assert f.source == (
        "def program(x, y):\n"
        "    t1 = exp(x * y)\n"
        "    t2 = t1 + x\n"
        "    t3 = t1 * x\n"
        "    t4 = 1.0 + t1 * y\n"
        "    return (t2, (t4, t3))\n"
    )  # fmt: skip


def test_numbers_beside_arrays_keep_the_dtype_of_these():
    f = micrograd.compile(lambda x, k: x * k)
    assert [f(np.ones(2, dtype), 2.0).dtype for dtype in (np.float32, np.float64)] == [np.float32, np.float64]


class Pair:
    def __init__(self, *parts: Any):
        self.parts = parts


@pytest.mark.parametrize("x", [0.0, np.zeros(2), Value(0.0)], ids=["float", "array", "node"])
@pytest.mark.parametrize("transform", [gradient, value_and_grad])
def test_nan_in_a_compiled_gradient_is_found_as_in_the_function_itself(transform: Callable, x: Any):
    f = lambda x: (x * x.log()).sum() if isinstance(x, Tensor) else x * x.log()  # noqa: E731
    for g in (transform(f), transform(micrograd.compile(f)), micrograd.compile(transform(f))):
        found = pytest.raises(RuntimeError, match=r"produced a nan.*test_compile.py:\d+")
        with micrograd.detect_anomaly(), np.errstate(all="ignore"), found:
            g(x)


def test_numpy_bool_is_a_result_as_a_bool_is():
    assert micrograd.compile(lambda x: (x * 2, np.True_, True))(3.0)[1:] == (True, True)


@pytest.mark.parametrize("of", [lambda y: {y}, lambda y: (y for _ in "ab"), lambda y: map(abs, [y]), Pair])
def test_result_that_would_hide_a_node_of_the_trace_is_refused(of: Callable):
    with pytest.raises(TypeError, match=r"or lists, tuples and dicts of them, found \w+ "):
        micrograd.compile(lambda x: [x, of(x * 2)])(2.0)


def test_program_prints_its_gradients_and_where_it_reads_what_a_dict_holds():
    w = Tensor(np.ones((3, 4)), requires_grad=True)
    f = micrograd.compile(lambda x, d: (x @ w[:, :2]).relu().mean() * d["scale"])
    f(np.ones((2, 3)), {"scale": 2})
    lines = str(f.lowered).splitlines()
    assert "    d_0: float64[] = d['scale'], as an array" in lines
    assert lines[-2:] == ["gradients", f"    p0: {lines[-1].split()[-1]}"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("x", [Value(3.0), Tensor([1.0, 2.0], requires_grad=True)])
@pytest.mark.parametrize("create_graph", [False, True])
def test_node_may_be_returned_more_than_once(create_graph: bool, x: Any, backend: str):
    def f(x: Any) -> Any:
        y = x * x
        return {"a": y, "b": [x, x], "c": (y, 2 * y)}

    def gradient_of(f: Callable) -> Any:
        found = f(x)
        outs = [found["a"], *found["b"], *found["c"]]
        loss = sum(n * (out.sum() if isinstance(out, Tensor) else out) for n, out in enumerate(outs, 1))
        (g,) = grad(loss, [x], create_graph=create_graph)
        return np.asarray(g.data if create_graph else g).tolist()

    assert gradient_of(micrograd.compile(f, backend=backend)) == gradient_of(f)


def test_output_may_be_a_constant_beside_an_array():
    w = Value(3.0)
    out, constant = micrograd.compile(lambda x: [w * w * x, x * 2.0], backend="numpy")(5.0)
    out.backward()
    assert (out.data, constant.data, constant.requires_grad, w.grad) == (45.0, 10.0, False, 30.0)


@pytest.mark.parametrize("x", [Value(3.0), Tensor([3.0], requires_grad=True)], ids=["value", "tensor"])
def test_result_can_be_shown(x: Any):
    assert "<html" in micrograd.compile(lambda x: x * x)(x).show().html


# ---------------------------------------------------------------------------------------------------------------------
# Memory and threads


@pytest.mark.parametrize("backend", ["auto", C, JAX])
def test_results_are_the_users_to_change(backend: str):
    """They share no memory with each other, with those of another call, or with arguments and parameters."""
    w, x = Tensor(np.ones(3), requires_grad=True), np.ones(3)
    f = micrograd.compile(lambda x: [x, x, x * w, (x * w).reshape(3, 1), w, x + 1], backend=backend)
    arrays = [x, w.detach().data, *(out.detach().data for _ in range(2) for out in f(x))]
    assert [(i, j) for i, a in enumerate(arrays) for j, b in enumerate(arrays[:i]) if np.shares_memory(a, b)] == []
    assert all(a.flags.writeable for a in arrays)


def test_argument_is_never_written_to():
    x = np.ones((3, 3))
    x.flags.writeable = False
    w = Tensor(np.ones((3, 3)), requires_grad=True)
    micrograd.compile(lambda x: ((x + 1).exp() * w - x).tanh().sum())(x).backward()
    assert (w.detach().data == 1).all()


def test_threads_may_call_one_compiled_function_at_once():
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(3, 8, rng=rng), nn.Tanh(), nn.Linear(8, 1, rng=rng))
    f = micrograd.compile(lambda x: (model(x) ** 2).mean())
    points = [np.full((5, 3), float(i)) for i in range(6)]

    def run(x: np.ndarray) -> list[bytes]:
        loss = f(x)
        return [loss.data.tobytes(), *(g.tobytes() for g in grad(loss, model.parameters()))]

    def many(x: np.ndarray) -> bool:
        return all(run(x) == expected[x[0, 0]] for _ in range(50))

    expected = {x[0, 0]: run(x) for x in points}
    assert all(at_once(*(partial(many, x) for x in points)))


def test_threads_may_trace_one_compiled_function_at_once():
    def slow(x: Any) -> Any:
        traces.append(threading.get_ident())
        time.sleep(0.02)  # time for all the others to come in
        return (x * 2).sum()

    traces: list[int] = []
    f = micrograd.compile(slow)
    found = at_once(*[lambda: f(np.ones(3)).item()] * 8)
    assert (found, f.cache_info().misses, len(traces)) == ([6.0] * 8, 1, 1)


# ---------------------------------------------------------------------------------------------------------------------
# What compile itself refuses


@pytest.mark.parametrize(
    ("fn", "settings", "kind", "message"),
    [
        (3, {}, TypeError, "compile takes a function, found int"),
        (abs, {"scalars": True, "batch": True}, ValueError, "found scalars=True and batch=True: choose one"),
        (abs, {"devices": [1]}, ValueError, "devices= is for backend='jax', found backend='auto'"),
        (abs, {"backend": "rust"}, ValueError, r"'rust'.*'numpy'"),
    ],
    ids=["no function", "scalars and batch", "devices", "a back end"],
)
def test_settings_that_compile_cannot_use_are_refused(fn: Any, settings: Any, kind: type[Exception], message: str):
    with pytest.raises(kind, match=message):
        micrograd.compile(fn, **settings)


def test_node_of_the_trace_is_formatted_as_it_is_shown():
    seen: list[str] = []
    assert micrograd.compile(lambda x: [seen.append(f"{x}"), x * 2][1])(2.0).data == 4.0
    assert "Value" in seen[0]
