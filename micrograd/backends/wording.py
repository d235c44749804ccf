"""What operations are called in C and in JavaScript: their text, the functions of our own, numbers and types.

>>> C().form("maximum", [np.dtype(int)]), C().form("tanh", [np.dtype(float)])
('{0} > {1} ? {0} : {1}', 'tanh({})')
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..compiler.lowered import BY_COLUMNS, Symbol

DOUBLE, BOOL, INT = np.dtype(float), np.dtype(bool), np.dtype(np.int64)
SIGNS = {
    "add": "{} + {}", "subtract": "{} - {}", "multiply": "{} * {}", "divide": "{} / {}", "negative": "-{}",
    "less": "{} < {}", "less_equal": "{} <= {}", "greater": "{} > {}", "greater_equal": "{} >= {}",
    "equal": "{} == {}", "not_equal": "{} != {}", "where": "{} ? {} : {}",
    "logical_and": "{} != 0 && {} != 0", "logical_or": "{} != 0 || {} != 0", "logical_not": "{} == 0",
}  # fmt: skip
OF_BOOLS: dict[str, str] = dict.fromkeys(("add", "maximum"), SIGNS["logical_or"])
OF_BOOLS |= dict.fromkeys(("multiply", "minimum"), SIGNS["logical_and"]) | {"absolute": "{}"}
OF_INTS = {"absolute": "{0} < 0 ? -{0} : {0}", "sign": "({0} > 0) - ({0} < 0)", "power": "integer_power({}, {})"}
OF_INTS |= {"maximum": "{0} > {1} ? {0} : {1}", "minimum": "{0} < {1} ? {0} : {1}"}
OF_INTS |= {"remainder": "integer_remainder({}, {})", "floor_divide": "integer_quotient({}, {})"}
OF_INTS |= dict.fromkeys(("floor", "ceil", "trunc", "rint"), "{}")
UNSIGNED = OF_INTS | {"remainder": "unsigned_remainder({}, {})", "floor_divide": "unsigned_quotient({}, {})"}
OF_KINDS = {"b": OF_BOOLS, "i": OF_INTS, "u": UNSIGNED}
# Of a signed and an unsigned integer, which C would compare as unsigned ones: the word for the turned comparison, and
# what a negative number is.
TURNED = {"less": ("greater", True), "less_equal": ("greater_equal", True), "not_equal": ("not_equal", True)}
TURNED |= {"greater": ("less", False), "greater_equal": ("less_equal", False), "equal": ("equal", False)}
# In math.h; others have NumPy's name, or asin's.
FUNCTIONS = {"power": "pow", "absolute": "fabs", "arctan2": "atan2", "remainder": "modulo"}
FUNCTIONS |= {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
BINARY = {"power", "hypot", "arctan2", "maximum", "minimum", "remainder", "floor_divide", "logaddexp"}
# Functions of our own, of floats or `integer_` ones, each after those that it calls: parameters, and what they return.
OWN = {
    "maximum": ("a b", "a > b || a != a ? a : b"),
    "minimum": ("a b", "a < b || a != a ? a : b"),
    "sign": ("a", "a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a * 0.0"),
    "signed_as": ("m b", "m != 0.0 ? (b < 0.0) != (m < 0.0) ? m + b : m : b < 0.0 ? -0.0 : 0.0"),
    "modulo": ("a b", "signed_as(fmod(a, b), b)"),
    "nearest": ("q r", "q != 0.0 ? floor(q) + (q - floor(q) > 0.5 ? 1.0 : 0.0) : 0.0 * r"),
    "quotient": ("a b m", "nearest((a - m) / b - (m != 0.0 && (b < 0.0) != (m < 0.0) ? 1.0 : 0.0), a / b)"),
    "floor_divide": ("a b", "b == 0.0 ? a / b : quotient(a, b, fmod(a, b))"),
    "above": ("a d", "d != d ? d : a + log1p(exp(-d))"),
    "logaddexp": ("a b", "a == b ? a + log(2.0) : a > b ? above(a, a - b) : above(b, b - a)"),
    "integer_remainder": (
        "a b",
        "b == 0 || b == -1 ? 0 : a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b",
    ),
    "integer_quotient": (
        "a b",
        "b == 0 ? 0 : b == -1 ? -a : (a - a % b) / b - (a % b != 0 && (a % b < 0) != (b < 0))",
    ),
    "unsigned_remainder": ("a b", "b == 0 ? 0 : a % b"),
    "unsigned_quotient": ("a b", "b == 0 ? 0 : (a - a % b) / b"),
    "integer_power": ("a b", "b < 1 ? 1 : (b % 2 != 0 ? a : 1) * integer_power(a * a, (b - b % 2) / 2)"),
}
CALLED = re.compile(r"\b(\w++)\(")


def kind_of(x: Any) -> Any:
    """The dtype of an operand, or the type of a number."""
    if x.__class__ is Symbol and x.dtype is None:
        return float
    return getattr(x, "dtype", BOOL if x.__class__ is bool else x.__class__)


@lru_cache(maxsize=4096)
def loop_types(op: str, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """The dtypes that NumPy computes in: those of the operands, then that of the result."""
    if op == "where":
        like = [np.ones((), kind) if isinstance(kind, np.dtype) else kind(1) for kind in kinds[1:]]
        return BOOL, *[np.result_type(*like)] * 3
    if all(kind is float or kind is int for kind in kinds):
        kinds = (DOUBLE,) * len(kinds)
    return getattr(np, op).resolve_dtypes((*kinds, None))


def limits_of(dtype: Any) -> tuple[Any, Any]:
    """The smallest and the largest number of this dtype."""
    if dtype.kind == "f":
        return -math.inf, math.inf
    return (0, 1) if dtype == BOOL else (np.iinfo(dtype).min, np.iinfo(dtype).max)


@lru_cache
def name_of(dtype: Any) -> str:
    """Its name, which NumPy takes long to find."""
    return dtype.name


class C:
    """How C says it."""

    loop = "for (int {0} = 0; {0} < {1}; {0}++)"
    constant = "const {type} {name} = {text};"
    variable = "{type} {name} = {text};"
    array = "static {type} {name}[{size}];"
    filled = "for (int i = 0; i < {size}; i++) {name}[i] = {text};"
    function = "static inline {type} {name}({parameters}) {{ return {result}; }}"
    stop: tuple[str, ...] = ("if (fault) return failed(at);",)  # what follows when an index was wrong
    typed = True  # True if a parameter has a type
    single = "f"  # the end of a float32
    stops = False  # True if an integer of 64 bits may be one that it cannot hold, and it stops there
    own: dict[str, tuple[str, str]] = OWN

    def order(self, x: Symbol) -> Any:
        """The order of an input's elements in memory, as NumPy names it."""
        return "F" if x.named == BY_COLUMNS else "C"

    def type(self, dtype: Any) -> str:
        name = name_of(dtype)
        return {"float64": "double", "float32": "float", "bool": "bool"}.get(name, f"{name}_t")

    def of(self, array: Any) -> dict[str, Any]:
        """What is said of an array, or of a variable."""
        return {"name": array.name, "type": self.type(array.dtype), "size": max(array.origin.size, 1)}

    def form(self, op: str, kinds: Sequence[Any]) -> str:
        """The text of an operation on these dtypes, with a place for each operand."""
        first, *others = [dtype.kind for dtype in kinds]
        if (first, *others) == ("u", "i"):
            return self.form(TURNED[op][0], kinds[::-1]).format("{1}", "{0}")
        if (first, *others) == ("i", "u"):
            sign = SIGNS[op].format("(uint64_t){0}", "{1}")
            return f"{{0}} < 0 || {sign}" if TURNED[op][1] else f"{{0}} >= 0 && {sign}"
        if form := OF_KINDS.get(first, {}).get(op) or SIGNS.get(op):
            return form
        return f"{FUNCTIONS.get(op, op)}({'{}, {}' if op in BINARY else '{}'})"

    def product(self, dtype: Any, n: int) -> str:
        """The text of a product of n operands."""
        return " * ".join(["{}"] * n)

    def added(self, place: str, text: str, dtype: Any) -> str:
        """A statement that adds to an element."""
        return f"{place} += {text};"

    def cast(self, text: str, dtype: Any) -> str:
        return f"({self.type(dtype)}){text}"

    def rounded(self, text: str, dtype: Any) -> str:
        """A result as its dtype, which an assignment does in C."""
        return text

    def sorted(self, dtype: Any, n: int, merged: str, order: str, keys: str) -> str:
        """A statement that finds the order of n keys, given the first element of each array."""
        return f"order_of_{self.type(dtype)}({n}, {merged}, &{order}, &{keys});"

    def number(self, x: Any, dtype: Any) -> str:
        """A number as text."""
        if dtype.kind == "f":
            x = float(x)
            if dtype == np.float32 and math.isfinite(x):
                return f"{float(np.float32(x))!r}{self.single}"
            return repr(x) if math.isfinite(x) else "NAN" if x != x else "INFINITY" if x > 0 else "-INFINITY"
        if x == -(2**63):  # whose digits alone are too large
            return f"{int(x) + 1}LL - 1"
        return f"{int(x)}{'' if abs(int(x)) < 2**31 else 'LL' if int(x) < 2**63 else 'ULL'}"

    def functions(self, text: str) -> list[str]:
        """The functions of our own that a text calls, each after those that it calls."""
        called, lines = {*CALLED.findall(text)}, []
        for name, (parameters, result) in reversed(self.own.items()):
            if name in called:
                called |= {*CALLED.findall(result)}
                dtype = {"integer": "int64_t ", "unsigned": "uint64_t "}.get(name.partition("_")[0], "double ")
                declared = ", ".join(dtype * self.typed + x for x in parameters.split())
                lines.append(self.function.format(type=dtype.rstrip(), name=name, parameters=declared, result=result))
        return lines[::-1]
