"""Layers of Tensors. Names, figures and state are PyTorch's, so that a state fits there too.

The first axis of an input counts the samples, the last its features. Layers are float64, as Tensors are, unless a
`dtype` is given. Random numbers come from the package's generator (`micrograd.manual_seed`), or from the NumPy
generator that is given as `rng`.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> model = Sequential(Linear(2, 3, rng=rng), ReLU(), Linear(3, 1, rng=rng))
>>> model
Sequential(
  (0): Linear(in_features=2, out_features=3, bias=True)
  (1): ReLU()
  (2): Linear(in_features=3, out_features=1, bias=True)
)
>>> model(np.ones((5, 2))).shape
(5, 1)
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from ..engine.modes import deferred, is_tracing, stand_in
from ..functional import avg_pool2d, conv2d, cross_entropy, max_pool2d
from ..tensor.convolution import pair
from ..tensor.creation import generator
from ..tensor.tensor import Tensor, linear
from .module import Module
from .neurons import Layer, _size

Rng = np.random.Generator | None


class Parameter(Tensor):
    """A Tensor to be trained: it requires a gradient, and what is computed from it is a plain Tensor."""

    def __init__(self, data: Any, *, requires_grad: bool = True, dtype: Any = None, label: str = ""):
        super().__init__(data, requires_grad=requires_grad, dtype=dtype, label=label)


class Linear(Module):
    """x @ weight.T + bias, with a weight of shape (out_features, in_features).

    Both begin as draws from U(-1/sqrt(in_features), 1/sqrt(in_features)). In memory the weight stands column by column
    (NumPy's order "F"), as its transpose is multiplied soonest.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: Any = None, rng: Rng = None):
        n, m = _size(in_features, "in_features"), _size(out_features, "out_features")
        bound, draw = 1 / math.sqrt(n), generator(rng).uniform
        self.weight = Parameter(np.asfortranarray(draw(-bound, bound, (m, n))), dtype=dtype)
        self.bias = Parameter(draw(-bound, bound, m), dtype=dtype) if bias else None

    def forward(self, x: Any) -> Tensor:
        x = _tensor(x)
        _check_features(x, self.weight.shape[1], self)
        return linear(x, self.weight, self.bias)

    @classmethod
    def from_neurons(cls, layer: Layer) -> Self:
        """The weights and biases of a layer of neurons; what they do after the sum is for a layer such as ReLU."""
        weight = np.array([[w.data for w in neuron.w] for neuron in layer.neurons])
        linear = cls(weight.shape[1], weight.shape[0], rng=np.random.default_rng(0))
        linear.load_state_dict({"weight": weight, "bias": np.array([neuron.b.data for neuron in layer.neurons])})
        return linear

    def to_neurons(self, nonlin: bool = False, activation: str | Callable[[Any], Any] = "relu") -> Layer:
        """The same as a layer of neurons, one Value a number, which can be drawn.

        >>> layer = Linear(3, 2).to_neurons(nonlin=True, activation="tanh")
        >>> layer
        Layer of [TanhNeuron(3), TanhNeuron(3)]
        """
        m, n = self.weight.shape
        layer = Layer(n, m, nonlin=nonlin, activation=activation, rng=random.Random(0))
        biases = [0.0] * m if self.bias is None else self.bias.tolist()
        for neuron, row, b in zip(layer.neurons, self.weight.tolist(), biases, strict=True):
            neuron.load_state_dict({"w": row, "b": b})
        return layer

    def extra_repr(self) -> str:
        """The sizes."""
        m, n = self.weight.shape
        return f"in_features={n}, out_features={m}, bias={self.bias is not None}"


# ---------------------------------------------------------------------------------------------------------------------
# Without parameters


class ReLU(Module):
    """x where it is positive, else 0."""

    def forward(self, x: Any) -> Tensor:
        return _tensor(x).relu()


class Tanh(Module):
    """The hyperbolic tangent, elementwise."""

    def forward(self, x: Any) -> Tensor:
        return _tensor(x).tanh()


class Sigmoid(Module):
    """1 / (1 + exp(-x)), elementwise."""

    def forward(self, x: Any) -> Tensor:
        return _tensor(x).sigmoid()


class GELU(Module):
    """The Gaussian error linear unit in its tanh form: PyTorch's `GELU(approximate="tanh")`."""

    def forward(self, x: Any) -> Tensor:
        return _tensor(x).gelu()


class Flatten(Module):
    """Each sample as one row: (n, a, b, ...) becomes (n, a * b * ...)."""

    def forward(self, x: Any) -> Tensor:
        x = _tensor(x)
        return x.reshape(len(x), math.prod(x.shape[1:]))


class Dropout(Module):
    """In training, zeros in place of a part `p` of the elements, at random, and the others times 1 / (1 - p).

    With `eval()` everything passes (Srivastava et al., 2014).
    """

    def __init__(self, p: float = 0.5, rng: Rng = None):
        if not 0 <= p <= 1:
            raise ValueError(f"p is the part of the elements that is dropped, from 0 to 1; found {p}")
        generator(rng)  # raises if it is none
        self.p, self.rng = p, rng

    def forward(self, x: Any) -> Tensor:
        x = _tensor(x)
        if not self.training or self.p == 0:
            return x
        if is_tracing():
            deferred().refuse_draw()  # type: ignore[union-attr]
        dtype = x.dtype if x.dtype.kind == "f" else float
        if self.p == 1:
            return x * np.zeros(x.shape, dtype)
        return x * ((generator(self.rng).random(x.shape) >= self.p) / (1 - self.p)).astype(dtype)

    def extra_repr(self) -> str:
        """The part."""
        return f"p={self.p}"


class SoftmaxLoss(Module):
    """`functional.cross_entropy` as a module: called with logits and the indices of the right classes."""

    def __init__(self, reduction: str = "mean"):
        self.reduction = reduction

    def forward(self, logits: Any, targets: Any) -> Any:
        return cross_entropy(logits, targets, self.reduction)


class Sequential(Module):
    """Layers in a row: each gets what the one before gave. Any function will do as a layer."""

    def __init__(self, *layers: Callable[[Any], Any]):
        for i, layer in enumerate(layers):
            if not callable(layer):
                raise TypeError(f"layer {i} must be a module or a function, found {type(layer).__name__} {layer!r:.50}")
        self.layers = list(layers)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[Callable[[Any], Any]]:
        return iter(self.layers)

    def __getitem__(self, i: int) -> Callable[[Any], Any]:
        return self.layers[i]

    def _held(self) -> dict[Any, Any]:
        """As in PyTorch, the layers' names are their numbers alone: "0.weight"."""
        others = {name: x for name, x in vars(self).items() if name != "layers"}
        return {**dict(enumerate(self.layers)), **others}


# ---------------------------------------------------------------------------------------------------------------------
# Pictures: inputs of shape (..., channels, height, width)


class Conv2d(Module):
    """`functional.conv2d` as a layer, with a weight of shape (out_channels, in_channels / groups, *kernel_size).

    Args:
        in_channels: how many channels a picture has.
        out_channels: how many filters there are: the channels of the result.
        kernel_size: the size of a filter: an int, or a pair (rows, columns), as are `stride` and `dilation`.
        stride, padding, dilation, groups: see `functional.conv2d`.
        bias: False leaves out the number that is added for each filter.
        dtype: that of the parameters, float64 by default.
        rng: draws the parameters, from U(-1/sqrt(n), 1/sqrt(n)) for filters of n numbers.

    >>> Conv2d(1, 8, 3, padding=1)(np.ones((5, 1, 6, 6))).shape
    (5, 8, 6, 6)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: Any = None,
        rng: Rng = None,
    ):
        c, m, groups = _size(in_channels, "in_channels"), _size(out_channels, "out_channels"), _size(groups, "groups")
        if c % groups or m % groups:
            raise ValueError(f"{groups} groups share neither {c} channels nor {m} filters evenly: both are multiples")
        self.kernel_size, self.stride = pair(kernel_size, "kernel_size"), pair(stride, "stride")
        self.padding = padding if isinstance(padding, str) else pair(padding, "padding", 0)
        self.dilation, self.groups = pair(dilation, "dilation"), groups
        shape = (m, c // groups, *self.kernel_size)
        bound, draw = 1 / math.sqrt(math.prod(shape[1:])), generator(rng).uniform
        self.weight = Parameter(draw(-bound, bound, shape), dtype=dtype)
        self.bias = Parameter(draw(-bound, bound, m), dtype=dtype) if bias else None

    def forward(self, x: Any) -> Tensor:
        return conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """The settings, as PyTorch shows them."""
        m, c = self.weight.shape[:2]
        defaults = {"padding": (0, 0), "dilation": (1, 1), "groups": 1}
        others = [f", {name}={x}" for name in defaults if (x := getattr(self, name)) != defaults[name]]
        sizes = f"{c * self.groups}, {m}, kernel_size={self.kernel_size}, stride={self.stride}"
        return f"{sizes}{''.join(others)}{', bias=False' * (self.bias is None)}"


class MaxPool2d(Module):
    """`functional.max_pool2d`: the greatest number of each window."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1):
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation

    def forward(self, x: Any) -> Tensor:
        return max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation)

    def extra_repr(self) -> str:
        """The settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}"


class AvgPool2d(Module):
    """`functional.avg_pool2d`: the mean of each window."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0):
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding = padding

    def forward(self, x: Any) -> Tensor:
        return avg_pool2d(x, self.kernel_size, self.stride, self.padding)

    def extra_repr(self) -> str:
        """The settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


# ---------------------------------------------------------------------------------------------------------------------
# Normalisation


class LayerNorm1d(Module):
    """Each sample's `dim` features with mean 0 and variance 1, then times weight, plus bias (Ba et al., 2016)."""

    def __init__(self, dim: int, eps: float = 1e-5, dtype: Any = None):
        self.eps = eps
        self.weight = Parameter(np.ones(_size(dim, "dim")), dtype=dtype)
        self.bias = Parameter(np.zeros(dim), dtype=dtype)

    def forward(self, x: Any) -> Tensor:
        x = _tensor(x)
        _check_features(x, self.weight.size, self)
        off = x - x.mean(-1, keepdims=True)
        variance = (off * off).mean(-1, keepdims=True)
        return off / (variance + self.eps).sqrt() * self.weight + self.bias

    def extra_repr(self) -> str:
        """The size."""
        return f"{self.weight.size}, eps={self.eps}"


