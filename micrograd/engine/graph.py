"""Graph nodes, and the gradients they send to their operands.

This file knows no calculus, and does not distinguish numbers from arrays. A node stores its operands, the `Row` of the
derivative table that produced it, and the values that the row saw. From these, `contributions` computes what the node
sends to each operand, given its own gradient; `walk.py` does that for a whole graph.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

from .grad_fn import GradFn
from .modes import is_anomaly_enabled, line_of_the_user, modes, no_grad
from .rows import HandWritten, LetGo, Many, Row, nothing

SLOTS = ("_data", "grad", "_row", "_a", "_b", "_x", "_y")  # what a node stores; see `Node`
LEAF = ()  # the `_row` of a parameter: a leaf that receives a gradient. Falsy, like None, the `_row` of a constant
_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


# ---------------------------------------------------------------------------------------------------------------------
# The node


class Node:
    """A number or an array, with the operation that produced it.

    `_row` says what kind of node it is: None for a constant, `LEAF` for a parameter, otherwise the row of the op. `_a`
    and `_b` are the operands, None where one was a plain number. `_x` and `_y` are the values that the rules are called
    with, saved from the forward pass: (out, a) for a unary row, (a, b) for a binary one. For an array node (see
    `tensor.node`), a `Many` row or a hand-written one, `_x` is the tuple of operands and `_y` has the values.
    """

    __slots__ = (*SLOTS, "__dict__", "__weakref__")

    _data: Any
    grad: Any
    _row: Any
    _a: Any
    _b: Any
    _x: Any
    _y: Any
    label: str = ""
    _hooks: dict[RemovableHandle, Callable[..., Any]] = {}
    _known_in: object = None  # the scope in which a transform's search found it to lead elsewhere; see `walk.towards`
    _made_by: tuple[Any, ...] = ()  # (*modules, inputs) if this is the output of a module's call; see `nn.module.sign`
    _made_at: str = "a line that ran outside of detect_anomaly"
    _own_closure: Callable[[], object] = staticmethod(nothing)  # assigned to a leaf; called if the leaf is the root

    def __init_subclass__(cls) -> None:
        if "__eq__" in cls.__dict__ or "__hash__" in cls.__dict__:
            raise TypeError(f"{cls.__name__} defines == or hash: nodes are told apart by identity, so leave these out")

    @property
    def requires_grad(self) -> bool:
        """True for a parameter and anything computed from one. Assign to it to freeze or unfreeze a leaf."""
        return self._row is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if self._row:
            raise RuntimeError(f"'{self._op}' made this node: only a leaf can be frozen; detach() gives a constant")
        self._row = LEAF if wanted else None

    @property
    def is_leaf(self) -> bool:
        """True for a node that no recorded operation produced: a parameter or a constant."""
        return not self._row

    @property
    def _op(self) -> str:
        return self._row.name if self._row else ""

    @property
    def _prev(self) -> tuple[Node, ...]:
        """The operands, in order, repeats and constants included."""
        row = self._row
        if not row:
            return ()
        if row.to_a is None:
            return self._x
        if self._a is None:  # a plain number: make its constant on first access, and reuse it
            self._a = self._constant(self._x)
        if row.to_b is None:
            return (self._a,)
        if self._b is None:
            self._b = self._constant(self._y)
        return (self._a, self._b)

    @property
    def _operands(self) -> tuple[Node | None, ...]:
        """The operands of an inner node, None for a plain number."""
        return self._x if self._row.to_a is None else (self._a, self._b)

    @property
    def grad_fn(self) -> GradFn | None:
        """A view of the op that made this node, as in PyTorch; None for a leaf."""
        return GradFn.of(self) if self._row else None

    @property
    def _backward(self) -> Callable[[], object]:
        """A closure that accumulates this node's gradient into its operands' `.grad`. Assign to it to replace it."""
        row = self._row
        if isinstance(row, HandWritten):
            return row.closure
        if not row:
            return self._own_closure
        return Closure.of(self)

    @_backward.setter
    def _backward(self, closure: Callable[[], object]) -> None:
        if not callable(closure):
            raise TypeError(f"_backward is a function without arguments, found {type(closure).__name__}")
        if hasattr(closure, "__code__") and closure.__code__.co_flags & _SUSPENDED:
            raise TypeError(
                "_backward is a function that runs when it is called, found one with `yield` or `async def`"
            )
        if not self._row:
            self._own_closure = closure
            return
        edges(self)  # raises if the graph was released
        self._hand_write(HandWritten(self._op, closure), self._prev)

    def realize(self) -> Self:
        """Compute a node that `lazy` deferred.

        Returns:
            self.
        """
        _ = self._data
        return self

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(gradient)` in every pass, once this node's gradient is complete and before it is accumulated.

        Args:
            hook: a function of the gradient. What it returns replaces the gradient, unless it is None.

        Returns:
            A handle whose `remove()` removes the hook.

        Raises:
            RuntimeError: the node is a constant.
            TypeError: `hook` is not a function.

        >>> from micrograd import Value
        >>> x = Value(3.0)
        >>> handle = x.register_hook(lambda g: g * 10)
        >>> (x * 2).backward()
        >>> x.grad
        20.0
        """
        if self._row is None:
            raise RuntimeError("a constant has no gradient to hook: make it with requires_grad=True")
        if not callable(hook):
            raise TypeError(f"a hook must be a function of the gradient, found {type(hook).__name__}")
        handle = RemovableHandle(self)
        self._hooks = {**self._hooks, handle: hook}
        hooked.add(weakref.ref(self, hooked.discard))
        return handle

    def _hand_write(self, row: HandWritten, operands: tuple[Any, ...]) -> None:
        """Give this node a hand-written row and its operands."""
        self._record(row, operands, None)

    def _record(self, row: Row, operands: Sequence[Any], values: Any) -> None:
        """Give this node a history: a row, the operands, and the values that the rules will be called with."""
        if row.to_a is None:
            self._a, self._b, self._x, self._y = None, None, operands, values
        else:
            self._a, self._b, (self._x, self._y) = operands[0], operands[1] if row.to_b else None, values
        self._row = row
        if modes and is_anomaly_enabled():
            self._made_at = line_of_the_user()

    # The interface between a kind of node and the walk

    _is_number = False  # True for Values: rules run on floats, and the graph is retained by default
    _saves = True  # False for a node without saved values: a graph of only such nodes is not released
    _retains_grad = True  # whether an inner node's gradient goes to its `.grad`
    _constant: Callable[[Any], Any]  # (data): a constant node of this kind
    _seed: Callable[[Any, bool], Any]  # (gradient, create_graph): the checked gradient of a root; None means 1
    _used: Callable[[bool], tuple]  # (create_graph): the operands, and the rules' arguments after g
    _ieee: Callable[..., Any]  # (rule, *numbers): the rule's result by IEEE 754, where Python's float would raise
    _quiet: Callable[[], Any] = nullcontext  # a context manager around a backward pass

    _as_it_was: Callable[[int, Any, Any], Any]  # (i, operand, value): argument i as a node; raises if it was changed

    def _as_nodes(self, seen: Sequence[Any]) -> list[Any]:
        """The arguments of the rules as nodes, for a pass that is recorded."""
        sources = (self, *self._operands) if self._row.of_out else self._operands
        pairs = zip(sources, seen, strict=False)  # a Value's second operand may be None
        return [x if n is None else self._as_it_was(i, n, x) for i, (n, x) in enumerate(pairs)]

    def _fit(self, part: Any) -> Any:
        """A gradient for this operand, reduced to its shape and dtype."""
        return part

    def _zero(self) -> Any:
        """The initial `.grad` that a hand-written closure adds to."""
        return 0

    def _check_unchanged(self) -> None:
        """Raise if an array that a hand-written closure may read was changed in place; Values are not checked."""

    def _as_now(self) -> Node:
        """A copy of this node, unaffected by later changes to it."""
        twin = object.__new__(type(self))
        for name in SLOTS:
            setattr(twin, name, getattr(self, name))
        return twin

    def _plus(self, grad: Any, g: Any, ours: bool = False) -> Any:
        """The sum of two gradients of this node; recorded only if the second is a node.

        With `ours` the first is a sum made by this pass, and may be overwritten.
        """
        if hasattr(grad, "_apply") and not hasattr(g, "_apply"):
            with no_grad():
                return grad + g
        return grad + g

    def _for_hook(self, g: Any) -> Any:
        """The gradient as it is passed to a hook."""
        return g

    def _for_grad(self, grads: dict[Node, Any], inputs: Sequence[Node] | None) -> dict[Node, Any]:
        """The gradients of a pass that go to `.grad`: all of them, or those of the inputs."""
        return grads if inputs is None else {node: grads[node] for node in inputs if node in grads}

    def _let_go(self) -> None:
        """Release the node's history and saved values; a `LetGo` row remembers which leaves it led to."""
        ways = [
            n._row if n._row.__class__ is LetGo else n for n in self._operands if n is not None and n._row is not None
        ]
        self._row = LetGo(self._row, ways)
        self._a = self._b = self._y = None
        self._x = ()
        if self._made_by:
            self._made_by = ()


