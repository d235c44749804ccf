"""The modules of a page's script as one script, since a page is a single file and there is no bundler.

A module is joined to the modules that it imports, which run first, as in a browser. Two modules may import each other,
as long as neither uses the other while it is loaded. Once joined, all modules share one scope. Comments and needless
white space are left out.

A module may have these forms of imports and declarations, and every other form is refused:

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
    """A module: the names that it imports, by file, the names at its top, the names that it exports, and its code."""

    imports: dict[str, list[str]]
    names: list[str]
    exports: set[str]
    code: str


def module(file: str, source: str) -> Module:
    """The module in a file. Raises ValueError for a form that cannot be joined."""
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
    by_file: dict[str, Module] = {}

    def visit(file: str) -> None:
        if file in by_file:
            return
        by_file[file] = module(file, read(file))
        for imported in by_file[file].imports:
            visit(imported)
        by_file[file] = by_file.pop(file)  # after the modules that it imports

    visit(entry)
    return by_file


def joined(by_file: dict[str, Module]) -> str:
    """These modules in one scope. Raises ValueError for a name that is not exported, or is declared twice."""
    homes: dict[str, str] = {}
    for file, module in by_file.items():
        for name in module.names:
            if name in homes:
                raise ValueError(f"{homes[name]} and {file} share a scope, and both declare {name}: rename one of them")
            homes[name] = file
        for imported, names in module.imports.items():
            if missing := set(names) - by_file[imported].exports:
                raise ValueError(f"{file} imports {', '.join(sorted(missing))}, which {imported} does not export")
    return "".join(module.code for module in by_file.values())


def one_script(entry: str, read: Callable[[str], str], **tables: object) -> str:
    """All modules of a page as one script. Each of the `tables` replaces "%name%" in the modules."""
    text = joined(modules(entry, read))
    for name, table in tables.items():
        text = text.replace(f'"%{name}%"', json.dumps(table))
    return squeezed(text)


# ------------------------------------------------------------------------------------------------ white space
# A chunk of a template literal, up to its end or to an expression in it; a regular expression; any other token; a token
# after which a "/" is a division, rather than the begin of a regular expression
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
    """The tokens of JavaScript without comments and white space. Each chunk of text in a template literal is a token.

    >>> tokens("let x = `a ${b} c`;  // why")
    ['let', 'x', '=', '`a ${', 'b', '} c`', ';']
    """
    listed: list[str] = []
    depths: list[int] = []  # for each open template literal, the number of open braces in its expression
    at = 0
    while at < len(source):
        pattern = TOKEN
        if source[at] == "}" and depths[-1:] == [0]:
            depths.pop()
            pattern = CHUNK
        elif source[at] == "`":
            pattern = CHUNK
        elif source[at] == "/" and not source.startswith(("//", "/*"), at):
            pattern = TOKEN if listed and VALUE.fullmatch(listed[-1]) else REGEX
        match = pattern.match(source, at)
        if match is None:
            raise ValueError(f"a template literal or a regular expression has no end: {source[at : at + 40]!r}")
        token, at = match[0], match.end()
        if token.endswith("${"):
            depths.append(0)
        elif depths:
            depths[-1] += (token == "{") - (token == "}")
        if not token.isspace() and not token.startswith(("//", "/*")):
            listed.append(token)
    return listed


def squeezed(source: str) -> str:
    """JavaScript without comments and needless white space. Each statement of `source` must end with a semicolon.

    >>> squeezed("if (x) return y + +1;  // why")
    'if(x)return y+ +1;'
    """
    parts = [""]
    for token in tokens(source):
        last, first = parts[-1][-1:], token[0]
        are_words = NAME.fullmatch(last) and NAME.fullmatch(first)
        parts += [" ", token] if are_words or (last == first and first in "+-/") else [token]
    return "".join(parts)
