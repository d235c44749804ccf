"""The nodes that a traced function sees: ordinary Values and Tensors whose data is a Symbol.

They have the methods of Value and Tensor, record the same nodes, and are traversed by the same walk. Only reading or
writing a number is refused, since a program could not repeat it. A comparison returns a node too.

>>> from .graph import Graph
>>> x = traced_value(Graph().input("x"), LEAF)
>>> x, is_traced(x), data_of(x)
(<TracedValue>, True, x)
>>> float(x)
Traceback (most recent call last):
...
micrograd.compiler.trace_errors.Frozen: a compiled function cannot look at a number (float, int, round, an index): ...
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..engine.by_hand import Closure
from ..engine.modes import interceptor, reading, value_of
from ..engine.rows import LEAF, Row
from ..engine.value import Node, Value, fill_slots
from ..scalars.kinds import is_tracing, node_of
from ..tensor.optional import ArrayNode, Tensor, arrays, new_node, np
from .graph import EndedGraph
from .symbols import BINARY, Symbol, stand_in
from .trace_errors import BACKWARD, BITS, CONDITIONS, ELSEWHERE, GRAD, OWN_OP, READ, REDEFINED, SETTING, WRITE, frozen

OPERATORS = {f"__{side}{name}__" for name in BINARY for side in ("", "r")} | {"__neg__"}


def _comparison(name: str) -> Callable:
    """A comparison that returns a node: a condition for `where`, 1 or 0."""
    row = Row(name, getattr(operator, name), None)
    return lambda self, other: self._apply(row, (self, other))


def _logic(op: str) -> Callable:
    """An operator on masks, or a function of NumPy, that returns a node as a comparison does."""

    def forward(*masks: Any) -> Any:
        for dtype in (np.asarray(stand_in(mask)).dtype for mask in masks):
            if dtype.kind != "b":
                raise frozen(BITS.format(dtype))
        return getattr(np, op)(*masks)

    row = Row(op, forward, None)
    return lambda *masks: next(filter(is_traced, masks))._apply(row, masks)


# detach() as a row, so that programs on arrays can detach too
DETACH = Row("detach", lambda a: a, None)


def has_ended(x: Any) -> bool:
    """True if the trace that made this node has ended."""
    data = data_of(x)
    return isinstance(data.graph, EndedGraph) if data.__class__ is Symbol else not is_tracing()


def own(x: Any, graph: Any = None) -> Any:
    """The node itself; raises if it is used outside of the trace that made it, or in the trace of another graph."""
    data = data_of(x)
    if has_ended(x) or (graph is not None and data.__class__ is Symbol and data.graph is not graph):
        raise frozen(ELSEWHERE)
    return x


def detaching(x: Any) -> Any:
    """The node itself; raises as `own` does, or if a derivative would miss the detached node."""
    if refuse := value_of(reading):
        refuse(node_of(x))
    return own(x)


def _refusing(what: str) -> Callable[..., Any]:
    """A method that raises this error, or the error that the node's trace has ended."""

    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        raise frozen(ELSEWHERE if has_ended(self) else what)

    return refuse


class Recorded:
    """Mixin of the nodes that a trace records: each has a row of the table, and no closure."""

    __slots__ = ()

    def _unshared(self, g: Any, _taken: set[int]) -> Any:
        return self._as_node(g)  # type: ignore[attr-defined]

    def _record(self, row: Row, *history: Any) -> None:
        if isinstance(row, Closure):
            raise frozen(OWN_OP.format(row.name))
        super()._record(row, *history)  # type: ignore[misc]


