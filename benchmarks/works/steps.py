"""A training step on arrays: forward, loss, backward, SGD; as each engine does it, on one thread.

What is trained, and on what, is a `Task`; it gives the loss as an expression in a library's words, and each engine adds
how gradients are had there and parameters updated. Each function here returns the step, which returns the loss.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Step = Callable[[], float]


@dataclass(frozen=True)
class Task:
    """Inputs, classes, and the arrays that training begins with: a weight (inputs, outputs) and a bias a layer."""

    inputs: Any
    classes: Any  # 0 and 1 for the hinge loss of one column; of more columns the loss is cross-entropy
    arrays: list[Any]
    rate: float = 0.01
    alpha: float = 0.0  # of the sum of squares that is added to the loss

    @property
    def signs(self) -> Any:
        """The classes 0 and 1 as a column of -1 and 1."""
        return (2 * self.classes - 1).astype(self.inputs.dtype)[:, None]

    def loss(
        self, array: Callable, linear: Callable, relu: Callable, cross_entropy: Callable, hinge: Any = None
    ) -> Any:
        """The loss in a library's words, as a function of the parameters and the inputs."""
        known, labels, signs, alpha = *map(array, (self.inputs, self.classes, self.signs)), self.alpha
        hinge = hinge or (lambda h, signs: relu(1 - h * signs).mean())

        def loss_of(params: list, h: Any = known) -> Any:
            for i in range(0, len(params), 2):
                h = linear(relu(h) if i else h, params[i], params[i + 1])
            loss = hinge(h, signs) if h.shape[1] == 1 else cross_entropy(h, labels)
            return loss + alpha * squares(params) if alpha else loss

        return loss_of


def squares(params: Any) -> Any:
    """The sum of the squares of all parameters, in a library's words."""
    return sum((p * p).sum() for p in params)


def random_task(batch: int, lengths: Sequence[int]) -> Task:
    """Random inputs and classes in float32, the same for all engines."""
    import numpy as np

    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(batch, lengths[0])).astype(np.float32)
    classes = rng.integers(0, max(lengths[-1], 2), size=batch)
    arrays: list[Any] = []
    for pair in pairwise(lengths):
        arrays += [(rng.normal(size=pair) / 10).astype(np.float32), np.zeros(pair[1], np.float32)]
    return Task(inputs, classes, arrays)


# ---- as users write it, and at its leanest


def as_written(task: Task, x: Any, array: Callable, nn: Any, sgd: Any, cross_entropy: Callable) -> Step:
    """The step in the lines that users of this engine, and those of PyTorch, write."""
    modules = []
    for w, b in zip(task.arrays[::2], task.arrays[1::2], strict=True):
        linear = nn.Linear(*w.shape, dtype=x.dtype)
        linear.weight.data[...], linear.bias.data[...] = array(w.T), array(b)
        modules += [linear, nn.ReLU()]
    model = nn.Sequential(*modules[:-1])
    optimizer = sgd(model.parameters(), lr=task.rate)
    labels, signs = array(task.classes), array(task.signs)

    def step() -> float:
        h = model(x)
        loss = (1 - h * signs).relu().mean() if h.shape[1] == 1 else cross_entropy(h, labels)
        if task.alpha:
            loss = loss + task.alpha * squares(model.parameters())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def ours_as_written(task: Task) -> Step:
    """With our layers and optimizer."""
    import numpy as np

    from micrograd import Tensor, nn
    from micrograd.functional import cross_entropy
    from micrograd.optim import SGD

    return as_written(task, Tensor(task.inputs), np.asarray, nn, SGD, cross_entropy)


def torchs_as_written(task: Task) -> Step:
    """With PyTorch's."""
    import torch

    torch.set_num_threads(1)
    cross_entropy = torch.nn.functional.cross_entropy
    return as_written(task, torch.tensor(task.inputs), torch.tensor, torch.nn, torch.optim.SGD, cross_entropy)


