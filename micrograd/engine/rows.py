"""What an op is: a row of the derivative table. The table is in `ops.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import floats

# The library of functions for each type of plain operand. Symbols name theirs by `__array_namespace__`.
LIBRARIES: dict[type, Any] = {float: floats, int: floats, bool: floats}


def lib(a: Any, b: Any = 0.0) -> Any:
    """The module whose functions fit these operands: `floats` for numbers, NumPy as soon as one is an array.

    The second operand decides if the first is a number. A float never decides, so it stands for a missing operand.
    """
    library = LIBRARIES.get(a.__class__)
    if b.__class__ is not float and library is floats:
        return lib(b)
    return library or a.__array_namespace__()


class Row:
    """An op: its name, its forward function, and for each operand a rule from the result's gradient to its own.

    A unary row has the rule `to_a(g, out, a)`, a binary row `to_a(g, a, b)` and `to_b(g, a, b)`. A row without these
    has any number of operands, and its own `send`. Calling a row applies the op to numbers, to nodes, or to
    anything else with a method `_apply`.

    `backward(out)` is the row's step of a backward pass: `out` sends its gradient to its operands.

    `word` is an identifier, for a name that is a symbol such as "+". Keyword arguments override the class attributes
    below, which Tensors and `compile` read.
    """

    backward: Callable[[Any], None]
    whole_pass: Any = None  # a function that does a whole pass from a node of this row, if it can: a compiled one
    released: bool = False  # True if the graph behind a node of this row is released
    doc: str = ""  # the docstring, if the op is public
    settings: Mapping[str, Any] = {}  # what the row was made with besides its formulas
    reads_values: bool = True  # False if the rules use only the shapes of the values
    view: bool = False  # of arrays: the result may share the operand's memory

    def __init__(self, name: str, forward: Any, to_a: Any = None, to_b: Any = None, word: str = "", **notes: Any):
        self.name: str = name
        self.forward: Any = forward
        self.to_a: Any = to_a
        self.to_b: Any = to_b
        self.word: str = word or name
        self.rules: Sequence[Callable[..., Any]] = [rule for rule in (to_a, to_b) if rule]
        self.is_unary: bool = len(self.rules) == 1  # the rule is called with (out, a), not with the operands
        if to_b:
            self.backward = binary_step(to_a, to_b)
        else:
            self.backward = unary_step(to_a) if to_a else general_step
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
        values = node._rule_arguments(create_graph)
        rules, operands = self.rules, node._operands
        sent = []
        for i in range(len(rules) - 1, -1, -1):
            n = operands[i]
            if n._row is not None:
                try:
                    sent.append((n, n._cast_gradient(rules[i](g, *values))))
                except (ZeroDivisionError, OverflowError):  # of Python's floats alone
                    sent.append((n, node._ieee(rules[i], g, *values)))
        sent.reverse()
        return sent

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={x!r:.40}" for name, x in self.settings.items())
        return f"<Row {self.word}{f'({settings})' if settings else ''}>"


# ---------------------------------------------------------------------------------------------------------------------
# The steps of a backward pass. The gradient of `out` is complete, in `out._sum`; each operand's sum gets its part.


def unary_step(rule: Any) -> Callable[[Any], None]:
    """The step of a row with one operand."""

    def backward(out: Any) -> None:
        out._gradient = g = out._sum
        out._a._sum += rule(g, out._x, out._y)  # a constant gets its part too, which nobody reads

    return backward


def binary_step(to_a: Any, to_b: Any) -> Callable[[Any], None]:
    """The step of a row with two operands."""

    def backward(out: Any) -> None:
        out._gradient = g = out._sum
        # Both rules run before anything is sent, since a rule may raise: the walk then takes `general_step`
        part_a = to_a(g, out._x, out._y)
        part_b = to_b(g, out._x, out._y)
        out._a._sum += part_a
        out._b._sum += part_b

    def pass_on(out: Any) -> None:  # of a sum, with its rules written out: two calls less for the most frequent op
        out._gradient = g = out._sum
        out._a._sum += g
        out._b._sum += g

    def multiply(out: Any) -> None:  # of a product, likewise
        out._gradient = g = out._sum
        out._a._sum += g * out._y
        out._b._sum += g * out._x

    if to_a is passed and to_b is passed:
        return pass_on
    return multiply if to_a is times_b and to_b is times_a else backward


def general_step(out: Any) -> None:
    """The step of every other node: of any number of operands, or where a rule raised on floats."""
    out._gradient = g = out._sum
    for operand, part in out._row.send(out, g):
        operand._sum = operand._plus(operand._sum, part)


def leaf_step(leaf: Any) -> None:
    """The step of a leaf: its gradient is added to `.grad`, which is the integer 0 until the first one comes."""
    grad = leaf._gradient
    if grad.__class__ is int and grad == 0:
        leaf._gradient = leaf._sum
    else:
        leaf._gradient = leaf._plus(grad, leaf._sum)


def passed(g: Any, _a: Any, _b: Any) -> Any:
    """The identity rule: the operand's gradient is g."""
    return g


def times_b(g: Any, _a: Any, b: Any) -> Any:
    """The rule of a product for its first operand."""
    return g * b


def times_a(g: Any, a: Any, _b: Any) -> Any:
    """The rule of a product for its second operand."""
    return g * a


class _Leaf(Row):
    """The row of a leaf that receives a gradient.

    Its truth value is False, so that `if node._row:` means "was this node made by an op?".
    """

    __bool__: Any = staticmethod(bool)  # bool() is False, and is faster than a method in Python

    def send(self, node: Any, g: Any, create_graph: bool = False) -> Sequence[tuple[Any, Any]]:
        return ()


LEAF = _Leaf("", None)
LEAF.backward = leaf_step
