"""Version counters for shared memory, and the values saved for backward.

A `Storage` counts the in-place writes to its memory. `Saved` lists the storages of the values that a node saved, with
their versions, so that the backward pass can raise if one was written to since.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np


class Storage:
    """Shared by the Tensors of one memory: the number of writes to it, and the number of nodes that saved it."""

    version: int = 0
    users: int = 0
    views: Any = ()  # weak references to the other Tensors that share the memory
    current: Any = ()  # those of `views` whose history is up to date; see `node.outdate`
    shown: tuple[int, int, np.ndarray, np.ndarray] | None = None  # see `show`: (from, to version, array, its copy)

    def share(self, tensor: Any) -> Any:
        """Register another Tensor of this memory; returns it."""
        if not self.views:
            self.views, self.current = set(), set()
        ref = weakref.ref(tensor, self._forget)
        self.views.add(ref)
        self.current.add(ref)
        tensor._node._store = self
        return tensor

    def _forget(self, ref: weakref.ref) -> None:
        self.views.discard(ref)
        self.current.discard(ref)

    def show(self, array: np.ndarray) -> None:
        """Note that the array was handed out and may be written to undetected: a new version, and a copy to compare."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        since, then = self.version, None
        if self.shown is not None and self.shown[2] is array and self._untouched(self.version):
            since, _, _, then = self.shown
        self.version += 1
        self.shown = since, self.version, array, array.copy() if then is None else then

    def changed(self, version: int) -> bool:
        """True if anything was written since that version."""
        return version != self.version and not self._untouched(version)

    def check(self, version: int, name: str) -> None:
        """Raise if anything was written since that version, which the named op saved."""
        if self.changed(version):
            raise RuntimeError(
                f"an array that '{name}' needs for its gradient was changed in place: it is at version "
                f"{self.version}, version {version} is needed; change a copy, or change it after backward()"
            )

    def _untouched(self, version: int) -> bool:
        if self.shown is None:
            return False
        since, until, array, then = self.shown
        return since <= version and until == self.version and np.array_equal(array, then, equal_nan=True)


class Saved(list[tuple[Storage, int]]):
    """The storages of the values that a node saved, with their versions. Each counts in `Storage.users` until freed."""

    __slots__ = ()

    def __init__(self, storages: Sequence[Storage]):
        for storage in storages:
            storage.users += 1
            self.append((storage, storage.version))

    def drop(self, storage: Storage) -> bool:
        """Stop saving a storage; returns True if it was saved."""
        before = len(self)
        self[:] = [pair for pair in self if pair[0] is not storage]
        storage.users -= before - len(self)
        return len(self) < before

    def __del__(self) -> None:
        for storage, _ in self:
            storage.users -= 1
