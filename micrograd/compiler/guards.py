"""Guards: detect when a trace is stale.

A program reads nodes live, by object. Everything else that the function looked at is baked into the trace: the layers
of a list, the name of an activation, a function that it calls. So each call first checks, by identity, what the
function would find: in its closure, defaults and globals, in `self` and its class, and from there in attributes, lists,
dicts and other functions.

Only what the code names is checked, in the function and in those that it reaches, so that a list of losses next to the
weights may grow. Code that reads what it does not name (`getattr`, `vars`, `parameters()`) is assumed to read
everything. A node that was used but cannot be reached this way is refused, since its replacement would not be detected.
Numbers and arrays are constants, whose changes are not detected, and so are lists and tuples of them. Replacing a
number elsewhere by a node is.

The checks are one generated expression, `g0.cell_contents is g1 and g1.neurons is g2 and g3 == g4`, in which a list of
Values is compared as a whole: Values are equal only to themselves.

>>> def line(state):
...     return lambda x: state["w"] * x
>>> state = {"w": Value(2.0)}
>>> current = question(*guard(line(state), [state["w"]]))
>>> current()
True
>>> state["w"] = Value(2.0)
>>> current()
False
"""

from __future__ import annotations

import gc
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dis import opmap
from enum import Enum
from functools import cached_property, lru_cache, partial, partialmethod
from operator import is_
from typing import Any

from ..engine.value import Value
from ..nn.module import Module
from ..tensor.optional import Tensor, np
from .frozen import PACKAGE, UNWATCHED, frozen

FEW = 100  # items of a dict of numbers that is compared; a longer one is data, and constant as a whole
CONSTANTS = (int, float, complex, np.generic, np.ndarray, Value, Tensor, random.Random, np.random.Generator)
OTHERS = (set, frozenset, deque, types.MappingProxyType, np.ndarray)  # containers compared as a whole
LIBRARIES = {"numpy", *sys.stdlib_module_names} - {"argparse", "collections"}  # whose classes hold what users put in
BY_NAME = {"getattr", "hasattr", "vars", "dir", "eval", "exec", "attrgetter", "__dict__", "asdict", "astuple"}
READS_ALL = BY_NAME | {"parameters", "named_parameters", "modules", "state_dict", "zero_grad"}
NEVER_CALLED = {"__init__", "__new__", "__repr__"}  # not called by a function that only uses an object
Place = tuple[Any, str, Any]  # container, the expression for the place in it, what is there


def guard(function: Any, used: Sequence[Any], trained: Sequence[Sequence[Any]] = ()) -> tuple[str, dict[str, Any]]:
    """The checks that `function` would still find the nodes used and all else that its code names.

    Also that what required no gradient still does not, and that in each group of `trained` nodes at least one does.

    Returns:
        An expression, and the objects in it by name.
    """
    names = {"forward", *_names_in(getattr(function, "__code__", None))}  # called by Module.__call__
    ways = Ways(function, used, names)
    while not ways.read <= names and ways.read.isdisjoint(READS_ALL):
        names = names | ways.read
        ways = Ways(function, used, names)
    if ways.missing or not ways.read.isdisjoint(READS_ALL):
        ways = Ways(function, used, names | ways.read, everything=True)
    for node in ways.missing.values():
        raise frozen(UNWATCHED.format(f"{type(node).__name__} {node.label!r}" if node.label else f"{node!r:.60}"))
    ways.asked += [f"not {ways.name(x)}.requires_grad" for x in used if not x.requires_grad]
    ways.asked += [f"({' or '.join(f'{ways.name(x)}.requires_grad' for x in group)})" for group in trained if group]
    return " and ".join(dict.fromkeys(ways.asked)) or "True", ways.held


def question(expression: str, names: dict[str, Any]) -> Callable[[], bool]:
    """The checks as a function."""
    source = f"def current():\n    try:\n        return {expression}\n"
    source += "    except (LookupError, AttributeError, ValueError):\n        return False\n"
    exec(compile(source, "<micrograd.compile>", "exec"), names)
    return names["current"]


