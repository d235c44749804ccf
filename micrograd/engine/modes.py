"""Modes: whether ops record a graph, whether backward checks for NaN, and what intercepts ops in `lazy` and `compile`.

Each is a context variable, so a mode holds for the current thread or task only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ContextDecorator, contextmanager, suppress
from contextvars import ContextVar, Token
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from linecache import getline
from types import FrameType
from typing import Any, Self, TypeVar, overload

Function = TypeVar("Function", bound=Callable)

# One entry for each mode that is on, in any context. The hot paths only test whether the list is empty, which takes a
# fifth of the time of reading a context variable.
modes: list[object] = []


class _State:
    """What a context variable holds while a mode is on: its value, and the enclosing state.

    `entered` is False for the state set by `set_grad_enabled(False)` outside of any mode, which has none to return to.
    It is counted in `modes` for its lifetime, not until the mode is left: a task started inside the mode has a copy of
    the context, where the mode stays on.
    """

    __slots__ = ("entered", "outer", "value")

    def __init__(self, value: Any, outer: _State | None, entered: bool = True):
        modes.append(None)
        self.value, self.entered, self.outer = value, entered, outer

    def __del__(self, pop: Callable = modes.pop) -> None:
        if hasattr(self, "outer"):  # else a Ctrl-C came before it was counted; one too many is harmless, one less not
            pop()


_recording: ContextVar[_State | None] = ContextVar("recording", default=None)
_checking: ContextVar[_State | None] = ContextVar("checking", default=None)
_scopes: ContextVar[tuple[object, ...]] = ContextVar("scopes", default=(object(),))  # the last: outside of transforms
running: list[None] = []  # one entry for each transform that is running a function, in any thread
deferring: ContextVar[_State | None] = ContextVar("deferring", default=None)
_hiding: ContextVar[_State | None] = ContextVar("hiding", default=None)
evaluating: ContextVar[_State | None] = ContextVar("evaluating", default=None)


class Mode(ContextDecorator):
    """A context manager that sets a context variable; also a decorator of functions, generators and coroutines."""

    _variable: ContextVar[_State | None]
    _value: Any

    @overload
    def __new__(cls) -> Self: ...

    @overload
    def __new__(cls, fn: Function) -> Function: ...

    def __new__(cls, fn: Callable | None = None) -> Any:
        """A mode; or, as a bare decorator (`@no_grad`), the decorated function."""
        mode = super().__new__(cls)
        return mode if fn is None else mode(fn)

    def __enter__(self) -> None:
        self._variable.set(_State(self._value, self._variable.get()))

    def __exit__(self, *_: object) -> None:
        state = self._variable.get()
        if state is None or not state.entered:
            raise RuntimeError(f"{type(self).__name__} was exited without having been entered")
        self._variable.set(state.outer)

    def __call__(self, fn: Function) -> Function:
        return self._around(fn)

    def _around(self, fn: Callable) -> Any:
        if not callable(fn):
            raise TypeError(f"{type(self).__name__} decorates a function, found {type(fn).__name__}")
        if isasyncgenfunction(fn):
            raise TypeError(f"{fn.__name__} is an async generator: write `with {type(self).__name__}():` inside it")
        if isgeneratorfunction(fn):

            @wraps(fn)
            def resumed(*args: Any, **kwargs: Any) -> Generator:
                return (yield from _Inside(self, fn(*args, **kwargs)))

            return resumed
        if iscoroutinefunction(fn):

            @wraps(fn)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await fn(*args, **kwargs)

            return awaited
        return super().__call__(fn)


class _Inside(Generator):
    """A generator that runs inside a mode, which is off while the caller runs."""

    def __init__(self, mode: Mode, generator: Generator):
        self.mode, self.generator = mode, generator

    def send(self, value: Any) -> Any:
        with self.mode:
            return self.generator.send(value)

    def throw(self, *error: Any) -> Any:  # type: ignore[override]
        with self.mode:
            return self.generator.throw(*error)


class no_grad(Mode):
    """Context manager or decorator: operations record no graph, and their results are constants.

    Args:
        fn: the function to decorate; nothing in a `with`.

    >>> from micrograd import Value, no_grad
    >>> w = Value(3.0)
    >>> with no_grad():
    ...     y = w * 2
    >>> y.requires_grad
    False
    """

    _variable, _value = _recording, False


class enable_grad(Mode):
    """Context manager or decorator: operations record a graph, even inside `no_grad`.

    Args:
        fn: the function to decorate; nothing in a `with`.

    >>> from micrograd import Value, enable_grad, no_grad
    >>> x = Value(3.0)
    >>> with no_grad(), enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    _variable, _value = _recording, True