class Traced(Recorded):
    """A node whose numbers are not there yet, and cannot be read."""

    __slots__ = ()
    _of_integers = False  # True for an integer argument, which no transform differentiates

    if not TYPE_CHECKING:  # type checkers see the methods that these replace
        data = property(_refusing(READ.format(".data")), _refusing(READ.format(".data")))
        item = numpy = tolist = argmax = argmin = __reduce_ex__ = _refusing(READ.format("a number"))
        __bool__ = _refusing(READ.format("a condition (`if`, `while`, `and`, `max`, `sorted`)"))
        __float__ = __int__ = __index__ = __round__ = _refusing(READ.format("a number (float, int, round, an index)"))
        register_hook = _refusing(READ.format("gradients through hooks"))
        backward = _refusing(BACKWARD)
        grad = property(_refusing(GRAD), _refusing(GRAD))
        _gradient = Node._gradient  # a user's class may replace it
        __init_subclass__ = classmethod(lambda cls: None)

    def _label(self) -> Any:
        if "_source" in vars(self) and "label" not in vars(self):
            return _of_source(self, "label")
        return vars(self).get("label", "")

    label: Any = property(_label, lambda self, label: vars(self).__setitem__("label", label))

    def __getattr__(self, name: str) -> Any:
        return _of_source(self, name)

    def _as_node(self, g: Any) -> Any:
        """A gradient that is taken inside the function, as a node."""
        return g if is_traced(g) else traced_value(g)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{' of a trace that has ended' * has_ended(self)}>"

    def __format__(self, spec: str) -> str:
        return repr(self)


def _of_source(node: Any, name: str) -> Any:
    """The attribute of the argument that this node stands for. The trace then depends on it."""
    source = vars(node).get("_source")
    if source is None or name[0] == "_":
        raise AttributeError(f"{type(node).__name__!r} object has no attribute {name!r}")
    own(node)
    interceptor().attributes.add(name)  # type: ignore[union-attr]
    return getattr(source, name)


class TracedValue(Traced, Value):
    """A Value whose data is a Symbol."""

    __slots__ = ()

    def _constant(self, data: Any) -> Any:
        return traced_value(data, None, type(self))

    def _rule_arguments(self, create_graph: bool) -> Any:
        redefined = [name for cls in type(self).__mro__ if is_users(cls) for name in OPERATORS & vars(cls).keys()]
        if create_graph and redefined:
            raise frozen(REDEFINED.format(type(self).__name__.removeprefix("Traced"), redefined[0]))
        return Value._rule_arguments(self, create_graph)

    def _seed(self, gradient: Any, create_graph: bool) -> Any:
        return Value._seed(own(self), gradient, create_graph)

    def detach(self) -> Any:
        """A constant with the same Symbol."""
        return detaching(self)._apply(DETACH, (self,))


