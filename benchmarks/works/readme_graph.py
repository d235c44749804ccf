"""The README's ten lines: build a graph of some 30 nodes, and go backward. What a small expression costs."""

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.clock import seconds_a_call, warm_up
from benchmarks.table import Goal
from benchmarks.work import Line, Turn, Work, agree

KNOWN = (24.70408163265306, 138.83381924198252, 645.5772594752186)  # g, dg/da, dg/db
GOALS = {"classic": Goal(aim=2.7, limit=2.2), "torch": Goal(aim=8, limit=5)}


def graph(leaf: Callable[[float], Any]) -> tuple[Any, Any, Any]:
    """The expression of the README, and its gradients; `leaf` makes a variable of whichever engine."""
    a = leaf(-4.0)
    b = leaf(2.0)
    g = expression(a, b)
    g.backward()
    return g, a, b


def expression(a: Any, b: Any) -> Any:
    """The ten lines."""
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    return g


def leaf_of(engine: str) -> Callable[[float], Any]:
    """A Value, or a 0-d tensor of the same precision."""
    if engine == "torch":
        import torch

        torch.set_num_threads(1)
        return lambda data: torch.tensor(data, dtype=torch.float64, requires_grad=True)
    from micrograd.engine import Value

    return Value


def measure(engine: str, data: None) -> Iterator[Turn]:
    """Seconds to build the graph and go backward once; the three numbers are looked at before anything is timed."""
    leaf = leaf_of(engine)
    g, a, b = graph(leaf)
    agree(engine, (float(g.data), float(a.grad), float(b.grad)), KNOWN, near=1e-12)
    run = lambda: graph(leaf)  # noqa: E731
    warm_up(run)
    while True:
        yield {"graph": seconds_a_call(run, calls=500)}


LINES = [
    Line("README graph, build and backward", peer, "graph", goal, collector)
    for peer, goal in GOALS.items()
    for collector in ("default", "off")
]
WORK = Work("readme-graph", measure, LINES, engines=("micrograd", "classic", "torch"), rounds=4, turns=15)
