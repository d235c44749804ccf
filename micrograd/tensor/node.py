"""The node of an array: what it saves for backward, and how ops on Tensors, in place or not, are recorded.

A node saves only the values that its row's rules use.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from types import FunctionType
from typing import Any, TypeGuard

import numpy as np

from ..engine import ops
from ..engine.graph import LEAF, Node, grads_lock
from ..engine.modes import (
    deferred,
    enable_grad,
    is_anomaly_enabled,
    is_differentiating,
    is_grad_enabled,
    is_tracing,
    line_of_the_user,
    look,
    modes,
    stand_in,
)
from ..engine.rows import PLAIN, Each, HandWritten, Many, Row
from ..engine.value import Value
from . import arrays
from . import library as array_library
from .storage import Saved, Storage

Tensor = Any  # `tensor.py` imports this file, and sets its class as `ArrayNode.kind`

Array = np.ndarray
_LISTS = (list, tuple, memoryview)  # converted to arrays; a memoryview is what `array.data` returns
PLAIN.add(Array)
ops.LIBRARIES |= dict.fromkeys((Array, *np.sctypeDict.values()), array_library)  # with NumPy's scalar types
_new = object.__new__


class ArrayNode(Node):
    """A node whose data is an array. `tensor` is the Tensor that wraps it.

    `_x` has the operands and `_y` the values that the rules are called with. The storages of those values that the
    rules use (`_needed`) are in `_saved`, with their versions: they must not be written to. Of the others the rules
    use the shape only. `_a` caches the result of `_prev`; in a constant that was a leaf, it is the leaf's node.
    """

    __slots__ = ("_handle", "_store")
    _retains_grad = False

    kind: type[Any]  # Tensor, and LateTensor for views whose new history is not made yet; `tensor.py` sets both
    late_kind: type[Any]
    _store: Storage | None
    _operands = Node._x  # type: ignore[assignment]  # two of Node's slots, reused under other names
    _saved: Any = Node._b  # Saved, or an empty tuple

    @property
    def tensor(self) -> Tensor:
        """The Tensor that wraps this node, or a new one if it is gone."""
        tensor = self._handle()
        return handle(self) if tensor is None else tensor

    @property
    def data(self) -> Array:
        """The array."""
        return self.tensor.data

    @property
    def _saves(self) -> bool:
        return not self._row.rules or bool(self._needed)

    @property
    def storage(self) -> Storage:
        """The storage of the data, made on first access."""
        if self._store is None:
            self._store = Storage()
        return self._store

    @property
    def _prev(self) -> tuple[Node, ...]:
        """The operands, in order, repeats and constants included."""
        if not self._row or None not in self._x:
            return self._x or ()
        if self._a is None:  # plain numbers and arrays: make their constants on first access, and reuse them
            pairs = zip(self._x, self._y, strict=True)
            self._a = tuple(self._constant(np.array(x)) if n is None else n for n, x in pairs)
        return self._a

    def _constant(self, data: Any) -> ArrayNode:
        return new_node(np.asarray(data))

    def _seed(self, gradient: Any, create_graph: bool) -> Any:
        like = self._data
        if gradient is None:
            if like.size != 1:
                raise RuntimeError(f"backward() of a Tensor of shape {like.shape} needs a gradient of that shape")
            gradient = np.ones(like.shape, like.dtype)
            if not create_graph:
                return gradient
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

    def _used(self, create_graph: bool) -> tuple[Any, Any]:
        if self._saved:
            for storage, version in self._saved:
                if storage.version != version:
                    storage.check(version, self._op)
        return self._x, self._as_nodes(self._y) if create_graph and self._row.needs_values else self._y

    @property
    def _needed(self) -> list[int]:
        """The indices in `_y` of the values that the rules use."""
        return _needed(self._row, tuple(n is not None and n._row is not None for n in self._x))

    def _as_it_was(self, i: int, operand: Any, kept: Any) -> Tensor:
        if kept is not None and i in self._needed and not same_array(kept, operand._data):
            raise RuntimeError(
                f"create_graph=True: data that '{self._op}' used was written to since; run the forward pass again"
            )
        return getattr(operand, "tensor", operand)

    def _quiet(self) -> Any:
        return np.errstate(all="ignore")

    def _for_grad(self, grads: dict[Any, Any], inputs: Sequence[Any] | None) -> dict[Any, Any]:
        """The gradients for `.grad`: all, or those of the inputs. No array is shared with another, or is a view."""
        kept, taken = {}, set()
        for node, g in grads.items() if inputs is None else [(n, grads[n]) for n in inputs if n in grads]:
            if g.__class__ is Array and (g.base is not None or id(g) in taken):
                g = np.array(g, order=order(node._data))
            taken.add(id(g))
            kept[node] = g
        return kept

    def _fit(self, part: Any) -> Any:
        """A gradient in the shape and dtype of this node, summed over the axes that broadcasting added or stretched."""
        like = self._data
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
        if g.__class__ is Array:  # other operands may have received the same array
            g = g.copy()
            g.flags.writeable = False
        return g

    def _as_now(self) -> Any:
        twin: Any = super()._as_now()
        twin._handle, twin._store = self._handle, self._store
        return twin

    def _hand_write(self, row: HandWritten, operands: tuple[Any, ...]) -> None:
        nodes = (self, *operands)
        self._record(row, operands, [n._data for n in nodes], [n.storage for n in nodes])

    def _record(self, row: Row, operands: Sequence[Any], values: Any, saved: Sequence[Storage] = ()) -> None:
        """As for any node; `saved` are the storages of the values, which must not be written to before the pass."""
        self._a, self._x, self._y, self._saved, self._row = None, operands, values, saved and Saved(saved), row
        if modes and is_anomaly_enabled():
            self._made_at = line_of_the_user()

    def _check_unchanged(self) -> None:
        self._used(False)
        for n, then in zip((self, *self._x), self._y, strict=True):
            if (tensor := n._handle()) is not None and (tensor._node is not n or not same_array(n._data, then)):
                raise RuntimeError(
                    f"the _backward written for '{self._op}' would read a Tensor that was changed since the forward "
                    "pass: change a copy, or change it after backward()"
                )

    def _zero(self) -> Array:
        return np.zeros(self._data.shape, np.result_type(self._data, np.float16))

    def __repr__(self) -> str:
        return repr(self.tensor)


def same_array(a: Array, b: Array) -> bool:
    return a is b or np.array_equal(a, b, equal_nan=True)


def new_node(data: Array, row: Any = None, storage: Storage | None = None) -> ArrayNode:
    """A node with an array, and without operands or a Tensor."""
    node = _new(ArrayNode)
    node._data, node.grad, node._row, node._store = data, None, row, storage
    node._a = node._b = node._x = node._y = None
    node._handle = _no_tensor
    return node


def _no_tensor() -> None:
    return None


def order(array: Array) -> Any:
    """The memory order of an array: "F" for column-major, else "C"."""
    return "F" if array.flags.fnc else "C"


def handle(node: ArrayNode) -> Tensor:
    """A new Tensor that wraps the node."""
    tensor = _new(ArrayNode.kind)
    tensor._node = node
    node._handle = weakref.ref(tensor)
    return tensor


# ---------------------------------------------------------------------------------------------------------------------
# Recording an op


def _needed(row: Row, wants: tuple[bool, ...]) -> list[int]:
    """The indices of the values that a row's rules use, where `wants` says which operands need a gradient."""
    if isinstance(row, Many) and not row.rules:
        return [*range(len(wants))] if row.needs_values else []
    rules = [rule.__code__ if isinstance(rule, FunctionType) else None for i, rule in row.rules if wants[i]]
    needed = row.needed[wants] = _named(len(wants) + row.of_out, *rules)
    return needed


