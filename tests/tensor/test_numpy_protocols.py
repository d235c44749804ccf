"""NumPy's functions on Tensors: the rows of the table where there are any, and no gradient lost where there is none."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_helpers import parameter

import micrograd
from micrograd import Tensor, Value
from micrograd.common.trees import tree_map
from micrograd.common.words import NAMES
from micrograd.tensor import functions

A = np.array([[0.5, 0.7, 0.2], [0.1, 0.9, 0.4]])
COVERED = sorted(functions.ROWS, key=lambda f: f.__name__)
KEYWORDS: dict[str, Any] = {  # a value of each that is not the default
    "axis": 1, "keepdims": True, "ddof": 1, "correction": 1, "dtype": np.float32, "initial": 0.5, "where": A > 0.15,
    "out": np.empty((2, 3)), "mean": np.full((1, 1), 0.4), "k": 1, "ord": 3, "order": "F", "copy": True,
    "kind": "stable", "casting": "unsafe",
    "stable": True, "descending": True, "decimals": 1, "a_min": 0.2, "a_max": 0.6, "min": 0.2, "max": 0.6,
    "subok": True, "device": "cpu", "optimize": True, "mode": "edge", "constant_values": (1, 2), "end_values": 3.0,
    "stat_length": 1, "reflect_type": "odd", "axes": (1, 0), "indices_or_sections": 1, "shift": 1, "repeats": 2,
    "reps": 2, "pad_width": 1, "indices": np.array([[0], [2]]), "shape": (3, 2), "newshape": (3, 2), "axis1": 0,
    "axis2": 1, "source": 0, "destination": 1,
}  # fmt: skip
MORE = {
    "pad": ("constant_values", "end_values", "stat_length", "reflect_type"),
    "einsum": ("dtype", "order", "casting"),
}
MODES = {"end_values": "linear_ramp", "stat_length": "maximum", "reflect_type": "reflect", "mode": "edge"}
OPERANDS: dict[Any, Callable[[Any], tuple]] = {  # of a function that takes others than one array, or that one twice
    np.einsum: lambda x: ("ij,jk", x, A.T), np.where: lambda x: (A > 0.4, x, 0.0), np.astype: lambda x: (x, float),
    np.dot: lambda x: (x, A.T), np.matmul: lambda x: (x, A.T), np.outer: lambda x: (x, A),
    np.broadcast_to: lambda x: (x, (4, 2, 3)), np.arccosh: lambda x: (x + 1,),
    **dict.fromkeys((np.concatenate, np.stack, np.hstack, np.vstack), lambda x: ([x, x],)),
}  # fmt: skip


def keywords() -> list[tuple[Callable, str]]:
    """Each function of NumPy's that has a row, without a keyword and with each of its keywords."""
    pairs = [(f, "") for f in COVERED]
    for f in COVERED:
        if not isinstance(f, np.ufunc):
            pairs += [(f, p.name) for p in parameters(f)[1:] if p.kind not in (p.VAR_KEYWORD, p.POSITIONAL_ONLY)]
            pairs += [(f, name) for name in MORE.get(f.__name__, ())]
    return pairs


def parameters(f: Callable) -> list[inspect.Parameter]:
    try:
        return [*inspect.signature(f).parameters.values()]
    except ValueError:  # an older NumPy does not tell those of what is written in C
        return []


def called(f: Any, name: str, x: Any) -> Any:
    """NumPy's function on x with the keyword, and else what it needs."""
    named: dict[str, Any] = {name: KEYWORDS[name]} if name in KEYWORDS else {}
    operands = OPERANDS[f](x) if f in OPERANDS else (x,)
    if isinstance(f, np.ufunc):
        return f(*operands, *[A + 0.25] * (f.nin - len(operands)))
    for p in parameters(f)[len(operands) :]:
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in named:
            named[p.name] = KEYWORDS[p.name]
    if f is np.pad:
        named["mode"] = MODES.get(name, "constant")
    if f is np.clip and name not in ("min", "max"):
        named |= {"a_min": 0.2, "a_max": 0.6}
    if f is np.expand_dims:
        named["axis"] = (0, 2)
    if f is np.linalg.norm and name == "ord":
        named["axis"] = 0
    if name == "where" and f in (np.max, np.min, np.amax, np.amin):
        named["initial"] = 0.5
    if f is np.dot and name == "out":
        named["out"] = np.empty((2, 2))
    return f(*operands, **named)


