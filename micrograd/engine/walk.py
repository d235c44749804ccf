"""The backward pass: `search` puts the nodes in order, and `propagate` lets each send its gradient to its operands.

    run             both, with nothing changed if something raises
    search          the order, each node after its operands, leaves included
    propagate       in reverse order, each node's row does its step
    propagate_any   the same where more is asked: watchers, a receiver, a recorded pass, arrays

A pass sums the gradients on the nodes, in the slot `_sum`, which nobody else reads. The search writes a mark there,
which is -0.0, as an object of this pass alone. A node with the mark was found, and nothing was sent to it yet; and the
first part may simply be added, since x + -0.0 is x, whatever x is. What a pass leaves in the slot does no harm, so
after an error or a Ctrl-C only `.grad` has to be put back.

The passes of threads take turns, by a lock. A pass that user code starts inside another, in a hook or a closure, puts
back the sums that it found. Nothing recurses, so deep graphs do not overflow the stack. The order, and with it the
rounding, depends only on the program.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from .locks import holding
from .modes import enable_grad
from .node import MANY
from .rows import LEAF, general_step

Nodes = Sequence[Any]
Receiver = Callable[[Any, Any], Any]  # a function of a node and its complete gradient
watchers: list[Receiver] = []  # each returns the gradient, possibly replaced; a watcher that is false is skipped
running: list[object] = []  # the marks of the passes under way: several if user code starts one inside another
lock: threading.RLock = threading.RLock()


def run(roots: Nodes, seeds: Nodes, create_graph: bool = False, receive: Any = None, leave_out: Any = None) -> Nodes:
    """One pass, from the roots and their gradients. Returns the order.

    `receive(node, gradient)` is called in place of writing to `.grad`; where it returns True, the node sends nothing.
    `leave_out(order, mark)` is called before anything is sent, and may set `_sum` of nodes to None.
    """
    return holding(lock, _run, roots, seeds, create_graph, receive, leave_out)


def _run(roots: Nodes, seeds: Nodes, create_graph: bool, receive: Any, leave_out: Any) -> Nodes:
    """The pass, while no other thread runs one."""
    mark = float("-0.0")
    order, sums_before, grads_before = [], [], []
    depth = len(running)
    try:
        running.append(mark)
        many = search(roots, mark, order, sums_before)
        grads_before += [node._gradient for node in order]
        if leave_out:
            leave_out(order, mark)
        for root, seed in zip(roots, seeds, strict=False):  # without seeds, the pass gives the order only
            if (total := root._sum) is not None:
                root._sum = seed if total is mark else root._plus(total, seed)
        # Nodes of arrays are among these. A Value depends on them if `gradient` differentiated a function of Tensors
        of_numbers = not many or all(node._is_number for node in order)
        if of_numbers and not (create_graph or receive or any(watchers)):
            propagate(order, mark)
        else:
            with enable_grad() if create_graph else nullcontext():
                propagate_any(order, mark, create_graph, receive)
        return order
    except BaseException:
        for node, grad in zip(order, grads_before, strict=False):
            node._gradient, node._sum = grad, 0.0  # a number in `_sum`, lest an array live longer than it is needed
        raise
    finally:
        del running[depth:]  # not `pop`, since a Ctrl-C may have come before the append
        for node, before in zip(order, sums_before, strict=False):  # none, unless this pass is inside another
            node._sum = before


def search(roots: Nodes, mark: object, order: list[Any], sums_before: list[Any]) -> Mapping[Any, Any]:
    """Append the nodes below the roots that require a gradient to the order, each after its operands, and mark them.

    A depth-first search that does not recurse: `path` leads from the root to the node, and `below` is the operand to
    enter next. An operand is passed over if it has the mark, or if its row is None: `NOTHING` and other constants.
    Inside another pass, `sums_before` gets the `_sum` of each node.

    Returns a mapping whose keys are the nodes with any number of operands.
    """

    def append_inside(node: Any) -> None:
        sums_before.append(node._sum)
        order.append(node)

    append = append_inside if len(running) > 1 else order.append
    rest: dict[Any, Iterator[Any]] = {}  # of a node with any number of operands, those not looked at yet
    for node in roots:
        # The path begins with the root itself: when the root is done, `pop` takes it from there, and the loop ends
        path: list[Any] = [] if node._sum is mark else [node]
        while path:
            below = node._a
            if below._sum is mark or below._row is None:
                # `MANY` counts as a constant, so a node with any number of operands comes here too
                below = node._b if below is not MANY else _next_below(node, mark, rest, append)
                if below._sum is mark or below._row is None:  # the node has no operand left, so it is done
                    append(node)
                    node._sum = mark
                    node = path.pop()
                    continue
            if below._row is LEAF:  # it has no operands, so it is done
                append(below)
                below._sum = mark
            else:
                path.append(node)
                node = below
    return rest


def _next_below(node: Any, mark: object, rest: dict[Any, Iterator[Any]], append: Callable[[Any], None]) -> Any:
    """Of a node with any number of operands, the next one to enter; `MANY`, a constant, if none is left."""
    for below in rest.setdefault(node, iter(node._b)):
        if below._sum is not mark and (row := below._row) is not None:
            if row is not LEAF:
                return below
            append(below)
            below._sum = mark
    return MANY


def propagate(order: Nodes, mark: object) -> None:
    """Let each node send its gradient to its operands, the last node first."""
    for node in reversed(order):
        if node._sum is not mark:  # else nothing was sent to it
            try:
                node._row.backward(node)
            except ArithmeticError:  # of Python's floats, such as 1 / 0, before the step sent anything
                if node._row is LEAF:  # it has no rules: a property `grad` of the user's class raised
                    raise
                general_step(node)


def propagate_any(order: Nodes, mark: object, create_graph: bool, receive: Any) -> None:
    """The same with all that a pass may be asked: watchers, a receiver, a recorded pass, nodes of any kind."""
    watching = [*filter(None, watchers)]
    taken: set[int] = set()  # the ids of the arrays that are in a `.grad` by now: no other `.grad` may share one
    for node in reversed(order):
        g = node._sum
        node._sum = 0.0  # lest an array live longer than it is needed
        if g is mark or g is None:  # nothing was sent to it, or it was left out
            continue
        for watch in watching:
            g = watch(node, g)
        if receive:
            if receive(node, g):
                continue
        elif node._row is LEAF or node._retains_grad:
            node._gradient = node._plus(node._gradient, g, taken)
        elif node._is_number:  # an inner Value shows its gradient; an inner array, which would need memory, does not
            node._gradient = g
        for operand, part in node._row.send(node, g, create_graph):
            if (total := operand._sum) is not None:
                operand._sum = part if total is mark else operand._plus(total, part)
