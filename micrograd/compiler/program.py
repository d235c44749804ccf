"""One program: a function compiled for arguments of one signature, and results with a history.

A call of a `Program` runs the code that was generated for the function and its gradients (`Built`). The result is a
node whose row belongs to the program:

>>> from .api import compile
>>> x = Value(3.0)
>>> square = compile(lambda x: x * x)
>>> loss = square(x)

`loss._b` are the nodes that the program is differentiated by. `loss._x` describes the call: its gradients, or the
arguments from which they can be computed.

>>> loss._b == (x,), loss._x[0].grads
(True, [6.0])
>>> loss.backward()  # the fast path, in which the gradients are added without a walk
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
from ..scalars.roots import checked_gradients
from ..scalars.rows import Many, nothing
from ..tensor.optional import Storage, Tensor, new_node, np, wrap
from .build import Built, Out, counts_differ
from .inputs import untraced
from .lowered import Read, vector
from .offload import Numbers, Store, at_hand, store_of
from .stale import Guards, compile_guard, same_objects
from .traced_nodes import data_of

_ONE_OF_TWO = (
    "two arguments of a compiled function are one node, or one was computed from the other, and the function takes a "
    "gradient with respect to one of them: pass detach() of one of them, or compile gradient(fn)"
)
_CHANGED = (
    "create_graph=True: a number or an array that a compiled call used was changed since: call the function again"
)


class Program:
    """A traced function, compiled for arguments of one signature."""

    def __init__(self, owner: Any, built: Built, named: dict[str, Any]):
        self.fn: Any = owner.fn
        self.named = named
        self.built = built
        self.settings: dict[str, Any] = owner.settings
        self.code: Any = built.code
        ways = {read.kind for read in built.lowered.reads if read.parameter == "leaves"}
        if ways == {"vector"} and not built.check:
            self._read: Any = Numbers(built.leaves, built.own)
        else:
            self._read = _reader(built.leaves, built.on_device) if built.leaves else tuple
        self._operands = picker(built.names, built.places, built.own)
        guards = Guards(owner.origin, named, built.used)
        self.guard: tuple[str, dict[str, Any]] = guards.checks(built.needed(), built.answers)
        self.current: Callable[[], bool] = compile_guard(*self.guard)
        self.row: ProgramRow = ProgramRow(getattr(owner.origin, "__name__", "compiled").strip("<>"))

    def gradients_before(self, nodes: Sequence[Any]) -> list[Any]:
        """The `.grad` of each of these operands that is a leaf."""
        if self._read.__class__ is Numbers and not self.built.places and self._read.are_away():
            return [p._gradient for p in nodes]
        return [p._gradient for p in nodes if p._row is LEAF]

    def is_current(self) -> bool:
        """False if something that the function read was replaced since the trace."""
        return self.current()

    def quick(self, otherwise: Callable[..., Any]) -> Callable[..., Any] | None:
        """A `__call__` specialised to float arguments: the code itself, or `otherwise` for other arguments.

        None if the results for floats are not only Python's numbers.
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
            "        pass  # the careful code is needed, or the code is stale",
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
        code_args = (*self._read(), *args)
        if built.check:
            built.check(code_args)
        if built.plain:
            outs, call = self.code(*code_args), None
            if built.as_text:
                return outs
        else:
            outs, grads = self.code(*code_args)
            if built.vector and grads:
                grads = np.concatenate(grads) if len(grads) > 1 else grads[0]
            call = ProgramCall(self, args, code_args, grads, self._operands(*args))
        if built.vector:
            outs = list(outs) if self.settings["batch"] else outs.tolist()
        if built.tree.__class__ is Out:
            return self._answer(built.tree, outs[0], call)
        return built.filled([self._answer(out, value, call) for out, value in zip(built.outs, outs, strict=True)])

    __call__ = _run

    def _answer(self, out: Out, value: Any, call: ProgramCall | None) -> Any:
        """A node with the value, and the call as its history; without a call, the value."""
        if call is None:
            return value
        node: Any = wrap(new_node(np.asarray(value))) if out.is_array else fill_slots(object.__new__(Value), value)
        if out.root is not None and call.operands:
            if out.is_array:
                saved = () if self.built.fused else call.storages()
                node._node._record(self.row, call.operands, (call, out.root), saved)
            else:
                node._record(self.row, call.operands, (call, out.root))
        return node

    def back(self, call: ProgramCall, root: int, g: Any) -> list[Any]:
        """The gradients, given that of one output. The second program runs on the arguments of the first."""
        back: Any = self.built.back
        if self.built.vector:
            seeds = np.array([g if out.root == root else out.zero() for out in self.built.outs])
            return [x for grads in back(*call.code_args, seeds) for x in grads.tolist()]
        seeds = [g if out.root == root else out.zero() for out in self.built.outs if out.root is not None]
        return back(*call.code_args, *seeds)


