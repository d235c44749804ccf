"""The walk once more, for plain Values alone: what `walk.py` says, in half of the time.

A pass of `walk.py` keeps its order and its sums in a set and a dict of its own. Here they live where a node has room
for them. An inner node's in `.grad`: a mark there, of this pass alone, says that the node was seen, and a number is
what has arrived so far. A leaf's in `_y`, which it has no other use for: its `.grad` is changed at the end. The pass
holds the lock that all take who write to `.grad`, and no code of a user runs in it: a graph with a hook, a hand-written
closure or a row of many operands goes the other way, and so does a pass that looks for NaN. Who reads `.grad` of an
inner node from another thread meanwhile may see the mark. `undo` puts back what stood there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .graph import Node, added, grads_lock, hooked, undo
from .ops import mul
from .rows import passed

TIMES_B, TIMES_A = mul.to_a, mul.to_b  # g * b and g * a


def backward(grads: dict[Node, float]) -> bool:
    """From the gradients at the roots to `.grad` of all nodes; False, and nothing done, if a node is not plain."""
    seen: list[Node] = []
    before: list[Any] = []
    leaves: list[Node] = []
    with grads_lock:
        try:
            if plain := _sum(grads, seen, before, leaves):
                for leaf in leaves:
                    grad = added(leaf, leaf._y)
                    before.append(leaf.grad)
                    seen.append(leaf)
                    leaf.grad = grad
            else:
                undo(seen, before)
            _clear(leaves)
        except BaseException:
            undo(seen, before)
            _clear(leaves)
            raise
    return plain


def gradients(grads: dict[Node, float], inputs: Sequence[Node]) -> bool:
    """Enter the gradients of the inputs that are reached in `grads`; `.grad` of no node changes."""
    seen: list[Node] = []
    before: list[Any] = []
    leaves: list[Node] = []
    with grads_lock:
        try:
            if plain := _sum(grads, seen, before, leaves):
                found = {leaf: leaf._y for leaf in leaves} | {node: node.grad for node in {*inputs} & {*seen}}
                grads.clear()
                grads.update((node, found[node]) for node in inputs if node in found)
            undo(seen, before)
            _clear(leaves)
        except BaseException:
            undo(seen, before)
            _clear(leaves)
            raise
    return plain


def _sum(grads: dict[Node, float], seen: list[Node], before: list[Any], leaves: list[Node]) -> bool:
    """Sum the gradients: the inner nodes' in `.grad`, the leaves' in `_y`; False if a node is not plain."""
    unsummed = object()
    order = _topological(grads, unsummed, seen, before)
    if order is None or (hooked and any(node.grad is unsummed for node in _hooked())):
        return False
    for root, g in grads.items():
        if root._row:
            root.grad = g
        else:
            leaves.append(root)
            root._y = g
    _push(order, unsummed, leaves)
    return not hooked or _hooked().isdisjoint(leaves)


def _hooked() -> set[Node]:
    """The nodes that have hooks."""
    return {node for ref in hooked.copy() if (node := ref()) is not None}


def _clear(leaves: list[Node]) -> None:
    """Leave no sums behind; one Ctrl-C meanwhile only makes it begin anew."""
    try:
        for leaf in leaves:
            leaf._y = None
    except BaseException:
        for leaf in leaves:
            leaf._y = None
        raise


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


def _push(order: list[Node], unsummed: Any, leaves: list[Node]) -> None:
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
