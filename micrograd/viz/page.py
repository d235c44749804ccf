"""Self-contained HTML pages: built from a template, saved, opened in a browser, displayed in a notebook.

A notebook gets an `<img>`, which works where scripts are stripped (untrusted notebooks, mail, code hosts), followed by
an `<iframe srcdoc>` whose page hides the image once it runs. There is no inline SVG: untrusted notebooks drop it, and
export to LaTeX fails on it.
"""

import base64
import html
import json
import re
import tempfile
import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any
from zlib import compressobj

from .files import pdf_of, save_picture, written
from .modules import one_script
from .text import clean
from .values import FORMATS, WIDTHS


@dataclass
class Page:
    """A self-contained HTML document, with a static fallback: `picture`, an SVG document, and its text, `words`."""

    html: str
    picture: str
    words: str

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file and return the path. Raises ValueError if the name is of another format."""
        return written(self.html, path, "text/html", ".html")

    def open(self) -> Path:
        """Open the page in the browser, from a temporary file, and return its path."""
        target = self.save(Path(tempfile.mkdtemp(prefix="micrograd-")) / "index.html")
        if not webbrowser.open(target.as_uri()):
            raise RuntimeError(f"no browser was found: open {target} yourself, or save() the page where you want it")
        return target

    def __repr__(self) -> str:
        return f"<Page: {self.words.splitlines()[0]}; save(path), open()>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str]:
        markup = f"<div>{image(self.picture, self.words)}{self._frame()}</div>"
        return bundle(markup, self.words, include, exclude, self.picture)

    def _mime_(self) -> tuple[str, str]:
        """The frame alone, for marimo, which would show the image beside the frame, where the page cannot hide it."""
        return "text/html", self._frame()

    def _frame(self) -> str:
        page = self.html.replace("&", "&amp;").replace("'", "&#39;")  # `"` needs no escape here, and JSON is full of it
        title, style = html.escape(self.words.splitlines()[0]), "width: 100%; height: 0; border: 0; display: block"
        return f'<iframe srcdoc=\'{page}\' title="{title}" style="{style}"></iframe>'


@dataclass
class Svg:
    """A picture: `svg` is the document, `words` its description."""

    svg: str
    words: str

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the picture to a file and return its path: an SVG or, if the name ends in .png, a PNG by resvg-py.

        Raises ValueError if the name is that of another format.
        """
        return save_picture(self.svg, path)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.words.splitlines()[0]}; save(path)>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str]:
        """An `<img>`, since untrusted notebooks drop inline SVG, and export to LaTeX fails on it."""
        return bundle(image(self.svg, self.words), self.words, include, exclude, self.svg)


def bundle(markup: str, words: str, include: Any = None, exclude: Any = None, svg: str = "") -> dict[str, str]:
    """The result of `_repr_mimebundle_`: HTML and plain text, filtered by the MIME types to include and exclude.

    A PDF of the picture, which LaTeX needs, is added if cairosvg is installed. (An SVG would let the export fail on a
    machine without Inkscape.)
    """
    formats = {"text/html": markup, "text/plain": words}
    if pdf := pdf_of(svg) if svg else "":
        formats["application/pdf"] = pdf
    chosen = formats.keys() & set(include or formats) - set(exclude or ())
    return {mime_type: text for mime_type, text in formats.items() if mime_type in chosen}


def image(svg: str, words: str, style: str = "max-width: 100%") -> str:
    """An `<img>` with the SVG document embedded as a data URI, and `words` as its alternative text."""
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    return f'<img alt="{html.escape(words)}" style="{style}" src="{source}">'


def join(name: str, title: str, data: Any, *, style: str, script: str, **markup: str) -> str:
    """A page, such as "playing/player", with its body, style, script and packed data inserted into page.html."""
    title = html.escape(clean(title), quote=False)
    packed = "null" if data is None else pack(json.dumps(data, separators=(",", ":"), allow_nan=False))
    insertions = {"title": title, "style": style, "data": packed, "script": script, **markup}
    template = asset("page.html").replace("%body%\n", asset(f"{name}.html"))
    return re.sub(f"%({'|'.join(insertions)})%", lambda mark: insertions[mark[1]], template)


