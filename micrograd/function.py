"""`Function`: an op of your own, with a derivative of your own, as in PyTorch; for Values and for Tensors.

What makes it an op like any other is one `Many` row for each call: its rule calls your `backward`. An ordinary pass
hands it constants, as they were in the forward pass. Under `create_graph=True` it gets the nodes themselves, so that
what it computes from them is recorded, and can be differentiated again; what would be frozen there is refused.
"""

from __future__ import annotations

import re
import weakref
from copy import copy
from typing import Any

import numpy as np

from .array_node import ArrayNode
from .engine import Value, number
from .modes import deferred, is_anomaly_enabled, is_grad_enabled, is_tracing, line_of_the_user, no_grad
from .rows import Many
from .storage import Kept
from .tensor import Tensor
from .transforms import copied, leaves

__all__ = ["Context", "Function"]

_OUT = -1  # the place of the result among what was saved; that of an operand is its number


class Context:
    """What `forward` leaves for `backward`: nodes through `save_for_backward`, settings as attributes of any name."""

    needs_input_grad: tuple[bool, ...] = ()  # for each argument of `apply`: does it require a gradient?
    _saved: tuple[Any, ...] = ()

    def save_for_backward(self, *nodes: Any) -> None:
        """Keep arguments, or the result, for `backward`: if one is changed in place before, backward raises."""
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

    def __setattr__(self, name: str, x: Any) -> None:
        if _is_node(x):
            raise TypeError(f"ctx.{name} is for settings: save_for_backward keeps Values and Tensors")
        super().__setattr__(name, x)


class Function:
    """An op of your own: subclass it, write `forward` and `backward`, and call `apply`.

    `forward(ctx, *args)` gets what `apply` got, computes without recording, and returns one Value or Tensor (or what
    makes one: a number, an array). `backward(ctx, g)` gets the gradient of the result and returns one for each argument
    of `apply`: a node, a number or an array of the argument's shape. None is no gradient: a leaf that gets nothing else
    keeps the `.grad` that it has; arguments that are no nodes get None. To be differentiated twice, `backward` must be
    written with ops on `g` and on saved nodes; where it reads their numbers instead, `create_graph=True` raises (but
    what it reads from its own intermediate Tensors goes unseen).

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
    def backward(ctx: Any, g: Any) -> Any:
        """The gradient of each argument: to be written."""
        raise NotImplementedError("a Function needs a static method backward(ctx, g)")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The op on these arguments."""
        if is_tracing():
            deferred().refuse_op(cls.__name__)  # type: ignore[union-attr]
        call = _Call(cls, args)
        result = call.run(args)
        if not call.operands:
            return result
        out = call.node_of(result)
        if any(call.ctx.needs_input_grad) and is_grad_enabled():
            call.remember(out, result)
        return out


