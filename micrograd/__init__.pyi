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
from .compiler import compile as compile
from .engine import Value as Value
from .engine.modes import detect_anomaly as detect_anomaly
from .engine.modes import enable_grad as enable_grad
from .engine.modes import is_grad_enabled as is_grad_enabled
from .engine.modes import no_grad as no_grad
from .engine.modes import set_grad_enabled as set_grad_enabled
from .engine.walk import backward as backward
from .engine.walk import grad as grad
from .functional import log_softmax as log_softmax
from .functional import logsumexp as logsumexp
from .functional import softmax as softmax
from .nn.batches import batches as batches
from .nn.saving import load as load
from .nn.saving import save as save
from .tensor import Tensor as Tensor
from .tensor.creation import arange as arange
from .tensor.creation import eye as eye
from .tensor.creation import full as full
from .tensor.creation import full_like as full_like
from .tensor.creation import linspace as linspace
from .tensor.creation import manual_seed as manual_seed
from .tensor.creation import ones as ones
from .tensor.creation import ones_like as ones_like
from .tensor.creation import rand as rand
from .tensor.creation import rand_like as rand_like
from .tensor.creation import randn as randn
from .tensor.creation import randn_like as randn_like
from .tensor.creation import zeros as zeros
from .tensor.creation import zeros_like as zeros_like
from .tensor.einstein import einsum as einsum
from .tensor.tensor import Axis, Shape
from .viz import draw_dot as draw_dot
from .viz import trace as trace

__version__: str

def abs(a: Any) -> Any:
    """The absolute value; the gradient at 0 is 0, elementwise."""

def arccos(a: Any) -> Any:
    """The inverse cosine, in [0, pi]; nan outside [-1, 1], elementwise."""

def arccosh(a: Any) -> Any:
    """The inverse hyperbolic cosine; nan below 1, elementwise."""

def arcsin(a: Any) -> Any:
    """The inverse sine, in [-pi/2, pi/2]; nan outside [-1, 1], elementwise."""

def arcsinh(a: Any) -> Any:
    """The inverse hyperbolic sine, elementwise."""

def arctan(a: Any) -> Any:
    """The inverse tangent, in [-pi/2, pi/2], elementwise."""

def arctan2(a: Any, b: Any) -> Any:
    """The angle of the point (x, y) = (b, a), in [-pi, pi], elementwise."""

def arctanh(a: Any) -> Any:
    """The inverse hyperbolic tangent; nan outside [-1, 1], elementwise."""

def astype(a: Any, dtype: Any) -> Any:
    """self in another dtype, of real numbers."""

def broadcast_to(a: Any, shape: Shape) -> Any:
    """Stretched to the shape, by NumPy's rules."""

def ceil(a: Any) -> Any:
    """The smallest integer not below a, elementwise."""

def clip(a: Any, low: float | None = None, high: float | None = None) -> Any:
    """Clip a to [low, high], plain numbers or None; the gradient at the bounds is 1."""

def concatenate(operands: Any, axis: int | None = 0) -> Any:
    """The operands, joined along an axis that they have; None flattens them first."""

def cos(a: Any) -> Any:
    """The cosine, in radians, elementwise."""

def cosh(a: Any) -> Any:
    """The hyperbolic cosine, elementwise."""

def cumsum(a: Any, axis: int | None = None) -> Any:
    """The running sum along the axis; None flattens first."""

def diag(a: Any, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or a matrix of zeros that has this vector there."""

def dot(a: Any, b: Any) -> Any:
    """NumPy's dot: of vectors their inner product, of matrices a @ b; else over a's last axis and b's last but one."""

def exp(a: Any) -> Any:
    """e to the power of a, elementwise."""

def exp2(a: Any) -> Any:
    """2 to the power of a, elementwise."""

def expand_dims(a: Any, axis: int) -> Any:
    """A new axis of length 1, at `axis`."""

def expm1(a: Any) -> Any:
    """exp(a) - 1, accurate for small a, elementwise."""

def flatten(a: Any, start: int = 0) -> Any:
    """All axes from `start` on as one."""

def flip(a: Any, axis: Axis = None) -> Any:
    """Backwards along the axis, along several, or (None) along all."""

def floor(a: Any) -> Any:
    """The greatest integer not above a, elementwise."""

def gelu(a: Any) -> Any:
    """The Gaussian error linear unit, tanh approximation (Hendrycks and Gimpel, 2016), elementwise."""

def hstack(operands: Any) -> Any:
    """The operands side by side: along the second axis, vectors along their only one."""

def hypot(a: Any, b: Any) -> Any:
    """sqrt(a * a + b * b), without overflow; the gradient at 0 is 0, elementwise."""

def leaky_relu(a: Any, slope: float = 0.01) -> Any:
    """a where it is positive, else slope * a; the gradient at 0 is the slope."""

def log(a: Any) -> Any:
    """The natural logarithm; -inf at 0, nan below, elementwise."""

def log10(a: Any) -> Any:
    """The logarithm to base 10, elementwise."""

def log1p(a: Any) -> Any:
    """log(1 + a), accurate for small a, elementwise."""

def log2(a: Any) -> Any:
    """The logarithm to base 2, elementwise."""

def logaddexp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)), without overflow, elementwise."""

def matmul(a: Any, b: Any) -> Any:
    """a @ b, of vectors, matrices or batches of matrices."""

def max(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The greatest values, without their places (see `argmax`); those who tie share the gradient."""

