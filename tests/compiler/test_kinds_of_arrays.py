"""Arrays of every dtype, byte order, place in memory and class, and integers at their borders, on every back end."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compile_helpers import JAX, LOOPED, NEEDS_BACKENDS, C, in_node, looped, same, with_gradients

import micrograd
from micrograd import Tensor, Value, compile
from micrograd.optim import SGD, Adam, AdamW

IN_NUMPY = ["python", "numpy", C]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of what wraps, overflows or divides by 0

# ---------------------------------------------------------------------------------------------------------------------
# Integers at their borders

INTEGERS = ["bool", *(f"{kind}{n}" for kind in ("int", "uint") for n in (8, 16, 32, 64))]
OPS = [np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.maximum, np.minimum]
OPS += [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal]
SAFE = 2**53 - 1  # to which JavaScript's integers are exact


def borders(dtype: str, target: str) -> np.ndarray:
    """The numbers at which integers of this dtype wrap; and in JavaScript those whose products are exact."""
    if dtype == "bool":
        return np.array([False, True])
    info = np.iinfo(dtype)
    found = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2 + 1, 0, 1, 2, 7, -1, -2, -7]
    if info.bits == 64 and target == "javascript":
        found = [0, 1, 2, 7, 94906265, 2**32 - 1, 2**31, -1, -2, -7, -(2**31)]
    return np.array([x for x in found if info.min <= x <= info.max], dtype)


def is_exact(x: np.ndarray, target: str) -> bool:
    """True if a back end has all of these numbers."""
    return target != "javascript" or x.dtype.kind == "f" or bool((abs(x.astype(float)) <= SAFE).all())


def same_integers(target: str, cases: list[tuple[Callable, list[np.ndarray]]], *inputs: np.ndarray) -> None:
    """The same dtypes and numbers as NumPy's, of functions of some of the inputs, in one program."""
    expected = [np.asarray(f(*operands)) for f, operands in cases]
    kept = [i for i, x in enumerate(expected) if is_exact(x, target)]
    place = {id(x): i for i, x in enumerate(inputs)}

    def each(*xs: Any) -> list[Any]:
        return [cases[i][0](*(xs[place[id(a)]] for a in cases[i][1])) for i in kept]

    found = looped(target, each, *map(Tensor, inputs))
    for x, i in zip(found, kept, strict=True):
        assert x.dtype == expected[i].dtype
        np.testing.assert_array_equal(x, expected[i], f"case {i}")


@pytest.mark.parametrize("target", LOOPED)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_any_two_dtypes_are_those_of_numpy_at_their_borders(dtype: str, target: str):
    a, others = borders(dtype, target)[:, None], [borders(other, target) for other in INTEGERS]
    pairs = [(op, [a, b]) for op in OPS for b in others if {a.dtype.kind, b.dtype.kind} != {"b"} or op.nin < 2]
    alone = [np.negative, np.absolute, np.sign, lambda x: abs(-x), *((lambda x, n=n: x**n) for n in (0, 1, 2, 3, 5))]
    same_integers(target, pairs + [(op, [a]) for op in alone if dtype != "bool"], a, *others)


@pytest.mark.parametrize("target", LOOPED)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_sums_and_products_of_integers_are_those_of_numpy_at_their_borders(dtype: str, target: str):
    few = borders(dtype, target)[:4].reshape(2, -1)
    a, b = few, np.ascontiguousarray(few[:, ::-1].T)
    ints = np.array([0, 1, 1])
    cases = [(lambda x, y: x @ y, [a, b]), (lambda x, y: x[0] @ y[:, 0], [a, b])]
    cases += [(lambda x, axis=axis: x.sum(axis), [a]) for axis in (None, 0, 1)]
    cases += [(lambda x: x.max(0), [a]), (lambda x: x.cumsum(1), [a]), (lambda x: x[ints], [a])]
    cases += [(lambda x, y: micrograd.einsum("ij,jk,il->ikl", x, y, x) if isinstance(x, Tensor) else
               np.einsum("ij,jk,il->ikl", x, y, x), [a, b])]  # fmt: skip
    same_integers(target, cases, a, b)


