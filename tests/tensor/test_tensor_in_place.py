"""Ops in place on Tensors, with PyTorch's rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from tensor_helpers import equal, parameter

from micrograd import Tensor, grad, no_grad

COLUMN, ROW = np.array([[0.0], [1.0]]), np.array([1.0, 0.0, 0.0])
IN_PLACE: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {  # in place, and out of place
    "+=": (Tensor.__iadd__, lambda y, v: y + v),
    "*=": (Tensor.__imul__, lambda y, v: y * v),
    "/=": (Tensor.__itruediv__, lambda y, v: y / v),
    "**=": (Tensor.__ipow__, lambda y, v: y**v),
    "copy_": (Tensor.copy_, lambda y, v: 0 * y + v),
    "fill_": (lambda y, v: y.fill_(3.0), lambda y, v: 0 * y + 3.0),
    "zero_": (lambda y, v: y.zero_(), lambda y, v: 0 * y),
    "[0] =": (lambda y, v: (y.__setitem__(0, v), y)[1], lambda y, v: y * COLUMN + v * (1 - COLUMN)),
    "[:, 1:] =": (lambda y, v: (y.__setitem__(np.s_[:, 1:], v[1:]), y)[1], lambda y, v: y * ROW + v * (1 - ROW)),
    "[mask] =": (lambda y, v: (y.__setitem__(y > 2, 2), y)[1], lambda y, v: y * (y <= 2) + 2 * (y > 2)),
    "[[1, 0]] =": (lambda y, v: (y.__setitem__([1, 0], v), y)[1], lambda y, v: 0 * y + v),
}
every_in_place = pytest.mark.parametrize(("change", "same"), IN_PLACE.values(), ids=IN_PLACE)


def start(v: Any) -> tuple[Tensor, Any, Tensor]:
    x = Tensor([[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]], requires_grad=True)
    return x, v, x + 0.25


@pytest.fixture(params=["a parameter", "a constant", "an array"])
def v(request: pytest.FixtureRequest) -> Any:
    array = np.array([2.0, 0.5, 1.5])
    return {"a parameter": Tensor(array, requires_grad=True), "a constant": Tensor(array)}.get(request.param, array)


@every_in_place
def test_op_in_place_gives_the_values_and_gradients_of_the_op(change: Callable, same: Callable, v: Any):
    def found(write: Callable) -> list[Any]:
        x, _, y = start(v)
        if isinstance(v, Tensor):
            v.grad = None
        out = write(y, v)
        assert write is same or out is y
        out.backward(np.arange(1.0, 7.0).reshape(2, 3))
        grads = [np.zeros(1) if g is None else g for g in (x.grad, getattr(v, "grad", None))]
        return [out.data.copy(), *grads]

    for a, b in zip(found(change), found(same), strict=True):
        np.testing.assert_allclose(*np.broadcast_arrays(a, b), rtol=1e-12)


@every_in_place
def test_leaf_that_requires_a_gradient_refuses_and_stays_as_it_is(change: Callable, same: Callable):
    x, *_ = start(None)
    before = x.data.copy()
    with pytest.raises(RuntimeError, match=r"leaf.*no_grad\(\)"):
        change(x, np.array([1.0, 2.0, 3.0]))
    equal(x, before)
    assert x.is_leaf


@every_in_place
def test_inside_no_grad_a_leaf_is_changed_without_history(change: Callable, same: Callable):
    x, *_ = start(None)
    with no_grad():
        expected = same(Tensor(x), np.array([1.0, 2.0, 3.0]))
        assert change(x, np.array([1.0, 2.0, 3.0])) is x
    equal(x, expected)
    assert x.is_leaf
    assert x.requires_grad


@every_in_place
@pytest.mark.parametrize("quiet", [True, False])
def test_every_write_makes_a_new_version_of_what_a_graph_needs(change: Callable, same: Callable, quiet: bool):
    y = Tensor(np.full((2, 3), 3.0))
    needed = (parameter([1, 2, 3], [4, 5, 6]) * y).sum()
    with no_grad() if quiet else nullcontext():
        change(y, np.array([1.0, 2.0, 3.0]))
    with pytest.raises(RuntimeError, match="version 1, version 0"):
        needed.backward()


@every_in_place
@pytest.mark.parametrize(("dtype", "other"), [(np.float32, np.float64), (np.float64, np.float32)])
def test_op_in_place_keeps_each_dtype_and_gives_gradients_in_it(
    change: Callable, same: Callable, dtype: type, other: type
):
    x = Tensor(np.arange(1, 7).reshape(2, 3), requires_grad=True, dtype=dtype)
    v = Tensor([2.0, 0.5, 1.5], requires_grad=True, dtype=other)
    y = change(x * 1, v)
    assert y.dtype == dtype
    y.sum().backward()
    assert x.grad is None or x.grad.dtype == dtype
    assert v.grad is None or v.grad.dtype == other


@pytest.mark.parametrize(("change", "second"), [(lambda y: y.__ipow__(3), [12, 18]), (lambda y: y.__imul__(y), [2, 2])])
def test_op_in_place_can_be_differentiated_twice(change: Callable, second: Any):
    x = parameter(2, 3)
    (slope,) = grad(change(x * 1).sum(), x, create_graph=True)
    equal(grad(slope.sum(), x)[0], second)


def test_retain_grad_follows_the_tensor_and_a_hook_stays_with_the_history_that_it_was_set_on():
    x, seen = parameter(1, 2), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.copy()))
    y *= 3
    (y * 5).sum().backward()
    equal(y.grad, [5, 5])
    equal(seen, [[15, 15]])
    equal(x.grad, [30, 30])


@pytest.mark.parametrize("change", [
    lambda t, w: t.__setitem__(slice(0, 2), w), Tensor.copy_, Tensor.__imul__, lambda t, w: t.__itruediv__(2),
    lambda t, w: t.__ipow__(0.5),
], ids=["setitem", "copy_", "*=", "/=", "**="])  # fmt: skip
def test_integers_stay_integers_and_never_require_a_gradient_in_place_either(change: Callable):
    t, w = Tensor([1, 2]), parameter(1.5, 2.5)
    with pytest.raises((TypeError, RuntimeError), match=r"int64|float64"):
        change(t, w)
    equal(t, [1, 2])
    assert not t.requires_grad


def test_array_may_overlap_with_what_it_is_written_to():
    t = Tensor(np.arange(5.0))
    t[1:] = t[:-1]
    equal(t, [0, 0, 1, 2, 3])


@pytest.mark.parametrize(
    ("change", "error", "note"),
    [
        (lambda x: x.__iadd__(np.ones((2, 2))), ValueError, r"x \+= \.\.\. of shapes \(2,\) and \(2, 2\)"),
        (lambda x: x.__setitem__(5, 1.0), IndexError, r"x\[i\] = \.\.\. of shapes \(2,\) and \(\)"),
    ],
)
def test_write_that_does_not_fit_is_told_with_its_shapes(change: Callable, error: Any, note: str):
    with pytest.raises(error) as raised:
        change(Tensor([1.0, 2.0]))
    assert re.search(note, raised.value.__notes__[0])


def test_write_that_raises_writes_nothing():
    """Unlike with NumPy's arrays, where a warning that is an error comes after the write."""
    x, y = parameter(2.0, 3.0), Tensor([1e200, 3.0])
    z = x * y
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        y *= 1e200
    assert y.tolist() == [1e200, 3.0]
    z.sum().backward()
    equal(x.grad, [1e200, 3.0])


@pytest.mark.parametrize("write", [Tensor.__iadd__, Tensor.__ipow__, Tensor.copy_, lambda t, o: t.__setitem__(..., o)])
@pytest.mark.parametrize("recorded", [True, False])
def test_write_that_would_change_the_shape_changes_nothing(write: Callable, recorded: bool):
    x = parameter(1, 2, 3)
    y = x * 1 if recorded else x.detach()
    view, node, version = y[0:2], y._node, y._node.storage.version
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\s*3\)|\(2,\s*3\).*\(3,\)"):
        write(y, np.ones((2, 3)))
    assert (y._node is node, node.storage.version) == (True, version)
    equal(y, [1, 2, 3])
    equal(view, [1, 2])
