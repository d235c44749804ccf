"""A fused row equals the composition that it restates: its values, and its first and second derivatives."""

from collections.abc import Callable

import numpy as np
import pytest
from tensor_helpers import leaves, numbers

from micrograd import Tensor, grad, jvp
from micrograd.engine.rows import Row
from micrograd.tensor import fused
from micrograd.tensor.node import record

CLASSES = np.array([[2, 0], [1, 1]])
REDUCTIONS: dict[str, Callable] = {"mean": lambda t: t.mean(), "sum": lambda t: t.sum(), "none": lambda t: t}


def exp_sum(a, axis):
    return a.exp().sum(axis, keepdims=True)


def hinge(reduction):
    return lambda a, b: REDUCTIONS[reduction]((1 - a * b).relu())


def cross_entropy(reduction):
    places = (*np.indices(CLASSES.shape), CLASSES)
    return lambda a: REDUCTIONS[reduction](-(a.exp() / exp_sum(a, -1))[places].log())


# The row, what it restates, the shapes of its operands
COMPOSITIONS: dict[str, tuple[Row, Callable, tuple]] = {
    "linear": (fused.linear, lambda x, w, b: x @ w.T + b, ((4, 3), (2, 3), (2,))),
    "linear of a batch": (fused.linear, lambda x, w, b: x @ w.T + b, ((2, 4, 3), (2, 3), (2,))),
    "column_sums": (fused.column_sums, lambda a: a.sum(0), ((4, 3),)),
    "deviation": (fused.deviation, lambda a: a**0.5, ((4, 3),)),
    "length": (fused.length, lambda a: a**0.5, ((4, 3),)),
}
for ord in (3.0, 1.5, 0.5, -1.0):
    COMPOSITIONS[f"norm {ord}"] = (
        fused.norm(ord, (1,), False), lambda a, ord=ord: (abs(a) ** ord).sum(1) ** (1 / ord), ((3, 4),)
    )  # fmt: skip
for axis in (0, 1, None, (0, 1)):
    COMPOSITIONS |= {
        f"logsumexp {axis}": (fused.logsumexp(axis), lambda a, axis=axis: exp_sum(a, axis).log(), ((2, 3),)),
        f"softmax {axis}": (fused.softmax(axis), lambda a, axis=axis: a.exp() / exp_sum(a, axis), ((2, 3),)),
        f"log_softmax {axis}": (fused.log_softmax(axis), lambda a, axis=axis: a - exp_sum(a, axis).log(), ((2, 3),)),
    }
for reduction in REDUCTIONS:
    COMPOSITIONS[f"hinge {reduction}"] = fused.hinge(reduction), hinge(reduction), ((2, 3), (2, 3))
    COMPOSITIONS[f"cross_entropy {reduction}"] = (
        fused.cross_entropy(CLASSES, reduction), cross_entropy(reduction), ((2, 2, 3),)
    )  # fmt: skip


def along(like, turn):
    """A direction to differentiate along."""
    return Tensor(np.cos(turn + np.arange(like.size)).reshape(like.shape))


def derivatives(f, operands):
    """The value of f, its gradient in a direction, and the gradient of that in another."""
    out = f(*operands)
    first = grad(out, operands, along(out, 1), create_graph=True)
    slope = sum((g * along(g, 2)).sum() for g in first)
    second = grad(slope, operands, allow_unused=True) if slope.requires_grad else [None] * len(operands)
    return numbers((out, *first), (out, *first)) + numbers(second, operands)


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_fused_row_equals_its_composition_to_the_second_order_and_in_its_tangents(name):
    row, composition, shapes = COMPOSITIONS[name]
    rng = np.random.default_rng(0)
    arrays, vs = ([rng.uniform(0.1, 2, shape) for shape in shapes] for _ in range(2))
    ours, expected = (
        [*derivatives(f, leaves(arrays)), jvp(f, arrays, vs)[1]] for f in (lambda *xs: record(row, *xs), composition)
    )
    for a, b in zip(ours, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12)


def test_every_fused_row_has_a_composition_here():
    rows = {
        name for name, x in vars(fused).items() if getattr(x, "__module__", "") == fused.__name__ or isinstance(x, Row)
    }
    public = {name for name in rows if name[0] != "_"}
    assert public == {name.split()[0] for name in COMPOSITIONS}


@pytest.mark.parametrize("ord", [None, 1, 2, 3, 1.5, 0.5, -1.0])
@pytest.mark.parametrize("vector", [[0.0, 0.0], [0.0, -4.0]])
def test_gradient_of_a_norm_is_finite_and_0_where_an_element_or_the_norm_is_0(ord, vector):
    x = Tensor(vector, requires_grad=True)
    with np.errstate(divide="ignore"):
        norm = x.norm(ord)
        expected = np.linalg.norm(vector, ord)
    norm.backward()
    assert norm.item() == expected
    assert x.grad == pytest.approx(np.array([0.0, -np.sign(expected) if vector[1] else 0.0]))
