"""Where the labels of lines stand in a film: beside them, where they are flat and nothing else is.

The player places its labels in the same way, in labels.js, once it has laid out its cards for the window.
"""

from collections.abc import Sequence

from ..drawing.card import Place
from ..drawing.layout import Point
from ..drawing.svg import along

HIGH, WIDE = 6.5, 3.8  # half of the height of a label, and of the width of a letter
SIDES: list[tuple[float, float]] = [
    (0, -1), (0, 1), (-0.5, -1), (0.5, -1), (-0.5, 1), (0.5, 1), (-1, -1), (1, -1), (-1, 0), (1, 0),
]  # fmt: skip
Area = tuple[float, float, float, float, int]  # left, top, right, low, and what it costs to cover a part of it


def beside(routes: Sequence[Sequence[Point]], places: Sequence[Place], texts: Sequence[str]) -> list[Point | None]:
    """The middle of each label, None for a line that has no text: where it covers least, and near the line's middle."""
    lines = [[*along(route)] for route in routes]
    taken: list[Area] = [(x - 3, y - 4, x + 3, y + 4, 14) for line in lines for x, y in line]
    taken += [(p.x - p.badge / 2, p.y, p.x + p.width, p.y + p.height, 300) for p in places]
    found: list[Point | None] = [None] * len(texts)
    for e, (line, text) in enumerate(zip(lines, texts, strict=True)):
        half = WIDE * len(text)
        tried = [
            (20 * abs(k / len(line) - 0.5) + turn, x + right * (half + 6), y + down * (HIGH + 6))
            for k, (x, y) in enumerate(line if text else [])
            for turn, (right, down) in enumerate(SIDES)
        ]
        if tried:
            _, x, y = min(tried, key=lambda spot: spot[0] + _cost(*spot[1:], half, taken))
            taken.append((x - half, y - HIGH, x + half, y + HIGH, 90))
            found[e] = x, y
    return found


def _cost(x: float, y: float, half: float, taken: Sequence[Area]) -> int:
    """What a label about this point would cover."""
    left, right, top, low = x - half, x + half, y - HIGH, y + HIGH
    return sum(cost for a, b, c, d, cost in taken if left < c and a < right and top < d and b < low)
