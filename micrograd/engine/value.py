"""`Value`: a number that remembers how it was computed, so that gradients can flow back. Start reading here.

    a, b = Value(2.0), Value(-3.0)      two leaves
    c = a * b                           c.data is -6.0, c._prev is (a, b), c._op is "*"
    c.backward()                        c.grad is 1.0, a.grad is b = -3.0, b.grad is a = 2.0

`backward` puts the nodes in order, each after its operands, and goes through them in reverse. Each node adds to its
operands' gradients, which is what its `_backward` does.

In the classic engine each op stores `_backward` in its result, as a closure. Here the op is a row of the table in
`ops`, and the walk calls the row's `backward(out)`; `_backward` is made when somebody asks for it. A closure is
an object, with a cell for each variable that it closes over, and the garbage collector has to look at each of them
again and again. `engine/__init__` has the figures.

A node keeps its op in `_row`: a leaf has the row `LEAF`, a constant has None, and both are false. The operands are in
`_a` and `_b`, where `NOTHING` stands for a plain number. The numbers that the op's rules take are in `_x` and `_y`:
(a, b) of a binary op, (out, a) of a unary one. If an op takes any number of operands, `_a` is `MANY`, `_b` has the
operands, and `_x` their numbers. `node` has the list of these slots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from numbers import Real
from typing import Any, Self

from . import ops
from .by_hand import backward_of, record_by_hand, set_backward
from .modes import before_change, before_read, interceptor, is_grad_enabled, listener, modes_on, on_change
from .node import MANY, NOTHING, Node, fill_slots, refuse_redefined
from .recording import method_of, most_derived, number, operator_of, record_unary
from .rows import LEAF, Row
from .walk import run


class Value(Node):
    """A scalar that records the operations that produced it.

    Use it to look at every number of a computation, and for networks of up to some thousands of numbers.

    Args:
        data: a real number, which is stored as a float.
        _children, _op: the operands and the name of a hand-written op. Assign its backward as `out._backward = f`, a
            function without arguments that adds to the operands' `.grad`. In place of the name, a tuple of numbers has
            the derivative of the result by each operand, as in `Value(a.data * b.data, (a, b), (b.data, a.data))`.
        label: the name shown in drawings.
        requires_grad: False makes a constant, which receives no gradient.
        others: `children` and `local_grads`, other names of `_children` and of the tuple.

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

    __slots__ = ()
    _is_number = True
    grad: Any  # the slot `_gradient`, under its public name. It and `_op`, the name of the op, come from `Node`
    _backward_to: Callable[..., None]  # `backward` with `inputs`, or without the graph afterwards: see `scalars/value`

    def __init__(
        self,
        data: float,
        _children: Sequence[Any] = (),
        _op: Any = "",
        label: str = "",
        *,
        requires_grad: bool = True,
        **others: Any,
    ):
        fill_slots(self, checked_number(data), LEAF if requires_grad else None)
        if label:
            self.label = label
        if _op or others or _children != ():
            record_by_hand(self, _children, _op, requires_grad, **others)

    @property
    def data(self) -> float:
        """The number. Assigning a new one does not affect gradients of graphs that used the old one."""
        if modes_on:
            before_read(self)
        return self._data

    @data.setter
    def data(self, data: float) -> None:
        if data.__class__ is not float:
            data = checked_number(data)
        if modes_on or on_change:
            before_change(self)
        self._data = data

    @property
    def _prev(self) -> tuple[Any, ...]:
        """The operands, in order, repeats and constants included."""
        row = self._row
        if not row or row.released:
            return ()
        if self._a is MANY:
            return self._b
        # Binary ops alone take plain numbers: make the constant on first access, and reuse it
        if self._a is NOTHING:
            self._a = self._constant(self._x)
        if self._b is NOTHING and row.to_b:
            self._b = self._constant(self._y)
        return (self._a, self._b) if row.to_b else (self._a,)

    @property
    def _backward(self) -> Callable[[], object]:
        """A closure that adds this node's gradient to its operands' `.grad`. Assign a function to replace it."""
        return backward_of(self)

    @_backward.setter
    def _backward(self, closure: Callable[[], object]) -> None:
        set_backward(self, closure)

    def backward(
        self,
        gradient: float | Value | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Value | Sequence[Value] | None = None,
    ) -> None:
        """Accumulate d(self)/d(leaf) into `.grad` of every leaf that self depends on.

        Args:
            gradient: the gradient at self, 1 by default.
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
        if self._row is None:
            why = f"{self!r} is a constant or was made inside no_grad()"
            raise RuntimeError(f"nothing to differentiate: no Value in this computation has requires_grad=True: {why}")
        if modes_on:
            listener().backward()  # a mode may refuse the pass
        if retain_graph is False or inputs is not None:
            self._backward_to(gradient, retain_graph, create_graph, inputs)  # `backward` in scalars/roots.py
            return
        plain = gradient is None and not create_graph
        # The result of a compiled function may do the whole pass by its program
        if not (plain and self._row.whole_pass and self._row.whole_pass(self)):
            seed = 1.0 if plain else self._seed(gradient, create_graph)
            run((self,), (seed,), create_graph)
        if self._row is LEAF:
            self._own_backward()  # what a user assigned as the `_backward` of this leaf, if anything

    __add__, __radd__ = operator_of(ops.add)
    __sub__, __rsub__ = operator_of(ops.sub)
    __mul__, __rmul__ = operator_of(ops.mul)
    __truediv__, __rtruediv__ = operator_of(ops.div)
    __neg__, __abs__ = method_of(ops.neg), method_of(ops.abs_)

    def __pow__(self, other: Any) -> Any:
        n = other if other.__class__ is int else number(other)
        if n is not None:
            return record_unary(ops.power(n), self)
        row = ops.TABLE.get("pow")  # of two nodes, which `scalars/ops` adds
        return self._apply(row, (self, other)) if row else NotImplemented

    def __repr__(self: Any) -> str:
        return f"{type(self).__name__}(data={self._data}, grad={self._gradient})"

    # ---- what makes a kind of node: the methods that the walk, the rows and other nodes call

    def _apply(self, row: Row, operands: Sequence[Any]) -> Any:
        """Apply a row to Values and numbers; the result has the most derived class among them.

        NotImplemented if an operand is neither, which may be a node of another kind.
        """
        if len(operands) == 1:
            return record_unary(row, operands[0])
        for x in operands:
            if isinstance(x, str):
                found = f"found the str {x!r:.50}: write float({x!r:.40})"
                raise TypeError(f"'{row.name}' takes Values and numbers, {found}")
            if not isinstance(x, (Value, int, float, Real)):
                return NotImplemented
        if modes_on and (instead := interceptor()):
            return instead(row, operands)
        nodes = [x if isinstance(x, Value) else NOTHING for x in operands]
        values = [float(x) if n is NOTHING else n._data for n, x in zip(nodes, operands, strict=True)]
        cls = reduce(most_derived, (type(n) for n in nodes if n is not NOTHING))
        out = fill_slots(object.__new__(cls), row.forward(*values))
        if any(n._row is not None for n in nodes) and is_grad_enabled():
            out._record(row, nodes, values)
        return out

    def _constant(self, data: Any) -> Self:
        """A constant of this kind."""
        return fill_slots(object.__new__(type(self)), data)

    def _seed(self, gradient: Any, create_graph: bool) -> Any:
        """A gradient of this node, checked: a number, or a node if the pass is recorded; None means 1."""
        if isinstance(gradient, Value):
            # A recorded pass uses the engine's operators, which a subclass may have redefined
            return refuse_redefined(gradient, Value) if create_graph else gradient._data
        seed = 1.0 if gradient is None else number(gradient)
        if seed is None:
            raise TypeError(f"the gradient of a Value is a number, found {type(gradient).__name__}")
        return self._constant(seed) if create_graph else seed

    def _rule_arguments(self: Any, create_graph: bool) -> Sequence[Any]:
        """The values that the rules take after g: numbers or, under `create_graph`, their nodes.

        Raises a RuntimeError if a node has another number than in the forward pass.
        """
        seen = self._x if self._a is MANY else (self._x, self._y)
        if not (create_graph and self._row.reads_values):
            return seen
        nodes = (self, self._a) if self._row.is_unary else self._operands
        pairs = [*zip(nodes, seen, strict=True)]
        for n, x in pairs:
            # Neither `NOTHING` nor an array is a number. A nan differs from itself, and so does not count as changed
            if n._is_number and n._data is not x and n._data != x and x == x:
                raise RuntimeError(f"create_graph=True: '{self._op}' used {x}, now {n._data}; rerun the forward pass")
        return [x if n is NOTHING else refuse_redefined(n, Value) for n, x in pairs]

    def _cast_gradient(self, part: Any) -> Any:
        """A gradient of this node in its form, which matters to arrays."""
        return part

    def _plus(self, total: Any, part: Any, _taken: Any = None, /) -> Any:
        """The sum of two gradients of this node. A total of None, or of the integer 0, means that there is none yet.

        If the total is a node and the part is a number, their sum is a constant. Only arrays need `_taken`, the ids of
        the arrays that a `.grad` has already.
        """
        if total.__class__ is float and part.__class__ is float:
            return total + part
        if total is None or (total.__class__ is int and total == 0):
            return part
        if isinstance(total, Value) and not isinstance(part, Value):
            total = self._constant(total._data)
        return ops.add(total, part)

    def _ieee(self, rule: Callable[..., Any], *numbers: float) -> float:
        """The rule's result where Python's floats raise: run on constants, whose `/` and `**` follow IEEE 754."""
        part = rule(*[fill_slots(object.__new__(Value), x) for x in numbers])
        return part._data if isinstance(part, Value) else part


for _name, _row in ops.TABLE.items():  # exp, log, tanh, relu and all that have a docstring
    if _row.doc:
        setattr(Value, _name, method_of(_row))


def checked_number(data: Any) -> float:
    """`data` as a float; TypeError if it is not a real number."""
    if data.__class__ is float or (isinstance(data, (int, Real)) and not isinstance(data, bool)):
        return float(data)
    hint = "; take its .data for the number, or its detach() for a constant" if isinstance(data, Value) else ""
    raise TypeError(f"a Value holds one real number, found {type(data).__name__} {data!r:.50}{hint}")
