"""Losses of lists of Values and of Tensors, against mpmath at 50 digits and, where it is installed, PyTorch."""

import math

import mpmath
import numpy as np
import pytest

from micrograd import backward, nn, optim
from micrograd import functional as F
from micrograd.autograd.check import gradcheck
from micrograd.engine import Value
from micrograd.scalars.roots import grad
from micrograd.tensor import Tensor

LOGITS = [[0.3, -1.2, 2.0], [5.0, 5.0, 5.0], [-30.0, 0.0, 30.0], [1e4, -1e4, 9999.0], [-1e4, -1e4 - 1, -1e4 - 40]]
SCORES = np.array([0.5, -2.0, 30.0, -40.0, 1e4, -1e4, 0.0])


def values(numbers):
    return [Value(x) for x in numbers]


def leaf(x, dtype=float):
    return Tensor(np.array(x, dtype), requires_grad=True)


def numbers(xs):
    return [x.data for x in xs] if isinstance(xs, list) else xs.tolist()


def grads(xs):
    return [x.grad for x in xs] if isinstance(xs, list) else xs.grad.tolist()


both = pytest.mark.parametrize("kind", [values, leaf])


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


@both
def test_mse_is_the_mean_of_squared_differences_and_targets_may_require_a_gradient(kind):
    outputs, targets = kind([3.0, 1.0]), kind([1.0, 4.0])
    loss = F.mse(outputs, targets)
    loss.backward()
    assert (loss.item(), grads(outputs), grads(targets)) == (6.5, [2.0, -3.0], [-2.0, 3.0])
    assert F.mse([3.0, 1.0], targets).item() == 6.5


@both
@pytest.mark.parametrize("xs", LOGITS)
@pytest.mark.parametrize("target", [0, 1, 2])
def test_cross_entropy_is_right_where_exp_would_overflow_and_its_gradient_is_softmax_minus_onehot(kind, xs, target):
    logits, p = kind(xs), exact_softmax(xs)
    loss = F.cross_entropy(logits, target)
    loss.backward()
    with mpmath.workdps(50):
        expected = float(-mpmath.log(p[target]))
    assert loss.item() == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert grads(logits) == pytest.approx([float(q) - (i == target) for i, q in enumerate(p)], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("xs", LOGITS)
def test_second_derivative_of_cross_entropy_is_that_of_softmax(xs):
    logits, p = values(xs), exact_softmax(xs)
    slopes = grad(F.cross_entropy(logits, 1), logits, create_graph=True)
    for i, slope in enumerate(slopes):
        row = grad(slope, logits, allow_unused=True)
        assert row == pytest.approx([float(p[i] * ((i == j) - p[j])) for j in range(3)], rel=1e-11, abs=1e-15)


def test_second_derivative_is_right_in_a_tie_for_the_greatest():
    x, y = values([2.0, 2.0])
    (slope,) = grad(F.logsumexp([x, y]), x, create_graph=True)
    assert grad(slope, [x, y]) == pytest.approx((0.25, -0.25), rel=1e-14)


@both
@pytest.mark.parametrize("xs", LOGITS)
def test_softmax_logsumexp_and_log_softmax_agree_with_mpmath(kind, xs):
    p = exact_softmax(xs)
    with mpmath.workdps(50):
        whole = mpmath.log(sum(mpmath.exp(mpmath.mpf(x)) for x in xs))
        logs = [float(x - whole) for x in xs]
    assert numbers(F.softmax(kind(xs))) == pytest.approx([float(q) for q in p], rel=1e-12, abs=1e-300)
    assert numbers(F.log_softmax(kind(xs))) == pytest.approx(logs, rel=1e-12, abs=1e-15)
    assert F.logsumexp(kind(xs)).item() == pytest.approx(float(whole), rel=1e-14)


@both
@pytest.mark.parametrize(
    ("xs", "expected"),
    [
        ([-math.inf, -math.inf], -math.inf),
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 3.0], 3.0),
        ([math.nan, 3.0], math.nan),
        ([3.0, math.nan], math.nan),
    ],
)
def test_logsumexp_of_infinities_is_what_ieee_says(kind, xs, expected):
    with np.errstate(all="ignore"):  # a Tensor warns as NumPy does
        assert F.logsumexp(kind(xs)).item() == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


