"""Layers of Tensors. Names, shapes and state dicts match PyTorch's, so checkpoints are interchangeable.

The first axis of an input is the batch. Parameters are float64 unless `dtype` is passed. Random numbers come from the
package's generator (`micrograd.manual_seed`), or from a NumPy generator passed as `rng`.

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

from ..common.words import checked
from ..engine.modes import listener
from ..functional.layers import Pair, avg_pool2d, conv2d, linear, max_pool2d, pair
from ..functional.losses import cross_entropy
from ..functional.tensors import check_indices
from ..scalars.kinds import plain, traced, verify
from ..tensor.randomness import generator
from ..tensor.tensor import Tensor, as_tensor
from .module import Module
from .neurons import Activation, Layer, positive_int

Rng = np.random.Generator | None
LayerFunction = Callable[[Any], Any]


class Parameter(Tensor):
    """A trainable Tensor, which requires a gradient by default.

    Use it for the weights of a layer that you write yourself. Results computed from it are plain Tensors.

    Args:
        data: array of any shape, or nested lists.
        requires_grad: False freezes it.
        dtype: dtype of the elements, by default that of `data`, which is float64 for Python floats.
        label: name in drawings.

    >>> weight = Parameter([[1.0, 2.0]])
    >>> weight.shape, weight.requires_grad, type(weight * 2).__name__
    ((1, 2), True, 'Tensor')
    """

    @checked
    def __init__(self, data: Any, *, requires_grad: bool = True, dtype: Any = None, label: str = ""):
        super().__init__(data, requires_grad=requires_grad, dtype=dtype, label=label)


class Linear(Module):
    """Affine layer, x @ weight.T + bias. Maps shape (..., in_features) to (..., out_features).

    Use it as the fully connected layer of a network, with an activation between two of them.

    Args:
        in_features, out_features: sizes of the last axis of input and output.
        bias: False omits the bias.
        dtype: dtype of the parameters, float64 by default.
        rng: NumPy generator for the initial parameters.

    `weight` has shape (out_features, in_features), `bias` (out_features,). Both are initialised from
    U(-1/sqrt(in_features), 1/sqrt(in_features)), as in PyTorch. The weight is stored in Fortran order, so that its
    transpose, which the forward pass multiplies by, is contiguous.

    Raises:
        ValueError: a size is less than 1 or, when called, the last axis of x is not `in_features`.

    >>> Linear(3, 2)(np.ones((5, 3))).shape
    (5, 2)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: Any = None, rng: Rng = None):
        n, m = positive_int(in_features, "in_features"), positive_int(out_features, "out_features")
        bound, draw = 1 / math.sqrt(n), generator(rng).uniform
        self.weight: Parameter = Parameter(np.asfortranarray(draw(-bound, bound, (m, n))), dtype=dtype)
        self.bias: Parameter | None = Parameter(draw(-bound, bound, m), dtype=dtype) if bias else None

    def forward(self, x: Any) -> Tensor:
        x = as_tensor(x)
        _check_features(x, self.weight.shape[1], self)
        return linear(x, self.weight, self.bias)

    @classmethod
    def from_neurons(cls, layer: Layer) -> Self:
        """Convert a scalar `Layer`, without its activation.

        Args:
            layer: neurons with n inputs each.

        Returns:
            Linear layer with their weights, of shape (number of neurons, n), and biases.
        """
        weight = np.array([[w.data for w in neuron.w] for neuron in layer.neurons])
        linear = cls(weight.shape[1], weight.shape[0], rng=np.random.default_rng(0))
        linear.load_state_dict({"weight": weight, "bias": np.array([neuron.b.data for neuron in layer.neurons])})
        return linear

    def to_neurons(self, nonlin: bool = False, activation: Activation = "relu") -> Layer:
        """Convert to a `Layer` of scalar neurons, which can be drawn.

        Args:
            nonlin: True applies `activation`.
            activation: as for `Neuron`.

        Returns:
            Layer of `out_features` neurons, one Value for each number.

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
        m, n = self.weight.shape
        return f"in_features={n}, out_features={m}, bias={self.bias is not None}"


# ---------------------------------------------------------------------------------------------------------------------
# Without parameters


class ReLU(Module):
    """Rectified linear unit, max(x, 0), elementwise.

    Use it between layers. It is cheap, and its gradient does not vanish for positive inputs.

    >>> ReLU()([-1.0, 2.0])
    Tensor([0., 2.])
    """

    def forward(self, x: Any) -> Tensor:
        return as_tensor(x).relu()


class Tanh(Module):
    """Hyperbolic tangent, elementwise.

    Use it between layers where outputs from -1 to 1 are wanted.

    >>> Tanh()([0.0])
    Tensor([0.])
    """

    def forward(self, x: Any) -> Tensor:
        return as_tensor(x).tanh()


class Sigmoid(Module):
    """Logistic sigmoid, 1 / (1 + exp(-x)), elementwise.

    Use it to turn logits into probabilities. For training, pass the logits to `bce_with_logits` instead.

    >>> Sigmoid()([0.0])
    Tensor([0.5])
    """

    def forward(self, x: Any) -> Tensor:
        return as_tensor(x).sigmoid()


class GELU(Module):
    """Gaussian error linear unit, elementwise, in its tanh approximation (Hendrycks and Gimpel, 2016).

    Use it between layers as a smooth relative of ReLU. It is PyTorch's `GELU(approximate="tanh")`.

    >>> GELU()([0.0])
    Tensor([0.])
    """

    def forward(self, x: Any) -> Tensor:
        return as_tensor(x).gelu()


class Flatten(Module):
    """Flatten each sample, so that shape (N, a, b, ...) becomes (N, a * b * ...).

    Use it between convolutions and a `Linear`.

    >>> Flatten()(np.ones((5, 2, 3))).shape
    (5, 6)
    """

    def forward(self, x: Any) -> Tensor:
        x = as_tensor(x)
        return x.reshape(len(x), math.prod(x.shape[1:]))


class Dropout(Module):
    """Dropout, which in training zeroes each element with probability p and scales the others by 1 / (1 - p).

    Use it against overfitting. After `eval()` it is the identity (Srivastava et al., 2014). The shape is unchanged.

    Args:
        p: probability of zeroing an element, from 0 to 1.
        rng: NumPy generator for the draws.

    Raises:
        ValueError: p is outside [0, 1].

    >>> Dropout(0.5, rng=np.random.default_rng(0))(np.ones(4))
    Tensor([2., 0., 0., 0.])
    """

    def __init__(self, p: float = 0.5, rng: Rng = None):
        if not 0 <= p <= 1:
            raise ValueError(f"p is the fraction of the elements to drop, from 0 to 1; found {p}")
        generator(rng)  # raises if rng is no generator
        self.p = p
        self.rng = rng

    def forward(self, x: Any) -> Tensor:
        x = as_tensor(x)
        if not self.training or self.p == 0:
            return x
        listener().draw()
        dtype = x.dtype if x.dtype.kind == "f" else float
        is_kept = generator(self.rng).random(x.shape) >= self.p
        scale = 1 - self.p or 1  # for p = 1 any number, since no element is kept
        return x * (is_kept / scale).astype(dtype)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class SoftmaxLoss(Module):
    """Softmax cross-entropy, `functional.cross_entropy` as a module, called with (logits, targets).

    Use it where a loss is passed around as an object.

    Args:
        reduction: "mean", "sum" or "none".

    For the shapes of logits and targets, and the loss in nats, see `functional.cross_entropy`.

    >>> round(SoftmaxLoss()(np.zeros((1, 2)), [0]).item(), 4)
    0.6931
    """

    def __init__(self, reduction: str = "mean"):
        self.reduction = reduction

    def forward(self, logits: Any, targets: Any) -> Any:
        return cross_entropy(logits, targets, self.reduction)


class Sequential(Module):
    """Layers applied one after the other, each to the output of the one before.

    Use it for a network without branches, so that no class needs to be written.

    Args:
        *layers: modules or any other functions of one argument.

    Raises:
        TypeError: a layer is not callable.

    Layers are indexed and iterated over like a list. In the state dict they are named by their indices, as "0.weight".

    >>> model = Sequential(Linear(2, 3), Tanh(), Linear(3, 1))
    >>> len(model), list(model.state_dict())
    (3, ['0.weight', '0.bias', '2.weight', '2.bias'])
    """

    def __init__(self, *layers: LayerFunction):
        for i, layer in enumerate(layers):
            if isinstance(layer, type) and issubclass(layer, Module):
                raise TypeError(f"layer {i} is the class {layer.__name__}: write {layer.__name__}(...)")
            if not callable(layer):
                raise TypeError(f"layer {i} must be a module or a function, found {type(layer).__name__} {layer!r:.50}")
        self.layers: list[LayerFunction] = list(layers)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[LayerFunction]:
        return iter(self.layers)

    def __getitem__(self, i: int) -> LayerFunction:
        return self.layers[i]

    def _members(self) -> dict[Any, Any]:
        """The layers by index, as in PyTorch, whose name is "0.weight", and then the other attributes."""
        members = {**dict(enumerate(self.layers)), **vars(self)}
        del members["layers"]
        return members


# ---------------------------------------------------------------------------------------------------------------------
# Images: inputs of shape (..., channels, height, width)


class Conv2d(Module):
    """2-D convolution, `functional.conv2d` as a layer. Maps (..., in_channels, H, W) to (..., out_channels, H', W').

    Use it on images, where the same small pattern may appear anywhere.

    Args:
        in_channels: channels of the input.
        out_channels: number of filters, which is the number of channels of the output.
        kernel_size: size of a filter in pixels, an int or a pair (rows, columns), as are `stride` and `dilation`.
        stride, padding, dilation, groups: see `functional.conv2d`.
        bias: False omits the bias, one number for each filter.
        dtype: dtype of the parameters, float64 by default.
        rng: NumPy generator for the initial parameters.

    `weight` has shape (out_channels, in_channels / groups, *kernel_size), `bias` (out_channels,). Both are initialised
    from U(-1/sqrt(n), 1/sqrt(n)), where n is the number of weights of a filter, as in PyTorch.

    Raises:
        ValueError: a size is less than 1, or `groups` does not divide both numbers of channels.

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
        c = positive_int(in_channels, "in_channels")
        m = positive_int(out_channels, "out_channels")
        groups = positive_int(groups, "groups")
        if c % groups or m % groups:
            raise ValueError(f"{groups} groups must divide {c} channels and {m} filters evenly")
        self.kernel_size: Pair = pair(kernel_size, "kernel_size")
        self.stride: Pair = pair(stride, "stride")
        self.padding: str | Pair = padding if isinstance(padding, str) else pair(padding, "padding", 0)
        self.dilation: Pair = pair(dilation, "dilation")
        self.groups = groups
        shape = (m, c // groups, *self.kernel_size)
        bound, draw = 1 / math.sqrt(math.prod(shape[1:])), generator(rng).uniform
        self.weight: Parameter = Parameter(draw(-bound, bound, shape), dtype=dtype)
        self.bias: Parameter | None = Parameter(draw(-bound, bound, m), dtype=dtype) if bias else None

    def forward(self, x: Any) -> Tensor:
        return conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        m, c = self.weight.shape[:2]
        text = f"{c * self.groups}, {m}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, default in {"padding": (0, 0), "dilation": (1, 1), "groups": 1}.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text if self.bias is not None else f"{text}, bias=False"


class MaxPool2d(Module):
    """Max pooling, `functional.max_pool2d` as a layer. Maps (..., C, H, W) to (..., C, H', W').

    Use it after a convolution, to shrink the image and keep the strongest response of each region.

    Args:
        kernel_size: size of the window in pixels, an int or a pair (rows, columns).
        stride: step between windows, `kernel_size` by default.
        padding: pixels added on each side, which are never the maximum.
        dilation: step between the pixels of a window.

    >>> MaxPool2d(2)(np.ones((5, 3, 6, 6))).shape
    (5, 3, 3, 3)
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1):
        self.kernel_size = kernel_size
        self.stride: Any = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation

    def forward(self, x: Any) -> Tensor:
        return max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}"


class AvgPool2d(Module):
    """Average pooling, `functional.avg_pool2d` as a layer. Maps (..., C, H, W) to (..., C, H', W').

    Use it to shrink an image, or to average each channel at the end of a network.

    Args:
        kernel_size: size of the window in pixels, an int or a pair (rows, columns).
        stride: step between windows, `kernel_size` by default.
        padding: pixels added on each side, as in `functional.avg_pool2d`.

    >>> AvgPool2d(2)(np.ones((5, 3, 6, 6))).shape
    (5, 3, 3, 3)
    """

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0):
        self.kernel_size = kernel_size
        self.stride: Any = kernel_size if stride is None else stride
        self.padding = padding

    def forward(self, x: Any) -> Tensor:
        return avg_pool2d(x, self.kernel_size, self.stride, self.padding)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


# ---------------------------------------------------------------------------------------------------------------------
# Normalisation


class LayerNorm1d(Module):
    """Layer normalisation over the last axis (Ba et al., 2016), (x - mean) / sqrt(variance + eps) * weight + bias.

    Use it in transformers and other deep networks. It does not depend on the batch, so training and `eval()` agree.

    Args:
        dim: size of the last axis. `weight` (ones) and `bias` (zeros) have shape (dim,).
        eps: added to the variance.
        dtype: dtype of the parameters, float64 by default.

    Maps shape (..., dim) to the same shape.

    Raises:
        ValueError: `dim` is less than 1, `eps` is negative or, when called, `dim` is not the size of the last axis.

    >>> LayerNorm1d(2, eps=0.0)([[1.0, 3.0]])
    Tensor([[-1.,  1.]], grad_fn=<AddBackward0>)
    """

    def __init__(self, dim: int, eps: float = 1e-5, dtype: Any = None):
        self.eps: float = _checked_eps(eps)
        self.weight: Parameter = Parameter(np.ones(positive_int(dim, "dim")), dtype=dtype)
        self.bias: Parameter = Parameter(np.zeros(dim), dtype=dtype)

    def forward(self, x: Any) -> Tensor:
        x = as_tensor(x)
        _check_features(x, self.weight.size, self)
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        return centred / (variance + self.eps).sqrt() * self.weight + self.bias

    def extra_repr(self) -> str:
        return f"{self.weight.size}, eps={self.eps}"


class RMSNorm(Module):
    """Root-mean-square normalisation, x / sqrt(mean(x**2) + eps) * weight (Zhang and Sennrich, 2019).

    Use it as a cheaper layer normalisation, as recent language models do.

    Args:
        normalized_shape: size of the last axis, or sizes of the last axes, over which the mean is taken. `weight`
            (ones) has this shape.
        eps: added to the mean square, by default the machine epsilon of the input's dtype.
        elementwise_affine: False omits the weight.
        dtype: dtype of the weight, float64 by default.

    Maps shape (..., *normalized_shape) to the same shape.

    Raises:
        ValueError: a size is less than 1, `eps` is negative or, when called, the shape of x does not end with
            `normalized_shape`.

    >>> RMSNorm(2, eps=0.0)([[3.0, -3.0]])
    Tensor([[ 1., -1.]], grad_fn=<MulBackward0>)
    """

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, dtype: Any = None
    ):
        sizes = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.normalized_shape: tuple[int, ...] = tuple(positive_int(n, "normalized_shape") for n in sizes)
        self.eps: float | None = None if eps is None else _checked_eps(eps)
        self.weight: Parameter | None = None
        if elementwise_affine:
            self.weight = Parameter(np.ones(self.normalized_shape), dtype=dtype)

    def forward(self, x: Any) -> Tensor:
        x = as_tensor(x)
        n = len(self.normalized_shape)
        if x.shape[-n:] != self.normalized_shape:
            raise ValueError(f"{self} needs inputs whose shape ends with {self.normalized_shape}, found {x.shape}")
        if x.dtype.kind != "f":  # else squares of integers could overflow
            x = x.astype(float)
        eps = np.finfo(x.dtype).eps if self.eps is None else self.eps
        out = x / ((x * x).mean(tuple(range(-n, 0)), keepdims=True) + float(eps)).sqrt()
        return out if self.weight is None else out * self.weight

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"


class BatchNorm1d(Module):
    """Batch normalisation of each feature (Ioffe and Szegedy, 2015), (x - mean) / sqrt(variance + eps) * weight + bias.

    Use it between a layer and its activation in a deep network that is trained in mini-batches. Training uses the
    statistics of the batch, and moves the running ones towards them (the variance as estimated with n - 1). After
    `eval()` the running ones are used, and no longer change.

    Args:
        num_features: size of axis 1. `weight`, `bias`, `running_mean` and `running_var` have shape (num_features,).
        eps: added to the variance.
        momentum: fraction by which the running statistics move towards those of a batch.
        dtype: dtype of the parameters and the statistics, float64 by default.

    Maps shape (N, num_features) or (N, num_features, length) to the same shape.

    Raises:
        ValueError: `num_features` is less than 1, `eps` is negative or, when called, x has another shape or, in
            training, fewer than two values for each feature.

    >>> BatchNorm1d(1, eps=0.0)([[1.0], [3.0]])
    Tensor([[-1.],
            [ 1.]], grad_fn=<AddBackward0>)
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, dtype: Any = None):
        n = positive_int(num_features, "num_features")
        self.eps: float = _checked_eps(eps)
        self.momentum = momentum
        self.weight: Parameter = Parameter(np.ones(n), dtype=dtype)
        self.bias: Parameter = Parameter(np.zeros(n), dtype=dtype)
        self.running_mean: Tensor = Tensor(np.zeros(n), dtype=dtype)
        self.running_var: Tensor = Tensor(np.ones(n), dtype=dtype)
        self.num_batches_tracked: Tensor = Tensor(0)

    def forward(self, x: Any) -> Tensor:
        x = as_tensor(x)
        n = self.weight.size
        if x.ndim not in (2, 3) or x.shape[1] != n:
            raise ValueError(f"{self} needs inputs of shape (n, {n}) or (n, {n}, length), found {x.shape}")
        mean, variance = self._batch(x) if self.training else (self.running_mean, self.running_var)
        mean, variance, weight, bias = (
            t if x.ndim == 2 else t.expand_dims(-1) for t in (mean, variance, self.weight, self.bias)
        )
        return (x - mean) / (variance + self.eps).sqrt() * weight + bias

    def _batch(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of each feature in the batch; updates the running statistics."""
        n = x.size // self.weight.size
        axes = (0, 2)[: x.ndim - 1]
        listener().change("the running statistics of BatchNorm1d, as training does (call eval() on the model first)")
        if n < 2:
            raise ValueError(f"each feature has {n} values in shape {x.shape}, and training needs at least two")
        mean, variance = x.mean(axes), x.var(axes)
        unbiased = variance.detach().numpy() * (n / (n - 1))
        for running, of_batch in ((self.running_mean, mean.detach().numpy()), (self.running_var, unbiased)):
            running.data = (1 - self.momentum) * running.numpy() + self.momentum * of_batch
        self.num_batches_tracked.data += 1
        return mean, variance

    def extra_repr(self) -> str:
        return f"{self.weight.size}, eps={self.eps}, momentum={self.momentum}"


# ---------------------------------------------------------------------------------------------------------------------
# Lookup


class Embedding(Module):
    """Lookup table of vectors. Maps integer indices of shape (...) to (..., embedding_dim).

    Use it as the first layer for letters, words and other categories, which are numbered but not measured.

    Args:
        num_embeddings: number of vectors.
        embedding_dim: size of each.
        dtype: dtype of `weight`, float64 by default.
        rng: NumPy generator for the initial weight.

    `weight` has shape (num_embeddings, embedding_dim), and is initialised from the standard normal distribution.

    Raises:
        TypeError: (when called) the indices are not integers.
        IndexError: (when called) an index lies outside [0, num_embeddings).

    >>> Embedding(10, 4)([[1, 2, 3], [3, 2, 1]]).shape
    (2, 3, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: Any = None, rng: Rng = None):
        shape = positive_int(num_embeddings, "num_embeddings"), positive_int(embedding_dim, "embedding_dim")
        self.weight: Parameter = Parameter(generator(rng).standard_normal(shape), dtype=dtype)

    def forward(self, indices: Any) -> Tensor:
        if not isinstance(indices, Tensor):
            indices = np.asarray(indices)
        array = plain(traced(indices))
        if array.dtype.kind not in "iu":
            raise TypeError(f"an embedding is looked up by integers, found dtype {array.dtype}")
        # The size is read here and not in the check, which would fetch the weight from a compiled step in each call.
        n = len(self.weight)
        verify(array, lambda x: check_indices(x, n, "indices", "embeddings"))
        return self.weight[indices]

    def extra_repr(self) -> str:
        return "{}, {}".format(*self.weight.shape)


# ---------------------------------------------------------------------------------------------------------------------
# Input checks


def _checked_eps(eps: float) -> float:
    """The number `eps`, which is added under a square root; raises if it is negative."""
    if not eps >= 0:
        raise ValueError(f"eps must not be below 0, found {eps}: the root of a negative number is nan")
    return eps


def _check_features(x: Tensor, n: int, layer: Module) -> None:
    """Raise if the last axis of x has another size than n."""
    if not x.ndim or x.shape[-1] != n:
        raise ValueError(f"{layer} needs inputs with {n} features on their last axis, found shape {x.shape}")
