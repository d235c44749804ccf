"""What a Function saves, and what is refused since a second derivative would be silently wrong."""

import copy
from fractions import Fraction

import numpy as np
import pytest
from function_helpers import A, Cube, Exp, both, make, nodes, numbers, second_derivative, slope, total

from micrograd import Value, gradient, jvp
from micrograd.tensor import Tensor

# ---- what was saved


Attribute = make(lambda ctx, g: g * 3 * ctx.x * ctx.x, lambda ctx, x: setattr(ctx, "x", x) or x * x * x)
SAVING = [Cube, Exp, Attribute]  # the argument, the result, and the argument as an attribute of ctx


@both
@pytest.mark.parametrize("op", SAVING)
def test_saved_node_with_other_data_has_the_derivative_as_it_was_once(kind, op):
    x = nodes(kind)
    h = x * 1
    y = op.apply(h)
    wanted = slope(y, x, retain_graph=True)
    changed = y if op is Exp else h
    changed.data = changed.data + 1
    assert numbers(slope(y, x, retain_graph=True)) == pytest.approx(numbers(wanted))
    with pytest.raises(RuntimeError, match="create_graph=True"):
        slope(y, x, create_graph=True)


@pytest.mark.parametrize("op", SAVING)
def test_saved_tensor_that_was_changed_in_place_raises_and_names_the_versions(op):
    x = Tensor(A, requires_grad=True)
    h = x * 1
    y = op.apply(h)
    (y if op is Exp else h).detach().fill_(7.0)
    with pytest.raises(RuntimeError, match=r"version 1, version 0 is needed"):
        y.sum().backward()


@pytest.mark.parametrize("write", [lambda x, g: x.data.fill(0), lambda x, g: g.data.fill(0)], ids=["saved", "g"])
def test_backward_cannot_write_to_what_was_saved_nor_to_g(write):
    op = make(lambda ctx, g: write(*ctx.saved_tensors, g) or g, Cube.forward)
    with pytest.raises(ValueError, match="read-only"):
        op.apply(Tensor(A, requires_grad=True)).sum().backward()


# ---- backwards that are differentiated again, and those that are refused, since the result would be silently wrong


class Object:
    """What may hold anything."""


