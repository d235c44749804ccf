"""What a Tensor is: how it is made, what it says of itself, and its plain answers."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_helpers import parameter

from micrograd import Tensor, Value

FLOATS = [np.float16, np.float32, np.float64]
INTEGERS = [np.int8, np.uint8, np.int32, np.int64, np.uint64]


# ---------------------------------------------------------------------------------------------------------------------
# How it is made


DATA = [2.5, 2, True, [1.0, 2.0], [1, 2.0], [[1, 2], [3, 4]], ((1.0,), (2.0,)), [], range(3), np.float32(1)]


@pytest.mark.parametrize("data", [*DATA, [Tensor(1)], np.arange(6.0).reshape(2, 3)], ids=repr)
def test_data_may_be_a_number_nested_lists_or_an_array_as_numpy_takes_them(data: Any):
    t, array = Tensor(data), np.array(data)
    assert (t.shape, t.dtype) == (array.shape, array.dtype)
    np.testing.assert_array_equal(t.data, array)


@pytest.mark.parametrize("dtype", [np.float32, "float32", "f4", np.dtype("float32")], ids=repr)
def test_dtype_that_is_asked_for_is_given(dtype: Any):
    assert Tensor([1, 2], dtype=dtype).dtype == np.float32


def test_tensor_made_from_a_tensor_has_memory_of_its_own_and_no_history():
    x = parameter(1, 2)
    t = Tensor(x * 2)
    t.data[0] = 9
    assert (x.tolist(), t.is_leaf, t.requires_grad) == ([1, 2], True, False)


def test_data_is_always_a_plain_array():
    x, masked = Tensor(2.0, requires_grad=True), Tensor(np.ma.masked_array([1.0, 2.0]))
    for t in (x, x * x, x.exp(), x.sum(), Tensor([1.0, 2.0])[0], masked, masked * 2):
        assert type(t.data) is np.ndarray


NO_NUMBERS = ["3", b"3", None, 1j, [1, None], ["a"], object(), {}, Value(1.0), [Value(1.0)], np.array(0, "m8[s]")]


@pytest.mark.parametrize("data", NO_NUMBERS, ids=lambda d: type(d).__name__)
def test_elements_that_are_no_real_numbers_are_refused_with_their_dtype(data: Any):
    with pytest.raises(TypeError, match="a Tensor holds real numbers, found dtype"):
        Tensor(data)


REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    *[(lambda data=data: Tensor(data, dtype=float), (TypeError, ValueError), ".")
      for data in ("3", None, [1, None], ["3"], np.array([1j]))],
    (lambda: Tensor([parameter(1.0), parameter(2.0)]), RuntimeError, "gradient"),  # which would be lost
    (lambda: Tensor(1.0, True), TypeError, "requires_grad are keywords"),
    (lambda: Tensor(1.0, np.float32), TypeError, "requires_grad are keywords"),
    (lambda: Tensor([1.0]) < "one", TypeError, "str"),
    (lambda: Tensor([1, 2]) == Tensor([1, 2, 3]), ValueError, r"\(2,\).*\(3,\)"),
]  # fmt: skip


@pytest.mark.parametrize(("use", "error", "message"), REFUSED)
def test_tensor_refuses_what_makes_or_compares_with_none(use: Callable, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        use()


@pytest.mark.parametrize("dtype", [*INTEGERS, np.bool_])
@pytest.mark.parametrize("ask", [
    lambda a: Tensor(a, requires_grad=True), lambda a: Tensor(a).requires_grad_(),
    lambda a: setattr(Tensor(a), "requires_grad", True),
], ids=["constructor", "method", "attribute"])  # fmt: skip
def test_integers_and_booleans_never_require_one(dtype: Any, ask: Callable):
    with pytest.raises(RuntimeError, match=f"floating-point.*{np.dtype(dtype)}"):
        ask(np.ones(2, dtype))


# ---------------------------------------------------------------------------------------------------------------------
# What it says of itself


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4)])
def test_shape_ndim_and_size_are_numpys(shape: Any):
    array, t = np.zeros(shape), Tensor(np.zeros(shape))
    assert (t.shape, t.ndim, t.size) == (array.shape, array.ndim, array.size)


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (lambda: Tensor(5.0), "Tensor(5.)"),
        (lambda: Tensor([5.0]), "Tensor([5.])"),
        (lambda: Tensor([1, 2]), "Tensor([1, 2])"),
        (lambda: Tensor([True]), "Tensor([ True])"),
        (lambda: Tensor([5.0], requires_grad=True), "Tensor([5.], requires_grad=True)"),
        (lambda: Tensor([5.0], dtype="float32", requires_grad=True), "Tensor([5.], dtype=float32, requires_grad=True)"),
        (lambda: Tensor([2.0], requires_grad=True) + Tensor([3.0]), "Tensor([5.], grad_fn=<AddBackward0>)"),
        (lambda: parameter(1, 2).log_softmax().sum(), "Tensor(-1.62652338, grad_fn=<SumBackward0>)"),
        (lambda: Tensor([[1.0, 2.0], [3.0, 4.0]]), "Tensor([[1., 2.],\n        [3., 4.]])"),
    ],
)
def test_repr_shows_data_dtype_and_history(tensor: Callable[[], Tensor], text: str):
    assert repr(tensor()) == text


def test_repr_of_a_large_tensor_is_short():
    assert len(repr(Tensor(np.zeros(100_000)))) < 100


@pytest.mark.parametrize("name", ["shape", "ndim", "size", "dtype", "is_leaf", "grad_fn", "T"])
def test_attributes_that_follow_from_the_data_cannot_be_assigned(name: str):
    with pytest.raises(AttributeError):
        setattr(Tensor([1.0]), name, None)


def test_whatever_a_value_can_do_a_tensor_can():
    assert {n for n in dir(Value) if not n.startswith("_")} - set(dir(Tensor)) == set()


# ---------------------------------------------------------------------------------------------------------------------
# Plain answers


@pytest.mark.parametrize(("data", "number"), [(2.5, 2.5), ([3], 3), ([[True]], True)])
def test_item_is_a_python_number(data: Any, number: Any):
    found = Tensor(data).item()
    assert (found, type(found)) == (number, type(number))


def test_tensor_of_one_element_converts_to_a_number_and_others_do_not():
    x = Tensor(2.75)
    assert (float(x), int(x), math.floor(x), f"{x:.1f}", bool(x)) == (2.75, 2, 2, "2.8", True)
    for ask in (Tensor.item, float, int, lambda t: f"{t:.2f}"):
        with pytest.raises((TypeError, ValueError), match=r"only one number is a Python number|size 1|scalar|length-1"):
            ask(Tensor([1.0, 2.0]))


@pytest.mark.parametrize("data", [[1.0, 2.0], []])
def test_truth_of_several_elements_or_of_none_is_ambiguous(data: list):
    with pytest.raises((ValueError, DeprecationWarning), match=r"ambiguous|empty"):
        bool(Tensor(data))


def test_length_is_that_of_the_first_axis_which_a_number_has_not():
    assert [len(Tensor(np.zeros(shape))) for shape in ((3,), (2, 3), (0, 3))] == [3, 2, 0]
    for ask in (len, list):
        with pytest.raises(TypeError, match=r"unsized|0-d"):
            ask(Tensor(1.0))


def test_iteration_gives_the_rows_as_tensors():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    first, second = x
    (first * second).sum().backward()
    np.testing.assert_array_equal(x.grad, [[3, 4], [1, 2]])


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_argmax_and_argmin_are_plain_integers(axis: Any):
    a = np.array([[1.0, 5, 2], [7, 0, 3]])
    for name, keepdims in itertools.product(("argmax", "argmin"), (False, True)):
        found = getattr(Tensor(a, requires_grad=True), name)(axis, keepdims)
        np.testing.assert_array_equal(found, getattr(a, name)(axis, keepdims=keepdims), strict=True)
        assert not isinstance(found, Tensor)
        assert found.dtype == np.int64


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
@pytest.mark.parametrize(
    "other", [2, 2.0, np.float32(2), np.array([2.0, 2, 2]), np.array([[1.0], [3.0]])], ids=lambda o: type(o).__name__
)
def test_comparisons_are_elementwise_and_plain_in_either_order(compare: Callable, other: Any):
    a = np.array([1.0, 2.0, 3.0])
    for x in (parameter(*a), Tensor(a)):
        for found in (compare(x, other), compare(x, Tensor(other))):
            np.testing.assert_array_equal(found, compare(a, other), strict=True)
        np.testing.assert_array_equal(compare(other, x), compare(other, a), strict=True)


def test_tensor_equals_nothing_of_another_kind_and_a_number_can_be_looked_for():
    t = Tensor([1.0])
    assert (t == None, t != None, t == "one") == (False, True, False)  # noqa: E711
    assert 1 in t
    assert 3 not in t


def test_list_times_an_integer_tensor_is_a_product_and_not_repeated():
    for given in ([1, 2], (1, 2)):
        np.testing.assert_array_equal((given * Tensor(3)).data, [3, 6])
        np.testing.assert_array_equal((Tensor(3) * given).data, [3, 6])
    for wrong in (lambda: "ab" * Tensor(3), lambda: Tensor(3) * "ab"):
        with pytest.raises(TypeError):
            wrong()
