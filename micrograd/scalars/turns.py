"""Passes of threads take turns. One that waits for another in vain raises after two minutes, and says why."""

from __future__ import annotations

from itertools import repeat, starmap
from typing import Any

from ..engine import walk


class _Acquired(dict[bool, bool]):
    """What `lock.acquire` may return; False is missing."""

    def __missing__(self, _: bool) -> bool:
        raise TimeoutError(
            "backward passes of threads take turns, and another thread's has taken two minutes: does its hook, "
            "closure or Function wait for this thread?"
        )


def turn_within(seconds: float) -> Any:
    """A context manager that holds the lock of the walk, or raises where it did not get it in this time.

    A Ctrl-C must not leave the lock taken, whenever it comes. So no line of Python runs between taking the lock and the
    body of the `with`: to enter is to ask an iterator for its next element, which is in C, and which looks up what
    `acquire` returned.
    """
    acquired = map(_Acquired({True: True}).__getitem__, starmap(walk.lock.acquire, repeat((True, seconds))))

    class Turn:
        __enter__ = staticmethod(acquired.__next__)
        __exit__ = staticmethod(walk.lock.__exit__)

    return Turn()


walk.turn = turn_within(120.0)
