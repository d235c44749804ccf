"""A card, described once: its size and its pieces. The page, the animation and the GIF draw the same description."""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from ..text import badge_text, clean, pretty, shorten, text_width
from ..values import value_text
from .heat import Heat, said
from .scenes import FOLDED, LEADS_NOWHERE, Card, Wire

PAD, BADGE = 12.0, 32.0
LINE = 19.0
TITLE = 27.0
KEY, DOT, DIGIT = 44.0, 9.0, 8.0  # widths on a row: key and padding, the dot of a use, a digit
MOST_DOTS = 5  # more uses get no dots: nobody would count them
CELL, GUTTER, RANGE = 5.0, 14.0, 15.0  # of heat-maps: height of a cell, space between two maps, height of its range


class Piece(NamedTuple):
    """One thing on a card. A negative `x` counts from the right edge, where the text ends.

    Kinds: "bar" (at the left edge of a leaf), "title" (a name), "made" (an expression as the title), "aside", "key",
    "data" and "grad" (numbers), "uses" (dots), "heat" (the next heat-map; `wide` is the width of its cells).
    """

    kind: str
    x: float
    y: float
    text: str = ""
    wide: float = 0.0


def pieces(card: Card, badge: float) -> list[Piece]:
    """What is on a card whose badge is this wide. Body and badge are not listed: every card has the same."""
    found = [Piece("bar", 0, 9)] if card.box.kind in ("parameter", "input") else []
    if is_number(card):
        return [*found, Piece("data", -PAD, 22)]
    left, y = PAD + max(badge / 2 - 2, 0), TITLE + 17
    found.append(Piece("title" if card.box.name or card.box.kind in FOLDED else "made", left, 22, headline(card)))
    if aside(card):
        found.append(Piece("aside", -PAD, 22, pretty(aside(card))))
    for row in lines(card):
        found.append(Piece("key", left, y, pretty(row)))
        if row in ("data", "grad"):
            found.append(Piece(row, -PAD, y))
        if row == "grad":
            found.append(Piece("uses", left + 40, y - 4))
        y += LINE
    x = left
    for heat in card.heats:
        wide = cell_width(heat.columns)
        found += [Piece("key", x, y - 5, heat.name), Piece("heat", x, y, wide=wide)]
        low = y + heat.rows * CELL + 14
        found += [Piece("range", x, low + RANGE * k, pretty(text)) for k, text in enumerate(said(heat))]
        x += _across(heat) + GUTTER
    return found


def headline(card: Card) -> str:
    """The title as it is shown: an arrow before what opens, the usual signs in an expression."""
    text = title(card) if card.box.name or card.box.kind in FOLDED else pretty(title(card))
    return text if card.opens == LEADS_NOWHERE else f"\u25b8 {text}"


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
    if box.kind == "stretch" and card.data is not None:
        return f"{box.nodes:,} nodes"
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
        return [
            f"{text} {key}" if key == "nodes" else text for key, text in card.box.rows if key not in ("grad", "shape")
        ]
    return []


def card_size(card: Card, uses: Sequence[Wire] = ()) -> tuple[float, float, float]:
    """(width, height, width of the badge or 0) of a card; `uses` are the wires that leave it."""
    badge = max(BADGE, text_width(badge_text(card.box.op), 13, bold=True) + 16) if card.box.op else 0.0
    if is_number(card):
        return max(84.0, DIGIT * len(value_text(card.data)) + 2 * PAD), 34.0, badge
    left = PAD + max(badge / 2 - 2, 0)
    head = text_width(headline(card), 14.5, bold=True) + (text_width(aside(card), 11) + 14) * bool(aside(card))
    rows = lines(card)
    wide = [_number_line(card, uses) if name in ("data", "grad") else text_width(name, 12) for name in rows]
    maps = sum(_across(heat) + GUTTER for heat in card.heats)
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


def _across(heat: Heat) -> float:
    """Width of a heat-map with its name and, if it is of a group's gradients, their range."""
    return max(len(heat.name) * 6.4, heat.columns * cell_width(heat.columns), *[text_width(x, 12) for x in said(heat)])


def _height(heat: Heat) -> float:
    """Height of a heat-map with its name, its range and padding."""
    return 15 + heat.rows * CELL + 6 + RANGE * len(said(heat))
