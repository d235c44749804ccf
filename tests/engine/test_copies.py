"""Copies of Values and of Tensors, by `copy` and by `pickle`: of leaves with all that they carry, and of no history."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
from engine_helpers import over_kinds

from micrograd import Value

COPIES: dict[str, Callable] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {p}": lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)},
}
every_copy = pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)


class Slotted(Value):
    """A subclass with a slot of its own."""

    __slots__ = ("note",)


@over_kinds
@every_copy
@pytest.mark.parametrize("requires_grad", [True, False])
def test_copy_of_a_leaf_has_all_that_it_carries(kind: Callable, duplicate: Callable, requires_grad: bool):
    x = kind(2.0)
    x.grad, x.label, x.note = 5.0, "x", "mine"
    x.requires_grad = requires_grad
    y = duplicate(x)
    assert y is not x
    assert (y.data, y.grad, y.label, y.note, y.requires_grad) == (2.0, 5.0, "x", "mine", requires_grad)


@over_kinds
@every_copy
def test_copy_is_a_separate_leaf_without_hooks(kind: Callable, duplicate: Callable):
    x = kind(2.0)
    x.register_hook(lambda g: g * 10)  # which pickle would refuse
    (x * 1).backward()
    y = duplicate(x)
    y.register_hook(lambda g: g + 1)
    y.data += 97.0
    (y * 3).backward()
    assert (x.data, x.grad, y.data, y.grad) == (2.0, 10.0, 99.0, 14.0)


@pytest.mark.parametrize("duplicate", [*COPIES.values(), lambda x: pickle.loads(pickle.dumps(x, 0))])
def test_copy_is_of_the_class_and_has_its_slots(duplicate: Callable):
    x = Slotted(2.0)
    x.note = ["mine"]
    y = duplicate(x)
    assert (type(y), y.data, y.note) == (Slotted, 2.0, ["mine"])
    assert (y.note is x.note) is (duplicate is copy.copy)


@over_kinds
@every_copy
def test_copy_of_an_inner_node_is_refused_and_detach_is_named(kind: Callable, duplicate: Callable):
    y = kind(2.0) * 3
    with pytest.raises(RuntimeError, match=r"'\*'.*detach\(\)"):
        duplicate(y)
    assert copy.deepcopy(y.detach()).data == 6.0
