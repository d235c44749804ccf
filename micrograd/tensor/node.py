"""The node of an array: what it saves for backward, and how ops on Tensors, in place or not, are recorded.

A node saves only the values that its row's rules use. A `Storage` counts the in-place writes to its memory, and `Saved`
lists the storages of the values that a node saved, with their versions, so that the backward pass can raise if one was
written to since.
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

from ..engine.by_hand import Closure, backward_of, set_backward
from ..engine.modes import before_change, interceptor, is_grad_enabled, listener, modes_on, no_grad, tell_recorded
from ..engine.node import MANY, NOTHING, Node, fill_slots, refuse_redefined
from ..engine.rows import LEAF, LIBRARIES, Row
from ..engine.value import Value
from ..scalars import ops
from ..scalars.kinds import is_differentiating, node_of, traced
from ..scalars.rows import Each, Many, nothing
from . import arrays
from . import library as array_library
from .library import is_basic

Tensor = Any  # `tensor.py` imports this file, and sets its class as `ArrayNode.kind`

Array = np.ndarray
_NUMBERS = (int, float, np.integer, np.floating, np.bool_)
_LISTS = (list, tuple, memoryview)  # converted to arrays; a memoryview is what `array.data` returns
LIBRARIES.update(dict.fromkeys((Array, *np.sctypeDict.values()), array_library))  # with NumPy's scalar types
_new = object.__new__


class ArrayNode(Node):
    """A node whose data is an array. `tensor` is the Tensor that wraps it.

    `_b` has the operands and `_x` the values that the rules are called with. The storages of those values that the
    rules use (`_needed`) are in `_saved`, with their versions: they must not be written to. Of the others the rules
    use the shape only.
    """

    __slots__ = ("_handle", "_saved", "_store")

    kind: type[Any]  # Tensor; set by `tensor.py`
    _operands = Node._b  # type: ignore[assignment]  # the slot itself, which is read without a call in Python
    _store: Storage | None
    _saved: Any  # Saved, or an empty tuple
    _leaf: Any = None  # of a constant that was a leaf: the leaf's node

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
        return bool(self._saved or not self._row.rules or self._needed)

    @property
    def storage(self) -> Storage:
        """The storage of the data, made on first access."""
        if self._store is None:
            self._store = Storage()
        return self._store

    @property
    def _prev(self) -> tuple[Node, ...]:
        """The operands, in order, repeats and constants included."""
        if not self._row or self._row.released:
            return ()
        if NOTHING in self._b:  # plain numbers and arrays: make their constants on first access, and reuse them
            pairs = zip(self._b, self._x, strict=True)
            self._b = tuple(self._constant(np.array(x)) if n is NOTHING else n for n, x in pairs)
        return self._b

    @property
    def _backward(self) -> Callable[[], object]:
        """A closure that adds this node's gradient to its operands' `.grad`. Assign a function to replace it."""
        return backward_of(self)

    @_backward.setter
    def _backward(self, closure: Callable[[], object]) -> None:
        set_backward(self, closure)

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
        seed = gradient if isinstance(gradient, self.kind) else self.kind(gradient)
        array = seed._node._data
        if array.shape != like.shape:
            raise ValueError(f"a Tensor of shape {like.shape} cannot have a gradient of shape {array.shape}")
        if not create_graph:
            return array.astype(like.dtype)
        return refuse_redefined(seed if array.dtype == like.dtype else seed.astype(like.dtype), self.kind)

    def _used(self, create_graph: bool) -> Sequence[Any]:
        for storage, version in self._saved:
            if storage.version != version or storage.handed_out is not None:
                storage.check(version, self._op)
        if not (create_graph and self._row.needs_values):
            return self._x
        sources = (self, *self._b) if self._row.of_out else self._b
        pairs = enumerate(zip(sources, self._x, strict=True))
        return [x if n is NOTHING else refuse_redefined(self._as_it_was(i, n, x), self.kind) for i, (n, x) in pairs]

    @property
    def _needed(self) -> list[int]:
        """The indices in `_x` of the values that the rules use."""
        return _needed(self._row, tuple(n._row is not None for n in self._b))

    def _as_it_was(self, i: int, operand: Any, kept: Any) -> Tensor:
        if kept is not None and i in self._needed and not same_array(kept, operand._data):
            raise RuntimeError(
                f"create_graph=True: data that '{self._op}' used was written to since; run the forward pass again"
            )
        return getattr(operand, "tensor", operand)

    def _forget(self) -> None:
        self._x, self._saved = None, ()

    def _quiet(self) -> Any:
        return np.errstate(all="ignore")

    def _own(self, g: Any, taken: set[int], /) -> Any:
        if g.__class__ is Array and (g.base is not None or id(g) in taken):
            g = np.array(g, order=order(self._data))
        taken.add(id(g))
        return g

    def _fit(self, part: Any) -> Any:
        """A gradient in the shape and dtype of this node, summed over the axes that broadcasting added or stretched."""
        like = self._data
        if part.__class__ is Array and part.shape == like.shape and part.dtype == like.dtype:
            return part
        if part.__class__ is not Array and not isinstance(part, self.kind):
            part = np.asarray(part)
        if part.shape != like.shape:
            part = arrays.sum_to(like.shape)(part)
        return part if part.dtype == like.dtype else arrays.astype(like.dtype)(part)

    def _plus(self, total: Any, part: Any, taken: Any = None, /) -> Any:
        if total is None:  # there is none yet
            return self._own(part, taken)
        with no_grad() if isinstance(total, self.kind) and part.__class__ is Array else nullcontext():
            total = ops.add(total, part)
        return total if isinstance(total, self.kind) else np.asarray(total)

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
        """As for any node; `saved` are the storages of the values, which must not be written to before the pass."""
        if type(row) is Closure:
            nodes = (self, *operands)
            row, values, saved = _ArrayClosure(row.name, row.run), [n._data for n in nodes], [n.storage for n in nodes]
        self._a, self._b, self._x, self._saved, self._row = MANY, operands, values, saved and Saved(saved), row
        if modes_on:
            tell_recorded(self)

    def _check_unchanged(self) -> None:
        self._used(False)
        for n, then in zip((self, *self._b), self._x, strict=True):
            if (tensor := n._handle()) is not None and (tensor._node is not n or not same_array(n._data, then)):
                raise RuntimeError(
                    f"the _backward written for '{self._op}' would read a Tensor that was changed since the forward "
                    "pass: change a copy, or change it after backward()"
                )

    def __repr__(self) -> str:
        return repr(self.tensor)


class Storage:
    """Shared by the Tensors of one memory: the number of writes to it, and the number of nodes that saved it."""

    version: int = 0
    users: int = 0
    views: Any = ()  # weak references to the other Tensors that share the memory
    kept: Any = nothing  # a weak reference to the constant that was written to: it kept a copy, also for its views
    handed_out: Any = None  # an array that the caller may write to unnoticed, and a copy to compare it with

    def share(self, tensor: Any) -> Any:
        """Register another Tensor of this memory; returns it."""
        self.views = self.views or set()
        self.views.add(weakref.ref(tensor, self.views.discard))
        tensor._node._store = self
        return tensor

    def hand_out(self, array: np.ndarray) -> None:
        """Note that the caller gets this array, while a graph needs it and other Tensors share it."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        self.compare()
        self.handed_out = array, array.copy()

    def compare(self) -> None:
        """Count a write to the array that was handed out."""
        if self.handed_out is not None and not np.array_equal(*self.handed_out, equal_nan=True):
            self.version += 1
            self.handed_out = self.handed_out[0], self.handed_out[0].copy()

    def check(self, version: int, name: str) -> None:
        """Raise if anything was written since that version, which the named op saved."""
        self.compare()
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
            storage.compare()
            self.append((storage, storage.version))

    def __del__(self) -> None:
        for storage, _ in self:
            storage.users -= 1


