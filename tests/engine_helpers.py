"""What several tests of the engine use."""

from __future__ import annotations

from collections.abc import Callable

from micrograd import Value


class Boom(Exception):
    """Raised where users' code raises."""


def raising(error: BaseException) -> Callable:
    """A hook that raises."""

    def hook(g: float) -> None:
        raise error

    return hook


def square(x: Value, cls: type[Value] = Value) -> Value:
    """An op from outside, written as the classic's are."""
    out = cls(x.data * x.data, (x,), "square")

    def _backward():
        x.grad += 2 * x.data * out.grad

    out._backward = _backward
    return out


def recorded() -> bool:
    """Is what is computed here recorded? Asked of the ops themselves."""
    return (Value(1.0) * 2).requires_grad
