"""The promise to be a drop-in: what lectures on the classic package write themselves runs unchanged.

`tests/demos/test_one_page.py` compares numbers and training, to the last bit, with an engine in the classic's style.
"""

import math

import pytest

from micrograd.engine import Value
from micrograd.nn import MLP, Layer, Module, Neuron


def by_exp(n):
    e = (2 * n).exp()
    return (e - 1) / (e + 1)


def by_closure(n):
    t = (math.exp(2 * n.data) - 1) / (math.exp(2 * n.data) + 1)
    out = Value(t, (n,), "tanh by hand")

    def _backward():
        n.grad += (1 - t**2) * out.grad

    out._backward = _backward
    return out


def walk_by_hand(root):
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
    root.grad = 1.0
    for node in reversed(topo):
        node._backward()


@pytest.mark.parametrize("tanh", [Value.tanh, by_exp, by_closure])
@pytest.mark.parametrize("go_back", [Value.backward, walk_by_hand])
def test_neuron_of_the_lecture_has_its_gradients(tanh, go_back):
    x1, x2, w1, w2, b = leaves = [Value(x) for x in (2.0, 0.0, -3.0, 1.0, 6.8813735870195432)]
    out = tanh(x1 * w1 + x2 * w2 + b)
    go_back(out)
    assert out.data == pytest.approx(0.5**0.5)
    assert [leaf.grad for leaf in leaves] == pytest.approx([-1.5, 0.5, 1.0, 0.0, 0.5])


def test_method_of_value_may_be_replaced(monkeypatch):
    monkeypatch.setattr(Value, "tanh", by_closure)
    out = Neuron(1, activation="tanh")([1.0])
    out.backward()
    assert (out._op, out._prev[0].grad) == ("tanh by hand", pytest.approx(1 - out.data**2))


def test_node_has_what_the_drawing_cell_of_the_notebook_writes():
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    c = a * b
    c.label = "c"
    texts = [f"{{ {n.label} | data {n.data:.4f} | grad {n.grad:.4f} }} {n._op}" for n in (*c._prev, c)]
    assert texts == [
        "{ a | data 2.0000 | grad 0.0000 } ",
        "{ b | data -3.0000 | grad 0.0000 } ",
        "{ c | data -6.0000 | grad 0.0000 } *",
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Networks


def test_module_written_for_the_classic_package_runs_unchanged():
    class Squared(Module):
        def __init__(self):
            self.line = Layer(2, 1, nonlin=False)

        def __call__(self, x):
            return self.line(x) ** 2

        def parameters(self):
            return self.line.parameters()

    model = Squared()
    model([1.0, -2.0]).backward()
    assert all(p.grad != 0 for p in model.parameters())
    model.zero_grad()
    assert [p.grad for p in model.parameters()] == [0, 0, 0]


def test_subclass_of_neuron_with_a_constructor_of_its_own_runs():
    class Plain(Neuron):
        def __init__(self, nin):
            self.w = [Value(0.5) for _ in range(nin)]
            self.b = Value(1.0)
            self.nonlin = True

    class Tanh(Plain):
        def __call__(self, x):
            act = sum((wi * xi for wi, xi in zip(self.w, x, strict=True)), self.b)
            return act.tanh()

    assert Plain(2)([1.0, 2.0]).data == 2.5
    assert Tanh(2)([Value(1.0), -2.0]).data == math.tanh(0.5)
    assert repr(Plain(2)) == "ReLUNeuron(2)"


def test_weights_may_be_read_and_set_where_they_are():
    model = MLP(2, [2, 1])
    model.layers[0].neurons[1].w[0].data = 0.25
    model.layers[1].neurons[0].b.data -= 1
    model.layers[0].neurons[0].nonlin = False
    assert 0.25 in [p.data for p in model.parameters()]
    assert model.layers[1].neurons[0].b.data == -1.0
    assert repr(model.layers[0]) == "Layer of [LinearNeuron(2), ReLUNeuron(2)]"
