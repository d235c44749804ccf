"""The classic's demo, cell by cell: the same imports, names and habits, the losses that all know, and its pictures."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from typing import Any

import pytest

if find_spec("sklearn") is None:
    pytest.skip("no sklearn", allow_module_level=True)
pyplot = pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.long

IMPORTS = """
import random
import numpy as np
import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from micrograd.engine import Value
from micrograd.nn import Neuron, Layer, MLP
"""
DATA = """
np.random.seed(1337)
random.seed(1337)
X, y = make_moons(n_samples=100, noise=0.1)
y = y * 2 - 1
plt.figure(figsize=(5, 5))
plt.scatter(X[:, 0], X[:, 1], c=y, s=20, cmap="jet")
"""
MODEL = """
model = MLP(2, [16, 16, 1])
print(model)
print("number of parameters", len(model.parameters()))
"""
LOSS = """
def loss(batch_size=None):
    if batch_size is None:
        Xb, yb = X, y
    else:
        chosen = np.random.permutation(X.shape[0])[:batch_size]
        Xb, yb = X[chosen], y[chosen]
    inputs = [list(map(Value, row)) for row in Xb]
    scores = list(map(model, inputs))
    losses = [(1 + -yi * score).relu() for yi, score in zip(yb, scores)]
    data_loss = sum(losses) * (1.0 / len(losses))
    reg_loss = 1e-4 * sum((p * p for p in model.parameters()))
    hits = [(yi > 0) == (score.data > 0) for yi, score in zip(yb, scores)]
    return data_loss + reg_loss, sum(hits) / len(hits)

total_loss, acc = loss()
print(total_loss, acc)
"""
TRAINING = """
history = []
for k in range(100):
    total_loss, acc = loss()
    model.zero_grad()
    total_loss.backward()
    learning_rate = 1.0 - 0.9 * k / 100
    for p in model.parameters():
        p.data -= learning_rate * p.grad
    history.append(total_loss.data)
"""
CONTOUR = """
h = 0.25
x_min, x_max = X[:, 0].min() - 1, X[:, 0].max() + 1
y_min, y_max = X[:, 1].min() - 1, X[:, 1].max() + 1
xx, yy = np.meshgrid(np.arange(x_min, x_max, h), np.arange(y_min, y_max, h))
mesh = np.c_[xx.ravel(), yy.ravel()]
scores = list(map(model, [list(map(Value, row)) for row in mesh]))
Z = np.array([s.data > 0 for s in scores]).reshape(xx.shape)
figure = plt.figure()
filled = plt.contourf(xx, yy, Z, cmap=plt.cm.Spectral, alpha=0.8)
plt.scatter(X[:, 0], X[:, 1], c=y, s=40, cmap=plt.cm.Spectral)
plt.xlim(xx.min(), xx.max())
plt.ylim(yy.min(), yy.max())
"""
DRAWING = """
from graphviz import Digraph

def trace(root):
    nodes, edges = set(), set()
    def visit(node):
        if node not in nodes:
            nodes.add(node)
            for operand in node._prev:
                edges.add((operand, node))
                visit(operand)
    visit(root)
    return nodes, edges

def draw_dot(root, format="svg", rankdir="LR"):
    nodes, edges = trace(root)
    dot = Digraph(format=format, graph_attr={"rankdir": rankdir})
    for n in nodes:
        dot.node(name=str(id(n)), label="{ data %.4f | grad %.4f }" % (n.data, n.grad), shape="record")
        if n._op:
            dot.node(name=str(id(n)) + n._op, label=n._op)
            dot.edge(str(id(n)) + n._op, str(id(n)))
    for n1, n2 in edges:
        dot.edge(str(id(n1)), str(id(n2)) + n2._op)
    return dot

random.seed(1337)
n = Neuron(2)
out = n([Value(1.0), Value(-2.0)])
out.backward()
dot = draw_dot(out)
"""


@pytest.fixture(scope="module")
def notebook() -> dict[str, Any]:
    """The names that its cells leave."""
    names: dict[str, Any] = {}
    backend = pyplot.get_backend()
    pyplot.switch_backend("agg")
    for cell in (IMPORTS, DATA, MODEL, LOSS, TRAINING, CONTOUR, DRAWING):
        exec(cell, names)
    yield names
    pyplot.close("all")
    pyplot.switch_backend(backend)


def test_losses_are_the_classics(notebook: dict[str, Any]):
    assert len(notebook["history"]) == 100
    assert notebook["history"][0] == pytest.approx(0.8958441028683222, rel=1e-12)
    assert notebook["history"][-1] == pytest.approx(0.010978370135492717, rel=1e-6)
    assert notebook["acc"] == 1.0


def test_contour_shows_both_sides(notebook: dict[str, Any]):
    assert {*notebook["Z"].ravel().tolist()} == {True, False}
    assert len(notebook["figure"].axes[0].collections) >= 2


def test_drawing_of_the_classics_own_has_each_number_and_gradient(notebook: dict[str, Any]):
    nodes, edges = notebook["trace"](notebook["out"])
    source = notebook["dot"].source
    for node in nodes:
        assert f"data {node.data:.4f} | grad {node.grad:.4f}" in source
    assert source.count("->") == len(edges) + sum(bool(node._op) for node in nodes)


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_drawing_of_the_classics_own_is_drawn_by_graphviz(notebook: dict[str, Any]):
    assert "</svg>" in notebook["dot"].pipe(encoding="utf-8")
