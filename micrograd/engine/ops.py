"""The derivative table: one row for each op. (`scalars/ops.py` has more; `tensor/arrays.py` has those of shapes.)

A row's forward function takes numbers or arrays. Its rules are algebra on `g`, the incoming gradient, and on the values
of the forward pass: (out, a) for a unary row, (a, b) for a binary one. They use only operators and other rows, so that
the same line serves numbers, arrays, nodes (higher derivatives) and symbols.

A parameter that a rule does not use starts with an underscore. Call a parameter `like` if only its shape is used. The
names matter: a Tensor's node inspects them, and saves only the arrays that some rule needs.

A rule does not compare in Python: the outcome would be fixed when it is traced, and wrong in higher derivatives. The
rows `step`, `sign` and `gate` do that instead. Rules are written so as not to cancel: `tanh'` is
sech(a)**2, because 1 - out*out loses every digit in the tails.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from . import floats
from .rows import Row, lib, passed, times_a, times_b

TABLE: dict[str, Row] = {}


def op(name: str, forward: Callable, to_a: Callable, to_b: Any = None, word: str = "", doc: str = "") -> Row:
    """Make a row, with one operand or two, and add it to the table. One with a doc is a method of Value."""
    row = TABLE[word or name.lower()] = Row(name, forward, to_a, to_b, word, doc=doc)
    return row


def function(name: str, to_a: Callable, to_b: Any = None, doc: str = "") -> Row:
    """A row whose forward function is the one of the same name in the operands' library."""
    of_floats = getattr(floats, name)  # floats are the most frequent operands, so nothing is looked up for them

    def of_one(a: Any) -> Any:
        if a.__class__ is float:
            return of_floats(a)
        return getattr(lib(a), name)(a)

    def of_two(a: Any, b: Any) -> Any:
        if a.__class__ is b.__class__ is float:
            return of_floats(a, b)
        return getattr(lib(a, b), name)(a, b)

    return op(name, of_two if to_b else of_one, to_a, to_b, doc=doc)


def zero_rule(_g: Any, _x: Any, like: Any) -> Any:
    """The rule of a piecewise constant function, for its last operand: zeros of the operand's shape."""
    return gate(like, -1.0)  # which is 0 wherever its second operand is not positive


def _sigmoid(a: Any) -> Any:
    e = lib(a).exp(0.0 - abs(a))  # never overflows, and of unsigned integers too is negative
    return lib(a).where(a >= 0, 1.0, e) / (1.0 + e)


# fmt: off
#        name forward        to a                             to b
add = op("+", operator.add,  passed,                          passed,                              word="add")
sub = op("-", operator.sub,  passed,                          lambda g, _a, _b: -g,                word="sub")
mul = op("*", operator.mul,  times_b,                         times_a,                             word="mul")
div = op("/", floats.divide, lambda g, _a, b: g / b,          lambda g, a, b: -g * (a / b) / b,    word="div")
neg = op("neg", operator.neg, lambda g, _out, _a: -g)

exp     = function("exp",  lambda g, out, _a: g * out,               doc="e to the power of a")
log     = function("log",  lambda g, _out, a: g / a,                 doc="The natural logarithm, and -inf at 0")
sqrt    = function("sqrt", lambda g, out, _a: g / (2 * out),         doc="The square root, and nan below 0")
sin     = function("sin",  lambda g, _out, a: g * cos(a),            doc="The sine, in radians")
cos     = function("cos",  lambda g, _out, a: -g * sin(a),           doc="The cosine, in radians")
tanh    = function("tanh", lambda g, _out, a: g * sech(a) * sech(a), doc="The hyperbolic tangent")
sech    = op("sech", lambda a: 1.0 / lib(a).cosh(a), lambda g, out, a: -g * out * tanh(a))
sigmoid = op("sigmoid", _sigmoid, lambda g, out, a: g * out * sigmoid(-a), doc="1 / (1 + exp(-a))")

# kinks
abs_    = op("abs", abs, lambda g, _out, a: g * sign(a), doc="The absolute value. The gradient at 0 is 0")
relu    = op("ReLU", lambda a: lib(a).maximum(a, 0.0), lambda g, out, _a: gate(g, out),
             doc="max(a, 0). The gradient at 0 is 0")

# Rules use these instead of comparisons. `sign` and `step` are piecewise constant, so their derivative is zero; `gate`
# is linear in a
sign    = function("sign", zero_rule, doc="-1, 0 or 1")
step    = op("step", lambda a: 1.0 - (a <= 0), zero_rule)  # 1 where a > 0, else 0
gate    = function("gate", lambda g, _a, b: gate(g, b), zero_rule)  # a where b > 0, else 0
# fmt: on


@lru_cache(maxsize=1024, typed=True)
def power(n: float) -> Row:
    """The row of a**n, for a plain number n."""
    is_integer = n % 1 == 0

    def forward(a: Any) -> Any:
        return floats.power(a, n) if a.__class__ is float else a**n

    def rule(g: Any, _out: Any, a: Any) -> Any:
        # A float to an integer power is never complex, so the rule may use the operator, which is faster
        slope = a ** (n - 1) if is_integer else power(n - 1)(a)
        return g * n * slope

    if n == 0.5:  # the square root, as in NumPy and PyTorch
        forward, rule = sqrt.forward, sqrt.to_a
    # a**0 is 1 everywhere
    return Row(f"**{n}", forward, rule if n else zero_rule, word="pow", settings={"n": n})
