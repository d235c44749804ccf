"""Building a program: trace, differentiate, have the code written.

    form         what is run                            what comes out
    numbers      straight Python                        numbers
    arrays       NumPy, an operation a line             arrays
    levels       many numbers, as few arrays (`levels`) a vector of all outputs, and one of all gradients

An output of one element has its gradients computed with it (`fused`). For other outputs there is a second program
(`back`), which is given the gradients that come in (the seeds), and computes the forward half anew.

>>> settings = {"scalars": False, "batch": False, "backend": "auto", "update": None}
>>> built = Built(lambda x, y: x * y.tanh(), (Value(2.0), 0.5), {}, ["x", "y"], plain=False, **settings)
>>> print(built.code.source.rstrip(), built.places)
def program(x, y):
    x = x._data
    t1 = tanh(y)
    t2 = x * t1
    return ([t2], [t1]) ['x']
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..autograd.transforms import leaves, tree_map
from ..engine import ops
from ..engine.modes import is_grad_enabled
from ..engine.value import Value
from ..engine.walk import grad
from ..tensor.tensor import Tensor
from .arguments import Arguments, Block
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


class Derived(NamedTuple):
    """A program as Symbols."""

    reading: list[str]  # the lines that it begins with
    leaves: list[Leaf]  # what it reads from outside
    values: Any  # of the outputs
    by: list[Any]  # what it is differentiated by: the text of a place among the arguments, or a leaf
    grads: list[Any]
    seeds: list[str]  # the names of the gradients that come in
    updates: Updates = ()


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
    plain: bool  # it answers with numbers and arrays
    vector: bool  # made of levels
    as_text: bool = False  # the code of a `plain` program gives its results in their form, not in a row
    fused: bool = False
    by_identity: bool  # the function takes gradients with respect to nodes that it is given

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
        self.trained = [] if update is None else update.params
        trace = Trace()
        given = Arguments(trace, args, names, scalars, batch)
        if self.trained and given.wanted:
            raise TypeError(
                f"with update= the function closes over its parameters, found one among the arguments: "
                f"{given.wanted[0][0].removesuffix('._node')} requires a gradient; give x.detach() for a constant"
            )
        with tracing(trace):
            tree = tree_map(trace.stand_in, trace.run(fn, given.seen, named))
            self.by_identity = trace.by_identity
            self.plain = plain and not (is_grad_enabled() and any(node.requires_grad for _, node in trace.order))
            self.vector = _is_for_levels(trace, tree, given.samples, backend)
            if not self.vector:
                tree = tree_map(given.for_each, tree)
            self._outputs(tree, given.samples)
            found = [] if self.vector else self._gradients(trace, given, tree)
        del tree  # and with it what was made inside
        constants = trace.constants()
        alive = [(leaf, node) for leaf, node in trace.order if leaf.symbol not in constants]
        if self.vector:
            derived = self._levels(trace, given, constants, alive)
        else:
            derived = self._straight(given, constants, [leaf for leaf, _ in alive], found)
        self._write(derived, given.names)
        for out in self.outs:
            out.symbol = None  # and with it the graph
        trace.graph.let_go()

    def needed(self) -> list[list[Any]]:
        """Groups of nodes outside, of each of which one must require a gradient for the results to require theirs."""
        if self.trained or not self.fused:
            return [[x] for x in self.trained or self.own]
        return [] if self.places else [self.own]

    def _outputs(self, tree: Any, samples: int | None) -> None:
        """Note what the function gives."""
        nodes = [x for x in leaves(tree) if is_traced(x)]
        roots = [] if self.plain else [x for x in nodes if x.requires_grad]
        numbers = {id(root): i for i, root in enumerate(roots)}
        self.tree = tree_map(lambda x: Out(x, numbers.get(id(x))) if is_traced(x) else x, tree)
        self.outs = [x for x in leaves(self.tree) if isinstance(x, Out)]
        if self.vector and samples is not None:
            for out in self.outs:
                out.shape, out.dtype, out.is_array = (samples,), np.dtype(float), True
        else:
            alone = len(roots) == 1 and np.size(data_of(roots[0])) == 1
            self.fused = alone and not (self.vector and len(nodes) > 1)
        if self.trained and not (self.fused and len(self.outs) == 1):
            raise ValueError("update= needs a function that gives one loss: one element, with a gradient")

    # ---- the Symbols as they are

    def _gradients(self, trace: Trace, given: Arguments, tree: Any) -> list[tuple[Any, Any]]:
        """For each node that a gradient goes to where it is to be found, with the gradient."""
        roots = [x for x in leaves(tree) if is_traced(x) and x.requires_grad and not self.plain]
        wanted = [*given.wanted, *((leaf, node) for leaf, node in trace.order if node.requires_grad)]
        seeds = [] if self.fused else [trace.like(f"seed{i}", x) for i, x in enumerate(roots)]
        asked = roots and wanted  # a root may need a gradient only within: that of a gradient which the function takes
        parts = grad(roots, [node for _, node in wanted], seeds or None, allow_unused=True) if asked else ()
        pairs = zip(wanted, parts, strict=False)
        return [(place, _over_samples(node, data_of(g))) for (place, node), g in pairs if g is not None]

    def _straight(self, given: Arguments, constants: Any, alive: list[Leaf], found: list) -> Derived:
        living = set(alive)
        pairs = [(x, g) for x, g in found if isinstance(x, str) or x in living]
        values, updates = [out.symbol for out in self.outs], []
        if self.trained:
            pairs, updates = [], self._updates(alive, pairs)
        grads = [g for _, g in pairs]
        if constants:
            values, grads, updates = rebuilt((values, grads, updates), constants)
        if self.plain and _is_nested(self.tree):
            self.as_text, each = True, iter(values)
            values = tree_map(lambda x: next(each) if isinstance(x, Out) else x, self.tree)
        held = [leaf.name for leaf in alive] + ["lr"] * bool(self.trained)
        reading = [f"{', '.join(held)}, = leaves", *given.lines] if held else given.lines
        roots = [out for out in self.outs if out.root is not None and not self.fused]
        seeds = [f"seed{i}" for i, _ in enumerate(roots)]
        return Derived([*reading, *given.unpacking], alive, values, [x for x, _ in pairs], grads, seeds, updates)

    def _updates(self, alive: list[Leaf], pairs: list) -> list[tuple[Symbol, Any]]:
        """For each parameter of the optimizer's that has a gradient, what SGD subtracts from it."""
        trained = {id(p) for p in self.trained}
        chosen = [(leaf, g) for leaf, g in pairs if id(leaf.ref()) in trained]
        if not chosen:
            raise ValueError("update= was given an optimizer none of whose parameters has a part in the loss")
        self.trained = [leaf.ref() for leaf, _ in chosen]
        lr = alive[0].symbol.graph.input("lr")
        return [(leaf.symbol, lr * g) for leaf, g in chosen]

    # ---- levels

    def _levels(self, trace: Trace, given: Arguments, constants: Any, alive: list[tuple[Leaf, Any]]) -> Derived:
        """Blocks of numbers are the inputs of a second function, of arrays: it is traced in its turn."""
        outs = [out.symbol for out in self.outs]
        form = NormalForm(trace.rows, outs, constants)
        free = {leaf.symbol: leaf for leaf, node in alive if leaf.symbol in form.number and node.requires_grad}
        fixed = [leaf for leaf, node in alive if leaf.symbol in form.number and not node.requires_grad]
        blocks = [*given.blocks(), Block("fixed", f"vector(leaves[{len(free)}:])", [leaf.symbol for leaf in fixed])]
        plan = Levels(form, [block.symbols for block in blocks], list(free), given.samples)
        own = [free[symbol] for symbol in plan.free]
        blocks.append(Block("p", f"vector(leaves[:{len(own)}])" if fixed else "vector(leaves)", plan.free))
        second = Trace()
        with tracing(second):
            inputs: list[Any] = [second.tensor(x.name, x.like(), x.name in ("wanted", "p")) for x in blocks]
            found = plan([x.rows(array, given.samples) for x, array in zip(blocks, inputs, strict=True)], outs)
            by = [(array, to) for array, to in ((inputs[-3], [x for x, _ in given.wanted]), (inputs[-1], own)) if to]
            seeds = [] if self.fused else [second.tensor("seeds", found)]
            asked = found.requires_grad and not self.plain
            parts = grad(found, [array for array, _ in by], seeds or None, allow_unused=True) if asked else ()
            pairs = [(to, data_of(g)) for (_, to), g in zip(by, parts, strict=False) if g is not None]
        values, grads = rebuilt((data_of(found), [g for _, g in pairs]), second.constants())
        second.graph.let_go()
        reading = [*given.lines, *(f"{x.name} = {x.text}" for x in blocks if x.text and x.symbols)]
        targets = [x for to, _ in pairs for x in to]
        return Derived(reading, [*own, *fixed], values, targets, grads, ["seeds"] * (not self.fused))

    # ---- the code

    def _write(self, derived: Derived, names: list[str]) -> None:
        """The two halves."""
        reading, leaves, values, by, grads, seeds, updates = derived
        self.names = names
        self.parameters = names = ["leaves", *names] if leaves else names
        self.code = Code(names, reading, values if self.plain else (values, grads if self.fused else []), updates)
        if not self.fused and grads:
            self.back = Code([*names, *seeds], reading, grads)
        self.leaves = [leaf.ref() for leaf in leaves]
        self.places = [x for x in by if isinstance(x, str)]
        self.own = [x.ref() for x in by if isinstance(x, Leaf)]


def _is_for_levels(trace: Trace, tree: Any, samples: int | None, backend: str) -> bool:
    """Is it all numbers (under `batch`, numbers for each sample), and are there many?"""
    ops = len(trace.rows)
    if samples is not None:
        nodes = [*leaves(tree), *(node for _, node in trace.order)]
        of_numbers, many = not any(isinstance(x, Tensor) for x in nodes), ops > SIDE_BY_SIDE * _depth(trace.rows)
    else:
        of_numbers = all(symbol.shape is None for symbol in trace.graph.symbols)
        many = ops > MANY and ops > WIDTH * _depth(trace.rows)
    return of_numbers and (many if backend == "auto" else backend == "numpy")


def _depth(rows: dict[Symbol, Any]) -> int:
    """How many operations follow one upon the other; a sum counts once, however long."""
    height: dict[Symbol, int] = {}
    for symbol, (row, values) in rows.items():
        above = max([height.get(x, 0) for x in values if x.__class__ is Symbol], default=0)
        height[symbol] = above + (row is not ops.add)
    return max(height.values(), default=0)


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
