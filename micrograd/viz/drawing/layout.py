"""Layered graph layout: sizes and edges in, coordinates out (Sugiyama, Tagawa and Toda 1981).

1. Edges that would close a cycle are reversed.
2. Layers by longest path, counted from the results, so that a leaf is placed right before its first use.
3. An edge that spans several layers gets a bend point (a "dummy") in each layer between; edges from one box share them.
4. Barycenter sweeps order each layer; the order with the fewest crossings is used.
5. Within a layer, each item moves to the weighted median of its neighbours, as near as order and spacing allow: least
   squares under an ordering, solved exactly by pooling adjacent violators. Straight chains come out straight.
6. Layers become columns. Edges bend only between columns, so they never run through a box.

All steps assume left to right; a drawing from top to bottom swaps the axes. Nothing is recursive or random.
"""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import groupby, pairwise
from statistics import fmean, median

Point = tuple[float, float]

GAP = 22.0  # between boxes in a layer
DUMMY = 10.0  # the space for an edge that passes a layer
SWEEPS = 8


@dataclass
class Layout:
    """Coordinates of a drawing. `boxes[i]` is (x, y, width, height), where (x, y) is the top left corner.

    `routes[e]` has the points of edge e, from tail to head. The edge is horizontal at each point. `backward` has the
    indices of the edges that run from right to left.
    """

    width: float
    height: float
    boxes: list[tuple[float, float, float, float]]
    routes: list[list[Point]]
    backward: set[int] = field(default_factory=set)


def layout(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    *,
    spread: Sequence[float] | None = None,
    gap: float = 56.0,
) -> Layout:
    """Lay out boxes of these (width, height) sizes, connected by (tail, head) edges.

    `spread[i]` is the largest distance from the middle of a side of box i at which edges may enter, by default a third
    of the side. `gap` is the smallest distance between layers. The route of an edge from a box to itself has one point.

    >>> drawn = layout([(40, 20), (40, 20)], [(0, 1)])
    >>> drawn.boxes, drawn.routes
    ([(0.0, 0.0, 40, 20), (96.0, 0.0, 40, 20)], [[(40.0, 10.0), (96.0, 10.0)]])
    """
    if not sizes:
        return Layout(0.0, 0.0, [], [])
    net = _Net(sizes, edges)
    _order(net)
    _place(net)
    return _columns(net, spread or [h / 3 for _, h in sizes], gap)


class _Net:
    """The working graph: items are boxes, then dummies; every link connects adjacent layers."""

    def __init__(self, sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]):
        count = len(sizes)
        self.sizes = sizes
        self.edges = edges
        self.backward = _against(count, edges)
        ends = [(h, t) if e in self.backward else (t, h) for e, (t, h) in enumerate(edges)]
        self.layer = _layers(count, ends)
        self.height = [h for _, h in sizes]
        self.trunks: list[list[int]] = [[] for _ in range(count)]  # a box's dummies, one per layer, up to its last use
        self.flying: set[int] = set()
        self.ends = ends
        budget = 4 * count + 1000  # a drawing that needs more dummies is dense, so the longest edges become straight
        for e in sorted(range(len(ends)), key=self.between):
            tail, _ = ends[e]
            missing = self.between(e) - len(self.trunks[tail])
            if missing > budget:
                self.flying.add(e)
                continue
            budget -= missing
            for _ in range(missing):
                self.trunks[tail].append(len(self.layer))
                self.layer.append(self.layer[tail] + len(self.trunks[tail]))
                self.height.append(DUMMY)
        self._link()

    def between(self, e: int) -> int:
        """The number of layers strictly between the ends of an edge."""
        tail, head = self.ends[e]
        return max(self.layer[head] - self.layer[tail] - 1, 0)

    def passed(self, e: int) -> list[int]:
        """The items of an edge before its head, which are the tail and dummies."""
        tail = self.ends[e][0]
        return [tail, *self.trunks[tail][: 0 if e in self.flying else self.between(e)]]

    def _link(self) -> None:
        links = {(tail, trunk[0]) for tail, trunk in enumerate(self.trunks) if trunk}
        links |= {pair for trunk in self.trunks for pair in pairwise(trunk)}
        links |= {(self.passed(e)[-1], h) for e, (t, h) in enumerate(self.ends) if t != h and e not in self.flying}
        self.left: list[list[int]] = [[] for _ in self.layer]
        self.right: list[list[int]] = [[] for _ in self.layer]
        for tail, head in sorted(links):
            self.left[head].append(tail)
            self.right[tail].append(head)
        self.links = len(links)
        self.rows: list[list[int]] = [[] for _ in range(max(self.layer) + 1)]
        self.y = [0.0] * len(self.layer)

    def pull(self, i: int, n: int) -> int:
        """The weight of aligning i with its neighbour n: 8 within a long edge, 2 for a result, 1 for the rest."""
        count = len(self.sizes)
        if n >= count:
            return 8 if i >= count else 1
        return 2 if self.left[n] else 1


