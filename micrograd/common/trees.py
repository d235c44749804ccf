"""Trees: nested lists, tuples and dicts, whose leaves are anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with each leaf replaced by function(leaf)."""
    if isinstance(tree, dict):
        return {key: tree_map(function, x) for key, x in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [tree_map(function, x) for x in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return function(tree)


def refilled(tree: Any, parts: Iterable[Any]) -> Any:
    """The tree with its leaves replaced by these parts, in order."""
    following = iter(parts)
    return tree_map(lambda _: next(following), tree)


def leaves(tree: Any) -> Iterator[Any]:
    """The leaves of the tree, in order."""
    if isinstance(tree, (list, tuple, dict)):
        for x in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(x)
    else:
        yield tree
