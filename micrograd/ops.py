"""The calculus: one row an op. A derivative is stated here and nowhere else.

A row's forward function takes numbers or arrays. Its rules are plain algebra on `g`, the gradient coming in, and on
what the op saw, (out, a) for a unary row, (a, b) for a binary one; they use operators and other rows of the table, so
that the same line serves numbers, arrays, nodes (which gives derivatives of derivatives) and symbols.

A parameter that a rule does not use begins with an underscore: what it stands for need not be kept for the backward
pass (nor is what is called `like`, which is asked for its shape alone).

A comparison inside a rule would be frozen there, and wrong in higher orders: the rows `step`, `sign`, `above` and
`gate` are for that. Rules that would cancel are written in a form that does not: `tanh'` is 4 s(2a) s(-2a), where
1 - out*out would lose every digit in the tails.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from . import floats
from .rows import Row, passed

TABLE: dict[str, Row] = {}


LIBRARIES: dict[type, Any] = {float: floats, int: floats, bool: floats}  # that of arrays is entered in array_node


def lib(a: Any, b: Any = 0.0) -> Any:
    """The module of functions for these operands: `floats` if they are numbers, NumPy's if one is an array."""
    if a.__class__ is float is b.__class__:
        return floats
    library = LIBRARIES.get(a.__class__)
    if library is floats:
        a, library = b, LIBRARIES.get(b.__class__)
    return library or a.__array_namespace__()


def unary(name: str, forward: Callable, to_a: Callable, word: str = "") -> Row:
    """A row of one operand, entered in the table."""
    row = TABLE[word or name.lower()] = Row(name, forward, to_a, word=word)
    return row


def binary(name: str, forward: Callable, to_a: Callable, to_b: Callable, word: str = "") -> Row:
    """A row of two operands, entered in the table."""
    row = TABLE[word or name] = Row(name, forward, to_a, to_b, word)
    return row


def _sigmoid(a: Any) -> Any:
    e = lib(a).exp(-abs(a))  # never overflows
    return lib(a).where(a >= 0, 1.0, e) / (1.0 + e)


def _softplus(a: Any) -> Any:
    return lib(a).maximum(a, 0.0) + lib(a).log1p(lib(a).exp(-abs(a)))


def _divide(a: Any, b: Any) -> Any:
    try:
        return a / b
    except ZeroDivisionError:
        return floats.divide(a, b)


def _power(a: Any, b: Any) -> Any:
    return floats.power(a, b) if isinstance(a, (float, int)) and isinstance(b, (float, int)) else a**b


def zero(a: Any) -> Any:
    """Nothing, in the kind and shape of a: what flows back from a function made of steps."""
    return gate(a, -1.0)


def _share(g: Any, m: Any) -> Any:
    return gate(g * m, m)  # nothing where m is 0, even if g is infinite


def _gelu_arg(a: Any) -> Any:
    return _GELU * (a + 0.044715 * a * a * a)


def _gelu_slope(a: Any) -> Any:
    s, rest = sigmoid(_gelu_arg(a)), sigmoid(-_gelu_arg(a))
    return s + a * s * rest * _GELU * (1 + 3 * 0.044715 * a * a)


_GELU = 2 * math.sqrt(2 / math.pi)  # (1 + tanh(u)) / 2 is sigmoid(2u), which keeps its digits where tanh nears -1


# fmt: off
#                name  forward       to a                             to b
add = binary("+",  operator.add, passed,                          passed,                                   word="add")
sub = binary("-",  operator.sub, passed,                          lambda g, _a, _b: -g,                     word="sub")
mul = binary("*",  operator.mul, lambda g, _a, b: g * b,          lambda g, a, _b: g * a,                   word="mul")
div = binary("/",  _divide,      lambda g, _a, b: g / b,          lambda g, a, b: -g * (a / b) / b,         word="div")

# 0**0 is 1 whichever moves, and 0**b stays 0 for b > 0: the steps see to it that no 0 * inf turns up there.
pow = binary("**", _power, word="pow",
             to_a=lambda g, a, b: g * b * pow(a, (b - 1) * step(abs(a) + abs(b))),
             to_b=lambda g, a, b: g * pow(a, b) * log(a + (1 - step(abs(a) + step(-b)))))

