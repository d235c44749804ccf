"""One step of a tiny GPT in scalars, compiled, beside a scalar class as in microgpt; building it, and what it holds.

In C too, in three ways: every gradient given to its Value, as users call it; all in the array where the program left
them, until `backward()`; and the program alone. No parameter changes between these calls, so that after the first of
them their numbers are in the program's memory. Then whole steps with Adam, in C beside NumPy: those of this model, and
of the demo's, which is made of Tensors.

The model is microgpt's: 27 letters, 16 numbers a letter, 4 heads, one layer: 4,192 parameters. A name of seven letters
makes some 68,000 nodes.
"""

import gc
import importlib
import math
import os
import random
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.clock import now, seconds_a_call, timed
from benchmarks.table import Goal, at_most, duration
from benchmarks.work import Line, Turn, Work, agree

LETTERS, WIDTH, HEADS, LONGEST = 27, 16, 4, 16
NAME = [26, 4, 12, 8, 11, 24, 13, 13, 26]  # between two marks
NODES = 67_571
Vector = list[Any]


class GPT:
    """The model, of whatever scalars `leaf` makes; `top` gives the greatest of some, as a constant."""

    def __init__(self, leaf: Callable[[float], Any], top: Callable[[Vector], Any]):
        rng = random.Random(42)
        shapes = {"letters": (LETTERS, WIDTH), "places": (LONGEST, WIDTH), "out": (LETTERS, WIDTH)}
        shapes |= dict.fromkeys(("q", "k", "v", "o"), (WIDTH, WIDTH))
        shapes |= {"up": (4 * WIDTH, WIDTH), "down": (WIDTH, 4 * WIDTH)}
        self.top = top
        self.w = {
            name: [[leaf(rng.gauss(0, 0.08)) for _ in range(columns)] for _ in range(n)]
            for name, (n, columns) in shapes.items()
        }
        self.params = [p for matrix in self.w.values() for row in matrix for p in row]

    def loss(self) -> Any:
        """The mean over the letters of minus the logarithm of the share that the right one gets."""
        keys: list[Vector] = []
        values: list[Vector] = []
        losses = []
        for place, letter in enumerate(NAME[:-1]):
            shares = self.softmax(self.scores(letter, place, keys, values))
            losses.append(-shares[NAME[place + 1]].log())
        return sum(losses) * (1.0 / len(losses))

    def scores(self, letter: int, place: int, keys: list[Vector], values: list[Vector]) -> Vector:
        """What comes next? A number for each letter."""
        x = normed([a + b for a, b in zip(self.w["letters"][letter], self.w["places"][place], strict=True)])
        before, x = x, normed(x)
        keys.append(linear(x, self.w["k"]))
        values.append(linear(x, self.w["v"]))
        seen = linear(self.look(linear(x, self.w["q"]), keys, values), self.w["o"])
        before = x = [a + b for a, b in zip(seen, before, strict=True)]
        x = linear([a.relu() for a in linear(normed(x), self.w["up"])], self.w["down"])
        return linear([a + b for a, b in zip(x, before, strict=True)], self.w["out"])

    def look(self, query: Vector, keys: list[Vector], values: list[Vector]) -> Vector:
        """Attention: of the values so far, each by the share that its key has with the query."""
        seen: Vector = []
        for head in range(HEADS):
            here = range(head * WIDTH // HEADS, (head + 1) * WIDTH // HEADS)
            scale = 1 / math.sqrt(len(here))
            shares = self.softmax([sum(query[j] * key[j] for j in here) * scale for key in keys])
            seen += [sum(s * v[j] for s, v in zip(shares, values, strict=True)) for j in here]
        return seen

    def softmax(self, scores: Vector) -> Vector:
        """Shares: positive, and 1 together."""
        top = self.top(scores)
        powers = [(x - top).exp() for x in scores]
        total = sum(powers)
        return [p / total for p in powers]


def linear(x: Vector, rows: list[Vector]) -> Vector:
    """Each row times x."""
    return [sum(w * a for w, a in zip(row, x, strict=True)) for row in rows]


def normed(x: Vector) -> Vector:
    """x at the length that its numbers have on average (RMSNorm)."""
    scale = (sum(a * a for a in x) * (1.0 / len(x)) + 1e-5) ** -0.5
    return [a * scale for a in x]


def greatest(scores: Vector) -> Any:
    """As a constant, of nodes that cannot be looked at: found in halves."""
    while len(scores) > 1:
        pairs = [a.maximum(b) for a, b in zip(scores[::2], scores[1::2], strict=False)]
        scores = pairs + scores[len(pairs) * 2 :]
    return scores[0].detach()


def called(loss: Callable[[], Any], params: Vector) -> Callable[[], float]:
    """A call as users write it, with every gradient."""

    def run() -> float:
        for p in params:
            p.grad = 0
        out = loss()
        out.backward()
        return out.data

    return run


def gradients(run: Callable[[], float], params: Vector) -> Vector:
    """The loss and all gradients, for comparison."""
    return [run(), *(p.grad for p in params)]


def compiled() -> Iterator[Turn]:
    """A step, and what it takes to build it: first the time, then the memory, since to weigh it takes time."""
    import micrograd
    from micrograd import Value, trace

    micrograd.compile(lambda x: x * x, backend="numpy")(2.0)  # imports are not the program's
    model = GPT(Value, greatest)
    step = micrograd.compile(model.loss)
    begin = now()
    step()
    building = now() - begin
    again = micrograd.compile(model.loss)
    gc.collect()
    tracemalloc.start()
    again()
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    agree("the graph", [len(trace(model.loss())[0])], [NODES])
    run = called(step, model.params)
    others = {"gave": {"called": gradients(run, model.params)}, "building": building, "weight": held / NODES}
    return (turn | others for turn in timed({"called": run}, {"called": 200}))


def backend(name: str) -> Iterator[Turn]:
    """Whole steps with Adam; in C, the call in its three ways too."""
    import numpy as np

    import micrograd
    from micrograd import Value
    from micrograd.backends import c
    from micrograd.optim import Adam

    os.environ["MICROGRAD_CFLAGS"] = " ".join(c.FASTER)  # at once, and not after some calls
    twin, demo = GPT(Value, greatest), importlib.import_module("demos.microgpt")
    tensors = demo.TensorGPT(WIDTH, HEADS, 1, np.random.default_rng(0))
    step = micrograd.compile(twin.loss, update=Adam(twin.params), backend=name)
    other = micrograd.compile(tensors.loss, update=Adam(tensors.parameters()), backend=name)
    batch = demo.padded(["yessenia"])
    works = {"step": lambda: step().data, "tensors": lambda: other(*batch).item()}
    if name != "c":
        yield from timed(works, dict.fromkeys(works, 100))
    model = GPT(Value, greatest)
    loss = micrograd.compile(model.loss, backend=name)
    works |= {"called": called(loss, model.params), "kept": lambda: loss().data}
    gave = gradients(works["called"], model.params)
    program: Any = loss.program.code
    slot = program._free[0]
    works["alone"] = lambda: program.library.call(slot.address)
    for turn in timed(works, dict.fromkeys(works, 100)):
        known = turn["gave"] | {"called": gave, "kept": gave[:1], "alone": []}
        first = seconds_a_call(lambda: c.compile(step.lowered), 1)
        yield turn | {"gave": known, "milliseconds": first * 1e3}


def scalars() -> Iterator[Turn]:
    """The step, node by node."""
    from benchmarks.scalars import Scalar

    model = GPT(Scalar, lambda scores: max(x.data for x in scores))
    run = called(model.loss, model.params)
    gave = {"gave": {"called": gradients(run, model.params)}}
    return (turn | gave for turn in timed({"called": run}, {"called": 1}))


def measure(engine: str, data: None) -> Iterator[Turn]:
    """All figures of one engine."""
    if engine.startswith("backend="):
        return backend(engine.partition("=")[2])
    return compiled() if engine == "micrograd" else scalars()


THE_GPT, IN_C = "a tiny GPT in scalars", "whole step with Adam, in C"
LINES = [
    Line(f"{THE_GPT}, {NODES:,} nodes, compiled", "scalars", "called", Goal(aim=180, limit=100)),
    Line(f"building it, {NODES:,} nodes", "", "building", at_most(aim=0.5, limit=1.5, unit=" s")),
    Line(
        f"memory of it, {NODES:,} nodes",
        "",
        "weight",
        at_most(aim=150, limit=150, unit=" bytes a node"),
        show=lambda weight: f"{weight * NODES / 1024:,.0f} KiB",
    ),
    *(
        Line(f"{THE_GPT}, in C{how}", "scalars", figure, Goal(aim, limit), ours="backend=c", theirs="called")
        for how, figure, aim, limit in (
            ("", "called", 800, 240),
            (", gradients left in the program", "kept", 2000, 800),
            (", the program alone", "alone", 5000, 2500),
        )
    ),
    Line(f"{THE_GPT}, {IN_C}", "backend=numpy", "step", Goal(aim=5, limit=3.5), ours="backend=c"),
    Line(
        f"a tiny GPT of Tensors, one name, {IN_C}", "backend=numpy", "tensors", Goal(aim=4, limit=3), ours="backend=c"
    ),
    Line(
        "what C adds to the first call of that step, compiled before",
        "",
        "milliseconds",
        at_most(aim=20, limit=40, unit=" ms"),
        ours="backend=c",
        show=lambda milliseconds: duration(milliseconds / 1e3),
    ),
]
WORK = Work(
    "compiled-gpt",
    measure,
    LINES,
    engines=("micrograd", "scalars", "backend=numpy", "backend=c"),
    rounds=3,
    turns=6,
)
