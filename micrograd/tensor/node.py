"""The node of an array: what it saves for backward, and how ops on Tensors, in place or not, are recorded.

A node saves only the values that its row's rules use. A `Storage` counts the in-place writes to its memory. `Saved`
lists the storages of the values that a node saved, with their versions, so that the backward pass can raise if a value
was written to after the node saved it.
"""

from __future__ import annotations

import operator
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import lru_cache, partial
from types import FunctionType
from typing import Any, TypeGuard

import numpy as np

from ..engine.by_hand import Closure
from ..engine.modes import before_change, interceptor, is_grad_enabled, listener, modes_on, no_grad, tell_recorded
from ..engine.node import MANY, NOTHING, Node, fill_slots, refuse_redefined
from ..engine.rows import LEAF, LIBRARIES, Row
from ..engine.value import Value
from ..scalars import ops
from ..scalars.kinds import is_differentiating, node_of, plain, traced
from ..scalars.rows import Each, Many, nothing
from . import arrays
from . import library as array_library
from .library import is_basic

Tensor = Any  # `tensor.py` imports this file, and sets its class as `ArrayNode.tensor_class`

Array = np.ndarray
_NUMBERS = (int, float, np.integer, np.floating, np.bool_)
_LISTS = (list, tuple, memoryview)  # which become arrays; `array.data` is a memoryview
LIBRARIES.update(dict.fromkeys((Array, *np.sctypeDict.values()), array_library))  # with NumPy's scalar types
_new = object.__new__


