"""Values and Tensors: what is a node, and which of them a mode replaces or refuses to read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import Any

from ..engine.modes import Mode, Variable, interceptor, modes_on, value_of
from ..engine.value import Node

_OF_ANY_CLASS = {*vars(type("", (), {"__slots__": (), "__annotations__": {}})), "__dict__", "__weakref__"}
hiding: Variable = ContextVar("hiding", default=None)


def is_node(x: Any) -> bool:
    """True for a Value or a Tensor. (A Tensor has a node; importing its class would load NumPy.)"""
    return isinstance(x, Node) or hasattr(type(x), "_node")


def node_of(x: Any) -> Any:
    """The node of a Tensor; anything else is returned unchanged."""
    return x._node if hasattr(type(x), "_node") else x


def plain(x: Any) -> Any:
    """The number or the array of a node; anything else is returned unchanged."""
    return node_of(x)._data if is_node(x) else x


def is_tracing() -> bool:
    """True while `compile` traces a function on symbols, which have no values."""
    return bool(modes_on) and hasattr(interceptor(), "traced_node")


def traced(x: Any) -> Any:
    """The symbol for a node from outside of the traced function, while `compile` traces; otherwise x itself."""
    return interceptor().traced_node(x) if is_tracing() else x  # type: ignore[union-attr]


def verify(x: Any, rule: Callable[[Any], object]) -> None:
    """Call rule(x), which raises if x is wrong. While `compile` traces, x may have no value: each call verifies it."""
    if not (is_tracing() and interceptor().verify(x, rule)):  # type: ignore[union-attr]
        rule(x)


def watched(x: Any, requires_grad: bool = False) -> Any:
    """A node whose shape, or `requires_grad`, is read: `compile`, while it traces, notes that."""
    if is_tracing():
        interceptor().watch(x, requires_grad)  # type: ignore[union-attr]
    return x


def setting(x: Any) -> None:
    """To be called before `requires_grad` of a node is set, which `compile` refuses while it traces."""
    if is_tracing():
        interceptor().refuse_setting(x)  # type: ignore[union-attr]


before_change: list[Callable[..., None]] = []  # `lazy` enters what computes the readers of the nodes it is called with


def changing(*nodes: Any) -> None:
    """To be called before the data of nodes change, or could without notice, and before `requires_grad` does."""
    for prepare in before_change:
        prepare(*nodes)


class differentiating(Mode):
    """Context in which a transform such as `gradient` runs the function that it differentiates."""

    variable: Variable = ContextVar("differentiating", default=None)
    value = True


def is_differentiating() -> bool:
    """True inside a function that a transform differentiates."""
    return value_of(differentiating.variable, False)


class hidden(Mode):
    """Context in which `read_data` refuses nodes that require a gradient, and these: a derivative would miss it.

    Args:
        nodes: more nodes whose numbers must not be read; None ends an enclosing `hidden`.
    """

    variable = hiding

    def __new__(cls, nodes: Sequence[Any] | None) -> Any:
        """The mode for these nodes."""
        return object.__new__(cls)

    def __init__(self, nodes: Sequence[Any] | None):
        self.value = nodes


def read_data(node: Any) -> Any:
    """A node's data. Raises where the number would be frozen: while `compile` traces, and inside `hidden`."""
    if is_tracing():
        interceptor().refuse()  # type: ignore[union-attr]
    others = value_of(hiding)
    if others is not None and (node._row is not None or any(node is x for x in others)):
        raise RuntimeError(
            "create_graph=True and jvp: this backward reads the numbers in a node, which would be frozen in "
            "derivatives; write it with ops on g and on saved nodes"
        )
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
