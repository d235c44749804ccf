"""Modes: whether operations record a graph, and whether a backward pass looks for NaN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import wraps
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import Any

# The modes that are on, in whatever thread. The hot paths ask only whether the list is empty, which costs a fifth of
# asking a context variable.
modes: list[object] = []

# Each holds (value, the pair outside of it), so that a mode object needs no state and may be nested and shared.
_recording: ContextVar[tuple[bool, Any]] = ContextVar("recording", default=(True, None))
_checking: ContextVar[tuple[bool, Any]] = ContextVar("checking", default=(False, None))


class _Mode:
    """A context manager, and a decorator of functions, generators and coroutines, that sets a context variable."""

    _variable: ContextVar[tuple[bool, Any]]
    _value: bool

    def __new__(cls, fn: Callable | None = None) -> Any:
        """A mode, or where it stands as a bare decorator (`@no_grad`) the decorated function."""
        mode = super().__new__(cls)
        return mode if fn is None else mode(fn)

    def __enter__(self) -> None:
        self._variable.set((self._value, self._variable.get()))
        modes.append(self)

    def __exit__(self, *_: object) -> None:
        modes.pop()
        self._variable.set(self._variable.get()[1])

    def __call__(self, fn: Callable) -> Callable:
        if not callable(fn):
            raise TypeError(f"{type(self).__name__} decorates a function, found {type(fn).__name__}")
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


class detect_anomaly(_Mode):
    """Inside, a backward pass that makes a NaN raises, and names the line of the forward pass that is behind it.

    Forward and backward must both run inside. It is slow: find the error, then take it out.

    >>> from micrograd import Value, detect_anomaly
    >>> x = Value(0.0)
    >>> with detect_anomaly():
    ...     (x * x.log()).backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    RuntimeError: the backward of 'log' made a nan for its operand 0...
    """

    _variable, _value = _checking, True


def is_grad_enabled() -> bool:
    """True where operations record a graph: everywhere but inside `no_grad`."""
    return _recording.get()[0]


def is_anomaly_enabled() -> bool:
    """True inside `detect_anomaly`."""
    return _checking.get()[0]
