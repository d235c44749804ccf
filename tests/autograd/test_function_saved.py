"""What a Function saves, and what is refused since a second derivative would be silently wrong."""

import copy
from fractions import Fraction

import numpy as np
import pytest
from function_helpers import A, Cube, Exp, Scale, both, make, nodes, numbers, second_derivative, slope, total

from micrograd import Value, grad, gradient, jvp, no_grad
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


def test_tensor_that_was_not_saved_may_be_changed():
    x = Tensor(A, requires_grad=True)
    h = x * 1
    y = Scale.apply(h, 2.0, "two")
    with no_grad():
        h += 1
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


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


def read_of(kind, *reads):
    """Backwards that read what was saved in one of these ways."""
    return {f"{kind}: {i}": (kind, lambda ctx, g, read=read: g * np.array(read(ctx.saved_tensors[0])), Cube.forward,
                             "reads the numbers") for i, read in enumerate(reads)}  # fmt: skip


W = {"value": Value(3.0), "tensor": Tensor(A, requires_grad=True)}
FROZEN: dict[str, tuple] = {  # the kinds, backward, forward, and what is said of it
    "reads a saved node": ("both", lambda ctx, g: g * 3 * (ctx.saved_tensors[0].data ** 2), Cube.forward, "reads the"),
    "reads g": ("both", lambda ctx, g: ctx.saved_tensors[0] * g.data, Cube.forward, "reads the"),
    "reads what is computed": ("both", lambda ctx, g: g * numbers(ctx.saved_tensors[0] * 2), Cube.forward, "reads the"),
    "reads what is computed from g": ("both", lambda ctx, g: ctx.saved_tensors[0] * numbers(g * ctx.saved_tensors[0]),
                                      Cube.forward, "reads the"),
    "reads a parameter": ("both", lambda ctx, g: g * numbers(W["value" if isinstance(g, Value) else "tensor"]),
                          Cube.forward, "reads the"),
    "copies": ("both", lambda ctx, g: g * (copy.copy(ctx.saved_tensors[0])), Cube.forward, "reads the"),
    "detaches": ("both", lambda ctx, g: g * ctx.saved_tensors[0].detach(), Cube.forward, "reads the"),
    "saved an intermediate": ("both", lambda ctx, g: g * ctx.saved_tensors[0],
                              lambda ctx, x: ctx.save_for_backward(x * x * 3) or x * x * x, r"ctx\.saved_tensors"),
    "kept numbers": ("both", lambda ctx, g: g * ctx.slope,
                     lambda ctx, x: setattr(ctx, "slope", 3 * x.data**2) or x * x * x, r"ctx\.slope"),
    "kept a list": ("both", lambda ctx, g: g * ctx.it[0],
                    lambda ctx, x: setattr(ctx, "it", [3 * x.data**2]) or x * x * x, r"ctx\.it"),
    "a plain number": ("value", lambda ctx, g: 1.0, Cube.forward, "what it returned for argument 0 is a plain"),
    "a plain array": ("tensor", lambda ctx, g: np.ones(3), Cube.forward, "what it returned for argument 0 is a plain"),
    "a constant": ("value", lambda ctx, g: Value(1.0, requires_grad=False), Cube.forward, "not computed from the node"),
    "a constant Tensor": ("tensor", lambda ctx, g: Tensor(np.ones(3)), Cube.forward, "not computed from the node g"),
    **read_of("value", float, int, bool, round, lambda x: (x * 1).data),
    **read_of("tensor", lambda x: x.numpy(), lambda x: x.tolist(), np.asarray, lambda x: x.argmax()),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for name, row in FROZEN.items() for kind in ("value", "tensor") if row[0] in ("both", kind)],
)
def test_backward_that_would_be_frozen_works_once_and_is_refused_twice(kind, name):
    _, backward_, forward, message = FROZEN[name]
    x = nodes(kind)
    y = make(backward_, forward).apply(x) * x  # so that g requires a gradient
    assert numbers(slope(y, x, retain_graph=True)).shape == numbers(x).shape
    with pytest.raises(RuntimeError, match=f"create_graph=True.*{message}"):
        slope(y, x, create_graph=True)


class Object:
    """What may hold anything."""


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


