"""`cell`: the cells of a lesson, one after the other, in names that they share; Python starts once for a lesson."""

import ast
import base64
import html
import json
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

from .chains import held, release
from .text import FILE, Tail, compiled, running, told

MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)  # a line for a notebook alone; here all is installed
names: dict[str, Any] = {"__name__": "__main__"}
pictures: dict[type, Callable[[Any], tuple[bytes, dict[str, int]]]] = {}  # by type, what makes a PNG and says its size


def cell(source: str) -> str:
    """Run a cell; JSON of what was printed (`out`), of its last expression as `html`, and of the `error`."""
    printed = Tail()
    answer: dict[str, Any] = {"html": "", "error": None}
    try:
        tree = compiled(MAGIC.sub(r"\1pass", source))[0]
        ends = tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";")
        last = ast.Expression(tree.body.pop().value) if ends else None
        with running(printed), held():
            names["__slider__"] = _same
            vars(sys.modules["__main__"])["In"] = [source]  # as in a notebook: check() asks whether it was changed
            exec(compile(tree, FILE, "exec"), names)
            answer["html"] = shown(eval(compile(last, FILE, "eval"), names)) if last else ""
            answer["html"] += "".join(map(shown, figures()))
    except BaseException as error:  # also SystemExit: the cell is wrong, and the page goes on
        answer["error"] = told(error)
    release()
    return json.dumps(answer | {"out": printed.text})


def _same(function: Any, _: int) -> Any:
    """There are no sliders here."""
    return function


def notebook() -> str:
    """Give the lessons what they ask of IPython, in a site that has NumPy and matplotlib; JSON of nothing."""
    formatter = SimpleNamespace(for_type=pictures.__setitem__)
    display_formatter = SimpleNamespace(formatters={"image/png": formatter})
    events = SimpleNamespace(register=lambda *_: None)  # at which matplotlib would draw
    shell = SimpleNamespace(display_formatter=display_formatter, events=events)
    package, display = ModuleType("IPython"), ModuleType("IPython.display")
    vars(package).update(get_ipython=lambda: shell, version_info=(9, 0))
    vars(display).update(HTML=lambda text: SimpleNamespace(_repr_html_=lambda: text))
    sys.modules |= {"IPython": package, "IPython.display": display}
    import_module("matplotlib").use("agg")
    return "{}"


def figures() -> Iterator[Any]:
    """The figures that a cell drew, which are then closed."""
    plt = sys.modules.get("matplotlib.pyplot")
    for number in plt.get_fignums() if plt else ():
        yield plt.figure(number)
    if plt:
        plt.close("all")


def shown(value: Any) -> str:
    """HTML of a result, as a notebook shows it."""
    if value is None:
        return ""
    if type(value) in pictures:
        data, size = pictures[type(value)](value)
        return f'<img src="data:image/png;base64,{base64.b64encode(data).decode()}" width="{size["width"]}" alt="">'
    if hasattr(value, "_repr_mimebundle_"):
        bundle = value._repr_mimebundle_()
        for kind in ("text/html", "image/svg+xml"):
            if kind in bundle:
                return bundle[kind]
    if hasattr(value, "_repr_html_"):
        return value._repr_html_()
    return f"<pre>{html.escape(repr(value))}</pre>"
