"""`Row`, a line of the derivative table, and its variants. The rows are in `ops.py` and `tensor/arrays.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any


def nothing(*_: object) -> None:
    """Default no-op backward: a leaf's, and a hand-written op's until one is assigned."""


NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})
PLAIN: set[type] = set()  # non-node operand types besides float, checked first for speed; `tensor.node` adds arrays


class Row:
    """One line of the derivative table: an op's name, its forward function, and one rule per operand.

    A rule maps `g`, the gradient of the output, to the gradient of one operand. A unary row has one rule, called as
    `to_a(g, out, a)`; a binary row has two, called as `to_a(g, a, b)` and `to_b(g, a, b)`. Calling a row applies the
    op to numbers, arrays, nodes, or anything else with an `_apply` method.

    `settings` are what the row was made with besides its formulas, by name: an axis, a shape, an index.
    """

    __slots__ = ("name", "forward", "to_a", "to_b", "rules", "of_out", "word", "view", "doc", "settings", "needed")

    def __init__(
        self,
        name: str,
        forward: Callable,
        to_a: Callable | None,
        to_b: Callable | None = None,
        word: str = "",
        view: bool = False,
        doc: str = "",
        settings: Mapping[str, Any] = NO_SETTINGS,
    ):
        self.name, self.forward, self.to_a, self.to_b = name, forward, to_a, to_b
        self.rules = [] if to_a is None else [(0, to_a)] if to_b is None else [(0, to_a), (1, to_b)]
        self.of_out = to_a is not None and to_b is None  # the rule is called with (out, a), not with the operands
        self.word = word or name  # the identifier for a symbol such as "+"
        self.view = view  # the result may share the operand's memory
        self.settings = settings
        self.doc = doc  # the docstring of a public op; "" for an internal one
        self.needed: dict[tuple[bool, ...], list[int]] = {}  # cache of which values to save; see `tensor.node._needed`

    def __call__(self, *operands: Any) -> Any:
        for operand in operands:
            if operand.__class__ is not float and operand.__class__ not in PLAIN and hasattr(operand, "_apply"):
                return operand._apply(self, operands)
        return self.forward(*operands)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={x!r:.40}" for name, x in self.settings.items())
        return f"<Row {self.word}{f'({settings})' if settings else ''}>"


def passed(g: Any, _a: Any, _b: Any) -> Any:
    """The identity rule: the operand's gradient is g."""
    return g


class Many(Row):
    """A row with any number of operands: `rule(g, *operands)` returns a list of gradients, None for an operand without.

    With `needs_values=False` the rule uses only the operands' shapes, so their values are not saved.
    """

    __slots__ = ("needs_values", "rule")

    def __init__(
        self, name: str, forward: Callable, rule: Callable, needs_values: bool = True, settings: Any = NO_SETTINGS
    ):
        super().__init__(name, forward, None, settings=settings)
        self.rule, self.needs_values = rule, needs_values


class HandWritten(Row):
    """The row of a node whose backward is a closure written by the user (`out._backward = f`)."""

    __slots__ = ("closure",)

    def __init__(self, name: str, closure: Callable[[], object]):
        super().__init__(name, nothing, None)
        self.closure = closure


class Each(Many):
    """A row with any number of operands and a separate rule for each, called as `rule(g, *operands)`.

    The rules run in reverse, so that the gradient of the input, operand 0, is still in the CPU cache when the next
    node of the pass uses it.
    """

    __slots__ = ()

    def __init__(self, name: str, forward: Callable, *rules: Callable):
        super().__init__(name, forward, nothing)
        self.rules = [*enumerate(rules)][::-1]


class LetGo(Row):
    """The row of a node whose graph was released after a backward pass.

    It has no rules. `ways` are the operands that required a gradient, each as its own `LetGo` row if it was released
    too, so that a search can still tell which leaves the node depended on.
    """

    __slots__ = ("ways",)
    to_a = to_b = None
    rules = ()
    of_out, settings = False, NO_SETTINGS
    _row = property(lambda self: self)  # a search traverses these rows as if they were nodes
    _known_in = None

    def __init__(self, row: Row, ways: list[Any]):
        self.name, self.word, self.ways = row.name, row.word, ways
