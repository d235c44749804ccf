"""Bytes a node: a chain `y = y + c`, weighed by tracemalloc."""

import tracemalloc
from collections.abc import Iterator

from benchmarks.table import at_most
from benchmarks.work import Line, Turn, Work

NODES = 100_000


def measure(engine: str, data: None) -> Iterator[Turn]:
    """All that a node holds on to, its number included; no backward pass, for the classic one would recurse."""
    from micrograd.engine import Value

    y, c = Value(0.0), Value(1.0)
    y = y + c  # what the first operation alone needs is not a node's
    tracemalloc.start()
    for _ in range(NODES):
        y = y + c
    yield {"weight": tracemalloc.get_traced_memory()[0] / NODES}


GOAL = at_most(aim=150, limit=250, unit=" bytes")
LINES = [Line("memory of a node", "classic", "weight", GOAL, show=lambda weight: f"{weight:.0f} bytes")]
WORK = Work("memory", measure, LINES, rounds=1)
