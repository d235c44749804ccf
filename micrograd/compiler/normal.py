"""The normal form of a graph of scalars, from which `levels` makes array operations.

Chains of +, -, * and / by numbers are flattened to sums of terms c * p * q. Of these,

    (w * x + v * y + b) / 2               becomes  dot + 0.5 * b,
                                          where dot = 0.5 * w * x + 0.5 * v * y

since a sum of products may be an element of a matrix product. This reassociates sums, so results differ in their last
digits.

>>> from .trace import Trace, tracing
>>> trace = Trace()
>>> w, x, v, y, b = (trace.value(name, requires_grad=True) for name in "wxvyb")
>>> with tracing(trace):
...     out = (w * x + v * y + b) / 2
>>> form = NormalForm(trace.rows, [out._data], {})
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

from ..engine import ops
from ..engine.rows import Row
from .symbols import Symbol

ONE = -1  # marks a missing factor
LONG = 4  # a sum of more terms than this becomes a dot product with ones
Term = tuple[float, int, int]


class NormalForm:
    """Numbered scalars: leaves, sums of terms, and other ops. `rows` holds the op and operands of each Symbol.

    `number` has the number of each Symbol's node, leaves first; for one of the constants, and for what depends on
    constants alone, its value, a float.
    """

    def __init__(self, rows: dict[Symbol, Any], outs: Sequence[Any], constants: dict[Symbol, float]):
        uses = {x: 2 for x in outs if x.__class__ is Symbol}  # at least twice, so that no other sum takes it in
        found = []
        for symbol, (_, values) in reversed(rows.items()):
            if symbol in uses:
                found.append(symbol)
                for x in values:
                    if x.__class__ is Symbol:
                        uses[x] = uses.get(x, 0) + 1
        self.leaves: list[Any] = sorted(uses.keys() - rows.keys() - constants.keys(), key=lambda symbol: symbol.number)
        order = [*self.leaves, *reversed(found)]
        self._uses = [uses[symbol] for symbol in order]
        self.nodes: int = len(order)
        self.size: int = self.nodes  # the size includes the dot products, which come last
        self.number: dict[Any, Any] = {symbol: i for i, symbol in enumerate(order)}
        self.number |= constants
        self.sums: dict[int, list[Term]] = {}
        self.ops: dict[int, tuple[Row, list[Any]]] = {}
        for symbol in reversed(found):
            self._enter(symbol, *rows[symbol])
        self._split()

    def _terms(self, x: Any) -> list[Term]:
        """An operand as a sum; a sum with no other user is merged."""
        if x.__class__ is float:
            return [(x, ONE, ONE)]
        return [(1.0, x, ONE)] if self._uses[x] > 1 or x not in self.sums else self.sums.pop(x)

    def _enter(self, symbol: Symbol, row: Row, values: Sequence[Any]) -> None:
        i, xs = self.number[symbol], [self.number[x] if x.__class__ is Symbol else constant(x) for x in values]
        if xs[0].__class__ is float and all(x.__class__ is float for x in xs):
            self.number[symbol] = float(row.forward(*xs))
        elif row is ops.mul:
            self.sums[i] = self._product(*xs)
        elif row is ops.add:
            self.sums[i] = _joined(self._terms(xs[0]), self._terms(xs[1]))
        elif row is ops.sub:
            self.sums[i] = _joined(self._terms(xs[0]), _scaled(self._terms(xs[1]), -1.0))
        elif row is ops.neg:
            self.sums[i] = _scaled(self._terms(xs[0]), -1.0)
        elif row is ops.div and xs[1].__class__ is float and xs[1] != 0:
            self.sums[i] = _scaled(self._terms(xs[0]), 1.0 / xs[1])
        elif row.name in ("**2", "**2.0"):
            self.sums[i] = self._product(xs[0], xs[0])
        else:
            self.ops[i] = row, xs

    def _product(self, a: Any, b: Any) -> list[Term]:
        if a.__class__ is float or b.__class__ is float:
            number, x = (a, b) if a.__class__ is float else (b, a)
            return _scaled(self._terms(x), number)
        c, p = self._factor(a)  # which may be merged only once
        d, q = (c, p) if a == b else self._factor(b)
        return [(c * d, p, q)]

    def _factor(self, x: int) -> tuple[float, int]:
        """A node as a number times a node."""
        terms = self.sums.get(x) if self._uses[x] == 1 else None
        if terms is not None and len(terms) == 1 and terms[0][2] == ONE != terms[0][1]:
            self.sums.pop(x)
            return terms[0][0], terms[0][1]
        return 1.0, x

    def _split(self) -> None:
        """Turn the products in each sum into a dot product, and its other terms too if there are many."""
        self.dots: dict[int, list[Term]] = {}
        for i, terms in self.sums.items():
            products = [term for term in terms if term[2] != ONE]
            single = [term for term in terms if term[2] == ONE != term[1]]
            number = [term for term in terms if term[1] == ONE]
            if len(products) > 1:
                products = [self._dot([self._turned(term) for term in products])]
            if len(single) > LONG:
                single = [self._dot([(c, ONE, p) for c, p, _ in single])]
            rest = [(sum(c for c, _, _ in number), ONE, ONE)] if number else []
            self.sums[i] = [*products, *single, *rest]

    def _dot(self, terms: list[Term]) -> Term:
        self.dots[self.size] = terms
        self.size += 1
        return 1.0, self.size - 1, ONE

    def _turned(self, term: Term) -> Term:
        """A product with its leaf, such as a weight, on the left."""
        c, p, q = term
        return (c, q, p) if q < len(self.leaves) <= p else term


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
