"""`save(f, "model.onnx")`: onnxruntime computes what the compiled function does; what is refused changes no file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled_functions import FUNCTIONS
from demo_helpers import demo_module
from tensor_helpers import every_op
from tensor_ops_list import Op

import micrograd
from micrograd import Value, functional, nn, no_grad, save
from micrograd.common import trees
from micrograd.functional import cross_entropy
from micrograd.optim import SGD, Adam, AdamW

pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(1)
NO_FORM = {"arctan2", "sort", "sort:0", "sort:None", "pad:median"}  # ONNX has no op of these names


def compiled(fn: Callable, *calls: tuple[Any, ...], **settings: Any) -> Any:
    """The function, compiled, and called with each of these arguments."""
    f = micrograd.compile(fn, **settings)
    with no_grad():
        for args in calls:
            f(*args)
    return f


def session(f: Any, path: Path, dtype: Any = None) -> Any:
    save(f, path, dtype)
    return ort.InferenceSession(path, providers=["CPUExecutionProvider"])


def run(found: Any, *args: Any) -> list[np.ndarray]:
    """What onnxruntime computes of these arguments, in the order of the inputs."""
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
    pairs = zip(found.get_inputs(), args, strict=True)
    return found.run(None, {x.name: np.asarray(arg, kinds[x.type]) for x, arg in pairs})


def agree(f: Any, found: Any, *args: Any, rtol: float = 1e-5, atol: float = 2e-6) -> None:
    with no_grad():
        ours = f(*args)
    for a, b in zip(trees.leaves(ours), run(found, *args), strict=True):
        assert b.shape == np.shape(a.data)
        np.testing.assert_allclose(b, a.data, rtol=rtol, atol=atol)


def mlp() -> Any:
    return nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 4))


def digits() -> Any:
    """The convolutional network of the demo, with fewer filters."""
    return nn.Sequential(
        lambda images: images.reshape(-1, 1, 8, 8),
        nn.Conv2d(1, 4, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 3, 3, stride=2),
        nn.Flatten(),
        nn.Linear(3, 10),
    )


def norms() -> Any:
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.GELU(), nn.LayerNorm1d(8), nn.Sigmoid(), nn.RMSNorm(8))
    for _ in range(3):
        model(RNG.normal(size=(20, 6)))
    return model.eval()


def gpt() -> Any:
    return demo_module("microgpt").TensorGPT(16, 4, 2, RNG)


def reals(*shape: int) -> Callable[[int], np.ndarray]:
    return lambda n: RNG.normal(size=(n, *shape))


NETWORKS = {
    "an MLP": (mlp, reals(12)),
    "digits in windows": (digits, reals(64)),
    "norms, in eval": (norms, reals(6)),
    "a tiny GPT": (gpt, lambda n: RNG.integers(0, 27, size=(n, 12))),
}
every_network = pytest.mark.parametrize(("make", "batch"), NETWORKS.values(), ids=NETWORKS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@every_network
def test_onnx_of_two_batch_sizes_computes_what_the_network_does_for_any(make, batch, dtype, tmp_path):
    f = compiled(make(), (batch(3),), (batch(5),))
    found = session(f, tmp_path / "model.onnx", dtype)
    assert found.get_inputs()[0].shape[0] == found.get_outputs()[0].shape[0] == "batch"
    for n in (1, 3, 8):
        agree(f, found, batch(n), **{"rtol": 0, "atol": 1e-13} if dtype == np.float64 else {})


@every_op
def test_every_op_is_as_in_onnxruntime_or_is_named(op: Op):
    """For all of its operands, in one file."""
    runs = [*op.runs(np.float32)]
    given, ends = [a for run in runs for a in run], np.cumsum([*map(len, runs)]).tolist()
    with np.errstate(all="ignore"):
        f = compiled(lambda *xs: [op.call(*xs[i:j]) for i, j in pairwise([0, *ends])], given)
        if op.name in NO_FORM:
            name = "arctan2" if op.name == "arctan2" else "argsort"
            with pytest.raises(RuntimeError, match=rf"no form of the operation '{name}'"):
                f.to_onnx()
            return
        found = ort.InferenceSession(f.to_onnx(), providers=["CPUExecutionProvider"])
        theirs = found.run(None, {x.name: given[int(x.name[1:])] for x in found.get_inputs()})  # some take no part
        with no_grad():
            ours = f(*given)
    for a, b in zip(trees.leaves(ours), theirs, strict=True):
        assert b.shape == np.shape(a.data)
        np.testing.assert_allclose(b, a.data, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_of_arrays_is_as_in_onnxruntime(name):
    call, arrays = FUNCTIONS[name]
    f = micrograd.compile(call)
    f(*arrays)
    found = ort.InferenceSession(f.to_onnx(np.float64), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(run(found, *arrays)[0], f(*arrays).detach().data, rtol=1e-12)


def test_integers_and_results_of_no_elements_are_as_in_onnxruntime():
    def f(a, b):
        return [a % b, b % a, a // b, b // a, a // 2, a[:0], b * 1.0 % 3]

    a, b = np.array([-7, -1, 3, 2**40 + 1]), np.array([2, -3, 5, -2])
    g = compiled(f, (a, b))
    for dtype in (np.float32, np.float64):
        found = run(ort.InferenceSession(g.to_onnx(dtype)), a, b)
        for ours, theirs in zip(g(a, b), found, strict=True):
            assert theirs.dtype == (dtype if ours.dtype == float else ours.dtype)
            np.testing.assert_allclose(theirs, ours.data, rtol=1e-6 if ours.dtype == float else 0)


# ---- numbers


def test_network_of_numbers_is_3_kb_and_takes_any_batch(tmp_path):
    net = nn.MLP(2, [16, 16, 1])
    f = compiled(lambda x: net(x), (RNG.normal(size=(100, 2)),), (RNG.normal(size=(50, 2)),), batch=True)
    found = session(f, tmp_path / "moons.onnx")
    assert found.get_inputs()[0].shape == ["batch", 2]
    assert (tmp_path / "moons.onnx").stat().st_size < 4000
    for n in (1, 7, 100):
        agree(f, found, RNG.normal(size=(n, 2)))


@pytest.mark.parametrize("size", [1, 30], ids=["straight-line", "levels"])
def test_arrays_seen_as_numbers_are_one_input(size, tmp_path):
    net = nn.MLP(2, [12, 12, 1])
    x = RNG.normal(size=(size, 2))
    f = compiled(lambda xs: [net(x) for x in xs], (x,), scalars=True)
    assert f.program.built.vector == (size == 30)
    found = session(f, tmp_path / "model.onnx")
    assert [x.shape for x in found.get_inputs()] == [[size, 2]]
    agree(f, found, x)


def test_numbers_are_separate_inputs(tmp_path):
    w = Value(3.0)
    f = compiled(lambda x, output: [w * x + output, x.exp()], (2.0, 0.5))
    found = session(f, tmp_path / "model.onnx")
    assert [x.name for x in found.get_inputs()] == ["x", "output"]
    agree(f, found, 2.0, 0.5)


def test_onnx_has_the_parameters_of_the_moment(tmp_path):
    w = Value(3.0)
    f = compiled(lambda x: w * x, (2.0,))
    w.data = 5.0
    assert run(session(f, tmp_path / "model.onnx"), 2.0) == [10.0]


def test_onnx_has_fixed_sizes_where_the_batch_decides_more_than_an_axis(tmp_path):
    f = compiled(lambda x: x @ x.T + np.arange(x.shape[0]) ** 2, (RNG.normal(size=(3, 4)),), (RNG.normal(size=(5, 4)),))
    assert session(f, tmp_path / "model.onnx").get_inputs()[0].shape == [5, 4]


def test_numbers_of_the_rows_follow_the_batch(tmp_path):
    f = compiled(lambda x: x @ x.T + np.arange(len(x)), (RNG.normal(size=(3, 4)),), (RNG.normal(size=(5, 4)),))
    agree(f, session(f, tmp_path / "model.onnx"), RNG.normal(size=(6, 4)))


def test_calls_with_another_number_of_axes_do_not_count_as_another_size(tmp_path):
    f = compiled(lambda x: x * 2.0, (np.ones((3, 4)),), (np.ones(5),))
    assert session(f, tmp_path / "model.onnx").get_inputs()[0].shape == [5]


def test_number_too_large_for_float32_stays_finite(tmp_path):
    f = compiled(lambda x: np.maximum(x, -1e300) + np.array([0.0, -np.inf]), (np.ones(2),))
    assert run(session(f, tmp_path / "model.onnx"), np.full(2, -np.inf))[0].tolist() == [np.finfo("f4").min, -np.inf]


# ---- training steps, and gradients

OPTIMIZERS = {
    "SGD": lambda p: SGD(p, lr=0.1),
    "momentum": lambda p: SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: Adam(p, lr=0.01),
    "AdamW": lambda p: AdamW(p, lr=0.01),
}


def classifier(optimizer: Any) -> tuple[Any, list[Any]]:
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    step = micrograd.compile(lambda x, y: cross_entropy(model(x), y), update=optimizer(model.parameters()))
    return step, [RNG.normal(size=(16, 6)), np.arange(16) % 3]


def neurons(optimizer: Any) -> tuple[Any, list[Any]]:
    model = nn.MLP(2, [3, 1], activation="tanh")
    step = micrograd.compile(lambda x, y: (model(x) - y) ** 2, update=optimizer(model.parameters()))
    return step, [[0.5, -1.0], 1.0]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("make", [classifier, neurons])
def test_hundred_steps_of_training_give_the_same_losses(make: Any, name: str, tmp_path: Path):
    step, args = make(OPTIMIZERS[name])
    step(*args)
    found, state = session(step, tmp_path / "step.onnx"), step.state()
    results = [x.name for x in found.get_outputs()]
    rest = [x.name for x in found.get_inputs() if x.name not in state]
    given = dict(zip(rest, trees.leaves(args), strict=True))
    kinds = {x.name: np.int64 if "int" in x.type else np.float32 for x in found.get_inputs()}
    for _ in range(100):
        feed = {key: np.asarray(x, kinds[key]) for key, x in (given | state).items()}
        out = dict(zip(results, found.run(None, feed), strict=True))
        assert out.pop("output") == pytest.approx(
            step(*args).item(), rel=1e-3, abs=1e-5
        )  # Adam's 1 - 0.999**t has four digits
        assert {key.removeprefix("next_") for key in out} == state.keys() - {"lr"}
        state |= {key.removeprefix("next_"): x for key, x in out.items()}
    ours = step.state()
    for key in state:
        np.testing.assert_allclose(state[key], ours[key], rtol=1e-2, atol=1e-3)


def test_learning_rate_of_a_saved_step_is_an_input(tmp_path: Path):
    step, args = classifier(OPTIMIZERS["SGD"])
    step(*args)
    found, state = session(step, tmp_path / "step.onnx"), step.state() | {"lr": 0.0}
    feed = {key: np.asarray(x, np.float32) for key, x in state.items()} | {"x": np.float32(args[0]), "y": args[1]}
    _, *after = found.run(None, feed)
    for key, x in zip([x.name for x in found.get_outputs()][1:], after, strict=True):
        np.testing.assert_array_equal(x, feed[key.removeprefix("next_")])


class Words(nn.Module):
    """Reads pairs of letters, whose rows in a table get a gradient each."""

    def __init__(self) -> None:
        self.table, self.decide = nn.Embedding(5, 4), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.decide(self.table(x).reshape(-1, 8))


def hidden(*more: Any) -> Any:
    return nn.Sequential(nn.Linear(2, 4), *more, nn.ReLU(), nn.Linear(4, 3))


def points(n: int) -> np.ndarray:
    return RNG.normal(size=(n, 2))


def answers(n: int) -> np.ndarray:
    return RNG.normal(size=(n, 3))


def kinds(n: int) -> np.ndarray:
    return np.arange(n) % 3


def twice_a_quarter(out: Any, y: Any) -> Any:
    return (out * 0.25).sum() + (out - y).exp().sum(1).mean()  # of 4 samples, 1/n is a quarter too


BATCHES: dict[str, tuple[Any, Any, Any, Any]] = {  # a network, a loss, and a batch of n inputs and targets
    "sum": (hidden, lambda out, y: ((out - y) ** 2).sum(), points, answers),
    "mse": (hidden, functional.mse, points, answers),
    "hinge": (hidden, functional.hinge, points, lambda n: np.sign(answers(n))),
    "bce": (hidden, functional.bce_with_logits, points, lambda n: (answers(n) > 0) * 1.0),
    "cross-entropy": (hidden, cross_entropy, points, kinds),
    "layer norm": (lambda: hidden(nn.LayerNorm1d(4)), cross_entropy, points, kinds),
    "a table": (Words, cross_entropy, lambda n: RNG.integers(0, 5, (n, 2)), kinds),
    "a mean of means": (hidden, lambda out, y: ((out.mean(0) - y.mean(0)) ** 2).mean(), points, answers),
    "a number that is 1/n by chance": (hidden, twice_a_quarter, points, answers),
    "a variance": (hidden, lambda out, y: (out - y).var(0).sum(), points, answers),
    "a standard deviation": (hidden, lambda out, y: (out - y).std(0).sum(), points, answers),
    "a sum, over the square of the size": (hidden, lambda out, y: (out - y).sum() ** 2 / len(y) ** 2, points, answers),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BATCHES)
def test_step_that_was_called_with_two_batch_sizes_trains_with_any(name: str, dtype: Any, tmp_path: Path):
    network, loss, inputs, targets = BATCHES[name]
    model = network()
    step = micrograd.compile(lambda x, y: loss(model(x), y), update=SGD(model.parameters(), lr=0.1))
    step(inputs(7), targets(7))
    step(inputs(4), targets(4))
    found = session(step, tmp_path / "step.onnx", dtype)
    assert {x.name: x.shape for x in found.get_inputs()}["x"] == ["batch", 2]
    for n in (2, 7, 30):
        state, x, y = step.state(), inputs(n), targets(n)
        types = {x.name: np.int64 if "int" in x.type else np.dtype(dtype) for x in found.get_inputs()}
        feed = {key: np.asarray(a, types[key]) for key, a in (state | {"x": x, "y": y}).items()}
        out, *after = found.run(None, feed)
        assert out == pytest.approx(step(x, y).item(), rel=1e-4, abs=1e-6)
        for result, a in zip(found.get_outputs()[1:], after, strict=True):
            np.testing.assert_allclose(a, step.state()[result.name.removeprefix("next_")], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "loss",
    [
        lambda out, y: (out - y).var(0, ddof=1).sum(),  # 1 / (n - 1)
        lambda out, y: (out - y).sum() / np.sqrt(len(y)),
        lambda out, y: ((out - y) * np.linspace(0, 1, len(y))[:, None]).sum(),
    ],
)
def test_size_stays_fixed_where_a_constant_depends_on_it_in_another_way(loss: Any, tmp_path: Path):
    model = hidden()
    step = micrograd.compile(lambda x, y: loss(model(x), y), update=SGD(model.parameters(), lr=0.01))
    for n in (4, 7):
        step(points(n), answers(n))
    found = session(step, tmp_path / "step.onnx")
    assert {x.name: x.shape for x in found.get_inputs()}["x"] == [7, 2]


def test_state_of_a_function_without_update_is_empty():
    assert compiled(_twice, (X,)).state() == {}


def test_gradient_of_a_network_is_a_program_too(tmp_path: Path):
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    forces = compiled(micrograd.value_and_grad(lambda x: model(x).sum()), (np.zeros(6),))
    agree(forces, session(forces, tmp_path / "forces.onnx"), RNG.normal(size=6))


# ---- what is refused leaves no file, or the one before


def _twice(x: Any) -> Any:
    return x * 2.0


def _updating() -> Any:
    class Own(SGD):
        def step(self) -> None:
            super().step()

    model = mlp()
    f = micrograd.compile(lambda x: (model(x) ** 2).sum(), update=Own(model.parameters(), lr=0.1))
    f(np.ones((2, 12)))
    return f


def _replaced() -> Any:
    model = norms()
    f = compiled(model, (np.ones((3, 6)),))
    model.train()
    return f


X = np.ones(3)
REFUSED = {
    "an op without a form": (lambda: compiled(np.arctan2, (X, X)), "m.onnx", None, RuntimeError, "'arctan2'"),
    "no call yet": (lambda: micrograd.compile(_twice), "m.onnx", None, RuntimeError, "call the function once"),
    "a dtype that ONNX lacks": (
        lambda: compiled(lambda x: (x > 0).max(), (X,)),
        "m.onnx",
        None,
        RuntimeError,
        "astype.*ReduceMax",
    ),
    "no node": (lambda: compiled(lambda x: np.shape(x), (X,)), "m.onnx", None, RuntimeError, "returns no node"),
    "a step in Python": (_updating, "m.onnx", None, TypeError, "takes its own step in Python"),
    "a stale trace": (_replaced, "m.onnx", None, RuntimeError, "call it again"),
    "another dtype": (lambda: compiled(_twice, (X,)), "m.onnx", np.float16, ValueError, "float32 or float64"),
    "another ending": (lambda: compiled(_twice, (X,)), "m.safetensors", None, ValueError, "saved as .onnx"),
    "no function": (mlp, "m.onnx", None, ValueError, r"compile\(\)"),
    "weights in a dtype": (mlp, "m.safetensors", np.float32, TypeError, "for .onnx files"),
}


@pytest.mark.parametrize(("make", "name", "dtype", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_onnx_that_is_refused_changes_no_file(make, name, dtype, error, words, tmp_path):
    (tmp_path / name).write_text("before")
    with pytest.raises(error, match=words):
        save(make(), tmp_path / name, dtype)
    assert [(x.name, x.read_text()) for x in tmp_path.iterdir()] == [(name, "before")]


def test_without_the_package_it_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install onnx"):
        save(compiled(_twice, (X,)), tmp_path / "m.onnx")
    assert not [*tmp_path.iterdir()]
