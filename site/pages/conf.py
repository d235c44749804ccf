"""Sphinx's settings. The sources are gathered by site/sources.py."""

import builtins
import re
from pathlib import Path

from docutils.nodes import document
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

import micrograd

project = "micrograd"
author = "the micrograd-glass authors"
copyright = f"{author}, MIT licence"
release = version = micrograd.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]

# ---- pages and lessons
templates_path = ["_templates"]
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline"]
nb_execution_mode = "off"  # the outputs are kept in the notebooks, and the tests compare them
nb_merge_streams = True
smartquotes_action = "D"  # dashes only
mathjax_path = "mathjax/tex-svg-full.js"

# ---- the reference
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
add_module_names = False
napoleon_numpy_docstring = False
toc_object_entries_show_parents = "hide"  # the contents of a page are the names that it explains

# ---- looks
html_theme = "furo"
html_title = "micrograd"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_show_sourcelink = html_copy_source = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/live.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#0072b2"},
    "dark_css_variables": {"color-brand-primary": "#6bbcf0", "color-brand-content": "#6bbcf0"},
}

# ---- docstrings are plain text with `names`: here they become what Sphinx reads
HEADER = re.compile(r"(Args|Returns|Raises|Yields|Attributes|Examples?|Notes?):")
QUOTED = re.compile(r"`([^`]+)`")
PUBLIC = {name: f"micrograd.{name}" for name in micrograd.__all__}


def written(line: str) -> str:
    """A line of text: a name is a link where it is public, else code; no other mark means anything."""
    if re.match(r"\s*\*+\w+( \(.*\))?:", line):  # an argument such as *operands, which napoleon knows
        return line
    parts = QUOTED.split(line)
    for i, part in enumerate(parts):
        if i % 2:
            name = part.removesuffix("()")
            parts[i] = f":py:obj:`{part} <{PUBLIC[name]}>`" if name in PUBLIC else f"``{part}``"
        else:
            parts[i] = re.sub(r"([*|\\]|_\b)", r"\\\1", part)
    return "".join(parts)


CLASSIC = re.compile(r"^( +)_\w+(, _\w+)*: .*(\n\1 .*)*\n", re.MULTILINE)  # an argument that only classic code passes


def marked_up(_app: object, what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Examples stay as they are, and so does what is indented after a line of its own."""
    lines[:] = CLASSIC.sub("", "\n".join(lines)).split("\n")
    found, literal, example = [], -1, False
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if literal >= 0 and line.strip() and indent <= literal:
            literal = -1
        below = next((later for later in lines[i + 1 :] if later.strip()), "")
        apart = i + 1 < len(lines) and not lines[i + 1].strip() and len(below) - len(below.lstrip()) > indent
        if line.strip() == "Returns:":  # a sentence: napoleon would take what is before a colon in it for a type
            found.append(line.replace("Returns", ":returns"))
        elif example or literal >= 0 or not line.strip() or HEADER.fullmatch(line.strip()):
            found.append(line)
        elif apart:
            found += [written(line), "", " " * indent + "::"]
            literal = indent
        else:
            found.append(written(line))
    comment = ["..", ""]  # of a property's first line, napoleon would take what is before a colon for a type
    lines[:] = comment * (what == "property") + found


def skipped(_app: object, _what: str, _name: str, member: object, skip: bool, _options: object) -> bool | None:
    """Leave out the words of other libraries, which are there to say what is the word here."""
    return True if skip or (getattr(member, "__doc__", None) or "").startswith("Not here") else None


CLASSIC_ARGUMENT = re.compile(r", _\w+(: [^=]*)? = (\(\)|'')")


def public_signature(
    _app: object, _what: str, name: str, _object: object, _options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """A signature without the arguments that only classic code passes; what follows those is passed by its name."""
    if signature is None or not CLASSIC_ARGUMENT.search(signature):
        return signature, returns
    before, *_, after = CLASSIC_ARGUMENT.split(signature)
    return f"{before}, *{after.replace(', *,', ',')}", returns


def plain_types(_app: object, doctree: document) -> None:
    """float in a signature is Python's, and no method of that name."""
    for reference in list(doctree.findall(pending_xref)):
        if hasattr(builtins, reference.get("reftarget", "")) and reference.get("refdomain") == "py":
            reference.replace_self(reference.children)


# ---- what a theme leaves out, and people with a keyboard or a screen reader need
ACCESSIBLE = {
    r'role="heading"(?! aria-level)': 'role="heading" aria-level="2"',
    r'<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    r'<aside class="toc-drawer( no-toc)?">': r'<aside class="toc-drawer\1" aria-label="This page">',
    r"<pre>": '<pre tabindex="0">',
    r'<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    r'<div style="overflow-x: auto"': '<div tabindex="0" style="overflow-x: auto"',
    r'<th class="head[^"]*"><p></p></th>': "<td></td>",
}


def accessible(app: Sphinx, error: Exception | None) -> None:
    """The same in all pages."""
    for page in Path(app.outdir).rglob("*.html") if error is None else ():
        text = page.read_text(encoding="utf-8")
        for found, better in ACCESSIBLE.items():
            text = re.sub(found, better, text)
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Before napoleon reads a docstring, and before references are looked up."""
    app.connect("autodoc-process-docstring", marked_up, priority=100)
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-signature", public_signature)
    app.connect("doctree-read", plain_types)
    app.connect("build-finished", accessible)
