"""Written by docs/stubs.py: Node with all that is added to it."""

from collections.abc import Callable
from typing import Any

from ..scalars.grad_fn import GradFn
from ..scalars.hooks import RemovableHandle

SLOTS: tuple[str, ...]
OPERATORS: tuple[str, ...]
NOTHING: Node
MANY: Node

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
    _prev: Any
    _backward: Any
    _apply: Callable[..., Any]
    _constant: Callable[..., Any]
    _seed: Callable[..., Any]
    _rule_arguments: Callable[..., Any]
    _cast_gradient: Callable[..., Any]
    _plus: Callable[..., Any]
    label: Any
    _is_number: Any
    _retains_grad: Any
    _own_backward: Any
    @property
    def is_leaf(self) -> Any: ...
    @property
    def _op(self) -> Any: ...
    @property
    def requires_grad(self) -> bool: ...
    @requires_grad.setter
    def requires_grad(self, x: Any) -> None: ...
    @property
    def _operands(self) -> tuple[Any, ...]: ...
    def _record(self, row: Any, operands: Any, values: Any, /) -> None:
        """Give this node a history: a row, the operands, and the values that the rules will be called with."""
    def _as_now(self) -> Any:
        """A copy of this node, unaffected by later changes to it."""
    _made_at: Any
    _hooks: Any
    def _for_hook(self, g: Any) -> Any:
        """The gradient as it is passed to a hook."""
    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(gradient)` in every pass, once this node's gradient is complete and before it is accumulated."""
    _made_by: Any
    @property
    def grad_fn(self) -> GradFn | None: ...
    def realize(self) -> Any:
        """Compute a node that `lazy` deferred."""
    def _drop_saved(self) -> None:
        """Drop what the node saved for its rules."""
    def _numpy_warnings_off(self) -> Any:
        """A context manager around a pass from roots of this kind."""
    def _unshared(self, g: Any, _taken: set[int], /) -> Any:
        """A gradient that nothing else refers to."""

def refuse_redefined(x: Any, base: type) -> Any:
    """x itself. Raises if its class redefines an operator of the base class, since a rule means the engine's."""

def fill_slots(out: Any, data: Any, row: Any = None, a: Any = ..., b: Any = ..., x: Any = None, y: Any = None) -> Any:
    """Set every slot of a new node."""
