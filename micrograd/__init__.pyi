"""Written by docs/stubs.py."""

from collections.abc import Sequence
from typing import Any

from . import functional as functional
from . import nn as nn
from . import optim as optim
from . import viz as viz
from .autograd.check import gradcheck as gradcheck
from .autograd.function import Function as Function
from .autograd.lazy_mode import lazy as lazy
from .autograd.transforms import gradient as gradient
from .autograd.transforms import hessian as hessian
from .autograd.transforms import hvp as hvp
from .autograd.transforms import jacobian as jacobian
from .autograd.transforms import jvp as jvp
from .autograd.transforms import value_and_grad as value_and_grad
from .autograd.transforms import vjp as vjp
from .compiler import check_compiled as check_compiled
from .compiler import compile as compile
from .engine import Value as Value
from .engine.modes import enable_grad as enable_grad
from .engine.modes import is_grad_enabled as is_grad_enabled
from .engine.modes import no_grad as no_grad
from .functional import log_softmax as log_softmax
from .functional import logsumexp as logsumexp
from .functional import softmax as softmax
from .nn.batches import batches as batches
from .nn.saving import load as load
from .nn.saving import save as save
from .nn.strict_mode import strict as strict
from .scalars.anomaly import detect_anomaly as detect_anomaly
from .scalars.modes import set_grad_enabled as set_grad_enabled
from .scalars.roots import backward as backward
from .scalars.roots import grad as grad
from .tensor import Tensor as Tensor
from .tensor.creation import arange as arange
from .tensor.creation import eye as eye
from .tensor.creation import full as full
from .tensor.creation import full_like as full_like
from .tensor.creation import linspace as linspace
from .tensor.creation import ones as ones
from .tensor.creation import ones_like as ones_like
from .tensor.creation import rand as rand
from .tensor.creation import rand_like as rand_like
from .tensor.creation import randn as randn
from .tensor.creation import randn_like as randn_like
from .tensor.creation import zeros as zeros
from .tensor.creation import zeros_like as zeros_like
from .tensor.randomness import manual_seed as manual_seed
from .tensor.tensor import Axis, Shape
from .viz import draw_dot as draw_dot
from .viz import trace as trace

__version__: str

def abs(a: Any) -> Any:
    """The absolute value. The gradient at 0 is 0."""

def arccos(a: Any) -> Any:
    """The inverse cosine, in [0, pi], and nan outside [-1, 1]."""

def arccosh(a: Any) -> Any:
    """The inverse hyperbolic cosine, and nan below 1."""

def arcsin(a: Any) -> Any:
    """The inverse sine, in [-pi/2, pi/2], and nan outside [-1, 1]."""

def arcsinh(a: Any) -> Any:
    """The inverse hyperbolic sine."""

def arctan(a: Any) -> Any:
    """The inverse tangent, in [-pi/2, pi/2]."""

def arctan2(a: Any, b: Any) -> Any:
    """The angle of the point (x, y) = (b, a), in [-pi, pi]."""

def arctanh(a: Any) -> Any:
    """The inverse hyperbolic tangent, and nan outside [-1, 1]."""

def astype(a: Any, dtype: Any) -> Any:
    """A copy with another dtype."""

def broadcast_to(a: Any, shape: Shape) -> Any:
    """Broadcast to a shape, by NumPy's rules."""

def ceil(a: Any) -> Any:
    """The smallest integer not below a."""

def clip(a: Any, low: float | None = None, high: float | None = None) -> Any:
    """Clip a to [low, high]. The gradient at the bounds is 1."""

def concatenate(operands: Any, axis: int | None = 0) -> Any:
    """Join a list of operands along an existing axis."""

def cos(a: Any) -> Any:
    """The cosine, in radians."""

def cosh(a: Any) -> Any:
    """The hyperbolic cosine."""

def cumsum(a: Any, axis: int | None = None) -> Any:
    """The cumulative sum."""

def diag(a: Any, k: int = 0) -> Any:
    """The diagonal of a matrix, or the matrix with a given diagonal."""

def dot(a: Any, b: Any) -> Any:
    """NumPy's dot product, a sum over the last axis of a and the second to last of b (the only one of a vector)."""

def einsum(subscripts: Any, *operands: Any, optimize: Any = True) -> Any:
    """Einstein summation over the named axes of the operands, with all of NumPy's notation."""

def exp(a: Any) -> Any:
    """e to the power of a."""

def exp2(a: Any) -> Any:
    """2 to the power of a."""

def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """Insert axes of length 1."""

def expm1(a: Any) -> Any:
    """exp(a) - 1, accurate for small a."""

def flatten(a: Any, start: int = 0) -> Any:
    """Merge the axes from `start` on into one."""

def flip(a: Any, axis: Axis = None) -> Any:
    """Reverse the order of the elements along axes."""

def floor(a: Any) -> Any:
    """The greatest integer not above a."""

def gelu(a: Any) -> Any:
    """The Gaussian error linear unit, tanh approximation (Hendrycks and Gimpel, 2016)."""

def hstack(operands: Any) -> Any:
    """Join a list of operands horizontally, along the second axis, or for vectors along their only one."""

def hypot(a: Any, b: Any) -> Any:
    """sqrt(a * a + b * b), without overflow. The gradient at 0 is 0."""

def leaky_relu(a: Any, slope: float = 0.01) -> Any:
    """a where a is positive, else slope * a. The gradient at 0 is the slope."""

def log(a: Any) -> Any:
    """The natural logarithm, and -inf at 0."""

