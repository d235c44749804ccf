"""One program: a function compiled for arguments of one signature, and results with a history.

`Program` traces the function, differentiates it and generates code; calling it runs that code. Its result is a node
whose row belongs to the program:

>>> from .api import compile
>>> x = Value(3.0)
>>> square = compile(lambda x: x * x)
>>> loss = square(x)

`loss._b` are the nodes that it is differentiated by. `loss._x` describes the call: its gradients, or what is needed to
compute them.

>>> loss._b == (x,), loss._x[0].grads
(True, [6.0])
>>> loss.backward()  # the fast path: no walk, the gradients are added as they are
>>> x.grad
6.0

A pass that needs more (hooks, `inputs`, a graph around this node) walks as usual and calls the row. `create_graph=True`
runs the function itself, on nodes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, ItemsView, Sequence
from functools import partial
from itertools import chain
from typing import Any

from ..autograd.transforms import copied
from ..common.collector import without_collector
from ..common.trees import leaves, tree_map
from ..engine.locks import holding
from ..engine.modes import before_change, interceptor, modes_on, on_change
from ..engine.rows import LEAF
from ..engine.value import Value, fill_slots
from ..engine.walk import lock
from ..optim.optimizers import states_of
from ..scalars.anomaly import is_anomaly_enabled
from ..scalars.hooks import hooked
from ..scalars.kinds import node_of
from ..scalars.passes import run_pass, topological
from ..scalars.release import release
from ..scalars.roots import seeded
from ..scalars.rows import Many, nothing
from ..tensor.optional import Storage, Tensor, new_node, np, wrap
from . import backends
from .build import Built, Out, counts_differ
from .inputs import untraced
from .lowered import Read, vector
from .offload import Numbers, Store, at_hand, store_of
from .stale import Guards, compile_guard, same_objects
from .traced_nodes import data_of

_ONE_OF_TWO = (
    "a compiled function that takes a gradient with respect to one of its arguments cannot tell it from the same node "
    "in another place, or from what was computed from it: pass detach() of one, or compile gradient(fn)"
)
_CHANGED = "create_graph=True: what a compiled call used was changed since; call it again"


class Program:
    """A traced function, compiled for arguments of one signature."""

    def __init__(self, owner: Any, built: Built, named: dict[str, Any], guards: Guards):
        self.fn: Any = owner.fn
        self.named = named
        self.built = built
        self.settings: dict[str, Any] = owner.settings
        self.code: Any = built.code
        kinds = {read.kind for read in built.lowered.reads if read.parameter == "leaves"}
        if kinds == {"vector"} and not built.check:
            self._read: Any = Numbers(built.leaves, built.own)
        else:
            self._read = _reader(built.leaves, _is_resident(self.settings)) if built.leaves else tuple
        self._operands = picker(built.names, built.places, built.own)
        self.guard: tuple[str, dict[str, Any]] = guards.checks(built.used, built.needed(), built.answers)
        self.current: Callable[[], bool] = compile_guard(*self.guard)
        if not self.current():  # the function itself changed what it reads, which happens once
            self.guard = Guards(owner.origin, named).checks(built.used, built.needed(), built.answers)
            self.current = compile_guard(*self.guard)
        self.row: ProgramRow = ProgramRow(getattr(owner.origin, "__name__", "compiled").strip("<>"))

    def gradients_before(self, nodes: Sequence[Any]) -> list[Any]:
        """What those of a call's operands that are leaves have in `.grad`."""
        if self._read.__class__ is Numbers and not self.built.places and self._read.are_away():
            return [p._gradient for p in nodes]
        return [p._gradient for p in nodes if p._row is LEAF]

    def is_current(self) -> bool:
        """False if what it read was replaced since."""
        return self.current()

    def quick(self, otherwise: Callable[..., Any]) -> Callable[..., Any] | None:
        """A `__call__` specialised to float arguments: the code itself, or `otherwise` for any others.

        None if the results of floats are not just numbers, or not of Python's.
        """
        of_ours = self.settings["backend"] in ("auto", "python", "numpy")
        if self.built.leaves or self.built.check or not (self.built.as_text and of_ours):
            return None
        (checks, objects), names = self.guard, self.built.lowered.parameters
        tests = ["not (rest or named or modes_on)", *(f"{name}.__class__ is float" for name in names), checks]
        _, *lines, answer = self.code.source.splitlines()
        source = [
            f"def program({', '.join(['self', *(f'{name}=absent' for name in names)])}, /, *rest, **named):",
            "    try:",
            f"        if {' and '.join(tests)}:",
            *(f"        {line}" for line in [*lines, answer.replace("return", "answer =", 1)]),
            "            self._hits += 1",
            "            return answer",
            "    except (ArithmeticError, AttributeError, LookupError, ValueError):",
            "        pass  # the code is run with more care, or is stale",
            f"    return otherwise(self, *[x for x in ({', '.join([*names, ''])}) if x is not absent], *rest, **named)",
        ]
        known = {**self.code.run.__globals__, **objects, "modes_on": modes_on}
        known |= {"absent": object(), "otherwise": otherwise}
        exec("\n".join(source), known)
        return known["program"]

    # ---- running

    def _run(self, args: tuple[Any, ...]) -> Any:
        """Run the program: nodes, or numbers and arrays if it is `plain`, such as that of a gradient."""
        built = self.built
        if built.by_identity and not built.plain:
            nodes = [x for x in (*leaves(args), *built.used) if isinstance(x, (Value, Tensor)) and x.requires_grad]
            if not are_independent(nodes):
                raise RuntimeError(_ONE_OF_TWO)
        given = (*self._read(), *args)
        if built.check:
            built.check(given)
        if built.plain:
            outs, call = self.code(*given), None
            if built.as_text:
                return outs
        else:
            outs, grads = self.code(*given)
            if built.vector and grads:
                grads = np.concatenate(grads) if len(grads) > 1 else grads[0]
            call = ProgramCall(self, args, given, grads, self._operands(*args))
        if built.vector:
            outs = list(outs) if self.settings["batch"] else outs.tolist()
        if built.tree.__class__ is Out:
            return self._answer(built.tree, outs[0], call)
        made = iter(outs)
        return tree_map(lambda x: self._answer(x, next(made), call) if isinstance(x, Out) else x, built.tree)

    __call__ = _run

    def _answer(self, out: Out, value: Any, call: ProgramCall | None) -> Any:
        """A node with the value, and the call as its history; without a call, the value."""
        if call is None:
            return value
        made: Any = wrap(new_node(np.asarray(value))) if out.is_array else fill_slots(object.__new__(Value), value)
        if out.root is not None and call.operands:
            if out.is_array:
                saved = () if self.built.fused else call.storages()
                made._node._record(self.row, call.operands, (call, out.root), saved)
            else:
                made._record(self.row, call.operands, (call, out.root))
        return made

    def back(self, call: ProgramCall, root: int, g: Any) -> list[Any]:
        """The gradients, given that of one output: the second program runs on the inputs of the call."""
        back: Any = self.built.back
        if self.built.vector:
            parts = back(*call.given, np.array([g if out.root == root else out.zero() for out in self.built.outs]))
            return [x for part in parts for x in part.tolist()]
        seeds = [g if out.root == root else out.zero() for out in self.built.outs if out.root is not None]
        return back(*call.given, *seeds)


