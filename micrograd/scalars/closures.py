"""Ops from outside, as in the classic: `out = Value(data, (a, b), "op")`, and `out._backward = f`, a user's closure.

The row of such a node is a `Closure`. In `out = Value(data, (a, b), (da, db))`, as in microgpt, the third argument has
the local derivatives as numbers, and the row is a `LocalGrads`. `node._backward` of another op is a closure too, made
when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..common.words import checked
from ..engine.modes import is_grad_enabled
from ..engine.rows import LEAF
from ..engine.value import Node, Value, checked_number, fill_slots, number
from .kinds import attach
from .modes import flags_of
from .release import Released, released_error
from .rows import Closure, LocalGrads


@attach(Node)
class _Node:
    _own_backward: Callable[[], object] = staticmethod(lambda: None)  # a leaf's, which runs if the leaf is a root

    @property
    def _backward(self: Any) -> Callable[[], object]:
        """A closure that accumulates this node's gradient into its operands' `.grad`. Assign to it to replace it."""
        if not self._row:
            return self._own_backward
        if run := getattr(self._row, "run", None):
            return run
        then = self._as_now()  # since a closure that replaces this one may still call it
        return lambda: _accumulate(then, self._gradient)

    @_backward.setter
    def _backward(self: Any, closure: Callable[[], object]) -> None:
        if not callable(closure):
            raise TypeError(f"_backward is a function without arguments, found {type(closure).__name__}")
        if flags_of(closure):
            raise TypeError(
                "_backward is a function that runs when it is called, found one with `yield` or `async def`"
            )
        if isinstance(self._row, Released):
            raise released_error(self._row)
        if self._row:
            self._record(Closure(self._op, closure), self._prev, None)
        else:
            self._own_backward = closure

    def _as_now(self: Any) -> Any:
        """A copy of this node, unaffected by later changes to it."""
        return fill_slots(object.__new__(type(self)), self._data, self._row, self._a, self._b, self._x, self._y)


def _accumulate(node: Any, g: Any) -> None:
    """Add what a node sends to its operands, given its gradient, to their `.grad`."""
    taken = {id(g)}
    for operand, part in node._row.send(node, g):
        operand._gradient = operand._plus(operand._gradient, part, taken)


@attach(Value)
class _Value:
    """A scalar that records the operations that produced it.

    Use it to look at every number of a computation, and for networks of up to some thousands of numbers.

    Args:
        data: a real number, which is stored as a float.
        _children, _op: the operands and the name of a hand-written op. Assign its backward as `out._backward = f`, a
            function without arguments that adds to the operands' `.grad`. In place of the name, a tuple of numbers has
            the derivative of the result by each operand, as in `Value(a.data * b.data, (a, b), (b.data, a.data))`.
        label: the name shown in drawings.
        requires_grad: False makes a constant, which receives no gradient.
        children, local_grads: other names of `_children` and of the tuple.

    Raises:
        TypeError: `data` is not a real number, `_children` are not Values, or the derivatives are not real numbers.
        ValueError: there is not one derivative for each operand.

    `.grad` is the integer 0 until a backward pass has reached the node, then a float (a Value under `create_graph`).

    >>> x = Value(3.0, label="x")
    >>> y = x * x + 2 * x
    >>> y.backward()
    >>> y.data, x.grad
    (15.0, 8.0)
    """

    @checked
    def __init__(
        self,
        data: float,
        _children: Sequence[Any] = (),
        _op: Any = "",
        label: str = "",
        *,
        requires_grad: bool = True,
        children: Sequence[Any] = (),
        local_grads: Sequence[float] = (),
    ):
        node = fill_slots(self, checked_number(data), LEAF if requires_grad else None)
        if label:
            node.label = label
        found, named = _children or children, _op is None or isinstance(_op, str)
        local = local_grads if named else _op
        if local or not isinstance(found, tuple) or found:
            node._row, operands = None, _checked_operands(found)
            row = Closure(_op or "") if named and not local else LocalGrads(_checked_numbers(local, found))
            if requires_grad and is_grad_enabled() and any(n.requires_grad for n in operands):
                node._record(row, operands, None)


Value.__doc__ = _Value.__doc__


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
