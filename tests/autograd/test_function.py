"""Ops of the user's own: forward and backward, for both kinds of node, to any order, as PyTorch's Function has them."""

import weakref

import numpy as np
import pytest
from function_helpers import (
    FUNCTIONS,
    A,
    Cube,
    Exp,
    Product,
    Scale,
    both,
    make,
    nodes,
    numbers,
    second_derivative,
    slope,
    total,
)

from micrograd import Value, detect_anomaly, enable_grad, grad, lazy, no_grad
from micrograd.autograd.check import gradcheck
from micrograd.autograd.function import Function
from micrograd.tensor import Tensor

# ---- one table, in function_helpers: each is what is composed of rows, and what PyTorch makes of the same lines


def sides(library):
    """A Function's base class, two leaves and `grad`, in Values, in Tensors, or in PyTorch."""
    arrays = np.random.default_rng(0).uniform(0.5, 2, (2, 3))
    if library == "torch":
        torch = pytest.importorskip("torch")
        return torch.autograd.Function, [torch.tensor(a, requires_grad=True) for a in arrays], torch.autograd.grad
    leaves = [Tensor(a, requires_grad=True) for a in arrays] if library == "tensor" else [Value(0.7), Value(1.3)]
    return Function, leaves, grad


def three_orders(results, xs, gradients):
    """What the results come to, and all gradients of that, of the gradients' squares and of those of their gradients.

    An ordinary pass gives the same as one whose gradients can be differentiated.
    """
    y, found = sum(z * z if isinstance(z, Value) else (z * z).sum() for z in results), []
    for _ in range(3):
        plain = gradients(y, xs, retain_graph=True, allow_unused=True)
        slopes = [g for g in gradients(y, xs, create_graph=True, allow_unused=True) if g is not None]
        for g, p in zip(slopes, [p for p in plain if p is not None], strict=True):
            np.testing.assert_allclose(np.array(g.tolist() if hasattr(g, "tolist") else g.data), p, rtol=1e-12)
        found += [y.item(), *slopes]
        y = sum(g * g * (i + 1) if isinstance(g, Value) else (g * g * (i + 1)).sum() for i, g in enumerate(slopes))
        if not y.requires_grad:
            break
    return [z.tolist() if hasattr(z, "tolist") else numbers(z) for z in found]


