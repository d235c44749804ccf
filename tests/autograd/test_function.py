"""Ops of the user's own: forward and backward, for both kinds of node, to any order, as PyTorch's Function has them."""

import math
import weakref
from functools import partial

import mpmath
import numpy as np
import pytest
from engine_helpers import at_once
from function_helpers import A, Cube, Exp, Product, Scale, both, make, nodes, numbers, slope, total

from micrograd import Value, backward, detect_anomaly, enable_grad, grad, lazy, no_grad
from micrograd.autograd.check import gradcheck
from micrograd.autograd.function import Function
from micrograd.tensor import Tensor

# ---- one table: each is what is composed of rows, and what PyTorch makes of the same lines


class Power:
    """Has a setting that is an argument, and saves its result."""

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


class Attributes:
    """Keeps plain numbers, and arguments, as attributes of ctx."""

    constants = ("half",)

    @staticmethod
    def forward(ctx, x, y):
        ctx.x, ctx.rest, ctx.half = x, {"y": [y]}, 0.5
        return x * x * y * ctx.half

    @staticmethod
    def backward(ctx, g):
        return g * ctx.half * 2 * ctx.x * ctx.rest["y"][0], g * ctx.half * ctx.x * ctx.x


class TrailingNones:
    forward = Product.forward

    @staticmethod
    def backward(ctx, g):
        return *Product.backward(ctx, g), None, None


def of(base, written):
    """The function to call, of this package's or of PyTorch's Function as its base."""
    names = {name: x for name, x in vars(written).items() if name in ("forward", "backward", "constants")}
    return type(written.__name__, (base,), names).apply


FUNCTIONS = {  # what is written, its results at x and y, and the same composed of rows
    "saves its argument": (Cube, lambda f, x, y: [f(x)], lambda x, y: [x**3]),
    "saves its result": (Exp, lambda f, x, y: [f(x)], lambda x, y: [x.exp()]),
    "arguments that are no nodes": (Scale, lambda f, x, y: [f(x, 3.0, "three") * y], lambda x, y: [x * 3.0 * y]),
    "two": (Product, lambda f, x, y: [f(x, y.tanh())], lambda x, y: [x * y.tanh()]),
    "one twice": (Product, lambda f, x, y: [f(x, x)], lambda x, y: [x * x]),
    "nested": (Exp, lambda f, x, y: [f(f(x.tanh()))], lambda x, y: [x.tanh().exp().exp()]),
    "a setting and a saved result": (Power, lambda f, x, y: [f(x, y, 3)], lambda x, y: [(x * y) ** 3]),
    "two results": (ProductAndQuotient, lambda f, x, y: f(x, y), lambda x, y: [x * y, x / y]),
    "the first of two": (ProductAndQuotient, lambda f, x, y: [f(x, y)[0]], lambda x, y: [x * y]),
    "the second of two": (ProductAndQuotient, lambda f, x, y: [f(x, y)[1]], lambda x, y: [x / y]),
    "the second twice": (ProductAndQuotient, lambda f, x, y: [f(x, y)[i] for i in (1, 0, 1)],
                         lambda x, y: [x / y, x * y, x / y]),
    "not differentiable": (WithAConstant, lambda f, x, y: f(x, y), lambda x, y: [x * y, (x * 0 + 2.0).detach()]),
    "not differentiable and gone": (WithAConstant, lambda f, x, y: [f(x, y)[0]], lambda x, y: [x * y]),
    "attributes": (Attributes, lambda f, x, y: [f(x, y)], lambda x, y: [x * x * y * 0.5]),
    "trailing Nones": (TrailingNones, lambda f, x, y: [f(x, y)], lambda x, y: [x * y]),
}  # fmt: skip
every_function = pytest.mark.parametrize(("written", "call", "same"), FUNCTIONS.values(), ids=FUNCTIONS)


