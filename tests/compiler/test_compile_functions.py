"""Functions of arrays, indices and einsum: compiled they give what they give eagerly, first and second order."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, mul, pow, sub, truediv
from typing import Any

import numpy as np
import pytest
from compile_helpers import BACKENDS, near

import micrograd
from micrograd import Tensor, Value, concatenate, einsum, grad, stack, take_along_axis, value_and_grad, where

RNG = np.random.default_rng(0)
A, B, SQUARE, CUBE = (RNG.normal(size=shape) for shape in ((3, 4), (4, 5), (3, 3), (2, 3, 4)))

FUNCTIONS: dict[str, tuple[Callable, tuple[np.ndarray, ...]]] = {
    "stack": (lambda a, b: stack([a, b], 1), (A, A * 2)),
    "concatenate": (lambda a, b: concatenate([a, b], 0), (A, A * 2)),
    "slices put together": (lambda a: concatenate([a[:, :2].tanh(), a[:, 2:].exp()], 1), (A,)),
    "where by a comparison": (lambda a, b: where(a > b, a, b * 2), (A, A[::-1].copy())),
    "where by an array": (lambda a, b: where(A > 0, a, b * 2), (A, A[::-1].copy())),
    "rows by a list": (lambda a: a[[0, 2, 2]], (A,)),
    "elements by two lists": (lambda a: a[[0, 2, 0], [1, 1, 1]], (A,)),
    "rows by an argument": (lambda a, places: a[places], (A, np.array([0, 2, 2]))),
    "take_along_axis": (lambda a, places: take_along_axis(a, places, 1), (A, np.array([[0], [2], [1]]))),
    "a new axis": (lambda a: a[:, None, ::2], (A,)),
    "an ellipsis": (lambda a: a[..., 0], (CUBE,)),
    "backwards": (lambda a: a[::-1], (A,)),
    "a mask that is an array": (lambda a: a[A > 0], (A,)),
    "row by row": (lambda a: sum(row * i for i, row in enumerate(a)), (A,)),
    "two reductions": (lambda a: a.max(0) * a.min(1).sum(), (A,)),
}
FUNCTIONS |= {
    f"einsum {subscripts}": (lambda *xs, subscripts=subscripts: einsum(subscripts, *xs), arrays)
    for subscripts, *arrays in [
        ("ij,jk->ik", A, B),
        ("ii->i", SQUARE),
        ("ii->", SQUARE),
        ("i,j->ij", A[0], B[0]),
        ("bij,jk->bik", CUBE, B),
        ("...ij,jk->...ik", CUBE, B),
        ("ij->j", A),
        ("ij,jk,k->i", A, B, B[0]),
    ]
}


def inputs_of(arrays: Any) -> list[Tensor]:
    return [Tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]


def gradients(call: Callable, arrays: Any) -> list[np.ndarray]:
    xs = inputs_of(arrays)
    out = call(*xs)
    (out * out).sum().backward()
    return [out.detach().data, *(x.grad for x in xs if x.requires_grad)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_arrays_is_the_same_compiled(name: str):
    call, arrays = FUNCTIONS[name]
    compiled = micrograd.compile(call)
    for scale in (1.0, 1.25):
        scaled = [a * scale if a.dtype.kind == "f" else a for a in arrays]
        for found, expected in zip(gradients(compiled, scaled), gradients(call, scaled), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, strict=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_arrays_has_the_same_second_derivatives_compiled(name: str):
    call, arrays = FUNCTIONS[name]

    def square(*xs: Any) -> Any:
        found = grad((call(*xs) ** 3).sum(), [x for x in xs if x.dtype.kind == "f"], create_graph=True)
        return sum((g * g).sum() for g in found)

    seen = []
    for f in (micrograd.compile(square), square):
        xs = inputs_of(arrays)
        f(*xs).backward()
        seen.append([x.grad for x in xs if x.requires_grad])
    for found, expected in zip(*seen, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11, strict=True)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_clip_of_numbers_is_compiled_with_its_gradient(backend: str):
    f = lambda xs: sum(micrograd.clip(x, 0, 1) * x + micrograd.clip(x, None, 0.5) for x in xs)  # noqa: E731
    found, expected = ([Value(x) for x in (-1.0, 0.0, 0.3, 1.0, 2.5)] for _ in range(2))
    a, b = micrograd.compile(f, backend=backend)(found), f(expected)
    a.backward()
    b.backward()
    assert near([a.data, *(x.grad for x in found)], [b.data, *(x.grad for x in expected)])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f",
    [
        lambda a: (-a) ** 2,
        lambda a: (0.01 * a) ** 2,
        lambda a: (a / 4) ** 2 + (2 * a) ** 2.0,
        lambda a: (-a) ** 2 * (-a),
        lambda a: (a * 3) * (a * 3),
    ],
)
def test_a_square_of_a_number_times_a_node_is_compiled(f: Callable, backend: str):
    a, b = Value(1.5), Value(1.5)
    out = micrograd.compile(f, backend=backend)(a)
    out.backward()
    f(b).backward()
    assert near([out.data, a.grad], [f(b).data, b.grad])


def test_weight_decay_of_many_weights_is_compiled_as_arrays():
    weights = [Value(i / 400) for i in range(400)]
    f = micrograd.compile(lambda x: sum((0.01 * w) ** 2 + (w * x) ** 2 for w in weights))
    f(2.0).backward()
    assert "vector(leaves)" in f.source
    assert near([w.grad for w in weights], [2 * (0.0001 + 4.0) * w.data for w in weights])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("x", [Value(3.0), Tensor([1.0, 2.0], requires_grad=True)])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_node_may_be_returned_more_than_once(create_graph: bool, x: Any, backend: str):
    def f(x: Any) -> Any:
        y = x * x
        return {"a": y, "b": [x, x], "c": (y, 2 * y)}

    def gradient_of(f: Callable) -> Any:
        found = f(x)
        outs = [found["a"], *found["b"], *found["c"]]
        loss = sum(n * (out.sum() if isinstance(out, Tensor) else out) for n, out in enumerate(outs, 1))
        (g,) = grad(loss, [x], create_graph=create_graph)
        return np.asarray(g.data if create_graph else g).tolist()

    assert gradient_of(micrograd.compile(f, backend=backend)) == gradient_of(f)


def test_one_of_two_outputs_may_be_a_constant_as_arrays():
    w = Value(3.0)
    out, constant = micrograd.compile(lambda x: [w * w * x, x * 2.0], backend="numpy")(5.0)
    out.backward()
    assert (out.data, constant.data, constant.requires_grad, w.grad) == (45.0, 10.0, False, 30.0)


def test_parameters_may_be_called_what_a_program_calls_its_own():
    w, v = Value(2.0), Tensor([1.0, 2.0], requires_grad=True)
    of_numbers = lambda leaves, exp, t1, abs, inf, p: w * leaves + (exp * t1).exp() * abs + inf / p  # noqa: E731
    of_arrays = lambda np, stock, buffers, answer, k1: (v * np * stock).exp().sum() * buffers + answer @ k1  # noqa: E731
    numbers, a = [1.0, 0.5, 3.0, 4.0, 5.0, 6.0], np.array([0.5, -1.0])
    assert near(micrograd.compile(of_numbers)(*numbers).data, of_numbers(*map(Value, numbers)).data)
    found, expected = (f(*map(Tensor, [a] * 5)).data for f in (micrograd.compile(of_arrays), of_arrays))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "two", [np.float64(2.0), np.float32(2.0), np.int64(2), np.array(2.0)], ids=lambda x: type(x).__name__
)
@pytest.mark.parametrize("op", [add, sub, mul, truediv, pow], ids=lambda op: op.__name__)
@pytest.mark.parametrize("swap", [False, True])
def test_a_number_of_numpys_meets_a_value_compiled_as_it_does_uncompiled(two: Any, op: Any, swap: bool):
    def f(x: Any) -> Any:
        made = op(x, two) if swap else op(two, x)
        return x * x * made

    slopes = [np.float64(value_and_grad(way(f))(3.0)) for way in (lambda f: f, micrograd.compile)]
    batch = value_and_grad(micrograd.compile(f, batch=True))(np.array([3.0]))
    np.testing.assert_allclose([slopes[0], np.ravel(batch)], [slopes[1]] * 2, rtol=1e-12)


def test_an_array_of_nodes_works_inside_a_compiled_function_but_is_no_result():
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert micrograd.compile(lambda x, y: (matrix @ np.array([x, y])).sum())(5.0, 6.0).data == 56.0
    for f in (lambda x: matrix * x, lambda x: [np.array([x, x])]):
        with pytest.raises(TypeError, match=r"returns nodes, numbers, arrays, or lists.*found ndarray array"):
            micrograd.compile(f)(2.0)


def test_an_array_of_nodes_is_no_operand_of_a_tensor_compiled_or_not():
    w = Tensor([1.0, 2.0], requires_grad=True)
    f = lambda x, y: (w * np.array([x, y])).sum()  # noqa: E731
    for way in (lambda f: f, micrograd.compile):
        with pytest.raises(TypeError, match="an array of real numbers, found ndarray of dtype object"):
            value_and_grad(way(f))(1.0, 2.0)
