"""A graph as a program that the page runs again when a leaf is changed there: data only, made from the rows themselves.

An op's forward function and rules run on the Terms of `scalars.recorder`, and their trees are written as nested lists:
`["*", "g", ["cos", "0"]]`. "0", "1" are the operands, "out" is the result, "g" its gradient; the rest are numbers and
calls. The page knows the elementary functions by name, as `scalars/floats.py` does, and no derivative.

Whatever only moves or adds the elements of an array (a reshape, a sum, an index, and what their rules do) is linear, so
it is written down as the entries of its matrix.

Why is this not the module that `backends/javascript.py` writes? Both come from the same rows, and this was tried. With
a module in place of the trees, and of the part of recompute.js that runs them, a neuron's page would be 0.2 kB larger
(65.1 kB), and that of a network on the four points of XOR 4.4 kB larger (83.0 kB): a module names every node and every
edge, while a tree stands once for all nodes of an op. Making a page would take nearly twice as many calls, and `viz`
would need `compiler`. A module also answers one question, while the page runs the forward pass alone, for its curves,
and sends any gradient along any edge. As for the elementary functions alone, those of that back end are twice the code.
So the page has its own. tests/viz/test_changed_leaf.py compares these with the back end's at the edges, and the page's
numbers with the engine's for every op and for its derivatives.
"""

import json
from collections.abc import Callable, Collection
from functools import cache, lru_cache, reduce
from math import copysign
from typing import Any

from ...engine.rows import Row
from ...engine.value import Node
from ...scalars.ops import TABLE
from ..drawing.carried import is_hand_written, is_released, same
from ..drawing.data import Walk
from ..recorder import Term, is_known, is_linear
from .gradients import Backprop

MOST_NODES = 2_000  # of a graph that the page computes
MOST_NUMBERS, MOST_COMPUTED = 1_024, 4_000  # in an array that is a leaf, and in one that the page computes
MOST_ENTRIES = 30_000  # of all matrices together


# ------------------------------------------------------------------------------------------------ trees
def tree(x: Any) -> Any:
    """A Term as nested lists; a number (or None) as it is; of an array, its elements and its shape."""
    if x is None:
        return None
    if not isinstance(x, Term):
        return {"array": [[number(y) for y in x.ravel().tolist()], x.shape]} if hasattr(x, "shape") else number(x)
    if isinstance(x.op, Row):
        if not is_known(x.op):
            arrays = any(isinstance(y, Term) and y.like is not None for y in x.operands)
            return _linear_in_each(x) if arrays and is_linear(x.op) else tree(x.op.forward(*x.operands))
        return _call(x.op.word, x)
    if not x.operands:
        return x.op
    if x.run is None:
        return _call("power" if x.op == "**" else x.op, x)
    return _extreme(x) if x.op in ("max", "min") else _linear(x.operands[0], x.run)


def _call(name: str, x: Term) -> list[Any]:
    """A function of the page, or an op of the table, applied to the operands."""
    operands = x.operands
    if x.like is not None:
        if x.size > MOST_COMPUTED:
            raise ValueError(f"an array of {x.size:,} numbers")
        if name == "@":
            operands = _batches(*operands)
    return [name, *map(tree, operands)]


def _batches(*operands: Any) -> list[Any]:
    """The operands of a product; if both are batches, these are broadcast, which the page does not do."""
    import numpy as np

    leads = [getattr(x, "like", x).shape[:-2] for x in operands]
    if () in leads or leads[0] == leads[1]:
        return [*operands]
    lead = np.broadcast_shapes(*leads)
    stretched = lambda a: np.broadcast_to(a, (*lead, *a.shape[-2:]))  # noqa: E731
    return [Term("broadcast_to", x, run=stretched) if isinstance(x, Term) else stretched(x) for x in operands]


