"""A graph of Values as a text table: each number, its gradient and its local derivatives.

The local derivatives are the gradients that a node with a gradient of 1 sends to its operands.
"""

from collections.abc import Mapping, Sequence
from itertools import count

from ..engine.value import Node, Value
from ..viz.drawing.data import data_of, walk
from ..viz.infix import ATOM, Text, name, number, within, written
from ..viz.text import clean, columns, shorten
from ..viz.values import typeset, value_text

_LONGEST = 24  # maximum width of a name, or of an expression that stands for one
Row = list[str]  # the name, "= x*w", value, gradient; then "dy/dx" and "-3.0000" of each operand
_BEFORE = ("", " ", "  ", "  ", "  ", " = ", "   ", " = ")  # the separator before each cell of a row
_SIDES = (1, 1, -1, -1, 1, -1, 1, -1)  # 1 for a cell aligned on the left, -1 for a number, aligned on the right


def table(root: Value, *, typographic: bool = False, width: int | None = None) -> str:
    """The nodes of a graph that require a gradient, one per line, leaves first.

    Args:
        root: the result; call `root.backward()` first.
        typographic: whether to write a real minus sign.
        width: maximum width in columns. If the table is wider, local derivatives are stacked; None never stacks.

    Returns:
        The table, without a final newline.

    >>> from micrograd import Value
    >>> x = Value(3.0, label="x")
    >>> y = x * x
    >>> y.label = "y"
    >>> y.backward()
    >>> print(table(y))
               value  gradient  local derivatives
    x         3.0000    6.0000
    y = x*x   9.0000    1.0000  dy/dx = 3.0000   dy/dx = 3.0000
    """
    nodes = sorted([node for node in walk(root).nodes if node.requires_grad], key=lambda node: not node.is_leaf)
    terms = _terms(nodes)
    rows = [_row(node, terms, typographic) for node in nodes]
    lines = _lines(rows)
    if width is not None and max(map(_width, lines)) > width:
        stacked = [half for row in rows for half in (row[:6], [""] * 4 + row[6:])]
        lines = _lines([half for half in stacked if any(half)])
    return "\n".join(lines)


def _row(node: Value, terms: Mapping[Node, Text], typographic: bool) -> Row:
    text = typeset if typographic else value_text
    title, value, gradient = terms[node][0], text(node.data), text(node.grad)
    if node.is_leaf:
        return [title, "", value, gradient]
    formula = _formula(node, terms)[0]
    label = title if title != formula else ""
    row = [title, f"= {formula}" if label else "", value, gradient]
    for operand, local in node._row.send(node, 1.0):  # an operand used twice has two
        row += [f"d{label}/d{within(terms[operand], ATOM)}", text(local)]
    return row


def _terms(nodes: Sequence[Node]) -> dict[Node, Text]:
    """The title of each row: its label, else its expression or, if the expression is too long, v1, v2, ..."""
    terms: dict[Node, Text] = {}
    labels = {node.label for node in nodes}
    free = filter(lambda name: name not in labels, map("v{}".format, count(1)))
    for node in nodes:
        if not (node.label or node.is_leaf):
            terms[node] = _formula(node, terms)
            if len(terms[node][0]) <= _LONGEST:
                continue
        terms[node] = name(shorten(node.label, _LONGEST, "...") or next(free))
    return terms


def _formula(node: Node, terms: Mapping[Node, Text]) -> Text:
    """The op and its operands."""
    op = node._op.lower() if node._op.isidentifier() else clean(node._op)
    operands = [terms[p] if p in terms else name(p.label) if p.label else number(data_of(p)) for p in node._prev]
    return written(op, operands, tight=True)


# ------------------------------------------------------------------------------------------------ cells to lines
def _lines(rows: Sequence[Row]) -> list[str]:
    """The rows as aligned text, below a header."""
    rows = [["", "", "value", "gradient"], *rows]
    widths = [max([_width(row[i]) for row in rows if len(row) > i], default=0) for i in range(len(_BEFORE))]
    lines = []
    for row in rows:
        cells = zip(_BEFORE, row, _SIDES, widths, strict=False)
        lines.append("".join([before + _pad(cell, side * width) for before, cell, side, width in cells]))
    lines[0] += "  local derivatives" * any(widths[4:])
    return [line.rstrip() for line in lines]


def _width(text: str) -> int:
    return sum(map(columns, text))


def _pad(text: str, width: int) -> str:
    """Pad with spaces on the right, or on the left if `width` is negative."""
    space = " " * (abs(width) - _width(text))
    return text + space if width > 0 else space + text


def pointed(text: str, start: int, end: int, width: int) -> str:
    """Two lines: the text around a position, and carets below that position."""
    room = max(width - 10, 20)
    first = max(0, min(start - room // 2, len(text) - room))
    dots, more = "..." * (first > 0), "..." * (len(text) > first + room)
    before, marked, after = map(clean, (text[first:start], text[start:end], text[max(start, end) : first + room]))
    return f"  {dots}{before}{marked}{after}{more}\n  {' ' * _width(dots + before)}{'^' * max(1, _width(marked))}"
