"""Building a program: trace and differentiate, vectorize, add the update, simplify, generate the code.

Between the trace and the code, each step goes from a program to a program (`lowered`). There are three forms:

    form         what runs                              what it returns
    numbers      straight-line Python                   numbers
    arrays       NumPy, one operation a line            arrays
    arrays       many numbers as few (`vectorize`)      a vector of all outputs, and one of all gradients

If there is one output of one element, its gradients are computed along with it (`fused`). Otherwise there is a second
program (`back`), which takes the incoming gradients (the seeds) and recomputes the forward half.

>>> settings = {"scalars": False, "batch": False, "backend": "auto", "update": None, "devices": None}
>>> built = Built(lambda x, y: x * y.tanh(), (Value(2.0), 0.5), {}, ["x", "y"], False, settings, [])
>>> print(built.code.source.rstrip(), [read.place for read in built.places])
def program(x, y):
    x = x._data
    t1 = tanh(y)
    t2 = x * t1
    return ([t2], [t1]) ['x']
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from .inputs import TEXT, Arguments
from .lowered import Lowered, Read
from .remains import without_remains
from .symbols import needed, symbols_in
from .trace import Leaf, Trace, tracing
from .trace_errors import generators_in, watched_gradients, without_draws
from .traced_nodes import DETACH, data_of, is_traced
from .vectorize import NormalForm, is_worthwhile, vectorized


def no_loss() -> ValueError:
    """The error for a function that was compiled with `update=` and did not return one loss."""
    where = "" if is_grad_enabled() else ", which nothing has inside no_grad()"
    return ValueError(f"update= needs a function that returns one loss: one element, with a gradient{where}")


class Out:
    """The place of a node in the function's output."""

    def __init__(self, node: Any, root: int | None):
        self.symbol: Any = data_of(node)
        self.root = root  # the index among the outputs that have a gradient
        self.shape: Any = getattr(self.symbol, "shape", None)
        self.dtype: Any | None = getattr(self.symbol, "dtype", None)
        self.is_array: bool = isinstance(node, Tensor) or self.shape is not None

    def zero(self) -> Any:
        """The seed of an output that is not the root of the pass."""
        return np.zeros(self.shape, self.dtype) if self.is_array else 0.0


