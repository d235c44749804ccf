"""The node of an array: what it keeps for the backward pass, and how an op on Tensors, or in place, is recorded.

A node keeps of its operands' values what its row's rules use, and no more. Each array has a `Storage` that counts the
writes to it: a value that was kept and since written to raises in the backward pass.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from . import array_library, arrays, ops
from .graph import LEAF, Node
from .modes import deferred, is_anomaly_enabled, is_grad_enabled, line_of_the_user, look, modes
from .rows import Each, Many, Row

if TYPE_CHECKING:
    from .tensor import Tensor

Array = np.ndarray
ops.LIBRARIES |= dict.fromkeys((Array, *np.sctypeDict.values()), array_library)  # scalars, too, that NumPy gives
_new = object.__new__


class Storage:
    """What Tensors that share memory have in common: how often it was written to, and how many nodes have kept it."""

    version = 0
    kept = 0
    views: Sequence[weakref.ref[ArrayNode]] = ()
    shown: tuple[int, int, Array, Array] | None = None  # from one version to another: memory, and its copy

    def share(self, node: ArrayNode) -> None:
        """Let a node have this memory too."""
        self.views = views = self.views or []
        views.append(weakref.ref(node, views.remove))
        node._store = self

    def show(self, array: Array) -> None:
        """Give out an array, which may then be written to unseen: a new version, and a copy to compare it with."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        since, then = self.version, None
        if self.shown is not None and self.shown[2] is array and self._untouched(self.version):
            since, _, _, then = self.shown
        self.version += 1
        self.shown = since, self.version, array, array.copy() if then is None else then

    def changed(self, version: int) -> bool:
        """Was anything written since that version?"""
        return version != self.version and not self._untouched(version)

    def _untouched(self, version: int) -> bool:
        if self.shown is None:
            return False
        since, until, array, then = self.shown
        return since <= version and until == self.version and np.array_equal(array, then, equal_nan=True)