def holding(held, constants=()):
    """A Function that saves what `held` returns for its argument, next to the argument itself."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.held = held(x)
        return x * x * x

    made = make(lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2, forward)
    made.constants = constants
    return made


@both
@pytest.mark.parametrize("held", MAY_DEPEND.values(), ids=MAY_DEPEND)
def test_create_graph_refuses_what_may_depend_on_an_argument_and_names_it(kind, held):
    x = nodes(kind)
    y = holding(held).apply(x)
    with pytest.raises(RuntimeError, match=r"ctx\.held, .*; if none does, list it .*: constants = \('held',\)"):
        slope(y, x, create_graph=True)
    g = slope(y, x)  # once is fine
    assert numbers(g) == pytest.approx(3 * numbers(x) ** 2)


@both
@pytest.mark.parametrize("held", MAY_DEPEND.values(), ids=MAY_DEPEND)
def test_create_graph_believes_the_class_about_its_constants(kind, held):
    x = nodes(kind)
    assert second_derivative(holding(held, ("held",)), x) == pytest.approx(6 * numbers(x))


@both
@pytest.mark.parametrize("held", HARMLESS.values(), ids=HARMLESS)
def test_create_graph_takes_what_has_no_derivative(kind, held):
    x = nodes(kind)
    assert second_derivative(holding(lambda x: held), x) == pytest.approx(6 * numbers(x))


def test_all_names_that_may_depend_on_an_argument_are_told():
    def forward(ctx, x):
        ctx.a, ctx.n, ctx.b = 2.0, 3, np.ones(2)
        return x * 1

    with pytest.raises(RuntimeError, match=r"ctx\.a and ctx\.b, .* constants = \('a', 'b'\)"):
        grad(make(lambda ctx, g: g * 1, forward).apply(x := Value(1.0)), x, create_graph=True)


@both
def test_plain_arguments_of_apply_are_constants_wherever_the_context_holds_them(kind):
    def forward(ctx, x, factor, pair):
        ctx.save_for_backward(x)
        ctx.factor, ctx.second, ctx.all = factor, pair[1], {"pair": pair}
        return factor * pair[1] * x * x

    op = make(lambda ctx, g: (g * 2 * ctx.factor * ctx.second * ctx.saved_tensors[0], None, None), forward)
    x = nodes(kind)
    g = slope(op.apply(x, 0.5, [1.5, 3.0]), x, create_graph=True)
    assert numbers(g) == pytest.approx(3 * numbers(x))


def test_backward_keeps_what_it_writes_to_lists_of_the_users():
    log = []
    op = make(lambda ctx, g: ctx.log.append("called") or g * 1, lambda ctx, x: setattr(ctx, "log", log) or x * 1)
    op.apply(Value(1.0)).backward()
    assert log == ["called"]


def result_as_attribute(ctx, x):
    ctx.rest = {"out": [x.exp()]}
    return ctx.rest["out"][0]


TWICE: dict[str, tuple] = {  # the kinds, backward, forward, and the derivative of what backward returns for a g of ones
    "an argument as an attribute": ("both", lambda ctx, g: g * 3 * ctx.x * ctx.x,
                                    lambda ctx, x: setattr(ctx, "x", x) or x * x * x, lambda x: 6 * x),
    "a result as an attribute": ("both", lambda ctx, g: g * ctx.rest["out"][0], result_as_attribute, np.exp),
    "a transform of a number, which closes over a node": (
        "both", lambda ctx, g: g * gradient(lambda y: y * total(ctx.saved_tensors[0]))(1.0), Cube.forward,
        lambda x: x * 0 + x.size),
    "a transform, and a constant that is read": (
        "both", lambda ctx, g: g * gradient(lambda x: total(x**3))(ctx.saved_tensors[0]) * numbers(Tensor(np.ones(()))),
        Cube.forward, lambda x: 6 * x),
    "an order, which has no derivative": ("tensor", lambda ctx, g: g * ctx.saved_tensors[0][np.argsort(A)] ** 2,
                                          Cube.forward, lambda x: 2 * x),
    "a comparison": ("value", lambda ctx, g: g * ctx.saved_tensors[0] * (2.0 if ctx.saved_tensors[0] > 0 else 0.5),
                     Cube.forward, lambda x: np.where(x > 0, 2.0, 0.5)),
    "comparisons": ("tensor", lambda ctx, g: g * ctx.saved_tensors[0] * np.where(ctx.saved_tensors[0] > 0, 2.0, 0.5),
                    Cube.forward, lambda x: np.where(x > 0, 2.0, 0.5)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for name, row in TWICE.items() for kind in ("value", "tensor") if row[0] in ("both", kind)],
)
def test_backward_on_nodes_is_differentiated_again(kind, name):
    _, backward_, forward, expected = TWICE[name]
    x = nodes(kind)
    assert second_derivative(make(backward_, forward), x) == pytest.approx(expected(numbers(x)))


def test_create_graph_gives_plain_values():
    x = Value(2.0)
    (g,) = grad(Exp.apply(Cube.apply(x)), x, create_graph=True)
    waiting, seen = [g], set()
    while waiting:
        node = waiting.pop()
        assert type(node) is Value
        assert type(node.data) is float
        if node not in seen:
            seen.add(node)
            waiting += node._prev
    assert copy.copy(x).data == 2.0


# ---- forward mode: the rule is recorded on g alone, so nothing but g must be computed on as a node


LINEAR_IN_G: dict[str, tuple] = {
    "saved argument": (lambda ctx, g: g * ctx.saved_tensors[0].cos(),
                       lambda ctx, x: ctx.save_for_backward(x) or x.sin()),
    "saved result": (lambda ctx, g: g * (1 - ctx.saved_tensors[0] ** 2),
                     lambda ctx, x: (y := x.tanh(), ctx.save_for_backward(y))[0]),
    "numbers of the argument": (lambda ctx, g: g * np.cos(ctx.saved_tensors[0].data),
                                lambda ctx, x: ctx.save_for_backward(x) or x.sin()),
    "numbers": (lambda ctx, g: g * ctx.slope, lambda ctx, x: setattr(ctx, "slope", np.cos(x.data)) or x.sin()),
    "an intermediate": (lambda ctx, g: g * ctx.slope, lambda ctx, x: setattr(ctx, "slope", x.cos()) or x.sin()),
}  # fmt: skip


@both
@pytest.mark.parametrize("name", LINEAR_IN_G)
def test_forward_mode_takes_what_an_ordinary_pass_does(kind, name):
    op = make(*LINEAR_IN_G[name])
    x = numbers(nodes(kind)).astype(float)
    v = np.cos(x) if kind == "tensor" else 2.0
    expected = v * ((1 - np.tanh(x) ** 2) if name == "saved result" else np.cos(x))
    _, found = jvp(op.apply, (x if kind == "tensor" else float(x),), (v,))
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("wrong", [lambda g: np.array(g.data), lambda g: g.detach(), lambda g: Tensor([1.0, 1.0, 1.0])])
def test_forward_mode_refuses_a_backward_that_does_not_compute_on_g(wrong):
    with pytest.raises(RuntimeError, match="create_graph=True and jvp"):
        jvp(make(lambda ctx, g: wrong(g)).apply, (np.array(A),), (np.array(A),))
