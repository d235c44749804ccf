"""The walk: how gradients travel through a graph, from its roots back to its leaves.

    topological   the order                    each node after all that it was made from
    propagate     the rules, in reverse        gradients are summed in a dict that belongs to this pass
    commit        the sums go to `.grad`       all of them or none: a pass that fails leaves no trace

A pass marks nothing on the nodes, so two threads may walk graphs that share them; and nothing recurses, so a chain of
a million nodes is as good as a chain of ten. The order, and so every rounding, depends on the program alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .graph import LetGo, Node, contributions, edges, grads_lock, hooked, run_hooks
from .modes import enable_grad, is_anomaly_enabled


def topological(roots: Iterable[Node]) -> list[Node]:
    """The inner nodes of the graphs below the roots, each after all that it was made from.

    A depth-first search that lists a node when it has left it; the None above a node on the stack says so.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[Node | None] = [root for root in roots if root._row]
    while stack:
        node = stack.pop()
        if node is None:
            order.append(stack.pop())  # type: ignore[arg-type]
            continue
        if node in seen:
            continue
        seen.add(node)
        stack += (node, None)
        if node._row.to_a is None:
            stack += [operand for operand in edges(node) if operand._row]
            continue
        operand = node._a
        if operand is not None and operand._row and operand not in seen:
            stack.append(operand)
        operand = node._b
        if operand is not None and operand._row and operand not in seen:
            stack.append(operand)
    return order


def propagate(grads: dict[Node, Any], create_graph: bool = False) -> None:
    """Carry the gradients of some roots, given in `grads`, back to all that they depend on, and add them there.

    Its second half does for ordinary nodes of numbers what the first does for all: written out, it takes a third.
    """
    watched = {node for node in hooked.copy() if node._hooks}
    careful = create_graph or is_anomaly_enabled() or not all(root._is_number for root in grads)

    for node in reversed(topological(grads)):
        if watched and node in watched:
            grads[node] = run_hooks(node, grads[node])
        g, row = grads[node], node._row
        if careful or row.to_a is None:
            for operand, part in contributions(node, g, create_graph):
                grads[operand] = grads[operand] + part if operand in grads else part
            continue

        x, y = node._x, node._y
        operand = node._a
        if operand is not None and operand._row is not None:
            try:
                part = row.to_a(g, x, y)
            except ArithmeticError:
                part = node._ieee(row.to_a, g, x, y)
            grads[operand] = grads[operand] + part if operand in grads else part
        operand = node._b
        if operand is not None and operand._row is not None:
            try:
                part = row.to_b(g, x, y)
            except ArithmeticError:
                part = node._ieee(row.to_b, g, x, y)
            grads[operand] = grads[operand] + part if operand in grads else part

    for leaf in watched & grads.keys():
        if not leaf._row:
            grads[leaf] = run_hooks(leaf, grads[leaf])


def commit(grads: dict[Node, Any]) -> None:
    """Add to the leaves' grads, and set the inner nodes': all or, if anything is raised (Ctrl-C too), none."""
    with grads_lock:
        before = [node.grad for node in grads]
        try:
            for node, g in grads.items():
                node.grad = g if node._row or node.grad is None else node.grad + g
        except BaseException:
            for node, grad in zip(grads, before, strict=True):
                node.grad = grad
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
    for node in topological(roots):
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
