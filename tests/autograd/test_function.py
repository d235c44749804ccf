"""Ops of the user's own: forward and backward, for both kinds of node, to any order."""

import gc
import weakref
from functools import partial

import numpy as np
import pytest
from engine_helpers import at_once
from function_helpers import A, Cube, Exp, Product, Scale, both, make, nodes, numbers

from micrograd import Value, backward, detect_anomaly, enable_grad, grad, lazy, no_grad
from micrograd.autograd.check import gradcheck
from micrograd.autograd.function import Function
from micrograd.tensor import Tensor

# ---- right


@both
@pytest.mark.parametrize(
    ("op", "same"),
    [
        (Cube.apply, lambda x: x**3),
        (Exp.apply, lambda x: x.exp()),
        (lambda x: Scale.apply(x, 3.0, "three"), lambda x: x * 3.0),
        (lambda x: Product.apply(x, x.tanh()), lambda x: x * x.tanh()),
        (lambda x: Product.apply(x, x), lambda x: x * x),
        (lambda x: Exp.apply(Cube.apply(x.tanh())), lambda x: (x.tanh() ** 3).exp()),
    ],
    ids=["saves", "saves its result", "settings", "two", "one twice", "nested"],
)
def test_values_and_derivatives_of_three_orders_are_right(kind, op, same):
    x = nodes(kind)
    y, expected = op(x), same(x)
    for _ in range(3):
        assert numbers(y) == pytest.approx(numbers(expected), rel=1e-12)
        (plain,) = grad(y, x, np.ones(numbers(y).shape) if kind == "tensor" else None, retain_graph=True)
        y, expected = (y, expected) if kind == "value" else (y.sum(), expected.sum())
        ((y,), (expected,)) = (grad(z, x, create_graph=True) for z in (y, expected))
        assert numbers(y) == pytest.approx(numbers(plain), rel=1e-12)
        if not y.requires_grad:
            break


@both
def test_an_op_of_ones_own_has_a_name_operands_and_a_grad_fn(kind):
    x = nodes(kind)
    y = Scale.apply(x, 2.0, "two")
    assert y._op == "Scale"
    assert [operand is x for operand in y._prev] == [True]
    assert repr(y.grad_fn) == "<ScaleBackward0>"
    assert y.grad_fn.next_functions[0][0].variable is x


def test_the_names_of_grad_fns_keep_their_capitals():
    class MyOwnOp(Cube):
        pass

    assert repr(MyOwnOp.apply(Value(1.0)).grad_fn) == "<MyOwnOpBackward0>"


@both
def test_constants_among_the_operands_get_nothing(kind):
    x = nodes(kind)
    c = x.detach()
    fresh = c.grad
    y = Product.apply(x, c)
    (y if kind == "value" else y.sum()).backward()
    assert numbers(x.grad) == pytest.approx(numbers(c))
    assert c.grad is fresh
    assert not Product.apply(c, c).requires_grad


def test_needs_input_grad_says_which_arguments_do():
    seen = []
    op = make(lambda ctx, g: (g, None, None), lambda ctx, x, c, n: seen.append(ctx.needs_input_grad) or x * c)
    op.apply(Value(1.0), Value(2.0, requires_grad=False), 3)
    assert seen == [(True, False, False)]


def test_forward_records_nothing():
    seen = []
    make(lambda ctx, g: g, lambda ctx, x: seen.append((x * 2).requires_grad) or x * 2).apply(Value(1.0))
    assert seen == [False]


def test_an_ordinary_backward_records_nothing():
    seen = []
    op = make(lambda ctx, g: seen.append((g * 2).requires_grad) or g * 1)
    op.apply(Value(1.0)).backward()
    assert seen == [False]


def test_inside_no_grad_the_result_is_a_constant():
    with no_grad():
        assert not Cube.apply(Value(2.0)).requires_grad


def test_without_nodes_it_is_just_the_function():
    assert Scale.apply(2.0, 3.0, "three") == 6.0


second_alone = make(lambda ctx, g: (None, g), lambda ctx, x, y: x + y)


@both
@pytest.mark.parametrize("create_graph", [False, True])
def test_none_is_no_gradient(kind, create_graph: bool):
    x, w = nodes(kind), nodes(kind)
    fresh, calls = w.grad, []
    inner = w * 3
    inner.register_hook(calls.append)
    y = second_alone.apply(inner, x * 2)
    y.backward(None if kind == "value" else np.ones(3), create_graph=create_graph)
    assert (numbers(x.grad) == 2).all()
    assert (w.grad, calls) == (fresh, [])


