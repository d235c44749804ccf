"""The walk: how gradients travel through a graph, from its roots back to its leaves.

    topological   the order                    each node after all that it was made from
    propagate     the rules, in reverse        gradients are summed in a dict that belongs to this pass
    commit        the sums go to `.grad`       all of them or none: a pass that fails leaves no trace

A pass marks nothing on the nodes, so two threads may walk graphs that share them; and nothing recurses, so a chain of
a million nodes is as good as a chain of ten. The order, and so every rounding, depends on the program alone.

Graphs of plain Values, which need none of the care, take the short way of `scalar_walk.py`: the same pass, faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from . import scalar_walk
from .graph import Node, added, contributions, edges, grads_lock, hooked, run_hooks, undo
from .modes import enable_grad, is_anomaly_enabled, modes, stand_in


def topological(roots: Iterable[Node]) -> list[Node]:
    """The inner nodes of the graphs below the roots, each after all that it was made from.

    A depth-first search. A node that is met waits, with None above it, for those that it was made from; when the None
    is met, they have all been listed.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    waiting: list[Any] = [root for root in roots if root._row][::-1]
    while waiting:
        node = waiting.pop()
        if node is None:
            order.append(waiting.pop())
        elif node not in seen:
            seen.add(node)
            waiting += (node, None)
            for below in reversed(node._operands):
                if below is not None and below._row:
                    waiting.append(below)
    return order


def propagate(grads: dict[Node, Any], create_graph: bool, inputs: Sequence[Node] | None = None) -> list[Node]:
    """Carry the gradients of some roots, given in `grads`, back to all that they depend on, and add them there.

    If there are `inputs`, nodes that lead to none of them are left out. Returns the nodes gone through.
    """
    order = topological(grads)
    if inputs is not None:
        order = _towards(inputs, order)
    watched = {node for ref in hooked.copy() if (node := ref()) is not None} if hooked else ()
    checking = modes and is_anomaly_enabled()
    wanted = set(inputs or ())
    summed: set[Node] = set()
    with next(iter(grads))._quiet():
        for node in reversed(order):
            g = grads.pop(node, None)
            if g is None:
                continue  # a `Function` gave None for it
            if watched and node in watched:
                g = run_hooks(node, g)
            if node._keeps_grad or node in wanted:
                grads[node] = g
            for operand, part in contributions(node, g, create_graph):
                if checking and _is_nan(part):
                    raise RuntimeError(
                        f"the backward of '{node._op}' made a nan for its operand {operand!r}; "
                        f"it stands in {node._made_at}"
                    )
                if operand in grads:
                    grads[operand] = operand._plus(grads[operand], part, operand in summed)
                    summed.add(operand)
                else:
                    grads[operand] = part
    for leaf in [node for node in grads if node in watched and not node._row]:
        grads[leaf] = run_hooks(leaf, grads[leaf])
    return order


def _towards(inputs: Sequence[Node], order: list[Node]) -> list[Node]:
    """The nodes of the order through which one comes to an input."""
    known = set(inputs)
    through = []
    for node in order:
        if any(operand in known for operand in edges(node)):
            known.add(node)
            through.append(node)
    return through


def _is_nan(part: Any) -> bool:
    data = part._data if isinstance(part, Node) else part
    unequal = data != data
    return unequal if isinstance(unequal, bool) else unequal.any()


def commit(grads: dict[Node, Any]) -> None:
    """Add to the grads of leaves and Tensors, set those of inner Values: all or, if anything is raised, none."""
    with grads_lock:
        before = [node.grad for node in grads]
        try:
            for node, g in grads.items():
                node.grad = g if node._row and node._is_number else added(node, g)
        except BaseException:
            undo(list(grads), before)
            raise


# ---------------------------------------------------------------------------------------------------------------------
# The two ways to ask for gradients


