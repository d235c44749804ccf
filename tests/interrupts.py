"""A Ctrl-C, or a turn of another thread, at any line of the package."""

from __future__ import annotations

import _thread
import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from itertools import count
from typing import Any

import pytest

from micrograd.engine.walk import lock

__all__ = ["ctrl_c", "interrupted_at", "interrupted_everywhere", "met_at"]


class Signal(int):
    """Its number; `sent` has it sent to this thread.

    An attribute, since Python looks for signals after a call: it would find this one in the tracer, which no real one
    ever meets, and not where the tracer was called.
    """

    sent = property(_thread.interrupt_main)


SIGINT = Signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """A SIGINT raises KeyboardInterrupt, whoever runs the tests, and not in what others do when the collector runs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    watching = [*gc.callbacks]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(watching)
    signal.signal(signal.SIGINT, before)


def interrupted_at(step: int, run: Callable[[], None]) -> bool:
    """Run with a Ctrl-C at the given line (counted from 0) of the engine; was there such a line?"""

    def interrupt() -> None:
        sys.settrace(None)
        SIGINT.sent

    trace = at_line(step, interrupt)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        # In a context of its own, since no `with` can end a mode, ours or NumPy's, where a Ctrl-C comes as it ends
        copy_context().run(run)
        sys.gettrace()  # a call: what was sent at the very end comes now
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        assert_nobody_holds_the_lock()
    return False


def met_at(step: int, run: Callable[[], object], other: Callable[[], object]) -> bool:
    """Run, while at the given line (counted from 0) of the engine another thread has its turn; was there such a line?

    The other runs until its end, or until it waits for this one.
    """
    turns: list[Future[object]] = []
    with ThreadPoolExecutor(1) as pool:

        def meet() -> None:
            sys.settrace(None)
            turns.append(pool.submit(other))
            wait(turns, 0.005)

        before = sys.gettrace()
        sys.settrace(at_line(step, meet))
        try:
            run()
        finally:
            sys.settrace(before)
    for turn in turns:
        turn.result()
    return bool(turns)


def at_line(step: int, act: Callable[[], None]) -> Callable[..., Any]:
    """A tracer for `sys.settrace` that acts at the given line (counted from 0) of the engine."""
    left = step

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        ours = frame.f_globals.get("__name__", "").startswith("micrograd.")
        if not (ours or frame.f_code.co_filename == "<micrograd.compile>"):
            return None
        if event == "line":
            left -= 1
            if left == -1:
                act()
        return trace

    return trace


def interrupted_everywhere(fresh: Callable[[], tuple[Any, ...]], lines: int = 20) -> Iterator[tuple[Any, ...]]:
    """For each line at which a Ctrl-C may come: did one, and the things that were made for this run.

    `fresh` makes what is run and the things. There must be more than so many lines.
    """
    for line in count():
        run, *things = fresh()
        hit = interrupted_at(line, run)
        yield hit, *things
        if not hit:
            break
    assert line > lines


def assert_nobody_holds_the_lock() -> None:
    """The lock is one that its own thread may take twice: so another must ask."""

    def ask() -> None:
        if lock.acquire(timeout=10):
            lock.release()
            free.append(True)

    free: list[bool] = []
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    if not free:
        lock.release()  # for the tests that follow
    assert free, "a pass that failed has left the lock taken"
