"""Written by docs/stubs.py: Node and Value with all that is attached to them."""

from collections.abc import Callable, Sequence
from typing import Any, Self

from ..scalars.grad_fn import GradFn
from ..scalars.hooks import RemovableHandle
from ..scalars.methods import Elementwise
from .rows import Row

SLOTS: tuple[str, ...]

class Node:
    _data: Any
    _gradient: Any
    _row: Any
    _a: Any
    _b: Any
    _x: Any
    _y: Any
    _sum: Any
    grad: Any
    data: Any
    _apply: Callable[..., Any]
    _constant: Callable[..., Any]
    _seed: Callable[..., Any]
    _used: Callable[..., Any]
    _plain: Callable[..., Any]
    _fit: Callable[..., Any]
    _plus: Callable[..., Any]
    label: Any
    _is_number: Any
    _retains_grad: Any
    @property
    def requires_grad(self) -> bool: ...
    @requires_grad.setter
    def requires_grad(self, x: Any) -> None: ...
    @property
    def is_leaf(self) -> Any: ...
    @property
    def _op(self) -> Any: ...
    @property
    def _operands(self) -> tuple[Any, ...]: ...
    def _record(self, row: Row, operands: Sequence[Any], values: Any, /) -> None: ...
    _made_at: Any
    @property
    def _backward(self) -> Callable[[], object]: ...
    @_backward.setter
    def _backward(self, x: Any) -> None: ...
    def _as_now(self) -> Any:
        """A copy of this node, unaffected by later changes to it."""
    _hooks: Any
    def _for_hook(self, g: Any) -> Any:
        """The gradient as it is passed to a hook."""
    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(gradient)` in every pass, once this node's gradient is complete and before it is accumulated."""
    _made_by: Any
    @property
    def _prev(self) -> tuple[Any, ...]: ...
    @property
    def grad_fn(self) -> GradFn | None: ...
    def realize(self) -> Any:
        """Compute a node that `lazy` deferred."""
    def _forget(self) -> None:
        """Drop what the node saved for its rules."""
    def _quiet(self) -> Any:
        """A context manager around a pass from roots of this kind."""
    def _own(self, g: Any, _taken: set[int], /) -> Any:
        """A gradient that nothing else refers to."""

class Value(Node, Elementwise):
    def __init__(
        self,
        data: float,
        _children: Sequence[Any] = (),
        _op: Any = "",
        label: str = "",
        *,
        requires_grad: bool = True,
        children: Sequence[Any] = (),
        local_grads: Sequence[float] = (),
    ) -> None: ...
    @property
    def data(self) -> float: ...
    @data.setter
    def data(self, x: Any) -> None: ...
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
    def _seed(self, gradient: Any, create_graph: bool) -> Any: ...
    def _used(self, create_graph: bool) -> Sequence[Any]: ...
    def _fit(self, part: Any) -> Any:
        """A gradient of this node in its form, which matters to arrays."""
    def _plus(self, total: Any, part: Any, _taken: Any = None, /) -> Any:
        """The sum of two gradients of this node. A total of None, or of the integer 0, is none yet."""
    def _ieee(self, rule: Callable[..., Any], *numbers: float) -> float:
        """The rule's result where Python's floats raise: run on constants, whose ops follow IEEE 754."""
    def __rpow__(self, other: Any) -> Any: ...
    def _plain(self, x: Any) -> Any:
        """What a rule computes on in place of x, so that its operators are the engine's: a copy, if x redefines one."""
    def detach(self) -> Any:
        """A constant with the same number and no history."""
    def item(self) -> float:
        """The number as a Python float."""
    def __bool__(self) -> bool: ...
    def __reduce_ex__(self, protocol: Any) -> Any: ...

def number(x: Any) -> float | None:
    """x as a float if it is a real number (Python's or NumPy's), else None."""

def fill_slots(out: Any, data: Any, row: Any = None, a: Any = None, b: Any = None, x: Any = (), y: Any = None) -> Any:
    """Set every slot of a new node."""

def operator_of(row: Row) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """The methods of a binary operator: `__op__` and `__rop__`."""

def method_of(row: Row) -> Callable[..., Any]:
    """The method of Value for a row of one operand."""

def checked_number(data: Any) -> float:
    """`data` as a float; TypeError if it is not a real number."""
