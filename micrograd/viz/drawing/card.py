"""The contents of a card, its size and its place, which drawings, animations and the player all show."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple

from ..text import badge_text, clean, pretty, shorten, text_width
from .data import NO_GRADIENT, Box
from .heat import Heat
from .layout import Point, layout

PAD, BADGE = 12.0, 32.0
LINE, TITLE = 19.0, 27.0  # heights
KEY, DOT, DIGIT = 44.0, 9.0, 8.0  # widths in a row: a key with padding, the dot of a use, a digit
CELL, GUTTER, RANGE = 5.0, 14.0, 15.0  # of heat-maps: the height of a cell, the space between two, a caption's height
FOLDED = ("module", "repeat", "stretch")


@dataclass
class Face:
    """The contents of a card.

    Each row is a key, a text and a width. A number that changes has no text, and a text has no key.
    """

    kind: str
    title: str
    named: bool  # the title is a name, not an expression
    aside: str
    sign: str  # of the op, on the badge
    rows: list[tuple[str, str, float]]
    heats: Sequence[Heat] = field(default_factory=list)
    times: int = 1
    uses: int = 0  # how many dots stand before the gradient, one for each use
    tip: str = ""
    small: bool = False  # the numbers stand beside the name, without keys

    @property
    def head(self) -> float:
        """The height of the title's line, or of the space in place of the line."""
        return TITLE if self.title or self.aside else 9.0

    @property
    def alone(self) -> bool:
        """True for an unnamed constant, whose card shows only its number."""
        return self.kind == "constant" and not self.title and not self.aside and len(self.rows) == 1


class Piece(NamedTuple):
    """A bar, a text, the dots or a heat-map on a card. A negative `x` counts from the right edge, where the text ends.

    The roles are "bar" (at the left edge of a leaf), "title" (a name), "made" (an expression as the title), "aside",
    "key", "data", "grad" and any other key (the text of the row with this key), "uses" (dots), "heat" (the next
    heat-map, with cells of width `wide`) and "range" (a caption below a heat-map).
    """

    role: str
    x: float
    y: float
    text: str = ""
    wide: float = 0.0


@dataclass
class Place:
    """A card's top left corner and size, and the width of the badge on its edge."""

    x: float
    y: float
    width: float
    height: float
    badge: float


def face(box: Box, uses: int = 0, shape: str | None = None) -> Face:
    """The contents of the card of a box at rest, whose numbers are text. With a `shape`, the caller adds the rows."""
    lines = []
    if shape is None:
        shape, lines = dict(box.rows).get("shape", ""), rows(box)
    name = shorten(box.name or box.short, 26, "\u2026")
    no_name = "sum" if box.op == "sum" else "constant" if box.kind == "constant" and shape else ""
    title = name or pretty(clean(box.expression) or no_name)
    named = bool(name) or box.kind in FOLDED
    uses = dots(uses) if "grad" in dict(lines) and box.times == 1 else 0
    measured = []
    for key, text in lines:
        text = pretty(shorten(text, 34, "\u2026"))
        measured.append((key, text, number_width(text, uses) if key else text_width(text, 12)))
    sign = badge_text(box.op) if box.op else ""
    return Face(box.kind, title, named, _aside(box, shape), sign, measured, box.heats, box.times, uses, box.tip)


def _aside(box: Box, shape: str) -> str:
    """The note to the right of the title: repetitions, a mark, the expression and the shape, or the kind of leaf."""
    if box.times > 1:
        return f"\u00d7{box.times:,}"
    if box.mark:
        return f"{box.mark} {shape}".strip()
    named = box.name or box.short
    expression = box.expression if box.short or (box.name and len(box.expression) <= 16) else ""
    if expression or shape:
        return "  ".join(filter(None, [pretty(expression), shape.removesuffix(" float64")]))
    return box.kind if named and box.kind in ("input", "parameter") else ""


def rows(box: Box) -> list[tuple[str, str]]:
    """The lines below the title, as keys and texts.

    The shape of an array stands beside the title. A large array has a heat-map in place of its range.
    """
    lines = []
    for key, text in box.rows:
        is_mapped = box.heats and (" .. " in text or text == NO_GRADIENT)
        if key == "nodes":
            lines.append(("", f"{text} nodes"))
        elif key != "shape" and not is_mapped:
            lines.append((key, text))
    return lines


def dots(uses: int) -> int:
    """How many dots a card has for its uses: none for a single use, or for more uses than anybody would count."""
    return uses if 1 < uses <= 5 else 0


def number_width(text: str, uses: int) -> float:
    """The width of a row: a key, a dot for each use, and a number or a text."""
    return KEY + DOT * uses + DIGIT * len(text)


def size(face: Face, down: bool = False) -> tuple[float, float, float]:
    """(width, height, width of the badge or 0) of a card; with `down`, the badge is on its upper edge."""
    badge = max(BADGE, text_width(face.sign, 13, bold=True) + 16) if face.sign else 0.0
    if face.small:
        name = (text_width(face.title, 14.5, bold=True) + 10) * face.named
        first, *more = [wide - KEY for _, _, wide in face.rows]
        return _corner(badge, down)[0] + max([name + first, *more]) + PAD, 26.0 + 16 * len(more), badge
    if face.alone:
        return max(84.0, face.rows[0][2] - KEY + 2 * PAD), 34.0, badge
    left, top = _corner(badge, down)
    head = text_width(face.title, 14.5, bold=True) + (text_width(face.aside, 11) + 14) * bool(face.aside)
    maps = sum(_across(heat) + GUTTER for heat in face.heats)
    width = left + max(head, *(wide for _, _, wide in face.rows), maps - GUTTER, 108.0) + PAD
    tall = max((_height(heat) for heat in face.heats), default=0.0)
    return width, top + face.head + 8 + LINE * len(face.rows) + tall, badge


