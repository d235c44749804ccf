"""Written by docs/stubs.py: Value with all that is added to it."""

from collections.abc import Callable, Sequence
from typing import Any, Self

from ..scalars.methods import Elementwise
from .node import Node as Node
from .node import fill_slots as fill_slots
from .recording import method_of as method_of
from .recording import number as number
from .recording import operator_of as operator_of
from .rows import Row

class Value(Node, Elementwise):
    def __init__(
        self,
        data: float,
        _children: Sequence[Any] = (),
        _op: Any = "",
        label: str = "",
        *,
        requires_grad: bool = True,
        **others: Any,
    ) -> None: ...
    @property
    def data(self) -> float: ...
    @data.setter
    def data(self, x: Any) -> None: ...
    @property
    def _prev(self) -> tuple[Any, ...]: ...
    @property
    def _backward(self) -> Callable[[], object]: ...
    @_backward.setter
    def _backward(self, x: Any) -> None: ...
    def backward(
        self,
        gradient: float | Value | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Value | Sequence[Value] | None = None,
    ) -> None:
        """Accumulate d(self)/d(leaf) into `.grad` of every leaf that self depends on."""
    def __pow__(self, other: Any) -> Any: ...
    def __repr__(self) -> str: ...
    def _apply(self, row: Row, operands: Sequence[Any]) -> Any:
        """Apply a row to Values and numbers; the result has the most derived class among them."""
    def _constant(self, data: Any) -> Self:
        """A constant of this kind."""
    def _seed(self, gradient: Any, create_graph: bool) -> Any:
        """A gradient of this node, checked: a number, or a node if the pass is recorded; None means 1."""
    def _rule_arguments(self, create_graph: bool) -> Sequence[Any]:
        """The values that the rules take after g: numbers or, under `create_graph`, their nodes."""
    def _cast_gradient(self, part: Any) -> Any:
        """A gradient of this node in its form, which matters to arrays."""
    def _plus(self, total: Any, part: Any, _taken: Any = None, /) -> Any:
        """The sum of two gradients of this node. A total of None, or of the integer 0, means that there is none yet."""
    def _ieee(self, rule: Callable[..., Any], *numbers: float) -> float:
        """The rule's result where Python's floats raise: run on constants, whose `/` and `**` follow IEEE 754."""
    def __rpow__(self, other: Any) -> Any: ...
    def _backward_to(self, gradient: Any, retain_graph: bool | None, create_graph: bool, inputs: Any) -> None:
        """What `backward` does with `inputs` or without `retain_graph`."""
    def detach(self) -> Any:
        """A constant with the same number and no history."""
    def item(self) -> float:
        """The number as a Python float."""
    def __bool__(self) -> bool: ...
    def __reduce_ex__(self, protocol: Any) -> Any: ...

def checked_number(data: Any) -> float:
    """`data` as a float; TypeError if it is not a real number."""
