"""From thousands of numbers to matrix products, where a program of numbers becomes a program of a few arrays.

    sums_of_products    the graph of numbers in a normal form
    array_slots         in which array a number is stored, and how it is read
    levels              which numbers are computed together

`vectorized` is a pass from a program to a program, both in the public form (`lowered`). The steps of the first program
are rows of the derivative table on numbers. The plan of `Levels` runs on Tensors in a separate trace, which is much
shorter than that of the numbers. The gradients are derived there.

>>> trace = Trace()
>>> with tracing(trace):
...     x, w = [trace.value(f"xs_{i}") for i in range(3)], trace.value("w")
...     outs = [(w * part).tanh()._data for part in x]
>>> reads = Read("w", "w"), Read("xs", "xs", (), "lists", None, (3,))
>>> program = Lowered(("w", "xs"), reads, outs)
>>> print(program)
reads
    w: number = w
    xs = xs, each number by itself
steps
    t1: number = mul(w, xs_0)
    t2: number = tanh(t1)
    t3: number = mul(w, xs_1)
    t4: number = tanh(t3)
    t5: number = mul(w, xs_2)
    t6: number = tanh(t5)
outputs
    t2
    t4
    t6
>>> arrays = vectorized(program, NormalForm(outs))
>>> print(arrays)
reads
    w = w
    xs: float64[3] = xs, flattened
    numbers: float64[1] = [w], as a vector
steps
    t1: float64[3] = multiply(numbers, xs)
    t2: float64[3] = tanh(t1)
outputs
    t2
>>> np.array(program.run(0.5, np.ones(3))) == arrays.run(0.5, np.ones(3))
array([ True,  True,  True])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ...common.trees import leaves
from ...scalars.roots import grad
from ...tensor.optional import Tensor, np
from ..lowered import Lowered, Read
from ..simplify import RULES
from ..symbols import Symbol
from ..trace import Trace, tracing
from ..traced_nodes import data_of, is_traced
from .levels import Levels
from .sums_of_products import NormalForm

__all__ = ["NormalForm", "is_worthwhile", "vectorized"]

DIFFERENTIABLE = ("wanted", "p")
MANY = 1000  # with fewer ops on numbers, straight-line Python is used, except in C, whose operations start at once
WIDTH = 20  # with more ops per level on average, array operations are faster
WIDTH_OF_SAMPLES = 3  # the same under `batch`, where each op is on arrays anyway


def is_worthwhile(form: NormalForm, tree: Any, samples: int | None, backend: str) -> bool:
    """True if the graph is all numbers (under `batch`, one for each sample), and large enough to gain from arrays."""
    shapes = {None} if samples is None else {None, (samples,)}
    nodes = [*filter(is_traced, leaves(tree))]
    if not nodes or any(isinstance(x, Tensor) for x in nodes):
        return False
    if not all(x.op in ("input", "getitem") and x.shape in shapes for x in form.inputs):
        return False
    if backend in ("numpy", "python"):
        return backend == "numpy"
    ops, width = len(form.order), WIDTH if samples is None else WIDTH_OF_SAMPLES
    many = ops > MANY or samples is not None or backend == "c"
    return many and ops > width * form.depth and bool(np)


def vectorized(program: Lowered, form: NormalForm) -> Lowered:
    """The program with a few arrays in place of its many numbers. Its values are one array.

    The inputs are arrays too. Besides the arguments that were passed as arrays, these are "numbers" and "wanted", the
    numbers among the arguments, and "fixed" and "p", the numbers among the leaves. The numbers in `by` are in "wanted"
    and "p".

    Args:
        program: a program whose steps are rows on numbers (under `batch`, on one number for each sample), and whose
            leaves in `by` come last. If its gradients are a list, the gradients with respect to the inputs in `by` are
            derived. They are those of its value or, if it has several, of their sum, weighted by an input "seeds".
        form: the normal form of its values.
    """
    samples = next((read.shape[-1] for read in program.reads if read.kind == "samples"), None)
    blocks = _blocks(program, form)
    form.merge()
    *ordered, (_, own) = blocks
    plan = Levels(form, [symbols for _, symbols in ordered], [x for x in own if x is not None], samples)
    trace = Trace(PRODUCTS)
    with tracing(trace):
        values, gradients = _traced(trace, plan, blocks, program, samples)
    trace.settle()
    arguments = [read for read in program.reads if read.parameter != "leaves" and read.kind != "lists"]
    names = {read.name: read.keys[0] for read in program.reads if read.parameter == "leaves"}
    first = len(names) - len(own)  # of the leaves in `by`
    order = dict.fromkeys([*(x.args[0] for x in plan.free), *list(names)[first:]])
    return replace(
        program,
        reads=(*arguments, *(read for read, symbols in blocks if symbols and read.kind != "samples")),
        values=values,
        gradients=None if program.gradients is None else [*gradients.values()],
        by=(*gradients,),
        leaves=(*program.leaves[:first], *(program.leaves[names[x]] for x in order)),
    )


def _blocks(program: Lowered, form: NormalForm) -> list[tuple[Read, list[Symbol | None]]]:
    """For each array, its read and its elements (under `batch`, its rows). An element that nothing needs is None.

    The last array has the leaves in `by`, even if there are none.
    """
    symbols = {}
    for x in form.inputs:
        source, index = (x, ()) if x.op == "input" else x.args
        symbols[source.args[0], index] = x
    blocks: list[tuple[Read, list[Symbol | None]]] = []
    groups: dict[str, list[str]] = {name: [] for name in ("numbers", "wanted", "fixed", "p")}
    by = {*program.by}
    for read in program.reads:
        if read.kind == "lists":
            names = ("_".join(map(str, (read.name, *index))) for index in np.ndindex(read.shape))
            blocks.append((read._replace(kind="flat"), [symbols.get((name, ())) for name in names]))
        elif read.kind == "samples":
            blocks.append((read, [symbols.get((read.name, index)) for index in np.ndindex(read.shape[:-1])]))
        elif read.name in by:
            groups["p" if read.parameter == "leaves" else "wanted"].append(read.name)
        elif (read.name, ()) in symbols:
            groups["fixed" if read.parameter == "leaves" else "numbers"].append(read.name)
    n = len(groups["fixed"]) if groups["p"] else None
    keys = {"fixed": (slice(None, n),) * bool(n), "p": (slice(n, None),) * bool(n)}
    for group, names in groups.items():
        read = Read(group, "leaves" * (group in keys), keys.get(group, tuple(names)), "vector")
        blocks.append((read, [symbols.get((name, ())) for name in names]))
    return [block for block in blocks if block[1] or block is blocks[-1]]


def _traced(
    trace: Trace, plan: Levels, blocks: Any, program: Lowered, samples: int | None
) -> tuple[Symbol, dict[str, Any]]:
    """The values of the plan, and their gradients, by the names of inputs."""
    inputs, arrays = {}, []
    for read, symbols in blocks:
        shape = read.shape if read.kind == "samples" else (len(symbols),)
        inputs[read.name] = x = trace.tensor(read.name, np.broadcast_to(0.0, shape), read.name in DIFFERENTIABLE)
        arrays.append(x if samples is None else x.reshape(len(symbols), samples if shape is read.shape else 1))
    # The values may not depend on all the leaves in `by`
    if len(plan.free) < len(blocks[-1][1]):
        arrays[-1] = arrays[-1][: len(plan.free)]
    values = plan(arrays, program.values)
    if program.gradients is None or not values.requires_grad:
        return data_of(values), {}
    seeds = None if samples is None and len(program.values) == 1 else [trace.tensor("seeds", values)]
    by = [name for name in DIFFERENTIABLE if name in inputs]
    gradients = grad(values, [inputs[name] for name in by], seeds, allow_unused=True)
    return data_of(values), {name: data_of(g) for name, g in zip(by, gradients, strict=True) if g is not None}


def _sum(graph: Any, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sums of a matrix's columns as a product with ones, which NumPy computes in half of the time."""
    if a.ndim != 2 or axis != 0 or keepdims or not a.size or 1 in a.shape:
        return RULES[".sum"](graph, a, axis, keepdims)
    return graph.make("matmul", (_ones(a.shape[0]), a))


@lru_cache
def _ones(n: int) -> np.ndarray:
    return np.broadcast_to(1.0, n)


PRODUCTS: dict[str, Callable[..., Any]] = RULES | {".sum": _sum}  # the rules of a vectorized program
