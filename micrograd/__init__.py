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

from .face import face

__version__ = "0.1.0"

# Where each name lives; the functions of NumPy's names are made from the tables in `ops` and `tensor_ops`
_HOME = {
    "check": "gradcheck",
    "compiler": "compile",
    "creation": "arange eye full full_like linspace manual_seed ones ones_like rand rand_like randn randn_like zeros "
    "zeros_like",
    "data": "batches",
    "einstein": "einsum",
    "engine": "Value",
    "function": "Function",
    "functional": "functional log_softmax logsumexp softmax",
    "lazy_mode": "lazy",
    "modes": "detect_anomaly enable_grad is_grad_enabled no_grad set_grad_enabled",
    "nn": "nn",
    "optim": "optim",
    "saving": "load save",
    "tensor": "Tensor",
    "transforms": "gradient hessian hvp jacobian jvp value_and_grad vjp",
    "viz": "viz draw_dot trace",
    "walk": "backward grad",
}
__getattr__, __dir__ = face(__name__, _HOME, made="array_functions")