@both
def test_masked_logit_gets_no_probability_and_no_gradient(kind):
    logits = kind([1.0, -math.inf, 2.0])
    F.cross_entropy(logits, 0).backward()
    assert grads(logits)[1] == 0.0
    assert math.isfinite(grads(logits)[0])


def test_batch_is_the_mean_or_the_sum_of_its_samples_or_a_list_of_their_losses():
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
# Tensors, beside PyTorch and lists of Values


def test_cross_entropy_and_hinge_are_one_node():
    scores, targets = leaf([[1.0, 2.0], [0.0, 0.0]]), leaf([[1, -1], [-1, 1]])
    assert F.cross_entropy(scores, np.array([1, 0]))._prev == (scores,)
    assert F.hinge(scores, targets)._prev == (scores, targets)


def test_losses_take_one_sample_without_a_batch_and_more_axes_as_more_samples():
    one = F.cross_entropy(Tensor(np.array(LOGITS[0])), 2)
    assert one.item() == pytest.approx(F.cross_entropy(LOGITS[0], 2).data, rel=1e-14)
    rows = np.random.default_rng(0).standard_normal((2, 3, 4))
    classes = np.array([[0, 1, 2], [3, 0, 0]])
    flat = F.cross_entropy(Tensor(rows.reshape(6, 4)), classes.ravel())
    assert F.cross_entropy(Tensor(rows), classes).item() == pytest.approx(flat.item(), rel=1e-15)


