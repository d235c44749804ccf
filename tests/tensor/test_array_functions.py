"""NumPy's functions, for nodes: they agree with NumPy, their gradients with the checker and with PyTorch."""

import math
import pickle
from functools import partial

import numpy as np
import pytest
from tensor_ops_list import UNARY

import micrograd
from micrograd import Value
from micrograd.autograd.check import gradcheck
from micrograd.scalars import ops
from micrograd.tensor import Tensor
from micrograd.tensor import functions as F

RNG = np.random.default_rng(0)
A = RNG.uniform(0.2, 2, (2, 3))
B = RNG.uniform(-2, 2, (2, 3))
C = RNG.uniform(-2, 2, (4, 2, 3))


def tensor(x):
    return Tensor(x, requires_grad=True)


# ---- elementwise

ELEMENTWISE = {op.name: op for op in UNARY if op.name in ops.PUBLIC or op.name == "leaky_relu"}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_functions_take_all_kinds_alike(name):
    (x,), function = ELEMENTWISE[name].operands(((2, 3),)), getattr(F, name)
    expected = ELEMENTWISE[name].in_numpy(x)
    if name == "leaky_relu":
        function = partial(function, slope=0.1)
    for array in (function(x), function(x.tolist())):
        assert type(array) is np.ndarray
        assert array == pytest.approx(expected)
    assert function(Tensor(x)).data == pytest.approx(expected)
    assert function(Value(x[0, 0])).data == function(float(x[0, 0])) == pytest.approx(expected[0, 0])
    with np.errstate(all="ignore"):
        assert function(1) == pytest.approx(ELEMENTWISE[name].in_numpy(np.float64(1.0)), nan_ok=True)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_maximum_and_minimum_take_all_kinds_alike(name):
    function, expected = getattr(F, name), getattr(np, name)(A, B)
    for a, b in [(A, B), (Tensor(A), B), (A, Tensor(B)), (Tensor(A), Tensor(B)), (A.tolist(), Tensor(B))]:
        assert np.asarray(function(a, b)) == pytest.approx(expected)
    assert function(Value(1.0), 2.0).data == function(1.0, 2.0)
    assert function(1.0, Value(2.0)).data == function(Tensor(1.0), 2.0).item() == function(1.0, 2.0)
    assert gradcheck(function, A, B)
    assert gradcheck(function, 1.0, 2.0)


@pytest.mark.parametrize("wrong", ["text", None, [None], {1.0}, 1j, ["a"]])
@pytest.mark.parametrize("function", [F.exp, F.sum, F.relu, lambda x: F.maximum(1.0, x), lambda x: F.stack([x])])
def test_elements_that_are_no_numbers_raise(function, wrong):
    with pytest.raises(
        TypeError, match=r"an operand is a node, a real number or an array of real numbers|a Tensor holds real numbers"
    ):
        function(wrong)


MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]


