"""Nodes to plain data: a snapshot of what is drawn, as strings and numbers.

`walk` orders the nodes, `describe` turns each box of a drawing into text. The result (`Picture`) holds no nodes, so it
can be stored, compared, sent as JSON (`dataclasses.asdict`), laid out and drawn after the nodes have changed.
Text is unescaped here; each writer escapes for its own format.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from types import MappingProxyType
from typing import Any

from ...scalars.kinds import node_of
from ...scalars.rows import nothing
from .. import infix
from ..infix import Text
from ..text import shorten
from ..values import exact_text, is_array, is_plural, shape_text, value_text
from .heat import Heat, heats_of_array

NO_TERM: Text = ("", infix.ATOM)
NO_GRADIENT = "\u2013"  # before the backward pass
stand_ins: list[Callable[[Any], Any]] = []  # each returns the node that stands for another library's object, or None


def drawn_node(x: Any) -> Any:
    """The node of a Tensor, or the node that stands for x; anything else is returned unchanged."""
    nodes = (stand_in(x) for stand_in in stand_ins)
    return next((node for node in nodes if node is not None), node_of(x))


# ------------------------------------------------------------------------------------------------ the plain data
@dataclass
class Box:
    """One box of a drawing: a node, or the many nodes that were folded into it."""

    id: str
    kind: str  # "parameter", "input", "constant", "result"; folded: "module", "repeat", "stretch"
    name: str  # the full label; "" if there is none
    op: str  # "" for leaves and for folded modules
    rows: list[tuple[str, str]]  # the lines of the card: ("data", "-4.0000"), ("grad", "138.8338")
    expression: str = ""  # the op applied to the names of its operands, if the text is short
    stands_for: Text = NO_TERM  # used in place of a missing name: the expression, or a constant's value
    tip: str = ""  # the tooltip, with numbers at full precision
    mark: str = ""  # words beside the name
    nodes: int = 1  # how many nodes the box represents
    times: int = 1  # how many repetitions the box represents
    heats: list[Heat] = field(default_factory=list)  # of an array and of its gradient
    short: str = ""  # v1, v2, ... for a node without a name, whose expression is long


@dataclass
class Edge:
    """`uses` of the box `tail` by the box `head`, both indices into `Picture.boxes`.

    A use is a node, as an index into the walk, and the place of the operand among the node's operands. A `single` line
    stands for one use of the only result of its tail. The gradient that the line carried back (see `carried.py`) is
    `part`, the local derivative `local` times the gradient of the head. For an array, `part` is True, and `flow` has
    the lengths of the positive and of the negative numbers. For many numbers, into or out of a folded box, `flow` has
    the lengths over all of them.
    """

    tail: int
    head: int
    uses: list[tuple[int, int]]
    single: bool = False
    local: Any = None
    part: Any = None
    flow: tuple[float, float] | None = None

    @property
    def count(self) -> int:
        """How many uses the line stands for."""
        return len(self.uses)


@dataclass
class Picture:
    """A drawing without coordinates. `note` says what was folded and how to draw all nodes; "" if nothing is folded."""

    boxes: list[Box]
    edges: list[Edge]
    note: str = ""


@dataclass
class Group:
    """Nodes (indices into `Walk.nodes`) that share a box, and the kind, name and op of the box. `fold` makes groups."""

    members: list[int]
    kind: str = "node"
    name: str = ""
    op: str = ""
    times: int = 1

    @property
    def is_sum(self) -> bool:
        """True for one folded chain of `+`."""
        return self.op == "sum" and self.times == 1


# ------------------------------------------------------------------------------------------------ the walk
@dataclass
class Walk:
    """All nodes that the roots depend on, in topological order; `operands` and `roots` are indices into `nodes`."""

    nodes: list[Any]
    operands: list[tuple[int, ...]]
    roots: list[int]
    whole: "Walk | None" = None  # the graph that contains this one

    @cached_property
    def then(self) -> dict[Any, Any]:
        """The results of the nodes whose arrays were overwritten later; see `overwritten`."""
        return self.whole.then if self.whole else overwritten(self.nodes)

    def data(self, i: int) -> Any:
        """The result of a node, or the data of a leaf, even if its array was overwritten later."""
        return self.then.get(self.nodes[i], data_of(self.nodes[i]))

    @cached_property
    def has_gradients(self) -> bool:
        """True if there was a backward pass."""
        return any(is_array(grad := grad_of(self.nodes[i])) or grad not in (None, 0) for i in self.roots)

    def grad(self, i: int) -> Any:
        """The gradient of a node, or None if no backward pass has reached the node."""
        grad = grad_of(self.nodes[i])
        return grad if self.has_gradients or is_array(grad) or grad else None

    def part(self, members: Sequence[int], outside: Collection[int] = ()) -> "tuple[Walk, dict[int, int]]":
        """The members as a separate graph, in which those `outside` have no operands, and each member's place in it."""
        place = {i: k for k, i in enumerate(members)}
        operands: list[tuple[int, ...]] = []
        for i in members:
            kept = [] if i in outside else [place[j] for j in self.operands[i] if j in place]
            operands.append(tuple(kept))
        roots = [place[i] for i in self.roots if i in place]
        return Walk([self.nodes[i] for i in members], operands, roots, self), place


