"""What an op is: a row of the derivative table. The table is in `ops.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import floats

# The library of functions for each type of plain operand. Others name theirs by `__array_namespace__`, as arrays do.
LIBRARIES: dict[type, Any] = {float: floats, int: floats, bool: floats}


def lib(a: Any, b: Any = 0.0) -> Any:
    """The library for these operands: the functions of `floats`, unless one of them is not a number."""
    library = LIBRARIES.get(a.__class__)
    if b.__class__ is not float and library is LIBRARIES[float]:  # a is a number, so b decides
        a, library = b, LIBRARIES.get(b.__class__)
    return library or a.__array_namespace__()


class Row:
    """An op: its name, its forward function, and for each operand a rule from the result's gradient to its own.

    A unary row has the rule `to_a(g, out, a)`, a binary row `to_a(g, a, b)` and `to_b(g, a, b)`. A row without these
    has any number of operands, and its own `send`. Calling a row applies the op to numbers, to nodes, or to
    anything else with a method `_apply`.

    `word` is an identifier, for a name that is a symbol such as "+". `notes` give the attributes below other values;
    they say what the floors above want to know.
    """

    doc: str = ""  # the docstring, if the op is public
    settings: Mapping[str, Any] = {}  # what the row was made with besides its formulas
    needs_values: bool = True  # False if the rules use only the shapes of the values
    view: bool = False  # of arrays: the result may share the operand's memory

    def __init__(self, name: str, forward: Any, to_a: Any = None, to_b: Any = None, word: str = "", **notes: Any):
        self.name: str = name
        self.forward: Any = forward
        self.to_a: Any = to_a
        self.to_b: Any = to_b
        self.word: str = word or name
        self.rules: Sequence[Callable[..., Any]] = [rule for rule in (to_a, to_b) if rule]
        self.of_out: bool = len(self.rules) == 1  # the rule is called with (out, a), not with the operands
        for note, x in notes.items():  # not by `vars(self)`, which would make every later look-up slower
            setattr(self, note, x)

    def __call__(self, *operands: Any) -> Any:
        refused = False
        for x in operands:
            if x.__class__ not in LIBRARIES and hasattr(x, "_apply"):
                if (out := x._apply(self, operands)) is not NotImplemented:
                    return out
                refused = True
        if refused:
            found = " and ".join(type(x).__name__ for x in operands)
            raise TypeError(f"'{self.name}' takes Values and numbers, found {found}")
        return self.forward(*operands)

    def send(self, node: Any, g: Any, create_graph: bool = False) -> Sequence[tuple[Any, Any]]:
        """What a node of this row sends, given its gradient: pairs (operand, gradient), none for a constant.

        The last rule runs first, so that the gradient of an array's first operand, the input, is still in the cache.
        """
        values, rules, sent = node._used(create_graph), self.rules, []
        operands = node._x if node._x.__class__ is tuple else (node._a, node._b)
        for i in range(len(rules) - 1, -1, -1):
            n = operands[i]
            if n is not None and n._row is not None:
                try:
                    sent.append((n, n._fit(rules[i](g, *values))))
                except (ZeroDivisionError, OverflowError):  # of Python's floats alone
                    sent.append((n, node._ieee(rules[i], g, *values)))
        sent.reverse()
        return sent

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={x!r:.40}" for name, x in self.settings.items())
        return f"<Row {self.word}{f'({settings})' if settings else ''}>"


class _Leaf(Row):
    """The row of a leaf that receives a gradient. It is false, so `if node._row` asks whether an op made the node."""

    def __bool__(self) -> bool:
        return False

    def send(self, node: Any, g: Any, create_graph: bool = False) -> Sequence[tuple[Any, Any]]:
        return ()


LEAF = _Leaf("", None)
