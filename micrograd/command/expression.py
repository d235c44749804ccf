"""Expressions as text to graphs: `build("tanh(w*x + b)", {"w": -3.0, "x": 2.0, "b": 1.0})`.

Python's parser reads the text, and the syntax tree is translated node by node: numbers, names, the operators
+ - * / // % **, and the functions of Value. Anything else is rejected; nothing is executed as Python.

All errors are SyntaxErrors with a `msg` of one line, and the position in `text`, `offset` and `end_offset`. Nothing
here is recursive, so the length of an expression is not limited by the stack.
"""

import ast
import difflib
import inspect
import keyword
import math
import operator
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from ..engine import ops
from ..engine.value import Value

# The functions are those that the table of derivatives makes methods of Value.
FUNCTIONS: dict[str, Callable] = {name: getattr(Value, name) for name in (*ops.PUBLIC, *ops.MAKERS, "pow")}
CONSTANTS = {"pi": math.pi, "π": math.pi, "tau": math.tau, "e": math.e, "inf": math.inf, "nan": math.nan}
SIGNS: dict[type[ast.AST], Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}

Step = tuple[ast.expr, int, Callable]  # syntax node, number of operands, function to apply


def build(text: str, numbers: Mapping[str, float], unknown: str = "") -> Value:
    """Build the graph of an expression.

    Leaves are labelled with their names, intermediate results `v1`, `v2`, ..., and the result `out`; other labels are
    used if these names are taken.

    Args:
        text: the expression, in Python's syntax.
        numbers: the value of each name; these take precedence over the CONSTANTS.
        unknown: the error message for a name without a value.

    Returns:
        The root of the graph.

    Raises:
        SyntaxError: `text` is not an expression of numbers, or a name has no value.

    >>> from micrograd.command.expression import build
    >>> y = build("x**2 + sin(pi*x)", {"x": 0.5})
    >>> y.backward()
    >>> [(node.label, node.data) for node in (y, *y._prev)]
    [('out', 1.25), ('v1', 0.25), ('v3', 1.0)]
    """
    text = _one_line(text)
    steps = _steps(text, _parsed(text))
    names = [node for node, _, _ in steps if isinstance(node, ast.Name)]
    if missing := [node for node in names if node.id not in numbers and node.id not in CONSTANTS]:
        _refuse(unknown or _who_is_missing(missing, numbers), text, *_place(text, missing[0]))
    out = _run(text, steps, _leaves(names, numbers), _free("v", numbers))
    if not out.is_leaf and "out" not in numbers:
        out.label = "out"
    return out


def assignments(words: Iterable[str]) -> dict[str, float]:
    """Parse words such as `x=2`, `y=-1e-3` and `z=pi/2`; raises SyntaxError for anything else.

    >>> assignments(["x=2", "angle=pi/2"])
    {'x': 2.0, 'angle': 1.5707963267948966}
    """
    numbers: dict[str, float] = {}
    for word in map(_one_line, words):
        name, sign, value = word.partition("=")
        name = unicodedata.normalize("NFKC", name.strip())  # as Python does for names in the expression
        if not sign or not value.strip():
            _refuse("this gives no number: write name=number, without spaces, and the expression in quotes", word)
        if not name.isidentifier() or keyword.iskeyword(name):
            why = "Python keeps this word for itself, and it" if keyword.iskeyword(name) else "this"
            _refuse(f"{why} cannot be a name", word, 0, word.index("="))
        if name in numbers:
            _refuse(f"{name:.40} is given twice", word, 0, word.index("="))
        numbers[name] = _only_number(word, len(word) - len(value.lstrip()))
    return numbers


def _only_number(word: str, start: int) -> float:
    """The value of the expression in `word` from `start` on; errors refer to positions in `word`."""
    try:
        return build(word[start:], {}, "a number is needed here, or an expression of numbers, such as pi/2").data
    except SyntaxError as error:
        _refuse(error.msg, word, start + (error.offset or 1) - 1, start + (error.end_offset or 1) - 1)


def unused(text: str, numbers: Iterable[str]) -> list[str]:
    """The names that do not occur in the expression."""
    found = {node.id for node in ast.walk(_parsed(_one_line(text))) if isinstance(node, ast.Name)}
    return [name for name in numbers if name not in found]