class ArrayNode(Node):
    """A node whose data is an array. `tensor` is the Tensor that wraps it.

    `_b` has the operands and `_x` the values that the rules are called with. The rules use the elements of the values
    at the indices `_values_used`, and only the shapes of the other values. `_saved` has the storages of the values
    used, which must not be written to, with their versions.
    """

    __slots__ = ("_handle", "_saved", "_store")

    # ---- the names of every node; `grad` and `_op` are those of `Node`

    @property
    def data(self) -> Array:
        """The array."""
        return self.tensor.data

    @property
    def _prev(self) -> tuple[Node, ...]:
        """The operands, in order, repeats and constants included."""
        if not self._row or self._row.released:
            return ()
        if NOTHING in self._b:  # make the constants of plain numbers and arrays on first access, and reuse them
            pairs = zip(self._b, self._x, strict=True)
            self._b = tuple(new_node(np.array(x)) if n is NOTHING else n for n, x in pairs)
        return self._b

    _backward = Value._backward  # the property
    _operands = Node._b  # type: ignore[assignment]  # the slot itself, which is read without a call in Python

    # ---- what arrays add: the Tensor, and the memory

    tensor_class: type[Any]  # Tensor; set by `tensor.py`
    _handle: Callable[[], Any]  # a weak reference to the Tensor
    _store: Storage | None
    _saved: Any  # a Saved, or an empty tuple
    _leaf: Any = None  # of a frozen leaf: its node from before, which unfreezing restores

    @property
    def tensor(self) -> Tensor:
        """The Tensor that wraps this node, or a new one if it is gone."""
        tensor = self._handle()
        return wrap(self) if tensor is None else tensor

    @property
    def storage(self) -> Storage:
        """The storage of the data, made on first access."""
        if self._store is None:
            self._store = Storage()
        return self._store

    @property
    def _saves(self) -> bool:
        """False for a node without saved values. A graph of only such nodes is not released after a pass."""
        return bool(self._saved or not self._row.rules or self._values_used)

    @property
    def _values_used(self) -> list[int]:
        """The indices in `_x` of the values that the rules use."""
        return _indices_used(self._row, tuple(n._row is not None for n in self._b))

    # ---- what makes a kind of node, as in `Value`

    def _constant(self, data: Any) -> ArrayNode:
        return new_node(np.asarray(data))

    def _seed(self, gradient: Any, create_graph: bool) -> Any:
        like = self._data
        if gradient is None:
            if like.size != 1:
                raise RuntimeError(
                    f"backward() starts from one number, found a Tensor of shape {like.shape}: "
                    "call .sum() or .mean() first, or pass a gradient of that shape"
                )
            gradient = np.ones(like.shape, like.dtype)
            if not create_graph:
                return gradient
        seed = gradient if isinstance(gradient, self.tensor_class) else self.tensor_class(gradient)
        array = seed._node._data
        if array.shape != like.shape:
            raise ValueError(f"a Tensor of shape {like.shape} cannot have a gradient of shape {array.shape}")
        if not create_graph:
            return array.astype(like.dtype)
        return refuse_redefined(seed if array.dtype == like.dtype else seed.astype(like.dtype), self.tensor_class)

    def _rule_arguments(self, create_graph: bool) -> Sequence[Any]:
        for storage, version in self._saved:
            if storage.version != version or storage.lent is not None:
                storage.check(version, self._op)
        if not (create_graph and self._row.reads_values):
            return self._x
        sources = (self, *self._b) if self._row.is_unary else self._b
        values = [*self._x]
        for i, n in enumerate(sources):
            if n is not NOTHING:
                values[i] = refuse_redefined(self._as_it_was(i, n, values[i]), self.tensor_class)
        return values

    def _as_it_was(self, i: int, operand: Any, value: Any, /) -> Tensor:
        """The Tensor of a saved value, given its index and the node; raises if a rule uses it and it was written to."""
        if value is not None and i in self._values_used and not same_array(value, operand._data):
            raise RuntimeError(
                f"create_graph=True: data that '{self._op}' used was written to since; run the forward pass again"
            )
        return getattr(operand, "tensor", operand)

    def _drop_saved(self) -> None:
        self._x, self._saved = None, ()

    def _numpy_warnings_off(self) -> Any:
        return np.errstate(all="ignore")

    def _unshared(self, g: Any, taken: set[int], /) -> Any:
        """A gradient that nothing else refers to: a copy of a view, and of an array that a `.grad` has already."""
        if g.__class__ is Array and (g.base is not None or id(g) in taken):
            g = np.array(g, order=order(self._data))
        taken.add(id(g))
        return g

    def _cast_gradient(self, part: Any) -> Any:
        """A gradient in the shape and dtype of this node, summed over the axes that broadcasting added or stretched."""
        like = self._data
        if part.__class__ is Array and part.shape == like.shape and part.dtype == like.dtype:
            return part
        if part.__class__ is not Array and not isinstance(part, self.tensor_class):
            part = np.asarray(part)
        if part.shape != like.shape:
            part = arrays.sum_to(like.shape)(part)
        return part if part.dtype == like.dtype else arrays.astype(like.dtype)(part)

    def _plus(self, total: Any, part: Any, taken: Any = None, /) -> Any:
        if total is None:  # this part is the first
            return self._unshared(part, taken)
        # If the total is a Tensor and the part is an array, their sum is a constant
        with no_grad() if isinstance(total, self.tensor_class) and part.__class__ is Array else nullcontext():
            total = ops.add(total, part)
        return total if isinstance(total, self.tensor_class) else np.asarray(total)

    def _for_hook(self, g: Any) -> Any:
        if g.__class__ is Array:  # other operands may have received the same array
            g = g.copy()
            g.flags.writeable = False
        return g

    def _as_now(self) -> Any:
        twin: Any = super()._as_now()
        for name in ArrayNode.__slots__:
            setattr(twin, name, getattr(self, name))
        return twin

    def _record(self, row: Row, operands: Sequence[Any], values: Any, saved: Sequence[Storage] = (), /) -> None:
        """As for every node. The storages `saved`, of the values, must not be written to before the backward pass."""
        if type(row) is Closure:
            nodes = (self, *operands)
            row, values, saved = _ArrayClosure(row.name, row.run), [n._data for n in nodes], [n.storage for n in nodes]
        self._a, self._b, self._x = MANY, operands, values
        self._saved = saved and Saved(saved)
        self._row = row
        if modes_on:
            tell_recorded(self)

    def _check_unchanged(self) -> None:
        self._rule_arguments(False)
        for n, array in zip((self, *self._b), self._x, strict=True):
            if (tensor := n._handle()) is not None and (tensor._node is not n or not same_array(n._data, array)):
                raise RuntimeError(
                    f"the _backward written for '{self._op}' would read a Tensor that was changed since the forward "
                    "pass: change a copy, or change it after backward()"
                )

    def __repr__(self) -> str:
        return repr(self.tensor)


