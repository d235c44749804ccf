"""The operations of a lowered program, and their definitions on arrays.

    name        the function of that name in NumPy, on its operands and named settings: add, where, concatenate
    .name       the method of the first operand: .sum, .reshape
    special     the functions of `SPECIAL`, such as getitem and scatter
    input       a number or array that is read (see `lowered.Read`)

A back end translates these and nothing else.

>>> evaluate(".sum", (np.ones((2, 3)),), {"axis": 0}), evaluate("scatter", (np.ones(2), slice(1, 3), (4,)))
(array([2., 2., 2.]), array([0., 1., 1., 0.]))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..tensor.optional import library, np


def getitem(a: Any, index: Any) -> Any:
    """a[index]."""
    return a[index]


def accumulate(total: Any, a: Any, index: Any) -> Any:
    """The total with a added at a basic index."""
    total = np.array(total)
    total[index] += a
    return total


def placed(a: Any, plan: tuple[Any, ...], n: int) -> Any:
    """n elements (or rows), each the sum of the elements of a with this index.

    `plan` is the index, the order that sorts it, the elements that occur in it, and where each begins in that order.
    """
    index, order, targets, starts = plan
    if a.ndim == index.ndim:
        return np.bincount(index.reshape(-1), a.reshape(-1), n)
    out = np.zeros((n, a.shape[-1]))
    out[targets] = np.add.reduceat(a.reshape(order.size, a.shape[-1])[order], starts, axis=0)
    return out


_ELEMENTWISE = """
    add subtract multiply divide power remainder floor_divide negative absolute sign
    exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh
    hypot arctan2 logaddexp maximum minimum floor ceil trunc rint clip
    less less_equal greater greater_equal equal not_equal logical_and logical_or logical_not where
"""
_ARRAYS = """
    matmul dot take take_along_axis concatenate sort argsort squeeze broadcast_to
    .reshape .transpose .astype .sum .mean .max .min .cumsum .item
"""
_OF_LIBRARY = "scatter setitem scatter_along_axis matmul_like einsum_of windows windows_back"
SPECIAL: dict[str, Callable[..., Any]] = {f.__name__: f for f in (getitem, accumulate, placed)}
SPECIAL |= {name: getattr(library, name) for name in _OF_LIBRARY.split()}
ELEMENTWISE = {name for name, x in vars(np).items() if isinstance(x, np.ufunc) and x.signature is None} | {"where"}
OPSET = {*_ELEMENTWISE.split(), *_ARRAYS.split(), *SPECIAL}


def evaluate(
    op: str,
    args: Sequence[Any],
    named: Mapping[str, Any] = {},
    own: Mapping[str, Callable[..., Any]] = SPECIAL,
    xp: Any = np,
) -> Any:
    """The operation on arrays: a function of `own`, a method, or a function of the library `xp`."""
    if op in own:
        return own[op](*args)
    if op[0] == ".":
        return getattr(args[0], op[1:])(*args[1:], **named)
    return getattr(xp, op)(*args, **named)