@pytest.mark.parametrize("widths", [((0, 1), (3, 2)), ((0, 0), (0, 1))], ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_pad_pads_the_numbers_in_every_mode_that_it_has(mode, widths):
    x = RNG.permutation(12).reshape(3, 4)
    for a in (x, x * 1.5, (x * 1.5).astype(np.float32)):
        np.testing.assert_allclose(Tensor(a).pad(widths, mode).data, np.pad(a, widths, mode), rtol=1e-6)
        assert Tensor(a).pad(widths, mode).dtype == a.dtype
    assert gradcheck(lambda a: a.pad(widths, mode), x * 1.5)


@pytest.mark.parametrize("dtype", [float, int])
@pytest.mark.parametrize("widths", [1, ((0, 0), (1, 2))])
@pytest.mark.parametrize("mode", MODES[1:])
def test_pad_continues_no_empty_axis(mode, widths, dtype):
    with pytest.raises(ValueError, match="empty axis 1"):
        Tensor(np.zeros((2, 0), dtype)).pad(widths, mode)
    assert Tensor(np.zeros((2, 0), dtype)).pad(((1, 1), (0, 0)), mode).shape == (4, 0)


@pytest.mark.parametrize("a", [A, A.astype(int)])
def test_pad_takes_a_number_for_each_side_in_the_dtype_of_the_array(a):
    values = ((1, 2), (3, 4.5))
    np.testing.assert_array_equal(Tensor(a).pad(1, constant_values=values).data, np.pad(a, 1, constant_values=values))


# ---- where and clip


def test_condition_of_where_is_copied():
    x, condition = tensor([1.0, 2.0]), np.array([True, False])
    y = F.where(condition, x, 0.0)
    condition[:] = True
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("chosen", [True, False])
def test_where_of_values_chooses_by_a_bool_or_a_value(chosen):
    for condition in (chosen, int(chosen), np.bool_(chosen), Value(float(chosen)), Value(-2.0 * chosen)):
        a, b = Value(2.0), Value(3.0)
        y = F.where(condition, a * 1, b * 1)
        y.backward()
        assert y.data == (2.0 if chosen else 3.0)
        assert (a.grad, b.grad) == ((1.0, 0.0) if chosen else (0.0, 1.0))
    assert F.where(Value(float(chosen)), 2.0, 3.0).data == (2.0 if chosen else 3.0)
    assert F.where(False, Value(math.inf), 3.0).data == 3.0  # which lets nothing through of what was not chosen


def test_where_of_values_is_the_same_graph_whichever_is_chosen():
    def ops(y):
        return [y._op, *(op for x in y._prev for op in ops(x))]

    assert ops(F.where(Value(1.0), Value(2.0), 3.0)) == ops(F.where(Value(0.0), Value(2.0), 3.0))


def test_clip_of_a_number_is_a_float_whatever_its_bounds():
    for x in (Value(5.0), Value(-5.0), Value(0.5)):
        assert type(F.clip(x, 0, 1).data) is float
    assert type(F.clip(2.5, 0.0, 1.0)) is type(F.clip(2.5, 0, 1)) is float
    assert F.clip(np.array([5, -5]), 0, 1).dtype == int


# ---- of arrays

D = C.reshape(4, 1, 2, 1, 3)
SHAPES = [((3,), (2, 1), ()), ((2, 1), (1, 3), (3,)), ((4, 1, 1), (2, 3), (1,))]
CASES = [  # the name, the operands, and settings by position and by name
    *[(name, [C], (), settings) for name, settings in (
        ("sum", {}), ("std", {"axis": (1, 2), "keepdims": True}), ("var", {"axis": 1, "ddof": 1}), ("cumsum", {}),
        ("max", {"axis": (0, 2)}), ("transpose", {"axes": (0, -1, 1)}), ("swapaxes", {"axis1": 0, "axis2": 2}),
    )],
    *[("reshape", [C], (shape,), {}) for shape in ((3, 8), -1, (2, -1))],
    ("squeeze", [D], ((1, 3),), {}),
    *[("clip", [B], bounds, {}) for bounds in ((-1, 1), (None, 0.5), (0.0, None), (-0.5, 0.25))],
    *[("where", [RNG.random(c) > 0.5, RNG.random(a), RNG.random(b)], (), {}) for c, a, b in SHAPES],
    *[("split", [C], (at, axis), {}) for at, axis in ((2, 0), (1, 1), (3, -1), ([1, 3], 0), ([], 0), ([2, 1, 9], 0))],
    *[(name, [[A, B, A]], (axis,), {}) for name in ("concatenate", "stack") for axis in (0, 1, -1)],
    ("concatenate", [[A, B, A]], (None,), {}),
    *[("matmul", [RNG.random(a), RNG.random(b)], (), {})
      for a, b in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)))],
    *[("take_along_axis", [RNG.random(shape), indices], (axis,), {}) for shape, indices, axis in (
        ((4, 3), RNG.integers(-3, 3, (4, 5)), -1),
        ((4, 3), RNG.integers(0, 4, (2, 3)), 0),
        ((4, 3), RNG.integers(0, 3, (1, 5)), 1),  # broadcast
        ((1, 3), RNG.integers(0, 3, (4, 2)), 1),
        ((2, 3, 4), RNG.integers(0, 3, (2, 1, 1)), 1),
        ((4, 3), RNG.integers(0, 12, 7), None),
    )],
]  # fmt: skip
KINDS = {  # of the last operand, and of the others
    "arrays": (np.asarray, np.asarray),
    "lists": (np.ndarray.tolist, np.ndarray.tolist),
    "Tensors": (Tensor, Tensor),
    "a Tensor among arrays": (Tensor, np.asarray),
}


def parts(result):
    return result if isinstance(result, list) else [result]


def converted(kind, operand):
    return [kind(x) for x in operand] if isinstance(operand, list) else kind(operand)


