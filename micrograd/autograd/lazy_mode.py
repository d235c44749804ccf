"""Lazy mode: build the graph now, and compute each value once, on first access.

A node that is not computed yet is an object with empty slots. Reading one of them (through `.data`, the backward pass
or a drawing) makes Python call `__getattr__`, which computes the node and everything it depends on, and turns it into
an ordinary node. So no other module needs to know about lazy mode.

Shapes are unknown until the arrays are computed, so an op that needs one (`@`, `transpose`, `reshape` with a -1,
indexing by a mask) computes its operand. If an operand is modified before it is used, the access raises; writes through
an array obtained from `.data` are not detected and will be used.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..engine.graph import SLOTS, Node, grads_lock, node_of
from ..engine.modes import Mode, deferred, deferring, enable_grad, is_grad_enabled, is_tracing, no_grad
from ..engine.rows import Row
from ..engine.value import Value
from ..tensor.node import lifted, may_meet, same_array
from ..tensor.tensor import Tensor

__all__ = ["lazy", "realize"]


class _Later:
    """A pending node: `_todo` is its row, its operands, their states, and whether to record it."""

    __slots__ = ()
    _waiting = True
    _todo: tuple[Row, Sequence[Any], Sequence[Any], bool]
    _when_ready: Callable[[Node], None]  # called once computed: a module tags its outputs; see `nn.module`

    def __getattr__(self, name: str) -> Any:
        if name not in (*SLOTS, "_node"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        realize(self)
        return getattr(self, name)

    def __setattr__(self, name: str, x: Any) -> None:
        if name in SLOTS:
            realize(self)
        object.__setattr__(self, name, x)

    def __repr__(self) -> str:
        return repr(realize(self))


class LazyValue(_Later, Value):
    """A Value that is not computed yet."""

    __slots__ = ()


class LazyTensor(_Later, Tensor):
    """A Tensor that is not computed yet."""

    __slots__ = ()


def _defer(row: Row, operands: Sequence[Any]) -> Any:
    """Record what to compute instead of computing it; plain arrays among the operands are copied."""
    operands = tuple(x.copy() if isinstance(x, np.ndarray) else x for x in operands)
    kind = LazyTensor if any(isinstance(x, Tensor) for x in operands) else LazyValue
    if kind is LazyTensor:  # now, since the transform may be over when it is computed
        operands = tuple(lifted(x) if may_meet(x) else x for x in operands)
    out: Any = object.__new__(kind)
    out._todo = row, operands, tuple(map(_state, operands)), is_grad_enabled()
    return out


def _state(x: Any) -> Any:
    """What tells whether x is modified: its number or array, whether it is frozen, and how often it was written to."""
    if isinstance(x, Tensor) and not isinstance(x, _Later):
        return x._node, x._node._data, x._node.storage, x._node.storage.version
    return (x.requires_grad, x._data) if isinstance(x, Value) and not isinstance(x, _Later) else None


def _changed(x: Any, then: Any) -> bool:
    if then is None or isinstance(x, Value):
        return then is not None and then != (x.requires_grad, x._data)
    node, data, storage, version = then
    return x._node is not node or storage.changed(version) or not same_array(x._node._data, data)


def realize(node: Any) -> Any:
    """Compute a Value or Tensor that lazy mode deferred; a no-op on any other.

    Args:
        node: a Value or Tensor.

    Returns:
        The same object, computed, along with everything it depends on. Iterative, so the depth is not limited.

    Raises:
        RuntimeError: an operand was modified after the op was recorded.

    >>> with lazy():
    ...     b = Value(2.0) * 3
    >>> realize(b)
    Value(data=6.0, grad=0)
    """
    path = [node]
    with grads_lock, _eager():
        while path:
            if not isinstance(path[-1], _Later):
                path.pop()
            elif needed := list(filter(lambda x: isinstance(x, _Later), path[-1]._todo[1])):
                path += needed
            else:
                _compute(path.pop())
    return node


def _compute(node: Any) -> None:
    """Run the row on computed operands, and become the result."""
    row, operands, states, recording = node._todo
    for x, state in zip(operands, states, strict=True):
        if _changed(x, state):
            raise RuntimeError(
                f"an operand of '{row.name}' was changed before lazy mode computed it: realize() it first"
            )
    with enable_grad() if recording else no_grad():
        made = row(*operands)
    if isinstance(made, Tensor):
        node._node, made._node._handle = made._node, weakref.ref(node)
        if hasattr(made, "_view"):
            node._view = made._view
            node._node.storage.share(node)
    for name in () if isinstance(made, Tensor) else SLOTS:
        object.__setattr__(node, name, getattr(made, name))
    del node._todo
    node.__class__ = type(made)
    if then := vars(node).pop("_when_ready", None):
        then(node_of(node))


class lazy(Mode):
    """Context manager and decorator that defers computation: ops build the graph, `.data` or `realize` computes it.

    Each node is computed once, with everything it depends on. See `realize` for what raises.

    Args:
        fn: the function to decorate; nothing in a `with`.

    >>> a = Value(2.0)
    >>> with lazy():
    ...     b = a * 3
    ...     c = b.exp()
    >>> b.data
    6.0
    """

    _variable = deferring
    _value = property(lambda self: deferred() if is_tracing() else _defer)  # a trace computes nothing anyway


class _eager(Mode):
    _variable, _value = deferring, None
