"""The nudge test: change a leaf a little, recompute the graph, and compare the change of the root with the gradient.

It is independent of the backward pass: rows run forward only, in the order of the walk, on copies of the data. An array
is nudged at the element with the largest gradient; a root that is an array counts as the sum of its elements.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

from ...engine.graph import Node
from ..drawing.data import Walk
from .backprop import Backprop, is_hand_written, is_let_go, same

MOST_NODES = 2000  # of a graph that is tested: it is recomputed for each leaf
MOST_LEAVES = 20  # only the leaves nearest the root are tested
STEPS = (1e-3, 1e-5)  # tried until one agrees: large steps suffer from curvature, small ones from rounding
CLOSE, NOISE = 1e-4, 1e-7  # tolerances of a slope, relative to the gradient and to the root


@dataclass
class Nudge:
    """One element (`index`, None for a scalar) changed by `step`, the root by `moved`; `slope` is central."""

    step: float
    moved: float
    slope: float
    agrees: bool
    index: tuple[int, ...] | None = None


def nudges(graph: Walk, back: Backprop) -> tuple[dict[Node, Nudge], str]:
    """The results for the leaves nearest the root; if there are none, a sentence that says why.

    >>> from micrograd import Value
    >>> from micrograd.viz.playing.backprop import backprop
    >>> from micrograd.viz.drawing.data import walk
    >>> x = Value(3.0)
    >>> graph = walk(x * x)
    >>> tests, why = nudges(graph, backprop(graph.nodes[-1], graph.nodes))
    >>> round(tests[x].slope, 6), tests[x].agrees
    (6.0, True)
    """
    if reason := back.missing or frozen(graph, back):
        return {}, reason
    leaves = _nearest(graph, back)
    values = _values(graph, back)
    if not leaves:
        return {}, "There is no leaf with a gradient that could be nudged."
    try:
        return {graph.nodes[i]: _nudge(graph, values, i, back) for i in leaves}, ""
    except (ArithmeticError, ValueError, TypeError) as error:
        return {}, f"The nudge test is not available: {error}."


def frozen(graph: Walk, back: Backprop) -> str:
    """Why the graph cannot be computed again from its leaves; "" if it can."""
    if len(graph.nodes) > MOST_NODES:
        return f"The nudge test is made for graphs of up to {MOST_NODES:,} nodes."
    if any(is_hand_written(node) or is_let_go(node) for node in graph.nodes):
        return "The nudge test is not available: this graph has closures written by hand, which cannot be run again."
    if back.replaced:
        return "The nudge test is not available: a hook gave other gradients, which are no slopes any more."
    try:
        again = _again(graph, _values(graph, back))
    except (ArithmeticError, ValueError, TypeError) as error:
        return f"The nudge test is not available: {error}."
    if not same(again, _number(back.then.get(root := graph.nodes[graph.roots[0]], root._data)), rtol=1e-4, atol=1e-6):
        return "The nudge test is not available: data was changed after the forward pass."
    return ""


def _values(graph: Walk, back: Backprop) -> list[Any]:
    return [_number(back.then.get(node, node._data)) for node in graph.nodes]


def _nearest(graph: Walk, back: Backprop) -> list[int]:
    """The leaves with a gradient, by their distance from the root in edges."""
    distance = {graph.roots[0]: 0}
    found = []
    for i in (queue := [graph.roots[0]]):  # grows during the loop
        node = graph.nodes[i]
        if not graph.operands[i] and node in back.grads and (node._is_number or node._data.size):
            found.append(i)
        for j in graph.operands[i]:
            if j not in distance:
                distance[j] = distance[i] + 1
                queue.append(j)
    return found[:MOST_LEAVES]


def _again(graph: Walk, values: Sequence[Any]) -> Any:
    """Recompute the root from the leaves in `values`."""
    fresh: list[Any] = []
    for node, below, value in zip(graph.nodes, graph.operands, values, strict=True):
        fresh.append(_forward(node, [fresh[j] for j in below]) if below else value)
    return fresh[graph.roots[0]]


def _forward(node: Node, operands: list[Any]) -> Any:
    try:
        with node._quiet():
            out = node._row.forward(*operands)
    except ArithmeticError:  # Python raises for plain numbers where a node gives inf or nan
        return node._ieee(node._row.forward, *operands)
    if out is None:
        raise ValueError("the result of a compiled function is not computed again")
    return out


def _nudge(graph: Walk, values: list[Any], i: int, back: Backprop) -> Nudge:
    grad, index = back.grads[graph.nodes[i]], None
    if not graph.nodes[i]._is_number:
        from numpy import nan_to_num, unravel_index

        index = tuple(int(k) for k in unravel_index(abs(nan_to_num(grad)).argmax(), grad.shape))
        grad = float(grad[index])
    size = _power_of_ten(float(values[i] if index is None else values[i][index]))
    off = CLOSE * abs(grad) + max(NOISE, _rounding(graph)) * max(1.0, abs(_total(values[graph.roots[0]])))
    tried = Nudge(0.0, 0.0, 0.0, False)
    for step in [step * scale for scale in (max(1.0, size), size) for step in STEPS]:
        moved = [[*values[:i], _moved(values[i], index, by), *values[i + 1 :]] for by in (0.0, step, -step)]
        here, up, down = (_total(_again(graph, some)) for some in moved)
        slope = (up - down) / (2 * step)
        agrees = abs(slope - grad) <= off < float("inf")
        tried = Nudge(step, up - here, slope, agrees, index)
        if tried.agrees:
            break
    return tried


def _rounding(graph: Walk) -> float:
    """Relative accuracy of the gradients themselves, given the coarsest floating dtype in the graph."""
    dtypes = {node._data.dtype for node in graph.nodes if not node._is_number}
    if not any(dtype.kind == "f" for dtype in dtypes):
        return 0.0
    from numpy import finfo

    return 100 * max(float(finfo(dtype).eps) for dtype in dtypes if dtype.kind == "f")


def _power_of_ten(x: float) -> float:
    """|x| rounded down to a power of ten, for readable steps; 1 for zero and for non-finite numbers."""
    return 10.0 ** floor(log10(abs(x))) if x and x - x == 0 else 1.0


def _moved(value: Any, index: tuple[int, ...] | None, by: float) -> Any:
    if index is None:
        return value + by
    value = value.copy()
    value[index] += by
    return value


def _number(data: Any) -> Any:
    """Floating arrays in double precision, so that a small step is not lost to rounding; the rest as it is."""
    return data.astype(float) if hasattr(data, "dtype") and data.dtype.kind == "f" else data


def _total(data: Any) -> float:
    return float(data if isinstance(data, float) else data.sum())
