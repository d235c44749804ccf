"""From functions to functions: `gradient(fn)` is the function that gives fn's gradients, and so on.

    gradient(fn)(x)           d fn / d x, in the form of x
    value_and_grad(fn)(x)     fn(x) and the gradient, from one pass
    jacobian(fn)(x)           a gradient for each element of what fn gives
    hessian(fn)(x)            the jacobian of the gradient
    hvp(fn)(x, v)             hessian times v, without the hessian
    vjp(fn, x)                fn(x), and the function that takes a gradient at fn(x) back to x
    jvp(fn, (x,), (v,))       fn(x), and how fast it moves as x moves by v

Every positional argument that is a float, a float array, a Value, a float Tensor, or a list, tuple or dict with such in
it, is differentiated; one such argument gives a bare gradient, several give a tuple. `argnum` picks some of them.
Integers, bools, strings and arrays of them are passed on as they are, and so is what is passed by keyword.

fn sees floats as Values and arrays as Tensors (where an array or a Tensor is among the arguments, floats too become
Tensors, of no dimension), and in it the two may meet in one operation.

The answer depends on all that fn read, passed in or closed over. It is plain, numbers and arrays, if all arguments are
plain and nothing that fn's result was made from requires a gradient, but fn's own arguments. Else it consists of nodes,
connected to what was read, constants where nothing is; under `no_grad` it never is connected. So these functions nest:

>>> gradient(lambda x: x * gradient(lambda y: x * y)(2.0))(3.0)
6.0
>>> cube = lambda x: x**3
>>> gradient(cube)(2.0), gradient(gradient(cube))(2.0), gradient(gradient(gradient(cube)))(2.0)
(12.0, 12.0, 6.0)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property, wraps
from typing import Any

import numpy as np

from ..engine.graph import LEAF
from ..engine.modes import differentiating, enable_grad, is_grad_enabled, is_tracing, stand_in
from ..engine.rows import Row
from ..engine.value import Value
from ..engine.walk import along, clock, forward, seeded, short_cut, towards
from ..tensor.functions import stack
from ..tensor.tensor import Tensor

__all__ = ["gradient", "value_and_grad", "jacobian", "hessian", "hvp", "vjp", "jvp"]

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

    What fn read beside its arguments is found in the graph of its output. If a leaf there requires a gradient, be it a
    parameter or the input of a call around this one, the answers are nodes, connected to that leaf.
    """

    def __init__(
        self, fn: Callable, args: tuple[Any, ...], named: dict[str, Any], argnum: Any = None, has_aux: bool = False
    ):
        if not callable(fn):
            raise TypeError(f"found {type(fn).__name__} where a function is needed: grad(outputs, inputs) is for nodes")
        self.args: tuple[Any, ...] = args
        self.argnum, self.chosen = argnum, _chosen(args, argnum)
        self.recording, self.tracing, self.since = is_grad_enabled(), is_tracing(), next(clock)
        points = [x for x in leaves(args) if is_point(x)]
        self.has_nodes = self.tracing or any(map(_is_node, points))
        dtypes = [x.dtype for x in points if isinstance(x, (Tensor, np.ndarray))]
        self.dtype = np.result_type(*dtypes) if dtypes else None
        seen = [tree_map(self._node, x) for x in args]
        with nullcontext() if self.recording else enable_grad():
            for i in self.chosen:
                seen[i] = tree_map(lambda x: _fresh(x) if is_point(x) else x, seen[i])
            self.points = [_node_of(x) for i in self.chosen for x in leaves(seen[i]) if is_point(x)]
            self.own = [node for node in self.points if not node._row]
            with self._open():
                output = fn(*seen, **named)
        if has_aux and not (isinstance(output, tuple) and len(output) == 2):
            raise TypeError(f"has_aux=True needs a function that gives a pair (output, aux), found {output!r:.60}")
        output, self.aux = output if has_aux else (output, None)
        self.output = _output(output) if output is None else tree_map(lambda y: y if y is None else _output(y), output)

    def _node(self, x: Any) -> Any:
        """An argument as a node; what is no point stays."""
        if not is_point(x) or _is_node(x):
            return stand_in(x)
        alone = not isinstance(x, np.ndarray) and self.dtype is None
        node = Value(float(x), requires_grad=False) if alone else Tensor(x, dtype=getattr(x, "dtype", self.dtype))
        return stand_in(node)

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Inside, the inputs are leaves, which the calls inside of this one find; elsewhere copies of constants."""
        for node in self.own:
            node._row, node._a, node._x, node._y = LEAF, None, None, None
        try:
            with differentiating():
                yield
        finally:
            for node in self.own:
                _close(node)

    @cached_property
    def _way(self) -> tuple[list[Any], bool]:
        """The nodes from the inputs to what fn gave, and whether it read something else that requires a gradient."""
        roots = [_node_of(y) for y in leaves((self.output, self.aux)) if _requires_grad(y)]
        order, others = towards(roots, self.points, self.since)
        return order, not others.isdisjoint(roots)

    @property
    def create_graph(self) -> bool:
        """Are the answers nodes that can be differentiated? What `compile` traces always are: its ops are recorded."""
        return self.tracing or (self.recording and self._way[1])

    def answer(self, tree: Any) -> Any:
        """What fn gave, as nodes, or in the kind of the arguments; what is no node stays as it is."""
        if self.create_graph:
            return self._connected(tree)
        plain = (lambda y: y.detach()) if self.has_nodes else (lambda y: y.data[()] if _is_tensor(y) else y.data)
        return tree_map(lambda y: plain(y) if _is_node(y) else y, tree)

    def _connected(self, tree: Any) -> Any:
        """The tree; a node that leads to no leaf, but to inputs of this call alone, becomes a constant."""
        if self.tracing and self.recording:
            return tree
        roots = [_node_of(y) for y in leaves(tree) if _requires_grad(y)]
        others = towards(roots, (), self.since)[1] if self.recording else ()
        return tree_map(lambda y: y.detach() if _requires_grad(y) and _node_of(y) not in others else y, tree)

    def gradient(self, outputs: Any, seeds: Any = None) -> Any:
        """The gradients of the outputs' sum, weighted by the seeds (by default ones), in the form of the arguments."""
        ys = list(leaves(outputs))
        gs = [np.ones(y.shape) if _is_tensor(y) else 1.0 for y in ys] if seeds is None else list(leaves(seeds))
        if len(gs) != len(ys):
            raise ValueError(f"found {len(gs)} gradients for {len(ys)} outputs: each needs its own")
        create_graph = self.create_graph or self._recorded(gs)
        pairs = [(y, g) for y, g in zip(ys, gs, strict=True) if _requires_grad(y)]
        found = self._found(pairs, create_graph) if pairs else {}
        has_nodes = create_graph or self.has_nodes or any(map(_is_node, gs))
        parts = (_answer(node, found.get(node), has_nodes) for node in self.points)
        tree: Any = tuple(self._in_form(self.args[i], parts) for i in self.chosen)
        tree = self._connected(tree) if create_graph else tree
        return tree if isinstance(self.argnum, tuple) or len(tree) > 1 else tree[0]

    def _recorded(self, given: list[Any]) -> bool:
        """Is there one among the gradients (or tangents) given that the answer must lead back to?"""
        return is_grad_enabled() and any(map(_requires_grad, given))

    def _found(self, pairs: list[tuple[Any, Any]], create_graph: bool) -> dict[Any, Any]:
        """The gradients of the inputs, as far as there are any, from pairs (output, gradient)."""
        ys, gs = map(list, zip(*pairs, strict=True))
        grads = seeded(ys, gs, create_graph)
        try:
            order, read = self._way
            if create_graph:  # which may run functions of the user's again
                with self._open():
                    along(order, grads, self.points, create_graph)
            elif read or not short_cut(grads, self.points):
                along(order, grads, self.points, create_graph)
        except RuntimeError as error:
            if create_graph and not self.has_nodes:
                error.add_note("what the function reads requires a gradient; inside no_grad() the answer is plain")
            raise
        return {node: node._kept(grads, [node])[node] for node in self.points if node in grads}

    def _in_form(self, arg: Any, parts: Iterator[Any]) -> Any:
        """The gradients in the places of an argument; a float's is a float, even if fn saw a Tensor."""

        def part(x: Any) -> Any:
            g = next(parts) if is_point(x) else None
            return float(g) if isinstance(g, np.ndarray) and not isinstance(x, np.ndarray) else g

        return tree_map(part, arg)

    def push(self, tangents: Any) -> Any:
        """The tangents of what fn gave, from those of the arguments."""
        ts = [t for x, t in zip(leaves(self.args), leaves(tangents), strict=True) if is_point(x)]
        if any(t is None for t in ts):
            raise TypeError("found None as the tangent of a float, an array or a node: write zeros for one at rest")
        create_graph = self.create_graph or self._recorded(ts)
        given = {n: n._seed(t, create_graph) for n, t in zip(self.points, ts, strict=True)}
        with self._open(), enable_grad() if create_graph else nullcontext():
            found = forward(self._way[0], given, create_graph)
        has_nodes = create_graph or self.has_nodes or any(map(_is_node, ts))

        def tangent(y: Any) -> Any:
            if y is None:
                return None
            t = _answer(_node_of(y), found.get(_node_of(y)), has_nodes)
            return t[()] if isinstance(t, np.ndarray) else t

        tree = tree_map(tangent, self.output)
        return self._connected(tree) if create_graph else tree


