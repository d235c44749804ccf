"""What else a Value can do: PyTorch's names, a Value where a number is expected, and refusals."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from ..engine.node import Node, fill_slots
from ..engine.value import Value, operator_of
from . import ops, roots
from .grad_fn import GradFn
from .kinds import attach, read_data, traced

_of_a_number: Any = operator_of(ops.pow)[1]
HISTORY = ("_row", "_a", "_b", "_x", "_y", "_sum")  # the slots that a copy does not take over
_grad_by_name: Any = property(lambda self: self.grad, lambda self, g: setattr(self, "grad", g))


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

    def _drop_saved(self: Any) -> None:
        """Drop what the node saved for its rules."""
        self._x = self._y = None

    def _numpy_warnings_off(self) -> Any:
        """A context manager around a pass from roots of this kind."""
        return nullcontext()

    def _unshared(self, g: Any, _taken: set[int], /) -> Any:
        """A gradient that nothing else refers to."""
        return g


@attach(Value)
class _Value:
    __rpow__: Any = _of_a_number

    def _backward_to(self: Any, gradient: Any, retain_graph: bool | None, create_graph: bool, inputs: Any) -> None:
        """What `backward` does with `inputs` or without `retain_graph`."""
        roots.backward(self, None if gradient is None else [gradient], retain_graph, create_graph, inputs)

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
        slots = {name: x for name, x in slots.items() if name not in HISTORY} | {"requires_grad": self.requires_grad}
        kept = {name: x for name, x in (held or {}).items() if name not in ("_hooks", "_own_backward")}
        return _blank, (type(self),), (kept, slots)


def _blank(cls: type) -> Any:
    """A new constant of this class, whose number is set next: of a copy or from a pickle."""
    return fill_slots(object.__new__(cls), 0.0)
