"""`player`: one HTML page that steps forward and backward through a graph. Joins story, stages and template.

A page that embeds a player talks to it with `postMessage`; each message is an object whose `micrograd` says what it is:

    {micrograd: "story", story: {...}}    to the player: show this graph. `story` is what `player(g).story()` returns,
                                          as JSON data. Where the graph has the shape of the one before, the view, the
                                          step and the choice stay; else it opens as a page does, at the first step,
                                          or at the last if the last was shown.
    {micrograd: "go", place: "step=3"}    to the player: a place, as after the `#` of an address: `step=3`, `place=end`,
                                          `scene=2&step=3`.
    {micrograd: "leaves", leaves: [...]}  to the player: other numbers for the leaves of the graph, in the order of
                                          `trace(root)[0]`; a list for an array, null for a leaf that stays.
    {micrograd: "size", height: 640}      from the player to its parent, of another origin: the height that it needs,
                                          in pixels, whenever that changes. A parent of the same origin need do
                                          nothing: the player sets the height of its frame.
    {micrograd: "leaf", leaf: 0, name: "a", value: 1.5}
                                          from the player to its parent: somebody changed a leaf in the page. `leaf`
                                          counts the leaves of the graph, in the order of `trace(root)[0]`.

The player's first place is `iframe.dataset.place`, else the address's `#step=3` or `#place=end`.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ...engine.collector import without_collector
from .. import infix
from ..drawing import svg
from ..drawing.data import Box, term
from ..drawing.words import spoken
from ..page import Page, asset, join, script, source
from ..progress import progress
from ..text import badge_text, clean, shorten
from ..values import value_text
from .animation import Film
from .card import is_number, pieces
from .scenes import LEADS_NOWHERE, OPEN, Card, Scene, Story, Wire, one_root, still, story
from .stage import Place, Stage, stage


@dataclass(repr=False)
class Player(Page):
    """The page of a player, and the plain data that it shows."""

    data: dict[str, Any]
    scene: Scene

    def save(self, path: str | PathLike[str], *, seconds: float = 1.2) -> Path:
        """Write the page, or the steps of its first view as a moving picture.

        Args:
            path: ends in ".gif" (needs Pillow), in ".mp4" (needs Pillow and the program ffmpeg), or is that of a page.
            seconds: duration of a step, in a moving picture.

        Returns:
            The path.

        Raises:
            ValueError: more than 60 boxes in view, `seconds` not positive, or a path that is another format's.
            FileNotFoundError: an MP4, and there is no ffmpeg.
        """
        target = Path(path)
        if target.suffix.lower() not in (".gif", ".mp4"):
            return super().save(path)
        from . import gif

        if not seconds > 0:
            raise ValueError(f"seconds is {seconds}; it must be above 0")
        gif.save(Film(self.scene, stage(self.scene), seconds), target, seconds)
        return target

    def story(self) -> dict[str, Any]:
        """What the page shows, as JSON data; send it to a page that is open, and it is redrawn in place.

        >>> from micrograd import Value
        >>> player(Value(2.0, label="a") * 3).story()["title"]
        'a * 3'
        """
        return self.data


SCRIPTS = tuple(f"playing/{name}.js" for name in ("player", "panels", "program", "touch", "rows", "view"))


def player(
    root: Any,
    *,
    max_nodes: int = OPEN,
    names: Mapping[str, Any] | None = None,
    height: int | None = None,
    panels: bool = True,
    present: bool = False,
) -> Player:
    """Step through the forward and backward pass of a graph, in a self-contained HTML page.

    The backward pass is separate: no `.grad` changes. Hooks run, as in `micrograd.grad`. The page opens with the view
    of most cards that can be read whole: operations, modules, or an outline of six parts. What is wider than the window
    is broken into rows.

    Args:
        root: a Value or a Tensor. A Tensor with several elements is differentiated as their sum.
        max_nodes: a graph with more nodes is folded by module first.
        names: the variables that name nodes without a label, such as `globals()`; by default those of the caller.
        height: of the page where it is framed, in pixels; by default what the graph needs. A window is filled.
        panels: show the explanations below the graph.
        present: a clean view of 16:9 for a projector or a video: keys only, and type of 18 px or more. Where even
            the outline is too wide for that, the graph moves so that the active card and what it is computed from
            stay in sight. The key p leaves this view.

    Returns:
        A `Player` that notebooks display; `save(path)` writes its page or, if the path ends in .gif or .mp4, a moving
        picture; `open()` opens it in the browser. It loads nothing. `story()` is its data, for an open page.

    Raises:
        TypeError: `root` is not a single Value or Tensor.
        ValueError: `height` is no positive number.

    >>> from micrograd import Value
    >>> a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    >>> player(a * b + a)
    <Page: Computation graph: 4 nodes, 4 edges; save(path), open()>
    """
    if height is not None and not (type(height) in (int, float) and height > 0):
        raise ValueError(f"height is {height!r}; a frame needs a positive number of pixels, or None for what it needs")
    node = one_root(root, "a player")
    with without_collector(), progress() as say:
        told = story(node, max_nodes, names, say)
        say("the page")
        graph = still(told)
        data = plain(told)
        if frame := _lean(height=height, panels=None if panels else 0, present=present):
            data["frame"] = frame
        page = _page(told.title, data, script(*SCRIPTS))
        return Player(page, ("image/svg+xml", svg.write(graph).encode()), spoken(graph), data, told.scenes[0])


def _page(title: str, data: Any, script: str) -> str:
    return join("playing/player", title, data, style=asset("playing/player.css"), script=script)


def template() -> str:
    """A player's page whose story is `null`: another page puts one in its place, and frames it."""
    return _page("player", None, source(*SCRIPTS))