class Storage:
    """The memory of one Tensor, or of several that share it."""

    version: int = 0  # the number of writes to the memory
    users: int = 0  # the number of nodes that saved the memory
    views: Any = ()  # weak references to the other Tensors that share the memory
    kept: Any = nothing  # a weak reference to the node of a constant before a write, with a copy that drawings need
    lent: Any = None  # an array that the caller may write to unnoticed, and a copy to compare it with

    def share(self, tensor: Any) -> Any:
        """Register another Tensor of this memory, and return the Tensor."""
        self.views = self.views or set()
        self.views.add(weakref.ref(tensor, self.views.discard))
        tensor._node._store = self
        return tensor

    def lend(self, array: np.ndarray) -> None:
        """Note that the caller gets this array, which a graph needs and other Tensors share."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        self.count_unnoticed_write()
        self.lent = array, array.copy()

    def count_unnoticed_write(self) -> None:
        """Count a write to the array that was lent."""
        if self.lent is not None and not np.array_equal(*self.lent, equal_nan=True):
            self.version += 1
            self.lent = self.lent[0], self.lent[0].copy()

    def check(self, version: int, name: str) -> None:
        """Raise if the memory was written to after this version, which the named op saved."""
        self.count_unnoticed_write()
        if self.version != version:
            raise RuntimeError(
                f"an array that '{name}' needs for its gradient was changed in place: it is at version "
                f"{self.version}, version {version} is needed; change a copy, or change it after backward()"
            )


class Saved(list[tuple[Storage, int]]):
    """The storages of the values that a node saved, with their versions. Each counts in `Storage.users` until freed."""

    __slots__ = ()

    def __init__(self, storages: Sequence[Storage]):
        for storage in storages:
            storage.users += 1
            storage.count_unnoticed_write()
            self.append((storage, storage.version))

    def __del__(self) -> None:
        for storage, _ in self:
            storage.users -= 1


class _ArrayClosure(Closure):
    """The closure of an array node. It may read arrays of Tensors, which must not have changed since the op ran."""

    def zero(self, operand: Any) -> Array:
        # Of a type of floats, also if the operand has ints
        return np.zeros(operand._data.shape, np.result_type(operand._data, np.float16))

    def send(self, node: Any, g: Any, create_graph: bool = False) -> Sequence[tuple[Any, Any]]:
        if isinstance(g, ArrayNode.tensor_class) and not create_graph:
            raise RuntimeError(f"jvp needs the derivative of '{self.name}' as a row: its _backward was written by hand")
        if not create_graph:
            node._check_unchanged()
        return super().send(node, node._for_hook(g), create_graph)


def same_array(a: Array, b: Array) -> bool:
    """True if the two arrays have the same elements; nan equals nan."""
    return a is b or np.array_equal(a, b, equal_nan=True)


def new_node(data: Array, row: Any = None) -> ArrayNode:
    """A node with an array, and without operands or a Tensor."""
    node = _new(ArrayNode)
    node._data, node._row = data, row
    node._gradient = node._x = node._y = node._store = None
    node._a, node._b, node._saved, node._sum = MANY, (), (), 0.0
    node._handle = nothing  # as a weak reference to a Tensor that is gone
    return node


def order(array: Array) -> Any:
    """The memory order of an array: "F" for column-major, else "C"."""
    return "F" if array.flags.fnc else "C"


def wrap(node: ArrayNode, cls: Any = None) -> Tensor:
    """A new Tensor, or an instance of its subclass `cls`, that wraps the node."""
    tensor = _new(cls or ArrayNode.tensor_class)
    tensor._node = node
    node._handle = weakref.ref(tensor)
    return tensor


# ---------------------------------------------------------------------------------------------------------------------
# Recording an op


def _indices_used(row: Row, needs_grad: tuple[bool, ...]) -> list[int]:
    """The indices of the values that a row's rules use, where `needs_grad` has a bool for each operand."""
    if not row.rules:
        return [*range(len(needs_grad))] if row.reads_values else []
    rules = [rule for rule, needed in zip(row.rules, needs_grad, strict=True) if needed]
    codes = [rule.__code__ if isinstance(rule, FunctionType) else None for rule in rules]
    indices = _indices_named(len(needs_grad) + row.is_unary, *codes)
    vars(row).setdefault("indices_used", {})[needs_grad] = indices  # where `remember` looks first
    return indices


