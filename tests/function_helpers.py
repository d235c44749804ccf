"""Functions that several tests use."""

import numpy as np
import pytest

from micrograd import Value, grad
from micrograd.autograd.function import Function
from micrograd.tensor import Tensor

A = [0.5, -1.5, 2.0]


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class Exp(Function):
    """Saves its result, as PyTorch's tutorial does."""

    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g * out


class Scale(Function):
    """Has arguments that are no nodes."""

    @staticmethod
    def forward(ctx, x, factor, name):
        ctx.factor, ctx.name = factor, name
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None, None


class Product(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x


def make(backward_, forward=lambda ctx, x: x * 1):
    """A Function of these two."""
    return type("Made", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward_)})


def nodes(kind):
    return Value(2.0) if kind == "value" else Tensor(A, requires_grad=True)


def numbers(x):
    return np.asarray(getattr(x, "data", x))


def total(x):
    return x if isinstance(x, Value) else x.sum()


def slope(y, x, **options):
    """The gradient of y, or of the sum of its elements, at x."""
    return grad(y, x, None if isinstance(y, Value) else np.ones(y.shape), **options)[0]


def second_derivative(op, x):
    """The second derivative of an op at x, as numbers; of its sum, if it has elements."""
    return numbers(slope(slope(op.apply(x), x, create_graph=True), x))


both = pytest.mark.parametrize("kind", ["value", "tensor"])