def is_node(x: Any) -> bool:
    """True for a Value or a Tensor. (A Tensor has a node; importing its class would load NumPy.)"""
    return isinstance(x, Node) or hasattr(type(x), "_node")


def node_of(x: Any) -> Any:
    """The node of a Tensor; anything else is returned unchanged."""
    return x._node if hasattr(type(x), "_node") else x


hooked: set[weakref.ref[Node]] = set()  # the nodes that have hooks


def hooked_nodes() -> set[Node]:
    """The nodes that have hooks."""
    return {node for ref in hooked.copy() if (node := ref()) is not None} if hooked else set()


# Held while writing to `.grad` of nodes that other threads may share.
grads_lock: AbstractContextManager[Any] = threading.RLock()


def undo(nodes: list[Node], before: list[Any], slot: str = "grad") -> None:
    """Restore what the nodes had in a slot. After an interrupt it starts over."""
    try:
        for node, x in zip(nodes, before, strict=False):  # an interrupt may have left one more in `before`
            setattr(node, slot, x)
    except BaseException:
        undo(nodes, before, slot)
        raise


class Closure:
    """The `_backward` of an inner node: it accumulates the node's gradient into its operands' `.grad`.

    >>> from micrograd import Value
    >>> a, b = Value(2.0), Value(3.0)
    >>> (a * b)._backward
    <_backward of '*': a.grad += g * b; b.grad += g * a>
    """

    _made: weakref.WeakValueDictionary[int, Closure] = weakref.WeakValueDictionary()

    def __init__(self, node: Node):
        self._node = node
        self._then = node._as_now()  # a copy, since a closure that replaces this one may still call it

    @classmethod
    def of(cls, node: Node) -> Closure:
        """This node's closure: the same object while it is referenced and the node's row is unchanged."""
        closure = cls._made.get(id(node))
        if closure is None or closure._then._row is not node._row:
            closure = cls._made[id(node)] = cls(node)
        return closure

    def __call__(self) -> None:
        _accumulate(self._then, self._node.grad)

    def __repr__(self) -> str:
        from ..viz.rule_text import statements  # imported on demand: only readers need rules as text

        done = "its graph was released" if isinstance(self._then._row, LetGo) else statements(self._then)
        return f"<_backward of '{self._then._op}': {done}>"


