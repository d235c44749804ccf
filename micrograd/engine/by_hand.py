"""Ops that users write, as in the classic: `out = Value(data, (a, b), "op")`, and `out._backward = f`, a closure.

The row of such a node is a `Closure`. What the closure adds to the operands' `.grad` is what the node sends. In
`out = Value(data, (a, b), (da, db))`, as in microgpt, the third argument has the local derivatives as numbers, and the
row is a `LocalGrads`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from .modes import is_grad_enabled, is_suspended
from .node import Node
from .recording import number
from .rows import Row


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
        nodes = [node, *dict.fromkeys(node._operands)]
        restored = map(setattr, nodes, repeat("_gradient"), [n._gradient for n in nodes])  # runs in `finally`
        try:
            for n in nodes:
                n._gradient = g if n is node else self.zero(n)
            self.run()
            recorded = hasattr(g, "_apply")  # g is a node
            return [(n, self._added(n, recorded)) for n in nodes[1:] if n._row is not None]
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

    run: Any = None

    def __init__(self, numbers: Sequence[float]):
        Row.__init__(self, "local_grads", None)
        self.numbers: Sequence[float] = numbers

    def send(self, node: Any, g: Any, create_graph: bool = False) -> Sequence[tuple[Any, Any]]:
        """The numbers would be constants in a derivative of the gradient, so that pass is refused."""
        if create_graph or hasattr(g, "_apply"):  # g is a node, as in a derivative of the gradient
            raise self._no_row("create_graph=True" if create_graph else "jvp", "the user gave it as numbers")
        return [(n, g * x) for n, x in zip(node._operands, self.numbers, strict=True) if n._row is not None]


def record_by_hand(
    node: Any, operands: Any, op: Any, requires_grad: bool, children: Any = (), local_grads: Any = (), **unknown: Any
) -> None:
    """Make a new leaf the result of a hand-written op, whose name or whose local derivatives are `op`."""
    if unknown:
        raise _unknown_keyword(*unknown)
    operands = operands or children
    named = op is None or isinstance(op, str)
    local = local_grads if named else op
    if operands == () and not local:
        return  # a leaf, which may have the name of an op
    nodes = _checked_operands(operands)
    row = Closure(op or "") if named and not local else LocalGrads(_checked_numbers(local, operands))
    node._row = None
    if requires_grad and is_grad_enabled() and any(n.requires_grad for n in nodes):
        node._record(row, nodes, None)


def _checked_operands(children: Any) -> tuple[Node, ...]:
    """The operands of a hand-written op, as a tuple; TypeError if they are not nodes."""
    if isinstance(children, (tuple, list, set, frozenset)) and all(isinstance(n, Node) for n in children):
        return tuple(children)
    raise TypeError(f"the operands of a Value are a tuple of Values, and its name is label=; found {children!r:.80}")


def _checked_numbers(found: Any, children: Any) -> list[float]:
    """The derivatives by these operands as floats; raises if they do not fit."""
    numbers = [number(x) for x in found] if isinstance(found, (tuple, list)) else [None]
    if None in numbers or isinstance(children, (set, frozenset)):
        raise TypeError(
            "the operands of a Value are a tuple, and so are the derivatives by them, which are plain numbers (a.data, "
            f"not a): found {found!r:.80}"
        )
    if len(numbers) != len(children):
        raise ValueError(f"{len(children)} operands need as many derivatives, found {found!r:.80}")
    return numbers  # type: ignore[return-value]


def _unknown_keyword(name: str, *_: str) -> TypeError:
    """The error for a keyword that Value does not have."""
    from difflib import get_close_matches  # not at the top: only mistakes need it

    meant = get_close_matches(name, ("data", "label", "requires_grad"), 1, 0.4) or ["label"]
    return TypeError(f"Value has no keyword {name}: did you mean {meant[0]}?")


def backward_of(node: Any) -> Callable[[], object]:
    """`node._backward`: a closure that adds what the node sends, given its `.grad`, to its operands' `.grad`."""
    row = node._row
    if not row:
        return node._own_backward
    if isinstance(row, Closure) and row.run:
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
    if is_suspended(closure):
        raise TypeError("_backward is a function that runs when it is called, found one with `yield` or `async def`")
    if not node._row:
        node._own_backward = closure
    elif node._row.released:
        node._row.send(node, 0.0)  # raises, and says why
    else:
        node._record(Closure(node._op, closure), node._prev, None)
