"""A neural network library to read floor by floor, to watch think, and to train with.

>>> from micrograd import Value
>>> a, b = Value(2.0), Value(-3.0)
>>> c = (a * b + 7.0).tanh()
>>> c.backward()
>>> round(a.grad, 4)
-1.2599

To read the source, start with `python -m micrograd page`, which prints the idea as 100 lines of code, then with
`micrograd/engine/`. Names are imported on first access (PEP 562), so that `import micrograd` is fast and does not load
NumPy.
"""

from __future__ import annotations

import sys as _sys

from . import scalars as _attached  # noqa: F401  # gives Value all that it can do
from .face import face

__version__ = "0.1.0"

# The module of each public name. NumPy's functions are generated from the tables: see `tensor/functions.py`.
_HOME = {
    "autograd.check": "gradcheck",
    "autograd.function": "Function",
    "autograd.lazy_mode": "lazy",
    "autograd.transforms": "gradient hessian hvp jacobian jvp value_and_grad vjp",
    "common.collector": "without_collector",
    "compiler": "check_compiled compile",
    "engine": "Value",
    "engine.modes": "enable_grad is_grad_enabled no_grad",
    "functional": "functional log_softmax logsumexp softmax",
    "nn": "nn",
    "nn.batches": "batches",
    "nn.saving": "load save",
    "nn.strict_mode": "strict",
    "optim": "optim",
    "scalars.anomaly": "detect_anomaly",
    "scalars.modes": "set_grad_enabled",
    "scalars.roots": "backward grad",
    "tensor": "Tensor",
    "tensor.creation": "arange eye full full_like linspace ones ones_like rand rand_like randn randn_like "
    "zeros zeros_like",
    "tensor.randomness": "manual_seed",
    "viz": "viz draw_dot trace",
}
__getattr__, __dir__ = face(__name__, _HOME, made="tensor.functions")

if "IPython" in _sys.modules:  # a notebook: below an error of an op, viz shows what led there
    from . import viz as viz
