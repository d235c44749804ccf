"""Lazy mode: build the graph now, and compute each value once, on first access.

A pending node, which is not computed yet, is an object with empty slots. Reading a slot (through `.data`, the backward
pass or a drawing) makes Python call `__getattr__`, which computes the node and everything it depends on, and turns it
into an ordinary node. So no other module needs to know about lazy mode.

Shapes are unknown until the arrays are computed, so an op that needs a shape (`@`, `transpose`, `sort`, indexing by a
mask) computes its operand. A pending node is also computed when its operand is about to change, be it a Value, or the
memory of a Tensor, which may have views. Reading `t.data` counts as a change, because the caller can write to the
array. (A write to an array that was taken before the op was recorded goes unnoticed.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

import numpy as np

from ..engine.locks import holding
from ..engine.modes import Intercepting, Interceptor, enable_grad, is_grad_enabled, no_grad, on_change
from ..engine.node import SLOTS
from ..engine.rows import Row
from ..engine.value import Value
from ..engine.walk import lock
from ..scalars.kinds import is_node, node_of
from ..tensor.node import accepts_value, to_tensor
from ..tensor.tensor import Tensor

__all__ = ["lazy", "realize"]


class _Later:
    """A pending node: `_todo` is its row, its operands, and whether to record it."""

    __slots__ = ()
    _waiting = True
    _todo: tuple[Callable[..., Any], Sequence[Any], bool]

    def __getattr__(self, name: str) -> Any:
        if name not in (*SLOTS, "grad", "_node"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        realize(self)
        return getattr(self, name)

    def __setattr__(self, name: str, x: Any) -> None:
        if name in (*SLOTS, "grad"):
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


class Deferring(Interceptor):
    """The interceptor that defers ops."""

    def __call__(self, row: Row, operands: Sequence[Any]) -> Any:
        """The result of the op as a pending node; plain arrays among the operands are copied."""
        operands = tuple(x.copy() if isinstance(x, np.ndarray) else x for x in operands)
        cls = LazyTensor if any(isinstance(x, Tensor) for x in operands) else LazyValue
        # Values become Tensors now, since the transform that allows it may be over when the node is computed.
        if cls is LazyTensor:
            operands = tuple(to_tensor(x) if accepts_value(x) else x for x in operands)
        pending: Any = object.__new__(cls)
        pending._todo = row, operands, is_grad_enabled()
        holding(lock, _reads, pending, filter(is_node, operands))
        return pending


# For each Value and each memory of Tensors, the pending nodes that read it, by id. The readers of a pending node are in
# an attribute of the node, `_readers`.
_readers: WeakKeyDictionary[Any, WeakValueDictionary[int, Any]] = WeakKeyDictionary()


def _reads(pending: Any, operands: Iterable[Any]) -> None:
    """Note that a pending node reads these nodes."""
    for x in operands:
        if isinstance(x, _Later):
            readers = vars(x).setdefault("_readers", WeakValueDictionary())
        else:
            readers = _readers.setdefault(_memory(node_of(x)), WeakValueDictionary())
        readers[id(pending)] = pending


def _memory(node: Any) -> Any:
    """The key of the node in `_readers`."""
    return node if node._is_number else node.storage


def _compute_readers(*nodes: Any) -> None:
    """Compute the readers of these nodes, before the nodes change. A reader that fails raises when it is read.

    A node that is pending itself is computed first, which moves its readers to `_readers`.
    """
    if _readers:
        holding(lock, _compute_readers_of, map(_memory, map(realize, nodes)))


def _compute_readers_of(memories: Iterable[Any]) -> None:
    for memory in memories:
        for reader in [*_readers.get(memory, {}).values()]:
            try:
                realize(reader)
            except Exception as error:
                reader._todo = _raise, (error,), True
        _readers.pop(memory, None)


def _raise(error: Exception) -> None:
    raise error


on_change.append(_compute_readers)


def realize(node: Any) -> Any:
    """Compute a Value or Tensor that lazy mode deferred; a no-op on any other.

    Args:
        node: a Value or Tensor.

    Returns:
        The same object, computed, along with everything it depends on. Iterative, so the depth is not limited.

    >>> with lazy():
    ...     b = Value(2.0) * 3
    >>> realize(b)
    Value(data=6.0, grad=0)
    """
    if isinstance(node, _Later):
        holding(lock, _realize, node)
    return node


def _realize(node: Any) -> None:
    path = [node]
    with _eager():
        while path:
            if not isinstance(path[-1], _Later):
                path.pop()
            elif operands := list(filter(lambda x: isinstance(x, _Later), path[-1]._todo[1])):
                path += operands
            else:
                _compute(path.pop())


def _compute(node: Any) -> None:
    """Run the row on the computed operands, and turn the pending node into the result."""
    row, operands, recording = node._todo
    with enable_grad() if recording else no_grad():
        result = row(*operands)
    if isinstance(result, Tensor):
        node._node, result._node._handle = result._node, ref(node)
        if hasattr(result, "_view"):
            node._view = result._view
            node._node.storage.share(node)
    else:
        for name in SLOTS:
            if hasattr(result, name):  # a constant leaves some slots empty
                object.__setattr__(node, name, getattr(result, name))
    readers = vars(node).pop("_readers", {})
    del node._todo
    node.__class__ = type(result)
    for reader in [*readers.values()]:
        _reads(reader, [node])
    if (mark := vars(node).pop("_made_by", None)) and node_of(node)._row:  # the mark of a module; see `nn.module`
        node_of(node)._made_by = (*mark[:-1], tuple(map(node_of, mark[-1])))


class lazy(Intercepting):
    """Context manager and decorator that defers computation until `.data` or `realize` asks for a number.

    Use it to build a graph whose results are perhaps not needed, or to look at a graph before it is computed.

    Each node is computed once, with everything it depends on. If its op raises an error, it does so then.

    Args:
        fn: the function to decorate, or nothing in a `with`.

    >>> a = Value(2.0)
    >>> with lazy():
    ...     b = a * 3
    ...     c = b.exp()
    >>> b.data
    6.0
    """

    value: Any = Deferring()


class _eager(Intercepting):
    value = None