class set_grad_enabled(Mode):
    """Switch recording on or off: from now on, inside a `with`, or in a decorated function.

    Args:
        mode: whether operations record a graph.

    Raises:
        TypeError: `mode` is not a bool.

    Called as a plain function, it holds in this thread or task until the next such call, or until the enclosing `with`
    ends.

    >>> from micrograd import is_grad_enabled, set_grad_enabled
    >>> with set_grad_enabled(False):
    ...     is_grad_enabled()
    False
    >>> is_grad_enabled()
    True
    """

    _variable = _recording

    def __new__(cls, mode: bool) -> Self:
        return object.__new__(cls)

    def __init__(self, mode: bool):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled takes True or False, found {type(mode).__name__} {mode!r:.50}")
        self._value, now = mode, _recording.get()
        if now is None or not now.entered:
            state = None if mode else _State(mode, None, entered=False)
        else:
            state = _State(mode, now.outer)
        self._called: tuple[_State | None, Token] | None = state, _recording.set(state)

    def __enter__(self) -> None:
        self._take_back()
        super().__enter__()

    def __call__(self, fn: Function) -> Function:
        self._take_back()
        return super().__call__(fn)

    def _take_back(self) -> None:
        """Undo the effect of the plain call, if it is still in effect: it was meant for a `with` or a function."""
        called, self._called = self._called, None
        if called is not None and _recording.get() is called[0]:
            with suppress(ValueError):  # the call was made in another thread or task: nothing to undo in this one
                _recording.reset(called[1])


class detect_anomaly(Mode):
    """Context manager or decorator: a backward pass that produces a NaN raises, naming the line of the forward pass.

    Run forward and backward inside it. It is slow, so use it for debugging only.

    Args:
        fn: the function to decorate; nothing in a `with`.

    Raises:
        RuntimeError: in the backward pass, when a rule returns a NaN.

    >>> from micrograd import Value, detect_anomaly
    >>> x = Value(0.0)
    >>> with detect_anomaly():
    ...     (x * x.log()).backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    RuntimeError: the backward of 'log' produced a nan for its operand Value(data=0.0, grad=0)...
    """

    _variable, _value = _checking, True


class in_use(Mode):
    """All modules are in evaluation mode, and none is changed; see `nn.module.Module.training`."""

    _variable, _value = evaluating, True


def _now(variable: ContextVar[_State | None], default: Any) -> Any:
    """The value of the innermost mode of this kind, or the default outside of all."""
    state = variable.get()
    return default if state is None else state.value


def is_grad_enabled() -> bool:
    """True if operations record a graph, as they do outside of `no_grad` and `set_grad_enabled(False)`.

    >>> from micrograd import is_grad_enabled, no_grad
    >>> with no_grad():
    ...     is_grad_enabled()
    False
    """
    return _now(_recording, True)


def is_anomaly_enabled() -> bool:
    """True inside `detect_anomaly`, but not in a trace, which has no numbers to check."""
    return _now(_checking, False) and not is_tracing()


def deferred() -> Callable | None:
    """The function `(row, operands)` that runs instead of each op, in `lazy` and while `compile` traces; else None."""
    return _now(deferring, None)


@contextmanager
def differentiating() -> Iterator[None]:
    """Context in which a transform runs the function that it differentiates: a scope, inside those that are open."""
    token = _scopes.set((object(), *_scopes.get()))
    running.append(None)
    try:
        yield
    finally:
        running.pop()
        _scopes.reset(token)


def open_scopes() -> tuple[object, ...]:
    """The scopes of the transforms that are running, innermost first, and one outside of them all.

    Empty if they all run in other threads: a graph from there may lead to their inputs, which are leaves for a while.
    """
    scopes = _scopes.get()
    return scopes if len(scopes) > 1 or not running else ()


def is_differentiating() -> bool:
    """True inside a function that a transform such as `gradient` differentiates."""
    return len(_scopes.get()) > 1


def pass_is_watched() -> bool:
    """True if a pass needs the general path: it checks for NaN, or ops are deferred or traced."""
    return is_anomaly_enabled() or deferred() is not None


def is_tracing() -> bool:
    """True while `compile` traces a function on symbols, which have no values."""
    return bool(modes) and hasattr(deferred(), "stand_in")


def stand_in(x: Any) -> Any:
    """The symbol for a node from outside of the traced function, while `compile` traces; otherwise x itself."""
    return deferred().stand_in(x) if is_tracing() else x  # type: ignore[union-attr]


class hidden(Mode):
    """Context in which `look` refuses nodes that require a gradient, and these: derivatives would miss what it reads.

    Args:
        nodes: more nodes whose numbers must not be read; None ends an enclosing `hidden`.
    """

    _variable = _hiding

    def __new__(cls, nodes: Sequence[Any] | None) -> Self:
        """The mode for these nodes."""
        mode = object.__new__(cls)
        mode._value = nodes
        return mode


def look(node: Any) -> Any:
    """A node's data, to be read or written.

    Raises while `compile` traces, since the program would hold it as a constant, and inside `hidden`.
    """
    if is_tracing():
        deferred().refuse()  # type: ignore[union-attr]
    others = _now(_hiding, None)
    if others is not None and (node._row is not None or any(node is x for x in others)):
        raise RuntimeError(
            "create_graph=True and jvp: this backward reads the numbers in a node, which would be frozen in "
            "derivatives; write it with ops on g and on saved nodes"
        )
    return node._data


def frame_of_the_user() -> FrameType:
    """The innermost frame of the stack outside of this package."""
    frame = sys._getframe(1)
    here = os.path.dirname(os.path.dirname(__file__)) + os.sep  # the package
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    return frame


def line_of_the_user() -> str:
    """The innermost line of the stack outside of this package: file, line number and text."""
    frame = frame_of_the_user()
    name, line = frame.f_code.co_filename, frame.f_lineno
    return f"{name}:{line}: {getline(name, line).strip()}"
