"""`draw_dot`: a graph as a `graphviz.Digraph` that renders to SVG without the Graphviz programs."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphviz

from ...engine.value import Node
from ...scalars.release import Released
from ..files import in_full, save_picture
from ..page import bundle, image
from . import dot, svg
from .alt_text import alt_text
from .carried import carry, is_hand_written, without
from .data import Picture, describe, drawn_node, grad_of, has_gradients, roots_of, walk
from .fold import calls_of, fold
from .names import find_names

MAX_NODES = 60  # more are unreadable in one picture; the player opens folded above this, too
_RANKDIRS = ("LR", "TB")
_GRAPHVIZ_S = ("renderer", "formatter", "neato_no_op")  # settings that only Graphviz knows


def draw_dot(
    root: Any,
    format: str = "svg",
    rankdir: str = "LR",
    *,
    max_nodes: int | None = MAX_NODES,
    names: Mapping[str, Any] | None = None,
    hide: Iterable[Any] | Mapping[Any, str] = (),
    constants: bool = True,
) -> "Drawing":
    """Draw the graph of everything that `root` depends on.

    Use it to see what a computation has recorded. Each node shows its name, data and grad at the time of the call, and
    ops are small ovals. An array is a heat map. The name is the node's label, else that of the caller's variable, or
    its path in a module. A dash stands for a gradient that no backward pass has reached. Where gradients are there, a
    line shows what it carried back by its colour and width, and beside it the local derivative, unless that is 1. The
    drawing runs no hand-written `_backward`, so such lines stay grey.

    Args:
        root: a Value or a Tensor, or a list or tuple of them.
        format: default format of `render` and `pipe`. Formats other than "svg" need the `dot` program of Graphviz.
        rankdir: "LR" (left to right) or "TB" (top to bottom).
        max_nodes: a larger graph is folded, by module, then by structure, to at most `max_nodes` boxes (and never more
            than 150). By default, a graph of more than 60 nodes is folded, as in the player. A line below the drawing
            says what was folded. None draws every node.
        names: the variables that give names, such as `globals()`, by default those of the caller.
        hide: nodes to leave out, such as `[h]`. A line then goes on to the operands, with the derivative along
            all paths. A dict gives nodes another name, and hides those whose name is "", as in
            `{loss: "error", h: ""}`.
        constants: False leaves the constants out.

    Returns:
        A `graphviz.Digraph` that notebooks display as a picture. `svg()`, `source`, `render(filename)` and `view()`
        work everywhere. `save("graph.png")` needs the package resvg-py, and writes .svg, .gv and .dot too.
        `save("graph.pdf")`, `render(format="pdf")` and `render(engine="neato")` need `dot`.

    Raises:
        TypeError: `root` is not a node.
        ValueError: `root` is an empty list, `rankdir` is unknown, `max_nodes` is less than 1, or a node in `hide` is no
            part of the graph.

    >>> from micrograd.engine import Value
    >>> a = Value(2.0, label="a")
    >>> print(draw_dot(a * a).source.count("n0 -> n1op"))
    2
    """
    if rankdir not in _RANKDIRS:
        raise ValueError(f"rankdir is {rankdir!r}; it must be 'LR' (left to right) or 'TB' (top to bottom)")
    if max_nodes is not None and max_nodes < 1:
        raise ValueError(f"max_nodes is {max_nodes!r}; it must be at least 1, or None to draw every node")
    graph = _picture(root, max_nodes, names, hide, constants)
    drawing = Drawing(filename="Digraph.gv", format=format, graph_attr={"rankdir": rankdir, **dot.GRAPH})
    drawing.node_attr.update(dot.NODE)
    drawing.edge_attr.update(dot.EDGE)
    drawing.body += dot.body(graph, rankdir)
    if graph.note:
        drawing.graph_attr.update(label=graph.note, labelloc="b")
    drawing.graph = graph
    return drawing


def _picture(
    root: Any,
    max_nodes: int | None,
    variables: Mapping[str, Any] | None,
    hide: Iterable[Any] | Mapping[Any, str],
    constants: bool,
) -> Picture:
    nodes = walk(roots_of(root))
    called = {
        id(drawn_node(x)): name for x, name in (hide if isinstance(hide, Mapping) else dict.fromkeys(hide, "")).items()
    }
    if not called.keys() <= {*map(id, nodes.nodes)}:
        raise ValueError("`hide` has a node that is no part of this graph: pass nodes that `root` depends on")
    names = find_names(nodes, calls_of(nodes), variables)
    groups, how = fold(nodes, max_nodes)
    notes = []
    if any(isinstance(getattr(node, "_row", None), Released) for node in nodes.nodes):
        notes.append("backward() released this graph: draw it before, or pass retain_graph=True")
    if how:
        boxes = f"{len(groups)} box{'es' * (len(groups) != 1)}"
        notes.append(f"{len(nodes.nodes):,} nodes in {boxes}, folded {how}; max_nodes=None draws every node")
    groups.sort(key=lambda group: group.members[0])
    hidden = {
        i
        for i, group in enumerate(groups)
        if called.get(id(nodes.nodes[group.members[0]])) == "" and group.kind == "node"
    }
    picture = describe(nodes, groups, "", names.by_id, names.owned, called)
    if not constants:
        hidden |= {i for i, box in enumerate(picture.boxes) if box.kind == "constant"}
    if hidden:
        notes.append(f"{len(hidden):,} node{'s' * (len(hidden) > 1)} hidden")
    picture.note = "; ".join(notes)
    if has_gradients(nodes):
        grads = {node: g for node in nodes.nodes if (g := _known(node)) is not None}
        with suppress(RuntimeError):  # an op wrote to an array since, and a rule needs what it held
            carry(nodes, picture.edges, grads)
    return without(picture, hidden)


def _known(node: Any) -> Any:
    """The gradient of a node whose rule may run: a drawing runs no `_backward` of the user's."""
    return grad_of(node) if isinstance(node, Node) and not is_hand_written(node) else None


