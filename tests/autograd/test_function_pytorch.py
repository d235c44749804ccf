"""A Function means what PyTorch's means: the same source runs over both, to the third order."""

import gc
import math

import mpmath
import numpy as np
import pytest
from function_helpers import both, make, nodes, numbers

from micrograd import Value, grad
from micrograd.autograd.function import Function
from micrograd.tensor import Tensor


def power_of_product(base):
    """A setting that is an argument, and a saved result."""

    class Op(base):
        @staticmethod
        def forward(ctx, x, y, n):
            ctx.n = n
            out = (x * y) ** n
            ctx.save_for_backward(x, y, out)
            return out

        @staticmethod
        def backward(ctx, g):
            x, y, out = ctx.saved_tensors
            return g * ctx.n * out / x, g * ctx.n * out / y, None

    return lambda x, y: (Op.apply(x, y, 3),)


def product_and_quotient(base, uses=(0, 1)):
    """Two results, one of which is saved."""

    class Op(base):
        @staticmethod
        def forward(ctx, x, y):
            quotient = x / y
            ctx.save_for_backward(x, y, quotient)
            return x * y, quotient

        @staticmethod
        def backward(ctx, g, h):
            x, y, quotient = ctx.saved_tensors
            return g * y + h / y, g * x - h * quotient / y

    return lambda x, y: [Op.apply(x, y)[i] for i in uses]


def with_a_constant(base):
    """A result that is marked as not differentiable."""

    class Op(base):
        @staticmethod
        def forward(ctx, x, y):
            step = x * 0 + 2.0
            ctx.mark_non_differentiable(step)
            ctx.save_for_backward(x, y)
            return x * y, step

        @staticmethod
        def backward(ctx, g, of_step):
            x, y = ctx.saved_tensors
            return g * y + of_step * 100, g * x + of_step * 100

    return Op.apply


def attributes(base):
    """Plain numbers, and arguments, as attributes of ctx."""

    class Op(base):
        constants = ("half",)

        @staticmethod
        def forward(ctx, x, y):
            ctx.x, ctx.rest, ctx.half, ctx.shape = x, {"y": [y]}, 0.5, x.shape
            return x * x * y * ctx.half

        @staticmethod
        def backward(ctx, g):
            assert ctx.shape == g.shape
            return g * ctx.half * 2 * ctx.x * ctx.rest["y"][0], g * ctx.half * ctx.x * ctx.x

    return lambda x, y: (Op.apply(x, y),)


def trailing_nones(base):
    class Op(base):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x, None, None

    return lambda x, y: (Op.apply(x, y),)


def sine_and_cosine(base):
    """Each calls the other in its backward."""

    class Sin(base):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * Cos.apply(x * 1)

    class Cos(base):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.cos()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return -g * Sin.apply(x)

    return lambda x, y: (Sin.apply(x * y), Cos.apply(x) * y)