@lru_cache  # by code object, which all rows made by one function share
def _indices_named(count: int, *codes: Any) -> list[int]:
    """The indices of the `count` values that these rules use, according to their parameters' names: see `ops`.

    A rule that takes `*args`, or that is not a plain function, does not name every value, and may use all of them.
    """
    if any(code is None or code.co_argcount <= count for code in codes):
        return [*range(count)]
    names_by_value = zip(*[code.co_varnames[1 : count + 1] for code in codes], strict=True)
    uses_value = lambda name: not (name.startswith("_") or name == "like")  # noqa: E731
    return [i for i, names in enumerate(names_by_value) if any(map(uses_value, names))]


def operand(x: Any) -> tuple[Any, Any]:
    """The node of an operand (`NOTHING` for a plain number or array), and its value."""
    if isinstance(x, ArrayNode.tensor_class):
        return x._node, x._node._data
    array = x
    if isinstance(x, _LISTS):
        array = array_of(x)
    elif x.__class__ is np.memmap:
        array = np.asarray(x)
    if isinstance(x, _NUMBERS) or (array.__class__ is Array and array.dtype.kind in "fiub"):
        return NOTHING, array
    if accepts_value(x):
        return to_tensor(x)._node, x._data
    found = type(x).__name__ + (f" of dtype {array.dtype}" if array.__class__ is Array else "")
    hint = " (of an array of Values: np.exp, np.sum and the like)" if found.endswith("object") else ""
    raise TypeError(f"an operand is a node, a real number or an array of real numbers, found {found}{hint}")


def array_of(data: Any) -> Array:
    """A new array of the data. If rows have different lengths, the error has two of the lengths."""
    try:
        return np.array(data)
    except ValueError:
        rows = [data]
        while all(isinstance(row, _LISTS) for row in rows):
            rows = [x for row in rows for x in row]
            lengths = dict.fromkeys(str(len(x)) if isinstance(x, _LISTS) else "a number" for x in rows)
            if len(lengths) > 1:
                raise ValueError(f"rows of different lengths: found {' and '.join([*lengths][:2])}") from None
        raise


def record(row: Row, *operands: Any) -> Tensor:
    """Apply a row to Tensors, arrays and numbers, and record it."""
    if modes_on and (defer := interceptor()):
        return defer(row, [np.array(x) if isinstance(x, _LISTS) else x for x in operands])
    nodes: list[Any] = []
    values: list[Any] = []
    for x in operands:  # `zip` would take twice the time
        if isinstance(x, ArrayNode.tensor_class):  # the usual case: without a call of `operand`
            node = x._node
            value = node._data
        else:
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
    out = wrap(remember(node, row, tuple(nodes), values))
    if row.view and nodes[0] is not NOTHING and np.may_share_memory(node._data, values[0]):
        out._view = base_of(operands[0]), operands[0], row
        (nodes[0]._store or nodes[0].storage).share(out)
    return out


def remember(
    node: ArrayNode, row: Row, operands: tuple[Any, ...], values: Sequence[Any], overwritten: Any = False
) -> ArrayNode:
    """Give the node its history, if the data are floats, an operand requires a gradient and grad mode is on.

    The node saves the values that its rules use: the arrays of Tensors with the versions of their storages, and copies
    of plain arrays and of arrays in the storage that is about to be `overwritten`.
    """
    needs_grad = tuple([n._row is not None for n in operands])
    if True not in needs_grad or (modes_on and not is_grad_enabled()) or node._data.dtype.kind != "f":
        return node
    nodes, values = ((node, *operands), [node._data, *values]) if row.is_unary else (operands, [*values])
    indices, saved = getattr(row, "indices_used", {}).get(needs_grad), []
    for i in _indices_used(row, needs_grad) if indices is None else indices:
        n = nodes[i]
        if n is not NOTHING and n._store is not overwritten:
            saved.append(n._store or n.storage)
        elif values[i].__class__ is Array:
            values[i] = values[i].copy(order="K")
    node._record(row, operands, values, saved)
    return node


# ---------------------------------------------------------------------------------------------------------------------
# Recording an in-place op
#
# To Python, `x[i] += y` is `v = x[i]; v += y; x[i] = v`. Where a history is involved, `v += y` gives v its own
# memory, and x cannot be used until `x[i] = v`. So a recorded op writes to shared memory only through the whole base.
# Afterwards the views that have a history cannot be used, because their arrays changed and their histories did not.


