"""`compile`: what it gives is what the eager engine gives, for values, gradients and gradients of gradients."""

from __future__ import annotations

import copy
import gc
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compile_helpers import BACKENDS, near

import micrograd
from micrograd import Tensor, Value, grad, gradient, nn, no_grad, value_and_grad
from micrograd import functional as F

# ---------------------------------------------------------------------------------------------------------------------
# Written as before


def test_a_program_reads_parameters_each_time_that_it_runs():
    w = Value(3.0)
    f = micrograd.compile(lambda x: w * x)
    assert f(2.0).data == 6.0
    w.data = 5.0
    assert (f(2.0).data, f.cache_info().misses) == (10.0, 1)


def test_gradients_are_those_of_the_moment_of_the_call():
    w = Value(2.0)
    f = micrograd.compile(lambda: w * w)
    out = f()
    w.data = 100.0
    out.backward()
    assert w.grad == 4.0


def test_several_outputs_have_each_their_own_gradient():
    w = Value(2.0)
    f = micrograd.compile(lambda x: {"a": [w * x, w * w], "b": x, "c": None})
    out = f(5.0)
    out["a"][1].backward()
    (out["a"][0] * 10).backward()
    assert (w.grad, out["b"].data, out["c"]) == (54.0, 5.0, None)


def test_hooks_see_the_gradient_of_a_compiled_loss():
    w = Value(2.0)
    handle = w.register_hook(lambda g: g * 10)
    micrograd.compile(lambda x: w * x)(3.0).backward()
    handle.remove()
    assert w.grad == 30.0


def test_inputs_alone_get_their_gradient():
    v, w = Value(2.0), Value(3.0)
    micrograd.compile(lambda: v * w)().backward(inputs=[v])
    assert (v.grad, w.grad) == (3.0, 0)


def test_a_second_pass_over_a_compiled_value_adds_again():
    w = Value(2.0)
    out = micrograd.compile(lambda: w * 3)()
    out.backward()
    out.backward(10.0)
    assert w.grad == 33.0


def test_create_graph_differentiates_a_compiled_call_again():
    w = Value(2.0)
    out = micrograd.compile(lambda x: w**3 * x)(5.0)
    (first,) = grad(out, w, create_graph=True)
    assert (first.data, grad(first, w)) == (60.0, (60.0,))


def test_create_graph_refuses_what_was_changed_since():
    w = Value(2.0)
    out = micrograd.compile(lambda x: w**3 * x)(5.0)
    w.data = 3.0
    with pytest.raises(RuntimeError, match="changed since"):
        grad(out, w, create_graph=True)


def test_a_pass_that_fails_leaves_no_trace(monkeypatch):
    class Stubborn(float):
        def __add__(self, other: Any) -> Any:
            raise KeyboardInterrupt

    v, w = Value(2.0), Value(3.0)
    v.grad, w.grad = 1.0, Stubborn(5.0)
    with pytest.raises(KeyboardInterrupt):
        micrograd.compile(lambda: v * w)().backward()
    assert (v.grad, w.grad) == (1.0, 5.0)


def test_under_no_grad_a_compiled_call_gives_a_constant():
    w = Value(2.0)
    f = micrograd.compile(lambda: w * 3)
    with no_grad():
        assert not f().requires_grad
    assert f().requires_grad


def test_a_compiled_method_has_its_own_programs_for_each_object():
    class Line:
        def __init__(self, slope: float):
            self.slope = Value(slope)

        @micrograd.compile
        def at(self, x: Any) -> Any:
            return self.slope * x

    assert [Line(2.0).at(3.0).data, Line(5.0).at(3.0).data] == [6.0, 15.0]


def test_a_copy_of_an_object_computes_with_its_own_parameters():
    class Line(nn.Module):
        def __init__(self, slope: float):
            self.slope = Value(slope)

        @micrograd.compile
        def at(self, x: Any) -> Any:
            return self.slope * x

    line = Line(2.0)
    line.at(1.0)
    twin = copy.deepcopy(line)
    twin.slope.data = 7.0
    assert (line.at(3.0).data, twin.at(3.0).data) == (6.0, 21.0)


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


