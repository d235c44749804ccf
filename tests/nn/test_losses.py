"""Losses of lists of Values and of Tensors, against mpmath at 50 digits and, where it is installed, PyTorch."""

import math

import mpmath
import numpy as np
import pytest

from micrograd import backward
from micrograd import functional as F
from micrograd.autograd.check import gradcheck
from micrograd.engine import Value
from micrograd.scalars.roots import grad
from micrograd.tensor import Tensor

LOGITS = [[0.3, -1.2, 2.0], [5.0, 5.0, 5.0], [-30.0, 0.0, 30.0], [1e4, -1e4, 9999.0], [-1e4, -1e4 - 1, -1e4 - 40]]
SCORES = np.array([0.5, -2.0, 30.0, -40.0, 1e4, -1e4, 0.0])


def values(numbers):
    return [values(x) if isinstance(x, list) else Value(x) for x in numbers]


def leaf(x, dtype=float):
    return Tensor(np.array(x, dtype), requires_grad=True)


def numbers(xs):
    return [x.data for x in xs] if isinstance(xs, list) else xs.tolist()


def grads(xs):
    return [grads(x) if isinstance(x, list) else x.grad for x in xs] if isinstance(xs, list) else xs.grad.tolist()


both = pytest.mark.parametrize("kind", [values, leaf])


def exact_softmax(xs):
    with mpmath.workdps(50):
        parts = [mpmath.exp(mpmath.mpf(x) - max(xs)) for x in xs]
        return [part / sum(parts) for part in parts]


# ---------------------------------------------------------------------------------------------------------------------
# The numbers


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


# ---------------------------------------------------------------------------------------------------------------------
# Tensors, beside PyTorch and lists of Values


def test_cross_entropy_and_hinge_are_one_node():
    scores, targets = leaf([[1.0, 2.0], [0.0, 0.0]]), leaf([[1, -1], [-1, 1]])
    assert F.cross_entropy(scores, np.array([1, 0]))._prev == (scores,)
    assert F.hinge(scores, targets)._prev == (scores, targets)


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll])
def test_more_axes_are_more_samples(loss):
    rows, classes = np.random.default_rng(0).standard_normal((2, 3, 4)), np.array([[0, 1, 2], [3, 0, 0]])
    flat = loss(Tensor(rows.reshape(6, 4)), classes.ravel())
    assert loss(Tensor(rows), classes).item() == pytest.approx(flat.item(), rel=1e-15)


