"""Forward mode: tangents, from the inputs of a graph to its roots, by the same rules as gradients."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ..engine.modes import enable_grad
from ..engine.value import Node
from ..scalars.kinds import hidden, node_of
from ..scalars.passes import run_pass
from ..scalars.rows import Closure


def forward(order: Sequence[Node], tangents: dict[Node, Any], create_graph: bool) -> dict[Node, Any]:
    """Forward mode: add to `tangents`, which has those of the inputs, the tangents of the nodes of the order.

    A rule is linear in the gradient. For numbers it multiplies by the local derivative, which serves forward as well.
    For arrays the tangent needs the transpose of that linear map: the rule is recorded on a dummy gradient u, and
    differentiated with respect to u.
    """
    for node in order:
        if node in tangents or tangents.keys().isdisjoint(node._operands):
            continue
        if all(n is None or n._is_number for n in (node, *node._operands)):
            parts = node._row.send(node, node._seed(None, create_graph), create_graph)
            products = [part * tangents[n] for n, part in parts if n in tangents]
            total = reduce(node._plus, products) if products else None
        else:
            total = _transposed(node, tangents, create_graph)
        if total is not None:
            tangents[node] = total
    return tangents


def _transposed(node: Any, tangents: dict[Node, Any], create_graph: bool) -> Any:
    """A node's tangent from those of its operands; None if it does not depend on them."""
    if isinstance(node._row, Closure):
        raise RuntimeError(f"jvp needs the derivative of '{node._op}' as a row: its _backward was written by hand")
    u = node._plain(detached(getattr(node, "tensor", node)))  # any value of this shape will do
    u.requires_grad = True
    given = node_of(u)
    with enable_grad(), node._quiet():
        parts, seeds = _seeded(node._row.send(node, u, create_graph), tangents, create_graph)
        return run_pass(parts, seeds, create_graph, [given])[1].get(given) if parts else None


def _seeded(
    sent: Sequence[tuple[Any, Any]], tangents: dict[Node, Any], create_graph: bool
) -> tuple[list[Any], list[Any]]:
    """What is sent to nodes with a tangent, as roots, and their seeds."""
    pairs = [(node_of(part), tangents[n]) for n, part in sent if n in tangents]
    pairs = [(part, t) for part, t in pairs if getattr(part, "_row", None) is not None]  # else it was not made of u
    return [part for part, _ in pairs], [part._seed(t, create_graph) for part, t in pairs]


def detached(x: Any) -> Any:
    """A node as a constant, also where numbers are hidden: what the callers do with it loses no derivative."""
    with hidden(None):
        return x.detach()
