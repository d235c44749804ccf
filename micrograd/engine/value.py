"""`Value`: a scalar that records the operations that produced it, so that gradients can flow back through them.

Start reading here. An expression of Values is evaluated like one of floats, and builds a graph as it goes:

    a, b = Value(2.0), Value(-3.0)      two leaves
    c = a * b                           an inner node: data -6.0, operands a and b, row `ops.mul`
    c.backward()                        the walk: c.grad is 1, and the rules of mul give a.grad = b = -3.0 and
                                        b.grad = a = 2.0

A row is an op: its name, its function `forward` of numbers, and for each operand the rule for its gradient, `to_a` and
`to_b`. An op of one operand has no `to_b`. The rows are in `ops`, and what a row is in `rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, Self

from . import modes, ops, walk
from .modes import interceptor, modes_on
from .rows import LEAF, Row

_new = object.__new__
SLOTS = ("_data", "_gradient", "_row", "_a", "_b", "_x", "_y", "_sum")  # what a node stores; see `Node`


class Node:
    """A number or an array, with the operation that produced it.

    `_row` says what it is: None for a constant, `LEAF` (a row that is false) for a leaf, otherwise the row of the op.
    `_a` and `_b` are the operands, None where one was a plain number. `_x` and `_y` are the numbers that the rules are
    called with, whatever `data` is set to later: (out, a) for a unary row, where out is the result, (a, b) for a binary
    one.

    A row may also take any number of operands. Its node has None in `_a` and `_b`, the tuple of the operands in `_x`,
    and in `_y` whatever the row keeps. So has a leaf, whose tuple is empty. `_gradient` is `.grad`, and `_sum` belongs
    to the walk.
    """

    __slots__ = (*SLOTS, "__dict__", "__weakref__")

    _data: Any
    label: str = ""
    _is_number: bool = False
    _retains_grad: bool = False  # True if `.grad` of this inner node accumulates, as a leaf's does

    requires_grad: Any = property(lambda self: self._row is not None, doc="True unless the node is a constant.")
    is_leaf: Any = property(lambda self: not self._row, doc="True for a node that no recorded operation produced.")
    _op: Any = property(lambda self: self._row.name if self._row else "")

    @property
    def _operands(self) -> tuple[Any, ...]:
        """The operands of an inner node, None for a plain number."""
        return self._x if self._x.__class__ is tuple else (self._a, self._b)

    def _record(self, row: Row, operands: Any, values: Any, /) -> None:
        """Give this node a history: a row, the operands, and the values that the rules will be called with."""
        if row.to_a is None:
            self._a, self._b, self._x, self._y = None, None, operands, values
        else:
            self._a, self._b, (self._x, self._y) = operands[0], operands[1] if row.to_b else None, values
        self._row = row


# The public name of the slot. A subclass may make a property of `grad`; the walk writes to the slot
Node.grad = Node._gradient  # type: ignore[attr-defined]


def number(x: Any) -> float | None:
    """x as a float if it is a real number (Python's or NumPy's), else None."""
    return float(x) if x.__class__ is float or isinstance(x, (int, Real)) else None


# ---------------------------------------------------------------------------------------------------------------------
# Recording an op: compute the result, then store the row, the operands, and the values that the rules will be called
# with. `Value._apply` does this for any row. `_unary` and `operator_of` do it six times as fast for most calls, and
# leave the others to `_apply`: those inside a mode, those of constants alone, and those with operands of other classes.
# They ask for a mode before they read a number, since a node that `lazy` deferred has none yet.


def fill_slots(out: Any, data: Any, row: Any = None, a: Any = None, b: Any = None, x: Any = (), y: Any = None) -> Any:
    """Set every slot of a new node."""
    out._data, out._gradient, out._row, out._sum = data, 0, row, None
    out._a, out._b, out._x, out._y = a, b, x, y
    return out


def _unary(row: Row, a: Any) -> Any:
    if modes_on or a._row is None:
        return a._apply(row, (a,))
    x = a._data
    out = _new(a.__class__)  # and `fill_slots`, written out
    out._data = out._x = row.forward(x)
    out._gradient, out._row, out._sum = 0, row, None
    out._a, out._b, out._y = a, None, x
    return out


def operator_of(row: Row) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """The methods of a binary operator: `__op__` and `__rop__`."""
    forward = row.forward

    def method(self: Value, other: Any) -> Any:
        if modes_on:
            return self._apply(row, (self, other))
        x, cls = self._data, self.__class__  # in this order: reading the number gives a deferred node its class
        if other.__class__ is cls:
            b, y = other, other._data
        elif other.__class__ is float or other.__class__ is int:
            b, y = None, float(other)
        else:
            return self._apply(row, (self, other))
        if self._row is None and (b is None or b._row is None):
            return self._apply(row, (self, other))
        out: Any = _new(cls)  # and `fill_slots`, written out
        out._data, out._gradient, out._sum = forward(x, y), 0, None
        out._row, out._a, out._b = row, self, b
        out._x, out._y = x, y
        return out

    def reflected(self: Value, other: Any) -> Any:
        if modes_on or self._row is None or (x := number(other)) is None:
            return self._apply(row, (other, self))
        y = self._data
        return fill_slots(_new(self.__class__), forward(x, y), row, None, self, x, y)

    return method, reflected


def method_of(row: Row) -> Callable[..., Any]:
    """The method of Value for a row of one operand."""
    return lambda self: _unary(row, self)


class Value(Node):
    """A scalar that records the operations that produced it.

    Use it to look at every number of a computation, and for networks of up to some thousands of numbers.

    Args:
        data: a real number, which is stored as a float.
        label: the name shown in drawings.
        requires_grad: False makes a constant, which receives no gradient.

    Raises:
        TypeError: `data` is not a real number.

    `.grad` is the integer 0 until a backward pass has reached the node, then a float (a Value under `create_graph`).

    >>> x = Value(3.0, label="x")
    >>> y = x * x + 2 * x
    >>> y.backward()
    >>> y.data, x.grad
    (15.0, 8.0)
    """

    __slots__ = ()
    _is_number = True

    def __init__(self, data: float, *, label: str = "", requires_grad: bool = True):
        fill_slots(self, checked_number(data), LEAF if requires_grad else None)
        if label:
            self.label = label

    data: Any = Node._data  # the slot's public name  # type: ignore[attr-defined]

    def backward(self, gradient: Any = None, create_graph: bool = False) -> None:
        """Accumulate d(self)/d(leaf) into `.grad` of every leaf that self depends on; set that of the inner nodes.

        Args:
            gradient: the gradient at self, 1 by default.
            create_graph: make the gradients Values that can be differentiated again.
        """
        if self._row is None:
            raise RuntimeError(f"{self!r} is a constant: there is nothing to differentiate")
        walk.run([self], [self._seed(gradient, create_graph)], create_graph)

    __add__, __radd__ = operator_of(ops.add)
    __sub__, __rsub__ = operator_of(ops.sub)
    __mul__, __rmul__ = operator_of(ops.mul)
    __truediv__, __rtruediv__ = operator_of(ops.div)
    __neg__, __abs__ = method_of(ops.neg), method_of(ops.abs_)

    def __pow__(self, other: Any) -> Any:
        n = other if other.__class__ is int else number(other)
        return NotImplemented if n is None else _unary(ops.power(n), self)

    def __repr__(self: Any) -> str:
        return f"{type(self).__name__}(data={self._data}, grad={self._gradient})"

    # ---- what makes a kind of node: the methods that the walk, the rows and other nodes call

    def _apply(self, row: Row, operands: Sequence[Any]) -> Any:
        """Apply a row to Values and numbers; the result has the most derived class among them.

        NotImplemented if an operand is neither, which may be a node of another kind.
        """
        for x in operands:
            if isinstance(x, str):
                found = f"found the str {x!r:.50}: write float({x!r:.40})"
                raise TypeError(f"'{row.name}' takes Values and numbers, {found}")
            if not isinstance(x, (Value, int, float, Real)):
                return NotImplemented
        if modes_on and (instead := interceptor()):
            return instead(row, operands)
        nodes = [x if isinstance(x, Value) else None for x in operands]
        values = [float(x) if n is None else n._data for n, x in zip(nodes, operands, strict=True)]
        cls = max((type(n) for n in nodes if n is not None), key=lambda cls: len(cls.__mro__))
        out = fill_slots(_new(cls), row.forward(*values))
        if any(n is not None and n._row is not None for n in nodes) and modes.is_grad_enabled():
            out._record(row, nodes, [out._data, *values] if row.of_out else values)
        return out

    def _constant(self, data: Any) -> Self:
        """A constant of this kind."""
        return fill_slots(_new(type(self)), data)

    def _seed(self, gradient: Any, create_graph: bool) -> Any:
        """A gradient of this node, checked: a number, or a node if the pass is recorded; None means 1."""
        if isinstance(gradient, Value):
            return gradient if create_graph else gradient._data
        seed = 1.0 if gradient is None else number(gradient)
        if seed is None:
            raise TypeError(f"the gradient of a Value is a number, found {type(gradient).__name__}")
        return self._constant(seed) if create_graph else seed

    def _used(self: Any, create_graph: bool) -> Sequence[Any]:
        """The values that the rules take after g: numbers or, under `create_graph`, their nodes.

        Raises a RuntimeError if a node has another number than in the forward pass.
        """
        seen = self._y if self._x.__class__ is tuple else (self._x, self._y)
        if not (create_graph and self._row.needs_values):
            return seen
        pairs = [*zip((self, self._a) if self._row.of_out else self._operands, seen, strict=False)]
        for n, x in pairs:
            if n is not None and n._is_number and n._data is not x and n._data != x and x == x:
                raise RuntimeError(f"create_graph=True: '{self._op}' used {x}, now {n._data}; rerun the forward pass")
        return [x if n is None else n for n, x in pairs]

    def _fit(self, part: Any) -> Any:
        """A gradient of this node in its form, which matters to arrays."""
        return part

    def _plus(self, total: Any, part: Any, _taken: Any = None, /) -> Any:
        """The sum of two gradients of this node. A total of None, or of the integer 0, is none yet.

        If the total is a node and the part is a number, their sum is a constant.
        """
        if total is None or (total.__class__ is int and total == 0):
            return part
        if isinstance(total, Value) and not isinstance(part, Value):
            total = self._constant(total._data)
        return ops.add(total, part)

    def _ieee(self, rule: Callable[..., Any], *numbers: float) -> float:
        """The rule's result where Python's floats raise: run on constants, whose ops follow IEEE 754."""
        part = rule(*[fill_slots(_new(Value), x) for x in numbers])
        return part._data if isinstance(part, Value) else part


for _name, _row in ops.TABLE.items():
    if _row.doc:
        setattr(Value, _name, method_of(_row))


def checked_number(data: Any) -> float:
    """`data` as a float; TypeError if it is not a real number."""
    if data.__class__ is float or (isinstance(data, (int, Real)) and not isinstance(data, bool)):
        return float(data)
    hint = "; take its .data for the number, or its detach() for a constant" if isinstance(data, Value) else ""
    raise TypeError(f"a Value holds one real number, found {type(data).__name__} {data!r:.50}{hint}")
