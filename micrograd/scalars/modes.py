"""One more mode: `set_grad_enabled`, which is also a function."""

from __future__ import annotations

from contextlib import suppress
from contextvars import Token
from typing import Any, Self

from ..engine.modes import OpState, Recording, how


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