def _against(count: int, edges: Sequence[tuple[int, int]]) -> set[int]:
    """The back edges of a depth-first search, which leaves heads after tails. Reversed, they close no cycle."""
    heads: list[list[int]] = [[] for _ in range(count)]
    for tail, head in edges:
        heads[tail].append(head)
    entered: set[int] = set()
    left: dict[int, int] = {}  # when the search left a box
    for start in range(count):
        stack = [start]
        while stack:
            at = stack[-1]
            if at in entered:
                left.setdefault(stack.pop(), len(left))
            else:
                entered.add(at)
                stack += [head for head in reversed(heads[at]) if head not in entered]
    return {e for e, (tail, head) in enumerate(edges) if left[tail] < left[head]}


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each box, from the longest path to a sink. Sinks have the highest number."""
    heads: dict[int, list[int]] = {i: [] for i in range(count)}
    for tail, head in edges:
        if tail != head:
            heads[tail].append(head)
    distance = [0] * count
    for i in TopologicalSorter(heads).static_order():  # a box comes after its heads
        distance[i] = max([distance[head] + 1 for head in heads[i]], default=0)
    deepest = max(distance)
    return [deepest - d for d in distance]


# ------------------------------------------------------------------------------------------------ order
def _order(net: _Net) -> None:
    """Fill `net.rows`, the items of each layer from top to bottom."""
    _first_order(net)
    best, fewest = [*net.rows], _crossings(net)
    for sweep in range(max(2, min(SWEEPS, 40_000 // (net.links + 1)))):
        if not fewest:
            break
        layers = range(len(net.rows)) if sweep % 2 else reversed(range(len(net.rows)))
        for at in layers:
            _sort_row(net, at, net.left if sweep % 2 else net.right)
        if (crossings := _crossings(net)) < fewest:
            best, fewest = [*net.rows], crossings
    net.rows = best


def _first_order(net: _Net) -> None:
    """Fill `net.rows` depth first from the results, with operands in order, so that a tree has no crossings."""
    seen = [False] * len(net.layer)
    for root in sorted(range(len(net.layer)), key=lambda i: -net.layer[i]):
        stack = [root]
        while stack:
            i = stack.pop()
            if not seen[i]:
                seen[i] = True
                net.rows[net.layer[i]].append(i)
                stack += reversed(net.left[i])


def _sort_row(net: _Net, at: int, neighbours: list[list[int]]) -> None:
    row = net.rows[at]
    step = -1 if neighbours is net.left else 1
    if not 0 <= at + step < len(net.rows):
        return
    place = {i: float(k) for k, i in enumerate(net.rows[at + step])}
    center: dict[int, float] = {}
    for k, i in enumerate(row):
        if neighbours[i]:
            center[i] = fmean([place[n] for n in neighbours[i]])
        else:
            center[i] = center[row[k - 1]] if k else -1.0
    net.rows[at] = sorted(row, key=center.__getitem__)


def _crossings(net: _Net) -> int:
    """The number of crossings: for each link, the number of earlier links that arrive below."""
    total = 0
    for row, after in pairwise(net.rows):
        place = {i: k for k, i in enumerate(after)}
        arrived: list[int] = []
        for head in (head for i in row for head in sorted([place[n] for n in net.right[i]])):
            total += len(arrived) - bisect_right(arrived, head)
            insort(arrived, head)
    return total


# ------------------------------------------------------------------------------------------------ along the layer
def _place(net: _Net) -> None:
    """Fill `net.y`, the centre of each item, with the top of the drawing at 0."""
    for row in net.rows:
        _settle(net, row, [0.0] * len(row), leaf=1.0)
    for sweep in range(SWEEPS):
        leftward = sweep % 2 == 0
        for row in reversed(net.rows) if leftward else net.rows:
            wishes = [_wish(net, i, net.right[i] if leftward else net.left[i]) for i in row]
            _settle(net, row, wishes, leaf=1.0 if leftward else 1e-3)  # a leaf has no neighbours on the left
    for row in reversed(net.rows):  # finally, leaves move towards their uses, as far as there is room
        _settle(net, row, [net.y[i] if net.left[i] else _wish(net, i, net.right[i]) for i in row], leaf=1e-6)
    top = min(y - h / 2 for y, h in zip(net.y, net.height, strict=True))
    net.y = [round(y - top, 2) for y in net.y]  # rounding makes the heights of level items exactly equal


def _wish(net: _Net, i: int, neighbours: list[int]) -> float:
    """The weighted median of the neighbours, or the midpoint between two medians."""
    pulled = [net.y[n] for n in neighbours for _ in range(net.pull(i, n))]
    return median(pulled) if pulled else net.y[i]


def _settle(net: _Net, row: list[int], wishes: list[float], leaf: float) -> None:
    """Place a layer's items as near to `wishes` as order and spacing allow, in the least-squares sense."""
    shift, total = [0.0], 0.0
    for a, b in pairwise(row):
        total += (net.height[a] + net.height[b]) / 2 + GAP
        shift.append(total)
    blocks: list[list[float]] = []  # weight, mean of (wish - shift), items
    for i, wish, s in zip(row, wishes, shift, strict=True):
        blocks.append([8 if i >= len(net.sizes) else 2 if net.left[i] else leaf, wish - s, 1])
        while len(blocks) > 1 and blocks[-2][1] > blocks[-1][1]:
            weight, mean, items = blocks.pop()
            last = blocks[-1]
            last[1] = (last[0] * last[1] + weight * mean) / (last[0] + weight)
            last[0] += weight
            last[2] += items
    means = [mean for _, mean, items in blocks for _ in range(int(items))]
    for i, mean, s in zip(row, means, shift, strict=True):
        net.y[i] = mean + s


