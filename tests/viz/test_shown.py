"""What holds of everything that is shown, whichever way: as SVG, DOT, a page, a table or in words."""

from __future__ import annotations

import ast
import base64
import re
import sys
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html import unescape
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from micrograd import Tensor, Value, viz
from micrograd.command.report import table
from micrograd.nn import MLP, Linear, Module
from micrograd.viz import infix
from micrograd.viz.drawing import svg
from micrograd.viz.drawing.alt_text import alt_text
from micrograd.viz.drawing.data import expression, walk

SHOWN: dict[str, Callable[[Any], str]] = {
    "SVG": lambda root: svg.write(viz.draw_dot(root).graph),
    "SVG from above": lambda root: svg.write(viz.draw_dot(root).graph, "TB"),
    "DOT": lambda root: viz.draw_dot(root).source,
    "words": lambda root: alt_text(viz.draw_dot(root).graph),
    "player": lambda root: viz.player(root).html,
    "animation": lambda root: viz.animate(root).svg,
}
TURNS = [c for c in map(chr, range(0x110000)) if unicodedata.bidirectional(c) in (
    "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
)]  # fmt: skip


class Named(Module):
    """A model of one layer, with this name."""

    def __init__(self, name: str):
        setattr(self, name, Linear(2, 1))

    def forward(self, x: Any) -> Any:
        (layer,) = vars(self).values()
        return layer(x)


def filmed(title: str) -> Any:
    film = viz.movie(Named(title), [[0.0, 1.0], [1.0, 0.0]], [-1, 1], title=title, resolution=8)
    film.frame(0.5)
    return film


# ------------------------------------------------------------------------------------------------ text
@pytest.mark.parametrize(
    "show", [*SHOWN.values(), table, lambda root: filmed(root.label).still()], ids=[*SHOWN, "table", "movie"]
)
def test_text_shows_no_character_that_turns_its_direction(show):
    a = Value(2.0, label=f"a{''.join(TURNS)}b")
    out = Value(3.0, (a, a), f"op{''.join(TURNS)}") * a
    out.label = f"a{''.join(TURNS)}d"
    shown = show(out)
    assert {c for c in TURNS if c in shown} == set()
    assert "a\ufffd" in shown or "a\\ufffd" in shown


def visible(shown: str) -> str:
    """Without tooltips, which are at full precision, and without the coordinates of a picture."""
    shown = re.sub(r"<title>.*?</title>|tooltip=\"[^\"]*\"", "", shown, flags=re.DOTALL)
    return " ".join(re.findall(r">([^<>]+)<", shown)) if "<svg" in shown else shown