class OnDevice(Program):
    """A program that reads or writes arrays on a device. It holds the lock, so other threads see it as one change."""

    def __call__(self, args: tuple[Any, ...]) -> Any:
        return holding(lock, self._run, args)


class TrainingProgram(OnDevice):
    """A program that ends with the update of the parameters, by the rule of an optimizer.

    It is called with the learning rate, and with the objects that it writes to. These are the parameters and their
    states or, if a `Store` has them, the dicts of the stores.
    """

    def __init__(self, owner: Any, built: Built, named: dict[str, Any]):
        super().__init__(owner, built, named)
        self.update: Any = built.update
        self.trained: list[Any] = built.trained
        self.params: list[Any] = list(built.update.params)
        fixed = {name: x for name, x in self.update._settings().items() if name != "lr"}
        self.fixed: ItemsView[str, Any] = fixed.items()
        self.store: Store | None = Store(self.trained, built.apart) if built.vector else None
        used = set() if self.store else set(map(id, built.used))
        self.unseen: list[Any] = [p for p in self.trained if id(p) not in used]  # the guard does not watch these
        self.frozen: list[Any] = [p for p in self.params if isinstance(p, Value) and not p.requires_grad]
        self.states: list[dict[str, Any]] = []  # the content of the states that the program wrote to
        self.as_left: Callable[[], bool] = bool  # True if the states, and the arrays in them, are still the same
        self.own: dict[tuple[int, str], Any] = {}  # arrays in states that the program created, and may write to
        self.tensors: list[Any] = self.trained if isinstance(self.trained[0], Tensor) else []
        read_leaves = self._read
        self._read = lambda: (*read_leaves(), self._targets())

    def is_current(self) -> bool:
        """As for any program. In addition, the settings and parameters of the optimizer are still the same."""
        same = operator.eq if self.store else same_objects  # Values are equal only to themselves
        if not (self.fixed <= vars(self.update).items() and same(self.update.params, self.params)):
            return False
        store = self.store
        at_home = not store or "data" not in store.arrays  # a Value in the store cannot be frozen unseen
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
                # A graph that saved the array keeps its copy, and views get a new version
                p.data = p.data
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

    def _targets(self) -> list[Any]:
        """The learning rate, then the owners of the numbers and of the state of each parameter, or array of them."""
        pairs = self._stores() if self.built.resident else zip(self.trained, self._states(), strict=True)
        return [self.update.lr, *chain.from_iterable(pairs)]

    def _stores(self) -> list[tuple[Any, Any]]:
        """The dicts of the stores, which have both."""
        groups: Any = [(store_of(p._node), [p]) for p in self.tensors] or [(self.store, self.trained)]
        names, state = self.built.remembered, self.update.state
        for store, params in groups:
            store.fetch(names, state, params)
        return [(store.arrays, store.arrays) for store, _ in groups]

    def _states(self) -> list[Any]:
        """The states, with an entry for each thing that the optimizer remembers; None if it remembers nothing."""
        if not (names := self.built.remembered):
            return [None] * len(self.trained)
        if self.as_left():
            return self.states
        version = getattr(self.update.state, "version", None)  # read first, so that a later change is seen
        holders = states_of(self.update.state, self.trained)
        states = self.states = [x.data for x in holders]
        for i, content in enumerate(states):
            for name, has_shape in names.items():
                if not (self.tensors and has_shape):
                    content.setdefault(name, 0.0 if has_shape else 0)
                elif content.get(name) is not self.own.get((i, name), self):
                    content[name] = self.own[i, name] = np.full_like(self.tensors[i]._node._data, content.get(name, 0))
        known: dict[str, Any] = {"update": self.update, "version": version}
        known |= {f"h{i}": x for i, x in enumerate(holders)} | {f"s{i}": x for i, x in enumerate(states)}
        known |= {f"a{i}_{name}": x for (i, name), x in self.own.items()}
        tests = ["update.state.version is version", *(f"h{i}.kept is s{i}" for i in range(len(states)))]
        tests += [f"s{i}[{name!r}] is a{i}_{name}" for i, name in self.own]
        tests += [f"{name!r} in s{i}" for i in range(len(states)) for name in names if (i, name) not in self.own]
        self.as_left = compile_guard(" and ".join(tests), known)
        return states


