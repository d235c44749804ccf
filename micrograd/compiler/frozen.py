"""Trace-time restrictions: what a traced function must not do.

Reading a number (an `if`, `float`, `.data`) would freeze it into the program; writing one would happen only once. Each
raises an error with the user's line. Draws are detected by comparing the states of the global generators before and
after the trace. If one has changed, the states are restored and the function runs again while other threads wait; if
one changes again, the function drew, and is run line by line to find out where.

    f = compile(lambda x: x if x > 0 else -x)
    f(1.0)      Frozen: ... Write where(condition, a, b) for an if ...; at demo.py:1: f = compile(...)
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from linecache import getline
from pathlib import Path
from typing import Any

from ..tensor.optional import np
from ..tensor.randomness import generator

READ = (
    "a compiled function cannot look at {}: its value would be frozen into the program. Write where(condition, a, b) "
    "for an if, pass what it may look at by keyword, and compute on nodes instead of their data"
)
OUTSIDE = (
    "a compiled function cannot look at or change the numbers in a node: its program could not. Compute on the node "
    "itself, and change parameters outside of the function; for an if write where(condition, a, b)"
)
WRITE = (
    "a compiled function cannot change {} in place: the program would not do it again. Write y = y + ..., and change "
    "parameters outside of it"
)
BACKWARD = (
    "a compiled function cannot call backward(): its program computes the gradients by itself. Return the loss, and "
    "call backward() on what comes back; gradients inside are grad(output, inputs, create_graph=True)"
)
MASKED = (
    "a compiled function cannot be given an index by a condition: the numbers decide how many elements it picks. Write "
    "where(condition, a, 0.0), or pass the mask as an array that the function closes over"
)
DRAWN = (
    "a compiled function cannot draw random numbers: each call of the program would have the same ones. Draw outside, "
    "and pass the draws as an argument; dropout is for eager mode, or off by eval()"
)
OWN_OP = (
    "a compiled function cannot use {}, whose derivative was written by hand for numbers: its program is made from the "
    "rows of the table. Write it with ops of micrograd's, or call it outside"
)
UNWATCHED = (
    "a compiled function cannot use {}: no variable, attribute, list or dict that its code names leads there, so "
    "replacing it would go undetected. Store it in one of these, or pass it as an argument"
)
PACKAGE = str(Path(__file__).parent.parent) + os.sep


class Frozen(RuntimeError):
    """Raised if a traced function reads a number that is known only when the program runs."""


class Shapeless(Frozen):
    """Raised if the shape of a result would depend on numbers."""


def frozen(what: str, kind: type[Frozen] = Frozen) -> Frozen:
    """The error for a forbidden operation, with the user's line."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return kind(f"{what}; at {_line(frame)}")


def refusing(what: str) -> Callable[..., Any]:
    """A function or method that raises it, whatever its arguments."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise frozen(what)

    return refuse


def _line(frame: Any) -> str:
    name, line = frame.f_code.co_filename, frame.f_lineno
    return f"{name}:{line}: {getline(name, line).strip()}"


# ---------------------------------------------------------------------------------------------------------------------
# Draws

TRIES = 5  # a thread that was waiting already may draw in between, but not every time
NOT_THE_USERS = (PACKAGE, os.path.dirname(np.__file__), random.__file__, "<frozen")


def states() -> tuple[Any, ...]:
    """The states of the global generators: Python's, the package's and NumPy's."""
    if not np:
        return (random.getstate(),)
    kind, keys, *rest = np.random.get_state(legacy=True)
    keys = np.asarray(keys)
    return random.getstate(), generator().bit_generator.state, (kind, keys.tobytes(), *rest)


def restore(before: tuple[Any, ...]) -> None:
    """Restore these states."""
    random.setstate(before[0])
    if np:
        generator().bit_generator.state = before[1]
        kind, keys, *rest = before[2]
        np.random.set_state((kind, np.frombuffer(keys, np.uint32), *rest))


def without_draws(run: Callable[[], Any]) -> Any:
    """The result of `run`; raises, with the line, if it draws. Draws in other threads are allowed."""
    before = states()
    out = run()
    if states() == before:
        return out
    with _others_waiting():
        after = ours = states()
        try:
            for _ in range(TRIES if threading.active_count() > 1 else 1):
                restore(before)
                run()
                if (ours := states()) == before:
                    break
            line = _line_of_the_draw(run) if ours != before else ""
        finally:
            restore(before if ours == after else after)  # after: others have drawn too, and keep what they drew
    if line:
        raise Frozen(f"{DRAWN}; at {line}")
    return out


@contextmanager
def _others_waiting() -> Iterator[None]:
    """A context in which other threads do not run for a while, unless this one blocks."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.5)
    time.sleep(2 * before)  # lets threads that already asked for the lock have it
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _line_of_the_draw(run: Callable[[], Any]) -> str:
    """The last user line begun before a state changed."""
    before, seen, found = states(), ["an unknown line"], []

    def watch(frame: Any, event: str, _: Any) -> Any:
        if not found and states() != before:
            found.append(seen[-1])
        if found or frame.f_code.co_filename.startswith(NOT_THE_USERS):
            return None
        seen.append(_line(frame))
        return watch

    others = sys.gettrace()
    sys.settrace(watch)
    try:
        run()
    finally:
        sys.settrace(others)
    return [*found, seen[-1]][0]
