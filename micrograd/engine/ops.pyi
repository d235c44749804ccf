"""Written by docs/stubs.py."""

from collections.abc import Callable
from typing import Any

from .rows import Row

TABLE: dict[str, Row]
MAKERS: dict[str, Callable[..., Row]]
LIBRARIES: dict[type, Any]

def lib(a: Any, b: Any = 0.0) -> Any:
    """The math library for these operands: `floats` for numbers, `tensor.library` (NumPy) if one is an array."""

def unary(name: str, forward: Callable, to_a: Callable, doc: str = "", word: str = "") -> Row:
    """Make a row with one operand and add it to the table."""

def binary(name: str, forward: Callable, to_a: Callable, to_b: Callable, doc: str = "", word: str = "") -> Row:
    """Make a row with two operands and add it to the table."""

def setting(maker: Callable[..., Row]) -> Callable[..., Row]:
    """Register a function that makes a unary row from settings, which are plain numbers."""

def zero(a: Any) -> Any:
    """Zeros like a: the gradient of a piecewise constant function."""

add: Row
sub: Row
mul: Row
div: Row
remainder: Row
floor_divide: Row
pow: Row
neg: Row
exp: Row
exp2: Row
expm1: Row
log: Row
log2: Row
log10: Row
log1p: Row
sqrt: Row
square: Row
reciprocal: Row
sin: Row
cos: Row
tan: Row
arcsin: Row
arccos: Row
arctan: Row
sinh: Row
cosh: Row
sech: Row
tanh: Row
arcsinh: Row
arccosh: Row
arctanh: Row
sigmoid: Row
softplus: Row
gelu: Row
hypot: Row
arctan2: Row
logaddexp: Row
abs_: Row
relu: Row
maximum: Row
minimum: Row
sign: Row
floor: Row
ceil: Row
trunc: Row
round_: Row
step: Row
above: Row
equal: Row
gate: Row
PUBLIC: dict[str, Row]

def power(n: float) -> Row:
    """The row of a**n, for a plain number n."""

def leaky_relu(slope: float = 0.01) -> Row:
    """a where it is positive, else slope * a; the gradient at 0 is the slope."""

def clip(low: float | None = None, high: float | None = None) -> Row:
    """Clip a to [low, high]; the gradient at the bounds is 1."""
