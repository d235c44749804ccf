"""Losses of Tensors: the numbers, PyTorch's, those of lists of Values, and what is refused."""

import math

import numpy as np
import pytest

from micrograd import backward, nn, optim
from micrograd import functional as F
from micrograd.autograd.check import gradcheck
from micrograd.engine import Value
from micrograd.tensor import Tensor

LOGITS = np.array([[0.3, -1.2, 2.0], [5.0, 5.0, 5.0], [-30.0, 0.0, 30.0], [1e4, -1e4, 9999.0], [-1e4, -10001.0, 3.0]])
SCORES = np.array([0.5, -2.0, 30.0, -40.0, 1e4, -1e4, 0.0])


def leaf(x, dtype=float):
    return Tensor(np.array(x, dtype), requires_grad=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ten_classes_without_an_opinion_cost_log_ten(dtype):
    logits = leaf(np.zeros((4, 10)), dtype)
    loss = F.cross_entropy(logits, [0, 3, 9, 9])
    assert loss.item() == pytest.approx(2.302585, rel=1e-6)
    assert loss.dtype == dtype
    assert loss.shape == ()


def test_cross_entropy_is_one_node_whose_gradient_is_softmax_less_onehot():
    logits = leaf([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0]])
    loss = F.cross_entropy(logits, np.array([1, 2]))
    assert loss._prev == (logits,)
    loss.backward()
    expected = (logits.detach().softmax().data - [[0, 1, 0], [0, 0, 1]]) / 2
    assert logits.grad == pytest.approx(expected, rel=1e-14)


def test_one_sample_needs_no_batch_and_more_axes_are_more_samples():
    one = F.cross_entropy(Tensor(LOGITS[0]), 2)
    assert one.item() == pytest.approx(F.cross_entropy([*LOGITS[0]], 2).data, rel=1e-14)
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


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_hinge_is_one_node_with_both_derivatives_and_both_orders_of_scores_and_of_targets(reduction):
    scores, targets = leaf([[0.3, -0.7], [2.0, 0.1]]), leaf([[1, -1], [-1, 1]])
    loss = F.hinge(scores, targets, reduction)
    assert loss._prev == (scores, targets)
    each = (1 - scores * targets).relu()
    expected = {"mean": each.mean(), "sum": each.sum(), "none": each}[reduction]
    assert loss.detach().data == pytest.approx(expected.detach().data, rel=1e-15)
    assert gradcheck(lambda a: (F.hinge(a, targets, reduction) ** 3).sum(), scores, order=2)
    loss.sum().backward()
    slope = np.where(scores.data * targets.data < 1, -1, 0) / (4 if reduction == "mean" else 1)
    assert scores.grad == pytest.approx(slope * targets.data)
    assert targets.grad == pytest.approx(slope * scores.data)


def test_a_loss_of_halves_that_add_up_to_more_than_a_half_can_hold_has_a_mean():
    assert F.hinge(leaf(np.full(10_000, -9.0), np.float16), np.ones(10_000)).item() == 10.0


OF_SCORES = {
    "hinge": (F.hinge, [1, -1, 1, 1, -1, -1, 1]),
    "mse": (F.mse, [0.1, 0.2, 3.0, 0.0, -1.0, 2.0, 5.0]),
    "bce_with_logits": (F.bce_with_logits, [1, 0, 0.5, 1, 0, 0, 0.25]),
}


@pytest.mark.parametrize("name", OF_SCORES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_a_loss_of_a_tensor_is_that_of_a_list_of_values(name, reduction):
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
        (F.cross_entropy, "cross_entropy", LOGITS, np.array([0, 1, 2, 1, 0])),
        (F.cross_entropy, "cross_entropy", LOGITS[0], np.array(2)),
        (F.nll, "nll_loss", LOGITS, np.array([0, 1, 2, 1, 0])),
        (F.nll, "nll_loss", LOGITS[0], np.array(2)),
    ],
)
EVERY_REDUCTION = pytest.mark.parametrize("reduction", ["mean", "sum", "none"])


@PYTORCHS
@EVERY_REDUCTION
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_loss_is_pytorchs(ours, theirs, scores, targets, reduction, dtype):
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
def test_the_second_derivative_of_a_loss_is_right_however_it_is_reduced(ours, theirs, scores, targets, reduction):
    x = np.linspace(-1, 1.5, scores.size).reshape(scores.shape)
    assert gradcheck(lambda a: ours(a, targets, reduction=reduction), x, order=2)


def test_both_operands_of_mse_may_require_a_gradient():
    x, y = leaf([3.0, 1.0]), leaf([1.0, 1.0])
    F.mse(x, y).backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0, 0.0], [-2.0, 0.0])
    assert F.mse([3.0, 1.0], y).item() == 2.0


def test_confident_and_right_costs_what_a_float_can_still_tell():
    loss = F.bce_with_logits(leaf([50.0, -50.0]), [1, 0])
    assert loss.item() == pytest.approx(math.exp(-50), rel=1e-12)


def test_targets_of_integers_or_of_double_precision_do_not_change_the_dtype():
    scores = leaf([0.5, -0.5], np.float32)
    for targets in ([1, -1], np.array([1.0, -1.0]), Tensor([1, -1])):
        assert F.hinge(scores, targets).dtype == np.float32
        assert F.mse(scores, targets).dtype == np.float32


def test_softmax_and_logsumexp_work_along_the_last_axis():
    x = leaf([[1000.0, 1000.0], [0.0, -1e4]])
    assert F.softmax(x).tolist() == [[0.5, 0.5], [1.0, 0.0]]
    assert F.log_softmax(x).tolist()[1] == [0.0, -1e4]
    assert F.logsumexp(x).tolist() == pytest.approx([1000.6931471805599, 0.0])


@pytest.mark.parametrize("axis", [0, 1, -2, -1])
def test_softmax_and_logsumexp_take_an_axis(axis):
    x = leaf(np.random.default_rng(0).normal(size=(2, 3)))
    whole = np.exp(x.data).sum(axis, keepdims=True)
    assert F.softmax(x, axis).detach().data == pytest.approx(np.exp(x.data) / whole, rel=1e-14)
    assert F.log_softmax(x, axis=axis).detach().data == pytest.approx(x.data - np.log(whole), rel=1e-14)
    assert F.logsumexp(x, axis).detach().data == pytest.approx(np.log(whole).squeeze(axis), rel=1e-14)


X = leaf([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: F.cross_entropy(X, [0, 2]), IndexError, r"targets\[1\] is 2: with 2 classes it must be from 0 to 1"),
        (lambda: F.cross_entropy(X, [-1, 0]), IndexError, r"targets\[0\] is -1"),
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
def test_wrong_inputs_are_told_what_is_wrong(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


def test_what_pytorch_calls_by_another_name_answers_to_it():
    assert (F.mse_loss, F.nll_loss, F.binary_cross_entropy_with_logits) == (F.mse, F.nll, F.bce_with_logits)
    assert optim.clip_grad_norm_ is optim.clip_grad_norm
