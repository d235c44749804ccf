"""From figures to lines of Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

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


def at_most(aim: float, limit: float, unit: str = " times") -> Goal:
    """A goal for what is better the less it is."""
    return Goal(aim, limit, unit, more_is_better=False)


def result_cells(results: Sequence[float], goal: Goal | None) -> list[str]:
    """The median and what the middle half of all results lies between, then what they are held against.

    >>> result_cells([1.0, 2.0, 3.0, 4.0, 50.0], at_most(2.5, 3.5))
    ['**3** times (2 to 4)', '2.5 times', '3.5 times', 'within']
    """
    low, half, high = quantiles(results, n=4, method="inclusive") if len(results) > 1 else results * 3
    unit = goal.unit if goal else " times"
    spread = f" ({low:.3g} to {high:.3g})" if len(results) > 1 else ""
    bounds = [f"{goal.aim:g}{unit}", f"{goal.limit:g}{unit}", goal.verdict(half)] if goal else ["", "", ""]
    return [f"**{half:.3g}**{unit}{spread}", *bounds]


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


def write_between(path: Path, text: str) -> None:
    """Replace what stands between the two markers, and nothing else."""
    before, found_begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not (found_begin and found_end):
        raise ValueError(f"{path} has no lines {BEGIN!r} and {END!r} to write between: put them back")
    path.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")
