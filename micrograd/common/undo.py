"""Changes that are made together, or not at all."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def all_or_nothing(undo: Sequence[Callable[[], object]]) -> Iterator[None]:
    """Call these functions, the last one first, if what runs inside raises or is interrupted by Ctrl-C.

    >>> undo, xs = [], [1, 2]
    >>> with all_or_nothing(undo):
    ...     xs.append(3)
    ...     undo.append(xs.pop)
    ...     xs[7] = 0
    Traceback (most recent call last):
    IndexError: list assignment index out of range
    >>> xs
    [1, 2]
    """
    try:
        yield
    except BaseException:
        for step in reversed(undo):
            step()
        raise