class _ArrayClosure(Closure):
    """The closure of an array node. It may read arrays of Tensors, which must be as they were."""

    def zero(self, operand: Any) -> Array:
        return np.zeros(operand._data.shape, np.result_type(operand._data, np.float16))

    def send(self, node: Any, g: Any, create_graph: bool = False) -> Sequence[tuple[Any, Any]]:
        if isinstance(g, ArrayNode.kind) and not create_graph:
            raise RuntimeError(f"jvp needs the derivative of '{self.name}' as a row: its _backward was written by hand")
        if not create_graph:
            node._check_unchanged()
        return super().send(node, node._for_hook(g), create_graph)


def same_array(a: Array, b: Array) -> bool:
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


def handle(node: ArrayNode, kind: Any = None) -> Tensor:
    """A new Tensor, or one of a subclass, that wraps the node."""
    tensor = _new(kind or ArrayNode.kind)
    tensor._node = node
    node._handle = weakref.ref(tensor)
    return tensor


# ---------------------------------------------------------------------------------------------------------------------
# Recording an op


def _needed(row: Row, wants: tuple[bool, ...]) -> list[int]:
    """The indices of the values that a row's rules use, where `wants` says which operands need a gradient."""
    if not row.rules:
        return [*range(len(wants))] if row.needs_values else []
    pairs = zip(row.rules, wants, strict=True)
    rules = [rule.__code__ if isinstance(rule, FunctionType) else None for rule, wanted in pairs if wanted]
    needed = _named(len(wants) + row.of_out, *rules)
    vars(row).setdefault("needed", {})[wants] = needed
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


