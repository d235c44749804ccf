"""Losses, and the functions they are made of, for lists of Values. Those of Tensors are in `tensors.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from math import isfinite
from numbers import Real
from operator import index
from typing import Any

from ..engine.modes import tell
from ..engine.value import Value
from ..scalars.kinds import is_tracing, traced, verify

Number = Value | float

# ---------------------------------------------------------------------------------------------------------------------
# Losses of scores and targets, item by item


def hinge(scores: Any, targets: Any, reduction: str = "mean") -> Any:
    """Hinge loss, max(0, 1 - target * score).

    Use it to separate two classes, labelled -1 and 1, by a margin.

    Args:
        scores: a list of n Values, or a Tensor of any shape. Float.
        targets: -1 or 1 for each score, as a list of n numbers, or a Tensor, array or list of the scores' shape.
        reduction: "mean", "sum" or "none" (one loss per score).

    Returns:
        A Value for a list, or with "none" a list of n. A Tensor of shape () for a Tensor, or with "none" of the
        targets' shape.

    Raises:
        ValueError: a target is not -1 or 1, the lengths or shapes differ, or there are no scores.

    The gradient with respect to a score is -target where target * score < 1, and 0 elsewhere. For "mean" it is divided
    by n.

    >>> hinge([Value(0.5), Value(3.0)], [1, 1]).data
    0.25
    """
    return _of_pairs("hinge", lambda s, t: (1 - t * s).relu(), scores, targets, reduction, _SIGN)


def mse(outputs: Any, targets: Any, reduction: str = "mean") -> Any:
    """Squared error, (output - target)**2.

    Use it for regression, where the targets are numbers rather than classes.

    Args:
        outputs: a list of n Values, or a Tensor of any shape. Float.
        targets: a list of n numbers, or a Tensor, array or list of the outputs' shape.
        reduction: "mean", "sum" or "none" (one loss per output).

    Returns:
        A Value for a list, or with "none" a list of n. A Tensor of shape () for a Tensor, or with "none" of the
        targets' shape.

    Raises:
        ValueError: the lengths or shapes differ, or there are no outputs.

    >>> mse([Value(3.0), Value(1.0)], [1.0, 1.0]).data
    2.0
    """
    return _of_pairs("mse", lambda o, t: (o - t) ** 2, outputs, targets, reduction)


def bce_with_logits(logits: Any, targets: Any, reduction: str = "mean") -> Any:
    """Binary cross-entropy between sigmoid(logits) and target probabilities, without overflow.

    Use it for questions with the answers yes and no. Pass the logits themselves, without a sigmoid.

    Args:
        logits: a list of n Values, or a Tensor of any shape. Float.
        targets: a probability in [0, 1] for each logit, as a list of n numbers, or a Tensor, array or list of the
            logits' shape.
        reduction: "mean", "sum" or "none" (one loss per logit).

    Returns:
        The loss in nats. It is a Value for a list, or with "none" a list of n, and a Tensor of shape () for a Tensor,
        or with "none" of the targets' shape.

    Raises:
        ValueError: a target is outside [0, 1], the lengths or shapes differ, or there are no logits.

    The gradient with respect to a logit is sigmoid(logit) - target, divided by n for "mean".

    >>> round(bce_with_logits([Value(0.0), Value(1e4)], [1, 1]).data, 4)
    0.3466
    """
    loss = _of_pairs(
        "bce", lambda x, t: t * (-x).softplus() + (1 - t) * x.softplus(), logits, targets, reduction, _PROBABILITY
    )
    tell("scores", "bce_with_logits", logits)
    return loss


# Conditions on targets: a predicate on numbers or, elementwise, on arrays, and what to say if a target violates it
_SIGN = (lambda t: abs(t) == 1, "a hinge loss takes -1 or 1; 2 * y - 1 makes them of 0 and 1")
_PROBABILITY = (lambda t: (t >= 0) & (t <= 1), "a binary cross-entropy takes probabilities, from 0 to 1")


def _of_pairs(name: str, formula: Callable, scores: Any, targets: Any, reduction: str, allowed: Any = None) -> Any:
    """The reduced loss of scores and targets. The formula is that of a pair of Values, or of Tensors elementwise."""
    _check_reduction(reduction)
    if _is_tensor(scores) or _is_tensor(targets):
        return _of_tensors().of_pairs(name, formula, scores, targets, reduction, allowed)
    scores, targets = _values(scores, "scores"), _values(targets, "targets")
    _check_lengths(scores, targets)
    if allowed:
        verify([traced(t)._data for t in targets], lambda numbers: _check_targets(numbers, *allowed))
    return _reduced([formula(s, t) for s, t in zip(scores, targets, strict=True)], reduction)


def _check_targets(targets: Sequence[Any], allowed: Callable[[Any], Any], needed: str) -> None:
    """Raise for the first target that is not allowed. In a compiled batch a target is an array, one for each sample."""
    for i, t in enumerate(targets):
        for x in t.ravel().tolist() if hasattr(t, "ravel") else [t]:
            if not allowed(x):
                raise ValueError(f"targets[{i}] is {x}: {needed}")


# ---------------------------------------------------------------------------------------------------------------------
# Classification losses: `target` is the index of the correct class


def cross_entropy(logits: Any, target: Any, reduction: str = "mean") -> Any:
    """Cross-entropy between unnormalised scores and class indices, -log(softmax(logits)[target]).

    Use it to train a classifier of several classes. Pass the logits themselves, without a softmax.

    Args:
        logits: a list of C Values, a list of n such lists, or a Tensor of shape (..., C). Float.
        target: class indices in [0, C), as one int, a list of n ints, or integers of shape (...).
        reduction: "mean", "sum" or "none" (one loss per sample). It has no effect on a single list of Values.

    Returns:
        The loss in nats. It is a Value for lists, or with "none" a list of n, and a Tensor of shape () for a Tensor, or
        with "none" of shape (...).

    Raises:
        IndexError: a target is outside [0, C).
        TypeError: a target is not an integer.
        ValueError: the lengths or shapes do not match, or there are no samples.

    The gradient with respect to the logits is softmax(logits) - onehot(target), divided by n for "mean".

    >>> round(cross_entropy([[Value(0.0), Value(0.0)], [Value(1e4), Value(0.0)]], [0, 1]).data, 4)
    5000.3466
    """
    _check_reduction(reduction)
    if _is_tensor(logits):
        loss = _of_tensors().cross_entropy(logits, target, reduction)
    else:
        loss = _of_classes(lambda row, i: -log_softmax(row)[i], logits, target, reduction)
    tell("scores", "cross_entropy", logits)
    return loss


def nll(log_probs: Any, target: Any, reduction: str = "mean") -> Any:
    """Negative log-likelihood, -log_probs[target], for log-probabilities such as those of `log_softmax`.

    Use it where the log-probabilities are needed anyway. Otherwise `cross_entropy` does both steps.

    Args:
        log_probs: a list of C Values, a list of n such lists, or a Tensor of shape (..., C). Float.
        target, reduction: as in `cross_entropy`.

    Returns:
        The loss, as in `cross_entropy`, which is `nll(log_softmax(logits), target)`.

    Raises:
        IndexError: a target is outside [0, C).
        TypeError: a target is not an integer.
        ValueError: the lengths or shapes do not match, or there are no samples.

    >>> nll([Value(-0.5), Value(-2.0)], 1).data
    2.0
    """
    _check_reduction(reduction)
    if _is_tensor(log_probs):
        return _of_tensors().nll(log_probs, target, reduction)
    return _of_classes(lambda row, i: -row[i], log_probs, target, reduction)


def softmax(logits: Any, axis: int = -1) -> Any:
    """exp(logit) / sum(exp(logits)), without overflow.

    Use it to turn scores into probabilities that sum to 1. The losses take the scores themselves.

    Args:
        logits: a list of Values, or a Tensor of any shape. Float.
        axis: the axis of a Tensor along which the probabilities sum to 1.

    Returns:
        A list of Values, or a Tensor of the same shape.

    >>> [p.data for p in softmax([Value(1e4), Value(1e4)])]
    [0.5, 0.5]
    """
    if _is_tensor(logits):
        return logits.softmax(axis)
    _, shifted = _shifted(logits, axis)
    exps = [x.exp() for x in shifted]
    total = _total(exps)
    return [x / total for x in exps]


def log_softmax(logits: Any, axis: int = -1) -> Any:
    """log(softmax(logits)), accurate even where the probability underflows.

    Use it where logarithms of probabilities are added or compared.

    Args:
        logits, axis: as in `softmax`.

    Returns:
        A list of Values, or a Tensor of the same shape.

    >>> [p.data for p in log_softmax([Value(1e4), Value(0.0)])]
    [0.0, -10000.0]
    """
    if _is_tensor(logits):
        return logits.log_softmax(axis)
    _, shifted = _shifted(logits, axis)
    log_of_total = _total([x.exp() for x in shifted]).log()
    return [x - log_of_total for x in shifted]


def logsumexp(xs: Any, axis: int = -1, keepdims: bool = False) -> Any:
    """log(exp(x0) + exp(x1) + ...), without overflow.

    Use it to add numbers that are given by their logarithms, or as a smooth maximum.

    Args:
        xs: a list of Values, or a Tensor of any shape. Float.
        axis: the axis of a Tensor to reduce, or None for all.
        keepdims: keep the reduced axes of a Tensor with length 1.

    Returns:
        A Value, or a Tensor without the axis.

    The gradient is softmax(xs).

    >>> round(logsumexp([Value(1000.0), Value(1000.0)]).data, 4)
    1000.6931
    """
    if _is_tensor(xs):
        return xs.logsumexp(axis, keepdims)
    greatest, shifted = _shifted(xs, axis)
    return _total([x.exp() for x in shifted]).log() + greatest


def _shifted(xs: Sequence[Number], axis: int) -> tuple[Number, list[Value]]:
    """The maximum, and the values minus the maximum, so that exp cannot overflow.

    The maximum is a constant here, because it cancels out of the result, and so does its derivative.
    """
    if axis not in (0, -1):
        raise ValueError(f"a list has no axis {axis!r}: its only one is 0, or -1 counted from the end")
    values = _values(xs, "logits")
    if is_tracing():
        greatest = reduce(Value.maximum, values).detach()
        return greatest, [x - greatest for x in values]
    greatest = max(x.data for x in values)
    if not isfinite(greatest):
        greatest = 0.0  # inf - inf would be nan
    return greatest, [x - greatest for x in values]


def _of_classes(loss: Callable[[list[Value], int], Value], scores: Any, target: Any, reduction: str) -> Any:
    """The loss of one sample (a list of scores, an index), or the reduced loss of a batch (a list of each)."""
    scores = _as_list(scores, "scores")
    if not _is_list(scores[0]):
        return loss(_values(scores, "scores"), _class_index(target, len(scores), "target"))
    targets = _as_list(target, "targets")
    _check_lengths(scores, targets)
    rows = [_values(row, f"scores[{i}]") for i, row in enumerate(scores)]
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"the rows have {[len(row) for row in rows]} scores, but each sample needs one for each class")
    classes = [_class_index(t, len(rows[0]), f"targets[{i}]") for i, t in enumerate(targets)]
    return _reduced([loss(row, c) for row, c in zip(rows, classes, strict=True)], reduction)


# PyTorch's names
mse_loss = mse
nll_loss = nll
binary_cross_entropy_with_logits = bce_with_logits


# ---------------------------------------------------------------------------------------------------------------------
# Checks of arguments, and sums


def _is_tensor(x: Any) -> bool:
    return hasattr(x, "_node")


@cache
def _of_tensors() -> Any:
    """The losses of Tensors, imported on demand since they load NumPy."""
    from . import tensors

    return tensors


def _total(xs: list[Value]) -> Value:
    return sum(xs[1:], xs[0])


def _reduced(losses: list[Value], reduction: str) -> Any:
    """The mean or the sum of the losses; for "none", the list unchanged."""
    if reduction == "none":
        return losses
    return _total(losses) / len(losses) if reduction == "mean" else _total(losses)


def _check_reduction(reduction: Any) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'there is no reduction {reduction!r:.50}: use "mean", "sum" or "none"')


def _check_lengths(scores: list[Any], targets: list[Any]) -> None:
    if len(scores) != len(targets):
        raise ValueError(f"there are {len(scores)} scores and {len(targets)} targets, but each score needs its target")


def _values(xs: Any, name: str) -> list[Value]:
    """A non-empty list of Values, in which numbers become constants. Raises for anything else."""
    return [_value(x, f"{name}[{i}]") for i, x in enumerate(_as_list(xs, name))]


def _value(x: Any, name: str) -> Value:
    if isinstance(x, Value):
        return x
    if isinstance(x, bool) or not isinstance(x, Real):
        hint = ": make a Tensor of the whole array" if hasattr(x, "__array__") else ""
        raise TypeError(f"{name} must be a Value or a number, found {type(x).__name__}{hint}")
    return Value(float(x), requires_grad=False)


def _as_list(xs: Any, name: str) -> list[Any]:
    """A non-empty list of the same objects. Raises for anything else."""
    if not _is_list(xs):
        raise TypeError(f"{name} must be a list of Values or numbers, found {type(xs).__name__}")
    if not len(xs):
        raise ValueError(f"{name} is empty: a loss needs at least one score")
    return list(xs)


def _is_list(x: Any) -> bool:
    """True for a list, a tuple or an array. False for a mapping, a set, a string or an iterator."""
    return hasattr(x, "__len__") and hasattr(x, "__getitem__") and not isinstance(x, (str, bytes, Mapping))


def _class_index(target: Any, classes: int, name: str) -> int:
    """The target as an int, the index of a class, of which there are `classes`. Raises for anything else."""
    try:
        i = index(target)
    except TypeError:
        hint = ": if it is one-hot, pass the place of its 1" if _is_list(target) else ""
        raise TypeError(f"{name} must be the index of a class, found {type(target).__name__}{hint}") from None
    if not 0 <= i < classes:
        raise IndexError(
            f"{name} is {i}: with {classes} classes it must be from 0 to {classes - 1}, since targets count from 0"
        )
    return i
