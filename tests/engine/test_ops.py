"""Every op of the list: forward and derivatives of all orders against mpmath and PyTorch, and IEEE at the edges."""

from __future__ import annotations

import itertools
import math
from math import inf, isnan, nan

import pytest
from mpmath import mp, mpf
from ops_list import OPS, Op

from micrograd import Value, grad
from micrograd.scalars import ops
from micrograd.scalars.methods import Elementwise

BINARY = [op for op in OPS if len(op.domain) == 2]
NASTY = [0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, -5e-324, 1e-200, 710.0, -746.0, 1e200, -1e200, 1.7e308, inf, -inf, nan]
over_ops = pytest.mark.parametrize("op", OPS, ids=str)


def derivative(op: Op, point: tuple[float, ...], along: tuple[int, ...]) -> float:
    """The op differentiated once for each operand in `along`, by as many passes."""
    values = [Value(x) for x in point]
    y = op.call(*values)
    for i in along:
        if y is None or not y.requires_grad:
            return 0.0
        (y,) = grad(y, values[i], create_graph=True, allow_unused=True)
    return 0.0 if y is None else y.data


def true_derivative(op: Op, point: tuple[float, ...], along: tuple[int, ...]) -> float:
    """The same by mpmath, at 50 digits."""
    with mp.workdps(50):
        times = tuple(along.count(i) for i in range(len(point)))
        return float(mp.diff(op.reference, tuple(map(mpf, point)), times))


def first_derivatives(op: Op, point: tuple[float, ...], g: float = 1.0) -> list[float]:
    """The `.grad`s after an ordinary pass."""
    values = [Value(x) for x in point]
    y = op.call(*values)
    if y.requires_grad:
        y.backward(g)
    return [value.grad for value in values]


def close(wanted: object) -> object:
    """To be compared with: equal but for the last bits, and nan is nan."""
    return pytest.approx(wanted, rel=1e-15, abs=0, nan_ok=True)


over_paths = pytest.mark.usefixtures("path")


# ---------------------------------------------------------------------------------------------------------------------
# The list itself


def test_every_row_of_the_table_stands_in_the_list():
    missing = set(ops.TABLE) - {op.name.split(":")[0] for op in OPS}
    assert not missing, "each needs an Op(...) in tests/ops_list.py"


def test_every_method_that_makes_a_value_stands_in_the_list():
    no_ops = {"backward", "detach", "item", "show"}
    methods = {name for name, f in {**vars(Elementwise), **vars(Value)}.items() if callable(f) and name[0] != "_"}
    assert methods - no_ops <= {op.name.split(":")[0] for op in OPS}


# ---------------------------------------------------------------------------------------------------------------------
# Against mpmath


@over_ops
def test_forward_agrees_with_mpmath(op: Op):
    for point in op.points(20):
        with mp.workdps(50):
            wanted = float(op.reference(*map(mpf, point)))
        assert op.call(*map(Value, point)).data == pytest.approx(wanted, rel=1e-14, abs=0)


