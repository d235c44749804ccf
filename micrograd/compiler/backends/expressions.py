"""From a Symbol to an expression, which is the source that computes the Symbol from the names of its operands.

    x + 1.0               x + 1.0                     operators, in parentheses where Python needs them
    maximum(x, 0.0)       0.0 if x <= 0.0 else x      or a conditional, where that is faster than a call
    maximum(x @ p, 0.0)   np.maximum(x @ p, 0.0)      for arrays, NumPy's functions too
    add(a, array)         a + k1                      an object without a literal has a name

>>> from ..graph import Graph
>>> graph = Graph()
>>> x, y = graph.input("x"), graph.input("y")
>>> text = Text()
>>> text.of |= {x: ("x", ATOM), y: ("y", ATOM), x + y: ("x + y", 1)}
>>> text.number((x + y) * 2.0)
('(x + y) * 2.0', 2)
>>> a = graph.input("a", (4,), np.dtype(float))
>>> text.of[a] = "a", ATOM
>>> text.array(a.reshape(2, 2))[0], text.array(np.maximum(a, np.arange(4.0)))[0], sorted(text.names)
('a.reshape(2, 2)', 'np.maximum(a, k1)', ['inf', 'k1', 'nan', 'np'])
"""

from __future__ import annotations

import math
from typing import Any

from ..lowered import BY_COLUMNS, SPECIAL, Symbol, bracketed, floats, library, np, sliced

# Operators, with their precedence
SIGNS = {
    "less": ("<", 0), "less_equal": ("<=", 0), "greater": (">", 0), "greater_equal": (">=", 0),
    "equal": ("==", 0), "not_equal": ("!=", 0),
    "add": ("+", 1), "subtract": ("-", 1), "multiply": ("*", 2), "divide": ("/", 2), "matmul": ("@", 2),
}  # fmt: skip
LOOSE, NEGATIVE, ATOM = -1, 3, 5
FAST = vars(floats) | {name: getattr(math, name) for name in ("exp", "log", "log1p", "sqrt", "sin", "cos", "cosh")}
FAST |= {"power": math.pow}
MANY = 2048  # with more elements, `where` takes longer than `gate`, which does not branch


