from .layers import GELU as GELU
from .layers import AvgPool2d as AvgPool2d
from .layers import BatchNorm1d as BatchNorm1d
from .layers import Conv2d as Conv2d
from .layers import Dropout as Dropout
from .layers import Embedding as Embedding
from .layers import Flatten as Flatten
from .layers import LayerNorm1d as LayerNorm1d
from .layers import Linear as Linear
from .layers import MaxPool2d as MaxPool2d
from .layers import Parameter as Parameter
from .layers import ReLU as ReLU
from .layers import RMSNorm as RMSNorm
from .layers import Sequential as Sequential
from .layers import Sigmoid as Sigmoid
from .layers import SoftmaxLoss as SoftmaxLoss
from .layers import Tanh as Tanh
from .module import Module as Module
from .neurons import MLP as MLP
from .neurons import Layer as Layer
from .neurons import Neuron as Neuron

__all__ = [
    "AvgPool2d",
    "BatchNorm1d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "GELU",
    "Layer",
    "LayerNorm1d",
    "Linear",
    "MLP",
    "MaxPool2d",
    "Module",
    "Neuron",
    "Parameter",
    "RMSNorm",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "SoftmaxLoss",
    "Tanh",
]
