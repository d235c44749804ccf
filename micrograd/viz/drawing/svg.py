"""Cards and lines to SVG, without Graphviz: at rest here, moving in `playing.animation`.

The SVG is self-contained: it follows `prefers-color-scheme`, has its own background so that it is legible on any page,
uses generic fonts, and has no ids, so that several drawings can share a page. The tooltip of a card has all facts about
it. Text widths are estimated, on the wide side, since no font can be measured.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from ..page import sheet
from ..text import clean, pretty, shorten, text_width
from ..text import coordinate as _n
from ..values import hue, short
from .alt_text import alt_text, summary
from .card import BADGE, CELL, DOT, Arranged, Face, Piece, Place, arrange, face, pieces, turned
from .carried import factor, flow_of, is_carried
from .data import NO_GRADIENT, Box, Edge, Picture
from .dot import CROWDED, dense, not_finite
from .heat import STEPS, Heat
from .labels import beside
from .layout import Point

MARGIN = 20.0
NOTE = 20.0  # the height of the line below the drawing
ARROW = 8.0
DOTS = "\u2026"
Numbers = Mapping[str, Iterable[tuple[str, str]]]  # by the key of a row, the looks and texts of its number


def write(graph: Picture, rankdir: str = "LR") -> str:
    """The drawing as an SVG document."""
    down = rankdir == "TB"
    uses = Counter(edge.tail for edge in graph.edges)
    faces = [face(box, uses[i]) for i, box in enumerate(graph.boxes)]
    gap = 90.0 if any(map(_label, graph.edges)) else 52.0
    shape = arrange(faces, [(edge.tail, edge.head) for edge in graph.edges], gap, down, even=True)
    below = [text for text in (legend(graph), escape(pretty(graph.note), quote=False)) if text]
    width = max([shape.width, *[text_width(re.sub("<.*?>", "", text), 12) for text in below]]) + 2 * MARGIN
    height = shape.height + 2 * MARGIN + NOTE * len(below)
    body = _edges(graph, shape, down)
    body += [_still(*each, down) for each in zip(graph.boxes, faces, shape.places, strict=True)]
    lines = [
        f'<text class="note" x="{_n(MARGIN)}" y="{_n(height - 14 - NOTE * k)}">{text}</text>'
        for k, text in enumerate(reversed(below))
    ]
    return document((width, height), summary(graph), body, lines, desc=alt_text(graph))


def _still(box: Box, face: Face, place: Place, down: bool) -> str:
    sent = [""] * face.uses if dict(box.rows).get("grad") != NO_GRADIENT else []
    return card(face, place, heat=cells, sent=sent, odd="" if not_finite(box) else None, down=down)


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
    """An SVG document: a background with corners of radius `corner`, the body within margins, and the lines `below`."""
    wide, high = map(_n, size)
    title = escape(clean(name))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="micrograd-graph" role="img" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" aria-label="{title}">',
        f"<title>{title}</title>",
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
    """A text of the class `look`."""
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
    """A card. At rest, the card has one state and the texts of its face; in a film, `states` are its looks in turn.

    `sent` has the looks of the uses that have sent their part of the gradient. `odd` is the look of the flag on a card
    with a number that is nan or infinite, if there is one.
    """
    size = f'width="{_n(place.width)}" height="{_n(place.height)}" rx="10"'
    parts = [f"<title>{escape(clean(face.tip, newline=chr(10)))}</title>" if face.tip else ""]
    parts += [f'<rect class="body" x="5" y="-5" {size}/>'] if face.times > 1 else []
    parts += [f'<rect class="{f"{state} body".strip()}" {size}/>' for state in states]
    heats = iter(face.heats)
    for piece in pieces(face, place.badge, down):
        role, x, y, text, _ = piece
        x += place.width if x < 0 else 0
        if role == "bar":
            parts.append(f'<rect class="bar" y="{_n(y)}" width="4" height="{_n(place.height - 2 * y)}" rx="2"/>')
        elif role in numbers or role in ("data", "grad"):
            shown = numbers.get(role) or [(_at_rest(role, text), text)]
            parts += [words(x, y, f"number {role} {style}".strip(), each) for style, each in shown]
        elif role == "heat":
            parts.append(heat(next(heats), piece))
        elif role == "uses":
            parts += [_dot(x + DOT * k, y, sent[k] if k < len(sent) else None) for k in range(face.uses)]
        elif text:
            parts.append(words(x, y, f"{role} end" if piece.x < 0 else role, text))
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
    """The dot of a use, filled once the use has sent its part of the gradient."""
    at = f'cx="{_n(x)}" cy="{_n(y)}" r="3.2"'
    filled = f'<circle class="{f"on {on}".strip()}" {at}/>' if on is not None else ""
    return f'<circle class="use" {at}/>{filled}'


def _at_rest(key: str, text: str) -> str:
    """The look of a number whose text is known."""
    if text == NO_GRADIENT:
        return "unknown"
    sign = hue(text.replace("\u2212", "-"))
    return f"{sign} whole".strip() if key == "grad" else sign


def _badge(sign: str, place: Place, state: str, down: bool) -> str:
    """The op, on the edge where the operands enter."""
    (x, y), wide, half = (place.width / 2, 0.0) if down else (0.0, place.height / 2), place.badge, BADGE / 2
    rect = f'<rect x="{_n(x - wide / 2)}" y="{_n(y - half)}" width="{_n(wide)}" height="{_n(BADGE)}" rx="{_n(half)}"/>'
    text = words(x, y + 6.5, "sign", sign) if len(sign) == 1 else words(x, y + 4.5, "op", sign)
    return f'<g class="{f"badge {state}".strip()}">{rect}{text}</g>'


def cells(heat: Heat, piece: Piece) -> str:
    """The cells of a heat-map, one path per colour."""
    _, x, y, _, wide = piece
    squares: dict[str, list[str]] = {}
    for k, letter in enumerate(heat.cells):
        left, top = x + k % heat.columns * wide, y + k // heat.columns * CELL
        squares.setdefault(letter, []).append(f"M{_n(left)} {_n(top)}h{_n(wide)}v{_n(CELL)}h-{_n(wide)}z")
    paths = [(*_shade(letter), "".join(squares[letter])) for letter in sorted(squares) if letter != " "]
    return "".join(f'<path class="{colour}" fill-opacity="{depth:.2g}" d="{path}"/>' for colour, depth, path in paths)


def _shade(letter: str) -> tuple[str, float]:
    """The colour of a cell, "plus", "minus" or "nan", and its depth, from 0 to 1."""
    level = ord(letter) - ord("A") - STEPS
    if not "A" <= letter <= "S":
        return "nan", 0.3
    return "plus" if level > 0 else "minus", max(abs(level) / STEPS, 0.08)


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
    """A line and its arrowhead, which is at the tail if a gradient flows `back`; `tip` is a tooltip.

    With an `other` width, two strands lie side by side, the first for the positive numbers.
    """
    if len(route) < 2:
        (x, y), bend = turned(*route[0], down), 24
        path = f"M{_n(x)} {_n(y - 7)}C{_n(x + 28)} {_n(y - bend)} {_n(x + 28)} {_n(y + bend)} {_n(x)} {_n(y + 7)}"
    else:
        route = route[::-1] if back else route
        path = curve(route, 0.0 if faint else ARROW - 1, down)
    title = f"<title>{escape(tip)}</title>" if tip else ""
    head = "" if faint or len(route) < 2 else arrowhead(route, down)
    strands = _strand(path, "line", width, turned(*_aside(route, other), down), title)
    strands += _strand(path, "line other", other, turned(*_aside(route, -width), down)) if other else ""
    return f'<g class="{f"wire {look}".strip()}">{strands}{head}</g>'


def _strand(path: str, look: str, width: float, aside: Point, title: str = "") -> str:
    thick = f' style="stroke-width:{width:.2g}"' if width else ""
    moved = f' transform="translate({_n(aside[0])} {_n(aside[1])})"' if aside != (0, 0) else ""
    return f'<path class="{look}" d="{path}"{thick}{moved}>{title}</path>'


def _aside(route: list[Point], width: float) -> Point:
    """How far, in x and y, a strand makes room for another strand of this width; keep in sync with draw.js."""
    steep = (route[-1][1] > route[0][1]) - (route[-1][1] < route[0][1])
    return steep * width / 2, -width / 2


def curve(route: list[Point], short: float = 0.0, down: bool = False) -> str:
    """The path of a route, S-shaped where it is not level. It ends `short` of the head, to fit the arrowhead."""
    end = (route[-1][0] - _way(route) * short, route[-1][1])
    path = ["M" + _path(route[0], down=down)]
    for (x0, y0), (x1, y1) in pairwise([*route[:-1], end]):
        middle = (x0 + x1) / 2
        handles = [] if x0 == x1 or y0 == y1 else [(middle, y0), (middle, y1)]
        path.append(("C" if handles else "L") + _path(*handles, (x1, y1), down=down))
    return "".join(path)


def arrowhead(route: list[Point], down: bool) -> str:
    """The arrowhead at the end of a route."""
    (x, y), back = route[-1], _way(route) * ARROW
    corners = [_path(point, down=down) for point in ((x, y), (x - back, y - 4), (x - back, y + 4))]
    return f'<path class="tip" d="M{"L".join(corners)}Z"/>'


def _way(route: list[Point]) -> float:
    """1 if a line arrives along the main axis, -1 if it arrives in the other direction."""
    return 1.0 if route[-1][0] >= route[-2][0] else -1.0


def _path(*points: Point, down: bool) -> str:
    return " ".join([_n(x) for point in points for x in turned(*point, down)])


def _edges(graph: Picture, shape: Arranged, down: bool) -> list[str]:
    """The lines, then their labels. A dense drawing has faint lines and, like a crowded drawing, only tooltips."""
    faint = dense(graph)
    texts = [_label(edge) for edge in graph.edges]
    if sum(map(bool, texts)) > CROWDED or faint:
        texts = [""] * len(texts)
    lines = [
        wire(route, *_flow(edge, faint), faint=faint, down=down, tip=_tooltip(graph, edge))
        for edge, route in zip(graph.edges, shape.routes, strict=True)
    ]
    labels = [
        words(spot[0], spot[1] + 4.5, "count" if edge.count > 1 else "factor", text)
        for edge, text, spot in zip(graph.edges, texts, beside(shape.routes, shape.places, texts, down), strict=True)
        if spot
    ]
    return lines + labels


def _label(edge: Edge) -> str:
    """The number of uses that a line stands for, or the derivative by which it multiplies."""
    return f"\u00d7{edge.count:,}" if edge.count > 1 else factor(edge)


def _flow(edge: Edge, faint: bool) -> tuple[str, bool, float, float]:
    """The look of a line at rest, whether its arrow points back, and the widths of its strands."""
    if faint or not is_carried(edge):
        return "faint" * faint, False, min(1.5 + 0.35 * edge.count.bit_length(), 5) * (edge.count > 1), 0.0
    look, over, under = flow_of(edge)
    return look, True, over, under


def legend(graph: Picture) -> str:
    """The meaning of the lines' colours and numbers, as markup; "" if no line carried a gradient."""
    looks = {flow_of(edge)[0] for edge in graph.edges if is_carried(edge)}
    if not looks:
        return ""
    tops = {*range(len(graph.boxes))} - {edge.tail for edge in graph.edges}
    root = graph.boxes[tops.pop()].name if len(tops) == 1 else ""
    text = f"Gradient of {escape(shorten(root or 'out', 16, DOTS))}: "
    text += '<tspan class="above">positive</tspan>, <tspan class="below">negative</tspan>, the wider the larger. '
    both = " Two strands: numbers of both signs." * ("flows mixed" in looks)
    return f"{text}A line multiplies by its number, or by 1.{both}"


def _tooltip(graph: Picture, edge: Edge) -> str:
    tail, head = graph.boxes[edge.tail], graph.boxes[edge.head]
    names = [shorten(box.name or box.short or box.expression or box.op or box.id, 32, DOTS) for box in (tail, head)]
    product = f"{short(edge.local)} \u00d7 {pretty(dict(head.rows)['grad'])} = " if edge.local is not None else ""
    sent = f"\n{product}{short(edge.part)}" if isinstance(edge.part, float | int) and edge.part is not True else ""
    return f"{names[0]} \u2192 {names[1]}" + (f" \u00d7{edge.count:,}" if edge.count > 1 else "") + sent
