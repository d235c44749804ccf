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


class Power:
    """Has a setting that is an argument, saves its result and a None, and returns more Nones than it needs."""

    @staticmethod
    def forward(ctx, x, y, n):
        ctx.n = n
        out = (x * y) ** n
        ctx.save_for_backward(x, None, y, out)
        return out

    @staticmethod
    def backward(ctx, g):
        x, _, y, out = ctx.saved_tensors
        return g * ctx.n * out / x, g * ctx.n * out / y, None, None, None


class ProductAndQuotient:
    """Has two results, and saves the second, from which the gradient of the first is computed too."""

    @staticmethod
    def forward(ctx, x, y):
        quotient = x / y
        ctx.save_for_backward(x, y, quotient)
        return x * y, quotient

    @staticmethod
    def backward(ctx, g, h):
        x, y, quotient = ctx.saved_tensors
        return g * x / quotient + h / y, g * x - h * quotient / y


class WithAConstant:
    """Marks a result as not differentiable, and saves it."""

    @staticmethod
    def forward(ctx, x, y):
        two = x * 0 + 2.0
        ctx.mark_non_differentiable(two)
        ctx.save_for_backward(x, y, two)
        return x * y, two

    @staticmethod
    def backward(ctx, g, of_two):
        x, y, two = ctx.saved_tensors
        return g * y * (two - 1) + of_two * 100, g * x * (two - 1) + of_two * 100


FUNCTIONS = {  # what is written, its results at x and y, and the same composed of rows
    "saves its argument": (Cube, lambda f, x, y: [f(x)], lambda x, y: [x**3]),
    "arguments that are no nodes": (Scale, lambda f, x, y: [f(x, 3.0, "three") * y], lambda x, y: [x * 3.0 * y]),
    "one twice": (Product, lambda f, x, y: [f(x, x)], lambda x, y: [x * x]),
    "nested": (Exp, lambda f, x, y: [f(f(x.tanh()))], lambda x, y: [x.tanh().exp().exp()]),
    "a setting and a saved result": (Power, lambda f, x, y: [f(x, y, 3)], lambda x, y: [(x * y) ** 3]),
    "two results": (ProductAndQuotient, lambda f, x, y: f(x, y), lambda x, y: [x * y, x / y]),
    "the first of two": (ProductAndQuotient, lambda f, x, y: [f(x, y)[0]], lambda x, y: [x * y]),
    "the second twice": (ProductAndQuotient, lambda f, x, y: [f(x, y)[i] for i in (1, 0, 1)],
                         lambda x, y: [x / y, x * y, x / y]),
    "not differentiable": (WithAConstant, lambda f, x, y: f(x, y), lambda x, y: [x * y, (x * 0 + 2.0).detach()]),
    "not differentiable and gone": (WithAConstant, lambda f, x, y: [f(x, y)[0]], lambda x, y: [x * y]),
}  # fmt: skip


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
