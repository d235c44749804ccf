"""What a backward pass needs and what was written to since: it is right, or it raises."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from tensor_helpers import equal, parameter

import micrograd.tensor.handle
from micrograd import Tensor
from micrograd.engine.rows import Row

# ---------------------------------------------------------------------------------------------------------------------
# Versions: a value that backward needs, and that was changed


@pytest.mark.parametrize(("op", "name"), [(lambda a: (a, a * a), r"\*"), (lambda a: (y := a.exp(), y * 1), "exp")])
def test_changed_operand_or_result_raises_and_the_error_names_the_op_and_both_versions(op: Callable, name: str):
    x = parameter(1, 2)
    changed, y = op(x * 1)
    changed += 1
    changed += 1
    with pytest.raises(RuntimeError, match=rf"'{name}'.*version 2.*version 0"):
        y.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("view", [
    lambda a: a[0], lambda a: a.T, lambda a: a.reshape(-1), lambda a: a.detach(), lambda a: a.T[1:].T,
])  # fmt: skip
def test_views_and_their_base_share_a_version(view: Callable):
    base = Tensor(np.ones((2, 2)))
    x = Tensor(np.ones((2, 2)), requires_grad=True)
    for needed, written in ((base, view(base)), (view(base), base), (view(base), view(base))):
        y = (x.reshape(-1)[: needed.size].reshape(needed.shape) * needed).sum()
        written += 1
        with pytest.raises(RuntimeError, match="version"):
            y.backward()


@pytest.mark.parametrize("copied", [lambda a: a * 1, lambda a: a[[0, 1]], lambda a: a.astype(float), Tensor])
def test_copy_has_a_version_of_its_own(copied: Callable):
    base = Tensor(np.ones((2, 2)))
    x = Tensor(np.ones((2, 2)), requires_grad=True)
    y = (x * base).sum()
    written = copied(base)
    written += 1
    y.backward()
    equal(x.grad, np.ones((2, 2)))


# ---------------------------------------------------------------------------------------------------------------------
# Writes through data, detach() and numpy(): the graph keeps its own, or raises (each op: test_tensor_ops.py)


THROUGH_DATA: dict[str, Callable[[Tensor], Any]] = {  # of [1, 2] each makes [-3, 2]
    "-=": lambda x: setattr(x, "data", operator.isub(x.data, [4.0, 0.0])),
    "[0] =": lambda x: x.data.__setitem__(0, -3.0),
    "out=": lambda x: np.subtract(x.data, [4.0, 0.0], out=x.data),
    "numpy()": lambda x: x.detach().numpy().__setitem__(0, -3.0),
}
every_write = pytest.mark.parametrize("write", THROUGH_DATA.values(), ids=THROUGH_DATA)


@every_write
@pytest.mark.parametrize("requires_grad", [False, True])
def test_write_through_data_reaches_what_shares_memory_while_a_graph_is_alive(write: Callable, requires_grad: bool):
    x = Tensor([1.0, 2.0], requires_grad=requires_grad)
    shared, turned = x.detach(), x[::-1].detach()
    y = (parameter(1, 2) * x * x).sum()
    write(x)
    equal(x, [-3, 2])
    equal(shared, [-3, 2])
    equal(turned, [2, -3])
    with pytest.raises(RuntimeError, match=r"'\*' needs.*changed in place"):
        y.backward()


@every_write
def test_write_through_data_is_right_for_the_graphs_that_come_after_it(write: Callable):
    x = parameter(1, 2)
    shared = x.detach()
    before = (x * x).sum()
    write(x)
    after = (x * x).sum()
    assert x.data.shape == shared.data.shape
    after.backward()
    equal(x.grad, [-6, 4])
    with pytest.raises(RuntimeError, match="changed in place"):
        before.backward()


def test_looking_again_and_again_at_what_is_shared_changes_no_gradient_and_parts_nothing():
    x = parameter(1, np.nan)
    shared = x.detach()
    first = (x * x).sum()
    _ = x.data, shared.data
    second = (x * x).sum()
    _ = shared.numpy(), x.data
    for y in (first, second):
        x.grad = None
        y.backward()
        equal(x.grad, [2, np.nan])
    shared[0] = 5
    equal(x, [5, np.nan])


# ---------------------------------------------------------------------------------------------------------------------
# Copies: made where they are needed, and nowhere else


def multiplied_in_place(x: Tensor) -> Tensor:
    y = x * 1
    y *= x
    y[:1] *= x[:1]
    return y


@pytest.mark.parametrize("graph", [lambda x: x * x, multiplied_in_place, lambda x: (x[:1] * x).detach() * x])
@pytest.mark.parametrize("end", ["forgotten", "let go"])
def test_data_is_the_array_that_it_was_once_no_graph_keeps_it(graph: Callable, end: str):
    x = parameter(1, 2)
    array = x.data
    for _ in range(2):
        y = graph(x)
        made = y._node._data
        total = y.sum()
        if end == "let go":
            total.backward()
        del total
        if end == "let go" or graph is multiplied_in_place:  # which keeps copies of what it wrote over
            assert y.data is made
        del y
    assert x.data is array


def test_arrays_given_to_a_tensor_are_copied():
    array, index = np.array([1.0, 2.0, 3.0]), np.array([0, 2])
    made, assigned, copied = Tensor(array), Tensor([0.0, 0.0, 0.0]), Tensor([0.0, 0.0, 0.0])
    assigned.data = array
    copied.copy_(array)
    x = parameter(1, 2, 3)
    chosen, other, product = x[index], Tensor(made), (x * array).sum()
    array[:] = index[:] = 1
    other += 1
    for t in (made, assigned, copied):
        equal(t, [1, 2, 3])
    chosen.sum().backward()
    equal(x.grad, [1, 0, 1])
    product.backward()
    equal(x.grad, [2, 2, 4])


# ---------------------------------------------------------------------------------------------------------------------
# Rows of the user's own: what a rule does not name, it may use


class Rule:
    def __call__(self, g: Any, *values: Any) -> Any:
        return g * values[1]


@pytest.mark.parametrize("operands", [1, 2])
@pytest.mark.parametrize("rule", [
    lambda *args: args[0] * args[2], lambda g, *values: g * values[1], lambda g, _a, *rest: g * rest[0],
    lambda g, _a, b, scale=1.0: g * b * scale, Rule(), partial(lambda scale, g, _a, b: g * b * scale, 1.0),
], ids=["*args", "g, *values", "*rest", "default", "callable", "partial"])  # fmt: skip
def test_rule_has_what_it_uses_saved_however_it_is_written(rule: Callable, operands: int):
    x, y = parameter(3, 4), parameter(3, 4)
    if operands == 1:  # to a**2 / 2 the slope is a
        out = Row("mine", lambda a: a * a / 2, rule)(x)
    else:
        out = Row("mine", lambda a, b: a * b, rule, lambda g, a, _b: g * a)(x, y)
    x.data[:] = y.data[:] = 100
    out.sum().backward()
    equal(x.grad, [3, 4])


def test_data_that_another_thread_has_moved_while_this_one_waited_for_it_is_not_copied(monkeypatch: pytest.MonkeyPatch):
    """As a compiled step does, which holds the lock while it takes the arrays of its parameters."""
    w = parameter(3)
    node, loss = w._node, (w * w).sum()
    array = node._data

    class Waited:
        """A lock that was another thread's until now."""

        def acquire(self) -> bool:
            node._store = None
            return True

        def release(self) -> None:
            pass

    monkeypatch.setattr(micrograd.tensor.handle, "lock", Waited())
    assert w.data is array
    assert node.data is array
    loss.backward()
