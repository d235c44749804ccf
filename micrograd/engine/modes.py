"""Modes: whether operations record a graph, and whether a backward pass looks for NaN."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from linecache import getline
from typing import Any, Self, TypeVar, overload

Function = TypeVar("Function", bound=Callable)

# One entry for each mode that is on, in whatever context. The hot paths ask only whether the list is empty, which costs
# a fifth of asking a context variable.
modes: list[object] = []


class _State:
    """What a context variable holds while a mode is on: its value, and the state outside of it.

    It counts itself in `modes` for as long as it lives: a task that was started inside a mode keeps a copy of the
    context, and with it the mode, when the mode has ended for others.
    """

    __slots__ = ("outer", "value")

    def __init__(self, value: Any, outer: _State | None):
        modes.append(None)
        self.value, self.outer = value, outer

    def __del__(self, pop: Callable = modes.pop) -> None:
        if hasattr(self, "outer"):  # else a Ctrl-C came before it was counted; one too many is harmless, one less not
            pop()


class _Base(_State):
    """What `set_grad_enabled(False)` leaves where no mode is on around it: there is nothing to go back to."""

    __slots__ = ()


_recording: ContextVar[_State | None] = ContextVar("recording", default=None)
_checking: ContextVar[_State | None] = ContextVar("checking", default=None)
_differentiating: ContextVar[bool] = ContextVar("differentiating", default=False)
deferring: ContextVar[_State | None] = ContextVar("deferring", default=None)


class _Mode:
    """A context manager, and a decorator of functions, generators and coroutines, that sets a context variable."""

    _variable: ContextVar[_State | None]
    _value: Any

    @overload
    def __new__(cls) -> Self: ...

    @overload
    def __new__(cls, fn: Function) -> Function: ...

    def __new__(cls, fn: Callable | None = None) -> Any:
        """A mode, or where it stands as a bare decorator (`@no_grad`) the decorated function."""
        mode = super().__new__(cls)
        return mode if fn is None else mode(fn)

    def __enter__(self) -> None:
        self._variable.set(_State(self._value, self._variable.get()))

    def __exit__(self, *_: object) -> None:
        state = self._variable.get()
        if state is None or isinstance(state, _Base):
            raise RuntimeError(f"{type(self).__name__} was left without having been entered")
        self._variable.set(state.outer)

    def __call__(self, fn: Function) -> Function:
        return self._around(fn)

    def _around(self, fn: Callable) -> Any:
        if not callable(fn):
            raise TypeError(f"{type(self).__name__} decorates a function, found {type(fn).__name__}")
        if isasyncgenfunction(fn):
            raise TypeError(f"{fn.__name__} is an async generator: write `with {type(self).__name__}():` inside of it")
        if isgeneratorfunction(fn):
            return _around_generator(self, fn)
        if iscoroutinefunction(fn):

            @wraps(fn)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await fn(*args, **kwargs)

            return awaited

        @wraps(fn)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fn(*args, **kwargs)

        return called


def _around_generator(mode: _Mode, fn: Callable) -> Callable:
    """The mode is on while the generator runs, and off while its caller does."""

    @wraps(fn)
    def resumed(*args: Any, **kwargs: Any) -> Iterator:
        generator = fn(*args, **kwargs)
        resume, message = generator.send, None
        try:
            while True:
                with mode:
                    item = resume(message)
                message = None
                try:
                    resume, message = generator.send, (yield item)
                except GeneratorExit:
                    raise
                except BaseException as error:  # whatever the caller throws in is the generator's to catch
                    resume, message = generator.throw, error
        except StopIteration as stop:
            return stop.value
        finally:
            with mode:
                generator.close()

    return resumed


class no_grad(_Mode):
    """Inside, operations record no graph: their results are constants.

    >>> from micrograd import Value, no_grad
    >>> w = Value(3.0)
    >>> with no_grad():
    ...     y = w * 2
    >>> y.requires_grad
    False
    """

    _variable, _value = _recording, False


class enable_grad(_Mode):
    """Inside, operations record a graph, also where `no_grad` is on around it."""

    _variable, _value = _recording, True


class set_grad_enabled(_Mode):
    """Operations record a graph, or with False none: from now on, inside a `with`, or in a decorated function.

    Called as a plain function it holds until the next such call, or until the `with` around it ends; in this thread
    or task alone.

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
        if now is None or isinstance(now, _Base):
            state = None if mode else _Base(mode, None)
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
        """Undo what the call alone has done, if it still stands, since it was meant for a `with` or a function."""
        called, self._called = self._called, None
        if called is not None and _recording.get() is called[0]:
            with suppress(ValueError):  # another thread or task has made the call: there is nothing to undo here
                _recording.reset(called[1])


class detect_anomaly(_Mode):
    """Inside, a backward pass that makes a NaN raises, and names the line of the forward pass that is behind it.

    Forward and backward must both run inside. It is slow: find the error, then take it out.

    >>> from micrograd import Value, detect_anomaly
    >>> x = Value(0.0)
    >>> with detect_anomaly():
    ...     (x * x.log()).backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    RuntimeError: the backward of 'log' made a nan for its operand Value(data=0.0, grad=0)...
    """

    _variable, _value = _checking, True


def is_grad_enabled() -> bool:
    """True where operations record a graph: everywhere but inside `no_grad` and its like."""
    state = _recording.get()
    return state is None or state.value


def is_anomaly_enabled() -> bool:
    """True inside `detect_anomaly`."""
    state = _checking.get()
    return state is not None and state.value


def deferred() -> Callable | None:
    """What stands in for computing, `(row, operands)`, inside `lazy_mode.lazy`; None elsewhere."""
    state = deferring.get()
    return None if state is None else state.value


@contextmanager
def differentiating() -> Iterator[None]:
    """Inside, a transform runs the function that it differentiates."""
    token = _differentiating.set(True)
    try:
        yield
    finally:
        _differentiating.reset(token)


def is_differentiating() -> bool:
    """True in a function that `gradient` or its like differentiates."""
    return _differentiating.get()


def pass_is_watched() -> bool:
    """True where a pass does more than to compute: it looks for NaN, or something stands in for computing."""
    return is_anomaly_enabled() or deferred() is not None


def is_tracing() -> bool:
    """True while `compile` runs a function on symbols: there are no numbers to look at."""
    return bool(modes) and hasattr(deferred(), "stand_in")


def stand_in(x: Any) -> Any:
    """What takes the place of a node from outside while `compile` traces; elsewhere x itself."""
    return deferred().stand_in(x) if is_tracing() else x  # type: ignore[union-attr]


def look(node: Any) -> Any:
    """A node's data, for whoever reads or writes it; raises while `compile` traces, whose program would freeze it."""
    if is_tracing():
        deferred().refuse()  # type: ignore[union-attr]
    return node._data


def line_of_the_user() -> str:
    """Where the innermost frame outside of this package stands: file, line and text."""
    frame = sys._getframe(1)
    here = os.path.dirname(os.path.dirname(__file__)) + os.sep  # the package
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    name, line = frame.f_code.co_filename, frame.f_lineno
    return f"{name}:{line}: {getline(name, line).strip()}"
