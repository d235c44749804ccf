"""What a benchmark consists of: the data, the measured part, and the lines of the table that come of it."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.table import Goal, duration, result_cells

Turn = dict[str, Any]
"""What a process measured in one turn: {"step": 0.012}. Under "gave" stands what the timed functions returned, and
under "note" what else is worth telling, by the same names."""


@dataclass(frozen=True)
class Line:
    """A line of the table: a figure of ours, and beside it a peer's, measured in the same turns.

    The result is how many times as long the peer takes (or how many times as long we take, where less is better). It is
    our own figure where the goal has a unit. No result is written of engines that computed different numbers.
    """

    work: str
    peer: str
    figure: str
    goal: Goal | None = None
    collector: str = "default"
    ours: str = "micrograd"
    theirs: str = ""  # the peer's figure, where it has another name
    near: float = 1e-9  # how closely the numbers have to agree
    show: Callable[[float], str] = duration

    def can_be_had(self, engines: Collection[str]) -> bool:
        """True if both are at hand; the table's head tells which engines are not."""
        return self.ours in engines and (not self.peer or self.peer in engines)

    def cells(self, engines: dict[str, list[Turn]]) -> list[str]:
        """The texts of the line, in the order of the table's head."""
        ours = [turn[self.figure] for turn in engines[self.ours]]
        first = [self.work, self.collector, self.show(median(ours))]
        if not self.peer:
            note = engines[self.ours][0].get("note", {}).get(self.figure, "")
            return [*first, note, *(result_cells(ours, self.goal) if self.goal else [""] * 4)]
        name = self.theirs or self.figure
        for turn, other in zip(engines[self.ours], engines[self.peer], strict=True):
            if "gave" in turn and "gave" in other:
                agree(self.peer, other["gave"][name], turn["gave"][self.figure], self.near)
        theirs = [turn[name] for turn in engines[self.peer]]
        if self.goal and self.goal.unit != " times":
            results = ours
        elif self.goal and not self.goal.more_is_better:
            results = [a / b for a, b in zip(ours, theirs, strict=True)]
        else:
            results = [b / a for a, b in zip(ours, theirs, strict=True)]
        return [*first, f"{self.peer} {self.show(median(theirs))}", *result_cells(results, self.goal)]


@dataclass(frozen=True)
class Work:
    """One benchmark. `measure` runs in a separate process for each engine, collector and round; a `yield` is a turn.

    Setting up and warming up come before the first; between two it waits, while another engine has its turn.
    """

    name: str
    measure: Callable[[str, Any], Iterator[Turn]]  # (the engine's name, the data)
    lines: Sequence[Line]
    engines: Sequence[str] = ("micrograd", "classic")
    rounds: int = 5  # fresh processes
    turns: int = 1  # of each
    data: Callable[[], Any] = lambda: None  # made once, in the parent: what makes it is never loaded where we measure


def agree(engine: str, found: Sequence[float], known: Sequence[float], near: float = 1e-9) -> None:
    """Raise unless an engine found these numbers; a slow one was called less often."""
    if not all(math.isclose(a, b, rel_tol=near, abs_tol=1e-12) for a, b in zip(found, known, strict=False)):
        raise ArithmeticError(f"{engine} finds {found}, where {known} is right")
