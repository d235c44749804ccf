"""What `functional` does for Tensors: losses, convolution and pooling, as in PyTorch.

The classes of a loss are on the last axis; a loss has shape () or, with `reduction="none"`, the shape of the targets.
Targets are Tensors, arrays or lists. Shapes must match exactly: scores of shape (n, 1) and targets of shape (n,) would
broadcast to (n, n), and silently give a wrong loss.

An image has the shape (..., channels, height, width), with any number of leading axes, such as the batch. Convolution
and pooling use sliding windows, a view of the image (`arrays.windows`). A convolution is then a matrix product,
(filters, window size) @ (window size, windows); pooling reduces each window.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import index
from typing import Any

from ..scalars.kinds import verify
from ..tensor import arrays, fused
from ..tensor.node import record
from ..tensor.optional import np
from ..tensor.tensor import Tensor, as_tensor
from ..tensor.tensor import linear as linear

Pair = tuple[int, int]

# ---------------------------------------------------------------------------------------------------------------------
# Losses


def of_pairs(name: str, formula: Callable, scores: Any, targets: Any, reduction: str, allowed: Any) -> Tensor:
    """See `_of_pairs`; a loss that has a fused row is one node."""
    scores, targets = _pair(scores, targets)
    if allowed:
        verify(_data(targets), lambda found: _check_each("targets", found, allowed[0](found), allowed[1]))
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
# Their arguments, checked


def _pair(scores: Any, targets: Any) -> tuple[Tensor, Any]:
    """Scores and targets of one shape and dtype, checked. Targets may stay a plain array; else both are Tensors."""
    scores = as_tensor(scores)
    found = _data(scores)
    if not (isinstance(targets, Tensor) or (targets.__class__ is np.ndarray and targets.dtype == found.dtype)):
        targets = Tensor(targets)
    wanted = _data(targets)
    if found.shape != wanted.shape:
        raise ValueError(f"the scores have shape {found.shape} and the targets {wanted.shape}: reshape one of them")
    _check_scores(found)
    return scores, targets if wanted.dtype == found.dtype else targets.astype(found.dtype)


def _data(x: Any) -> np.ndarray:
    return x._node._data if isinstance(x, Tensor) else x


def _with_classes(scores: Any, target: Any) -> tuple[Tensor, np.ndarray]:
    """Scores, and the class index of each sample in a private copy; checked."""
    scores = as_tensor(scores)
    classes = arrays.plain_array(target)
    found = _data(scores)
    one_hot = ": these look one-hot, so pass targets.argmax(axis=-1)" if 0 < found.ndim == classes.ndim else ""
    if classes.dtype.kind not in "iu":
        raise TypeError(f"targets must be the indices of classes, found dtype {classes.dtype}{one_hot}")
    if found.ndim == 0 or found.shape[:-1] != classes.shape:
        raise ValueError(
            f"the scores have shape {found.shape} and the targets {classes.shape}, but the targets "
            f"need the shape of the scores without its last axis, the classes{one_hot}"
        )
    _check_scores(found)
    n = found.shape[-1]
    verify(classes, lambda found: check_indices(found, n, "targets", "classes"))
    return scores, classes


def check_indices(indices: np.ndarray, n: int, name: str, things: str) -> None:
    """Raise for the first index that is none of n things."""
    needed = f"with {n} {things} it must be from 0 to {n - 1}, since {name} count from 0"
    _check_each(name, indices, (indices >= 0) & (indices < n), needed, IndexError)


def _check_each(
    name: str, array: np.ndarray, allowed: np.ndarray, needed: str, error: type[Exception] = ValueError
) -> None:
    """Raise for the first element that is not allowed."""
    if np.count_nonzero(allowed) < allowed.size:
        place = np.argwhere(~allowed)[0]
        raise error(f"{name}{''.join(f'[{i}]' for i in place)} is {array[tuple(place)]}: {needed}")


def _check_scores(scores: np.ndarray) -> None:
    if not scores.size:
        raise ValueError(f"the scores have shape {scores.shape}, and a loss needs at least one score")
    if scores.dtype.kind != "f":
        raise TypeError(f"scores are floats, found dtype {scores.dtype}: use astype(float)")


# ---------------------------------------------------------------------------------------------------------------------
# Convolution and pooling


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """See `functional.conv2d`."""
    x, weight = _picture(x), as_tensor(weight)
    if weight.ndim != 4:
        raise ValueError(
            f"found a weight of shape {weight.shape}: it needs (filters, channels / groups, height, width)"
        )
    filters, channels, *size = weight.shape
    if groups < 1 or filters % groups or x.shape[-3] != channels * groups:
        raise ValueError(
            f"found {x.shape[-3]} channels, a weight of shape {weight.shape} and {groups} groups: "
            f"the weight is for {channels * groups} channels, and {filters} filters are shared among the groups"
        )
    stride, dilation = pair(stride, "stride"), pair(dilation, "dilation")
    seen = _windows(x, (size[0], size[1]), stride, _padding(padding, size, stride, dilation), dilation)
    (*samples, _, _, _, height, width), of_each = seen.shape, channels * prod(size)
    columns = seen.reshape(*samples, groups, of_each, height * width)
    out = (weight.reshape(groups, filters // groups, of_each) @ columns).reshape(*samples, filters, height, width)
    return out if bias is None else out + as_tensor(bias).reshape(filters, 1, 1)


def max_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Tensor:
    """See `functional.max_pool2d`."""
    seen = _pooled(_picture(x), kernel_size, stride, padding, dilation, fill=-np.inf)
    *rest, height, width, rows, columns = seen.shape
    return record(arrays.extreme("max", -3, False, True), seen.reshape(*rest, height * width, rows, columns))


def avg_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Tensor:
    """See `functional.avg_pool2d`."""
    return _pooled(_picture(x), kernel_size, stride, padding, 1).mean((-4, -3))


def _pooled(x: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, fill: float = 0.0) -> Tensor:
    """The windows of a pooling, whose stride defaults to their size."""
    size, padding = pair(kernel_size, "kernel_size"), pair(padding, "padding", 0)
    if any(2 * p > k for p, k in zip(padding, size, strict=True)):
        raise ValueError(f"the padding {padding} is more than half of the windows {size}, so some would be empty")
    stride = size if stride is None else pair(stride, "stride")
    return _windows(x, size, stride, ((padding[0],) * 2, (padding[1],) * 2), pair(dilation, "dilation"), fill)


def _windows(x: Tensor, size: Pair, stride: Pair, padding: tuple[Pair, Pair], dilation: Pair, fill: float = 0.0) -> Any:
    """The windows of the padded image, of shape (..., channels, *size, rows, columns)."""
    if padding != ((0, 0), (0, 0)):
        x = x.pad(((0, 0),) * (x.ndim - 2) + padding, constant_values=fill)
    spans = tuple(d * (k - 1) + 1 for k, d in zip(size, dilation, strict=True))
    if spans[0] > x.shape[-2] or spans[1] > x.shape[-1]:
        raise ValueError(f"the window of {spans} does not fit into the padded image of {x.shape[-2:]}")
    return record(arrays.windows(size, stride, dilation), x)


def _padding(padding: Any, size: Any, stride: Pair, dilation: Pair) -> tuple[Pair, Pair]:
    """The padding before and after, for both axes; "same" preserves the size of the image."""
    if padding == "same" and stride != (1, 1):
        raise ValueError(f'padding="same" is for stride 1, found {stride}')
    if padding == "same":
        both = [d * (k - 1) for k, d in zip(size, dilation, strict=True)]
        return (both[0] // 2, both[0] - both[0] // 2), (both[1] // 2, both[1] - both[1] // 2)
    rows, columns = (0, 0) if padding == "valid" else pair(padding, "padding", 0)
    return (rows, rows), (columns, columns)


def pair(given: Any, name: str, least: int = 1) -> Pair:
    """A pair of ints, one for each axis, from a pair or a single int; ValueError if one is below `least`."""
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given, given)
    try:
        pair = tuple(map(index, parts))
    except TypeError:
        pair = ()
    if len(pair) != 2 or min(pair) < least:
        raise ValueError(f"{name} is a whole number, or one for each axis, at least {least}; found {given!r:.50}")
    return pair


def _picture(x: Any) -> Tensor:
    x = as_tensor(x)
    if x.ndim < 3:
        raise ValueError(f"an image needs the axes (channels, height, width), and this one has shape {x.shape}")
    return x if x.dtype.kind == "f" else x.astype(float)
