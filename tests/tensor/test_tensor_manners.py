"""A Tensor among others: NumPy's functions, plain arrays, copies, subclasses."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_helpers import parameter

import micrograd
from micrograd import Tensor, Value, compile, lazy

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


@pytest.mark.parametrize("operate", [*OPERATORS, lambda a, b: a @ b, lambda a, b: a == b, lambda a, b: a < b])
@pytest.mark.parametrize("make", [list, tuple, lambda x: np.array(x, float).data], ids=["list", "tuple", "memoryview"])
def test_list_is_an_operand_as_it_is_of_an_array(operate: Callable, make: Callable):
    x, other = parameter(2, 3), [4.0, 5.0]
    for found, wanted in (
        (operate(x, make(other)), operate(x.data, np.array(other))),
        (operate(make(other), x), operate(np.array(other), x.data)),
    ):
        np.testing.assert_allclose(getattr(found, "data", found), wanted)


def test_list_is_written_in_place_and_into_a_part():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    x += [10, 20]
    x[0] = [5, 6]
    np.testing.assert_array_equal(x.maximum([6, 7]).data, [[6, 7], [13, 24]])


def test_list_is_read_when_it_is_written_also_where_the_op_is_deferred_or_compiled():
    x, given = parameter(2, 3), [4.0, 5.0]
    with lazy():
        y = x * given
    found = compile(lambda x: given * x)(x)
    given[:] = [100.0, 100.0]
    np.testing.assert_array_equal([y.data, found.data], [[8, 15], [8, 15]])


@pytest.mark.parametrize("bad", [["a"], [None], [Value(1.0)], [1j], "ab"], ids=repr)
def test_list_of_what_is_no_number_is_no_operand(bad: Any):
    with pytest.raises(TypeError):
        Tensor([1.0]) + bad


def test_data_of_old_pytorch_works_where_a_buffer_may_stand():
    p = parameter(1, 2)
    (p * 3).sum().backward()
    p.data -= np.float64(0.5) * p.grad.data  # a plain 0.5 has no product with a memoryview, which nobody here is asked
    p.data -= p.grad.data
    np.testing.assert_array_equal(p.data, [1 - 4.5, 2 - 4.5])


@pytest.mark.parametrize("f", [np.asarray, np.array, Tensor.numpy, np.cumprod, lambda x: np.convolve(x, x)])
def test_tensor_that_requires_a_gradient_is_no_array_and_the_error_says_detach(f: Callable):
    with pytest.raises((RuntimeError, TypeError), match=r"detach\(\)"):
        f(parameter(1, 2))


def test_constant_is_an_array_for_numpy_which_shares_its_memory_unless_it_must_not():
    t = Tensor([1.0, 2.0])
    assert np.asarray(t).tolist() == np.array(t).tolist() == t.numpy().tolist() == [1.0, 2.0]
    assert np.asarray(t, dtype=np.float32).dtype == np.float32
    assert np.concatenate([t, t]).tolist() == [1.0, 2.0, 1.0, 2.0]
    assert np.shares_memory(np.asarray(t), t.data)
    assert not np.shares_memory(np.array(t), t.data)
    with pytest.raises(ValueError, match="copy"):
        np.array(t, dtype=np.float32, copy=False)


@pytest.mark.parametrize("operate", [*OPERATORS, lambda a, b: a @ b], ids=["+", "-", "*", "/", "**", "@"])
def test_value_and_a_tensor_do_not_mix_and_the_error_names_both(operate: Callable):
    for pair in ((Value(1.0), Tensor([1.0])), (Tensor([1.0]), Value(1.0))):
        with pytest.raises(TypeError, match=r"(Value.*Tensor)|(Tensor.*Value)"):
            operate(*pair)


# ---------------------------------------------------------------------------------------------------------------------
# data and grad


def test_data_can_be_replaced_and_keeps_its_dtype():
    t = Tensor([1.0, 2.0], dtype="float32")
    t.data = np.array([3.0, 4.0])
    assert (t.tolist(), t.dtype) == ([3.0, 4.0], np.float32)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [("ab", "."), ([1j, 2j], "."), ([None, None], "."), (np.zeros(3), r"\(3,\) .*\(2,\)|\(2,\) .*\(3,\)")],
    ids=["a text", "complex numbers", "nothing", "another shape"],
)
@pytest.mark.parametrize("name", ["data", "grad"])
def test_data_and_grad_must_be_real_numbers_of_the_shape(name: str, wrong: Any, message: str):
    x = parameter(1, 2)
    with pytest.raises((TypeError, ValueError), match=message):
        setattr(x, name, wrong)
    assert (x.tolist(), x.grad) == ([1, 2], None)


# ---------------------------------------------------------------------------------------------------------------------
# Copies and subclasses


class Weight(Tensor):
    """A Tensor of the user's own kind."""


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copy_has_the_class_and_dtype_and_shares_nothing_with_the_original(duplicate: Callable):
    x = Weight([1.0, 2.0], dtype="float32", requires_grad=True)
    (x * 3).sum().backward()
    y = duplicate(x)
    y.data[0] = y.grad[0] = 99
    assert (type(y), y.dtype, y.tolist(), y.grad.tolist()) == (Weight, np.float32, [99, 2], [99, 3])
    assert (x.tolist(), x.grad.tolist()) == ([1, 2], [3, 3])


