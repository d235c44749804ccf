"""The rules of the derivative table as text: a row is run on Formulas, which record the operations applied to them.

The rule of `mul` for its first operand is `lambda g, _a, b: g * b`. Run on Formulas it gives "g * b"; run with the
number 1 for g it gives the local derivative, "b". So the text shown comes from the rule that ran, and cannot get out of
date.

Operands appear as the placeholders "{0}" and "{1}", the result as "{out}" and its gradient as "g"; the caller puts
names there.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..scalars.ops import TABLE
from ..scalars.rows import Closure, Row
from .infix import ATOM, CONDITION, PLUS, UNARY, number, within, written


class Recorder:
    """Runs in place of a number or an array, and records what is done; `like`, if any, has its shape and dtype."""

    like: Any

    shape: property = property(lambda self: self.like.shape)
    ndim: property = property(lambda self: self.like.ndim)
    size: property = property(lambda self: self.like.size)
    dtype: property = property(lambda self: self.like.dtype)


def overload(kind: type[Recorder], signs: Mapping[str, str], record: Callable[[str, Any, Any], Any]) -> None:
    """Give the class these operators and their reflections, which return `record(sign, a, b)`."""
    for name, sign in signs.items():
        setattr(kind, f"__{name}__", lambda a, b, sign=sign: record(sign, a, b))
        setattr(kind, f"__r{name}__", lambda b, a, sign=sign: record(sign, a, b))


class Formula(Recorder):
    """Text that supports the operations of a number or an array."""

    def __init__(self, text: str, binds: int = ATOM, like: Any = None):
        self.text = text
        self.binds = binds
        self.like = like

    def __str__(self) -> str:
        return self.text

    def within(self, strength: int) -> str:
        """The text as an operand that needs this precedence, in parentheses if necessary."""
        return within((self.text, self.binds), strength)

    # ---- the array interface that rules use

    T = property(lambda self: Formula(f"{self.within(ATOM)}.T"))

    def swapaxes(self, a: int, b: int) -> "Formula":
        """`.T` for the last two axes, else the call."""
        return self.T if {a, b} == {-1, -2} else self._method("swapaxes", a, b)

    def sum(self, axis: Any = None, keepdims: bool = False) -> "Formula":
        """The text of `sum`, with the arguments that are not defaults."""
        said = [f"axis={axis}"] if axis is not None else []
        return self._method("sum", *said, *(["keepdims=True"] if keepdims else []))

    def reshape(self, *shape: Any) -> "Formula":
        """The text of `reshape`."""
        return self._method("reshape", *shape)

    def astype(self, dtype: Any) -> "Formula":
        """The text of `astype`."""
        return self._method("astype", dtype)

    def _method(self, name: str, *arguments: Any) -> "Formula":
        return Formula(f"{self.within(ATOM)}.{name}({', '.join(map(str, arguments))})")

    def __getitem__(self, index: Any) -> "Formula":
        return Formula(f"{self.within(ATOM)}[...]")

    # ---- rows and operators

    def _apply(self, row: Row, operands: Any) -> Any:
        """A row called inside a rule."""
        a = _formula(operands[0])
        if row.name.startswith("**") and row.to_b is None:
            return a ** float(row.name[2:])
        if row.word in READINGS:
            return READINGS[row.word](*map(_formula, operands))
        text = ", ".join(str(_formula(x)) for x in operands)
        if row.word in SHAPED and a.like is not None:
            like = row.forward(a.like)
            return Formula(f"{SHAPED[row.word]}({text}, {like.shape})", like=like)
        return Formula(f"{row.word.lower()}({text})", like=a.like if row.word in TABLE else None)

    def __neg__(self) -> "Formula":
        return _written("neg", self, like=self.like)

    def __abs__(self) -> "Formula":
        return Formula(f"abs({self})")

    def __pow__(self, n: Any) -> "Formula":
        if _is(n, 1):
            return self
        return _written("**", self, n)

    def __rpow__(self, n: Any) -> "Formula":
        return _written("**", n, self)


def _written(op: str, *operands: Any, like: Any = None) -> Formula:
    """An op applied to Formulas or numbers."""
    return Formula(*written(op, [(x.text, x.binds) for x in map(_formula, operands)]), like)


NEUTRAL = {"+": 0, "-": 0, "*": 1, "/": 1}


def _operator(sign: str, a: Any, b: Any) -> Formula:
    """An operator applied to a and b, one of them a Formula, without what changes nothing: a + 0, 1 * a."""
    unit = NEUTRAL.get(sign)
    if _is(b, unit):
        return a
    if sign in ("+", "*") and _is(a, unit):
        return b
    if sign == "*" and _is(a, -1):
        return -b
    likes = [x.like for x in (a, b) if isinstance(x, Formula) and x.like is not None and sign != "@"]
    return _written(sign, a, b, like=likes[0] if likes else None)


overload(Formula, {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "matmul": "@"}, _operator)


def _is(x: Any, number: float | None) -> bool:
    return isinstance(x, int | float) and x == number


def _formula(x: Any) -> Formula:
    return x if isinstance(x, Formula) else Formula(*number(x)) if isinstance(x, int | float) else Formula(str(x))


NOTHING = Formula("0")


# Rows that replace comparisons in rules, shown as comparisons: conditions with the value 0 or 1.
def _condition(sign: str) -> Callable[..., Formula]:
    return lambda a, b=NOTHING: Formula(f"{a.within(PLUS)} {sign} {b.within(PLUS)}", CONDITION)


def _gate(a: Formula, b: Formula) -> Formula:
    if str(a) == str(b):
        return a  # a condition gated by itself
    if b.binds == UNARY and str(b).startswith("-") and str(b)[1:].isdigit():
        return Formula("0")
    condition = str(b) if b.binds == CONDITION else f"{b.within(PLUS)} > 0"
    return Formula(f"{a.within(PLUS)} if {condition} else 0", CONDITION)


SHAPED = {"reshape": "reshape", "broadcast_to": "broadcast_to", "full": "broadcast_to", "sum_to": "sum_to"}
READINGS: dict[str, Callable[..., Formula]] = {
    "step": _condition(">"),
    "above": _condition(">"),
    "equal": _condition("=="),
    "gate": _gate,
    "getitem": lambda a: a[...],
    "transpose": lambda a: a.T,
}


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
    operands = [Formula(f"{{{i}}}", like=like) for i, like in enumerate(likes)]
    out = Formula("{out}", like=out_like)
    locals_ = _run(row, 1.0, operands, out)
    parts = _run(row, Formula("g", like=out_like), operands, out)
    pairs = zip(locals_, parts, strict=True)
    return [None if part is None else RuleText(local or "", part) for local, part in pairs]


def _run(row: Row, g: Any, operands: list[Formula], out: Formula) -> list[str | None]:
    """The row's rules on Formulas; None for a rule that needs actual numbers."""
    if row.rules:
        used = [out, *operands] if row.of_out else operands
        return [_rule(operand, rule, g, *used) for operand, rule in zip(operands, row.rules, strict=True)]
    try:
        return [None if part is None else str(_formula(part)) for part in row.rule(g, *operands)]  # type: ignore[attr-defined]
    except (TypeError, AttributeError, ValueError, KeyError, IndexError):
        return [None] * len(operands)


def _rule(operand: Formula, rule: Any, *symbols: Any) -> str | None:
    """The text of one rule, with a `sum_to` where the engine undoes broadcasting; None if it needs numbers."""
    try:
        part = _formula(rule(*symbols))
        if part.like is not None and operand.like is not None and part.like.size > operand.like.size:
            return f"sum_to({part}, {operand.like.shape})"
        return str(part)
    except (TypeError, AttributeError, ValueError, KeyError, IndexError):
        return None
