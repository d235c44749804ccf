"""`math`, but as IEEE 754 has it: where Python raises, these give inf, nan or 0.

The names are NumPy's, so that a forward function reads the same for numbers and for arrays (`ops.lib`).
"""

from __future__ import annotations

import math
from math import copysign, inf, isnan, nan


def divide(a: float, b: float) -> float:
    """a / b; 1/0 is inf, 0/0 is nan."""
    try:
        return a / b
    except ZeroDivisionError:
        return nan if a == 0 or isnan(a) else copysign(inf, a) * copysign(1.0, b)


def power(a: float, b: float) -> float:
    """a ** b; never complex: (-8) ** 0.5 is nan."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -inf if a < 0 and b % 2 == 1 else inf
    except ValueError:  # zero to a negative power, or a negative number to a fraction
        return nan if a != 0 else copysign(inf, a) if b % 2 == 1 else inf


def exp(a: float) -> float:
    """e to the power of a."""
    try:
        return math.exp(a)
    except OverflowError:
        return inf


def log(a: float) -> float:
    """The natural logarithm; of 0 it is -inf, of a negative number nan."""
    try:
        return math.log(a)
    except ValueError:
        return -inf if a == 0 else nan


def log1p(a: float) -> float:
    """log(1 + a), exact for small a."""
    try:
        return math.log1p(a)
    except ValueError:
        return -inf if a == -1 else nan


def sqrt(a: float) -> float:
    """The square root; of a negative number it is nan."""
    return math.sqrt(a) if a >= 0 else a if a == 0 else nan


def sin(a: float) -> float:
    """The sine of a, in radians; of an infinity it is nan."""
    return nan if a in (inf, -inf) else math.sin(a)


def cos(a: float) -> float:
    """The cosine of a, in radians; of an infinity it is nan."""
    return nan if a in (inf, -inf) else math.cos(a)


tanh = math.tanh


def sign(a: float) -> float:
    """-1, 0 or 1; nan stays nan."""
    return 1.0 if a > 0 else -1.0 if a < 0 else a * 0.0


def maximum(a: float, b: float) -> float:
    """The greater; nan if either is nan."""
    return a if a > b or a != a else b


def minimum(a: float, b: float) -> float:
    """The smaller; nan if either is nan."""
    return a if a < b or a != a else b


def gate(a: float, b: float) -> float:
    """0 where b is 0 or less, else a."""
    return 0.0 if b <= 0 else a


def where(condition: bool, a: float, b: float) -> float:
    """a where the condition holds, else b."""
    return a if condition else b
