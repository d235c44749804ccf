"""A chain of a million operations, at the default recursion limit: does it work, and at what price an operation?

The classic engine walks by recursion, and gives up at about a thousand.
"""

import sys
import threading
from collections.abc import Iterator
from statistics import median

from benchmarks.clock import seconds_a_call, warm_up
from benchmarks.table import Goal, Row, duration, middle
from benchmarks.work import Figures, Measured, Work

SHORT, LONG = 10_000, 1_000_000
GOAL = Goal(aim=2, limit=3, more_is_better=False)


def chain(operations: int) -> None:
    """Forward and backward; the graph is released on return, so that this is counted too."""
    from micrograd.engine import Value

    x, c = Value(0.0), Value(1.0)
    y = x
    for _ in range(operations):
        y = y + c
    y.backward()
    if x.grad != 1:
        raise ArithmeticError(f"the derivative of x + 1 + 1 + ... is 1, not {x.grad}")


def measure(engine: str, data: None) -> Iterator[Figures]:
    """Seconds an operation in the short chain, in the long one, and in the long one on another thread."""
    if sys.getrecursionlimit() != 1000:
        raise RuntimeError(f"the recursion limit is {sys.getrecursionlimit()}: this would show nothing")
    warm_up(lambda: chain(SHORT))
    while True:
        short = seconds_a_call(lambda: chain(SHORT), calls=30) / SHORT
        long = seconds_a_call(lambda: chain(LONG), calls=1) / LONG
        yield {"short": short, "long": long, "thread": in_thread() / LONG}


def in_thread() -> float:
    """The long chain again, on a thread with the small stack that threads have."""
    took: list[float] = []
    thread = threading.Thread(target=lambda: took.append(seconds_a_call(lambda: chain(LONG), calls=1)))
    thread.start()
    thread.join()
    if not took:
        raise RuntimeError("the chain failed on the thread; its traceback stands above")
    return took[0]


def rows(measured: Measured) -> list[Row]:
    """For each regime, the long chain against the short one; both are ours."""
    return [row(where, regime, figures["micrograd"]) for regime, figures in measured.items() for where in PLACES]


PLACES = {"long": "on the main thread", "thread": "on another thread"}


def row(where: str, regime: str, rounds: list[Figures]) -> Row:
    """How much dearer an operation is in the long chain."""
    ratio, spread = middle([figures[where] / figures["short"] for figures in rounds])
    long, short = (median(figures[key] for figures in rounds) for key in (where, "short"))
    name = f"chain of {LONG:,} operations {PLACES[where]}"
    peer = f"{duration(short)} an operation in {SHORT:,}"
    return Row(name, regime, f"{duration(long)} an operation", peer, ratio, GOAL, spread)


WORK = Work("long-chain", measure, rows, engines=("micrograd",), rounds=2, turns=3)