class RMSNorm(Module):
    """Each sample over the root of the mean of its squares, then times weight (Zhang and Sennrich, 2019).

    Args:
        normalized_shape: the length of the last axis, or the lengths of the last axes, that are taken together.
        eps: is added to the mean of the squares; None is the smallest step from 1 of the input's dtype.
        elementwise_affine: False leaves the weight out.
    """

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, dtype: Any = None
    ):
        sizes = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.normalized_shape = tuple(_size(n, "normalized_shape") for n in sizes)
        self.eps = eps
        self.weight = Parameter(np.ones(self.normalized_shape), dtype=dtype) if elementwise_affine else None

    def forward(self, x: Any) -> Tensor:
        x, n = _tensor(x), len(self.normalized_shape)
        if x.shape[-n:] != self.normalized_shape:
            raise ValueError(f"{self} needs inputs whose shape ends with {self.normalized_shape}, found {x.shape}")
        eps = np.finfo(x.dtype).eps if self.eps is None else self.eps
        out = x / ((x * x).mean(tuple(range(-n, 0)), keepdims=True) + float(eps)).sqrt()
        return out if self.weight is None else out * self.weight

    def extra_repr(self) -> str:
        """The settings, as PyTorch shows them."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"


class BatchNorm1d(Module):
    """Each feature with mean 0 and variance 1 over the batch, then times weight, plus bias (Ioffe and Szegedy, 2015).

    Inputs have the shape (n, features) or (n, features, length). In training the batch's own statistics are used, and
    the running ones move towards them by the part `momentum` (the variance over n - 1); with `eval()` the running ones
    are used.
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, dtype: Any = None):
        n = _size(num_features, "num_features")
        self.eps, self.momentum = eps, momentum
        self.weight, self.bias = Parameter(np.ones(n), dtype=dtype), Parameter(np.zeros(n), dtype=dtype)
        self.running_mean, self.running_var = Tensor(np.zeros(n), dtype=dtype), Tensor(np.ones(n), dtype=dtype)
        self.num_batches_tracked = Tensor(0)

    def forward(self, x: Any) -> Tensor:
        x = _tensor(x)
        if x.ndim not in (2, 3) or x.shape[1] != self.weight.size:
            n = self.weight.size
            raise ValueError(f"{self} needs inputs of shape (n, {n}) or (n, {n}, length), found {x.shape}")
        mean, variance = self._batch(x) if self.training else (self.running_mean, self.running_var)
        mean, variance, weight, bias = (
            t if x.ndim == 2 else t.expand_dims(-1) for t in (mean, variance, self.weight, self.bias)
        )
        return (x - mean) / (variance + self.eps).sqrt() * weight + bias

    def _batch(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The mean and the variance of each feature, which the running ones take note of."""
        n, axes = x.size // self.weight.size, (0, 2)[: x.ndim - 1]
        if n < 2:
            raise ValueError(f"found {n} values for each feature, in shape {x.shape}: training needs two at least")
        mean, variance = x.mean(axes), x.var(axes)
        unbiased = variance.detach().numpy() * (n / (n - 1))
        for running, now in ((self.running_mean, mean.detach().numpy()), (self.running_var, unbiased)):
            running.data = (1 - self.momentum) * running.numpy() + self.momentum * now
        self.num_batches_tracked.data += 1
        return mean, variance

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.weight.size}, eps={self.eps}, momentum={self.momentum}"


# ---------------------------------------------------------------------------------------------------------------------
# A table


class Embedding(Module):
    """A vector for each of `num_embeddings` things: called with their indices, in any shape.

    >>> Embedding(10, 4)([[1, 2, 3], [3, 2, 1]]).shape
    (2, 3, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: Any = None, rng: Rng = None):
        shape = _size(num_embeddings, "num_embeddings"), _size(embedding_dim, "embedding_dim")
        self.weight = Parameter(generator(rng).standard_normal(shape), dtype=dtype)

    def forward(self, indices: Any) -> Tensor:
        places = stand_in(indices)._node._data if isinstance(indices, Tensor) else np.asarray(indices)
        if places.dtype.kind not in "iu":
            raise TypeError(f"an embedding is looked up by integers, found dtype {places.dtype}")
        n = len(self.weight)
        if places.size and not is_tracing() and not (places.min() >= 0 and places.max() < n):
            wrong = places.min() if places.min() < 0 else places.max()
            raise IndexError(f"found the index {wrong}: with {n} embeddings it must be from 0 to {n - 1}")
        return self.weight[indices if isinstance(indices, Tensor) else places]

    def extra_repr(self) -> str:
        """The sizes."""
        return "{}, {}".format(*self.weight.shape)


# ---------------------------------------------------------------------------------------------------------------------
# Inputs, checked


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else Tensor(x)


def _check_features(x: Tensor, n: int, layer: Module) -> None:
    if not x.ndim or x.shape[-1] != n:
        raise ValueError(f"{layer} needs inputs with {n} features on their last axis, found shape {x.shape}")
