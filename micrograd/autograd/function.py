"""`Function`: an op of your own, with a derivative of your own, as in PyTorch; for Values and for Tensors.

What makes it an op like any other is one `Many` row for each call: its rule calls your `backward`. An ordinary pass
hands it constants, as they were in the forward pass. Under `create_graph=True` it gets the nodes themselves, so that
what it computes from them is recorded, and can be differentiated again; what would be frozen there is refused.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from ..engine.modes import deferred, is_anomaly_enabled, is_grad_enabled, is_tracing, line_of_the_user, no_grad
from ..engine.rows import Many
from ..engine.value import Value, number
from ..tensor.node import ArrayNode
from ..tensor.storage import Kept
from ..tensor.tensor import Tensor
from .transforms import copied, leaves, tree_map

__all__ = ["Context", "Function"]


class Context:
    """What `forward` leaves for `backward`: nodes through `save_for_backward`, or anything as attributes of any name.

    Arguments and results may be kept either way: if one is changed in place before the backward pass, that raises.
    """

    needs_input_grad: tuple[bool, ...] = ()  # for each argument of `apply`: does it require a gradient?
    _saved: tuple[Any, ...] = ()
    _constants: tuple[Any, ...] = ()

    def save_for_backward(self, *nodes: Any) -> None:
        """Save Values or Tensors (or None) for `backward`, which finds them in `ctx.saved_tensors`."""
        for x in nodes:
            if not (x is None or _is_node(x)):
                raise TypeError(
                    f"save_for_backward keeps Values and Tensors, found {type(x).__name__}: set ctx.name = ... instead"
                )
        self._saved = nodes

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was given to `save_for_backward`."""
        return self._saved

    def mark_non_differentiable(self, *results: Any) -> None:
        """Have these results of `forward` require no gradient; `backward` gets zeros for them."""
        self._constants = results


