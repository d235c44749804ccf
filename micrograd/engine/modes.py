"""Modes: whether ops are recorded, and what runs instead of an op.

Each is a context variable, so it holds for the current thread or task only.
"""

from __future__ import annotations

from collections.abc import Callable
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

    def __init__(self, value: Any, outer: State | None):
        self.value: Any = value
        self.outer: State | None = outer
        modes_on.add(ref(self, modes_on.discard))


Variable = ContextVar[State | None]
recording: Variable = ContextVar("recording", default=None)
intercept: Variable = ContextVar("intercept", default=None)  # a function (row, operands) -> node


def value_of(variable: Variable, default: Any = None) -> Any:
    """The value of the innermost mode that sets this variable, or the default outside of all."""
    state = variable.get()
    return default if state is None else state.value


def interceptor() -> Callable[..., Any] | None:
    """The function (row, operands) -> node that runs instead of each op, or None."""
    return value_of(intercept)


class Mode(ContextDecorator):
    """A context manager, or a decorator of functions, that sets a context variable. It may be entered again inside."""

    variable: Variable
    value: Any

    def __enter__(self) -> None:
        self.variable.set(State(self.value, self.variable.get()))

    def __exit__(self, *_: object) -> None:
        state = self.variable.get()
        if type(state) is not State:
            raise RuntimeError(f"{type(self).__name__} was exited without having been entered")
        self.variable.set(state.outer)


class no_grad(Mode):
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

    variable = recording
    value = False


class enable_grad(Mode):
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

    variable = recording
    value = True


def is_grad_enabled() -> bool:
    """True if operations record a graph, as they do outside of `no_grad`.

    Use it in an operation of your own that saves something for the backward pass.

    >>> with no_grad():
    ...     is_grad_enabled()
    False
    """
    return value_of(recording, True)