@pytest.mark.parametrize("library", ["value", "tensor", "torch"])
@pytest.mark.parametrize(("written", "call", "same"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_function_is_to_the_third_order_what_it_is_composed_of_as_the_same_lines_are_in_pytorch(
    library, written, call, same
):
    base, xs, gradients = sides(library)
    names = {name: x for name, x in vars(written).items() if name in ("forward", "backward")}
    found, expected = call(type(written.__name__, (base,), names).apply, *xs), same(*xs)
    assert [z.requires_grad for z in found] == [z.requires_grad for z in expected]
    orders = [three_orders(results, xs, gradients) for results in (found, expected)]
    for a, b in zip(*orders, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


class Sin(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.sin(x.data)

    @staticmethod
    def backward(ctx, g):
        return g * Cos.apply(ctx.saved_tensors[0])


class Cos(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.cos(x.data)

    @staticmethod
    def backward(ctx, g):
        return -g * Sin.apply(ctx.saved_tensors[0])


@both
def test_functions_on_plain_numbers_may_be_the_derivatives_of_one_another(kind):
    x = nodes(kind)
    y = Sin.apply(x)
    for order in range(5):
        assert numbers(y) == pytest.approx(np.sin(numbers(x) + order * np.pi / 2))
        y = slope(y, x, create_graph=True)


# ---- what is seen of it


class MyOwnScale(Scale):
    pass


@both
def test_result_has_a_name_operands_and_a_grad_fn(kind):
    x = nodes(kind)
    y = MyOwnScale.apply(x, 2.0, "two")
    assert y._op == "MyOwnScale"
    assert [operand is x for operand in y._prev] == [True]
    assert repr(y.grad_fn) == "<MyOwnScaleBackward0>"
    assert y.grad_fn.next_functions[0][0].variable is x
    assert MyOwnScale.apply(2.0, 3.0, "three") == 6.0  # without nodes it is just the function


@both
def test_constants_among_the_operands_get_nothing(kind):
    x = nodes(kind)
    c = x.detach()
    fresh = c.grad
    total(Product.apply(x, c)).backward()
    assert numbers(x.grad) == pytest.approx(numbers(c))
    assert c.grad is fresh
    assert not Product.apply(c, c).requires_grad


def test_forward_and_an_ordinary_backward_record_nothing_and_know_which_arguments_need_a_gradient():
    seen = []

    def noted(ctx, x):
        seen.append(((x * 2).requires_grad, ctx.needs_input_grad))
        return x * 1

    op = make(lambda ctx, g: (noted(ctx, g), None, None), lambda ctx, x, c, n: noted(ctx, x))
    op.apply(Value(1.0), Value(2.0, requires_grad=False), 3).backward()
    assert seen == [(False, (True, False, False))] * 2
    with no_grad():
        assert not Cube.apply(Value(2.0)).requires_grad


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


@pytest.mark.parametrize(
    ("make_own", "create_graph"),
    [
        (lambda array: array, False),  # plain numbers are refused where a graph is created
        (Tensor, False),
        (Tensor, True),
        (lambda array: Tensor(np.stack([array, array]))[0], False),
        (lambda array: Tensor(np.stack([array, array]))[0], True),
    ],
)
def test_gradient_that_backward_keeps_is_not_the_one_that_the_user_gets_to_change(make_own, create_graph):
    own, x = make_own(np.ones(3)), Tensor(A, requires_grad=True)
    make(lambda ctx, g: own).apply(x).backward(np.ones(3), create_graph=create_graph)
    x.grad *= 0
    assert own.tolist() == [1.0, 1.0, 1.0]


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


def test_float32_stays_float32_and_an_integer_result_requires_no_gradient():
    x = Tensor(A, requires_grad=True, dtype=np.float32)
    y = Cube.apply(x)
    y.sum().backward()
    assert (y.dtype, x.grad.dtype) == (np.float32, np.float32)
    assert not make(lambda ctx, g: g, lambda ctx, x: x.data.astype(int)).apply(x).requires_grad


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


# ---- memory and modes


@both
@pytest.mark.parametrize("op", [Cube, Exp])
@pytest.mark.usefixtures("without_collector")
def test_result_dies_by_reference_count(kind, op):
    y = op.apply(nodes(kind))
    gone = weakref.ref(y if kind == "value" else y._node)
    del y
    assert gone() is None


@both
@pytest.mark.parametrize("mode", [lazy, detect_anomaly, enable_grad])
def test_function_is_differentiated_twice_inside_any_mode(kind, mode):
    x = nodes(kind)
    with mode():
        found = second_derivative(Exp, x)
    np.testing.assert_array_equal(found, second_derivative(Exp, x))


# ---- mistakes: in a Function, or in how it is called


def returning(gradients):
    """A Function whose backward returns this."""
    return make(lambda ctx, g: gradients, lambda ctx, x, *others: x * 1)


def giving(result):
    """A Function whose forward returns this."""
    return make(lambda ctx, g: g, lambda ctx, x: result)


V, T = Value(1.0), Tensor(1.0, requires_grad=True)
keeps_a_number = make(lambda ctx, g: g, lambda ctx, x: ctx.save_for_backward(x.data) or x)
Empty = type("Empty", (Function,), {})
Half = type("Half", (Function,), {"forward": staticmethod(lambda ctx, x: x)})
MISTAKES = {
    "an array for a Value": (lambda: returning(np.ones(3)).apply(V).backward(),
                             TypeError, "argument 0: the gradient of a Value is a number, found ndarray"),
    "a Tensor for a Value": (lambda: returning(Tensor(1.0)).apply(V).backward(),
                             TypeError, "argument 0: the gradient of a Value is a number, found Tensor"),
    "a text for a Value": (lambda: returning("2.0").apply(V).backward(), TypeError, "is a number, found str"),
    "a dict for a Tensor": (lambda: returning({}).apply(T).backward(), TypeError, "argument 0: .*holds real numbers"),
    "a gradient for what is no node": (lambda: returning((1.0, 1.0)).apply(V, 2.0).backward(),
                                       ValueError, "a gradient for argument 1, a float: it must be None"),
    "no gradients": (lambda: returning(()).apply(V, V).backward(),
                     ValueError, "Made.backward returned 0 gradients for the 2 arguments of apply"),
    "too many gradients": (lambda: slope(returning((V, V, V)).apply(T, T), T, create_graph=True),
                           ValueError, "Made.backward returned 3 gradients for the 2 arguments of apply"),
    "a list of Values": (lambda: giving([V]).apply(V), TypeError, "forward of Values must return one"),
    "None among Tensors": (lambda: giving((T, None)).apply(T), TypeError, "forward of Tensors must return one"),
    "a Tensor of a Value": (lambda: giving(T).apply(V), TypeError, "forward of Values must return one"),
    "a Value of a Tensor": (lambda: giving(V).apply(T), TypeError, "forward of Tensors must return one"),
    "Values and Tensors": (lambda: Product.apply(V, T),
                           TypeError, r"Product\.apply found Values and Tensors together"),
    "nodes in a list": (lambda: Product.apply([V], 2), TypeError,
                        "found nodes in the list that is argument 0.*pass each as a separate argument"),
    "nodes deep in a tuple": (lambda: Product.apply((1, [V]), 2), TypeError, "nodes in the tuple that is argument 0"),
    "save_for_backward of a number": (lambda: keeps_a_number.apply(V), TypeError,
                                      r"save_for_backward keeps Values and Tensors, found float: set ctx\.name"),
    "no forward": (lambda: Empty.apply(V), NotImplementedError, r"a static method forward\(ctx, ...\)"),
    "no backward": (lambda: Half.apply(V).backward(), NotImplementedError, "backward"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_is_told(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("wrong", [lambda g: g.sum(), lambda g: g.reshape(3, 1), lambda g: 1.0, lambda g: np.ones(2)])
def test_gradient_of_the_wrong_shape_raises(create_graph, wrong):
    x = Tensor(A, requires_grad=True)
    y = make(lambda ctx, g: wrong(g)).apply(x)
    with pytest.raises(ValueError, match=r"argument 0: a Tensor of shape \(3,\) cannot have a gradient of shape"):
        slope(y, x, create_graph=create_graph)
