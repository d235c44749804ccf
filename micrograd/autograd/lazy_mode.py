"""Lazy mode: build the graph now, compute what somebody asks for, once, when he asks.

A node that has not been computed is an object with empty slots. Whoever looks into one of them, whether `.data`, the
backward pass or a drawing, has Python call `__getattr__`, which computes the node and all that it needs, and makes an
ordinary node of it. So nobody else has to know of it.

Shapes are not known before the arrays are: whoever asks for one (`@`, `transpose`, `reshape` with a -1, indexing by a
mask do) has that operand computed. An operand that is changed before raises when it is needed; only what is written
through an array from `.data` goes unseen, and is computed with.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..engine.graph import Node
from ..engine.modes import _Mode, deferring, enable_grad, is_grad_enabled, no_grad
from ..engine.rows import Row
from ..engine.value import Value
from ..tensor.tensor import Tensor

__all__ = ["lazy", "realize"]

_SLOTS = ("_data", "grad", "_row", "_a", "_b", "_x", "_y")  # of a Value; a Tensor has but its node
_lock = threading.RLock()


class _Later:
    """What waits to be computed: `_todo` is its row, its operands, their states, and whether it is to be recorded."""

    __slots__ = ()
    _waiting = True
    _todo: tuple[Row, Sequence[Any], Sequence[Any], bool]
    _when_ready: Callable[[Node], None]  # how a module signs what it made; see `nn.module`

    def __getattr__(self, name: str) -> Any:
        if name not in (*_SLOTS, "_node"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        realize(self)
        return getattr(self, name)

    def __setattr__(self, name: str, x: Any) -> None:
        if name in _SLOTS:
            realize(self)
        object.__setattr__(self, name, x)

    def __repr__(self) -> str:
        return repr(realize(self))


class LazyValue(_Later, Value):
    """A Value that has not been computed."""

    __slots__ = ()


class LazyTensor(_Later, Tensor):
    """A Tensor that has not been computed."""

    __slots__ = ()


def _defer(row: Row, operands: Sequence[Any]) -> Any:
    """In the place of computing: note what to compute, from copies of plain arrays."""
    operands = tuple(x.copy() if isinstance(x, np.ndarray) else x for x in operands)
    kind = LazyTensor if any(isinstance(x, Tensor) for x in operands) else LazyValue
    out: Any = object.__new__(kind)
    out._todo = row, operands, tuple(map(_state, operands)), is_grad_enabled()
    return out


def _state(x: Any) -> Any:
    """What tells whether x changes: a Tensor's node and version, a Value's number."""
    if isinstance(x, Tensor) and not isinstance(x, _Later):
        return x._node, x._node.storage.version
    return x.data if isinstance(x, Value) and not isinstance(x, _Later) else None


def _changed(x: Any, then: Any) -> bool:
    if isinstance(then, tuple):
        return x._node is not then[0] or x._node.storage.changed(then[1])
    return then is not None and then != x.data and then == then


def realize(node: Any) -> Any:
    """Compute a Value or Tensor, if that has not been done, and return it; without recursion, however deep it is."""
    path = [node]
    with _lock, _eager():
        while path:
            if not isinstance(path[-1], _Later):
                path.pop()
            elif needed := [x for x in path[-1]._todo[1] if isinstance(x, _Later)]:
                path += needed
            else:
                _compute(path.pop())
    return node


def _compute(node: Any) -> None:
    """Run the row on operands that are ready, and become what it gives."""
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
    for name in () if isinstance(made, Tensor) else _SLOTS:
        object.__setattr__(node, name, getattr(made, name))
    del node._todo
    node.__class__ = type(made)
    if then := vars(node).pop("_when_ready", None):
        then(getattr(node, "_node", node))


class lazy(_Mode):
    """Inside, operations build the graph and compute nothing; `.data` (or `realize`) computes what it needs, once.

    >>> a = Value(2.0)
    >>> with lazy():
    ...     b = a * 3
    ...     c = b.exp()
    >>> b.data
    6.0
    """

    _variable, _value = deferring, staticmethod(_defer)


class _eager(_Mode):
    _variable, _value = deferring, None
