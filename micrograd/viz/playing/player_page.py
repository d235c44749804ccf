"""`player`: an HTML page that steps forward and backward through a graph. It joins story, places and template.

A page that embeds a player talks to it with `postMessage`. The field `micrograd` of each message says what is sent:

    {micrograd: "story", story: {...}}    to the player: show this graph. `story` is what `player(g).story()` returns,
                                          as JSON data. Where the graph has the shape of the one before, the view, the
                                          step and the choice stay; else it opens as a page does, at the last step.
    {micrograd: "go", place: "step=3"}    to the player: a place, as after the `#` of an address: `step=3`, `place=end`,
                                          `scene=2&step=3`.
    {micrograd: "leaves", leaves: [...]}  to the player: other numbers for the leaves of the graph, in the order of
                                          `trace(root)[0]`; a list for an array, null for a leaf that stays.
                                          With `reply: true` the player answers with their gradients:
    {micrograd: "grads", grads: [...]}    from the player to its parent, in the same order.
    {micrograd: "size", height: 640}      from the player to its parent, of another origin: the height that it needs,
                                          in pixels, whenever that changes. A parent of the same origin need do
                                          nothing, since the player sets the height of its frame.
    {micrograd: "leaf", leaf: 0, name: "a", value: 1.5}
                                          from the player to its parent: somebody changed a leaf in the page. `leaf`
                                          counts the leaves of the graph, in the order of `trace(root)[0]`.

The player's first place is `iframe.dataset.place`, else the address's `#step=3`, else the last step.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from ...common.collector import without_collector
from ...scalars.kinds import is_node
from .. import infix
from ..drawing import svg
from ..drawing.alt_text import alt_text, summary, title
from ..drawing.card import Place, pieces
from ..drawing.data import Box, Picture, term
from ..files import save_film
from ..page import Page, join, script, source
from ..text import badge_text, clean, shorten
from ..values import value_text
from .animation import Timeline
from .placement import PlacedScene, placed
from .textbook import textbook
from .views import OPEN, Card, PlayedGraph, Scene, Story, Wire, one_root, still


@dataclass(repr=False)
class Player(Page):
    """The page of a player, and the plain data that it shows."""

    data: dict[str, Any]
    scene: Scene

    def save(self, path: str | PathLike[str], *, seconds: float = 1.2) -> Path:
        """Write the page, or the steps of its first view as a moving picture.

        Args:
            path: the name of a page, or a name that ends in ".gif" (needs resvg-py and Pillow) or in ".mp4" (needs
                resvg-py and the program ffmpeg).
            seconds: duration of a step, in a moving picture.

        Returns:
            The path.

        Raises:
            ValueError: more than 60 boxes in view, `seconds` not positive, or a path that is another format's.
            FileNotFoundError: an MP4, and there is no ffmpeg.
            ModuleNotFoundError: a moving picture, and resvg-py or Pillow is missing.
        """
        target = Path(path)
        if target.suffix.lower() not in (".gif", ".mp4"):
            return super().save(path)
        film = Timeline(self.scene, placed(self.scene, film=True), seconds)
        save_film(film.pictures(), target, seconds, hold=2 * seconds)
        return target

    def story(self) -> dict[str, Any]:
        """The graph that the page shows, as JSON data. A page that is open and receives this data is redrawn in place.

        >>> from micrograd import Value
        >>> player(Value(2.0, label="a") * 3).story()["title"]
        'a × 3'
        """
        return self.data


SHEETS = "palette.css playing/player.css"
SCRIPT = "playing/main.js", SHEETS  # the module that begins a page and imports all other modules; its style sheets
SCRIPT_OF_LAYERS = "playing/layer.js", f"{SHEETS} playing/layer.css"  # of a page with a dense layer: main.js and tables


def player(
    root: Any,
    *,
    max_nodes: int = OPEN,
    names: Mapping[Any, Any] | None = None,
    height: int | None = None,
    panels: bool = True,
    present: bool = False,
    ask: bool = False,
) -> Player:
    """Step through the forward and backward pass of a graph, in a self-contained HTML page.

    Use it to understand a gradient, one operation at a time. The backward pass is separate, so no `.grad` changes.
    Hooks run, as in `micrograd.grad`. The page opens at the last step, where every gradient is known. It shows a graph
    of up to `max_nodes` nodes as operations, and of a larger one as many cards as can be read. A graph that is wider
    than the window is broken into rows.

    Args:
        root: a Value or a Tensor. A Tensor with several elements is differentiated as their sum.
        max_nodes: a graph with more nodes is folded by module first.
        names: the variables that name nodes without a label, such as `globals()`, by default those of the caller. A
            node as the key gives letters to the places of its axes, such as `{x: "anna"}`. They stand at the large
            grids that a click on an array shows.
        height: height in pixels where the page is framed, by default what the graph needs. A window is filled.
        panels: show the explanations below the graph.
        present: a clean view of 16:9 for a projector or a video, with keys instead of buttons and type of 18 px or
            more. A graph that is too large for that moves, so that the active card and its operands stay in sight. The
            key p leaves this view.
        ask: True lets the reader guess first. The page opens where the gradients begin, and each backward step asks for
            its gradients before it shows them. A switch in the menu does the same.

    Returns:
        A `Player` that notebooks display. `save(path)` writes its page or, if the path ends in .gif or .mp4, a moving
        picture. `open()` opens it in the browser. The page loads nothing. `story()` is its data, for an open page.

    Raises:
        TypeError: `root` is not a single Value or Tensor.
        ValueError: `height` is no positive number, or a word in `names` fits no axis of its node.

    >>> from micrograd import Value
    >>> a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    >>> player(a * b + a)
    <Page: Computation graph: 4 nodes, 4 edges; save(path), open()>
    """
    if height is not None and not (type(height) in (int, float) and height > 0):
        raise ValueError(f"height is {height!r}; a frame needs a positive number of pixels, or None for what it needs")
    node, (letters, variables) = one_root(root, "a player"), _letters(names)
    with without_collector():
        story = PlayedGraph(node, variables).story(max_nodes)
        graph = still(story)
        data = plain(story) | _without_defaults(letters=letters)
        if frame := _without_defaults(height=height, panels=None if panels else 0, present=present, ask=ask):
            data["frame"] = frame
        layers = any(at.layer or any(card.op == "linear" for card in at.cards) for at in story.scenes)
        page = _page(story.title, data, script(*(SCRIPT_OF_LAYERS if layers else SCRIPT)), _table(graph))
        return Player(page, svg.write(graph), alt_text(graph), data, story.scenes[0])


def _letters(names: Mapping[Any, Any] | None) -> tuple[list[str], Mapping[str, Any] | None]:
    """The words for nodes, and the variables by name, which are None for the caller's if `names` has only words."""
    words = {x: word for x, word in (names or {}).items() if is_node(x)}
    for x, word in words.items():
        shape = getattr(x, "shape", ())
        if not isinstance(word, str) or len(word) not in shape:
            fits = f"a word has one letter for each place of an axis, and the node has the shape {tuple(shape)}"
            raise ValueError(f"names has {word!r:.40}: {fits}")
    variables = {name: x for name, x in (names or {}).items() if not is_node(name)}
    return [*words.values()], variables if variables or names == {} else None