def operand(x: Any) -> tuple[Any, Any]:
    """The node of an operand (`NOTHING` for a plain number or array), and its value."""
    if isinstance(x, ArrayNode.kind):
        return x._node, x._node._data
    array = array_of(x) if isinstance(x, _LISTS) else np.asarray(x) if x.__class__ is np.memmap else x
    if isinstance(x, _NUMBERS) or (array.__class__ is Array and array.dtype.kind in "fiub"):
        return NOTHING, array
    if may_meet(x):
        return lifted(x)._node, x._data
    found = type(x).__name__ + (f" of dtype {array.dtype}" if array.__class__ is Array else "")
    hint = " (of an array of Values: np.exp, np.sum and the like)" * (found[-6:] == "object")
    raise TypeError(f"an operand is a node, a real number or an array of real numbers, found {found}{hint}")


def array_of(data: Any) -> Array:
    """A new array of the data; the error for rows of different lengths names them."""
    try:
        return np.array(data)
    except ValueError:
        rows = [data]
        while all(isinstance(row, _LISTS) for row in rows):
            rows = [x for row in rows for x in row]
            found = dict.fromkeys(str(len(x)) if isinstance(x, _LISTS) else "a number" for x in rows)
            if len(found) > 1:
                raise ValueError(f"rows of different lengths: found {' and '.join([*found][:2])}") from None
        raise


def record(row: Row, *operands: Any) -> Tensor:
    """Apply a row to Tensors, arrays and numbers, and record it."""
    if modes_on and (defer := interceptor()):
        return defer(row, [np.array(x) if isinstance(x, _LISTS) else x for x in operands])
    nodes: list[Any] = []
    values: list[Any] = []
    for x in operands:  # `zip` would take twice the time
        if isinstance(x, ArrayNode.kind):  # as nearly all are, so their nodes are read here
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
    made = handle(remember(node, row, tuple(nodes), values))
    if row.view and nodes[0] is not NOTHING and np.may_share_memory(node._data, values[0]):
        made._view = base_of(operands[0]), operands[0], row
        (nodes[0]._store or nodes[0].storage).share(made)
    return made


def remember(
    node: ArrayNode, row: Row, operands: tuple[Any, ...], values: Sequence[Any], written: Any = False
) -> ArrayNode:
    """Give the node its history, if it is of floats, an operand requires a gradient and grad mode is on.

    The node saves what its rules use: arrays of Tensors with their versions, and copies of plain arrays and of arrays
    in the storage that is about to be `written` to.
    """
    wants = tuple([n._row is not None for n in operands])
    if True not in wants or (modes_on and not is_grad_enabled()) or node._data.dtype.kind != "f":
        return node
    sources, seen = ((node, *operands), [node._data, *values]) if row.of_out else (operands, [*values])
    needed, saved = getattr(row, "needed", {}).get(wants), []
    for i in _needed(row, wants) if needed is None else needed:
        source = sources[i]
        if source is not NOTHING and source._store is not written:
            saved.append(source._store or source.storage)
        elif seen[i].__class__ is Array:
            seen[i] = seen[i].copy(order="K")
    node._record(row, operands, seen, saved)
    return node


