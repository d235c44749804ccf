"""`einsum` with gradients: the gradient of an einsum is another einsum.

    out  = einsum("ij,jk->ik", a, b)
    da   = einsum("ik,jk->ij", g, b)      g replaces the operand, whose letters become those of the result

A letter that only this operand has, and that was summed, occurs in neither g nor the others: the gradient is broadcast
along its axis. Before that, lists become Tensors, "..." becomes letters, and an operand with a repeated letter is
replaced by its diagonal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_letters
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.ops import lib
from ..engine.rows import Many
from . import arrays
from .functions import of_arrays, tensors_of
from .node import record

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["einsum"]


@of_arrays
def einsum(subscripts: Any, *operands: Any) -> Any:
    """Einstein summation over the named axes of the operands, with all of NumPy's notation.

    Args:
        subscripts: a letter for each axis, as in "ij,jk->ik". Axes with the same letter are multiplied elementwise, and
            letters missing from the result are summed. A letter repeated in one operand takes its diagonal, "..." is
            for axes that are broadcast. Without "->", the result has the letters that occur once, in alphabetical
            order.
        operands: one Tensor, array or list for each part of `subscripts`. Instead of a string, a list of ints may
            follow each operand, and one for the result: `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    Returns:
        A Tensor, or an array if no operand is a Tensor, with one axis for each letter of the result.

    Raises:
        ValueError: the subscripts do not fit the operands, or axes with the same letter differ in length.
        TypeError: there are neither subscripts nor lists of ints.

    >>> from micrograd.tensor import Tensor
    >>> m = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> einsum("ij,j->i", m, [1.0, 10.0]), einsum("ii", m)
    (Tensor([21., 43.]), Tensor(5.))
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    tensors = tensors_of(operands, "einsum")
    inputs, output = _letters(subscripts, [t.ndim for t in tensors])
    _check_lengths(subscripts, inputs, tensors)
    pairs = [_diagonal(t, letters) for t, letters in zip(tensors, inputs, strict=True)]
    row = _einsum(tuple(letters for _, letters in pairs), output)
    return record(row, *[t for t, _ in pairs])


def _from_lists(given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Subscripts and operands from the form with a list of ints after each operand."""
    lists = [*given[1::2], *given[len(given) - 1 :: 2]] if len(given) % 2 else [*given[1::2]]
    if not all(isinstance(places, Sequence) for places in lists):
        raise TypeError(
            "einsum takes a string such as 'ij,jk->ik' and the operands, or a list of ints after each operand; "
            f"found {', '.join(type(x).__name__ for x in given)}"
        )
    texts = ["".join("..." if i is ... else _LETTERS[i] for i in places) for places in lists]
    last = ["->" + texts.pop()] if len(given) % 2 else []
    return ",".join(texts) + "".join(last), given[: len(given) - len(given) % 2 : 2]


_LETTERS = sorted(ascii_letters)  # so that the letters of an implicit result are in the order of the ints


def _letters(subscripts: str, ndims: list[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with "..." replaced by unused letters."""
    given, arrow, output = subscripts.replace(" ", "").partition("->")
    inputs = given.split(",")
    if len(inputs) != len(ndims):
        raise ValueError(f"einsum {subscripts!r} names {len(inputs)} operands, found {len(ndims)}")
    free = [chr(code) for code in range(0x3B1, 0x3B1 + 64)]  # from Greek on: never valid as subscripts
    widths = [ndim - len(s.replace("...", "")) for s, ndim in zip(inputs, ndims, strict=True)]
    for s, width, ndim in zip(inputs, widths, ndims, strict=True):
        if width < 0 or (width and "..." not in s) or s.count("...") > 1:
            raise ValueError(f"einsum {subscripts!r} names {s!r} for an operand of {ndim} dimensions")
    dots = "".join(free[: max([0, *(w for s, w in zip(inputs, widths, strict=True) if "..." in s)])])
    inputs = [s.replace("...", dots[len(dots) - width :]) for s, width in zip(inputs, widths, strict=True)]
    once = [c for c, n in Counter("".join(inputs)).items() if n == 1 and c not in dots]
    output = output.replace("...", dots) if arrow else dots + "".join(sorted(once))
    if not set(dots) <= set(output):
        raise ValueError(f"einsum {subscripts!r}: the result needs '...' too; sum over named axes instead")
    for c in "".join(inputs) + output:
        if not (c in dots or (c.isascii() and c.isalpha())):
            raise ValueError(f"einsum {subscripts!r}: found {c!r} where a letter or '...' is needed")
    for c in output:
        if output.count(c) > 1 or c not in "".join(inputs):
            raise ValueError(f"einsum {subscripts!r}: the result's {c!r} must occur once in it, and in an operand")
    return inputs, output


def _check_lengths(subscripts: str, inputs: list[str], tensors: list[Tensor]) -> None:
    """Check that axes with the same letter have one length; in different operands, a length of 1 is broadcast."""
    for c in dict.fromkeys("".join(inputs)):
        each = [
            {n for n, other in zip(t.shape, s, strict=True) if other == c} for t, s in zip(tensors, inputs, strict=True)
        ]
        if any(len(found) > 1 for found in each) or len({n for found in each for n in found} - {1}) > 1:
            shapes = ", ".join(str(t.shape) for t in tensors)
            name = repr(c) if c.isascii() else "'...'"
            raise ValueError(f"einsum {subscripts!r}: the axes of {name} differ in length in shapes {shapes}")


def _diagonal(a: Tensor, letters: str) -> tuple[Tensor, str]:
    """The Tensor with distinct letters: its diagonal over the axes of a repeated one."""
    unique = "".join(dict.fromkeys(letters))
    if len(unique) == len(letters):
        return a, letters
    grid = np.ix_(*(np.arange(a.shape[letters.index(c)]) for c in unique))
    return a[tuple(grid[unique.index(c)] for c in letters)], unique


@lru_cache(maxsize=1024)
def _einsum(inputs: tuple[str, ...], output: str) -> Many:
    """The row of an einsum in which no operand repeats a letter."""
    # NumPy takes only ASCII letters, so they are numbered in order of occurrence
    names = {c: i for i, c in enumerate(dict.fromkeys("".join(inputs)))}

    letters, kept = [[names[c] for c in s] for s in inputs], [names.get(c, len(names)) for c in output]

    def forward(*xs: Any) -> Any:
        return lib(xs[0]).einsum_of(letters, kept, *xs)

    def rule(g: Any, *operands: Any) -> list[Any]:
        return [_part(g, i, operands) for i in range(len(inputs))]

    def _part(g: Any, i: int, operands: tuple[Any, ...]) -> Any:
        """The i-th operand's gradient: an einsum of g and the others, broadcast over letters that it alone summed."""
        others = [*inputs[:i], *inputs[i + 1 :]]
        kept = "".join(c for c in inputs[i] if c in output or any(c in letters for letters in others))
        part = _einsum((output, *others), kept)(g, *operands[:i], *operands[i + 1 :])
        lengths = dict(zip(kept, part.shape, strict=True))
        part = arrays.reshape(tuple(lengths.get(c, 1) for c in inputs[i]))(part)
        return arrays.broadcast_to(np.broadcast_shapes(part.shape, operands[i].shape))(part)

    return Many("einsum", forward, rule, settings={"inputs": inputs, "output": output})