@pytest.mark.parametrize("show", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("kind", [Value, Tensor, lambda x, **named: Tensor([x, 1.0, 2.0, 3.0, 4.0, 5.0], **named)])
def test_negative_zero_is_a_zero_to_whoever_looks(show, kind):
    a, b = kind(-0.0, requires_grad=True, label="a"), kind(0.0, requires_grad=True, label="b")
    out = a * -1.0 * b * -0.0
    out = out if kind is Value else out.sum()
    a.grad = b.grad = -0.0 if kind is Value else np.full(a.shape, -0.0)
    shown = visible(show(out)) + (table(out) if kind is Value else "")
    assert re.findall(r"[-\u2212]0(?:\.0*)?(?![\d.eE])", shown) == []


@pytest.mark.parametrize("show", ["SVG", "animation"])
def test_pictures_in_a_page_with_others_have_no_id(show):
    assert re.findall(r"\sid=|url\(#", SHOWN[show](Value(2.0) * 3)) == []


def test_stills_share_an_id_only_if_it_is_of_the_same_thing():
    found = [set(re.findall(r"<(?:image|clipPath) id=.*?(?:/>|</clipPath>)", filmed(label).still())) for label in "ab"]
    named = [{re.search(r'id="(.*?)"', thing)[1]: thing for thing in things} for things in found]
    assert all(named[0][name] == named[1][name] for name in named[0].keys() & named[1].keys())


HOSTILE = {
    "quotes": "a\"b'c",
    "backslashes": "\\back\\\\slash\\",
    "braces": "{a|<b> c}",
    "script": "</style></script><script>alert(1)</script>",
    "handler": "<img src=x onerror=alert(1)>",
    "entities": "a &amp; b &lt; &#955;",
    "cdata": "]]> --> <!-- <![CDATA[",
    "escapes": "\\N \\G \\l \\n",
    "emoji": "😀👩‍👧",
    "control": "nul\x00 esc\x1b[31m",
    "lines": "two\nlines\r\n\tand a tab",
    "surrogate": "half \ud83d",
    "16 KB escaped": '&\\"\n' * 5_000,
    "16 KB combining": "e" + "\u0301" * 20_000,
    "html label": "<b>bold</b>",
    "format": "%s %script% {{js}} {} {0}",
}
ELEMENTS = {"svg", "title", "desc", "style", "rect", "g", "path", "text", "circle"}


@pytest.mark.parametrize("label", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize(
    "show", [*SHOWN.values(), lambda root: filmed(root.label).page().html], ids=[*SHOWN, "page of a movie"]
)
def test_hostile_label_stays_text(show, label):
    """Where it is a name, an operation and a part of an expression, and in a movie a title and the name of a layer."""
    a = Value(2.0, label=label)
    out = Value(3.0, (a, a), label) * a
    out.label = label
    shown = show(out)
    if shown.startswith("<svg"):
        elements = [*ET.fromstring(shown).iter()]
        assert {element.tag.partition("}")[2] for element in elements} <= ELEMENTS
        assert [name for element in elements for name in element.attrib if name.startswith("on")] == []
    elif shown.startswith("<!doctype"):
        assert shown.lower().count("</script") == 2
        assert "<img" not in shown
    shown.encode()


# ------------------------------------------------------------------------------------------------ notebooks
PICTURES: dict[str, Callable[[Any], Any]] = {
    "drawing": viz.draw_dot,
    "animation": viz.animate,
    "player": viz.player,
    "comparison": lambda root: viz.compare(root, root),
    "network": lambda _: viz.draw_network(MLP(2, [3, 1]), [[0.0, 1.0], [1.0, 0.0]]),
    "movie": lambda root: filmed(root.label),
}


@pytest.mark.parametrize("name", PICTURES)
def test_notebook_gets_a_picture_with_words_and_then_the_page_in_a_frame_without_sandbox(name):
    shown = PICTURES[name](Value(2.0, label="a") * Value(3.0, label="<b> & \"c\" 'd'"))
    bundle = shown._repr_mimebundle_()
    assert [kind for kind in bundle if kind != "application/pdf"] == ["text/html", "text/plain"]
    for only in ({"include": ["text/plain"]}, {"exclude": ["text/html", "application/pdf"]}):
        assert shown._repr_mimebundle_(**only) == {"text/plain": bundle["text/plain"]}
    picture, _, frame = bundle["text/html"].partition("<iframe ")
    found = re.search(r'<img alt="([^"<>]*)" style="[^"<>]*" src="data:image/svg\+xml;base64,([^"<>]*)">', picture)
    assert found
    assert unescape(found[1]) == bundle["text/plain"]
    ET.fromstring(base64.b64decode(found[2]))
    assert bool(frame) == (name not in ("drawing", "animation"))
    if frame:
        assert frame.startswith("srcdoc='")
        page = shown.page() if name == "movie" else shown
        assert unescape(frame.split("'")[1]) == page.html
        assert 'style="width: 100%; height: 0; border: 0; display: block"></iframe>' in frame


@pytest.mark.parametrize("name", PICTURES)
def test_notebook_as_latex_has_the_picture_if_there_is_something_to_make_a_pdf_with(name, monkeypatch):
    """With cairosvg an export contains the picture, and without it, or without its library, the words."""
    drawn = []
    cairosvg = ModuleType("cairosvg")
    cairosvg.svg2pdf = lambda bytestring: drawn.append(ET.fromstring(bytestring)) or b"%PDF-1.5 picture"
    shown = PICTURES[name](Value(2.0, label="a") * 3)
    monkeypatch.setitem(sys.modules, "cairosvg", cairosvg)
    bundle = shown._repr_mimebundle_()
    assert base64.b64decode(bundle["application/pdf"]) == b"%PDF-1.5 picture"
    assert [root.tag for root in drawn] == ["{http://www.w3.org/2000/svg}svg"]
    latex, resources = exported(bundle)
    [(file, pdf)] = resources["outputs"].items()
    assert pdf == b"%PDF-1.5 picture"
    assert f"{{{file}}}" in latex
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    assert "application/pdf" not in shown._repr_mimebundle_()
    assert not exported(shown._repr_mimebundle_())[1]["outputs"]


def exported(bundle):
    """A notebook with this output as LaTeX."""
    nbconvert, nbformat = pytest.importorskip("nbconvert"), pytest.importorskip("nbformat")
    output = nbformat.v4.new_output("display_data", bundle)
    cell = nbformat.v4.new_code_cell("player(g)", outputs=[output])
    return nbconvert.LatexExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))