def pack(text: str) -> str:
    """Text, compressed (RFC 1951) and in base64.

    With less memory, zlib closes its blocks earlier, with codes that fit each block, so the data of a movie is 2 %
    smaller.
    """
    packed = compressobj(9, wbits=-15, memLevel=6)
    return base64.b64encode(packed.compress(text.encode()) + packed.flush()).decode()


@lru_cache(maxsize=8)
def script(entry: str, sheet: str = "") -> str:
    """The script of a page and its style sheet, compressed to a third, since a notebook keeps a copy for each page."""
    return asset("unpack.js").replace("%packed%", pack(source(entry, sheet)))


def source(entry: str, sheet: str = "") -> str:
    """The script that sets the style of the page, then runs the module `entry` with all modules that it imports."""
    style = json.dumps(uncommented("".join(map(asset, sheet.split()))))  # `sheet` may name several files
    begin = f"document.querySelector('style').append({style});" if sheet else ""
    return f'"use strict";{begin}(()=>{{{_joined(entry)}}})();'


def numbers() -> str:
    """The script numbers.js, by which pages write numbers and compute the widths of lines."""
    return _joined("numbers.js")


def _joined(entry: str) -> str:
    return one_script(entry, asset, formats=FORMATS, widths=WIDTHS)


@lru_cache(maxsize=64)
def asset(name: str) -> str:
    """The text of a template, style sheet or script of this package."""
    return (files("micrograd.viz") / name).read_text(encoding="utf-8")


@lru_cache(maxsize=8)
def sheet(name: str, scope: str = "") -> str:
    """A style sheet for a picture, a rule a line, with light colours, and dark colours for viewers that prefer them.

    Colours replace the variables, which not every viewer of SVG knows. `scope` is a prefix of each selector.
    """
    (light, dark), rules, night = colours(), [], []
    for selectors, body in re.findall(r"^(\S.*?) \{ (.*) \}$", asset(name), re.MULTILINE):
        scoped = ",".join(f"{scope}{selector}" for selector in selectors.split(", "))
        declarations = body.rstrip(";").split("; ")
        day = [_coloured(declaration, light) for declaration in declarations]
        rules.append(f"{scoped}{{{';'.join(day)}}}")
        darker = [_coloured(declaration, dark) for declaration in declarations]
        if changed := [new for new in darker if new not in day]:
            night.append(f"{scoped}{{{';'.join(changed)}}}")
    return "\n".join([*rules, "@media (prefers-color-scheme:dark){", *night, "}"])


def colours() -> tuple[dict[str, str], dict[str, str]]:
    """The colours of palette.css by their names, for a light page and for a dark page."""
    themes = asset("palette.css").split("[data-theme")
    light, dark = (dict(re.findall(r"(--[\w-]+): ([^;]+);", theme)) for theme in themes)
    return light, light | dark


def palette() -> str:
    """The style sheet of a page's colours, which are dark if `data-theme` or, without a theme, the viewer says so."""
    both = asset("palette.css")
    night = both.partition("[data-theme=dark]")[2]
    return f"{both}@media (prefers-color-scheme: dark) {{ :root:not([data-theme]) {night}}}\n"


def uncommented(style: str) -> str:
    """A style sheet without its comments and indents, one rule a line."""
    return re.sub(r"^ +|  /\*.*?\*/$|^/\*.*?\*/\n|^\n|(?<=[{;,])\n", "", style, flags=re.MULTILINE)


def _coloured(text: str, table: Mapping[str, str]) -> str:
    return re.sub(r"var\((--[\w-]+)\)", lambda variable: table[variable[1]], text)
