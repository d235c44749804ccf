"""Layers as functions of Tensors: `linear`, convolution and pooling, as in PyTorch.

An image has the shape (..., channels, height, width), with any number of leading axes, such as the batch. Convolution
and pooling use sliding windows, a view of the image (`arrays.windows`). A convolution is then a matrix product,
(filters, window size) @ (window size, windows). Pooling reduces each window.
"""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

from ..tensor import arrays, fused
from ..tensor.node import record
from ..tensor.optional import np
from ..tensor.tensor import Tensor, as_tensor

Pair = tuple[int, int]
Sides = tuple[Pair, ...]  # before and after, for each axis


def linear(x: Any, weight: Any, bias: Any = None) -> Tensor:
    """x @ weight.T + bias.

    Use it where the weights are not those of a layer `Linear`.

    Args:
        x: shape (..., in), a Tensor, an array or a list.
        weight: shape (out, in).
        bias: shape (out,), or None.

    Returns:
        A Tensor of shape (..., out).

    Raises:
        ValueError: the shapes do not match.

    >>> from micrograd import Tensor
    >>> from micrograd.functional import linear
    >>> linear(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]]), Tensor([0.5]))
    Tensor([[11.5]])
    """
    x, weight = as_tensor(x), as_tensor(weight)
    if bias is None:
        return x @ weight.T
    bias = as_tensor(bias)
    if weight.ndim == 2 and bias.ndim == 1:
        return record(fused.linear, x, weight, bias)
    return x @ weight.T + bias


