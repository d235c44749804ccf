"""A backward pass to look at: every node's gradient, and what each use of a node sent to it.

The pass is the engine's own (`walk.propagate`), from a gradient of 1 at the root. It leaves every `.grad` as it is;
hooks run in it, as they do in `grad()`. What an edge carried is asked of the node once more, for the nodes that are
shown: `contributions` with the node's gradient gives the parts, with a gradient of 1 the local derivatives.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isclose
from typing import Any

from ...engine.graph import Node, contributions
from ...engine.rows import HandWritten, LetGo, Many
from ...engine.walk import propagate, topological


@dataclass
class Backprop:
    """The gradients of a graph's nodes; where there are none, `missing` says why. Hooks gave those of `replaced`.

    `then` is the data of those nodes whose data was changed since, as it was when it was read.
    """

    grads: dict[Node, Any] = field(default_factory=dict)
    missing: str = ""
    replaced: set[Node] = field(default_factory=set)
    then: dict[Node, Any] = field(default_factory=dict)


def backprop(root: Node, nodes: Sequence[Node]) -> Backprop:
    """The gradient of the root (of its sum, if it is an array) by each of the nodes, which are all below it.

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
    grads: dict[Node, Any] = {root: seed}
    try:
        propagate(grads, False, topological([root]), nodes)
    except RuntimeError as error:
        return Backprop(missing=f"There is no backward pass to show: {error}", then=then)
    return Backprop(grads, replaced=_replaced(nodes, grads, {root: seed}), then=then)


def _replaced(nodes: Sequence[Node], grads: dict[Node, Any], arrived: dict[Node, Any]) -> set[Node]:
    """The nodes whose gradient is not the sum of what arrived there, since a hook gave another."""
    hooked = {node for node in nodes if node._hooks and node in grads}
    for node in reversed(nodes) if hooked else ():
        if node in grads and not hooked.isdisjoint(node._prev):
            for operand, part in contributions(node, grads[node]):
                arrived[operand] = arrived[operand] + part if operand in arrived else part
    return {node for node in hooked if not same(arrived.get(node, 0.0), grads[node])}


def same(a: Any, b: Any, rtol: float = 1e-6, atol: float = 0.0) -> bool:
    """Are these the same numbers, up to rounding? The tolerances are those of arrays."""
    if isinstance(b, float | int):
        return a == b or isclose(a, b, rel_tol=1e-9) or (a != a and b != b)
    from numpy import allclose, shape

    return shape(a) == shape(b) and bool(allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def changed_since(nodes: Iterable[Node]) -> dict[Node, Any]:
    """The nodes whose data was changed after an operation had read it, as after `opt.step()`: what was read first.

    What an op in place has written over is computed once more.
    """
    then: dict[Node, Any] = {}
    for node in nodes:
        for operand in () if node._is_number else node._prev:
            if operand._data is node._data and operand._prev and not isinstance(operand._row, HandWritten):
                with node._quiet():
                    then[operand] = operand._row.forward(*[then.get(n, n._data) for n in operand._prev])
        for operand, data in _read(node):
            if operand is None or data is None or data is operand._data or operand in then:
                continue
            if not same(operand._data, data):
                then[operand] = data
    return then


def _read(node: Node) -> Iterable[tuple[Any, Any]]:
    """What the rules of a node use, each with the data of then."""
    row = node._row
    if not row or isinstance(row, HandWritten | LetGo) or (isinstance(row, Many) and not row.keeps):
        return ()
    operands, values = node._operands, (node._x, node._y) if row.to_a and node._is_number else node._y
    pairs = [*zip((node, *operands) if row.of_out else operands, values, strict=False)]
    return pairs if node._is_number else [pairs[i] for i in node._needed]  # type: ignore[attr-defined]


def _ones(root: Node) -> Any:
    from numpy import ones_like

    return ones_like(root._data)


@dataclass
class Sent:
    """What one use of an operand sends it: `local` (the derivative, for numbers alone) times the gradient is `part`."""

    local: Any = None
    part: Any = None


def sent(node: Node, grads: dict[Node, Any]) -> list[Sent]:
    """What a node sends to each of its operands, in their order; nothing to constants, nor where nothing arrived.

    A hand-written closure tells only what it adds to an operand in all: that is entered at the operand's first use.
    What people write need not be a factor times the gradient (it may clip it): then there is no local derivative.
    """
    operands = node._prev
    uses = [Sent() for _ in operands]
    if not node._row or isinstance(node._row, LetGo) or node not in grads:
        return uses
    g = grads[node]
    with node._quiet():
        _enter(uses, operands, "part", contributions(node, g))
        if node._is_number:
            _enter(uses, operands, "local", contributions(node, 1.0))
    if isinstance(node._row, HandWritten | Many):
        for use in uses:
            if use.local is not None and (use.part is None or not same(use.local * g, use.part)):
                use.local = None
    return uses


def _enter(uses: list[Sent], operands: tuple[Node, ...], what: str, pairs: list[tuple[Node, Any]]) -> None:
    """The pairs leave some operands out; those of one operand are in the order of its uses."""
    places: dict[Node, list[int]] = {}
    for i in reversed(range(len(operands))):
        places.setdefault(operands[i], []).append(i)
    for operand, number in pairs:
        setattr(uses[places[operand].pop()], what, number)


def is_hand_written(node: Node) -> bool:
    """Is the node's backward a closure of the user's own?"""
    return isinstance(node._row, HandWritten)


def is_let_go(node: Node) -> bool:
    """Was the node's history let go after a backward pass?"""
    return isinstance(node._row, LetGo)
