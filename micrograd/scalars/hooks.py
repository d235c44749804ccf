"""`register_hook`: a watcher of the walk, which calls the hooks of a node with its complete gradient."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..engine import walk
from ..engine.value import Node
from .kinds import attach


class _Hooked(set[weakref.ref[Node]]):
    """The nodes that have hooks. It is the watcher that calls them; while it is empty, the walk leaves it out."""

    def __call__(self, node: Any, g: Any) -> Any:
        """Call the node's hooks in order; returns the gradient, replaced if a hook returned another."""
        for hook in node._hooks.values():
            replaced = hook(node._for_hook(g))
            if replaced is not None:
                g = node._seed(replaced, hasattr(g, "_apply"))
        return g


hooked: _Hooked = _Hooked()
walk.watchers.append(hooked)


class RemovableHandle:
    """Returned by `register_hook`; `remove()` removes the hook."""

    def __init__(self, node: Node):
        self._node = weakref.ref(node)

    def remove(self) -> None:
        """Remove the hook. A second call does nothing."""
        node: Any = self._node()
        if node is not None:
            node._hooks = {handle: hook for handle, hook in node._hooks.items() if handle is not self}
            if not node._hooks:
                hooked.discard(self._node)


@attach(Node)
class _Hooks:
    _hooks: dict[RemovableHandle, Callable[..., Any]] = {}

    def _for_hook(self, g: Any) -> Any:
        """The gradient as it is passed to a hook."""
        return g

    def register_hook(self: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(gradient)` in every pass, once this node's gradient is complete and before it is accumulated.

        Args:
            hook: a function of the gradient. What it returns replaces the gradient, unless it is None.

        Returns:
            A handle whose `remove()` removes the hook.

        Raises:
            RuntimeError: the node is a constant.
            TypeError: `hook` is not a function.

        >>> from micrograd import Value
        >>> x = Value(3.0)
        >>> handle = x.register_hook(lambda g: g * 10)
        >>> (x * 2).backward()
        >>> x.grad
        20.0
        """
        if self._row is None:
            raise RuntimeError("a constant has no gradient to hook: make it with requires_grad=True")
        if not callable(hook):
            raise TypeError(f"a hook must be a function of the gradient, found {type(hook).__name__}")
        handle = RemovableHandle(self)
        self._hooks = {**self._hooks, handle: hook}
        hooked.add(weakref.ref(self, hooked.discard))
        return handle
