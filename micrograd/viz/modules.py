"""The modules of a page's script as one script: a page is a single file, and is made where there is no bundler.

A module is joined to those that it imports, which run before it, as in a browser. Two modules may import each other, as
long as neither uses the other while it is loaded. Once joined, all modules share one scope. Comments and needless white
space are left out.

A module has the forms that are joined here, and each other one is refused:

    import {a, b} from "./file.js";       at the beginning of a line, of what that file exports; or import "./file.js";
    export const a = 1;                   one name a statement; or let, function, async function, class
    const {a, b} = c;                     or [a, b]; exported too
"""

import json
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"(\.[^"]*)";\n', re.MULTILINE)
STATEMENT = re.compile(r"^(?:import|export|const|let|var|class|(?:async )?function)\b.*", re.MULTILINE)
DECLARED = re.compile(
    r"^(export )?(?:const|let|class|(?:async )?function) ([\w$]++|[{[][\w$,\s]+[]}])(?!,| =.*,$)", re.MULTILINE
)
NAME = re.compile(r"[\w$]+")


@dataclass
class Module:
    """What a module imports, as the names by file; the names at its top, and those that it exports; its statements."""

    imports: dict[str, list[str]]
    names: list[str]
    exports: set[str]
    code: str


def module(file: str, source: str) -> Module:
    """The module in a file, or a ValueError that says what of it cannot be joined."""
    folder = posixpath.dirname(file)
    imports = {
        posixpath.normpath(posixpath.join(folder, path)): NAME.findall(names) for names, path in IMPORT.findall(source)
    }
    code = IMPORT.sub("", source)
    for statement in STATEMENT.finditer(code):
        if not DECLARED.match(code, statement.start()):
            raise ValueError(f"{file} has {statement[0]!r}, none of the forms that micrograd/viz/modules.py joins")
    declared = [(name, export) for export, names in DECLARED.findall(code) for name in NAME.findall(names)]
    names, exports = [name for name, _ in declared], {name for name, export in declared if export}
    return Module(imports, names, exports, re.sub("^export ", "", code, flags=re.MULTILINE))


def modules(entry: str, read: Callable[[str], str]) -> dict[str, Module]:
    """A page's modules by file, in the order in which they run. `read` gives the text of a file."""
    found: dict[str, Module] = {}

    def visit(file: str) -> None:
        if file in found:
            return
        found[file] = here = module(file, read(file))
        for other in here.imports:
            visit(other)
        found[file] = found.pop(file)  # after those that it imports

    visit(entry)
    return found


def joined(found: dict[str, Module]) -> str:
    """These modules in one scope, or a ValueError where a name is missing or is there twice."""
    homes: dict[str, str] = {}
    for file, here in found.items():
        for name in here.names:
            if name in homes:
                raise ValueError(f"{homes[name]} and {file} share a scope, and both declare {name}: rename one of them")
            homes[name] = file
        for other, names in here.imports.items():
            if missing := set(names) - found[other].exports:
                raise ValueError(f"{file} imports {', '.join(sorted(missing))}, which {other} does not export")
    return "".join(here.code for here in found.values())


def one_script(entry: str, read: Callable[[str], str], **tables: object) -> str:
    """All modules of a page as one script; `tables` are put in where a module has "%name%"."""
    text = joined(modules(entry, read))
    for name, table in tables.items():
        text = text.replace(f'"%{name}%"', json.dumps(table))
    return squeezed(text)


# ------------------------------------------------------------------------------------------------ white space
# A chunk of a template literal, up to its end or to an expression in it; a regular expression; any other token; what a
# "/" divides, where it begins no regular expression
CHUNK = re.compile(r"[`}](?:\\.|\$(?!\{)|[^`\\$])*(?:`|\$\{)", re.DOTALL)
REGEX = re.compile(r"/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n[])+/\w*")
TOKEN = re.compile(
    r"\s+|//.*|/\*[\s\S]*?\*/"
    r"""|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
    r"|\.?\d(?:[eE][-+]|[\w.])*|[\w$#]+"
    r"|>>>=|\.\.\.|[=!]==|\*\*=|<<=|>>>?=?|&&=|\|\|=|\?\?=|=>|[-+*/%&|^<>=!]=|&&|\|\||\?\?|\?\.(?!\d)|\+\+|--|<<|\*\*|."
)
VALUE = re.compile(r"(?!(?:return|typeof|case|await|else)$)\.?[\w$#].*|.*[)\]}\"'`]|\+\+|--", re.DOTALL)


def tokens(source: str) -> list[str]:
    """The tokens of JavaScript without comments and white space; of a template literal, a token for each chunk of text.

    >>> tokens("let x = `a ${b} c`;  // why")
    ['let', 'x', '=', '`a ${', 'b', '} c`', ';']
    """
    found: list[str] = []
    depths: list[int] = []  # of each template literal that is open: how many braces are open in its expression
    at = 0
    while at < len(source):
        kind = TOKEN
        if source[at] == "}" and depths[-1:] == [0]:
            depths.pop()
            kind = CHUNK
        elif source[at] == "`":
            kind = CHUNK
        elif source[at] == "/" and not source.startswith(("//", "/*"), at):
            kind = TOKEN if found and VALUE.fullmatch(found[-1]) else REGEX
        match = kind.match(source, at)
        if match is None:
            raise ValueError(f"a template literal or a regular expression has no end: {source[at : at + 40]!r}")
        token, at = match[0], match.end()
        if token.endswith("${"):
            depths.append(0)
        elif depths:
            depths[-1] += (token == "{") - (token == "}")
        if not token.isspace() and not token.startswith(("//", "/*")):
            found.append(token)
    return found


def squeezed(source: str) -> str:
    """JavaScript in which each statement ends with its semicolon, without comments and needless white space.

    >>> squeezed("if (x) return y + +1;  // why")
    'if(x)return y+ +1;'
    """
    parts = [""]
    for token in tokens(source):
        last, first = parts[-1][-1:], token[0]
        are_words = NAME.fullmatch(last) and NAME.fullmatch(first)
        parts += [" ", token] if are_words or (last == first and first in "+-/") else [token]
    return "".join(parts)
