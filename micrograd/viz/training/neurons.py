"""A network as columns of neurons, with the weights between them, and the answers of each neuron.

The columns are read off the graph of one call: neurons of Values that have the same inputs, or one product with a
matrix of weights, are a column. The answer of a neuron is its value after the activation.
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

THUMB = 12  # points along a side of the picture of a neuron's answers


@dataclass(eq=False)
class Layer:
    """A column of neurons: neuron i has `weights[i, j]` for neuron j of the column before, and `answers[p, i]` at p."""

    weights: np.ndarray
    biases: np.ndarray  # 0 for a neuron without a bias
    answers: np.ndarray
    dead: np.ndarray  # True for a neuron that answers 0 at every point, so that no gradient flows through it
    modules: list[Any]  # the module of each neuron


def network(model: Callable[..., Any], shown: np.ndarray, judged: np.ndarray) -> list[Layer]:
    """The columns of a model, or [] if it has no such columns.

    Both arrays are points of shape (n, inputs). The answers at the `shown` points are drawn, and a neuron whose answers
    at all `judged` points are 0 is dead.
    """
    points = np.concatenate([shown, judged])
    tensors = any(isinstance(p, Tensor) for p in parameters(model))
    try:
        with evaluation(), enable_grad():
            columns = (_of_tensors if tensors else _of_values)(model, points)
    except Exception:  # the model takes another input; evaluate.py says what is wrong with it
        return []
    layers, width = [], points.shape[1]
    for weights, biases, answers, modules in columns:
        if weights.shape[1] != width:
            return []
        width = len(weights)
        answers, tried = np.split(answers, [len(shown)])
        layers.append(Layer(weights, biases, answers, (tried == 0).all(axis=0), modules))
    return layers


Column = tuple[np.ndarray, np.ndarray, np.ndarray, list[Any]]  # weights, biases, answers, modules


def _of_values(model: Any, points: np.ndarray) -> list[Column]:
    inputs = [Value(x) for x in points[0].tolist()]
    graph = walk(model(inputs))
    columns: dict[tuple[int, ...], dict[int, Any]] = {}  # by the ids of the inputs, the neurons by their nodes' numbers
    for i, node in enumerate(graph.nodes):
        *_, neuron, operands = node._made_by or (None, ())
        if operands and len(getattr(neuron, "w", ())) == len(operands):
            columns.setdefault(tuple(map(id, operands)), {})[i] = neuron
    neurons = {i: neuron for column in columns.values() for i, neuron in column.items()}
    try:
        answers = rerun(model, graph, inputs, points, list(neurons))
    except Exception:  # another graph at another point, or an op that takes one number
        answers = np.array([_answers_at(model, point, neurons.values()) for point in points.tolist()])
    by_node = dict(zip(neurons, answers.T, strict=True))
    return [
        (
            np.array([[w.data for w in neuron.w] for neuron in column.values()]),
            np.array([getattr(getattr(neuron, "b", 0.0), "data", 0.0) for neuron in column.values()]),
            np.stack([by_node[i] for i in column], axis=1),
            [*column.values()],
        )
        for column in columns.values()
    ]


def _answers_at(model: Any, point: list[float], neurons: Iterable[Any]) -> list[float]:
    marked = [node for node in walk(model([*map(Value, point)])).nodes if node._made_by]
    answers = {id(node._made_by[-2]): node.data for node in marked}
    return [answers[id(neuron)] for neuron in neurons]


def _of_tensors(model: Any, points: np.ndarray) -> list[Column]:
    graph = walk(model(Tensor(points.astype(parameters(model)[0].dtype), requires_grad=True))._node)
    products = [(i, matrix) for i, node in enumerate(graph.nodes) if (matrix := _matrix(node)) is not None]
    ends = [*[i for i, _ in products[1:]], len(graph.nodes)]
    columns = []
    for (i, matrix), end in zip(products, ends, strict=True):
        module, answers = graph.nodes[i]._made_by[-2], np.asarray(_answers(graph, i, end), dtype=float)
        biases = np.broadcast_to(getattr(getattr(module, "bias", None), "data", 0.0), len(matrix))
        columns.append((matrix, biases, answers, [module] * len(matrix)))
    return columns


def _matrix(node: Any) -> np.ndarray | None:
    """The weights of shape (outputs, inputs) of the module that made this node; None if there are none."""
    weight = getattr(node._made_by[-2], "weight", None) if node._made_by else None
    data = np.asarray(weight.data, dtype=float) if isinstance(weight, Tensor) else np.zeros(0)
    return data if data.ndim == 2 and node._data.shape[-1:] == data.shape[:1] else None


def _answers(graph: Walk, product: int, end: int) -> Any:
    """The data of the last node before `end` that depends on a product and has its shape."""
    shape, depends, last = graph.nodes[product]._data.shape, {product}, product
    for i in range(product + 1, end):
        if depends.intersection(graph.operands[i]) and graph.nodes[i]._data.shape == shape:
            depends.add(i)
            last = i
    return graph.nodes[last]._data