class TracedTensor(Traced, Tensor):
    """A Tensor whose array is a Symbol."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        if ufunc.__name__ in LOGIC and method == "__call__" and not named:
            return LOGIC[ufunc.__name__](*inputs)
        return super().__array_ufunc__(ufunc, method, *inputs, **named)  # type: ignore[misc]

    def __array_function__(self, function: Callable, types: Any, args: Any, named: Any) -> Any:
        if function in (np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.full_like, np.empty_like):
            return function(stand_in(data_of(args[0])), *args[1:], **named)  # no numbers are needed
        return super().__array_function__(function, types, args, named)  # type: ignore[misc]

    def detach(self) -> Any:
        """A constant with the same Symbol."""
        return traced_tensor(new_node(detaching(self)._node._data))

    def requires_grad_(self, wanted: bool = True) -> Any:
        """As `Tensor.requires_grad_`, on a separate node."""
        if "_source" in vars(self) and wanted != (self._node._row is not None):
            raise frozen(SETTING)
        if wanted and self._node._row is None:
            self._node = as_traced(new_node(self._node._data, LEAF))
            self._node._handle = weakref.ref(self)
        return self


# These are set here and not in the bodies of the classes, so that type checkers see the methods that they replace
for _name in ("__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Traced, _name, _comparison(_name))
for _name in ("__eq__", "__ne__"):
    setattr(TracedTensor, _name, _comparison(_name))
LOGIC: dict[str, Callable[..., Any]] = {}  # operations on masks, by the name of NumPy's function
for _name, _op in {"and": "logical_and", "or": "logical_or", "xor": "not_equal"}.items():
    LOGIC[f"bitwise_{_name}"] = LOGIC[f"logical_{_name}"] = _method = _logic(_op)
    setattr(TracedTensor, f"__{_name}__", _method)
    setattr(TracedTensor, f"__r{_name}__", _method)
    setattr(TracedValue, f"__{_name}__", _refusing(CONDITIONS))
    setattr(TracedValue, f"__r{_name}__", _refusing(CONDITIONS))
LOGIC["invert"] = LOGIC["logical_not"] = TracedTensor.__invert__ = _logic("logical_not")
for _name in ["__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__", "__setitem__", "copy_", "fill_", "zero_"]:
    setattr(TracedTensor, _name, _refusing(WRITE.format("a Tensor")))


class TracedNode(Recorded, ArrayNode):
    """The node of a traced Tensor. The walk treats Symbols as it treats arrays."""

    __slots__ = ()

    @property
    def tensor(self) -> Tensor:
        """The Tensor of this node, or a new one if that no longer exists."""
        tensor = self._handle()
        return traced_tensor(self) if tensor is None else tensor

    def _as_node(self, g: Any) -> Any:
        return g if is_traced(g) else traced_tensor(new_node(g))

    def _constant(self, data: Any) -> ArrayNode:
        return as_traced(new_node(data))

    def _seed(self, gradient: Any, create_graph: bool) -> Any:
        own(self.tensor)
        if isinstance(gradient, TracedTensor):
            if gradient.shape != self.tensor.shape:
                raise ValueError(
                    f"a Tensor of shape {self.tensor.shape} cannot have a gradient of shape {gradient.shape}"
                )
            return gradient if create_graph else gradient._node._data
        seed = super()._seed(gradient, False)
        if self._data.__class__ is Symbol:  # and not a constant
            seed = self._data.graph.constant(seed)
        return traced_tensor(new_node(seed)) if create_graph else seed

    def _cast_gradient(self, part: Any) -> Any:
        like = self._data
        if part.__class__ is not Symbol:
            return super()._cast_gradient(part)
        if part.shape != like.shape:
            part = arrays.sum_to(like.shape).forward(part)
        return part.astype(like.dtype)

    def _plus(self, total: Any, part: Any, _taken: Any = None) -> Any:
        return total + part

    def _as_it_was(self, i: int, operand: Any, kept: Any) -> Any:
        return getattr(operand, "tensor", operand)  # a Symbol never changes


def is_users(cls: type) -> bool:
    """True for a user's class of nodes, which may have other methods."""
    return not cls.__module__.startswith("micrograd.")


@lru_cache
def traced_class(base: type, cls: type) -> type:
    """The class of a traced node that stands for a node of this class. It has the methods of a user's class."""
    if not issubclass(cls, (Value, Tensor)) or not is_users(cls):
        return base
    return type(f"Traced{cls.__name__}", (base, cls), {"__slots__": ()})


def attributes_of(node: Any) -> tuple[dict[str, Any], set[str]]:
    """The attributes of a node of a user's class, and their names with those of the attributes of its class."""
    own_attributes = {name: x for name, x in vars(node).items() if name[0] != "_"}
    namespaces = [vars(cls) for cls in type(node).__mro__ if is_users(cls)]
    attributes = {name: x for namespace in namespaces for name, x in namespace.items() if not hasattr(x, "__get__")}
    return own_attributes, {name for name in attributes if name[0] != "_"} | own_attributes.keys()


def traced_value(data: Any, row: Any = None, cls: type = TracedValue) -> TracedValue:
    """A Value with this Symbol, which is a number or, under `batch`, a number for each sample."""
    return fill_slots(object.__new__(cls), data, row)


def as_traced(node: Any) -> Any:
    """Make the node a traced one."""
    node.__class__ = TracedNode
    return node


def traced_tensor(node: Any, cls: type = TracedTensor) -> Any:
    """A traced Tensor with this node."""
    tensor = object.__new__(cls)
    tensor._node = as_traced(node)
    node._handle = weakref.ref(tensor)
    return tensor


def is_traced(x: Any) -> bool:
    """True if x is a node of a trace."""
    return isinstance(x, Traced)


def data_of(x: Any) -> Any:
    """The Symbol (or constant) in a traced node; anything else is returned unchanged."""
    if isinstance(x, Tensor):
        return x._node._data
    return x._data if isinstance(x, Value) else x
