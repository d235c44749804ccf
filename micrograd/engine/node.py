"""`Node`: what a number, or an array, remembers of how it was made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .modes import before_freeze, before_look, modes_on, tell_recorded
from .rows import LEAF

SLOTS = ("_data", "_gradient", "_row", "_a", "_b", "_x", "_y", "_sum")


class Node:
    """A number or an array, with the op that made it.

    _data, _gradient    the number, and its gradient
    _row                the op: a row of the derivative table. None for a constant, `LEAF` for a leaf. Both are false,
                        so `if node._row:` asks whether an op made the node
    _a, _b              the operands, which are nodes. `NOTHING` stands for an operand that is missing, or that was a
                        plain number. Of any number of operands, `_a` is `MANY` and `_b` is their tuple
    _x, _y              the numbers that the rules of the row are called with, as they were when the op ran: (a, b) of
                        a binary row, (out, a) of a unary one. Of any number of operands, `_x` is their list, or
                        whatever the row needs. A constant may leave these four empty
    _sum                the gradient that was sent to this node so far, in the pass that runs
    """

    __slots__ = (*SLOTS, "__dict__", "__weakref__")

    _data: Any
    _prev: Any  # the tuple of operands, plain numbers as constants; each kind of node makes it, and `_backward`
    _backward: Any
    label: str = ""
    _is_number: bool = False
    _retains_grad: bool = False  # True if `.grad` of this inner node accumulates, as a leaf's does
    _own_backward: Callable[[], object] = staticmethod(lambda: None)  # a user's, of a leaf; it runs if that is a root

    is_leaf: Any = property(lambda self: not self._row, doc="True for a node that no recorded op made.")
    _op: Any = property(lambda self: self._row.name if self._row else "", doc="The name of the op.")

    @property
    def requires_grad(self: Any) -> bool:
        """True for a parameter and anything computed from one. Assign to it to freeze or unfreeze a leaf."""
        if modes_on:
            before_look(self, requires_grad=True)
        return self._row is not None

    @requires_grad.setter
    def requires_grad(self: Any, wanted: bool) -> None:
        if self._row:
            raise RuntimeError(f"'{self._op}' made this node: only a leaf can be frozen; detach() gives a constant")
        before_freeze(self)
        self._a, self._b = MANY, ()  # the slots of a constant may be empty; this fits numbers and arrays
        self._row = LEAF if wanted else None

    @property
    def _operands(self: Any) -> tuple[Any, ...]:
        """The operands, `NOTHING` for a plain number."""
        return self._b if self._a is MANY else (self._a, self._b)

    def _record(self, row: Any, operands: Any, values: Any, /) -> None:
        """Give this node a history: a row, the operands, and the values that the rules will be called with."""
        if row.to_a is None:  # any number of operands
            self._a, self._b, self._x, self._y = MANY, operands, values, None
        else:
            self._a = operands[0]
            self._b = operands[1] if row.to_b else NOTHING
            self._x, self._y = values
        self._row = row
        if modes_on:
            tell_recorded(self)

    def _as_now(self: Any) -> Any:
        """A copy of this node, unaffected by later changes to it."""
        history = () if self._row is None else (self._row, self._a, self._b, self._x, self._y)
        return fill_slots(object.__new__(type(self)), self._data, *history)


# The public name of the slot. A subclass may make a property of `grad`; the walk writes to the slot
Node.grad = Node._gradient  # type: ignore[attr-defined]


OPERATORS = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "neg", "abs")


def refuse_redefined(x: Any, base: type) -> Any:
    """x itself. Raises if its class redefines an operator of the base class, since a rule means the engine's."""
    cls = type(x)
    if cls is not base and isinstance(x, base):
        for name in OPERATORS:
            if getattr(cls, f"__{name}__", None) is not getattr(base, f"__{name}__", None):
                raise TypeError(
                    f"create_graph=True: {cls.__name__} redefines __{name}__, so the rules, which use the operators of "
                    f"{base.__name__}, would compute something else; give the method another name"
                )
    return x


# Constants to which a gradient may be sent, and is lost: so no step of a pass has to ask whether there is an operand
NOTHING, MANY = Node(), Node()


def fill_slots(
    out: Any, data: Any, row: Any = None, a: Any = NOTHING, b: Any = NOTHING, x: Any = None, y: Any = None
) -> Any:
    """Set every slot of a new node."""
    out._data, out._gradient, out._row, out._sum = data, 0, row, 0.0
    out._a, out._b, out._x, out._y = a, b, x, y
    return out


for _constant in (NOTHING, MANY):
    fill_slots(_constant, None)
