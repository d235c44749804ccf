"""What the phone page shows: a network that learns the two moons now, as an .onnx file, and the points as JSON."""

import json
import random
import sys
from pathlib import Path

import numpy as np

from micrograd import compile, no_grad, save
from micrograd.functional import hinge
from micrograd.nn import MLP
from micrograd.optim import SGD

sys.path.insert(0, str(Path(__file__).resolve().parent / "live"))
from lab.data import moons


def learned(folder: Path) -> None:
    """Write moons.onnx and moons.json."""
    rng = random.Random(1)
    points, labels = zip(*moons(100, 0.1, rng), strict=True)
    model = MLP(2, [8, 8, 1], activation="tanh", rng=rng)
    optimizer = SGD(model.parameters(), lr=0.2, momentum=0.9)
    step = compile(lambda: hinge([model(x) for x in points], labels), update=optimizer)
    for _ in range(400):
        step()
    f = compile(model.__call__, batch=True)
    with no_grad():
        f(np.zeros((2, 2))), f(np.zeros((3, 2)))  # two sizes: the number of rows is free
        scores = f(np.array(points)).data
    save(f, folder / "moons.onnx")
    told = {"points": list(zip(points, labels, strict=True)), "scores": scores.tolist()}
    (folder / "moons.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    learned(Path(sys.argv[1]))
