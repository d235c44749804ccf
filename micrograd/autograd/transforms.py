"""Function transforms: `gradient(fn)` is the function that computes fn's gradients, and so on.

    gradient(fn)(x)           d fn / d x, with the structure of x
    value_and_grad(fn)(x)     fn(x) and the gradient, from one pass
    jacobian(fn)(x)           a gradient for each element of fn(x)
    hessian(fn)(x)            the Jacobian of the gradient
    hvp(fn)(x, v)             Hessian-vector product, without forming the Hessian
    vjp(fn, x)                fn(x), and the function that maps a gradient at fn(x) back to x
    jvp(fn, (x,), (v,))       fn(x), and its derivative along v

Every positional argument that is a float, a float array, a Value, a float Tensor, or a list, tuple or dict containing
any of these, is differentiated, unless `argnum` selects the arguments. One such argument gives a bare gradient, several
give a tuple. Integers, bools, strings and arrays of them are passed on unchanged, as are keyword arguments. A compiled
function sees an integer as a number, which is not differentiated either.

fn receives floats as Values and arrays as Tensors. If an array or a Tensor is among the arguments, floats become
Tensors of shape (), so that they can be combined in one op.

The result depends on everything that fn reads, whether passed in or closed over. It is plain (numbers and arrays) if
all arguments are plain and fn's output depends on no node that requires a gradient, except fn's own arguments.
Otherwise it consists of nodes, which are connected to the nodes that fn read or, under `no_grad`, are constants. So
transforms nest:

>>> gradient(lambda x: x * gradient(lambda y: x * y)(2.0))(3.0)
6.0
>>> cube = lambda x: x**3
>>> gradient(cube)(2.0), gradient(gradient(cube))(2.0), gradient(gradient(gradient(cube)))(2.0)
(12.0, 12.0, 6.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

from ..common.trees import leaves, refilled, tree_map
from ..engine.modes import enable_grad, is_grad_enabled
from ..engine.node import MANY
from ..engine.rows import LEAF
from ..engine.value import Value
from ..scalars.kinds import differentiating, hidden, is_node, is_tracing, node_of, traced
from ..scalars.ops import copied
from ..scalars.passes import run_pass, topological
from ..scalars.roots import checked_gradients
from ..tensor.optional import Tensor, np, stack, wrap

__all__ = ["gradient", "value_and_grad", "jacobian", "hessian", "hvp", "vjp", "jvp"]

# ---------------------------------------------------------------------------------------------------------------------
# Arguments and results

ONES = object()  # stands for gradients of 1 at the outputs
Argnum = int | tuple[int, ...] | None  # indices of the arguments to differentiate; None for all that can be


def is_point(x: Any) -> bool:
    """True if x can be differentiated with respect to: a Value, a float, or a float array or Tensor."""
    if getattr(x, "_of_integers", False):
        return False
    if isinstance(x, (Tensor, np.ndarray)):
        return x.dtype.kind == "f"
    return isinstance(x, (Value, float, np.floating))


class _Call:
    """One call of fn: its arguments as fresh nodes, its output, and the gradients.

    `inputs` are the nodes of the numbers and arrays by which fn is differentiated, and `new_leaves` those inputs that
    are not copies of nodes with a history.

    The graph of the output shows which nodes fn reads besides its arguments. If a leaf there requires a gradient, be it
    a parameter or the input of an enclosing call, the results are nodes connected to that leaf.
    """

    def __init__(
        self, fn: Callable, args: tuple[Any, ...], named: dict[str, Any], argnum: Argnum = None, has_aux: bool = False
    ):
        if not callable(fn):
            raise TypeError(f"found {type(fn).__name__} where a function is needed: grad(outputs, inputs) is for nodes")
        self.args = args
        self.argnum = argnum
        self.chosen = _chosen(args, argnum)
        self.recording = is_grad_enabled()
        self.tracing = is_tracing()
        points = [x for x in leaves(args) if is_point(x)]
        self.has_nodes = self.tracing or any(map(is_node, points))
        dtypes = [x.dtype for x in points if isinstance(x, (Tensor, np.ndarray))]
        self.dtype = np.result_type(*dtypes) if dtypes else None
        with enable_grad():
            as_nodes = [tree_map(partial(self._node, fresh=i in self.chosen), arg) for i, arg in enumerate(args)]
        self.inputs = [node_of(x) for i in self.chosen for x in leaves(as_nodes[i]) if is_point(x)]
        self.new_leaves = [node for node in self.inputs if not node._row]
        with enable_grad(), self._open():
            output = fn(*as_nodes, **named)
        if has_aux and not (isinstance(output, tuple) and len(output) == 2):
            raise TypeError(f"has_aux=True needs a function that returns a pair (output, aux), found {output!r:.60}")
        output, self.aux = output if has_aux else (output, None)
        self.output = tree_map(_output, output)
        if output is None:
            raise TypeError(
                "a function to differentiate returns Values or Tensors, found NoneType None: a return is missing"
            )
        # True if fn read a node that requires a gradient and is not among its arguments
        self.connected = self.tracing or (self.recording and bool(_from_leaves((self.output, self.aux))))

    def _node(self, x: Any, fresh: bool) -> Any:
        """An argument as fn receives it: a node if it can be differentiated, a fresh one if `argnum` has chosen it."""
        if is_point(x) and not is_node(x):
            no_arrays = self.dtype is None
            x = Value(float(x), requires_grad=False) if no_arrays else Tensor(x, dtype=getattr(x, "dtype", self.dtype))
        return _fresh(traced(x)) if fresh and is_point(x) else traced(x)

    @contextmanager
    def _open(self) -> Iterator[None]:
        """A context in which the new leaves are leaves, which nested calls find. Outside, they are copied constants."""
        with differentiating():
            for node in self.new_leaves:
                node._row, node._a, node._b, node._x, node._y = LEAF, MANY, (), None, None
            try:
                yield
            finally:
                for node in self.new_leaves:  # else a later call would take them for parameters
                    data = node._data
                    node._record(copied, (node._constant(data),), [data, data])

    def _records(self, seeds: Sequence[Any] = ()) -> bool:
        """True if the results are differentiable nodes, as they always are while `compile` traces.

        Their history leads to the nodes that fn read, and to the seeds: the gradients or tangents passed in.
        """
        return self.connected or (is_grad_enabled() and any(map(_requires_grad, seeds)))

    def answer(self, tree: Any, seeds: Sequence[Any] = ()) -> Any:
        """The tree with its nodes as results: plain data if all arguments and seeds are plain, else nodes.

        A node that depends on inputs of this call only, and on no leaf, becomes a constant.
        """
        if self.tracing and self.recording:
            return tree
        connected = self._records(seeds)
        as_nodes = connected or self.has_nodes or any(map(is_node, seeds))
        from_leaves = _from_leaves(tree) if connected and self.recording else ()

        def answered(y: Any) -> Any:
            if not is_node(y):
                return y
            if not as_nodes:
                return y.data[()] if isinstance(y, Tensor) else y.data
            return y if connected and (node_of(y) in from_leaves or not y.requires_grad) else detached(y)

        return tree_map(answered, tree)

    def gradient(self, outputs: Any, seeds: Any = ONES) -> Any:
        """The gradients of the sum of outputs * seeds (by default ones), with the structure of the arguments."""
        ys = list(leaves(outputs))
        gs = [np.ones(y.shape) if isinstance(y, Tensor) else 1.0 for y in ys] if seeds is ONES else list(leaves(seeds))
        if len(gs) != len(ys):
            raise ValueError(f"found {len(gs)} gradients for {len(ys)} outputs: each output needs one gradient")
        pairs = [*zip(ys, gs, strict=True)]
        if any(y is not None and g is None for y, g in pairs):
            raise TypeError("found None as the gradient of an output: write zeros for one that does not count")
        gradients = self._run([pair for pair in pairs if _requires_grad(pair[0])], self._records(gs))
        results = iter(self.answer([_as_node(node, gradients.get(node)) for node in self.inputs], gs))

        def result(x: Any) -> Any:
            g = next(results) if is_point(x) else None
            # The gradient of a float is a float, even if fn saw a Tensor.
            return float(g) if isinstance(g, np.generic) and not isinstance(x, np.ndarray) else g

        tree: Any = tuple(tree_map(result, self.args[i]) for i in self.chosen)
        return tree if isinstance(self.argnum, tuple) or len(tree) > 1 else tree[0]

    def _run(self, pairs: list[tuple[Any, Any]], create_graph: bool) -> dict[Any, Any]:
        """The gradients of the inputs that have one, from pairs (output, gradient)."""
        if not pairs:
            return {}
        roots = [node_of(y) for y, _ in pairs]
        seeds = checked_gradients(roots, [g for _, g in pairs], create_graph)
        try:
            with self._open():  # since the rule of a `Function` may call transforms
                return run_pass(roots, seeds, create_graph, self.inputs)[1]
        except RuntimeError as error:
            if create_graph and not self.has_nodes:
                error.add_note("the function reads nodes that require a gradient; inside no_grad() the answer is plain")
            raise

    def tangents(self, directions: Any) -> Any:
        """The tangents of fn's output, given the tangents of the arguments.

        A backward pass is a linear map from the gradients at the output to those at the inputs. This method records the
        pass on nodes in place of the gradients at the output. A backward pass through the record is the transposed map,
        which takes tangents forward.
        """
        ts = [traced(t) for x, t in zip(leaves(self.args), leaves(directions), strict=True) if is_point(x)]
        if any(t is None for t in ts):
            raise TypeError("found None as the tangent of a float, an array or a node: write zeros for a constant")
        create_graph = self._records(ts)
        gradient_at = {y: _leaf_like(getattr(y, "tensor", y)) for y in _roots(self.output)}
        seeds = [*gradient_at.values()]
        with self._open(), enable_grad():
            gradients = run_pass([*gradient_at], seeds, create_graph, self.inputs)[1] if seeds else {}
            gs = [gradients.get(node) for node in self.inputs]
            pairs = [*filter(lambda pair: _requires_grad(pair[0]), zip(gs, ts, strict=True))]
            roots = [node_of(g) for g, _ in pairs]
            inner_seeds = checked_gradients(roots, [t for _, t in pairs], create_graph)
            tangents = run_pass(roots, inner_seeds, create_graph, [*map(node_of, seeds)])[1] if roots else {}

        def tangent(y: Any) -> Any:
            return None if y is None else _as_node(node_of(y), tangents.get(node_of(gradient_at.get(node_of(y)))))

        return self.answer(tree_map(tangent, self.output), ts)


def _chosen(args: tuple[Any, ...], argnum: Argnum) -> list[int]:
    """The indices of the arguments that are differentiated."""
    with_points = [i for i, arg in enumerate(args) if any(map(is_point, leaves(arg)))]
    if argnum is None:
        if not with_points:
            # While `compile` traces, an integer is a symbol.
            names = ["int" if hasattr(x, "_of_integers") else type(x).__name__ for x in leaves(args)]
            types = ", ".join(names) or "none at all"
            raise TypeError(f"no argument is a float, a float array or a node; found {types}: write 2.0 for 2")
        return with_points
    chosen = [i + len(args) if i < 0 else i for i in (argnum if isinstance(argnum, tuple) else (argnum,))]
    for i in chosen:
        if i not in range(len(args)):
            raise IndexError(f"found argnum {argnum} for {len(args)} positional arguments")
        if i not in with_points:
            raise TypeError(
                f"argument {i} must be a float, float array or node, found {args[i]!r:.60}: write 2.0 for 2"
            )
    return chosen


def _fresh(x: Any) -> Any:
    """The input of a call in place of x: a recorded copy of a node with a history, since fn may also close over x.

    The input for an object of a user's class has the class and the attributes of x.
    """
    fresh = copied(x) if x.requires_grad else _leaf_like(x)
    if not all(cls.__module__.startswith("micrograd.") for cls in type(x).__mro__[:-1]):
        if type(fresh) is not type(x):  # an op on Tensors makes a Tensor
            fresh = wrap(fresh._node, type(x))
        vars(fresh).update((name, attribute) for name, attribute in vars(x).items() if name[0] != "_")
    return fresh


def detached(x: Any) -> Any:
    """A node as a constant, also where numbers are hidden, since the callers use it in no derivative."""
    with hidden(None):
        return x.detach()


def _leaf_like(x: Any) -> Any:
    leaf = detached(x)
    leaf.requires_grad = True
    return leaf


def _roots(tree: Any) -> list[Any]:
    """The nodes of the tree that require a gradient."""
    return [node_of(y) for y in leaves(tree) if _requires_grad(y)]


def _from_leaves(tree: Any) -> set[Any]:
    """The nodes below the tree that were computed from a leaf: a parameter, or an input of an enclosing call."""
    reached: set[Any] = set()
    for node in topological(_roots(tree)):
        if node._row is LEAF or not reached.isdisjoint(node._operands):
            reached.add(node)
    return reached


def _as_node(node: Any, g: Any) -> Any:
    """The gradient or tangent g of the node, or zeros for None, as a node that shares no memory with others."""
    if is_node(g):
        return g
    if node._is_number:
        return Value(0.0 if g is None else g, requires_grad=False)
    return Tensor(np.zeros(node._data.shape, node._data.dtype) if g is None else g)


def _requires_grad(x: Any) -> bool:
    return is_node(x) and x.requires_grad


def _output(y: Any) -> Any:
    """An output of fn as a node. A plain number or array becomes a constant; None is the gradient by an integer."""
    if y is None:
        return None
    if is_node(y):
        return traced(y)
    if isinstance(y, np.ndarray):
        return Tensor(y)
    if isinstance(y, (int, float, np.number)):
        return Value(float(y), requires_grad=False)
    raise TypeError(f"a function to differentiate returns Values or Tensors, found {type(y).__name__} {y!r:.60}")


# ---------------------------------------------------------------------------------------------------------------------
# The transforms


class Transformable:
    """Base class of functions whose transforms are separate, such as compiled functions."""

    __slots__ = ()

    def transformed(self, transform: Callable) -> Any:
        """The `gradient`, or another transform, of this function."""
        raise NotImplementedError


def _of_compiled(transform: Callable) -> Any:
    """Wrap a transform so that, applied to a compiled function, it returns a compiled function."""

    @wraps(transform)
    def transformed(fn: Callable, *options: Any, **named: Any) -> Any:
        if not isinstance(fn, Transformable):
            return transform(fn, *options, **named)
        return fn.transformed(lambda fn: transform(fn, *options, **named))

    return transformed


@_of_compiled
def gradient(fn: Callable, argnum: Argnum = None, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of fn.

    Use it where the derivative itself is wanted as a function, rather than `.grad` of parameters.

    Args:
        fn: function of floats, arrays, Values or Tensors, or lists, tuples and dicts of them, returning Values or
            Tensors. An output with several elements counts as their sum.
        argnum: index of the argument to differentiate, or a tuple of indices, by default every argument that can be.
        has_aux: True if fn returns a pair (output, aux), of which aux is not differentiated.

    Returns:
        Function of fn's arguments that returns the gradient, with the structure and shapes of the argument, in a tuple
        if there are several or `argnum` is a tuple. With `has_aux` it returns (gradient, aux).

    Raises:
        TypeError: (when called) no argument can be differentiated, or fn returns something other than numbers or nodes.
        IndexError: (when called) `argnum` is out of range.

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
        call = _Call(fn, args, named, argnum, has_aux)
        gradients = call.gradient(call.output)
        return (gradients, call.answer(call.aux)) if has_aux else gradients

    return gradient_of_fn


@_of_compiled
def value_and_grad(fn: Callable, argnum: Argnum = None, has_aux: bool = False) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes fn and its gradient in one pass.

    Use it where a loop needs the loss and its gradient, such as an optimizer of another library.

    Args:
        fn, argnum, has_aux: as for `gradient`.

    Returns:
        Function of fn's arguments that returns (value, gradient), or ((value, aux), gradient) with `has_aux`.

    Raises:
        TypeError, IndexError: as for `gradient`.

    >>> value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """

    def value_and_gradient_of_fn(*args: Any, **named: Any) -> tuple[Any, Any]:
        call = _Call(fn, args, named, argnum, has_aux)
        value = call.answer(call.output)
        return (value, call.answer(call.aux)) if has_aux else value, call.gradient(call.output)

    return value_and_gradient_of_fn


