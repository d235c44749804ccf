"""Timing a function, inside a measured process."""

from collections.abc import Callable
from statistics import median
from time import process_time as now  # the processor's time, not the wall's: a neighbour's work is not ours


def seconds_a_call(function: Callable[[], object], *, warm_up: int, batches: int, calls: int) -> float:
    """The median over `batches` of the mean time of `calls` calls.

    Why not `timeit`: it turns the garbage collector off, and the collector is half of what we want to know.
    Why batches: a call may be shorter than the clock's own cost, and a median forgets the batch that was disturbed.
    """
    for _ in range(warm_up):  # the interpreter rewrites hot code for the types it meets, after a few runs
        function()
    return median(_batch(function, calls) / calls for _ in range(batches))


def _batch(function: Callable[[], object], calls: int) -> float:
    begin = now()
    for _ in range(calls):
        function()
    return now() - begin
