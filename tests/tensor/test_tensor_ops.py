"""Every op on Tensors, from one list (`tensor_ops_list`): its values, its derivatives, its refusals."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tensor_helpers import WRITES, Arrays, directions, every_op, leaves, numbers, seed
from tensor_ops_list import BAD, BINARY, MATMUL, OPS, Op, Shape

from micrograd import Tensor, grad, no_grad
from micrograd.scalars import ops
from micrograd.tensor import arrays
from micrograd.tensor import functions as functions

# ---------------------------------------------------------------------------------------------------------------------
# Values


@every_op
def test_value_is_numpys(op: Op):
    for operands in op.runs():
        out = op.call(*map(Tensor, operands))
        expected = np.asarray(op.in_numpy(*operands))
        assert out.shape == expected.shape
        np.testing.assert_allclose(out.data, expected, rtol=1e-12, atol=1e-14)


def test_every_public_op_stands_in_the_list():
    no_ops = {"__init__", "__array_ufunc__", "__array_function__", "__iter__", "__lt__", "__le__", "__gt__", "__ge__"}
    public = {name for name, what in vars(Tensor).items() if callable(what) or name == "T"} - no_ops
    missing = public - {op.name.split(":")[0] for op in OPS}
    assert not missing, "each needs a line in tests/tensor_ops_list.py: in UFUNCS if NumPy has it, else an Op(...)"


def test_every_function_stands_in_a_list():
    others = {"matmul", "stack", "split", "einsum"}  # see test_array_functions and test_einsum
    missing = functions.FUNCTIONS.keys() - {op.name.split(":")[0] for op in OPS} - others
    assert not missing, "each needs an Op(...) in tests/tensor_ops_list.py"


# ---------------------------------------------------------------------------------------------------------------------
# Derivatives


def gradients(op: Op, operands: Sequence[np.ndarray]) -> tuple[list[Tensor], Tensor]:
    """The leaves after a backward pass, and what was computed from them."""
    xs = leaves(operands)
    out = op.call(*xs)
    out.backward(seed(op, out))
    return xs, out


def first_and_second(op: Op, xs: Sequence[Tensor], vs: Arrays) -> tuple[Arrays, Arrays]:
    """The gradients, and the gradients of what they (times vs) sum up to: to each operand, and to the seed."""
    out = op.call(*xs)
    g = Tensor(seed(op, out), requires_grad=True)
    slopes = grad(out, xs, g, create_graph=True)
    total = sum((s * v).sum() for s, v in zip(slopes, vs, strict=True))
    return numbers(slopes, xs), numbers(grad(total, [*xs, g], allow_unused=True), [*xs, g])


def inner(found: Sequence[np.ndarray], along: Arrays) -> Any:
    return sum(np.sum(a * v) for a, v in zip(found, along, strict=True))


@every_op
def test_both_derivatives_agree_with_central_differences(op: Op):
    h = 1e-5
    for operands in op.runs():
        vs, ws = directions(operands), directions([*operands, operands[0]])[: len(operands)]
        (first, second), g = first_and_second(op, leaves(operands), vs), seed(op, op.call(*map(Tensor, operands)))

        def central(f: Callable, along: Arrays, operands: Arrays = operands) -> Any:
            ahead, behind = ([np.asarray(a + e * v) for a, v in zip(operands, along, strict=True)] for e in (h, -h))
            return (f(ahead) - f(behind)) / (2 * h)

        values = central(lambda moved, g=g: np.sum(g * op.in_numpy(*moved)), vs)
        slopes = central(lambda moved, vs=vs: inner([x.grad for x in gradients(op, moved)[0]], vs), ws)
        assert inner(first, vs) == pytest.approx(values, rel=1e-6, abs=1e-7)
        assert inner(second[:-1], ws) == pytest.approx(slopes, rel=1e-5, abs=1e-6)


@every_op
def test_values_and_both_derivatives_are_pytorchs(op: Op):
    torch = pytest.importorskip("torch", reason="PyTorch is the reference here")
    for dtype, near in (("float64", 1e-10), ("float32", 2e-4)):
        for operands in op.runs(dtype) if dtype == "float64" else [op.operands(op.shapes[0], dtype)]:
            vs = directions(operands)
            first, second = first_and_second(op, leaves(operands), vs)

            xs = [torch.tensor(a, requires_grad=True) for a in operands]
            out = op.in_torch(torch, *xs)
            g = torch.tensor(seed(op, out), requires_grad=True)
            slopes = torch.autograd.grad(out, xs, g, create_graph=True)
            total = sum((s * torch.tensor(v)).sum() + 0 * g.sum() for s, v in zip(slopes, vs, strict=True))
            theirs = torch.autograd.grad(total, [*xs, g], allow_unused=True)

            np.testing.assert_allclose(op.call(*map(Tensor, operands)).data, out.detach(), rtol=near, atol=near)
            for ours, other in zip(first + second, numbers(slopes, xs) + numbers(theirs, [*xs, g]), strict=True):
                np.testing.assert_allclose(ours, other, rtol=near, atol=near)


@pytest.mark.parametrize("ddof", [0, 1])
def test_std_of_equal_numbers_has_derivatives_of_0(ddof: int):
    x = Tensor(np.ones((2, 3)), requires_grad=True)
    (first,) = grad(x.std(1, ddof=ddof).sum(), x, create_graph=True)
    (second,) = grad((first * np.arange(6.0).reshape(2, 3)).sum(), x)
    np.testing.assert_array_equal([first.data, second], np.zeros((2, 2, 3)))


@every_op
def test_gradients_have_the_shape_and_dtype_of_the_operands_which_stay_as_they_were_and_are_the_users_to_change(op: Op):
    for dtype in [np.float64] if op.brings_float64 else [np.float64, np.float32]:
        for operands in op.runs(dtype):
            xs, out = gradients(op, operands)
            assert out.dtype == dtype
            for x, before in zip(xs, operands, strict=True):
                assert isinstance(x.grad, np.ndarray)
                assert (x.grad.shape, x.grad.dtype, x.grad.flags.writeable) == (x.shape, dtype, True)
                np.testing.assert_array_equal(x.data, before)


@pytest.mark.parametrize("op", [op for op in OPS if max(map(len, op.shapes)) > 1], ids=str)
def test_constant_operand_gets_none_and_changes_no_other_gradient(op: Op):
    for operands in op.runs():
        xs, _ = gradients(op, operands)
        for i in range(len(xs)):
            alone = [Tensor(a, requires_grad=j == i) for j, a in enumerate(operands)]
            out = op.call(*alone)
            out.backward(seed(op, out))
            np.testing.assert_array_equal(alone[i].grad, xs[i].grad)
            assert [x.grad for x in alone if x is not alone[i]] == [None] * (len(xs) - 1)


LAYOUTS: dict[str, tuple[Callable, Callable]] = {  # how to lay an array out in a leaf, and how to get at it again
    "Fortran's order": (lambda a: np.array(a, order="F"), lambda x: x),
    "backwards": (lambda a: a[(slice(None, None, -1),) * a.ndim], lambda x: x[(slice(None, None, -1),) * x.ndim]),
    "transposed": (lambda a: a.T, lambda x: x.T),
    "every other": (lambda a: np.repeat(a, 2, -1) if a.ndim else a, lambda x: x[..., ::2] if x.ndim else x),
}


@every_op
def test_layout_in_memory_changes_nothing(op: Op):
    operands = max(op.runs(), key=lambda arrays: max(a.ndim for a in arrays))  # fewer axes have fewer layouts
    plain, out = gradients(op, operands)
    for layout, (lay, view) in LAYOUTS.items():
        laid = [Tensor(lay(a), requires_grad=True) for a in operands]
        same = op.call(*map(view, laid))
        np.testing.assert_allclose(same.data, out.data, rtol=1e-13, atol=1e-14, err_msg=layout)
        same.backward(seed(op, out))
        for x, y in zip(laid, plain, strict=True):
            np.testing.assert_allclose(view(x.grad), y.grad, rtol=1e-12, atol=1e-14, err_msg=layout)


# ---------------------------------------------------------------------------------------------------------------------
# What happens to the operands between the passes


def is_right_or_raises(op: Op, write: Callable[[Tensor], None], create_graph: bool) -> bool:
    """The op's gradient after a write: that of the values which the op saw, or an error that says what was changed?"""
    xs = leaves(op.operands(op.shapes[0]))
    out = op.call(*xs)
    right = numbers(grad(out, xs, seed(op, out), retain_graph=True), xs)
    try:
        for x in xs:
            write(x)
        found = numbers(grad(out, xs, seed(op, out), create_graph=create_graph), xs)
    except (RuntimeError, ValueError) as error:
        return bool(re.search("version|in place|read-only|written to", str(error)))
    return all(np.array_equal(a, b) for a, b in zip(found, right, strict=True))


