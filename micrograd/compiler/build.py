"""Building a program: trace, differentiate, have the code written.

    form         what is run                            what comes out
    numbers      straight Python                        numbers
    arrays       NumPy, an operation a line             arrays
    levels       many numbers, as few arrays (`levels`) a vector of all outputs, and one of all gradients

An output of one element has its gradients computed with it (`fused`). For other outputs there is a second program
(`back`), which is given the gradients that come in (the seeds), and computes the forward half anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..engine import Value
from ..tensor import Tensor
from ..transforms import leaves, tree_map
from ..walk import grad
from .arguments import Arguments
from .emit import Code, Updates
from .graph import rebuilt
from .levels import Levels
from .nodes import data_of, is_traced
from .normal import NormalForm
from .symbols import Symbol
from .trace import Leaf, Trace, tracing

BACKENDS = ("auto", "python", "numpy")
MANY = 1500  # ops on numbers: fewer stay straight Python
WIDTH = 20  # and so many must be side by side, on average, for operations on arrays to be faster
SIDE_BY_SIDE = 3  # where each is an operation on arrays anyway, under `batch`


def depth(rows: dict[Symbol, Any]) -> int:
    """How many operations follow one upon the other; a sum counts once, however long."""
    height: dict[Symbol, int] = {}
    for symbol, (row, values) in rows.items():
        above = max([height.get(x, 0) for x in values if x.__class__ is Symbol], default=0)
        height[symbol] = above + (row is not ops.add)
    return max(height.values(), default=0)


class Out:
    """The place of a node in what the function gives."""

    def __init__(self, node: Any, root: int | None):
        self.symbol, self.root = data_of(node), root  # root: its number among the outputs that have a gradient
        self.shape: Any = getattr(self.symbol, "shape", None)
        self.dtype = getattr(self.symbol, "dtype", None)
        self.is_array = isinstance(node, Tensor) or self.shape is not None

    def zero(self) -> Any:
        """The gradient of an output that nobody asked about."""
        return np.zeros(self.shape, self.dtype) if self.is_array else 0.0


def _is_nested(tree: Any) -> bool:
    """Is it made of lists and tuples, and nothing else?"""
    if isinstance(tree, (list, tuple)):
        return not hasattr(tree, "_fields") and all(map(_is_nested, tree))
    return not isinstance(tree, dict)


def _over_samples(node: Any, g: Any) -> Any:
    """A gradient in the form of what it goes to: under `batch`, a number takes part in each sample."""
    if isinstance(node, Value) and getattr(data_of(node), "shape", None) is None and getattr(g, "shape", None):
        return g.graph.make(".item", (g.sum(),))
    return g


class Built:
    """A program that was built, and what it takes to run it.

    `tree` is what the function gave, with an Out for each node; `code` and `back` are its two halves; `leaves` are the
    nodes that it reads. It is differentiated by nodes among the arguments (`places`), and by some of the leaves
    (`own`). With an update, `trained` are the leaves that it writes to.
    """

    tree: Any
    code: Code
    back: Code | None = None
    leaves: list[Any]
    vector: bool = False
    as_text: bool = False  # the code of a `plain` program gives its results in their form, not in a row
    fused: bool = False

    def __init__(
        self,
        fn: Any,
        args: tuple[Any, ...],
        named: dict[str, Any],
        names: list[str],
        plain: bool,
        scalars: bool,
        batch: bool,
        backend: str,
        update: Any,
    ):
        self.plain = plain
        self.trained = [] if update is None else update.params
        trace = Trace()
        given = Arguments(trace, args, names, scalars, batch)
        self.names = given.names
        with tracing(trace):
            tree = tree_map(trace.stand_in, trace.run(fn, given.seen, named))
            many = self._is_for_levels(trace, tree, given.samples, backend)
            if not many:
                tree = tree_map(given.for_each, tree)
            self._outputs(tree, given.samples if many else None)
            if self.trained and not (self.fused and len(self.outs) == 1):
                raise ValueError("update= needs a function that gives one loss: one element, with a gradient")
            found = None if many else self._gradients(trace, given, tree)
        del tree  # and with it what was made inside
        constants = trace.constants()
        alive = [(leaf, node) for leaf, node in trace.order if leaf.symbol not in constants]
        if found is None:
            self._levels(trace, given, constants, alive)
        else:
            self._straight(given, constants, [leaf for leaf, _ in alive], *found)
        for out in self.outs:
            out.symbol = None  # and with it the graph
        trace.graph.let_go()

    def _is_for_levels(self, trace: Trace, tree: Any, samples: int | None, backend: str) -> bool:
        """Is it all numbers (under `batch`, numbers for each sample), and are there many?"""
        ops = len(trace.rows)
        if samples is not None:
            nodes = [*leaves(tree), *(node for _, node in trace.order)]
            of_numbers, many = not any(isinstance(x, Tensor) for x in nodes), ops > SIDE_BY_SIDE * depth(trace.rows)
        else:
            of_numbers = all(symbol.shape is None for symbol in trace.graph.symbols)
            many = ops > MANY and ops > WIDTH * depth(trace.rows)
        return of_numbers and (many if backend == "auto" else backend == "numpy")

    def _outputs(self, tree: Any, samples: int | None) -> None:
        nodes = [x for x in leaves(tree) if is_traced(x)]
        roots = [] if self.plain else [x for x in nodes if x.requires_grad]
        numbers = {id(root): i for i, root in enumerate(roots)}
        self.tree = tree_map(lambda x: Out(x, numbers.get(id(x))) if is_traced(x) else x, tree)
        self.outs = [x for x in leaves(self.tree) if isinstance(x, Out)]
        self.fused = len(roots) == 1 and np.size(data_of(roots[0])) == 1 and samples is None
        for out in self.outs if samples is not None else ():
            out.shape, out.dtype, out.is_array = (samples,), np.dtype(float), True

    def _gradients(self, trace: Trace, given: Arguments, tree: Any) -> tuple[list, list, list]:
        """For each node that a gradient goes to: where it is to be found, and the gradient; and the seeds."""
        roots = [x for x in leaves(tree) if is_traced(x) and x.requires_grad and not self.plain]
        wanted = [*given.wanted, *((leaf, node) for leaf, node in trace.order if node.requires_grad)]
        seeds = [] if self.fused else [trace.like(f"seed{i}", x) for i, x in enumerate(roots)]
        asked = roots and wanted  # a root may need a gradient only within: that of a gradient which the function takes
        parts = grad(roots, [node for _, node in wanted], seeds or None, allow_unused=True) if asked else ()
        pairs = zip(wanted, parts, strict=False)
        found = [(place, _over_samples(node, data_of(g))) for (place, node), g in pairs if g is not None]
        return [place for place, _ in found], [g for _, g in found], list(map(data_of, seeds))

    def _straight(
        self, given: Arguments, constants: Any, alive: list[Leaf], wanted: list, grads: list, seeds: list
    ) -> None:
        """Code for the Symbols as they are."""
        pairs = [(x, g) for x, g in zip(wanted, grads, strict=True) if isinstance(x, str) or x in alive]
        values, grads, updates = [out.symbol for out in self.outs], [g for _, g in pairs], []
        if self.trained:
            pairs, grads, updates = [], [], self._updates(alive, pairs)
        if constants:
            values, grads, seeds, updates = rebuilt((values, grads, seeds, updates), constants)
        for out, value in zip(self.outs, values, strict=True):
            out.symbol = value
        held = [leaf.name for leaf in alive] + ["lr"] * bool(self.trained)
        reading = [f"{', '.join(held)}, = leaves"] if held else []
        reading += [*given.lines, *given.unpacking]
        names = ["leaves", *given.names] if alive else given.names
        self.as_text = self.plain and _is_nested(self.tree)
        values = self._filled() if self.as_text else values
        self._write(names, reading, values, grads, [seed.args[0] for seed in seeds], updates)
        self.leaves = [leaf.ref() for leaf in alive]
        self.places = [x for x, _ in pairs if isinstance(x, str)]
        self.own = [x.ref() for x, _ in pairs if isinstance(x, Leaf)]

    def _updates(self, alive: list[Leaf], pairs: list) -> list[tuple[Symbol, Any]]:
        """For each parameter of the optimizer's that has a gradient, what SGD subtracts from it."""
        chosen = [(leaf, g) for leaf, g in pairs if any(leaf.ref() is p for p in self.trained)]
        if not chosen:
            raise ValueError("update= was given an optimizer none of whose parameters has a part in the loss")
        self.trained = [leaf.ref() for leaf, _ in chosen]
        lr = alive[0].symbol.graph.input("lr")
        return [(leaf.symbol, lr * g) for leaf, g in chosen]

    def _levels(
        self, trace: Trace, given: Arguments, constants: dict[Symbol, Any], alive: list[tuple[Leaf, Any]]
    ) -> None:
        """Code on arrays, for many numbers."""
        self.vector = True
        form = NormalForm(trace.rows, [out.symbol for out in self.outs], constants)
        alive = [(leaf, node) for leaf, node in alive if leaf.symbol in form.number]
        wanted = [id(node) for _, node in given.wanted]
        blocks = [(name, text, [data_of(x) for x in numbers]) for name, text, numbers in given.arrays]
        for name, chosen in (("numbers", False), ("wanted", True)):
            pairs = [(text, data_of(x)) for text, x in given.numbers if (id(x) in wanted) == chosen]
            blocks.append((name, f"np.array([{', '.join(text for text, _ in pairs)}])", [x for _, x in pairs]))
        fixed = [leaf for leaf, node in alive if not node.requires_grad]
        plan = Levels(
            form,
            [*(symbols for _, _, symbols in blocks), [leaf.symbol for leaf in fixed]],
            [leaf.symbol for leaf, node in alive if node.requires_grad],
            given.samples,
        )
        by_symbol = {leaf.symbol: leaf for leaf, _ in alive}
        own = [by_symbol[symbol] for symbol in plan.free]
        blocks += [("fixed", f"vector(leaves[{len(own)}:])", fixed), ("p", f"vector(leaves[:{len(own)}])", own)]
        if not fixed:
            blocks[-1] = ("p", "vector(leaves)", own)
        blocks = [block if block[2] else (block[0], "", []) for block in blocks]
        second = Trace()
        with tracing(second):
            inputs: list[Any] = [
                second.tensor(name, np.empty(len(x)), name in ("wanted", "p")) for name, _, x in blocks
            ]
            arrays = inputs
            if given.samples is not None:
                samples = [second.tensor(name, x) for name, x in given.sampled]
                arrays = [x.reshape(-1, given.samples) for x in samples]
                arrays += [x.reshape(-1, 1) for x in inputs[len(samples) :]]
            found = plan(arrays, [out.symbol for out in self.outs])
            by = [x for x in (inputs[-3], inputs[-1]) if x.size]
            seeds = [] if self.fused else [second.tensor("seeds", found)]
            grads: Any = (
                grad(found, by, seeds or None, allow_unused=True) if found.requires_grad and not self.plain else ()
            )
        values, grads = rebuilt((data_of(found), list(map(data_of, grads))), second.constants())
        second.graph.let_go()
        places = [place for place, _ in given.wanted]
        pairs = [(x, g) for x, g in zip([x for x in (places, own) if x], grads, strict=False) if g is not None]
        reading = [*given.lines, *(f"{name} = {text}" for name, text, _ in blocks if text)]
        names = ["leaves", *given.names] if alive else given.names
        self._write(names, reading, values, [g for _, g in pairs], ["seeds"] * (not self.fused))
        self.leaves = [leaf.ref() for leaf in (*own, *fixed)]
        self.places = [x for xs, _ in pairs for x in xs if isinstance(x, str)]
        self.own = [x.ref() for xs, _ in pairs for x in xs if isinstance(x, Leaf)]

    def _write(
        self,
        names: list[str],
        reading: list[str],
        values: Any,
        grads: list[Any],
        seeds: list[str],
        updates: Updates = (),
    ) -> None:
        """The two halves."""
        self.parameters = names
        self.code = Code(names, reading, values if self.plain else (values, grads if self.fused else []), updates)
        if not self.fused and grads:
            self.back = Code([*names, *seeds], reading, grads)

    def _filled(self) -> Any:
        return tree_map(lambda x: x.symbol if isinstance(x, Out) else x, self.tree)