def ours(task: Task) -> Step:
    """With Tensors: a loss of one op, and the update written out."""
    import numpy as np

    from micrograd import Tensor
    from micrograd.functional import cross_entropy, hinge, linear

    params, x = [Tensor(a.T, requires_grad=True) for a in task.arrays], Tensor(task.inputs)
    loss_of = task.loss(np.asarray, linear, Tensor.relu, cross_entropy, hinge)

    def step() -> float:
        loss = loss_of(params, x)
        for p in params:
            p.grad = None
        loss.backward()
        for p in params:
            p.data -= task.rate * p.grad
        return loss.item()

    return step


def torchs(task: Task) -> Step:
    """In PyTorch: gradients that never become a `.grad`, and one update of all parameters."""
    import torch
    from torch.nn.functional import cross_entropy, linear

    torch.set_num_threads(1)
    params = [torch.tensor(a.T.copy(), requires_grad=True) for a in task.arrays]
    loss_of = task.loss(torch.tensor, linear, torch.relu, cross_entropy)

    def step() -> float:
        loss = loss_of(params)
        slopes = torch.autograd.grad(loss, params)
        with torch.no_grad():
            torch._foreach_add_(params, slopes, alpha=-task.rate)
        return loss.item()

    return step


# ---- what else there is


def autograds(task: Task) -> Step:
    """With HIPS autograd."""
    import autograd.numpy as anp
    from autograd import value_and_grad

    rows, params = anp.arange(len(task.classes)), [a.copy() for a in task.arrays]

    def cross_entropy(h: Any, labels: Any) -> Any:
        h = h - anp.max(h, axis=1, keepdims=True)
        return anp.mean(anp.log(anp.sum(anp.exp(h), axis=1)) - h[rows, labels])

    loss_of = task.loss(anp.asarray, lambda h, w, b: anp.dot(h, w) + b, lambda h: anp.maximum(h, 0), cross_entropy)
    both = value_and_grad(loss_of)

    def step() -> float:
        loss, slopes = both(params)
        for p, slope in zip(params, slopes, strict=True):
            p -= task.rate * slope
        return float(loss)

    return step


def mygrads(task: Task) -> Step:
    """With MyGrad."""
    import mygrad as mg
    import numpy as np
    from mygrad.nnet.losses import softmax_crossentropy

    params: list[Any] = [mg.tensor(a) for a in task.arrays]
    loss_of = task.loss(
        np.asarray, lambda h, w, b: mg.matmul(h, w) + b, lambda h: mg.maximum(h, 0), softmax_crossentropy
    )

    def step() -> float:
        loss = loss_of(params)
        loss.backward()
        for p in params:
            p.data -= task.rate * p.grad
        return loss.item()

    return step


def tinygrads(task: Task) -> Step:
    """With tinygrad, eager."""
    from tinygrad import Context, Tensor
    from tinygrad.nn.optim import SGD

    params = [Tensor(a) for a in task.arrays]
    constant = lambda array: Tensor(array).is_param_(False)  # noqa: E731
    loss_of = task.loss(constant, Tensor.linear, Tensor.relu, Tensor.sparse_categorical_crossentropy)
    optimizer = SGD(params, lr=task.rate)

    def step() -> float:
        loss = loss_of(params)
        optimizer.zero_grad()
        loss.backward()
        value = loss.item()  # before the step: it is computed when asked for
        with Context(TRAINING=1):
            optimizer.step()
        return value

    return step