def _chosen(args: tuple[Any, ...], argnum: Any) -> list[int]:
    """The places of the arguments that are differentiated."""
    with_points = [i for i, arg in enumerate(args) if any(map(is_point, leaves(arg)))]
    if argnum is None:
        if not with_points:
            kinds = ", ".join(type(x).__name__ for x in leaves(args)) or "none at all"
            raise TypeError(f"no argument is a float, a float array or a node; found {kinds}: write 2.0 for 2")
        return with_points
    chosen = [i + len(args) if i < 0 else i for i in (argnum if isinstance(argnum, tuple) else (argnum,))]
    for i in chosen:
        if i not in range(len(args)):
            raise IndexError(f"found argnum {argnum} for {len(args)} positional arguments")
        if i not in with_points:
            raise TypeError(f"argument {i} is no float, float array or node; found {args[i]!r:.60}: write 2.0 for 2")
    return chosen


def _fresh(x: Any) -> Any:
    """An input of a call. A node enters as a recorded copy: fn may close over x too, which is another matter."""
    if x.requires_grad:
        return copied(x)
    x = x.detach()
    x.requires_grad = True
    return x


def _close(node: Any) -> None:
    """Make a leaf the copy of a constant, which nobody who comes upon it takes for a parameter."""
    constant, data = node._constant(node._data), node._data
    node._row = copied
    if node._is_number:
        node._a, node._x, node._y = constant, data, data
    else:
        node._x, node._y = (constant,), [data, data]


