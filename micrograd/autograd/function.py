"""`Function`: define an op and its derivative, for Values and Tensors, as in PyTorch.

Each result of a call records one `Many` row, whose rule calls your `backward`. In an ordinary pass, `backward` receives
constants with their values from the forward pass. Under `create_graph=True` it receives the nodes themselves, so that
its computation is recorded and can be differentiated again. Numbers from any other source raise an error there. `jvp`
records `backward` as a function of the gradient alone. While `compile` traces, all nodes are symbols, from which both
methods compute further symbols.
"""

from __future__ import annotations

import re
import weakref
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..common.trees import leaves, tree_map
from ..engine.modes import is_grad_enabled, listener, no_grad
from ..engine.value import Value, number
from ..scalars.kinds import differentiating, hidden, is_node, is_tracing, node_of, plain, traced
from ..scalars.rows import Many, nothing
from ..tensor.tensor import Tensor

__all__ = ["Context", "Function"]


class Context:
    """What `forward` saves for `backward`: nodes through `save_for_backward`, anything else as attributes.

    Arguments and results may be saved either way. If a saved array is modified in place before the backward pass, the
    pass raises. Other numbers and arrays are refused under `create_graph`, unless `Function.constants` lists them.
    """

    needs_input_grad: tuple[bool, ...] = ()  # for each argument of `apply`: True if it requires a gradient
    saved_tensors: tuple[Any, ...] = ()  # the nodes passed to `save_for_backward`

    def save_for_backward(self, *nodes: Any) -> None:
        """Save nodes for `backward`, which reads them from `ctx.saved_tensors`.

        Args:
            *nodes: Values or Tensors, or None.

        Raises:
            TypeError: something is neither a node nor None; set an attribute of `ctx` instead.
        """
        if wrong := [type(x).__name__ for x in nodes if not (x is None or is_node(x))]:
            raise TypeError(f"save_for_backward keeps Values and Tensors, found {wrong[0]}: set ctx.name = ... instead")
        self.saved_tensors = nodes

    def mark_non_differentiable(self, *results: Any) -> None:
        """Mark results of `forward` as constants, whose gradients `backward` receives as zeros."""
        self._constants = results


class Function:
    """A user-defined op, as a subclass that defines `forward` and `backward` and is called by `apply`.

    Use it for an operation that the library lacks, or whose derivative you know a better formula for.

    `forward(ctx, *args)` receives the arguments of `apply` and computes without recording. It returns a Value, a
    Tensor, a number or an array, or a tuple of these.

    `backward(ctx, *gradients)` receives one gradient for each result, of that result's shape. Where there are several
    results, it is called once for each result, with zeros as the gradients of the other results. It returns one
    gradient for each argument of `apply`, a node, a number or an array of the argument's shape, or None for no
    gradient. Arguments that are not nodes get None, and trailing Nones are ignored. A leaf that receives only None
    keeps its `.grad`.

    To be differentiated twice, `backward` must be written with ops, and other Functions, on the gradients and on saved
    nodes. If it reads their numbers instead, or those of anything computed from them, `create_graph=True` raises. It
    also raises if `ctx` holds a float, an array of floats or another object that `forward` made, because that may
    depend on an argument, and its derivative is unknown. `constants` lists the attributes of `ctx` that depend on no
    argument. There is no need to list plain arguments of `apply`, nor None, strings, integers and bools, such as an
    axis, a shape, an array of indices or a mask.

    To be compiled, both methods must be written with ops, and not read numbers. The program then contains these ops,
    and `backward` gives the derivative of their result.

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

    >>> class Scale(Function):
    ...     constants = ("factor",)
    ...     @staticmethod
    ...     def forward(ctx, x, percent):
    ...         ctx.factor = percent / 100
    ...         return x * ctx.factor
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * ctx.factor, None
    >>> y = Scale.apply(x, 50)
    >>> y.backward(create_graph=True)
    >>> x.grad
    Value(data=12.5, grad=0)
    """

    constants: ClassVar[tuple[str, ...]] = ()  # the attributes of `ctx` that depend on no node among the arguments

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
        listener().own_op(cls.__name__)
        call = _Call(cls, tuple(map(traced, args)))
        with no_grad(), hidden(None):  # `forward` may read numbers, also when it is called inside a `backward`
            result = cls.forward(call.ctx, *call.args)
        if not call.operands:
            return result
        outs = call.answer(result if isinstance(result, tuple) else (result,))
        return outs if isinstance(result, tuple) else outs[0]


