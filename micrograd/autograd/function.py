"""`Function`: define an op and its derivative, for Values and Tensors, as in PyTorch.

Each result of a call records one `Many` row, whose rule calls your `backward`. An ordinary pass hands `backward`
constants, with their values from the forward pass. Under `create_graph=True` it receives the nodes themselves, so that
what it computes is recorded and can be differentiated again; a `backward` that would freeze a number is refused there.
Forward mode records it on the gradient alone.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from ..engine.graph import is_node, node_of
from ..engine.modes import deferred, hidden, is_grad_enabled, is_tracing, no_grad
from ..engine.rows import Many
from ..engine.trees import leaves, tree_map
from ..engine.value import Value, number
from ..tensor.node import ArrayNode
from ..tensor.tensor import Tensor

__all__ = ["Context", "Function"]


class Context:
    """What `forward` saves for `backward`: nodes through `save_for_backward`, anything else as attributes.

    Arguments and results may be saved either way. If one is modified in place before the backward pass, that raises.
    """

    needs_input_grad: tuple[bool, ...] = ()  # for each argument of `apply`: True if it requires a gradient
    _saved: tuple[Any, ...] = ()
    _constants: tuple[Any, ...] = ()

    def save_for_backward(self, *nodes: Any) -> None:
        """Save nodes for `backward`, which reads them from `ctx.saved_tensors`.

        Args:
            *nodes: Values or Tensors, or None.

        Raises:
            TypeError: something is neither a node nor None; set an attribute of `ctx` instead.
        """
        for x in nodes:
            if not (x is None or is_node(x)):
                raise TypeError(
                    f"save_for_backward keeps Values and Tensors, found {type(x).__name__}: set ctx.name = ... instead"
                )
        self._saved = nodes

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The nodes passed to `save_for_backward`."""
        return self._saved

    def mark_non_differentiable(self, *results: Any) -> None:
        """Mark results of `forward` as constants; `backward` receives zeros as their gradients."""
        self._constants = results


