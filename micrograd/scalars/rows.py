"""Rows with any number of operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..engine.rows import Row


def nothing(*_: object) -> None:
    """The forward function of a row that is computed elsewhere."""


class Many(Row):
    """A row with any number of operands: `rule(g, *operands)` returns a list of gradients, some of them None."""

    def __init__(self, name: str, forward: Callable[..., Any], rule: Callable[..., Any], **notes: Any):
        super().__init__(name, forward, **notes)
        self.rule: Callable[..., Any] = rule

    def send(self, node: Any, g: Any, create_graph: bool = False) -> Sequence[tuple[Any, Any]]:
        pairs = zip(node._operands, self.rule(g, *node._rule_arguments(create_graph)), strict=True)
        return [(n, n._cast_gradient(part)) for n, part in pairs if part is not None and n._row is not None]


class Each(Row):
    """A row with any number of operands and a separate rule for each, called as `rule(g, *operands)`."""

    def __init__(self, name: str, forward: Callable[..., Any], *rules: Callable[..., Any]):
        super().__init__(name, forward)
        self.rules: Sequence[Callable[..., Any]] = rules
