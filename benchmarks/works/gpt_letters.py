"""Letters a second of a tiny GPT as it trains, the demo's, which is made of Tensors: in NumPy, in C and in Node.

A step is forward, backward and Adam, on one name of seven letters or on 32 of three to eleven. The letters that are
counted are those that the loss counts: of each name, and the mark at its end. In Node runs what
`save(step, "step.mjs")` writes.
"""

import importlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.clock import timed
from benchmarks.work import Line, Turn, Work

WIDTH, HEADS = 16, 4
LENGTHS = {"one": [7], "many": [3 + i % 9 for i in range(32)]}  # of the names in a step
CALLS = {"one": 100, "many": 20}
# Answers each line, two numbers, with the processor's seconds for one of so many calls after a warm-up, and the losses.
DRIVER = """
import {readFileSync} from "node:fs";
import {createInterface} from "node:readline";
import {step} from "./step.mjs";
const inputs = JSON.parse(readFileSync("inputs.json"));
for await (const line of createInterface({input: process.stdin})) {
  const [before, calls] = JSON.parse(line), losses = [];
  for (let i = 0; i < before; i++) losses.push(step(inputs));
  const begin = process.cpuUsage();
  for (let i = 0; i < calls; i++) step(inputs);
  const {user, system} = process.cpuUsage(begin);
  console.log(JSON.stringify([(user + system) / 1e6 / calls, losses.slice(0, 5)]));
}
"""


def names(lengths: list[int]) -> list[str]:
    """Names of these lengths, the same each time."""
    import numpy as np

    letters = np.random.default_rng(0).integers(ord("a"), ord("z") + 1, (len(lengths), max(lengths)))
    return ["".join(map(chr, row[:n])) for row, n in zip(letters.tolist(), lengths, strict=True)]


def measure(engine: str, data: None) -> Iterator[Turn]:
    """The seconds of a step, by one back end or in Node; each begins with the parameters after one step."""
    import numpy as np

    import micrograd
    from micrograd.optim import Adam

    demo = importlib.import_module("demos.microgpt")
    backend = "numpy" if engine == "node" else engine.partition("=")[2]
    steps: dict[str, Any] = {}
    batches = {name: demo.padded(names(lengths)) for name, lengths in LENGTHS.items()}
    for name, batch in batches.items():
        model = demo.TensorGPT(WIDTH, HEADS, 1, np.random.default_rng(0))
        steps[name] = micrograd.compile(model.loss, update=Adam(model.parameters()), backend=backend)
        steps[name](*batch)
    if engine == "node":
        return in_node(steps, batches)
    return timed({name: lambda name=name: steps[name](*batches[name]).item() for name in steps}, CALLS)


def in_node(steps: dict[str, Any], batches: dict[str, Any]) -> Iterator[Turn]:
    """The same of the modules that are saved, each in a process of Node."""
    import micrograd

    nodes, gave, pipe = {}, {}, subprocess.PIPE
    for name, step in steps.items():
        with TemporaryDirectory() as folder:
            inputs = dict(zip(("numbers", "targets", "counts"), (x.tolist() for x in batches[name]), strict=True))
            Path(folder, "run.mjs").write_text(DRIVER, encoding="utf-8")
            Path(folder, "inputs.json").write_text(json.dumps(inputs), encoding="utf-8")
            micrograd.save(step, Path(folder, "step.mjs"))
            nodes[name] = subprocess.Popen(["node", "run.mjs"], cwd=folder, stdin=pipe, stdout=pipe, text=True)
            _, gave[name] = asked(nodes[name], 300, 1)  # V8 compiles what is called often
    while True:
        yield {name: asked(node, 10, CALLS[name])[0] for name, node in nodes.items()} | {"gave": gave}


def asked(node: Any, before: int, calls: int) -> Any:
    """What the process answers."""
    print(json.dumps([before, calls]), file=node.stdin, flush=True)
    return json.loads(node.stdout.readline())


def line(size: str, engine: str, where: str) -> Line:
    """A row: so many letters a second, beside NumPy."""
    lengths = LENGTHS[size]
    title = f"a tiny GPT of Tensors trains, {len(lengths)} name{'s' * (len(lengths) > 1)} a step, {where}"
    letters = sum(n + 1 for n in lengths)
    return Line(title, "backend=numpy", size, ours=engine, show=lambda seconds: f"{letters / seconds:,.0f} letters/s")


WORK = Work(
    "gpt-letters",
    measure,
    [line(size, engine, where) for size in LENGTHS for engine, where in (("backend=c", "in C"), ("node", "in Node"))],
    engines=("backend=numpy", "backend=c", "node"),
    rounds=3,
    turns=6,
)