@lru_cache  # by code object, which all rows made by one function share
def _named(count: int, *codes: Any) -> list[int]:
    """The indices of the `count` values that these rules use, according to their parameters' names: see `ops`.

    A rule that does not name every value (it takes `*args`, or is not a plain function) may use any of them.
    """
    if any(code is None or code.co_argcount <= count for code in codes):
        return [*range(count)]
    names = zip(*[code.co_varnames[1 : count + 1] for code in codes], strict=True)
    return [i for i, each in enumerate(names) if any(not (x.startswith("_") or x == "like") for x in each)]


def operand(x: Any) -> tuple[ArrayNode | None, Any]:
    """The node of an operand (None for a plain number or array), and its value."""
    if isinstance(x, ArrayNode.kind):
        return x._node, x._node._data
    if isinstance(x, (int, float, np.integer, np.floating, np.bool_)) or (
        x.__class__ is Array and x.dtype.kind in "fiub"
    ):
        return None, x
    if isinstance(x, _LISTS) and (array := np.array(x)).dtype.kind in "fiub":
        return None, array
    if may_meet(x):
        return lifted(x)._node, x._data
    raise TypeError(f"a Tensor's operand is a Tensor, a real number or an array of them, found {type(x).__name__}")


def record(row: Row, *operands: Any) -> Tensor:
    """Apply a row to Tensors, arrays and numbers, and record it."""
    if modes and (defer := deferred()):
        return defer(row, [np.array(x) if isinstance(x, _LISTS) else x for x in operands])
    nodes: list[Any] = []
    values: list[Any] = []
    for x in operands:
        node, value = operand(x)
        nodes.append(node)
        values.append(value)
    try:
        data = row.forward(*values)
    except (ValueError, TypeError, IndexError) as error:
        shapes = " and ".join(str(np.shape(value)) for value in values)
        error.add_note(f"in '{row.name}' of {'shape' if len(values) == 1 else 'shapes'} {shapes}")
        raise
    node = new_node(data if data.__class__ is Array else np.asarray(data))
    made = handle(remember(node, row, tuple(nodes), values))
    if row.view and nodes[0] is not None and np.may_share_memory(node._data, values[0]):
        made._view = (operands[0], row) if not modes or is_grad_enabled() else (lineage(operands[0])[-1], None)
        (nodes[0]._store or nodes[0].storage).share(made)
    return made