class ArrayNode(Node):
    """A node whose data is an array. `tensor` is the Tensor that stands for it."""

    __slots__ = ("_handle", "_saved", "_store")
    _keeps_grad = False

    kind: type[Tensor]  # the class that stands before the nodes; tensor.py names it
    _store: Storage | None
    _saved: Sequence[tuple[Storage, int]]  # of what was kept in `_x` and `_y`: the storage, and its version then

    @property
    def tensor(self) -> Tensor:
        """The Tensor that has this node, or where it is gone a new one."""
        tensor = self._handle()
        return handle(self) if tensor is None else tensor

    @property
    def data(self) -> Array:
        """The array."""
        return self.tensor.data

    @property
    def storage(self) -> Storage:
        """The storage, made when somebody first asks."""
        if self._store is None:
            self._store = Storage()
        return self._store

    def _constant(self, data: Any) -> ArrayNode:
        return new_node(np.asarray(data))

    def _seed(self, gradient: Any, create_graph: bool) -> Any:
        like = self._data
        if gradient is None:
            if like.size != 1:
                raise RuntimeError(f"backward() of a Tensor of shape {like.shape} needs a gradient of that shape")
            gradient = np.ones_like(like)
        if isinstance(gradient, self.kind):
            array, seed = gradient._node._data, gradient
        else:
            array = seed = np.asarray(gradient)
        if array.shape != like.shape:
            raise ValueError(f"found a gradient of shape {array.shape} for a Tensor of shape {like.shape}")
        if array.dtype.kind not in "fiub":
            raise TypeError(f"a gradient holds real numbers, found dtype {array.dtype}")
        if create_graph:
            seed = seed if isinstance(seed, self.kind) else self.kind(array)
            return seed if array.dtype == like.dtype else seed.astype(like.dtype)
        return array.astype(like.dtype)

    def _arguments(self, create_graph: bool) -> tuple[Any, ...]:
        for storage, version in self._saved:
            if storage.version != version and storage.changed(version):
                raise RuntimeError(
                    f"an array that '{self._op}' needs for its gradient was changed in place: it is at version "
                    f"{storage.version}, version {version} is needed; change a copy, or change it after backward()"
                )
        row, x, y = self._row, self._x, self._y
        if create_graph or row.to_a is None:
            return self._arguments_of_many(create_graph)
        first, second = (self, self._a) if row.to_b is None else (self._a, self._b)
        return (first._data if x is None else x), (second._data if y is None else y)

    def _arguments_of_many(self, create_graph: bool) -> tuple[Any, ...]:
        """The same for any number of operands, and of nodes."""
        if isinstance(self._row, Many):
            nodes, kept = self._x, self._y
        else:
            nodes = (self, self._a) if self._row.to_b is None else (self._a, self._b)
            kept = (self._x, self._y)
        pairs = zip(nodes, kept, strict=True)
        if create_graph:
            return tuple([x if n is None else self._as_it_was(n, x) for n, x in pairs])
        return tuple([n._data if x is None else x for n, x in pairs])

    def _as_it_was(self, operand: ArrayNode, kept: Array | None) -> Tensor:
        """The operand as a Tensor, to be differentiated again; it must be what the forward pass saw."""
        if kept is not None and kept is not operand._data and not np.array_equal(kept, operand._data, equal_nan=True):
            raise RuntimeError(
                f"create_graph=True: data that '{self._op}' used was written to since; run the forward pass again"
            )
        return operand.tensor

    def _ieee(self, rule: Callable, *arguments: Any) -> Any:
        return rule(*map(np.asarray, arguments))

    def _quiet(self) -> Any:
        return np.errstate(all="ignore")

    def _kept(self, grads: dict[Any, Any], inputs: Sequence[Any] | None) -> dict[Any, Any]:
        """Those of leaves, of nodes that retain theirs, or of the inputs; each an array that nobody else has."""
        chosen = (
            [n for n in grads if not n._row or n._keeps_grad] if inputs is None else [n for n in inputs if n in grads]
        )
        taken: set[int] = set()
        kept = {}
        for node in chosen:
            g = grads[node]
            if g.__class__ is Array and (id(g) in taken or g.base is not None or not g.flags.writeable):
                g = g.copy()
            taken.add(id(g))
            kept[node] = g
        return kept

    def _fit(self, part: Any) -> Any:
        """A part in the shape and dtype of this node: what broadcasting stretched is summed."""
        like = self._data
        if part.__class__ is Array and part.shape == like.shape and part.dtype is like.dtype:
            return part
        if part.__class__ is not Array and not isinstance(part, self.kind):
            part = np.asarray(part)
        if part.shape != like.shape:
            part = arrays.sum_to(like.shape)(part)
        return part if part.dtype == like.dtype else arrays.astype(like.dtype)(part)

    def _plus(self, grad: Any, g: Any, ours: bool = False) -> Any:
        if ours and grad.__class__ is Array is g.__class__:
            return np.add(grad, g, out=grad)
        total = super()._plus(grad, g)
        return total if isinstance(total, self.kind) else np.asarray(total)

    def _for_hook(self, g: Any) -> Any:
        if g.__class__ is Array:  # other operands may get the same array
            g = g.copy()
            g.flags.writeable = False
        return g

    def _as_now(self) -> ArrayNode:
        return self  # a Tensor's closure is for looking at, not for replacing

    def _let_go(self) -> None:
        self.__del__()
        self._saved = ()
        Node._let_go(self)

    def __del__(self) -> None:
        for storage, _ in self._saved:  # what was kept is so no more
            storage.kept -= 1

    def __repr__(self) -> str:
        return repr(self.tensor)


def new_node(data: Array, row: Any = None, storage: Storage | None = None) -> ArrayNode:
    """A node with an array and nothing else."""
    node = _new(ArrayNode)
    node._data, node.grad, node._row, node._store = data, None, row, storage
    node._a = node._b = node._x = node._y = None
    node._saved, node._handle = (), _no_tensor
    return node


def _no_tensor() -> None:
    return None


