"""`draw_dot`: a graph as DOT, and as a picture that needs none of the Graphviz programs."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import graphviz

from ...engine.value import Node
from ..files import in_full, save_picture
from ..page import bundle, image
from . import dot, svg
from .alt_text import alt_text
from .carried import carry, is_hand_written, is_released, without
from .data import Picture, describe, drawn_node, grad_of, walk
from .fold import calls_of, fold
from .names import find_names

MAX_NODES = 60  # more nodes are unreadable in one picture; the player folds a larger graph, too
_RANKDIRS = ("LR", "TB")


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
        A `Drawing`, which notebooks display as a picture. It has the attributes and methods of the `graphviz.Digraph`
        inside it. `svg()`, `source`, `render(filename)` and `view()` work everywhere. `save("graph.png")` needs the
        package resvg-py, and writes .svg, .gv and .dot too. `save("graph.pdf")`, `render(format="pdf")` and
        `render(engine="neato")` need `dot`.

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
    note = {"label": graph.note, "labelloc": "b"} if graph.note else {}
    digraph = graphviz.Digraph(
        filename="Digraph.gv",
        format=format,
        graph_attr={"rankdir": rankdir, **dot.GRAPH, **note},
        node_attr=dot.NODE,
        edge_attr=dot.EDGE,
        body=dot.body(graph, rankdir),
    )
    return Drawing(graph, digraph)


def _picture(
    root: Any,
    max_nodes: int | None,
    variables: Mapping[str, Any] | None,
    hide: Iterable[Any] | Mapping[Any, str],
    constants: bool,
) -> Picture:
    nodes = walk(root)
    renamed = hide if isinstance(hide, Mapping) else dict.fromkeys(hide, "")
    called = {id(drawn_node(x)): name for x, name in renamed.items()}
    if not called.keys() <= {*map(id, nodes.nodes)}:
        raise ValueError("`hide` has a node that is no part of this graph: pass nodes that `root` depends on")
    names = find_names(nodes, calls_of(nodes), variables)
    groups, how = fold(nodes, max_nodes)
    notes = []
    if any(map(is_released, nodes.nodes)):
        notes.append("backward() released this graph: draw it before, or pass retain_graph=True")
    if how:
        boxes = f"{len(groups)} box{'es' * (len(groups) != 1)}"
        notes.append(f"{len(nodes.nodes):,} nodes in {boxes}, folded {how}; max_nodes=None draws every node")
    picture = describe(nodes, groups, "", names.by_id, names.owned, called)
    hidden = set()
    for i, (group, box) in enumerate(zip(groups, picture.boxes, strict=True)):
        is_hidden = group.kind == "node" and called.get(id(nodes.nodes[group.members[0]])) == ""
        if is_hidden or (box.kind == "constant" and not constants):
            hidden.add(i)
    if hidden:
        notes.append(f"{len(hidden):,} node{'s' * (len(hidden) > 1)} hidden")
    picture.note = "; ".join(notes)
    if nodes.has_gradients:
        # A drawing runs no `_backward` of the user's.
        runnable = [node for node in nodes.nodes if isinstance(node, Node) and not is_hand_written(node)]
        grads = {node: grad_of(node) for node in runnable}
        with suppress(RuntimeError):  # an op wrote to an array since, and a rule needs the array's former contents
            carry(nodes, picture.edges, grads)
    return without(picture, hidden)


class Drawing:
    """A graph that draws itself as SVG, around a `graphviz.Digraph` for everything else.

    SVG has the built-in layout, so it is the same on every machine. Other formats and engines are Graphviz's. DOT lines
    that the caller adds appear only in pictures by Graphviz. The attributes of a Digraph (`node`, `source`, `engine`,
    ...) can be read and set on the drawing. `digraph` is for functions that need a Digraph.
    """

    def __init__(self, graph: Picture, digraph: Any):
        self.digraph = digraph
        self.graph = graph

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"a Drawing has no attribute {name!r}", name=name, obj=self)
        return getattr(self.digraph, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = name in ("graph", "digraph")
        object.__setattr__(self if own else self.digraph, name, value)

    def svg(self) -> str:
        """The drawing in the built-in layout, as the text of an SVG file."""
        return svg.write(self.graph, "TB" if self.graph_attr.get("rankdir") in ("TB", "BT") else "LR")

    def save(self, filename: Any = None, directory: Any = None, **kwargs: Any) -> str:
        """Write the drawing as .svg, .png (by resvg-py) or .pdf (by `dot`), or its source as .gv or .dot.

        A file without a suffix gets the source, as from `graphviz.Digraph`. Returns the path.
        """
        target = Path(str(directory or self.directory), str(filename or ""))
        suffix = target.suffix.lower()
        if suffix in ("", ".gv", ".dot"):
            return self.digraph.save(filename, directory=directory, **kwargs)
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
        if self._is_ours(format, kwargs):
            return self.svg() if encoding else self.svg().encode()
        with _install_hint(format or self.format):
            return self.digraph.pipe(format, *args, encoding=encoding, **kwargs)

    def render(
        self,
        filename: Any = None,
        directory: Any = None,
        view: bool = False,
        cleanup: bool = False,
        format: str | None = None,
        *,
        outfile: Any = None,
        raise_if_result_exists: bool = False,
        quiet_view: bool = False,
        **settings: Any,
    ) -> str:
        """Write the source and the picture, and return the path of the picture; see `graphviz.Digraph.render`."""
        drawn = format or Path(outfile or "").suffix[1:].lower() or self.format
        if not self._is_ours(drawn, settings):
            with _install_hint(drawn):
                return self.digraph.render(
                    filename,
                    directory=directory,
                    view=view,
                    cleanup=cleanup,
                    format=format,
                    outfile=outfile,
                    raise_if_result_exists=raise_if_result_exists,
                    quiet_view=quiet_view,
                    **settings,
                )
        if outfile and not directory:
            outfile = Path(self.directory, outfile)
        if outfile and not filename:
            filename = Path(outfile).with_suffix(".gv")
        source = self.digraph.save(filename, directory=directory)
        path = str(outfile or f"{source}.svg")
        with open(path, "x" if raise_if_result_exists else "w", encoding="utf-8") as file:
            file.write(self.svg())
        if cleanup:
            Path(source).unlink()
        if view or quiet_view:
            graphviz.view(path, quiet=quiet_view)
        return path

    def view(self, filename: Any = None, directory: Any = None, **settings: Any) -> str:
        """Write the source and the picture, and open the picture; see `graphviz.Digraph.view`."""
        return self.render(filename, directory, view=True, **settings)

    def copy(self) -> "Drawing":
        """An independent copy."""
        return Drawing(self.graph, self.digraph.copy())

    def _is_ours(self, format: str | None, settings: Mapping[str, Any]) -> bool:
        """True if the built-in layout draws the format, False if the format or a setting needs Graphviz."""
        engine = settings.get("engine") or self.engine
        known = settings.keys() <= {"engine", "quiet", "overwrite_source"}
        return engine == "dot" and (format or self.format) == "svg" and known

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        return f"<Drawing: {alt_text(self.graph).splitlines()[0]}; svg(), render(filename)>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str | bytes]:
        """An `<img>`, since untrusted notebooks drop inline SVG, and export to LaTeX fails on it."""
        words, drawn = alt_text(self.graph), self.svg()
        width = float(drawn.partition(' width="')[2].partition('"')[0])
        # A drawing at less than half of its width would be unreadable, so it scrolls.
        picture = image(drawn, words, f"max-width: 100%; min-width: {round(width / 2)}px")
        markup = f'<div style="overflow-x: auto">{picture}</div>'
        return {**bundle(markup, words, include, exclude, drawn)}


@contextmanager
def _install_hint(format: str) -> Iterator[None]:
    """If `dot` is missing, let the error say what to install."""
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
