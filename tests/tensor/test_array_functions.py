"""NumPy's functions, for nodes: they agree with NumPy, their gradients with the checker and with PyTorch."""

import builtins
import inspect
import math
import pickle

import numpy as np
import pytest

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

UNARY = [name for name, row in ops.PUBLIC.items() if row.to_b is None]
OWN = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "gelu": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}
ELEMENTWISE = {name: OWN.get(name) or getattr(np, name) for name in (*UNARY, "leaky_relu")}


def domain(name):
    """A as the function wants it."""
    return A + 1 if name == "arccosh" else A / 2.5 if name in ("arcsin", "arccos", "arctanh") else A


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_functions_take_all_kinds_alike(name):
    x = domain(name)
    function, expected = getattr(F, name), ELEMENTWISE[name](x)
    assert function(x) == pytest.approx(expected)
    assert function(x.tolist()) == pytest.approx(expected)
    assert type(function(x)) is np.ndarray
    assert function(Tensor(x)).data == pytest.approx(expected)
    assert function(Value(x[0, 0])).data == pytest.approx(expected[0, 0])
    assert function(float(x[0, 0])) == pytest.approx(expected[0, 0])
    with np.errstate(all="ignore"):
        assert function(1) == pytest.approx(ELEMENTWISE[name](1.0))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_functions_are_named_and_described(name):
    function = getattr(F, name)
    assert function.__name__ == name
    assert function.__doc__.splitlines()[0].endswith(".")


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_maximum_and_minimum_take_all_kinds_alike(name):
    function, expected = getattr(F, name), getattr(np, name)(A, B)
    for a, b in [(A, B), (Tensor(A), B), (A, Tensor(B)), (Tensor(A), Tensor(B)), (A.tolist(), Tensor(B))]:
        assert np.asarray(function(a, b)) == pytest.approx(expected)
    assert function(Value(1.0), 2.0).data == function(1.0, 2.0)
    assert function(1.0, Value(2.0)).data == function(Tensor(1.0), 2.0).item() == function(1.0, 2.0)
    assert gradcheck(function, A, B)
    assert gradcheck(function, 1.0, 2.0)


def test_an_operand_may_be_named():
    a, b = Tensor([1.0, 2.0], requires_grad=True), np.array([3.0, 4.0])
    for name, named in {
        "concatenate": {"operands": [b, a]},
        "dot": {"a": b, "b": a},
        "outer": {"b": a, "a": b},
    }.items():
        out = getattr(micrograd, name)(**named)
        assert isinstance(out, Tensor)
        assert out.requires_grad
        plain = getattr(micrograd, name)(**{k: [b, b] if k == "operands" else b for k in named})
        assert isinstance(plain, (np.ndarray, float))


@pytest.mark.parametrize("wrong", ["text", None, [None], {1.0}, 1j, ["a"]])
@pytest.mark.parametrize("function", [F.exp, F.sum, F.relu, lambda x: F.maximum(1.0, x), lambda x: F.stack([x])])
def test_what_is_no_number_raises(function, wrong):
    with pytest.raises(
        TypeError, match=r"an operand is a node, a real number or an array of real numbers|a Tensor holds real numbers"
    ):
        function(wrong)


MODES = ["constant", "edge", "reflect", "symmetric", "wrap", "mean", "maximum", "minimum", "median", "linear_ramp"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("widths", [1, (2, 0), ((0, 1), (3, 2))])
def test_pad_pads_the_numbers_in_every_mode(mode, widths):
    x = RNG.permutation(12).reshape(3, 4)
    for a in (x, x * 1.5, (x * 1.5).astype(np.float32)):
        np.testing.assert_allclose(Tensor(a).pad(widths, mode).data, np.pad(a, widths, mode), rtol=1e-6)
        assert Tensor(a).pad(widths, mode).dtype == a.dtype
    assert gradcheck(lambda a: a.pad(widths, mode), x * 1.5)


@pytest.mark.parametrize("mode", ["empty", "no such mode", len])
def test_pad_names_the_modes_that_there_are(mode):
    with pytest.raises(ValueError, match=r"a Tensor is padded in the modes constant, edge.*linear_ramp"):
        Tensor(A).pad(1, mode)


def test_pad_takes_a_number_for_each_side():
    values = ((1, 2), (3, 4))
    assert (Tensor(A).pad(1, constant_values=values).data == np.pad(A, 1, constant_values=values)).all()


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "sign"])
def test_what_a_piecewise_constant_function_was_computed_from_may_change(name):
    x = Tensor(A, requires_grad=True)
    y = x * 1
    z = getattr(y, name)()
    y += 1
    (y + z).sum().backward()
    assert (x.grad == 1).all()