def keeping(what, name="it"):
    """A forward of a cube that keeps something of its argument as an attribute."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        setattr(ctx, name, what(x))
        return x * x * x

    return forward


def exp_in_a_list(ctx, x):
    ctx.rest = {"out": [x.exp()]}
    return ctx.rest["out"][0]


def saving_an_intermediate(ctx, x):
    ctx.save_for_backward(x * x * 3)
    return x * x * x


W = {Value: Value(3.0), Tensor: Tensor(A, requires_grad=True)}
ONES = {Value: 1.0, Tensor: np.ones(3)}
CONSTANTS = {Value: Value(1.0, requires_grad=False), Tensor: Tensor(np.ones(3))}
FROZEN: dict[str, tuple] = {  # backward, forward, and what is said of it
    "reads a saved node": (lambda ctx, g: g * 3 * ctx.saved_tensors[0].data ** 2, Cube.forward, "reads the"),
    "reads g": (lambda ctx, g: ctx.saved_tensors[0] * g.data, Cube.forward, "reads the"),
    "reads what is computed": (lambda ctx, g: g * numbers(ctx.saved_tensors[0] * 2), Cube.forward, "reads the"),
    "reads a parameter": (lambda ctx, g: g * numbers(W[type(g)]), Cube.forward, "reads the"),
    "copies": (lambda ctx, g: g * copy.copy(ctx.saved_tensors[0]), Cube.forward, "reads the"),
    "detaches": (lambda ctx, g: g * ctx.saved_tensors[0].detach(), Cube.forward, "reads the"),
    "saved an intermediate": (lambda ctx, g: g * ctx.saved_tensors[0], saving_an_intermediate, r"ctx\.saved_tensors"),
    "kept numbers": (lambda ctx, g: g * ctx.it, keeping(lambda x: 3 * x.data**2), r"ctx\.it"),
    "plain numbers": (lambda ctx, g: ONES[type(g)], Cube.forward, "returned for argument 0 is a plain"),
    "a constant": (lambda ctx, g: CONSTANTS[type(g)], Cube.forward, "not computed from the node g"),
}  # fmt: skip
READS = {
    "value": [float, int, bool, round, lambda x: x.item()],
    "tensor": [lambda x: x.numpy(), lambda x: x.tolist(), np.asarray, lambda x: x.argmax()],
}


def assert_refused_twice(op, x, message):
    """A backward that works once is refused where it would be differentiated."""
    y = op.apply(x) * x  # so that g requires a gradient
    assert numbers(slope(y, x, retain_graph=True)).shape == numbers(x).shape
    with pytest.raises(RuntimeError, match=f"create_graph=True.*{message}"):
        slope(y, x, create_graph=True)


@both
@pytest.mark.parametrize(("backward_", "forward", "message"), FROZEN.values(), ids=FROZEN)
def test_backward_that_would_be_frozen_works_once_and_is_refused_twice(kind, backward_, forward, message):
    assert_refused_twice(make(backward_, forward), nodes(kind), message)


@pytest.mark.parametrize(("kind", "read"), [(kind, read) for kind, reads in READS.items() for read in reads])
def test_backward_that_reads_numbers_in_any_way_is_refused_twice(kind, read):
    op = make(lambda ctx, g: g * np.array(read(ctx.saved_tensors[0])), Cube.forward)
    assert_refused_twice(op, nodes(kind), "reads the numbers")


MAY_DEPEND = {
    "a float": lambda x: abs(float(numbers(x).sum())),
    "NumPy's float": lambda x: np.float64(2.0),
    "an array": lambda x: 3 * numbers(x),
    "a complex number": lambda x: 1j,
    "a fraction": lambda x: Fraction(1, 2),
    "a list of floats": lambda x: [1, [2.0]],
    "a dict of arrays": lambda x: {"mask": np.array([True]), "scale": np.ones(3)},
    "a set": lambda x: {2.0},
    "a function": lambda x: lambda: x,
    "an object": lambda x: Object(),
    "an intermediate node": lambda x: x * 2,
    "a node that is no argument": lambda x: Value(1.0),
}
HARMLESS = {
    "None": None,
    "an integer": 3,
    "a bool": True,
    "a string": "mean",
    "a shape": (2, 3),
    "an index": (slice(None), ..., None, np.int64(1)),
    "a dtype": np.dtype("float64"),
    "a type": np.float32,
    "a mask": np.array([True, False]),
    "an order": [np.array([2, 0, 1])],
    "settings": {"axis": (0, 1), "keepdims": False},
}


@both
@pytest.mark.parametrize("held", MAY_DEPEND.values(), ids=MAY_DEPEND)
def test_create_graph_refuses_what_may_depend_on_an_argument_unless_the_class_lists_it(kind, held):
    x, op = nodes(kind), make(Cube.backward, keeping(held, "held"))
    assert_refused_twice(op, x, r"ctx\.held, .*; if none does, list it .*: constants = \('held',\)")
    op.constants = ("held",)
    assert second_derivative(op, x) == pytest.approx(6 * numbers(x))


@both
@pytest.mark.parametrize("held", HARMLESS.values(), ids=HARMLESS)
def test_create_graph_takes_what_has_no_derivative(kind, held):
    x = nodes(kind)
    assert second_derivative(make(Cube.backward, keeping(lambda x: held)), x) == pytest.approx(6 * numbers(x))


def gated(x):
    return np.where(x > 0, 2.0, 0.5) if isinstance(x, Tensor) else 2.0 if x > 0 else 0.5


TWICE: dict[str, tuple] = {  # backward, forward, and the derivative of what backward returns for a g of ones
    "an argument as an attribute": (lambda ctx, g: g * 3 * ctx.it * ctx.it, keeping(lambda x: x), lambda x: 6 * x),
    "a result as an attribute": (lambda ctx, g: g * ctx.rest["out"][0], exp_in_a_list, np.exp),
    "a transform of a number, which closes over a node": (
        lambda ctx, g: g * gradient(lambda y: y * total(ctx.saved_tensors[0]))(1.0), Cube.forward,
        lambda x: x * 0 + x.size),
    "a transform, and a constant that is read": (
        lambda ctx, g: g * gradient(lambda x: total(x**3))(ctx.saved_tensors[0]) * numbers(Tensor(np.ones(()))),
        Cube.forward, lambda x: 6 * x),
    "comparisons": (lambda ctx, g: g * ctx.saved_tensors[0] * gated(ctx.saved_tensors[0]), Cube.forward,
                    lambda x: np.where(x > 0, 2.0, 0.5)),
}  # fmt: skip


@both
@pytest.mark.parametrize(("backward_", "forward", "expected"), TWICE.values(), ids=TWICE)
def test_backward_on_nodes_is_differentiated_again(kind, backward_, forward, expected):
    x = nodes(kind)
    assert second_derivative(make(backward_, forward), x) == pytest.approx(expected(numbers(x)))


def test_order_of_a_saved_tensor_has_no_derivative():
    op = make(lambda ctx, g: g * ctx.saved_tensors[0][np.argsort(A)] ** 2, Cube.forward)
    assert second_derivative(op, nodes("tensor")) == pytest.approx(2 * np.array(A))


# ---- forward mode: the rule is recorded on g alone, so nothing but g must be computed on as a node


SLOPES: dict[str, tuple] = {  # of sin: what of it is saved, and backward
    "saved argument": (lambda ctx, x: ctx.save_for_backward(x), lambda ctx, g: g * ctx.saved_tensors[0].cos()),
    "numbers of it": (lambda ctx, x: ctx.save_for_backward(x), lambda ctx, g: g * np.cos(ctx.saved_tensors[0].data)),
    "numbers": (lambda ctx, x: setattr(ctx, "slope", np.cos(x.data)), lambda ctx, g: g * ctx.slope),
    "an intermediate": (lambda ctx, x: setattr(ctx, "slope", x.cos()), lambda ctx, g: g * ctx.slope),
}


@both
@pytest.mark.parametrize(("save", "backward_"), SLOPES.values(), ids=SLOPES)
def test_forward_mode_takes_what_an_ordinary_pass_does(kind, save, backward_):
    op = make(backward_, lambda ctx, x: save(ctx, x) or x.sin())
    x = nodes(kind).data
    assert jvp(op.apply, (x,), (2 * x,))[1] == pytest.approx(2 * x * np.cos(x), rel=1e-12)


@pytest.mark.parametrize("wrong", [lambda g: np.array(g.data), lambda g: g.detach(), lambda g: Tensor([1.0, 1.0, 1.0])])
def test_forward_mode_refuses_a_backward_that_does_not_compute_on_g(wrong):
    with pytest.raises(RuntimeError, match="create_graph=True and jvp"):
        jvp(make(lambda ctx, g: wrong(g)).apply, (np.array(A),), (np.array(A),))
