"""`Handle`, the base class of Tensor: data, gradient, history, and in-place operations.

A Value is a node; a Tensor refers to one. An in-place operation gives the same Tensor a new node, while the ops that
used the old value keep the old node. Edges lead from node to node (`node.py`), so later writes to a Tensor never
redirect them.

A Tensor may be a view of another. A write to either is visible in both, and, if it is recorded, in the gradients of
both: the base gets a new history, and its views get theirs on the next access.

`t.data` returns an array that the caller may write to undetected. So if a graph has saved it, t gets a copy and the
graph keeps the original. If other Tensors share the memory they must see the write, so no copy is made, and the
backward pass raises if something was written.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from ..engine import ops, walk
from ..engine.grad_fn import GradFn
from ..engine.graph import LEAF, RemovableHandle, grads_lock
from ..engine.modes import is_grad_enabled, is_tracing, look, modes, stand_in
from ..engine.rows import HandWritten, Row, nothing
from . import arrays
from .node import Array, ArrayNode, fits, handle, move, new_node, operand, order, outdate, record, write
from .settings import plain_index, real_dtype


def comparison(compare: Callable) -> Callable[[Handle, Any], Any]:
    """The method of a comparison: elementwise, returning a plain boolean array."""

    def method(self: Handle, other: Any) -> Any:
        if is_tracing():
            return compare(stand_in(self), other)
        return compare(self._node._data, operand(other)[1]) if fits(other) else NotImplemented

    return method


def _attribute(path: str, doc: str) -> Any:
    """A property that reads an attribute of the node, or of its array."""
    return property(operator.attrgetter(path), doc=doc)


def _of_node(name: str, doc: str) -> Any:
    """A property that is the node's."""
    return property(lambda self: getattr(self._node, name), lambda self, x: setattr(self._node, name, x), doc=doc)