def walk(root: Any) -> Walk:
    """All nodes that `root` (a node, or a list or tuple of nodes) depends on, in a deterministic order."""
    roots = roots_of(root)
    position: dict[int, int] = {}
    operands: dict[int, tuple[Any, ...]] = {}  # by the ids of the nodes, which these references keep from reuse
    nodes: list[Any] = []
    stack = roots[::-1]
    while stack:
        node = stack[-1]
        if id(node) not in operands:
            operands[id(node)] = _operands(node)
            stack += [operand for operand in reversed(operands[id(node)]) if id(operand) not in operands]
            continue
        stack.pop()  # all operands are in `nodes`
        if id(node) not in position:
            position[id(node)] = len(nodes)
            nodes.append(node)
    indices = [tuple([position[id(operand)] for operand in operands[id(node)]]) for node in nodes]
    return Walk(nodes, indices, [position[id(node)] for node in roots])


def overwritten(nodes: Sequence[Any]) -> dict[Any, Any]:
    """The results of the nodes whose memory an op in place wrote to later, computed again by their rows.

    The nodes are in the order of the walk. Each write has the node before it as an operand, so this is also the order
    of the writes. Of all nodes that share memory, the last still holds its result, and so do its views. A constant that
    was written to has kept a copy.
    """
    arrays = [node for node in nodes if hasattr(node, "_store")]
    last = {_memory(node._data): node for node in arrays if node._row and not node._row.view}
    then: dict[Any, Any] = {}
    for node in arrays:
        row, data, memory = node._row, node._data, _memory(node._data)
        writer = last.get(memory, node)
        is_view = row and row.view and _memory(node._prev[0]._data) == memory
        if node is writer or (is_view and node._prev[0] not in then):
            continue  # it holds its result, or is a view of an operand that does
        if getattr(row, "forward", None) not in (None, nothing):
            with node._numpy_warnings_off():
                out = row.forward(*[then.get(n, n._data) for n in node._prev])
            then[node] = out.astype(data.dtype, copy=False)
        elif not row and data is not writer._data and (kept := node._store and node._store.kept()):
            start = data.ctypes.data - writer._data.ctypes.data  # the place of the view, in the memory and in its copy
            then[node] = type(data)(data.shape, data.dtype, kept._data.ravel(order="K").data, start, data.strides)
    return then


def _memory(array: Any) -> int:
    """The id of the array that owns the memory of this array."""
    while is_array(array.base):
        array = array.base
    return id(array)


def roots_of(root: Any) -> list[Any]:
    """The nodes of `root`, which is a Value or a Tensor, or a list of them. Raises TypeError for anything else."""
    roots = [drawn_node(node) for node in (root if isinstance(root, list | tuple) else [root])]
    if not roots:
        raise ValueError("there is nothing to draw: the list of roots is empty; pass at least one Value or Tensor")
    for node in roots:
        if not (hasattr(node, "_prev") and hasattr(node, "data")):
            hint = f"wrap it first: Value({node!r})" if isinstance(node, int | float) else "pass what the model returns"
            if type(node).__module__.partition(".")[0] == "torch":
                hint = "compute it inside `with viz.torch(model):`"
            raise TypeError(
                f"only a Value or a Tensor (or a list of them) has a graph to draw, found {type(node).__name__}; {hint}"
            )
    return roots


