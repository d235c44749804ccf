"""A backward pass for display: the gradient of every node.

The pass is the engine's (`scalars.passes`), with a gradient of 1 at the root. It changes no `.grad`. Hooks run, as in
`grad()`. The gradients that each wire carried are computed a second time, for the nodes that are shown; see
`drawing.carried`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...engine.by_hand import Closure
from ...engine.node import MANY, NOTHING
from ...engine.value import Node
from ...scalars.passes import run_pass
from ...scalars.release import Released
from ...scalars.rows import Many
from ..drawing.carried import same
from ..drawing.data import overwritten


@dataclass
class Backprop:
    """The gradients of a graph's nodes. If there is no backward pass, `missing` says why.

    `replaced` has the nodes whose gradient was replaced by a hook. `then` has the nodes whose data changed after the
    forward pass, with the data of the forward pass.
    """

    grads: dict[Node, Any] = field(default_factory=dict)
    missing: str = ""
    replaced: set[Node] = field(default_factory=set)
    then: dict[Node, Any] = field(default_factory=dict)


def backprop(root: Node, nodes: Sequence[Node]) -> Backprop:
    """The gradients of the root (of its sum, if it is an array) with respect to `nodes`, all nodes of its graph.

    >>> from micrograd import Value
    >>> x = Value(3.0)
    >>> y = x * x
    >>> backprop(y, [x, y]).grads[x], x.grad
    (6.0, 0)
    """
    then = changed_since(nodes)
    if root._row is None:
        return Backprop(missing="Nothing here requires a gradient: only the forward pass is shown.", then=then)
    seed = 1.0 if root._is_number else _ones(root)
    inputs = [node for node in nodes if node.requires_grad]
    # With the operands of a released node among the inputs, the pass raises the error that is shown as `missing`
    inputs += [n for node in inputs if isinstance(node._row, Released) for n in node._operands]
    try:
        grads = run_pass([root], [seed], inputs=inputs)[1]
    except RuntimeError as error:
        return Backprop(missing=f"There is no backward pass to show: {error}", then=then)
    return Backprop(grads, replaced=_replaced(nodes, grads, {root: seed}), then=then)


def _replaced(nodes: Sequence[Node], grads: dict[Node, Any], arrived: dict[Node, Any]) -> set[Node]:
    """The nodes whose gradient differs from the sum of its contributions because a hook replaced it."""
    hooked = {node for node in nodes if node._hooks and node in grads}
    for node in reversed(nodes) if hooked else ():
        if node in grads and not hooked.isdisjoint(node._prev):
            for operand, part in node._row.send(node, grads[node]):
                arrived[operand] = arrived[operand] + part if operand in arrived else part
    return {node for node in hooked if not same(arrived.get(node, 0.0), grads[node])}


def changed_since(nodes: Sequence[Node]) -> dict[Node, Any]:
    """The nodes whose data was changed after an op had read it, as by `opt.step()`, with the data that the op read.

    Data that an op overwrote in place are computed again.
    """
    then = overwritten(nodes)
    for node in nodes:
        for operand, data in _read(node):
            if operand is NOTHING or data is None or data is operand._data or operand in then:
                continue
            if not same(operand._data, data):
                then[operand] = data
    return then


def _read(node: Node) -> Iterable[tuple[Any, Any]]:
    """(operand or node, saved data) for all data that the rules of a node use."""
    row = node._row
    if not row or isinstance(row, Closure | Released) or (isinstance(row, Many) and not row.reads_values):
        return ()
    operands, values = node._operands, node._x if node._a is MANY else (node._x, node._y)
    pairs = [*zip((node, *operands) if row.is_unary else operands, values, strict=False)]
    return pairs if node._is_number else [pairs[i] for i in node._values_used]  # type: ignore[attr-defined]


def _ones(root: Node) -> Any:
    from numpy import ones_like

    return ones_like(root._data)
