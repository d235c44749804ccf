"""Five training steps of the classic demo: 100 points, MLP(2, [16, 16, 1]), hinge loss and L2.

The engines run the same lines, word for word; only the folder that `micrograd` is imported from differs.

A turn is five steps in a row, and a process has four turns. With the collector off it matters how long it has run: an
engine whose nodes are cycles frees none of them, and once it has filled the memory that the machine has at hand, every
further page costs more.
"""

import math
import random
from collections.abc import Iterator
from typing import Any

from benchmarks.clock import now
from benchmarks.table import Goal, Row, times_faster
from benchmarks.work import Figures, Measured, Work

STEPS = 5
FIRST_LOSS = 0.895844102868  # the classic demo's, for the seeds below: were it another, the work would be another
GOALS = {"default": Goal(aim=12, limit=9.5), "off": Goal(aim=2.5, limit=2.0)}


def data() -> dict[str, list]:
    """The two moons as plain floats: with NumPy's scalars as data, every operation would be slower."""
    import numpy as np
    from sklearn.datasets import make_moons

    np.random.seed(1337)
    points, classes = make_moons(n_samples=100, noise=0.1)
    return {"points": points.tolist(), "labels": (classes * 2 - 1).tolist()}


def measure(engine: str, data: dict[str, list]) -> Iterator[Figures]:
    """The mean of five steps in a row: a mean, for the collector's long pauses fall on few of them, and count."""
    from micrograd.nn import MLP

    points, labels = data["points"], data["labels"]
    few = MLP(2, [16, 16, 1])
    for k in range(20):  # warm the interpreter up on three points: this leaves hardly an object behind
        step(few, points[:3], labels[:3], k)

    random.seed(1337)
    model = MLP(2, [16, 16, 1])
    while True:
        begin = now()
        losses = [step(model, points, labels, k) for k in range(STEPS)]
        yield {"seconds": (now() - begin) / STEPS, "losses": losses}


def step(model: Any, points: list, labels: list, k: int) -> float:
    """Forward, backward, update; as in the classic notebook, but for the accuracy, which makes no nodes."""
    from micrograd.engine import Value

    inputs = [list(map(Value, xrow)) for xrow in points]
    scores = list(map(model, inputs))
    losses = [(1 + -yi * scorei).relu() for yi, scorei in zip(labels, scores, strict=True)]
    data_loss = sum(losses) * (1.0 / len(losses))
    alpha = 1e-4
    reg_loss = alpha * sum(p * p for p in model.parameters())
    total_loss = data_loss + reg_loss

    model.zero_grad()
    total_loss.backward()
    learning_rate = 1.0 - 0.9 * k / 100
    for p in model.parameters():
        p.data -= learning_rate * p.grad
    return total_loss.data


def rows(measured: Measured) -> list[Row]:
    """A line for each regime, once it is sure that all engines computed the same."""
    for engines in measured.values():
        for turns in engines.values():
            for figures, ours in zip(turns, engines["micrograd"], strict=True):
                check(figures["losses"], ours["losses"])
        first = engines["micrograd"][0]["losses"][0]
        if abs(first - FIRST_LOSS) > 1e-12:
            raise ArithmeticError(f"the first loss is {first}; it should be {FIRST_LOSS}")
    name = f"moons step, 65,818 nodes, {STEPS} in a row"
    return [times_faster(name, regime, engines, "classic", GOALS[regime]) for regime, engines in measured.items()]


def check(losses: list[float], ours: list[float]) -> None:
    """Raise unless all agree with ours."""
    if not all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(losses, ours, strict=True)):
        raise ArithmeticError(f"the losses are {losses}, ours {ours}")


WORK = Work("moons", measure, rows, data=data, rounds=3, turns=4)
