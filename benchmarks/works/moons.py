"""Five training steps of the classic demo: 100 points, MLP(2, [16, 16, 1]), hinge loss and L2.

The engines run the same lines, word for word; only the folder that `micrograd` is imported from differs.

A turn is five steps in a row, and a process has four turns. With the collector off it matters how long it has run: an
engine whose nodes are cycles frees none of them, and once it has filled the memory that the machine has at hand, every
further page costs more.
"""

import random
from collections.abc import Iterator
from itertools import count
from typing import Any

from benchmarks.clock import now
from benchmarks.table import Goal
from benchmarks.work import Line, Turn, Work, agree

STEPS, RATE, ALPHA = 5, 1.0, 1e-4
FIRST_LOSS = 0.895844102868  # the classic demo's, for the seeds below: were it another, the work would be another


def data() -> dict[str, list]:
    """The two moons as plain floats: with NumPy's scalars as data, every operation would be slower."""
    import numpy as np
    from sklearn.datasets import make_moons

    np.random.seed(1337)
    points, classes = make_moons(n_samples=100, noise=0.1)
    return {"points": points.tolist(), "labels": (classes * 2 - 1).tolist()}


def network() -> Any:
    """The classic notebook's model, with the weights that all engines begin with."""
    from micrograd.nn import MLP

    random.seed(1337)
    return MLP(2, [16, 16, 1])


def loss_of(model: Any, points: Any, labels: Any) -> Any:
    """The classic notebook's loss, without the accuracy, which makes no nodes."""
    scores = list(map(model, points))
    losses = [(1 + -yi * scorei).relu() for yi, scorei in zip(labels, scores, strict=True)]
    return sum(losses) * (1.0 / len(losses)) + ALPHA * sum(p * p for p in model.parameters())


def step(model: Any, points: list, labels: list, k: int) -> float:
    """Forward, backward, update."""
    from micrograd.engine import Value

    loss = loss_of(model, [list(map(Value, row)) for row in points], labels)
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= (1.0 - 0.9 * k / 100) * p.grad
    return loss.data


def measure(engine: str, data: dict[str, list]) -> Iterator[Turn]:
    """The mean of five steps in a row: a mean, for the collector's long pauses fall on few of them, and count."""
    points, labels = data["points"], data["labels"]
    few = network()
    for k in range(20):  # warm the interpreter up on three points: this leaves hardly an object behind
        step(few, points[:3], labels[:3], k)

    model = network()
    for turn in count():
        begin = now()
        losses = [step(model, points, labels, k) for k in range(STEPS)]
        seconds = (now() - begin) / STEPS
        if turn == 0:
            agree(engine, losses, [FIRST_LOSS])
        yield {"step": seconds, "gave": {"step": losses}}


NAME = f"moons step, 65,818 nodes, {STEPS} in a row"
LINES = [
    Line(NAME, "classic", "step", Goal(aim=12, limit=9.5)),
    Line(NAME, "classic", "step", Goal(aim=2.5, limit=2), collector="off"),
]
WORK = Work("moons", measure, LINES, data=data, rounds=3, turns=4)