def three_orders(results, xs, gradients, plainly=None):
    """What the results come to, and all gradients of that, of the gradients' squares and of those of their gradients.

    `plainly` gives the gradients of an ordinary pass, which are compared with those that can be differentiated.
    """
    y, found = sum((z * z if isinstance(z, Value) else (z * z).sum()) for z in results), []
    for _ in range(3):
        found.append(y.item())
        plain = plainly(y, xs) if plainly else None
        slopes = [g for g in gradients(y, xs) if g is not None]
        if plain:
            for g, p in zip(slopes, [p for p in plain if p is not None], strict=True):
                np.testing.assert_allclose(numbers(g), p, rtol=1e-12)
        found += [np.array(g.tolist() if hasattr(g, "tolist") else g.data) for g in slopes]
        y = sum((g * g * (i + 1) if isinstance(g, Value) else (g * g * (i + 1)).sum()) for i, g in enumerate(slopes))
        if not y.requires_grad:
            break
    return found


def ours(results, xs):
    return three_orders(
        results,
        xs,
        lambda y, xs: grad(y, xs, create_graph=True, allow_unused=True),
        lambda y, xs: grad(y, xs, retain_graph=True, allow_unused=True),
    )


def leaves(kind):
    if kind == "value":
        return [Value(0.7), Value(1.3)]
    return [Tensor(a, requires_grad=True) for a in np.random.default_rng(0).uniform(0.5, 2, (2, 3))]


