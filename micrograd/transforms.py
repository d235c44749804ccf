"""From functions to functions: `gradient(fn)` is the function that gives fn's gradients, and so on.

    gradient(fn)(x)           d fn / d x, in the form of x
    value_and_grad(fn)(x)     fn(x) and the gradient, from one pass
    jacobian(fn)(x)           a gradient for each element of what fn gives
    hessian(fn)(x)            the jacobian of the gradient
    hvp(fn)(x, v)             hessian times v, without the hessian
    vjp(fn, x)                fn(x), and the function that takes a gradient at fn(x) back to x

Every positional argument that is a float, a float array, a Value, a float Tensor, or a list, tuple or dict with such in
it, is differentiated; one such argument gives a bare gradient, several give a tuple. Integers, bools, strings and
arrays of them are passed on as they are, and so is what is passed by keyword.

fn sees floats as Values and arrays as Tensors (where an array or a Tensor is among the arguments, floats too become
Tensors, of no dimension). What comes out is of the kind that went in: plain numbers and arrays for plain ones; as soon
as one argument is a node, nodes that can be differentiated again. So these functions compose:

>>> cube = lambda x: x**3
>>> gradient(cube)(2.0), gradient(gradient(cube))(2.0), gradient(gradient(gradient(cube)))(2.0)
(12.0, 12.0, 6.0)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np

from .array_functions import stack
from .engine import Value
from .modes import enable_grad, is_grad_enabled
from .rows import Row
from .tensor import Tensor
from .walk import grad

__all__ = ["gradient", "value_and_grad", "jacobian", "hessian", "hvp", "vjp"]

# ---------------------------------------------------------------------------------------------------------------------
# Trees: lists, tuples and dicts of whatever


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with function(leaf) in the place of each leaf."""
    if isinstance(tree, dict):
        return {key: tree_map(function, x) for key, x in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [tree_map(function, x) for x in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return function(tree)


def leaves(tree: Any) -> Iterator[Any]:
    """What stands in the tree, in order."""
    if isinstance(tree, (list, tuple, dict)):
        for x in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(x)
    else:
        yield tree


# ---------------------------------------------------------------------------------------------------------------------
# Arguments and results

copied = Row("copy", operator.pos, lambda g, _out, _a: g)


def is_point(x: Any) -> bool:
    """Is x something to differentiate with respect to?"""
    if isinstance(x, (Tensor, np.ndarray)):
        return x.dtype.kind == "f"
    return isinstance(x, (Value, float, np.floating))


class Call:
    """One call of fn: its arguments as nodes of their own, what it gave, and the way back.

    An argument that is a node already enters as a copy, which is recorded: a gradient with respect to x itself would
    count an x that fn closes over, too.
    """

    def __init__(self, fn: Callable, args: tuple[Any, ...], named: dict[str, Any]):
        if not callable(fn):
            raise TypeError(f"found {type(fn).__name__} where a function is needed: grad(outputs, inputs) is for nodes")
        self.args, points = args, [x for x in leaves(args) if is_point(x)]
        if not points:
            kinds = ", ".join(type(x).__name__ for x in leaves(args)) or "none at all"
            raise TypeError(f"no argument is a float, a float array or a node; found {kinds}: write 2.0 for 2")
        self.as_nodes = any(isinstance(x, (Value, Tensor)) for x in points)
        self.create_graph = self.as_nodes and is_grad_enabled()
        dtypes = [x.dtype for x in points if isinstance(x, (Tensor, np.ndarray))]
        self.dtype = np.result_type(*dtypes) if dtypes else None
        with enable_grad():
            self.inputs = tree_map(self._node, args)
            self.output = tree_map(_output, fn(*self.inputs, **named))

    def _node(self, x: Any) -> Any:
        """An argument as fn sees it."""
        if not is_point(x):
            return x
        if isinstance(x, (Value, Tensor)):
            if self.create_graph and x.requires_grad:
                return copied(x)
            leaf = x.detach()
            leaf.requires_grad = True
            return leaf
        alone = not isinstance(x, np.ndarray) and self.dtype is None
        return Value(float(x)) if alone else Tensor(x, requires_grad=True, dtype=getattr(x, "dtype", self.dtype))

    def value(self) -> Any:
        """What fn gave, in the kind of the arguments."""
        if self.create_graph:
            return self.output
        detached = tree_map(lambda y: y.detach(), self.output)
        return detached if self.as_nodes else tree_map(lambda y: y.data[()] if _is_tensor(y) else y.data, detached)

    def gradient(self, outputs: Any, seeds: Any = None) -> Any:
        """The gradients of the outputs' sum, weighted by the seeds (by default ones), in the form of the arguments."""
        ys, xs = list(leaves(outputs)), [x for x in leaves(self.inputs) if is_point(x)]
        gs = [np.ones(y.shape) if _is_tensor(y) else 1.0 for y in ys] if seeds is None else list(leaves(seeds))
        if len(gs) != len(ys):
            raise ValueError(f"found {len(gs)} gradients for {len(ys)} outputs: each needs its own")
        pairs = [(y, g) for y, g in zip(ys, gs, strict=True) if y.requires_grad]
        found: tuple[Any, ...] = (None,) * len(xs)
        if pairs:
            ys, gs = zip(*pairs, strict=True)
            found = grad(ys, xs, gs, retain_graph=True, create_graph=self.create_graph, allow_unused=True)
        return self._in_form(iter([self._finished(x, g) for x, g in zip(xs, found, strict=True)]))

    def _finished(self, x: Any, g: Any) -> Any:
        """A gradient as an array of its own, a number or, where an argument was a node, a node."""
        if g is None:  # no output depends on x
            g = np.zeros(x.shape, x.dtype) if _is_tensor(x) else 0.0
        if not self.as_nodes:
            return np.array(g) if _is_tensor(x) else g
        if isinstance(g, (Value, Tensor)):
            return g
        return Tensor(g) if _is_tensor(x) else Value(g, requires_grad=False)

    def _in_form(self, gradients: Iterator[Any]) -> Any:
        """The gradients in the places of the arguments; bare, if there is one such argument."""
        fill = lambda x: self._like(x, next(gradients)) if is_point(x) else None  # noqa: E731
        parts = [tree_map(fill, arg) for arg in self.args if any(map(is_point, leaves(arg)))]
        return parts[0] if len(parts) == 1 else tuple(parts)

    def _like(self, x: Any, g: Any) -> Any:
        """A float's gradient is a float, even if fn saw a Tensor."""
        return float(g) if isinstance(g, np.ndarray) and not isinstance(x, np.ndarray) else g


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _output(y: Any) -> Any:
    """What fn gave, as a node; a plain number or array is a constant."""
    if isinstance(y, (Value, Tensor)):
        return y
    if isinstance(y, np.ndarray):
        return Tensor(y)
    if isinstance(y, (int, float, np.number)):
        return Value(float(y), requires_grad=False)
    raise TypeError(f"a function to differentiate gives Values or Tensors, found {type(y).__name__} {y!r:.60}")


# ---------------------------------------------------------------------------------------------------------------------
# The transforms


def _of_compiled(transform: Callable) -> Any:
    """The transform, which of a compiled function gives a compiled one."""

    @wraps(transform)
    def transformed(fn: Callable) -> Any:
        compiled = getattr(fn, "transformed", None)
        return transform(fn) if compiled is None else compiled(transform)

    return transformed


@_of_compiled
def gradient(fn: Callable) -> Callable[..., Any]:
    """The function that gives the gradient of fn; a result of several elements counts as their sum.

    >>> gradient(lambda x, y: x * y)(2.0, 3.0)
    (3.0, 2.0)
    >>> gradient(lambda x: (x * x).sum())(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> gradient(lambda xs: xs[0] * xs[1])([5.0, 7.0])
    [7.0, 5.0]
    """

    def gradient_of_fn(*args: Any, **named: Any) -> Any:
        call = Call(fn, args, named)
        return call.gradient(call.output)

    return gradient_of_fn


@_of_compiled
def value_and_grad(fn: Callable) -> Callable[..., tuple[Any, Any]]:
    """The function that gives what fn gives, and the gradient, as a pair.

    >>> value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """

    def value_and_gradient_of_fn(*args: Any, **named: Any) -> tuple[Any, Any]:
        call = Call(fn, args, named)
        return call.value(), call.gradient(call.output)

    return value_and_gradient_of_fn


def vjp(fn: Callable, *args: Any) -> tuple[Any, Callable[[Any], Any]]:
    """fn(*args), and the function that takes a gradient there back to the arguments (vector times jacobian).

    >>> value, back = vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> value, back(np.array([1.0, 10.0]))
    (array([1., 4.]), array([ 2., 40.]))
    """
    call = Call(fn, args, {})
    return call.value(), lambda g: call.gradient(call.output, g)


@_of_compiled
def jacobian(fn: Callable) -> Callable[..., Any]:
    """The function that gives the gradient of each element of fn's result.

    A Tensor's elements are the leading axes: for an x of shape (3,) and a result of shape (2,) it is (2, 3). In a list
    of results each is replaced by its gradients.

    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> jacobian(lambda xs: [xs[0] * xs[1], xs[0]])([2.0, 3.0])
    [[3.0, 2.0], [1.0, 0.0]]
    """

    def jacobian_of_fn(*args: Any, **named: Any) -> Any:
        call = Call(fn, args, named)
        return tree_map(lambda y: _rows(call, y) if _is_tensor(y) else call.gradient(y), call.output)

    return jacobian_of_fn


def _rows(call: Call, y: Tensor) -> Any:
    """The gradients of each element of y, stacked."""
    if not y.size:
        raise ValueError(f"a result of shape {y.shape} has no elements, and so no jacobian")
    rows = [call.gradient(y, seed) for seed in np.eye(y.size).reshape(y.size, *y.shape)]
    columns = zip(*map(leaves, rows), strict=True)

    def stacked(_: Any) -> Any:
        column = next(columns)
        if column[0] is None:
            return None
        block = stack(column).reshape((*y.shape, *getattr(column[0], "shape", ())))
        return block if _is_tensor(block) else block[()]  # a number, where it has no dimension

    return tree_map(stacked, rows[0])


@_of_compiled
def hessian(fn: Callable) -> Callable[..., Any]:
    """The function that gives the second derivatives of fn: the jacobian of its gradient.

    >>> hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacobian(gradient(fn))


@_of_compiled
def hvp(fn: Callable) -> Callable[..., Any]:
    """The function of (arguments of fn, v) that gives hessian times v, at the cost of two gradients.

    v has the form of fn's gradient: bare for one argument, a tuple for several.

    >>> hvp(lambda x: (x**3).sum())(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """

    def hvp_of_fn(*args: Any, **named: Any) -> Any:
        call = Call(gradient(fn), args[:-1], named)
        return call.gradient(call.output, args[-1])

    return hvp_of_fn