# ---------------------------------------------------------------------------------------------------------------------
# Images: Tensors of shape (..., channels, height, width)


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """2D convolution, as a cross-correlation, which does not flip the filters.

    Use it on images where the filters are not those of a layer `Conv2d`.

    Args:
        x: the images, of shape (..., channels, height, width).
        weight: the filters, of shape (filters, channels / groups, *size).
        bias: one number per filter, of shape (filters,), or None.
        stride: the step between windows, an int or a pair (rows, columns), as are the next two.
        padding: the number of zeros on each side, or "valid" for none, or "same" to preserve the size (stride 1 only).
        dilation: the step between the elements of a window.
        groups: the number of groups that the channels are divided into, each with separate filters.

    Returns:
        A Tensor of shape (..., filters, rows, columns), where for size k, padding p, dilation d and stride s
        rows = (height + 2p - d(k - 1) - 1) // s + 1.

    Raises:
        ValueError: the shapes do not match, or a window is larger than the padded image.

    >>> from micrograd import Tensor
    >>> from micrograd.functional import conv2d
    >>> edges = Tensor([[[[1.0, -1.0]]]])
    >>> conv2d([[[0.0, 0.0, 5.0, 5.0]]], edges)
    Tensor([[[ 0., -5.,  0.]]])
    """
    x, weight = _image(x), as_tensor(weight)
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
    windows = _windows(x, (size[0], size[1]), stride, _padding(padding, size, stride, dilation), dilation)
    *samples, _, _, _, rows, columns = windows.shape
    window_size = channels * prod(size)
    windows = windows.reshape(*samples, groups, window_size, rows * columns)
    products = weight.reshape(groups, filters // groups, window_size) @ windows
    out = products.reshape(*samples, filters, rows, columns)
    return out if bias is None else out + as_tensor(bias).reshape(filters, 1, 1)


def max_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Tensor:
    """2D max pooling, the maximum of each window.

    Use it to shrink images and keep the strongest response of each region. Among tied elements the first gets the
    gradient.

    Args:
        x: the images, of shape (..., channels, height, width).
        kernel_size: the size of a window, an int or a pair.
        stride: as in `conv2d`, by default `kernel_size`, so that windows do not overlap.
        padding, dilation: as in `conv2d`, but padding is with -inf, numbers only, and at most half the kernel size.

    Returns:
        A Tensor of shape (..., channels, rows, columns), with rows and columns as in `conv2d`.

    Raises:
        ValueError: the padding is too large, or a window is larger than the padded image.

    >>> from micrograd.functional import max_pool2d
    >>> max_pool2d([[[1.0, 2.0, 0.0, 0.0], [3.0, 4.0, 0.0, 5.0]]], 2)
    Tensor([[[4., 5.]]])
    """
    windows = _pooling_windows(x, kernel_size, stride, padding, dilation, fill=-np.inf)
    *rest, height, width, rows, columns = windows.shape
    return record(arrays.extreme("max", -3, False, True), windows.reshape(*rest, height * width, rows, columns))


def avg_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Tensor:
    """2D average pooling, the mean of each window, padded zeros included.

    Use it to shrink images, or with the whole image as the window to average each channel.

    Args:
        x: the images, of shape (..., channels, height, width).
        kernel_size, stride: as in `max_pool2d`.
        padding: as in `conv2d`, at most half the kernel size.

    Returns:
        A Tensor of shape (..., channels, rows, columns), with rows and columns as in `conv2d`.

    Raises:
        ValueError: the padding is too large, or a window is larger than the padded image.

    >>> from micrograd.functional import avg_pool2d
    >>> avg_pool2d([[[1.0, 2.0, 0.0, 0.0], [3.0, 4.0, 0.0, 6.0]]], 2)
    Tensor([[[2.5, 1.5]]])
    """
    return _pooling_windows(x, kernel_size, stride, padding, 1).mean((-4, -3))


def _pooling_windows(x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, fill: float = 0.0) -> Tensor:
    """The windows of a pooling, whose stride defaults to the size of a window."""
    x = _image(x)
    size, padding = pair(kernel_size, "kernel_size"), pair(padding, "padding", 0)
    if any(2 * p > k for p, k in zip(padding, size, strict=True)):
        raise ValueError(f"the padding {padding} is more than half of the windows {size}, so some would be empty")
    stride = size if stride is None else pair(stride, "stride")
    return _windows(x, size, stride, _on_both_sides(padding), pair(dilation, "dilation"), fill)


def _windows(x: Tensor, size: Pair, stride: Pair, padding: Sides, dilation: Pair, fill: float = 0.0) -> Any:
    """The windows of the padded image, of shape (..., channels, *size, rows, columns)."""
    if padding != ((0, 0), (0, 0)):
        x = x.pad(((0, 0),) * (x.ndim - 2) + padding, constant_values=fill)
    spans = tuple(d * (k - 1) + 1 for k, d in zip(size, dilation, strict=True))
    if spans[0] > x.shape[-2] or spans[1] > x.shape[-1]:
        raise ValueError(f"the window of {spans} does not fit into the padded image of {x.shape[-2:]}")
    return record(arrays.windows(size, stride, dilation), x)


def _padding(padding: Any, size: Any, stride: Pair, dilation: Pair) -> Sides:
    """The padding before and after, for both axes; "same" preserves the size of the image."""
    if padding == "same":
        if stride != (1, 1):
            raise ValueError(f'padding="same" is for stride 1, found {stride}')
        totals = [d * (k - 1) for k, d in zip(size, dilation, strict=True)]
        return tuple((n // 2, n - n // 2) for n in totals)
    return _on_both_sides((0, 0) if padding == "valid" else pair(padding, "padding", 0))


def _on_both_sides(padding: Pair) -> Sides:
    return tuple((n, n) for n in padding)


def pair(setting: Any, name: str, least: int = 1) -> Pair:
    """A pair of ints, one for each axis, from a pair or a single int; ValueError if one is below `least`."""
    try:
        ints = tuple(map(index, setting if isinstance(setting, (tuple, list)) else (setting, setting)))
    except TypeError:
        ints = ()
    if len(ints) != 2 or min(ints) < least:
        raise ValueError(f"{name} is a whole number, or one for each axis, at least {least}; found {setting!r:.50}")
    return ints


def _image(x: Any) -> Tensor:
    """An image or a batch of images as a Tensor of floats, checked."""
    x = as_tensor(x)
    if x.ndim < 3:
        raise ValueError(f"an image needs the axes (channels, height, width), and this one has shape {x.shape}")
    return x if x.dtype.kind == "f" else x.astype(float)
