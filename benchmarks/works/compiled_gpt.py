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
from statistics import median
from typing import Any

from benchmarks.clock import now, seconds_a_call, warm_up
from benchmarks.table import Goal, Row, duration, times_faster
from benchmarks.work import Figures, Measured, Work, agree, timed

LETTERS, WIDTH, HEADS, LONGEST = 27, 16, 4, 16
NAME = [26, 4, 12, 8, 11, 24, 13, 13, 26]  # between two marks
STEP, BUILD = Goal(aim=180, limit=100), Goal(aim=0.5, limit=1.5, unit=" s", more_is_better=False)
CALLED, KEPT, ALONE = Goal(aim=800, limit=240), Goal(aim=2000, limit=800), Goal(aim=5000, limit=2500)
ADAM, TENSORS = Goal(aim=5, limit=3.5), Goal(aim=4, limit=3)
FIRST = Goal(aim=20, limit=40, unit=" ms", more_is_better=False)
MEMORY = Goal(aim=150, limit=150, unit=" bytes a node", more_is_better=False)
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


def compiled() -> Iterator[Figures]:
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

    built = {"building": building, "held": held, "nodes": len(trace(model.loss())[0])}
    return (built | figures for figures in stepped(called(step, model.params), model.params, 200))


def backend(name: str) -> Iterator[Figures]:
    """Whole steps with Adam; in C, the call in its three ways too."""
    import numpy as np

    import micrograd
    from micrograd import Value
    from micrograd.compiler.backends import c
    from micrograd.optim import Adam

    os.environ["MICROGRAD_CFLAGS"] = " ".join(c.FASTER)  # at once, and not after some calls
    twin, demo = GPT(Value, greatest), importlib.import_module("demos.microgpt")
    tensors = demo.TensorGPT(WIDTH, HEADS, 1, np.random.default_rng(0))
    step = micrograd.compile(twin.loss, update=Adam(twin.params), backend=name)
    other = micrograd.compile(tensors.loss, update=Adam(tensors.parameters()), backend=name)
    batch = demo.padded(["yessenia"])
    works = {"step": lambda: step().data, "tensors": lambda: other(*batch).item()}
    gradients: list[float] = []
    if name == "c":
        model = GPT(Value, greatest)
        loss = micrograd.compile(model.loss, backend="c")
        works |= {"called": called(loss, model.params), "kept": lambda: loss().data}
        gradients = [works["called"](), *(p.grad for p in model.params)]
        program: Any = loss.program.code
        slot = program._free[0]
        works["alone"] = lambda: program.library.call(slot.address)
    for figures in timed(works, dict.fromkeys(works, 100)):
        first = seconds_a_call(lambda: c.compile(step.lowered), 1) if name == "c" else None
        yield figures | {"gradients": gradients, "first": first}


def called(loss: Callable[[], Any], params: Vector) -> Callable[[], float]:
    """A call as users write it, with every gradient."""

    def run() -> float:
        for p in params:
            p.grad = 0
        out = loss()
        out.backward()
        return out.data

    return run


def scalars() -> Iterator[Figures]:
    """The step, node by node."""
    from benchmarks.scalars import Scalar

    model = GPT(Scalar, lambda scores: max(x.data for x in scores))

    def run() -> float:
        for p in model.params:
            p.grad = 0.0
        loss = model.loss()
        loss.backward()
        return loss.data

    return stepped(run, model.params, 1)


def stepped(run: Callable[[], float], params: Vector, calls: int) -> Iterator[Figures]:
    """Seconds a step, with the loss and the gradients for comparison."""
    gave = [run(), *(p.grad for p in params)]
    warm_up(run)
    while True:
        yield {"gave": gave, "seconds": seconds_a_call(run, calls)}


def measure(engine: str, data: None) -> Iterator[Figures]:
    """All figures of one engine."""
    if engine.startswith("backend="):
        return backend(engine.partition("=")[2])
    return compiled() if engine == "micrograd" else scalars()


def rows(measured: Measured) -> list[Row]:
    """The step, the building, the memory."""
    ((collector, engines),) = measured.items()
    ours = engines["micrograd"][0]
    agree(engines, 1e-9, len(ours["gave"]), ("scalars",))
    nodes = f"{ours['nodes']:,} nodes"
    building = median(figures["building"] for figures in engines["micrograd"])
    weight = ours["held"] / ours["nodes"]
    return [
        times_faster(f"a tiny GPT in scalars, {nodes}, compiled", collector, engines, "scalars", STEP),
        Row(f"building it, {nodes}", collector, duration(building), "", building, BUILD),
        Row(f"memory of it, {nodes}", collector, f"{ours['held'] / 1024:,.0f} KiB", "", weight, MEMORY),
        *(rows_of_c(collector, engines) if "backend=c" in engines else ()),
    ]


def rows_of_c(collector: str, engines: dict[str, list[Figures]]) -> list[Row]:
    """The same in C."""
    c, scalar, numpy = engines["backend=c"], engines["scalars"], engines["backend=numpy"]
    agree({"micrograd": [{"gave": c[0]["gradients"]}], "scalars": scalar}, 1e-9, len(c[0]["gradients"]))
    for work in ("step", "tensors"):
        agree({"micrograd": [c[0][work]], "backend=numpy": [numpy[0][work]]}, 1e-9)

    def row(name: str, work: str, peer: str, theirs: list[Figures], goal: Goal) -> Row:
        return times_faster(name, collector, {"micrograd": [x[work] for x in c], peer: theirs}, peer, goal)

    first = median(figures["first"] for figures in c)
    step = "whole step with Adam, in C"
    return [
        row("a tiny GPT in scalars, in C", "called", "scalars", scalar, CALLED),
        row("a tiny GPT in scalars, in C, gradients left in the program", "kept", "scalars", scalar, KEPT),
        row("a tiny GPT in scalars, in C, the program alone", "alone", "scalars", scalar, ALONE),
        row(f"a tiny GPT in scalars, {step}", "step", "backend=numpy", [x["step"] for x in numpy], ADAM),
        row(
            f"a tiny GPT of Tensors, one name, {step}",
            "tensors",
            "backend=numpy",
            [x["tensors"] for x in numpy],
            TENSORS,
        ),
        Row(
            "what C adds to the first call of that step, compiled before",
            collector,
            duration(first),
            "",
            1e3 * first,
            FIRST,
        ),
    ]


WORK = Work(
    "compiled-gpt",
    measure,
    rows,
    engines=("micrograd", "scalars", "backend=numpy", "backend=c"),
    collectors=("default",),
    rounds=3,
    turns=6,
)