@pytest.mark.parametrize("target", LOOPED)
def test_integers_compare_with_numbers_that_their_dtype_cannot_hold(target: str):
    inputs = [borders(dtype, target) for dtype in INTEGERS[1:]]
    numbers = [-1, 300, 2**40, -(2**70), 2**70]
    cases = [(lambda x, op=op, n=n: op(x, n), [x]) for x in inputs for op in OPS[7:] for n in numbers]
    same_integers(target, cases, *inputs)


BEYOND: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "product": (lambda x: x * x, np.array([2**27])),
    "product of int32 and uint32": (lambda x: x * np.array([2**32 - 1], np.uint32), np.array([2**31 - 1], np.int32)),
    "power": (lambda x: x**3, np.array([2**18, 1])),
    "sum": (lambda x: x.sum(), np.array([2**52, 2**52, 2**52])),
    "sum along an axis": (lambda x: x.sum(0), np.array([[2**52, 1], [2**52, 2]])),
    "running sum": (lambda x: x.cumsum(0), np.array([2**52, 2**52, -(2**52)])),
    "product of matrices": (lambda x: x @ x, np.array([[2**26, 0], [0, 2**27]])),
    "unsigned difference": (lambda x: x - 3, np.array([2], np.uint64)),
}


@pytest.mark.parametrize("what", BEYOND)
@pytest.mark.parametrize("target", [t for t in LOOPED if t is not C])
def test_module_stops_at_an_integer_that_javascript_does_not_have(what: str, target: str):
    f, x = BEYOND[what]
    compiled = compile(f)
    compiled(x)
    call = f"step({json.dumps({'x': x.tolist()})})"
    assert "JavaScript's are exact" in in_node(
        compiled, f"(() => {{ try {{ return {call}; }} catch (error) {{ return error.message; }} }})()"
    )


# ---------------------------------------------------------------------------------------------------------------------
# Places, byte orders and classes of arrays


def misaligned(a: np.ndarray) -> np.ndarray:
    out = np.ndarray(a.shape, a.dtype, buffer=np.zeros(a.nbytes + 1, np.uint8), offset=1)
    out[...] = a
    return out