def handle(node: ArrayNode) -> Tensor:
    """A new Tensor that has the node."""
    tensor = _new(ArrayNode.kind)
    tensor._node = node
    node._handle = weakref.ref(tensor)
    return tensor


# ---------------------------------------------------------------------------------------------------------------------
# How an op is recorded


def _needed(row: Row, wants: tuple[bool, ...]) -> tuple[bool, ...]:
    """Which of the values that a row's rules are called with are used, if these of its operands want a gradient?"""
    if isinstance(row, Many) and not isinstance(row, Each):
        return (row.keeps,) * len(wants)
    rules = row.rules if isinstance(row, Each) else (row.to_a, row.to_b)
    needed = row.needed[wants] = _used(*[rule.__code__ for rule, wanted in zip(rules, wants, strict=True) if wanted])
    return needed


@cache  # by the code, which all rows that one function makes have in common
def _used(*codes: Any) -> tuple[bool, ...]:
    """Which of the values that they are called with do these rules use? The names of parameters say so: see `ops`."""
    names = [code.co_varnames[1 : code.co_argcount] for code in codes]
    return tuple(
        any(not name.startswith("_") and name != "like" for name in place) for place in zip(*names, strict=True)
    )


def operand(x: Any) -> tuple[ArrayNode | None, Any]:
    """The node of an operand, if it has one, and its value."""
    if isinstance(x, ArrayNode.kind):
        return x._node, x._node._data
    if isinstance(x, (int, float, np.integer, np.floating, np.bool_)) or (
        x.__class__ is Array and x.dtype.kind in "fiub"
    ):
        return None, x
    raise TypeError(f"a Tensor's operand is a Tensor, a real number or an array of them, found {type(x).__name__}")


def record(row: Row, *operands: Any) -> Tensor:
    """The row on one or two Tensors, arrays and numbers."""
    if modes and (defer := deferred()):
        return defer(row, operands)
    unary = row.to_b is None
    a, x = operand(operands[0])
    b, y = (None, None) if unary else operand(operands[1])
    try:
        data = row.forward(x) if unary else row.forward(x, y)
    except (ValueError, TypeError, IndexError) as error:
        note(error, row, *([x] if unary else [x, y]))
        raise
    node = new_node(data if data.__class__ is Array else np.asarray(data))
    if row.view and a is not None and np.may_share_memory(node._data, x):
        a.storage.share(node)
    return handle(remember(node, row, a, b, node._data, x) if unary else remember(node, row, a, b, x, y))


def note(error: Exception, row: Row, *values: Any) -> None:
    """Add to NumPy's message where it was raised."""
    shapes = " and ".join(str(np.shape(value)) for value in values)
    error.add_note(f"in '{row.name}' of {'shape' if len(values) == 1 else 'shapes'} {shapes}")


def remember(node: ArrayNode, row: Row, a: ArrayNode | None, b: ArrayNode | None, x: Any, y: Any) -> ArrayNode:
    """Give the node its history, if an operand requires a gradient and no `no_grad` is on."""
    wants = a is not None and a._row is not None, b is not None and b._row is not None
    if True not in wants or (modes and not is_grad_enabled()) or node._data.dtype.kind != "f":
        return node
    needs_x, needs_y = row.needed.get(wants) or _needed(row, wants)
    first, second = (node, a) if row.to_b is None else (a, b)
    saved: list[tuple[Storage, int]] = []
    node._row, node._a, node._b, node._saved = row, a, b, saved
    node._x = _kept_value(first, x, needs_x, saved)
    node._y = _kept_value(second, y, needs_y, saved)
    if modes and is_anomaly_enabled():
        node._made_at = line_of_the_user()
    return node


def _kept_value(node: ArrayNode | None, value: Any, needed: bool, saved: list[tuple[Storage, int]]) -> Any:
    """What is kept of an operand: the array, whose version is noted, or nothing; of a plain array a copy."""
    if node is None:
        return value.copy() if needed and value.__class__ is Array else value
    if not needed:
        return None
    storage = node._store or node.storage
    storage.kept += 1
    saved.append((storage, storage.version))
    return value


