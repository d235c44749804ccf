"""`animate`: the forward and backward pass of a small graph as an animated SVG, which also plays in an `<img>`.

There is no script: the class of each element says when it is visible, and CSS keyframes (`clock.py`) do the rest.
Content and coordinates come from the player's scene and stage. With `prefers-reduced-motion` the final state is shown.
"""

from collections import defaultdict
from collections.abc import Iterator
from html import escape
from itertools import accumulate, starmap
from typing import Any

from .. import infix
from ..drawing.data import term, walk
from ..drawing.layout import Point
from ..drawing.svg import curve
from ..drawing.words import spoken
from ..page import Svg, asset
from ..text import badge_text, clean, pretty, shorten
from ..text import coordinate as _n
from ..values import hue, thickness, typeset
from .card import CELL, Piece, pieces
from .clock import Clock
from .heat import STEPS, Heat
from .scenes import Card, Scene, Wire, one_root, still, story
from .stage import PILL, Place, Stage, stage

MAX_NODES = 40
MARGIN, CAPTION = 18.0, 34.0
DOTS = "\u2026"
HOLD = 2  # steps for which the final state is shown


class Animation(Svg):
    """An animated SVG: `svg` is the document, `words` its description."""


def animate(root: Any, *, seconds: float = 1.2, width: int | None = None) -> Animation:
    """Animate the forward and backward pass of a small graph.

    Use it for a moving picture on a page without scripts. Values appear from the leaves up, then gradients flow back
    from the root, in a loop. The backward pass is separate, so no `.grad` changes.

    Args:
        root: a Value or a Tensor that depends on at most 40 nodes, itself included.
        seconds: duration of a step.
        width: width of the picture in pixels, for a phone. A wider graph moves, so that each step is in view.

    Returns:
        An `Animation`, an SVG without scripts that notebooks display. `save(path)` writes it, and `svg` is its text.

    Raises:
        TypeError: `root` is not a single node.
        ValueError: the graph has more than 40 nodes, or `seconds` or `width` is not positive.

    >>> from micrograd.engine import Value
    >>> a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    >>> animate(a * b + a)
    <Animation: Computation graph: 4 nodes, 4 edges; save(path)>
    """
    if not seconds > 0:
        raise ValueError(f"seconds is {seconds}; it must be above 0")
    if width is not None and not width > 0:
        raise ValueError(f"width is {width}; it must be above 0, or None for all that the graph needs")
    node = one_root(root, "an animation")
    if (count := len(walk(node).nodes)) > MAX_NODES:
        raise ValueError(
            f"this graph has {count:,} nodes; an animation is for at most {MAX_NODES}: "
            "draw_dot(root) draws more, and player(root) steps through them"
        )
    told = story(node, MAX_NODES)
    scene = told.scenes[0]
    return Animation(Film(scene, stage(scene, close=width is not None), seconds, width).svg(), spoken(still(told)))