# ---------------------------------------------------------------------------------------------------------------------
# Recording an in-place op
#
# To Python, `x[i] += y` is `v = x[i]; v += y; x[i] = v`. Where a history is involved, `v += y` gives v its own
# memory, and x cannot be used until `x[i] = v`. So shared memory is written to by recorded ops on the whole base alone,
# after which its views that have a history cannot be used: they would show what they were not computed from.


class Unusable(ArrayNode):
    """In place of the node of a Tensor that shows values which its history does not give: every use raises.

    `_awaited` is a view that was written to, with its row: assigned to its place, it makes the Tensor usable again.
    """

    __slots__ = ("_awaited", "_was", "_why")

    def __init__(self, node: ArrayNode, why: str, awaited: Any):
        self._was, self._why, self._awaited = node, why, awaited
        self._handle, self._store = node._handle, node._store

    @property
    def _data(self) -> Any:  # type: ignore[override]
        raise RuntimeError(self._why)

    _row = grad = _data  # type: ignore[assignment]


def _usable(node: Any) -> ArrayNode:
    """The node itself, also of a Tensor that cannot be used."""
    return node._was if node.__class__ is Unusable else node


def _is_awaited(node: Unusable, row: Row, other: Any) -> bool:
    """True if the row assigns the awaited view to its place."""
    if node._awaited is None:
        return False
    view, made_by = node._awaited
    return other is view and is_basic(row.settings.get("index")) and row.settings == made_by.settings


def base_of(tensor: Tensor) -> Tensor:
    """The Tensor that this one is a view of, perhaps through other views; else the Tensor itself."""
    return tensor._view[0] if hasattr(tensor, "_view") else tensor


def _relatives(tensor: Tensor) -> list[Tensor]:
    """The base of this Tensor and its other views that share this memory, if they share the history too."""
    base, storage = base_of(tensor), tensor._node.storage
    kin = [t for ref in tuple(storage.views) if (t := ref()) is not None and t is not base and base_of(t) is base]
    if shared := base._node._store is storage:
        kin.append(base)
    cut = shared and _usable(base._node)._row is not None  # then a constant view was meant as one
    return [t for t in kin if t is not tensor and (row := _usable(t._node)._row) != LEAF and (row or not cut)]


def write(tensor: Tensor, row: Row, other: Any) -> Any:
    """Apply a row in place: the same Tensor with new values and, if it is recorded, a new node on top of the old."""
    if tensor._node.__class__ is Unusable and _is_awaited(tensor._node, row, other):
        tensor._node = tensor._node._was
    node = tensor._node
    before_change(node)
    b, y = operand(other)
    base = _usable(base_of(tensor)._node)
    if base._store is not node._store:
        base = node
    if any(n._row is not None for n in (node, b, base)) and is_grad_enabled():
        _refuse(row, node, base)
        _write_recorded(tensor, row, b, y)
    else:
        result = _result(row, node._data, y)
        node.storage.version += 1  # first, so that no Ctrl-C leaves a write that is not counted
        np.copyto(node._data, result)
    return tensor


