"""`compare`: two graphs of one function side by side, up to the first node where they differ.

Nodes of the two graphs are paired from the leaves up: first equal leaves, then equal ops on paired operands. The
remaining nodes are paired by their operands alone, so that an op under another name, or another op in its place, still
has its counterpart. Data are compared from the leaves to the results, then gradients from the results to the leaves. If
a gradient differs while the gradients to its right agree, one rule is at fault: that of the node which sends another
part to it.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isclose
from typing import Any

from ...common.collector import without_collector
from ...engine.value import Node
from ...scalars.rows import nothing
from ..drawing import svg
from ..drawing.alt_text import alt_text
from ..drawing.carried import is_hand_written, same, sent
from ..drawing.data import Group, describe, label_of, op_of, term
from ..infix import ATOM, within
from ..page import Page, join, script
from ..rule_text import rule_texts
from ..text import shorten
from ..values import is_array, value_text
from .player_page import plain, template
from .views import PlayedGraph, Story, one_root, still

MOST = 200  # stops on the page; if there are more, it keeps the last
SCRIPT, SHEETS = "playing/compare.js", "palette.css playing/player.css playing/compare.css"
Key = Callable[[Any, int], Any]  # of a side and a node: what its counterpart must share; None if it has no counterpart
Stop = tuple[str, bool, tuple[int, int | None]]  # a sentence, True on the backward pass, the node of each graph


@dataclass(repr=False)
class Comparison(Page):
    """The page of two graphs. `difference` says where they first differ, and is "" if they agree."""

    difference: str

    def __repr__(self) -> str:
        return f"<Comparison: {self.words.splitlines()[0]}>"


def compare(mine: Any, reference: Any, *, names: Mapping[str, Any] | None = None) -> Comparison:
    """Find the first node at which two graphs of one function differ, and show both side by side.

    Use it on an op whose derivative you wrote by hand, as `out._backward` or as a `Function`, with the library's own op
    as the reference. First the data are compared, from the leaves to the results, then the gradients, from the results
    to the leaves. The page stops at the first difference. No `.grad` changes.

    Args:
        mine: a Value or a Tensor. A Tensor with several elements is differentiated as their sum.
        reference: another, computed from the same leaves, or from leaves with the same labels or in the same order.
        names: the variables that name nodes without a label, such as `globals()`, by default those of the caller.

    Returns:
        A page that notebooks display. Its `difference` says which node differs, and which rule is at fault. It is "" if
        everything agrees, up to rounding.

    Raises:
        TypeError: `mine` or `reference` is not a single Value or Tensor.
        ValueError: one of them has no backward pass, or they have no leaf in common.

    >>> from micrograd import Value
    >>> a = Value(3.0, label="a")
    >>> square = Value(a.data * a.data, (a, a), "*")
    >>> def backward():
    ...     a.grad += a.data * square.grad
    >>> square._backward = backward
    >>> for sentence in compare(square, a * a).difference.split(": ", 2):
    ...     print(sentence)
    a.grad is 3.0000, and 6.0000 in the reference
    the _backward of a * a sends 3.0000, and in the reference the rule of a * a sends 6.0000 (g * a + g * a)
    the reference uses a 2 times, and each use adds its part: write += for each
    """
    with without_collector():
        sides = _Side(one_root(mine, "a comparison"), names), _Side(one_root(reference, "a comparison"), names)
        pairs = _paired(*sides)
        difference, stops = _first_difference(*sides, pairs)
        verdict = difference or f"They agree in {len(pairs)} numbers and their gradients."
        stories = [side.played.story() for side in sides]
        data = {
            "page": template(),
            "stories": [*map(plain, stories)],
            "stops": [
                [sentence, *(_place(story, i, back) for story, i in zip(stories, nodes, strict=True))]
                for sentence, back, nodes in stops[-MOST:]
            ],
            "verdict": verdict,
            "agree": not difference,
        }
        page = join("playing/compare", "Two graphs of one function", data, style="", script=script(SCRIPT, SHEETS))
        graph = still(stories[0])
        return Comparison(page, svg.write(graph), f"{verdict}\n{alt_text(graph)}", difference)


class _Side:
    """One of the two graphs: its nodes with their names, data and gradients."""

    def __init__(self, root: Node, names: Mapping[str, Any] | None):
        self.played = PlayedGraph(root, names)
        self.back, graph = self.played.back, self.played.graph
        self.nodes, self.operands = graph.nodes, graph.operands
        if self.back.missing:
            raise ValueError(f"there are no gradients to compare: {self.back.missing}")
        each = [Group([i]) for i in range(len(self.nodes))]
        self.boxes = describe(graph, each, "", self.played.naming.by_id).boxes
        self.users: list[list[int]] = [[] for _ in self.nodes]
        for i, below in enumerate(self.operands):
            for j in dict.fromkeys(below):
                self.users[j].append(i)

    def name(self, i: int) -> str:
        return shorten(term(self.boxes[i])[0], 40, "...") or self.boxes[i].op

    def expression(self, i: int) -> str:
        return self.boxes[i].expression or self.boxes[i].op or self.name(i)

    def data(self, i: int) -> Any:
        return self.back.then.get(self.nodes[i], self.nodes[i]._data)

    def grad(self, i: int) -> Any:
        return self.back.grads.get(self.nodes[i], 0.0)

    def places(self, head: int, tail: int) -> list[int]:
        """The places of one node among the operands of another."""
        return [k for k, j in enumerate(self.operands[head]) if j == tail]

    def part(self, head: int, tail: int) -> Any:
        """The gradient that a node sends to one of its operands, summed over its uses."""
        sends = sent(self.nodes[head], self.back.grads)
        parts = [part for k in self.places(head, tail) if (part := sends[k].part) is not None]
        return sum(parts[1:], parts[0]) if parts else 0.0

    def rule(self, head: int) -> str:
        """The name of a node's rule in a sentence."""
        node = self.nodes[head]
        rule = "_backward" if is_hand_written(node) else "backward" if node._row.forward is nothing else "rule"
        return f"the {rule} of {self.expression(head)}"

    def formula(self, head: int, tail: int) -> str:
        """The rule as text, a term for each use; "" if it has no text."""
        texts = rule_texts(self.nodes[head])
        rules = [rule for k in self.places(head, tail) if (rule := texts[k])]
        names = [within(term(self.boxes[j]), ATOM) or self.name(j) for j in self.operands[head]]
        return " + ".join([rule.part.format(*names, out=self.name(head)) for rule in rules])


