"""gradient(fn) and its like: what goes in, what comes out, and that they compose."""

import numpy as np
import pytest

from micrograd import Value, compile, no_grad
from micrograd.autograd.transforms import gradient, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from micrograd.nn import MLP
from micrograd.tensor import Tensor

A = np.array([1.0, 2.0, 3.0])
M = np.arange(6.0).reshape(2, 3) - 2.5


def cube(x):
    return x**3


# ---- kinds


def test_numbers_in_numbers_out():
    assert gradient(cube)(2.0) == 12.0
    assert type(gradient(cube)(2.0)) is float
    assert type(gradient(cube)(np.float64(2.0))) is float
    assert value_and_grad(cube)(2.0) == (8.0, 12.0)


def test_arrays_in_arrays_out():
    g = gradient(lambda x: (x * x).sum())(A)
    assert type(g) is np.ndarray
    assert g.tolist() == [2.0, 4.0, 6.0]
    value, g = value_and_grad(lambda x: (x * x).sum())(A)
    assert value == 14.0
    assert isinstance(value, float)


def test_a_dtype_is_kept():
    x = A.astype(np.float32)
    value, g = value_and_grad(lambda x: x * 2.0)(x)
    assert value.dtype == g.dtype == np.float32
    value, (_, gy) = value_and_grad(lambda x, y: x * y)(x, 2.0)
    assert value.dtype == np.float32
    assert gy == 6.0


@pytest.mark.parametrize("requires_grad", [True, False])
def test_nodes_in_nodes_out(requires_grad):
    value, g = value_and_grad(cube)(Value(2.0, requires_grad=requires_grad))
    assert isinstance(value, Value)
    assert isinstance(g, Value)
    assert (value.data, g.data) == (8.0, 12.0)
    value, g = value_and_grad(cube)(Tensor(A, requires_grad=requires_grad))
    assert isinstance(value, Tensor)
    assert isinstance(g, Tensor)
    assert g.tolist() == [3.0, 12.0, 27.0]


def test_one_node_among_the_arguments_makes_nodes_of_all_gradients():
    gx, gy = gradient(lambda x, y: x * y)(Value(2.0), 3.0)
    assert isinstance(gx, Value)
    assert isinstance(gy, Value)
    assert (gx.data, gy.data) == (3.0, 2.0)


def test_a_number_beside_an_array_gets_a_number():
    gx, gw = gradient(lambda x, w: (x * w).sum())(A, 2.0)
    assert gx.tolist() == [2.0, 2.0, 2.0]
    assert type(gw) is float
    assert gw == 6.0


def test_fn_sees_floats_as_values_and_arrays_as_tensors():
    seen = []
    gradient(lambda x: seen.append(type(x)) or x * 1)(2.0)
    gradient(lambda x: seen.append(type(x)) or x * 1)(A)
    assert seen == [Value, Tensor]


def test_no_argument_is_changed_and_no_grad_is_left():
    x, t = Value(2.0), Tensor(A, requires_grad=True)
    gradient(cube)(x)
    gradient(cube)(t)
    assert x.grad == 0
    assert t.grad is None


def test_parameters_that_fn_closes_over_collect_nothing():
    w = Value(3.0)
    assert gradient(lambda x: w * x)(2.0).data == 3.0
    assert w.grad == 0


# ---- what is differentiated


def test_one_argument_gives_a_bare_gradient_and_several_a_tuple():
    assert gradient(lambda x, y: x * y)(2.0, 3.0) == (3.0, 2.0)
    assert gradient(lambda x: x * 5)(2.0) == 5.0


def test_lists_and_dicts_get_gradients_of_their_form():
    def f(p):
        return p["w"][0] * p["w"][1] + p["b"] * 2

    assert gradient(f)({"w": [2.0, 3.0], "b": 1.0}) == {"w": [3.0, 2.0], "b": 2.0}
    assert gradient(lambda xs: sum(x * y for x, y in xs))([(1.0, 2.0), (3.0, 4.0)]) == [(2.0, 1.0), (4.0, 3.0)]


def test_what_is_no_float_is_passed_on_as_it_is():
    def f(x, n, name, index, flag):
        assert (type(n), type(name), type(index), type(flag)) == (int, str, np.ndarray, bool)
        return x[index] ** n

    assert gradient(f)(A, 2, "name", np.array([0, 0, 2]), True).tolist() == [4.0, 0.0, 6.0]


def test_what_is_no_float_has_no_second_derivatives_either():
    tree, v = {"x": A, "n": 3}, {"x": A, "n": None}
    f = lambda t: (t["x"] ** t["n"]).sum()  # noqa: E731
    assert hessian(f)(tree)["n"] is None
    assert hessian(f)(tree)["x"]["n"] is None
    assert hessian(f)(tree)["x"]["x"].tolist() == np.diag(6 * A).tolist()
    for product in (hvp(f)(tree, v), jvp(gradient(f), (tree,), (v,))[1]):
        assert product["x"].tolist() == (6 * A * A).tolist()
        assert product["n"] is None


def test_labels_in_a_list_stay_ints():
    from micrograd.functional import cross_entropy

    g = gradient(cross_entropy)([[0.0, 0.0], [0.0, 0.0]], [0, 1])
    assert g == [[-0.25, 0.25], [0.25, -0.25]]


def test_keywords_are_passed_on_as_they_are():
    assert gradient(lambda x, *, scale: x * scale)(2.0, scale=7.0) == 7.0


