"""`Row`, a line of the derivative table, and its variants. The rows are in `ops.py` and `tensor/arrays.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


def nothing(*_: object) -> None:
    """Default no-op backward: a leaf's, and a hand-written op's until one is assigned."""


Rules = Sequence[tuple[int, Callable[..., Any]]]
PLAIN: set[type] = set()  # non-node operand types besides float, checked first for speed; `tensor.node` adds arrays


@dataclass(eq=False, repr=False, slots=True)
class Row:
    """One line of the derivative table: an op's name, its forward function, and one rule per operand.

    A rule maps `g`, the gradient of the output, to the gradient of one operand. A unary row has one rule, called as
    `to_a(g, out, a)`; a binary row has two, called as `to_a(g, a, b)` and `to_b(g, a, b)`. Calling a row applies the
    op to numbers, arrays, nodes, or anything else with an `_apply` method.

    `settings` are what the row was made with besides its formulas, by name: an axis, a shape, an index.
    """

    name: str
    forward: Callable[..., Any]
    to_a: Callable[..., Any] | None
    to_b: Callable[..., Any] | None = None
    word: str = ""  # the identifier for a symbol such as "+"
    view: bool = False  # the result may share the operand's memory
    doc: str = ""  # the docstring of a public op; "" for an internal one
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs_values: bool = True  # False if the rules use only the operands' shapes, so that their values are not saved
    rules: Rules = field(init=False)  # with the indices of their operands
    of_out: bool = field(init=False)  # the rule is called with (out, a), not with the operands
    needed: dict[tuple[bool, ...], list[int]] = field(init=False)  # which values to save; see `tensor.node._needed`

    def __post_init__(self) -> None:
        self.rules = [(i, rule) for i, rule in enumerate((self.to_a, self.to_b)) if rule is not None]
        self.of_out = self.to_a is not None and self.to_b is None
        self.word = self.word or self.name
        self.needed = {}

    def __call__(self, *operands: Any) -> Any:
        for operand in operands:
            if operand.__class__ is not float and operand.__class__ not in PLAIN and hasattr(operand, "_apply"):
                return operand._apply(self, operands)
        return self.forward(*operands)

    def shortcut(self, node: Any) -> bool:
        """Do a whole backward pass from this row's node in a faster way. False, with nothing done, if there is none."""
        return False

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={x!r:.40}" for name, x in self.settings.items())
        return f"<Row {self.word}{f'({settings})' if settings else ''}>"


def passed(g: Any, _a: Any, _b: Any) -> Any:
    """The identity rule: the operand's gradient is g."""
    return g


class Many(Row):
    """A row with any number of operands: `rule(g, *operands)` returns a list of gradients, some of them None."""

    __slots__ = ("rule",)

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        rule: Callable[..., Any],
        needs_values: bool = True,
        settings: Mapping[str, Any] | None = None,
    ):
        super().__init__(name, forward, None, settings=settings or {}, needs_values=needs_values)
        self.rule: Callable[..., Any] = rule


class HandWritten(Row):
    """The row of a node whose backward is a closure written by the user (`out._backward = f`)."""

    __slots__ = ("closure",)

    def __init__(self, name: str, closure: Callable[[], object]):
        super().__init__(name, nothing, None)
        self.closure: Callable[[], object] = closure


class Each(Many):
    """A row with any number of operands and a separate rule for each, called as `rule(g, *operands)`.

    The rules run in reverse, so that the gradient of the input, operand 0, is still in the CPU cache when the next
    node of the pass uses it.
    """

    __slots__ = ()

    def __init__(self, name: str, forward: Callable[..., Any], *rules: Callable[..., Any]):
        super().__init__(name, forward, nothing)
        self.rules: Rules = [*enumerate(rules)][::-1]


class LetGo(Row):
    """The row of a node whose graph was released after a backward pass.

    It has no rules. `ways` are the operands that required a gradient, each as its own `LetGo` row if it was released
    too, so that a search can still tell which leaves the node depended on.
    """

    __slots__ = ("ways",)
    to_a: Callable[..., Any] | None = None
    to_b: Callable[..., Any] | None = None
    rules: Rules = ()
    of_out: bool = False
    settings: Mapping[str, Any] = {}
    _row = property(lambda self: self)  # a search traverses these rows as if they were nodes
    _known_in = None

    def __init__(self, row: Row, ways: list[Any]):
        self.name: str = row.name
        self.word: str = row.word
        self.ways: list[Any] = ways
