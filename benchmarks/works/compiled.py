"""`compile` beside what it compiles, beside what one would write by hand, and beside PyTorch and JAX.

moons     forward and backward of the scalar network, every `p.data` read and every `p.grad` written
step      the same with zero_grad and the update: a whole training step
update    that step in one call: `compile(loss, update=optimizer)`
readme    the ten lines of the README: numbers in and out, and through `loss.backward()`
tensors   the steps of `tensor_steps`, compiled
"""

import os
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from benchmarks.engines import COMPILERS
from benchmarks.table import Goal, Row, times_as_long, times_faster
from benchmarks.work import Figures, Measured, Work, agree, of, timed
from benchmarks.works import jitted, moons, readme_graph, tensor_steps

ALPHA, RATE, SIZES = jitted.ALPHA, jitted.RATE, (2, 16, 16, 1)
AT_MOST = {"moons": Goal(2, 3, more_is_better=False), "readme": Goal(1.2, 2, more_is_better=False)}
ONE_CALL = {"torch": Goal(2.5, 2), "torch-compiled": Goal(1, 0.5), "jax": Goal(1, 0.5)}
TORCH_AND_JAX = ("torch", *COMPILERS)
SMALLEST, *LARGER = tensor_steps.SIZES
TENSOR_GOALS = {SMALLEST: {"torch": Goal(3.5, 3.5), "jax": Goal(1.2, 1.2)}}
TENSOR_GOALS |= {size: {"torch": Goal(x, x)} for size, x in zip(LARGER, (1.25, 0.92), strict=True)}
# "auto" is Python for the README's graph, and NumPy for the rest; JAX takes no programs of plain numbers
ON = {
    "python": ("moons", "update"),
    "numpy": ("readme",),
    "c": ("moons", "update", "readme", SMALLEST),
    "jax": ("moons", "update", *tensor_steps.SIZES),
}
IN_C = {"torch-compiled": Goal(4, 3), "jax": Goal(3, 2)}


def loss_of(model: Any, points: Any, labels: Any) -> Any:
    """The classic notebook's loss."""
    scores = list(map(model, points))
    losses = [(1 + -yi * scorei).relu() for yi, scorei in zip(labels, scores, strict=True)]
    return sum(losses) * (1.0 / len(losses)) + ALPHA * sum(p * p for p in model.parameters())


def network() -> Any:
    """The classic notebook's model, with the weights that all engines begin with."""
    from micrograd.nn import MLP

    random.seed(1337)
    return MLP(2, [16, 16, 1])


# ---- each gives the functions to time, by the name of the work; a function gives a number to compare


def compiled(data: Any, backend: str = "auto") -> dict[str, Callable[[], float]]:
    """Everything, compiled."""
    import numpy as np

    import micrograd
    from micrograd import Value
    from micrograd.optim import SGD

    model, points, labels = network(), np.array(data["points"]), np.array(data["labels"])
    opt = SGD(model.parameters(), lr=RATE)
    loss = micrograd.compile(lambda x, y: loss_of(model, x, y), scalars=True, backend=backend)
    graph = micrograd.compile(readme_graph.expression, backend=backend)
    both = micrograd.value_and_grad(graph)

    def forward_and_backward() -> float:
        out = loss(points, labels)
        out.backward()
        return out.data

    def step() -> float:
        opt.zero_grad()
        out = loss(points, labels)
        out.backward()
        opt.step()
        return out.data

    def through_backward() -> float:
        a, b = Value(-4.0), Value(2.0)
        graph(a, b).backward()
        return a.grad

    twin = network()
    update = SGD(twin.parameters(), lr=RATE)
    whole = micrograd.compile(lambda x, y: loss_of(twin, x, y), scalars=True, update=update, backend=backend)
    works = {"moons": forward_and_backward, "step": step, "readme": lambda: both(-4.0, 2.0)[1][0]}
    works["update"] = lambda: whole(points, labels).data
    return (
        works
        | {"readme backward": through_backward}
        | {size: tensor_step(size, backend) for size in tensor_steps.SIZES}
    )


