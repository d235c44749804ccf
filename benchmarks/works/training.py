"""Ten thousand training steps of a small net: what stays behind? Nothing should, and with the collector off too.

Only where nodes die by reference count is memory flat while the collector is off; the classic engine's nodes are
cycles, and would fill gigabytes.
"""

import gc
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.table import Goal, Row
from benchmarks.work import Figures, Measured, Work

STEPS = 10_000
WARM_UP = 3_000  # the interpreter keeps up to 2,000 freed tuples of each size for reuse: first let it fill that store
POINTS = [([0.0, 0.0], -1), ([0.0, 1.0], 1), ([1.0, 0.0], 1), ([1.0, 1.0], -1)]
GOAL = Goal(aim=0.01, limit=0.1, unit=" blocks a step", more_is_better=False)


def step(model: Any) -> None:
    """One step of gradient descent on the four points of XOR."""
    loss = sum((model(x) - y) ** 2 for x, y in POINTS)
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= 0.01 * p.grad


def measure(engine: str, data: None) -> Iterator[Figures]:
    """What the interpreter has allocated more at the end than after the warm-up."""
    from micrograd.nn import MLP

    random.seed(1337)
    model = MLP(2, [4, 1])
    for _ in range(WARM_UP):
        step(model)
    before = held()
    for _ in range(STEPS):
        step(model)
    yield {key: after - before[key] for key, after in held().items()}


def held() -> dict[str, int]:
    """Blocks of memory in use, objects that the collector knows, and the process's memory where the system tells it."""
    statm = Path("/proc/self/statm")
    pages = int(statm.read_text().split()[1]) if statm.exists() else 0
    return {"blocks": sys.getallocatedblocks(), "objects": len(gc.get_objects()), "kibibytes": pages * 4}


def rows(measured: Measured) -> list[Row]:
    """A line for each regime."""
    return [row(regime, figures["micrograd"][0]) for regime, figures in measured.items()]


def row(regime: str, grown: Figures) -> Row:
    """The growth of the blocks; beside it what else was looked at."""
    beside = f"{grown['objects']:+,} objects, {grown['kibibytes']:+,} KiB of process memory"
    ours = f"{grown['blocks']:+,} blocks"
    return Row(f"growth over {STEPS:,} training steps", regime, ours, beside, grown["blocks"] / STEPS, GOAL)


WORK = Work("training", measure, rows, engines=("micrograd",), rounds=1)