def record_many(row: Many, tensors: Sequence[Any]) -> Tensor:
    """A row of any number of operands on Tensors (arrays and numbers become constants)."""
    if modes and (defer := deferred()):
        return defer(row, tensors)
    nodes = tuple([t._node if isinstance(t, ArrayNode.kind) else new_node(np.array(operand(t)[1])) for t in tensors])
    node = new_node(np.asarray(row.forward(*[n._data for n in nodes])))
    wants = tuple([n._row is not None for n in nodes])
    if True in wants and (not modes or is_grad_enabled()):
        needed = row.needed.get(wants) or _needed(row, wants)
        saved: list[tuple[Storage, int]] = []
        node._row, node._x, node._saved = row, nodes, saved
        node._y = [_kept_value(n, n._data, need, saved) for n, need in zip(nodes, needed, strict=True)]
        if modes and is_anomaly_enabled():
            node._made_at = line_of_the_user()
    return handle(node)


def write(tensor: Tensor, row: Row, other: Any) -> Any:
    """An op in place: the same Tensor with new values and, if gradients are wanted, a new history on top of the old."""
    if modes:
        look(tensor._node)
    node = tensor._node
    b, y = operand(other)
    history = is_grad_enabled() and (node._row is not None or (b is not None and b._row is not None))
    if history and node._data.dtype.kind != "f":
        raise RuntimeError(f"'{row.name}' in place would have a Tensor of dtype {node._data.dtype} require a gradient")
    if history and node._row == LEAF:
        raise RuntimeError(
            f"'{row.name}' in place on a leaf that requires a gradient: write y = x + ..., or do it inside no_grad()"
        )
    storage = node._store
    if history and storage is not None and storage.views:
        raise RuntimeError(
            f"'{row.name}' in place on a Tensor that shares memory with a view cannot be recorded: "
            "write y = y + ..., or work on a copy (y * 1)"
        )
    after = new_node(node._data, storage=node.storage) if history else None
    old = node._data
    if after is not None:
        remember(after, row, node, b, old, y)
        old = _keep_own(after)
    try:
        _change(node._data, row, y)
    except (ValueError, TypeError, IndexError) as error:
        error.add_note(f"in '{row.name}' in place of shapes {node._data.shape} and {np.shape(y)}")
        raise
    node.storage.version += 1
    if after is not None:
        if old is not node._data:  # the node beneath stays what it was, also where it is differentiated again
            node._data, node._store = old, None
        after.label, after._keeps_grad = node.label, node._keeps_grad
        node._handle, node._keeps_grad = _no_tensor, False
        tensor._node = after
        after._handle = weakref.ref(tensor)
    return tensor


_IN_PLACE = {ops.add: operator.iadd, ops.sub: operator.isub, ops.mul: operator.imul, ops.div: operator.itruediv}


def _change(data: Array, row: Row, y: Any) -> None:
    """Write what the row makes of data and y over data; an operator of NumPy's does it without an array in between."""
    if row in _IN_PLACE:
        _IN_PLACE[row](data, y)
        return
    result = np.asarray(row.forward(data, y))
    if result.shape != data.shape:
        raise ValueError(f"'{row.name}' in place would change the shape {data.shape} to {result.shape}")
    np.copyto(data, result, casting="same_kind")


def _keep_own(node: ArrayNode) -> Array:
    """Have the node of an op in place keep a copy of what it is about to write over, where its rules need that."""
    old = node._data
    shared = [pair for pair in node._saved if pair[0] is node._store]
    if shared:
        own = old.copy()
        node.storage.kept -= len(shared)
        node._x, node._y = (own if x is old else x for x in (node._x, node._y))
        node._saved = [pair for pair in node._saved if pair not in shared]
        return own
    return old


def fits(x: Any) -> bool:
    """May x be an operand of a Tensor?"""
    return isinstance(x, (ArrayNode.kind, int, float, np.ndarray, np.number, np.bool_))
