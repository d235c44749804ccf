"""Losses, and the functions they are made of, for lists of Values and for Tensors.

A list stands for one sample's scores, a list of lists for a batch; a plain number in a list is a constant. Each loss is
one Value: the mean over what it was given, or with `reduction="sum"` the sum; with "none" it is a list of Values, one
for each item or sample. Of a Tensor it is a Tensor, of shape () or with "none" of the targets' shape; see
`tensor/losses.py`, which is loaded (and NumPy with it) when the first one comes.

>>> from micrograd import Value
>>> from micrograd.functional import cross_entropy
>>> logits = [Value(2.0), Value(1.0), Value(0.0)]
>>> loss = cross_entropy(logits, 0)
>>> loss.backward()
>>> round(loss.data, 4), [round(x.grad, 4) for x in logits]
(0.4076, [-0.3348, 0.2447, 0.09])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import isfinite
from numbers import Real
from operator import index
from typing import Any

from .engine.modes import is_tracing
from .engine.value import Value

Number = Value | float

# ---------------------------------------------------------------------------------------------------------------------
# Losses of scores against targets, item by item


def hinge(scores: Any, targets: Any, reduction: str = "mean") -> Any:
    """Mean of max(0, 1 - target * score): no loss beyond the margin. The targets are -1 and 1.

    `reduction` is "mean", "sum" or "none", here and in all losses: one for each item or sample, not reduced.

    >>> hinge([Value(0.5), Value(3.0)], [1, 1]).data
    0.25
    """
    if _any_tensor(scores, targets):
        return _of_tensors().hinge(scores, targets, _checked(reduction))
    scores, targets = _pairs(scores, targets)
    for i, target in enumerate([] if is_tracing() else targets):
        if (number := target.data if isinstance(target, Value) else float(target)) not in (-1.0, 1.0):
            raise ValueError(
                f"target {i} of a hinge loss is {number}: it must be -1 or 1; 2 * y - 1 makes them of 0 and 1"
            )
    return _reduced([(1 - t * s).relu() for s, t in zip(scores, targets, strict=True)], reduction)


def mse(outputs: Any, targets: Any, reduction: str = "mean") -> Any:
    """Mean of the squared differences.

    >>> mse([Value(3.0), Value(1.0)], [1.0, 1.0]).data
    2.0
    """
    if _any_tensor(outputs, targets):
        return _of_tensors().mse(outputs, targets, _checked(reduction))
    outputs, targets = _pairs(outputs, targets)
    return _reduced([(o - t) ** 2 for o, t in zip(outputs, targets, strict=True)], reduction)


def bce_with_logits(logits: Any, targets: Any, reduction: str = "mean") -> Any:
    """Mean of -log of the probability that sigmoid(logit) gives to the target, which is a probability itself.

    >>> round(bce_with_logits([Value(0.0), Value(1e4)], [1, 1]).data, 4)
    0.3466
    """
    if _any_tensor(logits, targets):
        return _of_tensors().bce_with_logits(logits, targets, _checked(reduction))
    logits, targets = _pairs(logits, targets)
    for i, target in enumerate([] if is_tracing() else targets):
        if not 0 <= target.data <= 1:
            raise ValueError(f"target {i} of a binary cross-entropy is {target.data}: it must be from 0 to 1")
    return _reduced(
        [t * (-x).softplus() + (1 - t) * x.softplus() for x, t in zip(logits, targets, strict=True)], reduction
    )


# ---------------------------------------------------------------------------------------------------------------------
# Losses of a class: `target` is the index of the right one


def cross_entropy(logits: Any, target: Any, reduction: str = "mean") -> Any:
    """-log of the probability that `softmax(logits)` gives to the target; for a batch, the mean of it.

    The gradient at the logits is softmax - onehot. Of a single sample, every `reduction` is the same.

    >>> round(cross_entropy([[Value(0.0), Value(0.0)], [Value(1e4), Value(0.0)]], [0, 1]).data, 4)
    5000.3466
    """
    if _any_tensor(logits):
        return _of_tensors().cross_entropy(logits, target, _checked(reduction))
    return _of_classes(lambda row, i: -log_softmax(row)[i], logits, target, reduction)


def nll(log_probs: Any, target: Any, reduction: str = "mean") -> Any:
    """Minus the log-probability of the target, as `log_softmax` gives it; for a batch, the mean of it."""
    if _any_tensor(log_probs):
        return _of_tensors().nll(log_probs, target, _checked(reduction))
    return _of_classes(lambda row, i: -row[i], log_probs, target, reduction)


def softmax(logits: Any, axis: int = -1) -> Any:
    """Probabilities, which sum to 1, in the ratio of exp(logit); of a Tensor, along the axis.

    >>> [p.data for p in softmax([Value(1e4), Value(1e4)])]
    [0.5, 0.5]
    """
    if _any_tensor(logits):
        return logits.softmax(axis)
    _, shifted = _shifted(logits, axis)
    parts = [x.exp() for x in shifted]
    whole = _sum(parts)
    return [part / whole for part in parts]


def log_softmax(logits: Any, axis: int = -1) -> Any:
    """The logarithms of `softmax`, right also where the probability is too small for a float."""
    if _any_tensor(logits):
        return logits.log_softmax(axis)
    _, shifted = _shifted(logits, axis)
    whole = _sum([x.exp() for x in shifted]).log()
    return [x - whole for x in shifted]


def logsumexp(xs: Any, axis: int = -1, keepdims: bool = False) -> Any:
    """log(exp(x0) + exp(x1) + ...), without overflow; its gradient is `softmax`. Of a Tensor, along the axis.

    >>> round(logsumexp([Value(1000.0), Value(1000.0)]).data, 4)
    1000.6931
    """
    if _any_tensor(xs):
        return xs.logsumexp(axis, keepdims)
    greatest, shifted = _shifted(xs, axis)
    return _sum([x.exp() for x in shifted]).log() + greatest


def _shifted(xs: Sequence[Number], axis: int) -> tuple[Number, list[Value]]:
    """The greatest, and all less the greatest, so that exp cannot overflow.

    The greatest is a mere number here: what is taken from all cancels out, and so does its derivative.
    """
    if axis not in (0, -1):
        raise ValueError(f"found axis {axis!r} for a list, which has but one: 0, or -1 counted from the end")
    values = _values(xs, "logits")
    if is_tracing():
        greatest = reduce(Value.maximum, values).detach()
        return greatest, [x - greatest for x in values]
    greatest = max(x.data for x in values)
    if not isfinite(greatest):
        greatest = 0.0  # inf - inf would be nan
    return greatest, [x - greatest for x in values]


def _of_classes(loss: Callable[[list[Value], int], Value], scores: Any, target: Any, reduction: str) -> Any:
    """The loss of one sample (a list of scores, an index), or that of a batch (a list of each), reduced."""
    _checked(reduction)
    scores = _listed(scores, "scores")
    if not _is_list(scores[0]):
        return loss(_values(scores, "scores"), _class(target, len(scores), "target"))
    targets = _listed(target, "targets")
    _check_lengths(scores, targets)
    rows = [_values(row, f"scores[{i}]") for i, row in enumerate(scores)]
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"found rows of {[len(row) for row in rows]} scores: each sample needs one for each class")
    classes = [_class(t, len(rows[0]), f"targets[{i}]") for i, t in enumerate(targets)]
    return _reduced([loss(row, i) for row, i in zip(rows, classes, strict=True)], reduction)


# ---------------------------------------------------------------------------------------------------------------------
# Which kind; sums, and arguments checked


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight.T + bias of Tensors: x of shape (..., n), weight (m, n), bias (m,); the result is (..., m).

    >>> from micrograd import Tensor
    >>> from micrograd.functional import linear
    >>> linear(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]]), Tensor([0.5]))
    Tensor([[11.5]])
    """
    from .tensor.tensor import linear

    return linear(x, weight, bias)


