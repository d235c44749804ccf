"""`cell`: the cells of a lesson, one after the other, in names that they share; Python starts once for a lesson."""

import ast
import html
import json
import re
import sys
from typing import Any

from .chains import held, release
from .text import FILE, Tail, compiled, running, told

MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)  # a line for a notebook alone; here all is installed
names: dict[str, Any] = {"__name__": "__main__"}


def cell(source: str) -> str:
    """Run a cell; JSON of what was printed (`out`), of its last expression as `html`, and of the `error`."""
    printed = Tail()
    answer: dict[str, Any] = {"html": "", "error": None}
    try:
        tree = compiled(MAGIC.sub(r"\1pass", source))[0]
        last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with running(printed), held():
            names["__slider__"] = _same
            vars(sys.modules["__main__"])["In"] = [source]  # as in a notebook: check() asks whether it was changed
            exec(compile(tree, FILE, "exec"), names)
            answer["html"] = shown(eval(compile(last, FILE, "eval"), names)) if last else ""
    except BaseException as error:  # also SystemExit: the cell is wrong, and the page goes on
        answer["error"] = told(error)
    release()
    return json.dumps(answer | {"out": printed.text})


def _same(function: Any, _: int) -> Any:
    """There are no sliders here."""
    return function


def shown(value: Any) -> str:
    """HTML of a result, as a notebook shows it."""
    if value is None:
        return ""
    if hasattr(value, "_repr_mimebundle_"):
        bundle = value._repr_mimebundle_()
        for kind in ("text/html", "image/svg+xml"):
            if kind in bundle:
                return bundle[kind]
    if hasattr(value, "_repr_html_"):
        return value._repr_html_()
    return f"<pre>{html.escape(repr(value))}</pre>"