class Built:
    """A program, and all that is needed to run it.

    `tree` is the function's output, with an Out for each node. `code` and `back` are the two halves of the program, and
    `used` are the outside nodes that the function uses. The program is differentiated by nodes among the arguments
    (`places`) and by some of the leaves (`own`). With an update, the program writes to the parameters `trained`, and
    `remembered` has the parts of their states (as in `Optimizer._remembers`). If the parameters are `resident`, a back
    end or a `Store` has them between calls.
    """

    back: Executable | None = None
    remembered: Mapping[str, bool] = {}
    apart: bool = False  # trained Values have made different numbers of steps, and their counts are an array
    plain: bool  # the program returns numbers and arrays
    vector: bool  # the program is vectorized, and returns one array
    as_text: bool = False  # the code of a `plain` program returns the output's structure, not a flat list
    fused: bool = False
    labels: Lowered | None = None  # a program of the numbers that are verified before each call
    rules: Sequence[Callable[[Any], object]] = ()  # a rule for each of these numbers, which raises if it is wrong
    places: list[Read]
    own: list[Any]
    by_identity: bool  # the function takes gradients with respect to nodes among its arguments

    def __init__(
        self, fn: Any, args: Any, named: Any, names: list[str], plain: bool, settings: Any, reached: list[Any]
    ):
        self.update: Any = settings["update"]
        self.trained: list[Any] = [] if self.update is None else list(self.update.params)
        self.plain = plain
        trace = Trace()
        try:
            self._build(trace, fn, args, named, names, settings, reached)
        finally:
            trace.end()

    def _build(
        self, trace: Trace, fn: Any, args: Any, named: Any, names: list[str], settings: Any, reached: list[Any]
    ) -> None:
        backend = settings["backend"]
        self.on_device: bool = bool(backends.has(backend, "RESIDENT"))
        arguments = Arguments(trace, args, names, settings["scalars"], settings["batch"])
        if self.trained and arguments.differentiable:
            raise TypeError(
                f"with update= the function closes over its parameters, found one among the arguments: "
                f"{arguments.differentiable[0][0].place} requires a gradient; pass x.detach() for a constant"
            )
        # The samples of a batch are zeros here, by which the function may divide
        with watched_gradients(), tracing(trace), np.errstate(all="ignore"):
            tree = tree_map(arguments.result, _guarded(reached, partial(fn, *arguments.seen, **named)))
            seen = set(trace.leaves)
            for p in self.trained:
                # A Value that the loss does not depend on has a gradient of 0, and is updated too
                if isinstance(p, Value) and p._row is not None:
                    trace.seen(p)
            self.by_identity = trace.by_identity
            self.plain = self.plain and not (is_grad_enabled() and any(leaf.seen.requires_grad for leaf in trace.order))
            recorded = any(map(_is_recorded, leaves(tree)))
            form = NormalForm(list(map(data_of, leaves(tree))), None if recorded else DETACH)
            # The gradients of a vectorized program are derived from rows, not from the user's own rules
            by_rows = not (recorded and trace.of_users)
            self.vector = by_rows and is_worthwhile(form, tree, arguments.samples, backend)
            if not self.vector:
                tree = tree_map(arguments.for_each, tree)
            self._outputs(tree, arguments.samples)
            differentiate = partial(self._gradients, trace, arguments, form, tree)
            gradients = _guarded(reached, differentiate) if trace.of_users else differentiate()
        del tree, differentiate  # with them go the nodes that were created inside
        alive = trace.settle()
        rules, values = [rule for _, rule in trace.checks], rebuilt([x for x, _ in trace.checks])
        for rule, x in zip(rules, values, strict=True):
            if not symbols_in(x):  # a constant by now
                rule(x)
        self.names: list[str] = arguments.names
        self.resident: bool = bool(self.trained) and (self.vector or self.on_device)
        program = self._as_traced(arguments, alive, form, gradients)
        if self.vector:
            program = vectorized(program, form)
        if self.trained:
            program = self._with_updates(program, alive)
        self.lowered: Lowered = _simplified(program)
        self.leaves: Any = program.leaves
        self.check: Any = self._checking(rules, values, arguments.reads, alive)
        self.places, self.own = _differentiated(program)
        devices = settings["devices"]
        self._compile(partial(compiled, backend, **({"devices": devices} if devices else {})))
        watched = [(x, answer) for ref, answer in trace.watched.values() if (x := ref()) is not None]
        # A program with a store sees for itself whether its parameters require gradients
        stored = set(map(id, self.trained)) if self.vector else set()
        self.answers: list[tuple[Any, bool]] = [
            (x, answer) for x, answer in watched if answer is not None and id(x) not in stored
        ]
        self.attributes: set[str] = trace.attributes
        used = [*self.leaves, *(p for p in self.trained if id(p) in seen), *(x for x, _ in watched)]
        self.used: list[Any] = [*{id(x): x for x in used}.values()]
        for out in self.outs:
            out.symbol = None  # with it goes the graph

    def needed(self) -> list[list[Any]]:
        """Groups of outside nodes. If no node of a group required a gradient, neither would the results."""
        if self.trained:
            # A program with a store sees for itself whether its parameters require gradients
            used = set(map(id, self.used))
            return [] if self.vector else [[x] for x in self.trained if id(x) in used]
        if not self.fused:
            return [[x] for x in self.own]
        return [] if self.places else [self.own]

    def filled(self, parts: Iterable[Any]) -> Any:
        """The function's output, with these parts for its nodes."""
        following = iter(parts)
        return tree_map(lambda x: next(following) if isinstance(x, Out) else x, self.tree)

    def _outputs(self, tree: Any, samples: int | None) -> None:
        """Record what the function returns."""
        classes = (*TEXT, int, float, np.generic, np.ndarray, Value, Tensor)
        for x in leaves(tree):
            if not isinstance(x, classes) or (isinstance(x, np.ndarray) and x.dtype.hasobject):
                raise TypeError(
                    f"a compiled function returns nodes, numbers, arrays, or lists, tuples and dicts of them, found "
                    f"{type(x).__name__} {x!r:.60}"
                )
        indices = count()  # a node that is returned twice is two outputs
        out_of = lambda x: Out(x, next(indices) if not self.plain and x.requires_grad else None)  # noqa: E731
        self.tree: Any = tree_map(lambda x: out_of(x) if is_traced(x) else x, tree)
        self.outs: list[Out] = [x for x in leaves(self.tree) if isinstance(x, Out)]
        if self.vector and samples is not None:
            for out in self.outs:
                out.shape, out.dtype, out.is_array = (samples,), np.dtype(float), True
        else:
            roots = [out for out in self.outs if out.root is not None]
            alone = len(roots) == 1 and prod(roots[0].shape or ()) == 1
            self.fused = alone and not (self.vector and len(self.outs) > 1)
        if self.trained and not (self.fused and len(self.outs) == 1):
            raise no_loss()

    # ---- from the trace to the program

    def _gradients(self, trace: Trace, arguments: Arguments, form: NormalForm, tree: Any) -> dict[str, Any]:
        """The gradient of each node that has one, by the node's name; for a vectorized program, the nodes themselves.

        The gradients of a vectorized program are derived later, from its arrays.
        """
        roots = [] if self.plain else list(filter(_is_recorded, leaves(tree)))
        wanted = {read.name: node for read, node in arguments.differentiable}
        wanted |= {leaf.name: leaf.seen for leaf in trace.order if leaf.seen.requires_grad}
        if self.vector:
            used = set(form.inputs)
            return {name: node for name, node in wanted.items() if data_of(node) in used}
        seeds = [] if self.fused else [trace.like(f"seed{i}", x) for i, x in enumerate(roots)]
        # Without wanted nodes, the roots require a gradient for a derivative that the function takes inside
        if not (roots and wanted):
            return {}
        gradients = grad(roots, [*wanted.values()], seeds or None, True, allow_unused=True)  # a root may occur twice
        pairs = zip(wanted.items(), gradients, strict=True)
        return {name: _over_samples(node, data_of(g)) for (name, node), g in pairs if g is not None}

    def _as_traced(
        self, arguments: Arguments, alive: list[Leaf], form: NormalForm, gradients: dict[str, Any]
    ) -> Lowered:
        """The program as it was traced. The leaves that it is differentiated by come last."""
        trained, values = set(map(id, self.trained)), [out.symbol for out in self.outs]
        own = [x for x in alive if x.name in gradients and (not trained or id(x.ref()) in trained)]
        if trained and own:
            # `step()` would update the Tensors with a gradient, and all Values that are not frozen
            moves = lambda x: x.name in gradients or (isinstance(x.ref(), Value) and x.ref().requires_grad)  # noqa: E731
            own = [x for x in alive if id(x.ref()) in trained and moves(x)]
        chosen = set(own)
        used = set(form.inputs) if self.vector else {leaf.symbol for leaf in alive}
        leaves = [*(leaf for leaf in alive if leaf.symbol in used and leaf not in chosen), *own]
        by = [read.name for read, _ in arguments.differentiable if read.name in gradients]
        by += [leaf.name for leaf in own]
        if self.plain and not self.vector and _is_nested(self.tree):
            self.as_text, values = True, self.filled(values)
        return Lowered(
            (*["leaves"] * bool(leaves), *arguments.names),
            (*(Read(leaf.name, "leaves", (i,)) for i, leaf in enumerate(leaves)), *arguments.reads),
            values,
            None if self.plain else [] if self.vector else [gradients.get(name, 0.0) for name in by],
            tuple(by),
            leaves=tuple([leaf.ref() for leaf in leaves]),
        )

    def _with_updates(self, program: Lowered, alive: list[Leaf]) -> Lowered:
        """The program that ends with the optimizer's own rule, run on Symbols, for each parameter with a gradient."""
        if not program.by:
            raise ValueError("none of the parameters of the optimizer in update= affects the loss")
        _, self.trained = _differentiated(program)
        self.apart = self.vector and counts_differ(self.update, self.trained)
        inputs = {leaf.name: leaf.symbol for leaf in alive} | {x.args[0]: x for x in program.inputs}
        rule, graph = copy(self.update), inputs[program.by[0]].graph
        rule.lr = graph.input("lr")
        reads, updates = [Read("lr", "update", (0,))], []
        for i, (name, g) in enumerate(zip(program.by, program.gradients or (), strict=True)):
            symbol = inputs[name]
            array, state = (symbol.shape, symbol.dtype, symbol.named), {}
            for key, has_shape in rule._remembers.items():  # a part of the parameter's shape, or a count
                state[key] = graph.input(f"s{i}_{key}", *(array if has_shape or self.apart else ()))
            p, before = SimpleNamespace(data=symbol), dict(state)
            rule._update(p, g, state)
            changed = {key: x for key, x in state.items() if x is not before[key]}
            self.remembered = {key: rule._remembers[key] for key in changed}
            updates += [(symbol, p.data), *((before[key], x) for key, x in changed.items())]
            kind = "as_is" if self.resident else "value" if symbol.shape is None else "tensor"
            reads.append(Read(name, "update", (1 + 2 * i, *["data"] * self.resident), kind))
            for key in changed:
                kind = "as_is" if self.resident or rule._remembers[key] else "count"
                reads.append(Read(before[key].args[0], "update", (2 + 2 * i, key), kind))
        rest = program.leaves[: -len(self.trained)]
        return replace(
            program,
            parameters=(*["leaves"] * bool(rest), "update", *self.names),
            reads=(*reads, *(read for read in program.reads if read.name not in program.by)),
            gradients=[],
            by=(),
            updates=tuple(updates),
            leaves=rest,
        )

    # ---- what each call verifies

    def _checking(self, rules: list[Callable], values: list[Any], reads: list[Read], alive: list[Leaf]) -> Any:
        """A check of the program's arguments, which raises as the function itself would; None if there are no rules.

        The numbers to verify are computed by another program, which runs first, so that a refused step updates nothing.
        """
        if not symbols_in(values):
            return None
        name_of = {id(x.ref()): x.name for x in alive}
        reads = [*reads, *(Read(name_of[id(x)], "leaves", (i,)) for i, x in enumerate(self.leaves))]
        if self.vector:  # the trained Values are in one array (`Store`)
            reads += [Read(name_of[id(x)], "update", (1, "data", i)) for i, x in enumerate(self.trained)]
        reads = list({read.name: read for read in (*self.lowered.reads, *reads)}.values())
        names = {symbol.args[0] for symbol in needed(values) if symbol.op == "input"}

        def is_used(read: Read) -> bool:
            return any(name == read.name or name.startswith(f"{read.name}_") for name in names)

        used = {read.parameter for read in reads if is_used(read)}
        # The leaves are unpacked all at once
        reads = [read for read in reads if is_used(read) or read.parameter in used & {"leaves"}]
        self.labels, self.rules = Lowered(self.lowered.parameters, tuple(reads), values), rules
        code = compiled("python", self.labels)
        places = [i for i, name in enumerate(self.lowered.parameters) if name in used]
        passed: list[Any] = [None]  # the content of the arrays that passed last: labels are often passed again

        def check(arguments: Sequence[Any]) -> None:
            arrays = [arguments[i] for i in places]
            content = [x.tobytes() for x in arrays] if all(x.__class__ is np.ndarray for x in arrays) else None
            if content is None or content != passed[0]:
                deque(map(call, rules, code(*arguments)), 0)  # type: ignore[arg-type]
                passed[0] = content

        return check

    # ---- the code

    def _compile(self, write: Callable) -> None:
        """Compile both halves: the function, and its gradients given the seeds."""
        if not self.fused and (grads := self.lowered.gradients):
            seeds = ["seeds"] if self.vector else [f"seed{out.root}" for out in self.outs if out.root is not None]
            self.back = write(Lowered((*self.lowered.parameters, *seeds), self.lowered.reads, grads))
            self.lowered = replace(self.lowered, gradients=[], by=())
        self.code: Executable = write(self.lowered)


