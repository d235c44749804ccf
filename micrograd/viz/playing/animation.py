"""`animate`: the forward and backward pass of a small graph as an animated SVG, which also plays in an `<img>`.

There is no script. The class of each element says when it is visible, and CSS keyframes (`keyframes.py`) show and hide
it. Content and coordinates come from the player's placed scene. With `prefers-reduced-motion` the final state is shown.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

from .. import infix
from ..drawing import svg
from ..drawing.alt_text import alt_text
from ..drawing.card import Piece
from ..drawing.carried import factor, flow_of
from ..drawing.data import NO_GRADIENT, term, walk
from ..drawing.heat import Heat
from ..drawing.layout import Point
from ..drawing.svg import MARGIN, document, words
from ..page import Svg
from ..text import coordinate as _n
from ..text import pretty, shorten
from ..values import hue, short, typeset
from .keyframes import Clock, Moment
from .placement import PILL, PlacedScene, placed
from .views import PlayedGraph, Scene, Wire, one_root, still

MAX_NODES = 40
CAPTION, CAPTION_LETTER = 34.0, 8.2  # the height of a caption, and the width of a letter in it
DOTS = "\u2026"
MOST_BOXES = 60  # in a GIF
HOLD = 2  # steps for which the final state is shown
Span = tuple[Any, ...]  # from which step, until which step, the look, and what else the writing function takes


class Animation(Svg):
    """An animated SVG: `svg` is the document, `words` its description."""


def animate(root: Any, *, seconds: float = 1.2, width: int | None = None) -> Animation:
    """Animate the forward and backward pass of a small graph.

    Use it for a moving picture on a page without scripts. Values appear from the leaves up, then gradients flow back
    from the root, in a loop. The backward pass is separate, so no `.grad` changes.

    Args:
        root: a Value or a Tensor that depends on at most 40 nodes, itself included.
        seconds: duration of a step.
        width: width of the picture in pixels, such as a phone's. A wider graph moves, so that each step is in view.

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
    if width is not None and not width > 0:
        raise ValueError(f"width is {width}; it must be above 0, or None for all that the graph needs")
    node = one_root(root, "an animation")
    if (count := len(walk(node).nodes)) > MAX_NODES:
        raise ValueError(
            f"this graph has {count:,} nodes; an animation is for at most {MAX_NODES}: "
            "draw_dot(root) draws more, and player(root) steps through them"
        )
    story = PlayedGraph(node).story(MAX_NODES)
    scene = story.scenes[0]
    moving = Timeline(scene, placed(scene, film=True), seconds, width)
    return Animation(moving.svg(), alt_text(still(story)))


