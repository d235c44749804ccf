"""The whole training steps as other compilers run them: `torch.compile` and `jax.jit`, one thread each.

The loss, its gradients and the update are one program there, which is the fastest form of each that we found: PyTorch's
parameters are updated in place, JAX's are given to the program (`donate_argnums`) and come back. A first call compiles,
and so falls outside of the measured time.
"""

import os
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from benchmarks.works import tensor_steps

RATE, ALPHA = 0.05, 1e-4  # of the moons
ONE_CPU = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def torchs(data: Any) -> dict[str, Callable[[], float]]:
    """The steps with `torch.compile`."""
    import torch

    torch.set_num_threads(1)
    relu, linear, cross_entropy = torch.relu, torch.nn.functional.linear, torch.nn.functional.cross_entropy

    def step(arrays: list, rate: float, loss_of: Callable) -> Callable[[], float]:
        params = [torch.tensor(a.T.copy()) for a in arrays]
        slopes_and_loss = torch.func.grad_and_value(loss_of)

        @torch.compile(fullgraph=True)
        def program() -> Any:
            slopes, loss = slopes_and_loss(params)
            for p, slope in zip(params, slopes, strict=True):
                p.sub_(rate * slope)
            return loss

        return lambda: program().item()

    return _steps(data, step, torch.tensor, relu, linear, cross_entropy)


def one_thread() -> None:
    """Keep JAX, which is not imported yet, to one thread."""
    os.environ["XLA_FLAGS"] = ONE_CPU
    if hasattr(os, "sched_setaffinity"):  # else its pool has a thread for each core
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def jaxs(data: Any) -> dict[str, Callable[[], float]]:
    """The steps with `jax.jit`."""
    one_thread()
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)  # the moons are float64, the rest stays float32

    def linear(h: Any, w: Any, b: Any) -> Any:
        return h @ w + b

    def cross_entropy(h: Any, labels: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(h), labels[:, None], axis=1).mean()

    def step(arrays: list, rate: float, loss_of: Callable) -> Callable[[], float]:
        def update(params: list) -> Any:
            loss, slopes = jax.value_and_grad(loss_of)(params)
            return [p - rate * slope for p, slope in zip(params, slopes, strict=True)], loss

        program, state = jax.jit(update, donate_argnums=0), [jnp.array(a) for a in arrays]

        def run() -> float:
            state[:], loss = jax.block_until_ready(program(state[:]))
            return float(loss)

        return run

    return _steps(data, step, jnp.array, jax.nn.relu, linear, cross_entropy)


def _steps(
    data: Any, step: Callable, array: Callable, relu: Callable, linear: Callable, cross_entropy: Callable
) -> dict[str, Callable[[], float]]:
    """All steps, in a library's words. `step` makes one of the parameters, the rate and the loss of the parameters."""

    def scores(x: Any, params: list) -> Any:
        return tensor_steps.scores(x, params, linear, relu)

    def tensor_step(batch: int, lengths: tuple[int, ...]) -> Callable[[], float]:
        inputs, classes, layers = tensor_steps.numbers(batch, lengths)
        x, labels, signs = array(inputs), array(classes), array(tensor_steps.signs_of(classes))

        loss_of = tensor_steps.hinge_or(cross_entropy, relu)
        arrays = [a for layer in layers for a in layer]
        return step(arrays, tensor_steps.RATE, lambda params: loss_of(scores(x, params), labels, signs))

    def moons_step() -> Callable[[], float]:
        import numpy as np

        random.seed(1337)
        arrays: list[Any] = []
        for before, after in pairwise((2, 16, 16, 1)):  # drawn as the scalar network draws them
            weights = [[random.uniform(-1, 1) for _ in range(before)] for _ in range(after)]
            arrays += [np.array(weights).T, np.zeros(after)]
        x, y = array(np.array(data["points"])), array(np.array(data["labels"], float))

        def loss(params: list) -> Any:
            return relu(1 - y * scores(x, params)[:, 0]).mean() + ALPHA * sum((p * p).sum() for p in params)

        return step(arrays, RATE, loss)

    sizes = {name: tensor_step(batch, lengths) for name, (batch, lengths, _) in tensor_steps.SIZES.items()}
    return {"step": moons_step()} | sizes