# ------------------------------------------------------------------------------------------------ from text to a tree
_LOOKALIKES = str.maketrans("\u2212\u00d7\u00b7\u22c5\u00f7\n\r\t\f", "-***/    ")


def _one_line(text: str) -> str:
    """Replace typographic signs, which drawings use, by Python's operators, and line breaks by spaces."""
    return text.translate(_LOOKALIKES).strip()


def _parsed(text: str) -> ast.expr:
    if not text:
        _refuse('the expression is empty: write one, such as "x**2 + 1"', text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about code that is rejected below anyway
            return ast.parse(text, mode="eval").body
    except (RecursionError, MemoryError):
        _refuse("the expression is too long, or nested too deeply, for Python's parser", text)
    except UnicodeEncodeError as error:
        _refuse("this is no text", text, error.start, error.end)
    except SyntaxError as error:
        words = re.finditer(r"[^\W\d]\w*", text)
        if word := next((word for word in words if keyword.iskeyword(word[0])), None):
            _refuse(f"'{word[0]}' is a word that Python keeps for itself, and cannot be a name", text, *word.span())
        at = min(error.offset - 1, len(text)) if error.offset else len(text)
        _refuse(_advice(error.msg, text, at), text, at, (error.end_offset or 0) - 1)
    except ValueError as error:  # a null byte, in Python 3.11
        _refuse(str(error), text)


def _advice(said: str, text: str, at: int) -> str:
    """The message for a syntax error; Python's own if it is clear enough."""
    if "=" in text:
        return "an expression has no '=' in it: numbers are given after it, each as a word of its own, as in x=2"
    if said == "invalid decimal literal":
        return "a number ends where a name begins: a product needs its sign, as in 2*x"
    if said.startswith("Exceeds the limit"):
        return "there is a number of thousands of digits: write it with an exponent, as in 1e300"
    if said.startswith("invalid syntax"):
        return _missing(text, at) if "comma" not in said else "a sign (+ - * / **) or a comma is missing in here"
    return said


def _missing(text: str, at: int) -> str:
    if at >= len(text):
        return "the expression ends too early"
    operand = text[at].isalnum() or text[at] in "_("
    return "a sign (+ - * / **) is missing before this" if operand else "this cannot stand here"


def _refuse(message: str, text: str, start: int = 0, end: int | None = None) -> NoReturn:
    """Raise a SyntaxError; `start` and `end` are positions in the text."""
    end = start + 1 if end is None or end <= start else end
    raise SyntaxError(message, ("<expression>", 1, start + 1, text, 1, end + 1)) from None


# ------------------------------------------------------------------------------------------------ from a tree to steps
def _steps(text: str, tree: ast.expr) -> list[Step]:
    """The expression in postfix order, for a stack machine."""
    steps: list[Step] = []
    waiting = [tree]
    while waiting:  # builds the reverse: each function, then its operands, last one first
        node = waiting.pop()
        function, operands = _step(text, node)
        steps.append((node, len(operands), function))
        waiting += operands
    return steps[::-1]


def _step(text: str, node: ast.expr) -> tuple[Callable, list[ast.expr]]:
    """The function for a syntax node, and its operands."""
    match node:
        case ast.Name():
            return str, []
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return lambda: _number(value), []
        case ast.UnaryOp(op, operand) if type(op) in SIGNS:
            return SIGNS[type(op)], [operand]
        case ast.BinOp(left, op, right) if type(op) in SIGNS:
            return SIGNS[type(op)], [left, right]
        case ast.Call(ast.Name(name), operands, []):
            return _function(text, node, name, len(operands)), operands
    place = _place_of_sign(text, node) if isinstance(node, ast.BinOp) else _place(text, node)
    _refuse(_why_not(node), text, *place)


def _number(value: float) -> float:
    """A number as it was written; whole numbers stay ints, so that ops are named `**2`, not `**2.0`."""
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf  # like 1e400


def _function(text: str, node: ast.Call, name: str, given: int) -> Callable:
    """The function of this name; raises unless it takes `given` operands."""
    start, end = _place(text, node.func)
    if name not in FUNCTIONS:
        near = difflib.get_close_matches(name, FUNCTIONS, 1)
        hint = f"did you mean {near[0]}?" if near else "a product needs its sign, as in 2*(x + 1);"
        known = ", ".join(sorted(FUNCTIONS))
        _refuse(f"there is no function {name:.40}; {hint} the functions are {known}", text, start, end)
    function = FUNCTIONS[name]
    operands = inspect.signature(function).parameters.values()
    least, most = sum(p.default is p.empty for p in operands), len(operands)
    if not least <= given <= most:
        takes = f"{least}" if least == most else f"{least} or {most}"
        _refuse(f"{name} takes {takes} operand{'s' * (most > 1)}, found {given}", text, start, end)
    return function


_REFUSED: dict[type[ast.AST], str] = {
    ast.BitXor: "a power is written **, not ^: x**2",
    ast.MatMult: "@ is for arrays, and these are numbers: a product is written *",
    ast.Compare: "a comparison has no derivative; step-like functions are relu, maximum, minimum and sigmoid",
    ast.Tuple: "a comma stands between the operands of a function alone; a decimal point is written '.', as in 1.5",
    ast.Attribute: "nothing is looked up behind a '.': functions are written as tanh(x)",
    ast.Starred: "operands are written one by one, without *",
}


def _why_not(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return f"functions stand alone: write {node.func.attr:.40}(...), with no '.' before it"
        if node.keywords:
            return f"operands are given by their order, not by name: leave out '{node.keywords[0].arg or '**'}='"
        return "only a function can be called: a product needs its sign, as in 2*(x + 1)"
    if isinstance(node, ast.Constant):
        return f"{node.value!r:.40} is not a real number"
    kind = type(getattr(node, "op", node))
    return _REFUSED.get(kind, "only numbers, names, + - * / // % ** and functions can be used here")


def _place(text: str, node: ast.expr) -> tuple[int, int]:
    """(start, end) of a node in the text, in characters; Python's offsets are in bytes."""
    line = text.encode()
    return len(line[: node.col_offset].decode()), len(line[: node.end_col_offset].decode())


def _place_of_sign(text: str, node: ast.BinOp) -> tuple[int, int]:
    after_left, before_right = _place(text, node.left)[1], _place(text, node.right)[0]
    sign = text[after_left:before_right].strip(" ()")
    start = text.index(sign, after_left)
    return start, start + len(sign)


# ------------------------------------------------------------------------------------------------ from steps to a graph
def _who_is_missing(nodes: list[ast.Name], numbers: Mapping[str, float]) -> str:
    names = list(dict.fromkeys(node.id for node in nodes))
    if names[0] in FUNCTIONS:
        return f"{names[0]} is a function: write {names[0]}(...)"
    near = difflib.get_close_matches(names[0], numbers, 1)
    hint = f" (or did you mean {near[0]}?)" if near else ""
    have = "have no value" if len(names) > 1 else "has no value"
    return f"{' and '.join(names):.100} {have}: add {' '.join(f'{name}=1.0' for name in names):.100}{hint}"


def _leaves(names: list[ast.Name], numbers: Mapping[str, float]) -> dict[str, Value]:
    """A Value per name, in the order of the text; the caller's numbers take precedence over constants."""
    known = {name: Value(x, label=name, requires_grad=False) for name, x in CONSTANTS.items()}
    known |= {name: Value(x, label=name) for name, x in numbers.items()}
    return {node.id: known[node.id] for node in names}


def _run(text: str, steps: list[Step], leaves: dict[str, Value], prefix: str) -> Value:
    done: list[Any] = []
    count = 0
    for node, operands, function in steps:
        if isinstance(node, ast.Name):
            done.append(leaves[node.id])
        elif not operands:
            done.append(function())
        else:
            given = done[-operands:]
            del done[-operands:]
            try:
                out = _apply(function, *given)
            except TypeError as error:
                _refuse(str(error), text, *_place(text, node))
            if isinstance(out, Value) and not out.label:
                count += 1
                out.label = f"{prefix}{count}"
            done.append(out)
    return _value(done[0])


def _apply(function: Callable, first: Any, *rest: Any) -> Any:
    """The result of a function; a plain number if all operands are, though computed by the same row."""
    out = function(_value(first), *rest)
    return out if out.requires_grad else out.data


def _value(x: Any) -> Value:
    return x if isinstance(x, Value) else Value(x, requires_grad=False)


def _free(prefix: str, names: Iterable[str]) -> str:
    """`prefix`, extended with underscores until no name is the prefix and a number."""
    while any(re.fullmatch(rf"{prefix}\d+", name) for name in names):
        prefix += "_"
    return prefix