@every_op
def test_write_between_the_passes_is_never_silently_wrong(op: Op):
    cases = itertools.product(WRITES, (False, True))
    assert [(name, graph) for name, graph in cases if not is_right_or_raises(op, WRITES[name], graph)] == []


@pytest.mark.parametrize("op", [op for op in OPS if op.linear], ids=str)
def test_op_that_needs_no_values_does_not_mind_that_they_change(op: Op):
    xs = leaves(op.operands(op.shapes[0]))
    inner = [x * 1 for x in xs]
    out = op.call(*inner)
    with no_grad():
        for y in inner:
            y += 1
    out.backward(seed(op, out))
    assert all(x.grad is not None for x in xs)


# ---------------------------------------------------------------------------------------------------------------------
# Broadcasting


def broadcast_pair(rng: np.random.Generator) -> tuple[Shape, Shape]:
    """Two shapes that broadcast: a common one, from which each drops leading axes and stretches some."""
    common = rng.choice([0, 1, 2, 3], size=rng.integers(0, 5), p=[0.05, 0.2, 0.4, 0.35])

    def part() -> Shape:
        kept = common[rng.integers(0, len(common) + 1) :]
        return tuple(int(n) for n in np.where(rng.random(len(kept)) < 0.3, 1, kept))

    return part(), part()