class Function:
    """An op of your own: subclass it, write `forward` and `backward`, and call `apply`.

    `forward(ctx, *args)` gets what `apply` got, computes without recording, and returns a Value or Tensor (or what
    makes one: a number, an array), or a tuple of several. `backward(ctx, g)` gets the gradient of the result (of
    several results one each, zeros but for one of them at a time) and returns one for each argument of `apply`: a node,
    a number or an array of the argument's shape. None is no gradient: a leaf that gets nothing else keeps the `.grad`
    that it has; arguments that are no nodes get None, and Nones at the end are ignored.

    To be differentiated twice, `backward` must be written with ops, and Functions, on `g` and on saved nodes; where it
    reads their numbers instead, `create_graph=True` raises (but what it reads from its own intermediate Tensors is not
    detected). So do floats in `ctx` that depend on an argument: to find out, `forward` is run again on other numbers.

    >>> class Cube(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 3 * x * x
    >>> x = Value(2.0)
    >>> y = Cube.apply(x)
    >>> y.backward()
    >>> y.data, x.grad
    (8.0, 12.0)
    """

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """What the op computes: to be written."""
        raise NotImplementedError("a Function needs a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradient of each argument: to be written."""
        raise NotImplementedError("a Function needs a static method backward(ctx, g)")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The op on these arguments."""
        if is_tracing():
            deferred().refuse_op(cls.__name__)  # type: ignore[union-attr]
        call = _Call(cls, args)
        result = call.run()
        if not call.operands:
            return result
        outs = call.answer(result if isinstance(result, tuple) else (result,))
        return outs if isinstance(result, tuple) else outs[0]


class _Call:
    """One call of `apply`: what the rows of its results need to know.

    What was saved is found by its place: that of an operand is its number i, that of result j is ~j.
    """

    def __init__(self, cls: type[Function], args: tuple[Any, ...]):
        self.name, self.cls, self.args, self.ctx = cls.__name__, cls, args, Context()
        self.operands = [x for x in args if _is_node(x)]
        self.ctx.needs_input_grad = tuple(_is_node(x) and x.requires_grad for x in args)
        if len({isinstance(x, Tensor) for x in self.operands}) > 1:
            raise TypeError(f"{self.name}.apply found Values and Tensors together: an op takes one kind")
        self.kind = Tensor if self.operands and isinstance(self.operands[0], Tensor) else Value
        for i, x in enumerate(args):
            if isinstance(x, (list, tuple, dict)) and any(map(_is_node, leaves(x))):
                raise TypeError(
                    f"{self.name}.apply found nodes in the {type(x).__name__} that is argument {i}, where they would "
                    "get no gradient: pass each as an argument of its own"
                )

    # ---- forward

    def run(self) -> Any:
        """What the user's forward gives."""
        self.given = [_unwatched(x) if _is_node(x) else x for x in self.args]
        with no_grad():
            return self.cls.forward(self.ctx, *self.given)

    def answer(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """What forward gave, as new nodes with their history."""
        outs = tuple(map(self.node_of, results))
        if any(self.ctx.needs_input_grad) and is_grad_enabled():
            constants = vars(self.ctx).pop("_constants", ())
            self.saved = {name: self._put_away(x, results) for name, x in vars(self.ctx).items()}
            self.kept = {x.number for held in self.saved.values() for x in leaves(held) if isinstance(x, _Place)}
            nodes = list(map(_node, outs))
            self.data, self.nodes = [node._data for node in nodes], list(map(weakref.ref, nodes))
            sources = [_node(self.operands[i]) if i >= 0 else nodes[~i] for i in self.kept]
            self.storages = [node.storage for node in sources] if self.kind is Tensor else []
            del self.ctx, self.given
            self.differentiable = [not any(result is x for x in constants) for result in results]
            for j, node in enumerate(nodes):
                self.remember(node, j)
        return outs

    def node_of(self, result: Any) -> Any:
        """A result of forward, as a new constant."""
        if isinstance(result, self.kind):
            result = _node(result)._data
        elif _is_node(result) or isinstance(result, (tuple, list)) or result is None:
            raise TypeError(
                f"{self.name}.forward of {self.kind.__name__}s must give one of these, or a tuple of several, "
                f"found {type(result).__name__}"
            )
        if self.kind is Tensor:
            return Tensor(result)
        if (x := number(result)) is None:
            raise TypeError(f"{self.name}.forward of Values must give one number, found {type(result).__name__}")
        return self.operands[0]._constant(x)

    def remember(self, node: Any, j: int) -> None:
        """Give result j its history: a row of its own, the operands and, of what was saved, the values."""
        if not self.differentiable[j] or (isinstance(node, ArrayNode) and node._data.dtype.kind != "f"):
            return
        node._x = tuple(map(_node, self.operands))
        node._y = tuple(n._data if i in self.kept or self.kind is Value else None for i, n in enumerate(node._x))
        if isinstance(node, ArrayNode):
            node._saved = Kept()
            for storage in self.storages:
                node._saved.add(storage)
        node._row = Many(self.name, partial(self.forward, j), partial(self.rule, j))
        node._row.word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name)
        if is_anomaly_enabled():
            node._made_at = line_of_the_user()

    def _put_away(self, held: Any, results: tuple[Any, ...]) -> Any:
        """What a context holds, with places for arguments and results."""
        if not any(map(_is_node, leaves(held))):
            return held
        places = {id(x): _Place(~j) for j, x in enumerate(results)}
        places |= {id(x): _Place(i) for i, x in enumerate(filter(_is_node, self.given))}
        return tree_map(lambda x: places.get(id(x), x), held)

    def context(self, at: Callable[[int], Any]) -> Context:
        """The context for a pass, with the node at each place."""
        ctx, found = Context(), lambda x: at(x.number) if isinstance(x, _Place) else x
        for name, held in self.saved.items():
            placed = any(isinstance(x, _Place) for x in leaves(held))
            setattr(ctx, name, tree_map(found, held) if placed else held)
        return ctx

    def forward(self, j: int, *values: Any) -> Any:
        """Result j for plain values in the places of the nodes: how the forward function of a row is called."""
        call, result = self._again(values)
        return _node(call.node_of(result[j] if isinstance(result, tuple) else result))._data

    def _again(self, values: Iterable[Any]) -> tuple[_Call, Any]:
        """Another call, with these values in the places of the nodes, and its results."""
        left = iter(values)
        call = _Call(self.cls, tuple(_constant(_node(x), next(left)) if _is_node(x) else x for x in self.args))
        return call, call.run()

    # ---- backward

    def rule(self, j: int, g: Any, *operands: Any) -> list[Any]:
        """The parts of the operands for the gradient of result j: numbers or arrays or, if g is a node, nodes."""
        return (self._recorded if _is_node(g) else self._plain)(j, g, operands)

    def _plain(self, j: int, g: Any, operands: tuple[Any, ...]) -> list[Any]:
        """An ordinary pass: backward sees constants with the values of the forward pass."""
        like = _node(self.operands[0])
        with no_grad():
            ctx = self.context(lambda i: _constant(like, operands[i] if i >= 0 else self.data[~i]))
            parts = self._parts(ctx, self._gradients(j, _constant(like, g)))
            return [None if part is None else _view(_node(part)._data) for part in parts]

    def _recorded(self, j: int, g: Any, operands: tuple[Any, ...]) -> list[Any]:
        """A pass under create_graph: backward sees nodes, whose numbers it may not read."""
        self._refuse_frozen()
        at = {i: _guard(operands[i] if i >= 0 else _handle(self._result(~i))) for i in self.kept}
        guard = _guard(g)
        parts = self._parts(self.context(at.__getitem__), self._gradients(j, guard))
        _unguard(parts, [guard, *at.values()])
        parts = [None if part is None else _handle(_node(part)) for part in parts]
        for i, part in enumerate(parts):
            if part is not None and g.requires_grad and not part.requires_grad and np.any(_node(part)._data):
                raise RuntimeError(self._frozen(f"what it gave for operand {i} was not made from the node g"))
        # a constant may be the user's own Tensor: what becomes a `.grad` is not
        return [Tensor(part) if isinstance(part, Tensor) and not part.requires_grad else part for part in parts]

    def _gradients(self, j: int, g: Any) -> list[Any]:
        """The gradients of all results: g of result j, zeros of the others."""
        zero = lambda x: np.zeros_like(x) if isinstance(x, np.ndarray) else 0.0  # noqa: E731
        return [g if i == j else _constant(_node(g), zero(x)) for i, x in enumerate(self.data)]

    def _result(self, j: int) -> Any:
        """The node of result j, or where it is gone another one; it must be what forward gave."""
        node: Any = self.nodes[j]()
        if node is None:
            node = _node(self.operands[0])._constant(self.data[j])
            self.remember(node, j)
        if not np.array_equal(self.data[j], node._data, equal_nan=True):
            raise RuntimeError(f"create_graph=True: the result of {self.name} was changed since: run forward again")
        return node

    def _refuse_frozen(self) -> None:
        """Raise if backward may use numbers that forward has computed, whose own derivative nobody knows."""
        computed = {}
        for name, held in self.saved.items():
            if any(map(_is_node, leaves(held))):
                raise RuntimeError(self._frozen("forward saved a node that is neither an argument nor a result"))
            if any(map(_is_float, leaves(held))) and not any(held is arg for arg in self.args):
                computed[name] = held
        elsewhere = self._elsewhere() if computed else None
        for name, held in computed.items():
            if not _same(held, getattr(elsewhere, name, None)):
                raise RuntimeError(self._frozen(f"ctx.{name} was computed in forward from an argument"))

    def _elsewhere(self) -> Context:
        """The context that forward leaves for slightly other numbers: what differs depends on them."""
        nodes = map(_node, self.operands)
        near = [n._data + 0.01 * np.maximum(1.0, abs(n._data)) if n.requires_grad else n._data for n in nodes]
        with np.errstate(all="ignore"):
            return self._again(near)[0].ctx

    def _frozen(self, what: str) -> str:
        return (
            f"create_graph=True: {self.name}.backward cannot be differentiated, since {what}; "
            "write it with ops on g and on saved arguments"
        )

    def _parts(self, ctx: Context, gradients: list[Any]) -> list[Any]:
        """What the user's backward gives for the operands, checked, as nodes or None."""
        parts = self.cls.backward(ctx, *gradients)
        parts = list(parts) if isinstance(parts, (tuple, list)) else [parts]
        while len(parts) > len(self.args) and parts[-1] is None:
            parts.pop()
        if len(parts) != len(self.args):
            raise ValueError(
                f"{self.name}.backward gave {len(parts)} gradients for the {len(self.args)} arguments of apply: "
                "each needs one, or None"
            )
        for i, (part, x) in enumerate(zip(parts, self.args, strict=True)):
            if part is not None and not _is_node(x):
                raise ValueError(
                    f"{self.name}.backward gave a gradient for argument {i}, a {type(x).__name__}: it must be None"
                )
        return [self._part(i, part, x) for i, (part, x) in enumerate(zip(parts, self.args, strict=True)) if _is_node(x)]

    def _part(self, i: int, part: Any, x: Any) -> Any:
        """The gradient that the user's backward gave for argument i, x, as a node, or None."""
        if part is None:
            return None
        node = _node(x)
        if _is_node(part) != isinstance(part, self.kind):
            raise TypeError(f"{self.name}.backward gave a {type(part).__name__} for argument {i}, a {type(x).__name__}")
        data = _node(part)._data if _is_node(part) else part
        if not _is_node(part) and np.asarray(part).dtype.kind not in "fiub":
            raise TypeError(f"{self.name}.backward gave {part!r:.50} for argument {i}: a gradient is a node or numbers")
        if np.shape(data) != np.shape(node._data):
            raise ValueError(
                f"{self.name}.backward gave a gradient of shape {np.shape(data)} for argument {i}, "
                f"whose shape is {np.shape(node._data)}"
            )
        if _is_node(part):
            return part
        if is_grad_enabled() and np.any(data):
            raise RuntimeError(self._frozen(f"what it gave for argument {i} is a plain {type(part).__name__}"))
        return _constant(node, np.asarray(data) if self.kind is Tensor else float(data))


# ---------------------------------------------------------------------------------------------------------------------
# Nodes, and what stands for them


class _Place:
    """Where to find again what was saved."""

    def __init__(self, number: int):
        self.number = number


def _is_node(x: Any) -> bool:
    return isinstance(x, (Value, Tensor))


def _is_float(x: Any) -> bool:
    return isinstance(x, float) or getattr(getattr(x, "dtype", None), "kind", "") in ("f", "c")


def _same(a: Any, b: Any) -> bool:
    """True if two trees hold equal numbers."""
    a, b = list(leaves(a)), list(leaves(b))
    return len(a) == len(b) and all(np.array_equal(x, y, equal_nan=_is_float(x)) for x, y in zip(a, b, strict=True))


def _node(x: Any) -> Any:
    return x._node if isinstance(x, Tensor) else x


def _handle(node: Any) -> Any:
    return node.tensor if isinstance(node, ArrayNode) else node


def _constant(like: Any, data: Any) -> Any:
    """A constant of the node's kind; it shares the array, which cannot be written through it."""
    if isinstance(data, np.ndarray):
        data = data.view()
        data.flags.writeable = False
    return _handle(like._constant(data))


def _view(data: Any) -> Any:
    """An array that may be the user's, as a view: one with a base is copied before it becomes a `.grad`."""
    return data.view() if isinstance(data, np.ndarray) else data


class _Watched:
    """A node whose numbers must not be read: what is made of them would be a constant for the next derivative."""

    __slots__ = ()

    def _read(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(
            "create_graph=True: this backward reads the numbers in a node, which would be frozen in higher "
            "derivatives; write it with ops on g and on saved nodes"
        )

    data = property(_read)
    item = numpy = tolist = detach = __array__ = __float__ = __int__ = __bool__ = __round__ = _read


class _WatchedTensor(_Watched, Tensor):
    __slots__ = ()


class _WatchedValue(_Watched, Value):
    __slots__ = ()


def _guard(x: Any) -> Any:
    """Another handle of a Tensor, or a copy of a Value, that is watched."""
    if isinstance(x, Tensor):
        guard = object.__new__(_WatchedTensor)
        guard._node = x._node
        return guard
    x = copied(x)
    if type(x) is Value:
        x.__class__ = _WatchedValue
    return x


def _unwatched(x: Any) -> Any:
    """x as a Function's forward gets it, which may read numbers: its derivative is its own."""
    if isinstance(x, _WatchedTensor):
        plain = object.__new__(Tensor)
        plain._node = x._node
        return plain
    return Value(x._data, requires_grad=x.requires_grad) if isinstance(x, _WatchedValue) else x


def _unguard(parts: list[Any], guards: list[Any]) -> None:
    """Make plain Values again of the guards, and of what was computed from them."""
    waiting: list[Any] = [x for x in parts if isinstance(x, Value)]
    ends = {id(x) for x in guards}
    while waiting:
        node = waiting.pop()
        if node.__class__ is _WatchedValue:
            node.__class__ = Value
            if id(node) not in ends:
                waiting.extend(node._prev)