class Function:
    """A user-defined op: subclass it, define `forward` and `backward`, and call `apply`.

    `forward(ctx, *args)` receives the arguments of `apply` and computes without recording. It returns a Value, a
    Tensor, a number or an array, or a tuple of these.

    `backward(ctx, *gradients)` receives one gradient for each result, of that result's shape; where there are several
    results, it is called once for each, with zeros for the others. It returns one gradient for each argument of
    `apply`: a node, a number or an array of the argument's shape, or None for no gradient. Arguments that are not nodes
    get None; trailing Nones are ignored. A leaf that receives only None keeps its `.grad`.

    To be differentiated twice, `backward` must be written with ops, and other Functions, on the gradients and on saved
    nodes. If it reads their numbers instead, or those of anything computed from them, `create_graph=True` raises.
    Floats saved in `ctx` that depend on an argument raise as well: to detect them, `forward` is run again on slightly
    different numbers.

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
        """Compute the result. To be overridden.

        Args:
            ctx: a `Context`, in which to save what `backward` needs.
            *args: the arguments of `apply`.

        Returns:
            A Value, a Tensor, a number or an array, or a tuple of these.

        Raises:
            NotImplementedError: a subclass does not define it, here and in `backward`.
        """
        raise NotImplementedError("a Function needs a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Return the gradient of each argument. To be overridden.

        Args:
            ctx: the `Context` that `forward` filled.
            *gradients: the gradient of each result, of that result's shape.

        Returns:
            One gradient for each argument of `apply`, of the argument's shape; None for no gradient.

        Raises:
            NotImplementedError: a subclass does not define it.
        """
        raise NotImplementedError("a Function needs a static method backward(ctx, g)")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Apply the op.

        Args:
            *args: Values or Tensors (one kind), and anything else that `forward` takes. Nodes inside lists are refused.

        Returns:
            What `forward` returns, as nodes with this op as their history.

        Raises:
            TypeError: Values and Tensors are mixed, a list, tuple or dict contains nodes, or `forward` returns no
                number.
        """
        if is_tracing():
            deferred().refuse_op(cls.__name__)  # type: ignore[union-attr]
        call = _Call(cls, args)
        result = call.run()
        if not call.operands:
            return result
        outs = call.answer(result if isinstance(result, tuple) else (result,))
        return outs if isinstance(result, tuple) else outs[0]


class _Call:
    """One call of `apply`: what the rows of its results share.

    Saved nodes are referred to by number: operand i is i, result j is ~j.
    """

    def __init__(self, cls: type[Function], args: tuple[Any, ...]):
        self.name, self.cls, self.args, self.ctx = cls.__name__, cls, args, Context()
        self.operands = [x for x in args if is_node(x)]
        self.ctx.needs_input_grad = tuple(is_node(x) and x.requires_grad for x in args)
        if len({isinstance(x, Tensor) for x in self.operands}) > 1:
            raise TypeError(f"{self.name}.apply found Values and Tensors together: an op takes one kind")
        self.kind = Tensor if self.operands and isinstance(self.operands[0], Tensor) else Value
        for i, x in enumerate(args):
            if isinstance(x, (list, tuple, dict)) and any(map(is_node, leaves(x))):
                raise TypeError(
                    f"{self.name}.apply found nodes in the {type(x).__name__} that is argument {i}, where they would "
                    "get no gradient: pass each as a separate argument"
                )

    # ---- forward

    def run(self) -> Any:
        """What the user's `forward` returns. It may read numbers, also inside a backward that may not."""
        with no_grad(), hidden(None):
            return self.cls.forward(self.ctx, *self.args)

    def answer(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """The results of `forward` as new nodes, with their history."""
        outs = tuple(map(self.node_of, results))
        if any(self.ctx.needs_input_grad) and is_grad_enabled():
            constants = vars(self.ctx).pop("_constants", ())
            self.saved = {name: self._put_away(x, results) for name, x in vars(self.ctx).items()}
            self.places: set[int] = {x for held in self.saved.values() for x in leaves(held) if isinstance(x, _Place)}
            nodes = list(map(node_of, outs))
            self.data, self.nodes = [node._data for node in nodes], list(map(weakref.ref, nodes))
            sources = [node_of(self.operands[i]) if i >= 0 else nodes[~i] for i in self.places]
            self.storages = [[node.storage for node in sources]] if self.kind is Tensor else []
            del self.ctx
            self.differentiable = [not any(result is x for x in constants) for result in results]
            for j, node in enumerate(nodes):
                self.remember(node, j)
        return outs

    def node_of(self, result: Any) -> Any:
        """One result of `forward` as a new constant."""
        if isinstance(result, self.kind):
            result = node_of(result)._data
        elif is_node(result) or isinstance(result, (tuple, list)) or result is None:
            raise TypeError(
                f"{self.name}.forward of {self.kind.__name__}s must return one of these, or a tuple of several, "
                f"found {type(result).__name__}"
            )
        if self.kind is Tensor:
            return Tensor(result)
        if (x := number(result)) is None:
            raise TypeError(f"{self.name}.forward of Values must return one number, found {type(result).__name__}")
        return self.operands[0]._constant(x)

    def remember(self, node: Any, j: int) -> None:
        """Record the history of result j: a row, the operands and the values that were saved."""
        if not self.differentiable[j] or (isinstance(node, ArrayNode) and node._data.dtype.kind != "f"):
            return
        row = Many(self.name, partial(self.forward, j), partial(self.rule, j))
        row.word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name)
        nodes = tuple(map(node_of, self.operands))
        values = tuple(n._data if i in self.places or self.kind is Value else None for i, n in enumerate(nodes))
        node._record(row, nodes, values, *self.storages)

    def _put_away(self, held: Any, results: tuple[Any, ...]) -> Any:
        """What a context holds, with arguments and results replaced by their numbers."""
        if not any(map(is_node, leaves(held))):
            return held
        places = {id(x): _Place(~j) for j, x in enumerate(results)}
        places |= {id(x): _Place(i) for i, x in enumerate(self.operands)}
        return tree_map(lambda x: places.get(id(x), x), held)

    def context(self, at: Callable[[int], Any]) -> Context:
        """The context for one pass: each saved number replaced by the node `at` returns for it."""
        ctx, found = Context(), lambda x: at(x) if isinstance(x, _Place) else x
        for name, held in self.saved.items():
            placed = any(isinstance(x, _Place) for x in leaves(held))
            setattr(ctx, name, tree_map(found, held) if placed else held)
        return ctx

    def forward(self, j: int, *values: Any) -> Any:
        """Result j for plain values in place of the nodes: the row's forward function."""
        call, result = self._again(values)
        return node_of(call.node_of(result[j] if isinstance(result, tuple) else result))._data

    def _again(self, values: Iterable[Any]) -> tuple[_Call, Any]:
        """A second call, on other values, and its results."""
        left = iter(values)
        call = _Call(self.cls, tuple(_constant(node_of(x), next(left)) if is_node(x) else x for x in self.args))
        return call, call.run()

    # ---- backward

    def rule(self, j: int, g: Any, *operands: Any) -> list[Any]:
        """The gradients sent to the operands, given that of result j: plain data or, if g is a node, nodes."""
        return (self._recorded if is_node(g) else self._plain)(j, g, operands)

    def _plain(self, j: int, g: Any, operands: tuple[Any, ...]) -> list[Any]:
        """An ordinary pass: backward receives constants with the values of the forward pass."""
        with no_grad():
            gradients = self._gradients(j, _constant(node_of(self.operands[0]), g))
            parts = self._parts(self.context(self._constants_of(operands)), gradients)
            return [None if part is None else _view(node_of(part)._data) for part in parts]

    def _constants_of(self, operands: tuple[Any, ...]) -> Callable[[int], Any]:
        """The values that were saved, by number, as constants."""
        like = node_of(self.operands[0])
        return lambda i: _constant(like, operands[i] if i >= 0 else self.data[~i])

    def _recorded(self, j: int, g: Any, operands: tuple[Any, ...]) -> list[Any]:
        """A pass that is recorded: backward receives nodes, whose numbers it must not read; in forward mode g alone."""
        saved, unread = self._constants_of(operands), [g]
        if is_node(operands[0]):
            self._refuse_frozen()
            at = {i: operands[i] if i >= 0 else _handle(self._result(~i)) for i in self.places}
            saved, unread = at.__getitem__, [g, *at.values()]
        with hidden([*map(node_of, unread)]):
            parts = self._parts(self.context(saved), self._gradients(j, g))
        for i, part in enumerate(parts):
            if part is not None and g.requires_grad and not part.requires_grad and np.any(node_of(part)._data):
                raise RuntimeError(self._frozen(f"what it returned for operand {i} was not computed from the node g"))
        # a constant may be a Tensor that the user holds: copy it, since it may become a `.grad`
        return [Tensor(part) if isinstance(part, Tensor) and not part.requires_grad else part for part in parts]

    def _gradients(self, j: int, g: Any) -> list[Any]:
        """One gradient for each result: g for result j, zeros for the others."""
        zero = lambda x: np.zeros_like(x) if isinstance(x, np.ndarray) else 0.0  # noqa: E731
        return [g if i == j else _constant(node_of(g), zero(x)) for i, x in enumerate(self.data)]

    def _result(self, j: int) -> Any:
        """The node of result j, rebuilt if it no longer exists; raises if its data were changed."""
        node: Any = self.nodes[j]()
        if node is None:
            node = node_of(self.operands[0])._constant(self.data[j])
            self.remember(node, j)
        if not np.array_equal(self.data[j], node._data, equal_nan=True):
            raise RuntimeError(f"create_graph=True: the result of {self.name} was changed since: run forward again")
        return node

    def _refuse_frozen(self) -> None:
        """Raise if backward may use numbers computed in forward, whose derivatives are unknown."""
        computed = {}
        for name, held in self.saved.items():
            if any(map(is_node, leaves(held))):
                raise RuntimeError(self._frozen("forward saved a node that is neither an argument nor a result"))
            if any(map(_is_float, leaves(held))) and not any(held is arg for arg in self.args):
                computed[name] = held
        elsewhere = self._elsewhere() if computed else None
        for name, held in computed.items():
            if not _same(held, getattr(elsewhere, name, None)):
                raise RuntimeError(self._frozen(f"ctx.{name} was computed in forward from an argument"))

    def _elsewhere(self) -> Context:
        """The context that forward fills for slightly different inputs: whatever changed depends on them.

        Each number moves by another amount: a difference of two would not change if they moved together.
        """
        rng = np.random.default_rng(0)

        def near(node: Any) -> Any:
            data = np.asarray(node._data)
            data = data + rng.uniform(0.01, 0.02, data.shape).astype(data.dtype) * np.maximum(1.0, abs(data))
            return data if isinstance(node, ArrayNode) else float(data)

        nodes = map(node_of, self.operands)
        with np.errstate(all="ignore"):
            return self._again([near(n) if n.requires_grad else n._data for n in nodes])[0].ctx

    def _frozen(self, what: str) -> str:
        return (
            f"create_graph=True and jvp: {self.name}.backward cannot be differentiated, since {what}; "
            "write it with ops on g and on saved arguments"
        )

    def _parts(self, ctx: Context, gradients: list[Any]) -> list[Any]:
        """The gradients that backward returns for the operands, checked, as nodes or None."""
        parts = self.cls.backward(ctx, *gradients)
        parts = list(parts) if isinstance(parts, (tuple, list)) else [parts]
        while len(parts) > len(self.args) and parts[-1] is None:
            parts.pop()
        if len(parts) != len(self.args):
            raise ValueError(
                f"{self.name}.backward returned {len(parts)} gradients for the {len(self.args)} arguments of apply: "
                "each needs one, or None"
            )
        for i, (part, x) in enumerate(zip(parts, self.args, strict=True)):
            if part is not None and not is_node(x):
                raise ValueError(
                    f"{self.name}.backward returned a gradient for argument {i}, a {type(x).__name__}: it must be None"
                )
        return [self._part(i, part, x) for i, (part, x) in enumerate(zip(parts, self.args, strict=True)) if is_node(x)]

    def _part(self, i: int, part: Any, x: Any) -> Any:
        """The gradient that backward returned for argument i, x, as a node, or None."""
        if part is None:
            return None
        node = node_of(x)
        if is_node(part) != isinstance(part, self.kind):
            raise TypeError(
                f"{self.name}.backward returned a {type(part).__name__} for argument {i}, a {type(x).__name__}"
            )
        data = node_of(part)._data if is_node(part) else part
        if not is_node(part) and np.asarray(part).dtype.kind not in "fiub":
            raise TypeError(
                f"{self.name}.backward returned {part!r:.50} for argument {i}: a gradient is a node or numbers"
            )
        if np.shape(data) != np.shape(node._data):
            raise ValueError(
                f"{self.name}.backward returned a gradient of shape {np.shape(data)} for argument {i}, "
                f"whose shape is {np.shape(node._data)}"
            )
        if is_node(part):
            return part
        if is_grad_enabled() and np.any(data):
            raise RuntimeError(self._frozen(f"what it returned for argument {i} is a plain {type(part).__name__}"))
        return _constant(node, np.asarray(data) if self.kind is Tensor else float(data))


# ---------------------------------------------------------------------------------------------------------------------
# Nodes, and their substitutes


class _Place(int):
    """The number of a saved argument or result; see `_Call`."""


def _is_float(x: Any) -> bool:
    return isinstance(x, float) or getattr(getattr(x, "dtype", None), "kind", "") in ("f", "c")


def _same(a: Any, b: Any) -> bool:
    """True if two trees hold equal numbers."""
    a, b = list(leaves(a)), list(leaves(b))
    return len(a) == len(b) and all(np.array_equal(x, y, equal_nan=_is_float(x)) for x, y in zip(a, b, strict=True))


def _handle(node: Any) -> Any:
    return node.tensor if isinstance(node, ArrayNode) else node


def _constant(like: Any, data: Any) -> Any:
    """A constant of the same kind as the node `like`; it shares the array, read-only."""
    if isinstance(data, np.ndarray):
        data = data.view()
        data.flags.writeable = False
    return _handle(like._constant(data))


def _view(data: Any) -> Any:
    """A view of an array that the user may hold: arrays with a base are copied before they become a `.grad`."""
    return data.view() if isinstance(data, np.ndarray) else data