class Text:
    """Expressions for Symbols whose operands have expressions already.

    `of` has the expression of each Symbol, with its precedence. `names` has the objects that expressions refer to.
    `lines` has the statements to run before, and `returned` the Symbols whose memory the program returns. With
    `careful`, divisions follow IEEE 754 instead of raising.
    """

    def __init__(self, careful: bool = False):
        self.careful = careful
        self.of: dict[Symbol, tuple[str, int]] = {}
        self.names: dict[str, Any] = {"np": np, "inf": math.inf, "nan": math.nan}
        self.lines: list[str] = []
        self.returned: set[Symbol] = set()

    def line(self, text: str, comment: str = "") -> tuple[str, int]:
        """Write the expression as a statement, and refer to it by name."""
        name = f"t{len(self.lines) + 1}"
        self.lines.append(f"{name} = {text}{comment}")
        return name, ATOM

    def number(self, symbol: Symbol) -> tuple[str, int]:
        """An operation on numbers, with its precedence."""
        op = symbol.op
        args: Any = [float(x) if isinstance(x, (int, np.number)) else x for x in symbol.args]
        if op in SIGNS and not (self.careful and op == "divide"):
            return self.infix(op, *args)
        if op == "negative":
            return f"-{self.within(args[0], NEGATIVE)}", NEGATIVE
        if op == "where":
            yes, no = self.within(args[1], 0), self.within(args[2], 0)
            return f"{yes} if {self.within(args[0], 0)} else {no}", LOOSE
        if op in ("maximum", "minimum") and args[1].__class__ is float and args[1] == args[1]:
            text, strength = self.of[args[0]]
            if strength != ATOM or "(" in text:
                self.of[args[0]] = self.line(text)  # it appears twice
            a, b = self.of[args[0]][0], self.within(args[1], 0)
            return f"{b} if {a} {'<=' if op == 'maximum' else '>='} {b} else {a}", LOOSE  # NaN propagates
        if op == ".item":
            return f"{self.within(args[0], ATOM)}.item()", ATOM
        name = "abs" if op == "absolute" else op
        return f"{name}({', '.join(map(self.argument, args))})", ATOM

    def infix(self, op: str, a: Any, b: Any) -> tuple[str, int]:
        """An operation that has an operator, with its precedence."""
        sign, strength = SIGNS[op]
        if op == "add" and getattr(a, "op", "") == "negative" and self.within(a, 2)[0] == "-":
            a, b = b, a  # -a + b is b - a
        left = self.within(a, strength or 1)  # Python would chain comparisons
        right = self.within(b, strength + 1)  # a + (b - c) is not a + b - c
        if strength == 1 and right[0] == "-":
            sign, right = "-" if op == "add" else "+", right[1:]  # a + -b is a - b
        return f"{left} {sign} {right}", strength

    def array(self, symbol: Symbol) -> tuple[str, int]:
        """An operation on arrays, with its precedence."""
        op, args = symbol.op, symbol.args
        named = [
            f"{name}={self.argument(x)}" for name, x in symbol.named if op[0] != "." or not (x is None or x is False)
        ]
        if op in SIGNS and (text := self._of_transposed(op, *args)):
            return text, ATOM
        if op in SIGNS:
            return self.infix(op, *args)
        if op == "matmul_like":
            a, b, like = args
            if like.named != BY_COLUMNS:
                return self.infix("matmul", a, b)
            # A returned gradient must not be a view, since it would be copied
            if symbol not in self.returned:
                return f"({self.transposed(b)} @ {self.transposed(a)}).T", ATOM
        if op == "negative":
            return f"-{self.within(args[0], NEGATIVE)}", NEGATIVE
        if op == "getitem":
            return f"{self.within(args[0], ATOM)}[{self.index(args[1])}]", ATOM
        if op == ".transpose" and args[1:] == (tuple(range(args[0].ndim))[::-1],):
            return f"{self.within(args[0], ATOM)}.T", ATOM
        # A condition that has a name is used in other places too
        if op == "where" and _is_gate(symbol) and self.of[args[0]][1] != ATOM:
            self.names["gate"] = library.gate
            return f"gate({self.argument(args[2])}, {self.argument(args[0].args[0])})", ATOM
        if op in SPECIAL:
            self.names[op] = SPECIAL[op]
            return f"{op}({', '.join(map(self.argument, args))})", ATOM
        head, rest = (self.within(args[0], ATOM), args[1:]) if op[0] == "." else ("np.", args)
        if op == ".reshape" and rest[0].__class__ is tuple:
            rest = rest[0] or rest
        return f"{head}{op}({', '.join([*map(self.argument, rest), *named])})", ATOM

    def _of_transposed(self, op: str, a: Any, b: Any) -> str:
        """A number times a new transposed matrix, which is transposed last, so NumPy can write over the matrix."""
        x, other = (b, a) if getattr(b, "op", "") == "matmul_like" else (a, b)
        text = self.of[x][0] if getattr(x, "op", "") == "matmul_like" else ""
        if not text.endswith(").T") or getattr(other, "shape", None) is not None:
            return ""
        self.of[x] = text.removesuffix(".T"), ATOM
        return f"({self.infix(op, a, b)[0]}).T"

    def transposed(self, x: Any) -> str:
        """The expression of a matrix's transpose, as an operand."""
        text = self.within(x, ATOM)
        return text.removesuffix(".T") if text.endswith(".T") else f"{text}.T"

    def within(self, x: Any, strength: int) -> str:
        """The expression of an operand, in parentheses if it binds less tightly than its context."""
        text, own = self.of[x] if x.__class__ is Symbol else (self.argument(x), ATOM)
        return f"({text})" if own < strength or (text[0] == "-" and strength > NEGATIVE) else text

    def argument(self, x: Any) -> str:
        """The expression of an operand as an argument of a call."""
        if x.__class__ is Symbol:
            return self.of[x][0]
        if x.__class__ in (tuple, list):
            return bracketed(x, self.argument)
        if isinstance(x, np.dtype):
            return f"np.{x.name}"
        if x is None or x is ... or x.__class__ in (bool, int, float, str):
            return "..." if x is ... else repr(x)
        if x.__class__ is slice:
            return f"slice({x.start}, {x.stop}, {x.step})"
        for name, target in self.names.items():
            if target is x:
                return name
        name = f"k{sum(name[0] == 'k' for name in self.names) + 1}"
        self.names[name] = x
        return name

    def index(self, index: Any) -> str:
        """An index as text, as it is written between square brackets."""
        if index.__class__ is tuple:
            return ", ".join(map(self.index, index)) or "()"
        if index.__class__ is slice:
            return sliced(index)
        return "..." if index is ... else self.argument(index)


def _is_gate(symbol: Symbol) -> bool:
    """True for a large where(b <= 0, 0.0, a) on floats of one shape, as in the gradient of relu."""
    condition, zero, a = symbol.args
    if symbol.size < MANY or symbol.dtype.kind != "f" or zero.__class__ is not float or str(zero) != "0.0":
        return False
    if a.__class__ is not Symbol or condition.__class__ is not Symbol or condition.op != "less_equal":
        return False
    b, bound = condition.args
    return bound.__class__ in (int, float) and bound == 0 and (b.shape, b.dtype) == (a.shape, a.dtype)
