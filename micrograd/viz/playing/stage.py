"""The coordinates of a scene: its cards, its wires, and the labels ("pills") on the wires.

`layout` places the cards. Each wire that carries numbers gets a pill, on its last bend before the card that it enters;
pills that would overlap are pushed apart.
"""

from dataclasses import dataclass
from itertools import pairwise

from ..drawing.layout import Layout, Point, layout
from .card import BADGE, card_size
from .scenes import Scene, Wire

PILL = (70.0, 38.0)
ROUNDS = 40  # the most passes that push pills apart
CROWDED, MOST_AT_A_CARD = 70, 12  # with more wires in a scene, or into a card, not all pills fit


@dataclass
class Place:
    """A card's top left corner and size, and the width of the badge on its left edge."""

    x: float
    y: float
    width: float
    height: float
    badge: float


@dataclass
class Stage:
    """The coordinates of a scene: `routes` are the points of each wire, `pills` the centre of its pill, if any.

    If `crowded`, the pills do not fit all at once, only those of the wires into one card.
    """

    width: float
    height: float
    places: list[Place]
    routes: list[list[Point]]
    pills: list[Point | None]
    crowded: bool = False


def stage(scene: Scene, close: bool = False) -> Stage:
    """Lay out a scene; if `close`, with as little room between the columns as pills need."""
    uses: list[list[Wire]] = [[] for _ in scene.cards]
    for wire in scene.wires:
        uses[wire.tail].append(wire)
    sizes = [card_size(card, sent) for card, sent in zip(scene.cards, uses, strict=True)]
    crowded = len(scene.wires) > CROWDED
    boxes = [(width + badge / 2, height) for width, height, badge in sizes]
    ends = [(wire.tail, wire.head) for wire in scene.wires]
    spread = [8.0 if badge else height / 3 for _, height, badge in sizes]
    shape = layout(boxes, ends, spread=spread, gap=PILL[0] + (14 if crowded or close else 34))
    corners = [(x + badge / 2, y) for (x, y, _, _), (_, _, badge) in zip(shape.boxes, sizes, strict=True)]
    places = [Place(*corner, *size) for corner, size in zip(corners, sizes, strict=True)]
    routes = [_to_badge(route, places[w.head]) for route, w in zip(shape.routes, scene.wires, strict=True)]
    pills = _pills(scene.wires, routes, shape, crowded)
    return Stage(shape.width, shape.height, places, routes, pills, crowded)


# ------------------------------------------------------------------------------------------------ wires
def _to_badge(route: list[Point], place: Place) -> list[Point]:
    """Extend a route to the rounded edge of the badge, or to the card."""
    if len(route) < 2 or not place.badge:
        return route
    x, y = route[-1]
    radius = BADGE / 2
    off = y - (place.y + place.height / 2)
    inset = radius - max(radius**2 - off**2, 0.0) ** 0.5 if abs(off) < radius else place.badge / 2
    return [*route[:-1], (x + inset, y)]


def _pills(wires: list[Wire], routes: list[list[Point]], shape: Layout, crowded: bool) -> list[Point | None]:
    """The centre of each pill: on its wire's last bend, then pushed up or down until none overlap."""
    spots = {e: _on_bend(route) for e, route in enumerate(routes) if len(route) > 1 and e not in shape.backward}
    together: dict[int, list[int]] = {}  # pills that are visible at the same time
    for e in sorted(spots, key=lambda e: (spots[e][1], routes[e][-1][1], e)):
        together.setdefault(wires[e].head if crowded else 0, []).append(e)
    shown: dict[int, Point] = {}
    for order in together.values():
        if crowded and len(order) > MOST_AT_A_CARD:
            continue
        for _ in range(ROUNDS):
            pushed = [_push(spots, a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
            if not any(pushed):
                break
        shown |= {e: spots[e] for e in order}
    return [shown.get(e) for e in range(len(wires))]


def _push(spots: dict[int, Point], upper: int, lower: int) -> bool:
    """Push two overlapping pills apart, each by half; return False if they do not overlap."""
    (x0, y0), (x1, y1) = spots[upper], spots[lower]
    overlap = PILL[1] + 3 - (y1 - y0)
    if overlap <= 0.5 or abs(x1 - x0) >= PILL[0] + 3:
        return False
    spots[upper], spots[lower] = (x0, y0 - overlap / 2), (x1, y1 + overlap / 2)
    return True


def _on_bend(route: list[Point]) -> Point:
    """The midpoint of a wire's last segment that is long enough for a pill, near its end."""
    stretches = [(p, q) for p, q in pairwise(route) if q[0] - p[0] > PILL[0]] or [(route[-2], route[-1])]
    (x0, y0), (x1, y1) = stretches[-1]
    if y0 == y1:
        x0 = max(x0, x1 - PILL[0] - 60)
    return (x0 + x1) / 2, (y0 + y1) / 2