class Film:
    """A scene with its timeline, and its markup.

    Step 0 shows the leaves. Then comes a step for each box that computes something, one that sets the gradient of the
    root to 1, and one for each box that propagates its gradient.
    """

    def __init__(self, scene: Scene, drawn: Stage, seconds: float, width: float | None = None):
        self.scene = scene
        self.drawn = drawn
        self.whole: float = drawn.width + 2 * MARGIN
        self.seen: float = min(width or self.whole, self.whole)
        self.computed: dict[int, int] = {i: step for step, i in enumerate(scene.forward, 1)}
        self.seeded: int = len(scene.forward) + 1
        self.passes: dict[int, int] = {i: step for step, i in enumerate(scene.backward, self.seeded + 1)}
        self.end: int = self.seeded + 1 + len(scene.backward) if scene.backward else self.seeded
        self.clock: Clock = Clock(self.end + HOLD, seconds)

    def svg(self) -> str:
        """The SVG document."""
        width, height = self.seen, self.drawn.height + 2 * MARGIN + CAPTION
        cards = enumerate(zip(self.scene.cards, self.drawn.places, strict=True))
        body = [
            *starmap(self._wire, enumerate(self.scene.wires)),
            *[self._card(i, card, place) for i, (card, place) in cards],
            *map(self._pills, range(len(self.scene.wires))),
        ]
        if self.seen < self.whole:
            body = [f'<g class="{self._moving()}">', *body, "</g>"]
        captions = self._captions(height - MARGIN)  # the style sheet below is of the classes made so far
        name = escape(clean(self.scene.title))
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" role="img" '
            f'viewBox="0 0 {_n(width)} {_n(height)}" aria-label="{name}">',
            f"<title>{name}</title>",
            f"<style>{asset('playing/animation.css')}{self.clock.style()}</style>",
            f'<rect class="ground" width="{_n(width)}" height="{_n(height)}" rx="10"/>',
            f'<g transform="translate({_n(MARGIN)} {_n(MARGIN)})">',
            *filter(None, body),
            "</g>",
            *captions,
        ]
        return "\n".join([*lines, "</svg>", ""])

    def _moving(self) -> str:
        """The classes of a graph that is wider than the picture; at rest, it is small enough to be seen whole."""
        shifts = {step: self._shift(i) for steps in (self.computed, self.passes) for i, step in steps.items()}
        shifts |= {self.seeded: self._shift(self.scene.forward[-1]), self.end: 0.0} if self.passes else {}
        return self.clock.moved(shifts, f"transform:scale({(self.seen - 2 * MARGIN) / self.drawn.width:.4g});")

    def _shift(self, i: int) -> float:
        """How far the graph moves so that a box is in view, and as much of its operands as there is room for."""
        places, edge = self.drawn.places, MARGIN / 3
        right = MARGIN + places[i].x + places[i].width + edge
        left = MARGIN + min(places[wire.tail].x for wire in self.scene.wires if wire.head == i) - edge
        return min(0.0, max(self.seen - self.whole, self.seen / 2 - (max(left, right - self.seen) + right) / 2))

    # -------------------------------------------------------------------------------------------- wires
    def _wire(self, e: int, wire: Wire) -> str:
        """A wire, and what flows along it; in the backward pass the arrowhead is at the other end."""
        route, computed = self.drawn.routes[e], self.computed[wire.head]
        if len(route) < 2:
            return ""
        path, step, tip = curve(route), self.passes.get(wire.head), _arrowhead(route)
        backward = []
        if wire.part is not None and step is not None:
            tip = f'<g class="{self.clock.without(step, step + 1)}">{tip}</g>'
            drawn, seen = self.clock.drawn(step, backward=True), self.clock.between(step, step + 1)
            backward.append(f'<path class="flow backward {drawn}" pathLength="1" d="{path}"/>')
            backward.append(f'<g class="arriving {seen}">{_arrowhead(route[::-1])}</g>')
            if wire.part is not True:  # afterwards its width says how much flowed, its colour the sign
                look = f'class="carried {hue(wire.part) or "none"} {self.clock.since(step + 1)}"'
                backward.append(f'<path {look} stroke-width="{_n(thickness(wire.part))}" d="{path}"/>')
        wakes, drawn = self.clock.waking(computed), self.clock.drawn(computed)
        forward = f'<path class="flow forward {drawn}" pathLength="1" d="{path}"/>'
        line = f'<g class="{wakes}"><path class="wire" d="{path}"/>{tip}</g>'
        return "".join([line, forward, *backward])

    def pills(self, e: int) -> list[tuple[int, int, str, list[tuple[str, str]]]]:
        """(from, until, look, lines) of the labels of a wire: the value going forward, derivative and gradient going
        back, then the derivative."""
        wire, found = self.scene.wires[e], []
        value, step, computed = self.scene.cards[wire.tail].data, self.passes.get(wire.head), self.computed[wire.head]
        if value is not None:
            found.append((computed, computed + 1, "forward", [("value", short(value))]))
        if step is not None and isinstance(wire.part, float | int) and wire.local is not None:
            local = ("local", f"\u00d7 {short(wire.local)}")
            found.append((step, step + 1, "backward", [local, ("part", f"= {short(wire.part)}")]))
            found.append((step + 1, self.clock.steps, "", [local]))
        return found

    def _pills(self, e: int) -> str:
        spot = self.drawn.pills[e]
        if spot is None:
            return ""
        seen = [(f"{look} {self.clock.between(start, end)}", lines) for start, end, look, lines in self.pills(e)]
        return "".join(_pill(spot, kind.strip(), lines) for kind, lines in seen)

    # -------------------------------------------------------------------------------------------- cards
    def _card(self, i: int, card: Card, place: Place) -> str:
        size = f'width="{_n(place.width)}" height="{_n(place.height)}" rx="10"'
        heats = iter(card.heats)
        parts = [f'<rect class="body" {size}/>']
        for piece in pieces(card, place.badge):
            parts += self._piece(i, card, place, piece, heats)
        parts += [
            f'<rect class="ring {look} {self.clock.between(start, end)}" {size}/>' for start, end, look in self.rings(i)
        ]
        if place.badge:
            parts.append(_badge(card, place))
        look = f'class="{card.box.kind} {self.clock.waking(self.computed.get(i, 0))}"'
        return f'<g transform="translate({_n(place.x)} {_n(place.y)})" {look}>{"".join(parts)}</g>'

    def _piece(self, i: int, card: Card, place: Place, piece: Piece, heats: Iterator[Heat]) -> list[str]:
        """A piece of a card; a number or a heat-map from the step on that computes it."""
        kind, x, y, text, wide = piece
        x += place.width if x < 0 else 0
        known = self.clock.since(self.computed.get(i, 0))
        if kind == "bar":
            return [f'<rect class="bar" y="{_n(y)}" width="4" height="{_n(place.height - 2 * y)}" rx="2"/>']
        if kind in ("data", "grad"):
            looks = [(f"{' whole' * whole} {hue(n)}", n, when) for *when, n, whole in self.numbers(i, kind)]
            return [_words(x, y, f"number {kind}{a} {self.clock.between(*when)}", typeset(n)) for a, n, when in looks]
        if kind == "heat":
            heat = next(heats)
            when = self.clock.since(self.arrivals(i)[-1][0]) if heat.name == "grad" else known
            return [f'<g class="{when}">{_cells(heat, x, y, wide)}</g>']
        return [_words(x, y, f"{kind} end" if piece.x < 0 else kind, text)] if text else []

    def rings(self, i: int) -> list[tuple[int, int, str]]:
        """(from, until, look) of the rings that highlight an active box, one per pass."""
        forward = [(self.computed[i], self.computed[i] + 1, "forward")] if i in self.computed else []
        if i not in self.passes:
            return forward
        start = self.seeded if i == self.scene.forward[-1] else self.passes[i]
        return [*forward, (start, self.passes[i] + 1, "backward")]

    def numbers(self, i: int, kind: str) -> list[tuple[int, int, float, bool]]:
        """(from, until, number, whole) of a box's "data", or of its "grad" as it accumulates; [] if it has none."""
        card, arrivals = self.scene.cards[i], self.arrivals(i)
        if kind == "data":
            return [(self.computed.get(i, 0), self.clock.steps, card.data, False)]
        if card.grad is None:
            return []
        ends = [*[step for step, _ in arrivals[1:]], self.clock.steps]
        found = [(step, end, total, False) for (step, total), end in zip(arrivals, ends, strict=True)]
        return [*found[:-1], (*found[-1][:2], card.grad, True)]

    def arrivals(self, i: int) -> list[tuple[int, float]]:
        """(step, total so far) for each addition to a box's gradient; for the root, its 1."""
        coming: defaultdict[int, float] = defaultdict(float)
        for wire in self.scene.wires:
            if wire.tail == i and wire.part is not None and wire.head in self.passes:
                coming[self.passes[wire.head]] += 0.0 if wire.part is True else wire.part
        steps = sorted(coming)
        return [*zip(steps, accumulate([coming[step] for step in steps]), strict=True)] or [(self.seeded, 1.0)]

    # -------------------------------------------------------------------------------------------- captions
    def captions(self) -> list[tuple[int, str]]:
        """(step, sentence) for each step."""
        said = [(0, "The leaves have their values")]
        said += [(step, f"Forward: {self._named(i)}") for i, step in self.computed.items()]
        if self.scene.backward:
            said.append((self.seeded, "Backward: the gradient of the result by itself is 1"))
            said += [(step, f"Backward: through {self._named(i)}") for i, step in self.passes.items()]
            said.append((self.end, "Every gradient is known"))
        return said

    def _captions(self, y: float) -> list[str]:
        """A caption below the graph for each step."""
        said = self.captions()
        ends = [step for step, _ in said[1:]] + [self.clock.steps]
        return [
            _words(MARGIN, y, f"caption {self.clock.between(step, end)}", text)
            for (step, text), end in zip(said, ends, strict=True)
        ]

    def _named(self, i: int) -> str:
        """`d = e + c`, with long names shortened."""
        box = self.scene.cards[i].box
        operands = [term(self.scene.cards[wire.tail].box) for wire in self.scene.wires if wire.head == i]
        texts = [(shorten(text, 14, DOTS) or DOTS, strength) for text, strength in operands]
        made = box.expression or infix.written("+" if box.op == "sum" else box.op.lower(), texts)[0]
        return pretty(f"{shorten(box.name, 24, DOTS)} = {made}" if box.name else made)


