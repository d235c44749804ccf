"""Graphs that more than one test draws, and what a page holds."""

import base64
import json
import math
import random
import re
import zlib

from micrograd import Tensor, Value, softmax, viz
from micrograd.functional import cross_entropy
from micrograd.nn import MLP, Linear, Sequential, Tanh

POINTS, SIDES = [[0.0, 0.0], [0.0, 2.0], [3.0, 0.0], [1.0, 1.5]], [-1, -1, 1, 1]


def embedded(page):
    """What the script of a page is passed, unpacked."""
    (packed,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    return json.loads(zlib.decompress(base64.b64decode(packed), -15))


def neuron():
    x1, x2 = Value(2.0, label="x1"), Value(0.5, label="x2")
    w1, w2, b = Value(-3.0, label="w1"), Value(1.0, label="w2"), Value(6.8813735870195432, label="b")
    n = x1 * w1 + x2 * w2 + b
    n.label = "n"
    out = n.tanh()
    out.label = "o"
    return out


def expression(a=-4.0):
    """The graph in the README, with the names that it has there."""
    a, b = Value(a, label="a"), Value(2.0, label="b")
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0 + 10.0 / f
    c.label, d.label, e.label, f.label, g.label = "cdefg"
    return g


def attention():
    """One layer of attention, with Tensors."""
    import numpy as np
    from demo_helpers import demo_module

    gpt, rng = demo_module("microgpt"), np.random.default_rng(0)
    x = Tensor(rng.normal(size=(1, 5, 8)), requires_grad=True, label="x")
    return gpt.TensorBlock(8, 2, rng).attend(gpt.rows_normed(x)).sum()


def attended(word="anna", named=True):
    """What a softmax of products looks at, and the player's page of it, with the word's letters on its axes."""
    import numpy as np

    rng = np.random.default_rng(0)
    x = Tensor(rng.normal(size=(len(word), 3)), requires_grad=True, label="x")
    a = softmax(x @ x.T, axis=-1)
    a.label = "attention"
    return a, viz.player(((a @ x) ** 2).sum(), names={x: word} if named else None).html


def gpt():
    """The loss of a tiny GPT, with Tensors."""
    import numpy as np
    from demo_helpers import demo_module

    gpt = demo_module("microgpt")
    return gpt.TensorGPT(16, 4, 1, np.random.default_rng(0)).loss(*gpt.padded(["emma", "olivia"]))


def square():
    a = Value(3.0, label="a")
    return a * a


def paths():
    a, b = Value(3.0, label="a"), Value(2.0, label="b")
    s, p = a + b, a * b
    s.label, p.label = "s", "p"
    root = s * p
    root.label = "L"
    return root


def network(samples=1, sizes=(16, 16, 1)):
    """The loss of an MLP at points of two classes."""
    random.seed(1337)
    model = MLP(2, list(sizes))
    points = [(random.uniform(-1, 2), random.uniform(-1, 1)) for _ in range(samples)]
    loss = sum((1 + -((-1) ** i) * model(point)).relu() for i, point in enumerate(points)) * (1.0 / samples)
    loss.label = "loss"
    return loss


def arrays():
    import numpy as np

    rng = np.random.default_rng(0)
    x = Tensor(rng.normal(size=(5, 3)), label="x")
    w = Tensor(rng.normal(size=(3, 4)), requires_grad=True, label="w")
    b = Tensor(rng.normal(size=4), requires_grad=True, label="b")
    return ((x @ w + b).tanh() ** 2).mean()


def classifier():
    """The loss of two layers of arrays on a batch of twelve points of three classes."""
    import numpy as np

    rng = np.random.default_rng(0)
    model = Sequential(Linear(2, 8, rng=rng), Tanh(), Linear(8, 3, rng=rng))
    loss = cross_entropy(model(Tensor(rng.normal(size=(12, 2)), label="X")), rng.integers(0, 3, 12))
    loss.label = "loss"
    return loss


def crowd():
    """A graph with more lines than there is room for pills at once."""
    rng = random.Random(3)
    values = [Value(rng.uniform(0.5, 1), label=f"a{i}") for i in range(5)]
    for _ in range(45):
        a, b = rng.choice(values[-12:]), rng.choice(values[-12:])
        values.append(rng.choice([lambda: a * b, lambda: a + b, lambda: a - b])())  # noqa: B023
    return (values[-1] * values[-2]) * (values[-3] * values[-4])


class Weight:
    def __init__(self, model):
        self.model = model

    @property
    def data(self):
        return [math.cos(self.model.angle), math.sin(self.model.angle), 0.5]


class Turning:
    """A line that turns, of two layers of weights."""

    angle = 0.0

    def __call__(self, points):
        return 3 * (math.cos(self.angle) * (points[:, 0] - 1.5) + math.sin(self.angle) * (points[:, 1] - 1))

    def named_parameters(self):
        return [("0.w", Weight(self)), ("1.w", Weight(self))]


def filmed_network():
    """A movie of a network whose first weight is -1 in its second frame, and 0 in its third."""
    model = MLP(2, [3, 1])
    film = viz.movie(model, POINTS, SIDES, resolution=10)
    for step in range(3):
        model(POINTS[0]).backward()
        film.frame(1.0)
        model.layers[0].neurons[0].w[0].data = float(step - 1)
    return film


def turning(frames=7):
    """A movie of it."""
    film = viz.movie(Turning(), POINTS, SIDES, resolution=20, title="A line that turns")
    for i in range(frames):
        film.model.angle = i / 3
        film.frame(2.0 / (i + 1))
    return film
