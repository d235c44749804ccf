"""Scalar networks, small enough to draw: `Neuron`, `Layer` (neurons side by side), `MLP` (layers in sequence).

Weights are drawn from U(-1, 1), neuron by neuron, in the order of the inputs; biases are initialised to 0. The draws
come from `random`, so that `random.seed(1337)` reproduces a network, or from a `random.Random` passed as `rng`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from operator import index, mul
from typing import Any

from ..engine.modes import interceptor, is_grad_enabled, modes_on
from ..engine.value import Node, Value
from ..scalars.sums import weighted_sum
from .module import Module, calling, tag

Activation = str | Callable[[Any], Any]  # the name of a method of Value, or a function of one Value
SCALARS: set[type] = {Value, float, int}  # not their subclasses, whose operators may differ

# Activations: the name of the method of Value, and the word for it in a neuron's repr.
ACTIVATIONS = {
    "relu": "ReLU",
    "leaky_relu": "LeakyReLU",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "gelu": "GELU",
    "sin": "Sin",
}


class Neuron(Module, tags=True):
    """A neuron, which computes activation(w0*x0 + w1*x1 + ... + b), one Value from `nin` inputs.

    Use it to see and to draw the smallest network there is. Call it with a list of `nin` Values or numbers.

    Args:
        nin: number of inputs.
        nonlin: False omits the activation.
        activation: a name in `ACTIVATIONS`, or a function of one Value.
        rng: generator of the initial weights, by default Python's global one.

    Raises:
        TypeError: an argument has the wrong type, or an input is neither a Value nor a number.
        ValueError: `nin` is less than 1, the activation is unknown or, when called, the number of inputs is not `nin`.

    >>> import random
    >>> from micrograd.nn import Neuron
    >>> neuron = Neuron(2, activation="tanh", rng=random.Random(0))
    >>> neuron, round(neuron([1.0, -2.0]).data, 4)
    (TanhNeuron(2), -0.3301)
    """

    activation: Activation = "relu"

    def __init__(
        self,
        nin: int,
        nonlin: bool = True,
        activation: Activation = "relu",
        rng: random.Random | None = None,
    ):
        if rng is not None and not hasattr(rng, "uniform"):
            raise TypeError(
                f"rng must be a generator such as random.Random(1337), found {type(rng).__name__} {rng!r:.50}"
            )
        if not callable(activation) and activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"there is no activation {activation!r:.50}: use {known}, or a function")
        draw = (rng or random).uniform
        self.w: list[Value] = [Value(draw(-1, 1)) for _ in range(positive_int(nin, "nin"))]
        self.b: Value = Value(0)
        self.nonlin = nonlin
        self.activation = activation

    def __call__(self, x: Iterable[Any]) -> Any:
        if not isinstance(x, tuple) or len(x) != len(self.w):
            x = _inputs(x, self)
            if len(x) != (n := len(self.w)):
                raise ValueError(f"a neuron with {n} weights needs {n} inputs, and found {len(x)}")
        try:
            act: Any = self._number(x) if modes_on else weighted_sum(self.w, x, self.b)
            if act is None:
                act = sum(map(mul, self.w, x), self.b)
        except TypeError:
            act = None
        if not isinstance(act, Node):
            raise _no_sample(x, self)
        if self.nonlin:
            f = self.activation
            act = getattr(act, f)() if isinstance(f, str) else f(act)
        tag(act, (*calling(self), x))
        return act

    def _number(self, x: tuple[Any, ...]) -> Value | None:
        """The weighted sum as a constant, computed with plain numbers, since inside `no_grad` nobody sees its terms.

        None if ops are recorded, if an interceptor runs instead of them, or if the operands are of other classes.
        """
        if is_grad_enabled() or interceptor() or not {*map(type, self.w), type(self.b), *map(type, x)} <= SCALARS:
            return None
        weights = [w._data for w in self.w]
        inputs = [item._data if type(item) is Value else item for item in x]
        return Value(sum(map(mul, weights, inputs), self.b._data), requires_grad=False)

    def __repr__(self) -> str:
        f = self.activation
        word = ACTIVATIONS[f] if isinstance(f, str) else getattr(f, "__name__", type(f).__name__).strip("<>")
        return f"{word if self.nonlin else 'Linear'}Neuron({len(self.w)})"


class Layer(Module, inner_calls_tag=True):
    """`nout` neurons on the same `nin` inputs.

    Use it to build a network of neurons that differs from an `MLP`. Call it with a list of `nin` Values or numbers. It
    returns a list of `nout` Values, or one Value if `nout` is 1.

    Args:
        nin: number of inputs of each neuron.
        nout: number of neurons.
        **kwargs: as for `Neuron`.

    Raises:
        TypeError, ValueError: as for `Neuron`.

    >>> from micrograd.nn import Layer
    >>> layer = Layer(2, 3, nonlin=False)
    >>> layer, len(layer([1.0, -2.0]))
    (Layer of [LinearNeuron(2), LinearNeuron(2), LinearNeuron(2)], 3)
    """

    def __init__(self, nin: int, nout: int, **kwargs: Any):
        self.neurons: list[Neuron] = [Neuron(nin, **kwargs) for _ in range(positive_int(nout, "nout"))]

    def __call__(self, x: Iterable[Any]) -> Any:
        x = _inputs(x, self)
        outputs = [neuron(x) for neuron in self.neurons]
        return outputs[0] if len(outputs) == 1 else outputs

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(map(str, self.neurons))}]"


class MLP(Module, inner_calls_tag=True):
    """Multi-layer perceptron, layers in sequence, the last one without an activation.

    Use it for a network that is small enough to draw. Call it with **one sample**, a list of `nin` Values or numbers,
    and for many samples write `[model(x) for x in samples]`. It returns a list of `nouts[-1]` Values, so that one
    writes `model(x)[0] - 1`, but a Value if `nouts[-1]` is 1.

    Args:
        nin: number of inputs.
        nouts: number of neurons in each layer.
        activation, rng: as for `Neuron`.

    Raises:
        TypeError, ValueError: as for `Neuron`, or `nouts` is not a non-empty sequence.

    >>> from micrograd.nn import MLP
    >>> model = MLP(3, [4, 4, 1], activation="tanh")
    >>> len(model.parameters()), model([1.0, -2.0, 0.5]).is_leaf
    (41, False)
    """

    def __init__(
        self,
        nin: int,
        nouts: Sequence[int],
        activation: Activation = "relu",
        rng: random.Random | None = None,
    ):
        if not isinstance(nouts, Iterable) or isinstance(nouts, str):
            raise TypeError(f"nouts must be a list with the size of each layer, such as [16, 1]; found {nouts!r:.50}")
        sizes = [nin, *[positive_int(n, f"nouts[{i}]") for i, n in enumerate(nouts)]]
        if len(sizes) == 1:
            raise ValueError("nouts is empty: a network needs at least one layer, such as [1]")
        last = len(sizes) - 2
        self.layers: list[Layer] = [
            Layer(sizes[i], sizes[i + 1], nonlin=i != last, activation=activation, rng=rng) for i in range(last + 1)
        ]

    def __call__(self, x: Iterable[Any]) -> Any:
        outputs: Any = _inputs(x, self)
        for layer in self.layers:
            outputs = layer(outputs)
        return outputs

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(map(str, self.layers))}]"


# ---------------------------------------------------------------------------------------------------------------------
# Argument checks


def _inputs(x: Any, network: Module) -> tuple[Any, ...]:
    """The inputs as a tuple; a single number counts as one input."""
    try:
        inputs = None if isinstance(x, (str, set, frozenset, dict)) else tuple(x)
    except TypeError:
        inputs = (x,) if isinstance(x, (Node, float, int)) else None
    if inputs is None:
        raise TypeError(f"the inputs are a list of Values or numbers, found {type(x).__name__}")
    if inputs and hasattr(inputs[0], "__len__") and getattr(inputs[0], "ndim", 1):
        raise _no_sample(inputs, network)
    return inputs


def _no_sample(x: tuple[Any, ...], network: Module) -> TypeError:
    """The error for inputs that are not all Values or numbers, such as a whole batch."""
    i, item = next((i, item) for i, item in enumerate(x) if not isinstance(item, (Node, Real)))
    needed = next((len(module.w) for module in Module.modules(network) if isinstance(module, Neuron)), 0)
    lengths = getattr(item, "shape", (len(item),) if isinstance(item, (list, tuple)) else ())
    text = f"{type(network).__name__} takes one sample of {needed} numbers"
    if lengths:
        text += f", found shape {(len(x), *lengths)}: write [model(x) for x in samples], or use nn.Sequential"
    return TypeError(text if hasattr(item, "shape") else f"input {i} is a {type(item).__name__}: {text}")


def positive_int(n: Any, name: str) -> int:
    """A whole number, at least 1; raises otherwise."""
    try:
        size = index(n)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, found {type(n).__name__} {n!r:.50}") from None
    if size < 1:
        raise ValueError(f"{name} must be at least 1, found {size}")
    return size
