"""Losses over lists of Values, against mpmath at 50 digits and, where it is installed, PyTorch."""

import math

import mpmath
import numpy as np
import pytest

from micrograd import functional as F
from micrograd.engine import Value
from micrograd.scalars.roots import grad

LOGITS = [[0.3, -1.2, 2.0], [5.0, 5.0, 5.0], [-30.0, 0.0, 30.0], [1e4, -1e4, 9999.0], [-1e4, -1e4 - 1, -1e4 - 40]]


def values(numbers):
    return [Value(x) for x in numbers]


def exact_softmax(xs):
    with mpmath.workdps(50):
        parts = [mpmath.exp(mpmath.mpf(x) - max(xs)) for x in xs]
        return [part / sum(parts) for part in parts]


# ---------------------------------------------------------------------------------------------------------------------
# The numbers


def test_hinge_is_the_mean_of_what_is_missing_to_the_margin():
    scores = values([0.5, 3.0, -0.5, 1.0])
    loss = F.hinge(scores, [1, 1, 1, -1])
    loss.backward()
    assert loss.data == (0.5 + 0.0 + 1.5 + 2.0) / 4
    assert [s.grad for s in scores] == [-0.25, 0.0, -0.25, 0.25]


def test_hinge_is_bit_equal_to_the_classic_loop():
    numbers, targets = [0.31, -0.77, 1.9, 0.02], [1, -1, -1, 1]
    losses = [(1 + -t * s).relu() for t, s in zip(targets, values(numbers), strict=True)]
    assert F.hinge(values(numbers), targets).data == sum(losses).data / 4


def test_mse_is_the_mean_of_squared_differences_and_targets_may_be_values():
    outputs, targets = values([3.0, 1.0]), [Value(1.0), 4.0]
    loss = F.mse(outputs, targets)
    loss.backward()
    assert loss.data == 6.5
    assert [o.grad for o in outputs] == [2.0, -3.0]
    assert targets[0].grad == -2.0


@pytest.mark.parametrize("xs", LOGITS)
@pytest.mark.parametrize("target", [0, 1, 2])
def test_cross_entropy_is_right_where_exp_would_overflow(xs, target):
    with mpmath.workdps(50):
        expected = float(-mpmath.log(exact_softmax(xs)[target]))
    assert F.cross_entropy(values(xs), target).data == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("xs", LOGITS)
def test_the_gradient_of_cross_entropy_is_softmax_minus_onehot(xs):
    logits = values(xs)
    F.cross_entropy(logits, 1).backward()
    expected = [float(p) - (i == 1) for i, p in enumerate(exact_softmax(xs))]
    assert [x.grad for x in logits] == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("xs", LOGITS)
def test_the_second_derivative_of_cross_entropy_is_that_of_softmax(xs):
    logits, p = values(xs), exact_softmax(xs)
    slopes = grad(F.cross_entropy(logits, 1), logits, create_graph=True)
    for i, slope in enumerate(slopes):
        row = grad(slope, logits, allow_unused=True)
        assert row == pytest.approx([float(p[i] * ((i == j) - p[j])) for j in range(3)], rel=1e-11, abs=1e-15)


def test_the_second_derivative_is_right_in_a_tie_for_the_greatest():
    x, y = values([2.0, 2.0])
    (slope,) = grad(F.logsumexp([x, y]), x, create_graph=True)
    assert grad(slope, [x, y]) == pytest.approx((0.25, -0.25), rel=1e-14)


@pytest.mark.parametrize("xs", LOGITS)
def test_softmax_logsumexp_and_log_softmax_agree_with_mpmath(xs):
    p = exact_softmax(xs)
    with mpmath.workdps(50):
        whole = mpmath.log(sum(mpmath.exp(mpmath.mpf(x)) for x in xs))
        logs = [float(x - whole) for x in xs]
    assert [q.data for q in F.softmax(values(xs))] == pytest.approx([float(q) for q in p], rel=1e-12, abs=1e-300)
    assert [q.data for q in F.log_softmax(values(xs))] == pytest.approx(logs, rel=1e-12, abs=1e-15)
    assert F.logsumexp(values(xs)).data == pytest.approx(float(whole), rel=1e-14)


def test_logsumexp_of_infinities_is_what_ieee_says():
    inf = math.inf
    assert F.logsumexp([-inf, -inf]).data == -inf
    assert F.logsumexp([inf, 1.0]).data == inf
    assert F.logsumexp([-inf, 3.0]).data == 3.0
    assert math.isnan(F.logsumexp([math.nan, 3.0]).data)
    assert math.isnan(F.logsumexp([3.0, math.nan]).data)


def test_a_masked_logit_gets_no_probability_and_no_gradient():
    logits = values([1.0, -math.inf, 2.0])
    F.cross_entropy(logits, 0).backward()
    assert logits[1].grad == 0.0
    assert math.isfinite(logits[0].grad)