def backward(
    roots: Any,
    gradients: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
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
    targets = None if inputs is None else _nodes(inputs, "an input")
    grads = _seeds(roots, gradients, create_graph)
    order = None
    if targets is not None or not _is_plain(roots, create_graph) or not scalar_walk.backward(grads):
        with enable_grad() if create_graph else nullcontext():
            order = propagate(grads, create_graph, targets)
            commit(roots[0]._kept(grads, targets))
    let_go(roots, order, retain_graph, create_graph)


def grad(
    outputs: Any,
    inputs: Any,
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
    grads = _seeds(outputs, grad_outputs, create_graph)
    order = None
    if not _is_plain(outputs, create_graph) or not scalar_walk.gradients(grads, inputs):
        with enable_grad() if create_graph else nullcontext():
            order = propagate(grads, create_graph, inputs)
    for i, node in enumerate(inputs):
        if node not in grads and not allow_unused:
            raise RuntimeError(
                f"input {i} has no gradient: no output depends on it; allow_unused=True gives None for such inputs"
            )
    let_go(outputs, order, retain_graph, create_graph)
    kept = outputs[0]._kept(grads, inputs)
    result: list[Any] = []
    for node in inputs:
        g, again = kept.get(node), node in inputs[: len(result)]
        result.append(g.copy() if again and hasattr(g, "copy") else g)  # no two results are one array
    return tuple(result)


def let_go(roots: Sequence[Node], order: list[Node] | None, retain_graph: bool | None, create_graph: bool) -> None:
    """Forget how the inner nodes of these graphs were made, if asked to, or if that is the habit of their kind."""
    if retain_graph is None:
        retain_graph = create_graph or roots[0]._is_number
    if not retain_graph:
        for node in topological(roots) if order is None else order:
            node._let_go()


def _is_plain(roots: Sequence[Node], create_graph: bool) -> bool:
    """May the pass take the short way of `scalar_walk`?"""
    return roots[0]._is_number and not (create_graph or hooked or modes)


def _seeds(roots: Sequence[Node], gradients: Any, create_graph: bool) -> dict[Node, Any]:
    """The gradients at the roots, from which a pass starts."""
    if gradients is None and len(roots) == 1:
        return {roots[0]: roots[0]._seed(None, create_graph)}
    if gradients is None or (len(roots) == 1 and not isinstance(gradients, (list, tuple))):
        gradients = [gradients] * len(roots)
    if not isinstance(gradients, (list, tuple)) or len(gradients) != len(roots):
        found = f"{len(gradients)} of them" if isinstance(gradients, (list, tuple)) else type(gradients).__name__
        raise ValueError(f"{len(roots)} roots need a list of {len(roots)} gradients, one each or None; found {found}")
    grads: dict[Node, Any] = {}
    for root, gradient in zip(roots, gradients, strict=True):
        seed = root._seed(gradient, create_graph)
        grads[root] = root._plus(grads[root], seed) if root in grads else seed
    return grads


def _nodes(given: Any, what: str) -> tuple[Node, ...]:
    """One node or several, as a tuple."""
    single = isinstance(given, Node) or hasattr(given, "_node") or not isinstance(given, Iterable)
    nodes: tuple[Any, ...] = (given,) if single else tuple(given)  # type: ignore[arg-type]
    if modes or not single or not isinstance(given, Node):  # else it is one Value, and there is nothing to ask
        nodes = tuple([getattr(x, "_node", x) for x in map(stand_in, nodes)])
    if not nodes:
        raise ValueError(f"found an empty list where {what} is needed")
    for node in nodes:
        if not isinstance(node, Node):
            raise TypeError(f"{what} must be a Value or a Tensor, found {type(node).__name__}")
        if node._row is None:
            raise RuntimeError(f"{what} requires no gradient: {node!r} is a constant or was made inside no_grad()")
    if len(nodes) > 1 and len({node._is_number for node in nodes}) > 1:
        raise TypeError("found Values and Tensors together: a pass is over one kind or the other")
    return nodes
