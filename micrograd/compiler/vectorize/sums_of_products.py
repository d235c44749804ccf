"""The normal form of a graph of scalars, from which `levels` makes array operations.

Chains of +, -, * and / by numbers are flattened to sums of terms c * p * q. Of these,

    (w * x + v * y + b) / 2               becomes  dot + 0.5 * b,
                                          where dot = 0.5 * w * x + 0.5 * v * y

since a sum of products may be an element of a matrix product. This reassociates sums, so results differ in their last
digits.

>>> from ..trace import Trace, tracing
>>> trace = Trace()
>>> w, x, v, y, b = (trace.value(name, requires_grad=True) for name in "wxvyb")
>>> with tracing(trace):
...     out = (w * x + v * y + b) / 2
>>> form = NormalForm([out._data])
>>> form.merge()
>>> [str(leaf) for leaf in form.leaves]  # the nodes 0, 1, 2, 3 and 4
['w', 'x', 'v', 'y', 'b']
>>> form.dots
{10: [(0.5, 0, 1), (0.5, 2, 3)]}
>>> form.sums
{9: [(1.0, 10, -1), (0.5, 4, -1)]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...engine.rows import Row
from ...scalars import ops
from ..graph import Graph
from ..symbols import Symbol, symbols_in

ONE = -1  # marks a missing factor
LONG = 2  # a sum of more terms than this becomes a dot product with ones
Term = tuple[float, int, int]


class NormalForm:
    """Numbered scalars: leaves, sums of terms, and other ops, of what the outputs depend on.

    `number` has the number of each Symbol's node, leaves first; for one of the constants, and for what depends on
    constants alone, its value, a float. What a transparent row returns is its operand.
    """

    def __init__(self, outs: Sequence[Any], transparent: Row | None = None):
        self._transparent = transparent
        found = symbols_in(outs)
        graph = found[0].graph if found else Graph()
        self._known: dict[Symbol, Any] = graph.known
        self._uses: list[int] = [0] * len(graph.symbols)
        above = [0] * len(graph.symbols)  # the longest chain of operations from here to an output
        for x in found:
            self._uses[x.number] = 2  # at least, so that no other sum takes it in
        self.order: list[Symbol] = []  # the operations
        self.inputs: list[Symbol] = []  # what is read, or not an operation on numbers
        for symbol in reversed(graph.symbols):
            if self._uses[symbol.number] and symbol.op.__class__ is str:
                self.inputs.append(symbol)
            elif self._uses[symbol.number]:
                self.order.append(symbol)
                times = self._uses[symbol.number] if symbol.op is transparent else 1
                height = above[symbol.number] + (symbol.op is not ops.add)
                for x in symbol.args:
                    if x.__class__ is Symbol:
                        self._uses[x.number] += times
                        if above[x.number] < height:
                            above[x.number] = height
        self.depth: int = max(above, default=0)  # in which a sum counts as one, however long
        self.order.reverse()
        self.inputs.reverse()

    def merge(self) -> None:
        """Number the nodes, and merge sums. The inputs that are known by now are constants."""
        self.leaves: list[Symbol] = [symbol for symbol in self.inputs if symbol not in self._known]
        self.nodes: int = len(self.leaves) + len(self.order)
        self.size: int = self.nodes  # the size includes the dot products, which come last
        self.sums: dict[int, list[Term]] = {}
        self.ops: dict[int, tuple[Row, list[Any]]] = {}
        self._free: dict[int, list[Term]] = {}  # sums with one user, which may take them in
        number: dict[Any, Any] = {symbol: i for i, symbol in enumerate(self.leaves)} | self._known
        self.number: dict[Any, Any] = number
        for i, symbol in enumerate(self.order, len(self.leaves)):
            xs = [number[x] if x.__class__ is Symbol else constant(x) for x in symbol.args]
            number[symbol] = i
            if symbol.op is self._transparent:
                number[symbol] = xs[0]
            elif xs[0].__class__ is float and all(x.__class__ is float for x in xs):
                number[symbol] = float(symbol.op.forward(*xs))
            elif terms := self._sum(symbol.op, *xs):
                (self._free if self._uses[symbol.number] == 1 else self.sums)[i] = terms
            else:
                self.ops[i] = symbol.op, xs
        self.sums |= self._free
        self._split()

    def _sum(self, row: Row, a: Any, b: Any = None) -> list[Term] | None:
        """The terms of an operation; None if it is no sum."""
        if row is ops.mul:
            return self._product(a, b)
        if row is ops.add:
            return _joined(self._terms(a), self._terms(b))
        if row is ops.sub:
            return _joined(self._terms(a), _scaled(self._terms(b), -1.0))
        if row is ops.neg:
            return _scaled(self._terms(a), -1.0)
        if row is ops.div and b.__class__ is float and b != 0:
            return _scaled(self._terms(a), 1.0 / b)
        return self._product(a, a) if row.name in ("**2", "**2.0") else None

    def _terms(self, x: Any) -> list[Term]:
        """An operand as a sum; one with no other user is merged."""
        if x.__class__ is float:
            return [(x, ONE, ONE)]
        return self._free.pop(x, None) or [(1.0, x, ONE)]

    def _product(self, a: Any, b: Any) -> list[Term]:
        if a.__class__ is float or b.__class__ is float:
            number, x = (a, b) if a.__class__ is float else (b, a)
            return _scaled(self._terms(x), number)
        if a not in self._free and b not in self._free:
            return [(1.0, a, b)]
        c, p = self._factor(a)  # which may be merged only once
        d, q = (c, p) if a == b else self._factor(b)
        return [(c * d, p, q)]

    def _factor(self, x: int) -> tuple[float, int]:
        """A node as a number times a node."""
        (c, p, q), *more = self._free.get(x, [(1.0, ONE, ONE)])
        if more or q != ONE or p == ONE:
            return 1.0, x
        del self._free[x]
        return c, p

    def _split(self) -> None:
        """Turn the products in each sum into a dot product, and its other terms too if there are many."""
        self.dots: dict[int, list[Term]] = {}
        n = len(self.leaves)
        for i in sorted(self.sums):
            products, single, number = [], [], []
            for term in self.sums[i]:
                (products if term[2] != ONE else single if term[1] != ONE else number).append(term)
            if len(products) > 1:  # each with its leaf, such as a weight, on the left
                products = [self._dot([(c, q, p) if q < n <= p else (c, p, q) for c, p, q in products])]
            alone = [term for term in single if abs(term[0]) == 1] if len(single) <= LONG else []
            if len(single) > len(alone) + 1:  # such as weights times the numbers of a sample
                weighted = [(c, ONE, p) for c, p, _ in single if not alone or abs(c) != 1]
                single = [self._dot(weighted), *alone]
            rest = [(sum(c for c, _, _ in number), ONE, ONE)] if number else []
            self.sums[i] = [*products, *single, *rest]

    def _dot(self, terms: list[Term]) -> Term:
        """A term for the dot product, which has no minus in front, so that `y * score` is alike for all signs of y."""
        sign = -1.0 if terms[0][1] != ONE and terms[0][0] < 0 else 1.0
        self.dots[self.size] = [(sign * c, p, q) for c, p, q in terms]
        self.size += 1
        return sign, self.size - 1, ONE


def constant(x: Any) -> float:
    """The number. In a batch a constant slope, as of a floor, is an array with the same number for each sample."""
    return float(x.flat[0] if hasattr(x, "flat") else x)


def _scaled(terms: list[Term], number: float) -> list[Term]:
    return [(c * number, p, q) for c, p, q in terms]


def _joined(a: list[Term], b: list[Term]) -> list[Term]:
    """Both lists; the longer one is extended, so that a chain of sums takes linear time."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    longer.extend(shorter)
    return longer
