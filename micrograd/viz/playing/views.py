"""A graph as scenes to play: its pictures, and the steps of both passes, as plain data.

A scene is a picture of at most 150 boxes, with the values of its forward and backward pass. A small graph is a single
scene with a box for each op. A large graph opens at its layers. The box of a module leads to a scene for that module,
down to the ops of one neuron for one sample. So every picture stays small, whatever the size of the graph.

The result holds no nodes: it is sent to the page as JSON.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from typing import Any

from ...engine.value import Node
from ..drawing.card import FOLDED, Face, dots, face, number_width, rows
from ..drawing.carried import carry, is_hand_written, is_released
from ..drawing.data import Box, Edge, Group, Picture, Walk, describe, expression, op_of, outputs, roots_of, walk
from ..drawing.fold import AIM, STRETCHES, Call, calls_of, fold_at, plural
from ..drawing.heat import heat_of_group, heat_of_module, heats_of_array, rows_of
from ..drawing.names import Names, find_names, relative
from ..rule_text import RuleText, rule_texts
from ..text import pretty, shorten, text_width
from ..values import value_text
from .gradients import Backprop, backprop
from .recompute import program

OPEN = 60  # the most nodes of a graph that opens unfolded; in a larger graph modules are folded
LEADS_NOWHERE = -1
EACH = -1  # the nesting level at which nothing folds, not even a sum
MOST_BOXES = 5_000  # in all scenes together, since the page must not grow with the graph


@dataclass
class Card(Box):
    """A box in a scene. `data` and `grad` are floats, or None for an array, which has text and heat-maps instead."""

    node: int | None = None  # the place of its node in the walk, if it shows a single node
    data: Any = None
    grad: Any = None
    shape: str = ""
    uses: int = 0  # the number of contributions to its gradient, in the whole graph
    opens: int = LEADS_NOWHERE  # the index of the scene with its contents
    outside: bool = False  # it belongs to the enclosing scene, and is shown here because a box of this scene uses it
    hand_written: bool = False
    released: bool = False
    hooked: bool = False  # a hook replaced its gradient

    def face(self, uses: Sequence["Wire"] = (), small: bool = False) -> Face:
        """The face of the card, whose numbers change from step to step; `uses` are the wires that leave it."""
        drawn = face(self, shape=self.shape)
        counted = self.kind == "stretch" and self.data is not None and self.times == 1 and not self.shape
        return replace(
            drawn,
            title=drawn.title if self.opens == LEADS_NOWHERE else f"\u25b8 {drawn.title}",
            aside=f"{self.nodes:,} nodes" if counted else drawn.aside,
            rows=self._rows(uses, "short" if small else "full"),
            uses=dots(len(uses)),
            tip="",
            small=small,
        )

    def _rows(self, uses: Sequence["Wire"], format: str) -> list[tuple[str, str, float]]:
        """The rows below the title: numbers, which have no text yet, or the texts of a folded box."""
        if self.data is None:
            texts = [text for key, text in rows(self) if key != "grad"] if self.kind in FOLDED else []
            return [("", text, text_width(text, 12)) for text in texts]
        parts = [wire.part for wire in uses if isinstance(wire.part, float)][::-1]
        shown = [value_text(x, format) for x in (self.data, self.grad, *parts, *accumulate(parts)) if x is not None]
        width = number_width(max(shown, key=len), dots(len(uses)))  # of the longest number at any step
        return [(key, "", width) for key in (("data",) if self.kind == "constant" else ("data", "grad"))]


@dataclass
class Wire(Edge):
    """An edge in a scene. An edge of a single use has the `rule` that computes the gradient sent along it.

    An edge into a folded box has the place of the `weight` that multiplies it, if there is a single weight.
    """

    rule: RuleText | None = None
    weight: int | None = None


@dataclass
class Scene:
    """A picture that can be played; `forward` and `backward` list the boxes in the order of the passes."""

    title: str
    cards: list[Card]
    wires: list[Wire]
    forward: list[int]
    backward: list[int]
    parent: int = -1
    tab: str = ""  # the name of the view, if the scene shows the whole graph
    note: str = ""
    layer: list[list[int | None]] | None = None  # of a layer: for each neuron the places of its weights and its bias


@dataclass
class Story:
    """All scenes; the page opens at the first.

    `missing` says why there is no backward pass, and `changed` how many nodes have other data than in the forward pass.
    """

    scenes: list[Scene]
    title: str
    root: str  # the name of the root
    nodes: int
    missing: str = ""
    changed: str = ""
    remark: str = ""
    program: Any = None  # the graph as a program that the page runs, or the reason why it cannot; see `recompute.py`
    modules: dict[int, int] = field(default_factory=dict)  # by the id of a module, the index of its scene


def still(story: Story) -> Picture:
    """The first scene as a static drawing, for viewers without scripts."""
    first = story.scenes[0]
    note = f"{story.nodes:,} nodes in {len(first.cards)} boxes" if story.nodes > len(first.cards) else ""
    return Picture([*first.cards], [*first.wires], note)


def _changed(count: int) -> str:
    whose = "one node" if count == 1 else f"{count:,} nodes"
    return f"The data of {whose} was changed after the forward pass: you see it as it was then." if count else ""


def one_root(root: Any, picture: str) -> Node:
    """The node of `root`; raises TypeError if it is no single node."""
    node, *others = roots_of(root)
    if others:
        raise TypeError(f"{picture} shows one root: pass the sum of these, or one at a time")
    if not isinstance(node, Node):
        raise TypeError(f"{picture} shows what micrograd's Value or Tensor computed, found {type(node)}")
    return node.realize()


@dataclass
class _Part:
    """A scene that is not built yet: some nodes of the graph, folded at a nesting level."""

    members: Sequence[int]
    level: int
    title: str
    parent: int = -1
    tab: str = ""
    note: str = ""
    opener: Card | None = None  # the box that leads to the scene
    module: Any = None  # the module whose contents it shows


class PlayedGraph:
    """A graph with its gradients and names. Its scenes are built breadth first, from the whole graph down.

    `variables` are the variables that name nodes, by default the caller's; see `drawing.names`.
    """

    def __init__(self, root: Node, variables: Mapping[str, Any] | None = None):
        self.root: Node = root
        self.graph: Walk = walk(root)
        self.back: Backprop = backprop(root, self.graph.nodes)
        self.calls: list[Call | None] = calls_of(self.graph)
        self.depth: int = max((len(call[0]) for call in self.calls if call), default=0)
        self.uses: Counter[Node] = _uses(self.graph)
        self.naming: Names = find_names(self.graph, self.calls, variables)
        self.names: dict[int, str] = {id(root): "out"} | self.naming.by_id
        self.owned: set[int] = self.naming.owned
        self.place: dict[Node, int] = {node: i for i, node in enumerate(self.graph.nodes)}
        self.remark: str = getattr(root, "_remark", lambda _: "")(self)  # about the whole graph, by the root
        self.scenes: list[Scene] = []
        self.modules: dict[int, int] = {}
        self.boxes: int = 0
        self.waiting: deque[_Part] = deque()

    def story(self, max_nodes: int = OPEN) -> Story:
        """All scenes, until the page is full. A graph of more than `max_nodes` nodes opens folded by module."""
        views = self._views(max_nodes)
        for level, tab in views:
            whole = range(len(self.graph.nodes))
            self._scene(_Part(whole, level, self._title(), tab=tab if len(views) > 1 else ""))
        known: dict[tuple[int, ...], int] = {}  # two views can lead to the same scene
        while self.waiting:
            part = self.waiting.popleft()
            key = (part.level, part.members[0], part.members[-1], len(part.members))
            if part.opener is not None:
                if key not in known and self.boxes > MOST_BOXES:
                    continue
                part.opener.opens = known.setdefault(key, len(self.scenes))
                self.modules.setdefault(id(part.module), part.opener.opens)
                if part.opener.opens < len(self.scenes):
                    continue
            self._scene(part)
        root, back = self.root, self.back
        return Story(
            self.scenes,
            title=self.scenes[0].title,
            root=root.label or self.names[id(root)],
            nodes=len(self.graph.nodes),
            missing=back.missing,
            changed=_changed(len(back.then) - len(self.graph.then)),
            remark=self.remark,
            program=program(self.graph, back, self.owned),
            modules=self.modules,
        )

    def _title(self) -> str:
        """`loss = (a + b)*c`: the name of the root, and its expression in the leaves if that is short."""
        label = shorten(self.root.label, 40, "\u2026")
        formula = expression(self.graph, self.names) if len(self.graph.nodes) <= OPEN else ""
        return " = ".join(filter(None, [label, pretty(formula)])) or "computation graph"

    def _views(self, max_nodes: int) -> list[tuple[int, str]]:
        """(nesting level, name) of each view of the whole graph; the page opens at the first."""
        count = len(self.graph.nodes)
        levels: dict[str, int] = {}  # by the name of a view, the level at which its modules appear
        for level in range(1, self.depth + 1):
            calls = [call[0][:level] for call in self.calls if call]
            modules = {tuple(map(id, call)): call[-1] for call in calls}
            if 1 < len(modules) < AIM and len(modules) < count:
                levels.setdefault(plural(modules.values()), level)
        views = [(level, name) for name, level in levels.items()]
        whole = [(0, "operations")] if count <= AIM or not views else []
        return whole + views if count <= max_nodes else views + whole

    # ---- one scene

    def _scene(self, part: _Part) -> None:
        groups = [Group([i]) for i in part.members]
        if part.level != EACH:
            inside = self.graph.part(part.members)[0]
            calls = [self.calls[i] for i in part.members]
            folded = fold_at(inside, calls, part.level, AIM)
            # In a view of modules most nodes outside of them are repeated: they fold as well
            if part.level and len(folded) > OPEN:
                folded = fold_at(inside, calls, part.level, sum(g.kind == "module" for g in folded) + STRETCHES)
            groups = [_moved(group, part.members) for group in sorted(folded, key=lambda group: group.members[0])]
        border = self._border(part)
        groups = border + groups
        nodes = [i for group in groups for i in group.members]
        outside = {i for group in border for i in group.members}
        sub, place = self.graph.part(nodes, outside)
        local = [_moved(group, place) for group in groups]
        names = relative(self.names, [i for i in map(id, sub.nodes) if i in self.owned and part.parent >= 0])
        drawn = describe(sub, local, "", names | self._names_of_inputs(part, outside), self.owned)
        cards = [self._card(box, sub, group, part) for box, group in zip(drawn.boxes, local, strict=True)]
        for card in cards[: len(border)]:
            card.name = card.name or card.short or ("" if card.expression else card.op)
            card.outside, card.op = True, ""
            card.kind = "input" if card.kind == "result" else card.kind
        wires = self._wires(sub, local, drawn.edges)
        first = [min((i for i in g.members if self.graph.operands[i]), default=-1) for g in groups]
        forward = _in_order(cards, wires, first)
        backward = [i for i in reversed(forward) if self._sends(i, cards, wires)]
        at = len(self.scenes)
        neurons = rows_of(part.module) if hasattr(part.module, "neurons") else []
        layer = [[self.place.get(node) for node in row] for row in neurons] or None
        self.scenes.append(Scene(part.title, cards, wires, forward, backward, part.parent, part.tab, part.note, layer))
        self.boxes += len(cards)
        for card, group in zip(cards[len(border) :], groups[len(border) :], strict=True):
            self._lead_on(part, at, card, group)

    def _names_of_inputs(self, part: _Part, outside: set[int]) -> dict[int, str]:
        """Names for the inputs of a module in the scene of this module: x, or x0, x1 and so on."""
        marks = (getattr(self.graph.nodes[i], "_made_by", ()) for i in part.members)
        inputs = next((mark[-1] for mark in marks if mark), ()) if outside else ()
        border = {id(self.graph.nodes[i]) for i in outside}
        return {id(node): f"x{k}" if len(inputs) > 1 else "x" for k, node in enumerate(inputs) if id(node) in border}

    def _border(self, part: _Part) -> list[Group]:
        """The boxes of the nodes outside that the members use: one for each node or, if there are many, for each op."""
        inside = {*part.members}
        used = list(dict.fromkeys(j for i in part.members for j in self.graph.operands[i] if j not in inside))
        alike: dict[Any, Group] = {}
        for j in used:
            op, differentiated = op_of(self.graph.nodes[j]), self.graph.nodes[j].requires_grad
            key = (op, differentiated) if len(used) > OPEN else j
            group = alike.setdefault(key, Group([], "repeat", op=op, times=0))
            group.members.append(j)
            group.times += 1
        return [group if group.times > 1 else Group(group.members) for group in alike.values()]

    def _card(self, box: Box, sub: Walk, group: Group, part: _Part) -> Card:
        card = Card(**vars(box))
        if group.kind == "node":
            self._show(card, sub.nodes[group.members[0]])
            return card
        results = [sub.nodes[i] for i in outputs(sub, group)]
        # The result of one call does not represent the results of all calls
        if group.kind == "module" and group.times > 1:
            card.rows = [row for row in card.rows if row[0] == "nodes"]
        elif len(results) == 1:
            self._show(card, results[0])
        if group.kind == "module":
            marks = (getattr(node, "_made_by", ()) for node in results)
            module = next((mark[:-1][: part.level][-1] for mark in marks if mark and part.level), None)
            card.heats = heat_of_module(module, self.back.grads, self.place) if module is not None else []
        elif card.grad is None:
            sent = [(node, g) for node in results if isinstance(g := self.back.grads.get(node), float | int)]
            card.heats = [heat_of_group(sent, self.place)] if sent else []
        return card

    def _show(self, card: Card, node: Node) -> None:
        grad = self.back.grads.get(node)
        card.node = self.place[node]
        card.uses = self.uses[node]
        card.hand_written, card.released = is_hand_written(node), is_released(node)
        card.hooked = node in self.back.replaced
        data = self.back.then.get(node, node._data)
        texts = {"data": value_text(data)} | ({} if grad is None else {"grad": value_text(grad)})
        card.rows = [(key, texts.get(key, text)) for key, text in card.rows]
        if node._is_number:
            card.data, card.grad = data, grad
            return
        if data.size == 1:
            card.data, card.grad = float(data.item()), None if grad is None else float(grad.item())
        else:
            card.heats = heats_of_array(data, grad, card.node)
        if data.ndim or card.kind != "constant":
            card.shape = str(tuple(data.shape))

    def _wires(self, sub: Walk, groups: list[Group], edges: Sequence[Edge]) -> list[Wire]:
        """The wires of a scene, with the numbers that they carried."""
        rules = cache(lambda i: rule_texts(sub.nodes[i]))
        carry(sub, edges, self.back.grads)
        wires = []
        for edge in edges:
            uses = [(self.place[sub.nodes[i]], k) for i, k in edge.uses]
            wires.append(wire := Wire(**vars(replace(edge, uses=uses))))
            if edge.single:
                [(i, k)] = edge.uses
                wire.rule = rules(i)[k]
            else:
                members = {*groups[edge.head].members}
                beside = {m for i, k in edge.uses for m in sub.operands[i] if m != sub.operands[i][k] and m in members}
                weights = [m for m in beside if not sub.operands[m]]
                wire.weight = self.place[sub.nodes[weights[0]]] if len(weights) == 1 else None
        return wires

    def _sends(self, i: int, cards: list[Card], wires: list[Wire]) -> bool:
        """True if the box sends a gradient to another box."""
        if self.back.missing:
            return False
        into = [wire for wire in wires if wire.head == i]
        return any(w.part is not None or (w.rule is None and cards[w.tail].kind != "constant") for w in into)

    # ---- where a box leads

    def _lead_on(self, part: _Part, at: int, card: Card, group: Group) -> None:
        """Queue the scene of a box's contents, if the box has such a scene."""
        if group.kind not in FOLDED or len(group.members) < 2:
            return
        members, name = sorted(group.members), card.name
        if group.kind == "module":
            calls = [call[0] for i in members if (call := self.calls[i])]
            level, note = part.level + 1, ""
            if all(len(modules) <= part.level for modules in calls):
                level, (members, note) = 0, self._one_call(members, group.times)
            module = calls[0][: part.level][-1]
            self.waiting.append(_Part(members, level, name, at, note=note, opener=card, module=module))
        elif group.kind == "stretch" or (group.is_sum and len(members) <= AIM):
            level = EACH if group.is_sum else 0
            self.waiting.append(_Part(members, level, name or card.op, at, opener=card))

    def _one_call(self, members: list[int], times: int) -> tuple[list[int], str]:
        """Of a module that is called many times, the nodes of the call with the largest gradients, and a note on it."""
        calls: dict[Any, list[int]] = {}
        for i in members:
            if self.graph.operands[i] and self.calls[i] is not None:
                calls.setdefault(self.calls[i], []).append(i)
        if times < 2 or len(calls) < 2:
            return members, ""
        order = list(calls)
        strongest = max(order, key=lambda call: sum(map(self._strength, calls[call])))
        leaves = {j for i in calls[strongest] for j in self.graph.operands[i] if not self.graph.operands[j]}
        note = f"call {order.index(strongest) + 1} of {len(order):,}: the one with the largest gradients"
        return sorted({*calls[strongest]} | (leaves & {*members})), note

    def _strength(self, i: int) -> float:
        """The magnitude of the largest element of a node's gradient; 0 if the gradient is nan."""
        grad = self.back.grads.get(self.graph.nodes[i], 0.0)
        size = abs(grad) if isinstance(grad, float | int) else float(abs(grad).max(initial=0.0))
        return size if size == size else 0.0


def _uses(graph: Walk) -> Counter[Node]:
    """For each node, the number of its uses that send a gradient to it."""
    pairs = zip(graph.nodes, graph.operands, strict=True)
    return Counter(graph.nodes[j] for node, below in pairs if node._row is not None for j in below)


def _moved(group: Group, place: Sequence[int] | Mapping[int, int]) -> Group:
    """The group, with `place[i]` for each member i."""
    return replace(group, members=[place[i] for i in group.members])


def _in_order(cards: list[Card], wires: list[Wire], first: Sequence[int]) -> list[int]:
    """The boxes that compute something, in topological order; within a cycle, in the order of `first`."""
    into: list[set[int]] = [set() for _ in cards]
    for wire in wires:
        into[wire.head] |= {wire.tail} - {wire.head}
    done: list[int] = []
    left = dict.fromkeys(range(len(cards)))
    while left:
        ready = next((i for i in left if into[i].isdisjoint(left)), None)
        done.append(min(left, key=first.__getitem__) if ready is None else ready)
        del left[done[-1]]
    return [i for i in done if not cards[i].outside and (cards[i].op or cards[i].kind in ("module", "stretch"))]
