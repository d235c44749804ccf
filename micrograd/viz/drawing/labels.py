"""The places of the labels of lines in a drawing or a film: beside a flat piece of the line, where nothing else is.

The player places its labels in the same way, in labels.js, once its cards are laid out for the window.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, hypot, inf

from .card import Place, turned
from .layout import Point

HIGH, WIDE = 6.5, 3.8  # half of the height of a label, and of the width of a letter
SIDES: list[tuple[float, float]] = [
    (0, -1), (0, 1), (-0.5, -1), (0.5, -1), (-0.5, 1), (0.5, 1), (-1, -1), (1, -1), (-1, 0), (1, 0),
]  # fmt: skip
Area = tuple[float, float, float, float, int]  # left, top, right, low, and the cost of covering a part of the area


def beside(
    routes: Sequence[Sequence[Point]], places: Sequence[Place], texts: Sequence[str], down: bool = False
) -> list[Point | None]:
    """The centre of each label, where it covers least and is near the line's middle; None for a line without a text."""
    lines = [[turned(*point, down) for point in along(route)] for route in routes]
    taken: list[Area] = [(x - 3, y - 4, x + 3, y + 4, 14) for line in lines for x, y in line]
    taken += [(p.x - p.badge / 2, p.y, p.x + p.width, p.y + p.height, 300) for p in places]
    centres: list[Point | None] = []
    for line, text in zip(lines, texts, strict=True):
        half = WIDE * len(text)
        places_to_try = [
            (20 * abs(k / len(line) - 0.5) + turn, x + right * (half + 6), y + low * (HIGH + 6))
            for k, (x, y) in enumerate(line if text else [])
            for turn, (right, low) in enumerate(SIDES)
        ]
        if not places_to_try:
            centres.append(None)
            continue
        best = (inf, 0.0, 0.0)
        for least, x, y in sorted(places_to_try):
            if least >= best[0]:
                break  # a later place costs more, even if it covers nothing
            best = min(best, (least + _cost(x, y, half, taken), x, y))
        _, x, y = best
        centres.append((x, y))
        taken.append((x - half, y - HIGH, x + half, y + HIGH, 90))
    return centres


def _cost(x: float, y: float, half: float, taken: Sequence[Area]) -> int:
    """The cost of the areas that a label around this point would cover."""
    left, right, top, low = x - half, x + half, y - HIGH, y + HIGH
    return sum(cost for a, b, c, d, cost in taken if left < c and a < right and top < d and b < low)


def along(route: Sequence[Point]) -> Iterator[Point]:
    """Points of the path of a route, some 6 pixels apart."""
    for (x0, y0), (x1, y1) in pairwise(route):
        many = ceil(hypot(x1 - x0, y1 - y0) / 6)
        for t in (k / many for k in range(many + 1)):
            across, down = (t, t) if y0 == y1 else (1.5 * t * (1 - t) + t**3, 3 * t**2 - 2 * t**3)
            yield x0 + (x1 - x0) * across, y0 + (y1 - y0) * down
