"""Back ends: a program is made of one list of operations, and each back end computes what eager mode does."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from compile_helpers import same, squared_gradient
from hypothesis import Phase, given, settings
from random_programs import Program, programs
from tensor_helpers import every_op, seed
from tensor_ops_list import Op

import micrograd
from micrograd import Tensor, Value, gradient, nn
from micrograd import functional as F
from micrograd.compiler.opset import OPSET
from micrograd.optim import SGD

NO_JAX = pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed: pip install -e '.[jax]'")


@every_op
def test_a_program_is_made_of_the_operations_of_the_list(op: Op):
    """Those of second derivatives too."""
    for operands in op.runs():
        f = gradient(micrograd.compile(squared_gradient(op)))
        f(*operands)
        assert {step.op for step in f.lowered.steps} <= {"input", *OPSET}


@NO_JAX
@every_op
def test_an_op_is_the_same_by_jax(op: Op):
    """Its value and both derivatives, in one program: most of the time is XLA's, which compiles each."""
    operands = max(op.runs(), key=lambda run: sum(a.size for a in run))
    weighted = lambda *xs: (out := op.call(*xs)) * seed(op, out)  # noqa: E731
    derivatives = [gradient(weighted), gradient(squared_gradient(op))] if all(a.size for a in operands) else []

    def everything(*xs: Any) -> list[Any]:
        first_and_second = (d(*xs) for d in derivatives)
        return [op.call(*xs), *(g for gs in first_and_second for g in (gs if isinstance(gs, tuple) else [gs]))]

    inputs = [Tensor(a) for a in operands]
    same(micrograd.compile(everything, backend="jax")(*inputs), everything(*inputs), tolerance=1e-10)


@NO_JAX
@pytest.mark.parametrize(("dtype", "near"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_a_network_trains_by_jax_in_its_own_dtype(dtype: type, near: float):
    def trained(backend: str) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        model = nn.Sequential(nn.Linear(4, 8, rng=rng), nn.ReLU(), nn.LayerNorm1d(8), nn.Linear(8, 3, rng=rng))
        for p in model.parameters():
            p.data = p.data.astype(dtype)
        x, y = rng.normal(size=(6, 4)).astype(dtype), np.array([0, 2, 1, 1, 0, 2])
        loss = lambda x, y: F.cross_entropy(model(x), y)  # noqa: E731
        step = micrograd.compile(loss, update=SGD(model.parameters(), lr=0.1), backend=backend)
        losses = [step(x, y).data for _ in range(5)]
        return [*losses, *(p.data for p in model.parameters())]

    same(trained("jax"), trained("numpy"), near)


@NO_JAX
def test_a_network_of_scalars_runs_by_jax_where_it_becomes_arrays():
    model = nn.MLP(2, [4, 1])
    xs = np.random.default_rng(0).normal(size=(20, 2))
    f, g = (micrograd.compile(lambda x: model(x) ** 2, batch=True, backend=backend) for backend in ("jax", "numpy"))
    found = []
    for h in (f, g):
        for p in model.parameters():
            p.grad = 0
        out = h(xs)
        out.sum().backward()
        found.append([out.data, *(p.grad for p in model.parameters())])
    same(*found)


@NO_JAX
def test_results_of_jax_are_the_users_to_change_and_its_source_is_shown():
    x = Tensor(np.ones(3), requires_grad=True)
    f = micrograd.compile(lambda: (x * x).sum(), backend="jax")
    f().backward()
    x.grad += 1
    assert x.grad.tolist() == [3.0, 3.0, 3.0]
    assert "f64[3]" in f.source


@NO_JAX
def test_jax_refuses_a_program_of_plain_numbers():
    with pytest.raises(RuntimeError, match=r"backend='jax' is for arrays, found a program of plain numbers.*use auto"):
        micrograd.compile(lambda x: x * x, backend="jax")(Value(2.0))


def test_without_jax_its_backend_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("micrograd.compiler.backends.xla.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install 'micrograd-glass\[jax\]'"):
        micrograd.compile(lambda x: x * x, backend="jax")(np.ones(3))


@NO_JAX
@settings(max_examples=12, deadline=None, phases=[Phase.generate, Phase.shrink])
@given(program=programs(Value))
def test_random_programs_of_samples_are_the_same_by_jax(program: Program):
    samples = np.array(program.leaves) * np.linspace(1.0, 1.001, 5)[:, None]

    def found(backend: str) -> list[list[float]]:
        loss = gradient(lambda xs: program(*xs), argnum=0)
        return [np.asarray(part).tolist() for part in micrograd.compile(loss, batch=True, backend=backend)(samples)]

    same(found("jax"), found("python"), 1e-11)


@NO_JAX
def test_four_devices_compute_what_one_does_with_one_sum_over_them():
    code = """
import os; os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, numpy as np, micrograd
from micrograd import nn, functional as F
from micrograd.optim import SGD

def trained(devices):
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(4, 8, rng=rng), nn.Tanh(), nn.Linear(8, 1, rng=rng))
    x, y = rng.normal(size=(16, 4)), rng.normal(size=(16, 1))
    loss = lambda x, y: F.mse(model(x), y)
    step = micrograd.compile(loss, update=SGD(model.parameters(), lr=0.1), backend="jax", devices=devices)
    losses = [float(step(x, y).data) for _ in range(5)]
    return step, [*losses, *(v for p in model.parameters() for v in p.data.ravel().tolist())], (x, y), model

assert len(jax.devices()) == 4
step, four, (x, y), model = trained(jax.devices())
assert np.allclose(four, trained(None)[1], rtol=0, atol=1e-15), np.abs(np.subtract(four, trained(None)[1])).max()
code = step.program.code
with jax.enable_x64(True):
    inputs = code._read([0.1, *(held for p in step.program.trained for held in ({"data": p.data}, {}))], x, y)
    text = code._jitted.lower(*inputs).compile().as_text()
assert text.count(" all-reduce(") + text.count(" all-reduce-start(") == 1, text
try:
    step(x[:6], y[:6])
except ValueError as error:
    assert "a multiple of 4 rows" in str(error)
    print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "done", done.stderr[-3000:]


def test_devices_are_for_jax():
    with pytest.raises(ValueError, match="devices= is for backend='jax'"):
        micrograd.compile(lambda x: x, devices=[1])
