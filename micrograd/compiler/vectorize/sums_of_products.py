"""The normal form of a graph of scalars, from which `levels` makes array operations.

Chains of +, -, * and / by numbers are flattened to sums of terms c * p * q. Of these,

    (w * x + v * y + b) / 2               becomes  dot + 0.5 * b,
                                          where dot = 0.5 * w * x + 0.5 * v * y

since a sum of products may be an element of a matrix product. This reassociates sums, so results differ in their last
digits. A factor is merged while it is moderate, so that nothing overflows or underflows where the function itself does
not. Two numbers that are added are merged while they do not cancel.

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
from math import isinf
from typing import Any

from ...engine.rows import Row
from ...scalars import ops
from ..graph import Graph
from ..symbols import Symbol, symbols_in

ONE = -1  # marks a missing factor
LONG = 2  # a sum of more terms than this becomes a dot product with ones
LEAST, MOST = 2.0**-64, 2.0**64  # the sizes of factors that are merged
Term = tuple[float, int, int]
Sum = tuple[float, list[Term]]  # a number, and terms


class NormalForm:
    """The scalars that the outputs depend on, as numbered nodes: leaves, sums of terms, and other ops.

    `number` has the number of each Symbol's node, leaves first. For a constant, and for a Symbol that depends on
    constants alone, it has the value, a float. A transparent row returns its operand.
    """

    def __init__(self, outs: Sequence[Any], transparent: Row | None = None):
        self._transparent = transparent
        roots = symbols_in(outs)
        graph = roots[0].graph if roots else Graph()
        self._known: dict[Symbol, Any] = graph.known
        self._uses: list[int] = [0] * len(graph.symbols)
        above = [0] * len(graph.symbols)  # the longest chain of operations from here to an output
        for x in roots:
            self._uses[x.number] = 2  # so that no other sum takes it in
        self.order: list[Symbol] = []  # the operations
        self.inputs: list[Symbol] = []  # inputs, and operations that are not on numbers
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
        self.depth: int = max(above, default=0)  # a chain of additions counts as no operation
        self.order.reverse()
        self.inputs.reverse()

    def merge(self) -> None:
        """Number the nodes, and merge sums. Inputs whose values are known by now are constants."""
        self.leaves: list[Symbol] = [symbol for symbol in self.inputs if symbol not in self._known]
        self.nodes: int = len(self.leaves) + len(self.order)
        self.size: int = self.nodes  # the size includes the dot products, which come last
        self.sums: dict[int, list[Term]] = {}
        self.ops: dict[int, tuple[Row, list[Any]]] = {}
        self._sums: dict[int, Sum] = {}
        self._free: dict[int, Sum] = {}  # the sums with one user, which may take them in
        number: dict[Any, Any] = {symbol: i for i, symbol in enumerate(self.leaves)} | self._known
        self.number: dict[Any, Any] = number
        for i, symbol in enumerate(self.order, len(self.leaves)):
            xs = [number[x] if x.__class__ is Symbol else constant(x) for x in symbol.args]
            number[symbol] = i
            if symbol.op is self._transparent:
                number[symbol] = xs[0]
            elif xs[0].__class__ is float and all(x.__class__ is float for x in xs):
                number[symbol] = float(symbol.op.forward(*xs))
            elif total := self._sum(symbol.op, *xs):
                (self._free if self._uses[symbol.number] == 1 else self._sums)[i] = total
            else:
                self.ops[i] = symbol.op, xs
        self._sums |= self._free
        self._split()

    def _sum(self, row: Row, a: Any, b: Any = None) -> Sum | None:
        """An operation as a sum; None if it is not a sum."""
        if row is ops.add or row is ops.sub:
            return self._added(a, b, 1.0 if row is ops.add else -1.0)
        if row is ops.neg:
            return self._scaled(a, -1.0)
        if row is ops.div and b.__class__ is float and b != 0 and 1.0 / b != 0:
            return self._scaled(a, 1.0 / b)
        if row is ops.mul and float in (a.__class__, b.__class__):
            return self._scaled(b, a) if a.__class__ is float else self._scaled(a, b)
        if row is ops.mul or row.name in ("**2", "**2.0"):
            return 0.0, [self._product(a, a if b is None else b)]
        return None

    def _terms(self, x: Any) -> Sum:
        """An operand as a sum. If it is a sum with no other user, it is merged."""
        if x.__class__ is float:
            return x, []
        return self._free.pop(x, None) or _single(x)

    def _number(self, x: Any) -> float:
        """The number in an operand."""
        return x if x.__class__ is float else self._free.get(x, (0.0,))[0]

    def _added(self, a: Any, b: Any, sign: float) -> Sum:
        """a + sign * b. An operand stays as it is if the numbers in both would cancel or overflow."""
        m, n = self._number(a), sign * self._number(b)
        apart = m != 0 and n != 0 and ((m < 0) != (n < 0) or isinf(m + n))
        left, terms = _single(a) if apart and b.__class__ is float else self._terms(a)
        right, added = _single(b) if apart and b.__class__ is not float else self._terms(b)
        added = added if sign == 1 else [(-c, p, q) for c, p, q in added]
        return left + sign * right, _joined(terms, added)

    def _scaled(self, x: int, number: float) -> Sum | None:
        """x * number; None if a factor would not be moderate."""
        m, terms = self._free.get(x) or _single(x)
        scaled = m * number, [(c * number, p, q) for c, p, q in terms]
        if not (_is_moderate(number) and _is_moderate(scaled[0]) and all(_is_moderate(c) for c, _, _ in scaled[1])):
            return None
        self._free.pop(x, None)
        return scaled

    def _product(self, a: int, b: int) -> Term:
        if a not in self._free and b not in self._free:
            return 1.0, a, b
        c, p = self._factor(a)
        d, q = (c, p) if a == b else self._factor(b)
        if not _is_moderate(c * d):
            return 1.0, a, b
        for x, factor in ((a, p), (b, q)):
            if x != factor:
                self._free.pop(x, None)  # it is merged
        return c * d, p, q

    def _factor(self, x: int) -> tuple[float, int]:
        """A node as a number times a node."""
        number, [(c, p, q), *more] = self._free.get(x) or _single(x)
        return (1.0, x) if number or more or q != ONE or c == 0 else (c, p)

    def _split(self) -> None:
        """Turn the products in each sum into a dot product. Many other terms become a second dot product."""
        self.dots: dict[int, list[Term]] = {}
        n = len(self.leaves)
        for i, (number, terms) in sorted(self._sums.items()):
            products, single = [], []
            for term in terms:
                (products if term[2] != ONE else single).append(term)
            if len(products) > 1:  # the leaf of a product, such as a weight, is on the left
                products = [self._dot([(c, q, p) if q < n <= p else (c, p, q) for c, p, q in products])]
            alone = [term for term in single if abs(term[0]) == 1] if len(single) <= LONG else []
            if len(single) > len(alone) + 1:  # such as weights times the numbers of a sample
                weighted = [(c, ONE, p) for c, p, _ in single if not alone or abs(c) != 1]
                single = [self._dot(weighted), *alone]
            self.sums[i] = [*products, *single, *[(number, ONE, ONE)] * (number != 0)]

    def _dot(self, terms: list[Term]) -> Term:
        """A term for a new dot product without a minus in front, so that `y * score` is alike for all signs of y."""
        sign = -1.0 if terms[0][1] != ONE and terms[0][0] < 0 else 1.0
        self.dots[self.size] = [(sign * c, p, q) for c, p, q in terms]
        self.size += 1
        return sign, self.size - 1, ONE


def constant(x: Any) -> float:
    """A constant as a number. In a batch, the slope of a floor is an array with the same number for each sample."""
    return float(x.flat[0] if hasattr(x, "flat") else x)


def _single(x: int) -> Sum:
    """A node as a sum of one term."""
    return 0.0, [(1.0, x, ONE)]


def _is_moderate(factor: float) -> bool:
    return factor == 0 or LEAST <= abs(factor) <= MOST


def _joined(a: list[Term], b: list[Term]) -> list[Term]:
    """Both lists; the longer one is extended, so that a chain of sums takes linear time."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    longer.extend(shorter)
    return longer
