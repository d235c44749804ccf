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
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from ..engine.value import Value
from ..scalars import ops

# The functions are those that the table of derivatives makes methods of Value.
FUNCTIONS: dict[str, Callable[..., Any]] = {name: getattr(Value, name) for name in (*ops.PUBLIC, *ops.MAKERS, "pow")}
CONSTANTS = {"pi": math.pi, "π": math.pi, "tau": math.tau, "e": math.e, "inf": math.inf, "nan": math.nan}
SIGNS: dict[type[ast.AST], Callable[..., Any]] = {
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

Step = tuple[ast.expr, int, Callable[..., Any]]  # syntax node, number of operands, function to apply


def build(text: str, numbers: Mapping[str, float], unknown: str = "") -> Value:
    """Build the graph of an expression.

    Leaves are labelled with their names, and the result `out`, unless a number has that name.

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
    >>> y.label, y.data, [node.data for node in y._prev]
    ('out', 1.25, [0.25, 1.0])
    """
    text = _one_line(text)
    steps = _steps(text, _parsed(text))
    names = [node for node, _, _ in steps if isinstance(node, ast.Name)]
    if missing := [node for node in names if node.id not in numbers and node.id not in CONSTANTS]:
        _refuse(unknown or _who_is_missing(missing, numbers), text, *_place(text, missing[0]))
    out = _run(text, steps, _leaves(names, numbers))
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
            _refuse("this sets no number: write name=number, without spaces, and the expression in quotes", word)
        if not name.isidentifier() or keyword.iskeyword(name):
            _refuse("this cannot be a name", word, 0, word.index("="))
        if name in numbers:
            _refuse(f"{name:.40} is set twice", word, 0, word.index("="))
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
_PRODUCT = "a product needs its sign, as in 2*x"
_ONLY = "only real numbers, names, + - * / // % ** and functions, such as tanh(x), can be used here"
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
    except SyntaxError as error:
        start = min(error.offset - 1, len(text)) if error.offset else len(text)
        _refuse(_advice(error.msg, text), text, start, (error.end_offset or 0) - 1)
    except ValueError as error:  # a null byte, or half of a surrogate pair
        _refuse(str(error), text)


def _advice(said: str, text: str) -> str:
    """Python's message for a syntax error, or advice where the mistake is a common one."""
    if "=" in text:
        return "an expression has no '=' in it: numbers follow it, each as a separate word, as in x=2"
    said = said.partition(". Perhaps")[0]
    return f"{said}: {_PRODUCT}, and a sign a number on both sides" if said.startswith("invalid") else said


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
            return lambda: _literal(value), []
        case ast.UnaryOp(op, operand) if type(op) in SIGNS:
            return SIGNS[type(op)], [operand]
        case ast.BinOp(left, op, right) if type(op) in SIGNS:
            return SIGNS[type(op)], [left, right]
        case ast.Call(ast.Name(name), operands, []):
            return _function(text, node, name, len(operands)), operands
    _refuse(_why_not(node), text, *_place(text, node))


def _literal(value: float) -> float:
    """A number as it was written; whole numbers stay ints, so that ops are named `**2`, not `**2.0`."""
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf  # like 1e400


def _function(text: str, node: ast.Call, name: str, given: int) -> Callable:
    """The function of this name; raises unless it takes `given` operands."""
    if name not in FUNCTIONS:
        near = difflib.get_close_matches(name, FUNCTIONS, 1)
        hint = f"did you mean {near[0]}?" if near else f"{_PRODUCT};"
        known = ", ".join(sorted(FUNCTIONS))
        _refuse(f"there is no function {name:.40}; {hint} the functions are {known}", text, *_place(text, node.func))
    operands = inspect.signature(FUNCTIONS[name]).parameters.values()
    counts = range(sum(p.default is p.empty for p in operands), len(operands) + 1)
    if given not in counts:
        takes = f"{' or '.join(map(str, counts))} operand{'s' * (counts[-1] > 1)}"
        _refuse(f"{name} takes {takes}, found {given}", text, *_place(text, node.func))
    return FUNCTIONS[name]


def _why_not(node: ast.expr) -> str:
    """What to write instead of a part of Python that is no expression of numbers."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
        return "a power is written **, not ^: x**2"
    if isinstance(node, ast.Call) and not isinstance(node.func, (ast.Name, ast.Attribute)):
        return _PRODUCT
    if isinstance(node, ast.Compare):
        return "a comparison has no derivative; step-like functions are relu, maximum, minimum and sigmoid"
    return _ONLY


def _place(text: str, node: ast.expr) -> tuple[int, int]:
    """(start, end) of a node in the text, in characters; Python's offsets are in bytes."""
    line = text.encode()
    return len(line[: node.col_offset].decode()), len(line[: node.end_col_offset].decode())


# ------------------------------------------------------------------------------------------------ from steps to a graph
def _who_is_missing(nodes: list[ast.Name], numbers: Mapping[str, float]) -> str:
    names = list(dict.fromkeys(node.id for node in nodes))
    near = difflib.get_close_matches(names[0], numbers, 1)
    hint = f" (or did you mean {near[0]}?)" if near else ""
    have = "have no value" if len(names) > 1 else "has no value"
    return f"{' and '.join(names):.100} {have}: add {' '.join(f'{name}=1.0' for name in names):.100}{hint}"


def _leaves(names: list[ast.Name], numbers: Mapping[str, float]) -> dict[str, Value]:
    """A Value per name, in the order of the text; the caller's numbers take precedence over constants."""
    known = {name: Value(x, label=name, requires_grad=False) for name, x in CONSTANTS.items()}
    known |= {name: Value(x, label=name) for name, x in numbers.items()}
    return {node.id: known[node.id] for node in names}


def _run(text: str, steps: list[Step], leaves: dict[str, Value]) -> Value:
    done: list[Any] = []
    for node, operands, function in steps:
        if isinstance(node, ast.Name):
            done.append(leaves[node.id])
            continue
        given = done[len(done) - operands :]
        del done[len(done) - operands :]
        try:
            done.append(_apply(function, *given) if operands else function())
        except TypeError as error:
            _refuse(str(error), text, *_place(text, node))
    return _as_value(done[0])


def _apply(function: Callable, first: Any, *rest: Any) -> Any:
    """The result of a function; a plain number if all operands are, though computed by the same row."""
    out = function(_as_value(first), *rest)
    return out if out.requires_grad else out.data


def _as_value(x: Any) -> Value:
    return x if isinstance(x, Value) else Value(x, requires_grad=False)
