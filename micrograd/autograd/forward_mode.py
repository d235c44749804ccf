"""Forward mode: tangents, from the inputs of a graph to its roots, by the same rules as gradients."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ..engine.graph import Node, contributions, node_of
from ..engine.modes import enable_grad, hidden, open_scopes
from ..engine.rows import HandWritten
from ..engine.walk import propagate, towards


def forward(order: Sequence[Node], tangents: dict[Node, Any], create_graph: bool) -> dict[Node, Any]:
    """Forward mode: add to `tangents`, which has those of the inputs, the tangents of the nodes of the order.

    A rule is linear in the gradient. For numbers it multiplies by the local derivative, which serves forward as well.
    For arrays the tangent needs the transpose of that linear map: the rule is recorded on a dummy gradient u, and
    differentiated with respect to u.
    """
    scopes = (object(), *open_scopes())  # the first for these searches alone
    for node in order:
        if all(n is None or n._is_number for n in (node, *node._operands)):
            parts = contributions(node, node._seed(None, create_graph), create_graph)
            products = [part * tangents[n] for n, part in parts if n in tangents]
            total = reduce(node._plus, products) if products else None
        else:
            total = _transposed(node, tangents, create_graph, scopes)
        if total is not None:
            tangents[node] = total
    return tangents


def _transposed(node: Any, tangents: dict[Node, Any], create_graph: bool, scopes: tuple[object, ...]) -> Any:
    """A node's tangent from those of its operands; None if it does not depend on them."""
    if isinstance(node._row, HandWritten):
        raise RuntimeError(f"jvp needs the derivative of '{node._op}' as a row: its _backward was written by hand")
    u = detached(getattr(node, "tensor", node))  # any value of this shape will do
    u.requires_grad = True
    given = node_of(u)
    with enable_grad(), node._quiet():
        parts = contributions(node, u, create_graph)
    pairs = [(part, tangents[n]) for n, part in parts if n in tangents]
    grads: dict[Node, Any] = {}
    for part, t in [(node_of(part), t) for part, t in pairs]:
        if getattr(part, "_row", None) is not None:  # else it does not depend on u
            grads[part] = part._plus(grads[part], t) if part in grads else part._seed(t, create_graph)
    if grads:
        propagate(grads, create_graph, towards(grads, [given], scopes)[0], [given])
    return grads.get(given)


def detached(x: Any) -> Any:
    """A node as a constant, also where numbers are hidden: what the callers do with it loses no derivative."""
    with hidden(None):
        return x.detach()
