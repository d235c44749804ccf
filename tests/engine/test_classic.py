"""The promise to be a drop-in: what lectures on the classic package write themselves runs unchanged.

`tests/demos/test_one_page.py` compares numbers and training, to the last bit, with an engine in the classic's style.
"""

import math
from typing import Any

import pytest

from micrograd import compile, grad, gradient, hessian, jvp, no_grad
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
# The form of 2026's microgpt: the local derivatives are the third argument


def sine(x):
    return Value(math.sin(x.data), (x,), (math.cos(x.data),))


def dot(xs, ys):
    """Of any number of operands, one of them twice."""
    numbers = [x.data for x in xs], [y.data for y in ys]
    return Value(sum(map(lambda a, b: a * b, *numbers)), (*xs, *ys), (*numbers[1], *numbers[0]))


class Port(Value):
    """A subclass whose operators are written in that form."""

    def __add__(self, other):
        other = other if isinstance(other, Value) else Port(other)
        return Port(self.data + other.data, (self, other), (1, 1))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Port(other)
        return Port(self.data * other.data, (self, other), (other.data, self.data))

    def relu(self):
        return Port(max(0, self.data), (self,), (float(self.data > 0),))


@pytest.mark.parametrize("go_back", [Value.backward, walk_by_hand])
def test_local_derivatives_are_what_flows_back(go_back):
    x, y = Value(0.5), Value(-2.0)
    out = dot([sine(x), y, x], [y, y, x]) * 3
    go_back(out)
    assert out.data == 3 * (math.sin(0.5) * -2.0 + 4.0 + 0.25)
    assert x.grad == pytest.approx(3 * (math.cos(0.5) * -2.0 + 2 * 0.5))
    assert y.grad == pytest.approx(3 * (math.sin(0.5) + 2 * -2.0))


def test_port_of_the_operators_has_the_gradients_of_the_engine():
    def f(a, b):
        return ((a * b + a) * (b + 2.0)).relu() + a * a * 3.0

    grads = []
    for kind in (Value, Port):
        a, b = kind(1.5), kind(-0.25)
        for _ in range(2):
            f(a, b).backward()
        grads.append((a.grad, b.grad))
    assert grads[1] == pytest.approx(grads[0])


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: Value(6.0, (a, b), (3.0, 2.0)),
        lambda a, b: Value(6.0, [a, b], [3, 2]),
        lambda a, b: Value(6.0, children=(a, b), local_grads=(3.0, 2.0)),
        lambda a, b: Value(6.0, _children=(a, b), local_grads=(3.0, 2.0)),
        lambda a, b: Value(6.0, (a, b), local_grads=(3.0, 2.0)),
        lambda a, b: Value(6.0, _children=(a, b), _op=(3.0, 2.0)),
    ],
)
def test_local_derivatives_are_given_by_place_or_by_name(make):
    a, b = Value(2.0), Value(3.0)
    out = make(a, b)
    out.backward(10.0)
    assert (a.grad, b.grad, out._prev, out._op) == (30.0, 20.0, (a, b), "local_grads")


@pytest.mark.parametrize("arguments", [((), ()), ([], []), ((), ""), ()])
def test_value_without_operands_is_a_leaf(arguments):
    x: Any = Value(2.0, *arguments)
    (x * x).backward()
    assert (x.is_leaf, x.grad) == (True, 4.0)


A, B = Value(1.0), Value(2.0)
ANY: Any = Value  # for wrong arguments


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (((A, B), (1.0,)), ValueError, r"2 operands need as many derivatives, found \(1.0,\)"),
        (((A,), (1.0, 2.0)), ValueError, "1 operands need as many"),
        (((A,), ()), ValueError, "1 operands need as many"),
        (((), (1.0,)), ValueError, "0 operands need as many"),
        (((A, B), (B, A)), TypeError, r"plain numbers \(a.data, not a\): found \(Value"),
        (((A,), ("1",)), TypeError, "plain numbers"),
        (((A,), (None,)), TypeError, "plain numbers"),
        (((A,), (1j,)), TypeError, "plain numbers"),
        (((A,), 2.0), TypeError, "plain numbers .* found 2.0"),
        (((A,), {2.0}), TypeError, "plain numbers"),
        (({A, B}, (1.0, 2.0)), TypeError, "the operands of a Value are a tuple"),
        (((1.0, 2.0), (1.0, 2.0)), TypeError, "the operands of a Value are a tuple of Values"),
    ],
)
def test_local_derivatives_that_do_not_fit_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        ANY(3.0, *arguments)


def test_constant_and_no_grad_get_nothing_through_local_derivatives():
    c = Value(2.0, requires_grad=False)
    out = Value(6.0, (A, c), (3.0, 2.0))
    out.backward()
    assert c.grad == 0
    with no_grad():
        assert not Value(6.0, (A,), (3.0,)).requires_grad
    assert not Value(6.0, (c,), (3.0,)).requires_grad


@pytest.mark.parametrize(
    ("derive", "message"),
    [
        (lambda x: sine(x).backward(create_graph=True), "create_graph=True needs the derivative of 'local_grads' as a"),
        (lambda x: grad(sine(x) * x, [x], create_graph=True), "create_graph=True needs"),
        (lambda x: hessian(sine)(1.0), "create_graph=True needs"),
        (lambda x: jvp(sine, (1.0,), (1.0,)), "jvp needs the derivative of 'local_grads' as a row"),
        (lambda x: compile(lambda x: Value(2.0, (x,), (3.0,)))(x), "local_grads"),
    ],
)
def test_second_derivative_through_local_ones_is_refused_by_name(derive, message):
    """The numbers do not say how they depend on the operands."""
    x = Value(0.5)
    with pytest.raises((RuntimeError, TypeError), match=message):
        derive(x)
    assert x.grad == 0


def test_first_derivative_through_local_ones_is_taken_by_transforms():
    assert gradient(sine)(0.5) == math.cos(0.5)


def test_data_set_between_two_passes_changes_no_gradient_of_what_was_computed_before():
    """As docs/from_classic.md says, where the classic's and PyTorch's 123 stands beside ours."""
    x = Value(4.0)
    y = x**3
    y.backward()
    x.data = 5.0
    y.backward()
    assert x.grad == 48 + 48


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
