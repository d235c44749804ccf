"""Tensors of bools, integers and small floats: every function has NumPy's value and NumPy's dtype."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import micrograd
from micrograd import Tensor, nn
from micrograd.scalars import ops

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32"]
RTOL = {"e": 2e-3, "f": 1e-5}
Call = Callable[[Any], Any]
CASES: dict[str, tuple[Call, Call]] = {}  # by name: on a Tensor, on an array


def array_of(dtype: str) -> np.ndarray:
    """Numbers whose sums, products and squares leave the dtype, if it is one of integers."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([[True, False, True], [True, True, False]])
    if kind == "f":
        return np.array([[1.5, -2.5, 3.0], [200.0, 0.25, -7.0]], dtype)
    top = np.iinfo(dtype).max
    return np.array([[100, 100, 3], [top - 2, 7, top // 2]], dtype)


def add(name: str, ours: Call, numpys: Call) -> None:
    assert name not in CASES
    CASES[name] = ours, numpys


def add_method(name: str, *args: Any, **named: Any) -> None:
    """A method of Tensor, the function here and NumPy's of the same name, which is called on the Tensor too."""
    theirs = getattr(np, name)
    text = ", ".join([*map(repr, args), *(f"{key}={x!r}" for key, x in named.items())])
    add(f"t.{name}({text})", lambda t: getattr(t, name)(*args, **named), lambda a: theirs(a, *args, **named))
    ours = getattr(micrograd, name)
    add(f"{name}(t, {text})", lambda t: ours(t, *args, **named), lambda a: theirs(a, *args, **named))
    add(f"{name}(array, {text})", lambda t: ours(t.data, *args, **named), lambda a: theirs(a, *args, **named))
    add(f"np.{name}(t, {text})", lambda t: theirs(t, *args, **named), lambda a: theirs(a, *args, **named))


def add_both(name: str, call: Callable[[Any, Any], Any]) -> None:
    """A call of functions that `micrograd` and NumPy have, given the module and the operand."""
    add(name, lambda t: call(micrograd, t), lambda a: call(np, a))
    add(f"{name}, by NumPy", lambda t: call(np, t), lambda a: call(np, a))


for _name in ("sum", "mean", "max", "min", "prod", "var", "std"):
    for _named in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}):
        add_method(_name, **_named)
for _name in ("sum", "mean", "prod", "var", "std"):
    for _of, _part in {"none": np.s_[:0], "one": np.s_[1:, :1], "a number": (1, 0)}.items():
        add(
            f"{_name} of {_of}",
            lambda t, _name=_name, _part=_part: getattr(t[_part], _name)(),
            lambda a, _name=_name, _part=_part: getattr(a[_part], _name)(),
        )
for _name in ("var", "std"):
    for _ddof in (1, 2, 3, 5, 6, 7, 0.5):
        add_method(_name, ddof=_ddof)
        add_method(_name, 0, ddof=_ddof)
for _name in ("cumsum", "sort"):
    for _axis in (0, 1, None):
        add_method(_name, axis=_axis)
for _ord in (None, 0, 1, 2, 3, 2.5, -1, np.inf, -np.inf, "fro"):
    for _axis in (None, 0, -1, (0, 1)):
        if (_ord is None) or (_ord == "fro") == (_axis in (None, (0, 1))):
            add(
                f"norm of order {_ord} over {_axis}",
                lambda t, _ord=_ord, _axis=_axis: t.norm(_ord, _axis),
                lambda a, _ord=_ord, _axis=_axis: np.linalg.norm(a, _ord, _axis),
            )
            add(
                f"np.linalg.norm of order {_ord} over {_axis}",
                lambda t, _ord=_ord, _axis=_axis: np.linalg.norm(t, _ord, _axis, keepdims=True),
                lambda a, _ord=_ord, _axis=_axis: np.linalg.norm(a, _ord, _axis, keepdims=True),
            )
for _k in (-1, 0, 1):
    for _name in ("tril", "triu", "diag"):
        add_method(_name, _k)
add_method("flip")
add_method("roll", 2)
add_method("repeat", 2)
add_method("tile", 2)
add_method("round")
add_method("expand_dims", 0)
add_method("squeeze")
add_method("reshape", (3, 2))
add_method("broadcast_to", (4, 2, 3))
for _mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
    add_method("pad", 1, _mode)
for _bounds in ((0, 100), (None, 50), (1, None), (0.5, 2.5), (-1, 300)):
    add_method("clip", *_bounds)
for _decimals in (-1, 1):
    add(
        f"np.round to {_decimals}",
        lambda t, _decimals=_decimals: np.round(t, _decimals),
        lambda a, _decimals=_decimals: np.round(a, _decimals),
    )

# `square` of bools is of bools, and `reciprocal` of integers is of floats, as in PyTorch: NumPy's own differ
for _name in ops.PUBLIC:
    if ufunc := getattr(np, _name, None):
        if ops.PUBLIC[_name].to_b is not None:
            add_both(f"{_name} of two", lambda np_, a, _name=_name: getattr(np_, _name)(a, a[::-1]))
            add_both(f"{_name} with 2", lambda np_, a, _name=_name: getattr(np_, _name)(a, 2))
        elif _name in ("square", "reciprocal", "round"):
            add(f"np.{_name}", ufunc, ufunc)
        else:
            add_both(_name, lambda np_, a, _name=_name: getattr(np_, _name)(a))
for _ufunc in (np.rint, np.fabs, np.positive, np.invert):
    add(f"np.{_ufunc.__name__}", _ufunc, _ufunc)
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"):
    op = getattr(operator, _name)
    add(f"{_name} of two", lambda t, op=op: op(t, t[::-1]), lambda a, op=op: op(a, a[::-1]))
    add(f"{_name} with an array", lambda t, op=op: op(t, t.data[::-1]), lambda a, op=op: op(a, a[::-1]))
    add(f"{_name} of an array", lambda t, op=op: op(t.data[::-1], t), lambda a, op=op: op(a[::-1], a))
    for _number in (2, 2.5, True):
        add(f"{_name} with {_number}", *[lambda x, op=op, _number=_number: op(x, _number)] * 2)
        add(f"{_name} of {_number}", *[lambda x, op=op, _number=_number: op(_number, x)] * 2)
for _name in ("neg", "abs", "invert"):
    add(f"operator {_name}", getattr(operator, _name), getattr(operator, _name))

_PLACES = np.array([[0], [1]])
for _name, _call in {
    "matmul": lambda np_, a: np_.matmul(a, a.T),
    "dot": lambda np_, a: np_.dot(a[0], a[1]),
    "dot of inner length 0": lambda np_, a: np_.dot(a[:, :0], a[:0].reshape(1, 0, 3)),
    "dot of vectors without elements": lambda np_, a: np_.dot(a[0, :0], a[1, :0]),
    "outer": lambda np_, a: np_.outer(a[0], a[1]),
    "einsum": lambda np_, a: np_.einsum("ij,kj->ik", a, a),
    "einsum of one": lambda np_, a: np_.einsum("ij->j", a),
    "where": lambda np_, a: np_.where(a > 2, a, a[::-1]),
    "where with a number": lambda np_, a: np_.where(a > 2, a, 0),
    "take_along_axis": lambda np_, a: np_.take_along_axis(a, _PLACES, 1),
    "split": lambda np_, a: np_.split(a, 3, 1)[1],
    "concatenate": lambda np_, a: np_.concatenate([a, np.ones((2, 3), np.float32)]),
    "stack": lambda np_, a: np_.stack([a, a]),
    "hstack": lambda np_, a: np_.hstack([a, a]),
    "vstack": lambda np_, a: np_.vstack([a, a]),
}.items():
    add_both(_name, _call)
for _call in (np.ravel, np.fliplr, np.flipud, np.rot90, np.atleast_1d, np.atleast_2d, np.atleast_3d):
    add(f"np.{_call.__name__}", _call, _call)
add("np.moveaxis", *[lambda x: np.moveaxis(x, 0, 1)] * 2)


def unlike(ours: Call, numpys: Call, dtype: str) -> str:
    """What is not as in NumPy; nothing where NumPy refuses."""
    array = array_of(dtype)
    with np.errstate(all="ignore"):
        try:
            wanted = np.asarray(numpys(array))
        except (TypeError, OverflowError):  # it has none for this dtype; NumPy 2.0 takes no bound beyond the dtype
            return ""
        got = ours(Tensor(array))
    got = np.asarray(got.data if isinstance(got, Tensor) else got)
    if (got.dtype, got.shape) != (wanted.dtype, wanted.shape):
        return f"{dtype}: {got.dtype} {got.shape} for {wanted.dtype} {wanted.shape}"
    near = np.allclose(got, wanted, rtol=RTOL.get(wanted.dtype.char, 1e-12), atol=0, equal_nan=True)
    return "" if near else f"{dtype}: {got} for {wanted}"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_function_has_numpys_value_and_dtype_for_every_dtype(name):
    assert [bad for dtype in DTYPES if (bad := unlike(*CASES[name], dtype))] == []


@pytest.mark.parametrize("name", ["prod", "norm", "round", "tril", "softmax", "sigmoid", "sum", "var"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float32"])
def test_compiled_function_has_the_dtype_of_the_function_itself(name, dtype):
    x = Tensor(np.array([[0, 1, 2], [3, 4, 250]]).astype(dtype))
    compiled, eager = micrograd.compile(lambda t: getattr(t, name)())(x), getattr(x, name)()
    assert compiled.dtype == eager.dtype
    np.testing.assert_allclose(compiled.data, eager.data, rtol=1e-6)


# What NumPy does not have: as for the same numbers as floats


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name[:5] != "float"])
@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.sigmoid(),
        lambda t: micrograd.sigmoid(t.data),
        lambda t: t.softplus(),
        lambda t: t.gelu(),
        lambda t: t.relu(),
        lambda t: t.leaky_relu(),
        lambda t: t.softmax(),
        lambda t: t.log_softmax(),
        lambda t: t.logsumexp(-1),
        lambda t: nn.RMSNorm(3)(t),
        lambda t: nn.RMSNorm(3, eps=1e-5)(t),
        lambda t: nn.LayerNorm1d(3)(t),
        lambda t: nn.BatchNorm1d(3)(t),
    ],
)
def test_function_of_floats_takes_bools_and_integers_for_the_floats_that_they_are(call, dtype):
    array = array_of(dtype)
    got, wanted = (np.asarray(getattr(x, "data", x)) for x in (call(Tensor(array)), call(Tensor(array.astype(float)))))
    np.testing.assert_allclose(got, wanted, rtol=1e-3 if array.itemsize < 4 else 1e-6)


