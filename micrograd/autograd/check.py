"""`gradcheck`: is a derivative what the function says it is? Asked of the function's own values, as numbers.

The slope at x is nearly (f(x + h) - f(x - h)) / 2h. The error of this falls with h**2, that of rounding grows with 1/h;
so it is taken for ever smaller h, the known powers of h are extrapolated away (Richardson, 1911), and the entry whose
neighbours agree best is the answer (Ridders, 1982).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from ..engine.modes import no_grad
from ..engine.value import Value
from ..tensor.tensor import Tensor
from .transforms import Call, gradient, is_point, leaves, tree_map

__all__ = ["gradcheck"]


def gradcheck(
    f: Callable, *inputs: Any, order: int = 2, step: float = 0.02, rtol: float = 1e-6, atol: float = 1e-7
) -> bool:
    """True if the derivatives of f at the inputs, up to the order, are right; else an AssertionError that says more.

    Args:
        f: a function of Values, Tensors, or lists of them, that gives one or several of these, in float64.
        inputs: where to check: floats, arrays, Values, Tensors, or lists of them; see `gradient`. They are copied.
        order: how often to differentiate. Each order is checked against the one below.
        step: the first and widest h, times |x| where that is above 1; no kink of f may lie that near.
        rtol, atol: by how much a derivative may be off, relative to the expected one and absolutely.

    A result of several elements is checked through one weighted sum of them (weights between 1 and 2, with signs).

    >>> gradcheck(lambda x, y: (x * y).tanh(), 0.3, 0.7)
    True
    >>> from micrograd.autograd.function import Function
    >>> class Double(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2.001
    >>> gradcheck(Double.apply, 3.0)
    Traceback (most recent call last):
    AssertionError: derivative of order 1 is wrong
      arguments: (3.0,)
      index:     argument 0
      found:     2.001
      expected:  2
    """
    if order < 1:
        raise ValueError(f"order counts derivatives, from 1; found {order}")
    inputs, function = tree_map(_plain, inputs), _weighted(f)
    with np.errstate(all="ignore"), no_grad():
        for n in range(1, order + 1):
            slope = gradient(function)
            found = (x for gradients in leaves(slope(*inputs)) if gradients is not None for x in np.ravel(gradients))
            for (place, expected), x in zip(_slopes(function, inputs, step), found, strict=True):
                if not abs(x - expected) <= atol + rtol * abs(expected):
                    raise AssertionError(
                        f"derivative of order {n} is wrong\n  arguments: {inputs}\n  index:     {place}\n"
                        f"  found:     {x:.10g}\n  expected:  {expected:.10g}"
                    )
            function = _weighted(slope)
    return True


def _plain(x: Any) -> Any:
    """An input as a number or an array of its own; what is not differentiated stays."""
    if not is_point(x):
        return x
    data = x.data if isinstance(x, (Value, Tensor)) else x
    if (dtype := np.asarray(data).dtype) != np.float64:
        raise TypeError(f"gradcheck needs float64, found an input of dtype {dtype}: too few digits to tell")
    return np.array(data) if isinstance(data, np.ndarray) else float(data)


def _weighted(f: Callable) -> Callable:
    """A weighted sum of what f gives: plain sums would hide errors that cancel, as in a softmax, which adds up to 1."""

    def function(*inputs: Any) -> Any:
        rng = np.random.default_rng(0)
        outputs = [y for y in leaves(f(*inputs)) if y is not None]
        total: Any = 0.0
        for y in outputs:
            if isinstance(y, Tensor) and y.dtype != np.float64:
                raise TypeError(f"gradcheck needs float64, found a result of dtype {y.dtype}: too few digits to tell")
            alone = len(outputs) == 1 and getattr(y, "size", 1) == 1
            shape = y.shape if isinstance(y, Tensor) else ()
            weights = np.ones(shape) if alone else rng.uniform(1, 2, shape) * rng.choice([-1, 1], shape)
            total = total + ((y * weights).sum() if isinstance(y, Tensor) else y * float(weights))
        return total

    return function


# ---------------------------------------------------------------------------------------------------------------------
# Slopes from values alone


def _slopes(function: Callable, inputs: tuple, step: float) -> Iterator[tuple[str, float]]:
    """For each number of the inputs: where it stands, and the slope along it."""
    for i, (path, x) in enumerate(_paths(inputs)):
        if is_point(x):
            for index in np.ndindex(np.shape(x)):
                at = lambda t, i=i, index=index: _value(function, inputs, i, index, t)  # noqa: E731
                place = f"argument {path[0]}" + "".join(f"[{key!r}]" for key in path[1:])
                yield place + (str(list(index)) if index else ""), _slope(at, float(np.asarray(x)[index]), step)


def _paths(tree: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """What stands in the tree, each with the keys that lead to it."""
    if isinstance(tree, (list, tuple, dict)):
        for key, x in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from _paths(x, (*path, key))
    else:
        yield path, tree


def _value(function: Callable, inputs: tuple, place: int, index: tuple[int, ...], t: float) -> float:
    """The function's value with t in one place: that index of that leaf."""
    counter = count()

    def changed(x: Any) -> Any:
        if next(counter) != place:
            return x
        if not isinstance(x, np.ndarray):
            return t
        x = x.copy()
        x[index] = t
        return x

    call = Call(function, tree_map(changed, inputs), {})
    return float(call.answer(call.output))


def _slope(value: Callable[[float], float], x: float, step: float) -> float:
    """The derivative of a function of one number: Richardson's table, whose best entry is that which moved least."""
    h, best, error = step * max(1.0, abs(x)), np.nan, np.inf
    row: list[float] = []
    for _ in range(8):
        above, row = row, [(value(x + h) - value(x - h)) / ((x + h) - (x - h))]
        for k, coarser in enumerate(above, 1):
            row.append(row[-1] + (row[-1] - coarser) / (4**k - 1))
            moved = max(abs(row[-1] - row[-2]), abs(row[-1] - coarser))
            if moved < error:
                best, error = row[-1], moved
        if error < 1e-9 * max(1.0, abs(best)):  # the tolerances ask for less
            break
        h /= 2
    return best
