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
    """Numbered scalars: leaves, sums of terms, and other ops. `rows` holds the op and operands of each Symbol."""

    def __init__(self, rows: dict[Symbol, Any], outs: Sequence[Any], constants: dict[Symbol, float]):
        self.rows = rows
        self.constants: dict[Symbol, float] = dict(constants)
        order = self._order(outs)
        self.number: dict[Symbol, int] = {symbol: i for i, symbol in enumerate(order)}
        self.leaves: list[Symbol] = [symbol for symbol in order if symbol not in rows]
        self.sums: dict[int, list[Term]] = {}
        self.ops: dict[int, tuple[Row, list[Any]]] = {}
        self.size: int = len(order)
        self._uses = [0] * len(order)
        for x in (*outs, *outs, *(x for symbol in order if symbol in rows for x in rows[symbol][1])):
            if x.__class__ is Symbol and x not in constants:
                self._uses[self.number[x]] += 1  # outputs count twice, so that they are not merged into other sums
        for symbol in order:
            if symbol in rows:
                self._enter(symbol, *rows[symbol])
        self._split()

    def _order(self, outs: Sequence[Any]) -> list[Symbol]:
        found: set[Symbol] = set()
        waiting = [x for x in outs if x.__class__ is Symbol]
        while waiting:
            symbol = waiting.pop()
            if symbol not in found and symbol not in self.constants:
                found.add(symbol)
                waiting += [x for x in self.rows.get(symbol, (None, ()))[1] if x.__class__ is Symbol]
        return sorted(found, key=lambda symbol: symbol.number)

    def _operand(self, x: Any) -> Any:
        """A number unchanged, a Symbol as its node number."""
        if x.__class__ is Symbol:
            return self.constants[x] if x in self.constants else self.number[x]
        return float(x)

    def _terms(self, x: Any) -> list[Term]:
        """An operand as a sum; a sum with no other user is merged."""
        if x.__class__ is float:
            return [(x, ONE, ONE)]
        return self.sums.pop(x) if x in self.sums and self._uses[x] == 1 else [(1.0, x, ONE)]

    def _enter(self, symbol: Symbol, row: Row, values: Sequence[Any]) -> None:
        i, xs = self.number[symbol], [self._operand(x) for x in values]
        if all(x.__class__ is float for x in xs):
            self.constants[symbol] = float(row.forward(*xs))
            return
        square = row.name in ("**2", "**2.0")
        if row is ops.add or row is ops.sub:
            left, right = self._terms(xs[0]), self._terms(xs[1])
            right = _scaled(right, -1.0) if row is ops.sub else right
            self.sums[i] = _joined(left, right)
        elif row is ops.neg:
            self.sums[i] = _scaled(self._terms(xs[0]), -1.0)
        elif row is ops.mul or square:
            self.sums[i] = self._product(xs[0], xs[0] if square else xs[1])
        elif row is ops.div and xs[1].__class__ is float and xs[1] != 0:
            self.sums[i] = _scaled(self._terms(xs[0]), 1.0 / xs[1])
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
        terms = self.sums.get(x)
        if terms is not None and self._uses[x] == 1 and len(terms) == 1 and terms[0][2] == ONE != terms[0][1]:
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
        return (c, q, p) if q < len(self._uses) and self._is_leaf(q) and not self._is_leaf(p) else term

    def _is_leaf(self, i: int) -> bool:
        return i not in self.ops and i not in self.sums and i not in self.dots and i < len(self._uses)


def _scaled(terms: list[Term], number: float) -> list[Term]:
    return [(c * number, p, q) for c, p, q in terms]


def _joined(a: list[Term], b: list[Term]) -> list[Term]:
    """Both lists; the longer one is extended, so that a chain of sums takes linear time."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    longer.extend(shorter)
    return longer
