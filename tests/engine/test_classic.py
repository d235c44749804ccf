"""The promise to be a drop-in: scripts in the style of lectures on the classic package run unchanged.

Their numbers are compared with those of `demos/one_page.py`, an engine of 100 lines in that style.
"""

import math
import random

import pytest
from demo_helpers import demo_module
from graphviz import Digraph

from micrograd import nn
from micrograd.engine import Value
from micrograd.nn import MLP, Layer, Module, Neuron

page = demo_module("one_page")


def topological(root):
    """As every lecture writes it."""
    topo = []
    visited = set()

    def build_topo(v):
        if v not in visited:
            visited.add(v)
            for child in v._prev:
                build_topo(child)
            topo.append(v)

    build_topo(root)
    return topo


def sanity(V):
    """An expression with much reuse."""
    x = V(-4.0)
    z = 2 * x + 2 + x
    q = z.relu() + z * x
    h = (z * z).relu()
    y = h + q + q * x
    return y, [x]


def long_one(V):
    """All that a number may stand beside, and names that are bound again."""
    a = V(-4.0)
    b = V(2.0)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    return g, [a, b]


def neuron_by_hand(V):
    """One neuron with two inputs, and tanh made of exp."""
    x1, x2 = V(2.0), V(0.0)
    w1, w2 = V(-3.0), V(1.0)
    b = V(6.8813735870195432)
    n = x1 * w1 + x2 * w2 + b
    e = (2 * n).exp()
    return (e - 1) / (e + 1), [x1, x2, w1, w2, b]


SCRIPTS = [sanity, long_one, neuron_by_hand]


@pytest.mark.parametrize("script", SCRIPTS)
def test_expressions_have_the_classic_numbers(script):
    ours, our_leaves = script(Value)
    classic, classic_leaves = script(page.Value)
    ours.backward()
    classic.backward()
    assert ours.data == pytest.approx(classic.data, rel=1e-12)
    assert [v.grad for v in our_leaves] == pytest.approx([v.grad for v in classic_leaves], rel=1e-12)


@pytest.mark.parametrize("script", SCRIPTS)
def test_walk_by_hand_over_closures_gives_what_backward_gives(script):
    root, leaves = script(Value)
    root.grad = 1.0
    for node in reversed(topological(root)):
        node._backward()
    again, same_leaves = script(Value)
    again.backward()
    assert [v.grad for v in leaves] == pytest.approx([v.grad for v in same_leaves], rel=1e-13)


# ---------------------------------------------------------------------------------------------------------------------
# Ops from outside, whose derivative is a closure


def test_method_of_value_may_be_replaced(monkeypatch):
    called = []

    def tanh(self):
        t = (math.exp(2 * self.data) - 1) / (math.exp(2 * self.data) + 1)
        out = Value(t, (self,), "tanh")

        def _backward():
            called.append(out)
            self.grad += (1 - t**2) * out.grad

        out._backward = _backward
        return out

    monkeypatch.setattr(Value, "tanh", tanh)
    x, rx = Value(0.7), page.Value(0.7)
    out, expected = (x * x + x).tanh() * x, (rx * rx + rx).tanh() * rx
    out.backward()
    expected.backward()
    assert len(called) == 1
    assert x.grad == pytest.approx(rx.grad, rel=1e-12)

    neuron = Neuron(2, activation="tanh")
    neuron([x, 1.0]).backward()
    assert len(called) == 2


def test_closures_of_ones_own_run_in_a_walk_by_hand_too():
    x = Value(3.0)
    square = Value(x.data * x.data, (x,), "square")

    def _backward():
        x.grad += 2 * x.data * square.grad

    square._backward = _backward
    out = square * 2 + x
    out.grad = 1.0
    for node in reversed(topological(out)):
        node._backward()
    assert x.grad == 13.0


# ---------------------------------------------------------------------------------------------------------------------
# The drawing cell of the notebook


def trace(root):
    nodes, edges = set(), set()

    def build(v):
        if v not in nodes:
            nodes.add(v)
            for child in v._prev:
                edges.add((child, v))
                build(child)

    build(root)
    return nodes, edges


def draw_dot(root, format="svg", rankdir="LR"):
    nodes, edges = trace(root)
    dot = Digraph(format=format, graph_attr={"rankdir": rankdir})
    for n in nodes:
        uid = str(id(n))
        dot.node(name=uid, label=f"{{ {n.label} | data {n.data:.4f} | grad {n.grad:.4f} }}", shape="record")
        if n._op:
            dot.node(name=uid + n._op, label=n._op)
            dot.edge(uid + n._op, uid)
    for n1, n2 in edges:
        dot.edge(str(id(n1)), str(id(n2)) + n2._op)
    return dot


