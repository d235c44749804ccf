"""What a graph becomes that is released after a backward pass: a row that refuses to send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine.rows import Row


class Released(Row):
    """The row of a released node. To a search it stands for the node: its operands are those that required a gradient.

    So a search can still tell which leaves the node depended on, and the node itself may be freed.
    """

    to_a = to_b = _gradient = _a = _b = _sum = None
    rules: Sequence[Any] = ()
    of_out = False
    _is_number = _retains_grad = False
    _hooks: dict[Any, Any] = {}

    def __init__(self, row: Row, operands: tuple[Any, ...]):
        self.name: str = row.name
        self.word: str = row.word
        self._x = operands

    _row: Any = property(lambda self: self)
    _operands: Any = property(lambda self: self._x)

    def send(self, node: Any, g: Any, create_graph: bool = False) -> Sequence[tuple[Any, Any]]:
        raise released_error(self)


def released_error(row: Row) -> RuntimeError:
    """The error for a pass through a node whose graph was released."""
    return RuntimeError(
        f"the graph behind '{row.name}' was released by an earlier backward pass: pass retain_graph=True to that one; "
        "in a training loop, compute the loss again in each step"
    )


def release(node: Any) -> None:
    """Release a node's history and saved values."""
    row = node._row
    if row and row.__class__ is not Released:
        below = node._operands
        below = [n._row if n._row.__class__ is Released else n for n in below if n is not None and n._row is not None]
        node._x = tuple(below)
        node._row = Released(row, node._x)
        node._forget()
        if node._made_by:
            node._made_by = ()
