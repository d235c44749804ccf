"""The card of a box whose numbers change from step to step; see `drawing.card`."""

from collections.abc import Sequence
from itertools import accumulate

from ..drawing.card import FOLDED, Face, aside, dots, number_width, rows, titled
from ..text import badge_text, text_width
from ..values import value_text
from .views import LEADS_NOWHERE, Card, Wire


def face(card: Card, uses: Sequence[Wire] = ()) -> Face:
    """What is on a card; `uses` are the wires that leave it."""
    box = card.box
    title, named = titled(box, card.shape)
    title = title if card.opens == LEADS_NOWHERE else f"\u25b8 {title}"
    counted = box.kind == "stretch" and card.data is not None and box.times == 1 and not card.shape
    beside = f"{box.nodes:,} nodes" if counted else aside(box, card.shape)
    sign = badge_text(box.op) if box.op else ""
    return Face(box.kind, title, named, beside, sign, _rows(card, uses), card.heats, box.times, dots(len(uses)))


def _rows(card: Card, uses: Sequence[Wire]) -> list[tuple[str, str, float]]:
    """The rows below the title: the numbers, without their text, or the texts of a folded box."""
    if card.data is not None:
        wide = _number_line(card, uses)
        return [(key, "", wide) for key in (("data",) if card.box.kind == "constant" else ("data", "grad"))]
    texts = [text for key, text in rows(card.box) if key != "grad"] if card.box.kind in FOLDED else []
    return [("", text, text_width(text, 12)) for text in texts]


def _number_line(card: Card, uses: Sequence[Wire]) -> float:
    """Width of a row: its key, a dot per use, and the longest number shown at any step."""
    parts = [wire.part for wire in uses if isinstance(wire.part, float)][::-1]
    shown = [value_text(x) for x in (card.data, card.grad, *parts, *accumulate(parts)) if x is not None]
    return number_width(max(shown, key=len), dots(len(uses)))