# ------------------------------------------------------------------------------------------------ to plain data
Known = dict[str, dict[str, int]]  # of each kind, the values that many cards or wires share, as JSON, with their index


def plain(told: Story) -> dict[str, Any]:
    """The story as JSON data. Fields with their default value are omitted; the page restores them."""
    known: Known = {"rules": {}, "forms": {}, "looks": {}}
    root, strength = infix.name(told.root)
    return {
        "title": told.title,
        "root": [shorten(root, 24, "\u2026"), strength],
        "nodes": told.nodes,
        "missing": told.missing,
        "changed": told.changed,
        "program": told.program,
        "scenes": [_scene(scene, stage(scene), known) for scene in told.scenes],
        **{kind: [json.loads(x) for x in shared] for kind, shared in known.items()},
    }


def _scene(scene: Scene, drawn: Stage, known: Known) -> dict[str, Any]:
    """Nodes are counted from `base`: scenes of neurons that are built alike are then the same text but for that."""
    uses = Counter(wire.head for wire in scene.wires)
    base = min((card.node for card in scene.cards if card.node is not None), default=0)
    placed = zip(scene.cards, drawn.places, strict=True)
    return _lean(
        base=base or None,
        title=clean(scene.title),
        tab=scene.tab,
        note=scene.note,
        crowded=drawn.crowded,
        parent=scene.parent if scene.parent >= 0 else None,
        size=_points([(drawn.width, drawn.height)]),
        cards=[_card(card, place, uses[i], known, base) for i, (card, place) in enumerate(placed)],
        wires=[
            _wire(wire, drawn.routes[e], drawn.pills[e], known, scene.cards[wire.head], base)
            for e, wire in enumerate(scene.wires)
        ],
        forward=scene.forward,
        backward=scene.backward,
    )


def _number_of(x: Any, known: dict[str, int]) -> int:
    """The index of x in a table of values shared by many cards or wires; adds it if it is new."""
    return known.setdefault(json.dumps(x), len(known))


def _form(box: Box, count: int) -> infix.Form:
    """The infix form of a card's op; a folded sum is written as additions."""
    op = "+" if box.kind == "repeat" and box.op == "sum" else box.op.lower() if box.op.isidentifier() else clean(box.op)
    return infix.form(op, count)


def _card(card: Card, place: Place, uses: int, known: Known, base: int) -> dict[str, Any]:
    box = card.box
    name, strength = _name(card)
    drawn = pieces(card, place.badge)
    look = [(p.kind, round(p.x, 1), p.y, p.text if p.kind == "key" else p.wide) for p in drawn]
    own = {"aside" if p.kind == "aside" else "title": p.text for p in drawn if p.kind in ("title", "made", "aside")}
    return _lean(
        name=name,
        binds=strength if strength != infix.ATOM else None,
        form=_number_of(_form(box, uses), known["forms"]) if box.op else None,
        node=None if card.node is None else card.node - base,
        look=_number_of(look, known["looks"]),
        **own,
        kind=box.kind,
        op=badge_text(box.op) if box.op else "",
        call=box.op if box.op.isidentifier() else "",
        box=_points([(place.x, place.y), (place.width, place.height)]),
        badge=round(place.badge),
        data=_rounded(card.data),
        grad=_rounded(card.grad),
        shape=card.shape,
        uses=card.uses or None,
        times=box.times if box.times > 1 else None,
        nodes=box.nodes if box.nodes > 1 else None,
        heats=[_lean(**asdict(heat)) for heat in card.heats],
        opens=card.opens if card.opens != LEADS_NOWHERE else None,
        outside=card.outside,
        byHand=card.hand_written,
        letGo=card.let_go,
        hooked=card.hooked,
    )


def _name(card: Card) -> infix.Text:
    """How formulas refer to a card, with the binding strength of that text."""
    box = card.box
    text, strength = term(box)
    shown = shorten(text, 40, "\u2026") if box.name else clean(text)
    return shown or (value_text(card.data) if is_number(card) else box.op or box.kind), strength


def _wire(wire: Wire, route: list[Any], pill: Any, known: Known, head: Card, base: int) -> dict[str, Any]:
    shown = wire.rule is not None and not head.hand_written
    return _lean(
        ends=[wire.tail, wire.head],
        count=wire.count if wire.count > 1 else None,
        local=_rounded(wire.local),
        part=True if wire.part is True else _rounded(wire.part),
        rule=_number_of(wire.rule, known["rules"]) if shown else None,
        use=wire.use and (wire.use[0] - base, wire.use[1]),
        weight=None if wire.weight is None else wire.weight - base,
        route=_points(route),
        pill=_points([pill]) if pill else None,
    )


def _lean(**fields: Any) -> dict[str, Any]:
    return {name: x for name, x in fields.items() if x is not None and x is not False and x not in ("", [])}


def _rounded(x: Any) -> float | str | None:
    """A number for JSON, with ten digits, more than is shown; nan and infinity become JavaScript's names for them."""
    if x is None:
        return None
    return float(f"{x + 0.0:.10g}") if x - x == 0 else "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"


def _points(points: list[Any]) -> list[float]:
    return [round(number, 1) for point in points for number in point]
