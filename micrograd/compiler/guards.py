"""Guards: is what a program was traced with still what the function would meet?

A function finds its parameters by looking: into its closure, its `self`, the globals that it names, and from there into
attributes, lists and dicts. Whatever lies on a way to a node that the trace used is asked for again before each run, by
identity, and so is `training` of every module on the way. The questions are one generated expression, such as

    c0.cell_contents is k0 and c1.neurons is k1 and c2 == k2

where a list of Values is compared as a whole: Values are equal only to themselves.

>>> def line(state):
...     return lambda x: state["w"] * x
>>> state = {"w": Value(2.0)}
>>> current = guard(line(state), [state["w"]], [])
>>> current()
True
>>> state["w"] = Value(2.0)
>>> current()
False
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..engine import Value
from ..nn.module import Module
from ..tensor import Tensor

MOST = 200_000  # objects that are looked at
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, types.BuiltinFunctionType)


def guard(function: Any, used: list[Any], frozen: list[Any], trained: Sequence[Any] = ()) -> Callable[[], bool] | None:
    """A function that tells whether the nodes used would be found at their places still, and the frozen ones frozen,
    the trained ones not; None if there is nothing to ask."""
    above, modules = _ways(function)
    needed: dict[int, list[tuple[Any, Any, Any]]] = {}
    waiting = [id(x) for x in used]
    seen = set(waiting)
    while waiting:
        for container, key, child in above.get(waiting.pop(), ()):
            needed.setdefault(id(container), []).append((container, key, child))
            if id(container) not in seen:
                seen.add(id(container))
                waiting.append(id(container))
    return _question(needed, modules, frozen, trained)


def _question(
    needed: dict[int, list[tuple[Any, Any, Any]]], modules: list[Module], frozen: list[Any], trained: Sequence[Any]
) -> Callable[[], bool] | None:
    names: dict[str, Any] = {}
    asked = []

    def named(letter: str, x: Any) -> str:
        names[name := f"{letter}{len(names)}"] = x
        return name

    for places in needed.values():
        container = places[0][0]
        c = named("c", container)
        if isinstance(container, list) and all(isinstance(x, Value) for x in container):
            asked.append(f"{c} == {named('k', container[:])}")
            continue
        if isinstance(container, list):
            asked.append(f"len({c}) == {len(container)}")
        asked += [f"{c}{key} is {named('k', child)}" for _, key, child in places]
    asked += [f"{named('c', module)}.training is {bool(module.training)}" for module in modules]
    asked += [f"not {named('c', x)}.requires_grad" for x in frozen]
    asked += [f"{named('c', x)}.requires_grad" for x in trained]
    if not asked:
        return None
    source = f"def current():\n    try:\n        return {' and '.join(asked)}\n"
    source += "    except (LookupError, AttributeError, ValueError):\n        return False\n"
    exec(compile(source, "<micrograd.compile>", "exec"), names)
    return names["current"]


def _ways(function: Any) -> tuple[dict[int, list[tuple[Any, Any, Any]]], list[Module]]:
    """For each object that can be reached: (where, at which place, what); and the modules among them."""
    above: dict[int, list[tuple[Any, Any, Any]]] = {}
    modules: list[Module] = []
    seen = {id(function)}
    waiting = [function]
    while waiting and len(seen) < MOST:
        x = waiting.pop()
        if isinstance(x, Module):
            modules.append(x)
        for container, key, child in _places(x):
            if isinstance(child, _PLAIN):
                continue
            above.setdefault(id(child), []).append((container, key, child))
            if container is not x:  # a cell, a dict of globals: one step of the way from x
                above.setdefault(id(container), [])
            if id(child) not in seen and not isinstance(child, (Value, Tensor)):
                seen.add(id(child))
                waiting.append(child)
    return above, modules


def _places(x: Any) -> Iterator[tuple[Any, str, Any]]:
    """(container, place, what is there) for all that x holds."""
    if isinstance(x, types.MethodType):
        yield x, ".__self__", x.__self__
        yield x, ".__func__", x.__func__
    elif isinstance(x, types.FunctionType):
        for cell in x.__closure__ or ():
            try:
                yield cell, ".cell_contents", cell.cell_contents
            except ValueError:  # not filled yet
                continue
        if not x.__module__ or x.__module__.split(".")[0] not in ("micrograd", "numpy"):
            for name in _global_names(x.__code__):
                if name in x.__globals__ and not hasattr(builtins, name):
                    yield x.__globals__, f"[{name!r}]", x.__globals__[name]
    elif isinstance(x, partial):
        yield from (
            (x, place, part) for place, part in ((".func", x.func), (".args", x.args), (".keywords", x.keywords))
        )
    elif hasattr(type(x), "transformed"):  # another compiled function: what it has compiled is its own affair
        yield x, ".origin", x.origin
    elif isinstance(x, (list, tuple)):
        yield from ((x, f"[{i}]", child) for i, child in enumerate(x))
    elif isinstance(x, dict):
        yield from ((x, f"[{key!r}]", child) for key, child in x.items() if isinstance(key, (str, int)))
    elif hasattr(x, "__dict__") and not isinstance(x, (types.CellType, types.CodeType)):
        yield from ((x, f".{key}", child) for key, child in vars(x).items() if str(key).isidentifier())


def _global_names(code: types.CodeType) -> Iterator[str]:
    """The names that a function's code, and that of the functions inside of it, may look up among the globals."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
