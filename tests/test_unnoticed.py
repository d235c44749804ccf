"""Faults that a mutation run (`make mutants`) planted and no test noticed: a test for the class of each."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, Value, backward, grad
from micrograd.engine.rows import Row
from micrograd.nn import Parameter
from micrograd.optim import clip_grad_norm

KINDS = [lambda: Value(2.0), lambda: Tensor([2.0, 3.0], requires_grad=True)]
over_kinds = pytest.mark.parametrize("leaf", KINDS, ids=["Value", "Tensor"])


@over_kinds
@pytest.mark.parametrize("use", [
    lambda x, y: grad(y, [x, 3.0]), lambda x, y: grad([y, 3.0], x), lambda x, y: backward([y, "y"]),
    lambda x, y: y.backward(inputs=[3.0]), lambda x, y: grad(None, x), lambda x, y: grad(y.grad_fn, x),
])  # fmt: skip
def test_object_that_is_no_node_is_refused_by_its_type(leaf: Callable, use: Callable):
    x = leaf()
    with pytest.raises(TypeError, match=r"must be a Value or a Tensor, found (float|str|NoneType|GradFn)"):
        use(x, (x * x).sum() if isinstance(x, Tensor) else x * x)


@pytest.mark.parametrize(("shape", "wanted"), [((0,), (-1, 0)), ((2, 3), (-1, 0)), ((2, 3), (-1, 4))])
def test_shape_that_cannot_be_is_refused_as_numpy_does(shape: tuple, wanted: tuple):
    for array in (np.zeros(shape), Tensor(np.zeros(shape))):
        with pytest.raises(ValueError, match="cannot reshape array of size"):
            array.reshape(wanted)


LEAVES: dict[str, Callable[[Tensor], Any]] = {
    "made": lambda x: x,
    "a parameter": Parameter,
    "zeros": lambda x: micrograd.zeros(2),
    "detached": lambda x: (x * 2).detach(),
    "computed of constants": lambda x: x.detach() * 2,
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "pickled": lambda x: pickle.loads(pickle.dumps(x)),
    "a view": lambda x: x.detach()[:1],
}


@pytest.mark.parametrize("make", LEAVES.values(), ids=LEAVES)
def test_graph_leads_to_the_very_tensor_that_was_used(make: Callable):
    leaf = make(Tensor([1.0, 2.0], requires_grad=True)).requires_grad_()
    assert (leaf * 2).grad_fn.next_functions[0][0].variable is leaf


@pytest.mark.filterwarnings("ignore:divide by zero")  # as NumPy's own log of a sum of nothing
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0,)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_softmax_of_nothing_has_a_gradient_of_its_shape(name: str, shape: tuple[int, ...]):
    x = Tensor(np.zeros(shape), requires_grad=True)
    y = getattr(x, name)(-1)
    y.sum().backward()
    assert y.shape == (shape[:-1] if name == "logsumexp" else shape)
    assert np.all(y.data == -np.inf)
    assert x.grad.shape == shape


@pytest.mark.parametrize(
    ("size", "max_norm", "factor"),
    [*((size, np.inf, 1.0) for size in (1e-200, 1e-3, 0.2)), *((1.0, norm, 1.0) for norm in (5.0, 6.0, 9.9, np.inf)),
     *((size, 2.5, 0.5) for size in (1.0, 7.0, 1e200))],
)  # fmt: skip
def test_norm_of_gradients_of_any_size_is_theirs_and_clipping_makes_none_greater(size, max_norm, factor):
    x = Tensor([0.0, 0.0], requires_grad=True)
    x.grad = np.array([3.0, 4.0]) * size
    assert clip_grad_norm([x], max_norm * size) == pytest.approx(5 * size, rel=1e-14)
    np.testing.assert_allclose(x.grad, np.array([3.0, 4.0]) * size * factor, rtol=1e-6)


@over_kinds
@pytest.mark.parametrize("wanted", [[True, True], [False, False], [True, False, True], [False, True, True]], ids=str)
def test_requires_grad_is_what_was_asked_for_last(leaf: Callable, wanted: list[bool]):
    x = leaf()
    for each in wanted:
        x.requires_grad = each
        assert x.requires_grad is each
    if isinstance(x, Tensor):
        assert x.requires_grad_(wanted[-1]).requires_grad is wanted[-1]


@over_kinds
def test_option_that_the_player_does_not_know_is_refused(leaf: Callable):
    with pytest.raises(TypeError, match="no_such_option"):
        (leaf() * 2).show(no_such_option=1)


@pytest.mark.parametrize(
    "fails", [lambda y, w: y.backward(), lambda y, w: grad(y, w), lambda y, w: y.backward(inputs=[w])]
)
def test_after_a_pass_that_failed_in_a_rule_the_next_one_is_right(fails: Callable):
    def rule(g: Any, out: Any, a: Any) -> Any:
        raise LookupError

    x, w = Value(3.0), Value(2.0)
    y = x * w
    with pytest.raises(LookupError):
        fails(Row("bad", lambda a: a, rule)(y) * w, w)  # w has its part before the rule runs
    assert grad(y * w, [x, w]) == (4.0, 12.0)
    (y * w).backward()
    assert (x.grad, w.grad) == (4.0, 12.0)


@pytest.mark.parametrize("index", [[], [[]], np.array([], int)], ids=repr)
def test_empty_index_takes_nothing_and_sends_zeros_back(index: Any):
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x[index]
    y.sum().backward()
    assert y.shape == np.array([1.0, 2.0])[index].shape
    assert x.grad.tolist() == [0.0, 0.0]
