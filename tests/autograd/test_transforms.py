"""gradient(fn) and its like: what goes in, what comes out, and that they compose."""

import numpy as np
import pytest

from micrograd import Value, compile, no_grad
from micrograd.autograd.transforms import gradient, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from micrograd.functional import cross_entropy
from micrograd.tensor import Tensor

A = np.array([1.0, 2.0, 3.0])
M = np.arange(6.0).reshape(2, 3) - 2.5


def cube(x):
    return x**3


# ---- kinds


def told(x):
    """A result as plain data, in which arrays and nodes are beside the names of their kinds."""
    if isinstance(x, dict):
        return {name: told(y) for name, y in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(map(told, x))
    if isinstance(x, (np.ndarray, Tensor)):
        return type(x).__name__, x.tolist()
    return x if x is None or isinstance(x, float) else (type(x).__name__, x.data)


def array(*numbers):
    return "ndarray", list(numbers)


def square_sum(x):
    return (x * x).sum()


def of_tree(p):
    return p["w"][0] * p["w"][1] + p["b"] * 2


def power_of(tree):
    return (tree["x"] ** tree["n"]).sum()


RESULTS = {
    "a number": (lambda: gradient(cube)(2.0), 12.0),
    "NumPy's number": (lambda: gradient(cube)(np.float64(2.0)), 12.0),
    "a number with its value": (lambda: value_and_grad(cube)(2.0), (8.0, 12.0)),
    "an array with its value": (lambda: value_and_grad(square_sum)(A), (14.0, array(2.0, 4.0, 6.0))),
    "a Value": (lambda: value_and_grad(cube)(Value(2.0)), (("Value", 8.0), ("Value", 12.0))),
    "a constant": (lambda: value_and_grad(cube)(Value(2.0, requires_grad=False)), (("Value", 8.0), ("Value", 12.0))),
    "a Tensor": (lambda: gradient(cube)(Tensor(A, requires_grad=True)), ("Tensor", [3.0, 12.0, 27.0])),
    "a constant Tensor": (lambda: gradient(cube)(Tensor(A)), ("Tensor", [3.0, 12.0, 27.0])),
    "two numbers": (lambda: gradient(lambda x, y: x * y)(2.0, 3.0), (3.0, 2.0)),
    "a node and a number": (lambda: gradient(lambda x, y: x * y)(Value(2.0), 3.0), (("Value", 3.0), ("Value", 2.0))),
    "an array and a number": (lambda: gradient(lambda x, w: (x * w).sum())(A, 2.0), (array(2.0, 2.0, 2.0), 6.0)),
    "a dict of lists": (lambda: gradient(of_tree)({"w": [2.0, 3.0], "b": 1.0}), {"w": [3.0, 2.0], "b": 2.0}),
    "a list of tuples": (lambda: gradient(lambda xs: sum(x * y for x, y in xs))([(1.0, 2.0), (3.0, 4.0)]),
                         [(2.0, 1.0), (4.0, 3.0)]),
    "labels, which stay ints": (lambda: gradient(cross_entropy)([[0.0, 0.0], [0.0, 0.0]], [0, 1]),
                                [[-0.25, 0.25], [0.25, -0.25]]),
    "a keyword": (lambda: gradient(lambda x, *, scale: x * scale)(2.0, scale=7.0), 7.0),
    "what does not depend on an argument": (lambda: gradient(lambda x, y: x)(2.0, 3.0), (1.0, 0.0)),
    "what depends on none": (lambda: gradient(lambda x: 5.0)(2.0), 0.0),
    "an array that depends on none": (lambda: gradient(lambda x: np.ones(2))(A), array(0.0, 0.0, 0.0)),
    "a slope that depends on none": (lambda: gradient(gradient(lambda x: 2 * x))(2.0), 0.0),
    "results in a list, which count as their sum": (lambda: gradient(lambda x: [x * 2, {"y": x * x}])(3.0), 8.0),
    "jacobian": (lambda: jacobian(lambda x: M @ x)(A), ("ndarray", M.tolist())),
    "jacobian of a number": (lambda: jacobian(cube)(2.0), 12.0),
    "jacobian of two arguments": (lambda: jacobian(lambda x, y: x * y)(A, 2.0),
                                  (("ndarray", (2 * np.eye(3)).tolist()), array(1.0, 2.0, 3.0))),
    "jacobian of numbers": (lambda: jacobian(lambda x, y: [x * y, x])(2.0, 3.0), [(3.0, 2.0), (1.0, 0.0)]),
    "hessian of numbers": (lambda: hessian(lambda xs: xs[0] ** 2 * xs[1])([2.0, 3.0]), [[6.0, 4.0], [4.0, 0.0]]),
    "hessian of two arguments": (lambda: hessian(lambda x, y: (x * x * y).sum())(A, A),
                                 ((("ndarray", np.diag(2 * A).tolist()), ("ndarray", np.diag(2 * A).tolist())),
                                  (("ndarray", np.diag(2 * A).tolist()), ("ndarray", np.zeros((3, 3)).tolist())))),
    "hessian of an array and a number": (lambda: hessian(lambda p: (p["a"] * p["b"] ** 2).sum())({"a": A, "b": 2.0}),
                                         {"a": {"a": ("ndarray", np.zeros((3, 3)).tolist()), "b": array(4.0, 4.0, 4.0)},
                                          "b": {"a": array(4.0, 4.0, 4.0), "b": 12.0}}),
    "hessian beside an int": (lambda: hessian(power_of)({"x": A, "n": 3}),
                              {"x": {"x": ("ndarray", np.diag(6 * A).tolist()), "n": None}, "n": None}),
    "hvp beside an int": (lambda: hvp(power_of)({"x": A, "n": 3}, {"x": A, "n": None}),
                          {"x": array(6.0, 24.0, 54.0), "n": None}),
    "jvp of a gradient, beside an int": (
        lambda: jvp(gradient(power_of), ({"x": A, "n": 3},), ({"x": A, "n": None},))[1],
        {"x": array(6.0, 24.0, 54.0), "n": None}),
}  # fmt: skip


@pytest.mark.parametrize(("call", "expected"), RESULTS.values(), ids=RESULTS)
def test_results_have_the_numbers_the_form_and_the_kind_of_the_arguments(call, expected):
    assert told(call()) == expected


def test_dtype_is_kept_also_beside_a_float():
    value, (to_x, to_y) = value_and_grad(lambda x, y: x * y)(A.astype(np.float32), 2.0)
    assert (value.dtype, to_x.dtype, to_y) == (np.float32, np.float32, 6.0)


def test_transforms_change_no_argument_and_leave_no_grad():
    x, t = Value(2.0), Tensor(A, requires_grad=True)
    gradient(cube)(x)
    gradient(cube)(t)
    assert x.grad == 0
    assert t.grad is None


# ---- what is differentiated


def test_transforms_pass_on_what_is_no_float():
    def f(x, n, name, index, flag):
        assert (type(n), type(name), type(index), type(flag)) == (int, str, np.ndarray, bool)
        return x[index] ** n

    assert gradient(f)(A, 2, "name", np.array([0, 0, 2]), True).tolist() == [4.0, 0.0, 6.0]


# ---- composing


def test_gradient_of_a_node_is_connected_to_what_made_the_node():
    w = Value(3.0)
    g = gradient(cube)(w * 2)
    g.backward()
    assert w.grad == 6 * (3.0 * 2) * 2


def test_inside_no_grad_gradients_are_constants():
    with no_grad():
        g = gradient(cube)(Value(2.0))
        value, _ = value_and_grad(cube)(Tensor(A, requires_grad=True))
        assert gradient(cube)(2.0) == 12.0
        assert gradient(gradient(cube))(2.0) == 12.0
    assert g.data == 12.0
    assert not g.requires_grad
    assert not value.requires_grad


def test_graph_that_fn_closes_over_is_not_let_go():
    w = Tensor(A, requires_grad=True)
    h = w * 2
    assert gradient(lambda x: (h * x).sum())(A).tolist() == [2.0, 4.0, 6.0]
    h.sum().backward()
    assert w.grad.tolist() == [2.0, 2.0, 2.0]


# ---- jacobian, hessian, hvp, vjp


def test_jacobian_of_tensors_is_a_tensor_that_can_be_differentiated():
    x = Tensor(A, requires_grad=True)
    j = jacobian(lambda x: x**3)(x)
    assert isinstance(j, Tensor)
    j.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0, 18.0]