# ------------------------------------------------------------------------------------------------ pieces
def _pill(spot: Point, kind: str, lines: list[tuple[str, str]]) -> str:
    width, height = max(PILL[0] - 12, 7.4 * max(len(text) for _, text in lines) + 14), 16 * len(lines) + 6
    x, y = spot
    rect = f'<rect x="{_n(x - width / 2)}" y="{_n(y - height / 2)}" width="{_n(width)}" height="{height}" rx="8"/>'
    texts = [_words(x, y - height / 2 + 15 + 16 * k, name, text) for k, (name, text) in enumerate(lines)]
    return f'<g class="pill {kind}">{rect}{"".join(texts)}</g>'


def _badge(card: Card, place: Place) -> str:
    text = badge_text(card.box.op)
    style, drop = ("op sign", 5.5) if len(text) == 1 else ("op", 4.5)
    y, wide = place.height / 2, place.badge
    rect = f'<rect class="badge" x="{_n(-wide / 2)}" y="{_n(y - 16)}" width="{_n(wide)}" height="32" rx="16"/>'
    return rect + _words(0, y + drop, style, text)


def _cells(heat: Heat, x: float, y: float, wide: float) -> str:
    """The cells of a heat-map, one path per colour."""
    where: dict[str, list[str]] = {}
    for left, top, letter in heat_cells(heat, x, y, wide):
        where.setdefault(letter, []).append(f"M{_n(left)} {_n(top)}h{_n(wide)}v{_n(CELL)}h-{_n(wide)}z")
    looks = [(*shade(letter), "".join(where[letter])) for letter in sorted(where)]
    return "".join(f'<path class="{kind}" fill-opacity="{depth:.2g}" d="{path}"/>' for kind, depth, path in looks)


