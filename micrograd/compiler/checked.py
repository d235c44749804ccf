"""Checking: each call of a compiled function also runs the function itself, and both must give the same.

>>> from .api import compile
>>> scale = [2.0]
>>> f = compile(lambda x: scale[0] * x, check=True)
>>> f(3.0).data
6.0
>>> scale[0] = 5.0
>>> f(3.0)  # doctest: +ELLIPSIS
Traceback (most recent call last):
RuntimeError: the compiled function gives 6.0 for the result, and the function itself 15.0...

The results are compared first, then the gradients of each with respect to every leaf; and with `update=`, the
parameters after the step, and what the optimizer remembers of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from copy import copy, deepcopy
from typing import Any, NamedTuple

from ..common.trees import leaves, refilled, tree_map
from ..engine.modes import Mode
from ..engine.rows import LEAF
from ..engine.value import Value
from ..nn.module import Module
from ..optim.optimizers import State
from ..scalars.kinds import is_node, node_of, plain
from ..scalars.passes import run_pass, topological
from ..scalars.roots import seeded
from ..tensor.optional import Tensor, np
from .inputs import untraced
from .trace_errors import defined_at, generators_in, restore, states

NEAR, NEAR_FLOAT32 = 1e-9, 1e-4  # what may be rounding, relative to the greatest number in an array
FLOOR = 1e-3  # the same for a number that is small beside the others: this part of it, of the greatest of them or of 1
_way: ContextVar[Any] = ContextVar("way", default=None)


class check_compiled(Mode):
    """Context manager or decorator that checks every call of a compiled function, as `compile(fn, check=True)` does.

    Use it for debugging, when you suspect that a program does not do what its function does. A checked call also runs
    the function uncompiled, and raises at the first number or gradient that differs by more than rounding.

    Args:
        fn: the function to decorate, or nothing in a `with`.

    Raises:
        RuntimeError: (in a call) a compiled function and the function itself differ.

    >>> from micrograd import check_compiled, compile
    >>> rate = {"k": 2.0}
    >>> f = compile(lambda x: rate["k"] * x)
    >>> f(1.0).data
    2.0
    >>> rate["k"] = 3.0  # a number in a container: a constant of the program
    >>> with check_compiled():
    ...     f(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    RuntimeError: the compiled function gives 2.0 for the result, and the function itself 3.0...
    """

    variable = _way
    value = "checked"


class _by_program(Mode):
    variable, value = _way, "by its program"


class _uncompiled(Mode):
    variable, value = _way, "uncompiled"


def way() -> str:
    """How compiled functions run in this thread: "checked", "uncompiled" inside a check, else by their programs."""
    state = _way.get()
    return "" if state is None else state.value


class Checked:
    """Mixin of a compiled function whose every call is checked."""

    __slots__ = ()

    def __call__(self, *args: Any, **named: Any) -> Any:
        with check_compiled():
            return super().__call__(*args, **named)  # type: ignore[misc]


# ---------------------------------------------------------------------------------------------------------------------
# A call


def checked_call(f: Any, run: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The result of a call by the program, `run`, if the function itself gives the same."""
    with _by_program():
        found = run(f, *args, **named)
    wanted = itself(f, args, named)
    if problem := difference(f, found, wanted, args):
        with _by_program():
            traced_now = f.fresh()(*args, **named)
        stale = not difference(f, traced_now, wanted, args)
        raise failure(f, problem + _STALE * stale)
    return found


_STALE = "; a new trace gives the same: what was a constant has changed since the last one, so call retrace()"


def failure(f: Any, problem: str) -> RuntimeError:
    """The error for a difference, with the line of the function."""
    return RuntimeError(f"the compiled function gives {problem}; {f!r} is {defined_at(f.origin)}")


def itself(f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What the function returns uncompiled. It must not draw, so the global generators are as before."""
    before = states(generators := generators_in(()))
    try:
        with _uncompiled(), np.errstate(all="ignore"):
            return _of_samples(f, args, named) if f.settings["batch"] else f.untraced(args, named)
    finally:
        restore(generators, before)


def _of_samples(f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The function of one sample, for each: a tree like that of the first, whose leaves are lists."""
    n = next(len(x) for x in leaves(args) if isinstance(x, np.ndarray))
    one = lambda i: tree_map(lambda x: x[i].astype(float).tolist() if isinstance(x, np.ndarray) else x, args)  # noqa: E731
    found = [untraced(f.fn, one(i), named, True) for i in range(n)]
    return refilled(found[0], map(Samples, zip(*map(leaves, found), strict=True))) if found else found


class Samples:
    """A result for each sample."""

    def __init__(self, parts: tuple[Any, ...]):
        self.parts = parts


class Out(NamedTuple):
    """A result as nodes and as numbers."""

    name: str
    nodes: list[Any]
    numbers: Any


def _outs(tree: Any) -> list[Out]:
    return [_out(name if "[" in name else "the result", x) for name, x in placed(tree, "result")]


def _out(name: str, x: Any) -> Out:
    parts = x.parts if isinstance(x, Samples) else (x,)
    numbers = [plain(part) for part in parts]
    of_all = isinstance(x, Samples) and not isinstance(numbers[0], (bool, str, type(None)))
    return Out(name, list(filter(is_node, parts)), np.array(numbers) if of_all else numbers[0])


def difference(f: Any, found: Any, wanted: Any, args: tuple[Any, ...]) -> str:
    """The first difference between two results or their gradients, as text; "" if there is none."""
    ours, theirs = _outs(found), _outs(wanted)
    if [x.name for x in ours] != [x.name for x in theirs]:
        return f"{found!r:.60}, and the function itself {wanted!r:.60}"
    near = rounding(f)
    top = greatest(x.numbers for x in theirs)
    for a, b in zip(ours, theirs, strict=True):
        if problem := unlike(a.name, a.numbers, b.numbers, near, top):
            return problem
    names = _names(f, args)
    inputs = list(dict.fromkeys([*names, *_leaves([*ours, *theirs])]))
    for a, b in zip(ours, theirs, strict=True):
        both = [_gradients(out, inputs) for out in (a, b)]
        top = greatest(both[1])
        for node, g, expected in zip(inputs, *both, strict=True):
            name = f"the gradient of {a.name} with respect to {names.get(node) or _shown(node)}"
            if problem := unlike(name, g, expected, near, top):
                return problem
    return ""


def _leaves(outs: list[Out]) -> Iterator[Any]:
    """The leaves that the results depend on."""
    roots = [node_of(x) for out in outs for x in out.nodes]
    for node in topological([root for root in roots if root._row is not None]):
        if node._row is LEAF:
            yield node


def _gradients(out: Out, inputs: list[Any]) -> list[Any]:
    """The gradients of one result, each of its elements weighted by another number; 0 where it does not depend."""
    roots = [x for x in out.nodes if x.requires_grad]
    weights: list[Any] = [1.0 + i / max(len(roots) - 1, 1) for i in range(len(roots))]
    if len(roots) == 1 and isinstance(roots[0], Tensor):
        weights = [np.linspace(1.0, 2.0, roots[0].size).reshape(roots[0].shape).astype(roots[0].dtype)]
    nodes = [*map(node_of, roots)]
    grads = run_pass(nodes, seeded(nodes, weights, False), inputs=inputs)[1] if nodes else {}
    return [0.0 if (g := grads.get(node)) is None else plain(g) for node in inputs]


# ---------------------------------------------------------------------------------------------------------------------
# A training step


def checked_step(f: Any, run: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The loss of a step by the program, `run`, if the function itself and the optimizer make the same step."""
    checked_call(f.loss, run, args, named)
    update, wanted = f.optimizer, stepped(f.optimizer, itself(f, args, named))
    before = [(p, copy(plain(p)), deepcopy(dict(update.state[p]))) for p in update.params]
    with _by_program():
        loss = run(f, *args, **named)
    names, near = _names(f, args), rounding(f)
    top = greatest(map(plain, wanted.params))
    for p, q in zip(update.params, wanted.params, strict=True):
        name = names.get(node_of(p)) or _shown(node_of(p))
        pairs = [(name, plain(p), plain(q))]
        pairs += [(f"{key!r} of {name}", update.state[p].get(key), x) for key, x in wanted.state[q].items()]
        for what, a, b in pairs:
            if problem := unlike(what, a, b, near, top):
                for param, data, state in before:
                    param.data = data
                    update.state[param].clear()
                    update.state[param].update(state)
                raise failure(f, f"{problem}, after the step")
    return loss


def stepped(update: Any, loss: Any) -> Any:
    """A copy of the optimizer, with copies of its parameters, after a step on this loss."""
    nodes = list(map(node_of, update.params))
    wanted = [node for node in nodes if node._row is not None]
    found = dict(zip(wanted, _gradients(Out("", [loss], 0.0), wanted), strict=True))
    trial = copy(update)
    trial.state, trial.params = {}, []
    for p, node in zip(update.params, nodes, strict=True):
        twin = (Value if node._is_number else Tensor)(plain(p), requires_grad=True)
        g = found.get(node, 0.0)
        twin.grad = g if node._is_number or g.__class__ is not float else None
        trial.params.append(twin)
        trial.state[twin] = State(deepcopy(dict(update.state[p])))
    trial._reduced = True
    trial.step()
    return trial


# ---------------------------------------------------------------------------------------------------------------------
# Numbers, and names for them


def rounding(f: Any) -> float:
    """The relative difference that rounding may make: that of the coarsest floats in the program."""
    kinds = [x.dtype for x in f.program.built.lowered.steps if x.shape is not None]
    return NEAR_FLOAT32 if any(kind.kind == "f" and kind.itemsize < 8 for kind in kinds) else NEAR


def greatest(numbers: Any) -> float:
    """The greatest finite number, or 1."""
    return max((abs(x) for part in numbers for x in _flat(part) or () if math.isfinite(x)), default=1.0)


def _flat(x: Any) -> list[Any] | None:
    """The numbers of an array, or the only one; None if x is neither."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.ravel().tolist()
    return [x] if isinstance(x, (int, float)) else None


def unlike(name: str, a: Any, b: Any, near: float, top: float) -> str:
    """Where two numbers or arrays differ, as text; "" if they do not."""
    ours, theirs = _flat(a), _flat(b)
    if ours is None or theirs is None:
        return "" if a is b or a == b else f"{a!r:.60} for {name}, and the function itself {b!r:.60}"
    shapes = getattr(a, "shape", ()), getattr(b, "shape", ())
    if shapes[0] != shapes[1]:
        return f"the shape {shapes[0]} for {name}, and the function itself {shapes[1]}"
    most = near * max(greatest([b]) * (len(theirs) > 0), FLOOR * max(top, 1.0))
    for i, (x, y) in enumerate(zip(ours, theirs, strict=True)):
        if not (x == y or abs(x - y) <= most or (x != x and y != y)):
            index = f"{list(map(int, np.unravel_index(i, shapes[0])))} of " if shapes[0] else ""
            return f"{x!r} for {index}{name}, and the function itself {y!r}"
    return ""


def placed(tree: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a tree, each with its place as text."""
    if isinstance(tree, (list, tuple, dict)):
        for key, x in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from placed(x, f"{name}[{key!r}]")
    else:
        yield name, tree


def _names(f: Any, args: tuple[Any, ...]) -> dict[Any, str]:
    """The nodes that may get a gradient from outside of the function, and names for them: "" for lack of one."""
    nodes: dict[Any, str] = {node_of(p): "" for p in f.program.built.leaves if p.requires_grad}
    for module in f.program.guard[1].values():
        for name, p in module.named_parameters() if isinstance(module, Module) else ():
            nodes.update({node_of(p): name} if not nodes.get(node_of(p), name) else {})
    for name, x in zip(f.program.built.names, args, strict=True):
        nodes |= {node_of(p): place for place, p in placed(x, name) if is_node(p) and p.requires_grad}
    return {node: node.label or name for node, name in nodes.items()}


def _shown(node: Any) -> str:
    return f"a Value of {plain(node)}" if isinstance(node, Value) else f"a Tensor of shape {plain(node).shape}"
