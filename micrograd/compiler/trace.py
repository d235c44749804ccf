"""Tracing: run a function once, with Symbols in place of numbers and arrays.

The function sees `nodes`; the same methods record the same nodes, and `grad` walks them. Only their data are Symbols,
and every op is computed here (`Trace.__call__`), just as `lazy` computes ops elsewhere:

>>> from ..engine.walk import grad
>>> trace = Trace()
>>> x = trace.value("x", requires_grad=True)
>>> with tracing(trace):
...     y = x * x + 1
...     (slope,) = grad(y, x)
>>> data_of(y), data_of(slope)
(add(mul(x, x), 1.0), add(x, x))

An outside node (a parameter that the function closes over) is replaced by a stand-in with its own Symbol, which the
program reads from the node each time it runs. A node that was created inside, and no longer exists when the trace ends,
was a constant.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..engine.graph import LEAF, node_of
from ..engine.modes import Mode, deferring, is_grad_enabled
from ..engine.rows import HandWritten, Many, Row
from ..engine.value import Value, fill, number
from ..tensor.optional import Tensor, new_node, np, operand, remember
from .frozen import DRAWN, OUTSIDE, OWN_OP, UNWATCHED, frozen, refusing
from .graph import Graph
from .nodes import DETACH, Traced, TracedTensor, TracedValue, data_of, is_traced, traced_tensor, traced_value
from .symbols import BY_COLUMNS, Symbol


class Leaf:
    """An outside node, its data at trace time, and the stand-in that the function sees, with its Symbol."""

    def __init__(self, node: Any, data: Any, seen: Any):
        self.ref: weakref.ref[Any] = weakref.ref(node)
        self.data: Any = data
        self.seen: Any = seen
        self.symbol: Symbol = data_of(seen)
        self.name: Any = self.symbol.args[0]
        self.made_by: str = node._op


class Trace:
    """One run of a function: computes its ops, and records which outside nodes it used."""

    def __init__(self) -> None:
        self.graph: Graph = Graph()
        self.leaves: dict[int, Leaf] = {}  # by id of the outside node
        self.order: list[Leaf] = []
        self.inputs: set[Any] = set()  # stand-ins of nodes that require a gradient
        self.by_identity: bool = False  # True if the function takes a gradient with respect to one of them

    # ---- inputs

    def value(self, name: str, requires_grad: bool = False) -> TracedValue:
        """A number as the function sees it."""
        made = traced_value(self.graph.input(name), LEAF if requires_grad else None)
        self.inputs |= {made} if requires_grad else set()
        return made

    def tensor(self, name: str, like: Any, requires_grad: bool = False) -> TracedTensor:
        """An array as the function sees it."""
        order = BY_COLUMNS if like.__class__ is np.ndarray and like.flags.fnc else ()
        symbol: Any = self.graph.input(name, like.shape, like.dtype, order)
        made = traced_tensor(new_node(symbol, LEAF if requires_grad else None))
        self.inputs |= {made._node} if requires_grad else set()
        return made

    def stand_in(self, x: Any) -> Any:
        """The stand-in of an outside node; anything else is returned unchanged."""
        known = self.leaves.get(id(x))
        if known is not None and known.ref() is x:
            return known.seen
        if isinstance(x, Traced) or not isinstance(x, (Value, Tensor)):
            return x
        node: Any = node_of(x)
        if isinstance(node._row, HandWritten) and any(map(is_traced, x._prev)):
            self.refuse_op(node._row.name)
        wanted = x.requires_grad
        name = f"p{len(self.order)}"
        data = x._node._data if isinstance(x, Tensor) else x._data
        made = self.tensor(name, data, wanted) if isinstance(x, Tensor) else self.value(name, wanted)
        self.leaves[id(x)] = leaf = Leaf(x, data, made)
        self.order.append(leaf)
        return made

    tensor_of: Callable[..., Any] = staticmethod(traced_tensor)
    value_of: Callable[..., TracedValue] = staticmethod(traced_value)

    def like(self, name: str, x: Any) -> Any:
        """A constant of the same kind and shape as x, which is traced."""
        like = data_of(x)
        if isinstance(x, Tensor):
            return self.tensor(name, like)
        return traced_value(self.graph.input(name, getattr(like, "shape", None), getattr(like, "dtype", None)))

    # ---- ops

    def __call__(self, row: Row, operands: Sequence[Any]) -> Any:
        """Compute the op on Symbols, and record it as usual."""
        nodes, values, wanted = [], [], False
        for x in operands:
            if x.__class__ is not TracedValue:
                x = self.stand_in(x)
            if x.__class__ is TracedValue:
                nodes.append(x)
                values.append(x._data)
                wanted = wanted or x._row is not None
            elif (y := number(x)) is not None:
                nodes.append(None)
                values.append(y)
            else:
                return self._of_arrays(row, [*map(self.stand_in, operands)])
        data = self.graph.on_numbers(row, tuple(values))
        if not wanted or row.to_a is None:  # a constant, or a comparison
            return traced_value(data)
        if not is_grad_enabled():
            return self(DETACH, (traced_value(data),))
        if row.to_b is None:
            return fill(object.__new__(TracedValue), data, row, nodes[0], None, data, values[0])
        return fill(object.__new__(TracedValue), data, row, nodes[0], nodes[1], values[0], values[1])

    def _of_arrays(self, row: Row, operands: list[Any]) -> Any:
        if not any(isinstance(x, Tensor) for x in operands):
            kinds = " and ".join(type(x).__name__ for x in operands)
            raise TypeError(f"'{row.name}' takes Values and numbers, found {kinds}")
        nodes = [operand(x)[0] for x in operands]
        if isinstance(row, Many):
            nodes = [n if n is not None else new_node(np.array(x)) for n, x in zip(nodes, operands, strict=True)]
        values = [x if n is None else data_of(x) for n, x in zip(nodes, operands, strict=True)]
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

    refuse: Callable[..., Any] = refusing(OUTSIDE)  # a number in an outside node was read or written
    refuse_draw: Callable[..., Any] = refusing(DRAWN)  # a generator was drawn from that is not watched: a Dropout's

    def refuse_op(self, name: str) -> None:
        """Raise because an op defined by the user was called, which has no rules in the table."""
        raise frozen(OWN_OP.format(name))

    def constants(self) -> dict[Symbol, Any]:
        """The Symbols whose values are known after all, such as those of nodes created inside that no longer exist."""
        gone = [leaf for leaf in self.order if leaf.ref() is None]
        for leaf in gone:
            if leaf.made_by:
                raise frozen(UNWATCHED.format(f"the result of '{leaf.made_by}', which was computed elsewhere"))
        return self.graph.known | {leaf.symbol: leaf.data for leaf in gone}


class tracing(Mode):
    """A context in which a trace computes the ops."""

    _variable = deferring

    def __new__(cls, trace: Trace) -> Any:
        mode = object.__new__(cls)
        mode._value = trace
        return mode