class Ways:
    """The paths from a function to what it uses: `asked` are the checks on the way, `read` the names used by its code,
    `missing` the used nodes not reached.
    """

    def __init__(self, function: Any, used: Sequence[Any], names: set[str], everything: bool = False):
        self.names = names
        self.everything = everything
        self.used: dict[int, Any] = {id(x): x for x in used}
        self.missing: dict[int, Any] = dict(self.used)
        self.read: set[str] = set()
        self.asked: list[str] = []
        self.held: dict[str, Any] = {"contents": _contents, "same": same_objects}
        self._names: dict[int, str] = {}
        self.seen: set[int] = {id(function)}
        self.waiting: list[Any] = [function]
        while self.waiting:
            x = self.waiting.pop()
            as_whole = self._ask_as_whole(x)
            for container, place, child in self._places(x):
                self._meet(container, "" if as_whole else place, child)

    def name(self, x: Any) -> str:
        """The name of an object in the expression."""
        if id(x) not in self._names:
            self.held[name := f"g{len(self.held)}"] = x
            self._names[id(x)] = name
        return self._names[id(x)]

    def _meet(self, container: Any, place: str, child: Any) -> None:
        """Check what is at a place, unless it cannot be replaced, and follow it."""
        if isinstance(child, (Value, Tensor)):
            if id(child) not in self.used:
                return
            self.missing.pop(id(child), None)
        elif self._is_constant(child) and not (isinstance(child, dict) and len(child) <= FEW):
            if place:
                self.asked.append(f"{self.name(container)}{place}.__class__ is {self.name(type(child))}")
            return
        elif id(child) not in self.seen and not isinstance(child, (str, bytes, bool, type(None))):
            self.seen.add(id(child))
            if isinstance(child, type) and place != ".__class__" and _is_users(child.__module__):
                self.read |= {"__init__", "__new__"}  # it may create objects
            self.waiting.append(child)
        if place:
            same = "==" if isinstance(child, (str, bytes)) else "is"
            self.asked.append(f"{self.name(container)}{place} {same} {self.name(child)}")

    def _is_constant(self, x: Any, depth: int = 0) -> bool:
        """True if x is a number or an array, or contains only these and nodes that were not used."""
        if isinstance(x, (list, tuple, dict)) and x and depth < 50:
            parts = x.values() if isinstance(x, dict) else x
            return all(self._is_constant(part, depth + 1) for part in parts)
        is_number = isinstance(x, CONSTANTS) and not isinstance(x, (bool, Enum))
        return is_number and id(x) not in self.used and getattr(x, "dtype", None) != "O"

    def _ask_as_whole(self, x: Any) -> bool:
        """Check what concerns a container as a whole; True if its places need no further checks."""
        if isinstance(x, Module):
            if not self.names.isdisjoint({"training", *BY_NAME}) or _reads_training(type(x)):
                self.asked.append(f"{self.name(x)}.training is {bool(x.training)}")
        elif isinstance(x, OTHERS):
            self.asked.append(f"same(contents({self.name(x)}), {self.name(_contents(x))})")
            return True
        elif x.__class__ is list and x and all(isinstance(part, Value) and id(part) in self.used for part in x):
            self.asked.append(f"{self.name(x)} == {self.name(x[:])}")
            return True
        elif isinstance(x, (list, dict)):
            keys = f"[*{self.name(x)}] == {self.name([*x])}" if isinstance(x, dict) else ""
            self.asked.append(keys or f"len({self.name(x)}) == {len(x)}")
        return False

    def _places(self, x: Any) -> Iterator[Place]:
        """Where x holds something. The expression for the place is empty if it cannot be replaced."""
        if isinstance(x, types.FunctionType):
            yield from self._of_function(x)
        elif isinstance(x, type):
            for kind in x.__mro__:
                if _is_users(kind.__module__):
                    name, absent = self.name(kind), self.name({*dir(kind), *self.names} - vars(kind).keys())
                    same_mro = f"{name}.__mro__ is {self.name(kind.__mro__)}"
                    self.asked += [same_mro, f"{absent}.isdisjoint({name}.__dict__)"]  # else it hides a base's
                    yield from ((vars(kind), f"[{name!r}]", part) for name, part in self._of_class(kind))
        elif isinstance(x, types.ModuleType):
            if _is_users(x.__name__):
                yield from ((vars(x), f"[{name!r}]", vars(x)[name]) for name in self.names & vars(x).keys())
        elif hasattr(type(x), "transformed"):  # another compiled function: follow the original, not its programs
            yield x, "", x.origin
        elif isinstance(x, OTHERS):
            yield from ((x, "", part) for part in _contents(x))
        elif isinstance(x, (*STEPS, types.BuiltinFunctionType)):
            yield from ((x, "", getattr(x, name)) for name in STEPS.get(type(x), ("__self__",)))
        else:
            if isinstance(x, (list, tuple)):
                yield from ((x, f"[{i}]" * isinstance(x, list), part) for i, part in enumerate(x))
            elif isinstance(x, dict):
                yield from ((x, f"[{self.name(key)}]", part) for key, part in list(x.items()))
            yield from self._of_object(x)

    def _of_function(self, x: types.FunctionType) -> Iterator[Place]:
        for name in filter(partial(getattr, x), ("__defaults__", "__kwdefaults__")):
            yield x, f".{name}", getattr(x, name)
        for cell in x.__closure__ or ():
            yield from ((cell, ".cell_contents", part) for part in _contents(cell))  # nothing, of an empty cell
        if not x.__code__.co_filename.startswith(PACKAGE) and (x.__module__ or "").split(".")[0] not in LIBRARIES:
            yield x, ".__code__", x.__code__
            names = set(_names_in(x.__code__))
            self.read |= names
            yield from ((x.__globals__, f"[{name!r}]", x.__globals__[name]) for name in names & x.__globals__.keys())
            yield from self._of_object(x)

    def _of_class(self, kind: type) -> Iterator[tuple[str, Any]]:
        """What a class holds under the names that are read, and the special methods, which Python calls."""
        for name, part in list(vars(kind).items()):
            implicit = name[:2] == "__" and isinstance(part, types.FunctionType) and name not in NEVER_CALLED
            if (self.everything and name[:2] != "__") or implicit or name in self.names:
                yield name, part

    def _of_object(self, x: Any) -> Iterator[Place]:
        """Its attributes, in `__dict__` and slots, and its class."""
        kind = type(x)
        ours = kind.__module__.startswith("micrograd.")
        if not (ours or _is_users(kind.__module__) or kind in (types.SimpleNamespace, types.FunctionType)):
            return
        held = getattr(x, "__dict__", {})
        whole = self.everything or ours
        for name in list(held):
            if whole or name in self.names:
                yield x, f".{name}", held[name]
        if held or (kind is not types.FunctionType and hasattr(x, "__dict__")):  # functions rarely have attributes
            others = f"{self.name(self.names - held.keys())}.isdisjoint({self.name(x)}.__dict__)"
            self.asked.append(f"len({self.name(x)}.__dict__) == {len(held)}" if whole else others)
        if ours or kind is types.FunctionType:
            return
        for slot in {name for above in kind.__mro__ for name, part in vars(above).items() if isinstance(part, SLOT)}:
            if (self.everything or slot in self.names) and hasattr(x, slot):
                yield x, f".{slot}", getattr(x, slot)
        yield x, ".__class__", kind


