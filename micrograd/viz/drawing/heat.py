"""Heat-maps: an array, or a module's weights, as a small grid of letters, one per cell.

The letters A to S are -9 to 9 ninths of the largest magnitude, J is zero, and "?" is nan. In a large array, a cell is
the mean of several elements.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from typing import Any, NamedTuple

from ...engine.rows import lib
from ...scalars.kinds import node_of
from ..values import value_text

ROWS, COLUMNS = 16, 24  # maximum size
STEPS = 9
MOST_STEPS = 500  # between the places of a group's nodes; the page does not compute a group that is more scattered
GRADIENTS = "gradients"  # the name of the map for a group of nodes; the map of a single node is called "grad"


@dataclass
class Heat:
    """`rows` by `columns` cells, row by row in `cells`.

    `range` is "-0.5000 to 1.0000", or "" if there are no numbers. `zeros` is "3 of 12 are 0", or "" if no number is 0.
    `of` is the place in the walk of the node that the map shows, or the places of the cells' nodes. The places of a
    group's nodes are in `among`, as a run-length code: the first place, then pairs of a distance to the next node and
    the number of nodes at this distance.
    """

    name: str
    rows: int
    columns: int
    cells: str
    range: str
    zeros: str
    shape: str = ""  # of an array
    of: int | list[int | None] | None = None
    among: list[int] | None = None

    @property
    def captions(self) -> list[str]:
        """The lines below a group's gradients: the range, and the number of zeros, if any."""
        return [self.range, self.zeros] if self.name == GRADIENTS and self.range else []


def heat_of(array: Any, name: str, of: int | None = None) -> Heat:
    """The heat-map of an array. The last axis runs across, and all other axes run down.

    >>> import numpy as np
    >>> heat_of(np.array([[-1.0, 0.0], [0.5, 1.0]]), "data").cells
    'AJNS'
    """
    np = lib(array)
    flat = np.atleast_1d(np.asarray(array, dtype=float))
    flat = flat.reshape(-1, flat.shape[-1]) if flat.size else np.zeros((1, 1))
    ends = (np.fmin.reduce(flat, None), np.fmax.reduce(flat, None)) if array.size else ()
    # NumPy computes the summary, since a list of millions of numbers would take seconds.
    summary = Summary(ends, array.size - np.count_nonzero(array), array.size)
    with np.errstate(all="ignore"):
        flat = _averaged(_averaged(flat, 0, ROWS), 1, COLUMNS)
    return heat(flat.tolist(), name, of, summary, str(tuple(array.shape)))


def _averaged(grid: Any, axis: int, most: int) -> Any:
    """The grid with at most `most` cells along an axis, each the mean of the cells that it replaces."""
    np, count = lib(grid), grid.shape[axis]
    if count <= most:
        return grid
    starts = np.arange(most) * count // most
    lengths = np.diff([*starts, count])
    return np.add.reduceat(grid, starts, axis=axis) / lengths.reshape(-1, 1 if axis == 0 else len(lengths))


class Summary(NamedTuple):
    """The smallest and the largest of some numbers, how many are zero, and how many numbers there are."""

    ends: tuple[float, ...]
    zeros: int
    total: int


def summary_of(numbers: Sequence[float]) -> Summary:
    return Summary((min(numbers), max(numbers)) if numbers else (), numbers.count(0.0), len(numbers))


def heat(
    grid: Sequence[Sequence[float | None]],
    name: str,
    of: int | list[int | None] | None = None,
    summary: Summary | None = None,
    shape: str = "",
) -> Heat:
    """The heat-map of rows of numbers. Rows may differ in length, and None is an empty cell.

    If the rows stand for more numbers than they have, `summary` is the summary of those.
    """
    columns = max(map(len, grid), default=0)
    shown = [x for row in grid for x in row if x is not None]
    most = max((abs(x) for x in shown if abs(x) < float("inf")), default=0.0)
    cells = "".join(_letter(row[k] if k < len(row) else None, most) for row in grid for k in range(columns))
    summary = summary or summary_of(shown)
    ends = dict.fromkeys(map(value_text, summary.ends))
    zeros = f"{summary.zeros:,} of {summary.total:,} are 0" if summary.zeros else ""
    return Heat(name, len(grid), columns, cells, " to ".join(ends), zeros, shape, of)


def _letter(x: float | None, most: float) -> str:
    if x is None:
        return " "
    if x != x:
        return "?"
    level = round(STEPS * max(-1.0, min(1.0, x / most))) if most else (x > 0) - (x < 0)
    return chr(ord("A") + STEPS + level)


def heat_of_module(module: Any, grads: dict[Any, Any], place: dict[Any, int]) -> list[Heat]:
    """Heat-maps of a module's weights and their gradients: a row for each neuron, or the module's largest array.

    `place` has the places of nodes in the walk.
    """
    named = [(path, node_of(p)) for path, p in type(module).named_parameters(module)]
    if not named:
        return []
    if not named[0][1]._is_number:
        largest = max((node for _, node in named), key=lambda node: node._data.size)
        return heats_of_array(largest._data, grads.get(largest), place.get(largest), ("weights", GRADIENTS))
    shown = [row[:COLUMNS] for row in rows_of(module)[:ROWS]]
    columns = max(map(len, shown))
    of = [place.get(row[k]) if k < len(row) else None for row in shown for k in range(columns)]
    maps = [heat([[node._data for node in row] for row in shown], "weights", of)]
    if any(node in grads for _, node in named):
        maps.append(heat([[grads.get(node) for node in row] for row in shown], GRADIENTS, of))
    return maps


def rows_of(module: Any) -> list[list[Any]]:
    """The parameters of a module, a row for each neuron."""
    rows: dict[str, list[Any]] = {}
    for path, p in type(module).named_parameters(module):
        rows.setdefault(_home(path), []).append(node_of(p))
    return [*rows.values()]


def heats_of_array(data: Any, grad: Any, of: int | None, names: tuple[str, str] = ("data", "grad")) -> list[Heat]:
    """The heat-maps of an array and of its gradient, if there is a gradient."""
    return [heat_of(array, name, of) for array, name in zip((data, grad), names, strict=True) if array is not None]


def heat_of_group(sent: Sequence[tuple[Any, float]], place: dict[Any, int]) -> Heat:
    """The gradients of many nodes as a row, sorted by magnitude. Of too many, some are shown, evenly spaced."""
    order = sorted(sent, key=lambda pair: abs(pair[1]) if pair[1] == pair[1] else float("inf"))
    every = (len(order) - 1) / (COLUMNS - 1)
    shown = [order[round(k * every)] for k in range(COLUMNS)] if every > 1 else order
    row = heat([[g for _, g in shown]], GRADIENTS, summary=summary_of([g for _, g in order]))
    places = sorted(place[node] for node, _ in order)
    steps = [(step, len([*run])) for step, run in groupby(b - a for a, b in pairwise(places))]
    row.among = [places[0], *chain(*steps)] if len(steps) <= MOST_STEPS else None
    return row


def _home(path: str) -> str:
    """The path of the module that owns a parameter: `neurons.3` for `neurons.3.w.5` and `neurons.3.b`."""
    parts = path.split(".")
    if parts[-1].isdigit():
        parts.pop()
    return ".".join(parts[:-1])
