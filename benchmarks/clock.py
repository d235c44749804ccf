"""Timing functions, inside a measured process."""

from collections.abc import Callable, Iterator
from time import process_time as now  # the processor's time, not the wall's: a neighbour's work is not ours
from typing import Any


def timed(functions: dict[str, Callable[[], Any]], calls: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Turn by turn, the seconds a call of each function, and what its first five calls gave (or one, if it is slow)."""
    gave = {name: [function() for _ in range(5 if calls[name] > 1 else 1)] for name, function in functions.items()}
    for function in functions.values():
        warm_up(function)
    while True:
        yield {name: seconds_in_a_loop(function, calls[name]) for name, function in functions.items()} | {"gave": gave}


def seconds_a_call(function: Callable[[], object], calls: int) -> float:
    """The mean time of some calls.

    Why not `timeit`: it turns the garbage collector off, and the collector is half of what we want to know.
    """
    begin = now()
    for _ in range(calls):
        function()
    return (now() - begin) / calls


def warm_up(function: Callable[[], object], seconds: float = 0.3) -> None:
    """Run it for so long: the interpreter rewrites hot code for the types it meets, and memory finds its places."""
    end = now() + seconds
    while now() < end:
        function()


def seconds_in_a_loop(function: Callable[[], object], calls: int) -> float:
    """`seconds_a_call` as a training loop has it, where the step before was this one.

    A process that measures several works in turn, and waits for other processes in between, starts each of them with
    the caches full of something else. That cost the smallest step a third of its time, and PyTorch's a tenth.
    """
    warm_up(function, 0.03)
    return seconds_a_call(function, calls)