class OnDevice(Program):
    """A program that reads or writes numbers where they are: for other threads it runs as a whole."""

    def __call__(self, args: tuple[Any, ...]) -> Any:
        return holding(lock, self._run, args)


class TrainingProgram(OnDevice):
    """A program that ends with the update of the parameters, by the rule of an optimizer.

    It is called with the learning rate, and with what it writes to: the parameters and their states, or, if they are
    `offload`, what their stores hold.
    """

    def __init__(self, owner: Any, built: Built, named: dict[str, Any], guards: Guards):
        super().__init__(owner, built, named, guards)
        self.update: Any = built.update
        self.trained: list[Any] = built.trained
        self.params: list[Any] = list(built.update.params)
        fixed = {name: x for name, x in self.update._settings().items() if name != "lr"}
        self.fixed: ItemsView[str, Any] = fixed.items()
        self.store: Store | None = Store(self.trained, built.apart) if built.vector else None
        used = set() if self.store else set(map(id, built.used))
        self.unseen: list[Any] = [p for p in self.trained if id(p) not in used]  # of which nobody else asks
        self.frozen: list[Any] = [p for p in self.params if isinstance(p, Value) and not p.requires_grad]
        self.states: list[dict[str, Any]] = []  # the content of those that the program wrote to
        self.as_left: Callable[[], bool] = bool  # are these the states, with the arrays that they had?
        self.own: dict[tuple[int, str], Any] = {}  # arrays in states that the program may write to, since it made them
        self.tensors: list[Any] = self.trained if isinstance(self.trained[0], Tensor) else []
        others = self._read
        self._read = lambda: (*others(), self._what_it_writes_to())

    def is_current(self) -> bool:
        """As for any program; and the optimizer has the settings and the parameters that it had."""
        same = operator.eq if self.store else same_objects  # Values are equal only to themselves
        if not (self.fixed <= vars(self.update).items() and same(self.update.params, self.params)):
            return False
        store = self.store
        at_home = not store or "data" not in store.held  # only there it can be frozen
        if any(p.requires_grad for p in self.frozen) or (at_home and not all(p.requires_grad for p in self.unseen)):
            return False
        if store and self.built.remembered and not store.has_states(self.update.state):
            store.give_back()
            if counts_differ(self.update, self.trained) > self.built.apart:
                return False
        return super().is_current()

    def _run(self, args: tuple[Any, ...]) -> Any:
        if on_change:  # lazy mode is in use
            before_change(*map(node_of, self.trained))
        for p in self.tensors:
            if p._node._store is not None:
                p.data = p.data  # a graph that saved the array keeps its copy, and views get a new version
        try:
            answer = super()._run(args)
        except BaseException:
            for state in () if self.built.resident else map(self.update.state.get, self.trained):
                if state and not state.get("steps", True):
                    state.clear()  # no step was made
            raise
        for p in self.tensors if self.built.resident else ():
            store_of(p._node).show()
        return answer

    def _what_it_writes_to(self) -> list[Any]:
        """The learning rate; then, for each parameter or array of them, what has the numbers and what has the state."""
        pairs = self._stores() if self.built.resident else zip(self.trained, self._states(), strict=True)
        return [self.update.lr, *chain.from_iterable(pairs)]

    def _stores(self) -> list[tuple[Any, Any]]:
        """What the stores hold, which is both."""
        groups: Any = [(store_of(p._node), [p]) for p in self.tensors] or [(self.store, self.trained)]
        names, state = self.built.remembered, self.update.state
        for store, params in groups:
            store.fetch(names, state, params)
        return [(store.held, store.held) for store, _ in groups]

    def _states(self) -> list[Any]:
        """The states, with all that the optimizer's rule remembers; None if that is nothing."""
        if not (names := self.built.remembered):
            return [None] * len(self.trained)
        if self.as_left():
            return self.states
        version = getattr(self.update.state, "version", None)  # of before, so that a change in between is seen
        holders = states_of(self.update.state, self.trained)
        states = self.states = [x.data for x in holders]
        for i, content in enumerate(states):
            for name, like in names.items():
                if not (self.tensors and like):
                    content.setdefault(name, 0.0 if like else 0)
                elif content.get(name) is not self.own.get((i, name), self):
                    content[name] = self.own[i, name] = np.full_like(self.tensors[i]._node._data, content.get(name, 0))
        known: dict[str, Any] = {"update": self.update, "version": version}
        known |= {f"h{i}": x for i, x in enumerate(holders)} | {f"s{i}": x for i, x in enumerate(states)}
        known |= {f"a{i}_{name}": x for (i, name), x in self.own.items()}
        asked = ["update.state.version is version", *(f"h{i}.kept is s{i}" for i in range(len(states)))]
        asked += [f"s{i}[{name!r}] is a{i}_{name}" for i, name in self.own]
        asked += [f"{name!r} in s{i}" for i in range(len(states)) for name in names if (i, name) not in self.own]
        self.as_left = compile_guard(" and ".join(asked), known)
        return states


