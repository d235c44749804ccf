"""The learner's own `model`, `optimizer` and `step(batch)`, called again and again."""

import gc
import json
import math
import random
import sys
import time
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from micrograd import Value, grad, no_grad
from micrograd.functional import cross_entropy, hinge, mse
from micrograd.viz import player
from micrograd.viz.drawing.data import walk

from .data import DATA, KINDS, OWN
from .surface import surface
from .text import Tail, compiled, executed, plain, running, stored, told

POINTS = 120
NO_POINTS = "there are no points to train on: click in the picture, or paste rows such as 0.5, -1.2, cat"
GRID, EVERY = 21, 0.6  # places a side where the page cannot follow the graph itself, and seconds between two pictures
NEEDED = {
    "model": "the network: the page calls model([x, y]), and reads model.parameters()",
    "optimizer": "what has the learning rate, as SGD(model.parameters(), lr=0.3)",
    "step": "a function of a batch, a list of (point, answer), that trains once and returns the loss",
}
MOST_NODES = 150
LOSSES: dict[str, Callable[..., Any]] = {"sign": hinge, "number": mse, "classes": cross_entropy, "own": cross_entropy}


class Training:
    """A text that has been run, its points, and how far it has come.

    Args:
        source: the text.
        data: a name in `DATA`, or OWN for `points` and `held_out` of the text.
        noise: the standard deviation of what is added to the points.
        seed: of the points, of the batches, and of what the text draws from `random`.
        size: the number of points.

    Raises:
        NameError: the text defines no `model`, `optimizer` or `step`.
        ValueError: there are no points.
    """

    def __init__(self, source: str, data: str, noise: float, seed: int, size: int = POINTS):
        own = sys.modules["page"] = ModuleType("page")  # a text may do more `if __name__ == "__main__"`
        self.names: dict[str, Any] = vars(own)
        random.seed(seed)
        tree = compiled(source)[0]
        executed(tree, self.names)
        needed = NEEDED | ({"points": "a list such as [([x, y], number of the class)]"} if data == OWN else {})
        for name, what in needed.items():
            if name not in self.names:
                raise NameError(f"the page needs your {name!r}, {what}")
        rng = random.Random(seed)
        self.points = list(self.names["points"] if data == OWN else DATA[data](size, noise, rng))
        held_out = self.names.get("held_out", ()) if data == OWN else DATA[data](size // 2, noise, rng)
        self.held_out = list(held_out)
        if not self.points:
            raise ValueError(NO_POINTS)
        self.model, self.optimizer = self.names["model"], self.names["optimizer"]
        self.rng, self.steps, self.spent, self.pictured = random.Random(seed), 0, 0.0, -math.inf
        self.inputs, self.kind = len(self.points[0][0]), KINDS[data]
        try:
            self.surface = surface(self.model, self.inputs)
        except Exception as error:
            error.add_note(f"(the page called model with the coordinates of a point, a list of length {self.inputs})")
            error.line = stored(tree, "model")  # unless a line of the text raised it
            raise

    def about(self) -> dict[str, Any]:
        """What does not change while it trains."""
        return {
            "points": self.points,
            "held_out": self.held_out,
            "surface": self.surface,
            "parameters": len(list(self.model.parameters())),
            "wires": self._wires(),
            "biases": self._biases(),
            "mode": "compiled" if any(map(_is_compiled, self.names.values())) else "eager",
        }

    def _wires(self) -> list[list[list[int]]] | None:
        """For each neuron of each layer, which parameters are its weights; None if the model is no such network."""
        at = {id(p): i for i, p in enumerate(self.model.parameters())}
        layers = getattr(self.model, "layers", [])
        neurons = [neuron for layer in layers for neuron in getattr(layer, "neurons", [None])]
        if not neurons or not all(hasattr(neuron, "w") for neuron in neurons):
            return None
        return [[[at[id(w)] for w in neuron.w] for neuron in layer.neurons] for layer in layers]

    def _biases(self) -> list[list[int]] | None:
        """For each neuron of each layer, which parameter is its bias, if the model is such a network."""
        at = {id(p): i for i, p in enumerate(self.model.parameters())}
        return self._wires() and [[at[id(neuron.b)] for neuron in layer.neurons] for layer in self.model.layers]

    def go(self, milliseconds: float, batch: int, most: int, k: int = 0) -> dict[str, Any]:
        """Train for so long, at least once and at most so often; what there is to see then, of the point `k` too."""
        losses, began, end = [], time.perf_counter(), time.perf_counter() + milliseconds / 1e3
        while len(losses) < most and (not losses or time.perf_counter() < end):
            losses.append(plain(self._loss(self._batch(batch))))
        now = time.perf_counter()
        self.steps += len(losses)
        return {
            "steps": self.steps,
            "losses": losses,
            "ms": 1e3 * (now - began) / len(losses),
            "p": [plain(p) for p in self.model.parameters()],
            "norms": self._norms(),
            "grid": self._grid(now),
            "one": self.one(min(k, len(self.points) - 1)),
            "rate": plain(getattr(self.optimizer, "lr", None)),
        }

    def _batch(self, size: int) -> list[Any]:
        return self.points if size >= len(self.points) else self.rng.sample(self.points, size)

    def _loss(self, batch: list[Any]) -> Any:
        loss = self.names["step"](batch)
        if not isinstance(getattr(loss, "data", loss), float | int):
            raise TypeError(f"step(batch) must return the loss, a Value or a number; it returned {loss!r:.60}")
        return loss

    def _norms(self) -> list[float | str | None]:
        """The length of the gradient of each layer's parameters, as the last step left it."""
        parts = list(getattr(self.model, "layers", [self.model]))
        return [plain(math.sqrt(sum(float(p.grad) ** 2 for p in part.parameters()))) for part in parts]

    def _grid(self, now: float) -> list[Any] | None:
        """The scores at places in rows from the top, where the page cannot compute them."""
        if self.surface or now - self.pictured < EVERY:
            return None
        self.pictured = now
        at = [3.2 * i / (GRID - 1) - 1.6 for i in range(GRID)]
        places = [[x] for x in at] if self.inputs == 1 else [[x, y] for y in reversed(at) for x in at]
        with no_grad():
            scores = [self.model(place) for place in places]
        return [[plain(s) for s in score] if isinstance(score, list) else [plain(score)] for score in scores]

    def one(self, k: int) -> dict[str, Any] | None:
        """The graph of one point's loss in numbers; None if the model is no network of neurons.

        Returns:
            The `loss`, as the page's text for such answers has it; by layer what each neuron `said`, and `sent`, the
            gradient of the loss by that; and the `slopes`, by each parameter.
        """
        if self._wires() is None:
            return None
        (place, answer), drawn = self.points[k], random.getstate()
        try:
            loss = LOSSES[self.kind]([self.model(place)], [answer])
            made = {id(node._made_by[-2]): node for node in walk(loss).nodes if getattr(node, "_made_by", ())}
            layers = [[made[id(neuron)] for neuron in layer.neurons] for layer in self.model.layers]
            said = [node for layer in layers for node in layer]
            found = grad(loss, [*said, *self.model.parameters()], allow_unused=True)
        except Exception:  # a text that answers in another way, which trains all the same
            return None
        finally:
            random.setstate(drawn)
        slopes = iter([0.0 if slope is None else plain(slope) for slope in found])
        sent = [[next(slopes) for _ in layer] for layer in layers]
        numbers = [[plain(node) for node in layer] for layer in layers]
        return {"k": k, "loss": plain(loss), "said": numbers, "sent": sent, "slopes": [*slopes]}

    def loss_of(self, k: int) -> Any:
        """The loss of one point, as the model is now; nothing that was learnt changes."""
        parameters = list(self.model.parameters())
        kept = [(p.data, p.grad) for p in parameters]
        drawn, learns = random.getstate(), self.optimizer.step
        self.optimizer.step = _nothing
        try:
            return self._loss([self.points[k]])
        finally:
            self.optimizer.step = learns
            random.setstate(drawn)
            for p, (data, grad) in zip(parameters, kept, strict=True):
                p.data, p.grad = data, grad


def _nothing() -> None:
    pass


def _is_compiled(value: Any) -> bool:
    return type(value).__module__.startswith("micrograd.compiler")


training: Training | None = None


def _started() -> Training:
    if training is None:
        raise RuntimeError("nothing to train: the text has an error")
    return training


def answered(function: Callable[..., dict[str, Any]]) -> Callable[..., str]:
    """The function with its dict as JSON, what was printed as `out`, and an exception of the text as `error`."""

    @wraps(function)
    def answer(*args: Any, **kwargs: Any) -> str:
        printed = Tail()
        try:
            with running(printed):
                found = function(*args, **kwargs)
        except BaseException as error:  # also SystemExit: the text is wrong, and the page goes on
            found = {"error": told(error)}
        gc.collect(0)
        return json.dumps(found | {"out": printed.text})

    return answer


@answered
def start(source: str, data: str, noise: float, seed: int, size: int = POINTS) -> dict[str, Any]:
    """Run a text; `Training.about`. What was trained before is forgotten."""
    global training
    training = None
    training = Training(source, data, noise, seed, size)
    return training.about()


@answered
def go(milliseconds: float, batch: int, most: int = 10**9, k: int = 0) -> dict[str, Any]:
    """Train on; `Training.go`."""
    return _started().go(milliseconds, batch, most, k)


@answered
def one(k: int) -> dict[str, Any]:
    """The graph of a point's loss in numbers: `Training.one`, under that name."""
    return {"one": _started().one(k)}


@answered
def put(parameters: str, steps: int) -> dict[str, Any]:
    """Go on from these numbers, JSON of a list, as if it had trained so often."""
    trained = _started()
    for p, number in zip(trained.model.parameters(), json.loads(parameters), strict=True):
        p.data = number
    trained.steps = steps
    return {}


@answered
def set_rate(rate: float) -> dict[str, Any]:
    """Set the learning rate of the optimizer."""
    _started().optimizer.lr = rate
    return {}


@answered
def point(k: int) -> dict[str, Any]:
    """The player of the loss of one point: its `story`."""
    loss = _started().loss_of(k)
    if not isinstance(loss, Value) or not loss._prev:
        return {"error": {"line": None, "text": "This loss has no graph: step(batch) returned a plain number."}}
    loss.label = loss.label or "loss"
    return {"story": player(loss, max_nodes=MOST_NODES).story(), "loss": plain(loss)}
