"""A training step on tensors: forward, loss, backward, SGD; three sizes, float32, one BLAS thread.

Beside PyTorch, eager, beside the same step written out in NumPy, where gradients are known and no graph is made, and
beside what else there is (`make bench-peers`).
"""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from benchmarks.clock import seconds_a_call, warm_up
from benchmarks.engines import OTHERS
from benchmarks.table import Goal, Row, times_faster
from benchmarks.work import Figures, Measured, Work

RATE = 0.01
SIZES = {  # batch, and the lengths of the layers; how many calls make a batch of the clock
    "100, 2-16-16-1, hinge": (100, (2, 16, 16, 1), 200),
    "64, 784-128-10, cross-entropy": (64, (784, 128, 10), 60),
    "256, 784-512-512-10, cross-entropy": (256, (784, 512, 512, 10), 6),
}
TORCH_GOALS = {name: Goal(aim, aim) for name, aim in zip(SIZES, (2.1, 1.1, 0.92), strict=True)}
NUMPY_GOALS = {name: goal and Goal(1 / goal, 1 / goal) for name, goal in zip(SIZES, (None, 1.1, 1.05), strict=True)}


def numbers(batch: int, lengths: tuple[int, ...]) -> tuple[Any, Any, list[tuple[Any, Any]]]:
    """Inputs, classes, and a weight and a bias for each layer; the same for all engines."""
    import numpy as np

    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(batch, lengths[0])).astype(np.float32)
    classes = rng.integers(0, max(lengths[-1], 2), size=batch)
    layers = [
        ((rng.normal(size=pair) / 10).astype(np.float32), np.zeros(pair[1], np.float32)) for pair in pairwise(lengths)
    ]
    return inputs, classes, layers


def ours(inputs: Any, classes: Any, layers: list) -> Callable[[], float]:
    """The step with Tensors."""
    from micrograd import Tensor
    from micrograd.functional import cross_entropy, hinge, linear

    params = [Tensor(p.T, requires_grad=True) for layer in layers for p in layer]
    x, signs = Tensor(inputs), signs_of(classes)

    def step() -> float:
        h = x
        for i in range(0, len(params), 2):
            h = linear(h, params[i], params[i + 1])
            if i + 2 < len(params):
                h = h.relu()
        if h.shape[1] == 1:
            loss = hinge(h, signs)
        else:
            loss = cross_entropy(h, classes)
        for p in params:
            p.grad = None
        loss.backward()
        for p in params:
            p.data -= RATE * p.grad
        return loss.item()

    return step


