"""What a row of the derivative table is. The rows themselves are in `ops.py` and in `tensor/arrays.py`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def nothing(*_: object) -> None:
    """The closure of a leaf, and of a node of the user's own before it is given one."""


PLAIN: set[type] = set()  # what a row is often given, beside floats, and is no node; `tensor.node` adds arrays


class Row:
    """One line of the derivative table: an op's name, its forward function, and a rule for each operand.

    A rule gives the gradient of an operand from `g`, the gradient coming in. A unary row has one, called as
    `to_a(g, out, a)`; a binary row has two, called as `to_a(g, a, b)` and `to_b(g, a, b)`. A row may be called like
    the function that it describes, on numbers, arrays, nodes and whatever else has an `_apply` method.
    """

    __slots__ = ("name", "forward", "to_a", "to_b", "rules", "of_out", "word", "view", "doc", "needed")

    def __init__(
        self,
        name: str,
        forward: Callable,
        to_a: Callable | None,
        to_b: Callable | None = None,
        word: str = "",
        view: bool = False,
        doc: str = "",
    ):
        self.name, self.forward, self.to_a, self.to_b = name, forward, to_a, to_b
        self.rules = [] if to_a is None else [(0, to_a)] if to_b is None else [(0, to_a), (1, to_b)]
        self.of_out = to_a is not None and to_b is None  # the rule is called with (out, a), not with the operands
        self.word = word or name  # what a symbol such as "+" is called
        self.view = view  # the result shares the operand's memory
        self.doc = doc  # what users read of it, if it is theirs to call
        self.needed: dict[tuple[bool, ...], list[int]] = {}  # what nodes of arrays save; see `tensor.node`

    def __call__(self, *operands: Any) -> Any:
        for operand in operands:
            if operand.__class__ is not float and operand.__class__ not in PLAIN and hasattr(operand, "_apply"):
                return operand._apply(self, operands)
        return self.forward(*operands)

    def __repr__(self) -> str:
        return f"<Row {self.word}>"


def passed(g: Any, _a: Any, _b: Any) -> Any:
    """The rule of an operand whose gradient is the one that came in."""
    return g


class Many(Row):
    """A row of any number of operands: `rule(g, *operands)` gives a list of parts, one for each; None is no gradient.

    With `keeps=False` it asks the operands for their shapes alone.
    """

    __slots__ = ("keeps", "rule")

    def __init__(self, name: str, forward: Callable, rule: Callable, keeps: bool = True):
        super().__init__(name, forward, None)
        self.rule, self.keeps = rule, keeps


class HandWritten(Row):
    """The row of a node whose backward is a closure of the user's own (`out._backward = f`)."""

    __slots__ = ("closure",)

    def __init__(self, name: str, closure: Callable[[], object]):
        super().__init__(name, nothing, None)
        self.closure = closure


class Each(Many):
    """A row of any number of operands with a rule for each, called as `rule(g, *operands)`.

    The input, which is the first, comes last: its part is in the cache still when the node beneath uses it.
    """

    __slots__ = ()

    def __init__(self, name: str, forward: Callable, *rules: Callable):
        super().__init__(name, forward, nothing)
        self.rules = [*enumerate(rules)][::-1]


class LetGo(Row):
    """The row of a node whose history was let go after a backward pass.

    It has no rules, but the ways on from there: the leaves that the node was made from, and the rows of such nodes.
    """

    __slots__ = ("ways",)
    to_a = to_b = None
    rules = ()
    of_out = False
    _row = property(lambda self: self)  # a search walks over these rows as over nodes
    _met = math.inf

    def __init__(self, row: Row, ways: list[Any]):
        self.name, self.word, self.ways = row.name, row.word, ways
