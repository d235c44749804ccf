"""More rows of the derivative table, and the rows that are made from settings. See `engine/ops.py` on rules.

A row with a `doc` is public: `methods.py` makes it a method of Value and Tensor, and `tensor/functions.py` makes it a
function, which also implements NumPy's ufunc of that name for Tensors.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache
from numbers import Real
from typing import Any

from ..engine.ops import *  # noqa: F403
from ..engine.ops import TABLE, div, exp, function, gate, log, op, sigmoid, sqrt, step, zero_rule
from ..engine.rows import Row, lib, passed
from . import floats as _floats  # which also gives the engine the functions that these rows call

MAKERS: dict[str, Callable[..., Row]] = {}  # functions that make a row from its settings, which are not differentiated


def setting(maker: Callable[..., Row]) -> Callable[..., Row]:
    """Register a function that makes a unary row from settings, which are plain numbers."""
    MAKERS[maker.__name__] = maker
    return maker


def zero_rule_in_a(g: Any, like: Any, _b: Any) -> Any:
    """The rule of a piecewise constant function, for the first of two operands: zeros like it."""
    return zero_rule(g, _b, like)


def _or_one(b: Any, m: Any) -> Any:
    return gate(b, m) + (1 - m)  # b where m is 1; where it is 0, a one without a derivative


def share(g: Any, m: Any) -> Any:
    return gate(g * m, m)  # 0 where m is 0, even if g is infinite


def _softplus(a: Any) -> Any:
    return lib(a).maximum(a, 0.0) + lib(a).log1p(lib(a).exp(0.0 - abs(a)))


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
floor_divide = op("//", lambda a, b: lib(a, b).floor_divide(a, b), zero_rule_in_a, zero_rule, word="floor_divide")

# The steps avoid 0 * inf: at a = b = 0 both gradients are 0, and where a = 0 and b > 0 the gradient with respect to b
# is 0. An a whose reciprocal overflows, or a nan, is treated as 0. At a = 0, b = 1 a constant 1 takes the place of the
# factor b, since with its derivative the two mixed second derivatives would differ there.
pow = op("**", lambda a, b: lib(a, b).power(a, b), word="pow",
         to_a=lambda g, a, b: g * _or_one(b, step(abs(a) + abs(b - 1)))
         * pow(a, (b - 1) * step(equal(0.0 * floor_divide(1.0, abs(a)), 0.0) + abs(b))),
         to_b=lambda g, a, b: g * pow(a, b) * log(a + (1 - step(abs(a) + step(-b)))))
maximum = function("maximum", lambda g, a, b: share(g, above(a, b)), lambda g, a, b: share(g, above(b, a)),
    doc="The larger of the two, which gets the gradient. A tie shares the gradient equally")
above = op("above", lambda a, b: lib(a, b).where(a == b, 0.5, 1.0 - (a < b)), zero_rule_in_a, zero_rule)  # 1/2 if equal
equal = op("equal", lambda a, b: 1.0 * (a == b), zero_rule_in_a, zero_rule)
remainder = op("%", lambda a, b: lib(a, b).remainder(a, b), passed, lambda g, a, b: -g * floor_divide(a, b),
    word="remainder")
exp2 = function("exp2", lambda g, out, _a: g * _LN2 * out, doc="2 to the power of a")
expm1 = function("expm1", lambda g, _out, a: g * exp(a), doc="exp(a) - 1, accurate for small a")
log2 = function("log2", lambda g, _out, a: g / _LN2 / a, doc="The logarithm to base 2")
log10 = function("log10", lambda g, _out, a: g / _LN10 / a, doc="The logarithm to base 10")
log1p = function("log1p", lambda g, _out, a: g / (1 + a), doc="log(1 + a), accurate for small a")
square = op("square", lambda a: a * a, lambda g, _out, a: g * 2 * a, doc="a * a")
reciprocal = op("reciprocal", lambda a: div.forward(1.0, a), lambda g, out, _a: -g * out * out, doc="1 / a")
tan = function("tan", lambda g, out, _a: g * (1 + out * out), doc="The tangent, in radians")
arcsin = function("arcsin", lambda g, _out, a: g / sqrt((1 - a) * (1 + a)),
    doc="The inverse sine, in [-pi/2, pi/2], and nan outside [-1, 1]")
arccos = function("arccos", lambda g, _out, a: -g / sqrt((1 - a) * (1 + a)),
    doc="The inverse cosine, in [0, pi], and nan outside [-1, 1]")
arctan = function("arctan", lambda g, _out, a: g / (1 + a * a), doc="The inverse tangent, in [-pi/2, pi/2]")
sinh = function("sinh", lambda g, _out, a: g * cosh(a), doc="The hyperbolic sine")
cosh = function("cosh", lambda g, _out, a: g * sinh(a), doc="The hyperbolic cosine")
arcsinh = function("arcsinh", lambda g, out, _a: g / cosh(out), doc="The inverse hyperbolic sine")
arccosh = function("arccosh", lambda g, out, _a: g / sinh(out), doc="The inverse hyperbolic cosine, and nan below 1")
arctanh = function("arctanh", lambda g, _out, a: g / ((1 - a) * (1 + a)),
    doc="The inverse hyperbolic tangent, and nan outside [-1, 1]")
softplus = op("softplus", _softplus, lambda g, _out, a: g * sigmoid(a), doc="log(1 + exp(a)), without overflow")
gelu = op("gelu", lambda a: a * sigmoid.forward(_gelu_arg(a)), lambda g, _out, a: g * _gelu_slope(a),
    doc="The Gaussian error linear unit, tanh approximation (Hendrycks and Gimpel, 2016)")
hypot = function("hypot", lambda g, a, b: g * (a / _radius(a, b)), lambda g, a, b: g * (b / _radius(a, b)),
    doc="sqrt(a * a + b * b), without overflow. The gradient at 0 is 0")
arctan2 = function("arctan2",  # the gates make the mixed derivatives at (0, 0) equal
    lambda g, a, b: g * (gate(b, hypot(a, b)) / _radius(a, b)) / _radius(a, b),
    lambda g, a, b: -g * (gate(a, hypot(a, b)) / _radius(a, b)) / _radius(a, b),
    doc="The angle of the point (x, y) = (b, a), in [-pi, pi]")
logaddexp = function("logaddexp", lambda g, a, b: g * sigmoid(a - b), lambda g, a, b: g * sigmoid(b - a),
    doc="log(exp(a) + exp(b)), without overflow")
minimum = function("minimum", lambda g, a, b: share(g, above(b, a)), lambda g, a, b: share(g, above(a, b)),
    doc="The smaller of the two, which gets the gradient. A tie shares the gradient equally")
floor = function("floor", zero_rule, doc="The greatest integer not above a")
ceil = function("ceil", zero_rule, doc="The smallest integer not below a")
trunc = function("trunc", zero_rule, doc="a rounded towards 0")
round_ = op("round", lambda a: lib(a).rint(a), zero_rule, doc="The nearest integer, where halves round to even")
# fmt: on
copied: Row = Row("copy", operator.pos, lambda g, _out, _a: g)
PUBLIC: dict[str, Row] = {word: row for word, row in TABLE.items() if row.doc}


# ---- rows with a setting


@setting
def leaky_relu(slope: float = 0.01) -> Row:
    """a where a is positive, else slope * a. The gradient at 0 is the slope.

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
    if slope.__class__ is not float:
        slope = float(_checked_setting(slope, "the slope of leaky_relu is"))
    return _leaky_relu(slope)


