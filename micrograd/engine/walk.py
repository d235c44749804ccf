"""The walk: from a graph to an order of its nodes, and back through the order with the gradients.

    search        the order: each node after its operands, leaves included
    prune         without what leads to none of the given inputs
    propagate     the rules, in reverse; a complete gradient goes to `.grad`
    run           all three, with nothing changed if something raises

A pass sums the gradients on the nodes, in the slot `_sum`, which nobody else reads. The search writes a mark there, an
object that belongs to this pass alone: the node was found, and nothing was sent to it yet. Then come the sums. Where
`_sum` is None, in a constant or a node that was pruned, nothing is sent. What an earlier pass left in the slot does no
harm, so after an error or a Ctrl-C only `.grad` has to be undone.

Passes take turns, by a lock. One that user code starts inside another, in a hook or a closure, puts back the sums that
it found. Nothing recurses, so deep graphs do not overflow the stack. The order, and with it the rounding, depends only
on the program.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from .ops import mul, passed
from .rows import LEAF

Nodes = Sequence[Any]
_TIMES_B, _TIMES_A = mul.to_a, mul.to_b  # the rules g * b and g * a
# Each is called with (node, its complete gradient) and returns the gradient. One that is false is left out.
watchers: list[Callable[[Any, Any], Any]] = []
running: list[object] = []  # the marks of the passes under way: several if user code starts one inside another
lock: threading.RLock = threading.RLock()
turn: Any = lock  # what a pass holds while it runs; `scalars/turns.py` puts there one that does not wait forever


def search(
    roots: Iterable[Any], mark: object, order: list[Any], grads_before: list[Any], sums_before: list[Any]
) -> None:
    """Append the nodes below the roots that require a gradient to the order, each after its operands, and mark them.

    A depth-first search that does not recurse: `path` leads from the root to the node, and `below` is the operand to
    enter next. `grads_before` gets the `.grad` of each node and, inside another pass, `sums_before` gets its `_sum`.
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
                if below is None and node._a is None:  # it has any number of operands, or none
                    below = _next_below(node, mark, rest)
                if below is None or below._sum is mark or below._row is None:  # its operands are done, and so is it
                    if nested:
                        sums_before.append(node._sum)
                    grads_before.append(node._gradient)
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
    if operands.__class__ is not tuple:  # a node of two numbers
        return None
    if len(operands) > 4:  # a few may be looked at again each time
        operands = rest.setdefault(node, iter(operands))
    for below in operands:
        if below is not None and below._sum is not mark and below._row is not None:
            return below
    return None


def prune(order: Nodes, mark: object, inputs: set[Any]) -> list[Any]:
    """Unmark what is no input and leads to none, so that nothing is sent to it; those nodes of the order that lead."""
    on_the_way = []
    for node in order:
        if any(n is not None and n._sum is mark for n in node._operands):
            on_the_way.append(node)
        elif node not in inputs:
            node._sum = None
    return on_the_way


def propagate(
    order: Nodes, mark: object, create_graph: bool, inputs: Any, ends: Any, reached: dict[Any, Any], store: bool
) -> None:
    """Run the rules, the last node's first. A complete gradient goes to `.grad` or, for the inputs, to `reached`.

    The two rules of a node of numbers are written out, with those of + and *: `row.send`, which every other node calls,
    would take twice the time.
    """
    times_b, times_a, watching = _TIMES_B, _TIMES_A, [*filter(None, watchers)]
    special = watching or create_graph or inputs is not None
    taken: set[int] = set()  # the ids of the arrays that are in a `.grad` by now: no other `.grad` may share one
    for node in reversed(order):
        g = node._sum
        if g is mark or g is None:  # nothing was sent to it, or it was pruned
            continue
        row = node._row
        a = node._a
        b = node._b
        plain = not (a is None and b is None)
        if plain and not special:
            node._gradient = g
        else:
            for watch in watching:
                g = watch(node, g)
            if inputs is not None:
                if node in inputs:
                    reached[node] = g
                    if store:
                        node._gradient = g if row and node._is_number else node._plus(node._gradient, g, taken)
                    if node in ends:
                        continue
            elif row is LEAF or node._retains_grad:
                node._gradient = node._plus(node._gradient, g, taken)
            elif node._is_number:
                node._gradient = g
            if create_graph or not plain:
                node._sum = None  # an array need not live longer
                for operand, part in row.send(node, g, create_graph):
                    if (total := operand._sum) is not None:
                        operand._sum = part if total is mark else operand._plus(total, part)
                continue
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


def run(
    roots: Nodes, seeds: Nodes, create_graph: bool = False, inputs: Any = None, stop: bool = False, store: bool = False
) -> tuple[list[Any], dict[Any, Any]]:
    """One pass, from the roots and their gradients: the order, and the gradients of those inputs that have one.

    Without inputs the gradients go to `.grad`, and with `store` those of the inputs do: added for a leaf or an array,
    set for an inner number. With `stop` an input sends nothing on, as if it were a leaf.
    """
    mark, order, sums_before, grads_before, reached = object(), [], [], [], {}
    wanted = None if inputs is None else {*inputs}
    with turn:
        depth = len(running)
        try:
            running.append(mark)
            search(roots, mark, order, grads_before, sums_before)
            on_the_way = prune(order, mark, wanted) if wanted else order
            for root, seed in zip(roots, seeds, strict=False):
                if (total := root._sum) is not None:
                    root._sum = seed if total is mark else root._plus(total, seed)
            ends = wanted if stop or not wanted else wanted.difference(on_the_way)
            propagate(order, mark, create_graph, wanted, ends, reached, store)
            return on_the_way, reached
        except BaseException:
            for node, grad in zip(order, grads_before, strict=False):
                node._gradient = grad
            raise
        finally:
            del running[depth:]
            if running or create_graph or not (roots and roots[0]._is_number):  # a number does no harm in `_sum`
                for node, was in zip(order, sums_before or repeat(None), strict=False):
                    node._sum = was


def topological(roots: Nodes) -> list[Any]:
    """The nodes below the roots that require a gradient, leaves included, each after its operands."""
    return run(roots, (), inputs=())[0]


def grad(outputs: Nodes, inputs: Nodes, create_graph: bool = False) -> list[Any]:
    """The gradients of the sum of the outputs with respect to the inputs, None if there is none. No `.grad` changes."""
    seeds = [output._seed(None, create_graph) for output in outputs]
    return [*map(run(outputs, seeds, create_graph, inputs)[1].get, inputs)]
