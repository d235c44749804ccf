"""`Handle`, the base class of Tensor: data, gradient, history, and in-place operations.

A Value is a node, and a Tensor refers to a node. An in-place operation gives the same Tensor a new node, while the ops
that used the old value keep the old node. Edges lead from node to node (`node.py`), so later writes to a Tensor never
redirect them.

A Tensor may be a view of another, and a write to either is visible in both. If the write is recorded, only one Tensor
gets the new history, and the other Tensors of this memory raise when they are used (`node.py`).

The caller may write to the array that `t.data` returns, and nothing detects the write. So if a graph has saved the
array, t gets a copy and the graph keeps the original. If other Tensors share the memory, they must see the write, so no
copy is made, and the backward pass raises if the array was written to.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self
from warnings import warn

import numpy as np

from ..common.words import unknown
from ..engine.by_hand import Closure
from ..engine.locks import holding
from ..engine.modes import before_change, is_grad_enabled, listener, modes_on, on_change
from ..engine.rows import LEAF, Row
from ..engine.walk import lock
from ..scalars import ops, roots
from ..scalars.grad_fn import GradFn
from ..scalars.hooks import RemovableHandle
from ..scalars.kinds import read_data, traced, watched
from ..scalars.rows import nothing
from . import arrays
from .arrays import plain_index, real_dtype
from .node import (
    Array,
    ArrayNode,
    Storage,
    array_of,
    is_operand,
    new_node,
    operand,
    order,
    record,
    wrap,
    write,
)

Method = Callable[["Handle", Any], Any]  # of two operands


def comparison(compare: Callable) -> Method:
    """The method of a comparison: elementwise, returning a plain boolean array."""

    def method(self: Handle, other: Any) -> Any:
        if modes_on and (symbol := traced(self)) is not self:  # `compile` traces
            return compare(symbol, other)
        return compare(self._node._data, operand(other)[1]) if is_operand(other) else NotImplemented

    return method


class Count(int):
    """A number of elements. `x.size()`, as in PyTorch, raises."""

    def __call__(self, *axis: Any) -> Any:
        raise TypeError("size is a number here, not a method: x.shape has the lengths of the axes")


def _of_node(name: str, doc: str) -> Any:
    """A property that reads and sets the attribute of the node."""
    return property(lambda self: getattr(self._node, name), lambda self, x: setattr(self._node, name, x), doc=doc)


def _of_data(name: str, doc: str) -> Any:
    """A property that reads the attribute of the array, which `compile` notes."""
    return property(lambda self: getattr((watched(self) if modes_on else self)._node._data, name), doc=doc)


class Handle:
    """A Tensor without the methods that compute new Tensors."""

    __slots__ = ("__dict__", "__weakref__", "_node", "_view")
    _node: ArrayNode
    _view: tuple[Handle, Handle, Row]  # of a view: its base, the Tensor that it was made from, and the row

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
            data = read_data(data._node)
        array = array_of(data)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"a Tensor holds real numbers, found dtype {array.dtype} from {data!r:.60}")
        array = array if dtype is None else array.astype(real_dtype(dtype), copy=False)
        _check_float(array.dtype, requires_grad)
        self._node = new_node(array, LEAF if requires_grad else None)
        self._node._handle = weakref.ref(self)
        if label:
            self.label = label
        if not isinstance(_children, tuple) or _children:
            children = _checked_operands(_children)
            if not isinstance(_op, str):  # a Value takes numbers here, of which a Tensor would send nothing
                raise TypeError(
                    f"the name of an op is a str, found {_op!r:.60}: assign its backward, out._backward = f"
                )
            if self.dtype.kind == "f" and is_grad_enabled() and any(n.requires_grad for n in children):
                self._node._record(Closure(_op, nothing), children, None)

    # ---- attributes

    if not TYPE_CHECKING:  # a type checker would believe that every attribute exists

        def __getattr__(self, name: str) -> Any:
            raise unknown(f"a {type(self).__name__}", name, x=self)

    shape: tuple[int, ...] = _of_data("shape", "The lengths of the axes, a tuple of ints.")
    ndim: int = _of_data("ndim", "The number of axes.")
    dtype: np.dtype[Any] = _of_data("dtype", "The NumPy dtype of the elements.")

    @property
    def size(self) -> int:
        """The number of elements."""
        return Count((watched(self) if modes_on else self)._node._data.size)

    is_leaf: bool = _of_node("is_leaf", "True if no recorded operation produced this.")
    grad_fn: GradFn | None = _of_node("grad_fn", "A view of the op that produced this, or None for a leaf.")
    label: str = _of_node("label", "The name shown in drawings.")
    _op: str = _of_node("_op", "")
    _backward: Callable[[], object] = _of_node("_backward", "")

    @property
    def data(self) -> Array:
        """The array. Writing to it changes the Tensor and its views.

        A graph that saved the old values is not affected, except if there are views, when its backward pass raises.
        Write to `t.data` directly, since an array obtained before the forward pass may be the one that the graph saved.
        """
        node = self._node
        if modes_on or on_change:
            before_change(node)
        storage = node._store
        if storage is not None and storage.users:
            holding(lock, _lend, node, storage)  # another thread's step may be writing to the array
        return node._data

    @data.setter
    def data(self, data: Any) -> None:
        node = self._node
        if modes_on or on_change:
            before_change(node)
        if data is node._data:  # `t.data += 1` has already written to it
            storage = node._store
            if storage is not None:  # without a storage, no graph has saved the array
                storage.version += 1
            return
        array = ArrayNode.tensor_class(data, dtype=node._data.dtype)._node._data
        if array.shape != node._data.shape:
            raise ValueError(f"data of shape {array.shape} cannot replace that of a Tensor of shape {node._data.shape}")
        node._data, node._store = np.asarray(array, order=order(node._data)), None  # views keep the old memory
        if hasattr(self, "_view"):
            del self._view

    @property
    def grad(self) -> Any:
        """The accumulated gradient, which is None, an array of self's shape, or under `create_graph=True` a Tensor.

        That of an op's result is dropped after `backward()`, unless `retain_grad()` was called. Reading it then warns.
        """
        node = self._node
        grad = node.grad
        if grad is None and node._row and not node._retains_grad:
            warn(
                f"the .grad of a Tensor that '{node._op}' made is not kept, so it is None: call retain_grad() on it "
                "before backward()",
                stacklevel=2,
            )
        return grad

    @grad.setter
    def grad(self, grad: Any) -> None:
        if grad is not None:
            if not isinstance(grad, Handle):
                grad = np.asarray(grad)
            if grad.shape != self.shape or grad.dtype.kind not in "fiu":
                found = f"shape {grad.shape} and dtype {grad.dtype}"
                raise ValueError(f"a Tensor of shape {self.shape} cannot have a gradient of {found}")
        self._node.grad = grad

    @property
    def requires_grad(self) -> bool:
        """True for a parameter and anything computed from one. Assign to it to freeze or unfreeze a leaf."""
        return (watched(self, True) if modes_on else self)._node._row is not None

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
        listener().freeze(self)
        _check_float(self.dtype, wanted)
        node = self._node
        if wanted == (node._row is not None):
            return self
        node.requires_grad = not wanted  # changes nothing, but raises for an inner node
        # Constant and leaf are separate nodes, so a graph that used the constant still sees a constant. The constant
        # holds the leaf's node in `_leaf`, so that unfreezing restores the node with its hooks
        new = node._leaf or new_node(node._data)
        for name in ("_data", "_store", "_handle", "_gradient", "label"):
            setattr(new, name, getattr(node, name))
        new._row, new._leaf = (LEAF, None) if wanted else (None, node)
        self._node = new  # all or nothing, whenever a Ctrl-C comes
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
            gradient: the gradient at self, of self's shape. If self has one element, it is 1 by default.
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
        node = traced(self)._node if modes_on else self._node
        compiled = getattr(node._row, "whole_pass", None)
        plain = gradient is None and not retain_graph and not create_graph and inputs is None
        if not (plain and compiled and compiled(node)):
            roots.backward(node, None if gradient is None else [gradient], retain_graph, create_graph, inputs)

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
        if modes_on and (symbol := traced(self)) is not self:  # `compile` traces
            return symbol.detach()
        return self._node.storage.share(wrap(new_node(read_data(self._node))))

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

    # ---- plain results: comparisons and operators of bools are elementwise and return arrays. Hash is by identity

    def __hash__(self) -> int:
        return id(self)

    __eq__: ClassVar[Method] = comparison(operator.eq)
    __ne__: ClassVar[Method] = comparison(operator.ne)
    __and__: ClassVar[Method] = comparison(operator.and_)
    __or__: ClassVar[Method] = comparison(operator.or_)
    __xor__: ClassVar[Method] = comparison(operator.xor)
    __rand__: ClassVar[Method] = __and__
    __ror__: ClassVar[Method] = __or__
    __rxor__: ClassVar[Method] = __xor__

    def __invert__(self) -> Any:
        return ~read_data(self._node)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The index of the maximum.

        Args:
            axis: the axis to search along, or None to search the flattened array.
            keepdims: keep that axis with length 1.

        Returns:
            A plain integer, or an integer array without the axis.
        """
        return read_data(self._node).argmax(axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The index of the minimum.

        Args:
            axis, keepdims: as in `argmax`.

        Returns:
            A plain integer, or an integer array without the axis.
        """
        return read_data(self._node).argmin(axis, keepdims=keepdims)

    def __len__(self) -> int:
        return len((watched(self) if modes_on else self)._node._data)

    def __bool__(self) -> bool:
        return bool(read_data(self._node))

    def item(self, *index: Any) -> Any:
        """The single element, or the one at an index, as a Python number.

        Args:
            *index: the index of the element, or nothing for a Tensor of one element.

        Returns:
            A number.

        Raises:
            ValueError: there is no index, and the Tensor does not have exactly one element.
        """
        array = read_data(self._node)
        if not index and array.size != 1:
            raise ValueError(
                f"only one number is a Python number, found shape {array.shape}: index it, or use tolist()"
            )
        return array.item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return read_data(self._node).tolist()

    def numpy(self) -> Array:
        """The array, which shares self's memory.

        Raises:
            RuntimeError: self requires a gradient: use `detach().numpy()`.
        """
        read_data(self._node)
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
        data = read_data(self._node).copy(order="K")
        grad = self.grad.copy() if isinstance(self.grad, Array) else self.grad
        state = (type(self), data, grad, self.requires_grad, self.label)
        return _restore, state, self.__dict__ or None


for _name, _row in {"add": ops.add, "sub": ops.sub, "mul": ops.mul, "truediv": ops.div, "pow": ops.pow}.items():
    setattr(Handle, f"__i{_name}__", lambda self, other, row=_row: write(self, row, other))


def _lend(node: ArrayNode, storage: Storage) -> None:
    """Let the caller write to the node's array, which a graph has saved."""
    if storage.views:
        storage.lend(node._data)
    elif node._store is storage:
        node._data, node._store = node._data.copy(order="K"), None


def _check_float(dtype: np.dtype[Any], requires_grad: bool) -> None:
    if requires_grad and dtype.kind != "f":
        raise RuntimeError(
            f"only floating-point Tensors can require a gradient, found dtype {dtype}: write 1.0 for 1, or pass a dtype"
        )


def _checked_operands(children: Any) -> tuple[ArrayNode, ...]:
    """The nodes of a hand-written op's operands; TypeError if they are not Tensors."""
    if isinstance(children, (tuple, list, set, frozenset)) and all(isinstance(t, Handle) for t in children):
        return tuple(t._node for t in children)
    raise TypeError(
        f"the operands of a Tensor are a tuple of Tensors, found {children!r:.60}; dtype and requires_grad are keywords"
    )


def _restore(cls: type[Handle], data: Array, grad: Any, requires_grad: bool, label: str) -> Handle:
    tensor = wrap(new_node(data, LEAF if requires_grad else None), cls)
    tensor._node._gradient, tensor._node.label = grad, label
    return tensor
