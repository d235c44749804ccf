"""The walk once more, for plain Values alone: what `walk.py` says, in half of the time.

A pass of `walk.py` keeps its order and its sums in a set and a dict of its own. Here they live where a node has room
for them, in `.grad`: a mark there, of this pass alone, says that the node was seen, and a number is what has arrived so
far. The pass holds the lock that all take who write to `.grad`, and no code of a user runs in it: hooks, modes,
hand-written closures and rows of many operands all go the other way. Who reads `.grad` of an inner node from another
thread meanwhile may see the mark. `undo` puts back what stood there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .graph import Node, added, grads_lock, undo
from .ops import mul
from .rows import passed

TIMES_B, TIMES_A = mul.to_a, mul.to_b  # g * b and g * a


def backward(grads: dict[Node, float]) -> bool:
    """From the gradients at the roots to `.grad` of all nodes; False, and nothing done, if a node is not plain."""
    seen: list[Node] = []
    before: list[Any] = []
    with grads_lock:
        try:
            totals = _totals(grads, seen, before)
            if totals is None:
                undo(seen, before)
                return False
            for leaf, total in totals.items():
                grad = added(leaf, total)
                before.append(leaf.grad)
                seen.append(leaf)
                leaf.grad = grad
        except BaseException:
            undo(seen, before)
            raise
    return True


def gradients(grads: dict[Node, float], inputs: Sequence[Node]) -> bool:
    """Enter the gradients of the inputs that are reached in `grads`; `.grad` of no node changes."""
    seen: list[Node] = []
    before: list[Any] = []
    with grads_lock:
        try:
            totals = _totals(grads, seen, before)
            if totals is not None:
                totals.update((node, node.grad) for node in {*inputs} & {*seen})
                grads.clear()
                grads.update((node, totals[node]) for node in inputs if node in totals)
            undo(seen, before)
        except BaseException:
            undo(seen, before)
            raise
    return totals is not None


def _totals(grads: dict[Node, float], seen: list[Node], before: list[Any]) -> dict[Node, float] | None:
    """Sum the gradients: the inner nodes' in `.grad`, the leaves' in the dict returned; None if a node is not plain."""
    unsummed = object()
    order = _topological(grads, unsummed, seen, before)
    if order is None:
        return None
    totals = {}
    for root, g in grads.items():
        if root._row:
            root.grad = g
        else:
            totals[root] = g
    _push(order, unsummed, totals)
    return totals


def _topological(roots: dict[Node, float], unsummed: Any, seen: list[Node], before: list[Any]) -> list[Node] | None:
    """`walk.topological` with marks; None if it meets a node that is not plain."""
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
                    below = None  # its first operand was seen to on the way down
                    continue
            path.append(node)
            before.append(grad)
            seen.append(below)
            below.grad = unsummed
            node = below
            below = node._a
    return order


def _push(order: list[Node], unsummed: Any, totals: dict[Node, float]) -> None:
    """`walk.propagate` for plain numbers.

    Written out for two operands, and for the rules of `+` and `*`: a loop, and calls for these, would cost two fifths.
    """
    times_b, times_a = TIMES_B, TIMES_A  # a local name is found sooner
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
            else:
                try:
                    totals[operand] += part
                except KeyError:
                    totals[operand] = part
        operand, rule = node._b, row.to_b
        if operand is not None and (made_by := operand._row) is not None:
            try:
                part = g if rule is passed else g * node._x if rule is times_a else rule(g, node._x, node._y)
            except ArithmeticError:
                part = node._ieee(rule, g, node._x, node._y)
            if made_by:
                operand.grad = part if (grad := operand.grad) is unsummed else grad + part
            else:
                try:
                    totals[operand] += part
                except KeyError:
                    totals[operand] = part
