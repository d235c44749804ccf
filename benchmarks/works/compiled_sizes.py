"""What a compiled program costs against its size: scalar operations, and samples in a batch."""

import random
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from benchmarks.clock import now, seconds_a_call
from benchmarks.table import duration
from benchmarks.work import Line, Turn, Work

OPERATIONS = 650  # of one sample
SAMPLES = {"1e3": 2, "1e4": 16, "1e5": 154, "1e6": 1540}
BATCHES = (10, 100, 1_000, 10_000, 100_000)
SIZES = {f"{name} scalar operations": n for name, n in SAMPLES.items()} | {f"batch of {n:,}": n for n in BATCHES}


def measure(engine: str, data: None) -> Iterator[Turn]:
    """Seconds to build and to run, forward and backward."""
    import numpy as np

    import micrograd
    from micrograd.nn import MLP

    model = MLP(2, [16, 16, 1], rng=random.Random(0))
    one = lambda x: (1 - model(x)) ** 2  # noqa: E731
    rng = np.random.default_rng(0)
    micrograd.compile(lambda xs: sum(map(one, xs)), scalars=True)(rng.normal(size=(10, 2)))  # warm up
    turn: Turn = {"note": {}}
    for name, n in SIZES.items():
        many = micrograd.compile(lambda xs: sum(map(one, xs)), scalars=True)
        batched = micrograd.compile(one, batch=True)
        f = (lambda x, f=batched: f(x).sum()) if name.startswith("batch") else many
        building, turn[name] = _timed(f, rng.normal(size=(n, 2)), n * OPERATIONS)
        each = duration(building / n / OPERATIONS)
        turn["note"][name] = f"built in {duration(building)}, {each} an operation"
    yield turn


def _timed(f: Callable[[Any], Any], x: Any, ops: int) -> tuple[float, float]:
    begin = now()
    f(x)
    building = now() - begin
    run = lambda: f(x).backward()  # noqa: E731
    run()
    return building, median(seconds_a_call(run, max(1, 200_000 // ops)) for _ in range(5))


def shown(operations: int) -> Callable[[float], str]:
    """The seconds of so many operations, and of one."""
    return lambda seconds: f"{duration(seconds)}, {duration(seconds / operations)} an operation"


LINES = [Line(f"compiled, {name}", "", name, show=shown(n * OPERATIONS)) for name, n in SIZES.items()]
WORK = Work("compiled-sizes", measure, LINES, engines=("micrograd",), rounds=1)