# ------------------------------------------------------------------------------------------------ across the layers
def _columns(net: _Net, spread: Sequence[float], gap: float) -> Layout:
    """The column of each layer, and the points of each edge."""
    count = len(net.sizes)
    widths = [max([net.sizes[i][0] for i in row if i < count], default=0.0) for row in net.rows]
    starts, x = [], 0.0
    for at, row in enumerate(net.rows):
        starts.append(x)
        steepest = max((abs(net.y[i] - net.y[n]) for i in row for n in net.right[i]), default=0.0)
        x += widths[at] + max(gap, min(0.22 * steepest, 4 * gap))  # steep edges need more room
    boxes = []
    for i, (w, h) in enumerate(net.sizes):
        left = starts[net.layer[i]] + (widths[net.layer[i]] - w) / 2
        boxes.append((left, net.y[i] - h / 2, w, h))
    ports = _ports(net, spread)
    ends = [x + width for x, width in zip(starts, widths, strict=True)]
    routes: list[list[Point]] = []
    for e, (tail, head) in enumerate(net.ends):
        passed = net.passed(e)
        last = passed[-1]
        route: list[Point] = [(boxes[tail][0] + boxes[tail][2], net.y[tail])]
        for i, n in pairwise(passed):  # an edge is level within a column, and needs no point between level items
            if net.y[i] != net.y[n]:
                route += [(ends[net.layer[i]], net.y[i]), (starts[net.layer[n]], net.y[n])]
        if tail != head:
            port = ports[e]
            route += [(ends[net.layer[last]], net.y[last]), (starts[net.layer[head]], port), (boxes[head][0], port)]
        route = [point for point, _ in groupby(route)]  # without repeated points
        routes.append(route[::-1] if e in net.backward else route)
    width = max(x + w for x, _, w, _ in boxes)
    height = max(y + h / 2 for y, h in zip(net.y, net.height, strict=True))
    return Layout(width, height, boxes, routes, net.backward)


def _ports(net: _Net, spread: Sequence[float]) -> dict[int, float]:
    """The height at which each edge enters its head, spread over the side in the order of arrival."""
    arriving: dict[int, list[int]] = defaultdict(list)
    for e, (tail, head) in enumerate(net.ends):
        if tail != head:
            arriving[head].append(e)
    ports = {}
    for head, edges in arriving.items():
        edges.sort(key=lambda e: (net.y[net.passed(e)[-1]], e))
        step = min(14.0, 2 * spread[head] / max(len(edges) - 1, 1))
        for k, e in enumerate(edges):
            ports[e] = net.y[head] + (k - (len(edges) - 1) / 2) * step
    return ports
