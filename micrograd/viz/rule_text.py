"""The rules of the derivative table as text: the trees of `scalars.recorder`, in infix notation.

Operands appear as the placeholders "{0}" and "{1}", the result as "{out}" and its gradient as "g"; the caller puts
names there.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from ..engine.by_hand import Closure
from ..engine.rows import Row
from .infix import ATOM, CONDITION, PLUS, Text, number, within, written
from .recorder import Term

NO_TEXT = (TypeError, AttributeError, ValueError, KeyError, IndexError)  # of a rule that needs actual numbers
NEUTRAL = {"+": 0, "-": 0, "*": 1, "/": 1}
SHAPED = {"reshape": "reshape", "broadcast_to": "broadcast_to", "full": "broadcast_to", "sum_to": "sum_to"}
COMPARED = {"step": ">", "above": ">", "equal": "=="}  # rows that replace comparisons, with the value 0 or 1


def formula(x: Any) -> Text:
    """The text of a Term, or of a number, and its precedence."""
    if not isinstance(x, Term):
        return number(x) if isinstance(x, int | float) else (str(x), ATOM)
    if not x.operands:
        return "g" if x.op == "g" else f"{{{x.op}}}", ATOM
    if isinstance(x.op, Row):
        return _of_row(x, x.op)
    first = x.operands[0]
    if x.run is not None:
        if x.op == "T" or (x.op == "swapaxes" and {*x.said} == {"-1", "-2"}):
            return f"{within(formula(first), ATOM)}.T", ATOM
        call = x.op if x.op == "[...]" else f".{x.op}({', '.join(x.said)})"
        return within(formula(first), ATOM) + call, ATOM
    if x.op in ("<", "<=", ">", ">=", "=="):
        return _compared(x.op, *map(formula, x.operands))
    return _without_neutral(x) or written(x.op, [formula(operand) for operand in x.operands])


def _without_neutral(x: Term) -> Text | None:
    """The text of an operation that changes nothing, or only the sign: a + 0, 1 * a, a ** 1, -1 * a."""
    if len(x.operands) != 2:
        return None
    (a, b), unit = x.operands, NEUTRAL.get(str(x.op), 1 if x.op == "**" else None)
    if _is(b, unit):
        return formula(a)
    if x.op in ("+", "*") and _is(a, unit):
        return formula(b)
    return written("neg", [formula(b)]) if x.op == "*" and _is(a, -1) else None


def _is(x: Any, number: float | None) -> bool:
    return isinstance(x, int | float) and x == number


def _compared(sign: str, a: Text, b: Text = ("0", ATOM)) -> Text:
    return f"{within(a, PLUS)} {sign} {within(b, PLUS)}", CONDITION


def _of_row(x: Term, row: Row) -> Text:
    """A row that is called inside a rule."""
    first, word = x.operands[0], row.word
    if row.name.startswith("**") and row.to_b is None:
        return formula(first ** float(row.name[2:]))
    if word in ("getitem", "transpose"):
        return formula(first[...] if word == "getitem" else first.T)
    texts = [formula(operand) for operand in x.operands]
    if word in COMPARED:
        return _compared(COMPARED[word], *texts)
    if word == "gate":
        return _gate(*texts)
    inside = ", ".join(text for text, _ in texts)
    return f"{SHAPED[word]}({inside}, {x.shape})" if word in SHAPED else f"{word.lower()}({inside})", ATOM


def _gate(a: Text, b: Text) -> Text:
    """a where b is above zero, else 0."""
    if a[0] == b[0]:
        return a  # a condition gated by itself
    if b[0][:1] == "-" and b[0][1:].isdigit():
        return "0", ATOM
    condition = b if b[1] == CONDITION else _compared(">", b)
    return f"{within(a, PLUS)} if {condition[0]} else 0", CONDITION


# ------------------------------------------------------------------------------------------------ rules as text
class RuleText(NamedTuple):
    """A rule as text: `local`, the derivative with respect to the operand, and `part`, the gradient sent to it."""

    local: str
    part: str


def rule_texts(node: Any) -> list[RuleText | None]:
    """The rule for each operand of an inner node, in order; None where it has no text.

    >>> from micrograd import Value
    >>> rule_texts(Value(2.0) * Value(3.0))
    [RuleText(local='{1}', part='g * {1}'), RuleText(local='{0}', part='g * {0}')]
    >>> rule_texts(Value(2.0).relu())
    [RuleText(local='1 if {out} > 0 else 0', part='g if {out} > 0 else 0')]
    """
    row = node._row
    operands = node._prev
    if not operands or isinstance(row, Closure):
        return [None] * len(operands)
    if node._is_number:
        return list(_scalar_texts(row, len(operands)))
    return list(_texts(row, [n._data for n in operands], node._data))


@lru_cache
def _scalar_texts(row: Row, count: int) -> tuple[RuleText | None, ...]:
    """The texts of a row on numbers, which depend on nothing else, so they are cached."""
    return tuple(_texts(row, [None] * count, None))


def _texts(row: Row, likes: list[Any], out_like: Any) -> list[RuleText | None]:
    operands = [Term(str(i), like=like) for i, like in enumerate(likes)]
    out = Term("out", like=out_like)
    locals_ = _run(row, 1.0, operands, out)
    parts = _run(row, Term("g", like=out_like), operands, out)
    pairs = zip(locals_, parts, strict=True)
    return [None if part is None else RuleText(local or "", part) for local, part in pairs]


def _run(row: Row, g: Any, operands: list[Term], out: Term) -> list[str | None]:
    """The row's rules on Terms; None for a rule that needs actual numbers."""
    if row.rules:
        used = [out, *operands] if row.is_unary else operands
        return [_rule(operand, rule, g, *used) for operand, rule in zip(operands, row.rules, strict=True)]
    try:
        return [None if part is None else formula(part)[0] for part in row.rule(g, *operands)]  # type: ignore[attr-defined]
    except NO_TEXT:
        return [None] * len(operands)


def _rule(operand: Term, rule: Any, *terms: Any) -> str | None:
    """The text of one rule, with a `sum_to` where the engine undoes broadcasting; None if it needs numbers."""
    try:
        part = rule(*terms)
        text = formula(part)[0]
    except NO_TEXT:
        return None
    like = part.like if isinstance(part, Term) and isinstance(terms[0], Term) else None  # of a gradient
    stretched = like is not None and operand.like is not None and like.size > operand.size
    return f"sum_to({text}, {operand.shape})" if stretched else text
