"""Ops of the user's own: forward and backward, for both kinds of node, to any order, and never silently wrong."""

import copy
import gc
import threading
import weakref

import numpy as np
import pytest

from micrograd import Value, backward, detect_anomaly, grad, no_grad
from micrograd.check import gradcheck
from micrograd.function import Function
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


both = pytest.mark.parametrize("kind", ["value", "tensor"])


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


@pytest.mark.parametrize("x", [0.7, np.array(A)])
def test_gradcheck_agrees_with_them(x):
    assert gradcheck(lambda x: Product.apply(Cube.apply(x), Exp.apply(x)), x, order=3)


@both
def test_an_op_of_ones_own_has_a_name_operands_and_a_grad_fn(kind):
    x = nodes(kind)
    y = Scale.apply(x, 2.0, "two")
    assert y._op == "Scale"
    assert y._prev == (x,) or y._prev[0] is x
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
    y = Product.apply(x, c)
    (y if kind == "value" else y.sum()).backward()
    assert numbers(x.grad) == pytest.approx(numbers(c))
    assert c.grad is None or c.grad == 0
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


def test_the_rows_forward_runs_on_plain_values():
    x = Tensor(A, requires_grad=True)
    row = Scale.apply(x, 2.0, "two")._node._row
    assert row.forward(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert Cube.apply(Value(1.0))._row.forward(2.0) == 8.0


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


def test_threads_may_run_backward_through_one_node_at_once():
    met = threading.Barrier(2, timeout=10)

    def meeting(ctx, g):
        (x,) = ctx.saved_tensors
        met.wait()
        return g * 3 * x * ctx.saved_tensors[0]

    x = Value(2.0)
    y = make(meeting, Cube.forward).apply(x)
    found = []
    threads = [threading.Thread(target=lambda **kw: found.append(grad(y, x, **kw)[0]), kwargs={"create_graph": c})
               for c in (True, False)]  # fmt: skip
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(float(g) for g in found) == [12.0, 12.0]


def test_detect_anomaly_names_the_line_of_apply():
    x = Value(0.0)
    with detect_anomaly():
        y = make(lambda ctx, g: g * float("nan")).apply(x)
        with pytest.raises(RuntimeError, match=r"the backward of 'Made' made a nan.*make\(lambda ctx, g"):
            y.backward()


# ---- what was saved


def test_a_saved_value_that_was_changed_gives_the_derivative_as_it_was():
    x = Value(2.0)
    y = Cube.apply(x)
    x.data = 100.0
    y.backward()
    assert x.grad == 12.0


@pytest.mark.parametrize("op", [Cube, Exp])
def test_a_saved_tensor_that_was_changed_in_place_raises_and_names_the_versions(op):
    x = Tensor(A, requires_grad=True)
    h = x * 1
    y = op.apply(h)
    with no_grad():
        if op is Cube:
            h += 1
        else:
            y += 1
    with pytest.raises(RuntimeError, match=r"version 1, version 0 is needed"):
        y.sum().backward()


def test_a_tensor_that_was_not_saved_may_be_changed():
    x = Tensor(A, requires_grad=True)
    h = x * 1
    y = Scale.apply(h, 2.0, "two")
    with no_grad():
        h += 1
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


@both
@pytest.mark.parametrize("op", [Cube, Exp])
def test_create_graph_refuses_numbers_that_have_changed(kind, op):
    x = nodes(kind)
    y = op.apply(x)
    changed = x if op is Cube else y
    changed.data = changed.data + 1
    with pytest.raises(RuntimeError, match="create_graph=True"):
        grad(y, x, None if kind == "value" else np.ones(3), create_graph=True)


def test_backward_cannot_write_to_what_was_saved_nor_to_g():
    def writing(which):
        def backward_(ctx, g):
            ((x,), g) = ctx.saved_tensors, g
            (x if which == "saved" else g).data[:] = 0
            return g

        return make(backward_, Cube.forward)

    for which in ("saved", "g"):
        x = Tensor(A, requires_grad=True)
        with pytest.raises(ValueError, match="read-only"):
            writing(which).apply(x).sum().backward()


def test_saving_twice_keeps_the_last_and_none_is_kept_as_none():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(None, x)
        return x * 1

    seen = []
    op = make(lambda ctx, g: seen.append(ctx.saved_tensors) or g * ctx.saved_tensors[1], forward)
    x = Value(2.0)
    (g,) = grad(op.apply(x), x, create_graph=True)
    assert seen[0][0] is None
    assert g.data == 2.0


# ---- refused under create_graph, since it would be silently wrong


FROZEN = {
    "reads a saved node": (lambda ctx, g: g * 3 * (ctx.saved_tensors[0].data ** 2), Cube.forward),
    "reads g": (lambda ctx, g: ctx.saved_tensors[0] * g.data, Cube.forward),
    "detaches": (lambda ctx, g: g * ctx.saved_tensors[0].detach(), Cube.forward),
    "saved an intermediate": (lambda ctx, g: g * ctx.saved_tensors[0],
                              lambda ctx, x: ctx.save_for_backward(x * x * 3) or x * x * x),
    "kept numbers": (lambda ctx, g: g * ctx.slope, lambda ctx, x: setattr(ctx, "slope", 3 * x.data**2) or x * x * x),
    "kept a list": (lambda ctx, g: g * ctx.it[0], lambda ctx, x: setattr(ctx, "it", [3 * x.data**2]) or x * x * x),
}  # fmt: skip


@both
@pytest.mark.parametrize(("backward_", "forward"), FROZEN.values(), ids=FROZEN)
def test_a_backward_that_would_be_frozen_works_once_and_is_refused_twice(kind, backward_, forward):
    x = nodes(kind)
    y = make(backward_, forward).apply(x)
    seed = None if kind == "value" else np.ones(3)
    assert numbers(grad(y, x, seed, retain_graph=True)[0]).shape == numbers(x).shape
    with pytest.raises(RuntimeError, match="create_graph=True"):
        grad(y, x, seed, create_graph=True)


@pytest.mark.parametrize("read", [float, int, bool, round, lambda x: x.data])
def test_no_way_to_read_a_values_number_is_left_open(read):
    x = Value(2.0)
    y = make(lambda ctx, g: g * read(ctx.saved_tensors[0] * 1), Cube.forward).apply(x)
    y.backward()
    with pytest.raises(RuntimeError, match="reads the numbers"):
        grad(y, x, create_graph=True)


@pytest.mark.parametrize("read", [lambda x: x.numpy(), lambda x: x.tolist(), np.asarray, lambda x: x.data])
def test_no_way_to_read_a_saved_tensors_numbers_is_left_open(read):
    x = Tensor(A, requires_grad=True)
    y = make(lambda ctx, g: g * np.array(read(ctx.saved_tensors[0])), Cube.forward).apply(x)
    grad(y, x, np.ones(3), retain_graph=True)
    with pytest.raises(RuntimeError, match="reads the numbers"):
        grad(y, x, np.ones(3), create_graph=True)


@both
def test_a_plain_gradient_is_refused_twice(kind):
    x = nodes(kind)
    y = make(lambda ctx, g: np.ones(3) if kind == "tensor" else 1.0).apply(x)
    with pytest.raises(RuntimeError, match=r"what it gave for argument 0 is a plain"):
        grad(y, x, None if kind == "value" else np.ones(3), create_graph=True)


@both
def test_a_gradient_that_was_not_made_from_g_is_refused_twice(kind):
    x = nodes(kind)
    op = make(lambda ctx, g: Value(1.0, requires_grad=False) if kind == "value" else Tensor(np.ones(3)))
    y = op.apply(x * x) * x
    with pytest.raises(RuntimeError, match="was not made from the node g"):
        grad(y, x, None if kind == "value" else np.ones(3), create_graph=True)


@both
def test_comparisons_and_shapes_may_be_read(kind):
    """A mask does not change with what it is made from."""
    if kind == "value":
        op = make(lambda ctx, g: g * (2.0 if ctx.saved_tensors[0] > 0 else 0.5), Cube.forward)
    else:
        op = make(lambda ctx, g: g * np.where(ctx.saved_tensors[0] > 0, 2.0, 0.5), Cube.forward)
    x = nodes(kind)
    (g,) = grad(op.apply(x), x, None if kind == "value" else np.ones(3), create_graph=True)
    assert numbers(g) == pytest.approx(np.where(numbers(x) > 0, 2.0, 0.5))


def test_settings_that_are_arguments_may_be_numbers():
    x = Value(2.0)
    (g,) = grad(Scale.apply(x * x, 1.5, "x"), x, create_graph=True)
    assert grad(g, x) == (3.0,)


def test_what_comes_out_of_create_graph_is_a_plain_value():
    x = Value(2.0)
    (g,) = grad(Exp.apply(Cube.apply(x)), x, create_graph=True)
    waiting, seen = [g], set()
    while waiting:
        node = waiting.pop()
        assert type(node) is Value
        float(node)
        if node not in seen:
            seen.add(node)
            waiting += node._prev
    assert copy.copy(x).data == 2.0


# ---- mistakes


@both
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_wrong_number_of_gradients_raises(kind, create_graph, count):
    x = nodes(kind)
    y = make(lambda ctx, g: (g,) * count, lambda ctx, x, y: x * y).apply(x, x)
    with pytest.raises(ValueError, match=f"Made.backward gave {count} gradients for the 2 arguments of apply"):
        grad(y, x, None if kind == "value" else np.ones(3), create_graph=create_graph)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("wrong", [lambda g: g.sum(), lambda g: g.reshape(3, 1), lambda g: 1.0, lambda g: np.ones(2)])
def test_a_gradient_of_the_wrong_shape_raises(create_graph, wrong):
    x = Tensor(A, requires_grad=True)
    y = make(lambda ctx, g: wrong(g)).apply(x)
    with pytest.raises(ValueError, match=r"backward gave a gradient of shape .* for argument 0, whose shape is \(3,\)"):
        grad(y, x, np.ones(3), create_graph=create_graph)


def test_an_array_for_a_value_raises():
    y = make(lambda ctx, g: np.ones(3)).apply(Value(1.0))
    with pytest.raises(ValueError, match=r"a gradient of shape \(3,\) for argument 0, whose shape is \(\)"):
        y.backward()


@pytest.mark.parametrize("wrong", ["2.0", {}, 1j])
@both
def test_a_gradient_that_is_no_number_raises(kind, wrong):
    x = Value(1.0) if kind == "value" else Tensor(1.0, requires_grad=True)
    with pytest.raises(TypeError, match="a gradient is a node or numbers"):
        make(lambda ctx, g: wrong).apply(x).backward()


def test_a_gradient_of_the_other_kind_raises():
    y = make(lambda ctx, g: Tensor(1.0)).apply(Value(1.0))
    with pytest.raises(TypeError, match="backward gave a Tensor for argument 0, a Value"):
        y.backward()


def test_a_gradient_for_what_is_no_node_raises():
    y = make(lambda ctx, g: (g, g), lambda ctx, x, n: x * n).apply(Value(1.0), 2.0)
    with pytest.raises(ValueError, match="a gradient for argument 1, a float: it must be None"):
        y.backward()


@pytest.mark.parametrize("wrong", [lambda x: (x, x), lambda x: None, lambda x: "text", lambda x: Tensor(1.0)])
def test_a_result_that_is_no_value_raises(wrong):
    with pytest.raises(TypeError, match="forward of Values must give one"):
        make(lambda ctx, g: g, lambda ctx, x: wrong(x)).apply(Value(1.0))


@pytest.mark.parametrize("wrong", [lambda x: (x, x), lambda x: None, lambda x: Value(1.0)])
def test_a_result_that_is_no_tensor_raises(wrong):
    with pytest.raises(TypeError, match="forward of Tensors must give one"):
        make(lambda ctx, g: g, lambda ctx, x: wrong(x)).apply(Tensor(A))


def test_values_and_tensors_do_not_mix():
    with pytest.raises(TypeError, match=r"Product\.apply found Values and Tensors together"):
        Product.apply(Value(1.0), Tensor(1.0))


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (1, [x]), lambda x: {"x": x}])
def test_nodes_in_a_list_would_get_no_gradient_and_raise(wrap):
    with pytest.raises(TypeError, match=r"found nodes in the \w+ that is argument 0.*pass each as an argument"):
        make(lambda ctx, g: None, lambda ctx, xs: 1.0).apply(wrap(Value(1.0)))