def vjp(fn: Callable, *args: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Vector-Jacobian product in reverse mode, with the incoming gradient supplied later.

    Use it where one forward pass is followed by backward passes with several gradients.

    Args:
        fn: as for `gradient`.
        *args: the arguments of fn.

    Returns:
        Pair (fn(*args), back). `back(g)` takes a gradient with the structure and shapes of fn's output, and returns
        that of the arguments: bare for one argument, a tuple for several.

    Raises:
        TypeError: no argument can be differentiated.
        TypeError: (from `back`) g is None, or contains it.
        ValueError: (from `back`) g has more or fewer leaves than fn's output.

    >>> value, back = vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> value, back(np.array([1.0, 10.0]))
    (array([1., 4.]), array([ 2., 40.]))
    """
    call = _Call(fn, args, {})
    return call.answer(call.output), lambda g: call.gradient(call.output, g)


def jvp(fn: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Jacobian-vector product, fn(*primals) and its derivative along the tangents.

    Use it for a function of few inputs with many outputs, or for the derivative in one direction.

    Args:
        fn: as for `gradient`.
        primals: the arguments of fn, as a tuple or list.
        tangents: the direction, one tangent for each primal, of its structure and shape.

    Returns:
        Pair (value, tangent), both with the structure and shape of fn's output.

    Raises:
        TypeError: `primals` or `tangents` is not a tuple or list, or no primal can be differentiated.
        ValueError: there are more or fewer tangents than primals.

    >>> jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 10.0))
    (6.0, 23.0)
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(f"jvp takes a tuple of arguments and one of tangents, found {primals!r:.40}, {tangents!r:.40}")
    n, needed = len(list(leaves(tangents))), len(list(leaves(primals)))
    if n != needed:
        raise ValueError(f"found {n} tangents for {needed} arguments: each argument needs one tangent")
    call = _Call(fn, tuple(primals), {})
    return call.answer(call.output), call.tangents(tangents)


@_of_compiled
def jacobian(fn: Callable, argnum: Argnum = None) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of fn, one backward pass for each output element.

    Use it for a function with several outputs, each of which has a gradient.

    Args:
        fn, argnum: as for `gradient`.

    Returns:
        Function of fn's arguments. For an output of shape (m, ...) and an argument of shape (n, ...) it returns shape
        (m, ..., n, ...). Each element of an output list is replaced by its gradients. Several arguments give a tuple.

    Raises:
        TypeError, IndexError: as for `gradient`.
        ValueError: (when called) the output has no elements.

    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> jacobian(lambda xs: [xs[0] * xs[1], xs[0]])([2.0, 3.0])
    [[3.0, 2.0], [1.0, 0.0]]
    """

    def jacobian_of_fn(*args: Any, **named: Any) -> Any:
        call = _Call(fn, args, named, argnum)
        return tree_map(partial(_gradients, call), call.output)

    return jacobian_of_fn


def _gradients(call: _Call, y: Any) -> Any:
    """The gradient of an output; of a Tensor, the gradients of its elements, stacked."""
    if y is None:  # the gradient by an integer, in a Hessian
        return None
    if not isinstance(y, Tensor):
        return call.gradient(y)
    if not y.size:
        raise ValueError(f"a result of shape {y.shape} has no elements, and so no jacobian")
    rows = [call.gradient(y, seed) for seed in np.eye(y.size).reshape(y.size, *y.shape)]

    def stacked(column: tuple[Any, ...]) -> Any:
        if column[0] is None:
            return None
        block = stack(column).reshape((*y.shape, *getattr(column[0], "shape", ())))
        return block if isinstance(block, Tensor) else block[()]  # a number if the shape is ()

    return refilled(rows[0], map(stacked, zip(*map(leaves, rows), strict=True)))


@_of_compiled
def hessian(fn: Callable, argnum: Argnum = None) -> Callable[..., Any]:
    """Return a function that computes the Hessian of fn, as the Jacobian of its gradient.

    Use it for the curvature of a function of few numbers.

    Args:
        fn, argnum: as for `gradient`. An output with several elements counts as their sum.

    Returns:
        Function of fn's arguments, of shape (n, ..., n, ...) for one argument of shape (n, ...), or nested tuples.

    Raises:
        TypeError, IndexError: as for `gradient`.

    >>> hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacobian(gradient(fn, argnum), argnum)


@_of_compiled
def hvp(fn: Callable, argnum: Argnum = None) -> Callable[..., Any]:
    """Return a function that computes Hessian-vector products, at the cost of about two gradients.

    Use it where the Hessian itself would be too large, as in Newton's method for many parameters. The Hessian is never
    formed, since the dot product of fn's gradient with v is differentiated (compare Pearlmutter, 1994).

    Args:
        fn, argnum: as for `gradient`.

    Returns:
        Function of (*arguments of fn, v), where v has the structure and shapes of fn's gradient (bare for one argument,
        a tuple for several), as has the result.

    Raises:
        TypeError, IndexError: as for `gradient`, and also if v is None, or contains it.
        ValueError: (when called) v has more or fewer leaves than the gradient.

    >>> hvp(lambda x: (x**3).sum())(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """

    def hvp_of_fn(*args: Any, **named: Any) -> Any:
        call = _Call(gradient(fn, argnum), args[:-1], named, argnum)
        return call.gradient(call.output, args[-1])

    return hvp_of_fn