@over_paths
@over_ops
def test_first_derivatives_agree_with_mpmath(op: Op):
    for point in op.points(20):
        wanted = [true_derivative(op, point, (i,)) for i in range(len(point))]
        assert first_derivatives(op, point) == pytest.approx(wanted, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("order", [2, 3])
@over_ops
def test_higher_derivatives_and_mixed_partials_agree_with_mpmath(op: Op, order: int):
    for point in op.points(4):
        for along in itertools.product(range(len(point)), repeat=order):
            wanted = true_derivative(op, point, along)
            assert derivative(op, point, along) == pytest.approx(wanted, rel=1e-10, abs=1e-12), (point, along)


TAILS = {  # the derivative along so many operands, of the value itself
    "tanh": [lambda y: 1 - y * y, lambda y: -2 * y * (1 - y * y)],
    "sigmoid": [lambda y: y * (1 - y)],
}


@pytest.mark.parametrize("name", TAILS)
def test_derivatives_keep_twelve_digits_in_the_tails(name: str):
    op = next(op for op in OPS if op.name == name)
    for x, (order, slope) in itertools.product(range(-120, 121), enumerate(TAILS[name], 1)):
        with mp.workdps(80):
            wanted = float(slope(op.reference(mpf(x) / 4)))
        assert derivative(op, (x / 4,), (0,) * order) == pytest.approx(wanted, rel=1e-12, abs=0)


@over_paths
@over_ops
def test_ordinary_pass_and_one_that_records_give_the_same_bits(op: Op):
    for point in op.points(5):
        assert first_derivatives(op, point) == [derivative(op, point, (i,)) for i in range(len(point))]


@pytest.mark.parametrize("op", [op for op in BINARY if op.name not in ("maximum", "minimum")], ids=str)
def test_number_may_stand_on_either_side(op: Op):
    for a, b in op.points(3):
        x, y = Value(a), Value(b)
        left, right = op.call(a, y), op.call(x, b)
        left.backward()
        right.backward()
        assert left.data == right.data == op.call(Value(a), Value(b)).data
        assert [x.grad, y.grad] == first_derivatives(op, (a, b))


# ---------------------------------------------------------------------------------------------------------------------
# Against PyTorch


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def in_torch(torch, op: Op, point: tuple[float, ...]):
    tensors = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in point]
    return tensors, op.in_torch(torch, *tensors)


with_torch = pytest.mark.parametrize("op", [op for op in OPS if op.torch], ids=str)


# Where PyTorch does otherwise: sgn(nan) is 0 there, and nan in NumPy; at nan, leaky_relu takes the lower slope there
# and the upper here. Far out the rules there overflow or underflow, and their gradient is 0, inf or nan.
FAR = tuple(x for x in NASTY if not isnan(x) and (abs(x) >= 1e200 or 0 < abs(x) <= 1e-200))
DELIBERATE = {
    "abs": (nan,), "sign": (nan,), "leaky_relu": (nan,), "leaky_relu:0.3": (nan,), "gelu": FAR,
    "arcsinh": FAR, "arccosh": (*FAR, -1.0, -746.0), "arctan2": FAR, "hypot": (*FAR, 0.0, -0.0),
}  # fmt: skip


@with_torch
def test_edges_agree_with_pytorch(torch, op: Op):
    for point in itertools.product(NASTY, repeat=len(op.domain)):
        if any(repr(x) == repr(other) for x in point for other in DELIBERATE.get(op.name, ())):
            continue
        if op.name == "pow" and 0.0 in point[1:]:
            continue  # where PyTorch has another sign or nan; see `edges`
        tensors, y = in_torch(torch, op, point)
        slopes = [s.item() for s in torch.autograd.grad(y, tensors)]
        assert op.call(*map(Value, point)).data == pytest.approx(y.item(), rel=1e-13, nan_ok=True), point
        assert first_derivatives(op, point) == pytest.approx(slopes, rel=1e-12, abs=1e-300, nan_ok=True), point


# ---------------------------------------------------------------------------------------------------------------------
# The edges: IEEE 754, and nothing is ever raised


@over_paths
@pytest.mark.parametrize("op", [op for op in OPS if op.edges], ids=str)
def test_edges_are_as_ieee_has_them(op: Op):
    found = [(point, op.call(*map(Value, point)).data, first_derivatives(op, point)) for point, _, _ in op.edges]
    assert found == [(point, close(out), close(list(slopes))) for point, out, slopes in op.edges]


@over_ops
def test_numbers_and_arrays_agree_at_the_edges(op: Op):
    import numpy as np

    from micrograd import Tensor

    for point in itertools.product(NASTY, repeat=len(op.domain)):
        if op.name == "pow" and point[1] == 0.5:
            continue  # where one exponent serves a whole array, NumPy takes the root
        tensors = [Tensor(x, requires_grad=True) for x in point]
        with np.errstate(all="ignore"):
            y = op.call(*tensors)
            y.backward()
        assert y.item() == pytest.approx(op.call(*map(Value, point)).data, rel=1e-13, abs=1e-323, nan_ok=True), point
        slopes = first_derivatives(op, point)
        assert [t.grad.item() for t in tensors] == pytest.approx(slopes, rel=1e-12, abs=1e-300, nan_ok=True), point


