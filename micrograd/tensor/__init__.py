"""Arrays under the same nodes, rows and walk as Values. Best read in this order:

storage      memory that Tensors share, and the values that a graph has saved
library      NumPy's functions as rows call them
arrays       the rows of shapes, selections, reductions and products
node         the node of an array: how an op is recorded, and a write
settings     shapes, axes and indices as users give them
handle       what a Tensor is
tensor       what a Tensor can do
functions    the same as functions, and those of several arrays; `creation`, `einstein`, `convolution`, `losses`
protocols    NumPy's own functions on Tensors
"""

from .tensor import Tensor as Tensor

from . import protocols as protocols  # isort: skip  # from here on NumPy's functions take Tensors
