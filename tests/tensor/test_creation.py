"""Tensors from nothing: their shapes, dtypes and draws."""

import random

import numpy as np
import pytest

from micrograd.tensor import Tensor
from micrograd.tensor.creation import (
    arange,
    eye,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    rand,
    rand_like,
    randn,
    randn_like,
    zeros,
    zeros_like,
)
from micrograd.tensor.randomness import manual_seed

SHAPED = [zeros, ones, randn, rand]
DRAWN = [randn, rand]
LIKE = [zeros_like, ones_like, randn_like, rand_like, lambda x, **kw: full_like(x, 3, **kw)]


@pytest.mark.parametrize("make", SHAPED)
@pytest.mark.parametrize(
    ("given", "shape"),
    [((), ()), ((3,), (3,)), ((2, 3), (2, 3)), (((2, 3),), (2, 3)), (([2, 3],), (2, 3)), (((),), ()), ((0, 2), (0, 2))],
)
def test_shape_is_a_tuple_or_ints(make, given, shape):
    assert make(*given).shape == shape


@pytest.mark.parametrize("make", SHAPED)
def test_shape_may_come_from_numpy(make):
    assert make(np.int64(2), np.int32(3)).shape == make(np.array([2, 3])).shape == (2, 3)


@pytest.mark.parametrize("make", SHAPED)
@pytest.mark.parametrize("wrong", [(2.0,), ("2",), ((2, 3.5),), (None,), ((2,), 3)])
def test_shape_that_is_not_made_of_ints_raises(make, wrong):
    with pytest.raises(TypeError, match="a shape is made of ints, found"):
        make(*wrong)


def test_constants_hold_what_their_name_says():
    assert zeros(2).tolist() == [0.0, 0.0]
    assert ones(2).tolist() == [1.0, 1.0]
    assert full((2,), 7.5).tolist() == [7.5, 7.5]
    assert full(2, 7).tolist() == [7, 7]
    assert eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert eye(2, 3).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_arange_is_that_of_numpy():
    for bounds in [(4,), (1, 4), (1, 8, 3), (0.0, 1.0, 0.25), (3, 0, -1)]:
        expected = np.arange(*bounds)
        found = arange(*bounds)
        assert found.dtype == expected.dtype
        assert (found == expected).all()


def test_floats_are_float64_unless_a_dtype_is_given():
    for made in [zeros(1), ones(1), full(1, 2.0), randn(1), rand(1), eye(1), arange(1.0)]:
        assert made.dtype == np.float64
    for make in [*SHAPED, eye, arange, lambda n, **kw: full(n, 2.0, **kw)]:
        assert make(1, dtype=np.float32).dtype == np.float32


def test_requires_grad_makes_leaves():
    for make in [*SHAPED, eye, lambda n, **kw: full(n, 2.0, **kw), lambda n, **kw: arange(float(n), **kw)]:
        x = make(2, requires_grad=True)
        assert x.requires_grad
        assert x.is_leaf
        assert not make(2).requires_grad


@pytest.mark.parametrize(
    "make", [lambda: arange(3, requires_grad=True), lambda: Tensor([[1], [3]], requires_grad=True)]
)
def test_integers_never_require_a_gradient(make):
    with pytest.raises(RuntimeError, match=r"only floating-point.*int64: write 1\.0 for 1"):
        make()


@pytest.mark.parametrize("make", LIKE)
def test_likes_take_shape_and_dtype_and_nothing_else(make):
    x = Tensor(np.ones((2, 3), np.float32), requires_grad=True)
    made = make(x)
    assert made.shape == (2, 3)
    assert made.dtype == np.float32
    assert not made.requires_grad
    assert make(x, dtype=np.float64, requires_grad=True).requires_grad
    assert make(x, dtype=np.float64).dtype == np.float64


@pytest.mark.parametrize("make", LIKE)
def test_likes_take_arrays_and_lists_too(make):
    assert make(np.ones((2, 1))).shape == make([[1.0], [2.0]]).shape == (2, 1)


def test_likes_of_integers_are_integers():
    assert zeros_like(arange(3)).dtype == arange(3).dtype
    assert full_like(arange(3), 4).tolist() == [4, 4, 4]


@pytest.mark.parametrize("make", [randn_like, rand_like])
def test_draws_like_integers_raise_instead_of_being_cut_off(make):
    with pytest.raises(TypeError, match="random draws are floats, found dtype int64"):
        make(arange(3))
    assert make(arange(3), dtype=float).dtype == np.float64


@pytest.mark.parametrize("make", DRAWN)
def test_same_seed_gives_the_same_draws(make):
    manual_seed(3)
    first, second = make(4), make(4)
    manual_seed(3)
    assert (make(4) == first).all()
    assert (make(4) == second).all()
    assert (first != second).all()
    manual_seed(4)
    assert (make(4) != first).all()


@pytest.mark.parametrize("make", DRAWN)
def test_generator_of_ones_own_leaves_the_packages_alone(make):
    manual_seed(0)
    expected = make(3)
    manual_seed(0)
    drawn = make(3, rng=np.random.default_rng(5))
    assert (drawn == make(3, rng=np.random.default_rng(5))).all()
    assert (make(3) == expected).all()


def test_manual_seed_also_seeds_what_networks_of_values_draw_from():
    manual_seed(11)
    first = random.random()
    manual_seed(11)
    assert random.random() == first


def test_manual_seed_leaves_numpys_own_state_alone():
    before = np.random.get_state()[1].copy()
    manual_seed(0)
    randn(3)
    assert (np.random.get_state()[1] == before).all()


def test_seed_that_is_no_int_changes_nothing():
    random.seed(1)
    state = random.getstate()
    with pytest.raises(TypeError):
        manual_seed(1.5)
    assert random.getstate() == state


def test_rng_must_be_a_generator():
    with pytest.raises(TypeError, match="rng must be a NumPy Generator, found int"):
        randn(2, rng=3)


def test_draws_have_the_moments_of_their_distribution():
    rng = np.random.default_rng(0)
    normal, uniform = randn(20_000, rng=rng), rand(20_000, rng=rng)
    assert abs(normal.mean().item()) < 0.03
    assert abs(normal.std().item() - 1) < 0.03
    assert abs(uniform.mean().item() - 0.5) < 0.01
    assert uniform.min().item() >= 0
    assert uniform.max().item() < 1


def test_evenly_spaced_numbers_are_numpys():
    assert linspace(0, 1, 3, requires_grad=True).tolist() == [0.0, 0.5, 1.0]
    assert linspace(0, 4, 4, endpoint=False, dtype="float32").numpy().tolist() == [0.0, 1.0, 2.0, 3.0]
