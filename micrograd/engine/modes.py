"""Modes: whether ops are recorded, and what runs instead of an op.

Each is a context variable, so it holds for the current thread or task only. A mode that runs instead of ops is an
`Interceptor`, which is also told when a number is read or about to change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import Any
from weakref import ref

# One entry for each mode that is on, in any thread. The fast paths only test whether the set is empty, which takes a
# fifth of the time of reading a context variable.
modes_on: set[ref[State]] = set()


class State:
    """What a context variable holds while a mode is on: its value, and the state around it.

    It is an entry of `modes_on` as long as it lives, which may be longer than the `with`, in a task started inside.
    """

    def __init__(self, value: Any, outer: Any):
        self.value: Any = value
        self.outer: Any = outer
        modes_on.add(ref(self, modes_on.discard))  # the entry goes when the state does


class OpState(State):
    """The state of how ops run: whether they are recorded, and what runs instead of them."""

    def __init__(self, records: bool, instead: Any, outer: OpState | None):
        super().__init__(None, outer)
        self.records: bool = records
        self.instead: Any = instead  # an `Interceptor`, or None


Variable = ContextVar[State | None]
how: ContextVar[OpState | None] = ContextVar("how ops run", default=None)
reading: Variable = ContextVar("reading", default=None)  # a function that may refuse that a node's number is read
on_change: list[Callable[..., None]] = []  # functions to call with nodes whose numbers are about to change


def value_of(variable: Variable, default: Any = None) -> Any:
    """The value of the innermost mode that sets this variable, or the default outside of all."""
    state = variable.get()
    return default if state is None else state.value


def is_grad_enabled() -> bool:
    """True if operations record a graph, as they do outside of `no_grad`.

    Use it in an operation of your own that saves something for the backward pass.

    >>> with no_grad():
    ...     is_grad_enabled()
    False
    """
    state = how.get()
    return state is None or state.records


def interceptor() -> Any:
    """The interceptor of the innermost mode that sets one, or None."""
    state = how.get()
    return None if state is None else state.instead


def interceptors() -> Iterator[Any]:
    """Those of all modes that set one, the innermost first."""
    state, last = how.get(), None
    while state is not None:
        if state.instead is not None and state.instead is not last:
            last = state.instead
            yield last
        state = state.outer


class Interceptor:
    """What runs instead of each op while a mode is on. A mode overrides what it needs; here, nothing is changed."""

    def __call__(self, row: Any, operands: Any) -> Any:
        """Run an op, here as it runs outside of this mode."""
        now: Any = how.get()
        outside = now  # the state around those that this interceptor set, or None
        while outside is not None and outside.instead is self:
            outside = outside.outer
        instead = None if outside is None else outside.instead
        try:
            how.set(OpState(now.records, instead, outside))
            return row(*operands)
        finally:
            how.set(now)

    def recorded(self, node: Any) -> None:
        """A node got a history."""

    def read(self, node: Any) -> None:
        """The number of a node is about to be read. Raise to refuse that."""

    def look(self, node: Any, requires_grad: bool) -> None:
        """The shape of a node is about to be read, or whether it requires a gradient."""

    def freeze(self, node: Any) -> None:
        """Whether a node requires a gradient is about to be set. Raise to refuse that."""

    def backward(self) -> None:
        """A backward pass is about to start. Raise to refuse that."""

    # ---- what the packages above the engine tell: a mode of theirs listens

    traces = False  # True if the ops compute symbols, which have no numbers

    def seen(self, x: Any) -> Any:
        """The node that a function sees in place of x."""
        return x

    def meets_arrays(self, x: Any) -> bool:
        """True if a Tensor takes the Value x as an operand."""
        return False

    def crossed(self, x: Any) -> Any:
        """The node that a function sees in place of x, a new Tensor made from a Value or a new Value from a Tensor."""
        return x

    def verify(self, x: Any, rule: Callable[[Any], object]) -> None:
        """Call rule(x), which raises if x is wrong."""
        rule(x)

    def asked(self, inputs: Any) -> None:
        """Gradients were computed with respect to these inputs."""

    def own_op(self, name: str) -> None:
        """An op that its user wrote is about to run. Raise to refuse that."""

    def draw(self) -> None:
        """Random numbers are about to be drawn. Raise to refuse that."""

    def change(self, what: str) -> None:
        """A setting is about to change. Raise to refuse that."""

    def scores(self, loss: str, scores: Any) -> None:
        """The loss of this name was computed of these scores."""

    def step(self, optimizer: Any) -> None:
        """An optimizer is about to update its parameters."""

    def scaled(self, params: Any, factor: float) -> None:
        """The gradients of these parameters were multiplied by a factor."""


_ORDINARY = Interceptor()


def listener() -> Interceptor:
    """The interceptor of the innermost mode, or one that changes nothing: tell it what is about to happen."""
    return (interceptor() or _ORDINARY) if modes_on else _ORDINARY


def tell(message: str, *about: Any) -> None:
    """Tell the interceptors of all modes, each once, the innermost first, up to a trace, which has no numbers."""
    if modes_on:
        for mode in dict.fromkeys(interceptors()):
            getattr(mode, message)(*about)
            if mode.traces:
                return


# ---- the doors: call one of these before you read or change what a node holds


def before_read(node: Any) -> None:
    """The number of a node is about to be read, or written: a mode may refuse that."""
    listener().read(node)
    if refuse := value_of(reading):
        refuse(node)


def before_look(node: Any, requires_grad: bool = False) -> None:
    """The shape of a node is about to be read, or whether it requires a gradient."""
    listener().look(node, requires_grad)


def before_change(*nodes: Any) -> None:
    """The numbers of nodes are about to change, or an array is handed out that the caller may write to."""
    if modes_on:
        for node in nodes:
            before_read(node)
    for prepare in on_change:
        prepare(*nodes)


def before_freeze(node: Any) -> None:
    """Whether a node requires a gradient is about to be set."""
    listener().freeze(node)
    for prepare in on_change:
        prepare(node)


def tell_recorded(node: Any) -> None:
    """A node got a history: tell the interceptors."""
    for mode in interceptors():
        mode.recorded(node)


SUSPENDED = 0x20 | 0x80 | 0x200  # flags of the code of a function with `yield` or `async def`, as in `inspect`


def is_suspended(function: Any) -> bool:
    """True for a generator or a coroutine, whose body does not run when the function is called."""
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & SUSPENDED)


class Mode(ContextDecorator):
    """A context manager, or a decorator of functions, that sets a context variable. It may be entered again inside."""

    variable: Any
    value: Any

    def __new__(cls, fn: Callable | None = None) -> Any:
        """A mode; or, as a bare decorator (`@no_grad`), the decorated function."""
        mode: Any = object.__new__(cls)
        return mode if fn is None else mode(fn)

    def __call__(self, fn: Any) -> Any:
        kind = type(self).__name__
        if not callable(fn):
            raise TypeError(f"{kind} decorates a function, found {type(fn).__name__}")
        if is_suspended(fn):
            raise TypeError(
                f"{kind} does not decorate a function with `yield` or `async def`, such as {fn.__name__}: write "
                f"`with {kind}():` inside it, around lines without a `yield`"
            )
        return super().__call__(fn)

    def _state(self, outer: Any) -> State:
        """What the variable holds inside, given what it held before."""
        return State(self.value, outer)

    def __enter__(self) -> None:
        outer = self.variable.get()
        try:
            self.variable.set(self._state(outer))
        except BaseException:  # a Ctrl-C after the mode was set: the `with` does not begin, and so would not end it
            self.variable.set(outer)
            raise

    def __exit__(self, *_: object) -> None:
        state = self.variable.get()
        if type(state) not in (State, OpState):
            raise RuntimeError(f"{type(self).__name__} was exited without having been entered")
        self.variable.set(state.outer)


class Recording(Mode):
    """A mode in which ops are recorded, or not, as `value` says."""

    variable = how

    def _state(self, outer: OpState | None) -> State:
        return OpState(self.value, None if outer is None else outer.instead, outer)


class Intercepting(Mode):
    """A mode in which `value`, an `Interceptor`, runs instead of each op; None ends an enclosing one.

    A trace goes on inside, since there are no numbers that another interceptor could look at.
    """

    variable = how

    def _state(self, outer: OpState | None) -> State:
        instead: Any = self.value
        now = None if outer is None else outer.instead
        if now is not None and now.traces and instead is not None and not instead.traces:
            instead = now
        return OpState(outer is None or outer.records, instead, outer)


class no_grad(Recording):
    """Context manager or decorator inside which operations record no graph.

    Use it for predictions, measurements and updates of parameters, which need no gradient. It saves time and memory.

    Args:
        fn: the function to decorate, or nothing in a `with`.

    >>> from micrograd.engine import Value
    >>> w = Value(3.0)
    >>> with no_grad():
    ...     y = w * 2
    >>> y.requires_grad
    False
    """

    value = False


class enable_grad(Recording):
    """Context manager or decorator inside which operations record a graph, even inside `no_grad`.

    Use it for a gradient that is needed in the middle of an evaluation.

    Args:
        fn: the function to decorate, or nothing in a `with`.

    >>> from micrograd.engine import Value
    >>> x = Value(3.0)
    >>> with no_grad(), enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    value = True