@both
def test_what_gets_none_alone_is_an_input_that_nothing_depends_on(kind):
    x = nodes(kind)
    y = second_alone.apply(x, x.detach())
    seed = None if kind == "value" else np.ones(3)
    with pytest.raises(RuntimeError, match="allow_unused"):
        grad(y, x, seed, retain_graph=True)
    assert grad(y, x, seed, allow_unused=True) == (None,)


@both
def test_none_beside_a_gradient_from_elsewhere_adds_nothing(kind):
    x = nodes(kind)
    y = second_alone.apply(x, x.detach()) + x * 3
    (y if kind == "value" else y.sum()).backward()
    assert (numbers(x.grad) == 3).all()


def test_plain_numbers_and_arrays_will_do_where_nobody_differentiates_twice():
    x, t = Value(3.0), Tensor(A, requires_grad=True)
    op = make(lambda ctx, g: g.data * 2, lambda ctx, x: x.data * 2)
    op.apply(x).backward()
    op.apply(t).sum().backward()
    assert x.grad == 2.0
    assert t.grad.tolist() == [2.0, 2.0, 2.0]


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
def test_a_gradient_that_backward_keeps_is_not_the_one_that_the_user_gets_to_change(made, ask):
    own = OWN[made](np.ones(3))
    leaf = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = leaf * 1 if ask == "retain_grad" else leaf
    g = gradient_at(x, make(lambda ctx, g: own).apply(x), ask)
    g *= 0
    assert own.tolist() == [1.0, 1.0, 1.0]


def test_numpy_in_both_ways():
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


def test_an_integer_result_requires_no_gradient():
    op = make(lambda ctx, g: g, lambda ctx, x: x.data.astype(int))
    assert not op.apply(Tensor(A, requires_grad=True)).requires_grad


def test_a_subclass_of_value_stays_in_the_subclass():
    class Named(Value):
        pass

    x = Named(2.0)
    y = Cube.apply(x)
    assert type(y) is Named
    (g,) = grad(y, x, create_graph=True)
    assert grad(g, x) == (12.0,)


def test_a_result_shares_no_memory_with_an_operand():
    x = Tensor(A, requires_grad=True)
    y = make(lambda ctx, g: g, lambda ctx, x: x).apply(x)
    with no_grad():
        y += 1
    assert x.tolist() == A


# ---- passes


@both
def test_many_roots_hooks_and_retained_graphs(kind):
    x = nodes(kind)
    y = Cube.apply(x)
    seed = 1.0 if kind == "value" else np.ones(3)
    seen = []
    y.register_hook(lambda g: seen.append(np.array(g)))
    backward([y, y], [seed, seed], retain_graph=True)
    assert (seen[0] == 2).all()
    backward([y], [seed], retain_graph=True)
    assert numbers(x.grad) == pytest.approx(9 * numbers(x) ** 2)


def test_the_graph_of_tensors_is_let_go_and_of_values_kept():
    x = Tensor(A, requires_grad=True)
    y = Cube.apply(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()
    v = Value(2.0)
    z = Cube.apply(v)
    z.backward()
    z.backward()
    assert v.grad == 24.0


def test_a_failing_backward_leaves_no_trace():
    x = Value(2.0)

    def failing(ctx, g):
        raise KeyError("mine")

    y = make(failing).apply(x) + Cube.apply(x)
    with pytest.raises(KeyError, match="mine"):
        y.backward()
    assert x.grad == 0


@both
@pytest.mark.parametrize("op", [Cube, Exp])
def test_nothing_is_a_reference_cycle(kind, op):
    gc.collect()
    gc.disable()
    try:
        y = op.apply(nodes(kind))
        gone = weakref.ref(y if kind == "value" else y._node)
        del y
        assert gone() is None
    finally:
        gc.enable()


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
def test_a_function_is_differentiated_twice_inside_any_mode(kind, mode, op):
    def second():
        xs = nodes(kind)
        (g,) = grad(op.apply(xs).sum() if kind == "tensor" else op.apply(xs), xs, create_graph=True)
        return numbers(grad(g.sum() if kind == "tensor" else g, xs)[0])

    with mode():
        found = second()
    np.testing.assert_array_equal(found, second())
