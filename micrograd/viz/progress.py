"""What a slow drawing is doing, in the notebook's cell or on the terminal's last line; gone when it is done."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE, EVERY = 1.0, 0.2  # seconds before the first word, and between two


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A function to call with what is being done, as often as that changes. It says nothing in the first second.

    >>> with progress() as say:
    ...     say("1 of 56 boxes")
    """
    due, cell, width = time.monotonic() + PATIENCE, None, 0

    def write(text: str) -> None:
        nonlocal width
        if cell is not None:
            cell.update({"text/plain": text}, raw=True)
        elif sys.stderr.isatty():
            sys.stderr.write(text.ljust(width) + "\r")
            sys.stderr.flush()
            width = len(text)

    def say(doing: str) -> None:
        nonlocal due, cell
        if time.monotonic() >= due:
            due = time.monotonic() + EVERY
            cell = cell or new_cell(doing)
            write(doing)

    try:
        yield say
    finally:
        if cell is not None or width:
            write("")


def new_cell(text: str) -> Any:
    """A display of `text` in the notebook that runs this, to be updated; None outside of one."""
    ipython: Any = sys.modules.get("IPython")  # a notebook has imported it
    if ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        return None
    return ipython.display.display({"text/plain": text}, raw=True, display_id=True)
