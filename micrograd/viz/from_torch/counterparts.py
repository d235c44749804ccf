"""For PyTorch's functions by name: the same function of our Tensors, with PyTorch's arguments.

A function that is missing here becomes a card of PyTorch's own. So does a call that raises an error here, or whose
result differs from PyTorch's, since `record` compares the two results. A function here may therefore leave out options
that few programs use.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from ... import functional
from ...common.words import KEYWORDS, SYNONYMS
from ...common.words import NAMES as WORDS
from ...scalars import ops
from ...tensor import arrays
from ...tensor.functions import FUNCTIONS, where
from ...tensor.node import record


def array(t: Any) -> np.ndarray:
    """The numbers of a PyTorch tensor as a new array: floats as float64, complex numbers as pairs along a last axis."""
    t = t.detach().to_dense()
    numbers = (t.double() if t.is_floating_point() else t).numpy(force=True)
    return np.stack([numbers.real, numbers.imag], -1) if t.is_complex() else np.array(numbers)


# ---------------------------------------------------------------------------------------------------------------------
# Functions that need PyTorch's result, for its shape, or for the elements that PyTorch chose


def _shaped(out: Any, a: Any, *_: Any, **__: Any) -> Any:
    return a.reshape(out.shape) if a.size == out.numel() else a.broadcast_to(out.shape)


def _cut(out: Any, a: Any, _sizes: Any, dim: int = 0) -> Any:
    ends = accumulate(piece.shape[dim] for piece in out[:-1])
    return FUNCTIONS["split"](a, [*ends], dim)


def _picked(out: Any, a: Any, *rest: Any, dim: int = -1, **_: Any) -> Any:
    """sort; max and min along an axis, and max of all elements."""
    if not isinstance(out, tuple):
        return a.max(*rest)
    dim, indices = rest[0] if rest else dim, array(out[1])
    indices = indices if indices.ndim == a.ndim else np.expand_dims(indices, dim)
    return FUNCTIONS["take_along_axis"](a, indices, dim).reshape(out[0].shape)


def _masked(out: Any, a: Any, **_: Any) -> Any:
    """Dropout: the product with a mask. PyTorch's autograd node returns the mask, which is the derivative."""
    mask = out.grad_fn(out.new_ones(out.shape))
    return a * array(mask[0] if isinstance(mask, tuple) else mask)


OF_THE_RESULT: dict[str, Any] = {
    "view reshape view_as reshape_as flatten unflatten squeeze unsqueeze expand expand_as broadcast_to": _shaped,
    "split chunk": _cut,
    "sort max min": _picked,
    "dropout": _masked,
}


# ---------------------------------------------------------------------------------------------------------------------
# Layers


def _normalised(a: Any, axes: Any, eps: float, weight: Any, bias: Any, mean: Any = None, var: Any = None) -> Any:
    centred = a - (a.mean(axes, keepdims=True) if mean is None else mean)
    var = (centred * centred).mean(axes, keepdims=True) if var is None else var
    a = centred / (var + eps).sqrt()
    a = a if weight is None else a * weight
    return a if bias is None else a + bias


def _batch_norm(
    a: Any, mean: Any, var: Any, training: bool, eps: float, weight: Any = None, bias: Any = None, **_: Any
) -> Any:
    known = () if training else (mean, var)
    a = a.swapaxes(1, -1)
    return _normalised(a, [*range(a.ndim - 1)], eps, weight, bias, *known).swapaxes(1, -1)


def _attention(
    q: Any, k: Any, v: Any, attn_mask: Any = None, dropout_p: float = 0, is_causal: Any = 0, scale: Any = None
) -> Any:
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    mask = np.tri(*scores.shape[-2:], dtype=bool) if is_causal else attn_mask
    if mask is not None:
        scores = where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return scores.softmax(-1) @ v


NAMED: dict[str, Any] = {
    "to type float double half bfloat16 cpu cuda clone contiguous": lambda a, *_, **__: ops.copied(a),
    "rsub": lambda a, b: b - a,
    "div divide true_divide": operator.truediv,
    "mm bmm mv": operator.matmul,
    "transpose": FUNCTIONS["swapaxes"],
    "T t mT": lambda a: a.swapaxes(-1, -2),
    "setitem": lambda a, index, b: record(arrays.setitem(arrays.plain_index(index)), a, b),
    "masked_fill": lambda a, mask, value: where(mask, value, a),
    "silu": lambda a, inplace=False: a * a.sigmoid(),
    "gelu": lambda a, approximate="none": a.gelu() if approximate == "tanh" else None,  # ours is near the exact one
    "rsqrt": lambda a: a**-0.5,
    "layer_norm": lambda a, shape, eps, weight=None, bias=None: _normalised(
        a, [*range(-len(shape), 0)], eps, weight, bias
    ),
    "batch_norm": _batch_norm,
    "embedding": lambda indices, weight, norm_type, scale_grad_by_freq, sparse: (
        None if scale_grad_by_freq else weight[indices]
    ),
    "scaled_dot_product_attention": _attention,
}
for _table in (OF_THE_RESULT, NAMED):
    _table |= {name: ours for names, ours in _table.items() for name in names.split()}
OUR_KEYWORDS = SYNONYMS | KEYWORDS


def counterpart(name: str) -> Callable[..., Any] | None:
    """Our counterpart of PyTorch's function of this name, called with PyTorch's result and our operands; else None.

    For a name that is not above, it is Python's operator of this name, or our function of this name or of NumPy's name
    for it. Our function is called without the options that it lacks.
    """
    if name in OF_THE_RESULT:
        return OF_THE_RESULT[name]
    exact = NAMED.get(name) or getattr(operator, name, None)
    ours = exact or getattr(functional, name, None) or FUNCTIONS.get(name) or FUNCTIONS.get(WORDS.get(name, ""))
    if ours is None:
        return None
    takes = inspect.signature(ours).parameters

    def call(_out: Any, *args: Any, **named: Any) -> Any:
        options = {"ddof": 1} | {OUR_KEYWORDS.get(key, key): x for key, x in named.items()}  # `var` is of a sample
        return ours(*args, **{key: x for key, x in (named if exact else options).items() if exact or key in takes})

    return call
