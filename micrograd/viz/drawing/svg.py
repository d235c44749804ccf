"""Cards and lines to SVG, without Graphviz: at rest here, moving in `playing.animation`.

The SVG is self-contained: it follows `prefers-color-scheme`, has its own background so that it is legible on any page,
uses generic fonts, and has no ids, so that several drawings can share a page. Each card has a tooltip with everything
known about it. Text widths are estimated, on the wide side, since no font can be measured.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import ceil, hypot
from typing import Any

from ..page import sheet
from ..text import clean, pretty, shorten, text_width
from ..text import coordinate as _n
from ..values import WIDTHS, hue, thickness
from .alt_text import alt_text, summary
from .card import BADGE, DOT, Arranged, Face, Piece, Place, arrange, face, pieces, turned
from .data import NO_GRADIENT, Box, Edge, Picture
from .dot import CROWDED, dense, not_finite
from .layout import Point

MARGIN = 20.0
NOTE = 20.0  # the height of the line below the drawing
ARROW = 8.0
Numbers = Mapping[str, Iterable[tuple[str, str]]]  # of a row, by its key: the looks and texts of its number


def write(graph: Picture, rankdir: str = "LR") -> str:
    """The drawing as an SVG document."""
    down = rankdir == "TB"
    uses = Counter(edge.tail for edge in graph.edges)
    faces = [face(box, uses[i]) for i, box in enumerate(graph.boxes)]
    counted = any(edge.count > 1 for edge in graph.edges)
    shape = arrange(faces, [(edge.tail, edge.head) for edge in graph.edges], 72.0 if counted else 52.0, down, even=True)
    note = pretty(graph.note)
    width = max(shape.width, text_width(note, 12) if note else 0.0) + 2 * MARGIN
    height = shape.height + 2 * MARGIN + (NOTE if note else 0.0)
    cards = zip(graph.boxes, faces, shape.places, strict=True)
    body = [*_edges(graph, shape, down)]
    body += [_still(*each, down) for each in cards]
    below = [words(MARGIN, height - 14, "note", note)] if note else []
    return document((width, height), summary(graph), body, below, desc=alt_text(graph))


def _still(box: Box, face: Face, place: Place, down: bool) -> str:
    sent = [""] * face.uses if dict(box.rows).get("grad") != NO_GRADIENT else []
    return card(face, place, sent=sent, odd="" if not_finite(box) else None, down=down)


def document(
    size: tuple[float, float],
    name: str,
    body: Iterable[str],
    below: Iterable[str] = (),
    *,
    desc: str = "",
    style: str = "",
    corner: int = 10,
) -> str:
    """An SVG document: its ground, the body within its margins, and what stands below; `corner` is its radius."""
    wide, high = map(_n, size)
    said = escape(clean(name))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="micrograd-graph" role="img" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" aria-label="{said}">',
        f"<title>{said}</title>",
        f"<desc>{escape(desc)}</desc>" if desc else "",
        f"<style>\n{sheet('drawing/graph.css', '.micrograd-graph ')}{style}</style>",
        f'<rect class="ground" width="{wide}" height="{high}" rx="{corner}"/>',
        f'<g transform="translate({_n(MARGIN)} {_n(MARGIN)})">',
        *body,
        "</g>",
        *below,
        "</svg>\n",
    ]
    return "\n".join(filter(None, lines))


def words(x: float, y: float, look: str, text: str) -> str:
    """A text."""
    return f'<text class="{look}" x="{_n(x)}" y="{_n(y)}">{escape(clean(text), quote=False)}</text>'


# ------------------------------------------------------------------------------------------------ cards
def card(
    face: Face,
    place: Place,
    look: str = "",
    states: Sequence[str] = ("",),
    numbers: Numbers = {},  # noqa: B006 - it is only read
    heat: Callable[[Any, Piece], str] = lambda heat, piece: "",
    sent: Sequence[str | None] = (),
    odd: str | None = None,
    down: bool = False,
) -> str:
    """A card. At rest it has one state, and the texts of its face; else `states` has the looks that it takes in turn.

    `sent` are the looks of the uses that have sent their part of the gradient, and `odd` is that of the flag of a card
    whose number is nan or infinite, if it has one.
    """
    size = f'width="{_n(place.width)}" height="{_n(place.height)}" rx="10"'
    parts = [f"<title>{escape(clean(face.tip, newline=chr(10)))}</title>" if face.tip else ""]
    parts += [f'<rect class="body" x="5" y="-5" {size}/>'] if face.times > 1 else []
    parts += [f'<rect class="{f"{state} body".strip()}" {size}/>' for state in states]
    heats = iter(face.heats)
    for piece in pieces(face, place.badge, down):
        kind, x, y, text, _ = piece
        x += place.width if x < 0 else 0
        if kind == "bar":
            parts.append(f'<rect class="bar" y="{_n(y)}" width="4" height="{_n(place.height - 2 * y)}" rx="2"/>')
        elif kind in numbers or kind in ("data", "grad"):
            shown = numbers.get(kind) or [(_at_rest(kind, text), text)]
            parts += [words(x, y, f"number {kind} {style}".strip(), each) for style, each in shown]
        elif kind == "heat":
            parts.append(heat(next(heats), piece))
        elif kind == "uses":
            parts += [_dot(x + DOT * k, y, sent[k] if k < len(sent) else None) for k in range(face.uses)]
        elif text:
            parts.append(words(x, y, f"{kind} end" if piece.x < 0 else kind, text))
    if odd is not None:
        right = _n(place.width - 4)
        mark = f'<rect {size}/><circle cx="{right}" cy="4" r="8"/><text x="{right}" y="8">!</text>'
        parts.append(f'<g class="{f"flag {odd}".strip()}">{mark}</g>')
    if face.sign:
        acts = [state for state in states if {"forward", "backward"} & {*state.split()}]
        parts += [_badge(face.sign, place, state, down) for state in ("", *acts)]
    at = f"translate({_n(place.x)} {_n(place.y)})"
    return f'<g class="{f"card {face.kind} {look}".strip()}" transform="{at}">{"".join(parts)}</g>'


def _dot(x: float, y: float, on: str | None) -> str:
    """A dot for a use; filled when that has sent its part."""
    at = f'cx="{_n(x)}" cy="{_n(y)}" r="3.2"'
    filled = f'<circle class="{f"on {on}".strip()}" {at}/>' if on is not None else ""
    return f'<circle class="use" {at}/>{filled}'


def _at_rest(kind: str, text: str) -> str:
    """The look of a number whose text is known."""
    colour = "unknown" if text == NO_GRADIENT else hue(text.replace("\u2212", "-"))
    return " ".join(filter(None, [colour, "whole" * (kind == "grad" and text != NO_GRADIENT)]))


def _badge(sign: str, place: Place, state: str, down: bool) -> str:
    """The op, on the edge where its operands enter."""
    (x, y), wide, half = (place.width / 2, 0.0) if down else (0.0, place.height / 2), place.badge, BADGE / 2
    rect = f'<rect x="{_n(x - wide / 2)}" y="{_n(y - half)}" width="{_n(wide)}" height="{_n(BADGE)}" rx="{_n(half)}"/>'
    text = words(x, y + 6.5, "sign", sign) if len(sign) == 1 else words(x, y + 4.5, "op", sign)
    return f'<g class="{f"badge {state}".strip()}">{rect}{text}</g>'


# ------------------------------------------------------------------------------------------------ lines
def wire(
    route: list[Point],
    look: str = "",
    back: bool = False,
    width: float = 0.0,
    other: float = 0.0,
    *,
    faint: bool = False,
    down: bool = False,
    tip: str = "",
) -> str:
    """A line with its arrowhead, which is at the other end of what flows `back`; `tip` is a tooltip.

    With another width it has two strands, which lie side by side: the first of what is positive.
    """
    if len(route) < 2:
        (x, y), bend = turned(*route[0], down), 24
        path = f"M{_n(x)} {_n(y - 7)}C{_n(x + 28)} {_n(y - bend)} {_n(x + 28)} {_n(y + bend)} {_n(x)} {_n(y + 7)}"
    else:
        route = route[::-1] if back else route
        path = curve(route, 0.0 if faint else ARROW - 1, down)
    said = f"<title>{escape(tip)}</title>" if tip else ""
    head = "" if faint or len(route) < 2 else arrowhead(route, down)
    strands = _strand(path, "line", width, turned(*_aside(route, other), down), said)
    strands += _strand(path, "line other", other, turned(*_aside(route, -width), down)) if other else ""
    return f'<g class="{f"wire {look}".strip()}">{strands}{head}</g>'


def _strand(path: str, look: str, width: float, aside: Point, said: str = "") -> str:
    thick = f' style="stroke-width:{width:.2g}"' if width else ""
    moved = f' transform="translate({_n(aside[0])} {_n(aside[1])})"' if aside != (0, 0) else ""
    return f'<path class="{look}" d="{path}"{thick}{moved}>{said}</path>'


def _aside(route: list[Point], width: float) -> Point:
    """How far a strand is moved to make room for another of this width, up and across; keep in sync with player.js."""
    steep = (route[-1][1] > route[0][1]) - (route[-1][1] < route[0][1])
    return steep * width / 2, -width / 2


def flowing(over: float, under: float = 0.0) -> tuple[str, float, float]:
    """The look of a line that carried gradients back, and the widths of its strands, for each sign that it carries.

    Args:
        over: the length of the positive numbers that it carried; a single number goes here with its sign.
        under: the length of the negative ones.

    >>> flowing(-1.0)[0], flowing(3.0, 3.0)[0], flowing(3.0, 1e-17)[0], flowing(0.0)
    ('flows below', 'flows mixed', 'flows above', ('dead', 0.0, 0.0))
    """
    if not over and not under:
        return "dead", 0.0, 0.0
    if min(over, under) > WIDTHS["seen"] * max(over, under):
        return "flows mixed", thickness(over), thickness(under)
    main = over if over != over or abs(over) >= under else -under
    return f"flows {hue(main) or 'odd'}", thickness(main), 0.0


def curve(route: list[Point], short: float = 0.0, down: bool = False) -> str:
    """The path of a route: straight where level, else S-shaped; it ends `short` of the head, to fit the arrowhead."""
    end = (route[-1][0] - _way(route) * short, route[-1][1])
    path = ["M" + _path(route[0], down=down)]
    for (x0, y0), (x1, y1) in pairwise([*route[:-1], end]):
        middle = (x0 + x1) / 2
        handles = [] if x0 == x1 or y0 == y1 else [(middle, y0), (middle, y1)]
        path.append(("C" if handles else "L") + _path(*handles, (x1, y1), down=down))
    return "".join(path)


def along(route: Sequence[Point]) -> Iterator[Point]:
    """Points of the path of a route, some 6 pixels apart."""
    for (x0, y0), (x1, y1) in pairwise(route):
        many = ceil(hypot(x1 - x0, y1 - y0) / 6)
        for t in (k / many for k in range(many + 1)):
            across, down = (t, t) if y0 == y1 else (1.5 * t * (1 - t) + t**3, 3 * t**2 - 2 * t**3)
            yield x0 + (x1 - x0) * across, y0 + (y1 - y0) * down


def arrowhead(route: list[Point], down: bool = False) -> str:
    """The arrowhead at the end of a route."""
    (x, y), back = route[-1], _way(route) * ARROW
    tip, *ends = [_path(point, down=down) for point in ((x, y), (x - back, y - 4), (x - back, y + 4))]
    return f'<path class="tip" d="M{tip}L{ends[0]}L{ends[1]}Z"/>'


def _way(route: list[Point]) -> float:
    """1 if a line arrives along the main axis, -1 if against it."""
    return 1.0 if route[-1][0] >= route[-2][0] else -1.0


def _path(*points: Point, down: bool) -> str:
    return " ".join([_n(x) for point in points for x in turned(*point, down)])


def _edges(graph: Picture, shape: Arranged, down: bool) -> list[str]:
    """The lines, then counts on top; dense drawings have faint lines only, and counts in tooltips."""
    faint = dense(graph)
    crowded = sum(edge.count > 1 for edge in graph.edges) > CROWDED
    lines, labels = [], []
    taken: list[tuple[float, float, float]] = []
    for edge, route in zip(graph.edges, shape.routes, strict=True):
        width = min(1.5 + 0.35 * edge.count.bit_length(), 5) if edge.count > 1 else 0
        tip = _tooltip(graph, edge)
        lines.append(wire(route, "faint" * faint, faint=faint, down=down, width=width, tip=tip))
        text = f"\u00d7{edge.count:,}"
        if edge.count > 1 and len(route) > 1 and not crowded and (spot := _free_spot(route, down, text, taken)):
            labels.append(words(spot[0], spot[1] + 4, "count", text))
    return lines + labels


def _tooltip(graph: Picture, edge: Edge) -> str:
    tail, head = graph.boxes[edge.tail], graph.boxes[edge.head]
    names = [shorten(box.name or box.expression or box.op or box.id, 32, "\u2026") for box in (tail, head)]
    return f"{names[0]} \u2192 {names[1]}" + (f" \u00d7{edge.count:,}" if edge.count > 1 else "")


def _free_spot(route: list[Point], down: bool, text: str, taken: list[tuple[float, float, float]]) -> Point | None:
    """A position for a count on the edge's longest bend, clear of other counts; None if there is no room."""
    p, q = max(pairwise(route), key=lambda ends: abs(ends[1][0] - ends[0][0]))
    half = text_width(text, 11) / 2 + 2
    for t in (0.5, 0.36, 0.64, 0.25, 0.75):
        s = t * t * (3 - 2 * t)  # approximates the S at t
        x, y = turned(p[0] + (q[0] - p[0]) * t, p[1] + (q[1] - p[1]) * s, down)
        if all(abs(x - other_x) > half + other or abs(y - other_y) > 13 for other_x, other_y, other in taken):
            taken.append((x, y, half))
            return x, y
    return None
