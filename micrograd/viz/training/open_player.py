"""The player that the page of a training opens, of one point or of one neuron, at the step that is shown.

The graph of a point is stored once for each class, without its numbers. The page has the points and the weights of the
frames, which are the graph's leaves, and computes the other numbers.
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
from .network_svg import MAX_NEURONS
from .neurons import Layer

MOST = 40_000  # weights in all frames together; of more weights, the page has those of the last frame only
FINEST = 8_192  # a weight is stored as a whole number, in units of the largest weight divided by this number
PLACEHOLDER = -0.5  # in place of every number that the page computes
PLACEHOLDER_RANGE, PLACEHOLDER_ZEROS = "-0.5000 to -0.5000", "99 of 999 are 0"

Loss = Callable[[Any, Any], Any]
Source = tuple[int, int | None]  # the place of a leaf's first number, and how many it has; None if it is no array
Sources = dict[Any, Source]  # by the leaf's node


class _Closed(Exception):
    """The page could not compute the graph of a point. The page shows the message."""


def inside(
    model: Callable[..., Any],
    points: np.ndarray,
    width: int,
    labels: Sequence[Any],
    weights: Sequence[np.ndarray],
    leaves: Sequence[Any],
    columns: Sequence[Layer],
    loss: Loss | None = None,
) -> dict[str, Any]:
    """The data of the page's player, as "inside"; or "closed", a sentence that says why it does not open.

    Args:
        model: the network.
        points: of shape (n, numbers).
        width: how many numbers of a point are the model's inputs. Numbers after them are the target.
        labels: the class of each point, or None for a point whose target is a number.
        weights: all weights of the model, at each frame.
        leaves: its parameters, in the order of the weights.
        columns: the neurons.
        loss: a function of the model's output and of the target; see `_usual_loss` for the default.
    """
    if not leaves:
        return {"closed": "The model has no parameters."}
    slots = _slots(leaves)
    if sum(size or 1 for _, size in slots.values()) != len(weights[-1]):
        return {"closed": "A layer has so many weights that only some of them were recorded."}
    if None not in labels:
        points = np.c_[points, [1.0 if label > 0 else -1.0 for label in labels]]  # the sides of the boundary
    graphs: list[dict[str, Any]] = []
    graph_of: dict[Any, int] = {}  # by the label
    neurons = [module for layer in columns for module in layer.modules[:MAX_NEURONS]]
    scene_of: list[int] = []  # for each neuron
    with without_collector():
        for label in dict.fromkeys(labels):
            try:
                root, columns_of = _graph(model, points[labels.index(label)], label, width, loss)
            except _Closed as why:
                return {"closed": str(why)}
            story = PlayedGraph(root, {}).story()
            if isinstance(story.program, str):
                return {"closed": story.program}
            scene_of = [story.modules.get(id(module), 0) for module in neurons]
            graph = _without_numbers(root, story, slots | columns_of)
            if graph not in graphs:  # the graphs of two classes may be the same
                graphs.append(graph)
            graph_of[label] = graphs.index(graph)
    scenes = [graph["story"].pop("scenes") for graph in graphs]
    return {
        "inside": {
            "page": template(),
            "graphs": graphs,
            "scenes": [*zip_longest(*scenes)],  # almost equal scenes side by side are compressed to half the size
            "graph_of": [graph_of[label] for label in labels],
            "points": [[float(f"{x:.7g}") for x in point] for point in points.tolist()],
            "scene_of": scene_of,
            "lines": _lines(columns, slots),
            "weights": _stored(weights if len(weights[-1]) * len(weights) <= MOST else weights[-1:]),
        }
    }


def _lines(columns: Sequence[Layer], slots: Sources) -> list[list[tuple[int, int]]]:
    """For each neuron of each column, the place of its first weight, below 0 if unknown, and its number of lines."""
    lines = []
    for layer in columns:
        width = layer.weights.shape[1]
        of_column = []
        for k, module in enumerate(layer.modules[:MAX_NEURONS]):
            matrix = getattr(module, "weight", None)
            leaf, offset = (module.w[0], 0) if matrix is None else (matrix, k * width)
            slot = slots.get(node_of(leaf))
            first = slot[0] + offset if slot else -MAX_NEURONS
            of_column.append((first, min(width, MAX_NEURONS)))
        lines.append(of_column)
    return lines


def _slots(leaves: Sequence[Any], at: int = 0, step: int = 1) -> Sources:
    """The place of each leaf in the flat row of all their numbers, and its size, which is None for one number."""
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
    inputs: list[Any]
    rest = row[None, width:]
    if tensors := [p for p in parameters(model) if isinstance(p, Tensor)]:
        inputs = [Tensor(row[None, :width].astype(tensors[0].dtype), label="x", requires_grad=True)]
        y: Any = Tensor(rest, label="y") if rest.size else None
        target: Any = y if label is None else np.array([label])
    else:
        inputs = [Value(x, label=f"x{k}" if width > 1 else "x") for k, x in enumerate(row[:width].tolist(), 1)]
        y = Value(rest.item(), label="y", requires_grad=False) if rest.size else None
        target = y if label is None else label
    columns = _slots(inputs if y is None else [*inputs, y], -1, -1)
    with evaluation(), enable_grad():
        try:
            output = model(inputs[0] if tensors else inputs)
        except Exception as error:  # a function of arrays, say, which evaluate.py knew how to call
            raise _Closed(f"The model did not take one point: {type(error).__name__}: {error}") from error
        result = loss(output, target) if loss else _usual_loss(output, y, label)
    root = node_of(result)
    if not isinstance(root, Node):
        if loss is None:
            raise _Closed(f"What the model returned for one point has no graph: it is of type {type(result).__name__}.")
        raise TypeError(
            f"point_loss(answer, target) returned a {type(result).__name__}; the player of a point needs a Value or a "
            "Tensor, computed from the answer"
        )
    root = root.realize()
    root.label = root.label or ("loss" if loss or y is not None else "score")
    return root, columns


def _usual_loss(output: Any, y: Any, label: Any) -> Any:
    """The default loss of a point: squared error of a curve, log loss of one score, and cross-entropy of more scores.

    y is a target, or the side of the point, -1 or 1. Without y, the root is the sum of the model's outputs.
    """
    listed = isinstance(output, list | tuple)
    scores = output if listed else [output]
    if y is None or not all(isinstance(x, Value | Tensor) for x in scores):
        return sum(output) if listed else output  # the caller refuses a result that is no node
    count = output.size if isinstance(output, Tensor) else len(scores)
    if count == 1:
        (score,) = scores
        return (score - y) ** 2 if label is None else (-(y * score)).softplus()
    index = int(label) if count > 2 else int(label > 0)
    if isinstance(output, Tensor):
        return cross_entropy(output.reshape(1, -1), [index])
    return cross_entropy(scores, index)


def _without_numbers(root: Node, story: Story, sources: Sources) -> dict[str, Any]:
    """The story without its numbers, and the source of each leaf; None for a constant, whose numbers stay."""
    graph = walk(root)
    leaves = [i for i, operands in enumerate(graph.operands) if not operands]
    known = {i: source for i in leaves if (source := sources.get(graph.nodes[i]))}
    nodes = story.program["nodes"]
    for i, (_, size) in known.items():
        nodes[i] = {"array": [[0] * size, nodes[i]["array"][1]]} if size is not None else 0
    _blank(story, known)
    return {"story": plain(story), "leaves": [known.get(i) for i in leaves]}


def _blank(story: Story, known: Collection[int]) -> None:
    """Replace all numbers that the page computes by the placeholder.

    Neurons of the same structure are then stored as the same text, which is compressed to little more than one neuron.
    """
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
    """The weights as [unit, their changes from frame to frame in whole units].

    If a weight is nan or inf, they are [0, the weights of each frame].
    """
    weights = np.stack(frames)
    if not np.isfinite(weights).all():
        return [0, [[number(x) for x in frame] for frame in weights.tolist()]]
    unit = float(f"{(abs(weights).max() or 1.0) / FINEST:.10g}")
    return [unit, np.diff(np.round(weights / unit).astype(int), axis=0, prepend=0).tolist()]
