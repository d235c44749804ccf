"""The walk: from a graph to an order of its nodes, and back through the order with the gradients.

    search        the order: each node after its operands, leaves included
    propagate     the rules, in reverse; a complete gradient goes to `.grad`
    run           both, with nothing changed if something raises

A pass sums the gradients on the nodes, in the slot `_sum`, which nobody else reads. The search writes a mark there, an
object that belongs to this pass alone: the node was found, and nothing was sent to it yet. Then come the sums. Where
`_sum` is None, in a constant or a node that was left out, nothing is sent. What an earlier pass left in the slot does
no harm, so after an error or a Ctrl-C only `.grad` has to be undone.

The passes of threads take turns, by a lock. A pass that user code starts inside another, in a hook or a closure, puts
back the sums that it found. Nothing recurses, so deep graphs do not overflow the stack. The order, and with it the
rounding, depends only on the program.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

from .locks import holding
from .ops import mul, passed
from .rows import LEAF

Nodes = Sequence[Any]
Receiver = Callable[[Any, Any], Any]  # a function of a node and its complete gradient
watchers: list[Receiver] = []  # each returns the gradient, or another in its place; one that is false is left out
running: list[object] = []  # the marks of the passes under way: several if user code starts one inside another
lock: threading.RLock = threading.RLock()


def search(roots: Nodes, mark: object, order: list[Any], sums_before: list[Any]) -> None:
    """Append the nodes below the roots that require a gradient to the order, each after its operands, and mark them.

    A depth-first search that does not recurse: `path` leads from the root to the node, and `below` is the operand to
    enter next. Inside another pass, `sums_before` gets the `_sum` of each node.
    """
    nested = len(running) > 1
    rest: dict[Any, Iterator[Any]] = {}
    for node in roots:
        if node._sum is mark:
            continue
        path: list[Any] = []
        below = node._a
        while True:
            if below is None or below._sum is mark or below._row is None:
                below = node._b
                if below is None and node._a is None and node._x:  # it has any number of operands
                    below = _next_below(node, mark, rest)
                if below is None or below._sum is mark or below._row is None:  # its operands are done, and so is it
                    if nested:
                        sums_before.append(node._sum)
                    order.append(node)
                    node._sum = mark
                    if not path:
                        break
                    node = path.pop()
                    continue
            path.append(node)
            node = below
            below = node._a


def _next_below(node: Any, mark: object, rest: dict[Any, Iterator[Any]]) -> Any:
    """Of a node with any number of operands, the next one to visit; None if none is left."""
    operands = node._x
    if len(operands) > 4:  # a few may be looked at again each time
        operands = rest.setdefault(node, iter(operands))
    for below in operands:
        if below is not None and below._sum is not mark and below._row is not None:
            return below
    return None


def propagate(order: Nodes, mark: object, create_graph: bool, receive: Any, grads_before: list[Any]) -> None:
    """Run the rules, the last node's first. A complete gradient goes to `receive`, if given, otherwise to `.grad`.

    What a `.grad` was before goes to `grads_before`. The two rules of a node of numbers are written out, with those of
    + and *: `row.send`, which every other node calls, would take twice the time.
    """
    times_b, times_a = mul.to_a, mul.to_b  # the rules g * b and g * a
    watching = [*filter(None, watchers)]
    special = watching or create_graph or receive
    taken: set[int] = set()  # the ids of the arrays that are in a `.grad` by now: no other `.grad` may share one
    for node in reversed(order):
        grads_before.append(node._gradient)
        g = node._sum
        if g is mark or g is None:  # nothing was sent to it, or it was left out
            continue
        row = node._row
        a = node._a
        b = node._b
        if special or (a is None and b is None):  # the latter is a leaf, or has any number of operands
            for watch in watching:
                g = watch(node, g)
            if receive:
                if receive(node, g):
                    continue
            elif row is LEAF or node._retains_grad:
                node._gradient = node._plus(node._gradient, g, taken)
            elif node._is_number:
                node._gradient = g
            if create_graph or (a is None and b is None):
                node._sum = None  # an array need not live longer
                for operand, part in row.send(node, g, create_graph):
                    if (total := operand._sum) is not None:
                        operand._sum = part if total is mark else operand._plus(total, part)
                continue
        else:
            node._gradient = g
        if a is not None and (total := a._sum) is not None:
            rule = row.to_a
            try:
                part = g if rule is passed else g * node._y if rule is times_b else rule(g, node._x, node._y)
            except ArithmeticError:
                part = node._ieee(rule, g, node._x, node._y)
            a._sum = part if total is mark else total + part
        if b is not None and (total := b._sum) is not None:
            rule = row.to_b
            try:
                part = g if rule is passed else g * node._x if rule is times_a else rule(g, node._x, node._y)
            except ArithmeticError:
                part = node._ieee(rule, g, node._x, node._y)
            b._sum = part if total is mark else total + part


def run(roots: Nodes, seeds: Nodes, create_graph: bool = False, receive: Any = None, leave_out: Any = None) -> Nodes:
    """One pass, from the roots and their gradients. Returns the order.

    `receive(node, gradient)` is called in place of writing to `.grad`; where it returns True, the node sends nothing.
    `leave_out(order, mark)` is called before anything is sent, and may set `_sum` of nodes to None.
    """
    return holding(lock, _run, roots, seeds, create_graph, receive, leave_out)


def _run(roots: Nodes, seeds: Nodes, create_graph: bool, receive: Any, leave_out: Any) -> Nodes:
    """The pass, while no other thread runs one."""
    mark, order, sums_before, grads_before = object(), [], [], []
    depth = len(running)
    try:
        running.append(mark)
        search(roots, mark, order, sums_before)
        if leave_out:
            leave_out(order, mark)
        for root, seed in zip(roots, seeds, strict=False):
            if (total := root._sum) is not None:
                root._sum = seed if total is mark else root._plus(total, seed)
        propagate(order, mark, create_graph, receive, grads_before)
        return order
    except BaseException:
        for node, grad in zip(reversed(order), grads_before, strict=False):
            node._gradient = grad
        raise
    finally:
        del running[depth:]
        if running or create_graph or not (roots and roots[0]._is_number):  # a number does no harm in `_sum`
            for node, was in zip(order, sums_before or repeat(None), strict=False):
                node._sum = was


def grad(outputs: Nodes, inputs: Nodes, create_graph: bool = False) -> list[Any]:
    """The gradients of the sum of the outputs with respect to the inputs, None if there is none. No `.grad` changes."""
    found: dict[Any, Any] = {}
    run(outputs, [output._seed(None, create_graph) for output in outputs], create_graph, found.__setitem__)
    return [*map(found.get, inputs)]
