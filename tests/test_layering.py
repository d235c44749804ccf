"""The shape of the package: which folder may use which, no circles, and a budget of tokens for each."""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import pytest

from micrograd.viz.modules import tokens

PACKAGE = Path(__file__).parent.parent / "micrograd"
FILES = sorted(PACKAGE.rglob("*.py"))

# The rooms, from the ground up: what each may use, and its budget of tokens of code (comments and docstrings are free,
# and so are line breaks). A budget leaves about 5 % of room for the next line, and is met by a better idea.
GROUND = {"engine", "scalars", "common"}
ROOMS: dict[str, tuple[set[str], int]] = {
    "engine": (set(), 8_750),
    "common": (set(), 1_400),
    "scalars": ({"engine", "common"}, 8_400),
    "tensor": (GROUND, 21_600),
    "autograd": (GROUND | {"tensor"}, 7_800),
    "functional": (GROUND | {"tensor"}, 3_550),
    "optim": (GROUND | {"tensor"}, 4_400),
    "nn": (GROUND | {"tensor", "functional"}, 10_200),
    "compiler": (GROUND | {"tensor", "autograd", "nn", "optim"}, 52_000),
    "backends": ({"compiler"}, 24_950),
    "viz": (GROUND, 7_500),  # what its four rooms share, and what joins the modules of JavaScript
    "viz.drawing": (GROUND | {"viz"}, 23_000),
    "viz.playing": (GROUND | {"viz", "viz.drawing"}, 17_750),
    "viz.training": (GROUND | {"tensor", "functional", "nn", "viz", "viz.drawing", "viz.playing"}, 19_000),
    "viz.from_torch": (GROUND | {"tensor", "functional", "viz", "viz.drawing"}, 4_750),
    "command": (GROUND | {"viz", "viz.drawing"}, 6_600),
}
# And of tokens of JavaScript, as the joiner of pages tells them
JAVASCRIPT = {"backends": 1_050, "viz": 1_050, "viz.playing": 47_250, "viz.training": 4_050}
ONE_PAGE = 100  # lines of code of demos/one_page.py

# The floors, as the README tells them: a name and where its door is, the rooms that it adds, and what they add. A floor
# without a room, as yet, is not shown.
FLOORS: list[tuple[str, str, set[str], str]] = [
    ("the heart", "micrograd/engine/__init__.py", {"engine"}, "the derivative table, deep graphs, errors that help"),
    (
        "all scalars",
        "micrograd/scalars/__init__.py",
        {"scalars", "common"},
        "more operations, hooks, modes, anomaly detection",
    ),
    ("arrays", "micrograd/tensor/__init__.py", {"tensor"}, "`Tensor`, and NumPy's functions with gradients"),
    (
        "networks",
        "micrograd/nn/__init__.py",
        {"autograd", "functional", "optim", "nn"},
        "layers, losses, optimizers; gradients of functions",
    ),
    (
        "everything",
        "micrograd/__init__.py",
        {"compiler", "backends", "viz", "viz.drawing", "viz.playing", "viz.training", "viz.from_torch", "command"},
        "`compile`, pictures, the command line",
    ),
]
# Names, no code
FACES = {"micrograd", "micrograd.face", "micrograd.functional", "micrograd.nn", "micrograd.viz", "micrograd.__main__"}
SHOW = {  # imported when somebody asks for a picture or a text
    ("micrograd.scalars.methods", "viz.playing"),
}
WITHOUT_NUMPY = {"engine", "scalars", "common", "functional", "optim", "viz", "viz.drawing", "command"}


def module_name(path: Path) -> str:
    """micrograd/nn/__init__.py -> "micrograd.nn"."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    """micrograd.viz.drawing.svg -> "viz.drawing"; micrograd.viz.page -> "viz"."""
    _, *parts = module.split(".")
    return ".".join(parts[:2]) if ".".join(parts[:2]) in ROOMS else ".".join(parts[:1])


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, inside functions and for types too."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package.pop()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
OWN = {name: {found for found in names if found in MODULES} for name, names in IMPORTS.items()}
SOURCES = {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}


LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_tokens(source: str) -> list[tokenize.TokenInfo]:
    """The tokens of code: no line breaks, indents, comments or docstrings.

    >>> [token.string for token in code_tokens('"doc"\\n\\n# why\\nx = (1,\\n     2)\\n')]
    ['x', '=', '(', '1', ',', '2', ')']
    """
    nodes = ast.walk(ast.parse(source))
    texts = [node.value for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    docstrings = {text.lineno for text in texts if isinstance(text.value, str)}
    code = [token for token in _tokens(source) if token.type not in LAYOUT]
    return [token for token in code if token.type != tokenize.STRING or token.start[0] not in docstrings]


def _tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a source; of an f-string one, as up to Python 3.11, where later versions have its parts."""
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        depth -= kind == "FSTRING_END"
        if depth == 0 and kind != "FSTRING_START":
            yield token
        depth += kind == "FSTRING_START"