SLOT = types.MemberDescriptorType
STEPS: dict[type, tuple[str, ...]] = {  # immutable objects, and the attributes to follow
    types.MethodType: ("__self__", "__func__"),
    partialmethod: ("func",),
    partial: ("func", "args", "keywords"),
    property: ("fget",),
    cached_property: ("func",),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
}


def _contents(x: Any) -> list[Any]:
    """What is in a container of any kind."""
    return x.ravel().tolist() if isinstance(x, np.ndarray) else gc.get_referents(x)


@lru_cache
def _reads_training(kind: type[Module]) -> bool:
    """True if the code of a layer of ours reads its mode; what code of the user's reads is among the names."""
    methods = [method for above in kind.__mro__ if above is not Module for method in vars(above).values()]
    return any("training" in _names_in(getattr(method, "__code__", None)) for method in methods)


def same_objects(found: list[Any], wanted: list[Any]) -> bool:
    """True if the lists hold the same objects."""
    return len(found) == len(wanted) and all(map(is_, found, wanted))


def _is_users(module: str) -> bool:
    """True if this module belongs to the user, and so may change."""
    return (root := module.split(".")[0]) != "micrograd" and root not in LIBRARIES


def _names_in(code: Any) -> Iterator[str]:
    """The names that a function's code, and that of the functions inside it, has for globals and attributes."""
    if isinstance(code, types.CodeType):
        yield from code.co_names
        yield from ["getattr"] * (opmap["MATCH_CLASS"] in code.co_code[::2])  # `case Point(x=0)` names no attribute
        for constant in code.co_consts:
            yield from _names_in(constant)
