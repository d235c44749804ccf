"""The text of operations, numbers and types in C and in JavaScript, and the functions that these languages lack.

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
OF_BOOLS = {
    "add": "{} != 0 || {} != 0", "maximum": "{} != 0 || {} != 0",
    "multiply": "{} != 0 && {} != 0", "minimum": "{} != 0 && {} != 0", "absolute": "{}",
}  # fmt: skip
OF_INTS = {
    "absolute": "{0} < 0 ? -{0} : {0}", "sign": "({0} > 0) - ({0} < 0)",
    "maximum": "{0} > {1} ? {0} : {1}", "minimum": "{0} < {1} ? {0} : {1}", "power": "integer_power({}, {})",
    "remainder": "integer_remainder({}, {})", "floor_divide": "integer_quotient({}, {})",
    "floor": "{}", "ceil": "{}", "trunc": "{}", "rint": "{}",
}  # fmt: skip
UNSIGNED = OF_INTS | {"remainder": "unsigned_remainder({}, {})", "floor_divide": "unsigned_quotient({}, {})"}
OF_KINDS = {"b": OF_BOOLS, "i": OF_INTS, "u": UNSIGNED}
# C compares a signed and an unsigned integer as unsigned integers. For each comparison, this has the comparison of the
# exchanged operands, and its result where the signed integer is negative.
TURNED = {
    "less": ("greater", True), "less_equal": ("greater_equal", True), "not_equal": ("not_equal", True),
    "greater": ("less", False), "greater_equal": ("less_equal", False), "equal": ("equal", False),
}  # fmt: skip
# Functions whose names are not NumPy's
FUNCTIONS = {
    "power": "pow", "absolute": "fabs", "arctan2": "atan2", "remainder": "modulo",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
}  # fmt: skip
BINARY = {"power", "hypot", "arctan2", "maximum", "minimum", "remainder", "floor_divide", "logaddexp"}
# Our own functions, each after the functions that it calls, with their parameters and the expression that they return.
# They take floats, or integers if the name begins with `integer_` or `unsigned_`.
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


def dtype_of(x: Any) -> Any:
    """The dtype of an operand; of a plain number, its Python type."""
    if x.__class__ is Symbol and x.dtype is None:
        return float
    return getattr(x, "dtype", BOOL if x.__class__ is bool else x.__class__)


@lru_cache(maxsize=4096)
def loop_types(op: str, dtypes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The dtypes that NumPy computes in: the operands', then the result's. A plain number has its Python type here."""
    if op == "where":
        samples = [np.ones((), dtype) if isinstance(dtype, np.dtype) else dtype(1) for dtype in dtypes[1:]]
        return BOOL, *[np.result_type(*samples)] * 3
    if {*dtypes} <= {float, int}:
        dtypes = (DOUBLE,) * len(dtypes)
    return getattr(np, op).resolve_dtypes((*dtypes, None))


def limits_of(dtype: Any) -> tuple[Any, Any]:
    """The smallest and the largest number of this dtype."""
    if dtype.kind == "f":
        return -math.inf, math.inf
    return (0, 1) if dtype == BOOL else (np.iinfo(dtype).min, np.iinfo(dtype).max)


@lru_cache
def name_of(dtype: Any) -> str:
    """The name of a dtype, cached, since NumPy takes long to find it."""
    return dtype.name


class C:
    """The forms of C."""

    loop = "for (int {0} = 0; {0} < {1}; {0}++)"
    constant = "const {type} {name} = {text};"
    variable = "{type} {name} = {text};"
    array = "static {type} {name}[{size}];"
    filled = "for (int i = 0; i < {size}; i++) {name}[i] = {text};"
    function = "static inline {type} {name}({parameters}) {{ return {result}; }}"
    stop: tuple[str, ...] = ("if (fault) return failed(at);",)  # the statement that ends a call if an index was wrong
    typed = True  # True if parameters are declared with their types
    single = "f"  # the last letter of a float32
    stops = False  # True if a program ends with an error at an integer of 64 bits that the language cannot represent
    own: dict[str, tuple[str, str]] = OWN

    def order(self, x: Symbol) -> Any:
        """The order of an input's elements in memory, as NumPy names it."""
        return "F" if x.named == BY_COLUMNS else "C"

    def type(self, dtype: Any) -> str:
        name = name_of(dtype)
        return {"float64": "double", "float32": "float", "bool": "bool"}.get(name, f"{name}_t")

    def of(self, array: Any) -> dict[str, Any]:
        """What the forms above need of an array, or of a variable."""
        return {"name": array.name, "type": self.type(array.dtype), "size": max(array.origin.size, 1)}

    def form(self, op: str, dtypes: Sequence[Any]) -> str:
        """The text of an operation on these dtypes, with a place for each operand."""
        kinds = [dtype.kind for dtype in dtypes]
        if kinds == ["u", "i"]:
            return self.form(TURNED[op][0], dtypes[::-1]).format("{1}", "{0}")
        if kinds == ["i", "u"]:
            comparison = SIGNS[op].format("(uint64_t){0}", "{1}")
            return f"{{0}} < 0 || {comparison}" if TURNED[op][1] else f"{{0}} >= 0 && {comparison}"
        if form := OF_KINDS.get(kinds[0], {}).get(op) or SIGNS.get(op):
            return form
        return f"{FUNCTIONS.get(op, op)}({'{}, {}' if op in BINARY else '{}'})"

    def product(self, dtype: Any, n: int) -> str:
        """The text of a product of n operands."""
        return " * ".join(["{}"] * n)

    def added(self, place: str, text: str, dtype: Any) -> str:
        """The statement that adds a text to the element at a place."""
        return f"{place} += {text};"

    def cast(self, text: str, dtype: Any) -> str:
        """A text of another dtype, as this dtype."""
        return f"({self.type(dtype)}){text}"

    def rounded(self, text: str, dtype: Any) -> str:
        """The text of a result, rounded to its dtype. An assignment does so in C."""
        return text

    def sorted(self, dtype: Any, n: int, merged: str, order: str, keys: str) -> str:
        """The statement that finds the order of n keys, from the first element of each array."""
        return f"order_of_{self.type(dtype)}({n}, {merged}, &{order}, &{keys});"

    def number(self, x: Any, dtype: Any) -> str:
        """A number as text."""
        if dtype.kind == "f":
            x = float(x)
            if dtype == np.float32 and math.isfinite(x):
                return f"{float(np.float32(x))!r}{self.single}"
            return repr(x) if math.isfinite(x) else "NAN" if x != x else "INFINITY" if x > 0 else "-INFINITY"
        if x == -(2**63):  # C reads the digits before the sign, and 2**63 is too large
            return f"{int(x) + 1}LL - 1"
        return f"{int(x)}{'' if abs(int(x)) < 2**31 else 'LL' if int(x) < 2**63 else 'ULL'}"

    def functions(self, text: str) -> list[str]:
        """Our own functions that a text calls, in the order of `own`."""
        called, lines = {*CALLED.findall(text)}, []
        for name, (parameters, result) in reversed(self.own.items()):
            if name in called:
                called |= {*CALLED.findall(result)}
                dtype = {"integer": "int64_t ", "unsigned": "uint64_t "}.get(name.partition("_")[0], "double ")
                declared = ", ".join(dtype * self.typed + x for x in parameters.split())
                lines.append(self.function.format(type=dtype.rstrip(), name=name, parameters=declared, result=result))
        return lines[::-1]
