"""Plain data to SVG, without Graphviz: cards with the op as a badge on the side where its operands enter.

The SVG is self-contained: it follows `prefers-color-scheme`, has its own background so that it is legible on any page,
uses generic fonts, and has no ids, so that several drawings can share a page. Each card has a tooltip with everything
known about it. Text widths are estimated, on the wide side, since no font can be measured.
"""

from dataclasses import dataclass
from html import escape
from itertools import pairwise

from ..page import asset
from ..text import badge_text, clean, pretty, shorten, text_width
from ..text import coordinate as _n
from ..values import hue
from .data import Box, Edge, Picture
from .dot import CROWDED, dense, not_finite
from .layout import Layout, Point, layout
from .words import spoken, summary

MARGIN, PAD = 20.0, 11.0
TITLE, ROW = 20.0, 17.0  # heights of lines
BADGE = 26.0
DECK = 4.0  # offset of the second card that is drawn behind a repeated one
ARROW = 7.0


def write(graph: Picture, rankdir: str = "LR") -> str:
    """The drawing as an SVG document."""
    cards = [_Card(box, rankdir) for box in graph.boxes]
    modules = [card for card in cards if card.box.kind == "module"]
    for card in modules:
        card.widen(max(other.card_width for other in modules))
    edges = [(edge.tail, edge.head) for edge in graph.edges]
    counted = any(edge.count > 1 for edge in graph.edges)
    down = rankdir == "TB"  # a drawing from top to bottom is one from left to right with its axes swapped
    sizes, spread = [_turned(card.width, card.height, down) for card in cards], [card.spread for card in cards]
    shape = layout(sizes, edges, spread=spread, gap=72.0 if counted else 52.0)
    wide, high = _turned(shape.width, shape.height, down)
    note = pretty(graph.note)
    width = max(wide, text_width(note, 12) if note else 0.0) + 2 * MARGIN
    height = high + 2 * MARGIN + (TITLE if note else 0.0)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" class="micrograd-graph" role="img" width="{_n(width)}" '
        f'height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}" aria-label="{escape(summary(graph))}">',
        f"<title>{escape(summary(graph))}</title>",
        f"<desc>{escape(spoken(graph))}</desc>",
        f"<style>\n{asset('drawing/graph.css')}</style>",
        f'<rect class="ground" width="{_n(width)}" height="{_n(height)}" rx="10"/>',
        f'<g transform="translate({_n(MARGIN)} {_n(MARGIN)})">',
        *_edges(graph, cards, shape, down),
        *[card.draw(*_turned(x, y, down)) for card, (x, y, _, _) in zip(cards, shape.boxes, strict=True)],
        "</g>",
    ]
    if note:
        lines.append(f'<text class="note" x="{_n(MARGIN)}" y="{_n(height - 14)}">{escape(note)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _turned(along: float, across: float, down: bool) -> Point:
    return (across, along) if down else (along, across)


# ------------------------------------------------------------------------------------------------ cards
@dataclass
class _Text:
    """Text on a card, positioned relative to the card's top left corner."""

    x: float
    y: float
    style: str
    text: str

    def draw(self, left: float, top: float) -> str:
        return f'<text class="{self.style}" x="{_n(left + self.x)}" y="{_n(top + self.y)}">{escape(self.text)}</text>'


class _Card:
    """The measured text of a box, and its markup.

    `width` and `height` are the size that the layout uses: the card with its protruding badge and the card behind.
    """

    def __init__(self, box: Box, rankdir: str):
        self.box = box
        self.across = rankdir == "LR"
        self.sign = badge_text(box.op)
        self.badge = max(BADGE, text_width(self.sign, 13, bold=True) + 14) if box.op else 0.0
        self.deck = DECK if box.times > 1 else 0.0
        out = (self.badge if self.across else BADGE) / 2 if box.op else 0.0  # how far the badge protrudes
        self.left, self.top = (out, self.deck) if self.across else (0.0, max(out, self.deck))
        name = shorten(box.name, 26, "\u2026")
        self.title = name or pretty(box.expression)
        self.rows = [
            (key, pretty(shorten(text, 34, "\u2026")), f" {hue(text)}" if hue(text) and key != "nodes" else "")
            for key, text in box.rows
        ]
        self.texts: list[_Text] = []
        if box.kind == "constant" and not self.title and len(self.rows) == 1:
            self._set_number(*self.rows[0][1:])
        else:
            self._set_lines(PAD + (out if self.across else 0), 0 if self.across else out, bool(name))
        self.height = self.top + self.card_height
        flat = 8.0 if self.across else max(8.0, self.badge / 2 - 8)
        self.spread = flat if box.op else min((self.card_height if self.across else self.card_width) / 2 - 12, 24)

    @property
    def width(self) -> float:
        return self.left + self.card_width + self.deck

    def widen(self, card_width: float) -> None:
        """Widen the card; right-aligned text moves with its edge."""
        for text in self.texts:
            if text.style != "name" and text.style != "key":
                text.x += card_width - self.card_width
        self.card_width = card_width

    def _set_number(self, number: str, colour: str) -> None:
        """An unnamed constant is only its number."""
        self.card_width = text_width(number, 12, mono=True) + 2 * PAD
        self.card_height = 26.0
        self.texts.append(_Text(self.card_width / 2, 17.0, f"number data alone{colour}", number))

    def _set_lines(self, indent: float, down: float, named: bool) -> None:
        """Place the title, the note to its right, and the rows, after measuring the widest of them."""
        times = f"\u00d7{self.box.times:,}" if self.box.times > 1 else ""
        aside = times or (pretty(self.box.expression) if named and len(self.box.expression) <= 20 else "")
        beside = text_width(aside, 12 if times else 11, bold=bool(times)) + 14 if aside else 0.0
        top = text_width(self.title, 13.5, bold=named) + beside
        wide = [text_width(key, 12) + 14 + text_width(text, 12, mono=bool(key)) for key, text, _ in self.rows]
        widest = max(wide, default=0.0)
        right = indent + 100 + 12 * max(0, -(-(max(top, widest) - 100) // 12))  # in steps of 12: even columns
        y = 9.0 + down
        if self.title:
            self.texts.append(_Text(indent, y + 13, "name" if named else "made", self.title))
        if aside:
            self.texts.append(_Text(right, y + 12.5, "times" if times else "aside", aside))
        y += TITLE * bool(self.title or aside)
        for key, text, colour in self.rows:
            if key:
                self.texts.append(_Text(right, y + 12, f"number {key}{colour}", text))
            self.texts.append(_Text(indent, y + 12, "key", key or text))
            y += ROW
        self.card_width, self.card_height = right + PAD, y + 5

    def draw(self, x: float, y: float) -> str:
        left, top = x + self.left, y + self.top
        kind = f"{self.box.kind} odd" if not_finite(self.box) else self.box.kind
        parts = [f'<g class="{kind}"><title>{escape(clean(self.box.tip, newline=chr(10)))}</title>']
        if self.deck:
            parts.append(self._rect(left + self.deck, top - self.deck))
        parts.append(self._rect(left, top))
        if self.box.kind == "parameter":
            size = f'width="4" height="{_n(self.card_height - 12)}"'
            parts.append(f'<rect class="bar" x="{_n(left)}" y="{_n(top + 6)}" {size} rx="2"/>')
        parts += [text.draw(left, top) for text in self.texts]
        if self.box.op:
            parts.append(self._badge(left, top))
        if not_finite(self.box):
            right = _n(left + self.card_width - 4)
            parts.append(f'<circle class="flag" cx="{right}" cy="{_n(top + 4)}" r="8"/>')
            parts.append(f'<text class="alarm" x="{right}" y="{_n(top + 8)}">!</text>')
        return "".join([*parts, "</g>"])

    def _rect(self, x: float, y: float) -> str:
        size = f'width="{_n(self.card_width)}" height="{_n(self.card_height)}"'
        return f'<rect class="card" x="{_n(x)}" y="{_n(y)}" {size} rx="8"/>'

    def _badge(self, left: float, top: float) -> str:
        x, y = self.middle(left - self.left, top - self.top)
        style, drop = ("op sign", 5.5) if len(self.sign) == 1 else ("op", 4.5)
        corner, size = f'x="{_n(x - self.badge / 2)}" y="{_n(y - BADGE / 2)}"', f'width="{_n(self.badge)}"'
        return (
            f'<rect class="badge" {corner} {size} height="{_n(BADGE)}" rx="{_n(BADGE / 2)}"/>'
            f'<text class="{style}" x="{_n(x)}" y="{_n(y + drop)}">{escape(self.sign)}</text>'
        )

    def middle(self, x: float, y: float) -> Point:
        """The centre of the badge of a box at (x, y)."""
        if self.across:
            return x + self.left, y + self.height / 2
        return x + self.width / 2, y + self.top

    def inset(self, off: float) -> float:
        """Distance from the side of the box to the rounded edge of the badge, at `off` from its centre."""
        if not self.box.op:
            return 0.0 if self.across else self.deck
        radius = BADGE / 2
        off = abs(off) if self.across else max(0.0, abs(off) - (self.badge / 2 - radius))
        return radius - max(radius**2 - off**2, 0.0) ** 0.5 + (0.0 if self.across else self.top - radius)


# ------------------------------------------------------------------------------------------------ edges
def _edges(graph: Picture, cards: list[_Card], shape: Layout, down: bool) -> list[str]:
    """Lines with arrowheads, then counts on top; dense drawings have faint lines only, and counts in tooltips."""
    faint = dense(graph)
    crowded = sum(edge.count > 1 for edge in graph.edges) > CROWDED
    lines, labels = ['<g stroke-opacity="0.5">' if faint else "<g>"], []
    taken: list[tuple[float, float, float]] = []
    for e, edge in enumerate(graph.edges):
        route = shape.routes[e]
        if len(route) == 1:
            lines.append(_loop(*_turned(*route[0], down)))
            continue
        if e not in shape.backward:
            (_, top, _, high), (x, y) = shape.boxes[edge.head], route[-1]
            route = [*route[:-1], (x + cards[edge.head].inset(y - (top + high / 2)), y)]
        thick = f' style="stroke-width:{_n(min(1.5 + 0.35 * edge.count.bit_length(), 5))}"' if edge.count > 1 else ""
        path = curve(route, 0.0 if faint else ARROW - 1, down)
        lines.append(f'<path class="line" d="{path}"{thick}><title>{escape(_tooltip(graph, edge))}</title></path>')
        lines += [] if faint else [_arrow(route, down)]
        text = f"\u00d7{edge.count:,}"
        if edge.count > 1 and not crowded and (spot := _free_spot(route, down, text, taken)):
            labels.append(f'<text class="count" x="{_n(spot[0])}" y="{_n(spot[1] + 4)}">{text}</text>')
    return [*lines, "</g>", *labels]


def _tooltip(graph: Picture, edge: Edge) -> str:
    tail, head = graph.boxes[edge.tail], graph.boxes[edge.head]
    names = [shorten(box.name or box.expression or box.op or box.id, 32, "\u2026") for box in (tail, head)]
    return f"{names[0]} \u2192 {names[1]}" + (f" \u00d7{edge.count:,}" if edge.count > 1 else "")


def _way(route: list[Point]) -> float:
    """1 if an edge arrives along the main axis, -1 if against it."""
    return 1.0 if route[-1][0] >= route[-2][0] else -1.0


def _path(*points: Point, down: bool) -> str:
    return " ".join([_n(x) for point in points for x in _turned(*point, down)])


def curve(route: list[Point], short: float = 0.0, down: bool = False) -> str:
    """The path of a route: straight where level, else S-shaped; it ends `short` of the head, to fit the arrowhead."""
    end = (route[-1][0] - _way(route) * short, route[-1][1])
    path = ["M" + _path(route[0], down=down)]
    for (x0, y0), (x1, y1) in pairwise([*route[:-1], end]):
        middle = (x0 + x1) / 2
        handles = [] if x0 == x1 or y0 == y1 else [(middle, y0), (middle, y1)]
        path.append(("C" if handles else "L") + _path(*handles, (x1, y1), down=down))
    return "".join(path)


def _arrow(route: list[Point], down: bool) -> str:
    x, y = route[-1]
    back = x - _way(route) * ARROW
    tip, *ends = [_path(point, down=down) for point in ((x, y), (back, y - 3.5), (back, y + 3.5))]
    return f'<path class="tip" d="M{tip}L{ends[0]}L{ends[1]}Z"/>'


def _loop(x: float, y: float) -> str:
    bend = f"C{_n(x + 28)} {_n(y - 24)} {_n(x + 28)} {_n(y + 24)}"
    return f'<path class="line" d="M{_n(x)} {_n(y - 7)}{bend} {_n(x)} {_n(y + 7)}"/>'


def _free_spot(route: list[Point], down: bool, text: str, taken: list[tuple[float, float, float]]) -> Point | None:
    """A position for a count on the edge's longest bend, clear of other counts; None if there is no room."""
    p, q = max(pairwise(route), key=lambda ends: abs(ends[1][0] - ends[0][0]))
    half = text_width(text, 11) / 2 + 2
    for t in (0.5, 0.36, 0.64, 0.25, 0.75):
        s = t * t * (3 - 2 * t)  # approximates the S at t
        x, y = _turned(p[0] + (q[0] - p[0]) * t, p[1] + (q[1] - p[1]) * s, down)
        if all(abs(x - other_x) > half + other or abs(y - other_y) > 13 for other_x, other_y, other in taken):
            taken.append((x, y, half))
            return x, y
    return None