def _page(title: str, data: Any, script: str, still: str = "") -> str:
    return join("playing/player", title, data, style="", script=script, still=still)


def _table(graph: Picture) -> str:
    """The numbers of each box, which a page without scripts shows."""
    rows = [[title(box), *[" ".join(row) for row in box.rows]] for box in graph.boxes]
    cells = "".join("<tr><td>" + "<td>".join(map(escape, row)) for row in rows)
    return f"<style>#app{{display:none}}</style><table><caption>{escape(summary(graph))}</caption>{cells}</table>"


def template() -> str:
    """A player's page whose story is `null`. A page that frames players puts their stories in this place."""
    return _page("player", None, source(*SCRIPT_OF_LAYERS))


# ------------------------------------------------------------------------------------------------ to plain data
Known = dict[str, dict[str, int]]  # of each table, the values that several cards or wires share, as JSON, by index


def plain(story: Story) -> dict[str, Any]:
    """The story as JSON data. Fields with their default value are omitted; the page restores them."""
    known: Known = {"rules": {}, "forms": {}, "looks": {}}
    root, strength = infix.name(story.root)
    return {
        **{name: getattr(story, name) for name in ("title", "nodes", "missing", "changed", "program")},
        "root": [shorten(root, 24, "\u2026"), strength],
        "scenes": [_scene(scene, placed(scene), known, not isinstance(story.program, str)) for scene in story.scenes],
        **{table: [json.loads(x) for x in shared] for table, shared in known.items()},
        **_without_defaults(remark=story.remark),
    }


def _scene(scene: Scene, drawn: PlacedScene, known: Known, computed: bool) -> dict[str, Any]:
    """A scene as JSON data. If the page computes the graph again, the data has the uses that each wire stands for.

    Nodes are counted from `base`. Scenes of neurons of the same shape then differ in `base` alone, and compress well.
    """
    uses = Counter(wire.head for wire in scene.wires)
    base = min((card.node for card in scene.cards if card.node is not None), default=0)
    cards = zip(scene.cards, drawn.places, strict=True)
    return _without_defaults(
        **_own(scene, "tab", "note", "parent", "forward", "backward", "layer"),
        base=base or None,
        title=clean(scene.title),
        crowded=drawn.crowded,
        size=_points([(drawn.width, drawn.height)]),
        cards=[_card(card, place, uses[i], known, base) for i, (card, place) in enumerate(cards)],
        wires=[
            _wire(wire, drawn.routes[e], drawn.pills[e], known, scene, base, computed)
            for e, wire in enumerate(scene.wires)
        ],
    )


