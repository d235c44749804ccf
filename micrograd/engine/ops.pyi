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
