"""Questions that other files ask about an object: is it a node? May its number be read now? Is `compile` tracing?"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import Any

from ..engine.modes import Mode, Variable, before_look, before_read, listener, modes_on, reading, value_of
from ..engine.value import Node


class _Annotated:
    a: int


# What Python puts into a class; some of these only where they are asked for
_OF_ANY_CLASS = {*vars(_Annotated), "__annotations__", "__annotations_cache__", "__slots__"}


def is_node(x: Any) -> bool:
    """True for a Value or a Tensor. (A Tensor has a node; importing its class would load NumPy.)"""
    return isinstance(x, Node) or hasattr(type(x), "_node")


def node_of(x: Any) -> Any:
    """The node of a Tensor; anything else is returned unchanged."""
    return x._node if hasattr(type(x), "_node") else x


def plain(x: Any) -> Any:
    """The number or the array of a node; anything else is returned unchanged."""
    node = node_of(x)
    return node._data if isinstance(node, Node) else x


def is_tracing() -> bool:
    """True while `compile` traces a function on symbols, which have no values."""
    return bool(modes_on) and listener().traces


def traced(x: Any) -> Any:
    """The symbol for a node from outside of the traced function, while `compile` traces; otherwise x itself."""
    return listener().seen(x) if modes_on else x


def verify(x: Any, rule: Callable[[Any], object]) -> None:
    """Call rule(x), which raises if x is wrong. While `compile` traces, x may have no value: each call verifies it."""
    listener().verify(x, rule)


def watched(x: Any, requires_grad: bool = False) -> Any:
    """The node, after the modes were told that its shape, or its `requires_grad`, is about to be read."""
    before_look(x, requires_grad)
    return x


class differentiating(Mode):
    """Context in which a transform such as `gradient` runs the function that it differentiates."""

    variable: Variable = ContextVar("differentiating", default=None)
    value = True


def is_differentiating() -> bool:
    """True inside a function that a transform differentiates."""
    return value_of(differentiating.variable, False)


class hidden(Mode):
    """Context in which reading the number of a node that requires a gradient raises.

    The number would enter a result as a constant, and its derivative would be lost.

    Args:
        nodes: more nodes whose numbers must not be read; None ends an enclosing `hidden`.
    """

    variable = reading

    def __new__(cls, nodes: Sequence[Any] | None) -> Any:
        """The mode for these nodes."""
        return object.__new__(cls)

    def __init__(self, nodes: Sequence[Any] | None):
        self.nodes = nodes
        self.value: Any = None if nodes is None else self._refuse

    def _refuse(self, node: Any) -> None:
        if node._row is not None or any(node is x for x in self.nodes or ()):
            raise RuntimeError(
                "create_graph=True and jvp: this backward reads the numbers in a node, which would be frozen in "
                "derivatives; write it with ops on g and on saved nodes"
            )


def read_data(node: Any) -> Any:
    """A node's data. Raises where the number would be frozen: while `compile` traces, and inside `hidden`."""
    if modes_on:
        before_read(node)
    return node._data


def attach(target: type) -> Callable[[type], type]:
    """Class decorator: give the members of the class to the target, a class of the engine."""

    def give(cls: type) -> type:
        for name, member in vars(cls).items():
            if name not in _OF_ANY_CLASS:
                setattr(target, name, member)
        return cls

    return give


def frame_of_the_user() -> FrameType:
    """The innermost frame of the stack outside of this package."""
    frame = sys._getframe(1)
    here = os.path.dirname(os.path.dirname(__file__)) + os.sep  # the package
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    return frame


def line_of_the_user() -> str:
    """The innermost line of the stack outside of this package: file, line number and text."""
    from linecache import getline  # here, since it is slow to import

    frame = frame_of_the_user()
    name, line = frame.f_code.co_filename, frame.f_lineno
    return f"{name}:{line}: {getline(name, line).strip()}"