def read_only(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a.flags.writeable = False
    return a


X = np.arange(1.0, 13.0).reshape(3, 4)
ARRAYS: dict[str, np.ndarray] = {
    "of columns": np.asfortranarray(X),
    "turned": X[::-1, ::-1],
    "with gaps": np.repeat(X, 2, 1)[:, ::2],
    "read-only": read_only(X),
    "misaligned": misaligned(X),
    "repeated": np.broadcast_to(X[0], (3, 4)),
    "of no dimensions": np.array(3.0),
    "empty": np.zeros((0, 4)),
    "without columns": np.zeros((3, 0)),
    **{f"of {dtype}": X.astype(dtype) for dtype in (">f8", ">f4", ">i2", ">i8", ">u8", "f4", "i1", "u4", "?")},
    "of columns of >f8": np.asfortranarray(X.astype(">f8")),
    "misaligned, of >f8": misaligned(X.astype(">f8")),
    "of no dimensions, of >f8": np.array(3.0, ">f8"),
    "large, of >u8": X.astype(">u8") + np.uint64(2**63),
}
HOW: dict[str, Callable[[Any, str], Any]] = {
    "an argument": lambda a, backend: compile(lambda x: x * 2 + 1, backend=backend)(a),
    "a Tensor": lambda a, backend: compile(lambda x: x * 2 + 1, backend=backend)(Tensor(a)),
    "closed over": lambda a, backend: compile(lambda one: one * 2 * a + 1, backend=backend)(np.ones((), a.dtype)),
    "a Tensor closed over": lambda a, backend: HOW["closed over"](Tensor(a), backend),
}


@pytest.mark.parametrize("backend", IN_NUMPY)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", ARRAYS)
def test_array_of_any_kind_is_computed_on_as_without_a_program(kind: str, how: str, backend: str):
    a = ARRAYS[kind]
    expected = Tensor(np.ones((), a.dtype)) * 2 * a + 1 if "closed" in how else Tensor(a) * 2 + 1
    found = HOW[how](a, backend).data
    assert (type(found), found.dtype, found.tolist()) == (np.ndarray, expected.dtype, expected.data.tolist())


@pytest.mark.parametrize("backend", IN_NUMPY)
@pytest.mark.parametrize("kind", ["of columns", "of >f8", "of columns of >f8", "of >f4", "of no dimensions, of >f8"])
def test_parameter_of_any_kind_is_updated_where_it_is(kind: str, backend: str):
    w = Tensor(ARRAYS[kind], requires_grad=True)
    memory, before = w.data, w.data.copy()
    step = compile(lambda: (w * w).sum(), update=SGD([w], lr=0.25), backend=backend)
    assert [step().item(), step().item()] == [(before**2).sum(), (before**2).sum() / 4]
    assert w.data is memory or np.shares_memory(w.data, memory)
    np.testing.assert_allclose(np.asarray(w.data, float), before / 4)


@pytest.mark.parametrize("backend", ["eager", *IN_NUMPY])
def test_mapped_file_is_an_array(backend: str, tmp_path: Path):
    mapped = np.memmap(tmp_path / "numbers", float, "w+", shape=(3,))
    mapped[:] = [1, 2, 3]
    x = Tensor([1.0, 1.0, 2.0], requires_grad=True)
    f = lambda x, y: (x * mapped + y * x).sum()  # noqa: E731
    g = f if backend == "eager" else compile(f, backend=backend)
    out, *grads = with_gradients(g, [x], x, mapped if backend != "eager" else Tensor(mapped))
    assert (out, grads[0].tolist(), type(grads[0])) == (18.0, [2, 4, 6], np.ndarray)
    assert type((x * mapped).data) is np.ndarray


class Times(np.ndarray):
    """Arrays with a product of their own."""

    def __mul__(self, other: Any) -> Any:
        return "a product"


OTHERS = {
    "matrix": X.view(np.matrix),
    "MaskedArray": np.ma.array(X, mask=X > 5),
    "Times": X.view(Times),
    "recarray": np.zeros(2, "f8, i4").view(np.recarray),
    "complex128": X + 0j,
    "object": X.astype(object),
    "timedelta64": X.astype("m8[s]"),
}


@pytest.mark.parametrize("settings", [{}, {"scalars": True}, {"batch": True}, {"backend": "numpy"}])
@pytest.mark.parametrize("name", OTHERS)
def test_argument_of_a_class_or_dtype_with_rules_of_its_own_is_refused(name: str, settings: dict[str, Any]):
    for given in (OTHERS[name], [OTHERS[name]]):
        with pytest.raises(TypeError, match=f"{name}.*takes plain arrays of real numbers"):
            compile(lambda x: x * x, **settings)(given)


def test_plain_array_is_computed_on_after_one_of_another_class_was_refused():
    f = compile(lambda x: x * 2.0)
    f(X)
    with pytest.raises(TypeError, match="matrix"):
        f(X.view(np.matrix))
    np.testing.assert_array_equal(f(X).data, X * 2)


@pytest.mark.parametrize("kind", [Value, lambda x: Tensor([x], requires_grad=True), Tensor])
@pytest.mark.parametrize("mask", [[False, True], False])
@pytest.mark.parametrize("op", [np.ma.multiply, np.ma.add, np.ma.power, lambda a, b: a / b, lambda a, b: a < b])
def test_masked_arrays_and_nodes_do_not_meet(op: Callable, mask: Any, kind: Callable):
    """A masked array read a Value's number, past its history: the product had no gradient."""
    masked, node = np.ma.array([1.0, 2.0], mask=mask), kind(3.0)
    for operands in ((masked, node), (node, masked)):
        with pytest.raises((TypeError, RuntimeError), match=r"masked array|found MaskedArray|requires a gradient"):
            op(*operands)


@pytest.mark.parametrize("target", LOOPED)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_clip_has_one_bound_two_or_none(dtype: str, target: str):
    bounds = [*itertools.product((None, 2, 3.5), (None, 9, 7.5))]
    arrays = [X.astype(dtype), np.array(3, dtype), np.zeros((0, 2), dtype)]
    f = lambda *xs: [x.clip(*pair) for x in xs for pair in bounds]  # noqa: E731
    same(looped(target, f, *map(Tensor, arrays)), [y.data for y in f(*map(Tensor, arrays))])


@pytest.mark.parametrize("constant", [X.astype(np.float16), X.astype(np.longdouble), np.longdouble(2)])
@pytest.mark.parametrize("backend", [C])
def test_constant_of_a_dtype_that_c_lacks_is_refused_by_name(constant: Any, backend: str):
    with pytest.raises(RuntimeError, match=rf"backend='c' has no {constant.dtype}: use numpy"):
        compile(lambda x: x * constant, backend=backend)(X.astype(np.float32))


# ---------------------------------------------------------------------------------------------------------------------
# Sorting

TIES = np.array([[2, 0, 2, 1, 0], [1, 1, 1, 1, 1], [0, 5, 2, 5, 3]])


@pytest.mark.parametrize("target", LOOPED)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "i8", "u8", "?"])
def test_arrays_are_sorted_as_numpy_sorts_them(dtype: str, target: str):
    """Along every axis, stably, with nan last: which of equals comes first shows in the gradient."""
    a = TIES.astype(dtype)
    if a.dtype.kind == "f":
        a[0, 1] = a[2, 2] = np.nan
        a[0, 4] = -0.0
    arrays = [a, np.stack([a, a[::-1]]), a[:1], a[:, :1], np.zeros((0, 3), dtype), np.zeros((3, 0), dtype)]

    def each(*xs: Any) -> list[Any]:
        return [x.sort(axis) for x in xs for axis in (None, *range(x.ndim), -1)]

    same(looped(target, each, *map(Tensor, arrays)), [x.data for x in each(*map(Tensor, arrays))])
    if a.dtype.kind == "f":
        weights = np.arange(15.0).reshape(3, 5)
        order = micrograd.gradient(lambda x: (x.sort(0) * weights).sum() + (x.sort(1) * weights).sum())
        same(looped(target, order, np.nan_to_num(a)), [order(np.nan_to_num(a))])