def _write_recorded(tensor: Tensor, row: Row, b: Any, y: Any) -> None:
    """Record an in-place op. A view gets new memory, and its base awaits `x[i] = view`; other Tensors keep theirs.

    Everything changes in one call, in C, which a Ctrl-C cannot interrupt.
    """
    node, memory, storage = tensor._node, tensor._node._data, tensor._node.storage
    made, awaited = new_node(_result(row, memory, y)), {}
    if hasattr(tensor, "_view"):
        steps, awaited = [partial(delattr, tensor, "_view")], {tensor._view[1]: (tensor, tensor._view[2])}
        why = f"{_statement(row)} on a view of this Tensor was not recorded in it: write x[i] = ... or x[i] += ..., "
        why += "with the Tensor for x and the whole index for i"
    else:
        steps = [partial(np.copyto, memory, made._data), partial(setattr, storage, "version", storage.version + 1)]
        made._data, made._store = memory, storage
        why = "this view shows a Tensor that was written to after the view was made: make the view again"
    remember(made, row, (node, b), (memory, y), storage)
    made.label, made._gradient = node.label, node._gradient
    made._retains_grad, made._handle = node._retains_grad, node._handle
    changes = [(t, "_node", Unusable(_usable(t._node), why, awaited.get(t))) for t in _relatives(tensor)]
    changes += [(tensor, "_node", made), (node, "_handle", nothing)]
    changes += [(node, "_gradient", None), (node, "_retains_grad", False)]
    over = made._data is memory and not _runs_again(node)  # what no row can compute again is kept for drawings
    if made._row and (over or made._x[0] is not memory):  # the old node keeps the old values, for `create_graph`
        was = memory.copy(order="K") if made._x[0] is memory else made._x[0]
        changes += [(node, "_data", was), (node, "_store", None)]
        changes += [(storage, "kept", weakref.ref(node))] if over else []
    deque(map(operator.call, [*steps, *(partial(setattr, *change) for change in changes)]), 0)


def _runs_again(node: ArrayNode) -> bool:
    """True if the node's row computes its data from its operands."""
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
    """An in-place op as one writes it."""
    return "x[i] = ..." if row.name == "setitem" else f"x {row.name}= ..."


def _result(row: Row, a: Array, y: Any) -> Array:
    """row(a, y), as an array that can be written to a."""
    try:
        result = np.asarray(row.forward(a, y))
        if result.shape != a.shape:
            raise ValueError(f"{_statement(row)} would change the shape {a.shape} to {result.shape}")
        return result.astype(a.dtype, casting="same_kind", copy=False)
    except (ValueError, TypeError, IndexError) as error:
        error.add_note(f"in {_statement(row)} of shapes {a.shape} and {np.shape(y)}")
        raise


def fits(x: Any) -> bool:
    """True if x can be an operand of a Tensor."""
    plain = isinstance(x, (ArrayNode.kind, int, float, np.ndarray, np.number, np.bool_, *_LISTS))
    return plain or may_meet(x)


# ---------------------------------------------------------------------------------------------------------------------
# Values among Tensors: transforms and `compile` turn numbers into Values, which may meet Tensors in the function


def may_meet(x: Any) -> TypeGuard[Value]:
    """True for a Value that Tensors accept as an operand."""
    return isinstance(x, Value) and (is_differentiating() or listener().meets_arrays(x))


def lifted(x: Any) -> Any:
    """A number as an array of shape (); a Value as a Tensor that sends its gradient back to the Value."""
    if not isinstance(x, Value):
        return np.asarray(x)
    x = traced(x)
    return _crossed(handle(new_node(np.broadcast_to(x._data, ()))), LIFT, x)


def lowered(x: Any) -> Any:
    """An array of shape () as a number; a Tensor as a Value that sends its gradient back to the Tensor."""
    tensor = x if isinstance(x, ArrayNode.kind) else None
    data: Any = x if tensor is None else tensor._node._data
    data = data.item() if data.__class__ is Array else data.graph.make(".item", (data,))
    if tensor is None:
        return data
    return _crossed(fill_slots(_new(Value), data), LOWER, tensor._node)


def _crossed(result: Any, row: Row, operand: Any) -> Any:
    """The result, as a function sees it, with an operand of the other kind as its history."""
    result = listener().crossed(result)
    if operand._row is not None and is_grad_enabled():
        node_of(result)._record(row, (operand,), (operand._data,))
    return result


LIFT = Each("tensor", lifted, lambda g, _a: lowered(g))
LOWER = Many("number", lowered, lambda g, _a: [lifted(g)])