# ---- where and clip


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3), (2, 3)), ((3,), (2, 1), ()), ((2, 1), (1, 3), (3,)),
                                    ((4, 1, 1), (2, 3), (1,)), ((), (2,), (2,))])  # fmt: skip
def test_where_broadcasts_all_three_and_gives_both_their_gradient(shapes):
    condition, a, b = RNG.random(shapes[0]) > 0.5, RNG.random(shapes[1]), RNG.random(shapes[2])
    expected = np.where(condition, a, b)
    assert (F.where(condition, a, b) == expected).all()
    assert (F.where(condition, Tensor(a), b) == expected).all()
    assert (F.where(Tensor(condition), a, Tensor(b)) == expected).all()
    assert gradcheck(lambda a, b: F.where(condition, a, b), a, b)
    ta, tb = tensor(a), tensor(b)
    F.where(condition, ta, tb).sum().backward()
    assert ta.grad.shape == a.shape
    assert tb.grad.shape == b.shape
    assert ta.grad.sum() + tb.grad.sum() == expected.size


def test_where_lets_no_nan_through_from_what_was_not_chosen():
    x = tensor([-1.0, 4.0])
    with np.errstate(invalid="ignore"):
        y = F.where(x > 0, x.sqrt(), 0.0)
    assert y.tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("call", "given", "expected"),
    [
        (lambda x, condition: F.where(condition, x, 0.0), [True, False], [1.0, 0.0]),
        (lambda x, indices: F.take_along_axis(x, indices, 0), [0, 0], [2.0, 0.0]),
    ],
    ids=["where", "take_along_axis"],
)
def test_a_condition_and_indices_are_copied(call, given, expected):
    x, given = tensor([1.0, 2.0]), np.array(given)
    y = call(x, given)
    given[:] = 1
    y.sum().backward()
    assert x.grad.tolist() == expected


def test_where_keeps_float32():
    x = Tensor([1.0, 2.0], dtype=np.float32)
    assert F.where([True, False], x, 0.0).dtype == np.float32


@pytest.mark.parametrize("chosen", [True, False])
def test_where_of_values_chooses_by_a_bool_or_a_value(chosen):
    for condition in (chosen, int(chosen), np.bool_(chosen), Value(float(chosen)), Value(-2.0 * chosen)):
        a, b = Value(2.0), Value(3.0)
        y = F.where(condition, a * 1, b * 1)
        y.backward()
        assert y.data == (2.0 if chosen else 3.0)
        assert (a.grad, b.grad) == ((1.0, 0.0) if chosen else (0.0, 1.0))
    assert F.where(Value(float(chosen)), 2.0, 3.0).data == (2.0 if chosen else 3.0)


def test_where_of_values_is_the_same_graph_whichever_is_chosen():
    def ops(y):
        return [y._op, *(op for x in y._prev for op in ops(x))]

    assert ops(F.where(Value(1.0), Value(2.0), 3.0)) == ops(F.where(Value(0.0), Value(2.0), 3.0))


def test_where_of_values_lets_no_infinity_through_from_what_was_not_chosen():
    assert F.where(False, Value(math.inf), 3.0).data == 3.0
    assert F.where(False, Value(math.nan), 3.0).data == 3.0


def test_a_choice_between_values_by_an_array_raises():
    with pytest.raises(TypeError, match=r"the condition of where\(\) for Values is a Value or a bool; found ndarray"):
        F.where(np.array([True]), Value(1.0), 2.0)


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (None, 0.5), (0.0, None), (-0.5, 0.25)])
def test_clip_is_that_of_numpy_and_checked(low, high):
    x = np.array([-2.0, -0.9, -0.1, 0.3, 0.9, 2.0])
    assert (F.clip(x, low, high) == np.clip(x, low, high)).all()
    assert (F.clip(Tensor(x), low, high) == np.clip(x, low, high)).all()
    assert [F.clip(Value(v), low, high).data for v in x] == np.clip(x, low, high).tolist()
    assert F.clip(0.3, low, high) == np.clip(0.3, low, high)
    assert gradcheck(lambda x: F.clip(x, low, high) ** 2, x, step=0.01)
    assert gradcheck(lambda x: F.clip(x, low, high) ** 2, 0.3, step=0.01)


@pytest.mark.parametrize("x", [-1.0, 1.0])
def test_clip_passes_the_gradient_at_its_bounds(x):
    v, t = Value(x), tensor([x])
    F.clip(v, -1, 1).backward()
    F.clip(t, -1, 1).backward()
    assert v.grad == t.grad.item() == 1.0


