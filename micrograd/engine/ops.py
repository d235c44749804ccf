"""The derivative table: one row per elementwise op. (`tensor/arrays.py` has the rows of shapes and reductions.)

A row's forward function takes numbers or arrays. Its rules are algebra on `g`, the incoming gradient, and on the values
of the forward pass: (out, a) for a unary row, (a, b) for a binary one. They use only operators and other rows, so that
the same line serves numbers, arrays, nodes (higher derivatives) and symbols.

A parameter that a rule does not use starts with an underscore, and its value is not saved for backward. Nor is the
value of a parameter named `like`, which is used for its shape only.

A rule does not compare in Python: the outcome would be fixed when it is traced, and wrong in higher derivatives. The
rows `step`, `sign`, `above`, `equal` and `gate` do that instead. Rules are written so as not to cancel: `tanh'` is
sech(a)**2, because 1 - out*out loses every digit in the tails.

A row with a `doc`, its last argument, is public: `methods.py` makes it a method of Value and Tensor, and
`tensor/functions.py` makes it a function, which also implements NumPy's ufunc of that name for Tensors.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache, partial
from numbers import Real
from typing import Any

from . import floats
from .rows import Row, passed

TABLE: dict[str, Row] = {}
MAKERS: dict[str, Callable[..., Row]] = {}  # functions that make a row from its settings, which are not differentiated


LIBRARIES: dict[type, Any] = {float: floats, int: floats, bool: floats}  # tensor.node registers the one for arrays


def lib(a: Any, b: Any = 0.0) -> Any:
    """The math library for these operands: `floats` for numbers, `tensor.library` (NumPy) if one is an array."""
    if a.__class__ is float is b.__class__:
        return floats
    library = LIBRARIES.get(a.__class__)
    if library is floats:
        a, library = b, LIBRARIES.get(b.__class__)
    return library or a.__array_namespace__()


def unary(name: str, forward: Callable, to_a: Callable, doc: str = "", word: str = "") -> Row:
    """Make a row with one operand and add it to the table."""
    row = TABLE[word or name.lower()] = Row(name, forward, to_a, word=word, doc=doc)
    return row


def binary(name: str, forward: Callable, to_a: Callable, to_b: Callable, doc: str = "", word: str = "") -> Row:
    """Make a row with two operands and add it to the table."""
    row = TABLE[word or name] = Row(name, forward, to_a, to_b, word, doc=doc)
    return row


def setting(maker: Callable[..., Row]) -> Callable[..., Row]:
    """Register a function that makes a unary row from settings, which are plain numbers."""
    MAKERS[maker.__name__] = maker
    return maker


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


def zero(a: Any) -> Any:
    """Zeros like a: the gradient of a piecewise constant function."""
    return gate(a, -1.0)


def _share(g: Any, m: Any) -> Any:
    return gate(g * m, m)  # 0 where m is 0, even if g is infinite


def _radius(a: Any, b: Any) -> Any:
    r = hypot(a, b)
    return r + (1 - step(r))  # 1 where r is 0, to divide by


def _gelu_arg(a: Any) -> Any:
    return _GELU * (a + 0.044715 * a * a * a)


def _gelu_slope(a: Any) -> Any:
    a = minimum(maximum(a, -40.0), 40.0)  # the slope is 0 or 1 beyond, and a * a could overflow
    s, rest = sigmoid(_gelu_arg(a)), sigmoid(-_gelu_arg(a))
    return s + a * s * rest * _GELU * (1 + 3 * 0.044715 * a * a)


_GELU = 2 * math.sqrt(2 / math.pi)  # (1 + tanh(u)) / 2 is sigmoid(2u), which does not cancel where tanh nears -1
_LN2, _LN10 = math.log(2), math.log(10)


def _checked_setting(x: Any, what: str) -> float:
    if not isinstance(x, Real) or hasattr(x, "_apply"):
        raise TypeError(f"{what} a plain number, found {type(x).__name__} {x!r:.60}")
    return x if isinstance(x, (float, int)) else float(x)


# fmt: off
#                name  forward       to a                             to b
add = binary("+",  operator.add, passed,                          passed,                                   word="add")
sub = binary("-",  operator.sub, passed,                          lambda g, _a, _b: -g,                     word="sub")
mul = binary("*",  operator.mul, lambda g, _a, b: g * b,          lambda g, a, _b: g * a,                   word="mul")
div = binary("/",  _divide,      lambda g, _a, b: g / b,          lambda g, a, b: -g * (a / b) / b,         word="div")
remainder    = binary("%",  lambda a, b: lib(a, b).remainder(a, b),    passed,
                            lambda g, a, b: -g * floor_divide(a, b),                word="remainder")
floor_divide = binary("//", lambda a, b: lib(a, b).floor_divide(a, b), lambda g, a, _b: zero(a),
                            lambda g, _a, b: zero(b),                               word="floor_divide")

# The steps avoid 0 * inf: at a = b = 0 both gradients are 0, and where a = 0 and b > 0 the gradient with respect to b
# is 0. An a whose reciprocal overflows, or a nan, is treated as 0.
pow = binary("**", lambda a, b: lib(a, b).power(a, b), word="pow",
             to_a=lambda g, a, b: g * b * pow(a, (b - 1) * step(equal(0.0 * floor_divide(1.0, abs(a)), 0.0) + abs(b))),
             to_b=lambda g, a, b: g * pow(a, b) * log(a + (1 - step(abs(a) + step(-b)))))

#                   name         forward                       to a
neg      = unary("neg",      operator.neg,                 lambda g, _out, _a: -g)
exp      = unary("exp",      lambda a: lib(a).exp(a),      lambda g, out, _a: g * out,        "e to the power of a")
exp2     = unary("exp2",     lambda a: lib(a).exp2(a),     lambda g, out, _a: g * _LN2 * out, "2 to the power of a")
expm1    = unary("expm1",    lambda a: lib(a).expm1(a),    lambda g, _out, a: g * exp(a),
                 "exp(a) - 1, accurate for small a")
log      = unary("log",      lambda a: lib(a).log(a),      lambda g, _out, a: g / a,
                 "The natural logarithm; -inf at 0, nan below")
log2     = unary("log2",     lambda a: lib(a).log2(a),     lambda g, _out, a: g / _LN2 / a,   "The logarithm to base 2")
log10    = unary("log10",    lambda a: lib(a).log10(a),    lambda g, _out, a: g / _LN10 / a,
                 "The logarithm to base 10")
log1p    = unary("log1p",    lambda a: lib(a).log1p(a),    lambda g, _out, a: g / (1 + a),
                 "log(1 + a), accurate for small a")
sqrt     = unary("sqrt",     lambda a: lib(a).sqrt(a),     lambda g, out, _a: g / (2 * out),
                 "The square root; nan below 0")
square   = unary("square",   lambda a: a * a,              lambda g, _out, a: g * 2 * a,      "a * a")
reciprocal = unary("reciprocal", lambda a: _divide(1.0, a), lambda g, out, _a: -g * out * out, "1 / a")

sin      = unary("sin",      lambda a: lib(a).sin(a),      lambda g, _out, a: g * cos(a),     "The sine, in radians")
cos      = unary("cos",      lambda a: lib(a).cos(a),      lambda g, _out, a: -g * sin(a),    "The cosine, in radians")
tan      = unary("tan",      lambda a: lib(a).tan(a),      lambda g, out, _a: g * (1 + out * out),
                 "The tangent, in radians")
arcsin   = unary("arcsin",   lambda a: lib(a).arcsin(a),   lambda g, _out, a: g / sqrt((1 - a) * (1 + a)),
                 "The inverse sine, in [-pi/2, pi/2]; nan outside [-1, 1]")
arccos   = unary("arccos",   lambda a: lib(a).arccos(a),   lambda g, _out, a: -g / sqrt((1 - a) * (1 + a)),
                 "The inverse cosine, in [0, pi]; nan outside [-1, 1]")
arctan   = unary("arctan",   lambda a: lib(a).arctan(a),   lambda g, _out, a: g / (1 + a * a),
                 "The inverse tangent, in [-pi/2, pi/2]")
sinh     = unary("sinh",     lambda a: lib(a).sinh(a),     lambda g, _out, a: g * cosh(a),    "The hyperbolic sine")
cosh     = unary("cosh",     lambda a: lib(a).cosh(a),     lambda g, _out, a: g * sinh(a),    "The hyperbolic cosine")
sech     = unary("sech",     lambda a: 1.0 / lib(a).cosh(a), lambda g, out, a: -g * out * tanh(a))
tanh     = unary("tanh",     lambda a: lib(a).tanh(a),     lambda g, _out, a: g * sech(a) * sech(a),
                 "The hyperbolic tangent")
arcsinh  = unary("arcsinh",  lambda a: lib(a).arcsinh(a),  lambda g, out, _a: g / cosh(out),
                 "The inverse hyperbolic sine")
arccosh  = unary("arccosh",  lambda a: lib(a).arccosh(a),  lambda g, out, _a: g / sinh(out),
                 "The inverse hyperbolic cosine; nan below 1")
arctanh  = unary("arctanh",  lambda a: lib(a).arctanh(a),  lambda g, _out, a: g / ((1 - a) * (1 + a)),
                 "The inverse hyperbolic tangent; nan outside [-1, 1]")

sigmoid  = unary("sigmoid",  _sigmoid,                     lambda g, out, a: g * out * sigmoid(-a), "1 / (1 + exp(-a))")
softplus = unary("softplus", _softplus,                    lambda g, _out, a: g * sigmoid(a),
                 "log(1 + exp(a)), without overflow")
gelu     = unary("gelu",     lambda a: a * _sigmoid(_gelu_arg(a)), lambda g, _out, a: g * _gelu_slope(a),
                 "The Gaussian error linear unit, tanh approximation (Hendrycks and Gimpel, 2016)")

hypot    = binary("hypot",   lambda a, b: lib(a, b).hypot(a, b),
                  lambda g, a, b: g * (a / _radius(a, b)),             lambda g, a, b: g * (b / _radius(a, b)),
                  "sqrt(a * a + b * b), without overflow; the gradient at 0 is 0")
arctan2  = binary("arctan2", lambda a, b: lib(a, b).arctan2(a, b),
                  lambda g, a, b: g * (b / _radius(a, b)) / _radius(a, b),
                  lambda g, a, b: -g * (a / _radius(a, b)) / _radius(a, b),
                  "The angle of the point (x, y) = (b, a), in [-pi, pi]")
logaddexp = binary("logaddexp", lambda a, b: lib(a, b).logaddexp(a, b),
                  lambda g, a, b: g * sigmoid(a - b),                  lambda g, a, b: g * sigmoid(b - a),
                  "log(exp(a) + exp(b)), without overflow")

# kinks: the gradient of abs and relu at 0 is 0; tied operands share the gradient equally
abs_     = unary("abs",      abs,                              lambda g, _out, a: g * sign(a),
                 "The absolute value; the gradient at 0 is 0")
relu     = unary("ReLU",     lambda a: lib(a).maximum(a, 0.0), lambda g, out, _a: gate(g, out),
                 "max(a, 0); the gradient at 0 is 0")
maximum  = binary("maximum", lambda a, b: lib(a, b).maximum(a, b),
                  lambda g, a, b: _share(g, above(a, b)),      lambda g, a, b: _share(g, above(b, a)),
                  "The larger of the two, which gets the gradient; a tie shares it equally")
minimum  = binary("minimum", lambda a, b: lib(a, b).minimum(a, b),
                  lambda g, a, b: _share(g, above(b, a)),      lambda g, a, b: _share(g, above(a, b)),
                  "The smaller of the two, which gets the gradient; a tie shares it equally")

# piecewise constant: the gradient is 0. The last four (gate is linear in a) replace comparisons in rules
sign     = unary("sign",     lambda a: lib(a).sign(a),         lambda g, _out, a: zero(a), "-1, 0 or 1")
floor    = unary("floor",    lambda a: lib(a).floor(a),        lambda g, _out, a: zero(a),
                 "The greatest integer not above a")
ceil     = unary("ceil",     lambda a: lib(a).ceil(a),         lambda g, _out, a: zero(a),
                 "The smallest integer not below a")
trunc    = unary("trunc",    lambda a: lib(a).trunc(a),        lambda g, _out, a: zero(a),
                 "a rounded towards 0")
round_   = unary("round",    lambda a: lib(a).rint(a),         lambda g, _out, a: zero(a),
                 "The nearest integer; halves round to even")
step     = unary("step",     lambda a: 1.0 - (a <= 0),         lambda g, _out, a: zero(a))  # 1 where a > 0, else 0
above    = binary("above",   lambda a, b: lib(a, b).where(a == b, 0.5, 1.0 - (a < b)),  # 1 where a > b, 1/2 if equal
                  lambda g, a, b: zero(a),                     lambda g, a, b: zero(b))
equal    = binary("equal",   lambda a, b: 1.0 * (a == b),      # 1 where a == b, else 0
                  lambda g, a, b: zero(a),                     lambda g, a, b: zero(b))
gate     = binary("gate",    lambda a, b: lib(a, b).gate(a, b),                         # a where b > 0, else 0
                  lambda g, _a, b: gate(g, b),                 lambda g, a, b: zero(b))
# fmt: on
PUBLIC: dict[str, Row] = {word: row for word, row in TABLE.items() if row.doc}


# ---- rows with a setting


@lru_cache(maxsize=1024, typed=True)
def power(n: float) -> Row:
    """The row of a**n, for a plain number n."""
    forward = lambda a: floats.power(a, n) if a.__class__ is float else a**n  # noqa: E731
    row = partial(Row, f"**{n}", word="pow", settings={"n": n})
    if n == 0:
        return row(forward, lambda g, _out, a: zero(a))
    if n == 0.5:  # sqrt, as in NumPy and PyTorch
        return row(sqrt.forward, sqrt.to_a)
    if n % 1 == 0:  # a float to an integer power is never complex, so the rule may use the operator, which is faster
        return row(forward, lambda g, _out, a: g * n * a ** (n - 1))
    return row(forward, lambda g, _out, a: g * n * power(n - 1)(a))


@setting
def leaky_relu(slope: float = 0.01) -> Row:
    """a where it is positive, else slope * a; the gradient at 0 is the slope.

    Args:
        slope: a plain number.

    Returns:
        The result, of a's shape.

    Raises:
        TypeError: the slope is not a plain number.

    >>> from micrograd import leaky_relu
    >>> leaky_relu(-2.0), leaky_relu(3.0)
    (-0.02, 3.0)
    """
    return _leaky_relu(float(_checked_setting(slope, "the slope of leaky_relu is")))


@lru_cache(maxsize=1024)
def _leaky_relu(slope: float) -> Row:
    return Row(
        "leaky_relu",
        lambda a: lib(a).where(a > 0, a, slope * a),
        lambda g, _out, a: g * (step(a) + slope * (1 - step(a))),
        settings={"slope": slope},
    )


@setting
def clip(low: float | None = None, high: float | None = None) -> Row:
    """Clip a to [low, high]; the gradient at the bounds is 1.

    Args:
        low, high: plain numbers; None for no bound.

    Returns:
        The result, of a's shape.

    Raises:
        TypeError: a bound is not a plain number: `maximum` and `minimum` take nodes and arrays.

    >>> from micrograd import clip
    >>> clip(5.0, 0.0, 1.0)
    1.0
    """
    hint = "maximum and minimum take nodes and arrays; a bound of clip is"
    return _clip(*[bound if bound is None else _checked_setting(bound, hint) for bound in (low, high)])


@lru_cache(maxsize=1024, typed=True)
def _clip(low: float | None, high: float | None) -> Row:
    def rule(g: Any, _out: Any, a: Any) -> Any:
        for bound, sign in ((low, 1), (high, -1)):
            if bound is not None:
                g = g * (1 - step(sign * (bound - a)))
        return g

    return Row("clip", lambda a: lib(a).clip(a, low, high), rule, settings={"low": low, "high": high})
