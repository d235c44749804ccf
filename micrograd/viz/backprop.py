"""A backward pass to look at: every node's gradient, and what each use of a node sent to it.

The pass is the engine's own (`walk.propagate`), from a gradient of 1 at the root. It leaves every `.grad` as it is;
hooks run in it, as they do in `grad()`. What an edge carried is asked of the node once more, for the nodes that are
shown: `contributions` with the node's gradient gives the parts, with a gradient of 1 the local derivatives.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph import Node, contributions
from ..rows import HandWritten, LetGo
from ..walk import propagate


@dataclass
class Backprop:
    """The gradients of a graph's nodes; where there are none, `missing` says why."""

    grads: dict[Node, Any] = field(default_factory=dict)
    missing: str = ""


def backprop(root: Node, nodes: Sequence[Node]) -> Backprop:
    """The gradient of the root (of its sum, if it is an array) by each of the nodes, which are all below it.

    >>> from micrograd import Value
    >>> x = Value(3.0)
    >>> y = x * x
    >>> backprop(y, [x, y]).grads[x], x.grad
    (6.0, 0)
    """
    if root._row is None:
        return Backprop(missing="Nothing here requires a gradient: only the forward pass is shown.")
    grads: dict[Node, Any] = {root: 1.0 if root._is_number else _ones(root)}
    try:
        propagate(grads, False, None if root._is_number else [node for node in nodes if node._row is not None])
    except RuntimeError as error:
        return Backprop(missing=f"There is no backward pass to show: {error}")
    return Backprop(grads)


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
    """
    operands = node._prev
    uses = [Sent() for _ in operands]
    if not node._row or isinstance(node._row, LetGo) or node not in grads:
        return uses
    _enter(uses, operands, "part", contributions(node, grads[node]))
    if node._is_number:
        _enter(uses, operands, "local", contributions(node, 1.0))
    return uses


def _enter(uses: list[Sent], operands: tuple[Node, ...], what: str, pairs: list[tuple[Node, Any]]) -> None:
    """Both lists are in the order of the operands; the pairs leave some out."""
    place = 0
    for operand, number in pairs:
        while operands[place] is not operand:
            place += 1
        setattr(uses[place], what, number)
        place += 1


def is_hand_written(node: Node) -> bool:
    """Is the node's backward a closure of the user's own?"""
    return isinstance(node._row, HandWritten)


def is_let_go(node: Node) -> bool:
    """Was the node's history let go after a backward pass?"""
    return isinstance(node._row, LetGo)