@pytest.mark.parametrize("f", [cube, compile(cube)])
def test_nothing_to_differentiate_raises(f):
    with pytest.raises(TypeError, match=r"no argument is a float, a float array or a node; found int: write 2\.0"):
        gradient(f)(2)
    with pytest.raises(TypeError, match="found none at all"):
        gradient(lambda: 1.0)()


def test_a_node_in_the_place_of_a_function_raises():
    with pytest.raises(TypeError, match="found Value where a function is needed"):
        gradient(Value(1.0))(2.0)


@pytest.mark.parametrize("result", ["text", None, {1.0}])
def test_a_result_that_is_no_node_raises(result):
    with pytest.raises(TypeError, match="a function to differentiate returns Values or Tensors"):
        gradient(lambda x: result)(2.0)


def test_a_result_that_does_not_depend_on_an_argument_has_gradient_zero():
    assert gradient(lambda x, y: x)(2.0, 3.0) == (1.0, 0.0)
    assert gradient(lambda x: 5.0)(2.0) == 0.0
    assert gradient(lambda x: np.ones(2))(A).tolist() == [0.0, 0.0, 0.0]
    assert gradient(gradient(lambda x: 2 * x))(2.0) == 0.0


# ---- several elements


def test_a_result_of_many_elements_is_seeded_with_ones():
    x, y = np.random.default_rng(0).standard_normal((2, 5, 10, 5))
    value, (gx, gy) = value_and_grad(lambda x, y: x + y)(x, y)
    assert (value == x + y).all()
    assert gx.shape == gy.shape == (5, 10, 5)
    assert (gx == 1).all()
    assert (gy == 1).all()


def test_gradients_are_arrays_of_their_own():
    gx, gy = gradient(lambda x, y: x + y)(A, A)
    gx += 1
    assert gy.tolist() == [1.0, 1.0, 1.0]


def test_lists_of_results_count_as_their_sum():
    assert gradient(lambda x: [x * 2, {"y": x * x}])(3.0) == 8.0


# ---- composing


def test_the_gradient_of_a_node_is_connected_to_what_made_the_node():
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


def test_a_graph_that_fn_closes_over_is_not_let_go():
    w = Tensor(A, requires_grad=True)
    h = w * 2
    assert gradient(lambda x: (h * x).sum())(A).tolist() == [2.0, 4.0, 6.0]
    h.sum().backward()
    assert w.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_network_of_values_is_a_function():
    net = MLP(2, [3, 1])
    x = [Value(0.5), Value(-1.0)]
    net(x).backward()
    with no_grad():
        assert gradient(net)([0.5, -1.0]) == [v.grad for v in x]


# ---- jacobian, hessian, hvp, vjp


def test_a_jacobian_has_the_results_axes_first():
    w = np.arange(6.0).reshape(2, 3)
    assert jacobian(lambda x: w @ x)(A).tolist() == w.tolist()
    j = jacobian(lambda x: x.T @ x)(M)
    assert j.shape == (3, 3, 2, 3)


def test_a_jacobian_of_several_arguments_is_a_tuple():
    jx, jy = jacobian(lambda x, y: x * y)(A, 2.0)
    assert jx.tolist() == (2 * np.eye(3)).tolist()
    assert jy.tolist() == A.tolist()


def test_a_jacobian_of_values_has_the_results_form():
    assert jacobian(lambda x, y: [x * y, x])(2.0, 3.0) == [(3.0, 2.0), (1.0, 0.0)]
    assert jacobian(cube)(2.0) == 12.0


def test_a_jacobian_of_tensors_is_a_tensor_that_can_be_differentiated():
    x = Tensor(A, requires_grad=True)
    j = jacobian(lambda x: x**3)(x)
    assert isinstance(j, Tensor)
    j.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0, 18.0]


def test_an_empty_result_has_no_jacobian():
    with pytest.raises(ValueError, match="has no elements"):
        jacobian(lambda x: x[3:])(A)


def test_a_hessian_of_values_is_a_matrix_of_lists():
    assert hessian(lambda xs: xs[0] ** 2 * xs[1])([2.0, 3.0]) == [[6.0, 4.0], [4.0, 0.0]]


def test_a_hessian_of_two_arguments_is_a_tuple_of_tuples():
    (hxx, hxy), (hyx, hyy) = hessian(lambda x, y: (x * x * y).sum())(A, A)
    assert hxx.tolist() == np.diag(2 * A).tolist()
    assert hxy.tolist() == hyx.tolist() == np.diag(2 * A).tolist()
    assert hyy.tolist() == np.zeros((3, 3)).tolist()


def test_a_second_derivative_of_a_number_beside_an_array_is_a_number():
    h = hessian(lambda p: (p["a"] * p["b"] ** 2).sum())({"a": A, "b": 2.0})
    assert h["b"]["b"] == 12.0
    assert isinstance(h["b"]["b"], float)
    assert h["a"]["b"].tolist() == h["b"]["a"].tolist() == [4.0, 4.0, 4.0]


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


def test_none_is_no_tangent_of_a_float():
    with pytest.raises(TypeError, match="found None as the tangent of a float, an array or a node: write zeros"):
        jvp(lambda x, y: x * y, (2.0, 3.0), (None, 1.0))


def test_vjp_with_the_wrong_number_or_shape_of_gradients_raises():
    _, back = vjp(lambda x: [x, x], 2.0)
    with pytest.raises(ValueError, match="found 1 gradients for 2 outputs"):
        back(1.0)
    _, back = vjp(lambda x: x * 2, A)
    with pytest.raises(ValueError, match=r"cannot have a gradient of shape \(2,\)"):
        back(np.ones(2))