def test_hvp_is_the_hessian_times_v():
    f = lambda x: (x.exp() * x[::-1]).sum()  # noqa: E731
    v = np.array([1.0, -1.0, 0.5])
    assert hvp(f)(A, v) == pytest.approx(hessian(f)(A) @ v)
    assert hvp(cube)(2.0, 5.0) == 60.0
    assert hvp(lambda x, y: x * x * y)(2.0, 3.0, (1.0, 0.0)) == (6.0, 4.0)


def test_vjp_takes_gradients_back_as_often_as_one_likes():
    value, back = vjp(lambda x, y: x * y, 2.0, 3.0)
    assert value == 6.0
    assert back(1.0) == (3.0, 2.0)
    assert back(10.0) == (30.0, 20.0)
    value, back = vjp(lambda xs: [xs[0] * 2, xs[1] * 3], [1.0, 1.0])
    assert value == [2.0, 3.0]
    assert back([1.0, 10.0]) == [2.0, 30.0]


REFUSED = {
    "an integer": (lambda: gradient(cube)(2), TypeError, r"float, a float array or a node; found int: write 2\.0"),
    "an integer, compiled": (lambda: gradient(compile(cube))(2), TypeError, r"found int: write 2\.0"),
    "no argument": (lambda: gradient(lambda: 1.0)(), TypeError, "found none at all"),
    "a node for a function": (lambda: gradient(Value(1.0))(2.0), TypeError, "found Value where a function is needed"),
    "a text for a result": (lambda: gradient(lambda x: "text")(2.0), TypeError, "returns Values or Tensors"),
    "None for a result": (lambda: gradient(lambda x: None)(2.0), TypeError, "returns Values or Tensors"),
    "argnum of an integer": (lambda: gradient(pow, argnum=1)(2.0, 3), TypeError, r"found 3: write 2\.0"),
    "argnum too great": (lambda: gradient(pow, argnum=2)(2.0, 3), IndexError, "2 for 2 pos"),
    "jacobian of nothing": (lambda: jacobian(lambda x: x[3:])(A), ValueError, "has no elements"),
    "jvp without tuples": (lambda: jvp(cube, 2.0, (1.0,)), TypeError, "a tuple of arguments and one of tangents"),
    "too many tangents": (lambda: jvp(cube, (2.0,), (1.0, 2.0)), ValueError, "found 2 tangents for 1 arguments"),
    "a tangent's shape": (lambda: jvp(cube, (A,), (np.ones(2),)), ValueError, r"have a gradient of shape \(2,\)"),
    "no tangent": (lambda: jvp(pow, (2.0, 3.0), (None, 1.0)), TypeError, "None as the tangent of .*: write zeros"),
    "too few gradients": (lambda: vjp(lambda x: [x, x], 2.0)[1](1.0), ValueError, "1 gradients for 2 outputs"),
    "a gradient's shape": (lambda: vjp(cube, A)[1](np.ones(2)), ValueError, r"have a gradient of shape \(2,\)"),
    "no gradient": (lambda: vjp(cube, 2.0)[1](None), TypeError, "None as the gradient of an output: write zeros"),
    "hvp without v": (lambda: hvp(cube)(2.0, None), TypeError, "None as the gradient of an output: write zeros"),
}


@pytest.mark.parametrize(("call", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_transforms_refuse_what_they_cannot_do(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("point", [(0.0, 1.0), (0.0, 2.0), (0.0, 0.0), (0.0, 3.0), (1.0, 0.0), (2.0, 1.0)])
@pytest.mark.parametrize(
    "of",
    [
        lambda x, y: hessian(lambda a, b: a**b, argnum=(0, 1))(x, y),
        lambda x, y: hessian(lambda v: v[0] ** v[1])(np.array([x, y])),
        lambda x, y: hessian(lambda v: v[0] ** v[1])([x, y]),
        lambda x, y: compile(hessian(lambda v: v[0] ** v[1]))(np.array([x, y])).data,
        lambda x, y: [jacobian(gradient(lambda v: v[0] ** v[1]))(np.array([x, y]))[i] for i in (0, 1)],
    ],
)
def test_hessian_of_a_power_is_symmetric_where_a_factor_is_0_or_1(of, point):
    ((_, one), (other, _)) = of(*point)
    assert one == other