def heat_cells(heat: Heat, x: float, y: float, wide: float) -> Iterator[tuple[float, float, str]]:
    """Left, top and letter of each cell of a heat-map at (x, y)."""
    for k, letter in enumerate(heat.cells):
        yield x + k % heat.columns * wide, y + k // heat.columns * CELL, letter


def shade(letter: str) -> tuple[str, float]:
    """The colour of a cell, "plus", "minus" or "odd", and its depth, from 0 to 1."""
    level = ord(letter) - ord("A") - STEPS
    if not "A" <= letter <= "S":
        return "odd", 0.3
    return "plus" if level > 0 else "minus", max(abs(level) / STEPS, 0.08)


def _arrowhead(route: list[Point]) -> str:
    """The arrowhead at the end of a route."""
    (x, y), size = route[-1], 7 if route[-1][0] >= route[-2][0] else -7
    return f'<path class="tip" d="M{_n(x)} {_n(y)}l{-size} -3.5v7z"/>'


def _words(x: float, y: float, kind: str, text: str) -> str:
    return f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}">{escape(clean(text), quote=False)}</text>'


def short(x: float) -> str:
    """A number for a pill: two decimals, or an exponent where these would be useless.

    >>> [short(x) for x in (-0.5, 0.0, 0.001, 123456.0)]
    ['−0.50', '0.00', '1.0e−03', '1.2e+05']
    """
    usual = x == 0 or x - x != 0 or 0.01 <= abs(x) < 10_000
    return (f"{x + 0.0:.2f}" if usual else f"{x:.1e}").replace("-", "\u2212")
