"""Draws: a compiled function may not draw from a generator that others draw from too; where does it?

The states of the global generators are compared before and after the trace. If one has moved, they are all put back,
and the function is run once more, line by line, to name the line that moved it.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from linecache import getline
from typing import Any

import numpy as np

from .. import creation
from .symbols import PACKAGE, Frozen

DRAWN = (
    "a compiled function cannot draw random numbers: each call of the program would have the same ones. Draw outside, "
    "and give the draws as an argument; dropout is for eager mode, or off by eval()"
)
NOT_THE_USERS = (PACKAGE, os.path.dirname(np.__file__), random.__file__, "<frozen")


def states() -> tuple[Any, ...]:
    """Where the global generators stand: Python's, the package's, and NumPy's."""
    kind, keys, *rest = np.random.get_state()
    return random.getstate(), creation.generator().bit_generator.state, (kind, keys.tobytes(), *rest)


def restore(before: tuple[Any, ...]) -> None:
    """Have them stand there again."""
    random.setstate(before[0])
    creation.generator().bit_generator.state = before[1]
    kind, keys, *rest = before[2]
    np.random.set_state((kind, np.frombuffer(keys, np.uint32), *rest))


def without_draws(run: Callable[[], Any]) -> Any:
    """What `run` gives; raises if it draws, and names the line."""
    before = states()
    out = run()
    if states() == before:
        return out
    restore(before)
    line = _line_of_the_draw(run)
    restore(before)
    raise Frozen(f"{DRAWN}; it stands in {line}")


def _line_of_the_draw(run: Callable[[], Any]) -> str:
    """The last line of the user's that was begun before a state changed."""
    before, seen, found = states(), ["an unknown line"], []

    def watch(frame: Any, event: str, _: Any) -> Any:
        if not found and states() != before:
            found.append(seen[-1])
        name, line = frame.f_code.co_filename, frame.f_lineno
        if found or name.startswith(NOT_THE_USERS):
            return None
        seen.append(f"{name}:{line}: {getline(name, line).strip()}")
        return watch

    others = sys.gettrace()
    sys.settrace(watch)
    try:
        run()
    finally:
        sys.settrace(others)
    return [*found, seen[-1]][0]
