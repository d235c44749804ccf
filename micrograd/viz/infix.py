"""Infix notation: the text of an op and its operands, with parentheses only where they are needed.

An operand is a pair of its text and its precedence, so text never has to be parsed again.

>>> a, b, c = map(name, "abc")
>>> written("-", [a, written("-", [b, c])])
('a - (b - c)', 2)
>>> written("**", [written("neg", [a]), number(2.0)])
('(-a)**2', 5)
>>> written("[0]", [written("+", [a, b])])
('(a + b)[0]', 6)
"""

from collections.abc import Sequence
from typing import NamedTuple

Text = tuple[str, int]

LOOSE, CONDITION, PLUS, TIMES, UNARY, POWER, ATOM = range(7)
BINDS = {"+": PLUS, "-": PLUS} | dict.fromkeys(("*", "/", "@", "//", "%"), TIMES)


class Form(NamedTuple):
    """The text around an op's operands, the precedence that the first and the rest need, and that of the result."""

    before: str
    between: str
    after: str
    first: int
    rest: int
    strength: int


def form(op: str, count: int, tight: bool = False) -> Form:
    """The form of an op with `count` operands; `tight` writes products without spaces."""
    if op in BINDS and count > 1:
        strength = BINDS[op]
        return Form("", op if tight and strength > PLUS else f" {op} ", "", strength, strength + 1, strength)
    if op == "**" and count == 2:
        return Form("", op, "", ATOM, UNARY, POWER)
    if op.startswith("**") and count == 1:
        return Form("", "", op, ATOM, LOOSE, POWER)
    if op.startswith("[") and count == 1:
        return Form("", "", op, ATOM, LOOSE, ATOM)
    if op == "neg" and count == 1:
        return Form("-", "", "", POWER, LOOSE, UNARY)
    return Form(f"{op}(", ", ", ")", LOOSE, LOOSE, ATOM)


def written(op: str, operands: Sequence[Text], tight: bool = False) -> Text:
    """The text and precedence of an op applied to its operands."""
    around = form(op, len(operands), tight)
    parts = [within(text, around.rest if i else around.first) for i, text in enumerate(operands)]
    return around.before + around.between.join(parts) + around.after, around.strength


def within(text: Text, strength: int) -> str:
    """The text of an operand, in parentheses if its precedence is below `strength`."""
    return text[0] if text[1] >= strength else f"({text[0]})"


def name(text: str) -> Text:
    """A name. A name with operators counts as an expression, and a name with spaces gets parentheses in a power."""
    return text, LOOSE if set(text) & set("+-*/@%") else POWER if " " in text else ATOM


def number(x: float) -> Text:
    """A number to six significant digits: 2.0 is "2", -0.0 is "0"."""
    text = f"{x + 0.0:.6g}"
    return text, UNARY if text.startswith("-") else ATOM
