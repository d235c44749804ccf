"""trace and draw_dot: what the text says, for whatever graph and whatever label; the pictures, with Graphviz or not."""

import ast
import copy
import inspect
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from functools import partial

import graphviz
import pytest
from drawn_graphs import neuron
from test_shown import HOSTILE

from micrograd.engine import Value
from micrograd.tensor import Tensor
from micrograd.viz import draw_dot, trace
from micrograd.viz.drawing.draw import Drawing
from micrograd.viz.playing.views import OPEN

needs_dot = pytest.mark.skipif(not shutil.which("dot"), reason="no dot")


@pytest.fixture
def no_dot(monkeypatch, tmp_path):
    """A machine on which Graphviz was never installed."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))


def svg_of(drawing):
    """The drawing's own SVG as a tree."""
    return ET.fromstring(drawing.svg())


def texts(tree):
    return [element.text or "" for element in tree.iter("{http://www.w3.org/2000/svg}text")]


def tips(tree):
    return [element.text or "" for element in tree.iter("{http://www.w3.org/2000/svg}title")]


# ------------------------------------------------------------------------------------------------ trace
def test_trace_gives_the_nodes_and_the_edges_of_the_classic_notebook_operands_first():
    a, b = Value(2.0), Value(3.0)
    c = a * b
    d = c + a
    nodes, edges = trace(d)
    assert nodes == {a, b, c, d}
    assert list(nodes) == [a, b, c, d]
    assert edges == {(a, c), (b, c), (c, d), (a, d)}
    assert Value(1.0) not in nodes


# ------------------------------------------------------------------------------------------------ the text


def test_values_are_those_of_the_moment_of_drawing():
    a = Value(1.0, label="a")
    drawing = draw_dot(a)
    before = drawing.source
    a.data, a.label = 5.0, "changed"
    assert drawing.source == before


class Foreign(Value):
    """A user's subclass from before operands had an order."""

    @property
    def _prev(self):
        return {Value(1.0, label="one"), Value(2.0, label="two"), Value(3.0, label="three")}


def test_operands_in_a_set_are_drawn_in_an_order_of_their_own():
    nodes, _ = trace(Foreign(0.0, _op="mix"))
    assert [node.label for node in nodes] == ["one", "three", "two", ""]


# ------------------------------------------------------------------------------------------------ size
def test_chain_of_any_length_is_walked():
    x = Value(1.0)
    for _ in range(5000):
        x = x + 1.0
    assert len(trace(x)[0]) == 10_001
    assert draw_dot(x, max_nodes=None).source.count('shape="oval"') == 5000


@pytest.mark.parametrize(("adds", "folded"), [(19, False), (20, True), (200, True)])
def test_graph_that_the_player_would_fold_is_folded(adds, folded):
    x = total = Value(1.0)
    for _ in range(adds):
        total = total + x * 2
    count = len(trace(total)[0])
    drawing = draw_dot(total)
    assert (count > OPEN) == folded
    assert ("max_nodes=None" in drawing.graph_attr.get("label", "")) == folded
    assert len(drawing.graph.boxes) <= OPEN


def test_graph_of_65000_nodes_is_folded_and_says_so():
    xs = [Value(float(i)) for i in range(148)]
    root = sum(((x * w).tanh() for w in xs for x in xs), Value(0.0))
    drawing = draw_dot(root)
    assert "65,861 nodes in" in drawing.graph_attr["label"]
    assert "max_nodes=None" in drawing.graph_attr["label"]
    assert len(drawing.graph.boxes) <= 150
    assert 'label="x21904"' in drawing.source


# ------------------------------------------------------------------------------------------------ labels
def labelled(label):
    """The label as a name, as an op, and in an expression."""
    a = Value(1.0, label=label)
    return Value(2.0, (a, a), label) + a


@needs_dot
@pytest.mark.parametrize("rankdir", ["LR", "TB"])
def test_any_label_gives_dot_that_graphviz_draws_without_complaint(rankdir):
    sources = [draw_dot(labelled(label), rankdir=rankdir).source for label in HOSTILE.values()]
    done = subprocess.run(["dot", "-Tsvg"], input="\n".join(sources).encode(), capture_output=True, check=True)
    assert done.stderr == b""
    assert b"<script" not in done.stdout
    pictures = done.stdout.split(b"<?xml")[1:]
    assert [len(re.findall(rb'class="node"', picture)) for picture in pictures] == [5] * len(HOSTILE)
    for picture in pictures:
        ET.fromstring(b"<?xml" + picture)