# ---------------------------------------------------------------------------------------------------------------------
# Pictures: Tensors of shape (..., channels, height, width)


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The sums of each window of a picture times each of some filters: convolution, or rather correlation.

    Args:
        x: the pictures, of shape (..., channels, height, width).
        weight: the filters, of shape (filters, channels / groups, *size).
        bias: a number for each filter, of shape (filters,).
        stride: how far each window is from the one before: an int, or a pair (rows, columns), as in all below.
        padding: how many zeros are put around the picture; or "valid" for none, or "same" to keep its size.
        dilation: how far apart the elements of a window are.
        groups: into how many the channels are divided, each with filters of its own.

    Returns:
        A Tensor of shape (..., filters, rows, columns).

    >>> from micrograd import Tensor
    >>> from micrograd.functional import conv2d
    >>> edges = Tensor([[[[1.0, -1.0]]]])
    >>> conv2d([[[0.0, 0.0, 5.0, 5.0]]], edges)
    Tensor([[[ 0., -5.,  0.]]])
    """
    from .tensor.convolution import conv2d

    return conv2d(x, weight, bias, stride, padding, dilation, groups)


def max_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
    """The greatest number of each window of a picture; of those that tie, the first gets the gradient.

    Args:
        x: the pictures, of shape (..., channels, height, width).
        kernel_size: the size of a window.
        stride: as in `conv2d`, but by default the size: windows side by side.
        padding, dilation: as in `conv2d`; what is put around is less than any number.

    Returns:
        A Tensor of shape (..., channels, rows, columns).

    >>> from micrograd.functional import max_pool2d
    >>> max_pool2d([[[1.0, 2.0, 0.0, 0.0], [3.0, 4.0, 0.0, 5.0]]], 2)
    Tensor([[[4., 5.]]])
    """
    from .tensor.convolution import max_pool2d

    return max_pool2d(x, kernel_size, stride, padding, dilation)


def avg_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Any:
    """The mean of each window of a picture; zeros that were put around count.

    The arguments and the result are as in `max_pool2d`.

    >>> from micrograd.functional import avg_pool2d
    >>> avg_pool2d([[[1.0, 2.0, 0.0, 0.0], [3.0, 4.0, 0.0, 6.0]]], 2)
    Tensor([[[2.5, 1.5]]])
    """
    from .tensor.convolution import avg_pool2d

    return avg_pool2d(x, kernel_size, stride, padding)


# ---------------------------------------------------------------------------------------------------------------------


def _any_tensor(*xs: Any) -> bool:
    return any(hasattr(x, "_node") for x in xs)


def _of_tensors() -> Any:
    """The losses of Tensors, which load NumPy: hence not imported at the top."""
    from .tensor import losses

    return losses


def _sum(xs: list[Value]) -> Value:
    return sum(xs[1:], xs[0])


def _reduced(losses: list[Value], reduction: str) -> Any:
    """The losses as one: their mean or their sum; or, with "none", as they are."""
    if _checked(reduction) == "none":
        return losses
    return _sum(losses) / len(losses) if reduction == "mean" else _sum(losses)


def _checked(reduction: Any) -> str:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'found the reduction {reduction!r:.50}: it must be "mean", "sum" or "none"')
    return reduction


def _pairs(scores: Any, targets: Any) -> tuple[list[Value], list[Value]]:
    scores, targets = _values(scores, "scores"), _values(targets, "targets")
    _check_lengths(scores, targets)
    return scores, targets


def _check_lengths(scores: list[Any], targets: list[Any]) -> None:
    if len(scores) != len(targets):
        raise ValueError(f"found {len(scores)} scores and {len(targets)} targets: each score needs its target")


def _values(xs: Any, name: str) -> list[Value]:
    """A list of Values, not empty; numbers become constants."""
    return [_value(x, f"{name}[{i}]") for i, x in enumerate(_listed(xs, name))]


def _value(x: Any, name: str) -> Value:
    if isinstance(x, Value):
        return x
    if isinstance(x, bool) or not isinstance(x, Real):
        hint = ": make a Tensor of the whole array" if hasattr(x, "__array__") else ""
        raise TypeError(f"{name} must be a Value or a number, found {type(x).__name__}{hint}")
    return Value(float(x), requires_grad=False)


def _listed(xs: Any, name: str) -> list[Any]:
    if not _is_list(xs):
        raise TypeError(f"{name} must be a list of Values or numbers, found {type(xs).__name__}")
    if not len(xs):
        raise ValueError(f"{name} is empty: a loss needs something to look at")
    return list(xs)


def _is_list(x: Any) -> bool:
    """A list, a tuple, an array; not what has no order, nor what can be read only once."""
    return hasattr(x, "__len__") and hasattr(x, "__getitem__") and not isinstance(x, (str, bytes, Mapping))


def _class(target: Any, classes: int, name: str) -> int:
    try:
        i = index(target)
    except TypeError:
        raise TypeError(f"{name} must be the index of a class, found {type(target).__name__}") from None
    if not 0 <= i < classes:
        raise IndexError(f"{name} is {i}: with {classes} classes it must be from 0 to {classes - 1}")
    return i