if TYPE_CHECKING:  # graphviz declares no types

    class _Digraph:
        body: list[str]

        def __init__(self, *args: Any, **kwargs: Any): ...
        def __getattr__(self, name: str) -> Any: ...
        def pipe(self, *args: Any, **kwargs: Any) -> Any: ...
        def save(self, *args: Any, **kwargs: Any) -> str: ...
        def _render(self, *args: Any, **kwargs: Any) -> str: ...
        def copy(self) -> Any: ...

else:
    _Digraph = graphviz.Digraph


class Drawing(_Digraph):
    """A `graphviz.Digraph` that draws itself as SVG; `graph` is the plain data it was made from.

    SVG has the built-in layout, so it is the same on every machine. Other formats and engines are Graphviz's, and so
    are DOT lines that the caller adds: they appear only there.
    """

    graph: Picture

    def svg(self) -> str:
        """The drawing in the built-in layout, as the text of an SVG file."""
        return svg.write(self.graph, "TB" if self.graph_attr.get("rankdir") in ("TB", "BT") else "LR")

    def save(self, filename: Any = None, directory: Any = None, **kwargs: Any) -> str:
        """Write the drawing as .svg, .png (by resvg-py) or .pdf (by `dot`), or its source as .gv or .dot.

        Without a suffix it is the source, as for `graphviz.Digraph`, whose `render` calls this. Returns the path.
        """
        target = Path(str(directory or self.directory), str(filename or ""))
        suffix = target.suffix.lower()
        if suffix in ("", ".gv", ".dot") or "skip_existing" in kwargs:
            return super().save(filename, directory=directory, **kwargs)
        if suffix not in (".png", ".svg", ".pdf"):
            raise ValueError(
                f"{target.name} is no name for a drawing: let it end in .pdf, .png or .svg, or in .gv or .dot for the "
                "source; render(format=...) writes what else Graphviz can"
            )
        picture = self.pipe("pdf") if suffix == ".pdf" else None
        target.parent.mkdir(parents=True, exist_ok=True)
        if picture is None:
            return str(save_picture(self.svg(), target))
        with in_full(target) as beside:
            beside.write_bytes(picture)
        return str(target)

    def pipe(self, format: str | None = None, *args: Any, encoding: str | None = None, **kwargs: Any) -> Any:
        """The drawing as bytes, or as a string if `encoding` is passed; see `graphviz.Digraph.pipe`."""
        if _is_ours(kwargs.get("engine") or self.engine, format or self.format, kwargs):
            return self.svg() if encoding else self.svg().encode()
        with _install_hint(format or self.format):
            return super().pipe(format, *args, encoding=encoding, **kwargs)

    def _render(self, engine: str, format: str, filepath: str, **settings: Any) -> str:
        """Write the picture: `render` and `view` of graphviz.Digraph call this once they have saved the source."""
        if not _is_ours(engine, format, settings):
            with _install_hint(format):
                return super()._render(engine, format, filepath, **settings)
        path = str(settings["outfile"] or f"{filepath}.svg")
        with open(path, "x" if settings["raise_if_result_exists"] else "w", encoding="utf-8") as file:
            file.write(self.svg())
        return path

    def copy(self) -> "Drawing":
        """An independent copy."""
        twin = super().copy()
        twin.graph = self.graph
        return twin

    def __repr__(self) -> str:
        return f"<Drawing: {alt_text(self.graph).splitlines()[0]}; svg(), render(filename)>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str | bytes]:
        """An `<img>`: inline SVG is dropped from untrusted notebooks and breaks export to LaTeX."""
        words, drawn = alt_text(self.graph), self.svg()
        least = round(_width(drawn) / 2)  # smaller would be unreadable; beyond that the drawing scrolls
        picture = image(drawn, words, f"max-width: 100%; min-width: {least}px")
        markup = f'<div style="overflow-x: auto">{picture}</div>'
        return {**bundle(markup, words, include, exclude, drawn)}


def _width(picture: str) -> float:
    """Width of an SVG, in pixels."""
    return float(picture.partition(' width="')[2].partition('"')[0])


def _is_ours(engine: str, format: str, settings: Mapping[str, Any]) -> bool:
    """True if the built-in layout draws this, False if only Graphviz can."""
    return engine == "dot" and format == "svg" and not any(settings.get(x) for x in _GRAPHVIZ_S)


@contextmanager
def _install_hint(format: str) -> Iterator[None]:
    """If `dot` is missing, the error says what to install."""
    try:
        yield
    except graphviz.ExecutableNotFound as error:
        error.args = (
            f"only Graphviz can draw this {format!r}, and its `dot` program is not on the PATH: install it with "
            "`apt install graphviz`, `brew install graphviz`, `choco install graphviz`, `winget install graphviz` or "
            "`conda install graphviz` (the PyPI package alone is not enough), or use .svg() or .save('graph.png'), "
            "which do not need it",
        )
        raise error from None