#                        name        forward                      to a
neg      = unary("neg",      operator.neg,                lambda g, _out, _a: -g)
exp      = unary("exp",      lambda a: lib(a).exp(a),     lambda g, out, _a: g * out)
log      = unary("log",      lambda a: lib(a).log(a),     lambda g, _out, a: g / a)
log1p    = unary("log1p",    lambda a: lib(a).log1p(a),   lambda g, _out, a: g / (1 + a))
sqrt     = unary("sqrt",     lambda a: lib(a).sqrt(a),    lambda g, out, _a: g / (2 * out))
sin      = unary("sin",      lambda a: lib(a).sin(a),     lambda g, _out, a: g * cos(a))
cos      = unary("cos",      lambda a: lib(a).cos(a),     lambda g, _out, a: -g * sin(a))
tanh     = unary("tanh",     lambda a: lib(a).tanh(a),    lambda g, _out, a: g * 4 * sigmoid(2 * a) * sigmoid(-2 * a))
sigmoid  = unary("sigmoid",  _sigmoid,                    lambda g, out, a: g * out * sigmoid(-a))
softplus = unary("softplus", _softplus,                   lambda g, _out, a: g * sigmoid(a))
gelu     = unary("gelu",     lambda a: a * _sigmoid(_gelu_arg(a)), lambda g, _out, a: g * _gelu_slope(a))

# kinks: the gradient of abs and of relu is 0 at 0; a tie of two operands is shared
abs_     = unary("abs",      abs,                              lambda g, _out, a: g * sign(a))
relu     = unary("ReLU",     lambda a: lib(a).maximum(a, 0.0), lambda g, out, _a: gate(g, out))
maximum  = binary("maximum", lambda a, b: lib(a, b).maximum(a, b),
                  lambda g, a, b: _share(g, above(a, b)),      lambda g, a, b: _share(g, above(b, a)))
minimum  = binary("minimum", lambda a, b: lib(a, b).minimum(a, b),
                  lambda g, a, b: _share(g, above(b, a)),      lambda g, a, b: _share(g, above(a, b)))

# what rules use where a comparison would be frozen; their own gradients are 0
sign     = unary("sign",     lambda a: lib(a).sign(a),           lambda g, _out, a: zero(a))
step     = unary("step",     lambda a: 1.0 - (a <= 0),           lambda g, _out, a: zero(a))  # 0 up to 0, then 1
above    = binary("above",   lambda a, b: lib(a, b).where(a == b, 0.5, 1.0 - (a < b)),  # 1 where a > b; 1/2 in a tie
                  lambda g, a, b: zero(a),                       lambda g, a, b: zero(b))
equal    = binary("equal",   lambda a, b: 1.0 * (a == b),        # 1 where they are equal, else 0
                  lambda g, a, b: zero(a),                       lambda g, a, b: zero(b))
gate     = binary("gate",    lambda a, b: lib(a, b).gate(a, b),                         # a where b > 0, else 0
                  lambda g, _a, b: gate(g, b),                   lambda g, a, b: zero(b))


# rows with a setting, which is not differentiated: functions that make the row
@lru_cache(maxsize=1024, typed=True)
def power(n: float) -> Row:
    """The row of a**n for a plain number n."""
    forward = lambda a: floats.power(a, n) if a.__class__ is float else a**n  # noqa: E731
    if n == 0:
        return Row(f"**{n}", forward, lambda g, _out, a: zero(a), word="pow")
    if n % 1 == 0:  # a float to a whole power is never complex: the operator will do, and is faster
        return Row(f"**{n}", forward, lambda g, _out, a: g * n * a ** (n - 1), word="pow")
    return Row(f"**{n}", forward, lambda g, _out, a: g * n * power(n - 1)(a), word="pow")


@lru_cache(maxsize=1024, typed=True)
def leaky_relu(slope: float) -> Row:
    """The row of relu with a slope below 0 (and at 0)."""
    return Row("leaky_relu", lambda a: lib(a).where(a > 0, a, slope * a),
               lambda g, _out, a: g * (step(a) + slope * (1 - step(a))))
# fmt: on
