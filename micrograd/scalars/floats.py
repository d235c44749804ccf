"""The functions of numbers that more rows need, by NumPy's names. The engine finds them beside its own, in `floats`."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import copysign

from ..engine import floats
from ..engine.floats import *  # noqa: F403
from ..engine.floats import Function, divide, ieee, maximum

exp2: Function = ieee(math.exp2, lambda a: math.inf)
expm1: Function = ieee(math.expm1, lambda a: math.inf)
log2: Function = ieee(math.log2, lambda a: -math.inf if a == 0 else math.nan)
log10: Function = ieee(math.log10, lambda a: -math.inf if a == 0 else math.nan)
log1p: Function = ieee(math.log1p, lambda a: -math.inf if a == -1 else math.nan)
tan: Function = ieee(math.tan)
sinh: Function = ieee(math.sinh, lambda a: copysign(math.inf, a))
arcsin: Function = ieee(math.asin)
arccos: Function = ieee(math.acos)
arccosh: Function = ieee(math.acosh)
arctanh: Function = ieee(math.atanh, lambda a: copysign(math.inf, a) if abs(a) == 1 else math.nan)
arctan: Function = math.atan
arcsinh: Function = math.asinh
arctan2: Callable[[float, float], float] = math.atan2
hypot: Callable[[float, float], float] = math.hypot


def floor_divide(a: float, b: float) -> float:
    """a // b; for b = 0, the result of `divide`."""
    return a // b if b else divide(a, b)


def remainder(a: float, b: float) -> float:
    """a % b, with the sign of b; nan for b = 0."""
    return a % b if b else math.nan


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
    """The nearest integer, where halves round to even."""
    return round(a, 0)


def minimum(a: float, b: float) -> float:
    """The smaller; nan if either is nan."""
    return a if a < b or a != a else b


def clip(a: float, low: float | None, high: float | None) -> float:
    """a clipped to [low, high], where None is no bound; nan stays nan."""
    if low is not None and a <= low:
        a = float(low)
    return float(high) if high is not None and a >= high else a


for _name, _function in [*vars().items()]:
    if callable(_function) and not hasattr(floats, _name):
        setattr(floats, _name, _function)
