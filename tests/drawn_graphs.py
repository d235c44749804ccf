"""Graphs that more than one test draws."""

from micrograd import Value


def neuron():
    x1, x2 = Value(2.0, label="x1"), Value(0.5, label="x2")
    w1, w2, b = Value(-3.0, label="w1"), Value(1.0, label="w2"), Value(6.8813735870195432, label="b")
    n = x1 * w1 + x2 * w2 + b
    n.label = "n"
    out = n.tanh()
    out.label = "o"
    return out
