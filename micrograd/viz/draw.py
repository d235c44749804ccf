"""`draw_dot`: a graph as a `graphviz.Digraph` that draws itself with Graphviz, or without."""

import inspect
import logging
import os
import re
from functools import cache
from typing import Any

import graphviz

from . import dot, svg, text
from .data import Graph, describe, walk
from .fold import fold
from .page import bundle, image

MAX_NODES = 500  # more than anyone reads in one picture, and about where `dot` begins to take seconds
_RANKDIRS = ("LR", "TB")
_log = logging.getLogger(__name__)


def draw_dot(root: Any, format: str = "svg", rankdir: str = "LR", *, max_nodes: int | None = MAX_NODES) -> "Drawing":
    """Draw everything that `root` (a Value, a Tensor, or a list of them) was made from.

    Each node shows its label, data and grad as they are now; ops are small ovals. The result is a `graphviz.Digraph`:
    `.source`, `.render(filename)`, `.pipe()`, `.save()`, `.view()`, and a picture in a notebook. Where the `dot`
    program is not installed, SVG is laid out here instead, and the logger "micrograd.viz.draw" says so once.

    `rankdir` is "LR" (left to right) or "TB" (top to bottom). A graph of more than `max_nodes` nodes is folded, by
    module, then by structure, to at most `max_nodes` boxes (and to no more than 150); a line under the drawing says
    what was folded. `max_nodes=None` draws every node.

    >>> from micrograd.engine import Value
    >>> a = Value(2.0, label="a")
    >>> print(draw_dot(a * a).source.count("n0 -> n1op"))
    2
    """
    if rankdir not in _RANKDIRS:
        raise ValueError(f"rankdir is {rankdir!r}; it must be 'LR' (left to right) or 'TB' (top to bottom)")
    if max_nodes is not None and max_nodes < 1:
        raise ValueError(f"max_nodes is {max_nodes!r}; it must be at least 1, or None to draw every node")
    graph = _picture(root, max_nodes)
    drawing = Drawing(filename="Digraph.gv", format=format, graph_attr={"rankdir": rankdir, **dot.GRAPH})
    drawing.node_attr.update(dot.NODE)
    drawing.edge_attr.update(dot.EDGE)
    drawing.body += dot.body(graph, rankdir)
    if graph.note:
        drawing.graph_attr.update(label=graph.note, labelloc="b")
    drawing.graph = graph
    return drawing


def _picture(root: Any, max_nodes: int | None) -> Graph:
    nodes = walk(root)
    groups, how = fold(nodes, max_nodes)
    note = ""
    if how:
        boxes = f"{len(groups)} box{'es' * (len(groups) != 1)}"
        note = f"{len(nodes.nodes):,} nodes in {boxes}, folded {how}; max_nodes=None draws every node"
    return describe(nodes, groups, note)


class Drawing(graphviz.Digraph):
    """A `graphviz.Digraph` that can also write its SVG itself, from `graph`, the plain data it was made from.

    That SVG shows the graph as it was drawn; DOT lines added by hand afterwards are seen by Graphviz alone.
    """

    graph: Graph | None = None

    def pipe(self, format: str | None = None, *args: Any, encoding: str | None = None, **kwargs: Any) -> Any:
        """The picture as bytes, or as text where an `encoding` is given; see `graphviz.Digraph.pipe`."""
        try:
            return super().pipe(format, *args, encoding=encoding, **kwargs)
        except graphviz.ExecutableNotFound as error:
            picture = self._own_svg(format or self.format, error)
            return picture if encoding else picture.encode()

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Write the picture to a file and give its path; see `graphviz.Digraph.render`."""
        try:
            return super().render(*args, **kwargs)
        except graphviz.ExecutableNotFound as error:
            given = inspect.signature(graphviz.Digraph.render).bind(self, *args, **kwargs).arguments
            return self._render_own(given, error)

    def _render_own(self, given: dict[str, Any], error: Exception) -> str:
        """What `render` does, where it would have done it; the source it has already saved."""
        source, outfile = str(self.filepath), given.get("outfile")
        if outfile is None:
            format = given.get("format") or self.format
            path = f"{source}.{format}"
        else:
            path = os.fspath(outfile if "directory" in given else os.path.join(str(self.directory), outfile))
            format = given.get("format") or os.path.splitext(path)[1][1:].lower()
        picture = self._own_svg(format, error)
        with open(path, "w", encoding="utf-8") as file:
            file.write(picture)
        if given.get("cleanup"):
            os.remove(source)
        if given.get("view") or given.get("quiet_view"):
            graphviz.view(path)
        return path

    def copy(self) -> "Drawing":
        """A copy that can be added to without changing this one."""
        twin = super().copy()
        twin.graph = self.graph
        return twin

    def _own_svg(self, format: str, error: Exception) -> str:
        if format not in ("svg", "svg_inline") or self.graph is None:
            error.args = (_install(format),)
            raise error from None
        _say_once()
        return svg.write(self.graph, "TB" if self.graph_attr.get("rankdir") in ("TB", "BT") else "LR")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str | bytes]:
        """An `<img>`: inline SVG is dropped from untrusted notebooks and breaks their export to LaTeX."""
        words = text.spoken(self.graph) if self.graph else ""
        drawn = self.pipe("svg")
        least = round(_pixels_wide(drawn) / 2)  # smaller, and nobody could read it: what is wider yet can be scrolled
        picture = image("image/svg+xml", drawn, words or "graph", f"max-width: 100%; min-width: {least}px")
        markup = f'<div style="overflow-x: auto">{picture}</div>'
        return {**bundle(markup, words or repr(self), include, exclude)}


def _pixels_wide(picture: bytes) -> float:
    """How wide an SVG is, which Graphviz says in points; 0 if it does not say."""
    found = re.search(rb'<svg[^>]*? width="([\d.]+)(pt)?"', picture)
    return float(found[1]) * (4 / 3 if found[2] else 1) if found else 0.0


@cache
def _say_once() -> None:
    """Through logging: one line on stderr for people, silenced or kept by whoever likes, and never an error."""
    _log.warning("micrograd: Graphviz's `dot` is not installed; drawing SVG with the built-in layout instead")


def _install(format: str) -> str:
    return (
        f"only Graphviz can write {format!r}, and its `dot` program is not on the PATH: install it with "
        "`apt install graphviz`, `brew install graphviz`, `choco install graphviz`, `winget install graphviz` or "
        "`conda install graphviz` (the PyPI package alone is not enough), or use format='svg', which needs nothing"
    )