def test_subclass_gives_tensors_and_stays_itself_in_place_and_in_the_graph():
    w = Weight([1.0, 2.0], requires_grad=True)
    assert {type(w * 2), type(2 * w), type(w.sum()), type(w[0]), type(w @ w), type(w.detach())} == {Tensor}
    assert (w * 2).grad_fn.next_functions[0][0].variable is w
    buffer = same = Weight([1.0])
    buffer += 1
    assert buffer is same
    assert repr(buffer) == "Weight([2.])"


# ---- a beginner's mistake gets the sentence that helps

TWO_THREE, LEAF = Tensor(np.ones((2, 3))), Tensor([1.0, 2.0], requires_grad=True)
IN_A_STEP = "in a training step, write it inside no_grad(), change x.data, or use an optimizer"


class Unreadable:
    """What says itself why it cannot become an array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise ValueError("not ready")


NO_DEVICE = "there is no device here, and compile(f, backend='jax') runs on a GPU"
MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "@": (lambda: TWO_THREE @ TWO_THREE, ValueError,
          "cannot multiply (2, 3) by (2, 3): their inner lengths are 3 and 2: did you mean a @ b.T?"),
    "@ of batches": (lambda: np.ones((4, 2, 3)) @ Tensor(np.ones((4, 5, 3))), ValueError,
                     "cannot multiply (4, 2, 3) by (4, 5, 3): their inner lengths are 3 and 5: "
                     "did you mean a @ b.swapaxes(-1, -2)?"),
    "require_grad": (lambda: Tensor([1.0], require_grad=True), TypeError,  # type: ignore[call-arg]
                     "Tensor has no keyword require_grad: did you mean requires_grad?"),
    "of a function": (lambda: micrograd.zeros(2, require_grad=True), TypeError,
                      "zeros() has no keyword require_grad: did you mean requires_grad?"),
    "of a method": (lambda: TWO_THREE.sum(axes=0), TypeError,  # type: ignore[call-arg]
                    "sum() has no keyword axes: did you mean axis?"),
    "nothing near": (lambda: TWO_THREE.sum(verbose=True), TypeError,  # type: ignore[call-arg]
                     "sum() has no keyword verbose: did you mean axis, keepdims?"),
    "backward of two": (lambda: (LEAF * 2).backward(), RuntimeError,
                        "backward() starts from one number, found a Tensor of shape (2,): call .sum() or .mean() "
                        "first, or pass a gradient of that shape"),
    "-= on a leaf": (lambda: LEAF.__isub__(0.1), RuntimeError,
                     f"x -= ... would change a leaf that requires a gradient: {IN_A_STEP}; for a new Tensor, "
                     "write y = x - ..."),
    "[0] = on a leaf": (lambda: LEAF.__setitem__(0, 5.0), RuntimeError,
                        f"x[i] = ... would change a leaf that requires a gradient: {IN_A_STEP}"),
    "ragged": (lambda: Tensor([[[1], [2]], [[3], [4, 5]]]), ValueError, "rows of different lengths: found 1 and 2"),
    "ragged with a number": (lambda: Tensor([[1, 2], 3]), ValueError,
                             "rows of different lengths: found 2 and a number"),
    "array that cannot be read": (lambda: Tensor(Unreadable()), ValueError, "not ready"),  # type: ignore[arg-type]
    "ragged operand": (lambda: LEAF * [[1, 2], [3]], ValueError, "rows of different lengths: found 2 and 1"),
    "to": (lambda: LEAF.to("cuda"), AttributeError,  # type: ignore[operator]
           f"a Tensor has no attribute 'to': the word here is astype, for a dtype; {NO_DEVICE}"),
    "device": (lambda: LEAF.device, AttributeError, f"a Tensor has no attribute 'device': {NO_DEVICE}"),
    "size()": (lambda: LEAF.size(), TypeError,  # type: ignore[operator]
               "size is a number here, not a method: x.shape has the lengths of the axes"),
    "item of two": (lambda: LEAF.item(), ValueError,
                    "only one number is a Python number, found shape (2,): index it, or use tolist()"),
}  # fmt: skip


@pytest.mark.parametrize(("mistake", "error", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_gets_the_sentence_that_helps(mistake: Callable, error: type[Exception], sentence: str):
    with pytest.raises(error) as raised:
        mistake()
    assert str(raised.value) == sentence


def test_size_is_an_int_and_item_takes_an_index():
    assert (LEAF.size, LEAF.size + 1, f"{LEAF.size}", repr(LEAF.size)) == (2, 3, "2", "2")
    assert LEAF.item(1) == 2.0