def test_drawing_cell_draws():
    a = Value(2.0, label="a")
    b = Value(-3.0, label="b")
    c = a * b
    c.label = "c"
    out = (c + 1).relu()
    out.backward()
    source = draw_dot(out).source
    for text in ("a | data 2.0000", "b | data -3.0000", "c | data -6.0000 | grad 0.0000", "label=ReLU", "data 1.0000"):
        assert text in source
    assert len(trace(out)[0]) == 6


# ---------------------------------------------------------------------------------------------------------------------
# Networks


def losses_of(networks):
    """A lecture's training loop, with the MLP of the package or of the page."""
    xs = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
    ys = [1.0, -1.0, -1.0, 1.0]
    random.seed(42)
    n = networks.MLP(3, [4, 4, 1])
    for _ in range(20):
        ypred = [n(x) for x in xs]
        loss = sum((yout - ygt) ** 2 for ygt, yout in zip(ys, ypred, strict=True))
        for p in n.parameters():
            p.grad = 0.0
        loss.backward()
        for p in n.parameters():
            p.data += -0.01 * p.grad
        yield loss.data


def test_training_loop_takes_the_classic_path():
    ours, classic = list(losses_of(nn)), list(losses_of(page))
    assert ours[0] == classic[0]  # the forward pass in the same order
    assert ours == pytest.approx(classic, rel=1e-12)  # gradients may be summed in another
    assert ours[-1] < ours[0]


def test_max_margin_loop_runs_as_written():
    random.seed(1337)
    xs = [(random.uniform(-1, 1), random.uniform(-1, 1)) for _ in range(12)]
    ys = [1 if x * y > 0 else -1 for x, y in xs]
    model = MLP(2, [8, 1])

    def loss():
        inputs = [list(map(Value, xrow)) for xrow in xs]
        scores = list(map(model, inputs))
        losses = [(1 + -yi * scorei).relu() for yi, scorei in zip(ys, scores, strict=True)]
        data_loss = sum(losses) * (1.0 / len(losses))
        alpha = 1e-4
        reg_loss = alpha * sum(p * p for p in model.parameters())
        accuracy = [(yi > 0) == (scorei.data > 0) for yi, scorei in zip(ys, scores, strict=True)]
        return data_loss + reg_loss, sum(accuracy) / len(accuracy)

    for k in range(60):
        total_loss, acc = loss()
        model.zero_grad()
        total_loss.backward()
        learning_rate = 1.0 - 0.9 * k / 60
        for p in model.parameters():
            p.data -= learning_rate * p.grad
    assert acc == 1.0


def test_modules_written_for_the_classic_package_run_unchanged():
    class Bilinear(Module):
        def __init__(self, nin):
            self.w = [[Value(random.uniform(-1, 1)) for _ in range(nin)] for _ in range(nin)]

        def __call__(self, x):
            return sum(wij * xi * xj for row, xi in zip(self.w, x, strict=True) for wij, xj in zip(row, x, strict=True))

        def parameters(self):
            return [w for row in self.w for w in row]

    class Net(Module):
        def __init__(self):
            self.first = Layer(2, 3, nonlin=True)
            self.second = Bilinear(3)

        def __call__(self, x):
            return self.second(self.first(x))

        def parameters(self):
            return self.first.parameters() + self.second.parameters()

    net = Net()
    assert len(net.parameters()) == 9 + 9
    out = net([1.0, -2.0])
    out.backward()
    assert any(p.grad != 0 for p in net.second.parameters())
    net.zero_grad()
    assert all(p.grad == 0 for p in net.parameters())


def test_subclass_of_neuron_with_a_constructor_of_its_own_runs():
    class Plain(Neuron):
        def __init__(self, nin):
            self.w = [Value(0.5) for _ in range(nin)]
            self.b = Value(1.0)
            self.nonlin = True

    class Tanh(Neuron):
        def __call__(self, x):
            act = sum((wi * xi for wi, xi in zip(self.w, x, strict=True)), self.b)
            return act.tanh()

    assert Plain(2)([1.0, 2.0]).data == 2.5
    assert repr(Plain(2)) == "ReLUNeuron(2)"
    neuron = Tanh(2)
    neuron.b.data = 0.5
    x = [Value(1.0), Value(-1.0)]
    assert neuron(x).data == math.tanh(0.5 + neuron.w[0].data - neuron.w[1].data)


def test_weights_may_be_read_and_set_where_they_are():
    model = MLP(2, [2, 1])
    model.layers[0].neurons[1].w[0].data = 0.25
    model.layers[1].neurons[0].b.data -= 1
    model.layers[0].neurons[0].nonlin = False
    assert 0.25 in [p.data for p in model.parameters()]
    assert model.layers[1].neurons[0].b.data == -1.0
    assert repr(model.layers[0]) == "Layer of [LinearNeuron(2), ReLUNeuron(2)]"
