"""The walk: propagating gradients through a graph, from its roots back to its leaves.

    topological   the order                    each node after its operands
    towards       the order, to some inputs    without the nodes that lead to none of them
    propagate     the rules, in reverse        gradients are summed in a dict local to the pass
    commit        the sums go to `.grad`       all or nothing: a pass that fails changes no `.grad`

The passes of this file keep no state on the nodes (except `_known_in`, see `towards`), so threads may walk graphs that
share nodes. Nothing recurses, so deep graphs do not overflow the stack. The order, and with it the rounding, depends
only on the program.

A graph of plain Values takes the fast path in `scalar_walk.py`, which does keep its sums on the nodes, under a lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from . import scalar_walk
from .graph import Node, added, contributions, grads_lock, hooked_nodes, is_node, node_of, run_hooks, undo, was_let_go
from .modes import enable_grad, is_anomaly_enabled, is_tracing, modes, pass_is_watched, stand_in
from .rows import LetGo


def topological(roots: Iterable[Node]) -> list[Node]:
    """The inner nodes below the roots, in topological order: each after its operands.

    An iterative depth-first search. A visited node is pushed back with a None on top; its operands go above that, so
    when the None is popped, they have all been listed.
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


def towards(
    roots: Iterable[Node], inputs: Iterable[Node], scopes: tuple[object, ...] = (), beyond: bool = True
) -> tuple[list[Node], set[Any]]:
    """The inner nodes on a path from the roots to an input, and the nodes that lead to other leaves.

    Args:
        roots: where the search starts.
        inputs: leaves or inner nodes.
        scopes: where the search runs, innermost first (see `modes.differentiating`). A node that an earlier search in
            one of them found to lead elsewhere is older than the inputs, and is skipped: many searches of one large
            graph traverse it once. A scope ends with its transform, after which its inputs are no leaves.
        beyond: whether to search below an input for the others.

    Returns:
        The nodes on the paths in topological order, and the set of nodes that lead to a leaf other than the inputs.

    Raises:
        RuntimeError: a path goes through a graph that an earlier pass released.
    """
    inputs = set(inputs)
    leads: set[Any] = inputs | {node._row for node in inputs if isinstance(node._row, LetGo)}
    others: set[Any] = set()
    order: list[Node] = []
    seen: set[Any] = set()
    waiting: list[Any] = []

    def meet(nodes: Iterable[Any]) -> None:
        for node in nodes:
            if node is not None and (row := node._row) is not None:
                if row and node._known_in not in scopes:
                    waiting.append(node)
                elif node not in leads:
                    others.add(node)

    meet(roots)
    while waiting:
        node = waiting.pop()
        if node is None:
            node = waiting.pop()
            below, gone = _below(node), node._row.__class__ is LetGo
            if not leads.isdisjoint(below):
                if gone:
                    raise was_let_go(node._row)
                leads.add(node)
                order.append(node)
            if gone or not others.isdisjoint(below):
                others.add(node)
        elif node not in seen and (beyond or node not in inputs):
            seen.add(node)
            waiting += (node, None)
            meet(reversed(_below(node)))
    if scopes:
        for node in others - leads:
            if node._row and not isinstance(node._row, LetGo):
                node._known_in = scopes[0]
    return order, others


def _below(node: Any) -> Sequence[Any]:
    """A node's operands; of a released node, the `ways` of its row."""
    row = node._row
    return row.ways if row.__class__ is LetGo else node._operands