class Unusable(ArrayNode):
    """A placeholder for the node of a Tensor whose array no longer matches its history. Every use raises.

    `_awaited` is None, or a view that was written to, with the row that made the view. To assign this view to its place
    makes the Tensor usable again.
    """

    __slots__ = ("_awaited", "_replaced", "_why")

    def __init__(self, node: ArrayNode, why: str, awaited: Any):
        self._replaced, self._why, self._awaited = node, why, awaited
        self._handle, self._store = node._handle, node._store

    @property
    def _data(self) -> Any:  # type: ignore[override]
        raise RuntimeError(self._why)

    _row = grad = _data  # type: ignore[assignment]


def _usable(node: Any) -> ArrayNode:
    """The node itself, or the node that an `Unusable` replaced."""
    return node._replaced if node.__class__ is Unusable else node


def _is_awaited(node: Unusable, row: Row, other: Any) -> bool:
    """True if the row assigns the awaited view to its place."""
    if node._awaited is None:
        return False
    view, made_by = node._awaited
    return other is view and is_basic(row.settings.get("index")) and row.settings == made_by.settings


def base_of(tensor: Tensor) -> Tensor:
    """The Tensor at the end of a chain of views, which is the Tensor itself if it is not a view."""
    return tensor._view[0] if hasattr(tensor, "_view") else tensor


def _others_of_memory(tensor: Tensor) -> list[Tensor]:
    """The base of this Tensor and the other views of the base that share the memory, if they share the history too."""
    base, storage = base_of(tensor), tensor._node.storage
    views = [t for ref in tuple(storage.views) if (t := ref()) is not None]
    family = [t for t in views if t is not base and base_of(t) is base]
    if base_shares := base._node._store is storage:
        family.append(base)
    # If the base has a history, a view without a history was detached on purpose
    detached_too = not (base_shares and _usable(base._node)._row is not None)
    rows = [_usable(t._node)._row for t in family]
    pairs = zip(family, rows, strict=True)
    return [t for t, row in pairs if t is not tensor and row != LEAF and (row or detached_too)]


def write(tensor: Tensor, row: Row, other: Any) -> Any:
    """Apply a row in place: the same Tensor with new values and, if it is recorded, a new node on top of the old."""
    if tensor._node.__class__ is Unusable and _is_awaited(tensor._node, row, other):
        tensor._node = tensor._node._replaced
    node = tensor._node
    before_change(node)
    other_node, value = operand(other)
    base = _usable(base_of(tensor)._node)
    if base._store is not node._store:
        base = node
    if any(n._row is not None for n in (node, other_node, base)) and is_grad_enabled():
        _refuse(row, node, base)
        _write_recorded(tensor, row, other_node, value)
    else:
        array = _array_to_write(row, node._data, value)
        node.storage.version += 1  # first, so that no Ctrl-C leaves a write that is not counted
        np.copyto(node._data, array)
    return tensor


def _write_recorded(tensor: Tensor, row: Row, other_node: Any, value: Any) -> None:
    """Record an in-place op. A view gets new memory, and its base awaits `x[i] = view`; other Tensors keep theirs.

    Everything changes in one call, in C, which a Ctrl-C cannot interrupt.
    """
    old, memory, storage = tensor._node, tensor._node._data, tensor._node.storage
    new, awaited = new_node(_array_to_write(row, memory, value)), {}
    if hasattr(tensor, "_view"):
        steps, awaited = [partial(delattr, tensor, "_view")], {tensor._view[1]: (tensor, tensor._view[2])}
        why = f"{_statement(row)} on a view of this Tensor was not recorded in it: write x[i] = ... or x[i] += ..., "
        why += "with the Tensor for x and the whole index for i"
    else:
        steps = [partial(np.copyto, memory, new._data), partial(setattr, storage, "version", storage.version + 1)]
        new._data, new._store = memory, storage
        why = "this view shows a Tensor that was written to after the view was made: make the view again"
    remember(new, row, (old, other_node), (memory, value), storage)
    new.label, new._gradient = old.label, old._gradient
    new._retains_grad, new._handle = old._retains_grad, old._handle
    changes = [(t, "_node", Unusable(_usable(t._node), why, awaited.get(t))) for t in _others_of_memory(tensor)]
    changes += [(tensor, "_node", new), (old, "_handle", nothing)]
    changes += [(old, "_gradient", None), (old, "_retains_grad", False)]
    # The old node keeps the old values if `create_graph` needs them, or if a drawing could not compute them again
    for_drawings = new._data is memory and not _runs_again(old)
    if new._row and (for_drawings or new._x[0] is not memory):
        old_data = memory.copy(order="K") if new._x[0] is memory else new._x[0]
        changes += [(old, "_data", old_data), (old, "_store", None)]
        changes += [(storage, "kept", weakref.ref(old))] if for_drawings else []
    deque(map(operator.call, [*steps, *(partial(setattr, *change) for change in changes)]), 0)


