"""Text for drawings: clean and short labels, estimates of their widths, and the usual signs of ops."""

import re
import unicodedata
from itertools import accumulate

# Direction overrides could reorder the surrounding text; the other control characters are not allowed in XML.
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str, newline: str = " ") -> str:
    """`text` on one line, without the characters that are invalid or unsafe in XML, DOT or a terminal."""
    text = text.replace("\r\n", "\n")
    return "".join([newline if c == "\n" else " " if c == "\t" else "\ufffd" if _hostile(c) else c for c in text])


def _hostile(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cs") or c in _TURNS or c in "\u2028\u2029\ufffe\uffff"


def shorten(text: str, most: int, dots: str) -> str:
    """A text of about `most` columns: the beginning, `dots`, and the end, in which names usually differ."""
    text = clean(text[: most + 1] + text[-most:] if len(text) > 2 * most else text)
    if sum(map(columns, text)) <= most:
        return text
    room = most - len(dots)
    return _beginning(text, room * 2 // 3) + dots + _beginning(text[::-1], room // 3)[::-1]


def _beginning(text: str, most: int) -> str:
    """The first characters, as many as fit into `most` columns."""
    used = accumulate(map(columns, text))
    return "".join([c for c, so_far in zip(text, used, strict=True) if so_far <= most])


def columns(c: str) -> int:
    """The width of a character in a monospaced font: 2 for CJK and emoji, 0 for combining characters, else 1."""
    if c < "\u0300":
        return 1
    return 0 if unicodedata.combining(c) or c in "\u200d\ufe0f" else 2 if unicodedata.east_asian_width(c) in "WF" else 1


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The estimated width of a text, in the unit of `size`. The estimate errs on the wide side."""
    return sum(map(_em, text)) * size * (1.08 if bold else 1.0)


def _em(c: str) -> float:
    """The width of a character in a wide sans-serif font, in em."""
    return 0.36 if c in " .,:;|!'()[]ijlIt" else 1.02 if c in "mwMW@%" else 0.74 if c.isupper() else 0.66 * columns(c)


# ------------------------------------------------------------------------------------------------ typographic signs
SIGNS = {"*": "\u00d7", "-": "\u2212", "neg": "\u2212", "sum": "\u03a3"}
RAISED = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def badge_text(op: str) -> str:
    """The text of an op's badge."""
    return SIGNS.get(op) or pretty(("x" if op.startswith("**") else "") + shorten(op, 12, "\u2026"))


def pretty(text: str) -> str:
    """A text with typographic signs in place of ASCII: minus, multiplication sign, whole powers, ellipsis.

    >>> pretty("3 * b**2 - b**-1 + b**0.5")
    '3 × b² − b⁻¹ + b**0.5'
    """
    text = re.sub(r"\*\*(-?\d+)(?![\d.e])", lambda power: power[1].translate(RAISED), clean(text))
    return (
        text.replace("-", "\u2212")
        .replace("*", "\u00d7")
        .replace("\u00d7\u00d7", "**")
        .replace(" .. ", " \u2026 ")
        .replace("...", "\u2026")
    )


def coordinate(x: float) -> str:
    """A length as SVG text, rounded to a tenth."""
    return f"{x:.1f}".removesuffix(".0")