def propagate(grads: dict[Node, Any], create_graph: bool, order: Sequence[Node], wanted: Iterable[Node] = ()) -> None:
    """Propagate the gradients of the roots back through the nodes of the order.

    `grads` maps the roots to their gradients, and is updated in place: afterwards it has the gradients of the leaves,
    of the nodes with `_retains_grad`, and of those in `wanted`. Under `create_graph` they are recorded.
    """
    watched = hooked_nodes()
    checking = is_anomaly_enabled()
    wanted = set(wanted)
    summed: set[Node] = set()
    with enable_grad() if create_graph else nullcontext(), next(iter(grads))._quiet():
        for node in reversed(order):
            g = grads.pop(node, None)
            if g is None:
                continue  # no gradient reached it, such as when a `Function` returned None
            if watched and node in watched:
                watched.remove(node)
                g = run_hooks(node, g)
            if node._retains_grad or node in wanted:
                grads[node] = g
            for operand, part in contributions(node, g, create_graph):
                if checking and _is_nan(part):
                    raise RuntimeError(
                        f"the backward of '{node._op}' produced a nan for its operand {operand!r}; "
                        f"it was created at {node._made_at}"
                    )
                if operand in grads:
                    grads[operand] = operand._plus(grads[operand], part, operand in summed)
                    summed.add(operand)
                else:
                    grads[operand] = part
    for node in [node for node in grads if node in watched]:
        grads[node] = run_hooks(node, grads[node])


def _is_nan(part: Any) -> bool:
    data = part._data if isinstance(part, Node) else part
    unequal = data != data
    return unequal if isinstance(unequal, bool) else unequal.any()


def commit(grads: dict[Node, Any]) -> None:
    """Write a pass's gradients to `.grad`: added for leaves and Tensors, set for inner Values. All or nothing."""
    with grads_lock:
        before = [node.grad for node in grads]
        try:
            for node, g in grads.items():
                node.grad = g if node._row and node._is_number else added(node, g)
        except BaseException:
            undo(list(grads), before)
            raise


