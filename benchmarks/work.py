"""What a benchmark consists of: the data, the measured part, and the lines of the table that come of it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.clock import seconds_in_a_loop, warm_up
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


def timed(functions: dict[str, Callable[[], Any]], calls: dict[str, int]) -> Iterator[Figures]:
    """Turn by turn, the seconds a call of each function, beside what its first five calls gave (or one, if slow)."""
    gave = {name: [function() for _ in range(5 if calls[name] > 1 else 1)] for name, function in functions.items()}
    for function in functions.values():
        warm_up(function)
    while True:
        yield {
            name: {"gave": gave[name], "seconds": seconds_in_a_loop(function, calls[name])}
            for name, function in functions.items()
        }


def of(engines: dict[str, list[Figures]], name: str) -> dict[str, list[Figures]]:
    """The figures of one function, of the engines that have it."""
    return {engine: [turn[name] for turn in turns] for engine, turns in engines.items() if name in turns[0]}


def agree(figures: dict[str, list[Figures]], near: float, first: int = 5, peers: tuple[str, ...] = ()) -> None:
    """Raise unless the first calls of these peers, or of all engines, gave what ours gave."""
    ours = figures["micrograd"][0]["gave"][:first]
    for engine in set(peers or figures) & set(figures):
        theirs = figures[engine][0]["gave"][:first]
        if not all(math.isclose(a, b, rel_tol=near, abs_tol=1e-12) for a, b in zip(ours, theirs, strict=True)):
            raise ArithmeticError(f"{engine} finds {theirs}, micrograd {ours}")