def remember(node: ArrayNode, row: Row, operands: tuple[ArrayNode | None, ...], values: Sequence[Any]) -> ArrayNode:
    """Give the node its history, if it is of floats, an operand requires a gradient and grad mode is on.

    The node saves what its rules use: arrays of Tensors with their versions, and copies of plain arrays.
    """
    wants = tuple([n is not None and n._row is not None for n in operands])
    if True not in wants or (modes and not is_grad_enabled()) or node._data.dtype.kind != "f":
        return node
    sources, seen = ((node, *operands), [node._data, *values]) if row.of_out else (operands, [*values])
    needed, saved = row.needed.get(wants), []
    for i in _needed(row, wants) if needed is None else needed:
        source = sources[i]
        if source is not None:
            saved.append(source._store or source.storage)
        elif seen[i].__class__ is Array:
            seen[i] = seen[i].copy()
    node._record(row, operands, seen, saved)
    return node


# ---------------------------------------------------------------------------------------------------------------------
# Recording an in-place op, and updating the views


def write(tensor: Tensor, row: Row, other: Any) -> Any:
    """Apply a row in place: the same Tensor with new values and, if it is recorded, a new node on top of the old."""
    if modes:
        look(tensor._node)
    node = tensor._node
    b, y = operand(other)
    wanted = node._row is not None or (b is not None and b._row is not None)
    if not wanted and node._store is not None and node._store.views:
        wanted = lineage(tensor)[-1]._node._row is not None
    if wanted and is_grad_enabled():
        with grads_lock:  # two threads may write to two views of one base
            _write_recorded(row, lineage(tensor) if node.storage.views else [tensor], b, y)
    else:
        _change(node, row, y)
    return tensor


def _write_recorded(row: Row, line: list[Tensor], b: ArrayNode | None, y: Any) -> None:
    """Record an in-place op on the first of `line`, and on each Tensor that it is a view of, the write to its part."""
    node = line[0]._node
    _refuse(row, line)
    made = remember(new_node(node._data, storage=node.storage), row, (node, b), (node._data, y))
    old, data, storage, nodes = _copy_saved(made), node._data, node.storage, [tensor._node for tensor in line]
    version, before = storage.version, old if old is not data else data.copy(order="K")
    try:
        _change(node, row, y)
        if old is not data:  # the old node keeps the old values, for `create_graph`
            node._data, node._store = old, None
        _succeed(line[0], node, made)
        for view, parent in pairwise(line):
            above = parent._node
            after = new_node(above._data, storage=above.storage)
            made = remember(after, _copy_slices(view._view[1]), (above, made), (above._data, made._data))
            _succeed(parent, above, made)
        if storage.views:
            outdate(line[-1])
    except BaseException:  # such as Ctrl-C, or a warning that is an error, which NumPy raises after it has written
        node._data, node._store = data, storage
        if storage.version != version:
            np.copyto(data, before)
            storage.version = version
        for tensor, then in zip(line, nodes, strict=True):
            if tensor._node is not then:
                _succeed(tensor, tensor._node, then)
        if storage.views:
            outdate(line[-1])
        raise


