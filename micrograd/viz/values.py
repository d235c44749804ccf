"""Numbers and arrays as text, and the widths of lines, for all pictures. Pages have the same tables, by numbers.js."""

import warnings
from math import log10
from typing import Any

# The formats of a number. From this magnitude on, a number has so many digits after the point and, with True, a power
# of ten. Each format keeps two significant digits, so only 0 is read as 0. A 0 is written like a 1.
FORMATS: dict[str, list[tuple[float, int, bool]]] = {
    "full": [(1e6, 4, True), (1e-3, 4, False), (0.0, 4, True)],
    "fine": [(1e6, 6, True), (1e-5, 6, False), (0.0, 4, True)],
    "short": [(1e6, 1, True), (1e4, 0, False), (0.1, 2, False), (0.01, 3, False), (1e-3, 4, False), (0.0, 1, True)],
}
# The width of a line in pixels, by the gradient that it carries. The width is `least` at 10**`from` and below, and it
# grows by `decade` for each power of ten up to 10**`to`. The scale is absolute, so the line of a vanishing gradient is
# thin. A line with numbers of both signs has two strands, unless one sign has less than `seen` of the other's length.
WIDTHS: dict[str, float] = {"least": 1.0, "decade": 1.5, "from": -2, "to": 2, "seen": 1e-3}


def is_array(data: Any) -> bool:
    return hasattr(data, "shape") and hasattr(data, "dtype") and not isinstance(data, int | float)


def is_plural(data: Any) -> bool:
    """True for an array of more than one number."""
    return hasattr(data, "__array_namespace__") and data.size > 1 and data.dtype.kind in "fiub"


def shape_text(array: Any) -> str:
    return f"{tuple(array.shape)} {array.dtype}"


def value_text(data: Any, format: str = "full") -> str:
    """The text of a number in one of the `FORMATS`, or a summary of an array.

    >>> [value_text(x) for x in (2, -0.5, 1e-9, 6.02e23, float("nan"), float("-inf"))]
    ['2.0000', '-0.5000', '1.0000e-9', '6.0200e23', 'nan', '-inf']
    """
    if is_array(data):
        return _array_text(data)
    try:
        x = float(data)
    except (TypeError, ValueError, OverflowError):
        return str(data)
    if x - x != 0:
        return str(x)
    digits, power = next(row for least, *row in FORMATS[format] if abs(x or 1.0) >= least)
    mantissa, _, exponent = f"{x + 0.0:.{digits}{'e' if power else 'f'}}".partition("e")  # shows -0.0 as 0.0
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def typeset(x: float, format: str = "full") -> str:
    """`value_text`, with a real minus sign."""
    return value_text(x, format).replace("-", "\u2212")


def short(x: float) -> str:
    """A number for a line or a small card.

    >>> [short(x) for x in (-0.5, 0.0, 0.0066, 123456.0)]
    ['−0.50', '0.00', '0.0066', '123456']
    """
    return typeset(x, "short")


def hue(x: Any) -> str:
    """The colour class of a number or of its text, by the sign; "" for zero, for nan and for any other text.

    >>> hue(2.0), hue("-inf"), hue("nan"), hue("0 .. 9, mean 4.5")
    ('above', 'below', '', '')
    """
    try:
        return "above" if float(x) > 0 else "below" if float(x) < 0 else ""
    except ValueError:
        return ""


def _array_text(array: Any, format: str = "short") -> str:
    """The elements of a small array, or the range and mean of a large array."""
    if array.size <= 4:
        return _nested(array.tolist())
    with warnings.catch_warnings():  # the text itself shows the nan of inf - inf, and an overflow
        warnings.simplefilter("ignore")
        try:
            low, high, mean = [value_text(float(x), format) for x in (array.min(), array.max(), array.mean())]
        except (TypeError, ValueError, ArithmeticError):
            return "..."
    return f"{low} .. {high}, mean {mean}"


def _nested(values: Any) -> str:
    return f"[{', '.join(map(_nested, values))}]" if isinstance(values, list) else value_text(values)


def exact_text(data: Any) -> str:
    if is_array(data):
        return f"{shape_text(data)}: {_array_text(data, 'full')}"
    return repr(data) if isinstance(data, int | float) else str(data)


def thickness(g: float) -> float:
    """The width in pixels of a line that carried the gradient g, by the table `WIDTHS`.

    >>> [round(thickness(g), 1) for g in (0.0, 1e-9, -1.0, 1e9)]
    [1.0, 1.0, 4.0, 7.0]
    """
    low, high = WIDTHS["from"], WIDTHS["to"]
    decades = log10(abs(g)) if g and g == g else low if g == 0 else high
    return WIDTHS["least"] + WIDTHS["decade"] * (min(max(decades, low), high) - low)