def _runs_again(node: ArrayNode) -> bool:
    """True if the row of the node can compute the data again from the operands."""
    return getattr(node._row, "forward", None) not in (None, nothing)


def _refuse(row: Row, node: ArrayNode, base: ArrayNode) -> None:
    """Raise if an in-place op on a Tensor with this node and this base cannot be recorded."""
    if base._data.dtype.kind != "f":
        raise RuntimeError(f"{_statement(row)} would have a Tensor of dtype {base._data.dtype} require a gradient")
    if LEAF in (node._row, base._row) or (node._row and not base._row):
        leaf = "a leaf" if node._row == LEAF else "a view of a leaf"
        instead = "" if row.name == "setitem" else f"; for a new Tensor, write y = x {row.name} ..."
        raise RuntimeError(
            f"{_statement(row)} would change {leaf} that requires a gradient: in a training step, write it inside "
            f"no_grad(), change x.data, or use an optimizer{instead}"
        )


def _statement(row: Row) -> str:
    """An in-place op as a user writes it."""
    return "x[i] = ..." if row.name == "setitem" else f"x {row.name}= ..."


def _array_to_write(row: Row, a: Array, b: Any) -> Array:
    """row(a, b), as an array that can be written to a."""
    try:
        array = np.asarray(row.forward(a, b))
        if array.shape != a.shape:
            raise ValueError(f"{_statement(row)} would change the shape {a.shape} to {array.shape}")
        return array.astype(a.dtype, casting="same_kind", copy=False)
    except (ValueError, TypeError, IndexError) as error:
        error.add_note(f"in {_statement(row)} of shapes {a.shape} and {np.shape(b)}")
        raise


def is_operand(x: Any) -> bool:
    """True if x can be an operand of a Tensor."""
    plain_or_tensor = isinstance(x, (ArrayNode.tensor_class, *_NUMBERS, np.ndarray, np.number, *_LISTS))
    return plain_or_tensor or accepts_value(x)


# ---------------------------------------------------------------------------------------------------------------------
# Values among Tensors: transforms and `compile` turn numbers of a function into Values, which may meet Tensors there


def accepts_value(x: Any) -> TypeGuard[Value]:
    """True for a Value that Tensors accept as an operand."""
    return isinstance(x, Value) and (is_differentiating() or listener().meets_arrays(x))


def to_tensor(x: Any) -> Any:
    """A number as an array of shape (). Of a Value, a Tensor that sends its gradient back to the Value."""
    if not isinstance(x, Value):
        return np.asarray(x)
    x = traced(x)
    return _crossed(wrap(new_node(np.broadcast_to(x._data, ()))), TO_TENSOR, x)


def to_value(x: Any) -> Any:
    """The number in an array of shape (). Of a Tensor, a Value that sends its gradient back to the Tensor."""
    node, data = node_of(x), plain(x)
    number = data.item() if data.__class__ is Array else data.graph.make(".item", (data,))
    return number if node is x else _crossed(fill_slots(_new(Value), number), TO_VALUE, node)


def _crossed(result: Any, row: Row, operand: Any) -> Any:
    """The node that a function sees in place of `result`, whose history is one operand: a Value's, or a Tensor's."""
    result = listener().crossed(result)
    if operand._row is not None and is_grad_enabled():
        node_of(result)._record(row, (operand,), (operand._data,))
    return result


TO_TENSOR = Each("tensor", to_tensor, lambda g, _a: to_value(g))
TO_VALUE = Many("number", to_value, lambda g, _a: [to_tensor(g)])
