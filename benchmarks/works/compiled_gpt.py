"""One step of a tiny GPT in scalars, compiled, beside a scalar class as in microgpt; building it, and what it holds.

The model is microgpt's: 27 letters, 16 numbers a letter, 4 heads, one layer: 4,192 parameters. A name of seven letters
makes some 68,000 nodes.
"""

import gc
import math
import random
import tracemalloc
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from benchmarks.clock import now, seconds_a_call, warm_up
from benchmarks.table import Goal, Row, duration, times_faster
from benchmarks.work import Figures, Measured, Work

LETTERS, WIDTH, HEADS, LONGEST = 27, 16, 4, 16
NAME = [26, 4, 12, 8, 11, 24, 13, 13, 26]  # between two marks
STEP, BUILD = Goal(aim=180, limit=100), Goal(aim=0.5, limit=1.5, unit=" s", more_is_better=False)
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

    def run() -> float:
        for p in model.params:
            p.grad = 0
        loss = step()
        loss.backward()
        return loss.data

    built = {"building": building, "held": held, "nodes": len(trace(model.loss())[0])}
    return (built | figures for figures in timed(run, model.params, 200))


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

    return timed(run, model.params, 1)


def timed(run: Callable[[], float], params: Vector, calls: int) -> Iterator[Figures]:
    """Seconds a step, with the loss and the gradients for comparison."""
    loss = run()
    grads = [p.grad for p in params]
    warm_up(run)
    while True:
        yield {"loss": loss, "grads": grads, "seconds": seconds_a_call(run, calls)}


def measure(engine: str, data: None) -> Iterator[Figures]:
    """All figures of one engine."""
    return compiled() if engine == "micrograd" else scalars()


def rows(measured: Measured) -> list[Row]:
    """The step, the building, the memory."""
    ((collector, engines),) = measured.items()
    ours, theirs = engines["micrograd"][0], engines["scalars"][0]
    pairs = zip([ours["loss"], *ours["grads"]], [theirs["loss"], *theirs["grads"]], strict=True)
    if not all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in pairs):
        raise ArithmeticError("the compiled GPT has other gradients than the one of scalars")
    nodes = f"{ours['nodes']:,} nodes"
    building = median(figures["building"] for figures in engines["micrograd"])
    weight = ours["held"] / ours["nodes"]
    return [
        times_faster(f"a tiny GPT in scalars, {nodes}, compiled", collector, engines, "scalars", STEP),
        Row(f"building it, {nodes}", collector, duration(building), "", building, BUILD),
        Row(f"memory of it, {nodes}", collector, f"{ours['held'] / 1024:,.0f} KiB", "", weight, MEMORY),
    ]


WORK = Work("compiled-gpt", measure, rows, engines=("micrograd", "scalars"), collectors=("default",), rounds=3, turns=6)
