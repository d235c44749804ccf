"""`compile` beside what it compiles, beside what one would write by hand, and beside PyTorch and JAX.

moons     forward and backward of the scalar network, every `p.data` read and every `p.grad` written
step      the same with zero_grad and the update: a whole training step
update    that step in one call: `compile(loss, update=optimizer)`
readme    the ten lines of the README: numbers in and out, and through `loss.backward()`
tensors   the steps of `tensor_steps`, compiled
"""

import math
import os
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from benchmarks.clock import seconds_in_a_loop, warm_up
from benchmarks.engines import COMPILERS
from benchmarks.table import Goal, Row, times_as_long, times_faster
from benchmarks.work import Figures, Measured, Work
from benchmarks.works import jitted, moons, readme_graph, tensor_steps

ALPHA, RATE, SIZES = jitted.ALPHA, jitted.RATE, (2, 16, 16, 1)
AT_MOST = {"moons": Goal(2, 3, more_is_better=False), "readme": Goal(1.2, 2, more_is_better=False)}
ONE_CALL = {"torch": Goal(2.5, 2), "torch-compiled": Goal(1, 0.5), "jax": Goal(1, 0.5)}
TENSOR_GOALS = dict(zip(tensor_steps.SIZES, (Goal(3.5, 3.5), Goal(1.25, 1.25), Goal(0.92, 0.92)), strict=True))
# "auto" is Python for the README's graph, and NumPy for the rest; JAX takes no programs of plain numbers
ON = {
    "python": ("moons", "update"),
    "numpy": ("readme",),
    "c": ("moons", "update", "readme", next(iter(tensor_steps.SIZES))),
    "jax": ("moons", "update", *tensor_steps.SIZES),
}
IN_C = {"torch-compiled": Goal(4, 3), "jax": Goal(3, 2)}
JAX_GOALS = {next(iter(tensor_steps.SIZES)): Goal(1.2, 1.2)}


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

    @micrograd.compile(update=SGD(params, lr=tensor_steps.RATE), backend=backend)
    def step(h: Any) -> Any:
        h = tensor_steps.scores(h, params, linear, Tensor.relu)
        return (1 - h * signs).relu().mean() if h.shape[1] == 1 else cross_entropy(h, classes)

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
    """Seconds a call of each work, and what its first call gave; of the tensor steps the first five losses."""
    functions = ENGINES[engine](data)
    first = {name: function() for name, function in functions.items()}
    losses = {name: [first[name], *(functions[name]() for _ in range(4))] for name in tensor_steps.SIZES.keys() & first}
    for function in functions.values():
        warm_up(function)
    while True:
        figures = {}
        for name, function in functions.items():
            calls = FEWER.get(engine, CALLS)[name]
            seconds = seconds_in_a_loop(function, calls)
            figures[name] = {"first": first[name], "losses": losses.get(name), "seconds": seconds}
        yield figures


def rows(measured: Measured) -> list[Row]:
    """A line for each pair."""
    ((collector, engines),) = measured.items()

    def of(name: str) -> dict[str, list[Figures]]:
        return {engine: [r[name] for r in rounds] for engine, rounds in engines.items() if name in rounds[0]}

    agree(of("moons"), ("classic",))
    agree(of("readme"), ("python",))
    agree(of("readme backward"), ("classic",))
    whole = {"micrograd": of("update")["micrograd"]}
    one_call = {engine: figures for engine, figures in of("step").items() if engine != "micrograd"} | whole
    agree(of("step"), COMPILERS)
    agree(one_call, COMPILERS)
    for size in tensor_steps.SIZES:
        tensor_steps.check(size, of(size))
    moon, readme = "moons, forward and backward, compiled", "README graph, compiled"
    step = "moons, whole training step, compiled"
    others = [(f"backend={backend}", work) for backend, works in ON.items() for work in works]
    names = {"moons": moon, "update": f"{step}, update=", "readme": f"{readme}, numbers in and out"}
    for backend, work in others:
        if work in names:  # else `tensor_steps.check` compares
            agree(of(work), (backend,))
    return [
        times_faster(moon, collector, of("moons"), "classic", Goal(2500, 2500)),
        times_as_long(moon, collector, of("moons"), "numpy", AT_MOST["moons"]),
        times_faster(step, collector, of("step"), "torch", Goal(1, 1)),
        *(times_faster(step, collector, of("step"), peer) for peer in COMPILERS),
        *(
            times_faster(f"{step}, update=", collector, one_call, peer, ONE_CALL[peer])
            for peer in ("torch", *COMPILERS)
        ),
        *(
            times_faster(
                f"{step}, update=, in C", collector, {**one_call, "micrograd": of("update")["backend=c"]}, peer, goal
            )
            for peer, goal in IN_C.items()
            if "backend=c" in engines
        ),
        times_as_long(f"{readme}, numbers in and out", collector, of("readme"), "python", AT_MOST["readme"]),
        times_faster(f"{readme}, `loss.backward()`", collector, of("readme backward"), "classic", Goal(10, 10)),
        *(row for size in tensor_steps.SIZES for row in tensor_rows(size, collector, of(size))),
        *(
            times_faster(
                f"{names.get(work, f'tensor step {work}, compiled')}, by default", collector, of(work), backend
            )
            for backend, work in others
        ),
    ]


def tensor_rows(size: str, collector: str, figures: dict[str, list[Figures]]) -> list[Row]:
    """A tensor step beside PyTorch's, eager and as users write, and beside those of other compilers."""
    name, goals = f"tensor step {size}, compiled", {"torch": TENSOR_GOALS[size], "jax": JAX_GOALS.get(size)}
    return [times_faster(name, collector, figures, peer, goals.get(peer)) for peer in ("torch", *COMPILERS)]


def agree(figures: dict[str, list[Figures]], peers: tuple[str, ...]) -> None:
    """Raise unless the first call of these gave what ours gave."""
    ours = figures["micrograd"][0]["first"]
    for peer in set(peers) & set(figures):
        if not math.isclose(figures[peer][0]["first"], ours, rel_tol=1e-9):
            raise ArithmeticError(f"{peer} finds {figures[peer][0]['first']}, compiled it is {ours}")


WORK = Work(
    "compiled", measure, rows, engines=tuple(ENGINES), collectors=("default",), rounds=3, turns=6, data=moons.data
)