def test_save_for_backward_takes_nodes_alone():
    op = make(lambda ctx, g: g, lambda ctx, x: ctx.save_for_backward(x.data) or x)
    with pytest.raises(TypeError, match=r"save_for_backward keeps Values and Tensors, found float: set ctx\.name"):
        op.apply(Value(1.0))


def test_nodes_as_attributes_of_ctx_raise():
    op = make(lambda ctx, g: g, lambda ctx, x: setattr(ctx, "x", x) or x)
    with pytest.raises(TypeError, match=r"ctx\.x is for settings: save_for_backward"):
        op.apply(Value(1.0))


def test_what_is_not_written_says_so():
    class Empty(Function):
        pass

    with pytest.raises(NotImplementedError, match="forward"):
        Empty.apply(Value(1.0))
    Empty.forward = staticmethod(lambda ctx, x: x)
    with pytest.raises(NotImplementedError, match="backward"):
        Empty.apply(Value(1.0)).backward()


def test_pytorch_does_the_same_with_the_same_code():
    torch = pytest.importorskip("torch")

    def written_for(base):
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

        return Op

    x, y = np.random.default_rng(0).uniform(0.5, 2, (2, 3))
    ours = [Tensor(a, requires_grad=True) for a in (x, y)]
    theirs = [torch.tensor(a, requires_grad=True) for a in (x, y)]
    a, b = written_for(Function).apply(*ours, 3), written_for(torch.autograd.Function).apply(*theirs, 3)
    for _ in range(3):
        a, b = grad(a.sum(), ours, create_graph=True), torch.autograd.grad(b.sum(), theirs, create_graph=True)
        for p, q in zip(a, b, strict=True):
            assert p.data == pytest.approx(q.detach().numpy(), rel=1e-12)
        a, b = a[0] * a[1], b[0] * b[1]