def test_clip_of_a_number_is_a_float_whatever_its_bounds():
    for x in (Value(5.0), Value(-5.0), Value(0.5)):
        assert type(F.clip(x, 0, 1).data) is float
    assert type(F.clip(2.5, 0.0, 1.0)) is type(F.clip(2.5, 0, 1)) is float
    assert F.clip(np.array([5, -5]), 0, 1).dtype == int


def test_clip_lets_nan_be_nan():
    assert math.isnan(F.clip(Value(math.nan), -1, 1).data)


def test_the_bounds_of_clip_are_numbers():
    for x in (Value(1.0), Tensor(1.0), 1.0):
        with pytest.raises(TypeError, match=r"maximum and minimum take nodes.*plain number, found Value"):
            F.clip(x, Value(0.0), 1.0)


# ---- of one array

OF_ONE = {
    "sum": [{}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}],
    "mean": [{}, {"axis": -1}, {"axis": (0, 2)}],
    "var": [{}, {"axis": 1, "ddof": 1}],
    "std": [{}, {"axis": (1, 2), "keepdims": True}],
    "max": [{}, {"axis": 1}, {"axis": (0, 2)}],
    "min": [{}, {"axis": -1, "keepdims": True}],
    "prod": [{}, {"axis": 1}, {"axis": 2, "keepdims": True}],
    "cumsum": [{}, {"axis": 0}, {"axis": -1}],
    "reshape": [{"shape": (3, 8)}, {"shape": -1}, {"shape": (2, -1)}],
    "transpose": [{}, {"axes": (1, 0, 2)}, {"axes": (0, -1, 1)}],
    "swapaxes": [{"axis1": 0, "axis2": 2}, {"axis1": -1, "axis2": 1}],
    "expand_dims": [{"axis": 0}, {"axis": -1}, {"axis": 2}],
    "broadcast_to": [{"shape": (5, 4, 2, 3)}],
}
CASES = [(name, settings) for name, several in OF_ONE.items() for settings in several]


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_functions_of_one_array_are_those_of_numpy_and_checked(name, settings):
    shape = [settings["shape"]] if "shape" in settings else []  # by position, as NumPy 2.0 has it
    expected = getattr(np, name)(C, *shape, **{} if shape else settings)
    for x in (C, Tensor(C), C.tolist()):
        found = getattr(F, name)(x, **settings)
        assert np.shape(found) == expected.shape if not isinstance(x, Tensor) else found.shape == expected.shape
        assert np.asarray(found) == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert isinstance(found, Tensor) == isinstance(x, Tensor)
    assert gradcheck(lambda x: getattr(F, name)(x, **settings), C)


def test_squeeze_is_that_of_numpy():
    x = C.reshape(4, 1, 2, 1, 3)
    for axis in (None, 1, -2, (1, 3)):
        assert F.squeeze(tensor(x), axis).shape == np.squeeze(x, axis).shape
    with pytest.raises(ValueError, match="size not equal to one"):
        F.squeeze(Tensor(x), 0)


def test_arrays_give_arrays_or_numbers_of_their_own():
    x = A.copy()
    y = F.reshape(x, -1)
    y[:] = 0
    assert (x == A).all()
    assert isinstance(F.sum(x), float)


@pytest.mark.parametrize(
    ("shape", "indices", "axis"),
    [
        ((4, 3), RNG.integers(0, 3, (4, 2)), 1),
        ((4, 3), RNG.integers(-3, 3, (4, 5)), -1),
        ((4, 3), RNG.integers(0, 4, (2, 3)), 0),
        ((4, 3), RNG.integers(0, 3, (1, 5)), 1),  # broadcast
        ((1, 3), RNG.integers(0, 3, (4, 2)), 1),
        ((2, 3, 4), RNG.integers(0, 3, (2, 1, 1)), 1),
        ((4, 3), RNG.integers(0, 12, 7), None),
    ],
)
def test_take_along_axis_is_that_of_numpy_and_checked(shape, indices, axis):
    x = RNG.random(shape)
    expected = np.take_along_axis(x, indices, axis)
    assert (F.take_along_axis(x, indices, axis) == expected).all()
    assert (F.take_along_axis(Tensor(x), Tensor(indices), axis) == expected).all()
    assert gradcheck(lambda x: F.take_along_axis(x, indices, axis) ** 2, x)


def test_take_along_axis_refuses_what_it_cannot_take():
    with pytest.raises(TypeError, match="integer indices, found dtype float64"):
        F.take_along_axis(Tensor(A), A, 1)
    with pytest.raises(ValueError, match=r"shape \(2, 3\) needs indices of 2 dimensions, found \(1,\)"):
        F.take_along_axis(Tensor(A), [0], 1)
    with pytest.raises(np.exceptions.AxisError):
        F.take_along_axis(Tensor(A), [[0]], 2)
    with pytest.raises(IndexError):
        F.take_along_axis(Tensor(A), [[3]], 1)


