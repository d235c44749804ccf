"""Neural networks: `Module`, scalar networks small enough to draw, and layers of Tensors.

    module.py        `Module`, the base class: parameters, train and eval, state dicts
    neurons.py       `Neuron`, `Layer`, `MLP`: scalar networks, built of Values
    layers.py        `Linear`, `Sequential` and the other layers of Tensors
    saving.py        `micrograd.save` and `micrograd.load`
    batches.py       `micrograd.batches`
    strict_mode.py   `micrograd.strict`

Names are looked up on first use, so importing this package does not load NumPy.

>>> from micrograd.nn import MLP
>>> MLP(2, [3, 1])
MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(3)]]
"""

from ..face import face

_HOME = {
    "module": "Module",
    "neurons": "Neuron Layer MLP",
    "layers": "Parameter Linear ReLU Tanh Sigmoid GELU Flatten Dropout SoftmaxLoss Sequential Conv2d MaxPool2d "
    "AvgPool2d LayerNorm1d RMSNorm BatchNorm1d Embedding",
}
__getattr__, __dir__ = face(__name__, _HOME)
