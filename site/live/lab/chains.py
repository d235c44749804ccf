"""Long chains of objects, which must not be freed from their head.

An object that is freed frees what it alone refers to, in a nested call. CPython notices when the calls get too deep;
in a browser, whose stack it cannot see, it dies at some thousands. So what a text made is held until the text has run,
and then released newest first: an object that is freed finds that the one below it is still held.
"""

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

_held: list[Any] = []  # in the order in which they were made


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Hold what is made meanwhile, while the collector waits."""
    try:
        yield
    finally:
        _held.extend(gc.get_objects(generation=0))


def release() -> None:
    """Release what is not used any more. The rest is still held, for the run that drops it."""
    order = {id(thing): place for place, thing in enumerate(_held)}
    while _held:
        _held.pop()
    gc.collect()
    _held.extend(thing for thing in gc.get_objects() if id(thing) in order)
    _held.sort(key=lambda thing: order[id(thing)])