class _Call:
    """One call of `apply`, which the rows of its results share.

    The context holds constants in place of arguments and results, so that no result refers to itself. The constants
    have the values of the forward pass, which an ordinary pass needs.
    """

    def __init__(self, function: type[Function], args: tuple[Any, ...]):
        self.name, self.function, self.args, self.ctx = function.__name__, function, args, Context()
        self.operands = [x for x in args if is_node(x)]
        self.ctx.needs_input_grad = tuple(is_node(x) and x.requires_grad for x in args)
        of_tensors = {isinstance(x, Tensor) for x in self.operands}
        if len(of_tensors) > 1:
            raise TypeError(f"{self.name}.apply found Values and Tensors together: an op takes one kind")
        self.node_class = Tensor if True in of_tensors else Value
        for i, x in enumerate(args):
            if not is_node(x) and any(map(is_node, leaves(x))):
                hint = "where they would get no gradient: pass each as a separate argument"
                raise TypeError(f"{self.name}.apply found nodes in the {type(x).__name__} that is argument {i}, {hint}")

    # ---- forward

    def answer(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """The results of `forward` as new nodes, with their history."""
        outs = tuple(map(self.new_constant, results))
        if any(self.ctx.needs_input_grad) and is_grad_enabled():
            marked = vars(self.ctx).pop("_constants", ())
            nodes = [*map(node_of, outs)]
            self.is_constant = [any(result is x for x in marked) for result in results]
            self.data = [node._data for node in nodes]
            self.results = [*map(weakref.ref, nodes)]
            self.save_constants(results, [*map(node_of, self.operands), *nodes])
            for j, node in enumerate(nodes):
                self.record(node, j)
        return outs

    def new_constant(self, result: Any) -> Any:
        """One result of `forward` as a new constant."""
        is_own = isinstance(result, self.node_class)
        if is_own and is_tracing():
            with hidden(None):
                return traced(result).detach()
        data = node_of(result)._data if is_own else result
        if self.node_class is Tensor and not (is_node(data) or data is None or isinstance(data, (tuple, list))):
            return traced(Tensor(data))
        if self.node_class is Tensor or (data := number(data)) is None:
            needed = f"{self.node_class.__name__}s must return one of these, a number or a tuple of several"
            raise TypeError(f"{self.name}.forward of {needed}, found {type(result).__name__}")
        return self.operands[0]._constant(data)

    def save_constants(self, results: tuple[Any, ...], nodes: list[Any]) -> None:
        """Replace arguments and results in the context by constants; `nodes` are those of the operands and results.

        `saved` has the index of the node by the id of its constant.
        """
        # In reverse, since a result may be an argument itself, and then has the index of the argument
        indices = {id(x): i for i, x in reversed([*enumerate((*self.operands, *results))]) if is_node(x)}
        constants = {key: _constant(nodes[i], nodes[i]._data) for key, i in indices.items()}
        in_context = {id(x) for x in leaves(vars(self.ctx))}
        self.ctx = _replaced(self.ctx, constants)
        self.saved = {id(x): indices[key] for key, x in constants.items() if key in in_context}
        self.storages = [[nodes[i].storage for i in self.saved.values()]] if self.node_class is Tensor else []

    def record(self, node: Any, j: int) -> None:
        """Record the history of result j: a row, the operands and the saved values."""
        dtype = getattr(node._data, "dtype", None) or np.dtype(float)  # the number of a Value has none
        if self.is_constant[j] or dtype.kind != "f":
            return
        word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name)
        row = Many(self.name, nothing, partial(self.rule, j), word=word)
        operands = tuple(map(node_of, self.operands))
        saved = range(len(operands)) if self.node_class is Value else self.saved.values()
        values = tuple(operand._data if i in saved else None for i, operand in enumerate(operands))
        node._record(row, operands, values, *self.storages)

    # ---- backward

    def rule(self, j: int, g: Any, *operands: Any) -> list[Any]:
        """The gradients of the operands, given the gradient g of result j: plain data or, if g is a node, nodes."""
        if not is_node(g):
            with no_grad():
                return self.gradients(self.ctx, j, _constant(node_of(self.operands[0]), g))
        nodes = {}
        if is_node(operands[0]):  # else this is jvp, which differentiates by g alone
            self.check_context()
            n = len(operands)
            nodes = {key: operands[i] if i < n else self.result(i - n) for key, i in self.saved.items()}
        with hidden([*map(node_of, (g, *nodes.values()))]), differentiating():
            gradients = self.gradients(_replaced(self.ctx, nodes), j, g)
        return [*map(_unshared, gradients)]

    def result(self, j: int) -> Any:
        """Result j, rebuilt if it no longer exists; raises if its data has changed."""
        node: Any = self.results[j]()
        if node is None:
            node = node_of(self.operands[0])._constant(self.data[j])
            self.record(node, j)
        if self.data[j] is not node._data and not np.array_equal(self.data[j], node._data, equal_nan=True):
            raise RuntimeError(f"create_graph=True: the result of {self.name} was changed since: run forward again")
        return getattr(node, "tensor", node)

    def check_context(self) -> None:
        """Raise if the context holds numbers that may depend on an argument, and are no argument and no result."""
        known = {id(x) for x in leaves(self.args)} | self.saved.keys()
        # A set, since `constants = ("name")` is a string, in which `in` would also find parts of the name
        constants = {*self.function.constants}
        names = [
            name
            for name, attribute in vars(self.ctx).items()
            if name not in constants and not all(id(x) in known or _is_harmless(x) for x in leaves(attribute))
        ]
        if names:
            why = f"{' and '.join(f'ctx.{name}' for name in names)}, which forward made, may depend on an argument"
            raise self.not_differentiable(why, f"; if none does, list it in the class: constants = {tuple(names)}")

    def not_differentiable(self, why: str, hint: str = "") -> RuntimeError:
        """The error for a `backward` whose result would have a wrong derivative."""
        subject = f"create_graph=True and jvp: {self.name}.backward cannot be differentiated, since {why}"
        return RuntimeError(f"{subject}; write it with ops on g and on saved arguments{hint}")

    def gradients(self, ctx: Context, j: int, g: Any) -> list[Any]:
        """The gradients, or None, that `backward` returns for the operands, given that of result j; checked."""
        zero = lambda x: 0.0 if getattr(x, "shape", None) is None else np.zeros(x.shape, x.dtype)  # noqa: E731
        incoming = [g if i == j else _constant(node_of(g), zero(x)) for i, x in enumerate(self.data)]
        gradients = self.function.backward(ctx, *incoming)
        gradients = [*gradients] if isinstance(gradients, (tuple, list)) else [gradients]
        while len(gradients) > len(self.args) and gradients[-1] is None:
            gradients.pop()
        if len(gradients) != len(self.args):
            arguments = f"the {len(self.args)} arguments of apply: each needs one, or None"
            raise ValueError(f"{self.name}.backward returned {len(gradients)} gradients for {arguments}")
        checked = [self.checked(i, gradient, g) for i, gradient in enumerate(gradients)]
        return [gradient for gradient, x in zip(checked, self.args, strict=True) if is_node(x)]

    def checked(self, i: int, gradient: Any, g: Any) -> Any:
        """The gradient that `backward` returned for argument i: plain data or, where ops are recorded, a node."""
        if gradient is None:
            return None
        x, returned = self.args[i], f"{self.name}.backward returned"
        if not is_node(x):
            raise ValueError(f"{returned} a gradient for argument {i}, a {type(x).__name__}: it must be None")
        if isinstance(gradient, np.ndarray):
            gradient = gradient[()]  # a number if the shape is ()
        try:
            seed = node_of(x)._seed(gradient, is_grad_enabled())
        except (TypeError, ValueError) as error:
            raise type(error)(f"{returned} an unfit gradient of argument {i}: {error}") from None
        is_linear = gradient.requires_grad or not g.requires_grad if is_node(gradient) else not is_grad_enabled()
        # A gradient of zeros may be a constant. While `compile` traces, a symbol may be any number.
        if not is_linear and ((is_tracing() and is_node(gradient)) or np.any(plain(gradient))):
            fault = "was not computed from the node g" if is_node(gradient) else f"is a plain {type(gradient).__name__}"
            raise self.not_differentiable(f"the gradient that it returned for argument {i} {fault}")
        return seed