def _place(story: Story, i: int | None, back: bool) -> str | None:
    """The step of a page at which node i runs, as after the # of its address; None if no scene shows this node."""
    for k, scene in enumerate(story.scenes):
        for n, card in enumerate(scene.backward if back else scene.forward):
            if i is not None and scene.cards[card].node == i:
                return f"scene={k}&step={n + 1 + back * (len(scene.forward) + 1)}"
    return None


# ------------------------------------------------------------------------------------------------ counterparts
def _paired(mine: _Side, other: _Side) -> dict[int, int]:
    """The nodes of `mine` that have a counterpart in `other`, in their order, each with this counterpart.

    Leaves are paired if they are the same node, then by label, then by name. Constants are paired by their value, and
    the remaining leaves in their order.
    """
    counterparts: dict[int, int] = {}
    leaves: list[Key] = [
        lambda side, i: id(side.nodes[i]),
        lambda side, i: label_of(side.nodes[i]) or None,
        lambda side, i: side.boxes[i].name or None,
        lambda side, i: None if side.nodes[i].requires_grad else value_text(side.data(i)),
        lambda side, i: side.nodes[i].requires_grad,
    ]
    for key in leaves:
        _pair(counterparts, mine, other, lambda side, i, key=key: None if side.operands[i] else key(side, i))
    if not counterparts:
        raise ValueError("the two have no leaf in common: compute both from the same leaves, or label them alike")

    def below(side: _Side, i: int) -> list[int] | None:
        """The counterparts of a node's operands; None for a leaf, or if an operand has no counterpart."""
        places = [counterparts.get(j, -1) if side is mine else j for j in side.operands[i]]
        return sorted(places) if places and -1 not in places else None

    def op_and_operands(side: _Side, i: int) -> Any:
        return (op_of(side.nodes[i]).lower(), *places) if (places := below(side, i)) else None

    def operands_alone(side: _Side, i: int) -> Any:
        return frozenset(places) if (places := below(side, i)) else None

    # Only when no two equal ops are left, a few nodes are paired by their operands alone: more equal ops may follow
    few = 1 + len(mine.nodes) // 1000
    while _pair(counterparts, mine, other, op_and_operands) or _pair(counterparts, mine, other, operands_alone, few):
        pass
    roots = len(mine.nodes) - 1, len(other.nodes) - 1
    if roots[1] not in counterparts.values():
        counterparts.setdefault(*roots)
    return dict(sorted(counterparts.items()))


