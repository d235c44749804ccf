"""Tracing: run a function once, with Symbols in place of numbers and arrays.

The function sees nodes (`traced_nodes`). The usual methods record the usual nodes, and `grad` walks them. Only their
data are Symbols, and every op is computed here (`Trace.__call__`), just as `lazy` computes ops elsewhere.

>>> from ..scalars.roots import grad
>>> trace = Trace()
>>> x = trace.value("x", requires_grad=True)
>>> with tracing(trace):
...     y = x * x + 1
...     (slope,) = grad(y, x)
>>> data_of(y), data_of(slope)
(add(mul(x, x), 1.0), add(x, x))

An outside node (a parameter that the function closes over) is replaced by a stand-in with its own Symbol, whose number
the program reads from the node each time it runs. A node that was created inside, and no longer exists when the trace
ends, was a constant.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..engine.by_hand import Closure
from ..engine.modes import Intercepting, Interceptor, is_grad_enabled
from ..engine.node import NOTHING
from ..engine.rows import LEAF, Row
from ..engine.value import Value, fill_slots, number
from ..scalars.kinds import node_of
from ..scalars.rows import Many
from ..tensor.optional import Tensor, new_node, np, operand, remember
from .graph import Graph
from .simplify import RULES
from .symbols import BY_COLUMNS, Symbol, symbols_in
from .trace_errors import BACKWARD, CHANGED, DRAWN, OUTSIDE, OWN_OP, SETTING, UNWATCHED, frozen, refusing
from .traced_nodes import (
    DETACH,
    Traced,
    TracedTensor,
    TracedValue,
    attributes_of,
    data_of,
    is_traced,
    is_users,
    own,
    traced_class,
    traced_tensor,
    traced_value,
)


class Leaf:
    """An outside node, its data at trace time, and the stand-in that the function sees, with its Symbol."""

    def __init__(self, node: Any, data: Any, seen: Any):
        self.ref: weakref.ref[Any] = weakref.ref(node)
        self.data: Any = data
        self.seen: Any = seen
        self.symbol: Symbol = data_of(seen)
        self.name: Any = self.symbol.args[0]
        self.made_by: str = node._op


class Trace(Interceptor):
    """One run of a function: computes its ops, and records which outside nodes it used."""

    traces = True

    def __init__(self, rules: dict[str, Callable[..., Any]] = RULES) -> None:
        self.graph: Graph = Graph(rules)
        self.leaves: dict[int, Leaf] = {}  # by id of the outside node
        self.order: list[Leaf] = []
        self.inputs: set[Any] = set()  # stand-ins of nodes that require a gradient
        self.checks: list[tuple[Any, Callable[[Any], object]]] = []  # each call applies the rule to the numbers
        # Nodes of which a shape was read, and whether they require a gradient, if that was read too
        self.watched: dict[int, tuple[weakref.ref[Any], bool | None]] = {}
        # Nodes whose requires_grad was set, its former value, and the error if the node is not from inside
        self.switched: list[tuple[weakref.ref[Any], bool, Exception]] = []
        self.attributes: set[str] = set()  # names of attributes of arguments that were read
        self.of_users: bool = False  # True if the nodes alone know a derivative, and not the rows of the Symbols
        self.by_identity: bool = False  # True if the function takes a gradient with respect to one of the inputs

    # ---- inputs

    def value(self, name: str, requires_grad: bool = False, source: Any = None) -> TracedValue:
        """A number as the function sees it; it may stand for a Value."""
        cls = traced_class(TracedValue, type(source))
        return self._input(traced_value(self.graph.input(name), LEAF if requires_grad else None, cls), source)

    def tensor(self, name: str, like: Any, requires_grad: bool = False, source: Any = None) -> TracedTensor:
        """An array as the function sees it; it may stand for a Tensor."""
        order = BY_COLUMNS if like.__class__ is np.ndarray and like.flags.fnc else ()
        symbol: Any = self.graph.input(name, like.shape, like.dtype, order)
        cls = traced_class(TracedTensor, type(source))
        return self._input(traced_tensor(new_node(symbol, LEAF if requires_grad else None), cls), source)

    def _input(self, traced: Any, source: Any) -> Any:
        """A stand-in, which has the attributes of the node that it stands for."""
        node: Any = node_of(traced)
        if node._row is not None:
            self.inputs.add(node)
        if isinstance(source, (Value, Tensor)):
            if is_users(type(source)):
                attributes, names = attributes_of(source)
                vars(traced).update(attributes)
                self.attributes |= names
            vars(traced)["_source"] = source
        return traced

    def look(self, node: Any, requires_grad: bool) -> None:
        """Note that the shape of a node was read, or whether the node requires a gradient."""
        if isinstance(node, (Value, Tensor)) and not isinstance(node, Traced):
            _, known = self.watched.get(id(node), (None, None))
            answer = node_of(node)._row is not None if requires_grad else known
            self.watched[id(node)] = weakref.ref(node), answer

    def freeze(self, node: Any) -> None:
        """Raise for an argument. For another node, which may be from inside, raise at the end of the trace."""
        if isinstance(node, Traced):
            if "_source" in vars(node):
                raise frozen(SETTING)
        elif isinstance(node, (Value, Tensor)):
            self.switched.append((weakref.ref(node), node_of(node)._row is not None, frozen(SETTING)))

    def end(self) -> None:
        """Let go of the graph, and set requires_grad back where the function set it."""
        self.graph.let_go()
        for ref, before, _ in reversed(self.switched):
            if (x := ref()) is not None:
                x.requires_grad = before

    def seen(self, x: Any) -> Any:
        """The traced node in place of an outside one; anything else is returned unchanged."""
        known = self.leaves.get(id(x))
        if known is not None and known.ref() is x:
            return known.seen
        if isinstance(x, Traced):
            return own(x, self.graph)
        if not isinstance(x, (Value, Tensor)):
            return x
        node: Any = node_of(x)
        if isinstance(node._row, Closure) and any(map(is_traced, x._prev)):
            raise frozen(OWN_OP.format(node._row.name))
        requires_grad = node._row is not None
        name = f"p{len(self.order)}"
        source = x if is_users(type(x)) else None
        if isinstance(x, Tensor):
            seen = self.tensor(name, node._data, requires_grad, source)
        else:
            seen = self.value(name, requires_grad, source)
        self.leaves[id(x)] = leaf = Leaf(x, node._data, seen)
        self.order.append(leaf)
        return seen

    def meets_arrays(self, x: Any) -> bool:
        """True if x is a single number, which under `batch=True` may stand for many."""
        return not getattr(x._data, "shape", ())

    def crossed(self, x: Any) -> Any:
        """The traced node in place of x, a new Tensor made from a Value or a new Value from a Tensor."""
        return traced_tensor(x._node) if isinstance(x, Tensor) else traced_value(x._data)

    def like(self, name: str, x: Any) -> Any:
        """A constant with the shape of x, which is traced: a Value for a Value, and a Tensor for a Tensor."""
        like = data_of(x)
        if isinstance(x, Tensor):
            return self.tensor(name, like)
        return traced_value(self.graph.input(name, getattr(like, "shape", None), getattr(like, "dtype", None)))

    # ---- ops

    def __call__(self, row: Row, operands: Sequence[Any]) -> Any:
        """Compute the op on Symbols, and record it as usual."""
        nodes, values, requires_grad, cls = [], [], False, TracedValue
        for x in operands:
            if x.__class__ is not TracedValue:
                x = self.seen(x)
                if isinstance(x, TracedValue) and len(x.__class__.__mro__) > len(cls.__mro__):
                    cls = x.__class__
            if isinstance(x, TracedValue):
                nodes.append(x)
                values.append(x._data)
                requires_grad = requires_grad or x._row is not None
            elif (y := number(x)) is not None:
                nodes.append(NOTHING)
                values.append(y)
            else:
                return self._of_arrays(row, [*map(self.seen, operands)])
        data = self.graph.on_numbers(row, tuple(values))
        if not requires_grad or row.to_a is None:  # a constant, or a comparison
            return traced_value(data, None, cls)
        if not is_grad_enabled():
            return self(DETACH, (traced_value(data, None, cls),))
        if row.to_b is None:
            return fill_slots(object.__new__(cls), data, row, nodes[0], NOTHING, data, values[0])
        return fill_slots(object.__new__(cls), data, row, nodes[0], nodes[1], values[0], values[1])

    def _of_arrays(self, row: Row, operands: list[Any]) -> Any:
        if not any(isinstance(x, Tensor) for x in operands):
            classes = " and ".join(type(x).__name__ for x in operands)
            raise TypeError(f"'{row.name}' takes Values and numbers, found {classes}")
        nodes, arrays = map(list, zip(*map(operand, operands), strict=True))
        if isinstance(row, Many):
            nodes = [n if n is not NOTHING else new_node(np.array(x)) for n, x in zip(nodes, arrays, strict=True)]
        values = list(map(data_of, arrays))
        try:
            data = self.graph.forward(row, tuple(values))
        except (ValueError, TypeError, IndexError) as error:
            error.add_note(f"in '{row.name}' of shapes {' and '.join(str(np.shape(x)) for x in values)}")
            raise
        node = new_node(data)
        if row.rules or isinstance(row, Many):  # else a comparison or a constant
            remember(node, row, tuple(nodes), tuple(values))
        return traced_tensor(node)

    # ---- the run

    def asked(self, inputs: Sequence[Any]) -> None:
        """Record that gradients were taken with respect to these inputs."""
        self.by_identity = self.by_identity or not self.inputs.isdisjoint(inputs)

    def verify(self, x: Any, rule: Callable[[Any], object]) -> None:
        """Record that each call applies the rule to the Symbols in x; apply it now if x has none, and so is known."""
        if symbols_in(x):
            self.checks.append((x, rule))
        else:
            rule(x)

    backward: Callable[..., Any] = refusing(BACKWARD)  # it would write to `.grad` only once
    read: Callable[..., Any] = refusing(OUTSIDE)  # a number in an outside node was read or written
    draw: Callable[..., Any] = refusing(DRAWN)  # the generator of a Dropout need not be among those compared

    def change(self, what: str) -> None:
        """Raise because a setting was changed, which the program would not do again."""
        raise frozen(CHANGED.format(what))

    def own_op(self, name: str) -> None:
        """Note that a `Function` was called. Its backward may differ from the derivative of its forward."""
        self.of_users = True

    def settle(self) -> list[Leaf]:
        """The outside nodes. A node that was created inside, and no longer exists, becomes a constant of the graph."""
        for ref, _, error in self.switched:
            if ref() is not None:
                raise error
        gone = [leaf for leaf in self.order if leaf.ref() is None]
        for leaf in gone:
            if leaf.made_by:
                raise frozen(UNWATCHED.format(f"the result of '{leaf.made_by}', which was computed elsewhere"))
        self.graph.known |= {leaf.symbol: leaf.data for leaf in gone}
        return [leaf for leaf in self.order if leaf.symbol not in self.graph.known]


class tracing(Intercepting):
    """A context in which a trace computes the ops."""

    def __new__(cls, trace: Trace) -> Any:
        mode = super().__new__(cls)
        mode.value = trace
        return mode
