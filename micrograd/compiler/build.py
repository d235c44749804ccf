"""Building a program: trace, differentiate, generate the code.

    form         what runs                              what it returns
    numbers      straight-line Python                   numbers
    arrays       NumPy, one operation a line            arrays
    arrays       many numbers as few (`vectorize`)      a vector of all outputs, and one of all gradients

For an output of one element, the gradients are computed along with it (`fused`). For other outputs there is a second
program (`back`), which takes the incoming gradients (the seeds) and recomputes the forward half.

>>> settings = {"scalars": False, "batch": False, "backend": "auto", "update": None, "devices": None}
>>> built = Built(lambda x, y: x * y.tanh(), (Value(2.0), 0.5), {}, ["x", "y"], False, settings)
>>> print(built.code.source.rstrip(), [read.place for read in built.places])
def program(x, y):
    x = x._data
    t1 = tanh(y)
    t2 = x * t1
    return ([t2], [t1]) ['x']
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import count
from math import prod
from operator import call
from types import SimpleNamespace
from typing import Any

from ..common.trees import leaves, tree_map
from ..engine.modes import is_grad_enabled
from ..engine.value import Value
from ..scalars.roots import grad
from ..tensor.optional import Tensor, np
from . import backends
from .backends import Executable, compiled
from .graph import rebuilt
from .inputs import TEXT, Arguments, Block
from .lowered import Lowered, Read
from .remains import without_remains
from .stale import ways_from
from .symbols import Symbol, needed, symbols_in
from .trace import Leaf, Trace, tracing
from .trace_errors import generators_in, watch_threads, watched_gradients, without_draws
from .traced_nodes import DETACH, data_of, is_traced
from .vectorize import Levels, NormalForm, Vectorized, is_worthwhile

NO_PART = "none of the parameters of the optimizer in update= affects the loss"


def no_loss() -> ValueError:
    """The error for a function compiled with `update=` that returned anything else."""
    where = "" if is_grad_enabled() else ", which nothing has inside no_grad()"
    return ValueError(f"update= needs a function that returns one loss: one element, with a gradient{where}")


class Out:
    """The place of a node in the function's output."""

    def __init__(self, node: Any, root: int | None):
        self.symbol: Any = data_of(node)
        self.root = root  # root: its index among the outputs that have a gradient
        self.shape: Any = getattr(self.symbol, "shape", None)
        self.dtype: Any | None = getattr(self.symbol, "dtype", None)
        self.is_array: bool = isinstance(node, Tensor) or self.shape is not None

    def zero(self) -> Any:
        """The seed of an output that no gradient is asked of."""
        return np.zeros(self.shape, self.dtype) if self.is_array else 0.0