def code_lines(source: str) -> int:
    """The number of lines that hold code: not blank, not a comment, not (part of) a docstring.

    >>> code_lines('"doc"\\n\\n# why\\nx = (1,\\n     2)\\n')
    2
    """
    lines = set()
    for token in code_tokens(source):
        lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def lines_of(rooms: set[str]) -> int:
    """The lines of code in these rooms, as the README's table says them."""
    return sum(code_lines(source) for module, source in SOURCES.items() if room(module) in rooms & ROOMS.keys())


@pytest.mark.parametrize("name", sorted(MODULES.keys() - FACES))
def test_file_uses_only_what_its_room_may(name):
    below = {room(found) for found in OWN[name] if (name, room(found)) not in SHOW} - {room(name)}
    assert below <= ROOMS[room(name)][0]


@pytest.mark.parametrize("name", sorted(name for name in MODULES if room(name) in WITHOUT_NUMPY))
def test_rooms_without_arrays_need_no_numpy(name):
    """The engine needs the standard library alone; a drawing also what the package depends on."""
    outside = {found.split(".")[0] for found in IMPORTS[name] - OWN[name]} - sys.stdlib_module_names
    assert outside <= ({"graphviz"} if room(name) == "viz.drawing" else set())


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"micrograd"}))
def test_modules_import_nothing_from_the_package_itself(name):
    """micrograd/__init__.py looks names up for users; inside, a name comes from the file that holds it."""
    assert "micrograd" not in OWN[name]


def test_names_are_imported_wholesale_from_no_other_package():
    """Each name that such a package adds would be a name of ours."""
    stars = {
        name: f"from {node.module} import *"
        for name, source in SOURCES.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and not node.level
    }
    assert stars == {}


def in_circles(imports: Mapping[str, Set[str]]) -> list[str]:
    """The files that are in a circle of imports, or above one."""
    waiting = {name: below - {name} for name, below in imports.items()}
    while ready := [name for name, below in waiting.items() if below.isdisjoint(waiting)]:
        for name in ready:
            del waiting[name]
    return sorted(waiting)


def test_files_import_each_other_in_no_circle():
    assert in_circles(OWN) == []


@pytest.mark.parametrize("folder", [PACKAGE, PACKAGE.parent / "site" / "live"], ids=lambda folder: folder.name)
def test_modules_of_javascript_import_each_other_in_no_circle(folder):
    imported = re.compile(r"""^(?:import|export)\b[^;]*?["'](\.[^"']+)["'];$""", re.MULTILINE)
    texts = {path: path.read_text(encoding="utf-8") for path in folder.resolve().rglob("*.js")}
    imports = {
        str(path): {str((path.parent / other).resolve()) for other in imported.findall(text)}
        for path, text in texts.items()
    }
    assert any(imports.values()), "no import was read"
    assert in_circles(imports) == []


@pytest.mark.parametrize("name", ROOMS)
def test_room_keeps_its_budget_of_tokens_of_code(name):
    sizes = Counter({module: len(code_tokens(text)) for module, text in SOURCES.items() if room(module) == name})
    over = sizes.total() - ROOMS[name][1]
    assert over <= 0, f"{name} is {over} tokens over its budget: see CONTRIBUTING.md, Budgets\n{sizes.most_common()}"


@pytest.mark.parametrize("name", JAVASCRIPT)
def test_room_keeps_its_budget_of_tokens_of_javascript(name):
    folder = PACKAGE / name.replace(".", "/")
    sizes = Counter({path.name: len(tokens(path.read_text(encoding="utf-8"))) for path in folder.glob("*.js")})
    over = sizes.total() - JAVASCRIPT[name]
    assert over <= 0, f"{name} is {over} tokens over its budget: see CONTRIBUTING.md, Budgets\n{sizes.most_common()}"


def test_javascript_is_in_rooms_that_have_a_budget_for_it():
    assert {room(module_name(path)) for path in PACKAGE.rglob("*.js")} <= JAVASCRIPT.keys()


def test_each_room_is_on_one_floor_and_uses_those_below():
    above = [rooms for _, _, rooms, _ in FLOORS]
    assert Counter(name for rooms in above for name in rooms if name in ROOMS) == Counter([*ROOMS])
    for height, rooms in enumerate(above):
        below = set().union(*above[: height + 1])
        assert all(ROOMS[name][0] <= below for name in rooms if name in ROOMS)


def test_one_page_has_as_many_lines_as_is_said():
    assert code_lines((PACKAGE.parent / "demos" / "one_page.py").read_text(encoding="utf-8")) <= ONE_PAGE


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_asserts_catch_no_user_mistake(path):
    """`python -O` drops assert statements, and an AssertionError tells a user nothing."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)] == []