# ---------------------------------------------------------------------------------------------------------------------
# Nodes, and their substitutes


def _is_harmless(x: Any) -> bool:
    """True for objects without a derivative: None, text, and integers and bools of any sort, as in shapes and masks."""
    of_python = x is None or x is ... or isinstance(x, (int, str, bytes, slice, type, np.dtype))
    return of_python or getattr(getattr(plain(x), "dtype", None), "kind", "f") in "iub"


def _replaced(ctx: Context, substitutes: dict[int, Any]) -> Context:
    """A copy of a context with substitutes for some nodes, by the ids of these."""
    new = Context()
    for name, attribute in vars(ctx).items():
        has_nodes = any(map(is_node, leaves(attribute)))
        setattr(new, name, tree_map(lambda x: substitutes.get(id(x), x), attribute) if has_nodes else attribute)
    return new


def _unshared(gradient: Any) -> Any:
    """The gradient, copied if it is a constant Tensor: it may be an object of the user's, and become a `.grad`."""
    is_constant = isinstance(gradient, Tensor) and not (gradient.requires_grad or is_tracing())
    return Tensor(gradient) if is_constant else gradient


def _constant(like: Any, data: Any) -> Any:
    """A constant, a Value or a Tensor as the node `like`, which shares the array, but may not write to it."""
    if isinstance(data, np.ndarray):
        data = data.view()
        data.flags.writeable = False
    node = like._constant(data)
    return getattr(node, "tensor", node)
