"""For PyTorch's functions by name: the same function of our Tensors, with PyTorch's arguments.

What is missing here becomes a card of PyTorch's own. So does a call whose result differs from ours, since `record`
compares the two. A function here may therefore leave out options that few programs use.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from ... import functional
from ...common.words import KEYWORDS
from ...common.words import NAMES as WORDS
from ...engine.rows import Row
from ...scalars import ops
from ...tensor import arrays
from ...tensor.functions import FUNCTIONS, where
from ...tensor.node import record

Table = dict[str, Callable[..., Any]]


def array(t: Any) -> np.ndarray:
    """The numbers of a PyTorch tensor as a new array, floats in float64."""
    t = t.detach().cpu()
    return np.array((t.double() if t.is_floating_point() else t).numpy())


# ---------------------------------------------------------------------------------------------------------------------
# Functions that see PyTorch's result, which says the shape, or what was chosen


def _cut(out: Any, a: Any, _sizes: Any, dim: int = 0) -> Any:
    ends = accumulate(part.shape[dim] for part in out[:-1])
    return FUNCTIONS["split"](a, [*ends], dim)


def _picked(out: Any, a: Any, dim: int = -1, *_: Any, **__: Any) -> Any:
    """max, sort and the like along an axis."""
    places = array(out[1])
    places = places if places.ndim == a.ndim else np.expand_dims(places, dim)
    return FUNCTIONS["take_along_axis"](a, places, dim).reshape(out[0].shape)


def _extreme(out: Any, a: Any, *rest: Any, **named: Any) -> Any:
    """max: along an axis, of two tensors, or of all elements; min is left to PyTorch where it has no axis."""
    if isinstance(out, tuple):
        return _picked(out, a, *rest, **named)
    return FUNCTIONS["maximum"](a, *rest) if rest else a.max()


def _masked(out: Any, a: Any, *_: Any, **__: Any) -> Any:
    """Dropout: the product with a mask, which is its derivative. PyTorch's node is asked for it."""
    mask = out.grad_fn(out.new_ones(out.shape))
    return a * array(mask[0] if isinstance(mask, tuple) else mask)


OF_THE_RESULT: Table = {
    "view reshape view_as reshape_as flatten unflatten squeeze unsqueeze": lambda out, a, *_, **__: a.reshape(
        out.shape
    ),
    "expand expand_as broadcast_to": lambda out, a, *_, **__: a.broadcast_to(out.shape),
    "split chunk": _cut,
    "sort": _picked,
    "max min": _extreme,
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


def _layer_norm(a: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    return _normalised(a, [*range(-len(shape), 0)], eps, weight, bias)


def _batch_norm(
    a: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, training: Any = 0, eps: float = 1e-5, **_: Any
) -> Any:
    channels = (1, -1, *[1] * (a.ndim - 2))
    parts = [x if x is None else x.reshape(channels) for x in (weight, bias, mean, var)]
    return _normalised(a, [0, *range(2, a.ndim)], eps, *parts[: 2 if training else 4])


def _attention(
    q: Any, k: Any, v: Any, attn_mask: Any = None, dropout_p: float = 0, is_causal: Any = 0, scale: Any = None
) -> Any:
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    mask = np.tri(*scores.shape[-2:], dtype=bool) if is_causal else attn_mask
    if mask is not None:
        scores = where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return scores.softmax(-1) @ v


def _embedding(places: Any, weight: Any, norm_type: Any = 2, scale_grad_by_freq: Any = 0, sparse: Any = 0) -> Any:
    return None if scale_grad_by_freq else weight[places]


erf: Row = Row(
    "erf",
    lambda a: np.vectorize(math.erf, otypes=[float])(a),
    lambda g, _out, a: g * (2 / math.sqrt(math.pi)) * ops.exp(-a * a),
)


def _gelu(a: Any, approximate: str = "none") -> Any:
    return a.gelu() if approximate == "tanh" else a * (1 + erf(a * math.sqrt(0.5))) * 0.5


NAMED: Table = {
    "to type float double half bfloat16 cpu cuda clone contiguous": lambda a, *_, **__: a,
    "add": operator.add,
    "sub subtract": operator.sub,
    "rsub": lambda a, b: b - a,
    "mul multiply": operator.mul,
    "div divide true_divide": operator.truediv,
    "rdiv": lambda a, b: b / a,
    "pow": operator.pow,
    "rpow": lambda a, b: b**a,
    "neg negative": operator.neg,
    "matmul mm bmm mv": operator.matmul,
    "addmm addmv baddbmm": lambda a, b, c: a + b @ c,
    "transpose": lambda a, i, j: a.swapaxes(i, j),
    "T t": lambda a: a.T,
    "mT": lambda a: a.swapaxes(-1, -2),
    "getitem": operator.getitem,
    "setitem": lambda a, index, b: record(arrays.setitem(arrays.plain_index(index)), a, b),
    "masked_fill": lambda a, mask, value: where(mask, value, a),
    "clamp clip": lambda a, min=None, max=None: a.clip(min, max),
    "var": lambda a, dim=None, unbiased=True, keepdim=False, correction=1: a.var(dim, keepdim, unbiased and correction),
    "std": lambda *a, **options: NAMED["var"](*a, **options).sqrt(),
    "silu": lambda a, **_: a * a.sigmoid(),
    "gelu": _gelu,
    "rsqrt": lambda a: a**-0.5,
    "layer_norm": _layer_norm,
    "batch_norm": _batch_norm,
    "embedding": _embedding,
    "scaled_dot_product_attention": _attention,
}
for _table in (OF_THE_RESULT, NAMED):
    _table |= {name: ours for names, ours in _table.items() for name in names.split()}


def counterpart(name: str) -> Callable[..., Any] | None:
    """Our function for PyTorch's of this name, called with PyTorch's result and our operands; None if there is none.

    A function without an entry above is ours of the same name, or of NumPy's. It is called without the options that it
    lacks.
    """
    if name in OF_THE_RESULT:
        return OF_THE_RESULT[name]
    if name in NAMED:
        return lambda _out, *args, **named: NAMED[name](*args, **named)
    ours = getattr(functional, name, None) or FUNCTIONS.get(name) or FUNCTIONS.get(WORDS.get(name, ""))
    if ours is None:
        return None
    takes = inspect.signature(ours).parameters

    def call(_out: Any, *args: Any, **named: Any) -> Any:
        options = {KEYWORDS.get(key, key): x for key, x in named.items()}
        return ours(*args, **{key: x for key, x in options.items() if key in takes})

    return call
