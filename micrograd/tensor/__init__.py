"""Arrays, on the same nodes, rows and walk as Values. In reading order:

storage      version counters for shared memory, and the values saved for backward
library      NumPy's functions, as rows call them
arrays       the rows of shapes, selections, reductions and products
fused        rows that restate a composition of others, for speed
node         the node of an array: recording an op, and an in-place write
settings     shapes, axes and indices as users pass them, checked
handle       what a Tensor is: data, grad, in-place operations, comparisons
tensor       what a Tensor can do: the methods that return Tensors
functions    the methods as functions, and functions of several arrays
creation     zeros, ones, random numbers
randomness   manual_seed, and the generator
einstein     einsum
convolution  conv2d and pooling
losses       the losses of `functional`, for Tensors
protocols    NumPy's own functions on Tensors
optional     NumPy and Tensors, or what stands for them where NumPy is not installed
flat         gradients of many parameters as one array, for `reduce=` of an optimizer
"""

try:
    from .tensor import Tensor as Tensor

    from . import protocols as protocols  # isort: skip  # makes NumPy's functions accept Tensors
except ModuleNotFoundError as _error:  # Values need no NumPy
    if _error.name != "numpy":
        raise
    _missing = _error

    def __getattr__(name: str) -> object:
        raise _missing if name == "Tensor" else AttributeError(name)