def on(backend: str) -> Callable[[Any], dict[str, Callable[[], float]]]:
    """The works that "auto" runs on another back end, on this one."""

    def functions(data: Any) -> dict[str, Callable[[], float]]:
        from micrograd.compiler.backends import c

        if backend == "jax":
            jitted.one_thread()
        if backend == "c":
            os.environ["MICROGRAD_CFLAGS"] = " ".join(c.FASTER)  # at once, and not after some calls
        works = compiled(data, backend)
        return {name: works[name] for name in ON[backend]}

    return functions


def tensor_step(size: str, backend: str) -> Callable[[], float]:
    """The step of `tensor_steps` as one program."""
    import micrograd
    from micrograd import Tensor
    from micrograd.functional import cross_entropy, linear
    from micrograd.optim import SGD

    inputs, classes, layers = tensor_steps.numbers(*tensor_steps.SIZES[size][:2])
    params = [Tensor(p.T, requires_grad=True) for layer in layers for p in layer]
    signs = tensor_steps.signs_of(classes)

    loss_of = tensor_steps.hinge_or(cross_entropy, Tensor.relu)

    @micrograd.compile(update=SGD(params, lr=tensor_steps.RATE), backend=backend)
    def step(h: Any) -> Any:
        return loss_of(tensor_steps.scores(h, params, linear, Tensor.relu), classes, signs)

    return lambda: step(inputs).item()


def classic(data: Any) -> dict[str, Callable[[], float]]:
    """The same lines in the classic engine."""
    from micrograd.engine import Value

    model = network()

    def forward_and_backward() -> float:
        out = loss_of(model, [list(map(Value, row)) for row in data["points"]], data["labels"])
        out.backward()
        return out.data

    return {"moons": forward_and_backward, "readme backward": lambda: readme_graph.graph(Value)[1].grad}


def numpys(data: Any) -> dict[str, Callable[[], float]]:
    """Forward and backward of the network, written out in NumPy; the parameters are arrays, and stay."""
    import numpy as np

    rng = np.random.default_rng(0)  # the numbers do not matter for the time, their number does
    layers = [(rng.normal(size=pair), np.zeros(pair[1])) for pair in pairwise(SIZES)]
    x, y = np.array(data["points"]), np.array(data["labels"], float)

    def step() -> float:
        seen, h = [], x
        for i, (w, b) in enumerate(layers):
            seen.append(h)
            h = h @ w + b
            if i < 2:
                h = np.maximum(h, 0)
        margins = np.maximum(1 - y * h[:, 0], 0)
        loss = margins.mean() + ALPHA * sum((w * w).sum() + (b * b).sum() for w, b in layers)
        g = (np.where(margins > 0, -y, 0) / len(y))[:, None]
        for i in (2, 1, 0):
            w, b = layers[i]
            slopes = seen[i].T @ g + 2 * ALPHA * w, g.sum(0) + 2 * ALPHA * b
            if i:
                g = (g @ w.T) * (seen[i] > 0)
        return float(loss + 0 * slopes[1][0])

    return {"moons": step}


def pythons(data: Any) -> dict[str, Callable[[], float]]:
    """The README's expression and its gradients, as one would write them by hand."""

    def both(a: float, b: float) -> tuple[float, tuple[float, float]]:
        sum_, difference = a + b, b - a
        d0 = a * b + b * b * b
        up, down = sum_ > 0, difference > 0
        e = 4 * sum_ + 3 - a  # c: twice c + 1 with c, once with 1 - a
        e -= 4 * (3 * d0 + (sum_ if up else 0.0)) + (difference if down else 0.0)
        f = e * e
        slope = (0.5 - 10.0 / (f * f)) * 2 * e
        of_sum = 4 * slope - (4 * slope if up else 0.0)
        of_difference = -slope if down else 0.0
        of_d0 = -12 * slope
        of_a = of_sum - slope - of_difference + of_d0 * b
        of_b = of_sum + of_difference + of_d0 * (a + 3 * b * b)
        return f / 2.0 + 10.0 / f, (of_a, of_b)

    return {"readme": lambda: both(-4.0, 2.0)[1][0]}


