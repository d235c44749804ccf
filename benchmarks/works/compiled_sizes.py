"""What a compiled program costs against its size: scalar operations, and samples in a batch."""

import random
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from benchmarks.clock import now, seconds_a_call
from benchmarks.table import Row, duration
from benchmarks.work import Figures, Measured, Work

SAMPLES = {"1e3": 2, "1e4": 16, "1e5": 154, "1e6": 1540}  # of 650 operations each
BATCHES = (10, 100, 1_000, 10_000, 100_000)


def measure(engine: str, data: None) -> Iterator[Figures]:
    """Seconds to build and to run, forward and backward."""
    import numpy as np

    import micrograd
    from micrograd.nn import MLP

    model = MLP(2, [16, 16, 1], rng=random.Random(0))
    one = lambda x: (1 - model(x)) ** 2  # noqa: E731
    rng = np.random.default_rng(0)
    micrograd.compile(lambda xs: sum(map(one, xs)), scalars=True)(rng.normal(size=(10, 2)))  # warm up
    figures = {}
    for name, n in SAMPLES.items():
        many = micrograd.compile(lambda xs: sum(map(one, xs)), scalars=True)
        figures[f"{name} scalar operations"] = _timed(many, rng.normal(size=(n, 2)), n * 650)
    for n in BATCHES:
        batched = micrograd.compile(one, batch=True)
        figures[f"batch of {n:,}"] = _timed(lambda x, f=batched: f(x).sum(), rng.normal(size=(n, 2)), n * 650)
    yield figures


def _timed(f: Callable[[Any], Any], x: Any, ops: int) -> Figures:
    begin = now()
    f(x)
    building = now() - begin
    calls = max(1, 200_000 // ops)
    run = lambda: f(x).backward()  # noqa: E731
    run()
    seconds = median(seconds_a_call(run, calls) for _ in range(5))
    return {"building": building, "seconds": seconds, "ops": ops}


def rows(measured: Measured) -> list[Row]:
    """A line a size."""
    ((collector, engines),) = measured.items()
    return [
        Row(
            f"compiled, {name}",
            collector,
            f"{duration(f['seconds'])}, {duration(f['seconds'] / f['ops'])} an operation",
            f"built in {duration(f['building'])}, {duration(f['building'] / f['ops'])} an operation",
        )
        for name, f in engines["micrograd"][0].items()
    ]


WORK = Work("compiled-sizes", measure, rows, engines=("micrograd",), collectors=("default",), rounds=1)
