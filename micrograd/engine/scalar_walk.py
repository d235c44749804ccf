"""The walk for graphs of plain Values: the same pass as in `walk.py`, twice as fast.

`walk.py` keeps the visited nodes and the sums in a set and a dict. Here they are kept on the nodes. An inner node uses
`.grad`: a marker object, unique to the pass, means visited; a number is the sum so far. A leaf uses `_y`, which is
otherwise unused there, and its `.grad` changes only at the end. The pass holds `grads_lock` and runs no user code: a
graph with a hook, a hand-written closure or a row with any number of operands takes the general path, and so does a
pass that checks for NaN. Another thread that reads `.grad` of an inner node during the pass may see the marker. `undo`
restores the grads after an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .graph import Node, added, grads_lock, hooked, hooked_nodes, undo
from .ops import mul
from .rows import passed

TIMES_B, TIMES_A = mul.to_a, mul.to_b  # g * b and g * a


def backward(grads: dict[Node, float]) -> bool:
    """Run a pass from the gradients of the roots to `.grad`. Returns False, having done nothing, if it cannot."""

    def commit(seen: list[Node], before: list[Any], leaves: list[Node]) -> None:
        for leaf in leaves:
            grad = added(leaf, leaf._y)
            before.append(leaf.grad)
            seen.append(leaf)
            leaf.grad = grad

    return _pass(grads, commit)


def gradients(grads: dict[Node, float], inputs: Sequence[Node]) -> bool:
    """Replace the roots' gradients in `grads` by those of the inputs reached; False, and no change, if it cannot."""

    def read(seen: list[Node], before: list[Any], leaves: list[Node]) -> None:
        found = {leaf: leaf._y for leaf in leaves} | {node: node.grad for node in {*inputs} & {*seen}}
        undo(seen, before)
        grads.clear()
        grads.update((node, found[node]) for node in inputs if node in found)

    return _pass(grads, read)


def _pass(grads: dict[Node, float], finish: Callable[[list[Node], list[Any], list[Node]], None]) -> bool:
    """Sum the gradients and `finish` with the nodes seen, their grads before, and the leaves; undone if it fails."""
    seen: list[Node] = []
    before: list[Any] = []
    leaves: list[Node] = []
    with grads_lock:
        try:
            if plain := _sum_gradients(grads, seen, before, leaves):
                finish(seen, before, leaves)
            else:
                undo(seen, before)
            for leaf in leaves:
                leaf._y = None
        except BaseException:
            undo(seen, before)
            undo(leaves, [None] * len(leaves), "_y")
            raise
    return plain


def _sum_gradients(grads: dict[Node, float], seen: list[Node], before: list[Any], leaves: list[Node]) -> bool:
    """Sum the gradients, of inner nodes in `.grad`, of leaves in `_y`. False if a node needs the general path."""
    unsummed = object()
    order = _topological(grads, unsummed, seen, before)
    if order is None or (hooked and any(node.grad is unsummed for node in hooked_nodes())):
        return False
    for root, g in grads.items():
        if root._row:
            root.grad = g
        else:
            leaves.append(root)
            root._y = g
    _propagate(order, unsummed, leaves)
    return not hooked or hooked_nodes().isdisjoint(leaves)


def _topological(roots: dict[Node, float], unsummed: Any, seen: list[Node], before: list[Any]) -> list[Node] | None:
    """`walk.topological` with marks on the nodes; None if a node needs the general path."""
    order: list[Node] = []
    path: list[Node] = []
    for node in roots:
        if not node._row or node.grad is unsummed:
            continue
        before.append(node.grad)
        seen.append(node)
        node.grad = unsummed
        below = node._a
        while True:
            if below is None or not below._row or (grad := below.grad) is unsummed:
                below = node._b
                if below is None or not below._row or (grad := below.grad) is unsummed:
                    if node._row.to_a is None:
                        return None
                    order.append(node)
                    if not path:
                        break
                    node = path.pop()
                    below = None  # its first operand has been visited: go on to the second
                    continue
            path.append(node)
            before.append(grad)
            seen.append(below)
            below.grad = unsummed
            node = below
            below = node._a
    return order


def _propagate(order: list[Node], unsummed: Any, leaves: list[Node]) -> None:
    """`walk.propagate` for plain numbers.

    Unrolled for two operands, with the rules of `+` and `*` inlined: a loop and calls would add two fifths to the time.
    """
    times_b, times_a = TIMES_B, TIMES_A  # locals are faster than globals
    for node in reversed(order):
        g, row = node.grad, node._row
        operand, rule = node._a, row.to_a
        if operand is not None and (made_by := operand._row) is not None:
            try:
                part = g if rule is passed else g * node._y if rule is times_b else rule(g, node._x, node._y)
            except ArithmeticError:
                part = node._ieee(rule, g, node._x, node._y)
            if made_by:
                operand.grad = part if (grad := operand.grad) is unsummed else grad + part
            elif (total := operand._y) is None:
                leaves.append(operand)
                operand._y = part
            else:
                operand._y = total + part
        operand, rule = node._b, row.to_b
        if operand is not None and (made_by := operand._row) is not None:
            try:
                part = g if rule is passed else g * node._x if rule is times_a else rule(g, node._x, node._y)
            except ArithmeticError:
                part = node._ieee(rule, g, node._x, node._y)
            if made_by:
                operand.grad = part if (grad := operand.grad) is unsummed else grad + part
            elif (total := operand._y) is None:
                leaves.append(operand)
                operand._y = part
            else:
                operand._y = total + part
