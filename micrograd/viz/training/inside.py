"""What the page of a training opens: the player of one point or of one neuron, as it was at the step that is shown.

The graph of a point is stored once for each class, without its numbers. The page has the points and the weights of the
frames, as the graph's leaves, and computes the rest.
"""

import json
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from ...engine.collector import without_collector
from ...engine.graph import Node, node_of
from ...engine.modes import enable_grad
from ...engine.value import Value
from ...tensor.tensor import Tensor
from ..drawing.data import walk
from ..page import pack
from ..playing.play import plain, template
from ..playing.program import number
from ..playing.scenes import OPEN, Story, story
from .columns import MOST_UNITS
from .network import Layer
from .scores import in_use, parameters

MOST = 40_000  # weights in all frames together; with more, the page has those of the last frame
FINEST = 8_192  # a weight is stored as a whole number of this part of the largest
TYPICAL = -0.5  # the number that stands for all others while the cards are measured
TYPICAL_RANGE, TYPICAL_ZEROS = "-0.5000 to -0.5000", "99 of 999 are 0"

Loss = Callable[[Any, Any], Any]
Source = tuple[int, int | None]  # the first number of a leaf, and how many there are; None: it is no array
Sources = dict[Any, Source]  # by the node


class _Closed(Exception):
    """The page could not compute the graph of a point: the message is what the page says of it."""


def inside(
    model: Callable[..., Any],
    points: np.ndarray,
    inputs: int,
    labels: Sequence[Any],
    frames: Sequence[Sequence[np.ndarray]],
    owned: Sequence[Sequence[Any]],
    columns: Sequence[Layer],
    loss: Loss | None = None,
) -> dict[str, str]:
    """The data of the page's player, packed, as "inside"; or "closed", a sentence that says why it does not open.

    Args:
        model: the network.
        points: of shape (n, numbers).
        inputs: how many numbers of a point the model takes; what follows them is the target.
        labels: the class of each point, or None for one whose target is a number.
        frames: the weights of each frame, one array per layer.
        owned: the parameters of each layer, in the order of its weights.
        columns: the neurons.
        loss: a function of what the model returns and of the target; None shows what the model returns.
    """
    slots = _slots(owned)
    if not slots:
        return {"closed": "The model has no parameters."}
    if sum(size or 1 for _, size in slots.values()) != sum(map(len, frames[-1])):
        return {"closed": "A layer has so many weights that only some of them were recorded."}
    told: dict[Any, dict[str, Any]] = {}
    units: list[int] = []
    with without_collector():
        for label in dict.fromkeys(labels):
            row = next(point for point, mine in zip(points, labels, strict=True) if mine == label)
            try:
                root, columns_of = _graph(model, row, label, inputs, loss)
            except _Closed as why:
                return {"closed": str(why)}
            found = story(root, OPEN, {})
            if isinstance(found.program, str):
                return {"closed": found.program}
            units = [found.modules.get(id(module), 0) for layer in columns for module in layer.modules[:MOST_UNITS]]
            told[label] = _told(root, found, slots | columns_of)
    several = [one for k, one in enumerate(told.values()) if one not in [*told.values()][:k]]  # classes may be alike
    kinds = [several.index(told[label]) for label in labels]
    scenes = [one["story"].pop("scenes") for one in several]
    shown = frames if sum(map(len, frames[-1])) * len(frames) <= MOST else frames[-1:]
    data = {
        "page": template(),
        "told": several,
        "scenes": [*zip_longest(*scenes)],  # those that are almost the same side by side: they pack to half
        "kinds": kinds,
        "points": [[float(f"{x:.7g}") for x in point] for point in points.tolist()],
        "units": units,
        "weights": _stored([np.concatenate(frame) for frame in shown]),
    }
    return {"inside": pack(json.dumps(data, separators=(",", ":")))}


def _slots(owned: Sequence[Sequence[Any]]) -> Sources:
    """Where the numbers of each parameter are among all weights."""
    slots: Sources = {}
    at = 0
    for p in [p for layer in owned for p in layer]:
        slots[node_of(p)] = (at, p.size if isinstance(p, Tensor) else None)
        at += p.size if isinstance(p, Tensor) else 1
    return slots


