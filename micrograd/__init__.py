"""A neural network library that one person can read in an evening, watch think, and still train with.

>>> from micrograd import Value
>>> a, b = Value(2.0), Value(-3.0)
>>> c = (a * b + 7.0).tanh()
>>> c.backward()
>>> round(a.grad, 4)
-1.2599

Start with `micrograd/engine.py`. Names are looked up when they are first asked for (PEP 562), so that importing
micrograd costs little and needs nothing but Python.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import functional, nn, optim, viz
    from .array_functions import abs as abs
    from .array_functions import (
        broadcast_to,
        clip,
        concatenate,
        cos,
        cumsum,
        exp,
        expand_dims,
        gelu,
        leaky_relu,
        log,
        log1p,
        matmul,
        maximum,
        mean,
        minimum,
        prod,
        relu,
        reshape,
        sigmoid,
        sin,
        softplus,
        split,
        sqrt,
        squeeze,
        stack,
        std,
        swapaxes,
        take_along_axis,
        tanh,
        transpose,
        var,
        where,
    )
    from .array_functions import max as max
    from .array_functions import min as min
    from .array_functions import sum as sum
    from .check import gradcheck
    from .compiler import compile as compile
    from .creation import (
        arange,
        eye,
        full,
        full_like,
        manual_seed,
        ones,
        ones_like,
        rand,
        rand_like,
        randn,
        randn_like,
        zeros,
        zeros_like,
    )
    from .data import batches
    from .einstein import einsum
    from .engine import Value
    from .function import Function
    from .lazy_mode import lazy
    from .modes import detect_anomaly, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
    from .saving import load, save
    from .tensor import Tensor
    from .transforms import gradient, hessian, hvp, jacobian, jvp, value_and_grad, vjp
    from .viz import draw_dot, trace
    from .walk import backward, grad

__version__ = "0.1.0"

# Where each name lives
_HOME = {
    "array_functions": "abs broadcast_to clip concatenate cos cumsum exp expand_dims gelu leaky_relu log log1p matmul "
    "max maximum mean min minimum prod relu reshape sigmoid sin softplus split sqrt squeeze stack std sum swapaxes "
    "take_along_axis tanh transpose var where",
    "check": "gradcheck",
    "compiler": "compile",
    "creation": "arange eye full full_like manual_seed ones ones_like rand rand_like randn randn_like zeros zeros_like",
    "data": "batches",
    "einstein": "einsum",
    "engine": "Value",
    "function": "Function",
    "lazy_mode": "lazy",
    "modes": "detect_anomaly enable_grad is_grad_enabled no_grad set_grad_enabled",
    "saving": "load save",
    "tensor": "Tensor",
    "transforms": "gradient hessian hvp jacobian jvp value_and_grad vjp",
    "viz": "draw_dot trace",
    "walk": "backward grad",
}
_HOME_OF = {name: module for module, names in _HOME.items() for name in names.split()}
_MODULES = [*_HOME, "arrays", "functional", "graph", "nn", "ops", "optim", "tensor_losses"]

# `sum`, `max`, `min` and `abs` are here too, but not in a star import: they would hide Python's own.
__all__ = [
    "Function",
    "Tensor",
    "Value",
    "arange",
    "backward",
    "batches",
    "broadcast_to",
    "clip",
    "concatenate",
    "cos",
    "cumsum",
    "detect_anomaly",
    "draw_dot",
    "einsum",
    "enable_grad",
    "exp",
    "expand_dims",
    "eye",
    "full",
    "full_like",
    "functional",
    "gelu",
    "grad",
    "gradcheck",
    "gradient",
    "hessian",
    "hvp",
    "is_grad_enabled",
    "jacobian",
    "jvp",
    "lazy",
    "leaky_relu",
    "load",
    "log",
    "log1p",
    "manual_seed",
    "matmul",
    "maximum",
    "mean",
    "minimum",
    "nn",
    "no_grad",
    "ones",
    "ones_like",
    "optim",
    "prod",
    "rand",
    "rand_like",
    "randn",
    "randn_like",
    "relu",
    "reshape",
    "save",
    "set_grad_enabled",
    "sigmoid",
    "sin",
    "softplus",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "std",
    "swapaxes",
    "take_along_axis",
    "tanh",
    "trace",
    "transpose",
    "value_and_grad",
    "var",
    "viz",
    "vjp",
    "where",
    "zeros",
    "zeros_like",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _HOME_OF:
        raise AttributeError(f"module 'micrograd' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__", "__doc__"})