def _answer(node: Any, g: Any, as_node: bool) -> Any:
    """A gradient (or a tangent) of the node: a number or an array of its own, or a node; None is zero."""
    if _is_node(g):
        return g
    if node._is_number:
        g = 0.0 if g is None else g
        return Value(g, requires_grad=False) if as_node else g
    g = np.zeros(node._data.shape, node._data.dtype) if g is None else np.array(g)
    return Tensor(g) if as_node else g


def _node_of(x: Any) -> Any:
    return x._node if _is_tensor(x) else x


def _is_node(x: Any) -> bool:
    return isinstance(x, (Value, Tensor))


def _requires_grad(x: Any) -> bool:
    return _is_node(x) and x.requires_grad


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _output(y: Any) -> Any:
    """What fn gave, as a node; a plain number or array is a constant."""
    if _is_node(y):
        return stand_in(y)
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
    def transformed(fn: Callable, *options: Any, **named: Any) -> Any:
        compiled = getattr(fn, "transformed", None)
        if compiled is None:
            return transform(fn, *options, **named)
        return compiled(lambda fn: transform(fn, *options, **named))

    return transformed


@_of_compiled
def gradient(fn: Callable, argnum: int | tuple[int, ...] | None = None, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives the gradient of fn; a result of several elements counts as their sum.

    Args:
        fn: a function of floats, arrays, Values or Tensors, that gives Values or Tensors.
        argnum: the place of the argument to differentiate by, or a tuple of such; by default all that can be.
        has_aux: fn gives a pair (output, aux), and the function (gradient, aux). aux is not differentiated.

    >>> gradient(lambda x, y: x * y)(2.0, 3.0)
    (3.0, 2.0)
    >>> gradient(lambda x, y: x * y, argnum=0)(2.0, 3.0)
    3.0
    >>> gradient(lambda x: (x * x).sum())(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> gradient(lambda xs: xs[0] * xs[1])([5.0, 7.0])
    [7.0, 5.0]
    """

    def gradient_of_fn(*args: Any, **named: Any) -> Any:
        call = Call(fn, args, named, argnum, has_aux)
        found = call.gradient(call.output)
        return (found, call.answer(call.aux)) if has_aux else found

    return gradient_of_fn


@_of_compiled
def value_and_grad(
    fn: Callable, argnum: int | tuple[int, ...] | None = None, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """The function that gives what fn gives, and the gradient, as a pair; with `has_aux` ((value, aux), gradient).

    >>> value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """

    def value_and_gradient_of_fn(*args: Any, **named: Any) -> tuple[Any, Any]:
        call = Call(fn, args, named, argnum, has_aux)
        value = call.answer(call.output)
        return (value, call.answer(call.aux)) if has_aux else value, call.gradient(call.output)

    return value_and_gradient_of_fn


def vjp(fn: Callable, *args: Any) -> tuple[Any, Callable[[Any], Any]]:
    """fn(*args), and the function that takes a gradient there back to the arguments (vector times jacobian).

    >>> value, back = vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> value, back(np.array([1.0, 10.0]))
    (array([1., 4.]), array([ 2., 40.]))
    """
    call = Call(fn, args, {})
    return call.answer(call.output), lambda g: call.gradient(call.output, g)


def jvp(fn: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """fn(*primals), and its derivative along the tangents (jacobian times vector), from one pass forward.

    Args:
        primals: the arguments of fn, as a tuple or list.
        tangents: how fast each of them moves, in the same form.

    >>> jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 10.0))
    (6.0, 23.0)
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(f"jvp takes a tuple of arguments and one of tangents, found {primals!r:.40}, {tangents!r:.40}")
    found, needed = len(list(leaves(tangents))), len(list(leaves(primals)))
    if found != needed:
        raise ValueError(f"found {found} tangents for {needed} arguments: each needs its own")
    call = Call(fn, tuple(primals), {})
    return call.answer(call.output), call.push(tangents)


@_of_compiled
def jacobian(fn: Callable, argnum: int | tuple[int, ...] | None = None) -> Callable[..., Any]:
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
        call = Call(fn, args, named, argnum)
        one = lambda y: _rows(call, y) if _is_tensor(y) else call.gradient(y)  # noqa: E731
        return tree_map(lambda y: y if y is None else one(y), call.output)  # None: a gradient by an integer

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
def hessian(fn: Callable, argnum: int | tuple[int, ...] | None = None) -> Callable[..., Any]:
    """The function that gives the second derivatives of fn: the jacobian of its gradient.

    >>> hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacobian(gradient(fn, argnum), argnum)


@_of_compiled
def hvp(fn: Callable, argnum: int | tuple[int, ...] | None = None) -> Callable[..., Any]:
    """The function of (arguments of fn, v) that gives hessian times v, at the cost of two gradients.

    v has the form of fn's gradient: bare for one argument, a tuple for several.

    >>> hvp(lambda x: (x**3).sum())(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """

    def hvp_of_fn(*args: Any, **named: Any) -> Any:
        call = Call(gradient(fn, argnum), args[:-1], named, argnum)
        return call.gradient(call.output, args[-1])

    return hvp_of_fn