def test_long_label_is_shortened_in_the_drawing_and_whole_in_the_tooltip():
    label = "".join(f"{i} " for i in range(3000))
    drawing = draw_dot(Value(1.0, label=label))
    tree = svg_of(drawing)
    assert max(map(len, texts(tree))) < 40
    assert any(label in tip for tip in tips(tree))
    assert drawing.source.count(label) == 1
    assert 'label="0 1 2' in drawing.source


# ------------------------------------------------------------------------------------------------ the same every time


def test_importing_viz_loads_neither_numpy_nor_matplotlib_nor_graphviz():
    program = "import sys, micrograd.viz as v; v.trace; print({'numpy', 'matplotlib', 'graphviz'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "set()"


# ------------------------------------------------------------------------------------------------ with and without dot
@pytest.mark.parametrize("twin_of", [Drawing.copy, copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_drawing_is_used_as_the_digraph_in_it_and_copied(twin_of):
    drawing = draw_dot(Value(1.0))
    drawing.node("extra")
    drawing.format = "png"
    twin = twin_of(drawing)
    assert "extra" in twin.source == str(twin) == twin.digraph.source
    assert twin.digraph.format == "png"
    assert twin.svg() == drawing.svg()


def test_drawing_needs_nothing_of_graphviz_that_is_private():
    """The names that begin with an underscore may change with each release of the package."""
    tree = ast.parse(inspect.getsource(sys.modules[Drawing.__module__]))
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not issubclass(Drawing, graphviz.Digraph)
    assert {name for name in used - own if name.startswith("_")} <= {"__setattr__"}


@pytest.mark.parametrize("way", [Drawing.pipe, Drawing.render, Drawing.view])
def test_setting_that_no_digraph_has_is_refused(way, tmp_path):
    with pytest.raises(TypeError, match="colour"):
        way(draw_dot(Value(1.0), format="svg"), colour=None)


@pytest.mark.parametrize("rankdir", ["LR", "RL", "TB", "BT"])
def test_direction_may_be_changed_afterwards(rankdir):
    drawing = draw_dot(neuron())
    drawing.graph_attr["rankdir"] = rankdir
    wide, high = (float(svg_of(drawing).get(name)) for name in ("width", "height"))
    assert (high > wide) == (rankdir in ("TB", "BT"))


@pytest.mark.parametrize("asked", [{"format": "png"}, {"format": "pdf"}, {"engine": "neato"}])
def test_format_that_only_graphviz_can_draw_is_refused_in_one_sentence_without_it(no_dot, tmp_path, asked):
    drawing = draw_dot(Value(1.0))
    for attempt in (drawing.pipe, partial(drawing.render, tmp_path / "g")):
        with pytest.raises(graphviz.ExecutableNotFound) as caught:
            attempt(**asked)
        message = str(caught.value)
        assert isinstance(caught.value, RuntimeError)
        assert repr(asked.get("format", "svg")) in message
        assert all(tool in message for tool in ("apt", "brew", "choco", "winget", "conda"))
        assert "\n" not in message


@pytest.mark.parametrize("path", [os.environ.get("PATH", ""), ""], ids=["as here", "no dot"])
def test_every_way_to_a_drawing_gives_the_same_svg(path, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(graphviz, "view", lambda path, quiet: opened.append(path))
    monkeypatch.setenv("PATH", path)
    drawing = draw_dot(neuron())
    assert drawing.pipe("svg", encoding="utf-8") == drawing.pipe().decode() == drawing.svg()
    drawing.view(tmp_path / "a")
    assert opened == [str(tmp_path / "a.svg")]
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == drawing.svg()


@needs_dot
def test_graphviz_draws_where_it_is_asked_for():
    drawing = draw_dot(neuron())
    assert drawing.pipe("png").startswith(b"\x89PNG")
    assert b"Generated by graphviz" in drawing.pipe(engine="neato")
    drawing.engine = "neato"
    assert b"Generated by graphviz" in drawing.pipe()


both = pytest.mark.parametrize("engine", [pytest.param({"engine": "neato"}, marks=needs_dot), {}])


@both
def test_render_writes_the_same_files_with_graphviz_and_without(engine, tmp_path, monkeypatch):
    if not engine:
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    drawing = draw_dot(Value(1.0))
    assert drawing.render(tmp_path / "a", **engine) == str(tmp_path / "a.svg")
    assert drawing.render("b", directory=tmp_path, cleanup=True, **engine) == str(tmp_path / "b.svg")
    assert drawing.render(outfile=tmp_path / "c.svg", **engine) == str(tmp_path / "c.svg")
    assert drawing.render("d", directory=tmp_path / "deep" / "er", format="svg", cleanup=True, **engine).endswith(
        "d.svg"
    )
    names = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert names == ["a", "a.svg", "b.svg", "c.gv", "c.svg", "deep/er/d.svg"]
    for name in names:
        if name.endswith(".svg"):
            ET.parse(tmp_path / name)
    with pytest.raises(FileExistsError):
        drawing.render(outfile=tmp_path / "c.svg", raise_if_result_exists=True, **engine)


# ------------------------------------------------------------------------------------------------ our own picture
def test_our_svg_is_light_and_dark_and_has_a_name_and_no_ids():
    tree = svg_of(draw_dot(neuron()))
    source = ET.tostring(tree, encoding="unicode")
    assert "prefers-color-scheme:dark" in source
    assert all(colour in source for colour in ("#0072b2", "#b34700", "#6bbcf0", "#ffab70"))
    assert tree.attrib["role"] == "img"
    assert tree.attrib["aria-label"] == "Computation graph: 10 nodes, 9 edges"
    assert not [element for element in tree.iter() if "id" in element.attrib]


def test_tangle_is_drawn_faint_and_without_arrows_and_a_long_graph_is_not():
    xs = [Value(float(i)) for i in range(14)]
    tangle = draw_dot([Value(0.0, tuple(xs), "mix") for _ in range(14)])
    chain = Value(0.0)
    for _ in range(200):
        chain = chain + 1.0
    for drawing, faint in ((tangle, True), (draw_dot(chain), False)):
        kinds = {element.get("class") for element in svg_of(drawing).iter()}
        assert ("wire faint" in kinds, "tip" in kinds) == (faint, not faint)
        assert ('arrowhead="none"' in drawing.source) == faint


# ------------------------------------------------------------------------------------------------ notebooks


def test_drawing_at_a_prompt_says_what_it_is():
    assert repr(draw_dot(Value(2.0) * 3)) == "<Drawing: Computation graph: 3 nodes, 2 edges; svg(), render(filename)>"


def test_drawing_in_a_notebook_is_no_narrower_than_its_half():
    drawing = draw_dot(neuron())
    least = round(float(svg_of(drawing).get("width")) / 2)
    assert f"max-width: 100%; min-width: {least}px" in drawing._repr_mimebundle_()["text/html"]


# --------------------------------------------------------------------------------------------- files, and what is gone
BEGINNINGS = {".svg": b"<svg", ".SVG": b"<svg", ".png": b"\x89PNG"} | dict.fromkeys((".gv", ".dot", ""), b"digraph")


@pytest.mark.parametrize("suffix", BEGINNINGS)
def test_drawing_is_saved_as_its_name_says(suffix, tmp_path):
    path = tmp_path / "deep" / f"g{suffix}"
    assert draw_dot(Value(1.0) * 2).save(path) == str(path)
    assert path.read_bytes().startswith(BEGINNINGS[suffix])


@needs_dot
@pytest.mark.parametrize("name", ["g.pdf", "g.PDF"])
def test_drawing_is_saved_as_a_pdf_by_graphviz(name, tmp_path):
    assert draw_dot(Value(1.0) * 2).save(name, directory=tmp_path) == str(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(b"%PDF")


def test_pdf_without_graphviz_is_refused_and_nothing_is_written(no_dot, tmp_path):
    with pytest.raises(graphviz.ExecutableNotFound, match="only Graphviz can draw this 'pdf'"):
        draw_dot(Value(1.0)).save(tmp_path / "g.pdf")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["g.jpg", "g.txt", "g.html", "g.json", "g.gif", "g.p", "g.mp4"])
def test_name_of_no_drawing_is_refused_with_those_that_are(name, tmp_path):
    with pytest.raises(
        ValueError, match=rf"{name} is no name .* \.pdf, \.png or \.svg, or in \.gv or \.dot for the source"
    ):
        draw_dot(Value(1.0)).save(tmp_path / name)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["g.pdf", "g.png", "g.txt"])
def test_source_that_render_writes_may_have_any_name(name, tmp_path):
    assert draw_dot(Value(1.0)).render(tmp_path / name) == str(tmp_path / f"{name}.svg")
    assert (tmp_path / name).read_bytes().startswith(b"digraph")


def released(kind):
    x = kind(2.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=False)
    return y * 3 if kind is Value else y


@pytest.mark.parametrize("kind", [Value, Tensor])
def test_drawing_of_a_graph_that_was_let_go_says_so(kind):
    drawing = draw_dot(released(kind))
    note = "backward() released this graph: draw it before, or pass retain_graph=True"
    assert drawing.graph.note == note
    assert note in drawing.source
    assert note in drawing.svg()
    x = kind(2.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    assert draw_dot(y).graph.note == ""


# ------------------------------------------------------------------------------------------------ hidden nodes
def grown(seed):
    """A random graph with its gradients, and its inner nodes."""
    rng = random.Random(seed)
    values = [Value(rng.uniform(0.5, 1.5), label=name) for name in "abc"]
    for _ in range(12):
        x, y = rng.choice(values), rng.choice(values)
        values.append(rng.choice([lambda: x + y, lambda: x * y, lambda: x * 2.0, lambda: x.tanh()])())  # noqa: B023
    out = values[-1] * values[-2] + values[-3]
    out.backward()
    return out, [node for node in trace(out)[0] if node._op and node is not out]


@pytest.mark.parametrize("seed", range(20))
def test_chain_rule_holds_through_hidden_nodes(seed):
    out, inner = grown(seed)
    hidden = random.Random(seed).sample(inner, min(len(inner), 1 + seed % 6))
    drawn = draw_dot(out, names={}, hide=hidden, constants=bool(seed % 2)).graph
    assert len(drawn.boxes) == len(draw_dot(out, names={}, constants=bool(seed % 2)).graph.boxes) - len(hidden)
    for node in trace(out)[0]:
        sent = [edge.part for edge in drawn.edges if node.label and drawn.boxes[edge.tail].name == node.label]
        assert not sent or sum(sent) == pytest.approx(node.grad)
    known = {"tanh"} | {name for box in drawn.boxes for name in (box.name, box.short) if name}
    for box in drawn.boxes:
        assert {word for word in re.findall(r"[a-z]\w*", box.expression) if word[0] == "v"} <= known
    for edge in drawn.edges:
        if edge.part is not None:
            assert edge.part == pytest.approx(edge.local * out_grad(drawn.boxes[edge.head]), rel=1e-3, abs=1e-3)


def out_grad(box):
    return float(dict(box.rows)["grad"])


def test_hidden_leaf_takes_its_lines_along_and_the_drawing_says_so():
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    drawn = draw_dot(a * b, names={}, hide=[a])
    assert [box.name for box in drawn.graph.boxes] == ["b", ""]
    assert len(drawn.graph.edges) == 1
    assert "1 node hidden" in drawn.svg()
    assert "1 node hidden" in drawn.source


def test_node_has_the_name_that_it_is_given_wherever_it_is_named():
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    drawn = draw_dot(a * b, names={}, hide={a: "input", b: ""}).graph
    assert [(box.name, box.expression) for box in drawn.boxes] == [("input", ""), ("", "input * b")]


@pytest.mark.parametrize("kind", [Value, Tensor])
def test_constants_are_left_out_on_request(kind):
    x = kind(2.0, requires_grad=True)
    y = 3 * x + 1
    assert [box.kind for box in draw_dot(y, constants=False).graph.boxes] == ["input", "result", "result"]
    assert "constant" in [box.kind for box in draw_dot(y).graph.boxes]


def test_node_of_another_graph_cannot_be_hidden():
    with pytest.raises(ValueError, match="no part of this graph"):
        draw_dot(Value(2.0) * 3, hide=[Value(1.0)])