# ---------------------------------------------------------------------------------------------------------------------
# The public functions, and what the transforms and the compiler use


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate the gradients of the roots into `.grad` of every leaf that they depend on.

    Args:
        tensors: the roots: one Value or Tensor, or a list of one kind.
        grad_tensors: the gradients at the roots, in the same order, each of its root's shape; None is 1, which for a
            Tensor needs a single element.
        retain_graph: whether to keep the graph for another pass. By default the graph of Values is kept, and that of
            Tensors released unless `create_graph`.
        create_graph: make the gradients nodes, which can be differentiated again.
        inputs: the nodes to compute gradients for, instead of all leaves.

    Raises:
        RuntimeError: a root or an input is a constant, or an earlier pass released the graph.
        TypeError: a root or an input is not a node, or Values and Tensors are mixed.
        ValueError: a gradient does not have its root's shape, or there is not one for each root.

    If a pass raises, no `.grad` has changed.

    >>> from micrograd import Value, backward
    >>> x = Value(3.0)
    >>> backward([x * 2, x * x], grad_tensors=[1.0, 10.0])
    >>> x.grad
    62.0
    """
    roots = _nodes(tensors, "a root")
    targets = None if inputs is None else _nodes(inputs, "an input")
    grads = _seeds(roots, grad_tensors, create_graph)
    order = None
    if targets is not None or not _is_plain(roots, create_graph) or not scalar_walk.backward(grads):
        order = topological(roots) if targets is None else towards(roots, targets)[0]
        propagate(grads, create_graph, order, targets or ())
        with enable_grad() if create_graph else nullcontext():
            commit(roots[0]._for_grad(grads, targets))
    let_go(roots, order, retain_graph, create_graph)
    for root in roots:
        if not root._row:
            root._backward()  # a no-op, unless the user assigned a closure to the leaf


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the sum of the outputs with respect to each input. No `.grad` changes.

    Args:
        outputs: one Value or Tensor, or a list of one kind.
        inputs: one node or a list: leaves or inner nodes.
        grad_outputs: the gradients at the outputs, as `grad_tensors` of `backward`.
        retain_graph, create_graph: as in `backward`.
        allow_unused: return None for an input that no output depends on, instead of raising.

    Returns:
        A tuple with one gradient per input: a float for a Value, an array of its shape and dtype for a Tensor; a node
        of the same kind under `create_graph`.

    Raises:
        RuntimeError: an output or an input is a constant, an input is unused, or an earlier pass released the graph.
        TypeError: an output or an input is not a node, or Values and Tensors are mixed.

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
        order = towards(outputs, inputs)[0]
        propagate(grads, create_graph, order, inputs)
    for i, node in enumerate(inputs):
        if node not in grads and not allow_unused:
            raise RuntimeError(
                f"input {i} has no gradient: no output depends on it; allow_unused=True gives None for such inputs"
            )
    let_go(outputs, order, retain_graph, create_graph)
    found, given, result = outputs[0]._for_grad(grads, inputs), set(), []
    for node in inputs:
        g = found.get(node)
        result.append(g.copy() if node in given and hasattr(g, "copy") else g)  # no two results are one array
        given.add(node)
    return tuple(result)


def partials(output: Any, inputs: Sequence[Node], g: Any = None, create_graph: bool = False) -> tuple[Any, ...]:
    """The gradients of an output with respect to inputs treated as independent, even if one was computed from another.

    None for an input that the output does not depend on.
    """
    grads = seeded(output, g, create_graph) if output.requires_grad else {}
    if grads:
        propagate(grads, create_graph, towards([*grads], inputs, beyond=False)[0], inputs)
    return tuple([grads.get(node) for node in inputs])


def seeded(outputs: Any, grad_outputs: Any, create_graph: bool) -> dict[Node, Any]:
    """The gradients at the outputs, checked, as a pass starts from them."""
    return _seeds(_nodes(outputs, "an output"), grad_outputs, create_graph)


def short_cut(grads: dict[Node, Any], inputs: Sequence[Node]) -> bool:
    """Propagate the gradients to the inputs by `scalar_walk`. Returns False, having done nothing, if it cannot."""
    return _is_plain([*grads], False) and scalar_walk.gradients(grads, inputs)


def let_go(roots: Sequence[Node], order: list[Node] | None, retain_graph: bool | None, create_graph: bool) -> None:
    """Release the graphs below the roots, unless they are to be retained; see `backward` for the default."""
    if retain_graph is None:
        retain_graph = create_graph or roots[0]._is_number
    if not retain_graph:
        order = topological(roots) if order is None else order
        if any(node._saves for node in order):
            for node in order:
                node._let_go()


def _is_plain(roots: Sequence[Node], create_graph: bool) -> bool:
    """True if the fast scalar path may be tried."""
    return roots[0]._is_number and not (create_graph or (modes and pass_is_watched()))


def _seeds(roots: Sequence[Node], gradients: Any, create_graph: bool) -> dict[Node, Any]:
    """The gradients at the roots, checked; those of a root that is listed twice are summed."""
    if gradients is None and len(roots) == 1:
        return {roots[0]: roots[0]._seed(None, create_graph)}
    if gradients is None or (len(roots) == 1 and not isinstance(gradients, (list, tuple))):
        gradients = [gradients] * len(roots)
    if not isinstance(gradients, (list, tuple)) or len(gradients) != len(roots):
        found = f"{len(gradients)} of them" if isinstance(gradients, (list, tuple)) else type(gradients).__name__
        raise ValueError(f"{len(roots)} roots need a list of {len(roots)} gradients, one each or None; found {found}")
    grads: dict[Node, Any] = {}
    for root, gradient in zip(roots, gradients, strict=True):
        seed = root._seed(stand_in(gradient), create_graph)
        grads[root] = root._plus(grads[root], seed) if root in grads else seed
    return grads


def _nodes(given: Any, what: str) -> tuple[Node, ...]:
    """The nodes of one Value or Tensor, or of several, as a tuple; checked."""
    single = is_node(given) or not isinstance(given, Iterable)
    nodes: tuple[Any, ...] = (given,) if single else tuple(given)  # type: ignore[arg-type]
    if modes or not single or not isinstance(given, Node):  # else it is a single Value: nothing to convert
        nodes = tuple([node_of(stand_in(x)) for x in nodes])
    if not nodes:
        raise ValueError(f"found an empty list where {what} is needed")
    for node in nodes:
        if not isinstance(node, Node):
            raise TypeError(f"{what} must be a Value or a Tensor, found {type(node).__name__}")
        if node._row is None:
            raise RuntimeError(f"{what} requires no gradient: {node!r} is a constant or was made inside no_grad()")
    if len(nodes) > 1 and len({node._is_number for node in nodes}) > 1 and not is_tracing():
        raise TypeError("found Values and Tensors together: a pass is over one kind or the other")
    return nodes
