"""Nodes whose numbers cannot be read.

Some code must compute on nodes alone: what it read as a number would be a constant to whatever differentiates or
compiles it. It receives nodes of a class with this mixin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def reading(what: str) -> Any:
    """A method or an accessor that raises what the node's `_unreadable(what)` returns."""

    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        raise self._unreadable(what)

    return refuse


class Unreadable:
    """A Value or a Tensor on which every way to read a number raises."""

    __slots__ = ()
    _unreadable: Callable[[str], Exception]  # (what was read): the error


# Set here and not in the class's body, so that type checkers see the methods that these replace
setattr(Unreadable, "data", property(reading(".data"), reading(".data")))  # noqa: B010
for _what, _names in {
    "a number": "item numpy tolist argmax argmin __array__",
    "a condition (`if`, `while`, `and`, `max`, `sorted`)": "__bool__",
    "a number (float, int, round, an index)": "__float__ __int__ __index__ __round__",
}.items():
    for _name in _names.split():
        setattr(Unreadable, _name, reading(_what))
