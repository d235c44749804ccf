"""Programs of arrays: each op and each layer gives compiled what it gives eagerly, and no result is written over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from compile_helpers import C, first_order, same, squared_gradient
from engine_helpers import at_once
from tensor_helpers import every_op
from tensor_ops_list import Op

import micrograd
from micrograd import Tensor, Value, grad, gradient, hessian, jvp, nn
from micrograd import functional as F
from micrograd.optim import SGD, Adam


@every_op
def test_an_op_is_the_same_compiled(op: Op):
    for dtype, near in ((np.float64, 1e-12), (np.float32, 1e-5)):
        for operands in op.runs(dtype):
            compiled = micrograd.compile(op.call)
            for scale in (1.0, 0.97):  # the second call runs the program of the first
                scaled = [(scale * a).astype(dtype) for a in operands]
                same(first_order(op, compiled, scaled), first_order(op, op.call, scaled), near)
            assert compiled.cache_info()[:2] == (1, 1)


@every_op
def test_an_op_has_the_same_second_derivatives_compiled(op: Op):
    runs = sorted((run for run in op.runs() if all(a.size for a in run)), key=lambda run: run[0].ndim)
    for operands in runs if len(op.shapes[0]) > 1 else runs[-1:]:  # what broadcasts has more to get wrong
        square = squared_gradient(op)
        found, expected = gradient(micrograd.compile(square))(*operands), gradient(square)(*operands)
        same(*(x if isinstance(x, tuple) else [x] for x in (found, expected)), tolerance=1e-11)


# ---------------------------------------------------------------------------------------------------------------------
# Layers, losses, training

LAYERS = {
    "Linear": (lambda rng: nn.Linear(3, 2, rng=rng), (4, 3)),
    "Linear of three axes": (lambda rng: nn.Linear(3, 2, rng=rng), (2, 4, 3)),
    "Linear without a bias": (lambda rng: nn.Linear(3, 2, bias=False, rng=rng), (4, 3)),
    "ReLU": (lambda rng: nn.ReLU(), (4, 3)),
    "Tanh": (lambda rng: nn.Tanh(), (4, 3)),
    "Sigmoid": (lambda rng: nn.Sigmoid(), (4, 3)),
    "GELU": (lambda rng: nn.GELU(), (4, 3)),
    "Flatten": (lambda rng: nn.Flatten(), (4, 3, 2)),
    "Dropout in use": (lambda rng: nn.Dropout(0.5).eval(), (4, 3)),
    "LayerNorm1d": (lambda rng: nn.LayerNorm1d(3), (4, 3)),
    "BatchNorm1d in use": (lambda rng: nn.BatchNorm1d(3).eval(), (4, 3)),
    "MLP": (lambda rng: nn.Sequential(nn.Linear(3, 8, rng=rng), nn.ReLU(), nn.Linear(8, 1, rng=rng)), (5, 3)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_the_same_compiled(name: str):
    make, shape = LAYERS[name]
    rng = np.random.default_rng(0)
    layer, x = make(rng), rng.normal(size=shape)
    for p in layer.parameters():
        p.data = rng.normal(size=p.shape)
    found, expected = (step_of(layer, call, x) for call in (micrograd.compile(lambda x: layer(x)), layer))
    same(found, expected)


def step_of(layer: Any, call: Callable, x: np.ndarray) -> list[Any]:
    layer.zero_grad()
    x_node = Tensor(x, requires_grad=True)
    out = call(x_node)
    (out * np.arange(1.0, out.size + 1).reshape(out.shape)).sum().backward()
    return [out.detach().data, x_node.grad, *(p.grad for p in layer.parameters())]


def test_an_embedding_is_the_same_compiled():
    layer, places = nn.Embedding(5, 3, rng=np.random.default_rng(0)), np.array([[0, 3], [3, 4]])
    f = micrograd.compile(lambda places: layer(places))
    found = []
    for call in (f, layer):
        layer.zero_grad()
        (call(places) ** 3).sum().backward()
        found.append([p.grad for p in layer.parameters()])
    same(*found)


SCORES, SIGNS = (
    np.random.default_rng(1).normal(size=(4, 3)),
    np.array([[1.0, -1, 1], [1, 1, 1], [-1, -1, 1], [1, 1, -1]]),
)
LOSSES = {
    "cross_entropy": lambda x: F.cross_entropy(x, np.array([0, 2, 1, 1])),
    "cross_entropy of an argument": F.cross_entropy,
    "mse": lambda x: F.mse(x, SIGNS),
    "hinge": lambda x: F.hinge(x, SIGNS),
    "bce_with_logits": lambda x: F.bce_with_logits(x, (SIGNS > 0).astype(float)),
    "softmax": lambda x: (F.softmax(x) ** 2).sum(),
    "logsumexp": lambda x: F.logsumexp(x).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_the_same_compiled(name: str):
    loss, more = LOSSES[name], [np.array([0, 2, 1, 1])] if "argument" in name else []
    found = []
    for call in (micrograd.compile(loss), loss):
        x = Tensor(SCORES, requires_grad=True)
        out = call(x, *more)
        out.backward()
        found.append([out.detach().data, x.grad])
    same(*found)


def test_the_greatest_score_of_each_row_is_its_own():
    """A common one would leave nothing of a row whose scores are far below it."""
    scores, classes = np.array([[1000.0, 1001.0], [-1000.0, -999.0]]), np.array([0, 1])
    f = micrograd.compile(lambda x: F.cross_entropy(x, classes) + F.softmax(x).sum() + F.logsumexp(x).sum())
    little = np.log1p(np.exp(-1.0))  # what logsumexp adds to the greatest
    expected = (little + 1 + little) / 2 + 2 + (1001 + little) + (-999 + little)
    assert f(scores).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("optimizer", [lambda p: SGD(p, lr=0.1, momentum=0.9), lambda p: Adam(p, lr=0.01)])
def test_training_on_arrays_compiled_takes_the_same_path(optimizer: Callable):
    taken = []
    for compiled in (False, True):
        rng = np.random.default_rng(0)
        model = nn.Sequential(nn.Linear(3, 8, rng=rng), nn.Tanh(), nn.Linear(8, 3, rng=rng))
        x, classes = rng.normal(size=(10, 3)), rng.integers(0, 3, 10)
        loss_of = lambda x, model=model, classes=classes: F.cross_entropy(model(x), classes)  # noqa: E731
        loss_of = micrograd.compile(loss_of) if compiled else loss_of
        opt = optimizer(model.parameters())
        for _ in range(20):
            opt.zero_grad()
            loss = loss_of(x)
            loss.backward()
            opt.step()
        taken.append([loss.item(), *(p.detach().data for p in model.parameters())])
    same(*taken, tolerance=1e-10)


@pytest.mark.parametrize("backend", ["auto", "numpy", C, "jax"])
@pytest.mark.parametrize(
    "f",
    [
        lambda w, x: (w**3 * x).sum(),
        lambda w, x: (x - w * w).tanh().mean() / x,
        lambda w, x: w.maximum(x) @ (x**w),
        lambda w, x: np.hypot(x, w).sum() * x,
    ],
)
def test_a_number_alone_among_the_arguments_meets_the_tensors_that_are_closed_over(f: Callable, backend: str):
    if backend == "jax":
        pytest.importorskip("jax")
    w = Tensor([1.5, 4.0], requires_grad=True)
    compiled = micrograd.compile(lambda x: f(w, x), backend=backend)
    for x in (2.0, 3):
        pairs = [(compiled(x), f(w, x))]
        for _ in range(2):
            pairs.append(tuple(grad(out.sum(), w, create_graph=True)[0] for out in pairs[-1]))
        for found, expected in pairs:
            np.testing.assert_allclose(found.data, expected.data, rtol=1e-12)


@pytest.mark.parametrize(
    "f", [lambda w, x: (w**3 * x * x).sum(), lambda w, x: (x * (w * w * x).sum(keepdims=True)).exp() + x]
)
@pytest.mark.parametrize(
    "wrap", [lambda f: f, lambda f: lambda x: micrograd.compile(lambda: f(x))()], ids=["passed", "closed over"]
)
def test_a_number_that_is_differentiated_meets_them_too(wrap: Callable, f: Callable):
    w = Tensor([0.5, 0.4], requires_grad=True)
    compiled, eager = wrap(micrograd.compile(lambda x: f(w, x))), lambda x: f(w, x)

    def in_every_way(f: Callable) -> list[Any]:
        answers = [gradient(lambda x: f(x).sum())(0.3), hessian(lambda x: f(x).sum())(0.3), jvp(f, (0.3,), (1.0,))[1]]
        return [*answers, *(grad(x.sum() if isinstance(x, Tensor) else x, w)[0] for x in answers)]

    for found, expected in zip(in_every_way(compiled), in_every_way(eager), strict=True):
        np.testing.assert_allclose(getattr(found, "data", found), getattr(expected, "data", expected), rtol=1e-12)


def test_a_number_and_a_tensor_get_their_gradients_from_one_pass():
    w, x = Tensor([0.5, 0.4], requires_grad=True), Value(3.0)
    f = micrograd.compile(lambda x: (w * w * x).sum(keepdims=True))
    f(x).backward()
    (2 * f(x)).backward()
    assert (type(x.grad), x.grad, w.grad.tolist()) == (float, pytest.approx(3 * 0.41), pytest.approx([9.0, 7.2]))


def test_a_number_for_each_sample_does_not_meet_a_tensor():
    w = Tensor([1.5, 4.0], requires_grad=True)
    with pytest.raises(TypeError, match="unsupported operand"):
        micrograd.compile(lambda x: (w * x).sum(), batch=True)(np.ones(3))


def test_the_gradient_of_an_array_without_axes_is_an_array():
    x = Tensor(np.float32(3), requires_grad=True)
    micrograd.compile(lambda x: x * x)(x).backward()
    assert isinstance(x.grad, np.ndarray)
    assert (x.grad, x.grad.dtype) == (6, np.float32)


@pytest.mark.parametrize("x", [Value(3.0), Tensor([3.0], requires_grad=True)], ids=["value", "tensor"])
def test_a_result_can_be_shown(x: Any):
    assert "<html" in micrograd.compile(lambda x: x * x)(x).show().html


# ---------------------------------------------------------------------------------------------------------------------
# Buffers


def test_a_result_is_not_written_over_by_the_next_call():
    w = Tensor(np.ones((2, 3)), requires_grad=True)
    f = micrograd.compile(
        lambda x: {"scores": (y := (x @ w).tanh()), "row": y[0], "flat": y.reshape(-1), "same": x, "w": w}
    )
    first = f(np.ones((4, 2)))
    kept = {name: x.detach().data.copy() for name, x in first.items()}
    f(np.full((4, 2), 5.0))
    for name, x in first.items():
        np.testing.assert_array_equal(x.detach().data, kept[name])


def test_no_two_results_share_memory_with_each_other_or_with_what_was_given():
    w, x = Tensor(np.ones(3), requires_grad=True), np.ones(3)
    f = micrograd.compile(lambda x: [x, x, x * w, (x * w).reshape(3, 1), w, x + 1])
    arrays = [x, w.detach().data, *(out.detach().data for out in f(x))]
    assert [(i, j) for i, a in enumerate(arrays) for j, b in enumerate(arrays[:i]) if np.shares_memory(a, b)] == []


def test_a_gradient_is_not_written_over_by_the_next_call():
    w = Tensor(np.ones(3), requires_grad=True)
    f = micrograd.compile(lambda x: (w * x * w).sum())
    f(np.ones(3)).backward()
    first, w.grad = w.grad, None
    f(np.full(3, 7.0)).backward()
    assert first.tolist() == [2.0] * 3
    assert not np.shares_memory(first, w.grad)


def test_two_losses_may_be_open_at_once():
    w = Tensor(np.ones(3), requires_grad=True)
    f = micrograd.compile(lambda x: (w * x * x).sum())
    first, second = f(np.ones(3)), f(np.full(3, 2.0))
    second.backward()
    first.backward()
    assert w.grad.tolist() == [5.0] * 3


def test_an_argument_is_never_written_to():
    x = np.ones((3, 3))
    x.flags.writeable = False
    w = Tensor(np.ones((3, 3)), requires_grad=True)
    micrograd.compile(lambda x: ((x + 1).exp() * w - x).tanh().sum())(x).backward()
    assert (w.detach().data == 1).all()


def test_nothing_is_computed_for_inputs_that_need_no_gradient():
    w = Tensor(np.ones((3, 2)), requires_grad=True)
    f = micrograd.compile(lambda x: (x @ w).sum())
    f(np.ones((4, 3)))
    assert f.source.count(" @ ") == 2  # x @ w, and x.T @ g


def test_a_transposed_product_is_the_product_of_the_transposes():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    f = micrograd.compile(lambda a, b: (a @ b).T @ a)
    np.testing.assert_allclose(f(Tensor(a), Tensor(b)).data, (a @ b).T @ a)


def test_what_is_added_to_a_gradient_is_not_written_over_before():
    def f(x: Any) -> Any:
        return (x.cumsum(0).exp() + x[::-1].exp()).sum()

    x = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(gradient(micrograd.compile(lambda x: f(x * 2)))(x), gradient(lambda x: f(x * 2))(x))


def test_sums_over_an_axis_of_a_number_are_as_in_numpy():
    x = Tensor(2.0, requires_grad=True)
    micrograd.compile(lambda x: (x * x).sum(-1, keepdims=True))(x).backward()
    assert x.grad == 4.0


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


def test_a_graph_that_was_walked_is_let_go_unless_it_is_retained():
    w = Tensor([1.0, 2.0], requires_grad=True)
    loss = micrograd.compile(lambda x: (w * x).sum())(np.ones(2))
    loss.backward(retain_graph=True)
    loss.backward()
    with pytest.raises(RuntimeError, match="was released"):
        loss.backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_a_second_pass_over_one_element_of_another_shape_is_summed():
    w = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = micrograd.compile(lambda x: (w * x).sum().reshape(1, 1, 1))(np.array([1.0, 10.0, 100.0]))
    (out * 2).sum().backward()
    assert w.grad.tolist() == [2.0, 20.0, 200.0]


TABLE = np.random.default_rng(0).normal(size=(3, 3))


@pytest.mark.parametrize(
    "function",
    [
        lambda i: Tensor(TABLE)[i],
        lambda i: np.take_along_axis(Tensor(TABLE), i[:, None], 1),
        lambda i: (Tensor(TABLE)[i] * TABLE).mean(),
        lambda i: F.cross_entropy(Tensor(TABLE), i, "none"),
    ],
)
def test_indices_among_the_arguments_select_from_a_constant(function: Any):
    compiled = micrograd.compile(function)
    for index in ([0, 2, 1], [1, 1, 0]):
        same([compiled(np.array(index))], [function(Tensor(np.array(index)))])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shape", [(), (1,), (10_000,), (100, 100)])
def test_a_compiled_mean_is_summed_in_the_dtype_in_which_the_eager_one_is(dtype, shape):
    x = Tensor(np.full(shape, 100, dtype))
    mean = micrograd.compile(lambda x: x.mean())(x)
    assert (mean.item(), mean.dtype) == (x.mean().item(), x.mean().dtype) == (100.0, x.mean().dtype)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * np.prod(np.shape(x)) + np.ndim(x) * np.size(x),
        lambda x: x + np.zeros_like(x) + np.ones_like(x) * np.full_like(x, 2.0),
    ],
)
def test_what_needs_the_shape_alone_needs_no_numbers(function: Any):
    x = np.arange(6.0).reshape(2, 3)
    assert micrograd.compile(function)(x).tolist() == function(Tensor(x)).tolist()