@pytest.mark.parametrize(("f", "name"), keywords(), ids=lambda x: getattr(x, "__name__", x))
def test_function_and_keyword_of_numpys_work_as_in_numpy_or_the_keyword_is_named_in_an_error(f: Callable, name: str):
    try:
        expected = called(f, name, A)
    except (TypeError, ValueError):
        assert name
        return  # NumPy refuses the keyword too
    if name != "out":
        np.testing.assert_allclose(np.asarray(called(f, name, Tensor(A))), expected, rtol=1e-14)
    x = Tensor(A, requires_grad=True)
    try:
        found = called(f, name, x)
    except TypeError as error:
        assert name and re.search(rf"\b{name}=", str(error)), error  # noqa: PT017, PT018
    else:
        for part, wanted in zip(*[y if isinstance(y, list) else [y] for y in (found, expected)], strict=True):
            np.testing.assert_allclose(part.data, wanted, rtol=1e-14)
            assert part.requires_grad


FORMS: dict[str, Callable] = {
    "clip low alone": lambda t: np.clip(t, 0.2, None),
    "split at": lambda t: np.split(t, [1], axis=1)[1],
    "expand_dims back": lambda t: np.expand_dims(t, [-1, 0]),
    "round to tens": lambda t: np.round(t * 100, -1),
    "sum by position": lambda t: np.sum(t, 1, None, None, True),
    "reshape": lambda t: np.reshape(t, (3, 2), order="C"),
    "concatenate": lambda t: np.concatenate((t, t), 1, None),
    "std": lambda t: np.std(t, 0, None, None, 1),
}
if "min" in inspect.signature(np.clip).parameters:  # since NumPy 2.1
    FORMS["clip min"] = lambda t: np.clip(t, min=0.2, max=0.6)


def test_function_without_a_signature_is_understood_by_its_positions(monkeypatch: pytest.MonkeyPatch):
    def signature(function: Callable) -> inspect.Signature:
        if function is np.concatenate:  # written in C, and without one before NumPy 2.4
            raise ValueError
        return inspect.signature(function)

    monkeypatch.setattr("micrograd.tensor.functions._signature", signature)
    test_form_of_numpys_is_understood(FORMS["concatenate"])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_form_of_numpys_is_understood(form: Callable):
    x = Tensor(A, requires_grad=True)
    out = form(x)
    np.testing.assert_allclose(out.data, form(A), rtol=1e-14)
    assert out.requires_grad


BY_KEYWORD: dict[str, dict[str, Any]] = {  # what the function of NumPy's takes, by NumPy's names
    "clip": {"a_min": 0.2, "a_max": 0.6},
    "split": {"ary": A, "indices_or_sections": [1]},
    "take_along_axis": {"arr": A, "indices": np.array([[0], [2]]), "axis": 1},
    "where": {"condition": A > 0.4, "x": A, "y": 0.0},
    "concatenate": {"arrays": [A, A]},
    "hstack": {"tup": [A, A]},
    "tril": {"m": A, "k": 1},
    "tile": {"A": A, "reps": 2},
}


@pytest.mark.parametrize("name", BY_KEYWORD)
def test_function_here_takes_the_keywords_of_numpys(name: str):
    named, given = BY_KEYWORD[name], [A] if name == "clip" else []
    positional = name in ("where", "concatenate")  # which NumPy has written in C
    expected = getattr(np, name)(*named.values()) if positional else getattr(np, name)(*given, **named)
    np.testing.assert_equal(getattr(micrograd, name)(*given, **named), expected)
    tensors = tree_map(lambda x: Tensor(A) if x is A else x, (given, named))
    found = getattr(micrograd, name)(*tensors[0], **tensors[1])
    assert {type(part) for part in (found if isinstance(found, list) else [found])} == {Tensor}


@pytest.mark.parametrize(("low", "high"), [("min", "max"), ("a_min", "a_max"), ("low", "max")])
def test_method_clip_takes_the_keywords_of_numpys(low: str, high: str):
    x = Tensor(A, requires_grad=True)
    np.testing.assert_array_equal(x.clip(**{low: 0.2, high: 0.6}).data, A.clip(0.2, 0.6))
    np.testing.assert_array_equal(x.clip(**{high: 0.6}).data, A.clip(None, 0.6))


def test_setting_given_under_two_names_is_refused():
    for clip in (Tensor(A).clip, lambda **named: micrograd.clip(A, **named)):
        with pytest.raises(TypeError, match="min"):
            clip(low=0, min=1)


