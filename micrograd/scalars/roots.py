"""`backward` and `grad` as users call them: from one root or several, to all leaves or to given inputs; checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..engine.modes import listener
from ..engine.value import Node
from ..engine.walk import run
from .kinds import is_node, is_tracing, node_of, traced
from .passes import run_pass
from .release import release


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate the gradients of the roots into `.grad` of every leaf that they depend on.

    Use it for several results at once. For one loss, `loss.backward()` is shorter. Call `zero_grad()` before the next
    step, since gradients add up.

    Args:
        tensors: the roots, as one Value or Tensor, or a list of one kind.
        grad_tensors: the gradients at the roots, in the same order, each of its root's shape. None is 1, which for a
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
    seeds = checked_gradients(roots, grad_tensors, create_graph)
    listener().backward()
    if targets is None:
        with roots[0]._numpy_warnings_off():
            order = run(roots, seeds, create_graph)
    else:
        order, _ = run_pass(roots, seeds, create_graph, targets, store=True)
    _release(roots, order, retain_graph, create_graph)
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

    Use it for the derivative of a result that is computed already, such as a second derivative.

    Args:
        outputs: one Value or Tensor, or a list of one kind.
        inputs: one node or a list, leaves or inner nodes.
        grad_outputs: the gradients at the outputs, as `grad_tensors` of `backward`.
        retain_graph, create_graph: as in `backward`.
        allow_unused: return None for an input that no output depends on, instead of raising.

    Returns:
        A tuple with one gradient per input, a float for a Value and an array of its shape and dtype for a Tensor. Under
        `create_graph` each is a node of the same kind.

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
    seeds = checked_gradients(outputs, grad_outputs, create_graph)
    order, found = run_pass(outputs, seeds, create_graph, inputs)
    for i, node in enumerate(inputs):
        if node not in found and not allow_unused:
            raise RuntimeError(
                f"input {i} has no gradient: no output depends on it; allow_unused=True gives None for such inputs"
            )
    _release(outputs, order, retain_graph, create_graph)
    listener().asked(inputs)
    taken: set[int] = set()
    return tuple([node._unshared(found[node], taken) if node in found else None for node in inputs])


def checked_gradients(roots: Sequence[Node], gradients: Any, create_graph: bool) -> list[Any]:
    """The gradients at the roots, checked."""
    if gradients is None or (len(roots) == 1 and not isinstance(gradients, (list, tuple))):
        gradients = [gradients] * len(roots)
    if not isinstance(gradients, (list, tuple)) or len(gradients) != len(roots):
        found = f"{len(gradients)} of them" if isinstance(gradients, (list, tuple)) else type(gradients).__name__
        raise ValueError(f"{len(roots)} roots need a list of {len(roots)} gradients, one each or None; found {found}")
    return [root._seed(traced(gradient), create_graph) for root, gradient in zip(roots, gradients, strict=True)]


def _nodes(given: Any, what: str) -> tuple[Any, ...]:
    """The nodes of one Value or Tensor, or of several, as a tuple; checked."""
    single = is_node(given) or not isinstance(given, Iterable)
    nodes = [node_of(traced(x)) for x in ((given,) if single else given)]
    if not nodes:
        raise ValueError(f"{what} is needed, and the list is empty")
    for node in nodes:
        if not isinstance(node, Node):
            raise TypeError(f"{what} must be a Value or a Tensor, found {type(node).__name__}")
    if constants := [node for node in nodes if node._row is None]:
        kind = "Value" if nodes[0]._is_number else "Tensor"
        why = f"{constants[0]!r} is a constant or was made inside no_grad()"
        if constants == nodes and what != "an input":
            raise RuntimeError(f"nothing to differentiate: no {kind} in this computation has requires_grad=True: {why}")
        raise RuntimeError(f"{what} requires no gradient: {why}")
    if len(nodes) > 1 and len({node._is_number for node in nodes}) > 1 and not is_tracing():
        raise TypeError("found Values and Tensors together: one pass takes Values or Tensors, not both")
    return tuple(nodes)


def _release(roots: Sequence[Node], order: Sequence[Any], retain_graph: bool | None, create_graph: bool) -> None:
    """Release the graph, unless it is to be retained; see `backward` for the default."""
    if retain_graph is None:
        retain_graph = create_graph or roots[0]._is_number
    if not retain_graph and any(node._row and node._saves for node in order):
        release(*order)