def maximum(a: Any, b: Any) -> Any:
    """The larger of the two, which gets the gradient; a tie shares it equally, elementwise."""

def mean(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The mean."""

def min(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The smallest values; those who tie share the gradient."""

def minimum(a: Any, b: Any) -> Any:
    """The smaller of the two, which gets the gradient; a tie shares it equally, elementwise."""

def norm(a: Any, ord: float | None = None, axis: Axis = None, keepdims: bool = False) -> Any:
    """The length of the vectors along the axis, or (None) of all elements; where it is 0 so is the gradient."""

def outer(a: Any, b: Any) -> Any:
    """The product of each element of a with each of b, as a matrix."""

def pad(a: Any, pad_width: Any, mode: str = "constant", constant_values: float = 0) -> Any:
    """Wider by `pad_width` before and after each axis (one int, a pair, or a pair for each axis)."""

def pow(a: Any, exponent: Any) -> Any:
    """a ** exponent, elementwise."""

def prod(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The product; its gradient is right where factors are zero too, since it multiplies in pairs."""

def reciprocal(a: Any) -> Any:
    """1 / a, elementwise."""

def relu(a: Any) -> Any:
    """max(a, 0); the gradient at 0 is 0, elementwise."""

def repeat(a: Any, repeats: int | Sequence[int], axis: int | None = None) -> Any:
    """Each element so many times along the axis; None flattens first."""

def reshape(a: Any, shape: Shape, *more: int) -> Any:
    """The elements in another shape; one length may be -1."""

def roll(a: Any, shift: int | Sequence[int], axis: Axis = None) -> Any:
    """Moved along the axis; what leaves at the end comes in at the beginning. None rolls all as if flat."""

def round(a: Any) -> Any:
    """The nearest integer; halves round to even, elementwise."""

def sigmoid(a: Any) -> Any:
    """1 / (1 + exp(-a)), elementwise."""

def sign(a: Any) -> Any:
    """-1, 0 or 1, elementwise."""

def sin(a: Any) -> Any:
    """The sine, in radians, elementwise."""

def sinh(a: Any) -> Any:
    """The hyperbolic sine, elementwise."""

def softplus(a: Any) -> Any:
    """log(1 + exp(a)), without overflow, elementwise."""

def sort(a: Any, axis: int | None = -1) -> Any:
    """In ascending order along the axis; None flattens first. Each element gets the gradient of its new place."""

def split(a: Any, sections: int | Sequence[int], axis: int = 0) -> Any:
    """A list of parts along the axis: so many of equal length or, for a list of places, cut at each of these."""

def sqrt(a: Any) -> Any:
    """The square root; nan below 0, elementwise."""

def square(a: Any) -> Any:
    """a * a, elementwise."""

def squeeze(a: Any, axis: Axis = None) -> Any:
    """Without the axes of length 1, or without those named."""

def stack(operands: Any, axis: int = 0) -> Any:
    """The operands, which have the same shape, along a new axis."""

def std(a: Any, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Any:
    """The standard deviation: the root of `var`. Where all are equal its gradient is 0, as in PyTorch."""

def sum(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The sum."""

def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes, swapped."""

def take_along_axis(a: Any, indices: Any, axis: int | None) -> Any:
    """`a[..., indices[...], ...]` along the axis: what `argmax` or `argsort` pointed at; None flattens first."""

def tan(a: Any) -> Any:
    """The tangent, in radians, elementwise."""

def tanh(a: Any) -> Any:
    """The hyperbolic tangent, elementwise."""

def tile(a: Any, reps: Shape) -> Any:
    """The whole, so many times along each axis."""

def transpose(a: Any, axes: int | Sequence[int] | None = None, *more: int) -> Any:
    """The axes in another order; None reverses them."""

def tril(a: Any, k: int = 0) -> Any:
    """Zero above the k-th diagonal of the last two axes."""

def triu(a: Any, k: int = 0) -> Any:
    """Zero below the k-th diagonal of the last two axes."""

def trunc(a: Any) -> Any:
    """a rounded towards 0, elementwise."""

def var(a: Any, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Any:
    """The variance: the sum of squares from the mean, over n - ddof."""

def vstack(operands: Any) -> Any:
    """The operands one below the other, along the first axis; a vector is a row."""

def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b; each gets the gradient where it was chosen, and 0 elsewhere."""

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
