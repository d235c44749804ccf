"""Expressions as text to graphs: `build("tanh(w*x + b)", {"w": -3.0, "x": 2.0, "b": 1.0})`.

Python's parser reads the text. Numbers, names, the operators + - * / // % ** and the functions of Value are evaluated
node by node, and anything else is refused. Nothing is executed as Python.

All errors are SyntaxErrors with a `msg` of one line, and with the position in `text` as `offset` and `end_offset`. No
function here is recursive, so the stack does not limit the length of an expression.
"""

import ast
import difflib
import inspect
import keyword
import math
import operator
import sys
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
_LOOKALIKES = str.maketrans("\u2212\u00d7\u00b7\u22c5\u00f7\n\r\t\f", "-***/    ")  # of drawings, and line breaks
_PRODUCT = "a product needs its sign, as in 2*x, and a sign a number on both sides"


def build(text: str, numbers: Mapping[str, float]) -> Value:
    """Build the graph of an expression.

    Leaves are labelled with their names, and the result `out`, unless a number has that name.

    Args:
        text: the expression, in Python's syntax.
        numbers: the value of each name; these take precedence over the CONSTANTS.

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
    text = text.translate(_LOOKALIKES).strip()
    named = {**CONSTANTS, **numbers}
    leaves = {name: Value(x, label=name, requires_grad=name in numbers) for name, x in named.items()}
    node = root = _parsed(text)
    nodes, operations, values = [root], {}, {}
    try:
        for node in nodes:  # the list grows, with operands after the operation that uses them
            operations[node] = _, operands = _operation(node, leaves)
            nodes += operands
        for node in reversed(nodes):
            function, operands = operations[node]
            values[node] = _applied(function, [values[operand] for operand in operands])
    except TypeError as error:
        start, end = (len(text.encode()[:n].decode()) for n in (node.col_offset, node.end_col_offset or 0))
        _refuse(str(error), text, start, end)
    out = _as_value(values[root])
    if not out.is_leaf and "out" not in numbers:
        out.label = "out"
    return out


def assignments(words: Iterable[str]) -> dict[str, float]:
    """Parse words such as `x=2`, `y=-1e-3` and `z=pi/2`; raises a SyntaxError for anything else.

    >>> assignments(["x=2", "angle=pi/2"])
    {'x': 2.0, 'angle': 1.5707963267948966}
    """
    numbers: dict[str, float] = {}
    for word in words:
        name, _, value = word.partition("=")
        name = unicodedata.normalize("NFKC", name.strip())  # as Python does for names in the expression
        if not value.strip():
            _refuse("this sets no number: write name=number, without spaces, and the expression in quotes", word)
        if not name.isidentifier() or keyword.iskeyword(name):
            _refuse("this cannot be a name: write name=number, with a name of letters, digits and _", word)
        if name in numbers:
            _refuse(f"{name:.40} is set twice: set it once", word)
        numbers[name] = build(value, {}).data
    return numbers


def _parsed(text: str) -> ast.expr:
    if not text:
        _refuse('the expression is empty: write one, such as "x**2 + 1"', text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are about code that is refused here
            return ast.parse(text, mode="eval").body
    except (RecursionError, MemoryError, ValueError) as error:  # a null byte, or half of a surrogate pair
        _refuse(f"this is too long, nested too deeply, or no text, for Python's parser: {error}", text)
    except SyntaxError as error:
        message = error.msg.partition(". Perhaps")[0]
        if message.startswith("invalid"):
            message += f": {_PRODUCT}"
        if "=" in text:
            message = "an expression has no '=' in it: numbers follow it, each as a separate word, as in x=2"
        _refuse(message, text, error.offset - 1 if error.offset else len(text))


def _refuse(message: str, text: str, start: int = 0, end: int = 0) -> NoReturn:
    """Raise a SyntaxError that points at the text from `start` to `end`."""
    raise SyntaxError(message, ("<expression>", 1, start + 1, text, 1, max(end, start + 1) + 1)) from None


def _operation(node: ast.expr, leaves: Mapping[str, Value]) -> tuple[Any, list[ast.expr]]:
    """The function of a node and its operands, or a number without operands; raises a TypeError for any other node."""
    match node:
        case ast.Constant(int() | float() as x) if not isinstance(x, bool):
            # An int stays an int, so that the op is named `**2` and not `**2.0`
            return x if x <= sys.float_info.max else math.inf, []
        case ast.Name(name) if name in leaves:
            return leaves[name], []
        case ast.UnaryOp(op, operand) if type(op) in SIGNS:
            return SIGNS[type(op)], [operand]
        case ast.BinOp(left, op, right) if type(op) in SIGNS:
            return SIGNS[type(op)], [left, right]
        case ast.Call(ast.Name(name), operands, []) if name in FUNCTIONS:
            signature = inspect.signature(FUNCTIONS[name])
            parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
            counts = range(sum(p.default is p.empty for p in parameters), len(parameters) + 1)
            if len(operands) not in counts:
                needed = f"{' or '.join(map(str, counts))} operand{'s' * (counts[-1] > 1)}"
                raise TypeError(f"{name} takes {needed}, found {len(operands)}")
            return FUNCTIONS[name], operands
    raise TypeError(_advice(node, leaves))


def _advice(node: ast.expr, names: Iterable[str]) -> str:
    """The advice on what to write instead of a node that cannot be evaluated."""
    match node:
        case ast.Name(name):
            near = difflib.get_close_matches(name, names, 1)
            hint = f" (or did you mean {near[0]}?)" if near else ""
            return f"{name:.40} has no value: write a number, or add {name:.40}=1.0{hint}"
        case ast.Call(ast.Name(name), _, []):
            near = difflib.get_close_matches(name, FUNCTIONS, 1)
            hint = f"did you mean {near[0]}?" if near else f"{_PRODUCT};"
            return f"there is no function {name:.40}; {hint} the functions are {', '.join(sorted(FUNCTIONS))}"
        case ast.Call(ast.Constant() | ast.BinOp()):
            return _PRODUCT
        case ast.BinOp(op=ast.BitXor()):
            return "a power is written **, not ^: x**2"
        case ast.Compare():
            return "a comparison has no derivative; step-like functions are relu, maximum, minimum and sigmoid"
    return "only real numbers, names, + - * / // % ** and functions, such as tanh(x), can be used here"


def _applied(function: Any, operands: list[Any]) -> Any:
    """The result of a function, or a number without operands. Of plain numbers, the result is a plain number too."""
    if not operands:
        return function
    out = function(_as_value(operands[0]), *operands[1:])
    return out if out.requires_grad else out.data


def _as_value(x: Any) -> Value:
    return x if isinstance(x, Value) else Value(x, requires_grad=False)
