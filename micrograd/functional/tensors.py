"""The losses of Tensors, as in PyTorch.

The classes of a loss are on the last axis. A loss has shape () or, with `reduction="none"`, the shape of the targets.
Targets are Tensors, arrays or lists. Shapes must match exactly, because scores of shape (n, 1) and targets of shape
(n,) would broadcast to (n, n), and silently give a wrong loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..scalars.kinds import verify
from ..tensor import arrays, fused
from ..tensor.node import record
from ..tensor.optional import np
from ..tensor.tensor import Tensor, as_tensor

# ---------------------------------------------------------------------------------------------------------------------
# Losses


def of_pairs(name: str, formula: Callable, scores: Any, targets: Any, reduction: str, allowed: Any) -> Tensor:
    """See `_of_pairs` of losses.py. A loss that has a fused row is one node."""
    scores, targets = _scores_and_targets(scores, targets)
    if allowed:
        is_allowed, needed = allowed
        verify(_data(targets), lambda array: _check_each("targets", array, is_allowed(array), needed))
    if row := fused.OF_PAIRS.get(name):
        return record(row(reduction), scores, targets)
    return fused.REDUCTIONS[reduction](formula(scores, targets))


def cross_entropy(logits: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Mean of -log(softmax(logits)[target])."""
    logits, classes = _scores_and_classes(logits, target)
    return record(fused.cross_entropy(classes, reduction), logits)


def nll(log_probs: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Mean of -log_probs[target]."""
    log_probs, classes = _scores_and_classes(log_probs, target)
    picked = record(arrays.take_along_axis(classes[..., None], -1), log_probs).squeeze(-1)
    return fused.REDUCTIONS[reduction](-picked)


# ---------------------------------------------------------------------------------------------------------------------
# Checks of their arguments


def _scores_and_targets(scores: Any, targets: Any) -> tuple[Tensor, Any]:
    """Scores and targets of one shape and dtype, checked. Scores are a Tensor, targets perhaps a plain array."""
    scores = as_tensor(scores)
    array = _data(scores)
    if not (isinstance(targets, Tensor) or (targets.__class__ is np.ndarray and targets.dtype == array.dtype)):
        targets = Tensor(targets)
    target_array = _data(targets)
    if array.shape != target_array.shape:
        found = f"the scores have shape {array.shape} and the targets {target_array.shape}"
        raise ValueError(f"{found}: reshape one of them")
    _check_scores(array)
    return scores, targets if target_array.dtype == array.dtype else targets.astype(array.dtype)


def _data(x: Any) -> np.ndarray:
    return x._node._data if isinstance(x, Tensor) else x


def _scores_and_classes(scores: Any, target: Any) -> tuple[Tensor, np.ndarray]:
    """Scores, and the class index of each sample in a private copy, checked."""
    scores = as_tensor(scores)
    classes = arrays.plain_array(target)
    array = _data(scores)
    one_hot = ": these look one-hot, so pass targets.argmax(axis=-1)" if 0 < array.ndim == classes.ndim else ""
    if classes.dtype.kind not in "iu":
        raise TypeError(f"targets must be the indices of classes, found dtype {classes.dtype}{one_hot}")
    if array.ndim == 0 or array.shape[:-1] != classes.shape:
        raise ValueError(
            f"the scores have shape {array.shape} and the targets {classes.shape}, but the targets "
            f"need the shape of the scores without its last axis, the classes{one_hot}"
        )
    _check_scores(array)
    n = array.shape[-1]
    verify(classes, lambda array: check_indices(array, n, "targets", "classes"))
    return scores, classes


def check_indices(indices: np.ndarray, n: int, name: str, things: str) -> None:
    """Raise for the first index that is not in range(n), with a name for the n things."""
    needed = f"with {n} {things} it must be from 0 to {n - 1}, since {name} count from 0"
    _check_each(name, indices, (indices >= 0) & (indices < n), needed, IndexError)


def _check_each(
    name: str, array: np.ndarray, allowed: np.ndarray, needed: str, error: type[Exception] = ValueError
) -> None:
    """Raise for the first element that is not allowed."""
    if np.count_nonzero(allowed) < allowed.size:
        index = np.argwhere(~allowed)[0]
        raise error(f"{name}{''.join(f'[{i}]' for i in index)} is {array[tuple(index)]}: {needed}")


def _check_scores(scores: np.ndarray) -> None:
    if not scores.size:
        raise ValueError(f"the scores have shape {scores.shape}, and a loss needs at least one score")
    if scores.dtype.kind != "f":
        raise TypeError(f"scores are floats, found dtype {scores.dtype}: use astype(float)")