@lru_cache(maxsize=1024)
def _leaky_relu(slope: float) -> Row:
    def forward(a: Any) -> Any:
        if a.__class__ is float:  # the most frequent, and it looks up nothing
            return a if a > 0 else slope * a
        return lib(a).where(a > 0, a, slope * a)

    return Row(
        "leaky_relu",
        forward,
        lambda g, _out, a: g * (step(a) + slope * (1 - step(a))),
        settings={"slope": slope},
    )


@setting
def clip(low: float | None = None, high: float | None = None) -> Row:
    """Clip a to [low, high]. The gradient at the bounds is 1.

    Args:
        low, high: plain numbers, or None for no bound.

    Returns:
        The result, of a's shape.

    Raises:
        TypeError: a bound is not a plain number. (`maximum` and `minimum` take nodes and arrays.)

    >>> from micrograd import clip
    >>> clip(5.0, 0.0, 1.0)
    1.0
    """
    if not (low.__class__ in BOUNDS and high.__class__ in BOUNDS):
        hint = "maximum and minimum take nodes and arrays; a bound of clip is"
        low, high = [bound if bound is None else _checked_setting(bound, hint) for bound in (low, high)]
    return _clip(low, high)


BOUNDS = {float, int, type(None)}  # of clip, as most people write them


@lru_cache(maxsize=1024, typed=True)
def _clip(low: float | None, high: float | None) -> Row:
    def rule(g: Any, _out: Any, a: Any) -> Any:
        for bound, sign in ((low, 1), (high, -1)):
            if bound is not None:
                g = g * (1 - step(sign * (bound - a)))
        return g

    of_number = _floats.clip

    def forward(a: Any) -> Any:
        if a.__class__ is float:
            return of_number(a, low, high)
        if low is None and high is None:  # which NumPy before 2.1 refuses
            return lib(a).minimum(a, a)
        return lib(a).clip(a, low, high)

    return Row("clip", forward, rule, settings={"low": low, "high": high})
