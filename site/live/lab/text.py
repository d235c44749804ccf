"""Running a text that somebody writes: what it prints, where it is wrong, and the numbers in it that can be dragged."""

import ast
import contextlib
import io
import linecache
import math
import traceback
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from micrograd import Value, without_collector

FILE = "your code"
MOST = 20_000  # characters of what was printed: a loop that prints must not fill the memory
MAKER = "__slider__"
HINTS = {  # part of an error, and what was probably meant
    "No module named": "this page has Python's standard library, and what micrograd can do without NumPy: import its "
    "names one by one, and write x.tanh() for tanh(x)",
    "invalid decimal literal": (product := "a product needs its sign, as in 2*x"),
    "'Value' object is not callable": product,
    "'int' object is not callable": product,
    "for ^": "a power is written **",
    "I/O error": "a page cannot ask with input(): write the answer in the text, as in x = Value(3.0)",
}
HOMES = ("micrograd.nn", "micrograd.optim", "micrograd.functional", "micrograd.viz", "micrograd")


class Tail(io.TextIOBase):
    """The end of all that is written to it."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        """Add the text; forget what came long before it."""
        self.text = (self.text + text)[-MOST:]
        return len(text)


@contextlib.contextmanager
def running(printed: Tail) -> Iterator[None]:
    """While somebody's text runs: what it prints is kept, and the garbage collector waits."""
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), without_collector():
        yield


def compiled(source: str) -> tuple[ast.Module, list[dict[str, Any]]]:
    """The tree of a text and its sliders: the numbers that a statement gives to a Value and a name.

    >>> compiled("x, w = Value(2.0), Value(-3)")[1][1]
    {'name': 'w', 'value': -3.0, 'line': 1, 'from': 24, 'to': 26}
    """
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    tree, sliders = ast.parse(source, FILE), []
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                _find(target, statement.value, sliders, source.splitlines())
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            _find(statement.target, statement.value, sliders, source.splitlines())
    return tree, sliders


def _find(target: ast.expr | str, value: ast.expr, found: list[dict[str, Any]], lines: list[str]) -> None:
    """The sliders of `target = value`; the call is rewritten so that it tells which Value it made."""
    if isinstance(value, ast.List | ast.Tuple):
        if isinstance(target, ast.List | ast.Tuple):
            targets = target.elts if len(target.elts) == len(value.elts) else []
        else:
            targets = [f"{_name(target)}[{i}]" for i in range(len(value.elts))] if _name(target) else []
        for one, item in zip(targets, value.elts, strict=False):
            _find(one, item, found, lines)
    elif isinstance(value, ast.Call) and value.args and _name(target) and _called(value) == "Value":
        number = value.args[0]
        with contextlib.suppress(ValueError):
            x = ast.literal_eval(number)
            if isinstance(x, int | float) and not isinstance(x, bool) and number.lineno == number.end_lineno:
                line = lines[number.lineno - 1].encode()
                at = [_width(line[:end]) for end in (number.col_offset, number.end_col_offset)]
                value.func = _recording(value.func, len(found))
                found.append(
                    {"name": _name(target), "value": float(x), "line": number.lineno, "from": at[0], "to": at[1]}
                )


def _name(target: ast.expr | str) -> str:
    return target if isinstance(target, str) else target.id if isinstance(target, ast.Name) else ""


def _called(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _width(line: bytes) -> int:
    """In the units by which JavaScript counts."""
    return len(line.decode().encode("utf-16-le")) // 2


def _recording(function: ast.expr, slider: int) -> ast.expr:
    call = ast.Call(ast.Name(MAKER, ast.Load()), [function, ast.Constant(slider)], [])
    return ast.fix_missing_locations(ast.copy_location(call, function))


def executed(tree: ast.Module, names: dict[str, Any]) -> dict[int, Value]:
    """Run the tree of a text; the Value that each slider made last."""
    made: dict[int, Value] = {}

    def recording(function: Any, slider: int) -> Any:
        def make(*args: Any, **kwargs: Any) -> Any:
            made[slider] = function(*args, **kwargs)
            return made[slider]

        return make

    names[MAKER] = recording
    exec(compile(tree, FILE, "exec"), names)
    return made


def stored(tree: ast.Module, name: str) -> int | None:
    """The last line that gives this name to something."""
    named = [node for node in ast.walk(tree) if name in (getattr(node, "id", ""), getattr(node, "name", ""))]
    return max((node.lineno for node in named if not isinstance(getattr(node, "ctx", None), ast.Load)), default=None)


def told(error: BaseException) -> dict[str, Any]:
    """An error in words, with what was probably meant, and the line of the text that it came from."""
    shown = traceback.TracebackException.from_exception(error, lookup_lines=False)
    lines = [frame.lineno for frame in shown.stack if frame.filename == FILE]
    if isinstance(error, SyntaxError) and error.filename == FILE:
        lines = [error.lineno]
    words = "".join(line for line in shown.format_exception_only() if not line.startswith("  ")).strip()
    words = words.removeprefix(f"{type(error).__module__}.")
    if hint := next((hint for found, hint in HINTS.items() if found in words), "") or _imported(error):
        words = f"{words.partition('. Did you')[0]}; {hint}"
    return {"line": lines[-1] if lines else getattr(error, "line", None), "text": words}


def _imported(error: BaseException) -> str:
    """How to get at a name that is not defined, if it is one of micrograd's."""
    name = error.name if isinstance(error, NameError) else None
    if name and callable(getattr(Value, name, None)):
        return f"{name}(x) is written x.{name}()"
    for home in HOMES if name else ():
        with contextlib.suppress(ImportError):  # a name that is nobody's is looked for among NumPy's
            if getattr(getattr(import_module(home), name, None), "__module__", "").startswith(home):
                return f"is `from {home} import {name}` missing?"
    return ""


def plain(x: Any) -> float | str | None:
    """A number for JSON: nan and infinity as words."""
    if x is None:
        return None
    x = float(getattr(x, "data", x))
    return x if math.isfinite(x) else str(x)
