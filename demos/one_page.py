"""Micrograd on one page: numbers that remember how they were computed, the backward pass, and networks made of them.

A `Value` behaves like a number. An expression of Values is computed as usual, and each result remembers its operands,
with a rule for each of them. A rule answers one question: if the final result changes by g when I change by 1, how much
does it change when this operand changes by 1? The answer is g times a local derivative, which school teaches.

    y = a * b        if a grows by 1, y grows by b, so the rule for a is  g -> g * b
    y = exp(a)       its slope at a is y itself, so the rule is           g -> g * y

`backward` starts at the result, whose g is 1, and goes back through everything that led to it. A Value that was used in
several places receives several parts, and its gradient is their sum. That is all of backpropagation:

>>> x, y = Value(3.0), Value(-4.0)
>>> z = (x * x + y * y) ** 2 / 5
>>> z.backward()
>>> z.data, x.grad, y.grad
(125.0, 60.0, -80.0)

A neuron adds up weighted inputs. A layer is several neurons side by side, and a network is layers in a row. To train it
means to take a small step against the gradient, again and again. Here it learns that two inputs differ:

>>> random.seed(3)
>>> model = MLP(2, [4, 1], activation="tanh")
>>> points = [((0, 0), -1), ((0, 1), 1), ((1, 0), 1), ((1, 1), -1)]
>>> for step in range(100):
...     loss = sum((model(x) - y) ** 2 for x, y in points)
...     model.zero_grad()
...     loss.backward()
...     for p in model.parameters():
...         p.data -= 0.1 * p.grad
>>> [round(model(x).data) for x, y in points]
[-1, 1, 1, -1]

The package `micrograd` computes the same numbers and the same gradients, equal in every bit (where powers are whole).
It adds speed, pictures, arrays, results where Python's floats raise an error (1 / 0), and explanations of mistakes.
Print this page, change it, or start your own engine from it: log, for example, takes three lines.
"""

import math
import random


class Value:
    """A number that remembers the numbers it was computed from, each with its rule: a pair (operand, rule)."""

    def __init__(self, data, *ways_back):
        self.data = float(data)
        self.grad = 0  # how fast the final result changes with this number, once `backward` has run
        self._prev = [operand for operand, _ in ways_back]
        self._ways_back = ways_back

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    # ---- Each operation computes a result, and says how a gradient g goes back to each operand.

    def __add__(self, other):
        other = as_value(other)
        return Value(self.data + other.data, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other):
        other = as_value(other)
        a, b = self.data, other.data
        return Value(a * b, (self, lambda g: g * b), (other, lambda g: g * a))

    def __truediv__(self, other):
        other = as_value(other)
        a, b = self.data, other.data
        return Value(a / b, (self, lambda g: g / b), (other, lambda g: -g * (a / b) / b))

    def __pow__(self, n):
        a = self.data
        return Value(a**n, (self, lambda g: g * n * a ** (n - 1)))

    def exp(self):
        y = math.exp(self.data)
        return Value(y, (self, lambda g: g * y))

    def tanh(self):
        a = self.data
        sech = 1 / math.cosh(min(abs(a), 700))  # the cosh of 711 is too large for a float
        return Value(math.tanh(a), (self, lambda g: g * sech * sech))

    def relu(self):
        a = self.data

        def gate(x):  # open for both, the number on its way forward and the gradient on its way back, or for neither
            return 0.0 if a <= 0 else x

        return Value(gate(a), (self, gate))

    # ---- The other operators are made of these.

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return Value(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    # ---- The backward pass.

    def _backward(self):
        """Send this number's gradient to its operands, which add up what arrives."""
        for operand, rule in self._ways_back:
            operand.grad += rule(self.grad)

    def backward(self):
        """Compute the gradient of every number that led to this one.

        A number sends its gradient on when it is complete: after all numbers computed from it have sent theirs. So they
        are put in order first, each behind its operands. The gradients of leaves add up from pass to pass.
        """
        earlier, met, waiting = {}, set(), [self]
        while waiting:
            node = waiting.pop()
            if node in met:  # for the second time, so its operands are in order
                earlier[node] = node.grad
            else:
                met.add(node)
                waiting += [node, *reversed(node._prev)]

        for node in earlier:
            node.grad = -0.0  # the zero to which any number may be added: 0.0 + -0.0 would be 0.0
        self.grad = 1.0
        for node in reversed(earlier):
            node._backward()
        for node, grad in earlier.items():
            if grad and not node._prev:
                node.grad += grad


def as_value(x):
    """A plain number as a Value."""
    return x if isinstance(x, Value) else Value(x)


class Module:
    """A part of a network, with parameters that can be trained."""

    def zero_grad(self):
        for p in self.parameters():
            p.grad = 0


class Neuron(Module):
    """activation(b + w0*x0 + w1*x1 + ...)"""

    def __init__(self, nin, nonlin=True, activation="relu"):
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.nonlin, self.activation = nonlin, activation

    def __call__(self, x):
        total = sum((w * xi for w, xi in zip(self.w, x, strict=True)), self.b)
        return getattr(total, self.activation)() if self.nonlin else total

    def parameters(self):
        return [*self.w, self.b]


class Layer(Module):
    """Neurons side by side, all of which see the same inputs."""

    def __init__(self, nin, nout, **options):
        self.neurons = [Neuron(nin, **options) for _ in range(nout)]

    def __call__(self, x):
        out = [neuron(x) for neuron in self.neurons]
        return out if len(out) > 1 else out[0]

    def parameters(self):
        return [p for neuron in self.neurons for p in neuron.parameters()]


class MLP(Module):
    """Layers in a row, the last one without an activation. MLP stands for multi-layer perceptron."""

    def __init__(self, nin, nouts, **options):
        sizes = [nin, *nouts]
        self.layers = [Layer(sizes[i], n, nonlin=i + 1 < len(nouts), **options) for i, n in enumerate(nouts)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]