@over_paths
@over_ops
def test_ops_raise_for_no_input_and_no_gradient(op: Op):
    for g, point in itertools.product([1.0, 0.0, inf, nan], itertools.product(NASTY, repeat=len(op.domain))):
        assert {type(x) for x in first_derivatives(op, point, g)} <= {float, int}, (g, point)


@over_ops
def test_higher_derivatives_raise_for_no_input(op: Op):
    nasty = NASTY if len(op.domain) == 1 else NASTY[::2]
    for point in itertools.product(nasty, repeat=len(op.domain)):
        for along in itertools.product(range(len(point)), repeat=2):
            assert isinstance(derivative(op, point, along), float)


# a**0 is 1 for every a; a shut gate lets nothing through; the others pick a branch
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_all_derivatives_of_a_power_are_right_at_zero(n: int):
    for order in range(1, 5):
        wanted = math.factorial(n) if order == n else 0.0
        assert derivative(Op("pow", lambda a: a**n, lambda a: a**n), (0.0,), (0,) * order) == wanted
        if n and order < 4:  # to the power of a Value
            assert derivative(next(op for op in OPS if op.name == "pow"), (0.0, float(n)), (0,) * order) == wanted


@pytest.mark.parametrize("op", [op for op in OPS if op.name in ("relu", "leaky_relu", "abs")], ids=str)
def test_second_derivative_at_a_kink_is_zero(op: Op):
    assert derivative(op, (0.0,), (0, 0)) == 0.0


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_operand_that_was_not_picked_gets_nothing_of_an_infinite_gradient(name: str):
    x, y = Value(1.0), Value(2.0)
    getattr(x, name)(y).backward(inf)
    assert sorted([x.grad, y.grad]) == [0.0, inf]


@over_paths
def test_overflow_or_a_division_by_zero_in_the_middle_of_a_pass_still_reaches_the_leaves():
    x, y, zero = Value(800.0), Value(2.0), Value(0.0)
    (x.exp() * y + y / zero).backward()
    assert (x.grad, y.grad, zero.grad) == (inf, inf, -inf)


# ---------------------------------------------------------------------------------------------------------------------
# The table


class Mine(Value):
    """A subclass as users write them."""


@pytest.mark.parametrize("op", OPS, ids=str)
def test_each_op_is_one_node_and_stays_in_a_subclass(op: Op):
    values = [Mine(x) for x in op.points(1)[0]]
    y = op.call(*values)
    assert [node for node in y._prev if node.requires_grad] == values
    assert type(y) is Mine


@pytest.mark.parametrize(
    ("make", "name", "function"),
    [
        (lambda a: a + 1, "+", "Add"),
        (lambda a: a / 2, "/", "Div"),
        (lambda a: a**2, "**2", "Pow"),
        (lambda a: a**-1, "**-1", "Pow"),
        (lambda a: a**a, "**", "Pow"),
        (lambda a: -a, "neg", "Neg"),
        (lambda a: a.relu(), "ReLU", "Relu"),
        (lambda a: a.leaky_relu(), "leaky_relu", "LeakyRelu"),
    ],
)
def test_op_has_the_name_that_the_classic_draws_and_a_grad_fn_as_in_pytorch(make, name: str, function: str):
    y = make(Value(2.0))
    assert (y._op, y.grad_fn.name(), repr(y.grad_fn)) == (name, f"{function}Backward0", f"<{function}Backward0>")


EDGES = [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", [name for name, row in ops.TABLE.items() if row.to_b is not None])
def test_mixed_second_derivatives_do_not_depend_on_the_order(name):
    """At the edges of domains too, where they are a convention: 0**1 among them."""
    for a, b in itertools.product(EDGES, repeat=2):
        x, y = Value(a), Value(b)
        with_respect_to = {node: grad(ops.TABLE[name](x, y), node, create_graph=True)[0] for node in (x, y)}
        found = [
            grad(slope, other, allow_unused=True)[0] if slope.requires_grad else None
            for slope, other in ((with_respect_to[x], y), (with_respect_to[y], x))
        ]
        first, second = (0.0 if g is None else g for g in found)
        assert first == pytest.approx(second, rel=1e-12, nan_ok=True), (a, b)
