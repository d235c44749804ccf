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

The results are compared first, then the gradients of each with respect to every leaf; and with `update=`, the loss of
the step, the parameters after it, and what the optimizer remembers of them. All are compared as `Pairs`: a name, the
number or array that the program gives, and that of the function itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from copy import copy, deepcopy
from typing import Any

from ..common.trees import leaves, tree_map
from ..engine.modes import Mode
from ..engine.rows import LEAF
from ..engine.value import Value
from ..nn.module import Module
from ..scalars.kinds import is_node, node_of, plain
from ..scalars.passes import run_pass, topological
from ..scalars.roots import seeded
from ..tensor.optional import Tensor, np
from .inputs import untraced
from .trace_errors import defined_at, generators_in, restore, states

NEAR, NEAR_FLOAT32 = 1e-9, 1e-4  # what may be rounding, relative to the greatest number in an array
FLOOR = 1e-3  # the same for a number that is small beside the others: this part of it, of the greatest of them or of 1
Pairs = list[tuple[str, Any, Any]]
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
# Two runs


def checked_call(f: Any, run: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any]:
    """The results of a call by the program, `run`, and by the function itself, which are the same."""
    with _by_program():
        found = run(f, *args, **named)
    wanted = itself(f, args, named)
    if problem := difference(f, args, found, wanted):
        with _by_program():
            traced_now = f.fresh()(*args, **named)
        stale = not difference(f, args, traced_now, wanted)
        raise failure(f, problem + _STALE * stale)
    return found, wanted


_STALE = "; a new trace gives the same: what was a constant has changed since the last one, so call retrace()"


def failure(f: Any, problem: str) -> RuntimeError:
    """The error for a difference, with the line of the function."""
    return RuntimeError(f"the compiled function gives {problem}; {f!r} is {defined_at(f.origin)}")