def program_for(owner: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Program:
    """Build the program for a call."""
    nodes = any(isinstance(x, (Value, Tensor)) for x in leaves(list(args)))
    with without_collector():
        guards = Guards(owner.origin, named)
        plain = owner.plain and not nodes
        built = Built(owner.fn, args, named, owner.names, plain, owner.settings, guards.reached)
    made = TrainingProgram if built.update is not None else OnDevice if _is_resident(owner.settings) else Program
    return made(owner, built, named, guards)


class ProgramCall:
    """One call of a program, the history of its results; `given` is what the code ran on.

    If the gradients are not known yet, the code will run again and must see the same numbers: those of Values, lists
    and arrays are copied. The arrays of Tensors are checked by their versions (`storages`).
    """

    __slots__ = ("args", "found", "given", "operands", "program")

    def __init__(self, program: Program, args: Any, given: Any, found: Any, operands: Any):
        self.program: Program = program
        self.args: Any = args
        self.given: Any = given
        self.found: Any = found  # the gradients: a list, or one array of many numbers
        self.operands: Any = operands
        if program.built.back is not None:
            self.args = tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, args)
            self.given = (*given[: len(given) - len(args)], *tree_map(_as_now, self.args))

    @property
    def grads(self) -> list[Any]:
        """The gradients of the operands."""
        return self.found if self.found.__class__ is list else self.found.tolist()

    def commit(self) -> bool:
        """Add the gradients to the operands' `.grad`, all or none; False if one of them is no plain leaf."""
        before = self.program.gradients_before(self.operands)
        if len(before) < len(self.operands):
            return False
        try:
            self._add(before)
        except BaseException:
            for p, grad in zip(self.operands, before, strict=True):
                p._gradient = grad
            raise
        return True

    def _add(self, before: list[Any]) -> None:
        """Add the gradients to the operands' `.grad`, which held these numbers before."""
        twice = self.program.built.places and len({*self.operands}) < len(before)  # an argument that is passed twice
        total = None if self.found.__class__ is list or twice else _sum_of_numbers(before)
        fresh = total.__class__ is int and before.count(0) == len(before)  # no pass has reached any of these Values yet
        if fresh or total.__class__ is float:
            with np.errstate(all="ignore"):
                sums = self.found if fresh else vector(before) + self.found
            for p, grad in zip(self.operands, sums.tolist(), strict=True):
                p._gradient = grad
            return
        for p, part in zip(self.operands, self.grads, strict=True):
            grad = p._gradient  # not that in `before`: the operand may come twice
            if grad.__class__ is float:
                p._gradient = grad + part
            elif p._is_number and grad.__class__ is int and not grad:
                p._gradient = part
            else:
                p._gradient = p._plus(grad, p._fit(part), set())

    def storages(self) -> list[Storage]:
        """The storages that a later run will read."""
        return [x._node.storage for x in (*leaves(self.args), *self.program.built.leaves) if isinstance(x, Tensor)]

    def parts(self, g: Any, root: int) -> list[Any]:
        """The gradients of the operands, given the incoming one."""
        if hasattr(g, "_apply"):
            return self._again(g, root)
        if not self.program.built.fused:
            return self.program.back(self, root, g)
        return [(g.item() if part.__class__ is float and hasattr(g, "item") else g) * part for part in self.grads]

    def _again(self, g: Any, number: int) -> list[Any]:
        """The gradients as nodes: the function itself runs on nodes, and is differentiated.

        It receives copies, one for each place, since a node may be passed twice or be closed over too. They are leaves
        while the gradients are computed, and lead back to the original nodes afterwards.
        """
        program = self.program
        if program.settings["batch"]:
            raise RuntimeError(
                "create_graph=True cannot go through a compiled function of samples (batch=True): compile the gradient "
                "of one sample, compile(gradient(fn), batch=True)"
            )
        self._check()
        given = tree_map(_copied, self.args)
        found = untraced(program.fn, given, program.named, program.settings["scalars"])
        nodes = [x for x in leaves(found) if isinstance(x, (Value, Tensor))]
        root = [x for x, out in zip(nodes, program.built.outs, strict=True) if out.root is not None][number]
        inputs = program._operands(*given)
        if self.grads:
            now = [0.0 if part is None else part for part in _partials(root, inputs)]
            parts = zip(inputs, now, self.grads, strict=True)
            if not all(np.allclose(a, b, equal_nan=True) for node, a, b in parts if node._row):  # else it is frozen now
                raise RuntimeError(_CHANGED)
        return [*_partials(root, inputs, g, create_graph=True)]

    def _check(self) -> None:
        """Raise if the function would not see the numbers of this call."""
        now, then = [*self.program._read(), *self.args], [*self.given]
        if self.program._read.__class__ is Numbers:  # a list, or an array of the same numbers
            now[0], then[0] = vector(now[0]).tolist(), vector(then[0]).tolist()
        if [*map(_must_equal, leaves(now))] != [*map(_must_equal, leaves(then))]:
            raise RuntimeError(_CHANGED)