def test_targets_may_be_a_list_an_array_or_a_tensor_and_may_change_after_the_call():
    for targets in ([0, 2], np.array([0, 2], np.uint8), Tensor([0, 2])):
        logits = leaf([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        loss = F.cross_entropy(logits, targets)
        targets[0] = 1
        loss.backward()
        assert loss.item() == pytest.approx(2.4076059644443806, rel=1e-14)
        assert logits.grad[0, 0] < 0


def test_softmax_loss_is_cross_entropy_as_a_module():
    logits = Tensor(LOGITS)
    assert nn.SoftmaxLoss()(logits, [0] * 5).item() == F.cross_entropy(logits, [0] * 5).item()
    assert nn.SoftmaxLoss("sum")(logits, [0] * 5).item() == F.cross_entropy(logits, [0] * 5, "sum").item()


def test_loss_of_halves_that_add_up_to_more_than_a_half_can_hold_has_a_mean():
    assert F.hinge(leaf(np.full(10_000, -9.0), np.float16), np.ones(10_000)).item() == 10.0


OF_SCORES = {
    "hinge": (F.hinge, [1, -1, 1, 1, -1, -1, 1]),
    "mse": (F.mse, [0.1, 0.2, 3.0, 0.0, -1.0, 2.0, 5.0]),
    "bce_with_logits": (F.bce_with_logits, [1, 0, 0.5, 1, 0, 0, 0.25]),
}


@pytest.mark.parametrize("name", OF_SCORES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_loss_of_a_tensor_is_that_of_a_list_of_values(name, reduction):
    loss, targets = OF_SCORES[name]
    array, values = leaf(SCORES), [Value(x) for x in SCORES]
    of_array, of_values = loss(array, targets, reduction), loss(values, targets, reduction)
    of_values = of_values if reduction == "none" else [of_values]
    of_array.sum().backward()
    backward(of_values)
    assert of_array.detach().reshape(-1).tolist() == pytest.approx([x.data for x in of_values], rel=1e-14)
    assert array.grad == pytest.approx(np.array([v.grad for v in values]), rel=1e-14)


@pytest.mark.parametrize("loss", [F.hinge, F.mse, F.bce_with_logits, F.cross_entropy, F.nll])
@pytest.mark.parametrize("kind", [Value, leaf])
@pytest.mark.parametrize("reduction", ["average", None, "Mean", 1])
def test_another_reduction_is_refused(loss, kind, reduction):
    scores = [Value(0.5), Value(1.0)] if kind is Value else leaf([0.5, 1.0])
    with pytest.raises(ValueError, match='"mean", "sum" or "none"'):
        loss(scores, 1 if loss in (F.cross_entropy, F.nll) else [1, 1], reduction=reduction)


PYTORCHS = pytest.mark.parametrize(
    ("ours", "theirs", "scores", "targets"),
    [
        (F.mse, "mse_loss", SCORES, np.arange(7.0)),
        (F.bce_with_logits, "binary_cross_entropy_with_logits", SCORES, np.array([1, 0, 0.5, 1, 0, 0, 0.25])),
        (F.cross_entropy, "cross_entropy", np.array(LOGITS), np.array([0, 1, 2, 1, 0])),
        (F.cross_entropy, "cross_entropy", np.array(LOGITS[0]), np.array(2)),
        (F.nll, "nll_loss", np.array(LOGITS), np.array([0, 1, 2, 1, 0])),
        (F.nll, "nll_loss", np.array(LOGITS[0]), np.array(2)),
    ],
)
EVERY_REDUCTION = pytest.mark.parametrize("reduction", ["mean", "sum", "none"])


@PYTORCHS
@EVERY_REDUCTION
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_loss_is_pytorchs(ours, theirs, scores, targets, reduction, dtype):
    torch = pytest.importorskip("torch")
    a, b = leaf(scores, dtype), torch.tensor(scores, dtype=getattr(torch, dtype), requires_grad=True)
    loss = ours(a, targets, reduction=reduction)
    theirs_targets = torch.tensor(targets, dtype=torch.int64 if targets.dtype.kind == "i" else b.dtype)
    expected = getattr(torch.nn.functional, theirs)(b, theirs_targets, reduction=reduction)
    seed = np.linspace(0.5, 2, max(loss.size, 1)).reshape(loss.shape)
    loss.backward(seed)
    expected.backward(torch.tensor(seed, dtype=b.dtype))
    exact = {"float32": 1e-6, "float64": 1e-13}[dtype]
    assert (loss.dtype, loss.shape) == (dtype, tuple(expected.shape))
    assert loss.detach().numpy() == pytest.approx(expected.detach().numpy(), rel=exact, abs=exact)
    assert a.grad == pytest.approx(b.grad.numpy(), rel=exact, abs=exact)


@PYTORCHS
@EVERY_REDUCTION
def test_second_derivative_of_a_loss_is_right_however_it_is_reduced(ours, theirs, scores, targets, reduction):
    x = np.linspace(-1, 1.5, scores.size).reshape(scores.shape)
    assert gradcheck(lambda a: ours(a, targets, reduction=reduction), x, order=2)


@both
def test_confident_and_right_costs_what_a_float_can_still_tell(kind):
    loss = F.bce_with_logits(kind([50.0, -50.0]), [1, 0])
    assert loss.item() == pytest.approx(math.exp(-50), rel=1e-12)


def test_targets_of_integers_or_of_double_precision_do_not_change_the_dtype():
    scores = leaf([0.5, -0.5], np.float32)
    for targets in ([1, -1], np.array([1.0, -1.0]), Tensor([1, -1])):
        assert F.hinge(scores, targets).dtype == np.float32
        assert F.mse(scores, targets).dtype == np.float32


@pytest.mark.parametrize("axis", [0, 1, -2, -1])
def test_softmax_and_logsumexp_take_an_axis(axis):
    x = leaf(np.random.default_rng(0).normal(size=(2, 3)))
    whole = np.exp(x.data).sum(axis, keepdims=True)
    assert [f(x).tolist() for f in (F.softmax, F.log_softmax)] == [
        f(x, -1).tolist() for f in (F.softmax, F.log_softmax)
    ]
    assert F.softmax(x, axis).detach().data == pytest.approx(np.exp(x.data) / whole, rel=1e-14)
    assert F.log_softmax(x, axis=axis).detach().data == pytest.approx(x.data - np.log(whole), rel=1e-14)
    assert F.logsumexp(x, axis).detach().data == pytest.approx(np.log(whole).squeeze(axis), rel=1e-14)


def test_losses_answer_to_the_names_of_pytorch():
    assert (F.mse_loss, F.nll_loss, F.binary_cross_entropy_with_logits) == (F.mse, F.nll, F.bce_with_logits)
    assert optim.clip_grad_norm_ is optim.clip_grad_norm


# ---------------------------------------------------------------------------------------------------------------------
# Wrong inputs

V, X = Value(1.0), leaf([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        (lambda: F.hinge([V, V], [1]), ValueError, "there are 2 scores and 1 targets"),
        (lambda: F.mse([V], [1, 2]), ValueError, "there are 1 scores and 2 targets"),
        (lambda: F.cross_entropy([[V, V]], [0, 1]), ValueError, "there are 1 scores and 2 targets"),
        (lambda: F.cross_entropy([[V, V], [V]], [0, 0]), ValueError, r"rows have \[2, 1\] scores"),
        (lambda: F.hinge([], []), ValueError, "scores is empty"),
        (lambda: F.cross_entropy([], 0), ValueError, "scores is empty"),
        (lambda: F.cross_entropy([[]], [0]), ValueError, r"scores\[0\] is empty"),
        (lambda: F.softmax([]), ValueError, "logits is empty"),
        (lambda: F.softmax([V, V], 1), ValueError, "a list has no axis 1"),
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
        (lambda: F.cross_entropy(X, [-1, 0]), IndexError, r"targets\[0\] is -1: with 2 classes"),
        (lambda: F.nll(X, [0, 7]), IndexError, r"targets\[1\] is 7"),
        (lambda: F.cross_entropy(X[0], 5), IndexError, "targets is 5: with 2 classes"),
        (lambda: F.cross_entropy(X, [0.0, 1.0]), TypeError, "indices of classes, found dtype float64"),
        (lambda: F.cross_entropy(X, [0]), ValueError, r"scores have shape \(2, 2\) and the targets \(1,\)"),
        (lambda: F.cross_entropy(X, [[0], [1]]), ValueError, r"the targets \(2, 1\)"),
        (lambda: F.cross_entropy(X, 0), ValueError, r"the targets \(\)"),
        (lambda: F.cross_entropy(Tensor(1.0), 0), ValueError, r"scores have shape \(\)"),
        (lambda: F.cross_entropy(Tensor([[1, 2]]), [0]), TypeError, "scores are floats, found dtype int64"),
        (lambda: F.cross_entropy(Tensor(np.zeros((0, 3))), np.zeros(0, int)), ValueError, "needs at least one score"),
        (lambda: F.mse(X, [1.0, 2.0]), ValueError, r"scores have shape \(2, 2\) and the targets \(2,\): reshape"),
        (lambda: F.mse(X, 1.0), ValueError, r"the targets \(\)"),
        (lambda: F.mse(Tensor([]), []), ValueError, "needs at least one score"),
        (lambda: F.hinge(X[0], [1, 0]), ValueError, r"targets\[1\] is 0.0: a hinge loss takes -1 or 1"),
        (lambda: F.bce_with_logits(X, [[0, 1], [1.5, 2]]), ValueError, r"targets\[1\]\[0\] is 1.5: .* from 0 to 1"),
        (lambda: F.bce_with_logits(X[0], [0, np.nan]), ValueError, "probabilities, from 0 to 1"),
        (
            lambda: F.bce_with_logits([Value(1.0)], [2]),
            ValueError,
            r"targets\[0\] is 2.0: .* probabilities, from 0 to 1",
        ),
        (lambda: F.mse(X, "ab"), TypeError, "a Tensor holds real numbers"),
    ],
)
def test_wrong_inputs_are_told_what_is_wrong(loss, error, message):
    with pytest.raises(error, match=message):
        loss()