def _number_of(x: Any, known: dict[str, int]) -> int:
    """The index of x in a table of values that several cards or wires share. A new value is added to the table."""
    return known.setdefault(json.dumps(x), len(known))


def _form(box: Box, count: int) -> infix.Form:
    """The infix form of a card's op; a folded sum is written as additions."""
    op = "+" if box.kind == "repeat" and box.op == "sum" else box.op.lower() if box.op.isidentifier() else clean(box.op)
    return infix.form(op, count)


def _card(card: Card, place: Place, uses: int, known: Known, base: int) -> dict[str, Any]:
    name, strength = _name(card)
    drawn = pieces(card.face(), place.badge)
    look = [(p.role, round(p.x, 1), p.y, p.text if p.role == "key" else p.wide) for p in drawn]
    own = {"aside" if p.role == "aside" else "title": p.text for p in drawn if p.role in ("title", "made", "aside")}
    return _without_defaults(
        **_own(
            card, "kind", "shape", "uses", "times", "nodes", "opens", "outside", "hand_written", "released", "hooked"
        ),
        name=name,
        binds=strength if strength != infix.ATOM else None,
        form=_number_of(_form(card, uses), known["forms"]) if card.op else None,
        node=None if card.node is None else card.node - base,
        look=_number_of(look, known["looks"]),
        **own,
        op=badge_text(card.op) if card.op else "",
        call=card.op if card.op.isidentifier() else "",
        box=_points([(place.x, place.y), (place.width, place.height)]),
        badge=round(place.badge),
        data=_rounded(card.data),
        grad=_rounded(card.grad),
        heats=[_without_defaults(**asdict(heat)) for heat in card.heats],
    )


def _name(card: Card) -> infix.Text:
    """How formulas refer to a card, with the binding strength of that text."""
    text, strength = term(card)
    shown = shorten(text, 40, "\u2026") if card.name or card.short else clean(text)
    return shown or (value_text(card.data) if card.face().alone else card.op or card.kind), strength


def _wire(
    wire: Wire, route: list[Any], pill: Any, known: Known, scene: Scene, base: int, computed: bool
) -> dict[str, Any]:
    head = scene.cards[wire.head]
    rule = None if wire.rule is None or head.hand_written else [*wire.rule]
    if rule and not rule[1].startswith("sum_to") and (learnt := textbook(head.op, wire.uses[0][1])):
        rule.append(learnt)
    return _without_defaults(
        ends=[wire.tail, wire.head],
        count=wire.count if wire.count > 1 else None,
        local=_rounded(wire.local),
        part=True if wire.part is True else _rounded(wire.part),
        rule=None if rule is None else _number_of(rule, known["rules"]),
        flow=wire.flow and [*map(_rounded, wire.flow)],
        use=[wire.uses[0][0] - base, wire.uses[0][1]] if wire.single else None,
        weight=None if wire.weight is None else wire.weight - base,
        route=[*map(round, _points(route))],
        pill=_points([pill]) if pill else None,
        uses=_steps(wire.uses, base) if computed and not wire.single and not _use_is_implied(wire, scene) else [],
    )


def _use_is_implied(wire: Wire, scene: Scene) -> bool:
    """True if the page knows the single use of a wire without its data: the product of its tail and its weight."""
    return len(wire.uses) == 1 and wire.weight is not None and scene.cards[wire.tail].node is not None


def _steps(uses: list[tuple[int, int]], base: int) -> list[int]:
    """A flat list: for each use the distance of its node from that of the use before, then the place of its operand."""
    return [x for (i, k), (before, _) in zip(uses, [(base, 0), *uses], strict=False) for x in (i - before, k)]


def _own(x: Any, *names: str) -> dict[str, Any]:
    """The fields of these names whose values are not their defaults."""
    return {f.name: getattr(x, f.name) for f in fields(x) if f.name in names and getattr(x, f.name) != f.default}


def _without_defaults(**all: Any) -> dict[str, Any]:
    return {name: x for name, x in all.items() if x is not None and x is not False and x not in ("", [])}


def _rounded(x: Any) -> float | str | None:
    """A number for JSON, with ten digits, more than the page shows. JavaScript's names stand for nan and infinity."""
    if x is None:
        return None
    return float(f"{x + 0.0:.10g}") if x - x == 0 else "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"


def _points(points: list[Any]) -> list[float]:
    return [round(number, 1) for point in points for number in point]
