"""Contour lines of a grid of numbers, by marching squares (Lorensen and Cline 1987, in the plane).

Where two adjacent corners of a cell are on different sides of the level, the line crosses the edge between them, at the
point given by linear interpolation. A cell has two such crossings, or four at a saddle, where the mean of the corners
decides which to connect. Adjacent cells share crossings, through which their segments are joined into lines.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

Point = tuple[float, float]
Edge = tuple[int, int, bool]  # from (row, column) to its neighbour below (True) or to the right


def contours(grid: np.ndarray, level: float) -> list[list[Point]]:
    """Lines of points (x, y), in columns and rows of the grid; a closed line ends at its first point.

    Cells with a nan corner have no line.

    >>> contours(np.array([[0.0, 4.0], [0.0, 4.0]]), 1.0)
    [[(0.25, 0.0), (0.25, 1.0)]]
    """
    grid = np.clip(np.asarray(grid, dtype=float), -1e300, 1e300)  # infinities cannot be interpolated
    above = grid > level
    neighbours: dict[Edge, list[Edge]] = defaultdict(list)
    for one, other in _pieces(grid, above, level):
        neighbours[one].append(other)
        neighbours[other].append(one)
    return [[_crossing(grid, level, edge) for edge in line] for line in _joined(neighbours)]


def _pieces(grid: np.ndarray, above: np.ndarray, level: float) -> Iterator[tuple[Edge, Edge]]:
    """The segments of all cells that the level crosses, as pairs of edges."""
    corners = np.stack([above[:-1, :-1], above[:-1, 1:], above[1:, 1:], above[1:, :-1]])  # clockwise
    mixed = corners.any(0) & ~corners.all(0)
    known = ~np.isnan(grid)
    mixed &= known[:-1, :-1] & known[:-1, 1:] & known[1:, 1:] & known[1:, :-1]
    for row, column in np.argwhere(mixed).tolist():
        a, b, c, d = corners[:, row, column].tolist()
        top, right = (row, column, False), (row, column + 1, True)
        bottom, left = (row + 1, column, False), (row, column, True)
        sides = ((top, a != b), (right, b != c), (bottom, c != d), (left, d != a))
        crossed = [edge for edge, is_crossed in sides if is_crossed]
        if len(crossed) == 4:
            middle = grid[row : row + 2, column : column + 2].mean() > level
            crossed = [left, top, right, bottom] if middle != a else [top, right, bottom, left]
            yield crossed[2], crossed[3]
        yield crossed[0], crossed[1]


def _joined(neighbours: dict[Edge, list[Edge]]) -> Iterator[list[Edge]]:
    """Join the segments: first into open lines, which end at the border, then into closed ones."""
    ends = [edge for edge, beside in neighbours.items() if len(beside) == 1]
    for start in [*ends, *neighbours]:
        if not neighbours[start]:
            continue  # already part of a line
        line = [start]
        while beside := neighbours[line[-1]]:
            line.append(beside.pop())
            neighbours[line[-1]].remove(line[-2])
        yield line


def _crossing(grid: np.ndarray, level: float, edge: Edge) -> Point:
    row, column, down = edge
    a, b = float(grid[row, column]), float(grid[row + down, column + (not down)])
    part = (level - a) / (b - a)
    return (float(column), row + part) if down else (column + part, float(row))


def simplified(line: list[Point], tolerance: float) -> list[Point]:
    """Drop points that are within `tolerance` of the rest of the line (Ramer 1972, Douglas and Peucker 1973)."""
    places, keep, stretches = np.array(line) @ [1, 1j], {0, len(line) - 1}, [(0, len(line) - 1)]
    while stretches:
        first, last = stretches.pop()
        along, out = places[last] - places[first], places[first : last + 1] - places[first]
        off = abs((out * np.conj(along)).imag) / abs(along) if along else abs(out)
        middle = first + int(off.argmax())
        if off[middle - first] > tolerance:
            keep.add(middle)
            stretches += [(first, middle), (middle, last)]
    return [line[i] for i in sorted(keep)]
