"""`compile` beside what it compiles, beside what one would write by hand, and beside PyTorch and JAX.

moons     forward and backward of the scalar network, every `p.data` read and every `p.grad` written
closed    the same, where the loss closes over the points and labels as lists, as in the classic's notebook
by hand   that with the loop written by hand around it: zero_grad, loss, backward, and p.data -= lr * p.grad
step      moons with zero_grad and the update by an optimizer: a whole training step
update    that step in one call: `compile(loss, update=optimizer)`
readme    the ten lines of the README: numbers in and out, and through `loss.backward()`
tensors   the steps of `tensor_steps`, compiled
"""

import os
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from benchmarks.clock import timed
from benchmarks.engines import COMPILERS
from benchmarks.table import Goal, at_most
from benchmarks.work import Line, Turn, Work
from benchmarks.works import moons, readme_graph, steps
from benchmarks.works.tensor_steps import FLOAT32, SIZES

RATE = 0.05
CALLS = {
    "moons": 300,
    "closed": 300,
    "by hand": 100,
    "step": 200,
    "update": 500,
    "readme": 20_000,
    "readme backward": 5_000,
}
CALLS |= {size: calls for size, (_, _, calls) in SIZES.items()}
FEWER = {"classic": {"moons": 1, "by hand": 1, "readme backward": 500}, "backend=python": {"moons": 5, "update": 5}}
# "auto" is Python for the README's graph, and NumPy for the rest; JAX takes no programs of plain numbers
OTHER_BACKENDS = {
    "backend=python": ("moons", "update"),
    "backend=numpy": ("readme",),
    "backend=c": ("moons", "update", "readme", next(iter(SIZES))),
    "backend=jax": ("moons", "update", *SIZES),
}
Functions = dict[str, Callable[[], float]]


# ---- each gives the functions to time, by the name of the work; a function gives a number to compare


def compiled(data: Any, backend: str = "auto") -> Functions:
    """Everything, compiled."""
    import numpy as np

    import micrograd
    from micrograd import Value
    from micrograd.optim import SGD

    points, labels = np.array(data["points"]), np.array(data["labels"])
    model, twin, third, fourth = (moons.network() for _ in range(4))
    opt, update = (SGD(network.parameters(), lr=RATE) for network in (model, twin))

    def over_lists(network: Any) -> Any:
        return micrograd.compile(lambda: moons.loss_of(network, data["points"], data["labels"]), backend=backend)

    loss = micrograd.compile(lambda x, y: moons.loss_of(model, x, y), scalars=True, backend=backend)
    whole = micrograd.compile(lambda x, y: moons.loss_of(twin, x, y), scalars=True, update=update, backend=backend)
    closed, trained = over_lists(third), over_lists(fourth)
    graph = micrograd.compile(readme_graph.expression, backend=backend)
    both = micrograd.value_and_grad(graph)

    def forward_and_backward() -> float:
        out = loss(points, labels)
        out.backward()
        return out.data

    def forward_and_backward_of_lists() -> float:
        out = closed()
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

    return {
        "moons": forward_and_backward,
        "closed": forward_and_backward_of_lists,
        "by hand": lambda: by_hand(fourth, trained),
        "step": step,
        "update": lambda: whole(points, labels).data,
        "readme": lambda: both(-4.0, 2.0)[1][0],
        "readme backward": through_backward,
        **tensors(lambda task: steps.ours_compiled(task, backend)),
    }


def by_hand(model: Any, loss: Callable[[], Any]) -> float:
    """A training step, word for word as the classic's notebook writes it."""
    model.zero_grad()
    out = loss()
    out.backward()
    for p in model.parameters():
        p.data -= RATE * p.grad
    return out.data


def on(backend: str, data: Any) -> Functions:
    """The works that "auto" runs on another back end, on this one."""
    from micrograd.backends import c

    if backend == "backend=jax":
        steps.one_thread()
    if backend == "backend=c":
        os.environ["MICROGRAD_CFLAGS"] = " ".join(c.FASTER)  # at once, and not after some calls
    functions = compiled(data, backend.partition("=")[2])
    return {name: functions[name] for name in OTHER_BACKENDS[backend]}


def classic(data: Any) -> Functions:
    """The same lines in the classic engine."""
    from micrograd.engine import Value

    model, trained = moons.network(), moons.network()

    def loss_of(network: Any) -> Any:
        return moons.loss_of(network, [list(map(Value, row)) for row in data["points"]], data["labels"])

    def forward_and_backward() -> float:
        out = loss_of(model)
        out.backward()
        return out.data

    return {
        "moons": forward_and_backward,
        "by hand": lambda: by_hand(trained, lambda: loss_of(trained)),
        "readme backward": lambda: readme_graph.graph(Value)[1].grad,
    }