def _graph(
    model: Callable[..., Any], row: np.ndarray, label: Any, width: int, loss: Loss | None
) -> tuple[Node, Sources]:
    """The root for one point, and which column of `points` each of its inputs is: -1 is the first, -2 the second."""
    given: Any
    target: Any = label
    if leaves := [p for p in parameters(model) if isinstance(p, Tensor)]:
        given = Tensor(row[None, :width].astype(leaves[0].dtype), label="x")
        target = Tensor(row[None, width:]) if label is None else np.array([label])
        columns: Sources = {given._node: (-1, width)}
        if label is None:
            columns[target._node] = (-1 - width, 1)
    else:
        given = [Value(x, label=f"x{k}" if width > 1 else "x") for k, x in enumerate(row[:width].tolist(), 1)]
        target = Value(float(row[-1]), label="y", requires_grad=False) if label is None else label
        columns = {x: (-1 - k, None) for k, x in enumerate([*given, *([target] if label is None else [])])}
    with in_use(model), enable_grad():
        try:
            made = model(given)
        except Exception as error:  # a function of arrays, say, which `scores` knew how to call
            raise _Closed(f"The model did not take one point: {type(error).__name__}: {error}") from error
        found = loss(made, target) if loss else _answer(made, label)
    root = node_of(found)
    if not isinstance(root, Node):
        if loss is None:
            raise _Closed(f"What the model returned for one point has no graph: it is of type {type(found).__name__}.")
        raise TypeError(
            f"point_loss(answer, target) returned a {type(found).__name__}; the player of a point needs a Value or a "
            "Tensor, computed from the answer"
        )
    root = root.realize()
    root.label = root.label or ("loss" if loss else "score")
    return root, columns


def _answer(made: Any, label: Any) -> Any:
    """The score of the point's class; without classes the sum of all, which a player makes of an array by itself."""
    scores = made[0] if isinstance(made, Tensor) and made.ndim == 2 else made
    several = len(scores) if isinstance(scores, list | tuple) or getattr(scores, "ndim", 0) else 1
    if several > 1 and label is not None:
        return scores[int(label) if several > 2 else int(label > 0)]
    return sum(made) if isinstance(made, list | tuple) else made


def _told(root: Node, found: Story, sources: Sources) -> dict[str, Any]:
    """The story without its numbers, and where the page finds each leaf: (first, how many), or None if it stays."""
    graph = walk(root)
    leaves = [i for i, below in enumerate(graph.operands) if not below]
    known = {i: source for i in leaves if (source := sources.get(graph.nodes[i]))}
    nodes = found.program["nodes"]
    for i, (_, size) in known.items():
        nodes[i] = {"array": [[0] * size, nodes[i]["array"][1]]} if size is not None else 0
    _blank(found)
    return {"story": plain(found), "leaves": [known.get(i) for i in leaves]}


def _blank(told: Story) -> None:
    """Replace the numbers of the graph, which the page computes, by one: neurons that are built alike then look alike,
    and all of them together take little more room than one."""
    for scene in told.scenes:
        for card in scene.cards:
            if card.box.kind != "constant":
                card.data, card.grad = (None if x is None else TYPICAL for x in (card.data, card.grad))
            for heat in card.heats:
                heat.cells, heat.range, heat.zeros = "J" * len(heat.cells), TYPICAL_RANGE, TYPICAL_ZEROS
        for wire in scene.wires:
            wire.local = None if wire.local is None else TYPICAL
            wire.part = wire.part if wire.part in (None, True) else TYPICAL


def _stored(frames: Sequence[np.ndarray]) -> list[Any]:
    """The weights: [unit, the changes from frame to frame in this unit], in whole numbers.

    If a weight is nan or inf, [0, the weights of each frame].
    """
    weights = np.stack(frames)
    if not np.isfinite(weights).all():
        return [0, [[number(x) for x in frame] for frame in weights.tolist()]]
    unit = float(f"{(abs(weights).max() or 1.0) / FINEST:.10g}")
    return [unit, np.diff(np.round(weights / unit).astype(int), axis=0, prepend=0).tolist()]
