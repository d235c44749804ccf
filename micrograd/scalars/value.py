"""What else a Value can do: PyTorch's names, a Value where a number is expected, and refusals."""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from ..engine.modes import modes_on
from ..engine.rows import LEAF, Row
from ..engine.value import Node, Value, checked_number, fill_slots, operator_of
from ..engine.walk import run
from . import ops, roots
from .grad_fn import GradFn
from .kinds import attach, before_change, changing, read_data, setting, traced, watched
from .release import Released

_seed, _used = Value._seed, Value._used
_to_a_number: Any = Value.__pow__
_to_a_node, _of_a_number = operator_of(ops.pow)
_grad_by_name: Any = property(lambda self: self.grad, lambda self, g: setattr(self, "grad", g))

setattr(Row, "run_compiled", None)  # noqa: B010  (of a program's row a function: the whole pass, done in a faster way)


@attach(Node)
class _Node:
    _made_by: tuple[Any, ...] = ()  # (*modules, inputs) if this is the output of a module's call; see `nn.module`
    _saves = True  # False for a node without saved values: a graph of only such nodes is not released

    def __init_subclass__(cls: Any) -> None:
        if "__eq__" in cls.__dict__ or "__hash__" in cls.__dict__:
            raise TypeError(f"{cls.__name__} defines == or hash: nodes are told apart by identity, so leave these out")
        if cls.grad is not Node.grad:  # the class watches its gradients: passes write them by this name
            cls._gradient = _grad_by_name

    @property
    def requires_grad(self: Any) -> bool:
        """True for a parameter and anything computed from one. Assign to it to freeze or unfreeze a leaf."""
        return (watched(self, True) if modes_on else self)._row is not None

    @requires_grad.setter
    def requires_grad(self: Any, wanted: bool) -> None:
        setting(self)
        if self._row:
            raise RuntimeError(f"'{self._op}' made this node: only a leaf can be frozen; detach() gives a constant")
        changing(self)
        self._row = LEAF if wanted else None

    @property
    def _prev(self: Any) -> tuple[Any, ...]:
        """The operands, in order, repeats and constants included; none of a released node."""
        if self._x.__class__ is tuple:
            return () if isinstance(self._row, Released) else self._x
        if self._a is None:  # a plain number: make its constant on first access, and reuse it
            self._a = self._constant(self._x)
        if self._b is None and self._row.to_b:
            self._b = self._constant(self._y)
        return (self._a, self._b) if self._row.to_b else (self._a,)

    @property
    def grad_fn(self: Any) -> GradFn | None:
        """A view of the op that made this node, as in PyTorch, or None for a leaf."""
        return GradFn.of(self) if self._row else None

    def realize(self: Any) -> Any:
        """Compute a node that `lazy` deferred.

        Returns:
            self.
        """
        _ = self._data
        return self

    def _forget(self: Any) -> None:
        """Drop what the node saved for its rules."""
        self._a = self._b = self._y = None

    def _quiet(self) -> Any:
        """A context manager around a pass from roots of this kind."""
        return nullcontext()

    def _own(self, g: Any, _taken: set[int], /) -> Any:
        """A gradient that nothing else refers to."""
        return g


@attach(Value)
class _Value:
    @property
    def data(self: Any) -> float:
        """The number, a float. Assigning a new one does not affect gradients of graphs that used the old one."""
        return read_data(self) if modes_on else self._data

    @data.setter
    def data(self: Any, data: float) -> None:
        if modes_on:
            read_data(self)
        found = checked_number(data)
        if before_change:
            changing(self)
        self._data = found

    def backward(
        self: Any,
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
        if gradient is None and retain_graph is not False and not create_graph and inputs is None and self._row:
            if self._row.run_compiled and self._row.run_compiled(self):
                return
            if not modes_on:
                run((self,), (1.0,))
                return
        roots.backward(self, None if gradient is None else [gradient], retain_graph, create_graph, inputs)

    def __pow__(self: Any, other: Any) -> Any:
        return _to_a_node(self, other) if (out := _to_a_number(self, other)) is NotImplemented else out

    __rpow__: Any = _of_a_number

    def _seed(self: Any, gradient: Any, create_graph: bool) -> Any:
        return self._plain(_seed(self, gradient, create_graph))

    def _used(self: Any, create_graph: bool) -> Sequence[Any]:
        values = _used(self, create_graph)
        return [*map(self._plain, values)] if create_graph else values

    def _plain(self, x: Any) -> Any:
        """What a rule computes on in place of x, so that its operators are the engine's: a copy, if x redefines one."""
        if not isinstance(x, Value) or not ops.redefines_operators(type(x), Value):
            return x
        row = None if x._row is None else ops.copied
        return fill_slots(object.__new__(Value), x._data, row, x, None, x._data, x._data)

    def detach(self: Any) -> Any:
        """A constant with the same number and no history.

        >>> x = Value(3.0)
        >>> y = x * x.detach()
        >>> y.backward()
        >>> x.grad
        3.0
        """
        known = traced(self)
        return self._constant(read_data(self)) if known is self else known.detach()

    def item(self: Any) -> float:
        """The number as a Python float."""
        return self.data

    def __bool__(self: Any) -> bool:
        return bool(self.data)

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        if self._row:
            raise RuntimeError(f"the history of {self!r}, made by '{self._op}', cannot be copied: copy its detach()")
        read_data(self)
        held, slots = object.__getstate__(self)  # type: ignore[misc]
        slots |= {"_sum": None, "_row": None, "requires_grad": self.requires_grad}  # a copy of LEAF is not LEAF
        kept = {name: x for name, x in (held or {}).items() if name not in ("_hooks", "_own_backward")}
        return copyreg.__newobj__, (type(self),), (kept, slots)  # type: ignore[attr-defined]
