"""The modules of a page's script as one script: a page is a single file, and is made where there is no bundler.

A module is joined to those that it imports, which come first, as in a browser. They share one scope, so that a name at
the top of a module is there once. White space that separates no words goes, and so does each comment.
"""

import json
import posixpath
import re
from collections.abc import Callable

IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"(\.[^"]*)";\n', re.MULTILINE)

# A chunk of a template literal, up to its end or to an expression in it; a regular expression; any other token
_CHUNK = re.compile(r"[`}](?:\\.|\$(?!\{)|[^`\\$])*(?:`|\$\{)", re.DOTALL)
_REGEX = re.compile(r"/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n[])+/\w*")
_TOKEN = re.compile(
    r"\s+|//.*|/\*[\s\S]*?\*/"
    r"""|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
    r"|\.?\d(?:[eE][-+]|[\w.])*|[\w$#]+"
    r"|>>>=|\.\.\.|[=!]==|\*\*=|<<=|>>>?=?|&&=|\|\|=|\?\?=|=>|[-+*/%&|^<>=!]=|&&|\|\||\?\?|\?\.(?!\d)|\+\+|--|<<|\*\*|."
)
_BEFORE_REGEX = re.compile(r"([(,=:[!&|?{};+*%<>~^-]|\breturn|\btypeof|\bcase)$")


def tokens(source: str) -> list[str]:
    """The tokens of JavaScript without comments and white space; of a template literal, a token for each chunk of text.

    >>> tokens("let x = `a ${b} c`;  // why")
    ['let', 'x', '=', '`a ${', 'b', '} c`', ';']
    """
    found: list[str] = []
    braces: list[int] = []  # of each template literal that is open: the braces that are open in its expression
    at = 0
    while at < len(source):
        goes_on = source[at] == "}" and braces[-1:] == [0]
        if goes_on:
            braces.pop()
        if goes_on or source[at] == "`":
            kind = _CHUNK
        else:
            is_regex = source[at] == "/" and (not found or _BEFORE_REGEX.search(found[-1])) and _REGEX.match(source, at)
            kind = _REGEX if is_regex else _TOKEN
        match = kind.match(source, at)
        if not match:
            raise ValueError(f"a template literal has no end: {source[at : at + 40]!r}")
        token, at = match[0], match.end()
        if kind is _CHUNK and token.endswith("${"):
            braces.append(0)
        elif kind is _TOKEN and braces:
            braces[-1] += (token == "{") - (token == "}")
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
        are_words = re.match(r"[\w$#]", last) and re.match(r"[\w$#]", first)
        parts += [" ", token] if are_words or (last == first and first in "+-/") else [token]
    return "".join(parts)


def modules(entry: str, read: Callable[[str], str]) -> dict[str, str]:
    """A page's modules by name, in the order in which they run: what a module imports comes before it."""
    found: dict[str, str] = {}

    def visit(name: str) -> None:
        if name in found:
            return
        found[name] = ""  # modules may import each other, as long as neither uses the other while it is loaded
        text = read(name)
        for _, path in IMPORT.findall(text):
            visit(posixpath.normpath(posixpath.join(posixpath.dirname(name), path)))
        del found[name]
        found[name] = text

    visit(entry)
    return found


def one_script(entry: str, read: Callable[[str], str], **tables: object) -> str:
    """All modules of a page in one scope; `tables` are put in where a module has "%name%"."""
    text = "".join(modules(entry, read).values())
    for name, table in tables.items():
        text = text.replace(f'"%{name}%"', json.dumps(table))
    return squeezed(re.sub("^export ", "", IMPORT.sub("", text), flags=re.MULTILINE))