def pythons(data: Any) -> Functions:
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


def numpys(data: Any) -> Functions:
    """Forward and backward of the network, written out in NumPy; the parameters are arrays, and stay."""
    task = moons_task(data)
    both = steps.gradients_by_hand(task, task.arrays)
    return {"moons": lambda: both()[0]}


def moons_task(data: Any) -> steps.Task:
    """The moons on arrays, in float64, with the weights of the scalar network."""
    import numpy as np

    random.seed(1337)
    arrays: list[Any] = []
    for before, after in pairwise((2, 16, 16, 1)):  # drawn as the scalar network draws them
        weights = [[random.uniform(-1, 1) for _ in range(before)] for _ in range(after)]
        arrays += [np.array(weights).T, np.zeros(after)]
    return steps.Task(np.array(data["points"]), (np.array(data["labels"]) + 1) // 2, arrays, RATE, moons.ALPHA)


def tensors(make: Callable[[steps.Task], Callable[[], float]]) -> Functions:
    """The steps of `tensor_steps`."""
    return {size: make(steps.random_task(*numbers[:2])) for size, numbers in SIZES.items()}


ENGINES = {"micrograd": compiled, "classic": classic, "numpy": numpys, "python": pythons}
ARRAYS = {"torch": steps.torchs_as_written, "torch-compiled": steps.torchs_compiled, "jax": steps.jaxs}


def measure(engine: str, data: Any) -> Iterator[Turn]:
    """Seconds a call of each work, and what its first calls gave; of the tensor steps the first five losses."""
    if engine in OTHER_BACKENDS:
        functions = on(engine, data)
    elif engine in ARRAYS:
        functions = {"step": ARRAYS[engine](moons_task(data)), **tensors(ARRAYS[engine])}
    else:
        functions = ENGINES[engine](data)
    return timed(functions, CALLS | FEWER.get(engine, {}))


MOONS, STEP = "moons, forward and backward, compiled", "moons, whole training step, compiled"
UPDATE, README = f"{STEP}, update=", "README graph, compiled"
NAMES = {"moons": MOONS, "update": UPDATE, "readme": f"{README}, numbers in and out"}
NAMES |= {size: f"tensor step {size}, compiled" for size in SIZES}
ONE_CALL = {"torch": Goal(2.5, 2), "torch-compiled": Goal(1, 0.5), "jax": Goal(1, 0.5)}
IN_C = {"torch-compiled": Goal(4, 3), "jax": Goal(3, 2)}
TENSORS = zip(SIZES, (Goal(3.5, 3.5), Goal(1.25, 1.25), Goal(0.92, 0.92)), (Goal(1.2, 1.2), None, None), strict=True)
LINES = [
    Line(MOONS, "classic", "moons", Goal(2500, 2500)),
    Line(MOONS, "numpy", "moons", at_most(2, 3)),
    Line(f"{MOONS}, over lists that it closes over", "classic", "closed", Goal(2500, 2500), theirs="moons"),
    Line(f"{STEP}, over such lists, the loop by hand", "classic", "by hand", Goal(2500, 2500)),
    Line(STEP, "torch", "step", Goal(1, 1)),
    *(Line(STEP, peer, "step") for peer in COMPILERS),
    *(Line(UPDATE, peer, "update", goal, theirs="step") for peer, goal in ONE_CALL.items()),
    *(Line(f"{UPDATE}, in C", peer, "update", goal, ours="backend=c", theirs="step") for peer, goal in IN_C.items()),
    Line(NAMES["readme"], "python", "readme", at_most(1.2, 2)),
    Line(f"{README}, `loss.backward()`", "classic", "readme backward", Goal(10, 10)),
    *(
        Line(NAMES[size], peer, size, goal, near=FLOAT32)
        for size, torch, jax in TENSORS
        for peer, goal in {"torch": torch, "torch-compiled": None, "jax": jax}.items()
    ),
    *(
        Line(f"{NAMES[figure]}, by default", backend, figure, near=FLOAT32 if figure in SIZES else 1e-9)
        for backend, figures in OTHER_BACKENDS.items()
        for figure in figures
    ),
]
WORK = Work(
    "compiled", measure, LINES, engines=(*ENGINES, *ARRAYS, *OTHER_BACKENDS), rounds=3, turns=6, data=moons.data
)