def program_for(owner: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Program:
    """Build the program for a call."""
    nodes = any(isinstance(x, (Value, Tensor)) for x in leaves(list(args)))
    with without_collector():
        before = Guards(owner.origin, named)  # its nodes outlive the trace, so that none counts as created inside
        plain = owner.plain and not nodes
        built = Built(owner.fn, args, named, owner.names, plain, owner.settings, before.reached)
    if built.update is not None:
        return TrainingProgram(owner, built, named)
    return (OnDevice if built.on_device else Program)(owner, built, named)


class ProgramCall:
    """One call of a program, the history of its results, with the arguments of the function and of the program's code.

    If the gradients are not computed yet, the code will run again and must see the same numbers. Those of Values, lists
    and arrays are copied. The arrays of Tensors are checked by their versions (`storages`).
    """

    __slots__ = ("args", "code_args", "computed", "operands", "program")

    def __init__(self, program: Program, args: Any, code_args: Any, computed: Any, operands: Any):
        self.program: Program = program
        self.args: Any = args
        self.code_args: Any = code_args
        self.computed: Any = computed  # the gradients: a list, or one array of many numbers
        self.operands: Any = operands
        if program.built.back is not None:
            self.args = tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, args)
            self.code_args = (*code_args[: len(code_args) - len(args)], *tree_map(_as_now, self.args))

    @property
    def grads(self) -> list[Any]:
        """The gradients of the operands."""
        return self.computed if self.computed.__class__ is list else self.computed.tolist()

    def commit(self) -> bool:
        """Add the gradients to the operands' `.grad`, all or none; False if an operand is no plain leaf."""
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
        """Add the gradients to the operands' `.grad`, which was `before`."""
        twice = self.program.built.places and len({*self.operands}) < len(before)  # an argument may be passed twice
        total = None if self.computed.__class__ is list or twice else _sum_of_numbers(before)
        fresh = total.__class__ is int and before.count(0) == len(before)  # no pass has reached any of these Values yet
        if fresh or total.__class__ is float:
            with np.errstate(all="ignore"):
                sums = self.computed if fresh else vector(before) + self.computed
            for p, grad in zip(self.operands, sums.tolist(), strict=True):
                p._gradient = grad
            return
        for p, g in zip(self.operands, self.grads, strict=True):
            grad = p._gradient  # not that in `before`, since an operand may come twice
            if grad.__class__ is float:
                p._gradient = grad + g
            elif p._is_number and grad.__class__ is int and not grad:
                p._gradient = g
            else:
                p._gradient = p._plus(grad, p._cast_gradient(g), set())

    def storages(self) -> list[Storage]:
        """The storages that a later run will read."""
        return [x._node.storage for x in (*leaves(self.args), *self.program.built.leaves) if isinstance(x, Tensor)]

    def parts(self, g: Any, root: int) -> list[Any]:
        """The gradients of the operands, given the incoming one."""
        if hasattr(g, "_apply"):
            return self._again(g, root)
        if not self.program.built.fused:
            return self.program.back(self, root, g)
        number = g.item() if hasattr(g, "item") else g
        return [(number if grad.__class__ is float else g) * grad for grad in self.grads]

    def _again(self, g: Any, number: int) -> list[Any]:
        """The gradients as nodes: the function itself runs on nodes, and is differentiated.

        The function receives copies, one for each place, since a node may be passed twice or be closed over too. The
        copies are leaves while the gradients are computed, and lead back to the original nodes afterwards.
        """
        program = self.program
        if program.settings["batch"]:
            raise RuntimeError(
                "create_graph=True cannot go through a compiled function of samples (batch=True): compile the gradient "
                "of one sample, compile(gradient(fn), batch=True)"
            )
        self._check()
        args = tree_map(_copied, self.args)
        result = untraced(program.fn, args, program.named, program.settings["scalars"])
        nodes = [x for x in leaves(result) if isinstance(x, (Value, Tensor))]
        root = [x for x, out in zip(nodes, program.built.outs, strict=True) if out.root is not None][number]
        inputs = program._operands(*args)
        if self.grads:
            now = [0.0 if grad is None else grad for grad in _partials(root, inputs)]
            pairs = [(a, b) for node, a, b in zip(inputs, now, self.grads, strict=True) if node._row]  # not frozen
            if not all(np.allclose(a, b, equal_nan=True) for a, b in pairs):
                raise RuntimeError(_CHANGED)
        return [*_partials(root, inputs, g, create_graph=True)]

    def _check(self) -> None:
        """Raise if the function would not see the numbers of this call."""
        now, then = [*self.program._read(), *self.args], [*self.code_args]
        # Either may be a list or an array of the same numbers
        if self.program._read.__class__ is Numbers:
            now[0], then[0] = vector(now[0]).tolist(), vector(then[0]).tolist()
        if [*map(_must_equal, leaves(now))] != [*map(_must_equal, leaves(then))]:
            raise RuntimeError(_CHANGED)


