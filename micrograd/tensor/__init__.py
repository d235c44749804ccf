"""Arrays, on the same nodes, rows and walk as Values. In reading order:

library      NumPy's functions, as rows call them
arrays       the rows of shapes, selections, reductions and products, and their settings, checked
fused        rows that each restate a composition of rows, for speed
node         the node of an array: what it saves, how an op is recorded, in place too
handle       what a Tensor is: data, grad, in-place operations, comparisons
tensor       what a Tensor can do: the methods that return Tensors
functions    the methods as functions, functions of several arrays, and NumPy's own functions on Tensors
creation     zeros, ones, random numbers
randomness   manual_seed, and the generator
optional     NumPy and Tensors, or placeholders where NumPy is not installed
flat         gradients of many parameters as one array, for `reduce=` of an optimizer
"""

try:
    from .functions import Tensor as Tensor  # which also makes NumPy's functions accept Tensors
except ModuleNotFoundError as _error:  # Values need no NumPy
    if _error.name != "numpy":
        raise
    _missing = _error

    def __getattr__(name: str) -> object:
        raise _missing if name == "Tensor" else AttributeError(name)
