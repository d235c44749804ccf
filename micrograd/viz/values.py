"""Format numbers and arrays for pictures."""

import warnings
from math import log10
from typing import Any


def is_array(data: Any) -> bool:
    return hasattr(data, "shape") and hasattr(data, "dtype") and not isinstance(data, int | float)


def shape_text(array: Any) -> str:
    return f"{tuple(array.shape)} {array.dtype}"


def value_text(data: Any) -> str:
    """A number with four decimals, or with an exponent where four decimals would be useless; a summary of an array.

    >>> [value_text(x) for x in (2, -0.5, 1e-9, 6.02e23, float("nan"), float("-inf"))]
    ['2.0000', '-0.5000', '1.0000e-09', '6.0200e+23', 'nan', '-inf']
    """
    if is_array(data):
        return _array_text(data)
    try:
        x = float(data)
    except (TypeError, ValueError, OverflowError):
        return str(data)
    x = x + 0.0  # shows -0.0 as 0.0
    return f"{x:.4f}" if x == 0 or x != x or 1e-4 <= abs(x) < 1e6 or abs(x) == float("inf") else f"{x:.4e}"


def typeset(x: float) -> str:
    """`value_text`, with a real minus sign."""
    return value_text(x).replace("-", "\u2212")


def hue(x: Any) -> str:
    """The colour class of a number or of its text, by its sign; "" for zero, for nan and for what is not one number.

    >>> hue(2.0), hue("-inf"), hue("nan"), hue("0 .. 9, mean 4.5")
    ('above', 'below', '', '')
    """
    try:
        return "above" if float(x) > 0 else "below" if float(x) < 0 else ""
    except ValueError:
        return ""


def _array_text(array: Any) -> str:
    """The elements of a small array; the range and mean of a large one."""
    if array.size <= 4:
        return _nested(array.tolist())
    with warnings.catch_warnings():  # inf - inf and overflow show up in the drawing; no need to warn
        warnings.simplefilter("ignore")
        try:
            low, high, mean = float(array.min()), float(array.max()), float(array.mean())
        except (TypeError, ValueError, ArithmeticError):
            return "..."
    low, high, mean = (f"{x + 0.0:.4g}" for x in (low, high, mean))  # shows -0.0 as 0.0
    return f"{low} .. {high}, mean {mean}"


def _nested(values: Any) -> str:
    return f"[{', '.join(map(_nested, values))}]" if isinstance(values, list) else value_text(values)


def exact_text(data: Any) -> str:
    if is_array(data):
        return f"{shape_text(data)}: {_array_text(data)}"
    return repr(data) if isinstance(data, int | float) else str(data)


def thickness(g: float) -> float:
    """The width of a line that carried the gradient g, in pixels: 0.8 more for each decade from 1e-4 to 100.

    The scale is absolute, so a gradient that vanishes is a line that becomes thin.

    >>> [round(thickness(g), 1) for g in (0.0, 1e-4, -1.0, 1e9)]
    [1.2, 1.2, 4.4, 6.0]
    """
    decades = log10(abs(g)) if g and g == g else -4.0 if g == 0 else 2.0
    return 1.2 + 0.8 * (min(max(decades, -4.0), 2.0) + 4.0)