@pytest.mark.parametrize(("name", "operands", "settings", "named"), CASES)
def test_functions_of_arrays_are_those_of_numpy_for_all_kinds_and_checked(name, operands, settings, named):
    function, expected = getattr(F, name), parts(getattr(np, name)(*operands, *settings, **named))
    for last, others in KINDS.values():
        given = [*(converted(others, x) for x in operands[:-1]), converted(last, operands[-1])]
        for found, wanted in zip(parts(function(*given, *settings, **named)), expected, strict=True):
            assert isinstance(found, Tensor) == (last is Tensor)
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12, atol=1e-12)
    assert gradcheck(lambda *xs: [y**2 for y in parts(function(*xs, *settings, **named))], *operands, order=1)


def test_arrays_give_arrays_or_numbers_of_their_own():
    x = A.copy()
    y = F.reshape(x, -1)
    y[:] = 0
    assert (x == A).all()
    assert isinstance(F.sum(x), float)


# ---- split, concatenate, stack


REFUSED = [
    *[(lambda join=join: join([]), ValueError, "needs at least one Tensor, found an empty list")
      for join in (F.concatenate, F.stack)],
    *[(lambda join=join, wrong=wrong: join(wrong), TypeError, f"takes a list of Tensors, found {kind}")
      for join in (F.concatenate, F.stack) for wrong, kind in ((Value(1.0), "Value"), ((x for x in [A]), "generator"))],
    (lambda: F.stack([Tensor(A), np.ones(3)]), ValueError, r"needs operands of one shape, found \(2, 3\), \(3,\)"),
    *[(lambda n=n: F.split(Tensor(C), n), ValueError, f"cannot be split into {n} equal sections") for n in (3, 0, -1)],
    (lambda: F.split(Tensor(C), 2, 3), np.exceptions.AxisError, "axis 3"),
    (lambda: F.take_along_axis(Tensor(A), A, 1), TypeError, "integer indices, found dtype float64"),
    (lambda: F.take_along_axis(Tensor(A), [0], 1), ValueError, r"\(2, 3\) needs indices of 2 dimensions, found \(1,\)"),
    (lambda: F.take_along_axis(Tensor(A), [[3]], 1), IndexError, "3"),
    *[(lambda x=x: F.clip(x, Value(0.0), 1.0), TypeError, r"maximum and minimum take nodes.*plain number, found Value")
      for x in (Value(1.0), Tensor(1.0), 1.0)],
    (lambda: F.where(np.array([True]), Value(1.0), 2.0), TypeError,
     r"the condition of where\(\) for Values is a Value or a bool; found ndarray"),
]  # fmt: skip


@pytest.mark.parametrize(("use", "error", "message"), REFUSED)
def test_functions_refuse_what_they_cannot_take(use, error, message):
    with pytest.raises(error, match=message):
        use()


def test_concatenate_of_what_does_not_fit_shows_the_shapes():
    with pytest.raises(ValueError, match="must match exactly") as caught:
        F.concatenate([Tensor(A), np.ones((2, 2))])
    assert caught.value.__notes__ == ["in 'concatenate' of shapes (2, 3) and (2, 2)"]


def test_stack_of_rows_of_a_tensor_is_the_tensor():
    assert (F.stack(Tensor(A)) == A).all()


# ---- names


def test_every_function_is_there_under_the_packages_own_name_and_hides_no_builtin():
    softmaxes = {"softmax", "log_softmax", "logsumexp"}  # those of `functional` take lists of Values too
    hiding = {"sum", "max", "min", "abs", "pow", "round"}
    assert set(F.__all__) == F.FUNCTIONS.keys() - hiding
    for name, function in F.FUNCTIONS.items():
        home = micrograd.functional if name in softmaxes else F
        assert getattr(micrograd, name) is getattr(home, name)
        assert name in dir(micrograd)
        assert (name in micrograd.__all__) != (name in hiding)
        assert function.__name__ == name
        assert pickle.loads(pickle.dumps(function)) is function or name == "einsum"
        assert function.__doc__.strip()


@pytest.mark.parametrize("name", sorted(ops.PUBLIC.keys() | ops.MAKERS.keys()))
def test_row_that_is_described_is_a_method_of_both_kinds_and_a_function(name):
    first = getattr(F, name).__doc__.splitlines()[0]
    for kind in (Value, Tensor):
        assert getattr(kind, name).__doc__.splitlines()[0] == first
        assert getattr(kind, name).__qualname__.endswith(f".{name}")
