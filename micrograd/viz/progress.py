"""What a slow drawing is doing, in the notebook's cell or on the terminal's last line; gone when it is done."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE, EVERY = 1.0, 0.2  # seconds before the first word, and between two


class Progress:
    """Call it with what is being done, as often as that changes."""

    def __init__(self) -> None:
        self._due, self._cell, self._width = time.monotonic() + PATIENCE, None, 0

    def __call__(self, doing: str) -> None:
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + EVERY
        self._cell = self._cell or new_cell(doing)
        if self._cell is not None:
            self._cell.update({"text/plain": doing}, raw=True)
        elif sys.stderr.isatty():
            self._line(doing)

    def _line(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def _clear(self) -> None:
        if self._cell is not None:
            self._cell.update({"text/plain": ""}, raw=True)
        elif self._width:
            self._line("")
            sys.stderr.write("\r")


@contextmanager
def progress() -> Iterator[Progress]:
    """Says nothing in the first second.

    >>> with progress() as say:
    ...     say("1 of 56 boxes")
    """
    shown = Progress()
    try:
        yield shown
    finally:
        shown._clear()


def new_cell(text: str) -> Any:
    """A display of `text` in the notebook that runs this, to be updated; None outside of one."""
    ipython: Any = sys.modules.get("IPython")  # a notebook has imported it
    if ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        return None
    return ipython.display.display({"text/plain": text}, raw=True, display_id=True)
