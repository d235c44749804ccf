"""The gradients that the lines of a drawing carried back: the part that each use sent, and the local derivative.

`row.send` gives the parts for the node's gradient, and the local derivatives for a gradient of 1. The gradients of the
nodes stay as they are.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from math import hypot, isclose
from re import findall
from typing import Any

from ...engine.by_hand import Closure
from ...engine.rows import lib
from ...engine.value import Node
from ...scalars.release import Released
from ...scalars.rows import Many
from ..values import WIDTHS, hue, short, thickness
from .data import Edge, Picture, Walk


@dataclass
class Sent:
    """The `part` that one use of an operand sends: `local` (the derivative; scalars only) times the gradient."""

    local: Any = None
    part: Any = None


def sent(node: Node, grads: Mapping[Node, Any]) -> list[Sent]:
    """The parts that a node sends to each of its operands, in order; empty for constants and without a gradient.

    A hand-written closure reveals only the total that it adds to an operand, which is recorded at the operand's first
    use. Such a closure need not be linear in the gradient. If the closure clips the gradient, for example, there is no
    local derivative.
    """
    g = grads.get(node)
    if g is None or not node._row or is_released(node):
        return [Sent() for _ in node._prev]
    local = parts(node, 1.0) if node._is_number else [None for _ in node._prev]
    uses = [Sent(*pair) for pair in zip(local, parts(node, g), strict=True)]
    if isinstance(node._row, Closure | Many):
        for use in uses:
            if use.local is not None and (use.part is None or not same(use.local * g, use.part)):
                use.local = None
    return uses


def parts(node: Node, g: Any) -> list[Any]:
    """The parts that a node with the gradient `g` sends to its operands, in order; None for a constant."""
    with node._numpy_warnings_off():
        return _in_order(node._prev, node._row.send(node, g))


def _in_order(operands: Sequence[Node], pairs: Sequence[tuple[Node, Any]]) -> list[Any]:
    """The part for each operand, from pairs in the order of the uses; None for an operand that the pairs skip."""
    waiting: dict[Node, list[Any]] = {}
    for operand, part in reversed(pairs):
        waiting.setdefault(operand, []).append(part)
    return [waiting[operand].pop() if waiting.get(operand) else None for operand in operands]


def is_hand_written(node: Node) -> bool:
    """True if the node's backward is a closure written by the user."""
    return isinstance(node._row, Closure)


def is_released(node: Any) -> bool:
    """True if the node's history was released after a backward pass."""
    return isinstance(getattr(node, "_row", None), Released)


def same(a: Any, b: Any, rtol: float = 1e-6, atol: float = 0.0) -> bool:
    """True if a and b are equal up to rounding, where nan equals nan. The tolerances apply to arrays."""
    if isinstance(b, float | int):
        return a == b or isclose(a, b, rel_tol=1e-9) or (a != a and b != b)
    np = lib(a)
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def carry(graph: Walk, edges: Iterable[Edge], grads: Mapping[Node, Any]) -> None:
    """Record on each line what it carried back from a node with a gradient."""
    sent_by = cache(lambda i: sent(graph.nodes[i], grads))
    for edge in edges:
        uses = [sent_by(i)[k] for i, k in edge.uses]
        arrived = [use.part for use in uses if use.part is not None]
        are_numbers = all(isinstance(part, float | int) for part in arrived)
        if arrived and edge.single:
            edge.local = uses[0].local
            edge.part = arrived[0] if are_numbers else True
            edge.flow = None if are_numbers else _lengths_of_array(arrived[0])
        elif arrived and are_numbers:
            edge.flow = _lengths(arrived)


def _lengths(numbers: Sequence[float]) -> tuple[float, float]:
    """The lengths of the positive and of the negative numbers."""
    return hypot(*[x for x in numbers if not x <= 0]), hypot(*[x for x in numbers if x < 0])


def _lengths_of_array(part: Any) -> tuple[float, float]:
    with lib(part).errstate(all="ignore"):
        over, under = [float((x**2).sum() ** 0.5) for x in (part[~(part <= 0)], part[part < 0])]
    return over, under


def without(graph: Picture, hidden: Collection[int]) -> Picture:
    """The drawing without some boxes. The lines from such a box go on to its operands, with the sum over all paths."""
    edges = graph.edges
    for box in hidden:
        into = [edge for edge in edges if edge.head == box]
        out = [edge for edge in edges if edge.tail == box]
        edges = [edge for edge in edges if box not in (edge.tail, edge.head)]
        for bypass in (_through(first, then, len(out) == 1) for first in into for then in out):
            beside = [edge for edge in edges if (edge.tail, edge.head) == (bypass.tail, bypass.head)]
            edges = [edge for edge in edges if edge not in beside] + [reduce(_together, beside, bypass)]
    kept = [i for i in range(len(graph.boxes)) if i not in hidden]
    place = {i: k for k, i in enumerate(kept)}
    moved = [replace(edge, tail=place[edge.tail], head=place[edge.head]) for edge in edges]
    hidden_names = {graph.boxes[i].short for i in hidden}
    boxes = [graph.boxes[i] for i in kept]
    for box in boxes:
        if not hidden_names.isdisjoint(findall(r"\w+", box.expression)):
            box.expression = ""
    return Picture(boxes, moved, graph.note)


def _through(first: Edge, then: Edge, alone: bool) -> Edge:
    """Two lines in a row as one line, with the product of the derivatives; `alone` if the node between has one use."""
    local = None if first.local is None or then.local is None else first.local * then.local
    bypass = Edge(first.tail, then.head, then.uses, first.single and then.single, local)
    if alone:
        bypass.part, bypass.flow = first.part, first.flow
    elif first.local is not None and then.part is not None:
        bypass.part = first.local * then.part
    return bypass


def _together(a: Edge, b: Edge) -> Edge:
    """Two lines beside each other as one line, with the sum of the derivatives if both lines are of single numbers."""
    if a.local is None or b.local is None:
        return Edge(a.tail, a.head, a.uses, a.single)
    return replace(a, local=a.local + b.local, part=a.part + b.part)


# ------------------------------------------------------------------------------------------------ the look of a line
def is_carried(edge: Edge) -> bool:
    """True if a gradient came back along the line."""
    return edge.part is not None or edge.flow is not None


def flow_of(edge: Edge) -> tuple[str, float, float]:
    """The look of a line that carried gradients back, and the widths of its strands, one strand for each sign.

    >>> def look(**what_it_carried): return flow_of(Edge(0, 1, [], **what_it_carried))[0]
    >>> look(flow=(3.0, 3.0)), look(flow=(3.0, 1e-17)), look(part=-1.0), look(part=0.0)
    ('flows mixed', 'flows above', 'flows below', 'dead')
    """
    over, under = edge.flow or (edge.part or 0.0, 0.0)
    if not over and not under:
        return "dead", 0.0, 0.0
    if min(over, under) > WIDTHS["seen"] * max(over, under):
        return "flows mixed", thickness(over), thickness(under)
    main = over if over != over or abs(over) >= under else -under
    return f"flows {hue(main) or 'odd'}", thickness(main), 0.0


def factor(edge: Edge) -> str:
    """The derivative by which a line multiplies, as the text of a label; "" for 1."""
    text = short(1.0 if edge.local is None else edge.local)
    return f"\u00d7 {text}" * (text != "1.00")