def test_a_batch_is_the_mean_or_the_sum_of_its_samples_or_a_list_of_their_losses():
    rows, targets = [values(xs) for xs in LOGITS], [0, 1, 2, 0, 1]
    alone = [F.cross_entropy(row, t).data for row, t in zip(rows, targets, strict=True)]
    assert F.cross_entropy(rows, tuple(targets)).data == pytest.approx(sum(alone) / 5, rel=1e-14)
    assert F.cross_entropy(rows, targets, reduction="sum").data == pytest.approx(sum(alone), rel=1e-14)
    assert [loss.data for loss in F.cross_entropy(rows, targets, reduction="none")] == alone


def test_nll_of_log_softmax_is_cross_entropy():
    rows = [[0.3, -1.2, 4.0], [2.0, 0.5, -1.0]]
    logs = [F.log_softmax(values(row)) for row in rows]
    assert F.nll(logs, [2, 0]).data == F.cross_entropy([values(row) for row in rows], [2, 0]).data
    assert F.nll(logs[0], 2).data == -logs[0][2].data


def test_arrays_of_labels_as_scikit_learn_gives_them_will_do():
    scores = values([0.5, -0.5])
    assert F.hinge(scores, np.array([1, -1])).data == 0.5
    assert F.mse(scores, np.array([0.5, 0.5])).data == 0.5
    assert F.cross_entropy([scores, scores], np.array([0, 1])).data > 0


def test_plain_numbers_are_constants():
    x = Value(1.0)
    F.cross_entropy([x, 0.0], 0).backward()
    assert x.grad == pytest.approx(1 / (1 + math.exp(-1.0)) - 1, rel=1e-14)


# ---------------------------------------------------------------------------------------------------------------------
# Wrong inputs

V = Value(1.0)


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        (lambda: F.hinge([V, V], [1]), ValueError, "there are 2 scores and 1 targets"),
        (lambda: F.mse([V], [1, 2]), ValueError, "there are 1 scores and 2 targets"),
        (lambda: F.cross_entropy([[V, V]], [0, 1]), ValueError, "there are 1 scores and 2 targets"),
        (lambda: F.cross_entropy([[V, V], [V]], [0, 0]), ValueError, r"rows have \[2, 1\] scores"),
        (lambda: F.hinge([], []), ValueError, "scores is empty"),
        (lambda: F.mse([], []), ValueError, "scores is empty"),
        (lambda: F.cross_entropy([], 0), ValueError, "scores is empty"),
        (lambda: F.cross_entropy([[]], [0]), ValueError, r"scores\[0\] is empty"),
        (lambda: F.nll([], 0), ValueError, "scores is empty"),
        (lambda: F.softmax([]), ValueError, "logits is empty"),
        (lambda: F.log_softmax([]), ValueError, "logits is empty"),
        (lambda: F.logsumexp([]), ValueError, "logits is empty"),
        (lambda: F.softmax([V, V], 1), ValueError, "a list has no axis 1"),
        (lambda: F.log_softmax([V, V], axis=-2), ValueError, "a list has no axis -2"),
        (lambda: F.logsumexp([V, V], axis=None), ValueError, "a list has no axis None"),
        (lambda: F.hinge([V], [0]), ValueError, r"targets\[0\] is 0.0: a hinge loss takes -1 or 1"),
        (lambda: F.hinge(V, 1), TypeError, "scores must be a list of Values or numbers, found Value"),
        (lambda: F.hinge([V], 1), TypeError, "targets must be a list of Values or numbers, found int"),
        (lambda: F.mse((x for x in [V]), [1]), TypeError, "found generator"),
        (lambda: F.mse([V], ["1"]), TypeError, r"targets\[0\] must be a Value or a number, found str"),
        (lambda: F.mse([V], [True]), TypeError, r"targets\[0\] must be a Value or a number, found bool"),
        (lambda: F.softmax(np.ones((2, 3))), TypeError, r"found ndarray: make a Tensor of the whole array"),
        (lambda: F.mse([[V]], [1]), TypeError, r"scores\[0\] must be a Value or a number, found list"),
        (lambda: F.softmax("ab"), TypeError, "logits must be a list of Values or numbers, found str"),
        (lambda: F.cross_entropy([V, V], 2), IndexError, "target is 2: with 2 classes it must be from 0 to 1"),
        (lambda: F.cross_entropy([V, V], -1), IndexError, "target is -1"),
        (lambda: F.nll([[V, V]], [7]), IndexError, r"targets\[0\] is 7"),
        (lambda: F.cross_entropy([V, V], 0.0), TypeError, "target must be the index of a class, found float"),
        (lambda: F.cross_entropy([V, V], [0]), TypeError, "target must be the index of a class, found list"),
        (lambda: F.cross_entropy([[V, V]], 0), TypeError, "targets must be a list .* found int"),
    ],
)
def test_wrong_inputs_are_told_what_is_wrong(loss, error, message):
    with pytest.raises(error, match=message):
        loss()
