"""More on modes: decorators of generators and coroutines, and `set_grad_enabled`, which is also a function."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ContextDecorator, suppress
from contextvars import Token
from functools import wraps
from typing import Any, Self

from ..engine.modes import Mode, OpState, Recording, how
from .kinds import attach

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # flags of a code object, as in `inspect`
SUSPENDED: int = _GENERATOR | _COROUTINE | _ASYNC_GENERATOR


def flags_of(function: Any) -> int:
    """Which of these a function is, whose body a call does not run; 0 for others."""
    return getattr(getattr(function, "__code__", None), "co_flags", 0) & SUSPENDED


@attach(Mode)
class _Decorator:
    def __new__(cls, fn: Callable | None = None) -> Any:
        """A mode; or, as a bare decorator (`@no_grad`), the decorated function."""
        mode: Any = object.__new__(cls)
        return mode if fn is None else mode(fn)

    def __call__(self: Any, fn: Callable[..., Any]) -> Any:
        kind = type(self).__name__
        if not callable(fn):
            raise TypeError(f"{kind} decorates a function, found {type(fn).__name__}")
        if (flags := flags_of(fn)) & _ASYNC_GENERATOR:
            raise TypeError(f"{fn.__name__} is an async generator: write `with {kind}():` inside it")
        if flags & _GENERATOR:

            @wraps(fn)
            def resumed(*args: Any, **kwargs: Any) -> Generator:
                return (yield from _Inside(self, fn(*args, **kwargs)))

            return resumed
        if flags & _COROUTINE:

            @wraps(fn)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await fn(*args, **kwargs)

            return awaited
        return ContextDecorator.__call__(self, fn)


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


class _Called(OpState):
    """The state that `set_grad_enabled(False)` sets outside of any mode: there is none to return to."""


class set_grad_enabled(Recording):
    """Switch recording on or off, from now on, inside a `with`, or in a decorated function.

    Use it where a variable says whether to record. Otherwise `no_grad` is clearer.

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

    def __new__(cls, mode: bool) -> Self:
        return object.__new__(cls)

    def __init__(self, mode: bool):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled takes True or False, found {type(mode).__name__} {mode!r:.50}")
        self.value = mode
        now = how.get()
        if now is None or isinstance(now, _Called):
            state = None if mode else _Called(mode, None, None)
        else:
            state = OpState(mode, now.instead, now.outer)
        self._called: tuple[OpState | None, Token] | None = state, how.set(state)

    def __enter__(self) -> None:
        self._take_back()
        super().__enter__()

    def __call__(self, fn: Any) -> Any:
        self._take_back()
        return super().__call__(fn)

    def _take_back(self) -> None:
        """Undo the effect of the plain call, if it is still in effect: it was meant for a `with` or a function."""
        called, self._called = self._called, None
        if called is not None and how.get() is called[0]:
            with suppress(ValueError):  # the call was made in another thread or task: nothing to undo in this one
                how.reset(called[1])