@pytest.mark.parametrize("eps", [-1e-5, -1.0, float("nan")])
@pytest.mark.parametrize("layer", [nn.BatchNorm1d, nn.LayerNorm1d, nn.RMSNorm])
def test_negative_eps_is_refused(layer, eps):
    with pytest.raises(ValueError, match="eps must not be below 0, found"):
        layer(3, eps=eps)


# ---------------------------------------------------------------------------------------------------------------------
# NumPy's functions that write to `out=`, or only move elements


@pytest.mark.parametrize(
    "call",
    [
        lambda t, out: np.add(t, 1, out=out),
        lambda t, out: np.add(t, 1, out),
        lambda t, out: np.exp(t, out=out),
        lambda t, out: np.sum(t, axis=None, keepdims=True, out=out),
        lambda t, out: np.clip(t, 0, 1, out=out),
        lambda t, out: np.concatenate([t, t], out=out),
        lambda t, out: np.add.reduce(t, axis=0, out=out),
    ],
)
def test_numpys_function_returns_the_tensor_that_it_fills(call):
    array = np.array([[0.5, 2.0], [3.0, -1.0]])
    wanted = call(array, None)
    out = Tensor(np.zeros_like(wanted))
    assert call(Tensor(array), out) is out
    np.testing.assert_array_equal(out.data, wanted)


