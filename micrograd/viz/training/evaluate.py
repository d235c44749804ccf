"""Scores of a model on a grid: `plane` makes the grid, and `grid_scores` evaluates the model there.

A network of Values takes one point at a time, and a picture needs thousands. So the graph of one point is recorded,
and its forward functions are run again on arrays of all points, which is some hundred times faster. That would be wrong
for a model whose graph depends on the point (`if x > 0`, dropout), so a few points are evaluated both ways. If the
results differ, the model is called for each point.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import call
from typing import Any

import numpy as np

from ...engine.modes import enable_grad, no_grad
from ...engine.value import Node, Value
from ...nn.module import evaluation
from ...tensor.tensor import Tensor
from ..drawing.data import Walk, walk

PROBES = 9  # points that are evaluated both ways


def as_float(x: Any) -> float:
    """The float of a number, of a Value, or of an array or a Tensor with one element."""
    return float(x.item() if hasattr(x, "item") else x)


def samples(X: Any, y: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """X as an array of shape (n, 2), and for each label, in ascending order, a mask of shape (n,).

    >>> samples([[0, 1], [2, 3], [4, 5]], [-1, 1, -1])[1]
    {'-1': array([ True, False,  True]), '1': array([False,  True, False])}
    """
    points, labels = as_array(X), as_array(y).reshape(-1)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ValueError(f"X has shape {points.shape}; a plane needs points of two numbers, so shape (n, 2)")
    _check_points(points, labels)
    finite("y", labels, "every point needs a class")
    classes = np.unique(labels).tolist()
    if len(classes) < 2:
        raise ValueError("y holds 1 kind of labels; a boundary is between two or more, such as -1 and 1")
    return points, {f"{label:g}": labels == label for label in classes}


def pairs(X: Any, y: Any) -> np.ndarray:
    """Numbers and their targets, as an array of shape (n, 2)."""
    numbers, targets = as_array(X).reshape(-1), as_array(y).reshape(-1)
    _check_points(numbers, targets)
    if not len(numbers):
        raise ValueError("y holds nothing; a curve needs points")
    finite("y", targets, "every point of a curve needs a place on the plane")
    return np.stack([numbers, targets], axis=1)


def _check_points(points: np.ndarray, labels: np.ndarray) -> None:
    finite("X", points, "every point needs a place on the plane")
    if len(labels) != len(points):
        raise ValueError(f"X has {len(points)} points and y {len(labels)} labels; each point needs one")


def finite(name: str, numbers: np.ndarray, why: str) -> None:
    """Raise a ValueError that names the first number which is nan or inf."""
    odd = np.argwhere(~np.isfinite(numbers)).tolist()
    if odd:
        raise ValueError(f"{name} holds nan or inf, first {name}{odd[0]} = {numbers[tuple(odd[0])]}; {why}")


def increasing(levels: Sequence[float]) -> tuple[float, float, float]:
    """The three levels as a tuple; raises a ValueError unless they increase."""
    if len(levels) != 3 or not levels[0] < levels[1] < levels[2]:
        raise ValueError(f"levels are {levels}; they are margin, boundary, margin, such as (-1, 0, 1), increasing")
    return levels[0], levels[1], levels[2]


def plane(points: np.ndarray, resolution: int) -> tuple[np.ndarray, np.ndarray]:
    """The x and y coordinates of a grid around the points, with `resolution` steps along the longer side.

    Both directions have the same spacing, unless one side is more than three times the other. Then each has its own.
    """
    if resolution < 2:
        raise ValueError(f"resolution is {resolution}; a grid needs at least 2 points per side")
    low, high = points.min(0), points.max(0)
    size = high - low
    size[size == 0] = size.max() or 1.0
    alike = size.max() <= 3 * size.min()
    room = 0.13 * (size.max() if alike else size)
    low, high, size = low - room, high + room, size + 2 * room
    steps = np.maximum(np.round(resolution * np.maximum(size / size.max(), 1 / 3)), 2).astype(int).tolist()
    return np.linspace(low[0], high[0], steps[0]), np.linspace(low[1], high[1], steps[1])


def one_score(scores: np.ndarray) -> np.ndarray:
    """`scores[0]` if there is one score, `scores[1] - scores[0]` if there are two."""
    return scores[0] if len(scores) == 1 else scores[1] - scores[0]


def lattice(xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """The points of a grid, row by row from the highest y, with shape (points, 2)."""
    across, up = np.meshgrid(xs, ys[::-1])
    return np.stack([across.ravel(), up.ravel()], axis=1)


def class_scores(model: Callable[..., Any], points: np.ndarray) -> np.ndarray:
    """The outputs of a model for an (n, 2) array of points, with shape (n, scores).

    `model` is a network of Values or of Tensors, or a function of a point or of many. It runs under `no_grad`,
    and the modules that it calls are in evaluation mode (dropout off).
    """
    with evaluation(), no_grad():
        for evaluate in _ways(model):
            with suppress(Exception):  # the model does not take this input
                return _by_points(evaluate(model, points), len(points))
        return _by_points([as_array(model(point)) for point in points.tolist()], len(points))


def grid_scores(model: Callable[..., Any], xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """`class_scores` on a grid, with shape (scores, len(ys), len(xs))."""
    return class_scores(model, lattice(xs, ys[::-1])).T.reshape(-1, len(ys), len(xs))


def leads(scores: np.ndarray) -> np.ndarray:
    """The lead of each score over the best other score, along the first axis.

    >>> leads(np.array([3.0, 1.0, 2.5]))
    array([ 0.5, -2. , -0.5])
    """
    second, best = np.sort(scores, axis=0)[-2:]
    return scores - np.where(scores == best, second, best)


def listed(model: Any, name: str) -> list[Any]:
    """The list of all that the model's method of this name returns, which is empty if there is no such method.

    The method is looked up on the class, since an instance may have an attribute of that name (`self.modules = [...]`).
    """
    method: Callable[[Any], Iterable[Any]] | None = getattr(type(model), name, None)
    return [*method(model)] if callable(method) else []


def parameters(model: Any) -> list[Any]:
    """The parameters of a model; a function has none."""
    return listed(model, "parameters")


def _ways(model: Any) -> list[Callable[..., Any]]:
    """The ways to evaluate this model on many points, fastest first."""
    leaves = parameters(model)
    if any(isinstance(p, Node) for p in leaves):
        return [_by_its_graph]
    return [_as_tensor, call, _by_its_graph] if leaves else [call, _as_tensor, _by_its_graph]


def _as_tensor(model: Any, points: np.ndarray) -> Any:
    leaves = parameters(model)
    return model(Tensor(points.astype(leaves[0].dtype if leaves else points.dtype)))


def _by_its_graph(model: Any, points: np.ndarray) -> Any:
    """Record the graph of one point, and run it on all points; raises if the graph depends on the point."""
    inputs = [Value(x) for x in points[0].tolist()]
    with enable_grad():
        graph = walk(model(inputs))
    return rerun(model, graph, inputs, points, graph.roots)


def rerun(model: Any, graph: Walk, inputs: Sequence[Value], points: np.ndarray, wanted: Sequence[int]) -> np.ndarray:
    """The data of the `wanted` nodes of a model's graph at each point, one column for each node.

    Raises if the graph depends on the point.
    """
    columns = {id(node): column for node, column in zip(inputs, points.T, strict=True)}
    last_use = {j: i for i, operands in enumerate(graph.operands) for j in operands}
    last_use.update(dict.fromkeys([*wanted, *graph.roots], len(graph.nodes)))
    data: dict[int, Any] = {}
    with np.errstate(all="ignore"):
        for i, (node, operands) in enumerate(zip(graph.nodes, graph.operands, strict=True)):
            row = node._row
            data[i] = row.forward(*[data[j] for j in operands]) if row else columns.get(id(node), node.data)
            for j in set(operands):
                if last_use[j] == i:
                    del data[j]  # thousands of arrays would fill the memory

    def of_nodes(numbers: Sequence[int]) -> np.ndarray:
        return np.stack([np.broadcast_to(data[i], len(points)) for i in numbers], axis=1)

    outputs = of_nodes(graph.roots)
    probes = np.linspace(0, len(points) - 1, PROBES).astype(int)
    for probe in probes.tolist():
        if not np.allclose(as_array(model(points[probe].tolist())).reshape(-1), outputs[probe], equal_nan=True):
            raise ValueError("this model's graph is not the same at every point")
    return of_nodes(wanted)


def _by_points(outputs: Any, n: int) -> np.ndarray:
    array = as_array(outputs)
    if array.shape == (n,) or (array.ndim == 2 and len(array) == n and array.size):
        return array.reshape(n, -1)
    raise ValueError(
        f"the model returned numbers of shape {array.shape} for {n} points; a boundary is drawn for one score per "
        "point (its sign is the answer) or for one per class (the highest is)"
    )


def as_array(x: Any) -> np.ndarray:
    """Convert numbers, Values, arrays, Tensors and lists of them to an array of floats."""
    try:
        with no_grad():  # a Value gives its number without a warning
            return np.asarray(x.data if isinstance(x, Tensor) else x, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"the model returned {x!r:.60}; a boundary needs one score for each point, or two") from error


def flat(arrays: Iterable[Any]) -> np.ndarray:
    """The numbers of arrays and nodes in one row of 32-bit floats; None has no numbers."""
    known = [a.data if isinstance(a, Node | Tensor) else a for a in arrays if a is not None]
    with np.errstate(over="ignore"):  # numbers that are too large become infinite
        return np.concatenate([np.zeros(0, np.float32), *[np.ravel(np.asarray(a, np.float32)) for a in known]])
