"""Rows with any number of operands."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat
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
        pairs = zip(node._x, self.rule(g, *node._used(create_graph)), strict=True)
        return [(n, n._fit(part)) for n, part in pairs if part is not None and n is not None and n._row is not None]


class Each(Row):
    """A row with any number of operands and a separate rule for each, called as `rule(g, *operands)`."""

    def __init__(self, name: str, forward: Callable[..., Any], *rules: Callable[..., Any]):
        super().__init__(name, forward)
        self.rules: Sequence[Callable[..., Any]] = rules


class Closure(Row):
    """The row of a node whose backward is a closure that its user wrote: `out._backward = run`."""

    def __init__(self, name: str, run: Callable[[], object] = lambda: None):
        super().__init__(name, None)
        self.run: Callable[[], object] = run

    def zero(self, _operand: Any) -> Any:
        """What the `.grad` of an operand is while the closure runs, which adds to it."""
        return 0

    def send(self, node: Any, g: Any, create_graph: bool = False) -> Sequence[tuple[Any, Any]]:
        """What the closure adds to the operands' `.grad`; every `.grad` is restored."""
        if create_graph:
            raise self._no_row("create_graph=True", "its _backward was written by hand")
        nodes = [node, *dict.fromkeys(node._x)]
        restored = map(setattr, nodes, repeat("_gradient"), [n._gradient for n in nodes])
        try:
            for n in nodes:
                n._gradient = g if n is node else self.zero(n)
            self.run()
            return [(n, self._added(n, hasattr(g, "_apply"))) for n in nodes[1:] if n._row is not None]
        except BaseException as error:
            error.add_note(f"in the _backward written for '{self.name}'")
            raise
        finally:
            deque(restored, 0)  # one call, in C, which a Ctrl-C cannot interrupt

    def _no_row(self, what: str, why: str) -> RuntimeError:
        return RuntimeError(f"{what} needs the derivative of '{self.name}' as a row: {why}")

    def _added(self, operand: Any, recorded: bool) -> Any:
        if operand._gradient is None:
            raise TypeError("it left None in .grad of an operand, and should add the operand's gradient there")
        return operand._seed(operand._gradient, recorded)


class LocalGrads(Closure):
    """The row of a node whose user computed its local derivatives: each operand gets g times its number."""

    run = None  # type: ignore[assignment]

    def __init__(self, numbers: Sequence[float]):
        Row.__init__(self, "local_grads", None)
        self.numbers: Sequence[float] = numbers

    def send(self, node: Any, g: Any, create_graph: bool = False) -> Sequence[tuple[Any, Any]]:
        """The numbers would be constants in a derivative of the gradient, so that pass is refused."""
        if create_graph or hasattr(g, "_apply"):
            raise self._no_row("create_graph=True" if create_graph else "jvp", "the user gave it as numbers")
        return [(n, g * x) for n, x in zip(node._x, self.numbers, strict=True) if n._row is not None]
