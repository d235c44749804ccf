"""The coordinates of a scene: its cards, its wires, and the labels ("pills") on the wires.

`layout` places the cards. Each wire that carries numbers gets a pill, on its last bend before the card that it enters;
pills that would overlap are pushed apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ..drawing.layout import Layout, Point, layout
from ..text import clean, shorten, sign, text_width
from ..values import value_text
from .heat import Heat
from .scenes import FOLDED, LEADS_NOWHERE, Card, Scene, Wire

PAD, BADGE = 12.0, 32.0
LINE = 19.0
TITLE = 27.0
KEY, DOT, DIGIT = 40.0, 9.0, 8.0  # widths on a row: key and padding, the dot of a use, a digit
MOST_DOTS = 5  # more uses get no dots: nobody would count them
CELL, GUTTER = 5.0, 14.0  # of heat-maps: height of a cell, space between two maps
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


def stage(scene: Scene) -> Stage:
    """Lay out a scene."""
    uses: list[list[Wire]] = [[] for _ in scene.cards]
    for wire in scene.wires:
        uses[wire.tail].append(wire)
    sizes = [card_size(card, sent) for card, sent in zip(scene.cards, uses, strict=True)]
    crowded = len(scene.wires) > CROWDED
    shape = layout(
        [(width + badge / 2, height) for width, height, badge in sizes],
        [(wire.tail, wire.head) for wire in scene.wires],
        spread=[8.0 if badge else height / 3 for _, height, badge in sizes],
        gap=PILL[0] + (14 if crowded else 44),
    )
    places = [
        Place(x + badge / 2, y, width, height, badge)
        for (x, y, _, _), (width, height, badge) in zip(shape.boxes, sizes, strict=True)
    ]
    routes = [_to_badge(route, places[w.head]) for route, w in zip(shape.routes, scene.wires, strict=True)]
    pills = _pills(scene.wires, routes, shape, crowded)
    return Stage(shape.width, shape.height, places, routes, pills, crowded)


# ------------------------------------------------------------------------------------------------ cards
def title(card: Card) -> str:
    """The title of a card: its name, else its expression."""
    name = shorten(card.box.name, 24, "\u2026") or clean(card.box.expression)
    return name or (
        "sum" if card.box.op == "sum" else card.box.kind if card.box.kind == "constant" and card.shape else ""
    )


def aside(card: Card) -> str:
    """The note to the right of the title: repetitions, shape, expression or kind."""
    box = card.box
    if box.times > 1:
        return f"\u00d7{box.times:,}"
    if card.shape:
        return card.shape
    if box.name and box.expression and len(box.expression) <= 16:
        return box.expression
    return {"input": "input", "parameter": "parameter"}.get(box.kind, "") if box.name else ""


def is_number(card: Card) -> bool:
    """True for an unnamed scalar constant, whose card shows only its number."""
    return card.box.kind == "constant" and not title(card) and not card.shape


def lines(card: Card) -> list[str]:
    """The keys of the rows below the title, "data" and "grad", or the texts of a folded box."""
    if card.data is not None:
        return ["data"] if card.box.kind == "constant" else ["data", "grad"]
    if card.box.kind in FOLDED:
        return [f"{text} {key}" if key == "nodes" else text for key, text in card.box.rows if key != "grad"]
    return []


def card_size(card: Card, uses: Sequence[Wire] = ()) -> tuple[float, float, float]:
    """(width, height, width of the badge or 0) of a card; `uses` are the wires that leave it."""
    badge = max(BADGE, text_width(sign(card.box.op), 13, bold=True) + 16) if card.box.op else 0.0
    if is_number(card):
        return 84.0, 34.0, badge
    left = PAD + max(badge / 2 - 2, 0)
    top = title(card) if card.opens == LEADS_NOWHERE else f"\u25b8 {title(card)}"
    head = text_width(top, 14.5, bold=True) + (text_width(aside(card), 11) + 14) * bool(aside(card))
    rows = lines(card)
    wide = [_number_line(card, uses) if name in ("data", "grad") else text_width(name, 12) for name in rows]
    maps = sum(max(len(heat.name) * 6.4, heat.columns * cell_width(heat.columns)) + GUTTER for heat in card.heats)
    width = left + max(head, *wide, maps - GUTTER, 96.0) + PAD
    tall = max((_height(heat) for heat in card.heats), default=0.0)
    return width, TITLE + 8 + LINE * len(rows) + tall, badge


def _number_line(card: Card, uses: Sequence[Wire]) -> float:
    """Width of a row: its key, a dot per use, and the longest number shown at any step."""
    parts = [wire.part for wire in uses if isinstance(wire.part, float)][::-1]
    dots = len(uses) if 1 < len(uses) <= MOST_DOTS else 0
    longest = max(len(value_text(x)) for x in (card.data, card.grad, *parts, *accumulate(parts)) if x is not None)
    return max(108.0, KEY + DOT * dots + DIGIT * longest)


def cell_width(columns: int) -> float:
    """Width of a cell; narrow maps have wider cells."""
    return max(CELL, min(12.0, 90.0 / columns))


def _height(heat: Heat) -> float:
    """Height of a heat-map with its name and padding."""
    return 15 + heat.rows * CELL + 6


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