def _operands(node: Any) -> tuple[Any, ...]:
    operands = getattr(node, "_prev", ())
    if isinstance(operands, Set):  # of a class outside of this package; the order of a set varies between processes
        operands = sorted(operands, key=lambda n: (label_of(n), op_of(n), repr(getattr(n, "data", n))))
    return tuple(operands)


def trace(root: Any) -> tuple[Set[Any], Set[tuple[Any, Any]]]:
    """The nodes and edges of a graph.

    Use it to count or search what a computation has recorded, or to draw it in another way.

    Args:
        root: a Value or a Tensor, or a list or tuple of them.

    Returns:
        The set of all nodes that `root` depends on, `root` included, and the set of (operand, result) pairs. Both
        iterate in topological order. An operand that one node uses twice gives one pair.

    Raises:
        TypeError: `root` is not a node.
        ValueError: `root` is an empty list.

    >>> from micrograd.engine import Value
    >>> a = Value(2.0, label="a")
    >>> nodes, edges = trace(a * a)
    >>> [n._op for n in nodes], len(edges), a in nodes
    (['', '*'], 1, True)
    """
    graph = walk(root)
    edges = [(graph.nodes[j], node) for i, node in enumerate(graph.nodes) for j in graph.operands[i]]
    return dict.fromkeys(graph.nodes).keys(), dict.fromkeys(edges).keys()  # sets, in insertion order


# ------------------------------------------------------------------------------------------------ nodes to boxes
def describe(
    graph: Walk,
    groups: Sequence[Group],
    note: str = "",
    names: Mapping[int, str] = MappingProxyType({}),
    owned: Collection[int] = (),
    called: Mapping[int, str] = MappingProxyType({}),
) -> Picture:
    """The plain data of a drawing: one box per group. The groups are in the order of the walk, by their first members.

    `names` maps the ids of nodes without a label to names. A node without a name is called v1, v2 and so on if it has
    no expression that is short enough to stand for the node. `owned` has the ids of the parameters; other leaves are
    inputs. `called` maps ids to names that are used in place of a label.
    """
    home = [0] * len(graph.nodes)
    for g, group in enumerate(groups):
        for i in group.members:
            home[i] = g
    edges = _edges(graph, groups, home)
    boxes: list[Box] = []
    taken = {*names.values(), *map(label_of, graph.nodes)}
    free = (name for k in count(1) if (name := f"v{k}") not in taken)
    for g, group in enumerate(groups):
        id_ = f"n{g}"
        if group.kind == "node":
            i = group.members[0]
            node = graph.nodes[i]
            name = called.get(id(node)) or label_of(node) or names.get(id(node), "")
            leaf = "parameter" if id(node) in owned else "input"
            operands = [boxes[home[j]] for j in graph.operands[i] if home[j] < g]
            complete = len(operands) == len(graph.operands[i])
            box = _node_box(id_, graph, i, name, leaf, operands if complete else [])
            if _needs_name(box):
                box.short = next(free)
        else:
            box = _group_box(id_, group, graph)
        boxes.append(box)
    return Picture(boxes, edges, note)


def _needs_name(box: Box) -> bool:
    """True if there is no short way to refer to this box."""
    return not (box.name or 0 < len(box.stands_for[0]) <= SHORT or box.kind == "constant")


def _edges(graph: Walk, groups: Sequence[Group], home: list[int]) -> list[Edge]:
    """One edge per use of a box's only result by a node or a sum; one edge with a count between other boxes."""
    only_result = {g: results[0] for g, group in enumerate(groups) if len(results := outputs(graph, group)) == 1}
    single: list[Edge] = []
    counted: dict[tuple[int, int], Edge] = {}
    for i, operands in enumerate(graph.operands):
        head = home[i]
        has_one_op = groups[head].kind == "node" or groups[head].is_sum
        for k, j in enumerate(operands):
            tail = home[j]
            if tail == head:
                continue
            if has_one_op and only_result.get(tail) == j:
                single.append(Edge(tail, head, [(i, k)], single=True))
            else:
                counted.setdefault((tail, head), Edge(tail, head, [])).uses.append((i, k))
    return [*single, *counted.values()]


