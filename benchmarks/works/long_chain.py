"""A chain of a million operations, at the default recursion limit: does it work, and at what price an operation?

The classic engine walks by recursion, and gives up at about a thousand.
"""

import sys
import threading
from collections.abc import Iterator

from benchmarks.clock import seconds_a_call, warm_up
from benchmarks.table import at_most, duration
from benchmarks.work import Line, Turn, Work, agree

SHORT, LONG = 10_000, 1_000_000


def chain(operations: int) -> None:
    """Forward and backward; the graph is released on return, so that this is counted too."""
    from micrograd.engine import Value

    x, c = Value(0.0), Value(1.0)
    y = x
    for _ in range(operations):
        y = y + c
    y.backward()
    agree("the chain x + 1 + 1 + ...", [x.grad], [1])


def measure(engine: str, data: None) -> Iterator[Turn]:
    """Seconds an operation in the short chain, in the long one, and in the long one on another thread."""
    if sys.getrecursionlimit() != 1000:
        raise RuntimeError(f"the recursion limit is {sys.getrecursionlimit()}: this would show nothing")
    warm_up(lambda: chain(SHORT))
    while True:
        short = seconds_a_call(lambda: chain(SHORT), calls=30) / SHORT
        long = seconds_a_call(lambda: chain(LONG), calls=1) / LONG
        yield {"short": short, "main": long, "other": in_thread() / LONG}


def in_thread() -> float:
    """The long chain again, on a thread with the small stack that threads have."""
    took: list[float] = []
    thread = threading.Thread(target=lambda: took.append(seconds_a_call(lambda: chain(LONG), calls=1)))
    thread.start()
    thread.join()
    if not took:
        raise RuntimeError("the chain failed on the thread; its traceback stands above")
    return took[0]


LINES = [
    Line(
        f"chain of {LONG:,} operations on {place}, beside {SHORT:,}",
        "micrograd",
        figure,
        at_most(aim=2, limit=3),
        collector,
        theirs="short",
        show=lambda seconds: f"{duration(seconds)} an operation",
    )
    for collector in ("default", "off")
    for figure, place in (("main", "the main thread"), ("other", "another thread"))
]
WORK = Work("long-chain", measure, LINES, engines=("micrograd",), rounds=2, turns=3)
