"""`Value`: a scalar that records the operations that produced it, so that gradients can flow back through them.

Start reading here. An expression of Values is evaluated like one of floats, and builds a graph as it goes:

    a, b = Value(2.0), Value(-3.0)      two leaves
    c = a * b                           an inner node: data -6.0, operands a and b, row `ops.mul`
    c.backward()                        the walk: c.grad is 1, and the rules of mul give a.grad = b = -3.0 and
                                        b.grad = a = 2.0

- `ops.py` has the derivative of every op, one row of a table each;
- `graph.py` defines the node, `walk.py` propagates the gradients; `Tensor` does the same for arrays.

A node stores no closure: one that refers to its own output would make each node a reference cycle, and collecting those
cycles would take nine tenths of the time. `node._backward` still returns a closure, built on demand.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, Self

from . import ops, walk
from .graph import LEAF, Node
from .methods import Elementwise, elementwise
from .modes import deferred, is_grad_enabled, is_tracing, look, modes, stand_in
from .rows import HandWritten, Many, Row, nothing

_new = object.__new__
Method = Callable[["Value", Any], Any]


def number(x: Any) -> float | None:
    """x as a float if it is a real number (Python's or NumPy's), else None."""
    return float(x) if x.__class__ is float or isinstance(x, (int, Real)) else None


# ---------------------------------------------------------------------------------------------------------------------
# Recording an op: compute the result, then store the row, the operands, and the values that the rules will be called
# with. `_apply` does this for any row; `_unary` and `_binary` are fast paths for the common case, six times as fast.


def fill(out: Any, data: float, row: Any = None, a: Any = None, b: Any = None, x: Any = None, y: Any = None) -> Any:
    """Set every slot of a new node."""
    out._data, out.grad, out._row = data, 0, row
    out._a, out._b, out._x, out._y = a, b, x, y
    return out


def _apply(row: Row, *operands: Any) -> Any:
    """Apply a row to Values and numbers; the result has the most derived class among them."""
    if modes and (defer := deferred()):
        return defer(row, operands)
    values = [_data_of(operand) for operand in operands]
    if None in values:
        raise TypeError(
            f"'{row.name}' takes Values and numbers, found {' and '.join(type(x).__name__ for x in operands)}"
        )
    nodes = [operand if isinstance(operand, Value) else None for operand in operands]
    cls = max((type(n) for n in nodes if n is not None), key=lambda cls: len(cls.__mro__))
    data = row.forward(*values)
    if row.to_b is None:
        return settle(_new(cls), data, row, nodes[0], None, data, values[0])
    return settle(_new(cls), data, row, *nodes, *values)


def settle(out: Value, data: float, row: Row, a: Any, b: Any, x: Any, y: Any) -> Value:
    """Fill in the node, with its history if an operand requires a gradient and grad mode is on; else as a constant."""
    wanted = (a is not None and a._row is not None) or (b is not None and b._row is not None)
    fill(out, data)
    if wanted and not (modes and not is_grad_enabled()):
        out._record(row, (a, b), (x, y))
    return out


def _unary(row: Row, a: Any) -> Any:
    if modes and (defer := deferred()):
        return defer(row, (a,))
    x = a._data
    out = _new(a.__class__)
    y = row.forward(x)
    if modes or a._row is None:
        return settle(out, y, row, a, None, y, x)
    out._data = y
    out.grad = 0
    out._row = row
    out._a = a
    out._b = None
    out._x = y
    out._y = x
    return out


def _binary(row: Row) -> tuple[Method, Method]:
    """The methods of a binary operator: `__op__` and `__rop__`."""
    forward = row.forward

    def method(self: Value, other: Any) -> Any:
        if modes and (defer := deferred()):
            return defer(row, (self, other)) if isinstance(other, (Value, Real)) else NotImplemented
        x = self._data
        cls = self.__class__
        if other.__class__ is cls:
            b = other
            y = other._data
        elif other.__class__ is float or other.__class__ is int:
            b = None
            y = float(other)
        elif isinstance(other, Value):
            return _apply(row, self, other)
        elif (y := number(other)) is not None:
            b = None
        else:
            return NotImplemented
        out = _new(cls)
        if modes or (self._row is None and (b is None or b._row is None)):
            return settle(out, forward(x, y), row, self, b, x, y)
        out._data = forward(x, y)
        out.grad = 0
        out._row = row
        out._a = self
        out._b = b
        out._x = x
        out._y = y
        return out

    def reflected(self: Value, other: Any) -> Any:
        if (x := number(other)) is None:
            return NotImplemented
        if modes and (defer := deferred()):
            return defer(row, (x, self))
        y = self._data
        out = _new(self.__class__)
        if modes or self._row is None:
            return settle(out, forward(x, y), row, None, self, x, y)
        return fill(out, forward(x, y), row, None, self, x, y)

    return method, reflected


def _compare(compare: Callable[[float, Any], bool]) -> Method:
    """The method of a comparison: it compares the numbers and returns a bool."""

    def method(self: Value, other: Any) -> Any:
        x, y = (stand_in(self), other) if modes and is_tracing() else (self._data, _data_of(other))
        return NotImplemented if y is None else compare(x, y)

    return method


@elementwise(
    lambda row: lambda self: _unary(row, self),
    lambda row: lambda self, other: _apply(row, self, other),
    _binary,
    _compare,
)
class Value(Node, Elementwise):
    """A scalar that records the operations that produced it.

    Args:
        data: a real number; stored as a float.
        _children, _op: the operands and the name of a hand-written op. Assign its backward as `out._backward = f`, a
            function without arguments that adds to the operands' `.grad`.
        label: the name shown in drawings.
        requires_grad: False makes a constant, which receives no gradient.

    Raises:
        TypeError: `data` is not a real number, or `_children` are not Values.

    `.grad` is the integer 0 until a backward pass has reached the node, then a float (a Value under `create_graph`).

    >>> x = Value(3.0, label="x")
    >>> y = x * x + 2 * x
    >>> y.backward()
    >>> y.data, x.grad
    (15.0, 8.0)
    """

    __slots__ = ()
    _is_number = True

    def __init__(
        self,
        data: float,
        _children: Sequence[Value] = (),
        _op: str = "",
        label: str = "",
        *,
        requires_grad: bool = True,
    ):
        fill(self, _checked(data), LEAF if requires_grad else None)
        if label:
            self.label = label
        if not isinstance(_children, tuple) or _children:
            self._row, children = None, _checked_operands(_children)
            if requires_grad and is_grad_enabled() and any(n.requires_grad for n in children):
                self._hand_write(HandWritten(_op, nothing), children)

    @property
    def data(self) -> float:
        """The number, a float. Assigning a new one does not affect gradients of graphs that used the old one."""
        return look(self) if modes else self._data

    @data.setter
    def data(self, data: float) -> None:
        if modes:
            look(self)
        self._data = _checked(data)

    def backward(
        self,
        gradient: float | Value | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Value | Sequence[Value] | None = None,
    ) -> None:
        """Accumulate d(self)/d(leaf) into `.grad` of every leaf that self depends on.

        Args:
            gradient: the gradient at self; 1 by default.
            retain_graph: False releases the graph after the pass. Values keep it by default.
            create_graph: make the gradients Values that can be differentiated again.
            inputs: the nodes to compute gradients for, instead of all leaves.

        Raises:
            RuntimeError: self is a constant, or an earlier pass released its graph.

        The `.grad` of inner nodes is overwritten, not accumulated.

        >>> x = Value(3.0)
        >>> (x * x).backward()
        >>> (2 * x).backward()
        >>> x.grad
        8.0
        """
        plain = gradient is None and retain_graph is not False and not create_graph and inputs is None
        if not (plain and self._row and self._row.shortcut(self)):
            walk.backward(self, None if gradient is None else [gradient], retain_graph, create_graph, inputs)

    def detach(self) -> Self:
        """A constant with the same number and no history.

        >>> x = Value(3.0)
        >>> y = x * x.detach()
        >>> y.backward()
        >>> x.grad
        3.0
        """
        known = stand_in(self)
        return self._constant(look(self)) if known is self else known.detach()

    # ---- operators, besides those of `methods.py`

    def __pow__(self, other: Any) -> Any:
        if other.__class__ is float or other.__class__ is int:
            return _unary(ops.power(other), self)
        if isinstance(other, Value):
            return _apply(ops.pow, self, other)
        return NotImplemented if (n := number(other)) is None else _unary(ops.power(n), self)

    def __rpow__(self, other: Any) -> Any:
        return NotImplemented if number(other) is None else _apply(ops.pow, other, self)

    # ---- a Value where a number is expected. `==` and hash are by identity, so nodes can be put in sets and dicts

    def item(self) -> float:
        """The number as a Python float."""
        return self.data

    def __bool__(self) -> bool:
        return bool(self.data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(data={self._data}, grad={self.grad})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._row:
            raise RuntimeError(f"the history of {self!r}, made by '{self._op}', cannot be copied: copy its detach()")
        look(self)
        state: Any = super().__getstate__()
        held, slots = state
        kept = {name: x for name, x in (held or {}).items() if name not in ("_hooks", "_own_closure")}
        return copyreg.__newobj__, (type(self),), (kept, slots)  # type: ignore[attr-defined]

    # ---- what the walk needs from a kind of node; declared in `Node`

    def _apply(self, row: Row, operands: Sequence[Any]) -> Any:
        other = next((x for x in operands if not isinstance(x, Value) and hasattr(x, "_apply")), None)
        return _apply(row, *operands) if other is None else other._apply(row, operands)

    def _constant(self, data: float) -> Self:
        return fill(_new(type(self)), data)

    def _seed(self, gradient: Any, create_graph: bool) -> Any:
        if isinstance(gradient, Value):
            return gradient if create_graph else gradient._data
        seed = 1.0 if gradient is None else number(gradient)
        if seed is None:
            raise TypeError(f"the gradient of a Value is a number, found {type(gradient).__name__}")
        return self._constant(seed) if create_graph else seed

    def _used(self, create_graph: bool) -> tuple[Any, Any]:
        seen = self._y if isinstance(self._row, Many) else (self._x, self._y)
        return self._operands, self._as_nodes(seen) if create_graph and self._row.needs_values else seen

    def _as_it_was(self, i: int, operand: Any, kept: Any) -> Any:
        if operand._data is not kept and operand._is_number and operand._data != kept and kept == kept:
            raise RuntimeError(
                f"create_graph=True: what '{self._op}' used was {kept} in the forward pass and is now {operand._data}; "
                "run the forward pass again"
            )
        return operand

    def _ieee(self, rule: Callable, *numbers: float) -> float:
        part = rule(*map(self._constant, numbers))
        return part._data if isinstance(part, Value) else part


def _checked(data: Any) -> float:
    """`data` as a float; TypeError if it is not a real number."""
    if data.__class__ is float or (isinstance(data, (int, Real)) and not isinstance(data, bool)):
        return float(data)
    hint = "; take its .data for the number, or its detach() for a constant" if isinstance(data, Value) else ""
    raise TypeError(f"a Value holds one real number, found {type(data).__name__} {data!r:.50}{hint}")


def _checked_operands(children: Any) -> tuple[Node, ...]:
    """The operands of a hand-written op, as a tuple; TypeError if they are not nodes."""
    if isinstance(children, (tuple, list, set, frozenset)) and all(isinstance(n, Node) for n in children):
        return tuple(children)
    raise TypeError(f"the operands of a Value are a tuple of Values, and its name is label=; found {children!r:.80}")


def _data_of(x: Any) -> float | None:
    return x._data if isinstance(x, Value) else number(x)
