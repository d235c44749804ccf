"""A network as columns of neurons: the weights between them, and what each of them answers.

The columns are read off the graph of one call: neurons of Values that have the same inputs, or one product with a
matrix of weights, are a column. What a neuron answers is its value after the activation.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engine.modes import enable_grad
from ...engine.value import Value
from ...nn.module import evaluation
from ...tensor.tensor import Tensor
from ..drawing.data import Walk, walk
from .evaluate import parameters, rerun

THUMB = 12  # places along a side of the picture of what a neuron answers


@dataclass(eq=False)
class Layer:
    """A column of neurons: `weights[i, j]` is from neuron j of the column before, `answers[p, i]` at each place p."""

    weights: np.ndarray
    biases: np.ndarray  # 0 for a neuron that has none
    answers: np.ndarray
    dead: np.ndarray  # True for a neuron that answers 0 at every point: nothing flows back through it
    modules: list[Any]  # the module of each neuron


def network(model: Callable[..., Any], places: np.ndarray, points: np.ndarray) -> list[Layer]:
    """The columns of a model, or [] if it has no such columns.

    `places` and `points`, of shape (n, inputs), are where the neurons answer, and where it is judged which are dead.
    """
    everywhere = np.concatenate([places, points])
    tensors = any(isinstance(p, Tensor) for p in parameters(model))
    try:
        with evaluation(), enable_grad():
            found = (_of_tensors if tensors else _of_values)(model, everywhere)
    except Exception:  # the model takes another input; evaluate.py says what is wrong with it
        return []
    widths = [places.shape[1], *[len(weights) for weights, *_ in found]]
    if any(weights.shape[1] != before for (weights, *_), before in zip(found, widths, strict=False)):
        return []
    columns = []
    for weights, biases, answers, modules in found:
        shown, judged = np.split(answers, [len(places)])
        columns.append(Layer(weights, biases, shown, (judged == 0).all(axis=0), modules))
    return columns


Column = tuple[np.ndarray, np.ndarray, np.ndarray, list[Any]]  # weights, biases, answers, modules


def _of_values(model: Any, places: np.ndarray) -> list[Column]:
    inputs = [Value(x) for x in places[0].tolist()]
    graph = walk(model(inputs))
    columns: dict[tuple[int, ...], list[int]] = {}  # neurons by the ids of their inputs
    for i, node in enumerate(graph.nodes):
        mark = node._made_by
        if mark and len(getattr(mark[-2], "w", ())) == len(mark[-1]):
            columns.setdefault(tuple(map(id, mark[-1])), []).append(i)
    neurons = {i: graph.nodes[i]._made_by[-2] for column in columns.values() for i in column}
    try:
        found = rerun(model, graph, inputs, places, list(neurons))
    except Exception:  # another graph at another point, or an op that takes one number
        found = np.array([_answers_at(model, place, neurons.values()) for place in places.tolist()])
    made = dict(zip(neurons, found.T, strict=True))
    return [
        (
            np.array([[w.data for w in neurons[i].w] for i in column]),
            np.array([getattr(getattr(neurons[i], "b", 0.0), "data", 0.0) for i in column]),
            np.stack([made[i] for i in column], axis=1),
            [neurons[i] for i in column],
        )
        for column in columns.values()
    ]


def _answers_at(model: Any, place: list[float], neurons: Iterable[Any]) -> list[float]:
    marked = [node for node in walk(model([*map(Value, place)])).nodes if node._made_by]
    known = {id(node._made_by[-2]): node.data for node in marked}
    return [known[id(neuron)] for neuron in neurons]


def _of_tensors(model: Any, places: np.ndarray) -> list[Column]:
    graph = walk(model(Tensor(places.astype(parameters(model)[0].dtype), requires_grad=True))._node)
    found = [(i, matrix) for i, node in enumerate(graph.nodes) if (matrix := _matrix(node)) is not None]
    columns = []
    for (i, matrix), end in zip(found, [*[i for i, _ in found[1:]], len(graph.nodes)], strict=True):
        module, answers = graph.nodes[i]._made_by[-2], np.asarray(_answers(graph, i, end), dtype=float)
        biases = np.broadcast_to(getattr(getattr(module, "bias", None), "data", 0.0), len(matrix))
        columns.append((matrix, biases, answers, [module] * len(matrix)))
    return columns


def _matrix(node: Any) -> np.ndarray | None:
    """The weights of shape (outputs, inputs) whose module made this node; None if none did."""
    weight = getattr(node._made_by[-2], "weight", None) if node._made_by else None
    data = np.asarray(weight.data, dtype=float) if isinstance(weight, Tensor) else np.zeros(0)
    return data if data.ndim == 2 and node._data.shape[-1:] == data.shape[:1] else None


def _answers(graph: Walk, made: int, end: int) -> Any:
    """What the last node of this shape says, among those that depend on a product and precede the next one."""
    depends, last = {made}, made
    for i in range(made + 1, end):
        if depends.intersection(graph.operands[i]) and graph.nodes[i]._data.shape == graph.nodes[made]._data.shape:
            depends.add(i)
            last = i
    return graph.nodes[last]._data