def itself(f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What the function returns uncompiled; of samples, for each. It must not draw: the generators are as before."""
    before = states(generators := generators_in(()))
    try:
        with _uncompiled(), np.errstate(all="ignore"):
            if not f.settings["batch"]:
                return f.untraced(args, named)
            return [untraced(f.fn, sample, named, True) for sample in _samples(args)]
    finally:
        restore(generators, before)


def _samples(args: tuple[Any, ...]) -> Iterator[Any]:
    """The arguments for each sample: of arrays, its part as numbers."""
    n = next(len(x) for x in leaves(args) if isinstance(x, np.ndarray))
    for i in range(n):
        yield tree_map(lambda x, i=i: x[i].astype(float).tolist() if isinstance(x, np.ndarray) else x, args)


def checked_step(f: Any, run: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The loss of a step by the program, `run`, if the function itself and the optimizer make the same step."""
    update, (_, loss) = f.optimizer, checked_call(f.loss, run, args, named)
    trial = stepped(update, loss)
    before = [(p, copy(plain(p)), deepcopy(dict(update.state[p]))) for p in update.params]
    with _by_program():
        answer = run(f, *args, **named)
    losses = [("the loss", plain(a), plain(b)) for a, b in zip(leaves(answer), leaves(loss), strict=True)]
    if problem := first_unlike(f, [losses, _after_the_step(f, args, trial)]):
        for p, data, state in before:
            p.data = data
            update.state[p].clear()
            update.state[p].update(state)
        raise failure(f, f"{problem}, after the step")
    return answer


def stepped(update: Any, loss: Any) -> Any:
    """A copy of the optimizer, with copies of its parameters, after a step on this loss."""
    grads = _gradients([*leaves(loss)], [*map(node_of, update.params)])
    trial = copy(update)
    trial.state, trial.params = {}, []
    for p in update.params:
        node = node_of(p)
        twin = (Value if node._is_number else Tensor)(plain(p), requires_grad=p.requires_grad)
        twin.grad = grads.get(node, 0 if node._is_number else None)
        trial.params.append(twin)
        trial.state[twin] = deepcopy(dict(update.state[p]))
    trial.step()
    return trial


# ---------------------------------------------------------------------------------------------------------------------
# What is compared


def difference(f: Any, args: tuple[Any, ...], found: Any, wanted: Any) -> str:
    """The first difference between two results, or between their gradients, as text; "" if there is none."""
    of_samples = f.settings["batch"]
    ours, theirs = _by_place(found), [*map(_by_place, wanted if of_samples else [wanted])]
    if any([*tree] != [*ours] for tree in theirs):
        return f"{found!r:.60}, and the function itself {wanted!r:.60}"
    each = [(name, x, [tree[name] for tree in theirs]) for name, x in ours.items() if theirs]
    return first_unlike(f, _results(each, of_samples, names_in(f, args)))


def _results(each: list[tuple[str, Any, list[Any]]], of_samples: bool, names: dict[Any, str]) -> Iterator[Pairs]:
    """The results; then, for each of them, its gradients. The function itself may have given one for each sample."""
    pairs = [(name, plain(x), [*map(plain, parts)]) for name, x, parts in each]
    yield [(name, a, np.array(b) if of_samples and isinstance(a, np.ndarray) else b[0]) for name, a, b in pairs]
    roots = [node_of(x) for _, found, parts in each for x in (found, *parts) if is_node(x) and x.requires_grad]
    inputs = [node for node in topological(roots) if node._row is LEAF]
    for name, x, parts in each:
        a, b = _gradients([x], inputs), _gradients(parts, inputs)
        to = f"the gradient of {name} with respect to"
        yield [(f"{to} {_name(node, names)}", a.get(node, 0.0), b.get(node, 0.0)) for node in inputs]


def _gradients(parts: list[Any], inputs: list[Any]) -> dict[Any, Any]:
    """The gradients of a result, each of its elements weighted by another number, with respect to these nodes."""
    roots = [x for x in parts if is_node(x) and x.requires_grad]
    weights: list[Any] = [1.0 + i / max(len(roots) - 1, 1) for i in range(len(roots))]
    if len(roots) == 1 and isinstance(roots[0], Tensor):
        weights = [np.linspace(1.0, 2.0, roots[0].size).reshape(roots[0].shape).astype(roots[0].dtype)]
    nodes = [*map(node_of, roots)]
    grads = run_pass(nodes, seeded(nodes, weights, False), inputs=inputs)[1] if nodes else {}
    return {node: plain(g) for node, g in grads.items()}


def _after_the_step(f: Any, args: tuple[Any, ...], trial: Any) -> Pairs:
    """The parameters, and what the optimizer remembers of them."""
    update, names, pairs = f.optimizer, names_in(f, args), []
    for p, q in zip(update.params, trial.params, strict=True):
        name = _name(node_of(p), names)
        pairs.append((name, plain(p), plain(q)))
        pairs += [(f"{key!r} of {name}", update.state[p].get(key), x) for key, x in trial.state[q].items()]
    return pairs


def _by_place(tree: Any) -> dict[str, Any]:
    return {place if "[" in place else "the result": x for place, x in placed(tree, "result")}


def placed(tree: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a tree, each with its place as text."""
    if isinstance(tree, (list, tuple, dict)):
        for key, x in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from placed(x, f"{name}[{key!r}]")
    else:
        yield name, tree


def names_in(f: Any, args: tuple[Any, ...]) -> dict[Any, str]:
    """Names for nodes: in a module that the function reads, or their places among the arguments."""
    modules = [x for x in f.program.guard[1].values() if isinstance(x, Module)]
    named = [(p, name) for module in reversed(modules) for name, p in module.named_parameters()]
    named += [(p, place) for name, x in zip(f.program.built.names, args, strict=True) for place, p in placed(x, name)]
    return {node_of(p): name for p, name in named if is_node(p)}


def _name(node: Any, names: dict[Any, str]) -> str:
    kind = f"a Value of {plain(node)}" if isinstance(node, Value) else f"a Tensor of shape {plain(node).shape}"
    return node.label or names.get(node, kind)


# ---------------------------------------------------------------------------------------------------------------------
# Where numbers differ


def first_unlike(f: Any, groups: Iterable[Pairs]) -> str:
    """The first pair that differs by more than rounding, as text; "" if there is none."""
    kinds = [x.dtype for x in f.program.built.lowered.steps if x.shape is not None]
    coarse = any(kind.kind == "f" and kind.itemsize < 8 for kind in kinds)
    near = NEAR_FLOAT32 if coarse else NEAR
    for pairs in groups:
        floor = FLOOR * max([1.0, *_sizes([b for _, _, b in pairs])])
        for name, a, b in pairs:
            if problem := unlike(name, a, b, near, floor):
                return problem
    return ""


def unlike(name: str, a: Any, b: Any, near: float, floor: float) -> str:
    """Where two numbers or arrays differ, as text; "" if they do not."""
    ours, theirs = _flat(a), _flat(b)
    if ours is None or theirs is None:
        return "" if a is b or a == b else f"{a!r:.60} for {name}, and the function itself {b!r:.60}"
    shapes = getattr(a, "shape", ()), getattr(b, "shape", ())
    if shapes[0] != shapes[1]:
        return f"the shape {shapes[0]} for {name}, and the function itself {shapes[1]}"
    most = near * max([floor, *_sizes([b])])
    for i, (x, y) in enumerate(zip(ours, theirs, strict=True)):
        if not (x == y or abs(x - y) <= most or (x != x and y != y)):
            index = f"{list(map(int, np.unravel_index(i, shapes[0])))} of " if shapes[0] else ""
            return f"{x!r} for {index}{name}, and the function itself {y!r}"
    return ""


def _sizes(given: list[Any]) -> list[float]:
    """The finite numbers among these and in these arrays, without their signs."""
    return [abs(x) for one in given for x in _flat(one) or () if math.isfinite(x)]


def _flat(x: Any) -> list[Any] | None:
    """The numbers of an array, or the only one; None if x is neither."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.ravel().tolist()
    return [x] if isinstance(x, (int, float)) else None