class Handle:
    """A Tensor without the methods that compute new Tensors."""

    __slots__ = ("__dict__", "__weakref__", "_node", "_view", "_late")  # for the last two see `node.move`
    _node: ArrayNode
    _view: tuple[Handle, Any]
    _late: tuple[ArrayNode, weakref.ref]

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
            data = look(data._node)
        array = np.array(data)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"a Tensor holds real numbers, found dtype {array.dtype} from {data!r:.60}")
        self._node = new_node(array if dtype is None else array.astype(real_dtype(dtype), copy=False))
        self._node._handle = weakref.ref(self)
        if label:
            self.label = label
        if not isinstance(_children, tuple) or _children:
            children = _checked_operands(_children)
            if self.dtype.kind == "f" and is_grad_enabled() and any(n.requires_grad for n in children):
                self._node._hand_write(HandWritten(_op, nothing), children)
        if requires_grad:
            self.requires_grad_()

    # ---- attributes

    shape: tuple[int, ...] = _attribute("_node._data.shape", "The lengths of the axes, a tuple of ints.")
    ndim: int = _attribute("_node._data.ndim", "The number of axes.")
    size: int = _attribute("_node._data.size", "The number of elements.")
    dtype: np.dtype[Any] = _attribute("_node._data.dtype", "The NumPy dtype of the elements.")
    is_leaf: bool = _attribute("_node.is_leaf", "True if no recorded operation produced this.")
    grad_fn: GradFn | None = _attribute("_node.grad_fn", "A view of the op that produced this, or None for a leaf.")
    label: str = _of_node("label", "The name shown in drawings.")
    _op: str = _attribute("_node._op", "")
    _backward: Callable[[], object] = _of_node("_backward", "")

    @property
    def data(self) -> Array:
        """The array. Writing to it changes the Tensor and its views.

        A graph that saved the old values is not affected, except if there are views: then its backward pass raises.
        Write to `t.data` directly: an array obtained before the forward pass may be the one that the graph saved.
        """
        node = self._node
        if modes:
            look(node)
        storage = node._store
        if storage is not None and storage.users:
            with grads_lock:  # another thread's step may be writing to the array
                if storage.views:
                    storage.show(node._data)
                elif node._store is storage:
                    node._data, node._store = node._data.copy(order="K"), None
        return node._data

    @data.setter
    def data(self, data: Any) -> None:
        node = self._node
        if modes:
            look(node)
        if data is node._data:  # `t.data += 1` has already written to it
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
        """The accumulated gradient: None, an array of self's shape, or (under `create_graph=True`) a Tensor."""
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
    def requires_grad(self) -> bool:
        """True for a parameter and anything computed from one. Assign to it to freeze or unfreeze a leaf."""
        return self._node._row is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, wanted: bool = True) -> Self:
        """Set whether this leaf requires a gradient.

        Args:
            wanted: True to accumulate a gradient, False for a constant.

        Returns:
            self.

        Raises:
            RuntimeError: the dtype is not a float, or self is not a leaf.
        """
        if wanted and self.dtype.kind != "f":
            raise RuntimeError(
                f"only floating-point Tensors can require a gradient, found dtype {self.dtype}: write 1.0 for 1, "
                "or pass a dtype"
            )
        node = self._node
        if wanted == (node._row is not None):
            return self
        node.requires_grad = not wanted  # as it is; raises for an inner node
        # Constant and leaf are separate nodes, so graphs that used the constant still see one. The constant holds the
        # leaf's node in `_a`, to be restored with its hooks by unfreezing
        other = node._a or new_node(node._data)
        for name in ("_data", "_store", "_handle", "grad", "label"):
            setattr(other, name, getattr(node, name))
        other._row, other._a = (LEAF, None) if wanted else (None, node)
        if wanted and node._store is not None and node._store.views:
            outdate(self)
        self._node = other  # all or nothing, whenever a Ctrl-C comes
        node._row = None
        return self

    # ---- gradients

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Accumulate d(self)/d(leaf) into `.grad` of every leaf that self depends on, and release the graph.

        Args:
            gradient: the gradient at self, of self's shape; optional if self has one element, where it is 1.
            retain_graph: True keeps the graph for another pass; by default it is kept only under `create_graph`.
            create_graph: make the gradients Tensors that can be differentiated again.
            inputs: the Tensors to compute gradients for, instead of all leaves.

        Raises:
            RuntimeError: self is a constant, `gradient` is missing, an earlier pass released the graph, or an array
                that the graph saved was changed in place.
            ValueError: `gradient` does not have self's shape.

        >>> from micrograd import Tensor
        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).backward([1.0, 10.0])
        >>> x.grad
        array([ 2., 40.])
        """
        node = stand_in(self)._node if modes else self._node
        plain = gradient is None and not retain_graph and not create_graph and inputs is None
        if not (plain and node._row and node._row.shortcut(node)):
            walk.backward(node, None if gradient is None else [gradient], retain_graph, create_graph, inputs)

    def realize(self) -> Self:
        """Compute a Tensor that `lazy` deferred.

        Returns:
            self.
        """
        _ = self._node
        return self

    def detach(self) -> Any:
        """A constant Tensor that shares self's memory, without its history.

        >>> from micrograd import Tensor
        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> x.detach()
        Tensor([1., 2.])
        """
        known = stand_in(self)
        return self._node.storage.share(handle(new_node(look(self._node)))) if known is self else known.detach()

    def retain_grad(self) -> None:
        """Accumulate this inner Tensor's gradient into its `.grad` too, as for a leaf.

        Raises:
            RuntimeError: self is a constant.

        >>> from micrograd import Tensor
        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * 3
        >>> y.retain_grad()
        >>> (y * y).sum().backward()
        >>> y.grad, x.grad
        (array([ 6., 12.]), array([18., 36.]))
        """
        if not self.requires_grad:
            raise RuntimeError("retain_grad() needs a Tensor that requires a gradient")
        self._node._retains_grad = True

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(gradient)` in every pass, once the gradient of self is complete.

        Args:
            hook: a function of the gradient: a read-only array, or under `create_graph` a Tensor. What it returns
                replaces the gradient, unless it is None.

        Returns:
            A handle whose `remove()` removes the hook.

        Raises:
            RuntimeError: self is a constant.

        >>> from micrograd import Tensor
        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_hook(lambda g: g * 10)
        >>> x.sum().backward()
        >>> x.grad
        array([10., 10.])
        """
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
        """Copy other into self.

        Args:
            other: a Tensor, an array or a number, broadcast to self's shape.

        Returns:
            self. The write is recorded: other gets the gradient, and self's old values none.
        """
        return write(self, arrays.setitem(...), other)

    def fill_(self, number: float) -> Self:
        """Set all elements to one number.

        Args:
            number: the number.

        Returns:
            self.
        """
        return self.copy_(number)

    def zero_(self) -> Self:
        """Set all elements to 0.

        Returns:
            self.
        """
        return self.copy_(0)

    # ---- plain results: comparisons are elementwise and return arrays; hash is by identity

    def __hash__(self) -> int:
        return id(self)

    __eq__: ClassVar[Callable[[Handle, Any], Any]] = comparison(operator.eq)
    __ne__: ClassVar[Callable[[Handle, Any], Any]] = comparison(operator.ne)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The index of the maximum.

        Args:
            axis: the axis to search along; None searches the flattened array.
            keepdims: keep that axis with length 1.

        Returns:
            A plain integer, or an integer array without the axis.
        """
        return look(self._node).argmax(axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The index of the minimum.

        Args:
            axis, keepdims: as in `argmax`.

        Returns:
            A plain integer, or an integer array without the axis.
        """
        return look(self._node).argmin(axis, keepdims=keepdims)

    def __len__(self) -> int:
        return len(self._node._data)

    def __bool__(self) -> bool:
        return bool(look(self._node))

    def item(self) -> Any:
        """The single element, as a Python number."""
        return look(self._node).item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return look(self._node).tolist()

    def numpy(self) -> Array:
        """The array, which shares self's memory.

        Raises:
            RuntimeError: self requires a gradient: use `detach().numpy()`.
        """
        look(self._node)
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
        state = (type(self), look(self._node).copy(order="K"), grad, self.requires_grad, self.label)
        return _restore, state, self.__dict__ or None


def _checked_operands(children: Any) -> tuple[ArrayNode, ...]:
    """The nodes of a hand-written op's operands; TypeError if they are not Tensors."""
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
