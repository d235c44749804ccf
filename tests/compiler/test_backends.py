"""Back ends: a program is made of one list of operations, and each back end computes what eager mode does."""

from __future__ import annotations

import socket
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from compile_helpers import C, same, squared_gradient
from hypothesis import Phase, given, settings
from random_programs import Program, programs
from tensor_helpers import every_op, seed
from tensor_ops_list import Op

import micrograd
from micrograd import Tensor, Value, gradient, nn
from micrograd import functional as F
from micrograd.common import trees
from micrograd.compiler.primitives import OPSET
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


SUBNORMAL = {2: 1e-4, 4: 1e-37, 8: 0.0}  # which XLA flushes to 0, by the size of the float


def of_integers(a: Any, b: Any) -> list[Any]:
    """What promotes integers and bools, or may wrap."""
    unary = [
        "exp",
        "log",
        "log1p",
        "sqrt",
        "sin",
        "tanh",
        "arctan",
        "sigmoid",
        "softplus",
        "floor",
        "ceil",
        "abs",
        "sign",
    ]
    reduced = ["sum", "mean", "max", "min", "cumsum", "var", "std", "softmax", "logsumexp", "sort"]
    found = [getattr(a, name)(*[0] * (name == "cumsum")) for name in [*unary, *reduced]]
    found += [a + b, a * b, a / b, a // b, a % b, a**0.5, a * 2.5, a * 3, a @ b.T, a.clip(1.5, 50.0), a < b, a == b]
    found += [f(a, b) for f in (micrograd.maximum, micrograd.hypot, micrograd.arctan2, micrograd.logaddexp)]
    return [*found, micrograd.concatenate([a, b]), micrograd.where(a > b, a, b), micrograd.einsum("ij,kj->ik", a, b)]


@NO_JAX
@pytest.mark.parametrize("other", [None, np.float32], ids=["alike", "with float32"])
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u4", "u8", "?"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_integers_are_promoted_by_jax_as_by_numpy(dtype: str, other: Any):
    a, b = np.array([[1, 2, 100], [4, 5, 90]]).astype(dtype), np.array([[2, 0, 3], [1, 7, 2]]).astype(other or dtype)

    def each(a: Any, b: Any) -> list[Any]:
        return of_integers(a, b) if dtype != "?" else [a.exp(), a.sum(), a.mean(), a.cumsum(0), a * 2.5, a / b, a + 1]

    f = micrograd.compile(each, backend="jax")
    for found, expected in zip(f(a, b), each(Tensor(a), Tensor(b)), strict=True):
        found, expected = (np.asarray(x.data if isinstance(x, Tensor) else x) for x in (found, expected))
        assert found.dtype == (expected.dtype if expected.dtype != bool else found.dtype)
        coarse = min(np.sqrt(a + b).dtype.itemsize, np.sqrt(a).dtype.itemsize, np.dtype(other or "f8").itemsize)
        near = {2: 4e-3, 4: 1e-6, 8: 1e-14}[coarse]  # of float16, float32 and float64, also if they are intermediate
        np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=near, atol=SUBNORMAL[coarse])