def _partials(output: Any, inputs: Sequence[Any], g: Any = None, create_graph: bool = False) -> list[Any]:
    """The gradients of an output with respect to inputs treated as independent, even if one was computed from another.

    None for an input that the output does not depend on. Hooks of the inputs run in the caller's pass, not here.
    """
    if not output.requires_grad:
        return [None] * len(inputs)
    roots = [node_of(output)]
    one_pass = partial(run_pass, roots, checked_gradients(roots, g, create_graph), create_graph, inputs, stop=True)
    # With the lock, no other pass misses the hooks
    _, gradients = holding(lock, _without_hooks, inputs, one_pass)
    return [gradients.get(node) for node in inputs]


def _without_hooks(nodes: Sequence[Any], run: Callable[[], Any]) -> Any:
    """The result of `run`, which calls no hook of these nodes."""
    hooks = [(node, node._hooks) for node in nodes if node._hooks]
    try:
        for node, _ in hooks:
            node._hooks = {}
        return run()
    finally:
        for node, of_node in hooks:
            node._hooks = of_node


def _sum_of_numbers(grads: list[Any]) -> Any:
    """The sum of some `.grad`: an int if all are ints, as those of Values before a pass, a float, or something else.

    >>> _sum_of_numbers([0, 0.5]), _sum_of_numbers([0, 0]), _sum_of_numbers([0, None])
    (0.5, 0, None)
    """
    try:
        return sum(grads)
    except TypeError:  # a Tensor without a gradient has None
        return None


def are_independent(handles: Sequence[Any]) -> bool:
    """True if these Values and Tensors are distinct, and none was computed from another."""
    nodes = list(map(node_of, handles))
    operands = {operand for node in topological(nodes) for operand in node._operands}
    return len(set(nodes)) == len(nodes) and operands.isdisjoint(nodes)


def _must_equal(x: Any) -> Any:
    """A number, or the identity of an array, which must be the same in a later run. Versions check the content."""
    x = x._data if isinstance(x, Value) else x
    return repr(x) if x.__class__ is float else id(data_of(x))  # as text, a nan equals a nan


def _as_now(x: Any) -> Any:
    """An argument, unaffected by later changes to its node."""
    return x._as_now() if isinstance(x, Value) else wrap(new_node(x._node._data)) if isinstance(x, Tensor) else x


def _copied(x: Any) -> Any:
    return copied(x) if isinstance(x, (Value, Tensor)) and x.requires_grad else x


class ProgramRow(Many):
    """The row of a program's results. Each refers to its `ProgramCall`."""

    __slots__ = ()

    def __init__(self, name: str):
        super().__init__(name, nothing, lambda g, call, root: call.parts(g, root), reads_values=False)

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


def _reader(nodes: Sequence[Any], on_device: bool) -> Callable[[], tuple[list[Any]]]:
    """A function that reads the current data of the nodes. An array that is on a device is read there."""
    if all(isinstance(x, Value) for x in nodes):
        return lambda: ([x._data for x in nodes],)
    array_of = at_hand if on_device else operator.attrgetter("_data")
    return lambda: ([array_of(x._node) if isinstance(x, Tensor) else x._data for x in nodes],)


def picker(names: list[str], places: list[Read], outside: list[Any]) -> Callable[..., tuple[Any, ...]]:
    """A function of the arguments that returns the nodes at these places, followed by the nodes from outside."""
    if not places and not any(isinstance(x, Tensor) for x in outside):
        always = tuple(outside)
        return lambda *_: always
    texts = [read.place + "._node" * (read.kind == "tensor") for read in places]
    texts += [f"outside[{i}]" + "._node" * isinstance(x, Tensor) for i, x in enumerate(outside)]
    return eval(f"lambda {', '.join(names)}: ({', '.join(texts)},)", {"outside": outside})
