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

from benchmarks.table import at_most
from benchmarks.work import Line, Turn, Work

STEPS = 10_000
WARM_UP = 3_000  # the interpreter keeps up to 2,000 freed tuples of each size for reuse: first let it fill that store
POINTS = [([0.0, 0.0], -1), ([0.0, 1.0], 1), ([1.0, 0.0], 1), ([1.0, 1.0], -1)]


def step(model: Any) -> None:
    """One step of gradient descent on the four points of XOR."""
    loss = sum((model(x) - y) ** 2 for x, y in POINTS)
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= 0.01 * p.grad


def measure(engine: str, data: None) -> Iterator[Turn]:
    """What the interpreter has allocated more at the end than after the warm-up, for each step."""
    from micrograd.nn import MLP

    random.seed(1337)
    model = MLP(2, [4, 1])
    for _ in range(WARM_UP):
        step(model)
    before = held()
    for _ in range(STEPS):
        step(model)
    blocks, objects, pages = (after - known for after, known in zip(held(), before, strict=True))
    yield {
        "blocks": blocks / STEPS,
        "note": {"blocks": f"{objects:+,} objects, {4 * pages:+,} KiB of process memory"},
    }


def held() -> tuple[int, int, int]:
    """Blocks of memory in use, objects that the collector knows, and the process's pages where the system tells it."""
    statm = Path("/proc/self/statm")
    pages = int(statm.read_text().split()[1]) if statm.exists() else 0
    return sys.getallocatedblocks(), len(gc.get_objects()), pages


LINES = [
    Line(
        f"growth over {STEPS:,} training steps",
        "",
        "blocks",
        at_most(aim=0.01, limit=0.1, unit=" blocks a step"),
        collector,
        show=lambda blocks: f"{blocks * STEPS:+,.0f} blocks",
    )
    for collector in ("default", "off")
]
WORK = Work("training", measure, LINES, engines=("micrograd",), rounds=1)
