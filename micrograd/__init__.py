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
    from .engine import Value
    from .modes import detect_anomaly, enable_grad, is_grad_enabled, no_grad
    from .tensor import Tensor
    from .viz import draw_dot, trace
    from .walk import backward, grad

__version__ = "0.1.0"

_HOME = {
    "engine": ["Value"],
    "modes": ["no_grad", "enable_grad", "is_grad_enabled", "detect_anomaly"],
    "tensor": ["Tensor"],
    "viz": ["draw_dot", "trace"],
    "walk": ["backward", "grad"],
}
_MODULES = ["engine", "functional", "graph", "modes", "nn", "ops", "optim", "tensor", "viz", "walk"]
_HOME_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Tensor",
    "Value",
    "backward",
    "detect_anomaly",
    "draw_dot",
    "enable_grad",
    "functional",
    "grad",
    "is_grad_enabled",
    "nn",
    "no_grad",
    "optim",
    "trace",
    "viz",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _HOME_OF:
        raise AttributeError(f"module 'micrograd' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF, *_MODULES])