def test_numpys_function_fills_two_tensors():
    fraction, whole = Tensor([0.0]), Tensor([0.0])
    assert np.modf(Tensor([2.5]), out=(fraction, whole)) == (fraction, whole)
    assert (fraction.item(), whole.item()) == (0.5, 2.0)


def test_tensor_that_a_graph_needs_may_be_filled():
    x, factor = Tensor([3.0], requires_grad=True), Tensor([2.0])
    y = x * factor
    np.add(factor, 10.0, out=factor)
    y.backward()
    assert (x.grad.item(), factor.item()) == (2.0, 12.0)


@pytest.mark.parametrize(
    "move",
    [
        lambda a: np.moveaxis(a, 0, -1),
        lambda a: np.moveaxis(a, source=[0, 1], destination=[1, 2]),
        lambda a: np.ravel(a),
        lambda a: np.ravel(a, order="F"),
        lambda a: np.fliplr(a),
        lambda a: np.flipud(a),
        lambda a: np.rot90(a, 3, axes=(1, 2)),
        lambda a: np.atleast_1d(a),
        lambda a: np.atleast_2d(a),
        lambda a: np.atleast_3d(a[0]),
        lambda a: np.positive(a),
        lambda a: np.fabs(a),
    ],
)
def test_gradient_flows_through_numpys_functions_that_move_elements(move):
    array = np.arange(1.0, 25.0).reshape(2, 3, 4)
    x = Tensor(array, requires_grad=True)
    out, wanted = move(x), move(array)
    np.testing.assert_array_equal(out.data, wanted)
    weights = np.arange(1.0, 1.0 + wanted.size).reshape(wanted.shape)
    (out * weights).sum().backward()
    places = np.zeros(array.size)
    order = move(np.arange(array.size, dtype=float).reshape(array.shape)).astype(int)
    places[order.ravel()] = weights.ravel()
    np.testing.assert_array_equal(x.grad, places.reshape(array.shape))


def test_numpys_function_of_several_that_it_cannot_record_is_refused():
    with pytest.raises(TypeError, match=r"numpy.atleast_1d\(...\) records no graph"):
        np.atleast_1d(Tensor([1.0], requires_grad=True), Tensor([2.0]))


def test_masks_combine_to_masks():
    x = Tensor([-1.0, 0.5, 2.0], requires_grad=True)
    low, high = Tensor(x > 0), Tensor(x < 1)
    assert (low & high).tolist() == (low.data & high.data).tolist() == [False, True, False]
    assert (~low | high).tolist() == [True, True, False]
    assert (low ^ True).tolist() == [True, False, False]
    assert (~np.tril(Tensor(np.ones((2, 2), bool)))).tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize("call", [lambda t: ~t, lambda t: t & t, lambda t: t | 1])
def test_floats_have_no_bits(call):
    with pytest.raises(TypeError):
        call(Tensor([1.0]))
