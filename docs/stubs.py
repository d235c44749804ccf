"""Stubs for editors and type checkers: the names that the tables make, and those that are looked up when asked for.

`python docs/stubs.py` writes them again, after an op or a public name was added; a test compares them.
"""

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import micrograd
import micrograd.nn
import micrograd.viz
from micrograd.engine import ops
from micrograd.engine.methods import OPERATORS, SIGNS, Elementwise
from micrograd.engine.rows import Row
from micrograd.tensor import Tensor, functions

PACKAGE = Path(micrograd.__file__).parent
METHODS = '''"""Written by docs/stubs.py."""
from collections.abc import Callable
from typing import Any, Self, TypeVar

Class = TypeVar("Class", bound=type)

def elementwise(*makers: Callable[..., Any]) -> Callable[[Class], Class]: ...

class Elementwise:
    """What a Value can do, and a Tensor to each of its elements; beside operators."""
'''
TABLE = '''"""Written by docs/stubs.py."""
from collections.abc import Callable
from typing import Any
from .rows import Row
'''
NAMES = '''"""Written by docs/stubs.py."""
from collections.abc import Sequence
from typing import Any
from .tensor.tensor import Axis, Shape
'''


def stubs() -> dict[Path, str]:
    """The text of each stub."""
    methods = [METHODS]
    for name in (*ops.PUBLIC, *ops.MAKERS):
        methods += [f"    {line}" for line in _declared(name, getattr(Tensor, name), "Self")]
    for name, method in vars(Elementwise).items():
        if inspect.isfunction(method):
            methods += [f"    {line}" for line in _declared(name, method, inspect.signature(method).return_annotation)]
    methods += [f"    def __{r}{name}__(self, other: Any) -> Self: ..." for name in OPERATORS for r in ("", "r")]
    methods += [f"    def __{name}__(self) -> Self: ..." for name in SIGNS]
    methods += [f"    def __{name}__(self, other: Any) -> Any: ..." for name in ("lt", "le", "gt", "ge")]
    names = [NAMES, *_imports(micrograd), "__version__: str"]
    for name in sorted(functions.FUNCTIONS.keys() - {*" ".join(micrograd._HOME.values()).split()}):
        names += _declared(name, functions.FUNCTIONS[name], "Any")
    return {
        PACKAGE / "engine" / "methods.pyi": _formatted(methods),
        PACKAGE / "engine" / "ops.pyi": _formatted([TABLE, *_table()]),
        PACKAGE / "__init__.pyi": _formatted([*names, f"__all__ = {micrograd.__all__}"]),
        **{PACKAGE / name / "__init__.pyi": _formatted(_face(f"micrograd.{name}")) for name in ("nn", "viz")},
    }


def _face(package: str) -> list[str]:
    module = sys.modules[package]
    return [*_imports(module), f"__all__ = {module.__all__}"]


def _table() -> Iterator[str]:
    """The rows, which are made by calls, and the functions that make them."""
    for name, x in vars(ops).items():
        if isinstance(x, Row):
            yield f"{name}: Row"
        elif name in ops.__annotations__:
            yield f"{name}: {ops.__annotations__[name]}"
        elif name[0] != "_" and getattr(x, "__module__", "") == ops.__name__:
            yield from _declared(name, x, inspect.signature(x).return_annotation)


def _declared(name: str, function: Callable, returned: str) -> list[str]:
    written = ", ".join(map(_parameter, inspect.signature(function).parameters.values()))
    doc = inspect.cleandoc(function.__doc__ or "").partition("\n")[0]
    return [f"def {name}({written}) -> {returned}:", f'    """{doc}"""' if doc else "    ..."]


def _parameter(p: inspect.Parameter) -> str:
    annotation = "" if p.name == "self" else ": Any" if p.annotation is p.empty else f": {p.annotation}"
    default = "" if p.default is p.empty else " = ..." if callable(p.default) else f" = {p.default!r}"
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    return f"{stars}{p.name}{annotation}{default}"


def _imports(package: ModuleType) -> Iterator[str]:
    for module, names in package._HOME.items():
        for name in names.split():
            yield f"from . import {name} as {name}" if name == module else f"from .{module} import {name} as {name}"


def _formatted(lines: list[str]) -> str:
    text = "\n".join(lines) + "\n"
    for command in (["check", "--fix", "--quiet", "--exit-zero", "--select", "I,F401"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(PACKAGE / "x.pyi"), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
