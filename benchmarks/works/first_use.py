"""What people write first: one sample a step, parameters, a model read without recording, an op that is not + or *.

The training loop is the classic's, word for word, for the two sizes that a first notebook has.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.clock import timed
from benchmarks.table import Goal, at_most
from benchmarks.work import Line, Turn, Work

SIZES = ([4, 1], [16, 16, 1])
RATE = 0.01


def data() -> list[list[float]]:
    """Points of two numbers; the label of a point is 1 where both have one sign, else -1."""
    draw = random.Random(1337).uniform
    return [[draw(-1, 1), draw(-1, 1)] for _ in range(100)]


def network(sizes: list[int]) -> Any:
    """A network with the weights that both engines begin with."""
    from micrograd.nn import MLP

    random.seed(1337)
    return MLP(2, sizes)


def one_sample_a_step(sizes: list[int], points: list[list[float]]) -> Callable[[], float]:
    """A function that trains on the next sample."""
    model, k = network(sizes), 0

    def step() -> float:
        nonlocal k
        x = points[k % len(points)]
        y = 1.0 if x[0] * x[1] > 0 else -1.0
        k += 1
        loss = (model(x) - y) ** 2
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= RATE * p.grad
        return loss.data

    return step


def other_ops() -> dict[str, Callable[[], Any]]:
    """A product of Values, and the ops and operands that do not take its fast path."""
    import numpy as np

    from micrograd import Value

    class Kind(Value):
        """A subclass, as users write."""

    x, y, c, d = Value(0.5), Value(-0.25), Value(2.0, requires_grad=False), Value(3.0, requires_grad=False)
    kind, number = Kind(1.5), np.float64(2.0)
    ops: dict[str, Callable[[], Any]] = {
        "x * y": lambda: x * y,
        "maximum": lambda: x.maximum(y),
        "clip": lambda: x.clip(0, 1),
        "leaky_relu": lambda: x.leaky_relu(),
        "constants": lambda: c * d,
        "a NumPy scalar": lambda: x * number,
        "a subclass": lambda: kind * x,
    }
    return {name: repeated(op) for name, op in ops.items()}


def repeated(op: Callable[[], Any]) -> Callable[[], float]:
    """A function that runs an op a thousand times; it gives no number, since other ops stand beside this one."""

    def run() -> float:
        for _ in range(1000):
            op()
        return 0.0

    return run


def measure(engine: str, points: list[list[float]]) -> Iterator[Turn]:
    """Seconds of a step, of `parameters()`, of a forward pass, and of an op."""
    small, large = (one_sample_a_step(sizes, points) for sizes in SIZES)
    model = network(SIZES[1])
    functions: dict[str, Callable[[], Any]] = {"small": small, "large": large}
    functions["parameters"] = lambda: len(model.parameters())
    calls = {"small": 150, "large": 10, "parameters": 300}
    if engine == "micrograd":
        from micrograd import no_grad

        def read() -> float:
            return sum(model(x).data for x in points[:20])

        functions |= {"recorded": read, "unrecorded": no_grad()(read)}
        calls |= {"recorded": 2, "unrecorded": 2}
        functions |= (ops := other_ops())
        calls |= dict.fromkeys(ops, 3)
    yield from timed(functions, calls)


OPS = ("maximum", "clip", "leaky_relu", "constants", "a NumPy scalar", "a subclass")
LOOP = "the classic's loop, one sample a step"
LINES = [
    Line(f"{LOOP}, MLP(2, [4, 1])", "classic", "small", Goal(aim=2, limit=1.7)),
    Line(f"{LOOP}, MLP(2, [16, 16, 1])", "classic", "large", Goal(aim=2.6, limit=2.2)),
    Line("`parameters()` of 337 Values", "classic", "parameters", at_most(aim=4, limit=5)),
    Line(
        "a network read inside `no_grad()`, beside recording",
        "micrograd",
        "unrecorded",
        Goal(1.1, 1),
        theirs="recorded",
    ),
    *(Line(f"{name} of Values, beside x * y", "micrograd", name, at_most(1.5, 2), theirs="x * y") for name in OPS),
]
WORK = Work("first-use", measure, LINES, data=data, turns=3)
