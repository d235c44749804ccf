"""Strict mode: warnings for mistakes of a training loop that are silent otherwise.

It is an interceptor of ops, as `lazy` is, which optimizers and losses call too. So it costs nothing while it is off.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from math import exp, isclose
from typing import Any

from ..common.trees import leaves
from ..engine import walk
from ..engine.modes import Intercepting, Interceptor
from ..engine.rows import Row
from ..scalars.kinds import frame_of_the_user, node_of, plain

_REGISTRY = "__warningregistry__"  # the attribute of a module in which Python notes the warnings that it has shown


class strict(Intercepting):
    """Context manager or decorator that warns of the silent mistakes of a training loop, once for each line.

    Use it around the first steps of a new training loop, or when a network does not learn. It warns of

    - `step()` of an optimizer before any `backward()`, or with gradients that were not cleared since the last step.
      (Several backward passes before one step are no mistake.)
    - `cross_entropy` of probabilities, such as those of `softmax`, instead of scores.
    - an op on a parameter's result of shape (n, 1) and a constant of shape (n,), which gives all n * n pairs.

    Args:
        fn: the function to decorate, or nothing in a `with`.

    >>> import warnings
    >>> from micrograd import Value, strict
    >>> from micrograd.optim import SGD
    >>> w = Value(3.0)
    >>> optimizer = SGD([w], lr=0.1)
    >>> with strict(), warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     for _ in range(3):
    ...         (w * w).backward()
    ...         optimizer.step()
    >>> [str(warning.message) for warning in caught]
    ['step(): gradients were not cleared since the last step: call zero_grad() before backward()']
    """

    @property
    def value(self) -> Watch:  # type: ignore[override]
        """The interceptor that checks each op."""
        return vars(self).setdefault("_watch", Watch())  # the same for all threads, also if two of them come first

    def __enter__(self) -> None:
        super().__enter__()
        _watching.append(self.value)

    def __exit__(self, *error: object) -> None:
        _watching.remove(self.value)
        super().__exit__(*error)


class _Watching(list[Any]):
    """A watcher of the walk: the `Watch` of each `strict` that is on. The walk skips a watcher that is empty."""

    def __call__(self, node: Any, g: Any) -> Any:
        for watch in {*self}:
            watch.add(node, g)
        return g


_watching = _Watching()
walk.watchers.append(_watching)  # after the hooks, which may replace a gradient


class Watch(Interceptor):
    """The interceptor of strict mode, with the gradients that the last step used, and the warnings that were given."""

    def __init__(self) -> None:
        # By node: its gradient, as long as the gradient of the last step is a term of it
        self.used: dict[Any, Any] = {}
        self.warned: set[tuple[str, str, int]] = set()

    def warn(self, text: str) -> None:
        """Warn of the user's line, once."""
        frame = frame_of_the_user()
        name, line = frame.f_code.co_filename, frame.f_lineno
        if (text, name, line) not in self.warned:
            self.warned.add((text, name, line))
            warnings.warn_explicit(text, UserWarning, name, line, registry=frame.f_globals.setdefault(_REGISTRY, {}))

    def __call__(self, row: Row, operands: Sequence[Any]) -> Any:
        """Run an op, and check how its operands were broadcast."""
        out = super().__call__(row, operands)
        match sorted([getattr(x, "shape", ()) for x in operands], key=len):
            case [(n,) as vector, (rows, 1) as column] if rows == n > 1 and out.shape == (n, n):
                # A parameter's result requires a gradient, and a constant does not.
                if len({getattr(x, "requires_grad", False) for x in operands}) == 2:
                    self.warn(f"'{row.name}' of shapes {column} and {vector} gives all pairs: reshape one")
        return out

    def scores(self, loss: str, scores: Any) -> None:
        """Check that a loss gets scores, and not the result of softmax or sigmoid."""
        rows = _rows(scores)
        ops = {getattr(x, "_op", "") for x in leaves(scores)}
        if ops == {"sigmoid"}:
            self.warn(f"{loss} takes scores, not probabilities: leave out the sigmoid")
        elif loss != "cross_entropy" or min(map(len, rows)) < 2:
            return
        elif all(min(row) >= 0 and isclose(sum(row), 1, rel_tol=1e-3) for row in rows):
            self.warn("the scores of each row sum to 1: cross_entropy takes scores, not probabilities (no softmax)")
        elif all(max(row) <= 0 and isclose(sum(map(exp, row)), 1, rel_tol=1e-3) for row in rows):
            self.warn("cross_entropy takes scores, not logarithms of probabilities: leave out log_softmax, or use nll")

    # ---- optimizers

    def step(self, optimizer: Any) -> None:
        """Check the gradients that an optimizer is about to use."""
        if all(p.grad is None or p.grad.__class__ is int for p in optimizer.params):
            self.warn("step() before backward(): no parameter of this optimizer has a gradient")
        elif any(_same(p.grad, self.used.get(node_of(p))) for p in optimizer.params):
            self.warn("step(): gradients were not cleared since the last step: call zero_grad() before backward()")
        self.used |= {node_of(p): copy(plain(p.grad)) for p in optimizer.params}

    def add(self, node: Any, g: Any) -> None:
        """Note whether a pass, which is about to add g to the node's gradient, adds it to a gradient that was used."""
        if node in self.used:
            self.used[node] = plain(node._gradient) + plain(g) if _same(node._gradient, self.used[node]) else None

    def scaled(self, params: Sequence[Any], factor: float) -> None:
        """Note that `clip_grad_norm` has scaled gradients."""
        self.used |= {n: self.used[n] * factor for n in map(node_of, params) if self.used.get(n) is not None}


def _same(grad: Any, used: Any) -> bool:
    """True if the gradient equals the gradient that was used, and is not 0."""
    some = lambda x: x.any() if hasattr(x, "any") else x  # noqa: E731
    return grad is not None and used is not None and not some(plain(grad) != used) and bool(some(used))


def _rows(scores: Any) -> list[list[float]]:
    """The scores as rows of plain numbers; of a Tensor, the first 64 rows."""
    if hasattr(scores, "shape"):
        return plain(scores).reshape(-1, scores.shape[-1])[:64].tolist()
    rows = scores if hasattr(scores[0], "__len__") else [scores]
    return [[float(plain(x)) for x in row] for row in rows]
