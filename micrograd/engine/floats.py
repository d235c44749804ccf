"""The functions of `math` with IEEE 754 semantics: where Python raises, these return inf, nan or 0.

The names are NumPy's, so that a forward function reads the same for numbers and arrays (`ops.lib`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import copysign, inf, isnan, nan

Function = Callable[[float], float]


def ieee(function: Function, edge: Function = lambda a: nan) -> Function:
    """The function, with `edge` called instead where it raises."""

    def called(a: float) -> float:
        try:
            return function(a)
        except (ValueError, OverflowError):
            return edge(a)

    return called


def _log_edge(a: float) -> float:
    return -inf if a == 0 else nan


def _infinity(a: float) -> float:
    return inf


exp: Function = ieee(math.exp, _infinity)
exp2: Function = ieee(math.exp2, _infinity)
expm1: Function = ieee(math.expm1, _infinity)
cosh: Function = ieee(math.cosh, _infinity)
log: Function = ieee(math.log, _log_edge)
log2: Function = ieee(math.log2, _log_edge)
log10: Function = ieee(math.log10, _log_edge)
log1p: Function = ieee(math.log1p, lambda a: -inf if a == -1 else nan)
sqrt: Function = ieee(math.sqrt)
sin: Function = ieee(math.sin)
cos: Function = ieee(math.cos)
tan: Function = ieee(math.tan)
sinh: Function = ieee(math.sinh, lambda a: copysign(inf, a))
arcsin: Function = ieee(math.asin)
arccos: Function = ieee(math.acos)
arccosh: Function = ieee(math.acosh)
arctanh: Function = ieee(math.atanh, lambda a: copysign(inf, a) if abs(a) == 1 else nan)
tanh: Function = math.tanh
arctan: Function = math.atan
arcsinh: Function = math.asinh
arctan2: Callable[[float, float], float] = math.atan2
hypot: Callable[[float, float], float] = math.hypot


def divide(a: float, b: float) -> float:
    """a / b; 1/0 is inf, 0/0 is nan."""
    try:
        return a / b
    except ZeroDivisionError:
        return nan if a == 0 or isnan(a) else copysign(inf, a) * copysign(1.0, b)


def floor_divide(a: float, b: float) -> float:
    """a // b; for b = 0, the result of `divide`."""
    return a // b if b else divide(a, b)


def remainder(a: float, b: float) -> float:
    """a % b, with the sign of b; nan for b = 0."""
    return a % b if b else nan


def power(a: float, b: float) -> float:
    """a ** b, never complex: (-8) ** 0.5 is nan."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -inf if a < 0 and b % 2 == 1 else inf
    except ValueError:  # 0 to a negative power, or a negative number to a non-integer
        return nan if a != 0 else copysign(inf, a) if b % 2 == 1 else inf


def logaddexp(a: float, b: float) -> float:
    """log(exp(a) + exp(b)), without overflow."""
    return a + math.log(2) if a == b else maximum(a, b) + math.log1p(math.exp(-abs(a - b)))


def floor(a: float) -> float:
    """The greatest integer not above a; inf and nan stay as they are."""
    return a // 1.0 if a - a == 0 else a


def ceil(a: float) -> float:
    """The smallest integer not below a."""
    return -floor(-a)


def trunc(a: float) -> float:
    """a rounded towards 0."""
    return floor(a) if a > 0 else ceil(a)


def rint(a: float) -> float:
    """The nearest integer; halves round to even."""
    return round(a, 0)


def sign(a: float) -> float:
    """-1, 0 or 1; nan stays nan."""
    return 1.0 if a > 0 else -1.0 if a < 0 else a * 0.0


def maximum(a: float, b: float) -> float:
    """The larger; nan if either is nan."""
    return a if a > b or a != a else b


def minimum(a: float, b: float) -> float:
    """The smaller; nan if either is nan."""
    return a if a < b or a != a else b


def clip(a: float, low: float | None, high: float | None) -> float:
    """a clipped to [low, high], where None is no bound; nan stays nan."""
    a = a if low is None else maximum(a, float(low))
    return a if high is None else minimum(a, float(high))


def gate(a: float, b: float) -> float:
    """0 if b <= 0, else a."""
    return 0.0 if b <= 0 else a


def where(condition: bool, a: float, b: float) -> float:
    """a if the condition holds, else b."""
    return a if condition else b
