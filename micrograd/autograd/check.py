"""`gradcheck`: compare analytic derivatives with numerical ones, computed from function values alone.

The slope at x is approximately (f(x + h) - f(x - h)) / 2h. Its truncation error shrinks as h**2, its rounding error
grows as 1/h. So h is halved repeatedly, and the term in h**2 of two successive slopes is extrapolated away (Richardson,
1911). Of the extrapolated slopes, the one that differs least from its predecessor is returned, and the difference is
the estimate of its error.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..common.trees import leaves, refilled, tree_map
from ..engine.modes import no_grad
from ..scalars.kinds import plain
from ..tensor.optional import Tensor, library, np
from .transforms import gradient, is_point, vjp

__all__ = ["gradcheck"]


def gradcheck(
    f: Callable, *inputs: Any, order: int = 2, step: float = 0.02, rtol: float = 1e-6, atol: float | None = None
) -> bool:
    """Check the derivatives of f at the given inputs against finite differences.

    Use it for each op or layer whose backward pass you wrote yourself.

    Args:
        f: function of Values, Tensors or lists of them, returning one or several of these, in float64.
        *inputs: the point to check at, as floats, arrays, Values, Tensors, or lists of them, as for `gradient`, which
            are copied. Integers and strings are passed on as they are.
        order: highest order of derivative to check. Each order is compared with finite differences of the order below.
        step: the first and largest h, scaled by |x| where |x| > 1. f must have no kink within this distance.
        rtol: tolerance relative to the expected derivative.
        atol: absolute tolerance, which is added. By default it is the estimated error of the finite differences.

    Returns:
        True, if every derivative is right.

    Raises:
        AssertionError: a derivative is wrong. The message gives its index, its value and the expected value, and the
            factor between them if it is the same for all wrong derivatives.
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
      factor:    1.0005
    """
    if order < 1:
        raise ValueError(f"order must be at least 1, found {order}")
    inputs, function = tree_map(_plain, inputs), _weighted(f)
    with np.errstate(all="ignore"), no_grad():
        for n in range(1, order + 1):
            derivative = gradient(function)
            analytic = (x for array in leaves(derivative(*inputs)) if array is not None for x in _numbers(array))
            wrong = []
            for (place, expected, unsure), x in zip(_slopes(function, inputs, step), analytic, strict=True):
                if not abs(x - expected) <= (unsure if atol is None else atol) + rtol * abs(expected):
                    wrong.append((place, x, expected))
            if wrong:
                place, x, expected = wrong[0]
                message = f"derivative of order {n} is wrong\n  arguments: {inputs}\n  index:     {place}\n"
                raise AssertionError(f"{message}  found:     {x:.10g}\n  expected:  {expected:.10g}{_factor(wrong)}")
            function = _weighted(derivative)
    return True


def _factor(wrong: list[tuple[str, float, float]]) -> str:
    """A line with the factor by which all of these derivatives are wrong; "" if their factors differ."""
    factors = [x / expected if expected else math.nan for _, x, expected in wrong]
    return f"\n  factor:    {factors[0]:.5g}" if max(factors) - min(factors) <= 1e-4 * abs(factors[0]) else ""


def _plain(x: Any) -> Any:
    """An input as a float or a copied array. An input that cannot be differentiated is returned unchanged."""
    if not is_point(x):
        return x
    data = plain(x)
    _check_digits(data, "an input")
    return np.array(data) if isinstance(data, np.ndarray) else float(data)


def _check_digits(x: Any, role: str) -> None:
    """Raise unless x has the digits of float64."""
    if (dtype := getattr(x, "dtype", "float64")) != "float64":
        raise TypeError(f"gradcheck needs float64, found {role} of dtype {dtype}: it needs more digits")


def _numbers(x: Any) -> list[float]:
    """The elements of an array, or the number itself."""
    return x.ravel().tolist() if isinstance(x, np.ndarray) else [x]


def _weighted(f: Callable) -> Callable:
    """The weighted sum of f's outputs, as a function. A plain sum would hide errors that cancel, as in softmax."""

    def weighted_sum(*inputs: Any) -> Any:
        outputs = [y for y in leaves(f(*inputs)) if y is not None]
        rng = random.Random(0)
        is_one_number = len(outputs) == 1 and getattr(outputs[0], "size", 1) == 1
        weight = lambda: 1.0 if is_one_number else rng.uniform(1, 2) * rng.choice((-1, 1))  # noqa: E731
        total: Any = 0.0
        for y in outputs:
            _check_digits(y, "a result")
            if isinstance(y, Tensor):
                total = total + (y * np.reshape([weight() for _ in range(y.size)], y.shape)).sum()
            else:
                total = total + y * weight()
        return total

    return weighted_sum


# ---------------------------------------------------------------------------------------------------------------------
# Slopes from values alone


def _slopes(function: Callable, inputs: tuple, step: float) -> Iterator[tuple[str, float, float]]:
    """For each number in the inputs: its index as text, the numerical derivative, and the estimated error of that."""
    for i, (place, x) in enumerate(_places(inputs)):
        if is_point(x):
            for index in np.ndindex(x.shape) if isinstance(x, np.ndarray) else [()]:
                value = partial(_value, function, inputs, i, index)
                yield f"{place}{[*index] or ''}", *_slope(value, float(x[index] if index else x), step)


def _places(tree: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Pairs (index, leaf) of the leaves of the tree; the index is a text."""
    if isinstance(tree, (list, tuple, dict)):
        for key, x in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from _places(x, f"{place}[{key!r}]" if place else f"argument {key}")
    else:
        yield place, tree


def _value(function: Callable, inputs: tuple, i: int, index: tuple[int, ...], t: float) -> float:
    """The function's value with one element of leaf i of the inputs replaced by t."""
    numbers: list[Any] = list(leaves(inputs))
    numbers[i] = library.setitem(numbers[i], index, t) if isinstance(numbers[i], np.ndarray) else t
    return float(vjp(function, *refilled(inputs, numbers))[0])


def _slope(value: Callable[[float], float], x: float, step: float) -> tuple[float, float]:
    """The derivative of a function of one number, and the estimated error of that."""
    h = step * max(1.0, abs(x))
    slope = extrapolated = best = math.nan
    error = unsure = math.inf
    for _ in range(12):
        coarser, before = slope, extrapolated
        above, below = value(x + h), value(x - h)
        slope = (above - below) / ((x + h) - (x - h))
        extrapolated = slope + (slope - coarser) / 3
        rounding = 1e-15 * max(abs(above), abs(below)) / h
        moved = abs(extrapolated - before)
        if moved + rounding < error:
            best = extrapolated
            error = moved + rounding
            unsure = min(1e-7, 100 * moved) + 30 * rounding
        if error <= 1e-9 * abs(best) + 2 * rounding:
            break
        h /= 2
    return best, unsure + 1e-12  # since the analytic derivative was rounded too
