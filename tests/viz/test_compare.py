"""`viz.compare`: two graphs of one function, and the first node where they differ."""

import math

import numpy as np
import pytest

from micrograd import Function, Tensor, Value
from micrograd.nn import MLP
from micrograd.viz import compare


@pytest.fixture
def leaves():
    return Value(0.7, label="x"), Value(-1.5, label="w"), Value(0.3, label="b")


def tanh_by_hand(a, rule, op="tanh"):
    """tanh(a), whose `_backward` adds `rule(out)`."""
    out = Value(math.tanh(a.data), (a,), op)

    def backward():
        a.grad += rule(out)

    out._backward = backward
    return out


def right(out):
    return (1 - out.data**2) * out.grad


def test_right_gradients_agree(leaves):
    x, w, b = leaves
    found = compare(tanh_by_hand(x * w + b, right) * 2, (x * w + b).tanh() * 2)
    assert found.difference == ""
    assert repr(found) == "<Comparison: They agree in 8 numbers and their gradients.>"


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        (lambda out: -right(out), "the sign is the other one"),
        (lambda out: 1 - out.data**2, "the gradient from the right, 2.0000, is not multiplied in"),
        (lambda out: out.grad, "the local derivative is not multiplied in"),
        (lambda out: 0.0, "nothing is sent"),
    ],
)
@pytest.mark.parametrize("op", ["tanh", "my tanh"])
def test_wrong_backward_is_named_and_what_is_wrong_with_it(leaves, rule, hint, op):
    x, w, b = leaves
    n = x * w + b
    n.label = "n"
    found = compare(tanh_by_hand(n, rule, op) * 2, n.tanh() * 2).difference
    assert found.startswith("n.grad is ")
    assert f"the _backward of {op}(n) sends " in found
    assert "in the reference the rule of tanh(n) sends 1.1932 (g * sech(n) * sech(n))" in found
    assert found.endswith(hint)


def test_use_that_was_forgotten_is_told():
    a = Value(3.0, label="a")
    square = Value(9.0, (a, a), "*")

    def backward():
        a.grad = a.data * square.grad

    square._backward = backward
    assert "the reference uses a 2 times, and each use adds its part" in compare(square, a * a).difference


def test_path_that_is_missing_is_told(leaves):
    x, w, _ = leaves
    held = Value(x.data, label="x")  # not the same leaf: its path is cut
    assert "used by" in compare(x * w + held.data, x * w + x).difference


def test_first_number_that_differs_stops_it(leaves):
    x, w, b = leaves
    found = compare((x * w - b).tanh(), (x * w + b).tanh()).difference
    assert found == (
        "x * w - b is -1.3500, and -0.7500 in the reference: one computes x * w - b, the reference x * w + b"
    )


def test_leaves_are_paired_by_label_and_order(leaves):
    x, w, b = leaves
    others = {leaf.label: Value(leaf.data, label=leaf.label) for leaf in (b, w, x)}
    assert compare(x * w + b, others["w"] * others["x"] + others["b"]).difference == ""
    p, q = (Value(1.0), Value(2.0)), (Value(1.0), Value(2.5))
    assert "different numbers" in compare(p[0] * p[1], q[0] * q[1], names={}).difference


def test_another_way_to_compute_the_same_agrees(leaves):
    x, w, b = leaves
    n = x * w + b
    assert compare(((2 * n).exp() - 1) / ((2 * n).exp() + 1), n.tanh()).difference == ""


def test_empty_arrays_agree():
    x = Tensor(np.zeros((0, 2)), label="x", requires_grad=True)
    assert compare((x * 2).sum(), (x + x).sum()).difference == ""


def test_function_of_tensors():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return -3 * x * x * g

    x = Tensor(np.arange(4.0) + 1, requires_grad=True, label="x")
    found = compare(Cube.apply(x), x**3).difference
    assert found.startswith("x.grad is [-3.0000, -12.0000, -27.0000, -48.0000], and [3.0000, ")
    assert "the backward of Cube(x) sends" in found
    assert found.endswith("the sign is the other one")


def test_network_folds_and_nothing_is_changed():
    model = MLP(2, [8, 8, 1])
    point = [Value(0.5), Value(-1.0)]
    loss = model(point) ** 2
    loss.backward()
    before = [p.grad for p in model.parameters()]
    assert compare(model(point) ** 2, loss).difference == ""
    assert [p.grad for p in model.parameters()] == before