PROGRAMS = {
    "settings and a saved result": power_of_product,
    "two results": product_and_quotient,
    "the first of two": lambda base: product_and_quotient(base, (0,)),
    "the second of two": lambda base: product_and_quotient(base, (1,)),
    "the second twice": lambda base: product_and_quotient(base, (1, 0, 1)),
    "not differentiable": with_a_constant,
    "attributes": attributes,
    "trailing Nones": trailing_nones,
    "a Function in a backward": sine_and_cosine,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_pytorch_does_the_same_with_the_same_code(program):
    torch = pytest.importorskip("torch")
    x, y = np.random.default_rng(0).uniform(0.5, 2, (2, 3))
    ours = [Tensor(a, requires_grad=True) for a in (x, y)]
    theirs = [torch.tensor(a, requires_grad=True) for a in (x, y)]
    found, expected = program(Function)(*ours), program(torch.autograd.Function)(*theirs)
    assert [a.requires_grad for a in found] == [b.requires_grad for b in expected]
    a, b = (sum((z * z).sum() for z in results) for results in (found, expected))
    for _ in range(3):
        assert a.item() == pytest.approx(b.item(), rel=1e-12)
        a, b = grad(a, ours, create_graph=True), torch.autograd.grad(b, theirs, create_graph=True)
        for p, q in zip(a, b, strict=True):
            assert p.detach().numpy() == pytest.approx(q.detach().numpy(), rel=1e-12)
        a, b = (p[0] * p[1] * p[0] for p in (a, b))
        a, b = a.sum(), b.sum()


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_values_and_tensors_agree(program):
    results = []
    for kind in (Value, lambda x: Tensor(x, requires_grad=True)):
        leaves = [kind(0.7), kind(1.3)]
        if kind is Value:
            Value.shape = ()  # one of the programs asks for it
        try:
            total = sum(z * z for z in program(Function)(*leaves))
            (first,) = grad(total, leaves[0], create_graph=True)
            results.append([float(numbers(x)) for x in (total, first, *grad(first, leaves))])
        finally:
            if kind is Value:
                del Value.shape
    assert results[0] == pytest.approx(results[1], rel=1e-13)


# ---- special functions, each the derivative of the one before


class Polygamma(Function):
    @staticmethod
    def forward(ctx, n, x):
        ctx.n = n
        ctx.save_for_backward(x)
        return np.vectorize(lambda x: float(mpmath.psi(n, x)))(x.data)[()]

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return None, g * Polygamma.apply(ctx.n + 1, x)


class Gammaln(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.vectorize(math.lgamma)(x.data)[()]

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Polygamma.apply(0, x)


@pytest.mark.parametrize("inner", [lambda x: x, lambda x: x * x], ids=["of x", "of its square"])
@pytest.mark.parametrize("kind", [Value, lambda x: Tensor(x, requires_grad=True)], ids=["value", "tensor"])
def test_gammaln_digamma_and_polygamma_are_each_the_derivative_of_the_one_before(kind, inner):
    x = kind(1.7)
    y = Gammaln.apply(inner(x))
    with mpmath.workdps(30):
        expected = mpmath.taylor(lambda x: mpmath.loggamma(inner(x)), 1.7, 4)
    for order in range(5):
        assert y.item() == pytest.approx(float(expected[order]) * math.factorial(order), rel=1e-10)
        (y,) = grad(y, x, create_graph=True)


def test_a_result_that_only_the_context_knows_is_found_again():
    """The first result is saved, and gone by the time of the second pass."""
    x, y = (Tensor([2.0], requires_grad=True) for _ in range(2))

    class Op(Function):
        @staticmethod
        def forward(ctx, x, y):
            out = x * y
            ctx.save_for_backward(x, y, out)
            return out, out * out

        @staticmethod
        def backward(ctx, g, h):
            x, y, out = ctx.saved_tensors
            return g * y + h * 2 * out * y, g * x + h * 2 * out * x

    square = Op.apply(x, y)[1]
    gc.collect()
    (slope,) = grad(square, x, create_graph=True)
    assert slope.tolist() == [16.0]  # 2 x y y
    assert [g.tolist() for g in grad(slope, (x, y))] == [[8.0], [16.0]]


def test_a_result_that_is_gone_and_marked_is_still_a_constant():
    x = Tensor([2.0], requires_grad=True)

    class Op(Function):
        @staticmethod
        def forward(ctx, x):
            step = x * 0 + 3
            ctx.mark_non_differentiable(step)
            ctx.save_for_backward(x, step)
            return x * x, step

        @staticmethod
        def backward(ctx, g, h):
            x, step = ctx.saved_tensors
            assert not step.requires_grad
            return g * 2 * x + 0 * step

    square = Op.apply(x)[0]
    gc.collect()
    (slope,) = grad(square, x, create_graph=True)
    assert grad(slope, x)[0].tolist() == [2.0]


@both
def test_a_saved_attribute_that_was_changed_is_told_or_as_it_was(kind):
    op = make(lambda ctx, g: g * 2 * ctx.x, lambda ctx, x: setattr(ctx, "x", x) or x * x)
    x = nodes(kind)
    before = numbers(x).copy()
    inner = x * 1
    y = op.apply(inner)
    if kind == "value":
        inner.data = 100.0
        y.backward()
        assert x.grad == 2 * before
    else:
        inner.data[:] = 100.0
        y.sum().backward()
        assert x.grad == pytest.approx(2 * before)
        z = op.apply(inner)
        inner.detach()[:] = 1.0
        with pytest.raises(RuntimeError, match="changed in place"):
            z.sum().backward()


@both
def test_backward_gets_zeros_for_a_result_that_nobody_used(kind):
    seen = []
    op = make(
        lambda ctx, g, h: seen.append([numbers(g).tolist(), numbers(h).tolist()]) or g * 2 + h * 3,
        lambda ctx, x: (x * 2, x * 3),
    )
    x = nodes(kind)
    _, b = op.apply(x)
    (b if kind == "value" else b.sum()).backward()
    assert np.all(numbers(x.grad) == 3)
    ((g, h),) = seen
    assert not np.any(g)
    assert np.all(np.equal(h, 1))