def summed_back(g: np.ndarray, shape: Shape) -> np.ndarray:
    """The adjoint of broadcasting, by counting: each element of g goes to the place that it was copied from."""
    places = np.broadcast_to(np.arange(np.prod(shape, dtype=int)).reshape(shape), g.shape)
    return np.bincount(places.ravel(), g.ravel(), np.prod(shape, dtype=int)).reshape(shape)


@pytest.mark.parametrize("op", BINARY, ids=str)
def test_random_broadcast_pairs_give_gradients_of_the_operands_shapes(op: Op):
    rng = np.random.default_rng(len(op.name))
    for _ in range(1000 if op.name == "__mul__" else 100):  # all sum back with one row
        shapes = broadcast_pair(rng)
        a, b = operands = op.operands(shapes)
        x, y = leaves(operands)
        full = leaves(np.broadcast_arrays(a, b))  # the same without broadcasting
        for pair in ((x, y), full):
            out = op.call(*pair)
            out.backward(np.ones(out.shape))
        assert out.shape == np.broadcast_shapes(*shapes)
        np.testing.assert_allclose(x.grad, summed_back(full[0].grad, a.shape), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(y.grad, summed_back(full[1].grad, b.shape), rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Refusals


@pytest.mark.parametrize(("name", "use", "error", "message"), BAD, ids=[f"{b[0]}-{i}" for i, b in enumerate(BAD)])
def test_wrong_use_raises_and_says_what_was_found(name: str, use: Callable, error: Any, message: str):
    with pytest.raises(error, match=f"(?s){message}"):
        use()


@pytest.mark.parametrize("op", [*BINARY[:5], MATMUL], ids=str)
@pytest.mark.parametrize("wrong", [["two"], "two", None, 1j, np.complex64(1j)], ids=repr)
def test_operand_on_either_side_that_is_no_real_number_is_refused(op: Op, wrong: Any):
    for operands in ((wrong, Tensor([1.0, 2.0])), (Tensor([1.0, 2.0]), wrong)):
        with pytest.raises(TypeError):
            op.call(*operands)


def test_row_says_what_it_was_made_with():
    assert repr(arrays.sum(0, True)) == "<Row sum(axis=0, keepdims=True)>"
    assert repr(ops.power(3)) == "<Row pow(n=3)>"
    assert repr(ops.exp) == "<Row exp>"
