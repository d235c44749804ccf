"""PyTorch's view of a graph, for inspection: `grad_fn`, `next_functions`, `AccumulateGrad`."""

from __future__ import annotations

import weakref
from typing import Any


class GradFn:
    """A read-only view of the op that made a node, with PyTorch's names.

    >>> from micrograd import Value
    >>> a, b = Value(2.0), Value(3.0)
    >>> (a + b).grad_fn, (a + b).grad_fn.next_functions[1][0].variable is b
    (<AddBackward0>, True)
    """

    _views: weakref.WeakValueDictionary[int, GradFn] = weakref.WeakValueDictionary()

    def __init__(self, node: Any):
        self._node = node

    @classmethod
    def of(cls, node: Any) -> GradFn:
        """The view of this node: the same object for as long as it is referenced."""
        view = cls._views.get(id(node))
        if view is None:
            view = cls._views[id(node)] = (cls if node._row else AccumulateGrad)(node)
        return view

    def name(self) -> str:
        """The op's name, such as `AddBackward0`."""
        return "".join(part.capitalize() for part in self._node._row.word.split("_")) + "Backward0"

    @property
    def next_functions(self) -> tuple[tuple[GradFn | None, int], ...]:
        """A pair (view, 0) for each operand; (None, 0) for a constant."""
        return tuple((None if n._row is None else GradFn.of(n), 0) for n in self._node._prev)

    def __repr__(self) -> str:
        return f"<{self.name()}>"


class AccumulateGrad(GradFn):
    """The end of an edge at a leaf, `variable`, where gradients accumulate."""

    @property
    def variable(self) -> Any:
        """The leaf."""
        return getattr(self._node, "tensor", self._node)

    def name(self) -> str:
        """Always `AccumulateGrad`."""
        return "AccumulateGrad"
