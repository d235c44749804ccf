"""Drawings as text, for screen readers and plain-text notebooks."""

from ..text import shorten
from .data import Box, Picture

_SPOKEN = 40  # the most boxes that are listed one by one


def summary(graph: Picture) -> str:
    """One line: "Computation graph: 12 nodes, 14 edges"."""
    if graph.note:
        return f"Computation graph: {graph.note}"
    boxes, edges = len(graph.boxes), len(graph.edges)
    return f"Computation graph: {boxes} node{'s' * (boxes != 1)}, {edges} edge{'s' * (edges != 1)}"


def alt_text(graph: Picture) -> str:
    """The drawing as text, one line per box; for a large drawing only the last boxes, which have the results."""
    lines = [*map(_sentence, graph.boxes[-_SPOKEN:])]
    left_out = len(graph.boxes) - len(lines)
    return "\n".join([summary(graph), *([f"(the first {left_out} are not listed)"] if left_out else []), *lines])


def _sentence(box: Box) -> str:
    rows = [shorten(f"{key} {text}".strip(), 60, "...") for key, text in box.rows]
    times = f" x{box.times}" if box.times > 1 else ""
    return f"{title(box)}{times}: {', '.join(rows)}"


def title(box: Box) -> str:
    """The name of a box in running text: `d = a + b`, `n4 = tanh(n3)`, `n0`."""
    name = shorten(box.name or box.short, 40, "...") or box.id
    expression = box.expression or box.op
    return f"{name} = {shorten(expression, 40, '...')}" if expression else name