class Timeline:
    """A scene with its timeline, and its markup.

    Step 0 shows the leaves. Then comes a step for each box that computes something, a step that sets the gradient of
    the root to 1, and a step for each box that propagates its gradient. A span says from which step on an element is
    visible, until which step, and how it looks.
    """

    def __init__(self, scene: Scene, drawn: PlacedScene, seconds: float = 1.2, width: float | None = None):
        if not seconds > 0:
            raise ValueError(f"seconds is {seconds}; it must be above 0")
        self.scene = scene
        self.drawn = drawn
        self.seconds = seconds
        self.whole: float = drawn.width + 2 * MARGIN
        self.seen: float = min(width or self.whole, self.whole)
        self.computed: dict[int, int] = {i: step for step, i in enumerate(scene.forward, 1)}
        self.seeded: int = len(scene.forward) + 1
        self.passes: dict[int, int] = {i: step for step, i in enumerate(scene.backward, self.seeded + 1)}
        self.end: int = self.seeded + 1 + len(scene.backward) if scene.backward else self.seeded
        self.steps: int = self.end + HOLD

    def pictures(self) -> list[str]:
        """An SVG for each step, for a GIF or a video."""
        if (boxes := len(self.scene.cards)) > MOST_BOXES:
            raise ValueError(
                f"this graph has {boxes:,} boxes; a GIF shows at most {MOST_BOXES}: save a page, or give a lower "
                "max_nodes, so that modules fold"
            )
        return [self.svg(step) for step, *_ in self.captions()]

    def svg(self, step: int | None = None) -> str:
        """The SVG document: a loop through all steps, or a single step."""
        self.clock: Clock | Moment = Clock(self.steps, self.seconds) if step is None else Moment(step)
        height = self.drawn.height + 2 * MARGIN + CAPTION
        body = [*map(self._wire, range(len(self.scene.wires))), *map(self._card, range(len(self.scene.cards)))]
        body += map(self._pill, range(len(self.scene.wires)))
        if self.seen < self.whole and isinstance(self.clock, Clock):
            body = [f'<g class="{self._moving(self.clock)}">', *body, "</g>"]
        captions = self._shown(self.captions(), lambda look, text: words(MARGIN, height - MARGIN, look, text))
        return document(
            (self.seen, height),
            self.scene.title,
            body,
            [captions],
            style=self.clock.style(),
            corner=10 if step is None else 0,
        )

    def _shown(self, spans: Iterable[Span], write: Callable[..., str]) -> str:
        """The markup of the spans that are visible, each written with its look."""
        looks = [
            (f"{look} {when}".strip(), more)
            for start, end, look, *more in spans
            if start < end and (when := self.clock.between(start, end)) is not None
        ]
        return "".join(write(look, *more) for look, more in looks)

    def _moving(self, clock: Clock) -> str:
        """The classes of a graph that is wider than the picture. Without motion it is scaled down to the picture."""
        shifts = {step: self._shift(i) for steps in (self.computed, self.passes) for i, step in steps.items()}
        shifts |= {self.seeded: self._shift(self.scene.forward[-1]), self.end: 0.0} if self.passes else {}
        return clock.moved(shifts, f"transform:scale({(self.seen - 2 * MARGIN) / self.drawn.width:.4g});")

    def _shift(self, i: int) -> float:
        """How far the graph moves so that a box is in view, with as many of its operands as fit."""
        places, edge = self.drawn.places, MARGIN / 3
        right = MARGIN + places[i].x + places[i].width + edge
        left = MARGIN + min(places[wire.tail].x for wire in self.scene.wires if wire.head == i) - edge
        return min(0.0, max(self.seen - self.whole, self.seen / 2 - (max(left, right - self.seen) + right) / 2))

    # -------------------------------------------------------------------------------------------- wires
    def _wire(self, e: int) -> str:
        """A wire, and the lines that are drawn along it when a value or a gradient travels."""
        route, wire = self.drawn.routes[e], self.scene.wires[e]
        parts = [self._shown(self.looks(e), lambda *look: svg.wire(route, *look))]
        acts = [(self.computed[wire.head], ""), (self.passes.get(wire.head), _sign(wire))]
        for step, look in acts if len(route) > 1 else []:
            if step is not None and (step == self.computed[wire.head] or wire.part is not None):
                backward = step == self.passes.get(wire.head)
                if (drawn := self.clock.drawn(step, backward)) is not None:
                    classes = " ".join(filter(None, ["flow", look, drawn]))
                    parts.append(f'<path class="{classes}" pathLength="1" d="{svg.curve(route)}"/>')
        return "".join(parts)

    def looks(self, e: int) -> list[Span]:
        """(from, until, look, back, widths) of a wire: gradients flow `back`, as wide as they are large."""
        wire = self.scene.wires[e]
        computed, step = self.computed[wire.head], self.passes.get(wire.head, self.steps)
        if wire.part is None:
            step = self.steps
        look, *widths = flow_of(wire)
        return [
            (0, computed, "waiting", False, 0.0, 0.0),
            (computed, computed + 1, "forward", False, 0.0, 0.0),
            (computed + 1, step, "", False, 0.0, 0.0),
            (step, step + 1, f"backward {_sign(wire)}".strip(), True, 0.0, 0.0),
            (step + 1, self.steps, look, True, *widths),
        ]

    def pills(self, e: int) -> list[tuple[int, int, str, list[str]]]:
        """(from, until, look, lines) of the pills on a wire.

        Forward, a pill shows the value; backward, the gradient, the derivative and their product.
        """
        wire, pills = self.scene.wires[e], []
        tail, step, computed = self.scene.cards[wire.tail], self.passes.get(wire.head), self.computed[wire.head]
        if tail.data is not None or tail.shape:
            pills.append((computed, computed + 1, "forward", [tail.shape if tail.data is None else short(tail.data)]))
        if step is not None and isinstance(wire.part, float | int) and wire.local is not None:
            local, g = f"\u00d7 {short(wire.local)}", short(self.scene.cards[wire.head].grad)
            product = [g, local] if self.drawn.small else [f"{g} {local}"]
            pills.append((step, step + 1, "backward", [*product, f"= {short(wire.part)}"]))
        elif step is not None and wire.part is not None:
            pills.append((step, step + 1, "backward", ["+=" if wire.part is True else f"+= {short(wire.part)}"]))
        return pills

    def _pill(self, e: int) -> str:
        spot, label, step = self.drawn.pills[e], self.drawn.labels[e], self.passes.get(self.scene.wires[e].head)
        shown = "" if spot is None else self._shown(self.pills(e), lambda *look: _pill(spot, *look))
        if label is None or step is None:
            return shown
        factors = [(step + 1, self.steps, "factor", factor(self.scene.wires[e]))]
        return shown + self._shown(factors, lambda look, text: words(label[0], label[1] + 4.5, look, text))

    # -------------------------------------------------------------------------------------------- cards
    def _card(self, i: int) -> str:
        card, place = self.scene.cards[i], self.drawn.places[i]
        spans = [(start, end, look) for start, end, look in self.states(i) if start < end]
        shown = [(look, self.clock.between(start, end)) for start, end, look in spans]
        states = [" ".join(filter(None, [look, when])) for look, when in shown if when is not None]
        numbers = {key: self._numbers(self.numbers(i, key)) for key in ("data", "grad")}
        look, odd = self.clock.faint_until(self.computed.get(i, 0)), self._odd(i)
        gifts = [wire for wire in self.scene.wires if wire.tail == i and self._gives(wire)]
        sent = [self.clock.landing(step, self.steps) for step in sorted(self.passes[wire.head] for wire in gifts)]
        return svg.card(
            card.face(gifts, self.drawn.small), place, look, states, numbers, partial(self._heat, i), sent, odd
        )

    def _numbers(self, spans: Iterable[tuple[int, int, float | None, bool]]) -> list[tuple[str, str]]:
        seen = [(x, whole, self.clock.landing(start, end)) for start, end, x, whole in spans if start < end]
        return [
            (
                " ".join(filter(None, ["unknown" if x is None else hue(x), "whole" * whole, when])),
                NO_GRADIENT if x is None else typeset(x, "short" if self.drawn.small else "full"),
            )
            for x, whole, when in seen
            if when is not None
        ]

    def _odd(self, i: int) -> str | None:
        """The classes of the flag of a card that gets a nan or an infinity; None if it gets none, or has none yet."""
        numbers = [*self.numbers(i, "data"), *self.numbers(i, "grad")]
        first = min((start for start, _, x, _ in numbers if x is not None and x - x != 0), default=self.steps)
        return self.clock.landing(first, self.steps) if first < self.steps else None

    def _heat(self, i: int, heat: Heat, piece: Piece) -> str:
        step = self.arrivals(i)[-1][0] if heat.name == "grad" else self.computed.get(i, 0)
        when = self.clock.landing(step, self.steps)
        return "" if when is None else f'<g class="{when}">{svg.cells(heat, piece)}</g>'

    def _gives(self, wire: Wire) -> bool:
        """True if a gradient comes back along the wire."""
        return wire.part is not None and wire.head in self.passes

    def states(self, i: int) -> list[tuple[int, int, str]]:
        """(from, until, look) of a box: it is computed, it receives gradients, it sends its gradient on."""
        acts = {self.computed[i]: "forward"} if i in self.computed else {}
        acts |= dict.fromkeys(
            (self.passes[w.head] for w in self.scene.wires if w.tail == i and self._gives(w)), "receiving"
        )
        if i in self.passes:
            acts[self.passes[i]] = "backward"
            if i == self.scene.forward[-1]:
                acts[self.seeded] = "backward"
        dead = self.arrivals(i)[-1][0] + 1 if self.scene.cards[i].grad == 0 else self.steps
        edges = sorted({0, self.steps, dead, *acts, *(step + 1 for step in acts)})
        return [(a, b, acts.get(a, "dead" if a >= dead else "")) for a, b in pairwise(edges)]

    def numbers(self, i: int, key: str) -> list[tuple[int, int, float | None, bool]]:
        """(from, until, number, whole) of a box's "data", or of its "grad" as it accumulates; None while unknown."""
        card, arrivals = self.scene.cards[i], self.arrivals(i)
        if key == "data":
            known = self.computed.get(i, 0)
            return [(0, known, None, False), (known, self.steps, card.data, False)]
        if card.grad is None:
            return [(0, self.steps, None, False)]
        sums = [(step, end, total, False) for (step, total), (end, _) in pairwise(arrivals)]
        last = arrivals[-1][0]
        return [(0, arrivals[0][0], None, False), *sums, (last, self.steps, card.grad, True)]

    def arrivals(self, i: int) -> list[tuple[int, float]]:
        """(step, total so far) for each addition to a box's gradient; for the root, its 1."""
        coming: defaultdict[int, float] = defaultdict(float)
        for wire in self.scene.wires:
            if wire.tail == i and self._gives(wire):
                coming[self.passes[wire.head]] += 0.0 if wire.part is True else wire.part
        steps = sorted(coming)
        return [*zip(steps, accumulate([coming[step] for step in steps]), strict=True)] or [(self.seeded, 1.0)]

    # -------------------------------------------------------------------------------------------- captions
    def captions(self) -> list[tuple[int, int, str, str]]:
        """(from, until, look, sentence) for each step."""
        sentences = ["The leaves have their values", *[f"Forward: {self._named(i)}" for i in self.computed]]
        if self.scene.backward:
            sentences.append("Backward: the result's own gradient is 1")
            sentences += [f"Backward: through {self._named(i)}" for i in self.passes] + ["Every gradient is known"]
        columns = int((self.seen - 2 * MARGIN) / CAPTION_LETTER)
        ends = [*range(1, len(sentences)), self.steps]
        return [
            (k, end, "caption", shorten(text, columns, DOTS))
            for k, (end, text) in enumerate(zip(ends, sentences, strict=True))
        ]

    def _named(self, i: int) -> str:
        """`d = e + c`, with long names shortened."""
        card = self.scene.cards[i]
        operands = [term(self.scene.cards[wire.tail]) for wire in self.scene.wires if wire.head == i]
        texts = [(shorten(text, 14, DOTS) or DOTS, strength) for text, strength in operands]
        formula = card.expression or infix.written("+" if card.op == "sum" else card.op.lower(), texts)[0]
        return pretty(" = ".join(filter(None, [shorten(card.name or card.short, 24, DOTS), formula])))


# ------------------------------------------------------------------------------------------------ pieces
def _sign(wire: Wire) -> str:
    """The hue of a wire while gradients travel along it: "mixed" if they have both signs, "" if they are 0."""
    return flow_of(wire)[0][len("flows ") :]


def _pill(spot: Point, look: str, lines: list[str]) -> str:
    width, height = max(PILL[0] - 12, 7.4 * max(map(len, lines)) + 14), 16 * len(lines) + 6
    x, y = spot
    rect = f'<rect x="{_n(x - width / 2)}" y="{_n(y - height / 2)}" width="{_n(width)}" height="{height}" rx="8"/>'
    texts = [
        words(x, y - height / 2 + 15 + 16 * k, "second" if k + 1 == len(lines) > 1 else "first", text)
        for k, text in enumerate(lines)
    ]
    return f'<g class="{f"pill {look}".strip()}">{rect}{"".join(texts)}</g>'
