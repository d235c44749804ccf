"""From thousands of numbers to matrix products: a program of numbers becomes a program of a few arrays.

    sums_of_products    the graph of numbers in a normal form
    array_slots         in which array a number is stored, and how it is read
    levels              what is computed together

`Vectorized` runs the plan of `Levels` on Tensors, in a separate trace, and differentiates it by the arrays. The
result is a program like any other, with arrays in place of the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ...common.trees import leaves
from ...scalars.roots import grad
from ...tensor.optional import Tensor, np
from ..graph import rebuilt
from ..inputs import Block
from ..simplify import RULES
from ..symbols import Symbol
from ..trace import Trace, tracing
from ..traced_nodes import data_of
from .levels import Levels
from .sums_of_products import NormalForm

__all__ = ["Levels", "NormalForm", "Vectorized", "is_worthwhile"]

MANY = 1000  # ops on numbers; with fewer, straight-line Python is used, except in C, where an operation starts at once
WIDTH = 20  # average ops per level above which array operations are faster
SIDE_BY_SIDE = 3  # the same under `batch`, where each op is on arrays anyway


def is_worthwhile(form: NormalForm, tree: Any, samples: int | None, backend: str) -> bool:
    """True if the graph is all numbers (under `batch`, one for each sample), and large enough to gain from arrays."""
    shapes = {None} if samples is None else {None, (samples,)}
    of_numbers = all(x.op in ("input", "getitem") and x.shape in shapes for x in form.inputs)
    of_numbers = of_numbers and not any(isinstance(x, Tensor) for x in leaves(tree))
    ops, width = len(form.order), WIDTH if samples is None else SIDE_BY_SIDE
    many = ops > width * form.depth and (ops > MANY or samples is not None or backend == "c")
    if backend in ("numpy", "python"):
        return of_numbers and backend == "numpy"
    return of_numbers and many and bool(np)


class Vectorized:
    """The program of arrays: its inputs, its values, and the gradients by some of its inputs.

    Args:
        plan: what is computed together.
        blocks: the inputs, those of a name in `by` differentiable. The free ones come last, and the block of these may
            end with more than the plan reads.
        outs: the outputs of the program of numbers.
        by: names of blocks.
        seeded: True if the gradients are those of a sum of the outputs with weights, an input named "seeds".
    """

    def __init__(
        self, plan: Levels, blocks: Sequence[Block], outs: list[Any], by: Sequence[str], seeded: bool, plain: bool
    ):
        self._trace = Trace()
        with tracing(self._trace):
            inputs = {x.name: self._trace.tensor(x.name, x.like(), x.name in ("wanted", "p")) for x in blocks}
            *others, last = inputs.values()
            read = [*others, last[: len(plan.free)] if len(plan.free) < len(blocks[-1].symbols) else last]
            found = plan([x.rows(array, plan.at.samples) for x, array in zip(blocks, read, strict=True)], outs)
            seeds = [self._trace.tensor("seeds", found)] if seeded else []
            asked = found.requires_grad and not plain
            parts = grad(found, [inputs[name] for name in by], seeds or None, allow_unused=True) if asked else ()
        self.inputs: dict[str, Symbol] = {name: data_of(x) for name, x in inputs.items()}
        self.values: Symbol = data_of(found)
        self.gradients: dict[str, Symbol] = {
            name: data_of(g) for name, g in zip(by, parts, strict=False) if g is not None
        }

    def finished(self, updates: Any) -> tuple[Any, list[Any], Any]:
        """The values, the gradients and these updates, simplified; the trace ends."""
        results = self.values, [*self.gradients.values()], updates
        results = rebuilt(results, self._trace.constants(), PRODUCTS)
        self._trace.graph.let_go()
        return results


def _sum(graph: Any, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sums of a matrix's columns as a product with ones, which NumPy computes in half of the time."""
    if a.ndim != 2 or axis != 0 or keepdims or not a.size or 1 in a.shape:
        return RULES[".sum"](graph, a, axis, keepdims)
    return graph.make("matmul", (_ones(a.shape[0]), a))


@lru_cache
def _ones(n: int) -> np.ndarray:
    return np.broadcast_to(1.0, n)


PRODUCTS: dict[str, Callable[..., Any]] = RULES | {".sum": _sum}  # the rules of a vectorized program
