"""What the page of a training opens: the player of one point or of one neuron, as it was at the step that is shown.

The graph of a point is stored once for each class, without its numbers. The page has the points and the weights of the
frames, as the graph's leaves, and computes the rest.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from ...common.collector import without_collector
from ...engine.modes import enable_grad
from ...engine.value import Node, Value
from ...functional.losses import cross_entropy
from ...nn.module import evaluation
from ...scalars.kinds import node_of
from ...tensor.tensor import Tensor
from ..drawing.data import walk
from ..playing.player_page import plain, template
from ..playing.recompute import number
from ..playing.views import PlayedGraph, Story
from .evaluate import parameters
from .network_svg import MOST_UNITS
from .neurons import Layer

MOST = 40_000  # weights in all frames together; with more, the page has those of the last frame
FINEST = 8_192  # a weight is stored as a whole number of this part of the largest
PLACEHOLDER = -0.5  # in place of every number that the page computes
PLACEHOLDER_RANGE, PLACEHOLDER_ZEROS = "-0.5000 to -0.5000", "99 of 999 are 0"

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
    weights: Sequence[np.ndarray],
    owned: Sequence[Any],
    columns: Sequence[Layer],
    loss: Loss | None = None,
) -> dict[str, Any]:
    """The data of the page's player, as "inside"; or "closed", a sentence that says why it does not open.

    Args:
        model: the network.
        points: of shape (n, numbers).
        inputs: how many numbers of a point the model takes; what follows them, if anything, is the target.
        labels: the class of each point, or None for one whose target is a number.
        weights: all weights of the model, at each frame.
        owned: its parameters, in their order.
        columns: the neurons.
        loss: a function of what the model returns and of the target; by default the usual one, see `_usual_loss`.
    """
    slots = _slots(owned)
    if not owned:
        return {"closed": "The model has no parameters."}
    if sum(size or 1 for _, size in slots.values()) != len(weights[-1]):
        return {"closed": "A layer has so many weights that only some of them were recorded."}
    if None not in labels:
        points = np.c_[points, [1.0 if label > 0 else -1.0 for label in labels]]  # the sides of the boundary
    told: dict[Any, dict[str, Any]] = {}
    units: list[int] = []
    with without_collector():
        for label in dict.fromkeys(labels):
            row = next(point for point, mine in zip(points, labels, strict=True) if mine == label)
            try:
                root, columns_of = _graph(model, row, label, inputs, loss)
            except _Closed as why:
                return {"closed": str(why)}
            found = PlayedGraph(root, {}).story()
            if isinstance(found.program, str):
                return {"closed": found.program}
            units = [found.modules.get(id(module), 0) for layer in columns for module in layer.modules[:MOST_UNITS]]
            told[label] = _without_numbers(root, found, slots | columns_of)
    several = [one for k, one in enumerate(told.values()) if one not in [*told.values()][:k]]  # classes may be alike
    kinds = [several.index(told[label]) for label in labels]
    scenes = [one["story"].pop("scenes") for one in several]
    return {
        "inside": {
            "page": template(),
            "told": several,
            "scenes": [*zip_longest(*scenes)],  # those that are almost the same side by side: they pack to half
            "kinds": kinds,
            "points": [[float(f"{x:.7g}") for x in point] for point in points.tolist()],
            "units": units,
            "lines": _lines(columns, slots),
            "weights": _stored(weights if len(weights[-1]) * len(weights) <= MOST else weights[-1:]),
        }
    }


def _lines(columns: Sequence[Layer], slots: Sources) -> list[list[tuple[int, int]]]:
    """For each neuron of the network, by column: its first weight, and how many lines are drawn; below 0: unknown."""
    found = []
    for layer in columns:
        wide = layer.weights.shape[1]
        places = []
        for k, module in enumerate(layer.modules[:MOST_UNITS]):
            matrix = getattr(module, "weight", None)
            start = slots.get(node_of(module.w[0] if matrix is None else matrix), (None, None))[0]
            row = -MOST_UNITS if start is None else start if matrix is None else start + k * wide
            places.append((row, min(wide, MOST_UNITS)))
        found.append(places)
    return found


def _slots(leaves: Sequence[Any], at: int = 0, step: int = 1) -> Sources:
    """The offset of each leaf in the flat row of all their numbers, and its size (None: it is one number)."""
    slots: Sources = {}
    for leaf in leaves:
        size = leaf.size if isinstance(leaf, Tensor) else None
        slots[node_of(leaf)] = (at, size)
        at += step * (1 if size is None else size)
    return slots


def _graph(
    model: Callable[..., Any], row: np.ndarray, label: Any, width: int, loss: Loss | None
) -> tuple[Node, Sources]:
    """The root for one point, and which column of `points` each of its leaves is: -1 is the first, -2 the second."""
    given: list[Any]
    known = row[None, width:]
    if leaves := [p for p in parameters(model) if isinstance(p, Tensor)]:
        given = [Tensor(row[None, :width].astype(leaves[0].dtype), label="x", requires_grad=True)]
        y: Any = Tensor(known, label="y") if known.size else None
        target: Any = y if label is None else np.array([label])
    else:
        given = [Value(x, label=f"x{k}" if width > 1 else "x") for k, x in enumerate(row[:width].tolist(), 1)]
        y = Value(known.item(), label="y", requires_grad=False) if known.size else None
        target = y if label is None else label
    columns = _slots([*given, *[y] * (y is not None)], -1, -1)
    with evaluation(), enable_grad():
        try:
            made = model(given[0] if leaves else given)
        except Exception as error:  # a function of arrays, say, which evaluate.py knew how to call
            raise _Closed(f"The model did not take one point: {type(error).__name__}: {error}") from error
        found = loss(made, target) if loss else _usual_loss(made, y, label)
    root = node_of(found)
    if not isinstance(root, Node):
        if loss is None:
            raise _Closed(f"What the model returned for one point has no graph: it is of type {type(found).__name__}.")
        raise TypeError(
            f"point_loss(answer, target) returned a {type(found).__name__}; the player of a point needs a Value or a "
            "Tensor, computed from the answer"
        )
    root = root.realize()
    root.label = root.label or ("loss" if loss or y is not None else "score")
    return root, columns


def _usual_loss(made: Any, y: Any, label: Any) -> Any:
    """The loss of a point where the film was given none: squared error, log loss of one score, else cross-entropy.

    y is a target, or the side of the point, -1 or 1; without one, the root is the sum of what the model returns.
    """
    scores = [*made.reshape(-1)] if isinstance(made, Tensor) else made if isinstance(made, list | tuple) else [made]
    if y is None or not all(isinstance(x, Value | Tensor) for x in scores):
        return sum(made) if isinstance(made, list | tuple) else made  # if it is no node, the caller says so
    if len(scores) == 1:
        return (made - y) ** 2 if label is None else (-(y * made)).softplus()
    index = int(label) if len(scores) > 2 else int(label > 0)
    return cross_entropy(made.reshape(1, -1), [index]) if isinstance(made, Tensor) else cross_entropy(scores, index)


def _without_numbers(root: Node, found: Story, sources: Sources) -> dict[str, Any]:
    """The story without its numbers, and where the page finds each leaf: (first, how many), or None if it stays."""
    graph = walk(root)
    leaves = [i for i, below in enumerate(graph.operands) if not below]
    known = {i: source for i in leaves if (source := sources.get(graph.nodes[i]))}
    nodes = found.program["nodes"]
    for i, (_, size) in known.items():
        nodes[i] = {"array": [[0] * size, nodes[i]["array"][1]]} if size is not None else 0
    _blank(found, known)
    return {"story": plain(found), "leaves": [known.get(i) for i in leaves]}


def _blank(story: Story, known: Collection[int]) -> None:
    """Replace the numbers of the graph, which the page computes, by one: neurons that are built alike then look alike,
    and all of them together take little more room than one."""
    for scene in story.scenes:
        for card in scene.cards:
            if card.kind != "constant" or card.node in known:
                card.data, card.grad = (None if x is None else PLACEHOLDER for x in (card.data, card.grad))
            for heat in card.heats:
                heat.cells, heat.range, heat.zeros = "J" * len(heat.cells), PLACEHOLDER_RANGE, PLACEHOLDER_ZEROS
        for wire in scene.wires:
            wire.local = None if wire.local is None else PLACEHOLDER
            wire.part, wire.flow = wire.part if wire.part in (None, True) else PLACEHOLDER, None


def _stored(frames: Sequence[np.ndarray]) -> list[Any]:
    """The weights: [unit, the changes from frame to frame in this unit], in whole numbers.

    If a weight is nan or inf, [0, the weights of each frame].
    """
    weights = np.stack(frames)
    if not np.isfinite(weights).all():
        return [0, [[number(x) for x in frame] for frame in weights.tolist()]]
    unit = float(f"{(abs(weights).max() or 1.0) / FINEST:.10g}")
    return [unit, np.diff(np.round(weights / unit).astype(int), axis=0, prepend=0).tolist()]
