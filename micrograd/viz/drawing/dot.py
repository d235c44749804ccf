"""Plain data to DOT, the language of Graphviz: a record per node, a small oval per op.

Generated text is ASCII (`x256`, `-0.5`, `...`), since DOT is compared, searched and piped through consoles. Labels stay
as they are. Ids are numbered in the order of the walk (`n0`, `n1`, ...; `n4op` is the oval of n4), so the text is the
same in every run.
"""

import re

from ..text import clean, shorten
from .carried import factor, flow_of, is_carried
from .data import NO_GRADIENT, Box, Edge, Picture

GRAPH = {"bgcolor": "transparent", "fontname": "Helvetica,Arial,sans-serif", "fontsize": "11", "fontcolor": "#5D6B82"}
NODE = {
    "shape": "record",
    "style": "rounded,filled",
    "fillcolor": "#FFFFFF",
    "color": "#A7B1C6",
    "fontcolor": "#1B2436",
    "fontname": "Helvetica,Arial,sans-serif",
    "fontsize": "12",
    "height": "0.3",
    "margin": "0.12,0.05",
}
EDGE = {
    "color": "#7C879D",
    "fontcolor": "#6B778C",
    "fontname": "Helvetica,Arial,sans-serif",
    "fontsize": "10",
    "arrowsize": "0.7",
}

_LOOK = {
    "parameter": 'color="#1B2436" penwidth="1.8"',
    "constant": 'color="#CBD3E1" fontcolor="#5D6B82"',
    "module": 'fillcolor="#EDF0F5" color="#5D6B82"',
    "repeat": 'fillcolor="#EDF0F5" color="#5D6B82"',
    "stretch": 'style="rounded,filled,dashed"',
}
_OVAL = 'shape="oval" style="filled" fillcolor="#EDF0F5" color="#5D6B82" width="0.3" margin="0.04,0.02"'
_NOT_FINITE = 'fillcolor="#1B2436" fontcolor="#FFFFFF"'
_FLOWS = {"flows above": "#0072B2", "flows below": "#C24E00", "flows mixed": "#0072B2:#C24E00"}
_FAINT = '\tgraph [ranksep="1.8"]\n\tedge [color="#7C879D70" arrowhead="none"]\n'
LONGEST_STRING = 16_000  # bytes; `dot` rejects strings longer than 16 KiB
CROWDED = 60  # with more counted edges than this, the counts are shown in tooltips instead


def body(graph: Picture, rankdir: str) -> list[str]:
    """The lines between the braces of a digraph."""
    lines = [_FAINT] if dense(graph) else []
    for box in graph.boxes:
        look = _NOT_FINITE if not_finite(box) else _LOOK.get(box.kind, "")
        lines.append(f"\t{box.id} [{_join(f'label={_quoted(_record(box, rankdir))}', _tooltip(box.tip), look)}]\n")
        if box.op:
            op = shorten(box.op, 24, "...")
            lines.append(f"\t{box.id}op [{_join(f'label={_quoted(_text(op))}', _tooltip(box.tip), _OVAL)}]\n")
            lines.append(f"\t{box.id}op -> {box.id}\n")
    crowded = sum(edge.count > 1 for edge in graph.edges) > CROWDED
    for edge in graph.edges:
        tail, head = graph.boxes[edge.tail], graph.boxes[edge.head]
        look = _join(_label(edge, crowded), _flow(edge))
        lines.append(f"\t{tail.id} -> {head.id}{'op' if head.op else ''}{f' [{look}]' if look else ''}\n")
    return lines


def _label(edge: Edge, crowded: bool) -> str:
    """The number of uses that a line stands for, or the derivative by which it multiplies."""
    if edge.count > 1:
        return f'{"edgetooltip" if crowded else "label"}="x{edge.count}"'
    text = factor(edge).replace("\u00d7 ", "x").replace("\u2212", "-")
    return text and f'label="{text}"'


def _flow(edge: Edge) -> str:
    """The look of a line that carried a gradient back."""
    if not is_carried(edge):
        return ""
    look, *widths = flow_of(edge)
    return f'dir="back" color="{_FLOWS.get(look, EDGE["color"])}" penwidth="{max(sum(widths), 1):.2g}"'


def dense(graph: Picture) -> bool:
    """True if there are too many edges to draw in full. They are faint then, without arrowheads, and have more room."""
    return len(graph.edges) > max(150, 3 * len(graph.boxes))


def not_finite(box: Box) -> bool:
    """True if a number on the card is nan or inf. Such a card is marked."""
    numbers = re.split(r"[\s,[\]]+", " ".join([text for _, text in box.rows]))
    return not {"nan", "inf", "-inf"}.isdisjoint(numbers)


def _record(box: Box, rankdir: str) -> str:
    """The label of a record with stacked fields. Graphviz stacks fields in LR, and fields in braces in TB."""
    name = shorten(box.name, 32, "...")
    name += f" x{box.times}" if box.times > 1 else ""
    rows = [(key, "-" if text == NO_GRADIENT else text) for key, text in box.rows]
    fields = [name.strip(), *[shorten(f"{key} {text}".strip(), 48, "...") for key, text in rows]]
    label = " | ".join([_field(field) for field in fields if field])
    return label if rankdir in ("LR", "RL") else f"{{ {label} }}"


def _field(text: str) -> str:
    text = _text(text)
    for special in "{}|<>":
        text = text.replace(special, "\\" + special)
    return text


def _text(text: str) -> str:
    """A label with backslashes and ampersands escaped, since they start escape sequences in DOT."""
    return text.replace("\\", "\\\\").replace("&", "&amp;")


def _tooltip(text: str) -> str:
    text = text.replace(f"grad {NO_GRADIENT}", "grad -")
    quoted = _quoted(_text(clean(text, newline="\n")).replace("\n", "\\n"))
    if len(quoted.encode()) > LONGEST_STRING:
        quoted = _quoted(_text(shorten(text, 1_500, "...")))
    return f"tooltip={quoted}"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def _join(*attributes: str) -> str:
    return " ".join(filter(None, attributes))