@pytest.mark.parametrize("name", sorted({*PICTURES} - {"drawing", "animation"}))
def test_marimo_gets_the_frame_alone_by_its_protocol(name):
    """`_mime_`, which it asks before Jupyter's methods, gives a type and the data."""
    shown = PICTURES[name](Value(2.0, label="a") * Value(3.0, label="b"))
    kind, frame = shown._mime_()
    assert kind == "text/html"
    assert "<img" not in frame.partition("srcdoc=")[0]
    assert shown._repr_mimebundle_()["text/html"].endswith(f">{frame}</div>")
    assert viz.movie(Named("none"), [[0.0, 1.0], [1.0, 0.0]], [-1, 1])._mime_() == (
        "text/plain",
        "<Movie without a frame yet>",
    )


# ------------------------------------------------------------------------------------------------ brackets
OPERATORS = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "**": ast.Pow, "@": ast.MatMult, "%": ast.Mod}
Tree = Any  # a name, or (op, *trees)
TREES = st.recursive(
    st.sampled_from("abc"),
    lambda below: st.one_of(
        st.tuples(st.sampled_from([*OPERATORS]), below, below),
        st.tuples(st.sampled_from(["neg", "**3", "tanh"]), below),
    ),
    max_leaves=8,
)


def as_text(tree: Tree) -> infix.Text:
    return infix.name(tree) if isinstance(tree, str) else infix.written(tree[0], [as_text(x) for x in tree[1:]])


def as_python(tree: Tree) -> ast.expr:
    """What Python makes of the text, if that says what the tree does."""
    if isinstance(tree, str):
        return ast.Name(tree, ast.Load())
    op, *below = tree[0], *map(as_python, tree[1:])
    if op in OPERATORS:
        return ast.BinOp(below[0], OPERATORS[op](), below[1])
    if op == "neg":
        return ast.UnaryOp(ast.USub(), below[0])
    if op == "**3":
        return ast.BinOp(below[0], ast.Pow(), ast.Constant(3))
    return ast.Call(ast.Name(op, ast.Load()), below, [])


def dumped(text: str) -> str:
    return ast.dump(ast.parse(text, mode="eval").body)


@given(TREES)
def test_text_has_the_brackets_that_its_tree_needs(tree):
    written, strength = as_text(tree)
    assert dumped(written) == ast.dump(as_python(tree))
    assert dumped(f"{infix.within((written, strength), infix.ATOM)}**x").startswith("BinOp(left=" + dumped(written))


@given(TREES)
def test_brackets_of_a_formula_could_not_be_left_out(tree):
    written, _ = as_text(tree)
    assume("-(-" not in written)  # two minus signs stay apart
    for opened in re.finditer(r"(?<!tanh)\(", written):
        at, depth = opened.start(), 0
        for end in range(at, len(written)):
            depth += (written[end] == "(") - (written[end] == ")")
            if depth == 0:
                break
        without = written[:at] + written[at + 1 : end] + written[end + 1 :]
        assert dumped(without) != dumped(written)


def as_value(tree: Tree, leaves: dict[str, Value]) -> Value:
    if isinstance(tree, str):
        return leaves[tree]
    op, *below = tree[0], *[as_value(x, leaves) for x in tree[1:]]
    return {
        "+": lambda: below[0] + below[1], "-": lambda: below[0] - below[1], "*": lambda: below[0] * below[1],
        "/": lambda: below[0] / below[1], "**": lambda: below[0] ** below[1], "neg": lambda: -below[0],
        "**3": lambda: below[0] ** 3, "tanh": lambda: below[0].tanh(),
    }[op]()  # fmt: skip


@given(TREES.filter(lambda tree: not {"@", "%"} & set(re.findall(r"[@%]", str(tree)))))
def test_pictures_write_a_graph_as_python_reads_it(tree):
    root = as_value(tree, {name: Value(0.5, label=name) for name in "abc"})
    if made := expression(walk(root)):
        assert dumped(made) == ast.dump(as_python(tree))


@pytest.mark.parametrize(
    ("make", "written"),
    [
        (lambda a, b: a - (b - 3), "a - (b - 3)"),
        (lambda a, b: a * (b * a), "a * (b * a)"),
        (lambda a, b: -((a + b) ** 2), "-(a + b)**2"),
        (lambda a, b: (-a) ** b, "(-a)**b"),
        (lambda a, b: a**-b, "a**-b"),
        (lambda a, b: a - -2.5, "a - -2.5"),
        (lambda a, b: Value(-2.0, requires_grad=False) ** a, "(-2)**a"),
        (lambda a, b: Value(2.0, label="x - y") * Value(3.0, label="two words") ** 2, "(x - y) * (two words)**2"),
    ],
)
def test_expression_reads_as_one_writes_it(make, written):
    assert expression(walk(make(Value(2.0, label="a"), Value(3.0, label="b")))) == written