class RemovableHandle:
    """Returned by `register_hook`; `remove()` removes the hook."""

    def __init__(self, node: Node):
        self._node = weakref.ref(node)

    def remove(self) -> None:
        """Remove the hook. A second call does nothing."""
        node = self._node()
        if node is not None:
            node._hooks = {handle: hook for handle, hook in node._hooks.items() if handle is not self}
            if not node._hooks:
                hooked.discard(weakref.ref(node))


# ---------------------------------------------------------------------------------------------------------------------
# The gradients that a node sends to its operands


def edges(node: Node) -> Sequence[Node]:
    """The operands that receive a gradient from the node, one entry for each that is sent."""
    row = node._row
    if isinstance(row, LetGo):
        raise was_let_go(row)
    operands = dict.fromkeys(node._x) if isinstance(row, HandWritten) else node._operands
    return [n for n in operands if n is not None and n._row is not None]


def was_let_go(row: LetGo) -> RuntimeError:
    """The error for a pass through a node whose graph was released."""
    return RuntimeError(
        f"the graph behind '{row.name}' was released by an earlier backward pass: pass retain_graph=True to that one"
    )


def contributions(node: Node, g: Any, create_graph: bool = False) -> list[tuple[Node, Any]]:
    """The gradients that the node sends to its operands, given its own gradient `g`: pairs (operand, gradient)."""
    row = node._row
    if not row.rules and not isinstance(row, Many):
        return _run_closure(node, g, create_graph)
    operands, values = node._used(create_graph)
    if not row.rules:  # a single one, for all operands
        parts = zip(operands, row.rule(g, *values), strict=True)
        return [(n, n._fit(part)) for n, part in parts if n is not None and n._row is not None and part is not None]
    pairs = []
    for i, rule in row.rules:
        operand = operands[i]
        if operand is not None and operand._row is not None:
            try:
                part = rule(g, *values)
            except (ZeroDivisionError, OverflowError):  # of Python's floats alone
                part = node._ieee(rule, g, *values)
            pairs.append((operand, operand._fit(part)))
    return pairs