def log10(a: Any) -> Any:
    """The logarithm to base 10."""

def log1p(a: Any) -> Any:
    """log(1 + a), accurate for small a."""

def log2(a: Any) -> Any:
    """The logarithm to base 2."""

def logaddexp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)), without overflow."""

def matmul(a: Any, b: Any) -> Any:
    """a @ b, for vectors, matrices or batches of matrices."""

def max(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The maximum over axes."""

def maximum(a: Any, b: Any) -> Any:
    """The larger of the two, which gets the gradient. A tie shares the gradient equally."""

def mean(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The mean over axes."""

def min(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The minimum over axes."""

def minimum(a: Any, b: Any) -> Any:
    """The smaller of the two, which gets the gradient. A tie shares the gradient equally."""

def norm(a: Any, ord: float | str | None = None, axis: Axis = None, keepdims: bool = False) -> Any:
    """The norm of the vectors along an axis, or of all elements."""

def outer(a: Any, b: Any) -> Any:
    """The outer product, each element of a times each of b."""

def pad(a: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    """Pad each axis at both ends."""

def pow(a: Any, exponent: Any) -> Any:
    """a ** exponent, elementwise."""

def prod(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The product over axes."""

def reciprocal(a: Any) -> Any:
    """1 / a."""

def relu(a: Any) -> Any:
    """max(a, 0). The gradient at 0 is 0."""

def repeat(a: Any, repeats: int | Sequence[int], axis: int | None = None) -> Any:
    """Repeat each element."""

def reshape(a: Any, shape: Shape, *more: int) -> Any:
    """The elements in another shape, in C order."""

def roll(a: Any, shift: int | Sequence[int], axis: Axis = None) -> Any:
    """Shift the elements cyclically."""

def round(a: Any) -> Any:
    """The nearest integer, where halves round to even."""

def sigmoid(a: Any) -> Any:
    """1 / (1 + exp(-a))."""

def sign(a: Any) -> Any:
    """-1, 0 or 1."""

def sin(a: Any) -> Any:
    """The sine, in radians."""

def sinh(a: Any) -> Any:
    """The hyperbolic sine."""

def softplus(a: Any) -> Any:
    """log(1 + exp(a)), without overflow."""

def sort(a: Any, axis: int | None = -1) -> Any:
    """Sort in ascending order."""

def split(a: Any, sections: int | Sequence[int], axis: int = 0) -> Any:
    """Split a along the axis."""

def sqrt(a: Any) -> Any:
    """The square root, and nan below 0."""

def square(a: Any) -> Any:
    """a * a."""

def squeeze(a: Any, axis: Axis = None) -> Any:
    """Remove axes of length 1."""

def stack(operands: Any, axis: int = 0) -> Any:
    """Join a list of operands along a new axis."""

def std(a: Any, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Any:
    """The standard deviation over axes, the square root of the variance."""

def sum(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The sum over axes."""

def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Swap two axes."""

def take_along_axis(a: Any, indices: Any, axis: int | None = -1) -> Any:
    """Select elements along the axis by index, such as those from `argsort`, or from `argmax` with keepdims."""

def tan(a: Any) -> Any:
    """The tangent, in radians."""

def tanh(a: Any) -> Any:
    """The hyperbolic tangent."""

def tile(a: Any, reps: Shape) -> Any:
    """Repeat the whole array along each axis."""

def transpose(a: Any, axes: int | Sequence[int] | None = None, *more: int) -> Any:
    """The axes in another order."""

def tril(a: Any, k: int = 0) -> Any:
    """The lower triangle, with zeros above the k-th diagonal of the last two axes."""

def triu(a: Any, k: int = 0) -> Any:
    """The upper triangle, with zeros below the k-th diagonal of the last two axes."""

def trunc(a: Any) -> Any:
    """a rounded towards 0."""

def var(a: Any, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Any:
    """The variance over axes, the sum of squared deviations divided by n - ddof."""

def vstack(operands: Any) -> Any:
    """Join a list of operands vertically, along the first axis, where a vector is a row."""

def where(condition: Any, a: Any, b: Any) -> Any:
    """Choose from a where the condition holds, else from b."""

__all__ = [
    "Function",
    "Tensor",
    "Value",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "astype",
    "backward",
    "batches",
    "broadcast_to",
    "ceil",
    "check_compiled",
    "clip",
    "concatenate",
    "cos",
    "cosh",
    "cumsum",
    "detect_anomaly",
    "diag",
    "dot",
    "draw_dot",
    "einsum",
    "enable_grad",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "flatten",
    "flip",
    "floor",
    "full",
    "full_like",
    "functional",
    "gelu",
    "grad",
    "gradcheck",
    "gradient",
    "hessian",
    "hstack",
    "hvp",
    "hypot",
    "is_grad_enabled",
    "jacobian",
    "jvp",
    "lazy",
    "leaky_relu",
    "linspace",
    "load",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "manual_seed",
    "matmul",
    "maximum",
    "mean",
    "minimum",
    "nn",
    "no_grad",
    "norm",
    "ones",
    "ones_like",
    "optim",
    "outer",
    "pad",
    "prod",
    "rand",
    "rand_like",
    "randn",
    "randn_like",
    "reciprocal",
    "relu",
    "repeat",
    "reshape",
    "roll",
    "save",
    "set_grad_enabled",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "strict",
    "swapaxes",
    "take_along_axis",
    "tan",
    "tanh",
    "tile",
    "trace",
    "transpose",
    "tril",
    "triu",
    "trunc",
    "value_and_grad",
    "var",
    "viz",
    "vjp",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]