def _linear(x: Term, function: Callable[[Any], Any]) -> list[Any]:
    """A function that is linear in an array, as a matrix."""
    import numpy as np

    n = x.size
    probe = np.random.default_rng(0).random(n) + 1
    out = np.asarray(function(probe.reshape(x.shape)))
    place = {y: k for k, y in enumerate(probe.tolist())}
    origins = [place.get(y, -1) for y in out.ravel().tolist()]
    if -1 not in origins:  # every element is one of this array
        entries: list[Any] = [list(range(len(origins))), origins, 1]
    else:
        units = (np.bincount([k], minlength=n).astype(float) for k in range(n))
        columns = (np.asarray(function(unit.reshape(x.shape))).ravel() for unit in units)
        found = [(int(j), k, float(y[j])) for k, y in enumerate(columns) for j in np.flatnonzero(y)]
        entries = [[*column] for column in zip(*found, strict=True)] or [[], [], []]
        entries[2] = entries[2] if {*entries[2]} - {1.0} else 1
    if len(entries[0]) > MOST_ENTRIES:
        raise ValueError("a matrix with too many entries")
    return ["linear", tree(x), {"c": [len(entries[0]), *map(_column, entries), out.shape]}]


def _column(column: Any) -> Any:
    """A column of a matrix's entries: None means 0, 1, 2 and so on, and one number that all are equal to it.

    How many entries there are stands before the columns, since neither array is as long: `x[:2]` has two entries.
    """
    if not isinstance(column, list):
        return column
    if column == [*range(len(column))]:
        return None
    return column[0] if len(column) > 1 and len({*column}) == 1 else column


def _extreme(x: Term) -> list[Any]:
    """The largest or smallest elements of groups, by the group that each element belongs to."""
    import numpy as np

    (array,) = x.operands
    group = np.broadcast_to(np.arange(x.size).reshape(x.shape), array.shape)
    return [x.op, tree(array), {"c": [group.ravel().tolist(), x.shape]}]


def _linear_in_each(x: Term) -> list[Any]:
    """A linear row: the sum of what it makes of each operand with the others 0."""
    import numpy as np

    row, operands = x.op, x.operands
    zeros = [np.zeros_like(y.like, float) if isinstance(y, Term) else y * 0.0 for y in operands]
    parts = [
        _linear(y, lambda a, k=k: row.forward(*[*zeros[:k], a, *zeros[k + 1 :]]))  # type: ignore[union-attr]
        for k, y in enumerate(operands)
        if isinstance(y, Term)
    ]
    return reduce(lambda total, part: ["+", total, part], parts)


def number(x: float) -> float | str:
    """A number for JSON, in full; as text where JSON has none."""
    x = float(x)
    if x == 0:
        return 0.0 if copysign(1, x) > 0 else "minus zero"  # 1 / x tells them apart; a reader need not
    return x if x - x == 0 else "nan" if x != x else "inf" if x > 0 else "-inf"


# ------------------------------------------------------------------------------------------------ ops
def _code(row: Row, likes: list[Any], out_like: Any) -> list[Any]:
    """[forward, a rule for each operand] of an op; None for an operand that has no rule."""
    operands = [Term(str(k), like=like) for k, like in enumerate(likes)]
    g, out = Term("g", like=out_like), Term("out", like=out_like)
    if row.rules:
        used = [out, *operands] if row.is_unary else operands
        parts = [rule(g, *used) for rule in row.rules]
    else:
        parts = row.rule(g, *operands)  # type: ignore[attr-defined]
    return [tree(Term(row, *operands)), *[_fitted(part, x) for part, x in zip(parts, operands, strict=True)]]


def _fitted(part: Any, operand: Term) -> Any:
    """The tree of a rule's result, summed to the operand's shape where that was broadcast."""
    if part is None:
        return None
    if operand.like is not None and isinstance(part, Term) and part.shape != operand.shape:
        return _linear(part, lambda a: _summed(a, operand.shape))
    return tree(part)


def _summed(a: Any, shape: tuple[int, ...]) -> Any:
    """`a` summed over the axes that broadcasting added to this shape or stretched."""
    extra = a.ndim - len(shape)
    axes = [i for i, n in enumerate(a.shape) if i < extra or (shape[i - extra] == 1 and n != 1)]
    return a.sum(axis=tuple(axes), keepdims=True).reshape(shape)


@lru_cache(maxsize=1024)
def _of_numbers(row: Row, count: int) -> list[Any]:
    return _code(row, [None] * count, None)


@cache
def functions() -> dict[str, Any]:
    """The forward function of each op of the table that is not a function of the page."""
    made = {}
    for word, row in TABLE.items():
        operands = [Term(str(k)) for k in range(len(row.rules))]
        forward = tree(row.forward(*operands))
        if forward != [word, *[x.op for x in operands]]:
            made[word] = forward
    return made


