"""A pass as the floors above start one: from roots of either kind, to given inputs."""

from __future__ import annotations

from typing import Any

from ..engine.walk import Nodes, run
from .release import Released


def topological(roots: Nodes) -> Nodes:
    """The nodes below the roots that require a gradient, leaves included, each after its operands."""
    return run(roots, ())


def run_pass(
    roots: Nodes, seeds: Nodes, create_graph: bool = False, inputs: Any = (), stop: bool = False, store: bool = False
) -> tuple[Nodes, dict[Any, Any]]:
    """A pass to these inputs, which runs no rule that leads to none of them.

    Returns the nodes that lead to an input, in order, and the gradients of those inputs that have one. No `.grad` but
    theirs changes, and theirs only with `store`: it is added for a leaf or an array, and set for an inner number. With
    `stop` an input sends nothing on, as if it were a leaf.
    """
    wanted, leading, found, taken = {*inputs}, {}, {}, set()
    wanted |= {n._row for n in wanted if isinstance(n._row, Released)}  # by which the search may find them

    def leave_out(order: Nodes, mark: object) -> None:
        for node in order:
            if any(n._sum is mark for n in node._operands):
                leading[node] = None
            elif node not in wanted:
                node._sum = None

    def receive(node: Any, g: Any) -> bool:
        if node not in wanted:
            return False
        found[node] = g
        if store:
            node._gradient = g if node._row and node._is_number else node._plus(node._gradient, g, taken)
        return stop or node not in leading

    with roots[0]._numpy_warnings_off():
        run(roots, seeds, create_graph, receive, leave_out)
    return [*leading], found