def _corner(badge: float, down: bool) -> tuple[float, float]:
    """The point at which the contents of a card begin, beside or below half of the badge."""
    return (PAD, max(badge and BADGE / 2 - 2, 0)) if down else (PAD + max(badge / 2 - 2, 0), 0.0)


def pieces(face: Face, badge: float, down: bool = False) -> list[Piece]:
    """The pieces of a card whose badge is this wide. Body and badge are not listed, since every card has the same."""
    left, top = _corner(badge, down)
    listed = [Piece("bar", 0, 9)] if face.kind in ("parameter", "input") else []
    if face.small:
        listed += [Piece("title", left, 18, face.title)] * face.named
        listed += [Piece(key, -PAD, 18.0 + 16 * k, text) for k, (key, text, _) in enumerate(face.rows)]
        return [*listed, Piece("uses", left + 4, 30)]
    if face.alone:
        return [*listed, Piece("data", -PAD, 22, face.rows[0][1])]
    if face.title:
        listed.append(Piece("title" if face.named else "made", left, top + 22, face.title))
    if face.aside:
        listed.append(Piece("aside", -PAD, top + 22, face.aside))
    y = top + face.head + 17
    for key, text, _ in face.rows:
        listed.append(Piece("key", left, y, key or pretty(text)))
        if key:
            listed.append(Piece(key, -PAD, y, text))
        if key == "grad":
            listed.append(Piece("uses", left + 40, y - 4))
        y += LINE
    x = left
    for heat in face.heats:
        has_row = any(key == heat.name for key, *_ in face.rows)  # a row that names the numbers of the map
        listed.append(Piece("key", x, y - 5, "" if has_row else heat.name))
        listed.append(Piece("heat", x, y - 10 * has_row, wide=cell_width(heat.columns)))
        low = y + heat.rows * CELL + 14
        listed += [Piece("range", x, low + RANGE * k, pretty(text)) for k, text in enumerate(heat.captions)]
        x += _across(heat) + GUTTER
    return listed


def cell_width(columns: int) -> float:
    """The width of a cell. A narrow map has wider cells."""
    return max(CELL, min(12.0, 90.0 / columns))


def _across(heat: Heat) -> float:
    """The width of a heat-map with its name and its captions."""
    captions = [text_width(text, 12) for text in heat.captions]
    return max(len(heat.name) * 6.4, heat.columns * cell_width(heat.columns), *captions)


def _height(heat: Heat) -> float:
    """The height of a heat-map with its name, its captions and padding."""
    return 15 + heat.rows * CELL + 6 + RANGE * len(heat.captions)


# ------------------------------------------------------------------------------------------------ places
@dataclass
class Arranged:
    """The places of cards and the points of each line. `backward` has the lines that run against the direction."""

    width: float
    height: float
    places: list[Place]
    routes: list[list[Point]]
    backward: set[int]


def arrange(
    faces: Sequence[Face], ends: Sequence[tuple[int, int]], gap: float, down: bool = False, even: bool = False
) -> Arranged:
    """Lay out cards and the lines between them, from left to right or, with `down`, from top to bottom.

    `gap` is the room between columns, or rows, of cards. With `even`, all cards of modules are as wide as the widest.
    """
    sizes = [size(face, down) for face in faces]
    if even:
        is_module = [face.kind == "module" for face in faces]
        widest = max([each[0] for each in compress(sizes, is_module)], default=0)
        sizes = [(widest, *each[1:]) if module else each for each, module in zip(sizes, is_module, strict=True)]
    margins, boxes, spread = [], [], []
    for width, height, badge in sizes:
        along, across = turned(width, height, down)
        margin = min(badge, BADGE) / 2 if down else badge / 2  # for the half of the badge that is outside of the card
        margins.append(margin)
        boxes.append((along + margin, across))
        flat = badge / 2 - 8 if down else 0.0
        spread.append(max(8.0, flat) if badge else min(across / 3, 28))
    shape = layout(boxes, ends, spread=spread, gap=gap)
    corners = [turned(x + margin, y, down) for (x, y, _, _), margin in zip(shape.boxes, margins, strict=True)]
    places = [Place(*corner, *each) for corner, each in zip(corners, sizes, strict=True)]
    for e, (_, head) in enumerate(ends):
        badge, route = places[head].badge, shape.routes[e]
        if len(route) > 1 and e not in shape.backward and badge:
            (_, top, _, high), (x, y) = shape.boxes[head], route[-1]
            route[-1] = x + _inset(y - (top + high / 2), badge, down), y
    return Arranged(*turned(shape.width, shape.height, down), places, shape.routes, shape.backward)


def turned(along: float, across: float, down: bool) -> Point:
    """A point or a size, with its axes swapped for a drawing from top to bottom."""
    return (across, along) if down else (along, across)


def _inset(off: float, badge: float, down: bool) -> float:
    """How far the rounded edge of a badge lies behind its foremost point, at the distance `off` from the middle."""
    radius = BADGE / 2
    straight = badge / 2 - radius if down else 0.0  # half of the edge between its round ends
    beyond = max(0.0, abs(off) - straight)
    return radius - (radius**2 - beyond**2) ** 0.5