def _refuse(row: Row, line: list[Tensor]) -> None:
    """Raise if an in-place op on the first of this line cannot be recorded."""
    base = line[-1]
    if base.dtype.kind != "f":
        raise RuntimeError(f"'{row.name}' in place would have a Tensor of dtype {base.dtype} require a gradient")
    for x in line:
        made_by = x._node._row
        if made_by == LEAF or (made_by and not base._node._row):
            leaf = "a leaf" if line[0]._node._row == LEAF else "a view of a leaf"
            raise RuntimeError(
                f"'{row.name}' in place on {leaf} that requires a gradient: "
                "write y = x + ..., or do it inside no_grad()"
            )
        if x is not base and x._view[1] is None:
            raise RuntimeError(
                f"'{row.name}' in place on a view that was made inside no_grad() cannot be recorded: "
                "make the view outside, or write to it inside no_grad() too"
            )


_IN_PLACE = {ops.add: operator.iadd, ops.sub: operator.isub, ops.mul: operator.imul, ops.div: operator.itruediv}


def _change(node: ArrayNode, row: Row, y: Any) -> None:
    """Overwrite a node's data with row(data, y); NumPy's in-place operators do it without a temporary array."""
    data = node._data
    node.storage.version += 1  # first: NumPy raises a warning that is an error after it has written
    try:
        if row in _IN_PLACE:
            _IN_PLACE[row](data, y)
        else:
            result = np.asarray(row.forward(data, y))
            if result.shape != data.shape:
                raise ValueError(f"'{row.name}' in place would change the shape {data.shape} to {result.shape}")
            np.copyto(data, result, casting="same_kind")
    except (ValueError, TypeError, IndexError) as error:  # nothing was written
        node.storage.version -= 1
        error.add_note(f"in '{row.name}' in place of shapes {data.shape} and {np.shape(y)}")
        raise


def _copy_saved(node: ArrayNode) -> Array:
    """Replace saved values that the in-place op is about to overwrite by copies, in the op's node.

    Returns the array with the old data: the copy, if there is one.
    """
    storage = node.storage
    if node._saved and node._saved.drop(storage):
        pairs = zip(node._x, node._y, strict=True)
        node._y = [x if n is None or n._store is not storage else x.copy(order="K") for n, x in pairs]
    return node._y[0]


def _copy_slices(view: Row) -> Row:
    """The row of a write through a view: a copy of a in which view(a) is replaced by b."""

    def forward(a: Any, b: Any) -> Any:
        out = a.copy()
        view.forward(out)[...] = b
        return out

    return Row("copy_slices", forward, lambda g, _a, _b: _copy_slices(view)(g, 0.0), lambda g, _a, _b: view(g))


def _succeed(tensor: Tensor, old: ArrayNode, new: ArrayNode) -> None:
    """Give a Tensor a new node, and move to it what belongs to the Tensor: label, grad and `_retains_grad`."""
    _inherit(tensor, old, new)
    tensor._node = new
    _retire(old)


def _inherit(tensor: Tensor, old: ArrayNode, new: ArrayNode) -> None:
    new.label, new.grad, new._retains_grad = old.label, old.grad, old._retains_grad
    new._handle = weakref.ref(tensor)


def _retire(node: ArrayNode) -> None:
    node._handle, node.grad, node._retains_grad = _no_tensor, None, False


# A view stores its parent and the row that made it (None inside `no_grad`) in `_view`. When a write is recorded, or the
# base unfrozen, the views of that memory lose their nodes. `_late` has the new one, which gets its history from the
# parent's on the next access, and the view's entry in `Storage.current`. Nodes do not refer to parents: Tensors do.


