"""The losses of `functional` for Tensors. Classes are on the last axis; a loss has shape () or, with
`reduction="none"`, the shape of the targets.

Targets are Tensors, arrays or lists. Shapes must match exactly: scores of shape (n, 1) and targets of shape (n,) would
broadcast to (n, n), and silently give a wrong loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine.modes import is_tracing
from . import arrays, fused
from .node import record
from .settings import plain_array
from .tensor import Tensor, as_tensor
from .tensor import linear as linear  # for `functional`, which imports this file once for all that Tensors need


def of_pairs(name: str, formula: Callable, scores: Any, targets: Any, reduction: str, allowed: Any) -> Tensor:
    """See `functional._of_pairs`; a loss that has a fused row is one node."""
    scores, targets = _pair(scores, targets)
    if allowed and not is_tracing():
        _check_each(_data(targets), allowed[0](_data(targets)), allowed[1])
    if row := fused.OF_PAIRS.get(name):
        return record(row(reduction), scores, targets)
    return fused.REDUCTIONS[reduction](formula(scores, targets))


def cross_entropy(logits: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Mean of -log(softmax(logits)[target])."""
    logits, classes = _with_classes(logits, target)
    return record(fused.cross_entropy(classes, reduction), logits)


def nll(log_probs: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Mean of -log_probs[target]."""
    log_probs, classes = _with_classes(log_probs, target)
    return fused.REDUCTIONS[reduction](-record(arrays.take_along_axis(classes[..., None], -1), log_probs).squeeze(-1))


# ---------------------------------------------------------------------------------------------------------------------
# Arguments, checked


def _pair(scores: Any, targets: Any) -> tuple[Tensor, Any]:
    """Scores and targets of one shape and dtype, checked. Targets may stay a plain array; else both are Tensors."""
    scores = as_tensor(scores)
    found = _data(scores)
    if not (isinstance(targets, Tensor) or (targets.__class__ is np.ndarray and targets.dtype == found.dtype)):
        targets = Tensor(targets)
    wanted = _data(targets)
    if found.shape != wanted.shape:
        raise ValueError(f"found scores of shape {found.shape} and targets of shape {wanted.shape}: reshape one")
    _check_scores(found)
    return scores, targets if wanted.dtype == found.dtype else targets.astype(found.dtype)


def _data(x: Any) -> np.ndarray:
    return x._node._data if isinstance(x, Tensor) else x


def _with_classes(scores: Any, target: Any) -> tuple[Tensor, np.ndarray]:
    """Scores, and the class index of each sample in a private copy; checked."""
    scores = as_tensor(scores)
    classes = plain_array(target)
    if classes.dtype.kind not in "iu":
        raise TypeError(f"targets must be the indices of classes, found dtype {classes.dtype}")
    found = _data(scores)
    if found.ndim == 0 or found.shape[:-1] != classes.shape:
        raise ValueError(
            f"found scores of shape {found.shape} and targets of shape {classes.shape}: "
            "the targets have the shape of the scores without its last axis, the classes"
        )
    _check_scores(found)
    n = found.shape[-1]
    if not is_tracing() and classes.astype(np.uintp).max() >= n:  # as unsigned, a negative index is large
        _check_each(
            classes, (classes >= 0) & (classes < n), f"with {n} classes it must be from 0 to {n - 1}", IndexError
        )
    return scores, classes


def _check_each(targets: np.ndarray, allowed: np.ndarray, needed: str, error: type[Exception] = ValueError) -> None:
    """Raise for the first target that is not allowed."""
    if np.count_nonzero(allowed) < allowed.size:
        place = np.argwhere(~allowed)[0]
        raise error(f"targets{''.join(f'[{i}]' for i in place)} is {targets[tuple(place)]}: {needed}")


def _check_scores(scores: np.ndarray) -> None:
    if not scores.size:
        raise ValueError(f"found scores of shape {scores.shape}: a loss needs at least one score")
    if scores.dtype.kind != "f":
        raise TypeError(f"scores are floats, found dtype {scores.dtype}: use astype(float)")
