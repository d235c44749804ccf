"""What Tensors that share memory have in common, and what a node has kept for the backward pass.

Each array has a `Storage` that counts the writes to it: a value that was kept and since written to raises in the
backward pass. `Kept` says of a node's values which they were, and at which version.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np


class Storage:
    """What Tensors that share memory have in common: how often it was written to, and how many nodes have kept it."""

    version = 0
    kept = 0
    views: Any = ()  # weak references to the Tensors that have this memory beside its first
    shown: tuple[int, int, np.ndarray, np.ndarray] | None = None  # from one version to another: memory, and its copy

    def share(self, tensor: Any) -> Any:
        """Let a Tensor have this memory too; returns it."""
        self.views = self.views or set()
        self.views.add(weakref.ref(tensor, self.views.discard))
        tensor._node._store = self
        return tensor

    def show(self, array: np.ndarray) -> None:
        """Give out an array, which may then be written to unseen: a new version, and a copy to compare it with."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        since, then = self.version, None
        if self.shown is not None and self.shown[2] is array and self._untouched(self.version):
            since, _, _, then = self.shown
        self.version += 1
        self.shown = since, self.version, array, array.copy() if then is None else then

    def changed(self, version: int) -> bool:
        """Was anything written since that version?"""
        return version != self.version and not self._untouched(version)

    def check(self, version: int, name: str) -> None:
        """Raise if anything was written since that version, which the op of this name has kept."""
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


class Kept(list[tuple[Storage, int]]):
    """The storages of what a node has kept, each with its version then; while it lives, it counts in them."""

    __slots__ = ()

    def add(self, storage: Storage) -> None:
        """Keep what is stored there now."""
        storage.kept += 1
        self.append((storage, storage.version))

    def drop(self, storage: Storage) -> bool:
        """Keep what is stored there no more; was it kept?"""
        before = len(self)
        self[:] = [pair for pair in self if pair[0] is not storage]
        storage.kept -= before - len(self)
        return len(self) < before

    def __del__(self) -> None:
        for storage, _ in self:
            storage.kept -= 1
