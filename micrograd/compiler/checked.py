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

Both runs give an `account` of what they computed: the results, the gradients of each result with respect to every leaf
and, with `update=`, the parameters after the step and what the optimizer remembers of them. The two accounts are
compared entry by entry.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from copy import copy, deepcopy
from typing import Any

from ..common.trees import leaves, tree_map
from ..engine.modes import Mode
from ..engine.rows import LEAF
from ..nn.module import Module
from ..scalars.kinds import is_node, node_of, plain
from ..scalars.passes import run_pass, topological
from ..scalars.roots import backward, checked_gradients
from ..tensor.optional import Tensor, np
from .inputs import TEXT, untraced
from .trace_errors import defined_at, generators_in, restore, states

# The difference that may be rounding, relative to the greatest number of an array.
# An array of small numbers counts as if it had FLOOR times the greatest number of its group, or FLOOR itself.
NEAR, NEAR_FLOAT32 = 1e-9, 1e-4
FLOOR = 1e-3
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


def checked_call(f: Any, run: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The result of a call by the program, `run`. The function itself must give the same, and make the same step."""
    update = f.settings["update"]
    start = snapshot(update)
    with _by_program():
        result = run(f, *args, **named)
    compiled, end = account(f, [result]), snapshot(update)
    set_back(start)
    try:
        eager = account(f, itself(f, args, named) or [result])  # without samples there is nothing to compare
    finally:
        set_back(start)
    if problem := difference(f, args, compiled, eager):
        with _by_program():
            retraced = account(f, [f.fresh()(*args, **named)])
        set_back(start)
        if not difference(f, args, retraced, eager):
            problem += "; a new trace gives the same, so a constant has changed since the last trace: call retrace()"
        raise RuntimeError(f"the compiled function gives {problem}; {f!r} is {defined_at(f.origin)}")
    if update is not None:
        # The gradients are compared as well, since a step by a small learning rate hides an error in them
        checked_call(f.loss, run, args, named)
    set_back(end)
    return result


def itself(f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """The results of the function itself, one or, under `batch`, one for each sample. Its draws are undone."""
    before = states(generators := generators_in(()))
    try:
        with _uncompiled(), np.errstate(all="ignore"):
            if f.settings["batch"]:
                return [untraced(f.fn, sample, named, True) for sample in _samples(args)]
            result = f.untraced(args, named)
            return [result if f.settings["update"] is None else _stepped(f.settings["update"], result)]
    finally:
        restore(generators, before)


def _samples(args: tuple[Any, ...]) -> Iterator[Any]:
    """The arguments for each sample. In place of an array they have the array's row, as nested lists of numbers."""
    n = next(len(x) for x in leaves(args) if isinstance(x, np.ndarray))
    for i in range(n):
        yield tree_map(lambda x, i=i: x[i].astype(float).tolist() if isinstance(x, np.ndarray) else x, args)


def _stepped(update: Any, result: Any) -> Any:
    """Let the optimizer make its own step on the loss in this result. Returns the result with numbers for nodes."""
    update.zero_grad()
    backward([*filter(is_node, leaves(result))], inputs=[p for p in update.params if p.requires_grad])
    update.step()
    return tree_map(plain, result)


def snapshot(update: Any) -> list[tuple[Any, ...]]:
    """Each parameter of an optimizer with a copy of its data, its gradient, its state, and a copy of the content."""
    if update is None:
        return []
    return [(p, copy(plain(p)), p.grad, update.state[p], deepcopy(dict(update.state[p]))) for p in update.params]


def set_back(parameters: list[tuple[Any, ...]]) -> None:
    """Set the parameters and their states back to a snapshot."""
    for p, data, grad, state, content in parameters:
        p.grad = grad
        if isinstance(p, Tensor):
            p.data[...] = data  # in place, since views share the memory
        else:
            p.data = data
        state.clear()
        state.update(deepcopy(content))


# ---------------------------------------------------------------------------------------------------------------------
# The account of a run


def account(f: Any, results: list[Any]) -> dict[str, dict[Any, Any]]:
    """All that a run computed, in groups to be compared one after the other.

    A group is a dict, by the beginning of its entries' names. The first has the results by place. Then there is one for
    the gradients of each result, by leaf, and after a training step one for the data and one for each part of the
    state, by parameter.

    Args:
        f: the compiled function.
        results: the result of the run, or one for each sample.
    """
    update = f.settings["update"]
    root = "result" if update is None else "loss"
    columns: dict[str, list[Any]] = defaultdict(list)
    for result in results:
        for place, x in placed(result, root):
            columns[place if "[" in place else f"the {root}"].append(x)
    groups: dict[str, dict[Any, Any]] = {"": {place: _numbers(f, column) for place, column in columns.items()}}
    for place, column in columns.items():
        roots = [node_of(x) for x in column if is_node(x) and x.requires_grad]
        if roots:
            groups[f"the gradient of {place} with respect to "] = _gradients(roots)
    for p, data, _, _, content in snapshot(update):
        for name, x in {"data": data, **content}.items():
            groups.setdefault(f"the new {name!r} of ", {})[node_of(p)] = x
    return groups


def _numbers(f: Any, column: list[Any]) -> Any:
    """The number or array of a result; of samples, the array of their numbers. A text is the same for all samples."""
    numbers = [*map(plain, column)]
    of_samples = f.settings["batch"] and not isinstance(numbers[0], (np.ndarray, *TEXT))
    return np.array(numbers) if of_samples else numbers[0]


def _gradients(roots: list[Any]) -> dict[Any, Any]:
    """The gradient of the weighted sum of all elements, by leaf. The weights differ, so no two errors cancel."""
    weights: list[Any] = [1.0 + i / len(roots) for i in range(len(roots))]
    if not roots[0]._is_number:
        array = roots[0]._data
        weights = [(1.0 + np.arange(array.size).reshape(array.shape) / array.size).astype(array.dtype)]
    inputs = [node for node in topological(roots) if node._row is LEAF]
    gradients = run_pass(roots, checked_gradients(roots, weights, False), inputs=inputs)[1]
    return {node: plain(g) for node, g in gradients.items()}


def placed(tree: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a tree, each with its place as text."""
    if isinstance(tree, (list, tuple, dict)):
        for key, x in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from placed(x, f"{name}[{key!r}]")
    else:
        yield name, tree


# ---------------------------------------------------------------------------------------------------------------------
# The comparison


def difference(f: Any, args: tuple[Any, ...], compiled: dict[str, Any], eager: dict[str, Any]) -> str:
    """The first difference of more than rounding between two accounts, as text; "" if there is none."""
    results, eager_results = compiled[""], eager[""]
    if [*results] != [*eager_results]:
        return f"{[*results.values()]!r:.60}, and the function itself {[*eager_results.values()]!r:.60}"
    names = names_in(f, args)
    dtypes = [symbol.dtype for symbol in f.program.built.lowered.steps if symbol.shape is not None]
    coarse = any(dtype.kind == "f" and dtype.itemsize < 8 for dtype in dtypes)
    near = NEAR_FLOAT32 if coarse else NEAR
    for group in eager | compiled:
        ours, theirs = compiled.get(group, {}), eager.get(group, {})
        floor = FLOOR * max([1.0, *map(_greatest, theirs.values())])
        for key in theirs | ours:
            name = key if isinstance(key, str) else _name(key, names)
            if problem := unlike(f"{group}{name}", ours.get(key, 0.0), theirs.get(key, 0.0), near, floor):
                return problem
    return ""


def names_in(f: Any, args: tuple[Any, ...]) -> dict[Any, str]:
    """Names for nodes, by their place among the arguments, or as parameters of a module that the function reads."""
    modules = [x for x in f.program.guard[1].values() if isinstance(x, Module)]
    named = [(p, name) for module in reversed(modules) for name, p in module.named_parameters()]
    named += [(p, place) for name, x in zip(f.program.built.names, args, strict=True) for place, p in placed(x, name)]
    return {node_of(p): name for p, name in named if is_node(p)}


def _name(node: Any, names: dict[Any, str]) -> str:
    unnamed = f"a Value of {node._data}" if node._is_number else f"a Tensor of shape {node._data.shape}"
    return node.label or names.get(node, unnamed)


def unlike(name: str, a: Any, b: Any, near: float, floor: float) -> str:
    """Where two numbers or arrays differ, as text; "" if they do not."""
    ours, theirs = _flat(a), _flat(b)
    if ours is None or theirs is None:
        return "" if a is b or a == b else f"{a!r:.60} for {name}, and the function itself {b!r:.60}"
    shapes = getattr(a, "shape", ()), getattr(b, "shape", ())
    if shapes[0] != shapes[1]:
        return f"the shape {shapes[0]} for {name}, and the function itself {shapes[1]}"
    most = near * max(floor, _greatest(b))
    for i, (x, y) in enumerate(zip(ours, theirs, strict=True)):
        if not (x == y or abs(x - y) <= most or (x != x and y != y)):
            index = f"{list(map(int, np.unravel_index(i, shapes[0])))} of " if shapes[0] else ""
            return f"{x!r} for {index}{name}, and the function itself {y!r}"
    return ""


def _greatest(x: Any) -> float:
    """The greatest absolute value of the finite numbers in x."""
    return max(map(abs, filter(math.isfinite, _flat(x) or ())), default=0.0)


def _flat(x: Any) -> list[Any] | None:
    """The numbers of an array, or a number as a list; None if x is neither."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.ravel().tolist()
    return [x] if isinstance(x, (int, float)) else None