class Built:
    """A program, and what is needed to run it.

    `tree` is the function's output, with an Out for each node; `code` and `back` are the two halves of the program;
    `leaves` are the outside nodes that it reads. It is differentiated by nodes among the arguments (`places`) and by
    some of the leaves (`own`). With an update, `trained` are the parameters that it writes to, `remembered` is what the
    optimizer remembers of each (as in `Optimizer._remembers`), and with `offload` they are in a `Store` between calls.
    """

    tree: Any
    lowered: Lowered
    parameters: tuple[str, ...]
    code: Executable
    back: Executable | None = None
    leaves: list[Any]
    used: list[Any]  # all outside nodes that the function uses
    trained: list[Any]
    remembered: Mapping[str, bool] = {}
    resident: bool
    apart: bool = False  # trained Values have made different numbers of steps: their counts are an array
    plain: bool  # it returns numbers and arrays
    vector: bool  # made of levels
    as_text: bool = False  # the code of a `plain` program returns the output's structure, not a flat list
    fused: bool = False
    labels: Lowered | None = None  # the program of what is checked before each call,
    rules: Sequence[Callable[[Any], object]] = ()  # and how each of these is
    by_identity: bool  # the function takes gradients with respect to nodes that are passed in

    def __init__(
        self, fn: Any, args: tuple[Any, ...], named: dict[str, Any], names: list[str], plain: bool, settings: Any
    ):
        self.update: Any = settings["update"]
        self.trained: list[Any] = [] if self.update is None else list(self.update.params)
        trace = Trace()
        try:
            self._build(trace, fn, args, named, names, plain, settings)
        finally:
            trace.end()

    def _build(
        self, trace: Trace, fn: Any, args: Any, named: Any, names: list[str], plain: bool, settings: Any
    ) -> None:
        backend = settings["backend"]
        watch_threads()
        given = Arguments(trace, args, names, settings["scalars"], settings["batch"])
        if self.trained and given.wanted:
            raise TypeError(
                f"with update= the function closes over its parameters, found one among the arguments: "
                f"{given.wanted[0][0].place} requires a gradient; pass x.detach() for a constant"
            )
        with (
            watched_gradients(),
            tracing(trace),
            np.errstate(all="ignore"),
        ):  # in a trace of a batch, zeros stand for samples
            reached = ways_from(fn, named).containers
            run = partial(without_remains, reached, partial(fn, *given.seen, **named))
            tree = tree_map(given.result, without_draws(run, generators_in(reached)))
            seen = set(trace.leaves)
            for p in self.trained:
                if isinstance(p, Value):  # which has a gradient of 0 if the loss does not depend on it
                    trace.traced_node(p)
            self.by_identity = trace.by_identity
            self.plain = plain and not (is_grad_enabled() and any(leaf.seen.requires_grad for leaf in trace.order))
            recorded = any(map(_is_recorded, leaves(tree)))
            form = NormalForm(trace.graph, list(map(data_of, leaves(tree))), None if recorded else DETACH)
            self.vector = is_worthwhile(form, tree, given.samples, backend)
            if not self.vector:
                tree = tree_map(given.for_each, tree)
            self._outputs(tree, given.samples)
            found = [] if self.vector else self._gradients(trace, given, tree)
        del tree  # and with it the nodes created inside
        constants = trace.constants()
        alive = [leaf for leaf in trace.order if leaf.symbol not in constants]
        rules, values = [rule for _, rule in trace.checks], rebuilt([x for x, _ in trace.checks], constants)
        for rule, x in zip(rules, values, strict=True):
            if not symbols_in(x):  # it is known after all
                rule(x)
        self.names: list[str] = given.names
        self.resident = bool(self.trained) and (self.vector or bool(backends.has(backend, "RESIDENT")))
        if self.vector:
            self.lowered, by = self._levels(trace, form, given, constants, alive)
        else:
            self.lowered, by = self._straight(given, constants, alive, found)
        self.check: Any = self._checking(rules, values, [*given.reads, *given.lists], alive)
        self.places: list[Read] = [x for x in by if isinstance(x, Read)]
        self.own: list[Any | None] = [x.ref() for x in by if isinstance(x, Leaf)]
        devices = settings["devices"]
        self._compile(partial(compiled, backend, **({"devices": devices} if devices else {})))
        watched = [(x, answer) for ref, answer in trace.watched.values() if (x := ref()) is not None]
        stored = set(map(id, self.trained)) if self.vector else set()  # of these, the program asks itself
        self.answers: list[tuple[Any, bool]] = [
            (x, answer) for x, answer in watched if answer is not None and id(x) not in stored
        ]
        self.attributes: set[str] = trace.attributes
        used = [*self.leaves, *(p for p in self.trained if id(p) in seen), *(x for x, _ in watched)]
        self.used = [*{id(x): x for x in used}.values()]
        for out in self.outs:
            out.symbol = None  # and with it the graph

    def needed(self) -> list[list[Any]]:
        """Groups of outside nodes: of each, at least one must require a gradient, or the results would not."""
        if self.trained:  # of a store, the program asks when it fetches the numbers
            used = set() if self.vector else set(map(id, self.used))
            return [[x] for x in self.trained if x.requires_grad and id(x) in used]
        if not self.fused:
            return [[x] for x in self.own]
        return [] if self.places else [self.own]

    def _outputs(self, tree: Any, samples: int | None) -> None:
        """Record what the function returns."""
        kinds = (*TEXT, int, float, np.generic, np.ndarray, Value, Tensor)
        for x in leaves(tree):
            if not isinstance(x, kinds) or (isinstance(x, np.ndarray) and x.dtype.hasobject):
                raise TypeError(
                    f"a compiled function returns nodes, numbers, arrays, or lists, tuples and dicts of them, found "
                    f"{type(x).__name__} {x!r:.60}"
                )
        nodes = [x for x in leaves(tree) if is_traced(x)]
        roots = [] if self.plain else list(filter(_is_recorded, nodes))
        turn = count()  # a node that is returned twice is two outputs
        made = lambda x: Out(x, next(turn) if not self.plain and x.requires_grad else None)  # noqa: E731
        self.tree = tree_map(lambda x: made(x) if is_traced(x) else x, tree)
        self.outs: list[Out] = [x for x in leaves(self.tree) if isinstance(x, Out)]
        if self.vector and samples is not None:
            for out in self.outs:
                out.shape, out.dtype, out.is_array = (samples,), np.dtype(float), True
        else:
            alone = len(roots) == 1 and prod(getattr(data_of(roots[0]), "shape", None) or ()) == 1
            self.fused = alone and not (self.vector and len(nodes) > 1)
        if self.trained and not (self.fused and len(self.outs) == 1):
            raise no_loss()

    # ---- as it was traced

    def _gradients(self, trace: Trace, given: Arguments, tree: Any) -> list[tuple[Any, Any]]:
        """Pairs (where to find a node, its gradient) for each node that gets one."""
        roots = [] if self.plain else list(filter(_is_recorded, leaves(tree)))
        wanted = [*given.wanted, *((leaf, leaf.seen) for leaf in trace.order if leaf.seen.requires_grad)]
        seeds = [] if self.fused else [trace.like(f"seed{i}", x) for i, x in enumerate(roots)]
        asked = roots and wanted  # roots may require a gradient only for one that the function takes inside
        parts = grad(roots, [node for _, node in wanted], seeds or None, allow_unused=True) if asked else ()
        pairs = zip(wanted, parts, strict=False)
        return [(place, _over_samples(node, data_of(g))) for (place, node), g in pairs if g is not None]

    def _straight(
        self, given: Arguments, constants: Any, alive: list[Leaf], found: list
    ) -> tuple[Lowered, list[Read | Leaf]]:
        """The program, and what it is differentiated by."""
        living = set(alive)
        pairs = [(x, g) for x, g in found if isinstance(x, Read) or x in living]
        values, updates = [out.symbol for out in self.outs], []
        first: list[Read] = []
        if self.trained:
            chosen = self._chosen(alive, pairs)
            alive = [leaf for leaf in alive if leaf not in dict(chosen)]
            first, updates = self._updates([(leaf.symbol, g) for leaf, g in chosen])
            pairs = []
        by, grads = [x for x, _ in pairs], [g for _, g in pairs]
        values, grads, updates = rebuilt((values, grads, updates), constants)
        if self.plain and _is_nested(self.tree):
            self.as_text, each = True, iter(values)
            values = tree_map(lambda x: next(each) if isinstance(x, Out) else x, self.tree)
        reads = [*(Read(leaf.name, "leaves", (i,)) for i, leaf in enumerate(alive)), *first, *given.reads, *given.lists]
        return self._lowered(alive, reads, values, grads, [x.name for x in by], updates), by

    # ---- the update

    def _chosen(self, alive: list[Leaf], pairs: list) -> list[tuple[Leaf, Any]]:
        """The parameters that `step()` would update, and their gradients: Tensors with one, and all Values."""
        trained, found = {id(p) for p in self.trained}, dict(pairs)
        chosen = [(leaf, found.get(leaf, 0.0)) for leaf in alive if id(leaf.ref()) in trained]
        chosen = [(leaf, g) for leaf, g in chosen if leaf in found or isinstance(leaf.ref(), Value)]
        if not any(leaf in found for leaf, _ in chosen):
            raise ValueError(NO_PART)
        self.trained = [leaf.ref() for leaf, _ in chosen]
        return chosen

    def _updates(self, pairs: list[tuple[Symbol, Any]]) -> tuple[list[Read], list[tuple[Symbol, Any]]]:
        """What is read for the update, and pairs (input, new value): the optimizer's own rule, on Symbols."""
        rule, graph = copy(self.update), pairs[0][0].graph
        self.apart = self.vector and counts_differ(self.update, self.trained)
        rule.lr = graph.input("lr")
        reads, updates = [Read("lr", "update", (0,))], []
        for i, (symbol, g) in enumerate(pairs):
            array, state = (symbol.shape, symbol.dtype, symbol.named), {}
            for name, like in rule._remembers.items():  # an array like the parameter, or a count
                state[name] = graph.input(f"s{i}_{name}", *(array if like or self.apart else ()))
            p, before = SimpleNamespace(data=symbol), dict(state)
            rule._update(p, g, state)
            changed = {name: x for name, x in state.items() if x is not before[name]}
            self.remembered = {name: rule._remembers[name] for name in changed}
            updates += [(symbol, p.data), *((before[name], x) for name, x in changed.items())]
            kind = "given" if self.resident else "value" if symbol.shape is None else "tensor"
            reads.append(Read(symbol.args[0], "update", (1 + 2 * i, *["data"] * self.resident), kind))
            for name in changed:
                kind = "given" if self.resident or rule._remembers[name] else "count"
                reads.append(Read(before[name].args[0], "update", (2 + 2 * i, name), kind))
        return reads, updates

    def _update_all(self, p: Symbol, leaves: list[Leaf], g: Any) -> tuple[list[Read], list[tuple[Symbol, Any]]]:
        """The same for an array of Values; those that are frozen, or have no part in the loss, have a gradient of 0."""
        if g is None:
            raise ValueError(NO_PART)
        self.trained = [leaf.ref() for leaf in leaves]
        wanted = np.array([x.requires_grad for x in self.trained])
        return self._updates([(p, g if wanted.all() else np.where(wanted, g, 0.0))])

    # ---- vectorized

    def _levels(
        self, trace: Trace, form: NormalForm, given: Arguments, constants: Any, alive: list[Leaf]
    ) -> tuple[Lowered, list[Read | Leaf]]:
        """Blocks of numbers become the inputs of a second function, of arrays, which is traced in turn."""
        outs = [out.symbol for out in self.outs]
        form.merge(constants)
        trained = {id(p) for p in self.trained}
        wanted = [x for x in alive if (id(x.ref()) in trained if trained else x.seen.requires_grad)]
        free = {leaf.symbol: leaf for leaf in wanted if leaf.symbol in form.number}
        fixed = [leaf for leaf in alive if leaf.symbol in form.number and leaf.symbol not in free]
        start = 0 if trained else len(free)
        blocks = [
            *given.blocks(),
            Block("fixed", Read("fixed", "leaves", (slice(start, None),), "vector"), [x.symbol for x in fixed]),
        ]
        plan = Levels(form, [block.symbols for block in blocks], list(free), given.samples)
        own = [free[symbol] for symbol in plan.free]
        own += [leaf for leaf in wanted if trained and leaf.symbol not in free]  # without a part in the loss
        chosen = (slice(None, len(own)),) if fixed else ()
        blocks.append(Block("p", None if trained else Read("p", "leaves", chosen, "vector"), [x.symbol for x in own]))
        by = {name: to for name, to in (("wanted", [x for x, _ in given.wanted]), ("p", own)) if to}
        made = Vectorized(plan, blocks, outs, [*by], not self.fused, self.plain)
        gradients, first, updates = made.gradients, [], []
        if trained:
            first, updates = self._update_all(made.inputs["p"], own, made.gradients.get("p"))
            own, gradients = [], {}
            made.gradients.clear()
        values, grads, updates = made.finished(updates)
        reads = [*first, *given.reads, *(x.read for x in blocks if x.read and x.symbols)]
        lowered = self._lowered([*own, *fixed], reads, values, grads, [*gradients], updates)
        return lowered, [x for name in gradients for x in by[name]]

    # ---- what each call verifies

    def _checking(self, rules: list[Callable], values: list[Any], reads: list[Read], alive: list[Leaf]) -> Any:
        """A function of what the program is called with, which raises as the function itself does; None without need.

        It computes what is verified by a program that runs before the other, so that a refused step updates nothing.
        """
        if not symbols_in(values):
            return None
        name_of = {id(x.ref()): x.name for x in alive}
        reads += [Read(name_of[id(x)], "leaves", (i,)) for i, x in enumerate(self.leaves)]
        if self.vector:  # the trained Values are in one array; see `Store`
            reads += [Read(name_of[id(x)], "update", (1, "data", i)) for i, x in enumerate(self.trained)]
        reads = list({read.name: read for read in (*self.lowered.reads, *reads)}.values())
        names = {x.args[0] for x in needed(values) if x.op == "input"}
        parameters = {x.parameter for x in reads if x.name in names}
        used = {x.name for x in reads if any(name == x.name or name.startswith(f"{x.name}_") for name in names)}
        reads = [x for x in reads if x.name in used or x.parameter in parameters & {"leaves"}]
        self.labels, self.rules = Lowered(self.parameters, tuple(reads), values), rules
        code = compiled("python", self.labels)
        places = [i for i, name in enumerate(self.parameters) if name in {x.parameter for x in reads}]
        last: list[Any] = [None]  # what passed: labels are most often those of the call before

        def check(given: Sequence[Any]) -> None:
            arrays = [given[i] for i in places]
            now = [x.tobytes() for x in arrays] if all(x.__class__ is np.ndarray for x in arrays) else None
            if now is None or now != last[0]:
                deque(map(call, rules, code(*given)), 0)  # type: ignore[arg-type]
                last[0] = now

        return check

    # ---- the code

    def _lowered(
        self, leaves: list[Leaf], reads: list[Read], values: Any, grads: list[Any], by: list[str], updates: list[Any]
    ) -> Lowered:
        self.leaves = [leaf.ref() for leaf in leaves]
        self.parameters = (*["leaves"] * bool(leaves), *["update"] * bool(self.trained), *self.names)
        gradients = None if self.plain else grads
        return Lowered(self.parameters, tuple(reads), values, gradients, tuple(by), tuple(updates))

    def _compile(self, write: Callable) -> None:
        """Compile both halves: the function, and its gradients given the seeds."""
        if not self.fused and (grads := self.lowered.gradients):
            seeds = ["seeds"] if self.vector else [f"seed{out.root}" for out in self.outs if out.root is not None]
            self.back = write(Lowered((*self.parameters, *seeds), self.lowered.reads, grads))
            self.lowered = replace(self.lowered, gradients=[], by=())
        self.code = write(self.lowered)


def counts_differ(update: Any, params: list[Any]) -> bool:
    """True if the optimizer counts, and has made more steps with one of the parameters than with another."""
    counts = [name for name, like in (update._remembers or {}).items() if not like]
    states = [update.state[p] for p in params] if counts else []
    return any(len({state.get(name, 0) for state in states}) > 1 for name in counts)


def _is_recorded(x: Any) -> bool:
    return is_traced(x) and x.requires_grad


def _is_nested(tree: Any) -> bool:
    """True if the tree consists of lists and tuples only."""
    if isinstance(tree, (list, tuple)):
        return not hasattr(tree, "_fields") and all(map(_is_nested, tree))
    return not isinstance(tree, dict)


def _over_samples(node: Any, g: Any) -> Any:
    """A gradient in the shape of its target: under `batch`, that of a number shared by all samples is their sum."""
    if isinstance(node, Value) and getattr(data_of(node), "shape", None) is None and getattr(g, "shape", None):
        return g.graph.make(".item", (g.sum(),))
    return g