def _run_closure(node: Node, g: Any, create_graph: bool) -> list[tuple[Node, Any]]:
    """Run a hand-written `_backward` with its operands' grads zeroed, and return what it added to them.

    All grads are restored afterwards. The closure reads and writes `.grad`, which other threads' passes commit to:
    hence the lock.
    """
    operands = edges(node)
    if create_graph:
        raise RuntimeError(
            f"create_graph=True needs the derivative of '{node._op}' as a row: its _backward was written by hand"
        )
    node._check_unchanged()
    nodes = [node, *node._x]
    with grads_lock:
        before = [n.grad for n in nodes]
        try:
            node.grad = node._for_hook(g)
            for n in node._x:
                n.grad = n._zero()
            node._row.closure()
            parts = [(n, _left_in_grad(n, node)) for n in operands]
            undo(nodes, before)
            return parts
        except BaseException as error:
            undo(nodes, before)
            error.add_note(f"in the _backward written for '{node._op}'")
            raise


def _left_in_grad(operand: Node, node: Node) -> Any:
    """The gradient that a closure left in an operand's `.grad`; TypeError if it is not a gradient."""
    try:
        if operand.grad is not None:
            return operand._seed(operand.grad, False)
    except TypeError:
        pass
    raise TypeError(
        f"the _backward written for '{node._op}' left {type(operand.grad).__name__} {operand.grad!r:.40} in .grad of "
        f"an operand: it should add the operand's gradient there"
    )


def run_hooks(node: Node, g: Any) -> Any:
    """Call the node's hooks in order; returns the gradient, replaced if a hook returned another."""
    for hook in node._hooks.values():
        replaced = hook(node._for_hook(g))
        if replaced is not None:
            g = node._seed(replaced, hasattr(g, "_apply"))
    return g


def added(node: Node, g: Any) -> Any:
    """node.grad + g; just g if the grad is still unset (None, or a Value's integer 0), so that no node is added."""
    grad = node.grad
    return g if grad is None or (grad.__class__ is int and grad == 0) else node._plus(grad, g)


def _accumulate(node: Node, g: Any) -> None:
    """Accumulate the node's contributions into its operands' `.grad`, without sharing arrays among them."""
    for operand, part in contributions(node, g):
        operand.grad = added(operand, node._for_grad({node: g, operand: part}, None)[operand])