def move(tensor: Tensor, data: Array) -> None:
    """Give a Tensor new memory. Its views keep the old memory, and get a Tensor of the old node as their parent."""
    node, storage = tensor._node, tensor._node._store
    if storage is not None and storage.views:
        was = handle(Node._as_now(node))  # type: ignore[arg-type]
        storage.share(was)
        if hasattr(tensor, "_view"):
            was._view = tensor._view
            del tensor._view
        for ref in tuple(storage.views):
            parent, row = getattr(view := ref(), "_view", (None, None))
            if view is not None and parent is tensor:
                view._view = (was, row)
    node._data, node._store = data, None


def lineage(tensor: Tensor) -> list[Tensor]:
    """The Tensor, its parent if it is a view, and so on up to the base."""
    line = [tensor]
    while hasattr(line[-1], "_view"):
        line.append(line[-1]._view[0])
    return line


def outdate(base: Tensor) -> None:
    """Remove the nodes of the views of a Tensor that was written to or unfrozen, and make them LateTensors.

    A view stays one until its next access, so that n writes through n views remove each only once.
    """
    storage = base._node.storage
    with grads_lock:
        for ref in tuple(storage.current):
            tensor = ref()
            if not getattr(tensor, "_view", (None, None))[1]:  # it will never lose its history
                storage.current.discard(ref)
            elif (node := tensor._node)._row != LEAF and any(x is base for x in lineage(tensor)[1:]):
                late = new_node(node._data, storage=storage)
                _inherit(tensor, node, late)
                tensor._late, tensor.__class__ = (late, ref), ArrayNode.late_kind
                del tensor._node  # not before: a Ctrl-C may come at any line
                _retire(node)
                storage.current.discard(ref)


def renewed(tensor: Tensor) -> ArrayNode:
    """The new node of an outdated view. Outdated parents come first, in a loop, so that long chains do not recurse."""
    with grads_lock, enable_grad():
        late = [tensor]
        while (parent := late[-1]._view[0]).__class__ is ArrayNode.late_kind:
            late.append(parent)
        for x in reversed(late):
            if x.__class__ is ArrayNode.late_kind:  # else another thread has done it
                parent, row = x._view
                late_node, ref = x._late
                late_node.storage.current.add(ref)
                x._node = remember(late_node, row, (parent._node,), (parent._node._data,))
                x.__class__ = ArrayNode.kind
    return tensor._node


def fits(x: Any) -> bool:
    """True if x can be an operand of a Tensor."""
    plain = isinstance(x, (ArrayNode.kind, int, float, np.ndarray, np.number, np.bool_, *_LISTS))
    return plain or may_meet(x)


# ---------------------------------------------------------------------------------------------------------------------
# Values among Tensors: transforms and `compile` turn numbers into Values, which may meet Tensors in the function


def may_meet(x: Any) -> TypeGuard[Value]:
    """True for a Value that Tensors accept as an operand: one number, which under `compile(batch=True)` may be many."""
    return isinstance(x, Value) and (is_differentiating() or (is_tracing() and not getattr(x._data, "shape", ())))


def lifted(x: Any) -> Any:
    """A number as an array of shape (); a Value as a Tensor that sends its gradient back to the Value."""
    if not isinstance(x, Value):
        return np.asarray(x)
    x = stand_in(x)
    node = new_node(np.broadcast_to(x._data, ()))
    tensor = deferred().tensor_of(node) if is_tracing() else handle(node)  # type: ignore[union-attr]
    return _crossed(tensor, node, LIFT, x)


def lowered(x: Any) -> Any:
    """An array of shape () as a number; a Tensor as a Value that sends its gradient back to the Tensor."""
    tensor = x if isinstance(x, ArrayNode.kind) else None
    data: Any = x if tensor is None else tensor._node._data
    data = data.item() if data.__class__ is Array else data.graph.make(".item", (data,))
    if tensor is None:
        return data
    value = deferred().value_of(data) if is_tracing() else Value(data, requires_grad=False)  # type: ignore[union-attr]
    return _crossed(value, value, LOWER, tensor._node)


def _crossed(result: Any, node: Any, row: Row, operand: Any) -> Any:
    """The result, with an operand of the other kind as its history."""
    if operand._row is not None and is_grad_enabled():
        node._record(row, (operand,), (operand._data,))
    return result


LIFT = Each("tensor", lifted, lambda g, _a: lowered(g))
LOWER = Each("number", lowered, lambda g, _a: lifted(g))