def test_a_compiled_function_may_call_another():
    inner = micrograd.compile(lambda x: x * x)
    assert gradient(micrograd.compile(lambda x: inner(x) + x))(3.0) == 7.0


# ---------------------------------------------------------------------------------------------------------------------
# Many scalars


def moons(points: list, targets: list, model: Any) -> Any:
    """The classic demo's loss, in scalars."""
    scores = [model(x) for x in points]
    losses = [(1 + -y * s).relu() for y, s in zip(targets, scores, strict=True)]
    return sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(p * p for p in model.parameters())


def test_a_network_of_scalars_becomes_products_of_matrices():
    model = nn.MLP(3, [8, 8, 1], rng=random.Random(0))
    rng = np.random.default_rng(0)
    points, targets = rng.normal(size=(20, 3)), np.sign(rng.normal(size=20))
    f = micrograd.compile(lambda x, y: moons(x, y, model), scalars=True)
    found = f(points, targets)
    found.backward()
    grads = [p.grad for p in model.parameters()]
    model.zero_grad()
    eager = moons(points.tolist(), targets.tolist(), model)
    eager.backward()
    assert near(found.data, eager.data)
    assert near(grads, [p.grad for p in model.parameters()])
    assert f.source.count(" @ ") > 8
    assert "take" not in f.source


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_outputs_have_their_gradients_in_either_backend(backend: str):
    model = nn.MLP(2, [4, 3], rng=random.Random(0))
    f = micrograd.compile(lambda x: model(x), backend=backend)
    sum(y * k for k, y in enumerate(f([1.0, 2.0]))).backward()
    found = [p.grad for p in model.parameters()]
    model.zero_grad()
    sum(y * k for k, y in enumerate(model([1.0, 2.0]))).backward()
    assert near(found, [p.grad for p in model.parameters()])


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_detached_sends_no_gradient_in_either_backend(backend: str, batch: bool):
    w = Value(2.0)

    def f(x: Any) -> Any:
        with no_grad():
            still = w * x
        return w * still + (w * w).detach() * x

    out = micrograd.compile(f, backend=backend, batch=batch)(np.array([3.0]) if batch else 3.0)
    out.backward()
    assert (out.item(), w.grad) == (24.0, 6.0)


@pytest.mark.parametrize("w", [Value(2.0), Tensor([2.0], requires_grad=True)], ids=["value", "tensor"])
def test_a_parameter_that_is_detached_is_read_at_each_call(w: Any):
    x = 3.0 if isinstance(w, Value) else np.array([3.0])
    f = micrograd.compile(lambda x: x * w.detach())
    assert f(x).item() == 6.0
    w.data = w.data * 5
    assert f(x).item() == 30.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_losses_of_scalars_are_the_same_in_either_backend(backend: str):
    w = [Value(0.5), Value(-1.5), Value(1.0)]

    def loss(x: Any) -> Any:
        scores = [x * p for p in w]
        chosen = F.cross_entropy(scores, 1) + F.logsumexp(scores) + F.mse(scores, [x, 1.0, 2.0])
        return chosen + F.hinge(scores, [1, -1, 1]) + F.bce_with_logits(scores, [0.0, 0.5, 1.0])

    found = micrograd.compile(loss, backend=backend)(2.0)
    found.backward()
    grads = [p.grad for p in w]
    for p in w:
        p.grad = 0
    eager = loss(Value(2.0, requires_grad=False))
    eager.backward()
    assert near([found.data, *grads], [eager.data, *(p.grad for p in w)])


# ---------------------------------------------------------------------------------------------------------------------
# Edges of the numbers


# ---------------------------------------------------------------------------------------------------------------------
# Threads, memory


def test_the_trace_is_let_go():
    f = micrograd.compile(lambda x: x.tanh())
    f(1.0)
    gc.collect()
    from micrograd.compiler.trace import TracedValue

    assert not any(type(x) is TracedValue for x in gc.get_objects())


