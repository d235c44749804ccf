"""What Value and Tensor have in common: methods generated from the derivative table, such as `x.exp()`, and a few more.

Editors and type checkers read `methods.pyi`, which `docs/stubs.py` generates from the table.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Self, TypeVar
from warnings import warn

from ..common.words import NAMES, OF_A_NUMBER, check, unknown
from ..engine.modes import is_grad_enabled, modes_on
from ..engine.rows import Row
from ..engine.value import Value, method_of, number, operator_of
from . import ops
from .kinds import attach, is_differentiating, traced

Class = TypeVar("Class", bound=type)
OPERATORS = {"add": ops.add, "sub": ops.sub, "mul": ops.mul}
OPERATORS |= {"truediv": ops.div, "mod": ops.remainder, "floordiv": ops.floor_divide}
SIGNS = {"neg": ops.neg, "abs": ops.abs_}
BINARY = "\n\nArgs:\n    other: b, where self is a.\n\nReturns:\n    A node."


class Elementwise:
    """What a Value can do, and a Tensor to each of its elements; beside operators."""

    __slots__ = ()

    def pow(self, exponent: Any) -> Self:
        """self ** exponent.

        Args:
            exponent: a node or a number.

        Returns:
            A node.
        """
        return self**exponent  # type: ignore[operator]

    def leaky_relu(self, slope: float = 0.01) -> Self:
        return self._apply(ops.leaky_relu(slope), (self,))  # type: ignore[attr-defined]

    def clip(self, low: float | None = None, high: float | None = None, **_misspelt: Any) -> Self:
        if _misspelt:
            check(_misspelt, ops.clip, "clip()")
        return self._apply(ops.clip(low, high), (self,))  # type: ignore[attr-defined]

    def __pos__(self) -> Self:
        return self

    def __float__(self) -> float:
        """The number; raises inside a transform, where `math.sin(x)` would drop the derivative, and warns elsewhere."""
        number = self._without_gradient()
        if self.requires_grad and is_differentiating():  # type: ignore[attr-defined]
            raise TypeError(
                "float() of a node would lose its derivative, in a function that is being differentiated: compute on "
                "the node (x.sin(), not math.sin(x)), or take its .data or .item() if the number alone is meant"
            )
        return float(number)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)  # type: ignore[attr-defined]

    def __int__(self) -> int:
        return int(self._without_gradient())

    def __round__(self, ndigits: int | None = None) -> float:
        return round(self._without_gradient(), ndigits)

    def _without_gradient(self) -> Any:
        """The number for the caller's caller, with a warning if a gradient would have been recorded."""
        number = self.item()  # type: ignore[attr-defined]
        if self.requires_grad and is_grad_enabled() and not is_differentiating():  # type: ignore[attr-defined]
            warn(
                "no gradient flows through float(x) or a function of math: use the method (x.exp(), ...), or x.data "
                "if you mean the number",
                stacklevel=3,
            )
        return number

    def show(self, **options: Any) -> Any:
        """An interactive page that steps forward and backward through the graph.

        Args:
            **options: as for `micrograd.viz.player`.

        Returns:
            The page: it displays itself in notebooks; `save(path)` writes it, `open()` opens it in the browser.
        """
        from ..viz.playing.player_page import player  # imported on demand: the engine does not depend on viz

        return player(self, **options)

    @property
    def _mask(self) -> Any:
        """What a masked array of NumPy's asks an operand for, before it computes on the number alone."""
        raise TypeError(
            f"found a masked array and a {type(self).__name__}: the result would have no gradient; pass a plain array, "
            "as from filled(0.0), and multiply by a mask of 0 and 1"
        )

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name not in NAMES and name != "_mask"]


class _Foreign:
    """A name from another library. Reading it raises, with the word used here, unless the user set an attribute.

    It has no `__set__`, so that an attribute of a node comes first. (`__getattr__` would make all attributes slower.)
    """

    def __init__(self, name: str):
        self.name = name

    def __get__(self, node: Any, kind: type) -> Any:
        names = NAMES if node is None or not getattr(node, "_is_number", False) else OF_A_NUMBER
        raise unknown(f"a {kind.__name__}", self.name, names)


for _name, _maker in ops.MAKERS.items():
    getattr(Elementwise, _name).__doc__ = _maker.__doc__
for _name in NAMES:
    setattr(Elementwise, _name, _Foreign(_name))


def elementwise(
    unary: Callable[[Row], Callable],
    binary: Callable[[Row], Callable],
    arithmetic: Callable[[Row], tuple[Callable[..., Any], Callable[..., Any]]],
    comparison: Callable[[Callable], Callable],
) -> Callable[[Class], Class]:
    """Class decorator: add a method for each public row, operator and comparison, unless the class has it.

    `unary` and `binary` make the method of a row, `arithmetic` those of an operator, `__op__` and `__rop__`, and
    `comparison` that of a function of the module `operator`. All get their name and docstring here.
    """

    def decorate(cls: Class) -> Class:
        for name, row in ops.PUBLIC.items():
            method = (unary if row.to_b is None else binary)(row)
            _enter(cls, name, method, f"{row.doc}." if row.to_b is None else f"{row.doc}.{BINARY}")
        for name, row in OPERATORS.items():
            for prefix, method in zip(("", "r"), arithmetic(row), strict=True):
                _enter(cls, f"__{prefix}{name}__", method, None)
        for name, row in SIGNS.items():
            _enter(cls, f"__{name}__", unary(row), None)
        for compare in (operator.lt, operator.le, operator.gt, operator.ge):
            _enter(cls, f"__{compare.__name__}__", comparison(compare), None)
        return cls

    return decorate


def _enter(cls: type, name: str, method: Callable, doc: str | None) -> None:
    method = vars(cls).get(name, method)
    method.__name__, method.__qualname__, method.__module__ = name, f"{cls.__name__}.{name}", cls.__module__
    method.__doc__ = doc
    setattr(cls, name, method)


def _compare(compare: Callable[[float, Any], bool]) -> Callable[[Value, Any], Any]:
    """The method of a comparison: it compares the numbers and returns a bool."""

    def method(self: Value, other: Any) -> Any:
        if modes_on and (seen := traced(self)) is not self:  # `compile` traces
            return compare(seen, other)
        y = other._data if isinstance(other, Value) else number(other)
        return NotImplemented if y is None else compare(self._data, y)

    return method


def _method_of_two(row: Row) -> Callable[[Value, Any], Any]:
    """The method of a row of two operands: an operator, which raises what it does not take."""
    operator, _ = operator_of(row)

    def method(self: Value, other: Any) -> Any:
        out = operator(self, other)
        return row(self, other) if out is NotImplemented else out

    return method


attach(Value)(Elementwise)
elementwise(method_of, _method_of_two, operator_of, _compare)(Value)
