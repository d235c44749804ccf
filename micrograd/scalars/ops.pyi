"""Written by docs/stubs.py."""

from collections.abc import Callable
from typing import Any

from ..engine.rows import Row

TABLE: dict[str, Row]

def op(name: str, forward: Callable, to_a: Callable, to_b: Any = None, word: str = "", doc: str = "") -> Row:
    """Make a row, with one operand or two, and add it to the table. One with a doc is a method of Value."""

def function(name: str, to_a: Callable, to_b: Any = None, doc: str = "") -> Row:
    """A row whose forward function is the one of the same name in the operands' library."""

def zero_rule(_g: Any, _x: Any, like: Any) -> Any:
    """The rule of a piecewise constant function, for its last operand: zeros of the operand's shape."""

add: Row
sub: Row
mul: Row
div: Row
neg: Row
exp: Row
log: Row
sqrt: Row
sin: Row
cos: Row
tanh: Row
sech: Row
sigmoid: Row
abs_: Row
relu: Row
sign: Row
step: Row
gate: Row

def power(n: float) -> Row:
    """The row of a**n, for a plain number n."""

MAKERS: dict[str, Callable[..., Row]]

def setting(maker: Callable[..., Row]) -> Callable[..., Row]:
    """Register a function that makes a unary row from settings, which are plain numbers."""

def zero_rule_in_a(g: Any, like: Any, _b: Any) -> Any:
    """The rule of a piecewise constant function, for the first of two operands: zeros like it."""

def share(g: Any, m: Any) -> Any: ...

floor_divide: Row
pow: Row
maximum: Row
above: Row
equal: Row
remainder: Row
exp2: Row
expm1: Row
log2: Row
log10: Row
log1p: Row
square: Row
reciprocal: Row
tan: Row
arcsin: Row
arccos: Row
arctan: Row
sinh: Row
cosh: Row
arcsinh: Row
arccosh: Row
arctanh: Row
softplus: Row
gelu: Row
hypot: Row
arctan2: Row
logaddexp: Row
minimum: Row
floor: Row
ceil: Row
trunc: Row
round_: Row
copied: Row
PUBLIC: dict[str, Row]

def leaky_relu(slope: float = 0.01) -> Row:
    """a where a is positive, else slope * a. The gradient at 0 is the slope."""

def clip(low: float | None = None, high: float | None = None) -> Row:
    """Clip a to [low, high]. The gradient at the bounds is 1."""
