"""Stubs for editors and type checkers: the names that the tables make, and those that are looked up when asked for.

`python docs/stubs.py` writes them again, after an op or a public name was added; a test compares them.
"""

import argparse
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import micrograd
import micrograd.functional
import micrograd.nn
import micrograd.viz
from micrograd.engine import node, value
from micrograd.engine.node import SLOTS, Node
from micrograd.engine.rows import Row
from micrograd.engine.value import Value
from micrograd.scalars import ops
from micrograd.scalars.methods import OPERATORS, SIGNS, Elementwise
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
from ..engine.rows import Row
'''
NODE = '''"""Written by docs/stubs.py: Node with all that is added to it."""
from collections.abc import Callable, Sequence
from typing import Any, Self
from ..scalars.grad_fn import GradFn
from ..scalars.hooks import RemovableHandle
from .rows import Row

SLOTS: tuple[str, ...]
OPERATORS: tuple[str, ...]
NOTHING: Node
MANY: Node
'''
VALUE = '''"""Written by docs/stubs.py: Value with all that is added to it."""
from collections.abc import Callable, Sequence
from typing import Any, Self
from ..scalars.methods import Elementwise
from .node import Node as Node, fill_slots as fill_slots
from .recording import method_of as method_of, number as number, operator_of as operator_of
from .rows import Row

'''
# The methods that a kind of Node has
OF_A_KIND = ("_apply", "_constant", "_seed", "_rule_arguments", "_cast_gradient", "_plus")
FACES = ("functional", "nn", "viz")  # packages whose names are looked up when asked for, beside micrograd
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
        if inspect.isfunction(method) and name not in ops.MAKERS:
            methods += [f"    {line}" for line in _declared(name, method, inspect.signature(method).return_annotation)]
    methods += [f"    def __{r}{name}__(self, other: Any) -> Self: ..." for name in OPERATORS for r in ("", "r")]
    methods += [f"    def __{name}__(self) -> Self: ..." for name in SIGNS]
    methods += [f"    def __{name}__(self, other: Any) -> Any: ..." for name in ("lt", "le", "gt", "ge")]
    names = [NAMES, *_imports(micrograd), "__version__: str"]
    for name in sorted(functions.FUNCTIONS.keys() - {*" ".join(micrograd._HOME.values()).split()}):
        names += _declared(name, functions.FUNCTIONS[name], "Any")
    return {
        PACKAGE / "scalars" / "methods.pyi": _formatted(methods),
        PACKAGE / "engine" / "ops.pyi": _formatted([TABLE, *_table(value.ops)]),
        PACKAGE / "scalars" / "ops.pyi": _formatted([TABLE, *_table(ops)]),
        PACKAGE / "engine" / "node.pyi": _formatted([NODE, *_class(Node, "", set()), *_functions(node)]),
        PACKAGE / "engine" / "value.pyi": _formatted([VALUE, *_value(), *_functions(value)]),
        PACKAGE / "__init__.pyi": _formatted([*names, f"__all__ = {micrograd.__all__}"]),
        **{PACKAGE / name / "__init__.pyi": _formatted(_face(f"micrograd.{name}")) for name in FACES},
    }


def _face(package: str) -> list[str]:
    module = sys.modules[package]
    return [*_imports(module), f"__all__ = {module.__all__}"]


def _table(module: ModuleType) -> Iterator[str]:
    """The rows, which are made by calls, and the functions that make them."""
    annotations = {**value.ops.__annotations__, **module.__annotations__}
    for name, x in vars(module).items():
        if isinstance(x, Row):
            yield f"{name}: Row"
        elif name in annotations:
            yield f"{name}: {annotations[name]}"
        elif name[0] != "_" and getattr(x, "__module__", "") in (module.__name__, value.ops.__name__):
            yield from _declared(name, x, inspect.signature(x).return_annotation)


def _value() -> Iterator[str]:
    """Value."""
    operators = {f"__{r}{name}__" for name in (*OPERATORS, *SIGNS) for r in ("", "r")}
    attached = {*vars(Elementwise), *ops.PUBLIC, *operators, "__lt__", "__le__", "__gt__", "__ge__"}
    yield from _class(Value, "(Node, Elementwise)", attached)


def _class(cls: type, bases: str, skipped: set[str]) -> Iterator[str]:
    """A class of the engine with what is added to it."""
    yield f"class {cls.__name__}{bases}:"
    yield from (f"    {name}: Any" for name in (*SLOTS, "grad", "data", "_prev", "_backward") if cls is Node)
    yield from (f"    {name}: Callable[..., Any]" for name in OF_A_KIND if cls is Node)
    for name, member in [*vars(cls).items()]:
        if name in skipped or name in (*SLOTS, "grad"):  # a first trace makes `grad` a property
            continue
        if isinstance(member, property) and (read := inspect.signature(member.fget)):
            kind = "Any" if read.return_annotation in (read.empty, "Self") else read.return_annotation
            yield from ("    @property", f"    def {name}(self) -> {kind}: ...")
            yield from [f"    @{name}.setter", f"    def {name}(self, x: Any) -> None: ..."] * bool(member.fset)
        elif inspect.isfunction(member):
            returned = inspect.signature(member).return_annotation
            returned = "None" if name == "__init__" else "Any" if returned is inspect.Signature.empty else returned
            yield from (f"    {line}" for line in _declared(name, member, returned))
        elif name in cls.__annotations__ or name in ("_made_by", "_hooks", "_made_at"):
            yield f"    {name}: Any"


def _functions(module: ModuleType) -> Iterator[str]:
    """The functions that a module defines."""
    for name, function in vars(module).items():
        if inspect.isroutine(function) and function.__module__ == module.__name__ and not name.startswith("_"):
            yield from _declared(name, function, inspect.signature(function).return_annotation)


def _declared(name: str, function: Callable, returned: str) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    by_position = [_parameter(p) for p in parameters if p.kind is p.POSITIONAL_ONLY]
    others = [_parameter(p) for p in parameters if p.kind is not p.POSITIONAL_ONLY]
    written = ", ".join([*by_position, *["/"] * bool(by_position), *others])
    if any(p.kind is p.KEYWORD_ONLY for p in parameters) and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        first = next(_parameter(p) for p in parameters if p.kind is p.KEYWORD_ONLY)
        written = written.replace(f", {first}", f", *, {first}")
    doc = inspect.cleandoc(function.__doc__ or "").partition("\n")[0]
    return [f"def {name}({written}) -> {returned}:", f'    """{doc}"""' if doc else "    ..."]


def _parameter(p: inspect.Parameter) -> str:
    annotation = "" if p.name == "self" else ": Any" if p.annotation is p.empty else f": {p.annotation}"
    default = (
        ""
        if p.default is p.empty
        else " = ..."
        if callable(p.default) or isinstance(p.default, Node)
        else f" = {p.default!r}"
    )
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
    argparse.ArgumentParser(description=__doc__).parse_args()
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