def _partials(output: Any, inputs: Sequence[Any], g: Any = None, create_graph: bool = False) -> list[Any]:
    """The gradients of an output with respect to inputs treated as independent, even if one was computed from another.

    None for an input that the output does not depend on. Hooks of the inputs are left to the pass that asks.
    """
    if not output.requires_grad:
        return [None] * len(inputs)
    roots = [node_of(output)]
    one_pass = partial(run_pass, roots, seeded(roots, g, create_graph), create_graph, inputs, stop=True)
    _, found = holding(lock, _without_hooks, inputs, one_pass)  # no other pass misses the hooks
    return [found.get(node) for node in inputs]


def _without_hooks(nodes: Sequence[Any], run: Callable[[], Any]) -> Any:
    """The result of `run`, which calls no hook of these nodes."""
    hooks = [(node, node._hooks) for node in nodes if node._hooks]
    try:
        for node, _ in hooks:
            node._hooks = {}
        return run()
    finally:
        for node, those in hooks:
            node._hooks = those


def _sum_of_numbers(grads: list[Any]) -> Any:
    """Their sum: a float, or an int if all are ints, such as the `.grad` of a Value before a pass; else something else.

    >>> _sum_of_numbers([0, 0.5]), _sum_of_numbers([0, 0]), _sum_of_numbers([0, None])
    (0.5, 0, None)
    """
    try:
        return sum(grads)
    except TypeError:  # None
        return None


