"""From figures to lines of Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

BEGIN, END = "<!-- make bench writes from here -->", "<!-- to here -->"
HEAD = ("work", "collector", "micrograd", "beside it", "result", "aim", "limit", "")


@dataclass(frozen=True)
class Goal:
    """What a result is held against: `aim` is where we want to be, `limit` where it is no longer good enough."""

    aim: float
    limit: float
    unit: str = " times"
    more_is_better: bool = True

    def verdict(self, result: float) -> str:
        """One word for the last column.

        >>> Goal(aim=12, limit=9.5).verdict(10)
        'within'
        """
        sign = 1 if self.more_is_better else -1
        if sign * result >= sign * self.aim:
            return "aim met"
        return "within" if sign * result >= sign * self.limit else "**short**"


@dataclass(frozen=True)
class Row:
    """One line of the table. `spread` is what the middle half of all results lies between."""

    work: str
    collector: str
    ours: str
    peer: str
    result: float | None = None
    goal: Goal | None = None
    spread: tuple[float, float] | None = None
    note: str = ""

    def cells(self) -> list[str]:
        """The line's texts, in the order of HEAD."""
        if self.result is None:
            return [self.work, self.collector, self.ours, self.peer, self.note, "", "", ""]
        result = f"**{self.result:.3g}**{self.goal.unit if self.goal else ' times'}"
        if self.spread:
            result += f" ({self.spread[0]:.3g} to {self.spread[1]:.3g})"
        if self.goal is None:
            return [self.work, self.collector, self.ours, self.peer, result, "", "", ""]
        aim, limit = (f"{bound:g}{self.goal.unit}" for bound in (self.goal.aim, self.goal.limit))
        verdict = self.goal.verdict(self.result)
        return [self.work, self.collector, self.ours, self.peer, result, aim, limit, verdict]


def times_faster(
    work: str, collector: str, figures: dict[str, list[dict[str, Any]]], peer: str, goal: Goal | None = None
) -> Row:
    """How many times as long the peer takes, and the spread: of ratios, each of two figures taken in the same turn."""
    ours = [round_["seconds"] for round_ in figures["micrograd"]]
    if peer not in figures:
        return Row(work, collector, duration(median(ours)), f"{peer} is not at hand")
    theirs = [round_["seconds"] for round_ in figures[peer]]
    ratio, spread = middle([b / a for a, b in zip(ours, theirs, strict=True)])
    peer_text = f"{peer} {duration(median(theirs))}"
    return Row(work, collector, duration(median(ours)), peer_text, ratio, goal, spread)


def middle(results: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """The median, and what the middle half lies between.

    >>> middle([1.0, 2.0, 3.0, 4.0, 50.0])
    (3.0, (2.0, 4.0))
    """
    low, half, high = quantiles(results, n=4, method="inclusive")
    return half, (low, high)


def times_as_long(
    work: str, collector: str, figures: dict[str, list[dict[str, Any]]], peer: str, goal: Goal | None = None
) -> Row:
    """How many times as long we take as the peer, which does less: what was written by hand, say."""
    row = times_faster(work, collector, figures, peer)
    if row.result is None or row.spread is None:
        return row
    return replace(row, result=1 / row.result, spread=(1 / row.spread[1], 1 / row.spread[0]), goal=goal)


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> duration(0.0123), duration(4.2e-7), duration(95)
    ('12.3 ms', '420 ns', '95 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    cells = [head, ["---"] * len(head), *lines]
    return "".join("| " + " | ".join(line) + " |\n" for line in cells)


def write_between(path: Path, text: str, begin: str = BEGIN, end: str = END) -> None:
    """Replace what stands between the two markers, and nothing else."""
    before, found_begin, rest = path.read_text(encoding="utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"{path} has no lines {begin!r} and {end!r} to write between: put them back")
    path.write_text(f"{before}{begin}\n{text}{end}{after}", encoding="utf-8")
