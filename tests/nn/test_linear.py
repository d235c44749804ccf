"""`functional.linear`, the one node of a layer; and the gate of `relu` on arrays that are large."""

from copy import deepcopy

import numpy as np
import pytest

from micrograd import Tensor, compile, grad
from micrograd.functional import linear
from micrograd.nn import Linear
from micrograd.scalars.ops import gate

RNG = np.random.default_rng(0)


def tensors(*shapes, dtype=np.float64, requires_grad=True):
    return [Tensor(RNG.normal(size=shape), dtype=dtype, requires_grad=requires_grad) for shape in shapes]


@pytest.mark.parametrize("rows", [(4,), (2, 4), ()])
def test_linear_is_one_node_with_a_bias_or_without(rows):
    x, w, b = tensors((*rows, 3), (2, 3), (2,))
    assert repr(linear(x, w, b).grad_fn) == "<LinearBackward0>"
    assert [n is t for n, t in zip(linear(x, w, b)._prev, (x, w, b), strict=True)] == [True] * 3
    np.testing.assert_allclose(linear(x, w).data, x.data @ w.data.T)


def test_linear_computes_no_gradient_for_inputs_that_want_none(monkeypatch):
    x, w, b = *tensors((4, 3), requires_grad=False), *tensors((2, 3), (2,))
    out = linear(x, w, b)
    called = []
    row = out._node._row
    rules = [lambda *args, i=i, rule=rule: called.append(i) or rule(*args) for i, rule in enumerate(row.rules)]
    monkeypatch.setattr(row, "rules", rules)
    out.sum().backward()
    assert called == [2, 1]
    assert x.grad is None


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [100, 100_000])
def test_gate_lets_pass_where_the_second_is_not_0_or_less_whatever_the_first_is(dtype, size):
    a, b = RNG.normal(size=size).astype(dtype), RNG.normal(size=size).astype(dtype)
    for array, special in ((a, (np.inf, -np.inf, np.nan, -0.0)), (b, (np.inf, -np.inf, np.nan, 0.0, -0.0))):
        array[: 10 * len(special)] = RNG.permutation(np.repeat(special, 10))
    out = gate(a, b)
    assert out.dtype == dtype
    expected = np.where(b <= 0, dtype(0), a)
    np.testing.assert_array_equal(out, expected)
    assert (np.signbit(out) == np.signbit(expected)).all()


def test_gate_takes_views_with_steps_of_any_size_and_sign():
    a, b = RNG.normal(size=(300, 200)), RNG.normal(size=(200, 300))
    np.testing.assert_array_equal(gate(a[::-1], b.T), np.where(b.T <= 0, 0, a[::-1]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weight_and_its_gradient_stand_in_memory_alike_compiled_too(dtype):
    """Both column by column, so that an update goes through both in order."""
    layer = Linear(5, 3, dtype=dtype)
    x = np.ones((4, 5), dtype)
    layer(x).sum().backward()
    eager = layer.weight.grad
    layer.zero_grad()
    compile(lambda x: layer(x).sum())(x).backward()
    for array in (layer.weight.data, eager, layer.weight.grad):
        assert array.flags.f_contiguous
        assert not array.flags.c_contiguous
    assert (layer.weight.grad == eager).all()


def test_weight_keeps_its_place_in_memory_when_it_is_assigned_loaded_or_copied():
    layer = Linear(5, 3)
    layer.weight.data = layer.weight.data.copy(order="C") * 2
    assert layer.weight.data.flags.f_contiguous
    layer.load_state_dict({name: array.copy(order="C") for name, array in layer.state_dict().items()})
    assert layer.weight.data.flags.f_contiguous
    assert deepcopy(layer).weight.data.flags.f_contiguous
    y = layer(np.ones((2, 5))).sum()  # what is kept for it is not written over
    layer.weight.data *= 2
    assert layer.weight.data.flags.f_contiguous
    y.backward()


def test_weight_that_is_a_vector_or_a_bias_that_is_a_number_is_composed():
    x, w, b = Tensor([1.0, 2.0]), Tensor([3.0, 4.0], requires_grad=True), Tensor(0.5, requires_grad=True)
    out = linear(x, w, b)
    assert out.item() == 11.5
    assert [g.tolist() for g in grad(out, [w, b])] == [[1.0, 2.0], 1.0]
