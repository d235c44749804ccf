"""What a Tensor is: how it is made, what it says of itself, and how it keeps NumPy's manners."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, Value

FLOATS = [np.float16, np.float32, np.float64]
INTEGERS = [np.int8, np.uint8, np.int32, np.int64, np.uint64]


def parameter(*data: Any) -> Tensor:
    return Tensor(np.array(data, dtype=float), requires_grad=True)


# ---------------------------------------------------------------------------------------------------------------------
# How it is made


@pytest.mark.parametrize(
    ("data", "shape", "dtype"),
    [
        (2.5, (), np.float64),
        (2, (), np.int64),
        (True, (), np.bool_),
        ([1.0, 2.0], (2,), np.float64),
        ([1, 2.0], (2,), np.float64),
        ([[1, 2], [3, 4]], (2, 2), np.int64),
        (((1.0,), (2.0,)), (2, 1), np.float64),
        ([], (0,), np.float64),
        ([[], []], (2, 0), np.float64),
        (range(3), (3,), np.int64),
        (np.float32(1), (), np.float32),
        (np.arange(6.0).reshape(2, 3), (2, 3), np.float64),
    ],
    ids=repr,
)
def test_data_may_be_a_number_nested_lists_or_an_array(data: Any, shape: Any, dtype: Any):
    t = Tensor(data)
    assert (t.shape, t.dtype) == (shape, dtype)
    np.testing.assert_array_equal(t.data, np.array(data))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, np.bool_])
def test_the_dtype_of_an_array_is_kept(dtype: Any):
    assert Tensor(np.ones(2, dtype)).dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, "float32", "f4", np.dtype("float32")], ids=repr)
def test_a_dtype_that_is_asked_for_is_given(dtype: Any):
    assert Tensor([1, 2], dtype=dtype).dtype == np.float32


def test_the_array_is_copied():
    array = np.array([1.0, 2.0])
    t = Tensor(array)
    array[0] = 9.0
    assert t.tolist() == [1.0, 2.0]


def test_a_tensor_made_from_a_tensor_has_memory_of_its_own_and_no_history():
    x = parameter(1, 2)
    t = Tensor(x * 2)
    t.data[0] = 9
    assert x.tolist() == [1, 2]
    assert t.is_leaf
    assert not t.requires_grad


def test_a_list_may_hold_tensors_that_require_no_gradient():
    assert Tensor([Tensor(1.0), Tensor(2.0)]).tolist() == [1.0, 2.0]


def test_a_list_of_tensors_that_require_a_gradient_raises_instead_of_losing_it():
    with pytest.raises(RuntimeError, match="gradient"):
        Tensor([parameter(1.0), parameter(2.0)])


def test_the_data_is_always_an_array():
    x = Tensor(2.0, requires_grad=True)
    for t in (x, x * x, x + 1, x.exp(), -x, x**2, x.sum(), Tensor([1.0, 2.0])[0], Tensor([1.0]) @ Tensor([1.0])):
        assert type(t.data) is np.ndarray


def test_subclasses_of_ndarray_become_plain_arrays():
    t = Tensor(np.ma.masked_array([1.0, 2.0]))
    assert type(t.data) is np.ndarray
    assert type((t * 2).data) is np.ndarray


@pytest.mark.parametrize(
    "data",
    ["3", b"3", None, 1j, [1, None], ["a"], np.array([1j]), object(), {}, Value(1.0), [Value(1.0)], np.array(0, "m8")],
    ids=lambda d: type(d).__name__,
)  # fmt: skip
def test_what_is_no_real_number_is_refused_with_its_dtype(data: Any):
    with pytest.raises(TypeError, match="a Tensor holds real numbers, found dtype"):
        Tensor(data)


@pytest.mark.parametrize("data", ["3", None, [1, None], ["3"], np.array([1j])], ids=repr)
def test_asking_for_a_float_dtype_does_not_make_numbers_of_what_is_none(data: Any):
    with pytest.raises((TypeError, ValueError)):
        Tensor(data, dtype=float)


def test_a_ragged_list_is_refused():
    with pytest.raises(ValueError, match="inhomogeneous"):
        Tensor([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize("arguments", [(1.0, True), (1.0, np.float32)])
def test_settings_are_named(arguments: Any):
    with pytest.raises(TypeError, match="positional"):
        Tensor(*arguments)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_may_require_a_gradient(dtype: Any):
    assert Tensor(np.ones(2, dtype), requires_grad=True).requires_grad


@pytest.mark.parametrize("dtype", [*INTEGERS, np.bool_])
@pytest.mark.parametrize("ask", [
    lambda a: Tensor(a, requires_grad=True), lambda a: Tensor(a).requires_grad_(),
    lambda a: setattr(Tensor(a), "requires_grad", True),
], ids=["constructor", "method", "attribute"])  # fmt: skip
def test_integers_and_booleans_never_require_one(dtype: Any, ask: Callable):
    with pytest.raises(RuntimeError, match=f"floating-point.*{np.dtype(dtype)}"):
        ask(np.ones(2, dtype))


def test_a_tensor_requires_no_gradient_unless_asked():
    assert not Tensor([1.0]).requires_grad


def test_a_fresh_gradient_is_none():
    assert parameter(1.0).grad is None


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
        (lambda: Tensor([]), "Tensor([])"),
        (lambda: Tensor([5.0], dtype="float32"), "Tensor([5.], dtype=float32)"),
        (lambda: Tensor([5.0], requires_grad=True), "Tensor([5.], requires_grad=True)"),
        (lambda: Tensor([5.0], dtype="float32", requires_grad=True), "Tensor([5.], dtype=float32, requires_grad=True)"),
        (lambda: Tensor([2.0], requires_grad=True) + Tensor([3.0]), "Tensor([5.], grad_fn=<AddBackward0>)"),
        (lambda: parameter(1, 2) @ parameter(3, 4), "Tensor(11., grad_fn=<ReshapeBackward0>)"),
        (lambda: parameter(1, 2).log_softmax().sum(), "Tensor(-1.62652338, grad_fn=<SumBackward0>)"),
        (lambda: Tensor([[1.0, 2.0], [3.0, 4.0]]), "Tensor([[1., 2.],\n        [3., 4.]])"),
    ],
)
def test_the_repr_shows_data_dtype_and_history(tensor: Callable[[], Tensor], text: str):
    assert repr(tensor()) == text


def test_the_repr_of_a_large_tensor_is_short():
    assert len(repr(Tensor(np.zeros(100_000)))) < 100


def test_a_label_is_kept():
    assert Tensor(1.0, label="w").label == "w"
    assert Tensor(1.0).label == ""


def test_any_attribute_may_be_set():
    t = Tensor(1.0)
    t.colour = "red"  # type: ignore[attr-defined]
    assert t.colour == "red"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["shape", "ndim", "size", "dtype", "is_leaf", "grad_fn", "T"])
def test_what_follows_from_the_data_cannot_be_assigned(name: str):
    with pytest.raises(AttributeError):
        setattr(Tensor([1.0]), name, None)


def test_every_public_method_has_a_docstring():
    bare = [n for n in dir(Tensor) if not n.startswith("_") and not (getattr(Tensor, n).__doc__ or "").strip()]
    assert bare == []


def test_whatever_a_value_can_do_a_tensor_can():
    assert {n for n in dir(Value) if not n.startswith("_")} - set(dir(Tensor)) == set()


def test_the_top_level_knows_it():
    assert micrograd.Tensor is Tensor
    assert "Tensor" in micrograd.__all__


# ---------------------------------------------------------------------------------------------------------------------
# Plain answers


@pytest.mark.parametrize(("data", "number"), [(2.5, 2.5), ([3], 3), ([[True]], True)])
def test_item_is_a_python_number(data: Any, number: Any):
    found = Tensor(data).item()
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize("ask", [Tensor.item, float, int, lambda t: f"{t:.2f}"], ids=["item", "float", "int", "format"])
def test_only_a_tensor_of_one_element_is_a_number(ask: Callable):
    with pytest.raises((TypeError, ValueError), match=r"size 1|scalar|length-1"):
        ask(Tensor([1.0, 2.0]))


def test_a_tensor_of_one_element_converts_to_a_number():
    x = parameter(2.75)
    assert (float(x), int(x), math.floor(x), f"{x:.1f}", bool(x)) == (2.75, 2, 2, "2.8", True)


@pytest.mark.parametrize("data", [[1.0, 2.0], []])
def test_the_truth_of_several_elements_or_of_none_is_ambiguous(data: list):
    with pytest.raises((ValueError, DeprecationWarning), match=r"ambiguous|empty"):
        bool(Tensor(data))


def test_tolist_nests_python_numbers():
    assert Tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert type(Tensor([1.0]).tolist()[0]) is float


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0, 3)])
def test_the_length_is_that_of_the_first_axis(shape: Any):
    assert len(Tensor(np.zeros(shape))) == shape[0]


@pytest.mark.parametrize("ask", [len, iter, list], ids=["len", "iter", "list"])
def test_a_number_has_no_length_and_cannot_be_iterated(ask: Callable):
    with pytest.raises(TypeError, match=r"unsized|0-d"):
        ask(Tensor(1.0))


def test_iteration_gives_the_rows_as_tensors():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    first, second = x
    (first * second).sum().backward()
    np.testing.assert_array_equal(x.grad, [[3, 4], [1, 2]])


def test_the_builtin_sum_works():
    x = parameter(1, 2, 3)
    sum(x).backward()
    np.testing.assert_array_equal(x.grad, [1, 1, 1])


def test_a_number_can_be_looked_for():
    assert 2 in Tensor([1, 2])
    assert 3 not in Tensor([1, 2])


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_argmax_and_argmin_are_plain_integers(axis: Any):
    a = np.array([[1.0, 5, 2], [7, 0, 3]])
    for name in ("argmax", "argmin"):
        found = getattr(Tensor(a, requires_grad=True), name)(axis)
        np.testing.assert_array_equal(found, getattr(a, name)(axis))
        assert not isinstance(found, Tensor)
        assert found.dtype == np.int64


@pytest.mark.parametrize("compare", ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"])
@pytest.mark.parametrize(
    "other", [2, 2.0, np.float32(2), np.array([2.0, 2, 2]), np.array([[1.0], [3.0]])], ids=lambda o: type(o).__name__
)
def test_comparisons_are_elementwise_and_plain(compare: str, other: Any):
    a = np.array([1.0, 2.0, 3.0])
    for found in (getattr(parameter(*a), compare)(other), getattr(Tensor(a), compare)(Tensor(other))):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, getattr(a, compare)(other))


def test_a_comparison_may_have_the_number_on_the_left():
    np.testing.assert_array_equal(2 > Tensor([1, 2, 3]), [True, False, False])  # noqa: SIM300
    np.testing.assert_array_equal(np.array([2, 2, 2]) > Tensor([1, 2, 3]), [True, False, False])


def test_a_tensor_equals_nothing_of_another_kind():
    t = Tensor([1.0])
    assert (t == None, t != None, t == "one") == (False, True, False)  # noqa: E711


def test_an_order_with_another_kind_raises():
    with pytest.raises(TypeError, match="str"):
        assert Tensor([1.0]) < "one"


def test_shapes_that_do_not_fit_cannot_be_compared():
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        assert Tensor([1, 2]) == Tensor([1, 2, 3])


def test_a_comparison_is_a_mask():
    x = parameter(-1, 2, 3)
    x[x > 0].sum().backward()
    np.testing.assert_array_equal(x.grad, [0, 1, 1])


def test_hash_is_identity():
    a, b = Tensor([1.0]), Tensor([1.0])
    assert len({a, b, a}) == 2
    assert {a: "a", b: "b"}[a] == "a"


def test_a_list_or_text_times_an_integer_tensor_is_refused_and_not_repeated():
    for wrong in ([1, 2], (1, 2), "ab"):
        with pytest.raises(TypeError):
            wrong * Tensor(3)
        with pytest.raises(TypeError):
            Tensor(3) * wrong


# ---------------------------------------------------------------------------------------------------------------------
# NumPy's manners


OPERATORS: list[Callable] = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a**b,
]  # fmt: skip


@pytest.mark.parametrize("operate", OPERATORS, ids=["+", "-", "*", "/", "**"])
@pytest.mark.parametrize(
    "other", [np.array([2.0, 3.0]), np.array(2.0), np.float64(2), np.float32(2), np.int64(2)], ids=repr
)
def test_arrays_and_numpys_numbers_mix_with_tensors_on_either_side(operate: Callable, other: Any):
    x = parameter(1, 2)
    left, right = operate(other, x), operate(x, other)
    assert isinstance(left, Tensor)
    assert isinstance(right, Tensor)
    np.testing.assert_allclose(left.data, operate(other, x.data))
    np.testing.assert_allclose(right.data, operate(x.data, other))


def test_an_array_times_a_tensor_carries_the_gradient():
    x = parameter(1, 2)
    (np.array([3.0, 4.0]) * x).sum().backward()
    np.testing.assert_array_equal(x.grad, [3, 4])


def test_an_array_matmul_a_tensor_carries_the_gradient():
    x = parameter(1, 2)
    (np.array([[3.0, 4.0], [5.0, 6.0]]) @ x).sum().backward()
    np.testing.assert_array_equal(x.grad, [8, 10])


def test_an_array_cannot_take_a_tensor_in_place():
    a = np.ones(2)
    with pytest.raises(TypeError, match="Tensor"):
        a += parameter(1, 2)


@pytest.mark.parametrize("f", [np.asarray, np.array, Tensor.numpy, np.stack, lambda x: np.concatenate([x, x])])
def test_what_requires_a_gradient_is_no_array_and_the_error_says_detach(f: Callable):
    with pytest.raises((RuntimeError, TypeError), match=r"detach\(\)"):
        f(parameter(1, 2))


def test_a_constant_is_an_array_for_numpy():
    t = Tensor([1.0, 2.0])
    assert np.asarray(t).tolist() == np.array(t).tolist() == t.numpy().tolist() == [1.0, 2.0]
    assert np.asarray(t, dtype=np.float32).dtype == np.float32
    assert np.concatenate([t, t]).tolist() == [1.0, 2.0, 1.0, 2.0]


def test_asarray_shares_the_memory_and_array_does_not():
    t = Tensor([1.0, 2.0])
    assert np.shares_memory(np.asarray(t), t.data)
    assert not np.shares_memory(np.array(t), t.data)


def test_a_copy_that_cannot_be_avoided_raises_where_none_is_wanted():
    with pytest.raises(ValueError, match="copy"):
        np.array(Tensor([1.0]), dtype=np.float32, copy=False)


@pytest.mark.parametrize("f", [np.exp, np.add.reduce, np.cov, np.histogram, np.linalg.norm], ids=lambda f: f.__name__)
def test_a_function_of_numpys_that_records_no_graph_raises_instead_of_dropping_the_gradient(f: Callable):
    with pytest.raises((TypeError, RuntimeError), match="Tensor"):
        f(parameter(1, 2))


@pytest.mark.parametrize("f", [np.allclose, np.array_equal], ids=lambda f: f.__name__)
def test_numpys_functions_take_constants(f: Callable):
    assert f(Tensor([1.0, 2.0]), [1.0, 2.0])


def test_numpys_test_functions_take_detached_tensors():
    np.testing.assert_allclose(parameter(1, 2).detach(), [1, 2])


@pytest.mark.parametrize("operate", [*OPERATORS, lambda a, b: a @ b], ids=["+", "-", "*", "/", "**", "@"])
def test_a_value_and_a_tensor_do_not_mix_and_the_error_names_both(operate: Callable):
    for pair in ((Value(1.0), Tensor([1.0])), (Tensor([1.0]), Value(1.0))):
        with pytest.raises(TypeError, match=r"(Value.*Tensor)|(Tensor.*Value)"):
            operate(*pair)


def test_unary_plus_is_the_tensor_itself():
    x = parameter(1)
    assert (+x).tolist() == [1]


def test_reshape_takes_lengths_one_by_one_or_together():
    t = Tensor(np.arange(6))
    assert {t.reshape(2, 3).shape, t.reshape((2, 3)).shape, t.reshape([2, 3]).shape, t.reshape(-1, 3).shape} == {(2, 3)}


# ---------------------------------------------------------------------------------------------------------------------
# data and grad


def test_data_can_be_read_and_written():
    t = Tensor([1.0, 2.0])
    t.data[0] = 5.0
    t.data += 1
    assert t.tolist() == [6.0, 3.0]


def test_data_can_be_replaced_and_keeps_its_dtype():
    t = Tensor([1.0, 2.0], dtype="float32")
    t.data = np.array([3.0, 4.0])
    assert (t.tolist(), t.dtype) == ([3.0, 4.0], np.float32)


def test_replaced_data_is_copied():
    t, array = Tensor([1.0]), np.array([2.0])
    t.data = array
    array[0] = 9
    assert t.tolist() == [2.0]


def test_data_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        Tensor([1.0, 2.0]).data = np.zeros(3)


@pytest.mark.parametrize("data", ["ab", [1j, 2j], [None, None]], ids=repr)
def test_data_that_is_not_real_is_refused(data: Any):
    t = Tensor([1.0, 2.0])
    with pytest.raises((TypeError, ValueError)):
        t.data = data
    assert t.tolist() == [1.0, 2.0]


def test_a_gradient_can_be_assigned_and_taken_away():
    x = parameter(1, 2)
    x.grad = np.array([3.0, 4.0])
    (x * 2).sum().backward()
    np.testing.assert_array_equal(x.grad, [5, 6])
    x.grad = None
    assert x.grad is None


def test_a_gradient_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        parameter(1, 2).grad = np.zeros(3)


@pytest.mark.parametrize("grad", ["ab", object(), 1j])
def test_a_gradient_that_is_no_array_of_numbers_is_refused(grad: Any):
    x = Tensor(1.0, requires_grad=True)
    with pytest.raises((TypeError, ValueError)):
        x.grad = grad
    assert x.grad is None


# ---------------------------------------------------------------------------------------------------------------------
# Copies


COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    **{f"pickle {p}": lambda t, p=p: pickle.loads(pickle.dumps(t, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)},
}
every_copy = pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)


@every_copy
def test_a_copy_has_the_same_data_dtype_gradient_and_label(duplicate: Callable):
    x = Tensor([1.0, 2.0], dtype="float32", requires_grad=True, label="w")
    (x * 3).sum().backward()
    y = duplicate(x)
    assert (y.tolist(), y.dtype, y.requires_grad, y.label) == ([1, 2], np.float32, True, "w")
    np.testing.assert_array_equal(y.grad, [3, 3])


@every_copy
def test_a_copy_shares_nothing_with_the_original(duplicate: Callable):
    x = parameter(1, 2)
    (x * 3).sum().backward()
    y = duplicate(x)
    y.data[0] = y.grad[0] = 99
    (y * 3).sum().backward()
    assert x.tolist() == [1, 2]
    np.testing.assert_array_equal(x.grad, [3, 3])


@every_copy
def test_a_constant_stays_a_constant(duplicate: Callable):
    assert not duplicate(Tensor([1, 2])).requires_grad


@every_copy
def test_what_has_a_history_cannot_be_copied_and_the_error_says_detach(duplicate: Callable):
    with pytest.raises(RuntimeError, match=r"'\*'.*detach\(\)"):
        duplicate(parameter(1) * 2)


def test_one_tensor_that_stands_twice_in_a_list_stays_one():
    x = parameter(1)
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_attributes_are_copied_too():
    x = parameter(1)
    x.colour = ["red"]  # type: ignore[attr-defined]
    y = copy.deepcopy(x)
    assert y.colour == ["red"]
    assert y.colour is not x.colour  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------------------------------------------
# Subclasses


class Weight(Tensor):
    """A Tensor of the user's own kind."""


def test_an_op_on_a_subclass_gives_a_tensor():
    w = Weight([1.0, 2.0], requires_grad=True)
    assert {type(w * 2), type(2 * w), type(w.sum()), type(w[0]), type(w @ w), type(w.detach())} == {Tensor}


def test_an_op_in_place_stays_in_the_subclass():
    w = Weight([1.0, 2.0])
    same = w
    w += 1
    assert w is same
    assert type(w) is Weight


@every_copy
def test_a_copy_of_a_subclass_is_of_the_subclass(duplicate: Callable):
    assert type(duplicate(Weight([1.0], requires_grad=True))) is Weight


def test_the_repr_names_the_subclass():
    assert repr(Weight([1.0])) == "Weight([1.])"


def test_a_leaf_of_a_subclass_is_found_again_through_the_graph():
    w = Weight([1.0], requires_grad=True)
    assert (w * 2).grad_fn.next_functions[0][0].variable is w