# ---- split, concatenate, stack


@pytest.mark.parametrize(
    ("sections", "axis"), [(2, 0), (4, 0), (1, 1), (3, -1), ([1], 0), ([1, 3], 0), ([], 0), ([2, 1, 9], 0), ((1,), 2)]
)
def test_split_is_that_of_numpy_and_checked(sections, axis):
    expected = np.split(C, sections, axis)
    for x in (C, Tensor(C)):
        found = F.split(x, sections, axis)
        assert [np.asarray(part).tolist() for part in found] == [part.tolist() for part in expected]
        assert [part.shape for part in found] == [part.shape for part in expected]
    assert gradcheck(lambda x: [part**2 for part in F.split(x, sections, axis)], C)


def test_split_into_unequal_sections_raises():
    for sections in (3, 0, -1):
        with pytest.raises(ValueError, match=f"cannot be split into {sections} equal sections"):
            F.split(Tensor(C), sections)
    with pytest.raises(np.exceptions.AxisError):
        F.split(Tensor(C), 2, 3)
    with pytest.raises(TypeError):
        F.split(Tensor(C), 2.0)


def test_an_empty_axis_is_split_too():
    assert [x.shape for x in F.split(Tensor(np.zeros((0, 2))), 3)] == [(0, 2)] * 3


@pytest.mark.parametrize(
    ("name", "axis"), [("concatenate", axis) for axis in (0, 1, -1, None)] + [("stack", axis) for axis in (0, 1, 2, -1)]
)
def test_arrays_are_joined_as_by_numpy_and_checked(name, axis):
    expected, join = getattr(np, name)([A, B, A], axis), getattr(F, name)
    assert (join([A, B, A], axis) == expected).all()
    assert (join((tensor(A), B, A.tolist()), axis) == expected).all()
    assert gradcheck(lambda a, b: join([a, b, a], axis) ** 2, A, B)


def test_joining_what_does_not_fit_raises_and_shows_the_shapes():
    with pytest.raises(ValueError, match=r"stack needs operands of one shape, found \(2, 3\), \(3,\)"):
        F.stack([Tensor(A), np.ones(3)])
    with pytest.raises(ValueError, match="must match exactly") as caught:
        F.concatenate([Tensor(A), np.ones((2, 2))])
    assert caught.value.__notes__ == ["in 'concatenate' of shapes (2, 3) and (2, 2)"]


@pytest.mark.parametrize("function", [F.concatenate, F.stack])
def test_joining_nothing_or_no_list_raises(function):
    with pytest.raises(ValueError, match="needs at least one Tensor, found an empty list"):
        function([])
    with pytest.raises(TypeError, match="takes a list of Tensors, found Value"):
        function(Value(1.0))
    with pytest.raises(TypeError, match="takes a list of Tensors, found generator"):
        function(Tensor(A) for _ in range(2))


def test_a_stack_of_rows_of_a_tensor_is_the_tensor():
    assert (F.stack(Tensor(A)) == A).all()


# ---- names


HIDING = {name for name in F.FUNCTIONS if hasattr(builtins, name)}


def test_no_exported_name_hides_a_builtin():
    assert set(F.__all__) == F.FUNCTIONS.keys() - HIDING
    assert {"sum", "max", "min", "abs", "pow", "round"} == HIDING


def test_every_function_is_there_under_the_packages_own_name():
    softmaxes = {"softmax", "log_softmax", "logsumexp"}  # those of `functional` take lists of Values too
    for name, function in F.FUNCTIONS.items():
        home = micrograd.functional if name in softmaxes else F
        assert getattr(micrograd, name) is getattr(home, name)
        assert name in dir(micrograd)
        assert (name in micrograd.__all__) != (name in HIDING)
        assert function.__name__ == name
        assert pickle.loads(pickle.dumps(function)) is function or name == "einsum"
        assert function.__doc__.strip()
        assert "Any" in str(inspect.signature(function)) or inspect.signature(function).parameters


@pytest.mark.parametrize("name", sorted(ops.PUBLIC.keys() | ops.MAKERS.keys()))
def test_a_row_that_is_described_is_a_method_of_both_kinds_and_a_function(name):
    first = getattr(F, name).__doc__.splitlines()[0]
    for kind in (Value, Tensor):
        assert getattr(kind, name).__doc__.splitlines()[0] == first
        assert getattr(kind, name).__qualname__.endswith(f".{name}")


def test_the_functions_of_the_tables_are_named_with_those_written_by_hand():
    assert {"exp", "softmax", "clip", "where", "stack"} <= set(dir(F))
