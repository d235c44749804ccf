"""A training step on tensors: forward, loss, backward, SGD; three sizes, float32, one BLAS thread.

Beside PyTorch, eager, in two ways: both engines as their users write (layers, an optimizer, the loss as an expression),
in the same lines; and both at their leanest. Our leanest also stands beside the same step written out in NumPy, where
gradients are known and no graph is made, and beside what else there is (`make bench-peers`).
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from benchmarks.engines import OTHERS
from benchmarks.table import Goal, Row, times_faster
from benchmarks.work import Figures, Measured, Work, agree, of, timed

RATE = 0.01
SIZES = {  # batch, and the lengths of the layers; how many calls make a batch of the clock
    "100, 2-16-16-1, hinge": (100, (2, 16, 16, 1), 200),
    "64, 784-128-10, cross-entropy": (64, (784, 128, 10), 60),
    "256, 784-512-512-10, cross-entropy": (256, (784, 512, 512, 10), 6),
}
LEANEST, AS_WRITTEN = "leanest", "as users write"
AIMS = {LEANEST: (1.7, 1.15, 1.05), AS_WRITTEN: (2.3, 1.35, 1.1)}
TORCH_GOALS = {(size, way): Goal(AIMS[way][i], AIMS[way][i]) for i, size in enumerate(SIZES) for way in AIMS}
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


def scores(h: Any, params: list, linear: Callable, relu: Callable) -> Any:
    """What the layers make of the inputs, in a library's words."""
    for i in range(0, len(params), 2):
        h = linear(h, params[i], params[i + 1])
        if i + 2 < len(params):
            h = relu(h)
    return h


def hinge_or(cross_entropy: Callable, relu: Callable) -> Callable[[Any, Any, Any], Any]:
    """The loss of scores, as an expression in a library's words: a hinge loss of one column, of more cross-entropy."""

    def loss_of(h: Any, labels: Any, signs: Any) -> Any:
        return relu(1 - h * signs).mean() if h.shape[1] == 1 else cross_entropy(h, labels)

    return loss_of


