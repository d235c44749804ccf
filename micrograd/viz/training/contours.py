"""Contour lines of a grid of numbers, by marching squares (Lorensen and Cline 1987, in the plane).

Where two adjacent corners of a cell are on different sides of the level, the line crosses the edge between them, at the
point given by linear interpolation. A cell has two such crossings, or four at a saddle, where the mean of the corners
decides which to connect. Adjacent cells share crossings, through which their segments are joined into lines.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

Point = tuple[float, float]


def contours(grid: np.ndarray, level: float) -> list[list[Point]]:
    """Lines of points (x, y), in units of columns and rows of the grid. A closed line ends at its first point.

    Cells with a nan corner have no line.

    >>> contours(np.array([[0.0, 4.0], [0.0, 4.0]]), 1.0)
    [[(0.25, 0.0), (0.25, 1.0)]]
    """
    grid = np.clip(np.asarray(grid, dtype=float), -1e300, 1e300)  # infinities cannot be interpolated
    rows, columns = np.indices(grid.shape).astype(float)
    with np.errstate(all="ignore"):  # edges that the level does not cross
        right = columns[:, :-1] + (level - grid[:, :-1]) / np.diff(grid, axis=1)
        down = rows[:-1] + (level - grid[:-1]) / np.diff(grid, axis=0)
    xs, ys = np.append(right, columns[:-1]).tolist(), np.append(rows[:, :-1], down).tolist()
    numbers = np.arange(right.size).reshape(right.shape), np.arange(right.size, len(xs)).reshape(down.shape)
    return [[(xs[edge], ys[edge]) for edge in line] for line in _joined(_segments(grid, level, *numbers))]


def _segments(grid: np.ndarray, level: float, right: np.ndarray, down: np.ndarray) -> Iterator[list[int]]:
    """The segments of all cells that the level crosses, as pairs of the numbers of edges."""
    corners = np.stack([grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]])  # clockwise
    edges = np.stack([right[:-1], down[:, 1:], right[1:], down[:, :-1]])  # each from its corner to the next
    above = corners > level
    crossed = above != np.roll(above, -1, axis=0)
    for row, column in np.argwhere(crossed.any(axis=0) & ~np.isnan(corners).any(axis=0)).tolist():
        crossings = edges[crossed[:, row, column], row, column].tolist()
        if len(crossings) == 4 and (corners[:, row, column].mean() > level) != above[0, row, column]:
            crossings = [*crossings[1:], crossings[0]]
        yield from (crossings[i : i + 2] for i in range(0, len(crossings), 2))


def _joined(segments: Iterator[list[int]]) -> Iterator[list[int]]:
    """Join the segments: first into open lines, which end at the border, then into closed ones."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    for a, b in segments:
        neighbours[a].append(b)
        neighbours[b].append(a)
    ends = [edge for edge, beside in neighbours.items() if len(beside) == 1]
    for start in [*ends, *neighbours]:
        if not neighbours[start]:
            continue  # already part of a line
        line = [start]
        while beside := neighbours[line[-1]]:
            line.append(beside.pop())
            neighbours[line[-1]].remove(line[-2])
        yield line


def simplified(line: list[Point], tolerance: float) -> list[Point]:
    """Drop points that are within `tolerance` of the rest of the line (Ramer 1972, Douglas and Peucker 1973)."""
    places, kept, stretches = np.array(line) @ [1, 1j], {0, len(line) - 1}, [(0, len(line) - 1)]
    while stretches:
        first, last = stretches.pop()
        along, out = places[last] - places[first], places[first : last + 1] - places[first]
        distance = abs((out * np.conj(along)).imag) / abs(along) if along else abs(out)
        farthest = first + int(distance.argmax())
        if distance[farthest - first] > tolerance:
            kept.add(farthest)
            stretches += [(first, farthest), (farthest, last)]
    return [line[i] for i in sorted(kept)]
