"""The walk: how gradients travel through a graph, from its roots back to its leaves.

    count_uses   how often each node is used      so that we know when its gradient is complete
    propagate    the rules, from the roots back   gradients are summed in a dict that belongs to this pass
    commit       the sums go to `.grad`           all of them or none: a pass that fails leaves no trace

A pass marks nothing on the nodes, so two threads may walk graphs that share them; and nothing recurses, so a chain of
a million nodes is as good as a chain of ten. The order, and so every rounding, depends on the program alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .graph import LetGo, Node, contributions, edges, grads_lock, hooked, run_hooks
from .modes import enable_grad, is_anomaly_enabled


def count_uses(roots: Iterable[Node]) -> dict[Node, int]:
    """How often each inner node of the graphs below the roots is an operand in them."""
    uses = {root: 0 for root in roots if root._row}
    found = list(uses)
    for node in found:  # grows while it is read
        for operand in (node._a, node._b) if node._row.to_a is not None else edges(node):
            if operand is not None and operand._row:
                if operand in uses:
                    uses[operand] += 1
                else:
                    uses[operand] = 1
                    found.append(operand)
    return uses


def propagate(grads: dict[Node, Any], create_graph: bool = False) -> None:
    """Carry the gradients of some roots, given in `grads`, back to all that they depend on, and add them there.

    A node's turn comes when all who use it have sent their part. The last two blocks do for the operands of an
    ordinary node of numbers what `_arrive` does: written out, a large pass takes two thirds of the time.
    """
    uses = count_uses(grads)
    ready = [node for node, count in uses.items() if count == 0]
    watched = {node for node in hooked.copy() if node._hooks}
    careful = create_graph or is_anomaly_enabled() or not all(root._is_number for root in grads)

    for node in ready:  # grows while it is read
        if watched and node in watched:
            grads[node] = run_hooks(node, grads[node])
        g, row = grads[node], node._row
        if careful or row.to_a is None:
            for operand, part in contributions(node, g, create_graph):
                _arrive(operand, part, grads, uses, ready)
            continue

        x, y = node._x, node._y
        operand = node._a
        if operand is not None and operand._row is not None:
            try:
                part = row.to_a(g, x, y)
            except ArithmeticError:
                part = node._ieee(row.to_a, g, x, y)
            grads[operand] = grads[operand] + part if operand in grads else part
            if operand._row:
                if uses[operand] == 1:
                    ready.append(operand)
                else:
                    uses[operand] -= 1
        operand = node._b
        if operand is not None and operand._row is not None:
            try:
                part = row.to_b(g, x, y)
            except ArithmeticError:
                part = node._ieee(row.to_b, g, x, y)
            grads[operand] = grads[operand] + part if operand in grads else part
            if operand._row:
                if uses[operand] == 1:
                    ready.append(operand)
                else:
                    uses[operand] -= 1

    for leaf in watched & grads.keys():
        if not leaf._row:
            grads[leaf] = run_hooks(leaf, grads[leaf])


def _arrive(operand: Node, part: Any, grads: dict[Node, Any], uses: dict[Node, int], ready: list[Node]) -> None:
    """Add a part to an operand's gradient; after the last one it is the operand's turn."""
    grads[operand] = grads[operand] + part if operand in grads else part
    if operand._row:
        uses[operand] -= 1
        if uses[operand] == 0:
            ready.append(operand)


def commit(grads: dict[Node, Any]) -> None:
    """Add to the leaves' grads, and set the inner nodes': all or, if anything is raised (Ctrl-C too), none."""
    with grads_lock:
        before = [node.grad for node in grads]
        after = [g if n._row or n.grad is None else n.grad + g for n, g in grads.items()]
        try:
            for node, g in zip(grads, after, strict=True):
                node.grad = g
        except BaseException:
            for node, g in zip(grads, before, strict=True):
                node.grad = g
            raise


# ---------------------------------------------------------------------------------------------------------------------
# The two ways to ask for gradients


def backward(
    roots: Node | Sequence[Node],
    gradients: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Node | Sequence[Node] | None = None,
) -> None:
    """Add the gradients of the roots to `.grad` of every leaf (or of the `inputs` alone) that they depend on.

    `gradients` are the gradients at the roots, in their order; None is 1 for each. With `create_graph=True` the
    gradients are nodes, which can be differentiated again. `retain_graph=False` lets the graph go afterwards.

    >>> from micrograd import Value, backward
    >>> x = Value(3.0)
    >>> backward([x * 2, x * x], [1.0, 10.0])
    >>> x.grad
    62.0
    """
    roots = _nodes(roots, "a root")
    grads = _gradients(roots, gradients, create_graph)
    if inputs is not None:
        grads = {node: grads[node] for node in _nodes(inputs, "an input") if node in grads}
    commit(grads)
    if retain_graph is False and not create_graph:
        let_go(roots)


def grad(
    outputs: Node | Sequence[Node],
    inputs: Node | Sequence[Node],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the outputs' sum with respect to each input, which may be leaves or inner nodes, as a tuple.

    `.grad` of no node changes. An input that the outputs do not depend on raises, or gives None with `allow_unused`.

    >>> from micrograd import Value, grad
    >>> x = Value(2.0)
    >>> (slope,) = grad(x**3, x, create_graph=True)
    >>> slope, grad(slope, x)
    (Value(data=12.0, grad=0), (12.0,))
    """
    outputs, inputs = _nodes(outputs, "an output"), _nodes(inputs, "an input")
    grads = _gradients(outputs, grad_outputs, create_graph)
    for i, node in enumerate(inputs):
        if node not in grads and not allow_unused:
            raise RuntimeError(
                f"input {i} has no gradient: no output depends on it; allow_unused=True gives None for such inputs"
            )
    if retain_graph is False and not create_graph:
        let_go(outputs)
    return tuple(grads.get(node) for node in inputs)


def let_go(roots: Iterable[Node]) -> None:
    """Forget how the inner nodes of these graphs were made; a later pass through them raises."""
    for node in count_uses(roots):
        node._row, node._a, node._b, node._x, node._y = LetGo(node._row), (), None, None, None


def _gradients(roots: Sequence[Node], gradients: Any, create_graph: bool) -> dict[Node, Any]:
    """The gradients of the roots' sum at every node below them."""
    if len(roots) == 1 and not isinstance(gradients, (list, tuple)):
        gradients = [gradients]
    elif gradients is None:
        gradients = [None] * len(roots)
    if len(gradients) != len(roots):
        raise ValueError(f"found {len(gradients)} gradients for {len(roots)} roots: each root needs its own, or None")
    grads: dict[Node, Any] = {}
    for root, gradient in zip(roots, gradients, strict=True):
        seed = root._seed(gradient, create_graph)
        grads[root] = grads[root] + seed if root in grads else seed
    if create_graph:
        with enable_grad():
            propagate(grads, create_graph)
    else:
        propagate(grads)
    return grads


def _nodes(given: Node | Iterable[Node], what: str) -> tuple[Node, ...]:
    """One node or several, as a tuple."""
    nodes = (given,) if isinstance(given, Node) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not nodes:
        raise ValueError(f"found an empty list where {what} is needed")
    for node in nodes:
        if not isinstance(node, Node):
            raise TypeError(f"{what} must be a Value, found {type(node).__name__}")
        if node._row is None:
            raise RuntimeError(f"{what} requires no gradient: {node!r} is a constant or was made inside no_grad()")
    return nodes