def as_written(
    layers: list, x: Any, labels: Any, signs: Any, array: Callable, dtype: Any, nn: Any, sgd: Any, cross_entropy: Any
) -> Callable[[], float]:
    """The step in the lines that users of this engine, and those of PyTorch, write."""
    modules = []
    for w, b in layers:
        linear = nn.Linear(*w.shape, dtype=dtype)
        linear.weight.data[...], linear.bias.data[...] = array(w.T), array(b)
        modules += [linear, nn.ReLU()]
    model = nn.Sequential(*modules[:-1])
    optimizer = sgd(model.parameters(), lr=RATE)
    loss_of = hinge_or(cross_entropy, lambda h: h.relu())

    def step() -> float:
        loss = loss_of(model(x), labels, signs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def ours_as_written(inputs: Any, classes: Any, layers: list) -> Callable[[], float]:
    """The step with our layers and optimizer."""
    import numpy as np

    from micrograd import Tensor, nn
    from micrograd.functional import cross_entropy
    from micrograd.optim import SGD

    signs = signs_of(classes)
    return as_written(layers, Tensor(inputs), classes, signs, np.asarray, np.float32, nn, SGD, cross_entropy)


def torchs_as_written(inputs: Any, classes: Any, layers: list) -> Callable[[], float]:
    """The step with PyTorch's."""
    import torch
    from torch.nn.functional import cross_entropy

    torch.set_num_threads(1)
    x, labels, signs = map(torch.tensor, (inputs, classes, signs_of(classes)))
    return as_written(layers, x, labels, signs, torch.tensor, torch.float32, torch.nn, torch.optim.SGD, cross_entropy)


def ours(inputs: Any, classes: Any, layers: list) -> Callable[[], float]:
    """The step with Tensors, at its leanest: a loss of one op, and the update written out."""
    from micrograd import Tensor
    from micrograd.functional import cross_entropy, hinge, linear

    params = [Tensor(p.T, requires_grad=True) for layer in layers for p in layer]
    x, signs = Tensor(inputs), signs_of(classes)

    def step() -> float:
        h = scores(x, params, linear, Tensor.relu)
        loss = hinge(h, signs) if h.shape[1] == 1 else cross_entropy(h, classes)
        for p in params:
            p.grad = None
        loss.backward()
        for p in params:
            p.data -= RATE * p.grad
        return loss.item()

    return step


def torchs(inputs: Any, classes: Any, layers: list) -> Callable[[], float]:
    """The step in PyTorch, at its leanest: gradients that never become a `.grad`, and one update of all parameters."""
    import torch
    from torch.nn.functional import cross_entropy, linear

    torch.set_num_threads(1)
    params = [torch.tensor(p.T.copy(), requires_grad=True) for layer in layers for p in layer]
    x, labels, signs = torch.tensor(inputs), torch.tensor(classes), torch.tensor(signs_of(classes))

    def step() -> float:
        h = scores(x, params, linear, torch.relu)
        loss = (1 - h * signs).relu().mean() if h.shape[1] == 1 else cross_entropy(h, labels)
        slopes = torch.autograd.grad(loss, params)
        with torch.no_grad():
            torch._foreach_add_(params, slopes, alpha=-RATE)
        return loss.item()

    return step


def autograds(inputs: Any, classes: Any, layers: list) -> Callable[[], float]:
    """The step with HIPS autograd."""
    import autograd.numpy as anp
    from autograd import value_and_grad

    params = [p.copy() for layer in layers for p in layer]
    signs, rows = signs_of(classes), anp.arange(len(classes))

    def loss_of(params: list) -> Any:
        h = scores(inputs, params, lambda h, w, b: anp.dot(h, w) + b, lambda h: anp.maximum(h, 0))
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
        h = scores(inputs, params, lambda h, w, b: mg.matmul(h, w) + b, lambda h: mg.maximum(h, 0))
        loss = mg.mean(mg.maximum(1 - h * signs, 0)) if h.shape[1] == 1 else softmax_crossentropy(h, classes)
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
        h = scores(x, params, Tensor.linear, Tensor.relu)
        loss = (1 - h * signs).relu().mean() if h.shape[1] == 1 else h.sparse_categorical_crossentropy(labels)
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


STEPS: dict[str, dict[str, Callable]] = {
    "micrograd": {LEANEST: ours, AS_WRITTEN: ours_as_written},
    "torch": {LEANEST: torchs, AS_WRITTEN: torchs_as_written},
    "numpy": {LEANEST: by_hand},
    "autograd": {LEANEST: autograds},
    "mygrad": {LEANEST: mygrads},
    "tinygrad": {LEANEST: tinygrads},
}
AHEAD = Goal(1, 1)


def measure(engine: str, data: None) -> Iterator[Figures]:
    """Seconds of each step, and the losses of the first five."""
    sizes = [(f"{size}, {way}", size, make) for size in SIZES for way, make in STEPS[engine].items()]
    fewer = 50 if engine == "tinygrad" else 1  # a step of its takes a hundred times as long
    return timed(
        {name: make(*numbers(*SIZES[size][:2])) for name, size, make in sizes},
        {name: max(SIZES[size][-1] // fewer, 2) for name, size, _ in sizes},
    )


def rows(measured: Measured) -> list[Row]:
    """A line for each engine beside ours, size by size."""
    ((collector, engines),) = measured.items()
    lines = []
    for size, way in TORCH_GOALS:
        figures, work = of(engines, f"{size}, {way}"), f"tensor step {size}, {way}"
        agree(figures, 1e-4)  # float32's rounding
        lines.append(times_faster(work, collector, figures, "torch", TORCH_GOALS[size, way]))
        if way == LEANEST:
            lines.append(times_faster(work, collector, figures, "numpy", NUMPY_GOALS[size]))
            lines += [times_faster(work, collector, figures, peer, AHEAD) for peer in OTHERS]
    return lines


WORK = Work("tensor-steps", measure, rows, engines=tuple(STEPS), collectors=("default",), rounds=4, turns=8)
