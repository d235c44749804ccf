"""`gradcheck`: compare analytic derivatives with numerical ones, computed from function values alone.

The slope at x is approximately (f(x + h) - f(x - h)) / 2h. Its truncation error shrinks as h**2, its rounding error
grows as 1/h. So it is computed for a sequence of decreasing h, the known powers of h are extrapolated away (Richardson,
1911), and the entry of the table that agrees best with its neighbours is returned (Ridders, 1982).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

from ..engine.modes import no_grad
from ..engine.trees import leaves, refilled, tree_map
from ..engine.value import Value
from ..tensor.optional import Tensor, np
from .transforms import Call, gradient, is_point

__all__ = ["gradcheck"]


def gradcheck(
    f: Callable, *inputs: Any, order: int = 2, step: float = 0.02, rtol: float = 1e-6, atol: float = 1e-7
) -> bool:
    """Check the derivatives of f at the given inputs against finite differences.

    Args:
        f: function of Values, Tensors or lists of them, returning one or several of these, in float64.
        *inputs: the point to check at: floats, arrays, Values, Tensors, or lists of them, as for `gradient`. They are
            copied. Integers and strings are passed on as they are.
        order: highest order of derivative to check. Each order is checked against finite differences of the one below.
        step: the first and largest h, scaled by |x| where |x| > 1. f must have no kink within this distance.
        rtol: tolerance relative to the expected derivative.
        atol: absolute tolerance.

    Returns:
        True, if every derivative is right.

    Raises:
        AssertionError: a derivative is wrong; the message gives its index, its value and the expected value.
        TypeError: an input or a result is not float64, or no input can be differentiated.
        ValueError: `order` is less than 1.

    An output with several elements is checked through one weighted sum of them (weights between 1 and 2, random signs).

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
        raise ValueError(f"order must be at least 1, found {order}")
    inputs, function = tree_map(_plain, inputs), _weighted(f)
    with np.errstate(all="ignore"), no_grad():
        for n in range(1, order + 1):
            slope = gradient(function)
            found = (x for part in leaves(slope(*inputs)) if part is not None for x in _numbers(part))
            for (place, expected), x in zip(_slopes(function, inputs, step), found, strict=True):
                if not abs(x - expected) <= atol + rtol * abs(expected):
                    raise AssertionError(
                        f"derivative of order {n} is wrong\n  arguments: {inputs}\n  index:     {place}\n"
                        f"  found:     {x:.10g}\n  expected:  {expected:.10g}"
                    )
            function = _weighted(slope)
    return True


def _plain(x: Any) -> Any:
    """An input as a float or a copied array; inputs that are not differentiated are returned unchanged."""
    if not is_point(x):
        return x
    data = x.data if isinstance(x, (Value, Tensor)) else x
    if (dtype := getattr(data, "dtype", "float64")) != "float64":
        raise TypeError(f"gradcheck needs float64, found an input of dtype {dtype}: it needs more digits")
    return np.array(data) if isinstance(data, np.ndarray) else float(data)


def _numbers(x: Any) -> list[float]:
    """The elements of an array, or the number itself."""
    return x.ravel().tolist() if isinstance(x, np.ndarray) else [x]


def _weighted(f: Callable) -> Callable:
    """A weighted sum of f's outputs. A plain sum would hide errors that cancel, as in softmax."""

    def function(*inputs: Any) -> Any:
        rng = random.Random(0)
        outputs = [y for y in leaves(f(*inputs)) if y is not None]
        total: Any = 0.0
        for y in outputs:
            if isinstance(y, Tensor) and y.dtype != np.float64:
                raise TypeError(f"gradcheck needs float64, found a result of dtype {y.dtype}: it needs more digits")
            alone = len(outputs) == 1 and getattr(y, "size", 1) == 1
            size = y.size if isinstance(y, Tensor) else 1
            weights = [1.0 if alone else rng.uniform(1, 2) * rng.choice((-1, 1)) for _ in range(size)]
            total = total + ((y * np.reshape(weights, y.shape)).sum() if isinstance(y, Tensor) else y * weights[0])
        return total

    return function


# ---------------------------------------------------------------------------------------------------------------------
# Slopes from values alone


def _slopes(function: Callable, inputs: tuple, step: float) -> Iterator[tuple[str, float]]:
    """For each number in the inputs: its index, as text, and the numerical derivative with respect to it."""
    for i, (path, x) in enumerate(_paths(inputs)):
        if is_point(x):
            for index in np.ndindex(x.shape) if isinstance(x, np.ndarray) else [()]:
                at = lambda t, i=i, index=index: _value(function, inputs, i, index, t)  # noqa: E731
                place = f"argument {path[0]}" + "".join(f"[{key!r}]" for key in path[1:])
                yield place + (str(list(index)) if index else ""), _slope(at, float(x[index] if index else x), step)


def _paths(tree: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Each leaf of the tree, with the keys that lead to it."""
    if isinstance(tree, (list, tuple, dict)):
        for key, x in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from _paths(x, (*path, key))
    else:
        yield path, tree


def _value(function: Callable, inputs: tuple, place: int, index: tuple[int, ...], t: float) -> float:
    """The function's value with one input element replaced by t."""
    parts = list(leaves(inputs))
    if index:
        parts[place] = parts[place].copy()
        parts[place][index] = t
    else:
        parts[place] = np.array(t) if isinstance(parts[place], np.ndarray) else t
    call = Call(function, refilled(inputs, parts), {})
    return float(call.answer(call.output))


def _slope(value: Callable[[float], float], x: float, step: float) -> float:
    """The derivative of a function of one number: the entry of Ridders' table with the smallest error estimate."""
    h, best, error = step * max(1.0, abs(x)), math.nan, math.inf
    row: list[float] = []
    for _ in range(8):
        above, row = row, [(value(x + h) - value(x - h)) / ((x + h) - (x - h))]
        for k, coarser in enumerate(above, 1):
            row.append(row[-1] + (row[-1] - coarser) / (4**k - 1))
            moved = max(abs(row[-1] - row[-2]), abs(row[-1] - coarser))
            if moved < error:
                best, error = row[-1], moved
        if error < 1e-9 * max(1.0, abs(best)):  # well below the tolerances
            break
        h /= 2
    return best