def gradients_by_hand(task: Task, params: list) -> Callable[[], tuple[float, list]]:
    """The loss and its gradients in NumPy, written out, for parameters that are arrays and may change."""
    import numpy as np

    signs, rows, n = task.signs, np.arange(len(task.classes)), task.inputs.dtype.type(len(task.classes))
    layers = list(zip(params[::2], params[1::2], strict=True))
    slopes, backwards = [*params], range(len(layers) - 1, -1, -1)
    pull, decay = -signs / n, 2 * task.alpha

    def both() -> tuple[float, list]:
        seen = [task.inputs]
        for i, (w, b) in enumerate(layers):
            h = seen[-1] @ w
            h += b
            if i + 1 < len(layers):
                np.maximum(h, 0, out=h)
            seen.append(h)
        if h.shape[1] == 1:
            margins = np.maximum(1 - h * signs, 0)
            loss, g = margins.mean(), np.where(margins > 0, pull, 0)
        else:
            h -= h.max(axis=1, keepdims=True)
            e = np.exp(h)
            total = e.sum(axis=1, keepdims=True)
            loss = (np.log(total[:, 0]) - h[rows, task.classes]).mean()
            e /= total
            e[rows, task.classes] -= 1
            g = e / n
        for i in backwards:
            w, b = layers[i]
            slope_w, slope_b = seen[i].T @ g, g.sum(axis=0)
            if i:
                g = g @ w.T
                g *= seen[i] > 0
            if decay:
                slope_w += decay * w
                slope_b += decay * b
            slopes[2 * i : 2 * i + 2] = slope_w, slope_b
        if decay:
            loss += task.alpha * squares(params)
        return float(loss), slopes

    return both


def by_hand(task: Task) -> Step:
    """The step in NumPy, gradients written out."""
    params, rate = [a.copy() for a in task.arrays], task.rate
    both = gradients_by_hand(task, params)

    def step() -> float:
        loss, slopes = both()
        for p, slope in zip(params, slopes, strict=True):
            p -= rate * slope
        return loss

    return step


# ---- compiled: loss, gradients and update are one program, which a first call makes


def ours_compiled(task: Task, backend: str = "auto") -> Step:
    """The step with `micrograd.compile`; the inputs are its argument."""
    import numpy as np

    import micrograd
    from micrograd import Tensor
    from micrograd.functional import cross_entropy, linear
    from micrograd.optim import SGD

    params = [Tensor(a.T, requires_grad=True) for a in task.arrays]
    loss_of = task.loss(np.asarray, linear, Tensor.relu, cross_entropy)
    step = micrograd.compile(lambda x: loss_of(params, x), update=SGD(params, lr=task.rate), backend=backend)
    return lambda: step(task.inputs).item()


def torchs_compiled(task: Task) -> Step:
    """The step with `torch.compile`, which updates the parameters in place: the fastest form that we found."""
    import torch
    from torch.nn.functional import cross_entropy, linear

    torch.set_num_threads(1)
    params = [torch.tensor(a.T.copy()) for a in task.arrays]
    both = torch.func.grad_and_value(task.loss(torch.tensor, linear, torch.relu, cross_entropy))

    @torch.compile(fullgraph=True)
    def program() -> Any:
        slopes, loss = both(params)
        for p, slope in zip(params, slopes, strict=True):
            p.sub_(task.rate * slope)
        return loss

    return lambda: program().item()


def jaxs(task: Task) -> Step:
    """The step with `jax.jit`, to which the parameters are given (`donate_argnums`) and from which they come back."""
    one_thread()
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)  # the moons are float64, the rest stays float32

    def cross_entropy(h: Any, labels: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(h), labels[:, None], axis=1).mean()

    loss_of = task.loss(jnp.array, lambda h, w, b: h @ w + b, jax.nn.relu, cross_entropy)

    def update(params: list) -> Any:
        loss, slopes = jax.value_and_grad(loss_of)(params)
        return [p - task.rate * slope for p, slope in zip(params, slopes, strict=True)], loss

    program, params = jax.jit(update, donate_argnums=0), [jnp.array(a) for a in task.arrays]

    def step() -> float:
        params[:], loss = jax.block_until_ready(program(params[:]))
        return float(loss)

    return step


def one_thread() -> None:
    """Keep JAX, which is not imported yet, to one thread."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if hasattr(os, "sched_setaffinity"):  # else its pool has a thread for each core
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