class _Call:
    """One call of `apply`: what the row of its result needs to know."""

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

    def run(self, args: tuple[Any, ...]) -> Any:
        """What the user's forward gives."""
        with no_grad():
            return self.cls.forward(self.ctx, *args)

    def node_of(self, result: Any) -> Any:
        """What forward gave, as a new constant."""
        if isinstance(result, self.kind):
            result = _node(result)._data
        elif _is_node(result) or isinstance(result, (tuple, list)) or result is None:
            raise TypeError(
                f"{self.name}.forward of {self.kind.__name__}s must give one of these, found {type(result).__name__}"
            )
        if self.kind is Tensor:
            return Tensor(result)
        if (x := number(result)) is None:
            raise TypeError(f"{self.name}.forward of Values must give one number, found {type(result).__name__}")
        return self.operands[0]._constant(x)

    def remember(self, out: Any, result: Any) -> None:
        """Give the result its history: a row of this call's own, its operands and, of what was saved, the values."""
        node, nodes = _node(out), tuple(map(_node, self.operands))
        if isinstance(node, ArrayNode) and node._data.dtype.kind != "f":
            return
        self.places = [self._place(x, result) for x in self.ctx._saved]
        self.ctx._saved = ()  # it may hold the result, which would keep itself alive
        self.out, self.out_data = weakref.ref(node), node._data
        kept = {place for place in self.places if isinstance(place, int)}
        node._x = nodes
        node._y = tuple(n._data if i in kept or self.kind is Value else None for i, n in enumerate(nodes))
        if isinstance(node, ArrayNode):
            node._saved = Kept()
            for i in kept:
                node._saved.add(node.storage if i == _OUT else nodes[i].storage)
        node._row = Many(self.name, self.forward, self.rule)
        node._row.word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name)
        if is_anomaly_enabled():
            node._made_at = line_of_the_user()

    def _place(self, x: Any, result: Any) -> Any:
        """Where to find again what was saved: the number of an operand, `_OUT`, or x itself."""
        return next((i for i, operand in enumerate(self.operands) if operand is x), _OUT if x is result else x)

    def forward(self, *values: Any) -> Any:
        """The op on plain values in the places of the nodes: how the forward function of a row is called."""
        given = iter(values)
        args = tuple(_constant(_node(x), next(given)) if _is_node(x) else x for x in self.args)
        call = _Call(self.cls, args)
        return _node(call.node_of(call.run(args)))._data

    # ---- backward

    def rule(self, g: Any, *operands: Any) -> list[Any]:
        """The parts of the operands: numbers or arrays or, if g is a node, nodes."""
        return self._recorded(g, operands) if _is_node(g) else self._plain(g, operands)

    def _plain(self, g: Any, operands: tuple[Any, ...]) -> list[Any]:
        """An ordinary pass: backward sees constants with the values of the forward pass."""
        like, values = _node(self.operands[0]), [*operands, self.out_data]  # the last one stands at _OUT
        with no_grad():
            saved = [_constant(like, values[x]) if isinstance(x, int) else x for x in self.places]
            parts = self._parts(_constant(like, g), saved)
            return [None if part is None else _node(part)._data for part in parts]

    def _recorded(self, g: Any, operands: tuple[Any, ...]) -> list[Any]:
        """A pass under create_graph: backward sees nodes, whose numbers it may not read."""
        self._refuse_frozen()
        guards = [_guard(x) for x in (g, *operands, *([_handle(self.out())] if _OUT in self.places else []))]
        values = [*guards[1 : len(operands) + 1], guards[-1]]
        parts = self._parts(guards[0], [values[x] if isinstance(x, int) else x for x in self.places])
        _unguard(parts, guards)
        parts = [None if part is None else _handle(_node(part)) for part in parts]
        for i, part in enumerate(parts):
            if part is not None and g.requires_grad and not part.requires_grad and np.any(_node(part)._data):
                raise RuntimeError(self._frozen(f"what it gave for operand {i} was not made from the node g"))
        return parts

    def _refuse_frozen(self) -> None:
        """Raise if backward may use numbers that forward has computed, whose own derivative nobody knows."""
        if any(map(_is_node, self.places)):
            raise RuntimeError(self._frozen("forward saved a node that is neither an argument nor the result"))
        out: Any = self.out()
        if _OUT in self.places and not np.array_equal(self.out_data, out._data, equal_nan=True):
            raise RuntimeError(f"create_graph=True: the result of {self.name} was changed since: run forward again")
        for name, x in vars(self.ctx).items():
            for part in () if any(x is arg for arg in self.args) else leaves(x):
                if isinstance(part, float) or getattr(getattr(part, "dtype", None), "kind", "") in ("f", "c"):
                    raise RuntimeError(self._frozen(f"ctx.{name} was computed in forward (or make it an argument)"))

    def _frozen(self, what: str) -> str:
        return (
            f"create_graph=True: {self.name}.backward cannot be differentiated, since {what}; "
            "write it with ops on g and on saved arguments"
        )

    def _parts(self, g: Any, saved: list[Any]) -> list[Any]:
        """What the user's backward gives for the operands, checked, as nodes or None."""
        ctx = copy(self.ctx)  # another pass may run at the same time
        ctx._saved = tuple(saved)
        parts = self.cls.backward(ctx, g)
        parts = tuple(parts) if isinstance(parts, (tuple, list)) else (parts,)
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


def _is_node(x: Any) -> bool:
    return isinstance(x, (Value, Tensor))


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
