"""NumPy's functions on Tensors: the rows of the table where there are any, and no gradient lost where there is none."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_helpers import parameter
from tensor_ops_list import OPS

import micrograd
from micrograd import Tensor, Value, gradient, lazy
from micrograd.tensor import protocols
from micrograd.tensor.functions import FUNCTIONS

A = np.array([[0.5, 0.7, 0.2], [0.1, 0.9, 0.4]])
SETTINGS: dict[str, tuple[Any, ...]] = {
    "reshape": ((3, 2),), "swapaxes": (0, 1), "expand_dims": (0,), "broadcast_to": ((4, 2, 3),), "astype": (float,),
    "roll": (1,), "repeat": (2,), "tile": (2,), "pad": (1,), "clip": (0.2, 0.6), "split": (3, 1),
    "take_along_axis": (np.array([[0], [2]]), 1),
}  # fmt: skip
SEVERAL = {"concatenate", "stack", "hstack", "vstack"}


def call(numpys: Any, name: str, x: Any) -> Any:
    """NumPy's function on x, with the arguments that it needs."""
    if name in SEVERAL:
        return numpys([x, x])
    if name == "einsum":
        return numpys("ij,ik->jk", x, A)
    if name == "where":
        return numpys(A > 0.4, x, 0.0)
    if name == "matmul":
        return numpys(x, A.T)
    if name == "dot":
        return numpys(x, A.T)
    row = micrograd.engine.ops.PUBLIC.get(name)
    if name in ("outer", "power") or (row is not None and row.to_b is not None) or name in OPERATORS:
        return numpys(x, A + 0.25)
    return numpys(x + (name == "arccosh"), *SETTINGS.get(name, ()))


OPERATORS = {ufunc.__name__ for ufunc in protocols.OPERATORS if ufunc is not np.negative}
COVERED = sorted(protocols.ROWS, key=lambda f: f.__name__)


@pytest.mark.parametrize("numpys", COVERED, ids=lambda f: f.__name__)
def test_a_function_of_numpys_gives_a_tensor_with_a_gradient(numpys: Callable):
    x = Tensor(A, requires_grad=True)
    found, expected = (call(numpys, numpys.__name__, y) for y in (x, A))
    many = isinstance(found, list)
    for part, wanted in zip(found if many else [found], expected if many else [expected], strict=True):
        assert isinstance(part, Tensor)
        assert part.requires_grad
        np.testing.assert_allclose(part.data, wanted, rtol=1e-14)


def test_every_function_that_numpy_has_too_is_covered():
    ours = {name for name in FUNCTIONS if hasattr(np, name) or hasattr(np.linalg, name)}
    assert ours == {made.__name__ for f, made in protocols.ROWS.items() if made.__name__ in ours}


@pytest.mark.parametrize(
    "f", [np.cumprod, np.add.reduce, np.cov, np.histogram, np.linalg.det, np.spacing], ids=lambda f: f.__name__
)
def test_a_function_without_a_row_raises_and_names_those_that_have_one(f: Callable):
    x = Tensor(np.eye(2), requires_grad=True)
    with pytest.raises(TypeError, match=r"numpy\..*detach\(\).*arccos.*einsum.*transpose"):
        f(x)
    assert x.grad is None


@pytest.mark.parametrize(
    "write",
    [
        np.copyto,
        lambda a, x: np.put(a, [0, 1], x),
        lambda a, x: np.add(a, x, out=a),
        lambda a, x: np.add.at(a, [0, 1], x),
        operator.iadd,
        operator.imul,
    ],
)
def test_nothing_writes_a_tensor_with_a_gradient_into_an_array(write: Callable):
    a = np.ones(2)
    with pytest.raises(TypeError, match="records no graph of a Tensor"):
        write(a, parameter(3, 4))
    assert a.tolist() == [1, 1]


@pytest.mark.parametrize("write", [lambda x: np.add.at(x, [0], 1.0), lambda x: np.put(x, [0], 1.0)])
def test_no_function_of_numpys_writes_to_a_tensor_with_a_gradient(write: Callable):
    x = parameter(3, 4)
    with pytest.raises(TypeError, match="records no graph of a Tensor"):
        write(x)
    assert x.tolist() == [3, 4]


@pytest.mark.parametrize(
    "fill", [lambda x: np.full_like(A, x[0]), lambda x: np.full_like(x, x[0]), lambda x: np.full_like(x, fill_value=x)]
)
def test_only_the_array_to_be_alike_loses_no_gradient(fill: Callable):
    with pytest.raises(TypeError, match="records no graph of a Tensor"):
        fill(parameter(3, 4))
    assert np.full_like(a=parameter(3, 4), fill_value=7.0).tolist() == [7, 7]


def test_what_carries_no_gradient_is_answered():
    x = parameter(3, 1, 2)
    assert (np.shape(x), np.ndim(x), np.size(x), np.argmax(x)) == ((3,), 1, 3, 0)
    assert np.argsort(x).tolist() == [1, 2, 0]
    assert np.allclose(x, [3, 1, 2])
    assert np.isfinite(x).all()
    assert np.zeros_like(x).tolist() == [0, 0, 0]
    assert np.array2string(x) == "[3. 1. 2.]"


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
def test_an_array_and_a_tensor_are_compared_in_either_order(compare: Callable):
    a, x = np.array([1.0, 2.0, 3.0]), parameter(3, 2, 1)
    assert compare(a, x).tolist() == compare(a, x.data).tolist()
    assert compare(x, a).tolist() == compare(x.data, a).tolist()


