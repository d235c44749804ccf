"""Names for nodes without a label: the caller's variables, and the paths of parameters in their module.

A leaf that a module or an optimizer owns is a parameter, and every other leaf is an input. If no leaf is owned, the
names decide, as in textbooks: w, w1, W and, beside them, b or bias are parameters.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...scalars.kinds import frame_of_the_user
from .data import Walk, drawn_node, label_of, op_of
from .fold import Call

DEEPEST = 2  # the nesting depth to which the caller's lists and dicts are searched for nodes
HISTORY = ("In", "Out")  # the variables in which a notebook keeps its history
LONGEST = 1000  # elements; the elements of a longer list have no names


@dataclass
class Names:
    """`by_id` has the names of nodes by their ids, and `owned` has the ids of the parameters."""

    by_id: dict[int, str]
    owned: set[int]


def find_names(graph: Walk, calls: Iterable[Call | None], variables: Mapping[str, Any] | None = None) -> Names:
    """Name the nodes of a graph.

    Args:
        graph: all nodes.
        calls: the module call that computed each node; see `fold.calls_of`.
        variables: the caller's variables by name; None looks them up in the calling frame.

    Returns:
        For a node that is a variable's value, the variable's name; else for a parameter, the path in its module, such
        as `layers.0.neurons.3.w[1]`; else the place in a list or dict, such as `xs[0]`.
    """
    frame = frame_of_the_user()
    known = {**frame.f_globals, **frame.f_locals} if variables is None else variables
    known = {name: x for name, x in known.items() if name.isidentifier() and name[0] != "_" and name not in HISTORY}
    ids = {*map(id, graph.nodes)}
    modules = {id(call[0][0]): ("", call[0][0]) for call in calls if call}
    modules |= {id(x): (f"{name}.", x) for name, x in known.items() if hasattr(type(x), "named_parameters")}
    owned: dict[int, tuple[str, str]] = {}  # modules in calls come first, so they name a parameter that modules share
    for prefix, module in modules.values():
        for path, p in type(module).named_parameters(module):
            if (i := id(drawn_node(p))) in ids:
                owned.setdefault(i, (prefix, _path(path)))
    several = len({prefix for prefix, _ in owned.values()}) > 1
    direct = [(name, id(drawn_node(x))) for name, x in known.items()]
    paths = [(prefix * several + path, i) for i, (prefix, path) in owned.items()]
    inside = [(name, id(drawn_node(x))) for name, x in _inside(known)]
    names: dict[int, str] = {}
    for name, i in (*direct, *paths, *inside):
        if i in ids:
            names.setdefault(i, name)
    optimizers = [x for x in known.values() if hasattr(type(x), "zero_grad")]
    trained = {id(drawn_node(p)) for optimizer in optimizers for p in getattr(optimizer, "params", ())}
    return Names(names, {*owned} | trained or _by_convention(graph, names))


def _by_convention(graph: Walk, names: Mapping[int, str]) -> set[int]:
    """The ids of the leaves with names of weights and, if there are any, of the leaves with names of biases."""
    leaves = {id(n): label_of(n) or names.get(id(n), "") for n in graph.nodes if not op_of(n)}
    weights, biases = (
        {i for i, name in leaves.items() if re.fullmatch(rf"({words})_?[\d\[\], ]*", name, re.IGNORECASE)}
        for words in ("w|weights?", "b|bias(es)?")
    )
    return weights | biases if weights else set()


def relative(names: Mapping[int, str], among: Iterable[int]) -> dict[int, str]:
    """The names. If the ids in `among` are all of one module's parameters, their names lose the path: w[0], b."""
    paths = {i: names[i].rpartition(".") for i in among if i in names}
    are_of_one_module = len({path for path, _, _ in paths.values()}) == 1
    return dict(names) | {i: last for i, (_, _, last) in paths.items() if are_of_one_module}


def _path(path: str) -> str:
    """`neurons.0.w.3` becomes neurons.0.w[3]."""
    head, _, last = path.rpartition(".")
    return f"{head}[{last}]" if head and last.isdigit() else path


def _inside(known: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(name, element) for the elements of the caller's lists and dicts, such as `xs[0]`."""
    level = [(name, x) for name, x in known.items() if _is_container(x)]
    for _ in range(DEEPEST):
        level = [
            (f"{name}[{key!r}]", x)
            for name, container in level
            if len(container) <= LONGEST
            for key, x in (container.items() if isinstance(container, dict) else enumerate(container))
        ]
        yield from level
        level = [(name, x) for name, x in level if _is_container(x)]


def _is_container(x: Any) -> bool:
    """True for a container of nodes, which may be a list, a tuple, a dict or NumPy's array of objects."""
    return isinstance(x, list | tuple | dict) or (hasattr(type(x), "ndim") and str(x.dtype) == "object" and x.ndim > 0)