# ---------------------------------------------------------------------------------------------------------------------
# Looking at a program


def test_the_source_is_the_program_that_one_would_write_by_hand():
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


def test_the_source_before_the_first_call_says_what_to_do():
    with pytest.raises(RuntimeError, match="call the function once"):
        _ = micrograd.compile(lambda x: x).source


def test_arguments_may_have_the_names_that_programs_use():
    f = value_and_grad(micrograd.compile(lambda t1, exp, np, leaves, x_0, x: t1.exp() * exp + np * leaves - x_0 * x[0]))
    assert f(0.0, 2.0, 3.0, 4.0, 5.0, [7.0]) == (-21.0, (2.0, 1.0, 4.0, 3.0, -7.0, [-5.0]))


def test_numbers_beside_arrays_keep_the_dtype_of_these():
    f = micrograd.compile(lambda x, k: x * k)
    assert [f(np.ones(2, dtype), 2.0).dtype for dtype in (np.float32, np.float64)] == [np.float32, np.float64]


def test_a_nan_in_the_backward_of_a_compiled_call_is_found():
    with micrograd.detect_anomaly(), pytest.raises(RuntimeError, match=r"produced a nan.*test_compile.py:\d+"):
        micrograd.compile(lambda x: x * x.log())(Value(0.0)).backward()


class Pair:
    def __init__(self, *parts: Any):
        self.parts = parts


@pytest.mark.parametrize("x", [0.0, np.zeros(2), Value(0.0)], ids=["float", "array", "node"])
@pytest.mark.parametrize("transform", [gradient, value_and_grad])
def test_a_nan_in_a_compiled_gradient_is_found_as_in_the_function_itself(transform: Callable, x: Any):
    f = lambda x: (x * x.log()).sum() if isinstance(x, Tensor) else x * x.log()  # noqa: E731
    for g in (transform(f), transform(micrograd.compile(f)), micrograd.compile(transform(f))):
        found = pytest.raises(RuntimeError, match=r"produced a nan.*test_compile.py:\d+")
        with micrograd.detect_anomaly(), np.errstate(all="ignore"), found:
            g(x)


def test_a_numpy_bool_is_a_result_as_a_bool_is():
    assert micrograd.compile(lambda x: (x * 2, np.True_, True))(3.0)[1:] == (True, True)


@pytest.mark.parametrize("of", [lambda y: {y}, lambda y: (y for _ in "ab"), lambda y: map(abs, [y]), Pair])
def test_what_would_hide_a_node_of_the_trace_is_no_result(of: Callable):
    with pytest.raises(TypeError, match=r"or lists, tuples and dicts of them, found \w+ "):
        micrograd.compile(lambda x: [x, of(x * 2)])(2.0)


def test_a_module_itself_can_be_compiled():
    model = nn.MLP(2, [3, 1], rng=random.Random(0))
    assert near(micrograd.compile(model)([1.0, 2.0]).data, model([1.0, 2.0]).data)


def test_cache_info_counts_programs():
    f = micrograd.compile(lambda x: x * 2)
    f(1.0), f(2.0), f([1.0][0])
    assert f.cache_info() == (2, 1, 128, 1)


def test_a_program_prints_as_a_page_that_says_all():
    w = micrograd.Tensor(np.ones((3, 4)), requires_grad=True)
    f = micrograd.compile(lambda x, d: (x @ w[:, :2]).relu().mean() * d["scale"])
    f(np.ones((2, 3)), {"scale": 2})
    lines = str(f.lowered).splitlines()
    assert lines[:4] == [
        "reads",
        "    p0: float64[3, 4] = leaves[0]",
        "    x: float64[2, 3] = x",
        "    d_0: float64[] = d['scale'], as an array",
    ]
    assert "    t2: float64[2, 2] = matmul(x, t1)" in lines
    assert lines[-2] == "gradients"
    assert lines[-1].startswith("    p0: t")