def outputs(graph: Walk, group: Group) -> list[int]:
    """The members of a group that no other member uses; for a single node, that node."""
    used = {j for i in group.members for j in graph.operands[i]} if len(group.members) > 1 else ()
    return [i for i in group.members if i not in used]


def grad_of(node: Any) -> Any:
    grad = getattr(node, "grad", None)
    return getattr(grad, "data", grad) if hasattr(grad, "_prev") else grad  # with create_graph, a gradient is a node


def _requires_grad(node: Any) -> bool:
    return getattr(node, "requires_grad", True)


def _node_box(id_: str, graph: Walk, i: int, name: str, leaf: str, operands: Sequence[Box]) -> Box:
    node, data, grad = graph.nodes[i], graph.data(i), graph.grad(i)
    op = op_of(node)
    expression, stands_for = "", NO_TERM
    if operands:
        kind = "result"
        expression, _ = stands_for = _written(_index(node) or op, operands)
    elif op:
        kind = "result"
    elif _requires_grad(node):
        kind = leaf
    else:
        kind, stands_for = "constant", _number_term(data)
    lines = [name, expression and f"= {expression}", op and f"op {op}", f"data {exact_text(data)}"]
    if _requires_grad(node):
        lines.append(f"grad {NO_GRADIENT if grad is None else exact_text(grad)}")
    tip = "\n".join(filter(None, lines))
    heats = heats_of_array(data, grad if is_array(grad) else None, i) if is_plural(data) else []
    mark = getattr(node, "_mark", "")
    return Box(id_, kind, name, op, _rows(graph, i), expression, stands_for, tip, mark, heats=heats)


def _rows(graph: Walk, i: int) -> list[tuple[str, str]]:
    """The lines of a node's card."""
    data, grad = graph.data(i), graph.grad(i)
    rows = [("shape", shape_text(data))] if is_array(data) else []
    rows.append(("data", value_text(data)))
    if _requires_grad(graph.nodes[i]):
        rows.append(("grad", NO_GRADIENT if grad is None else value_text(grad)))
    return rows


def _group_box(id_: str, group: Group, graph: Walk) -> Box:
    nodes = [graph.nodes[i] for i in group.members]
    if group.kind == "stretch":
        rows = [("", count_of_op) for count_of_op in _census(nodes)]
        name = f"{len(nodes):,} nodes"
    else:
        results = outputs(graph, group)
        rows = [("nodes", f"{len(nodes):,}")] if len(nodes) > group.times else []
        if len(results) == 1:
            rows += _rows(graph, results[0])
        elif group.kind == "repeat":
            rows += _range([graph.data(i) for i in results])
        labels = {label_of(graph.nodes[i]) for i in results}
        shared_label = labels.pop() if len(labels) == 1 else ""
        name = group.name or shared_label or ("" if group.op else _plural(nodes))
    tip = "\n".join(filter(None, [name, f"{len(nodes):,} nodes", *_census(nodes, most=12)]))
    return Box(id_, group.kind, name, group.op, rows, tip=tip, nodes=len(nodes), times=group.times)


def _census(nodes: Iterable[Any], most: int = 3) -> list[str]:
    """Counts of nodes by op: ["40 +", "30 *", "12 constants"], the most common first."""
    counts = Counter(op_of(node) or _plural([node]) for node in nodes)
    parts = [f"{count:,} {op}" for op, count in counts.most_common(most)]
    return parts + ([f"and {len(counts) - most} more kinds"] if len(counts) > most else [])


def _plural(leaves: Sequence[Any]) -> str:
    return "inputs" if _requires_grad(leaves[0]) else "constants"


def _range(data: Sequence[Any]) -> list[tuple[str, str]]:
    """The smallest and the largest number, if all are finite numbers."""
    if not data or not all(isinstance(x, int | float) and x - x == 0 for x in data):
        return []
    low, high = min(data), max(data)  # pyright: ignore[reportArgumentType]
    return [("data", value_text(low) if low == high else f"{value_text(low)} .. {value_text(high)}")]


