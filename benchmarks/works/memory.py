"""Bytes a node: a chain `y = y + c`, weighed by tracemalloc."""

import tracemalloc
from collections.abc import Iterator

from benchmarks.table import Goal, Row
from benchmarks.work import Figures, Measured, Work

NODES = 100_000
GOAL = Goal(aim=150, limit=250, unit=" bytes", more_is_better=False)


def measure(engine: str, data: None) -> Iterator[Figures]:
    """All that a node holds on to, its number included; no backward pass, for the classic one would recurse."""
    from micrograd.engine import Value

    y, c = Value(0.0), Value(1.0)
    y = y + c  # what the first operation alone needs is not a node's
    tracemalloc.start()
    for _ in range(NODES):
        y = y + c
    yield {"bytes": tracemalloc.get_traced_memory()[0] / NODES}


def rows(measured: Measured) -> list[Row]:
    """One line: the weight is the same in any regime."""
    weight = {engine: rounds[0]["bytes"] for engine, rounds in measured["default"].items()}
    classic = f"classic {weight['classic']:.0f} bytes" if "classic" in weight else "classic is not installed"
    ours = weight["micrograd"]
    return [Row("memory of a node", "either", f"{ours:.0f} bytes", classic, ours, GOAL)]


WORK = Work("memory", measure, rows, collectors=("default",), rounds=1)
