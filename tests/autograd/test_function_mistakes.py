"""What is wrong in a user's Function, or in how it is called, is told."""

import numpy as np
import pytest
from function_helpers import A, Product, both, make, nodes

from micrograd import Value, grad
from micrograd.autograd.function import Function
from micrograd.tensor import Tensor


@both
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_wrong_number_of_gradients_raises(kind, create_graph, count):
    x = nodes(kind)
    y = make(lambda ctx, g: (g,) * count, lambda ctx, x, y: x * y).apply(x, x)
    with pytest.raises(ValueError, match=f"Made.backward returned {count} gradients for the 2 arguments of apply"):
        grad(y, x, None if kind == "value" else np.ones(3), create_graph=create_graph)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("wrong", [lambda g: g.sum(), lambda g: g.reshape(3, 1), lambda g: 1.0, lambda g: np.ones(2)])
def test_a_gradient_of_the_wrong_shape_raises(create_graph, wrong):
    x = Tensor(A, requires_grad=True)
    y = make(lambda ctx, g: wrong(g)).apply(x)
    with pytest.raises(ValueError, match=r"argument 0: a Tensor of shape \(3,\) cannot have a gradient of shape"):
        grad(y, x, np.ones(3), create_graph=create_graph)


def test_an_array_for_a_value_raises():
    y = make(lambda ctx, g: np.ones(3)).apply(Value(1.0))
    with pytest.raises(TypeError, match=r"argument 0: the gradient of a Value is a number, found ndarray"):
        y.backward()


@pytest.mark.parametrize("wrong", ["2.0", {}, 1j])
@both
def test_a_gradient_that_is_no_number_raises(kind, wrong):
    x = Value(1.0) if kind == "value" else Tensor(1.0, requires_grad=True)
    with pytest.raises(TypeError, match=r"argument 0: .*(is a number|holds real numbers), found"):
        make(lambda ctx, g: wrong).apply(x).backward()


def test_a_gradient_of_the_other_kind_raises():
    y = make(lambda ctx, g: Tensor(1.0)).apply(Value(1.0))
    with pytest.raises(TypeError, match="argument 0: the gradient of a Value is a number, found Tensor"):
        y.backward()


def test_a_gradient_for_what_is_no_node_raises():
    y = make(lambda ctx, g: (g, g), lambda ctx, x, n: x * n).apply(Value(1.0), 2.0)
    with pytest.raises(ValueError, match="a gradient for argument 1, a float: it must be None"):
        y.backward()


WRONG = {
    "value": [lambda x: [x], lambda x: None, lambda x: "text", lambda x: (x, Tensor(1.0))],
    "tensor": [lambda x: [x], lambda x: (x, None), lambda x: Value(1.0)],
}


@pytest.mark.parametrize(("kind", "wrong"), [(kind, wrong) for kind in WRONG for wrong in WRONG[kind]])
def test_a_result_that_is_no_node_of_its_kind_raises(kind, wrong):
    with pytest.raises(TypeError, match=f"forward of {kind.title()}s must return one"):
        make(lambda ctx, g: g, lambda ctx, x: wrong(x)).apply(nodes(kind))


def test_values_and_tensors_do_not_mix():
    with pytest.raises(TypeError, match=r"Product\.apply found Values and Tensors together"):
        Product.apply(Value(1.0), Tensor(1.0))


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (1, [x]), lambda x: {"x": x}])
def test_nodes_in_a_list_would_get_no_gradient_and_raise(wrap):
    with pytest.raises(TypeError, match=r"found nodes in the \w+ that is argument 0.*pass each as a separate argument"):
        make(lambda ctx, g: None, lambda ctx, xs: 1.0).apply(wrap(Value(1.0)))


def test_save_for_backward_takes_nodes_alone():
    op = make(lambda ctx, g: g, lambda ctx, x: ctx.save_for_backward(x.data) or x)
    with pytest.raises(TypeError, match=r"save_for_backward keeps Values and Tensors, found float: set ctx\.name"):
        op.apply(Value(1.0))


def test_what_is_not_written_says_so():
    class Empty(Function):
        pass

    with pytest.raises(NotImplementedError, match=r"a static method forward\(ctx, ...\)"):
        Empty.apply(Value(1.0))
    Empty.forward = staticmethod(lambda ctx, x: x)
    with pytest.raises(NotImplementedError, match="backward"):
        Empty.apply(Value(1.0)).backward()