@NO_JAX
def test_large_integers_do_not_pass_through_floats_by_jax():
    a = np.array([2**62 + 1, 2**61 + 1, 3])
    sums = lambda x: [x.cumsum(0), x.sum(), x * 3, x.max(), x // 2, x.mean()]  # noqa: E731
    for found, expected in zip(micrograd.compile(sums, backend="jax")(a), sums(Tensor(a)), strict=True):
        assert (found.dtype, found.data.tolist()) == (expected.dtype, expected.data.tolist())


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
    monkeypatch.setattr("micrograd.compiler.backends.jax.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install jax"):
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
    done = subprocess.run([sys.executable, "-c", ON_DEVICES + ON_FOUR], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "done", done.stderr[-3000:]


@NO_JAX
def test_two_processes_of_two_devices_compute_what_one_device_does():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", ON_DEVICES + IN_TWO_PROCESSES, str(port)]
    processes = [subprocess.Popen([*command, str(rank)], **pipes) for rank in range(2)]
    try:
        for process in processes:
            out, error = process.communicate(timeout=240)
            assert out.strip().splitlines()[-1:] == ["done"], error[-3000:]
    finally:
        for process in processes:
            process.kill()


ON_DEVICES = """
import os, sys
alone = len(sys.argv) == 1
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=" + ("4" if alone else "2")
import jax
if not alone:
    jax.distributed.initialize("127.0.0.1:" + sys.argv[1], 2, int(sys.argv[2]), initialization_timeout=120)
import numpy as np, micrograd
from micrograd import Value, nn, functional as F
from micrograd.optim import SGD, Adam

def refused(f, *args):
    try:
        f(*args)
    except ValueError as error:
        return str(error)

def trained(devices):
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(4, 8, rng=rng), nn.Tanh(), nn.Linear(8, 1, rng=rng))
    x, y = rng.normal(size=(16, 4)), rng.normal(size=(16, 1))
    loss = lambda x, y: F.mse(model(x), y)
    rule = SGD if alone else Adam
    step = micrograd.compile(loss, update=rule(model.parameters(), lr=0.1), backend="jax", devices=devices)
    losses = []
    for i in range(5):
        losses.append(float(step(x, y).data))
        if i == 2 and jax.process_index():  # one process looks
            losses.append(float(model[0].weight.data[0, 0]))
    found = [*losses, *(v for p in model.parameters() for v in p.data.ravel().tolist())]
    return step, np.array(found), (x, y), model

def of_samples(devices):  # of two features, which four devices cannot share
    w = [Value(0.5), Value(-1.5)]
    f = micrograd.compile(lambda x: (x[0] * w[0] + x[1] * w[1]).tanh(), batch=True, backend="jax", devices=devices)
    out = f(np.arange(16.0).reshape(8, 2) / 16)
    out.sum().backward()
    return f, np.array([*out.data, w[0].grad, w[1].grad])

assert len(jax.devices()) == 4
step, four, (x, y), model = trained(jax.devices())
one = trained(None)[1]
assert np.allclose(four, one, rtol=0, atol=1e-15), np.abs(four - one).max()
assert "a multiple of 4 rows" in refused(step, x[:6], y[:6])
f, parts = of_samples(jax.devices())
assert np.allclose(parts, of_samples(None)[1], rtol=0, atol=1e-15)
assert "of 6 rows, between 4 devices" in refused(f, np.ones((6, 2)))
"""
ON_FOUR = """
code = step.program.code
with jax.enable_x64(True):
    inputs = code._read([0.1, *(held for p in step.program.trained for held in ({"data": p.data}, {}))], x, y)
    text = code._jitted.lower(*inputs).compile().as_text()
assert text.count(" all-reduce(") + text.count(" all-reduce-start(") == 1, text
print("done")
"""
IN_TWO_PROCESSES = """
assert len(jax.local_devices()) == 2
out = micrograd.compile(model, backend="jax", devices=jax.devices())(x)  # each process has the whole of it
assert np.allclose(out.data, model(x).data, rtol=0, atol=1e-15)
others = [device for device in jax.devices() if device.process_index != jax.process_index()]
assert "has none of this process" in refused(trained, others)
print("done")
"""


def test_devices_are_for_jax():
    with pytest.raises(ValueError, match="devices= is for backend='jax'"):
        micrograd.compile(lambda x: x, devices=[1])


POINTS = {
    "the argument": lambda x: x,
    "a view": lambda x: x.reshape(1)[0],
    "a choice": lambda x: np.where(x > 1.0, x * x, x),
    "a sum": lambda x: x.reshape(1).sum(),
    "a constant gradient": lambda x: np.stack([x, x])[0],
    "no gradient": lambda x: Tensor(2.0) * 1.0 + 0 * x,
    "two": lambda x: (x, x * x),
}


@pytest.mark.parametrize("backend", ["eager", "python", C, pytest.param("jax", marks=NO_JAX)])
@pytest.mark.parametrize("name", POINTS)
def test_a_result_of_shape_0_is_a_number_of_numpy_on_every_back_end(name: str, backend: str):
    f = POINTS[name] if backend == "eager" else micrograd.compile(POINTS[name], backend=backend)
    x = np.array(3.0)
    hvp = lambda f: lambda x: micrograd.hvp(f)(x, np.array(1.0))  # noqa: E731
    jvp = lambda f: lambda x: micrograd.jvp(f, (x,), (np.array(1.0),))  # noqa: E731
    for transform in (gradient, micrograd.value_and_grad, micrograd.jacobian, micrograd.hessian, hvp, jvp):
        found, expected = (list(trees.leaves(transform(g)(x))) for g in (f, POINTS[name]))
        assert {type(part) for part in found} == {np.float64}
        assert found == expected