def _guarded(reached: list[Any], run: Callable[[], Any]) -> Any:
    """The result of the user's code, which may leave no node in the objects it reaches, and draw no random number."""
    return without_draws(partial(without_remains, reached, run), generators_in(reached))


def _differentiated(program: Lowered) -> tuple[list[Read], list[Any]]:
    """The nodes that a program is differentiated by: the places of arguments, and the nodes among the leaves."""
    reads: dict[str, Read] = {read.name: read for read in program.reads}
    places: list[Read] = []
    own: list[Any] = []
    for read in map(reads.__getitem__, program.by):
        if read.parameter == "leaves":
            nodes = program.leaves[read.keys[0]] if read.keys else program.leaves
            own += nodes if read.kind == "vector" else [nodes]
        else:
            places += map(reads.__getitem__, read.keys) if read.kind == "vector" else [read]
    return places, own


def _simplified(program: Lowered) -> Lowered:
    """The program in a new graph, in its simplest form. The old graph is released."""
    values, gradients, updates = rebuilt((program.values, program.gradients, program.updates))
    for symbol in symbols_in(program.outputs)[:1]:
        symbol.graph.let_go()
    return replace(program, values=values, gradients=gradients, updates=updates)


def counts_differ(update: Any, params: list[Any]) -> bool:
    """True if the optimizer counts its steps, and has made more with one of the parameters than with another."""
    counts = [name for name, has_shape in (update._remembers or {}).items() if not has_shape]
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
    """A gradient in the shape of its node. Under `batch`, a number that all samples share gets the sum over them."""
    if isinstance(node, Value) and getattr(data_of(node), "shape", None) is None and getattr(g, "shape", None):
        return g.graph.make(".item", (g.sum(),))
    return g
