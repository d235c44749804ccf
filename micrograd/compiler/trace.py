"""Tracing: a function is run once, with Symbols where its numbers and arrays would be.

What the function sees are `nodes`; the same methods record the same nodes, and `grad` walks them. Only their data are
Symbols, and every op is computed here (`Trace.__call__`), as `lazy` has it computed elsewhere:

>>> from ..engine.walk import grad
>>> trace = Trace()
>>> x = trace.value("x", requires_grad=True)
>>> with tracing(trace):
...     y = x * x + 1
...     (slope,) = grad(y, x)
>>> data_of(y), data_of(slope)
(add(multiply(x, x), 1.0), add(x, x))

A node from outside (a parameter that the function closes over) takes part as a stand-in with a Symbol of its own, which
the program reads from the node each time it runs. One that was made inside and is gone when the trace ends was a
constant.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..engine.graph import LEAF
from ..engine.modes import _Mode, deferring, detect_anomaly, is_grad_enabled, modes
from ..engine.rows import HandWritten, Many, Row
from ..engine.value import Value, number
from ..engine.value import _fill as fill
from ..engine.value import _settle as settle
from ..tensor.node import new_node, operand, remember
from ..tensor.tensor import Tensor
from .frozen import DRAWN, OUTSIDE, OWN_OP, frozen, without_draws
from .graph import Graph
from .nodes import DETACH, Traced, TracedTensor, TracedValue, data_of, is_traced, traced_tensor, traced_value
from .symbols import BY_COLUMNS, Symbol


class Leaf:
    """A node from outside, the Symbol that stands for it, and what it held."""

    def __init__(self, node: Any, symbol: Symbol, data: Any):
        self.ref, self.symbol, self.data = weakref.ref(node), symbol, data
        self.name = symbol.args[0]


class Trace:
    """One run of a function: what computes its ops, and what it used of the world outside."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.leaves: dict[int, tuple[Leaf, Any]] = {}  # by the identity of the node outside: with its stand-in
        self.order: list[tuple[Leaf, Any]] = []
        self.rows: dict[Symbol, tuple[Row, tuple[Any, ...]]] = {}  # of numbers: the op that gave each, and its operands
        self.inputs: set[Any] = set()  # the nodes that stand for such as require a gradient
        self.by_identity = False  # did the function ask for a gradient with respect to one of them?

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
        """For a node from outside, the one that takes its place here; anything else is given back."""
        if isinstance(x, Traced) or not isinstance(x, (Value, Tensor)):
            return x
        known = self.leaves.get(id(x))
        if known is None or known[0].ref() is not x:
            node: Any = getattr(x, "_node", x)
            if isinstance(node._row, HandWritten) and any(map(is_traced, x._prev)):
                self.refuse_op(node._row.name)
            wanted = x.requires_grad
            name = f"p{len(self.order)}"
            data = x._node._data if isinstance(x, Tensor) else x._data
            made = self.tensor(name, data, wanted) if isinstance(x, Tensor) else self.value(name, wanted)
            known = self.leaves[id(x)] = (Leaf(x, data_of(made), data), made)
            self.order.append(known)
        return known[1]

    tensor_of, value_of = staticmethod(traced_tensor), staticmethod(traced_value)

    def like(self, name: str, x: Any) -> Any:
        """A constant of the kind and shape of x, which is traced."""
        like = data_of(x)
        if isinstance(x, Tensor):
            return self.tensor(name, like)
        return traced_value(self.graph.input(name, getattr(like, "shape", None), getattr(like, "dtype", None)))

    # ---- ops

    def __call__(self, row: Row, operands: Sequence[Any]) -> Any:
        """The op, recorded as ever, on Symbols."""
        given = list(map(self.stand_in, operands))
        if any(isinstance(x, Tensor) for x in given):
            return self._of_arrays(row, given)
        return self._of_numbers(row, given)

    def _of_numbers(self, row: Row, operands: list[Any]) -> Any:
        nodes = [x if x.__class__ is TracedValue else None for x in operands]
        values = [x._data if x.__class__ is TracedValue else number(x) for x in operands]
        if any(x is None for x in values):
            raise TypeError(
                f"'{row.name}' takes Values and numbers, found {' and '.join(type(x).__name__ for x in operands)}"
            )
        data = row.forward(*values)
        out = object.__new__(TracedValue)
        if data.__class__ is Symbol and data not in self.rows and data.op not in ("input", "getitem"):
            self.rows[data] = row, tuple(values)
        if row.to_a is None:  # a comparison, or a constant
            return fill(out, data)
        if modes and not is_grad_enabled() and any(n is not None and n._row is not None for n in nodes):
            return self._of_numbers(DETACH, [fill(out, data)])
        if row.to_b is None:
            return settle(out, data, row, nodes[0], None, data, values[0])
        return settle(out, data, row, *nodes, *values)

    def _of_arrays(self, row: Row, operands: list[Any]) -> Any:
        nodes = [operand(x)[0] if isinstance(x, (Tensor, Value)) else None for x in operands]
        if isinstance(row, Many):
            nodes = [n if n is not None else new_node(np.array(x)) for n, x in zip(nodes, operands, strict=True)]
        values = [x if n is None else data_of(x) for n, x in zip(nodes, operands, strict=True)]
        try:
            data = self.graph.forward(row, tuple(values))
        except (ValueError, TypeError, IndexError) as error:
            error.add_note(f"in '{row.name}' of shapes {' and '.join(str(np.shape(x)) for x in values)}")
            raise
        node = new_node(data)
        if row.rules or isinstance(row, Many):  # else it is a comparison, or a constant
            remember(node, row, tuple(nodes), tuple(values))
        return traced_tensor(node)

    # ---- the run

    def run(self, function: Callable, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What the function gives for traced arguments."""

        def traced() -> Any:
            with tracing(self):
                return function(*args, **named)

        return without_draws(traced)

    def asked(self, inputs: Sequence[Any]) -> None:
        """Note with respect to what a gradient was taken."""
        self.by_identity = self.by_identity or not self.inputs.isdisjoint(inputs)

    def refuse(self) -> None:
        """Raise for a number of a node from outside that is read or written."""
        raise frozen(OUTSIDE)

    def refuse_draw(self) -> None:
        """Raise for a draw from a generator that is not watched: that of a Dropout of its own."""
        raise frozen(DRAWN)

    def refuse_op(self, name: str) -> None:
        """Raise for an op of the user's own, whose rules are no rows."""
        raise frozen(OWN_OP.format(name))

    def constants(self) -> dict[Symbol, Any]:
        """The Symbols of what is known after all: of nodes that were made inside, and are gone, for one."""
        return self.graph.known | {leaf.symbol: leaf.data for leaf, _ in self.order if leaf.ref() is None}


class tracing(_Mode):
    """Inside, the ops are computed by a trace, and nothing is looked at for NaN: there are no numbers."""

    _variable = deferring

    def __new__(cls, trace: Trace) -> Any:
        mode = object.__new__(cls)
        mode._value = trace
        return mode

    def __enter__(self) -> None:
        super().__enter__()
        _unchecked.__enter__()

    def __exit__(self, *error: object) -> None:
        _unchecked.__exit__()
        super().__exit__(*error)


class _Unchecked(_Mode):
    """As outside of `detect_anomaly`."""

    _variable, _value = detect_anomaly._variable, False


_unchecked = _Unchecked()
