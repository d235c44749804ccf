"""Holding a lock, so that no Ctrl-C can leave it taken."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def holding(lock: threading.Lock | threading.RLock, run: Callable[..., Result], *args: Any) -> Result:
    """Call `run(*args)` while this thread has the lock, and return what it returns.

    A `with` would not do. Since CPython 3.14, a `with` may handle a Ctrl-C after it took the lock and before its block
    began, and then nothing releases the lock. This loop takes the lock as it asks its iterator for an element, which is
    done in C, and CPython handles no signal between that and the `try`.
    """
    for _ in iter(lock.acquire, None):
        try:
            return run(*args)
        finally:
            lock.release()
    raise AssertionError  # never reached, since `acquire` does not return None
