"""Ops that users write, as in the classic: `out = Value(data, (a, b), "op")`, and `out._backward = f`, a closure.

The row of such a node is a `Closure`. What the closure adds to the operands' `.grad` is what the node sends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from .modes import is_grad_enabled
from .node import Node
from .rows import Row

SUSPENDED = 0x20 | 0x80 | 0x200  # flags of the code of a function with `yield` or `async def`, as in `inspect`


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
            why = "its _backward was written by hand"
            raise RuntimeError(f"create_graph=True needs the derivative of '{self.name}' as a row: {why}")
        nodes = [node, *dict.fromkeys(node._operands)]
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

    def _added(self, operand: Any, recorded: bool) -> Any:
        if operand._gradient is None:
            raise TypeError("it left None in .grad of an operand, and should add the operand's gradient there")
        return operand._seed(operand._gradient, recorded)


def record_by_hand(node: Any, children: Any, name: str, requires_grad: bool) -> None:
    """Make a new leaf the result of a hand-written op; TypeError if the children are not nodes."""
    if not (isinstance(children, (tuple, list, set, frozenset)) and all(isinstance(n, Node) for n in children)):
        raise TypeError(
            f"the operands of a Value are a tuple of Values, and its name is label=; found {children!r:.80}"
        )
    node._row = None
    if requires_grad and is_grad_enabled() and any(n.requires_grad for n in children):
        node._record(Closure(name), tuple(children), None)


def backward_of(node: Any) -> Callable[[], object]:
    """`node._backward`: a closure that adds what the node sends, given its `.grad`, to its operands' `.grad`."""
    row = node._row
    if not row:
        return node._own_backward
    if isinstance(row, Closure):
        return row.run
    then = node._as_now()  # a copy, since a closure that replaces this one may still call it

    def accumulate() -> None:
        taken = {id(node._gradient)}
        for operand, part in then._row.send(then, node._gradient):
            operand._gradient = operand._plus(operand._gradient, part, taken)

    return accumulate


def set_backward(node: Any, closure: Any) -> None:
    """`node._backward = closure`: the closure runs in place of the rules of the node's row."""
    if not callable(closure):
        raise TypeError(f"_backward is a function without arguments, found {type(closure).__name__}")
    if getattr(getattr(closure, "__code__", None), "co_flags", 0) & SUSPENDED:
        raise TypeError("_backward is a function that runs when it is called, found one with `yield` or `async def`")
    if not node._row:
        node._own_backward = closure
    elif node._row.released:
        node._row.send(node, 0.0)  # raises, and says why
    else:
        node._record(Closure(node._op, closure), node._prev, None)
