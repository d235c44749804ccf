"""Frozen things: what a program cannot do again, and whether what it was traced with still is there.

To look at a number would freeze it (an `if`, `float`, `.data`); to write one would happen but once. Each such thing
raises, and names the line. Draws are found by the states of the global generators, compared before and after the trace:
if one has moved, they are all put back, and the function is run once more, line by line, to see where.

    f = compile(lambda x: x if x > 0 else -x)
    f(1.0)      Frozen: ... Write where(condition, a, b) for an if ...; it stands in demo.py:1: f = compile(...)

Parameters are read live, by object. A function finds them by looking: into its closure, its `self`, the globals that it
names, and from there into attributes, lists and dicts. Whatever lies on a way to a node that the trace used is asked
for again before each run, by identity, and so is `training` of every module on the way. The questions are one generated
expression, `c0.cell_contents is k0 and c1.neurons is k1 and c2 == k2`, where a list of Values is compared as a whole:
Values are equal only to themselves.

>>> def line(state):
...     return lambda x: state["w"] * x
>>> state = {"w": Value(2.0)}
>>> current = guard(line(state), [state["w"]])
>>> current()
True
>>> state["w"] = Value(2.0)
>>> current()
False
"""

from __future__ import annotations

import builtins
import os
import random
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from linecache import getline
from pathlib import Path
from typing import Any

import numpy as np

from .. import creation
from ..engine import Value
from ..nn.module import Module
from ..tensor import Tensor

READ = (
    "a compiled function cannot look at {}: its value would be frozen into the program. Write where(condition, a, b) "
    "for an if, give what it may look at by keyword, and compute on nodes instead of their data"
)
OUTSIDE = (
    "a compiled function cannot look at or change the numbers in a node: its program could not. Compute on the node "
    "itself, and change parameters outside of the function; for an if write where(condition, a, b)"
)
WRITE = (
    "a compiled function cannot change {} in place: the program would not do it again. Write y = y + ..., and change "
    "parameters outside of it"
)
BACKWARD = (
    "a compiled function cannot call backward(): its program computes the gradients by itself. Return the loss, and "
    "call backward() on what comes back; gradients inside are grad(output, inputs, create_graph=True)"
)
MASKED = (
    "a compiled function cannot be given an index by a condition: the numbers decide how many elements it picks. Write "
    "where(condition, a, 0.0), or give the mask as an array that the function closes over"
)
DRAWN = (
    "a compiled function cannot draw random numbers: each call of the program would have the same ones. Draw outside, "
    "and give the draws as an argument; dropout is for eager mode, or off by eval()"
)
OWN_OP = (
    "a compiled function cannot use {}, whose derivative was written by hand for numbers: its program is made from the "
    "rows of the table. Write it with ops of micrograd's, or call it outside"
)
PACKAGE = str(Path(__file__).parent.parent)


class Frozen(RuntimeError):
    """Raised where a traced program would read a number that is known only when it runs."""


class Shapeless(Frozen):
    """Raised where the shape of a result would depend on numbers."""


def frozen(what: str, kind: type[Frozen] = Frozen) -> Frozen:
    """The error for what a program cannot do again; it names the user's line."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return kind(f"{what}; it stands in {_line(frame)}")


def _line(frame: Any) -> str:
    name, line = frame.f_code.co_filename, frame.f_lineno
    return f"{name}:{line}: {getline(name, line).strip()}"


# ---------------------------------------------------------------------------------------------------------------------
# Draws

NOT_THE_USERS = (PACKAGE, os.path.dirname(np.__file__), random.__file__, "<frozen")


def states() -> tuple[Any, ...]:
    """Where the global generators stand: Python's, the package's, and NumPy's."""
    kind, keys, *rest = np.random.get_state(legacy=True)
    keys = np.asarray(keys)
    return random.getstate(), creation.generator().bit_generator.state, (kind, keys.tobytes(), *rest)


def restore(before: tuple[Any, ...]) -> None:
    """Have them stand there again."""
    random.setstate(before[0])
    creation.generator().bit_generator.state = before[1]
    kind, keys, *rest = before[2]
    np.random.set_state((kind, np.frombuffer(keys, np.uint32), *rest))


def without_draws(run: Callable[[], Any]) -> Any:
    """What `run` gives; raises if it draws, and names the line."""
    before = states()
    out = run()
    if states() == before:
        return out
    restore(before)
    line = _line_of_the_draw(run)
    restore(before)
    raise Frozen(f"{DRAWN}; it stands in {line}")


def _line_of_the_draw(run: Callable[[], Any]) -> str:
    """The last line of the user's that was begun before a state changed."""
    before, seen, found = states(), ["an unknown line"], []

    def watch(frame: Any, event: str, _: Any) -> Any:
        if not found and states() != before:
            found.append(seen[-1])
        if found or frame.f_code.co_filename.startswith(NOT_THE_USERS):
            return None
        seen.append(_line(frame))
        return watch

    others = sys.gettrace()
    sys.settrace(watch)
    try:
        run()
    finally:
        sys.settrace(others)
    return [*found, seen[-1]][0]


# ---------------------------------------------------------------------------------------------------------------------
# Guards

Ways = dict[int, list[tuple[Any, str, Any]]]  # by an object's identity: in what, at which place, what is found
MOST = 200_000  # objects that are looked at
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, types.BuiltinFunctionType)


def guard(function: Any, used: Sequence[Any], trained: Sequence[Any] = ()) -> Callable[[], bool] | None:
    """A function that tells whether the nodes used would be found at their places still, and those without a gradient
    have none still, and the trained ones have one; None if there is nothing to ask."""
    above, modules = _ways(function)
    needed: Ways = {}
    waiting = [id(x) for x in used]
    seen = set(waiting)
    while waiting:
        for container, key, child in above.get(waiting.pop(), ()):
            needed.setdefault(id(container), []).append((container, key, child))
            if id(container) not in seen:
                seen.add(id(container))
                waiting.append(id(container))
    return _question(needed, modules, [x for x in used if not x.requires_grad], trained)


def _question(
    needed: Ways, modules: list[Module], constant: Sequence[Any], trained: Sequence[Any]
) -> Callable[[], bool] | None:
    """The generated expression, as a function."""
    names: dict[str, Any] = {}
    asked: list[str] = []

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
    asked += [f"not {named('c', x)}.requires_grad" for x in constant]
    asked += [f"{named('c', x)}.requires_grad" for x in trained]
    if not asked:
        return None
    source = f"def current():\n    try:\n        return {' and '.join(asked)}\n"
    source += "    except (LookupError, AttributeError, ValueError):\n        return False\n"
    exec(compile(source, "<micrograd.compile>", "exec"), names)
    return names["current"]


def _ways(function: Any) -> tuple[Ways, list[Module]]:
    """How each object is reached, and the modules among them."""
    above: Ways = {}
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