def test_an_operator_between_an_array_and_a_tensor_is_one_node():
    x = parameter(1, 2)
    for y in (np.ones(2) * x, x * np.ones(2), np.float64(2) * x, np.ones(2) % x, np.array(2.0) ** x):
        assert y._prev[0] is x or y._prev[1] is x


def test_a_lazy_tensor_is_taken_too():
    x = parameter(1, 2)
    with lazy():
        y = np.exp(x).sum() + np.sum(np.concatenate([x, x]))
    assert y.item() == pytest.approx(np.exp([1, 2]).sum() + 6)


def test_a_compiled_function_may_use_them():
    f = micrograd.compile(lambda x: np.sum(np.exp(x) * A) + np.einsum("ij,ij", x, A))
    x = Tensor(A, requires_grad=True)
    f(x).backward()
    np.testing.assert_allclose(x.grad, np.exp(A) * A + A, rtol=1e-14)


# ---- Values beside arrays


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: m.sum(x),
        lambda m, x: m.mean(m.exp(x)),
        lambda m, x: m.max(x) * m.min(x),
        lambda m, x: m.sum(m.maximum(x, 1.0) * m.tanh(x)),
        lambda m, x: m.sum(m.clip(x, 0.5, 1.5)),
        lambda m, x: m.sum(m.concatenate([x, x.reshape(-1)[:3].reshape(1, 3)])),
        lambda m, x: m.prod(m.reshape(x, -1)[:2]),
        lambda m, x: m.sum(m.dot(x, x.T)) + m.sum(m.outer(x, x)) + m.sum(m.vstack([x, x]) @ x[0]),
    ],
)
def test_an_array_of_values_goes_through_the_same_functions(function: Callable):
    """Inside `gradient(f)(3.0)` a number times an array is an array of Values."""
    slope = gradient(lambda r: function(micrograd, r * A))
    step = 1e-6
    for x in (1.3, 2.1):
        expected = (function(np, (x + step) * A) - function(np, (x - step) * A)) / (2 * step)
        assert slope(x) == pytest.approx(expected, rel=1e-6)


def test_numpys_own_functions_take_an_array_of_values():
    x = Value(2.0)
    y = np.sum(np.exp(x * np.array([1.0, 2.0])))
    y.backward()
    assert x.grad == pytest.approx(np.exp(2) + 2 * np.exp(4))


# ---- the words of other libraries


@pytest.mark.parametrize(
    ("use", "error", "word"),
    [
        (lambda t: t.view(2), AttributeError, "the word here is reshape"),
        (lambda t: t.permute(0), AttributeError, "the word here is transpose"),
        (lambda t: t.unsqueeze(0), AttributeError, "the word here is expand_dims"),
        (lambda t: t.clone(), AttributeError, r"the word here is t \* 1"),
        (lambda t: t.clamp(0, 1), AttributeError, "the word here is clip"),
        (lambda t: t.asin(), AttributeError, "the word here is arcsin"),
        (lambda t: t.einsum("i"), AttributeError, "the word here is micrograd.einsum"),
        (lambda t: Value(1.0).clamp(0, 1), AttributeError, "the word here is clip"),
        (lambda t: t.nonsense, AttributeError, "has no attribute 'nonsense'$"),
        (lambda t: micrograd.cat, AttributeError, "the word here is concatenate"),
        (lambda t: t.sum(dim=0), TypeError, "the word here is axis="),
        (lambda t: t.sum(0, keepdim=True), TypeError, "the word here is keepdims="),
        (lambda t: micrograd.mean(t, dim=0), TypeError, "the word here is axis="),
        (lambda t: t.softmax(dim=0), TypeError, "the word here is axis="),
        (lambda t: t.squeeze(dim=0), TypeError, "the word here is axis="),
    ],
)
def test_who_writes_the_word_of_another_library_is_told_the_one_here(use: Callable, error: Any, word: str):
    with pytest.raises(error, match=word):
        use(parameter(1, 2))


@pytest.mark.parametrize("name", ["view", "permute", "clone", "einsum"])
def test_what_is_merely_named_is_not_there(name: str):
    assert not hasattr(parameter(1), name)
    assert name not in dir(parameter(1))
    assert not hasattr(micrograd, "view")


def test_every_word_of_the_table_is_one_of_ours():
    from micrograd.engine.words import KEYWORDS, NAMES

    for other, word in NAMES.items():
        assert not hasattr(Tensor(A), other)
        assert not hasattr(Value(1.0), other)
        first = word.split("(")[0]
        assert " " in word or hasattr(Tensor, first) or hasattr(micrograd, first.removeprefix("micrograd.")), other
    assert set(KEYWORDS.values()) == {"axis", "keepdims", "ddof"}


def test_every_axis_comes_with_keepdims_where_it_reduces():
    for name in ("sum", "mean", "var", "std", "max", "min", "prod", "logsumexp", "norm", "argmax", "argmin"):
        assert getattr(Tensor(A), name)(axis=1, keepdims=True).shape == (2, 1)
    assert {op.name.split(":")[0] for op in OPS} >= {"norm", "logsumexp"}


def test_what_numpy_itself_finds_wrong_is_said_in_its_words():
    with pytest.raises(np.linalg.LinAlgError, match="at least two-dimensional"):
        np.linalg.det(parameter(2))
