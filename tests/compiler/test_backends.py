"""Back ends: a program is made of one list of operations, and each back end computes what eager mode does."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from compile_helpers import IN_JAX

import micrograd
from micrograd import Value, einsum
from micrograd.nn import Conv2d


@IN_JAX
def test_source_of_jax_is_its_own_notation():
    f = micrograd.compile(lambda x: (x * x).sum(), backend="jax")
    f(np.ones(3))
    assert "f64[3]" in f.source


@IN_JAX
def test_jax_refuses_a_program_of_plain_numbers():
    with pytest.raises(RuntimeError, match=r"backend='jax' is for arrays, found a program of plain numbers.*use auto"):
        micrograd.compile(lambda x: x * x, backend="jax")(Value(2.0))


def test_without_jax_its_backend_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("micrograd.backends.jax.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install jax"):
        micrograd.compile(lambda x: x * x, backend="jax")(np.ones(3))


@IN_JAX
@pytest.mark.parametrize("f", [lambda a: a @ a, lambda a: einsum("ij,kj->ik", a, a), Conv2d(1, 2, 3, dtype=np.float32)])
def test_float32_products_on_jax_are_as_precise_as_float32_unless_asked_otherwise(f: Any):
    from jax import default_matmul_precision  # a GPU would round the operands to TF32, a TPU to bfloat16

    def precisions() -> set[str]:
        compiled = micrograd.compile(f, backend="jax")
        compiled(np.ones((1, 1, 4, 4) if isinstance(f, Conv2d) else (4, 4), np.float32)).sum()
        return set(re.findall(r"precision=(.*)", compiled.source))

    assert precisions() == {"(Precision.HIGHEST, Precision.HIGHEST)"}
    with default_matmul_precision("tensorfloat32"):
        assert precisions() == {"(Precision.HIGH, Precision.HIGH)"}


@IN_JAX
def test_four_devices_compute_what_one_does_with_one_sum_over_them():
    done = subprocess.run([sys.executable, "-c", ON_DEVICES + ON_FOUR], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "done", done.stderr[-3000:]


@IN_JAX
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
            process.communicate()


ON_DEVICES = """
import os, sys
alone = len(sys.argv) == 1
os.environ["JAX_PLATFORMS"] = "cpu"  # also where there is a GPU
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
