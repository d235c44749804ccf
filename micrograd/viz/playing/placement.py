"""The coordinates of a scene: its cards, its wires, and the labels ("pills") on the wires.

`arrange` places the cards. Each wire that leads to the right gets a pill, on its last bend before the card that it
enters. Pills that would overlap are pushed apart.
"""

from dataclasses import dataclass, field
from itertools import pairwise

from ..drawing.card import Arranged, arrange
from ..drawing.carried import factor
from ..drawing.labels import beside
from ..drawing.layout import Point
from .views import Scene, Wire

PILL = (70.0, 38.0)
ROUNDS = 40  # the most passes that push pills apart
CROWDED, MOST_AT_A_CARD = 70, 12  # the most wires in a scene, and into a card, whose pills all fit


@dataclass
class PlacedScene(Arranged):
    """The coordinates of a scene: `pills` are the centres of the pills of its wires, if any.

    In a `crowded` scene only the pills of the wires into a single card fit at the same time. In a film, `labels` are
    the centres of the factors beside the wires, and cards are `small` if each of them shows a single number.
    """

    pills: list[Point | None] = field(default_factory=list)
    crowded: bool = False
    labels: list[Point | None] = field(default_factory=list)
    small: bool = False


def placed(scene: Scene, film: bool = False) -> PlacedScene:
    """Lay out a scene; for a film, with small cards and as little room between the columns as pills need."""
    small = film and all(card.data is not None and not card.heats for card in scene.cards)
    uses: list[list[Wire]] = [[] for _ in scene.cards]
    for wire in scene.wires:
        uses[wire.tail].append(wire)
    crowded = len(scene.wires) > CROWDED
    faces = [card.face(sent, small) for card, sent in zip(scene.cards, uses, strict=True)]
    ends = [(wire.tail, wire.head) for wire in scene.wires]
    shape = arrange(faces, ends, PILL[0] + (0 if small else 14 if crowded else 28 if film else 34))
    texts = [factor(wire) for wire in scene.wires] if film and not crowded else [""] * len(ends)
    labels = beside(shape.routes, shape.places, texts)
    return PlacedScene(
        **vars(shape), pills=_pills(scene.wires, shape, crowded), crowded=crowded, labels=labels, small=small
    )


def _pills(wires: list[Wire], shape: Arranged, crowded: bool) -> list[Point | None]:
    """The centre of each pill: on its wire's last bend, then pushed up or down until none overlap."""
    routes = shape.routes
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
    segments = [(p, q) for p, q in pairwise(route) if q[0] - p[0] > PILL[0]] or [(route[-2], route[-1])]
    (x0, y0), (x1, y1) = segments[-1]
    if y0 == y1:
        x0 = max(x0, x1 - PILL[0] - 60)
    return (x0 + x1) / 2, (y0 + y1) / 2