def test_positional_argument_that_has_no_counterpart_is_named():
    with pytest.raises(TypeError, match=r"numpy\.sum\(\.\.\., dtype=\).*leave out dtype="):
        np.sum(parameter(1, 2), 0, float)
    with pytest.raises(TypeError, match="min"):
        np.clip(parameter(1, 2), 0, 1, min=0.5)


def test_where_without_choices_gives_the_places():
    assert np.where(parameter(0, 2, 3))[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    "f", [np.cumprod, np.add.reduce, np.cov, np.histogram, np.linalg.det, np.spacing], ids=lambda f: f.__name__
)
def test_function_without_a_row_raises_and_names_those_that_have_one(f: Callable):
    x = Tensor(np.eye(2), requires_grad=True)
    with pytest.raises(TypeError, match=r"numpy\..*detach\(\).*arccos.*einsum.*transpose"):
        f(x)
    assert x.grad is None


WRITTEN: list[Callable[[np.ndarray, Tensor], Any]] = [  # an array with a Tensor, or a Tensor, by a function of NumPy's
    np.copyto,
    lambda a, x: np.put(a, [0, 1], x),
    lambda a, x: np.add.at(a, [0, 1], x),
    operator.iadd,
    lambda a, x: np.add.at(x, [0], 1.0),
    lambda a, x: np.full_like(A, x[0]),
    lambda a, x: np.full_like(x, fill_value=x),
]


@pytest.mark.parametrize("write", WRITTEN)
def test_numpy_writes_no_tensor_with_a_gradient_and_to_none(write: Callable):
    a, x = np.ones(2), parameter(3, 4)
    with pytest.raises(TypeError, match="records no graph of a Tensor"):
        write(a, x)
    assert (a.tolist(), x.tolist()) == ([1, 1], [3, 4])
    assert np.full_like(a=x, fill_value=7.0).tolist() == [7, 7]


def test_numpy_functions_without_a_gradient_answer():
    x = parameter(3, 1, 2)
    assert (np.shape(x), np.ndim(x), np.size(x), np.argmax(x)) == ((3,), 1, 3, 0)
    assert np.argsort(x).tolist() == [1, 2, 0]
    assert np.allclose(x, [3, 1, 2])
    assert np.isfinite(x).all()
    assert np.zeros_like(x).tolist() == [0, 0, 0]
    assert np.array2string(x) == "[3. 1. 2.]"


def test_operator_between_an_array_and_a_tensor_is_one_node():
    x = parameter(1, 2)
    for y in (np.ones(2) * x, x * np.ones(2), np.float64(2) * x, np.ones(2) % x, np.array(2.0) ** x):
        assert y._prev[0] is x or y._prev[1] is x


# ---- Values beside arrays


def test_our_functions_of_an_array_of_values_name_numpys():
    values = np.array([Value(1.0)])
    for f in (micrograd.exp, micrograd.sum, micrograd.concatenate, micrograd.clip):
        with pytest.raises(TypeError, match=r"np\.exp, np\.sum|dtype object"):
            f(values)


# ---- the words of other libraries


@pytest.mark.parametrize(
    ("use", "error", "word"),
    [
        (lambda t: t.view(2), AttributeError, "the word here is reshape"),
        (lambda t: t.clone(), AttributeError, r"the word here is t \* 1"),
        (lambda t: t.clamp(0, 1), AttributeError, "the word here is clip"),
        (lambda t: t.einsum("i"), AttributeError, "the word here is micrograd.einsum"),
        (lambda t: Value(1.0).clamp(0, 1), AttributeError, "the word here is clip"),
        (lambda t: t.nonsense, AttributeError, "has no attribute 'nonsense'$"),
        (lambda t: micrograd.cat, AttributeError, "the word here is concatenate"),
        (lambda t: t.sum(dim=0), TypeError, "the word here is axis="),
        (lambda t: t.sum(0, keepdim=True), TypeError, "the word here is keepdims="),
    ],
)
def test_keywords_of_another_library_are_answered_by_the_one_here(use: Callable, error: Any, word: str):
    with pytest.raises(error, match=word):
        use(parameter(1, 2))


def test_every_word_of_the_table_is_one_of_ours():
    for other, word in NAMES.items():
        assert not any(hasattr(x, other) or other in dir(x) for x in (Tensor(A), Value(1.0)))
        first = word.split("(")[0]
        assert " " in word or hasattr(Tensor, first) or hasattr(micrograd, first.removeprefix("micrograd.")), other


def test_numpys_own_errors_keep_their_words():
    with pytest.raises(np.linalg.LinAlgError, match="at least two-dimensional"):
        np.linalg.det(parameter(2))
