"""The nodes that a traced function sees: ordinary Values and Tensors whose data is a Symbol.

They have the methods of Value and Tensor, record the same nodes, and the same walk traverses them. Only reading or
writing a number is refused, since a program could not repeat it. A comparison also returns a node.

>>> from .graph import Graph
>>> x = traced_value(Graph().input("x"), LEAF)
>>> x, is_traced(x), data_of(x)
(<TracedValue>, True, x)
>>> float(x)
Traceback (most recent call last):
...
micrograd.compiler.frozen.Frozen: a compiled function cannot look at a number (float, int, round, an index): ...
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..engine.graph import LEAF
from ..engine.modes import deferred, is_tracing
from ..engine.rows import HandWritten, Row
from ..engine.value import Value, fill
from ..tensor.optional import ArrayNode, Tensor, arrays, new_node, np
from .frozen import BACKWARD, OWN_OP, READ, WRITE, frozen, refusing
from .symbols import Symbol, stand_in


def _comparison(name: str) -> Callable:
    """A comparison that returns a node: a condition for `where`, 1 or 0."""
    row = Row(name, getattr(operator, name), None)

    def method(self: Any, other: Any) -> Any:
        return self._apply(row, (self, other))

    return method


# detach() as a row, so that programs on arrays can do it too
DETACH = Row("detach", lambda a: a, None)


class Traced:
    """A node whose numbers cannot be read, and are not there yet."""

    __slots__ = ()
    _of_integers = False  # True for an integer argument, which no transform differentiates

    if not TYPE_CHECKING:  # which sees the methods that these replace
        data = property(refusing(READ.format(".data")), refusing(READ.format(".data")))
        item = numpy = tolist = argmax = argmin = refusing(READ.format("a number"))
        __bool__ = refusing(READ.format("a condition (`if`, `while`, `and`, `max`, `sorted`)"))
        __float__ = __int__ = __index__ = __round__ = refusing(READ.format("a number (float, int, round, an index)"))
        register_hook = refusing(READ.format("gradients through hooks"))

    def _for_grad(self, grads: dict[Any, Any], inputs: Any) -> dict[Any, Any]:
        if inputs is None:
            raise frozen(BACKWARD)
        found = {node: grads[node] for node in inputs if node in grads}
        if is_tracing():
            deferred().asked(inputs)  # type: ignore[union-attr]
        return {node: self._as_node(g) for node, g in found.items()}

    def _as_node(self, g: Any) -> Any:
        """A gradient asked for inside the function, as a node."""
        return g if is_traced(g) else traced_value(g)

    def _hand_write(self, row: HandWritten, operands: Any) -> None:
        raise frozen(OWN_OP.format(row.name))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __format__(self, spec: str) -> str:
        return repr(self)


class TracedValue(Traced, Value):
    """A Value whose data is a Symbol."""

    __slots__ = ()

    def _constant(self, data: Any) -> Any:
        return traced_value(data)

    def detach(self) -> Any:
        """A constant with the same Symbol."""
        return self._apply(DETACH, (self,))


class TracedTensor(Traced, Tensor):
    """A Tensor whose array is a Symbol."""

    __slots__ = ()

    def __array_function__(self, function: Callable, types: Any, args: Any, named: Any) -> Any:
        if function in (np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.full_like, np.empty_like):
            return function(stand_in(data_of(args[0])), *args[1:], **named)  # which needs no numbers
        return super().__array_function__(function, types, args, named)  # type: ignore[misc]

    def detach(self) -> Any:
        """A constant with the same Symbol."""
        return traced_tensor(new_node(self._node._data))

    def requires_grad_(self, wanted: bool = True) -> Any:
        """As `Tensor.requires_grad_`, on a separate node."""
        if wanted and self._node._row is None:
            self._node = as_traced(new_node(self._node._data, LEAF))
            self._node._handle = weakref.ref(self)
        return self


# Set here and not in the classes' bodies, so that type checkers see the methods that these replace
for _name in ("__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Traced, _name, _comparison(_name))
for _name in ("__eq__", "__ne__"):
    setattr(TracedTensor, _name, _comparison(_name))
for _name in ["__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__", "__setitem__", "copy_", "fill_", "zero_"]:
    setattr(TracedTensor, _name, refusing(WRITE.format("a Tensor")))


class TracedNode(ArrayNode):
    """The node of a traced Tensor: the walk treats Symbols as it does arrays."""

    __slots__ = ()

    @property
    def tensor(self) -> Tensor:
        """The Tensor of this node, or a new one if that no longer exists."""
        tensor = self._handle()
        return traced_tensor(self) if tensor is None else tensor

    _for_grad, _hand_write = Traced._for_grad, Traced._hand_write  # type: ignore[assignment]

    def _as_node(self, g: Any) -> Any:
        return g if is_traced(g) else traced_tensor(new_node(g))

    def _constant(self, data: Any) -> ArrayNode:
        return as_traced(new_node(data))

    def _seed(self, gradient: Any, create_graph: bool) -> Any:
        if isinstance(gradient, TracedTensor):
            return gradient if create_graph else gradient._node._data
        seed = super()._seed(gradient, False)
        if self._data.__class__ is Symbol:  # and not a constant
            seed = self._data.graph.constant(seed)
        return traced_tensor(new_node(seed)) if create_graph else seed

    def _fit(self, part: Any) -> Any:
        like = self._data
        if part.__class__ is not Symbol:
            return super()._fit(part)
        if part.shape != like.shape:
            part = arrays.sum_to(like.shape).forward(part)
        return part.astype(like.dtype)

    def _plus(self, grad: Any, g: Any, ours: bool = False) -> Any:
        return grad + g

    def _as_it_was(self, i: int, operand: Any, kept: Any) -> Any:
        return getattr(operand, "tensor", operand)  # a Symbol never changes


def traced_value(data: Any, row: Any = None) -> TracedValue:
    """A Value with this Symbol: a number or, under `batch`, one for each sample."""
    return fill(object.__new__(TracedValue), data, row)


def as_traced(node: Any) -> Any:
    """Make the node a traced one."""
    node.__class__ = TracedNode
    return node


def traced_tensor(node: Any) -> Any:
    """A traced Tensor with this node."""
    tensor = object.__new__(TracedTensor)
    tensor._node = as_traced(node)
    node._handle = weakref.ref(tensor)
    return tensor


def is_traced(x: Any) -> bool:
    """True if x is a node of a trace."""
    return isinstance(x, Traced)


def data_of(x: Any) -> Any:
    """The Symbol (or constant) in a traced node; anything else is returned unchanged."""
    return x._node._data if isinstance(x, Tensor) else x._data if isinstance(x, Value) else x