@NEEDS_BACKENDS
@pytest.mark.parametrize("f", [lambda x: x.sort(), lambda x: x.sort(0), lambda x: micrograd.gradient(sorted_sum)(x)])
def test_sorting_takes_no_loop_over_pairs(f: Callable):
    """Each row is sorted by one call, of n log n steps."""
    from micrograd.backends.loops import Loops

    x = np.arange(35.0).reshape(7, 5)
    compiled = compile(f)
    compiled(x)
    assert max(np.prod(loop.shape) for loop in Loops(compiled.lowered).loops) <= x.size


def sorted_sum(x: Any) -> Any:
    return (x.sort() * np.arange(5.0)).sum()


# ---------------------------------------------------------------------------------------------------------------------
# Programs with one text, and frozen Values


@pytest.mark.parametrize("backend", [C])
def test_programs_with_one_text_run_in_threads_of_their_own(backend: str):
    """They have one library, and it has one place for the arrays of a step."""
    x = np.linspace(0.0, 1.0, 20_000)
    made = [compile(lambda x, k=x + k: (x * k - (x * k).max()).exp().sum(), backend=backend) for k in range(3)]
    expected = [f(x).item() for f in made]
    wrong: list[float] = []

    def run(f: Any, answer: float) -> None:
        wrong.extend(found for _ in range(60) if (found := f(x).item()) != answer)

    threads = [threading.Thread(target=run, args=pair) for pair in zip(made, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {f.source for f in made} == {made[0].source}
    assert wrong == []


OPTIMIZERS = {
    "SGD": lambda ps: SGD(ps, lr=0.01),
    "momentum": lambda ps: SGD(ps, lr=0.01, momentum=0.9, weight_decay=0.1),
    "Adam": lambda ps: Adam(ps, lr=0.01),
    "AdamW": lambda ps: AdamW(ps, lr=0.01),
}


@pytest.mark.parametrize("backend", IN_NUMPY)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("first", [True, False], ids=["before the first step", "after it"])
def test_values_that_are_frozen_are_trained_as_without_a_program(first: bool, optimizer: str, backend: str):
    points = np.random.default_rng(0).normal(size=(40, 4))

    def trained(compiled: bool) -> list[list[float]]:
        seen = []
        ws = [Value(0.1 * i - 0.2) for i in range(4)]
        loss: Any = lambda points: sum((sum(w * x for w, x in zip(ws, p, strict=True)) ** 2 - 1) ** 2 for p in points)  # noqa: E731
        opt = OPTIMIZERS[optimizer](ws)
        step = compile(loss, update=opt, backend=backend, scalars=True)
        for frozen in ([2], [2, 3], []) if first else ([], [2], [2, 3], []):
            for i, w in enumerate(ws):
                w.requires_grad = i not in frozen
            if compiled:
                step(points)
            else:
                opt.zero_grad()
                loss(points.tolist()).backward()
                opt.step()
            seen.append([w.data for w in ws])
        return seen

    found = trained(True)
    same(found, trained(False))
    assert found[-3][2] == found[-2][2] != found[-1][2]


@pytest.mark.parametrize("target", ["python", "numpy", *LOOPED, JAX])
@pytest.mark.parametrize(
    "f", [lambda x, n: x.var(ddof=n), lambda x, n: x.std(0, ddof=n), lambda x, n: x.sum() / (2 - n)]
)
def test_variance_with_few_degrees_of_freedom_is_that_without_a_program(f: Callable, target: str):
    each = lambda x: [y for n in (0, 1, 2, 3, 5) for y in (f(x, n), f(x * 0.0, n))]  # noqa: E731
    x = Tensor([1.0, 2.0])
    found = (
        looped(target, each, x) if target in ("c", "javascript") else [y.data for y in compile(each, backend=target)(x)]
    )
    np.testing.assert_allclose(found, [y.data for y in each(x)], rtol=1e-14)


CHOICES = [(1, 0), (True, False), (1, 0.5), ([2, 3], 0), (0, [2.0, 3.0]), (np.float32([2, 3]), 0), (np.int8(2), 1)]


@pytest.mark.parametrize("backend", ["numpy", C, JAX])
@pytest.mark.parametrize(("a", "b"), CHOICES, ids=str)
def test_choice_among_constants_has_the_dtype_that_numpy_gives_it(a: Any, b: Any, backend: str):
    x = Tensor([1.0, -1.0])
    found = compile(lambda x: micrograd.where(x > 0, a, b), backend=backend)(x)
    same([found.data], [np.where(x.data > 0, a, b)])


@pytest.mark.parametrize("backend", ["numpy", C, JAX])
@pytest.mark.parametrize("op", [np.add, np.multiply, np.maximum, np.equal, np.logical_or])
def test_mask_meets_a_bool(op: Callable, backend: str):
    x = Tensor([1.0, -1.0])
    same([compile(lambda x: op(x > 0, True), backend=backend)(x).data], [op(x.data > 0, True)])


MASKED: dict[str, Callable[[Any], Any]] = {
    "mask * x": lambda x: (x > 0) * x,
    "x * mask": lambda x: x * (x > 0),
    "numbers of the mask": lambda x: (x > 0).astype(float) * x,
    "a sum": lambda x: ((x > 0) * x).sum(),
    "a product of matrices": lambda x: (x > 0) @ x,
    "a part of an integer": lambda x: (x > 0) * 2 * x,
}


@pytest.mark.parametrize("f", MASKED.values(), ids=MASKED)
@pytest.mark.parametrize("backend", ["numpy", C, JAX])
def test_mask_times_a_number_that_is_none_is_none(f: Callable, backend: str):
    """XLA made a selection of it, so nan and infinity became 0 where the mask is False."""
    x = Tensor([np.nan, np.inf, -np.inf, 1.0, -2.0])
    same([compile(f, backend=backend)(x).data], [f(x).data])