def test_targets_may_be_a_list_an_array_or_a_tensor_and_may_change_after_the_call():
    for targets in ([0, 2], np.array([0, 2], np.uint8), Tensor([0, 2])):
        logits = leaf([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
        loss = F.cross_entropy(logits, targets)
        targets[0] = 1
        loss.backward()
        assert loss.item() == pytest.approx(2.4076059644443806, rel=1e-14)
        assert logits.grad[0, 0] < 0


def test_loss_of_halves_that_add_up_to_more_than_a_half_can_hold_has_a_mean():
    assert F.hinge(leaf(np.full(10_000, -9.0), np.float16), np.ones(10_000)).item() == 10.0


LOSSES = {
    "hinge": (F.hinge, SCORES.tolist(), [1, -1, 1, 1, -1, -1, 1]),
    "mse": (F.mse, SCORES.tolist(), [0.1, 0.2, 3.0, 0.0, -1.0, 2.0, 5.0]),
    "bce_with_logits": (F.bce_with_logits, SCORES.tolist(), [1, 0, 0.5, 1, 0, 0, 0.25]),
    "cross_entropy": (F.cross_entropy, LOGITS, (0, 1, 2, 0, 1)),
    "nll": (F.nll, LOGITS, [0, 1, 2, 0, 1]),
}


@pytest.mark.parametrize(("loss", "scores", "targets"), LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_loss_of_a_tensor_is_that_of_a_list_of_values(loss, scores, targets, reduction):
    array, lists = leaf(scores), values(scores)
    of_array, of_values = loss(array, targets, reduction), loss(lists, np.array(targets), reduction)
    of_values = of_values if reduction == "none" else [of_values]
    of_array.sum().backward()
    backward(of_values)
    assert of_array.detach().reshape(-1).tolist() == pytest.approx([x.data for x in of_values], rel=1e-14)
    assert array.grad == pytest.approx(np.array(grads(lists)), rel=1e-13, abs=1e-16)


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
    assert getattr(F, theirs) is ours
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
@pytest.mark.parametrize("kind", [np.array, np.ndarray.tolist], ids=["Tensor", "Values"])
def test_second_derivative_of_a_loss_is_right_however_it_is_reduced(ours, theirs, scores, targets, reduction, kind):
    x, targets = kind(np.linspace(-1, 1.5, scores.size).reshape(scores.shape)), kind(targets)
    assert gradcheck(lambda a: ours(a, targets, reduction=reduction), x, order=2)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_function_of_a_tensor_is_its_method_along_any_axis(name):
    x, function = leaf([[1.0, 2.0, 3.0], [0.0, 5.0, -1.0]]), getattr(F, name)
    for axis in (0, 1, -2):
        assert function(x, axis).tolist() == getattr(x, name)(axis).tolist()
    assert F.logsumexp(x, 0, keepdims=True).shape == (1, 3)


@both
def test_confident_and_right_costs_what_a_float_can_still_tell(kind):
    loss = F.bce_with_logits(kind([50.0, -50.0]), [1, 0])
    assert loss.item() == pytest.approx(math.exp(-50), rel=1e-12)


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
        (lambda: F.cross_entropy([[]], [0]), ValueError, r"scores\[0\] is empty"),
        (lambda: F.softmax([]), ValueError, "logits is empty"),
        (lambda: F.softmax([V, V], 1), ValueError, "a list has no axis 1"),
        (lambda: F.logsumexp([V, V], axis=None), ValueError, "a list has no axis None"),
        (lambda: F.hinge([V], [0]), ValueError, r"targets\[0\] is 0.0: a hinge loss takes -1 or 1"),
        (lambda: F.hinge(V, 1), TypeError, "scores must be a list of Values or numbers, found Value"),
        (lambda: F.hinge([V], 1), TypeError, "targets must be a list of Values or numbers, found int"),
        (lambda: F.mse((x for x in [V]), [1]), TypeError, "found generator"),
        (lambda: F.mse([V], [True]), TypeError, r"targets\[0\] must be a Value or a number, found bool"),
        (lambda: F.softmax(np.ones((2, 3))), TypeError, r"found ndarray: make a Tensor of the whole array"),
        (lambda: F.mse([[V]], [1]), TypeError, r"scores\[0\] must be a Value or a number, found list"),
        (lambda: F.cross_entropy([V, V], 2), IndexError, "target is 2: with 2 classes it must be from 0 to 1"),
        (lambda: F.nll([[V, V]], [7]), IndexError, r"targets\[0\] is 7"),
        (lambda: F.cross_entropy([V, V], 0.0), TypeError, "target must be the index of a class, found float"),
        (lambda: F.cross_entropy([V, V], [0]), TypeError, "target must be the index of a class, found list"),
        (lambda: F.cross_entropy([[V, V]], 0), TypeError, "targets must be a list .* found int"),
        (lambda: F.cross_entropy(X, [-1, 0]), IndexError, r"targets\[0\] is -1: with 2 classes"),
        (lambda: F.cross_entropy(X, [0.0, 1.0]), TypeError, "indices of classes, found dtype float64"),
        (lambda: F.cross_entropy(X, [0]), ValueError, r"scores have shape \(2, 2\) and the targets \(1,\)"),
        (lambda: F.cross_entropy(X, [[0], [1]]), ValueError, r"the targets \(2, 1\)"),
        (lambda: F.cross_entropy(X, 0), ValueError, r"the targets \(\)"),
        (lambda: F.cross_entropy(Tensor(1.0), 0), ValueError, r"scores have shape \(\)"),
        (lambda: F.cross_entropy(Tensor([[1, 2]]), [0]), TypeError, "scores are floats, found dtype int64"),
        (lambda: F.cross_entropy(Tensor(np.zeros((0, 3))), np.zeros(0, int)), ValueError, "needs at least one score"),
        (lambda: F.mse(X, [1.0, 2.0]), ValueError, r"scores have shape \(2, 2\) and the targets \(2,\): reshape"),
        (lambda: F.mse(Tensor([]), []), ValueError, "needs at least one score"),
        (lambda: F.hinge(X[0], [1, 0]), ValueError, r"targets\[1\] is 0.0: a hinge loss takes -1 or 1"),
        (lambda: F.bce_with_logits(X, [[0, 1], [1.5, 2]]), ValueError, r"targets\[1\]\[0\] is 1.5: .* from 0 to 1"),
        (lambda: F.bce_with_logits(X[0], [0, np.nan]), ValueError, "probabilities, from 0 to 1"),
        (
            lambda: F.bce_with_logits([Value(1.0)], [2]),
            ValueError,
            r"targets\[0\] is 2.0: .* probabilities, from 0 to 1",
        ),
    ],
)
def test_wrong_inputs_are_told_what_is_wrong(loss, error, message):
    with pytest.raises(error, match=message):
        loss()