def torchs(inputs: Any, classes: Any, layers: list) -> Callable[[], float]:
    """The step in PyTorch."""
    import torch

    torch.set_num_threads(1)
    params = [torch.tensor(p.T.copy(), requires_grad=True) for layer in layers for p in layer]
    x, labels, signs = torch.tensor(inputs), torch.tensor(classes), torch.tensor(signs_of(classes))
    optimizer = torch.optim.SGD(params, lr=RATE)

    def step() -> float:
        h = x
        for i in range(0, len(params), 2):
            h = torch.nn.functional.linear(h, params[i], params[i + 1])
            if i + 2 < len(params):
                h = h.relu()
        if h.shape[1] == 1:
            loss = (1 - h * signs).relu().mean()
        else:
            loss = torch.nn.functional.cross_entropy(h, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def autograds(inputs: Any, classes: Any, layers: list) -> Callable[[], float]:
    """The step with HIPS autograd."""
    import autograd.numpy as anp
    from autograd import value_and_grad

    params = [p.copy() for layer in layers for p in layer]
    signs, rows = signs_of(classes), anp.arange(len(classes))

    def loss_of(params: list) -> Any:
        h = inputs
        for i in range(0, len(params), 2):
            h = anp.dot(h, params[i]) + params[i + 1]
            if i + 2 < len(params):
                h = anp.maximum(h, 0)
        if h.shape[1] == 1:
            return anp.mean(anp.maximum(1 - h * signs, 0))
        h = h - anp.max(h, axis=1, keepdims=True)
        return anp.mean(anp.log(anp.sum(anp.exp(h), axis=1)) - h[rows, classes])

    both = value_and_grad(loss_of)

    def step() -> float:
        loss, grads = both(params)
        for p, g in zip(params, grads, strict=True):
            p -= RATE * g
        return float(loss)

    return step


def mygrads(inputs: Any, classes: Any, layers: list) -> Callable[[], float]:
    """The step with MyGrad."""
    import mygrad as mg
    from mygrad.nnet.losses import softmax_crossentropy

    params: list[Any] = [mg.tensor(p) for layer in layers for p in layer]
    signs = signs_of(classes)

    def step() -> float:
        h = inputs
        for i in range(0, len(params), 2):
            h = mg.matmul(h, params[i]) + params[i + 1]
            if i + 2 < len(params):
                h = mg.maximum(h, 0)
        if h.shape[1] == 1:
            loss = mg.mean(mg.maximum(1 - h * signs, 0))
        else:
            loss = softmax_crossentropy(h, classes)
        loss.backward()
        for p in params:
            p.data -= RATE * p.grad
        return loss.item()

    return step


def tinygrads(inputs: Any, classes: Any, layers: list) -> Callable[[], float]:
    """The step with tinygrad, eager."""
    from tinygrad import Context, Tensor
    from tinygrad.nn.optim import SGD

    params = [Tensor(p) for layer in layers for p in layer]
    x, labels, signs = (Tensor(array).is_param_(False) for array in (inputs, classes, signs_of(classes)))
    optimizer = SGD(params, lr=RATE)

    def step() -> float:
        h = x
        for i in range(0, len(params), 2):
            h = h.linear(params[i], params[i + 1])
            if i + 2 < len(params):
                h = h.relu()
        if h.shape[1] == 1:
            loss = (1 - h * signs).relu().mean()
        else:
            loss = h.sparse_categorical_crossentropy(labels)
        optimizer.zero_grad()
        loss.backward()
        value = loss.item()  # before the step: it is computed when asked for
        with Context(TRAINING=1):
            optimizer.step()
        return value

    return step


def by_hand(inputs: Any, classes: Any, layers: list) -> Callable[[], float]:
    """The step in NumPy, gradients written out."""
    import numpy as np

    layers = [[w.copy(), b.copy()] for w, b in layers]
    signs, rows, n = signs_of(classes), np.arange(len(classes)), np.float32(len(classes))

    def step() -> float:
        seen = [inputs]
        for i, (w, b) in enumerate(layers):
            h = seen[-1] @ w
            h += b
            if i + 1 < len(layers):
                np.maximum(h, 0, out=h)
            seen.append(h)
        if h.shape[1] == 1:
            margins = np.maximum(1 - h * signs, 0)
            loss, g = margins.mean(), np.where(margins > 0, -signs / n, 0)
        else:
            h -= h.max(axis=1, keepdims=True)
            e = np.exp(h)
            total = e.sum(axis=1, keepdims=True)
            loss = (np.log(total[:, 0]) - h[rows, classes]).mean()
            e /= total
            e[rows, classes] -= 1
            g = e / n
        for i in reversed(range(len(layers))):
            w, b = layers[i]
            slope_w, slope_b = seen[i].T @ g, g.sum(axis=0)
            if i:
                g = g @ w.T
                g *= seen[i] > 0
            w -= RATE * slope_w
            b -= RATE * slope_b
        return float(loss)

    return step


def signs_of(classes: Any) -> Any:
    """The classes 0 and 1 as a column of -1 and 1."""
    return (2 * classes - 1).astype("float32")[:, None]


STEPS = {
    "micrograd": ours,
    "torch": torchs,
    "numpy": by_hand,
    "autograd": autograds,
    "mygrad": mygrads,
    "tinygrad": tinygrads,
}
AHEAD = Goal(1, 1)


def measure(engine: str, data: None) -> Iterator[Figures]:
    """Seconds of each step, and the losses of the first five."""
    steps = {name: STEPS[engine](*numbers(batch, lengths)) for name, (batch, lengths, _) in SIZES.items()}
    losses = {name: [step() for _ in range(5)] for name, step in steps.items()}
    for step in steps.values():
        warm_up(step)
    while True:
        figures = {}
        for name, (_, _, calls) in SIZES.items():
            few = max(calls // 50, 1) if engine == "tinygrad" else calls  # a step of its takes a hundred times as long
            figures[name] = {"losses": losses[name], "seconds": seconds_a_call(steps[name], few)}
        yield figures


def rows(measured: Measured) -> list[Row]:
    """A line for each engine beside ours, size by size."""
    lines = []
    for collector, engines in measured.items():
        for name in SIZES:
            figures = {engine: [round_[name] for round_ in rounds] for engine, rounds in engines.items()}
            check(name, figures)
            work = f"tensor step {name}"
            lines.append(times_faster(work, collector, figures, "torch", TORCH_GOALS[name]))
            lines.append(times_faster(work, collector, figures, "numpy", NUMPY_GOALS[name]))
            lines += [times_faster(work, collector, figures, peer, AHEAD) for peer in OTHERS]
    return lines


def check(name: str, figures: dict[str, list[Figures]]) -> None:
    """Raise unless all engines see the same losses, to float32's rounding."""
    ours = figures["micrograd"][0]["losses"]
    for engine, rounds in figures.items():
        if not all(math.isclose(a, b, rel_tol=1e-4) for a, b in zip(ours, rounds[0]["losses"], strict=True)):
            raise ArithmeticError(f"{name}: {engine} has losses {rounds[0]['losses']}, ours {ours}")


WORK = Work("tensor-steps", measure, rows, engines=tuple(STEPS), collectors=("default",), rounds=4, turns=8)
