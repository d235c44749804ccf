"""Tensors from nothing: their shapes, dtypes and draws."""

import random

import numpy as np
import pytest

from micrograd import Tensor, manual_seed
from micrograd.tensor import creation

SHAPED = [creation.zeros, creation.ones, creation.randn, creation.rand]
DRAWN = [creation.randn, creation.rand]
LIKE = [
    creation.zeros_like,
    creation.ones_like,
    creation.randn_like,
    creation.rand_like,
    lambda x, **kw: creation.full_like(x, 3, **kw),
]
SHAPES = [
    ((), ()), ((3,), (3,)), ((2, 3), (2, 3)), (((2, 3),), (2, 3)), (([2, 3],), (2, 3)), (((),), ()), ((0, 2), (0, 2)),
    ((np.int64(2), np.int32(3)), (2, 3)), ((np.array([2, 3]),), (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("make", SHAPED)
@pytest.mark.parametrize(("given", "shape"), SHAPES)
def test_shape_is_a_tuple_or_ints(make, given, shape):
    assert make(*given).shape == shape


@pytest.mark.parametrize("make", SHAPED)
@pytest.mark.parametrize("wrong", [(2.0,), ("2",), ((2, 3.5),), (None,), ((2,), 3)])
def test_shape_that_is_not_made_of_ints_raises(make, wrong):
    with pytest.raises(TypeError, match="a shape is made of ints, found"):
        make(*wrong)


CONSTANT = [  # ours, and NumPy's
    (creation.zeros(2), np.zeros(2)),
    (creation.ones(2), np.ones(2)),
    (creation.full((2,), 7.5), np.full(2, 7.5)),
    (creation.full(2, 7), np.full(2, 7)),
    (creation.eye(2), np.eye(2)),
    (creation.eye(2, 3), np.eye(2, 3)),
    *[
        (creation.arange(*bounds), np.arange(*bounds))
        for bounds in [(4,), (1, 4), (1, 8, 3), (0.0, 1.0, 0.25), (3, 0, -1)]
    ],
    (creation.linspace(0, 1, 3), np.linspace(0, 1, 3)),
    (creation.linspace(0, 4, 4, endpoint=False, dtype="float32"), np.arange(4, dtype="float32")),
    (creation.full_like(creation.arange(3), 4), np.full(3, 4)),
]


@pytest.mark.parametrize(("found", "expected"), CONSTANT)
def test_constants_are_numpys(found, expected):
    np.testing.assert_array_equal(found.data, expected, strict=True)


@pytest.mark.parametrize("make", [*SHAPED, creation.eye, creation.arange, lambda n, **kw: creation.full(n, 2.0, **kw)])
def test_dtype_is_given_and_requires_grad_makes_leaves(make):
    assert make(2.0 if make is creation.arange else 2).dtype == np.float64
    assert not make(2).requires_grad
    x = make(2, dtype=np.float32, requires_grad=True)
    assert (x.dtype, x.requires_grad, x.is_leaf) == (np.float32, True, True)


@pytest.mark.parametrize(
    "make", [lambda: creation.arange(3, requires_grad=True), lambda: Tensor([[1], [3]], requires_grad=True)]
)
def test_integers_never_require_a_gradient(make):
    with pytest.raises(RuntimeError, match=r"only floating-point.*int64: write 1\.0 for 1"):
        make()


@pytest.mark.parametrize("make", LIKE)
def test_likes_take_shape_and_dtype_and_nothing_else(make):
    x = Tensor(np.ones((2, 3), np.float32), requires_grad=True)
    made, other = make(x), make(x, dtype=np.float64, requires_grad=True)
    assert (made.shape, made.dtype, made.requires_grad) == ((2, 3), np.float32, False)
    assert (other.shape, other.dtype, other.requires_grad) == ((2, 3), np.float64, True)
    assert make(np.ones((2, 1))).shape == make([[1.0], [2.0]]).shape == (2, 1)


@pytest.mark.parametrize("make", [creation.randn_like, creation.rand_like])
def test_draws_like_integers_raise_instead_of_being_cut_off(make):
    with pytest.raises(TypeError, match="random draws are floats, found dtype int64"):
        make(creation.arange(3))
    assert make(creation.arange(3), dtype=float).dtype == np.float64


@pytest.mark.parametrize("make", DRAWN)
def test_same_seed_gives_the_same_draws(make):
    manual_seed(3)
    first, second = make(4), make(4)
    manual_seed(3)
    assert (make(4) == first).all()
    assert (make(4) == second).all()
    assert (first != second).all()


@pytest.mark.parametrize("make", DRAWN)
def test_generator_of_ones_own_leaves_the_packages_alone(make):
    manual_seed(0)
    expected = make(3)
    manual_seed(0)
    drawn = make(3, rng=np.random.default_rng(5))
    assert (drawn == make(3, rng=np.random.default_rng(5))).all()
    assert (make(3) == expected).all()


def test_manual_seed_seeds_what_networks_of_values_draw_from_and_leaves_numpys_own_state_alone():
    before = np.random.get_state()[1].copy()
    manual_seed(11)
    first = random.random()
    manual_seed(11)
    assert random.random() == first
    creation.randn(3)
    assert (np.random.get_state()[1] == before).all()


def test_seed_that_is_no_int_changes_nothing():
    random.seed(1)
    state = random.getstate()
    with pytest.raises(TypeError):
        manual_seed(1.5)
    assert random.getstate() == state


def test_rng_must_be_a_generator():
    with pytest.raises(TypeError, match="rng must be a NumPy Generator, found int"):
        creation.randn(2, rng=3)


def test_draws_have_the_moments_of_their_distribution():
    rng = np.random.default_rng(0)
    normal, uniform = creation.randn(20_000, rng=rng), creation.rand(20_000, rng=rng)
    assert (normal.mean().item(), normal.std().item()) == pytest.approx((0, 1), abs=0.03)
    assert uniform.mean().item() == pytest.approx(0.5, abs=0.01)
    assert 0 <= uniform.min().item() < uniform.max().item() < 1
