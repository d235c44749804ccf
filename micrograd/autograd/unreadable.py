"""Nodes whose numbers cannot be read.

Some code must compute on nodes alone: what it read as a number would be a constant to whatever differentiates or
compiles it. It receives nodes of a class with this mixin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any


def reading(what: str) -> Any:
    """A method or an accessor that raises what the node's `_unreadable(what)` returns."""

    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        raise self._unreadable(what)

    return refuse


class Unreadable:
    """A Value or a Tensor on which every way to read a number raises."""

    __slots__ = ()
    _unreadable: Callable[[str], Exception]  # (what was read): the error

    if not TYPE_CHECKING:  # which sees the methods that these replace
        data = property(reading(".data"), reading(".data"))
        item = numpy = tolist = argmax = argmin = __array__ = reading("a number")
        __bool__ = reading("a condition (`if`, `while`, `and`, `max`, `sorted`)")
        __float__ = __int__ = __index__ = __round__ = reading("a number (float, int, round, an index)")
