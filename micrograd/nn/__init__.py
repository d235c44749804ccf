"""Networks: `Module`, and the neurons, layers and MLPs that one can draw.

    module.py     finding parameters, saving and loading; what all networks share
    neurons.py    `Neuron`, `Layer`, `MLP`: one Value at a time

>>> from micrograd.nn import MLP
>>> MLP(2, [3, 1])
MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(3)]]
"""

from .module import Module
from .neurons import MLP, Layer, Neuron

__all__ = ["Module", "Neuron", "Layer", "MLP"]