# ------------------------------------------------------------------------------------------------ graphs
def program(graph: Walk, back: Backprop, owned: Collection[int] = ()) -> dict[str, Any] | str:
    """The graph as data that the page can run; or the sentence that says why it cannot.

    `nodes` has, for each node of the walk, a leaf's number (or elements and shape), or the index of its op in `codes`
    and of its operands. `constants` are the leaves without a gradient, `moves` those that gradient descent moves.
    `owned` has the ids of the parameters.

    >>> from micrograd import Value
    >>> from micrograd.viz.drawing.data import walk
    >>> graph = walk(Value(2.0) * Value(3.0))
    >>> made = program(graph, Backprop())
    >>> made["nodes"], made["codes"]
    ([2.0, 3.0, [0, 0, 1]], [[['mul', '0', '1'], ['*', 'g', '1'], ['*', 'g', '0']]])
    """
    codes: dict[str, int] = {}
    try:
        _run_again(graph, back)
        nodes = [_node(*pair, back, codes) for pair in zip(graph.nodes, graph.operands, strict=True)]
    except (ArithmeticError, ValueError, TypeError) as error:
        return f"Numbers cannot be changed in the page, nor nudged: {error}."
    return {
        "codes": [json.loads(code) for code in codes],
        "functions": functions(),
        "nodes": nodes,
        "constants": [i for i, node in enumerate(graph.nodes) if node._row is None],
        "moves": _parameters(graph, owned),
    }


def _parameters(graph: Walk, owned: Collection[int]) -> list[int]:
    """The leaves that gradient descent moves: the owned ones or, without any, all that have a gradient."""
    leaves = [i for i, node in enumerate(graph.nodes) if node.is_leaf and node.requires_grad]
    return [i for i in leaves if id(graph.nodes[i]) in owned] or leaves


def _run_again(graph: Walk, back: Backprop) -> None:
    """Raise ValueError unless the graph gives the same result when it is computed again from its leaves."""
    if len(graph.nodes) > MOST_NODES:
        raise ValueError(f"this graph has more than {MOST_NODES:,} nodes")
    if any(is_hand_written(node) or is_released(node) for node in graph.nodes):
        raise ValueError("this graph has closures written by hand, which cannot be run again")
    if back.replaced:
        raise ValueError("a hook gave other gradients, which are no slopes any more")
    again: list[Any] = []
    for node, below in zip(graph.nodes, graph.operands, strict=True):
        again.append(_forward(node, [again[j] for j in below]) if below else back.then.get(node, node._data))
    root = graph.nodes[graph.roots[0]]
    if not same(again[graph.roots[0]], back.then.get(root, root._data), rtol=1e-4, atol=1e-6):
        raise ValueError("data was changed after the forward pass")


def _forward(node: Any, operands: list[Any]) -> Any:
    try:
        with node._numpy_warnings_off():
            out = node._row.forward(*operands)
    except ArithmeticError:  # Python raises for plain numbers where a node gives inf or nan
        return node._ieee(node._row.forward, *operands)
    if out is None:
        raise ValueError("the result of a compiled function, a Function or PyTorch is not computed again")
    return out


def _node(node: Node, below: tuple[int, ...], back: Backprop, codes: dict[str, int]) -> Any:
    data = back.then.get(node, node._data)
    if (size := getattr(data, "size", 1)) > (MOST_COMPUTED if below else MOST_NUMBERS):
        raise ValueError(f"an array of {size:,} numbers is computed by Python alone")
    if not below:
        return tree(data)
    if node._op == "sort":
        raise ValueError("Python alone finds the order of \u2018sort\u2019")
    try:
        if node._is_number:
            code = _of_numbers(node._row, len(below))
        else:
            with node._numpy_warnings_off():
                code = _code(node._row, [back.then.get(n, n._data) for n in node._prev], node._data)
    except (TypeError, AttributeError, ValueError, KeyError, IndexError) as error:
        raise ValueError(f"the rule of \u2018{node._op}\u2019 is computed by Python alone") from error
    return [codes.setdefault(json.dumps(code), len(codes)), *below]
