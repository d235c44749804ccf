"""What the front page runs: a neuron with its gradients, and a network's training step, as modules of JavaScript."""

import json
import sys
from pathlib import Path

from micrograd import Value, compile, save, value_and_grad
from micrograd.functional import hinge

sys.path.insert(0, str(Path(__file__).resolve().parent / "live"))
from lab.training import Training

NUMBERS = {"x1": 2.0, "x2": 0.0, "w1": -3.0, "w2": 1.0, "b": 6.88}
BATCH = 20


def neuron(numbers: list[Value]) -> Value:
    """The neuron of the README."""
    x1, x2, w1, w2, b = numbers
    return (x1 * w1 + x2 * w2 + b).tanh()


def written(folder: Path) -> None:
    """Write neuron.js, network.js, and front.json with the numbers that they begin with."""
    slopes = compile(value_and_grad(neuron))
    slopes([*NUMBERS.values()])
    save(slopes, folder / "neuron.js")
    text = Path(__file__).parent.joinpath("live", "training", "sign.py").read_text(encoding="utf-8")
    training = Training(text, "moons", 0.1, 1)
    model = training.model
    untrained = [p.data for p in model.parameters()]
    step = compile(lambda points, answers: hinge([model(x) for x in points], answers), update=training.optimizer)
    step(*zip(*training.points[:BATCH], strict=True))
    for p, number in zip(model.parameters(), untrained, strict=True):
        p.data = number
    save(step, folder / "network.js")
    places = {id(p): k for k, p in enumerate(step.program.built.trained)}  # in the vector p of the module
    order = [places[id(p)] for p in model.parameters()]
    about = training.about() | {"held_out": [], "wires": None}
    told = {"numbers": NUMBERS, "batch": BATCH, "order": order, "about": about}
    (folder / "front.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    written(Path(sys.argv[1]))
