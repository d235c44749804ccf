"""What a Tensor is: its data, its gradient, its history, and how it is written to.

A Value is a node. A Tensor has one: an in-place operation gives the same Tensor a new history, so what it is now and
what its users saw then must be two objects. Edges lead from node to node (`node.py`), so nothing that happens to
a Tensor later redirects them.

A Tensor may be a view of another: a write to either is seen in both, and, where it is recorded, in the gradients of
both. It is the base that gets a new history then; its views look theirs up when somebody asks for it.

Reading `t.data` hands out an array that may be written to behind our back: if a graph has kept it, the graph keeps its
own and t gets a copy. Where other Tensors share the memory they must see the write, so that the backward pass raises.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ..engine import ops, walk
from ..engine.graph import LEAF, RemovableHandle
from ..engine.modes import is_grad_enabled, is_tracing, look, modes, stand_in
from ..engine.rows import HandWritten, Row, nothing
from . import arrays
from .node import Array, ArrayNode, fits, handle, move, new_node, operand, order, record, write
from .settings import plain_index, real_dtype


def _compare(compare: Callable) -> Callable[[Handle, Any], Any]:
    """The method of a comparison: elementwise, a plain array."""

    def method(self: Handle, other: Any) -> Any:
        if is_tracing():
            return compare(stand_in(self), other)
        return compare(self._node._data, operand(other)[1]) if fits(other) else NotImplemented

    return method


class Handle:
    """What a Tensor is, apart from what can be computed with it."""

    __slots__ = ("__dict__", "__weakref__", "_node", "_view", "_late")  # the last two: see `node`
    __hash__ = object.__hash__

    _node: ArrayNode
    _view: tuple[Handle, Any]
    _late: ArrayNode

    def __init__(
        self,
        data: Any,
        _children: Sequence[Handle] = (),
        _op: str = "",
        *,
        requires_grad: bool = False,
        dtype: Any = None,
        label: str = "",
    ):
        if isinstance(data, Handle):
            data = data._node._data
        array = np.array(data)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"a Tensor holds real numbers, found dtype {array.dtype} from {data!r:.60}")
        self._node = new_node(array if dtype is None else array.astype(real_dtype(dtype), copy=False))
        self._node._handle = weakref.ref(self)
        if label:
            self.label = label
        if not isinstance(_children, tuple) or _children:
            children = _operands(_children)
            if self.dtype.kind == "f" and is_grad_enabled() and any(n.requires_grad for n in children):
                self._node._hand_write(HandWritten(_op, nothing), children)
        if requires_grad:
            self.requires_grad_()

    # ---- what it is

    shape = property(lambda self: self._node._data.shape, doc="The lengths of its axes.")
    ndim = property(lambda self: self._node._data.ndim, doc="The number of its axes.")
    size = property(lambda self: self._node._data.size, doc="The number of its elements.")
    dtype = property(lambda self: self._node._data.dtype, doc="The NumPy dtype of its elements.")

    @property
    def data(self) -> Array:
        """The array. What is written to it is written to the Tensor and to its views.

        A graph that has kept the old values keeps its own; if there are views, its backward pass raises instead. Ask
        for the array when you write to it: one that you had before the forward pass may be the one that was kept.
        """
        node = self._node
        if modes:
            look(node)
        storage = node._store
        if storage is not None and storage.kept:
            if storage.views:
                storage.show(node._data)
            else:
                node._data, node._store = node._data.copy(order="K"), None
        return node._data

    @data.setter
    def data(self, data: Any) -> None:
        node = self._node
        if modes:
            look(node)
        if data is node._data:  # `t.data += 1`: it was written to already
            storage = node.storage
            storage.version += 1
            storage.shown = None
            return
        array = ArrayNode.kind(data, dtype=node._data.dtype)._node._data
        if array.shape != node._data.shape:
            raise ValueError(f"found data of shape {array.shape} for a Tensor of shape {node._data.shape}")
        move(self, np.asarray(array, order=order(node._data)))

    @property
    def grad(self) -> Any:
        """The gradient: None, an array, or (under `create_graph=True`) a Tensor."""
        return self._node.grad

    @grad.setter
    def grad(self, grad: Any) -> None:
        if grad is not None and not isinstance(grad, Handle):
            grad = np.asarray(grad)
        if grad is not None and (grad.shape != self.shape or grad.dtype.kind not in "fiu"):
            raise ValueError(
                f"found a gradient of shape {grad.shape} and dtype {grad.dtype} for a Tensor of shape {self.shape}"
            )
        self._node.grad = grad

    @property
    def label(self) -> str:
        """The name that drawings show."""
        return self._node.label

    @label.setter
    def label(self, label: str) -> None:
        self._node.label = label

    @property
    def requires_grad(self) -> bool:
        """True for a parameter and for what was computed from one. Assign to a leaf to freeze or to unfreeze it."""
        return self._node._row is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, wanted: bool = True) -> Self:
        """Let this leaf collect a gradient, or freeze it; returns self."""
        if wanted and self.dtype.kind != "f":
            raise RuntimeError(
                f"only floating-point Tensors can require a gradient, found dtype {self.dtype}: write 1.0 for 1, "
                "or give a dtype"
            )
        node = self._node
        if wanted == (node._row is not None):
            return self
        node.requires_grad = False
        # The graphs that used the constant go on seeing a constant: it is another node than the leaf, which it holds
        other = node._a or new_node(node._data)
        other._row, other._a = (LEAF, None) if wanted else (None, node)
        for name in ("_data", "_store", "_handle", "grad", "label"):
            setattr(other, name, getattr(node, name))
        self._node = other
        return self

    is_leaf = property(lambda self: self._node.is_leaf, doc="True for what no recorded operation made.")
    grad_fn = property(lambda self: self._node.grad_fn, doc="The op that made this, as PyTorch shows it, or None.")
    _op = property(lambda self: self._node._op)

    @property
    def _backward(self) -> Callable[[], object]:
        return self._node._backward

    @_backward.setter
    def _backward(self, closure: Callable[[], object]) -> None:
        self._node._backward = closure

    # ---- gradients

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add d(self)/d(leaf) to `.grad` of every leaf that self depends on, and let the graph go.

        `gradient`, of self's shape, may be left out where self has one element. With `retain_graph=True` the graph
        stays for another pass; `create_graph=True` implies it, and gives gradients that can be differentiated again.
        """
        node = stand_in(self)._node if modes else self._node
        walk.backward(node, None if gradient is None else [gradient], retain_graph, create_graph, inputs)

    def realize(self) -> Self:
        """Compute the array now, if `lazy` has put it off; returns self."""
        _ = self._node
        return self

    def show(self, **options: Any) -> Any:
        """A page that steps forward and backward through the graph below; see `micrograd.viz.player`."""
        from ..viz.playing.play import player  # followed when somebody asks

        return player(self, **options)

    def detach(self) -> Any:
        """A constant Tensor that shares the memory, without the history."""
        return self._node.storage.share(handle(new_node(self._node._data)))

    def retain_grad(self) -> None:
        """Add this inner Tensor's gradient to its `.grad` in every pass, as a leaf does."""
        if not self.requires_grad:
            raise RuntimeError("retain_grad() needs a Tensor that requires a gradient")
        self._node._keeps_grad = True

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(gradient)` in every pass; what it returns, unless None, replaces the gradient."""
        return self._node.register_hook(hook)

    def _apply(self, row: Row, operands: Sequence[Any]) -> Any:
        return record(row, *operands)

    # ---- in place

    def __setitem__(self, index: Any, value: Any) -> None:
        write(self, arrays.setitem(plain_index(index)), value)

    def __iadd__(self, other: Any) -> Self:
        return write(self, ops.add, other)

    def __isub__(self, other: Any) -> Self:
        return write(self, ops.sub, other)

    def __imul__(self, other: Any) -> Self:
        return write(self, ops.mul, other)

    def __itruediv__(self, other: Any) -> Self:
        return write(self, ops.div, other)

    def __ipow__(self, other: Any) -> Self:
        return write(self, ops.pow, other)

    def copy_(self, other: Any) -> Self:
        """Write other's values over self's; returns self."""
        return write(self, arrays.setitem(...), other)

    def fill_(self, number: float) -> Self:
        """Write the number over all values; returns self."""
        return self.copy_(number)

    def zero_(self) -> Self:
        """Write zeros over all values; returns self."""
        return self.copy_(0)

    # ---- plain answers: comparisons are elementwise and give arrays; hash is identity

    __eq__, __ne__ = _compare(operator.eq), _compare(operator.ne)  # type: ignore[assignment]
    __lt__, __le__ = _compare(operator.lt), _compare(operator.le)
    __gt__, __ge__ = _compare(operator.gt), _compare(operator.ge)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """Where the greatest value stands, as a plain integer array."""
        return look(self._node).argmax(axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """Where the smallest value stands, as a plain integer array."""
        return look(self._node).argmin(axis, keepdims=keepdims)

    def __len__(self) -> int:
        return len(self._node._data)

    def __bool__(self) -> bool:
        return bool(look(self._node))

    def __float__(self) -> float:
        self._node._alone()
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __round__(self, ndigits: int | None = None) -> float:
        return round(self.item(), ndigits)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def item(self) -> Any:
        """The one element, as a Python number."""
        return look(self._node).item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return look(self._node).tolist()

    def numpy(self) -> Array:
        """The array; of a Tensor that requires a gradient, ask for `detach().numpy()`."""
        if self.requires_grad:
            raise RuntimeError("this Tensor requires a gradient, which an array cannot carry: use detach().numpy()")
        return self.data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        node = self._node
        text = np.array2string(node._data, separator=", ", prefix="Tensor(")
        dtype = "" if node._data.dtype in (np.float64, np.int64, np.bool_) else f", dtype={node._data.dtype}"
        grad = f", grad_fn={self.grad_fn}" if node._row else ", requires_grad=True" if self.requires_grad else ""
        return f"{type(self).__name__}({text}{dtype}{grad})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self.is_leaf:
            raise RuntimeError(f"a Tensor made by '{self._op}' has a history that cannot be copied: copy its detach()")
        grad = self.grad.copy() if isinstance(self.grad, Array) else self.grad
        state = (type(self), self._node._data.copy(order="K"), grad, self.requires_grad, self.label)
        return _restore, state, self.__dict__ or None


def _operands(children: Any) -> tuple[ArrayNode, ...]:
    """The nodes of the operands that a caller names for an op of its own."""
    if isinstance(children, (tuple, list, set, frozenset)) and all(isinstance(t, Handle) for t in children):
        return tuple(t._node for t in children)
    raise TypeError(
        f"the operands of a Tensor are a tuple of Tensors, found {children!r:.60}; dtype and requires_grad are keywords"
    )


def _restore(cls: type[Handle], data: Array, grad: Any, requires_grad: bool, label: str) -> Handle:
    tensor = object.__new__(cls)
    tensor._node = new_node(data, LEAF if requires_grad else None)
    tensor._node._handle = weakref.ref(tensor)
    tensor._node.grad, tensor._node.label = grad, label
    return tensor
