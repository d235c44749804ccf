"""Words for drawings: labels cleaned and shortened, and what a drawing says to whoever cannot see it."""

import unicodedata

# Direction overrides could reorder the text around them; the other control characters are not allowed in XML.
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str, newline: str = " ") -> str:
    """`text` on one line, without what XML, DOT or a terminal would choke on."""
    text = text.replace("\r\n", "\n")
    return "".join([newline if c == "\n" else " " if c == "\t" else "\ufffd" if _hostile(c) else c for c in text])


def _hostile(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cs") or c in _TURNS or c in "\u2028\u2029\ufffe\uffff"


def shorten(text: str, most: int, dots: str) -> str:
    """At most about `most` columns: the beginning, `dots`, and the end, where names mostly differ."""
    text = clean(text[: most + 1] + text[-most:] if len(text) > 2 * most else text)
    if sum(map(columns, text)) <= most:
        return text
    head, used = "", 0
    for c in text:
        used += columns(c)
        if used > (most - len(dots)) * 2 // 3:
            break
        head += c
    tail, used = "", 0
    for c in reversed(text):
        used += columns(c)
        if used > (most - len(dots)) // 3:
            break
        tail = c + tail
    return head + dots + tail


def columns(c: str) -> int:
    """How wide a character is on a fixed grid: 2 for CJK and emoji, 0 for what joins the one before."""
    if c < "\u0300":
        return 1
    return 0 if unicodedata.combining(c) or c in "\u200d\ufe0f" else 2 if unicodedata.east_asian_width(c) in "WF" else 1


def text_width(text: str, size: float, *, mono: bool = False, bold: bool = False) -> float:
    """About how wide a text is, rather too wide than too narrow."""
    if mono:
        return sum(map(columns, text)) * size * 0.62
    return sum(map(_em, text)) * size * (1.08 if bold else 1.0)


def _em(c: str) -> float:
    """How wide a letter is in a wide sans serif, in units of the font's size."""
    return 0.36 if c in " .,:;|!'()[]ijlIt" else 1.02 if c in "mwMW@%" else 0.74 if c.isupper() else 0.66 * columns(c)


# ------------------------------------------------------------------------------------------------ as pictures write it
SIGNS = {"*": "\u00d7", "-": "\u2212", "neg": "\u2212", "sum": "\u03a3"}


def sign(op: str) -> str:
    """What stands in an op's badge."""
    return SIGNS.get(op) or pretty(shorten(op, 12, "\u2026"))


def pretty(text: str) -> str:
    """Numbers with a real minus sign, signs as they are written by hand, a range with its dash."""
    text = clean(text)
    return text.replace("-", "\u2212").replace("*", "\u00d7").replace("\u00d7\u00d7", "**").replace(" .. ", " \u2026 ")


def coordinate(x: float) -> str:
    """A length in SVG, to a tenth."""
    return f"{x:.1f}".removesuffix(".0")