def label_of(node: Any) -> str:
    label = getattr(node, "label", "")
    return "" if label is None else str(label)


def data_of(node: Any) -> Any:
    """The data of a node, without `Tensor.data`, which returns a writable array and may therefore copy."""
    node = node_of(node)
    return node._data if hasattr(node, "_data") else getattr(node, "data", node)


def op_of(node: Any) -> str:
    op = getattr(node, "_op", "")
    return "" if op is None else str(op)


def _index(node: Any) -> str:
    """The index in Python's notation, such as "[0]" or "[1:, 2]"; "" for an index with arrays, and for another op."""
    if op_of(node) != "getitem":
        return ""
    index = getattr(getattr(node, "_row", None), "settings", {}).get("index", "")
    axes = index if isinstance(index, tuple) else (index,)
    texts = {int: str, slice: _slice_text, type(None): str, type(...): lambda _: "..."}
    return f"[{', '.join(texts[type(x)](x) for x in axes)}]" if all(type(x) in texts for x in axes) else ""


def _slice_text(x: slice) -> str:
    ends = ":".join("" if end is None else str(end) for end in (x.start, x.stop))
    return ends if x.step is None else f"{ends}:{x.step}"


# ------------------------------------------------------------------------------------------------ expressions
# The most columns of an expression that stands for its node, of an expression without names such as v1, and of the rest
SHORT, WHOLE, LONGEST = 16, 24, 36
DOTS: Text = ("...", infix.ATOM)  # for an operand that is too long


def expression(graph: Walk, names: Mapping[int, str] = MappingProxyType({})) -> str:
    """The root as an expression of the leaves, without the labels in between; "" if the expression is too long."""
    terms: list[Text] = []
    for i, (node, operands) in enumerate(zip(graph.nodes, graph.operands, strict=True)):
        if operands:
            terms.append(_applied(_index(node) or op_of(node), [terms[j] for j in operands], 56))
        elif name := label_of(node) or names.get(id(node)):
            terms.append(infix.name(name))
        else:
            is_constant = not (op_of(node) or _requires_grad(node))
            terms.append(_number_term(graph.data(i)) if is_constant else NO_TERM)
    return terms[graph.roots[0]][0] if graph.operands[graph.roots[0]] else ""


def _written(op: str, operands: Sequence[Box]) -> Text:
    """The first expression of an op that is short enough, or NO_TERM."""
    expressions = (_applied(op, terms, longest) for terms, longest in _attempts(operands))
    return next((expression for expression in expressions if expression[0]), NO_TERM)


def _attempts(operands: Sequence[Box]) -> Iterator[tuple[list[Text], int]]:
    """Ways to write operands, and the columns allowed: in full, by names, by short names, then dots for the longest."""
    yield [term(box if "..." in box.stands_for[0] else replace(box, short="")) for box in operands], WHOLE
    yield [term(box) for box in operands], LONGEST
    terms = [term(box, 12) for box in operands]
    yield terms, LONGEST
    for k in sorted(range(len(terms)), key=lambda k: -len(terms[k][0])):
        if terms[k][0]:
            terms[k] = DOTS
        yield terms, LONGEST


def _applied(op: str, terms: Sequence[Text], longest: int) -> Text:
    """`x1*w1 + b` from the terms of the operands; NO_TERM if an operand has none or the result is too long."""
    if not terms or not all(text for text, _ in terms):
        return NO_TERM
    result = infix.written(op, terms)
    return result if len(result[0]) <= longest else NO_TERM


def _number_term(data: Any) -> Text:
    """The term of a constant: its value if it is a single number, else NO_TERM."""
    try:
        return infix.number(float(data)) if getattr(data, "ndim", 0) == 0 else NO_TERM
    except (TypeError, ValueError, OverflowError):
        return NO_TERM


def term(box: Box, most: int = 10_000) -> Text:
    """How other boxes' expressions refer to a box, with its binding strength; a name has at most `most` columns."""
    name = box.name or box.short
    name = shorten(name, most, "...") if len(name) > most else name
    return infix.name(name) if name else box.stands_for
