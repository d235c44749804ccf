"""The shape of the package: imports point down only, and the core stays small enough to read."""

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "micrograd"
FILES = sorted(PACKAGE.rglob("*.py"))

# The core, from the ground up, and what each file of it may import of its own package.
# A file that does not exist yet is simply not there.
CORE = {
    "micrograd.modes": set(),
    "micrograd.floats": set(),
    "micrograd.grad_fn": set(),
    "micrograd.rows": set(),
    "micrograd.infix": set(),
    "micrograd.rule_text": {"micrograd.infix", "micrograd.ops", "micrograd.rows"},
    "micrograd.graph": {"micrograd.grad_fn", "micrograd.modes", "micrograd.rows", "micrograd.rule_text"},
    "micrograd.scalar_walk": {"micrograd.graph", "micrograd.ops", "micrograd.rows"},
    "micrograd.walk": {"micrograd.graph", "micrograd.modes", "micrograd.rows", "micrograd.scalar_walk"},
    "micrograd.ops": {"micrograd.rows", "micrograd.floats"},
    "micrograd.words": set(),
    "micrograd.methods": {"micrograd.ops", "micrograd.rows", "micrograd.words"},
    "micrograd.engine": {
        "micrograd.graph",
        "micrograd.walk",
        "micrograd.ops",
        "micrograd.methods",
        "micrograd.modes",
        "micrograd.rows",
    },
    "micrograd.arrays": {"micrograd.rows", "micrograd.ops"},
    "micrograd.array_library": set(),
}
TENSOR = {"micrograd.storage", "micrograd.array_node", "micrograd.tensor_ops", "micrograd.tensor"}
TENSOR |= {"micrograd.array_functions", "micrograd.einstein", "micrograd.protocols"}  # what NumPy's functions are here
CORE |= {name: {*CORE, *TENSOR} for name in TENSOR}  # they stand on all of these, and name each other as types
USES_NUMPY = {"micrograd.array_library", *TENSOR}
ARRAYS = {"micrograd.arrays", *USES_NUMPY}

# The budgets, in lines of code: blank lines, comments and docstrings are free.
SCALAR_CORE = 1095  # all of the core but ARRAYS
WHOLE_CORE = 1980
LONGEST_FILE = 400  # here every line counts: it is what a reader has to scroll


def module_name(path: Path) -> str:
    """micrograd/nn/__init__.py -> "micrograd.nn"."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, inside functions too; what only type checkers read is no import.

    Nor is what `show` fetches: a method that everybody expects on a node, and the one arrow that points up.
    """
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package.pop()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for block in ast.walk(tree):
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            block.body = []
        if isinstance(block, ast.FunctionDef) and (path.name, block.name) == ("graph.py", "show"):
            block.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"  # `from micrograd import engine` imports micrograd.engine
                yield inner if inner in MODULES else source


MODULES = {module_name(path): path for path in FILES}
IMPORTS = {name: set(imports(path)) for name, path in MODULES.items()}
WRITTEN_CORE = sorted(CORE.keys() & MODULES.keys())


def own(names: set[str]) -> set[str]:
    """Those that are of this package."""
    return {name for name in names if name.split(".")[0] == "micrograd"}


def code_lines(source: str) -> int:
    """The number of lines that hold code: not blank, not a comment, not (part of) a docstring.

    >>> code_lines('"doc"\\n\\n# why\\nx = (1,\\n     2)\\n')
    2
    """
    free = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in free:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


@pytest.mark.parametrize("name", WRITTEN_CORE)
def test_the_core_imports_only_what_lies_below(name):
    assert own(IMPORTS[name]) <= CORE[name]


@pytest.mark.parametrize("name", WRITTEN_CORE)
def test_the_core_needs_only_the_standard_library_and_tensor_numpy(name):
    outside = {found.split(".")[0] for found in IMPORTS[name] - own(IMPORTS[name])} - sys.stdlib_module_names
    assert outside <= ({"numpy"} if name in USES_NUMPY else set())


@pytest.mark.parametrize("name", WRITTEN_CORE)
def test_the_core_imports_nothing_by_a_name_made_at_run_time(name):
    """`import_module("micrograd.viz")` would be an arrow upwards that the tests above cannot see."""
    called = {
        getattr(node.func, "id", getattr(node.func, "attr", None))
        for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    }
    assert called.isdisjoint({"import_module", "__import__", "exec", "eval"})


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"micrograd"}))
def test_nothing_imports_from_the_package_itself(name):
    """micrograd/__init__.py looks names up for users; inside, a name comes from the file that holds it."""
    assert "micrograd" not in IMPORTS[name]


def test_no_two_modules_import_each_other():
    waiting = {name: own(IMPORTS[name]) - {name} for name in MODULES.keys() - {"micrograd"}}
    while ready := [name for name, below in waiting.items() if below.isdisjoint(waiting)]:
        for name in ready:
            del waiting[name]
    assert not waiting, f"in a cycle, or above one: {sorted(waiting)}"


@pytest.mark.parametrize(
    ("names", "budget"),
    [(CORE.keys() - ARRAYS, SCALAR_CORE), (CORE.keys(), WHOLE_CORE)],
    ids=["scalars", "scalars and arrays"],
)
def test_the_core_keeps_its_budget_of_lines_of_code(names, budget):
    lines = {name: code_lines(MODULES[name].read_text(encoding="utf-8")) for name in names & MODULES.keys()}
    assert sum(lines.values()) <= budget, lines


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_no_file_is_longer_than_an_evening_allows(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_no_user_mistake_is_left_to_an_assert(path):
    """`python -O` drops assert statements, and an AssertionError tells a user nothing."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)] == []
