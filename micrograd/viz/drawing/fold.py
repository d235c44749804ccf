"""Folding: which nodes share a box when there are too many nodes for one picture.

Three ways are tried in this order, until the boxes fit:

1. by module: all nodes from the calls of a module share the module's box (neurons, else layers, else the whole model);
   nodes from outside of all modules stay single, or are folded by 2;
2. by structure: a chain of `+` becomes one sum; then nodes at the same depth with the same op and operands in the same
   boxes share a box, so that a hundred samples on the same path appear once, marked x100;
3. by stretch: the nodes in order of depth, cut into equal pieces. This always fits.

Each step is a pass over the walk, in its order, so folding is deterministic. Steps 2 and 3 alone never create a cycle,
since depth grows along every edge; a module that is called on its own results may.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from .data import Group, Walk, label_of, op_of

AIM = 150  # the most boxes of a folded drawing, however many the caller allows
_LONGEST = 24  # characters of a module's name
LONG = 4  # additions; a chain of this length or more is folded into a sum
STRETCHES = 24  # the most boxes by stretch; they carry little information, so more would not help


def fold(graph: Walk, limit: int | None) -> tuple[list[Group], str]:
    """Groups in the order of the walk, at most `limit` (None: no limit), and how nodes are folded ("" if none is)."""
    if limit is None or len(graph.nodes) <= limit:
        return [Group([i]) for i in range(len(graph.nodes))], ""
    limit = min(limit, AIM)
    calls = calls_of(graph)
    groups: list[Group] = []
    for level in range(max((len(call[0]) for call in calls if call), default=0), -1, -1):
        groups = fold_at(graph, calls, level, limit)
        if len(groups) <= limit and (level < 2 or not _has(groups, "stretch")):
            break
    how = "by module" if _has(groups, "module") else "by structure"
    groups.sort(key=lambda group: group.members[0])
    return groups, f"{how} and by depth" if _has(groups, "stretch") else how


def fold_at(graph: Walk, calls: "list[Call | None]", level: int, limit: int) -> list[Group]:
    """Groups for the modules at this nesting level (0: none), then the other nodes, as fine as `limit` groups allow."""
    modules, home = _modules(graph, calls, level) if level else ([], [-1] * len(graph.nodes))
    top = _sums(graph, home)
    depth = _depths(graph, top)
    rest: list[Group] = []
    for rest in _outside(graph, home, top, depth, limit - len(modules)):
        if len(modules) + len(rest) <= limit:
            return modules + rest
    return modules + _stretches(graph, rest, depth, max(min(limit - len(modules), STRETCHES), 1))


def _has(groups: list[Group], kind: str) -> bool:
    return any(group.kind == kind for group in groups)


def _outside(graph: Walk, home: list[int], top: list[int], depth: list[int], room: int) -> Iterator[list[Group]]:
    """Groupings of the nodes outside modules, from fine to coarse. Those with a box per node or sum need the room."""
    sums = _chains(top)
    outside = [i for i, module in enumerate(home) if module < 0]
    if len(outside) <= room and all(len(members) < LONG for members in sums.values()):
        yield [Group([i]) for i in outside]
    tops = [i for i in outside if top[i] == i]
    if len(tops) <= room:
        yield [Group(sums[i], "repeat", op="sum") if i in sums else Group([i]) for i in tops]
    yield _repeats(graph, home, top, depth, sums, labels_matter=True)
    if any(map(label_of, graph.nodes)):
        yield _repeats(graph, home, top, depth, sums, labels_matter=False)


# ------------------------------------------------------------------------------------------------ 1. modules
Call = tuple[tuple[Any, ...], frozenset[int], int]


def calls_of(graph: Walk) -> list[Call | None]:
    """For each node, the call of a module that computed it, or None.

    A call is its modules, outermost first, the ids of its inputs, and its number. Only the results of a call have a
    mark, `_made_by`. The nodes between the results and the inputs belong to the call too, and so do the weights.
    """
    calls: list[Call | None] = [None] * len(graph.nodes)
    number: dict[int, int] = {}
    for i in reversed(range(len(graph.nodes))):  # results before operands
        if mark := getattr(graph.nodes[i], "_made_by", None):
            calls[i] = (mark[:-1], frozenset(map(id, mark[-1])), number.setdefault(id(mark), len(number)))
        if call := calls[i]:
            for j in graph.operands[i]:
                if calls[j] is None and id(graph.nodes[j]) not in call[1]:
                    calls[j] = call
    return calls


def _modules(graph: Walk, calls: list[Call | None], level: int) -> tuple[list[Group], list[int]]:
    """One group per module at this nesting level, and the group of each node (-1: none)."""
    index: dict[tuple[int, ...], int] = {}
    groups: list[Group] = []
    numbers: list[dict[tuple[int, ...], set[int]]] = []  # for each group, the numbers of the calls of each inner module
    home = [-1] * len(graph.nodes)
    for i, call in enumerate(calls):
        if call is None:
            continue
        modules, _, number = call
        key = tuple(map(id, modules))
        g = index.setdefault(key[:level], len(groups))
        if g == len(groups):
            groups.append(Group([], "module", _title(modules[:level][-1])))
            numbers.append({})
        groups[g].members.append(i)
        numbers[g].setdefault(key, set()).add(number)
        home[i] = g
    for group, calls_by_module in zip(groups, numbers, strict=True):
        # A module may call an inner module several times, so the inner module with the fewest calls counts.
        group.times = min(map(len, calls_by_module.values()))
    _number_alike(graph, groups)
    return groups, home


def _title(module: Any) -> str:
    """A module's repr, or its class name if the repr is too long."""
    text = repr(module)
    return text if len(text) <= _LONGEST and "\n" not in text else type(module).__name__


