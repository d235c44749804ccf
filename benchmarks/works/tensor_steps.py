"""A training step on tensors, at three sizes.

Beside PyTorch, eager, in two ways: both engines as their users write (layers, an optimizer, the loss as an expression),
in the same lines; and both at their leanest. Our leanest also stands beside the same step written out in NumPy, where
gradients are known and no graph is made, and beside what else there is (`make bench-peers`).

The aims beside PyTorch are what Python allows. At the two smaller sizes the interpreter's calls decide: an engine with
the same rules, but without modes, versions, views and checks, took 0.42 and 0.7 of the time of a step when they were
last taken apart. At the largest size a step is its matrix products, which are the same in NumPy and in PyTorch. What is
had beyond the aims depends on the machine.
"""

from collections.abc import Iterator

from benchmarks.clock import timed
from benchmarks.engines import OTHERS
from benchmarks.table import Goal
from benchmarks.work import Line, Turn, Work
from benchmarks.works import steps

SIZES = {  # batch, and the lengths of the layers; how many calls make a batch of the clock
    "100, 2-16-16-1, hinge": (100, (2, 16, 16, 1), 200),
    "64, 784-128-10, cross-entropy": (64, (784, 128, 10), 60),
    "256, 784-512-512-10, cross-entropy": (256, (784, 512, 512, 10), 6),
}
FLOAT32 = 1e-4  # how near losses are, with its rounding
STEPS = {
    "micrograd": {"leanest": steps.ours, "as users write": steps.ours_as_written},
    "torch": {"leanest": steps.torchs, "as users write": steps.torchs_as_written},
    "numpy": {"leanest": steps.by_hand},
    "autograd": {"leanest": steps.autograds},
    "mygrad": {"leanest": steps.mygrads},
    "tinygrad": {"leanest": steps.tinygrads},
}
AS_TORCH = 1.05, 0.8, 0.93
AS_NUMPY = None, Goal(0.8, 0.75), Goal(1 / 1.05, 1 / 1.05)
AHEAD = Goal(1, 1)  # of the other peers


def measure(engine: str, data: None) -> Iterator[Turn]:
    """Seconds of each step, and the losses of the first five."""
    functions, calls = {}, {}
    for size, (batch, lengths, count) in SIZES.items():
        for way, make in STEPS[engine].items():
            functions[f"{size}, {way}"] = make(steps.random_task(batch, lengths))
            # a step of tinygrad takes a hundred times as long
            calls[f"{size}, {way}"] = max(count // 50, 2) if engine == "tinygrad" else count
    return timed(functions, calls)


def lines() -> Iterator[Line]:
    """Size by size, the leanest steps beside each peer, and the others beside PyTorch."""
    for size, ratio, as_numpy in zip(SIZES, AS_TORCH, AS_NUMPY, strict=True):
        as_torch = Goal(ratio, ratio)
        goals = {"torch": as_torch, "numpy": as_numpy, **dict.fromkeys(OTHERS, AHEAD)}
        rows = [("leanest", peer, goal) for peer, goal in goals.items()]
        for way, peer, goal in [*rows, ("as users write", "torch", as_torch)]:
            yield Line(f"tensor step {size}, {way}", peer, f"{size}, {way}", goal, near=FLOAT32)


WORK = Work("tensor-steps", measure, [*lines()], engines=tuple(STEPS), rounds=4, turns=8)
