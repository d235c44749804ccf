"""A page that carries all it needs: joined from a template, saved, opened, and shown in a notebook.

In a notebook it is an `<img>`, which survives where scripts are taken away (an untrusted notebook, a mail, a code
host), and then an `<iframe srcdoc>`, whose page hides the image once it runs. Inline SVG is kept out of the bundle: it
vanishes from untrusted notebooks and breaks their export to LaTeX.
"""

import base64
import html
import json
import re
import tempfile
import webbrowser
from dataclasses import dataclass
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from .text import clean


@dataclass
class Page:
    """One self-contained HTML document, the `picture` (`type`, bytes) that stands in for it, and that in words."""

    html: str
    picture: tuple[str, bytes]
    words: str

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file; gives its path."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def open(self) -> Path:
        """Show the page in the browser, from a temporary file; gives its path."""
        target = self.save(Path(tempfile.mkdtemp(prefix="micrograd-")) / "index.html")
        if not webbrowser.open(target.as_uri()):
            raise RuntimeError(f"no browser was found: open {target} yourself, or save() the page where you want it")
        return target

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.words.splitlines()[0]}; save(path), open()>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str]:
        return bundle(self._notebook(), self.words, include, exclude)

    def _notebook(self) -> str:
        page = self.html.replace("&", "&amp;").replace("'", "&#39;")  # JSON is full of ", which may stay as they are
        frame = f"<iframe srcdoc='{page}' title=\"{html.escape(self.words.splitlines()[0])}\""
        style = "width: 100%; height: 0; border: 0; display: block"
        return f'<div>{image(*self.picture, self.words)}{frame} style="{style}"></iframe></div>'


def bundle(markup: str, words: str, include: Any = None, exclude: Any = None) -> dict[str, str]:
    """What `_repr_mimebundle_` gives to a notebook that wants some kinds (`include`), or not some (`exclude`)."""
    kinds = {"text/html": markup, "text/plain": words}
    return {
        kind: what
        for kind, what in kinds.items()
        if (not include or kind in include) and not (exclude and kind in exclude)
    }


def image(kind: str, picture: bytes, words: str, style: str = "max-width: 100%") -> str:
    """An `<img>` that carries its picture, and tells it in words to whoever cannot see it."""
    source = f"data:{kind};base64,{base64.b64encode(picture).decode()}"
    return f'<img alt="{html.escape(words)}" style="{style}" src="{source}">'


def join(name: str, title: str, data: Any, **markup: str) -> str:
    """The page of this name, "playing/player" say: its body in the frame of all pages, with style, script and data."""
    parts = {
        "title": html.escape(clean(title), quote=False),
        "style": asset(f"{name}.css"),
        "script": asset("page.js") + asset(f"{name}.js"),
        "data": _json(data),
        **markup,
    }
    whole = asset("page.html").replace("%body%\n", asset(f"{name}.html"))
    return re.sub(f"%({'|'.join(parts)})%", lambda mark: parts[mark[1]], whole)


def asset(name: str) -> str:
    """The text of a file that lies beside this one: a template, a style, a script."""
    return (files("micrograd.viz") / name).read_text(encoding="utf-8")


def _json(data: Any) -> str:
    """JSON that can stand in a <script>: nothing in it can end the element, and no line separator can end a line."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
