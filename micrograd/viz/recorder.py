"""A recorder: a row that runs on Terms leaves a tree of what it does to its operands.

The rule of `mul` for its first operand is `lambda g, _a, b: g * b`. Run on Terms it gives the product of the Terms g
and b; run with the number 1 for g it gives b, the local derivative. Printers read these trees: `rule_text.py` as
formulas, and `playing/recompute.py` as data that a page computes again. So what is shown and what is computed there
come from the rule that ran, and cannot get out of date.

>>> a, b = Term("a"), Term("b")
>>> product = a * b
>>> product.op, product.operands == (a, b)
('*', True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from ..engine.ops import zero_rule
from ..engine.rows import Row
from ..scalars import floats
from ..scalars.ops import TABLE
from ..scalars.rows import Many


class Term:
    """What computes a value: an op, and its operands, which are Terms, numbers and arrays.

    `op` is a sign, the name of a function or a row; without operands it is a placeholder, whose shape and dtype are
    those of `like`, None for a number. `run` is the function of the array alone where an op only moves or adds its
    elements, or picks the extreme ones, and `said` are its arguments as text.
    """

    def __init__(self, op: str | Row, *operands: Any, like: Any = None, run: Any = None, said: Sequence[str] = ()):
        self.op = op
        self.operands: tuple[Any, ...] = operands
        self.run = run
        self.said = said
        self._like = like

    @cached_property
    def like(self) -> Any:
        """An array of the shape of this value; None for a number."""
        likes: list[Any] = [x.like if isinstance(x, Term) else x for x in self.operands]
        array = next((x for x in likes if hasattr(x, "shape")), None)
        if array is None:
            return self._like
        xp = array.__array_namespace__()
        if self.run is not None:
            return xp.asarray(self.run(array))
        if isinstance(self.op, Row) and not is_known(self.op):
            return self.op.forward(*likes) if is_linear(self.op) else self.op.forward(*self.operands).like
        if self.op == "@":  # of no elements, which takes no time; unknown with the number 1 in place of a gradient
            a, b = likes
            known = hasattr(a, "ndim") and hasattr(b, "ndim")
            return a[..., :0] @ (b[..., :0, :] if b.ndim > 1 else b[:0]) if known else None
        return xp.broadcast_arrays(*likes)[0]

    # ---- what rules and forward functions do with arrays and numbers

    shape: property = property(lambda self: self.like.shape)
    ndim: property = property(lambda self: self.like.ndim)
    size: property = property(lambda self: self.like.size)
    dtype: property = property(lambda self: self.like.dtype)
    T: property = property(lambda self: Term("T", self, run=lambda a: a.T))

    def __getitem__(self, index: Any) -> Term:
        return Term("[...]", self, run=lambda a: a[index])

    def __array_namespace__(self) -> Library:
        """What `lib` finds for a Term."""
        return Library()

    def __array_ufunc__(self, ufunc: Any, _method: str, *operands: Any, **_: Any) -> Term:
        """`array * term`, or `np.exp(term)`."""
        return Term(UFUNCS.get(ufunc.__name__) or ufunc.__name__, *operands)

    def _apply(self, row: Row, operands: Any) -> Term:
        """A row that is called inside a rule, or by a forward function."""
        return Term(row, *operands)


class Library:
    """The functions that a forward function calls on Terms."""

    def __getattr__(self, name: str) -> Callable[..., Term]:
        if name == "matmul_like":
            return lambda a, b, _like: a @ b
        if not hasattr(floats, name):
            raise AttributeError(f"no function {name} is recorded")
        return lambda *operands: Term(name, *operands)


def is_known(row: Row) -> bool:
    """True for a row of the table, which is elementwise."""
    return TABLE.get(row.word) is row


def is_linear(row: Row) -> bool:
    """True if the row is linear in its operands: its rules use no values, and are not those of a constant."""
    if zero_rule in row.rules:
        return False
    if isinstance(row, Many) and not row.rules:
        return not row.reads_values
    names = [name for rule in row.rules for name in rule.__code__.co_varnames[1 : rule.__code__.co_argcount]]
    return bool(names) and all(name[0] == "_" or name == "like" for name in names)  # see `ops`


def _extreme(name: str) -> Callable[..., Term]:
    def call(self: Term, axis: Any = None, keepdims: bool = False) -> Term:
        found = Term(name, self, run=lambda a: getattr(a, name)(axis=axis, keepdims=True), said=[f"axis={axis}"])
        return found if keepdims else _method("reshape")(found, getattr(self.like, name)(axis=axis).shape)

    return call


def _method(name: str) -> Callable[..., Term]:
    def call(self: Term, *args: Any, **named: Any) -> Term:
        said = [*map(str, args), *(f"{key}={x}" for key, x in named.items() if x is not None and x is not False)]
        return Term(name, self, run=lambda a: getattr(a, name)(*args, **named), said=said)

    return call


UFUNCS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "matmul": "@"}  # the rest by their names
SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "matmul": "@"}
for _name, _sign in SIGNS.items():
    setattr(Term, f"__{_name}__", lambda a, b, sign=_sign: Term(sign, a, b))
    setattr(Term, f"__r{_name}__", lambda b, a, sign=_sign: Term(sign, a, b))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=="}.items():
    setattr(Term, f"__{_name}__", lambda a, b, sign=_sign: Term(sign, a, b))
for _name in ("neg", "abs"):
    setattr(Term, f"__{_name}__", lambda a, name=_name: Term(name, a))
for _name in ("sum", "mean", "reshape", "transpose", "swapaxes", "astype", "cumsum"):
    setattr(Term, _name, _method(_name))
for _name in ("max", "min"):
    setattr(Term, _name, _extreme(_name))
