"""The walk once more, for plain Values alone: what `walk.py` says, in a third of the time.

A pass of `walk.py` keeps its order and its sums in a set and a dict of its own. Here they live where a node has room
for them, in `.grad`: `UNSUMMED` there says that the node was seen, a number is what has arrived so far. Such marks are
of one pass alone, so the pass holds the lock that all who write to `.grad` take; no code of a user runs in it, for
hooks, modes, hand-written closures and rows of many operands all go the other way. `undo` puts back what stood there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .graph import Node, added, grads_lock, passed

UNSUMMED: Any = object()


def backward(grads: dict[Node, float]) -> bool:
    """From the gradients at the roots to `.grad` of all nodes; False, and nothing done, if a node is not plain."""
    seen: list[Node] = []
    before: list[Any] = []
    with grads_lock:
        try:
            totals = _totals(grads, seen, before)
            for leaf, total in (totals or {}).items():
                total = added(leaf.grad, total)
                before.append(leaf.grad)
                seen.append(leaf)
                leaf.grad = total
        except BaseException:
            undo(seen, before)
            raise
        if totals is None:
            undo(seen, before)
    return totals is not None


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
        finally:
            undo(seen, before)
    return totals is not None


def undo(seen: list[Node], before: list[Any]) -> None:
    """Put the grads back that stood there."""
    for node, grad in zip(seen, before, strict=False):  # an interrupt may have left one more in `before`
        node.grad = grad


def _totals(grads: dict[Node, float], seen: list[Node], before: list[Any]) -> dict[Node, float] | None:
    """Sum the gradients: the inner nodes' in `.grad`, the leaves' in the dict returned; None if a node is not plain."""
    order = _topological(grads, seen, before)
    if order is None:
        return None
    totals = {}
    for root, g in grads.items():
        if root._row:
            root.grad = g
        else:
            totals[root] = g
    _push(order, totals)
    return totals


def _topological(roots: dict[Node, float], seen: list[Node], before: list[Any]) -> list[Node] | None:
    """`walk.topological` with marks; None if it meets a node that is not plain."""
    order: list[Node] = []
    path: list[Node] = []
    for node in roots:
        if not node._row or node.grad is UNSUMMED:
            continue
        before.append(node.grad)
        seen.append(node)
        node.grad = UNSUMMED
        while True:
            below = node._a
            if below is None or not below._row or below.grad is UNSUMMED:
                below = node._b
                if below is None or not below._row or below.grad is UNSUMMED:
                    if node._row.to_a is None:
                        return None
                    order.append(node)
                    if not path:
                        break
                    node = path.pop()
                    continue
            path.append(node)
            before.append(below.grad)
            seen.append(below)
            below.grad = UNSUMMED
            node = below
    return order


def _push(order: list[Node], totals: dict[Node, float]) -> None:
    """`walk.propagate` for plain numbers; written out for two operands, since a call or a loop would cost a third."""
    for node in reversed(order):
        g, row, x, y = node.grad, node._row, node._x, node._y
        operand, rule = node._a, row.to_a
        if operand is not None and (made_by := operand._row) is not None:
            try:
                part = g if rule is passed else rule(g, x, y)
            except ArithmeticError:
                part = node._ieee(rule, g, x, y)
            if made_by:
                operand.grad = part if operand.grad is UNSUMMED else operand.grad + part
            else:
                totals[operand] = totals[operand] + part if operand in totals else part
        operand, rule = node._b, row.to_b
        if operand is not None and (made_by := operand._row) is not None:
            try:
                part = g if rule is passed else rule(g, x, y)
            except ArithmeticError:
                part = node._ieee(rule, g, x, y)
            if made_by:
                operand.grad = part if operand.grad is UNSUMMED else operand.grad + part
            else:
                totals[operand] = totals[operand] + part if operand in totals else part