def are_independent(given: Sequence[Any]) -> bool:
    """True if the nodes are distinct, and none was computed from another."""
    nodes = list(map(node_of, given))
    below = {n for x in topological(nodes) for n in x._operands}
    return len(set(nodes)) == len(nodes) and below.isdisjoint(nodes)


def _must_equal(x: Any) -> Any:
    """What must be the same in a later run: a number, or which array; its content is checked by version."""
    x = x._data if isinstance(x, Value) else x
    return repr(x) if x.__class__ is float else id(data_of(x))  # as text, a nan equals another


def _as_now(x: Any) -> Any:
    """An argument, unaffected by later changes to its node."""
    return x._as_now() if isinstance(x, Value) else wrap(new_node(x._node._data)) if isinstance(x, Tensor) else x


def _copied(x: Any) -> Any:
    return copied(x) if isinstance(x, (Value, Tensor)) and x.requires_grad else x


class ProgramRow(Many):
    """The row of a program's results: each refers to its `Call`."""

    __slots__ = ()

    def __init__(self, name: str):
        super().__init__(name, nothing, lambda g, call, root: call.parts(g, root), needs_values=False)

    def whole_pass(self, node: Any) -> bool:
        """Do a whole pass without a walk, if all operands are plain leaves: add the call's gradients to `.grad`."""
        call = node._x[0]
        operands = call.operands
        if not call.program.built.fused or (modes_on and (is_anomaly_enabled() or interceptor())):
            return False
        if not node._is_number and node._retains_grad:
            return False
        if hooked and any(n._hooks for n in (node, *operands)):
            return False
        if not holding(lock, call.commit):
            return False
        if node._is_number:
            node._gradient = 1.0
        else:
            release(node)
        return True


def _is_resident(settings: dict[str, Any]) -> bool:
    """True if arrays stay where the back end has them."""
    return bool(backends.has(settings["backend"], "RESIDENT"))


def _reader(nodes: Sequence[Any], resident: bool) -> Callable[[], tuple[list[Any]]]:
    """A function that reads the current data of the nodes: of those that stay on a device, where they are."""
    if all(isinstance(x, Value) for x in nodes):
        return lambda: ([x._data for x in nodes],)
    if resident:
        return lambda: ([at_hand(x._node) if isinstance(x, Tensor) else x._data for x in nodes],)
    return lambda: ([x._node._data if isinstance(x, Tensor) else x._data for x in nodes],)


def picker(names: list[str], places: list[Read], outside: list[Any]) -> Callable[..., tuple[Any, ...]]:
    """A function of the arguments that returns the nodes at these places, followed by those from outside."""
    if not places and not any(isinstance(x, Tensor) for x in outside):
        always = tuple(outside)
        return lambda *_: always
    found = (read.place + "._node" * (read.kind == "tensor") for read in places)
    texts = [*found, *(f"outside[{i}]{'._node' * isinstance(x, Tensor)}" for i, x in enumerate(outside))]
    return eval(f"lambda {', '.join(names)}: ({', '.join(texts)},)", {"outside": outside})
