"""`detect_anomaly`: a watcher that looks for the first nan of a pass, and at each node the line that made it."""

from __future__ import annotations

from typing import Any

from ..engine import walk
from ..engine.modes import Intercepting, Interceptor, interceptors
from ..engine.node import Node
from .kinds import attach, is_tracing, line_of_the_user, node_of, plain

_seen: dict[Any, list[tuple[Any, Any]]] = {}  # for each pass under way: its nodes and their gradients so far


@attach(Node)
class _Node:
    _made_at = "a line that ran outside of detect_anomaly"


class _Noting(Interceptor):
    """Notes the line of the user's code that makes each node."""

    def __call__(self, row: Any, operands: Any) -> Any:
        out = super().__call__(row, operands)
        self.recorded(node_of(out))
        return out

    def recorded(self, node: Any) -> None:
        node._made_at = line_of_the_user()


def is_anomaly_enabled() -> bool:
    """True inside `detect_anomaly`, but not in a trace, which has no numbers to check."""
    return not is_tracing() and any(isinstance(mode, _Noting) for mode in interceptors())


class detect_anomaly(Intercepting):
    """Context manager or decorator in which a backward pass that makes a NaN raises, with the line of the forward pass.

    Use it for debugging, when a loss has become nan. Run forward and backward inside it. It is slow.

    Args:
        fn: the function to decorate, or nothing in a `with`.

    Raises:
        RuntimeError: in the backward pass, when a rule returns a NaN.

    >>> from micrograd import Value, detect_anomaly
    >>> x = Value(0.0)
    >>> with detect_anomaly():
    ...     (x * x.log()).backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    RuntimeError: the backward of 'log' produced a nan for its operand Value(data=0.0, grad=0)...
    """

    value: Any = _Noting()

    def __enter__(self) -> None:
        walk.watchers.append(_refuse_nan)
        super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        walk.watchers.remove(_refuse_nan)
        _seen.clear()


def _refuse_nan(node: Any, g: Any) -> Any:
    """A watcher of the walk: raise if an op sent a nan to this node."""
    if not is_anomaly_enabled():
        return g
    for mark in [mark for mark in _seen if mark not in walk.running]:
        del _seen[mark]
    seen = _seen.setdefault(walk.running[-1], [])
    for by, its in seen if _is_nan(g) else ():
        if any(n is node and _is_nan(part) for n, part in by._row.send(by, its, hasattr(its, "_apply"))):
            _seen.clear()
            raise RuntimeError(
                f"the backward of '{by._op}' produced a nan for its operand {node!r}; it was created at {by._made_at}"
            )
    seen.append((node, g))
    return g


def _is_nan(part: Any) -> bool:
    data = plain(part)
    unequal = data != data
    return unequal if isinstance(unequal, bool) else unequal.any()
