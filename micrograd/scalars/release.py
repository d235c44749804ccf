"""What a graph becomes that is released after a backward pass: a row that refuses to send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine.node import MANY
from ..engine.rows import Row, general_step


class Released(Row):
    """The row of a released node.

    A search may meet this row instead of its node, so it has a node's attributes; its operands are those of the
    node that required a gradient. So a search can still tell which leaves the node depended on, and the node itself may
    be freed.
    """

    released = True
    backward: Any = staticmethod(general_step)
    to_a = to_b = _gradient = None
    rules: Sequence[Any] = ()
    is_unary = False
    _a, _sum = MANY, 0.0
    _is_number = _retains_grad = False
    _hooks: dict[Any, Any] = {}

    def __init__(self, row: Row, operands: tuple[Any, ...]):
        self.name: str = row.name
        self.word: str = row.word
        self._b = operands

    _row: Any = property(lambda self: self)
    _operands: Any = property(lambda self: self._b)

    def send(self, node: Any, g: Any, create_graph: bool = False) -> Sequence[tuple[Any, Any]]:
        raise released_error(self)


def released_error(row: Row) -> RuntimeError:
    """The error for a pass through a node whose graph was released."""
    return RuntimeError(
        f"the graph behind '{row.name}' was released by an earlier backward pass: pass retain_graph=True to that one; "
        "in a training loop, compute the loss again in each step"
    )


def release(*nodes: Any) -> None:
    """Release the history and the saved values of nodes, each of which comes after its operands."""
    for node in nodes:
        row = node._row
        if row and not row.released:
            below = [n._row if n._row.released else n for n in node._operands if n._row is not None]
            node._a, node._b = MANY, tuple(below)
            node._row = Released(row, node._b)
            node._drop_saved()
            if node._made_by:
                node._made_by = ()
