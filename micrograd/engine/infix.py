"""Infix text: an op with its operands as one writes it, in brackets where they are needed and nowhere else.

An operand is a pair: its text, and how strongly that holds together. So no text is ever read again to find that out.

>>> a, b, c = map(name, "abc")
>>> written("-", [a, written("-", [b, c])])
('a - (b - c)', 2)
>>> written("**", [written("neg", [a]), number(2.0)])
('(-a)**2', 5)
"""

from collections.abc import Sequence
from typing import NamedTuple

Text = tuple[str, int]

LOOSE, CONDITION, PLUS, TIMES, UNARY, POWER, ATOM = range(7)
BINDS = {"+": PLUS, "-": PLUS} | dict.fromkeys(("*", "/", "@", "//", "%"), TIMES)


class Form(NamedTuple):
    """What stands around the operands of an op, how strong the first and the others must be, and what results."""

    before: str
    between: str
    after: str
    first: int
    rest: int
    strength: int


def form(op: str, count: int, tight: bool = False) -> Form:
    """How an op of so many operands is written; a product without spaces if that is to be `tight`."""
    if op in BINDS and count > 1:
        strength = BINDS[op]
        return Form("", op if tight and strength > PLUS else f" {op} ", "", strength, strength + 1, strength)
    if op == "**" and count == 2:
        return Form("", op, "", ATOM, UNARY, POWER)
    if op.startswith("**") and count == 1:
        return Form("", "", op, ATOM, LOOSE, POWER)
    if op == "neg" and count == 1:
        return Form("-", "", "", POWER, LOOSE, UNARY)
    return Form(f"{op}(", ", ", ")", LOOSE, LOOSE, ATOM)


def written(op: str, operands: Sequence[Text], tight: bool = False) -> Text:
    """The op with its operands."""
    around = form(op, len(operands), tight)
    parts = [within(text, around.rest if i else around.first) for i, text in enumerate(operands)]
    return around.before + around.between.join(parts) + around.after, around.strength


def within(text: Text, strength: int) -> str:
    """The text as an operand that must be of this strength."""
    return text[0] if text[1] >= strength else f"({text[0]})"


def name(text: str) -> Text:
    """A name; one with signs in it reads as an expression, and one of several words holds together less than a word."""
    return text, LOOSE if set(text) & set("+-*/@%") else POWER if " " in text else ATOM


def number(x: float) -> Text:
    """A number: 2.0 is 2, -0.0 is 0, and digits that nobody reads are left out."""
    text = f"{x + 0.0:.6g}"
    return text, UNARY if text.startswith("-") else ATOM