def _number_alike(graph: Walk, groups: list[Group]) -> None:
    """Number modules with the same title, in the order of their first results: "Neuron(2) #3"."""
    total = Counter(group.name for group in groups)
    count: Counter[str] = Counter()
    for group in sorted(groups, key=lambda group: next((i for i in group.members if graph.operands[i]), -1)):
        title = group.name
        if total[title] > 1:
            count[title] += 1
            group.name = f"{title} #{count[title]}"


def plural(modules: Iterable[Any]) -> str:
    """The plural of the modules' class, such as "neurons", or "modules" if the classes differ."""
    names = {type(module).__name__ for module in modules}
    name = names.pop() if len(names) == 1 else "module"
    return f"{name if name.isupper() else name.lower()}s"


# ------------------------------------------------------------------------------------------------ 2. structure
def _sums(graph: Walk, home: list[int]) -> list[int]:
    """For each node the top of the `+` chain that absorbs the node, or the node itself if no chain does."""
    uses = [0] * len(graph.nodes)
    user = [-1] * len(graph.nodes)
    for i, operands in enumerate(graph.operands):
        for j in operands:
            uses[j] += 1
            user[j] = i
    plus = [h < 0 and op_of(node) == "+" for node, h in zip(graph.nodes, home, strict=True)]
    roots = set(graph.roots)
    top = list(range(len(graph.nodes)))
    for i in reversed(range(len(graph.nodes))):
        if plus[i] and uses[i] == 1 and plus[user[i]] and i not in roots and not label_of(graph.nodes[i]):
            top[i] = top[user[i]]
    return top


def _depths(graph: Walk, top: list[int]) -> list[int]:
    """The longest path from each node to a leaf, counting a sum as one step."""
    depth = [0] * len(graph.nodes)
    for i, operands in enumerate(graph.operands):
        for j in operands:
            if top[j] != top[i]:
                depth[top[i]] = max(depth[top[i]], depth[top[j]] + 1)
    return [depth[t] for t in top]


def _chains(top: list[int]) -> dict[int, list[int]]:
    """The members of each sum of more than one `+`, by the top of its chain, which comes last."""
    chains: dict[int, list[int]] = defaultdict(list)
    for i, t in enumerate(top):
        chains[t].append(i)
    return {t: members for t, members in chains.items() if len(members) > 1}


def _repeats(
    graph: Walk, home: list[int], top: list[int], depth: list[int], sums: dict[int, list[int]], labels_matter: bool
) -> list[Group]:
    """Groups of the nodes outside modules, by structure."""
    leaf_key = _leaf_keys(graph, home, top, depth)
    index: dict[Any, int] = {}
    # The box of a node as an operand: -2 - m for a result of module m, -1 for a weight of any module, or the index of a
    # group of this function.
    box = [-2 - module if operands else -1 for module, operands in zip(home, graph.operands, strict=True)]
    groups: list[Group] = []
    for i, node in enumerate(graph.nodes):
        if home[i] >= 0 or top[i] != i:
            continue
        label = label_of(node) if labels_matter else ""
        is_sum = i in sums
        members = sums[i] if is_sum else [i]
        op = "sum" if is_sum else op_of(node)
        # Operands come before their results, so their boxes are known.
        operands = [box[top[j]] for m in members for j in graph.operands[m] if top[j] != i]
        if is_sum:
            operands.sort()
        key = (is_sum, op, label, depth[i], tuple(operands) or leaf_key[i])
        box[i] = index.setdefault(key, len(groups))
        if box[i] == len(groups):
            groups.append(Group([], "repeat", op=op, times=0))
        groups[box[i]].members += members
        groups[box[i]].times += 1
    return [Group(group.members) if len(group.members) == 1 else group for group in groups]


def _leaf_keys(graph: Walk, home: list[int], top: list[int], depth: list[int]) -> dict[int, Any]:
    """A key for each leaf. Leaves with the same requires_grad, users, and largest depth of a user share a key."""
    users: dict[int, set[Any]] = defaultdict(set)
    highest = [0] * len(graph.nodes)
    for i, operands in enumerate(graph.operands):
        user = op_of(graph.nodes[i]) if home[i] < 0 else home[i]
        for j in operands:
            highest[j] = max(highest[j], depth[top[i]])
            if not graph.operands[j]:
                users[j].add(user)
    return {
        i: (getattr(graph.nodes[i], "requires_grad", True), frozenset(users[i]), highest[i])
        for i, operands in enumerate(graph.operands)
        if not operands
    }


# ------------------------------------------------------------------------------------------------ 3. stretches
def _stretches(graph: Walk, groups: list[Group], depth: list[int], pieces: int) -> list[Group]:
    """The groups in order of depth, merged into pieces of about equal size."""
    below_user: dict[int, int] = {}
    for i, operands in enumerate(graph.operands):
        for j in operands:  # a leaf belongs just below its first use, rather than at the bottom
            if not graph.operands[j]:
                below_user[j] = min(below_user.get(j, depth[i]), depth[i] - 1)
    level = [below_user.get(i, d) for i, d in enumerate(depth)]
    groups = sorted(groups, key=lambda group: (min(level[i] for i in group.members), group.members[0]))
    cuts = [len(groups) * piece // pieces for piece in range(pieces + 1)]
    stretches = [groups[low:high] for low, high in pairwise(cuts) if low < high]
    joined = [Group(sorted(i for group in stretch for i in group.members), "stretch") for stretch in stretches]
    return [stretch[0] if len(stretch) == 1 else whole for stretch, whole in zip(stretches, joined, strict=True)]