def _pair(counterparts: dict[int, int], mine: _Side, other: _Side, key: Key, most: int | None = None) -> bool:
    """Pair at most `most` nodes that have equal keys and no counterpart yet; False if there are no such nodes."""
    taken, before = {*counterparts.values()}, len(counterparts)
    waiting: dict[Any, deque[int]] = {}
    for j in range(len(other.nodes)):
        if j not in taken and (shared := key(other, j)) is not None:
            waiting.setdefault(shared, deque()).append(j)
    for i in range(len(mine.nodes)):
        if i not in counterparts and (shared := key(mine, i)) is not None and (alike := waiting.get(shared)):
            counterparts[i] = alike.popleft()
        if most and len(counterparts) - before == most:
            break
    return len(counterparts) > before


# ------------------------------------------------------------------------------------------------ the first difference
def _first_difference(mine: _Side, other: _Side, pairs: Mapping[int, int]) -> tuple[str, list[Stop]]:
    """A sentence about the first difference, "" if everything agrees; and all stops up to there."""
    stops: list[Stop] = []
    for i, j in pairs.items():
        x, y = mine.data(i), other.data(j)
        if not _agree(x, y):
            return _of_data(mine, other, i, j), [*stops, (f"{mine.name(i)} differs.", False, (i, j))]
        if mine.operands[i]:
            stops.append((f"{mine.name(i)} is {value_text(x)} in both.", False, (i, j)))
    for i in reversed(range(len(mine.nodes))):
        if i in pairs and not _agree(mine.grad(i), other.grad(pairs[i])):
            head, difference = _of_gradient(mine, other, i, pairs)
            return difference, [*stops, (f"{_gradient(mine.name(i))} differs.", True, (head, pairs.get(head)))]
        if mine.operands[i] and i in pairs:
            stops.append((f"{_gradient(mine.name(i))} is {value_text(mine.grad(i))} in both.", True, (i, pairs[i])))
    return "", stops


def _agree(x: Any, y: Any) -> bool:
    """True if two numbers or arrays are equal up to the rounding of another way to compute them."""
    if not is_array(x) and not is_array(y):
        return same(x, y) or isclose(x, y, rel_tol=1e-6, abs_tol=1e-9)
    return same(x, y, rtol=1e-4, atol=1e-6 * float(abs(y).max(initial=0.0)) if is_array(y) else 0.0)


def _gradient(name: str) -> str:
    return f"{name}.grad" if name.isidentifier() else f"The gradient of {name}"


def _both(x: Any, y: Any) -> str:
    shapes = [f" of shape {z.shape}" if is_array(z) and x.shape != y.shape else "" for z in (x, y)]
    return f"{value_text(x)}{shapes[0]}, and {value_text(y)}{shapes[1]} in the reference"


def _of_data(mine: _Side, other: _Side, i: int, j: int) -> str:
    both = f"{mine.name(i)} is {_both(mine.data(i), other.data(j))}"
    if not mine.operands[i]:
        return f"{both}: the two were given different numbers"
    here, there = mine.expression(i), other.expression(j)
    return f"{both}: one computes {here}, the reference {there}" if here != there else f"{both}: both say {here}"


def _of_gradient(mine: _Side, other: _Side, i: int, pairs: Mapping[int, int]) -> tuple[int, str]:
    """The node that sends another gradient to node i than its counterpart does, and a sentence about it."""
    j = pairs[i]
    both = f"{_gradient(mine.name(i))} is {_both(mine.grad(i), other.grad(j))}"
    for head in reversed(mine.users[i]):
        if (twin := pairs.get(head)) not in other.users[j]:
            continue
        part, right = mine.part(head, i), other.part(twin, j)
        if not _agree(part, right):
            formula = other.formula(twin, j)
            rules = f"{mine.rule(head)} sends {value_text(part)}, and in the reference {other.rule(twin)} sends "
            rules += value_text(right) + (f" ({formula})" if formula else "")
            hint = _hint(part, right, mine.grad(head), len(other.places(twin, j)), mine.name(i))
            return head, ": ".join(filter(None, [both, rules, hint]))
    heads = [" and ".join(map(side.expression, side.users[k])) or "nothing" for side, k in ((mine, i), (other, j))]
    return max(mine.users[i], default=i), f"{both}: it is used by {heads[0]}, and in the reference by {heads[1]}"


def _hint(part: Any, right: Any, g: Any, uses: int, name: str) -> str:
    """The mistake in a rule, as a likely cause of the part that it sends; "" if no cause fits."""
    if _agree(part, -right):
        return "the sign is the other one"
    if uses > 1 and _agree(part * uses, right):
        return f"the reference uses {name} {uses} times, and each use adds its part: write += for each"
    if _agree(part, 0 * right):
        return "nothing is sent"
    if is_array(part) or is_array(g):
        return ""
    if _agree(part * g, right):
        return f"the gradient from the right, {value_text(g)}, is not multiplied in"
    return "the local derivative is not multiplied in" if _agree(part, g) else ""