def torchs(data: Any) -> dict[str, Callable[[], float]]:
    """The whole training step on tensors, and the steps of `tensor_steps`, in PyTorch."""
    import torch

    torch.set_num_threads(1)
    layers = [torch.nn.Linear(*pair, dtype=torch.float64) for pair in pairwise(SIZES)]
    params = [p for layer in layers for p in layer.parameters()]
    x, y = torch.tensor(data["points"], dtype=torch.float64), torch.tensor(data["labels"], dtype=torch.float64)
    opt = torch.optim.SGD(params, lr=RATE)

    def step() -> float:
        h = x
        for i, layer in enumerate(layers):
            h = layer(h).relu() if i < 2 else layer(h)
        loss = (1 - y * h[:, 0]).relu().mean() + ALPHA * sum((p * p).sum() for p in params)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    sizes = tensor_steps.SIZES
    return {"step": step} | {
        name: tensor_steps.torchs_as_written(*tensor_steps.numbers(*sizes[name][:2])) for name in sizes
    }


ENGINES = {
    "micrograd": compiled,
    "classic": classic,
    "numpy": numpys,
    "python": pythons,
    "torch": torchs,
    "torch-compiled": jitted.torchs,
    "jax": jitted.jaxs,
    **{f"backend={name}": on(name) for name in ON},
}
CALLS = {"moons": 300, "step": 200, "update": 500, "readme": 20_000, "readme backward": 5_000}
CALLS |= {name: calls for name, (_, _, calls) in tensor_steps.SIZES.items()}

FEWER = {"classic": {"moons": 1, "readme backward": 500}, "backend=python": {"moons": 5, "update": 5}}


def measure(engine: str, data: Any) -> Iterator[Figures]:
    """Seconds a call of each work, and what its first calls gave; of the tensor steps the first five losses."""
    return timed(ENGINES[engine](data), CALLS | FEWER.get(engine, {}))


def rows(measured: Measured) -> list[Row]:
    """A line for each pair."""
    ((collector, engines),) = measured.items()
    moon, readme = "moons, forward and backward, compiled", "README graph, compiled"
    step, sizes = "moons, whole training step, compiled", tensor_steps.SIZES
    names = {"moons": moon, "update": f"{step}, update=", "readme": f"{readme}, numbers in and out"}
    names |= {size: f"tensor step {size}, compiled" for size in sizes}
    others = [(f"backend={backend}", work) for backend, works in ON.items() for work in works]
    updates = of(engines, "update")
    one_call, in_c = (of(engines, "step") | {"micrograd": updates.get(name)} for name in ("micrograd", "backend=c"))
    first_calls = [("moons", ("classic",)), ("readme", ("python",)), ("readme backward", ("classic",))]
    first_calls += [("step", COMPILERS), *((work, (backend,)) for backend, work in others if work not in sizes)]
    for work, peers in first_calls:
        agree(of(engines, work), 1e-9, 1, peers)
    agree(one_call, 1e-9, 1, COMPILERS)
    for size in sizes:
        agree(of(engines, size), 1e-4)

    def faster(name: str, work: str | dict[str, list[Figures]], peer: str, goal: Goal | None = None) -> Row:
        figures = of(engines, work) if isinstance(work, str) else work
        return times_faster(name, collector, figures, peer, goal)

    return [
        faster(moon, "moons", "classic", Goal(2500, 2500)),
        times_as_long(moon, collector, of(engines, "moons"), "numpy", AT_MOST["moons"]),
        faster(step, "step", "torch", Goal(1, 1)),
        *(faster(step, "step", peer) for peer in COMPILERS),
        *(faster(names["update"], one_call, peer, ONE_CALL[peer]) for peer in ("torch", *COMPILERS)),
        *(faster(f"{step}, update=, in C", in_c, *pair) for pair in IN_C.items() if "backend=c" in engines),
        times_as_long(names["readme"], collector, of(engines, "readme"), "python", AT_MOST["readme"]),
        faster(f"{readme}, `loss.backward()`", "readme backward", "classic", Goal(10, 10)),
        *(faster(names[size], size, peer, TENSOR_GOALS[size].get(peer)) for size in sizes for peer in TORCH_AND_JAX),
        *(faster(f"{names[work]}, by default", work, backend) for backend, work in others),
    ]


WORK = Work(
    "compiled", measure, rows, engines=tuple(ENGINES), collectors=("default",), rounds=3, turns=6, data=moons.data
)