@both
@every_function
def test_function_is_to_the_third_order_what_it_is_composed_of(kind, written, call, same):
    xs, ys = leaves(kind), leaves(kind)
    found, expected = call(of(Function, written), *xs), same(*ys)
    assert [z.requires_grad for z in found] == [z.requires_grad for z in expected]
    for a, b in zip(ours(found, xs), ours(expected, ys), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


@every_function
def test_function_is_pytorchs_with_the_same_lines(written, call, same):
    torch = pytest.importorskip("torch")
    xs = leaves("tensor")
    theirs = [torch.tensor(x.tolist(), dtype=torch.float64, requires_grad=True) for x in xs]
    found, expected = call(of(Function, written), *xs), call(of(torch.autograd.Function, written), *theirs)
    assert [z.requires_grad for z in found] == [z.requires_grad for z in expected]
    gradients = partial(torch.autograd.grad, create_graph=True, allow_unused=True)
    for a, b in zip(ours(found, xs), three_orders(expected, theirs, gradients), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


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


@pytest.mark.parametrize("kind", [Value, lambda x: Tensor(x, requires_grad=True)], ids=["value", "tensor"])
def test_gammaln_digamma_and_polygamma_are_each_the_derivative_of_the_one_before(kind):
    x = kind(1.7)
    y = Gammaln.apply(x * x)
    with mpmath.workdps(30):
        expected = mpmath.taylor(lambda x: mpmath.loggamma(x * x), 1.7, 4)
    for order in range(5):
        assert y.item() == pytest.approx(float(expected[order]) * math.factorial(order), rel=1e-10)
        (y,) = grad(y, x, create_graph=True)


# ---- what is seen of it


@both
def test_result_has_a_name_operands_and_a_grad_fn(kind):
    x = nodes(kind)
    y = Scale.apply(x, 2.0, "two")
    assert y._op == "Scale"
    assert [operand is x for operand in y._prev] == [True]
    assert repr(y.grad_fn) == "<ScaleBackward0>"
    assert y.grad_fn.next_functions[0][0].variable is x


def test_grad_fn_keeps_the_capitals_of_the_name():
    class MyOwnOp(Cube):
        pass

    assert repr(MyOwnOp.apply(Value(1.0)).grad_fn) == "<MyOwnOpBackward0>"


@both
def test_constants_among_the_operands_get_nothing(kind):
    x = nodes(kind)
    c = x.detach()
    fresh = c.grad
    total(Product.apply(x, c)).backward()
    assert numbers(x.grad) == pytest.approx(numbers(c))
    assert c.grad is fresh
    assert not Product.apply(c, c).requires_grad


def test_needs_input_grad_says_which_arguments_do():
    seen = []
    op = make(lambda ctx, g: (g, None, None), lambda ctx, x, c, n: seen.append(ctx.needs_input_grad) or x * c)
    op.apply(Value(1.0), Value(2.0, requires_grad=False), 3)
    assert seen == [(True, False, False)]


def test_forward_and_an_ordinary_backward_record_nothing():
    seen = []

    def recorded(x):
        seen.append((x * 2).requires_grad)
        return x * 1

    make(lambda ctx, g: recorded(g), lambda ctx, x: recorded(x)).apply(Value(1.0)).backward()
    assert seen == [False, False]


def test_apply_inside_no_grad_gives_a_constant():
    with no_grad():
        assert not Cube.apply(Value(2.0)).requires_grad


def test_apply_without_nodes_is_just_the_function():
    assert Scale.apply(2.0, 3.0, "three") == 6.0


# ---- what backward returns


second_alone = make(lambda ctx, g: (None, g), lambda ctx, x, y: x + y)


@both
@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_that_returns_none_gives_no_gradient(kind, create_graph: bool):
    x, w = nodes(kind), nodes(kind)
    fresh, calls = w.grad, []
    inner = w * 3
    inner.register_hook(calls.append)
    y = second_alone.apply(inner, x * 2)
    y.backward(None if kind == "value" else np.ones(3), create_graph=create_graph)
    assert (numbers(x.grad) == 2).all()
    assert (w.grad, calls) == (fresh, [])


@both
def test_argument_that_gets_none_alone_is_an_input_that_nothing_depends_on(kind):
    x = nodes(kind)
    y = second_alone.apply(x, x.detach())
    with pytest.raises(RuntimeError, match="allow_unused"):
        slope(y, x, retain_graph=True)
    assert slope(y, x, allow_unused=True) is None
    assert np.all(slope(second_alone.apply(x, x.detach()) + x * 3, x) == 3)  # beside a gradient from elsewhere


def test_plain_numbers_and_arrays_will_do_where_nobody_differentiates_twice():
    op = make(lambda ctx, g: g.data * 2, lambda ctx, x: x.data * 2)
    assert np.all([slope(op.apply(x), x) for x in (Value(3.0), Tensor(3.0, requires_grad=True))] == np.float64(2.0))


OWN = {
    "an array": lambda array: array,
    "an array that cannot be written": lambda array: array.flags.__setattr__("writeable", False) or array,
    "a Tensor": Tensor,
    "a Tensor's view": lambda array: Tensor(np.stack([array, array]))[0],
}


def gradient_at(x, y, ask):
    """The gradient of y at x, as the user gets to see it."""
    if ask == "grad":
        return grad(y, x, np.ones(3))[0]
    if ask == "retain_grad":
        x.retain_grad()
    y.backward(np.ones(3), create_graph=ask == "create_graph")
    return x.grad


@pytest.mark.parametrize(
    ("made", "ask"),
    [(m, ask) for m in OWN for ask in ("backward", "grad", "retain_grad", "create_graph")
     if not ("array" in m and ask == "create_graph")],  # plain numbers are refused there
)  # fmt: skip
def test_gradient_that_backward_keeps_is_not_the_one_that_the_user_gets_to_change(made, ask):
    own = OWN[made](np.ones(3))
    leaf = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = leaf * 1 if ask == "retain_grad" else leaf
    g = gradient_at(x, make(lambda ctx, g: own).apply(x), ask)
    g *= 0
    assert own.tolist() == [1.0, 1.0, 1.0]


@both
def test_backward_gets_zeros_for_a_result_that_nobody_used(kind):
    seen = []
    op = make(lambda ctx, g, h: seen.append((g.data, h.data)) or g * 2 + h * 3, lambda ctx, x: (x * 2, x * 3))
    x = nodes(kind)
    assert np.all(slope(op.apply(x)[1], x) == 3)
    ((g, h),) = seen
    assert not np.any(g)
    assert np.all(np.equal(h, 1))


# ---- what forward returns


def test_forward_and_backward_may_be_numpy():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.order = np.argsort(x.data)
            return x.data[ctx.order]

        @staticmethod
        def backward(ctx, g):
            return g[np.argsort(ctx.order)]

    x = Tensor(A, requires_grad=True)
    (Sort.apply(x) * np.array([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 1.0, 3.0]
    assert gradcheck(lambda x: Sort.apply(x) ** 3, np.array(A))


def test_float32_stays_float32():
    x = Tensor(A, requires_grad=True, dtype=np.float32)
    y = Cube.apply(x)
    assert y.dtype == np.float32
    y.sum().backward()
    assert x.grad.dtype == np.float32


def test_integer_result_requires_no_gradient():
    op = make(lambda ctx, g: g, lambda ctx, x: x.data.astype(int))
    assert not op.apply(Tensor(A, requires_grad=True)).requires_grad


def test_subclass_of_value_stays_in_the_subclass():
    class Named(Value):
        pass

    x = Named(2.0)
    y = Cube.apply(x)
    assert type(y) is Named
    (g,) = grad(y, x, create_graph=True)
    assert grad(g, x) == (12.0,)


def test_result_shares_no_memory_with_an_operand():
    x = Tensor(A, requires_grad=True)
    y = make(lambda ctx, g: g, lambda ctx, x: x).apply(x)
    with no_grad():
        y += 1
    assert x.tolist() == A


# ---- passes


@both
def test_passes_may_have_many_roots_hooks_and_retained_graphs(kind):
    x = nodes(kind)
    y = Cube.apply(x)
    seed = 1.0 if kind == "value" else np.ones(3)
    seen = []
    y.register_hook(lambda g: seen.append(np.array(g)))
    backward([y, y], [seed, seed], retain_graph=True)
    assert (seen[0] == 2).all()
    backward([y], [seed], retain_graph=True)
    assert numbers(x.grad) == pytest.approx(9 * numbers(x) ** 2)


def test_graph_of_tensors_is_released_and_that_of_values_kept():
    x, v = Tensor(A, requires_grad=True), Value(2.0)
    y, z = Cube.apply(x).sum(), Cube.apply(v)
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()
    z.backward()
    z.backward()
    assert v.grad == 24.0


def test_failing_backward_leaves_no_trace():
    x = Value(2.0)

    def failing(ctx, g):
        raise KeyError("mine")

    y = make(failing).apply(x) + Cube.apply(x)
    with pytest.raises(KeyError, match="mine"):
        y.backward()
    assert x.grad == 0


@both
@pytest.mark.parametrize("op", [Cube, Exp])
@pytest.mark.usefixtures("without_collector")
def test_result_dies_by_reference_count(kind, op):
    y = op.apply(nodes(kind))
    gone = weakref.ref(y if kind == "value" else y._node)
    del y
    assert gone() is None


def test_threads_may_run_backward_through_one_node():
    x = Value(2.0)
    y = make(lambda ctx, g: g * 3 * ctx.saved_tensors[0] * ctx.saved_tensors[0], Cube.forward).apply(x)
    found = at_once(*(partial(grad, y, x, create_graph=c) for c in (True, False)))
    assert [getattr(g, "data", g) for (g,) in found] == [12.0, 12.0]


def test_detect_anomaly_names_the_line_of_apply():
    x = Value(0.0)
    with detect_anomaly():
        y = make(lambda ctx, g: g * float("nan")).apply(x)
        with pytest.raises(RuntimeError, match=r"the backward of 'Made' produced a nan.*make\(lambda ctx, g"):
            y.backward()


@both
@pytest.mark.parametrize("mode", [lazy, detect_anomaly, enable_grad])
@pytest.mark.parametrize("op", [Cube, Exp])
def test_function_is_differentiated_twice_inside_any_mode(kind, mode, op):
    def second():
        x = nodes(kind)
        (g,) = grad(total(op.apply(x)), x, create_graph=True)
        return numbers(grad(total(g), x)[0])

    with mode():
        found = second()
    np.testing.assert_array_equal(found, second())


# ---- mistakes: in a Function, or in how it is called


of_two = make(lambda ctx, g: (g, g), lambda ctx, x, n: x * n)
keeps_a_number = make(lambda ctx, g: g, lambda ctx, x: ctx.save_for_backward(x.data) or x)
Empty = type("Empty", (Function,), {})
Half = type("Half", (Function,), {"forward": staticmethod(lambda ctx, x: x)})
MISTAKES = {
    "an array for a Value": (
        lambda: make(lambda ctx, g: np.ones(3)).apply(Value(1.0)).backward(),
        TypeError, "argument 0: the gradient of a Value is a number, found ndarray"),
    "a gradient of the other kind": (
        lambda: make(lambda ctx, g: Tensor(1.0)).apply(Value(1.0)).backward(),
        TypeError, "argument 0: the gradient of a Value is a number, found Tensor"),
    "a gradient for what is no node": (
        lambda: of_two.apply(Value(1.0), 2.0).backward(),
        ValueError, "a gradient for argument 1, a float: it must be None"),
    "Values and Tensors": (
        lambda: Product.apply(Value(1.0), Tensor(1.0)),
        TypeError, r"Product\.apply found Values and Tensors together"),
    "nodes in a list": (
        lambda: of_two.apply([Value(1.0)], 2), TypeError,
        "found nodes in the list that is argument 0.*pass each as a separate argument"),
    "nodes deep in a tuple": (
        lambda: of_two.apply((1, [Value(1.0)]), 2), TypeError, "found nodes in the tuple that is argument 0"),
    "nodes in a dict": (
        lambda: of_two.apply({"x": Value(1.0)}, 2), TypeError, "found nodes in the dict that is argument 0"),
    "save_for_backward of a number": (
        lambda: keeps_a_number.apply(Value(1.0)),
        TypeError, r"save_for_backward keeps Values and Tensors, found float: set ctx\.name"),
    "no forward": (
        lambda: Empty.apply(Value(1.0)), NotImplementedError, r"a static method forward\(ctx, ...\)"),
    "no backward": (lambda: Half.apply(Value(1.0)).backward(), NotImplementedError, "backward"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_is_told(call, error, message):
    with pytest.raises(error, match=message):
        call()


@both
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_wrong_number_of_gradients_raises(kind, create_graph, count):
    x = nodes(kind)
    y = make(lambda ctx, g: (g,) * count, lambda ctx, x, y: x * y).apply(x, x)
    with pytest.raises(ValueError, match=f"Made.backward returned {count} gradients for the 2 arguments of apply"):
        slope(y, x, create_graph=create_graph)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("wrong", [lambda g: g.sum(), lambda g: g.reshape(3, 1), lambda g: 1.0, lambda g: np.ones(2)])
def test_gradient_of_the_wrong_shape_raises(create_graph, wrong):
    x = Tensor(A, requires_grad=True)
    y = make(lambda ctx, g: wrong(g)).apply(x)
    with pytest.raises(ValueError, match=r"argument 0: a Tensor of shape \(3,\) cannot have a gradient of shape"):
        slope(y, x, create_graph=create_graph)


@pytest.mark.parametrize("wrong", ["2.0", {}, 1j])
@pytest.mark.parametrize("kind", [Value, lambda x: Tensor(x, requires_grad=True)], ids=["value", "tensor"])
def test_gradient_that_is_no_number_raises(kind, wrong):
    with pytest.raises(TypeError, match=r"argument 0: .*(is a number|holds real numbers), found"):
        make(lambda ctx, g: wrong).apply(kind(1.0)).backward()


WRONG_RESULTS = {
    "value": [lambda x: [x], lambda x: None, lambda x: "text", lambda x: (x, Tensor(1.0))],
    "tensor": [lambda x: [x], lambda x: (x, None), lambda x: Value(1.0)],
}


@pytest.mark.parametrize(("kind", "wrong"), [(kind, wrong) for kind, rows in WRONG_RESULTS.items() for wrong in rows])
def test_result_that_is_no_node_of_its_kind_raises(kind, wrong):
    with pytest.raises(TypeError, match=f"forward of {kind.title()}s must return one"):
        make(lambda ctx, g: g, lambda ctx, x: wrong(x)).apply(nodes(kind))
