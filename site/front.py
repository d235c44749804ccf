"""What runs without Python: a neuron with its gradients, and the training page's steps, as modules of JavaScript."""

import json
import sys
from pathlib import Path

from micrograd import Value, compile, save, value_and_grad
from micrograd.viz.page import asset, colours, numbers
from micrograd.viz.training.classes import MANY, SHAPES, SIDES

sys.path.insert(0, str(Path(__file__).resolve().parent / "live"))
from lab.training import LOSSES, Training

NUMBERS = {"x1": 2.0, "x2": 0.0, "w1": -3.0, "w2": 1.0, "b": 6.88}
BATCH = 20
SHOWN = {"sign": "moons", "number": "a curve"}  # a class is no number that a compiled step could compute with


def neuron(given: list[Value]) -> Value:
    """The neuron of the README."""
    x1, x2, w1, w2, b = given
    return (x1 * w1 + x2 * w2 + b).tanh()


def stepped(kind: str, data: str, path: Path) -> tuple[Training, list[int]]:
    """Write the step of the training page's text for such answers; also its untrained training, and for each parameter
    its place in the vector p of the module."""
    text = Path(__file__).parent.joinpath("live", "training", f"{kind}.py").read_text(encoding="utf-8")
    training = Training(text, data, 0.1, 1)
    model, loss = training.model, LOSSES[kind]
    untrained = [p.data for p in model.parameters()]
    step = compile(lambda points, answers: loss([model(x) for x in points], answers), update=training.optimizer)
    step(*zip(*training.points[:BATCH], strict=True))
    for p, number in zip(model.parameters(), untrained, strict=True):
        p.data = number
    save(step, path)
    places = {id(p): k for k, p in enumerate(step.program.built.trained)}
    return training, [places[id(p)] for p in model.parameters()]


def looks() -> str:
    """How classes look: the table of `micrograd.viz.training.classes`, with its colours, as a module of JavaScript."""
    light, dark = colours()

    def rows(hues: tuple[str, ...]) -> str:
        shapes = zip(hues, SHAPES, strict=False)
        told = [{"light": light[hue], "dark": dark[hue]} | shape._asdict() for hue, shape in shapes]
        return json.dumps(told, ensure_ascii=False)

    return f"export const SIDES = {rows(SIDES)};\nexport const MANY = {rows(MANY)};\n"


def shared(folder: Path) -> None:
    """Write what the pages share with those of the package: how numbers and classes look, and templates of HTML."""
    (folder / "numbers.js").write_text(f"{numbers()}\nexport {{thickness, written}};\n", encoding="utf-8")
    (folder / "classes.js").write_text(looks(), encoding="utf-8")
    (folder / "html.js").write_text(asset("html.js"), encoding="utf-8")


def written(folder: Path) -> None:
    """Write neuron.js, a step for each kind of answers, two files of JSON with what belongs to them, and `shared`."""
    shared(folder)
    slopes = compile(value_and_grad(neuron))
    slopes([*NUMBERS.values()])
    save(slopes, folder / "neuron.js")
    steps = {kind: stepped(kind, data, folder / f"{kind}.js") for kind, data in SHOWN.items()}
    training, order = steps["sign"]
    about = training.about() | {"held_out": [], "wires": None}
    told = {"numbers": NUMBERS, "batch": BATCH, "order": order, "about": about}
    (folder / "front.json").write_text(json.dumps(told), encoding="utf-8")
    told = {"batch": BATCH, "hidden": [8, 8], "orders": {kind: order for kind, (_, order) in steps.items()}}
    (folder / "steps.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    written(Path(sys.argv[1]))
