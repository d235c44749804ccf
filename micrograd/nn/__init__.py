"""Networks: `Module`, the neurons, layers and MLPs that one can draw, and layers of Tensors.

    module.py     `Module`: what all networks share; finds their parameters, and gives and loads their state
    neurons.py    `Neuron`, `Layer`, `MLP`: one Value at a time
    layers.py     `Linear`, `Sequential` and so on: Tensors; loaded (and NumPy with it) when first asked for
    saving.py     `micrograd.save` and `load`: a state as a file
    batches.py    `micrograd.batches`

>>> from micrograd.nn import MLP
>>> MLP(2, [3, 1])
MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(3)]]
"""

from typing import TYPE_CHECKING, Any

from .module import Module
from .neurons import MLP, Layer, Neuron

if TYPE_CHECKING:
    from .layers import (
        GELU,
        AvgPool2d,
        BatchNorm1d,
        Conv2d,
        Dropout,
        Embedding,
        Flatten,
        LayerNorm1d,
        Linear,
        MaxPool2d,
        Parameter,
        ReLU,
        RMSNorm,
        Sequential,
        Sigmoid,
        SoftmaxLoss,
        Tanh,
    )

__all__ = [
    "Module",
    "Neuron",
    "Layer",
    "MLP",
    "Parameter",
    "Linear",
    "ReLU",
    "Tanh",
    "Sigmoid",
    "GELU",
    "Flatten",
    "Dropout",
    "SoftmaxLoss",
    "Sequential",
    "Conv2d",
    "MaxPool2d",
    "AvgPool2d",
    "LayerNorm1d",
    "RMSNorm",
    "BatchNorm1d",
    "Embedding",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import layers

    return getattr(layers, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
