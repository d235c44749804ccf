"""What a benchmark consists of: the data, the measured part, and the lines of the table that come of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.table import Row

Figures = dict[str, Any]
"""What one process measured, by name: {"seconds": 0.012, "loss": 0.896}."""

Measured = dict[str, dict[str, list[Figures]]]
"""Figures by collector and engine, one entry a round: measured["default"]["classic"][0]["seconds"]."""


def nothing() -> None:
    """The data of a work that needs none."""


@dataclass(frozen=True)
class Work:
    """One benchmark. `measure` runs in a process of its own, once for each engine, collector and round."""

    name: str
    measure: Callable[[str, Any], Figures]  # (the engine's name, the data)
    rows: Callable[[Measured], list[Row]]
    engines: tuple[str, ...] = ("micrograd", "classic")
    collectors: tuple[str, ...] = ("default", "off")
    rounds: int = 5
    data: Callable[[], Any] = nothing  # made once, in the parent: what makes it is never loaded where we measure
