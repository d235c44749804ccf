"""What a benchmark consists of: the data, the measured part, and the lines of the table that come of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.table import Row

Figures = dict[str, Any]
"""What one process measured in one turn, by name: {"seconds": 0.012, "loss": 0.896}."""

Measured = dict[str, dict[str, list[Figures]]]
"""Figures by collector and engine, one entry a turn: measured["default"]["classic"][0]["seconds"]."""


def nothing() -> None:
    """The data of a work that needs none."""


@dataclass(frozen=True)
class Work:
    """One benchmark. `measure` runs in a separate process for each engine, collector and round; a `yield` is a turn.

    Setting up and warming up come before the first; between two it waits, while another engine has its turn.
    """

    name: str
    measure: Callable[[str, Any], Iterator[Figures]]  # (the engine's name, the data)
    rows: Callable[[Measured], list[Row]]
    engines: tuple[str, ...] = ("micrograd", "classic")
    collectors: tuple[str, ...] = ("default", "off")
    rounds: int = 5  # fresh processes
    turns: int = 1  # of each
    data: Callable[[], Any] = nothing  # made once, in the parent: what makes it is never loaded where we measure
