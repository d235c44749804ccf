"""Guards: detect when a trace is stale.

A program reads nodes live, by object. Everything else that the function looked at is baked into the trace: the layers
of a list, the name of an activation, a function that it calls. So each call first checks, by identity, what the
function would find: in its closure, defaults and globals, in `self` and its class, and from there in attributes, lists,
dicts and other functions.

Only what the code names is checked, in the function and in those that it reaches, so that a list of losses next to the
weights may grow. A name that is bound nowhere yet is checked too. Code that reads what it does not name (`getattr`,
`vars`, `parameters()`) is assumed to read everything. A node that was used but cannot be reached this way is refused,
since its replacement would not be detected. A number that a name is bound to is compared; in arrays and containers of
numbers only what `kinds` says is. The code of installed packages is not followed.

The checks are one generated expression, `g0.cell_contents is g1 and g1.neurons is g2 and g3 == g4`, in which a list of
Values is compared as a whole: Values are equal only to themselves.

>>> def line(state):
...     return lambda x: state["w"] * x
>>> state = {"w": Value(2.0)}
>>> current = compile_guard(*guard(line(state), [state["w"]]))
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
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dis import get_instructions
from enum import Enum
from functools import lru_cache, partial, partialmethod
from itertools import chain
from operator import is_
from pathlib import Path
from typing import Any

from ..autograd.transforms import Transformable
from ..common.trees import leaves
from ..engine.value import Value
from ..nn.module import Module
from ..tensor.optional import Tensor, np
from .offload import AwayValue
from .trace_errors import PACKAGE, UNWATCHED, frozen

BUFFERS = (bytearray, memoryview, array)
CONSTANTS = (int, float, complex, np.generic, np.ndarray, Value, Tensor, random.Random, np.random.Generator, *BUFFERS)
OTHERS = (set, frozenset, deque, types.MappingProxyType, np.ndarray)  # containers compared as a whole
CONTAINERS = (list, tuple, dict, set, frozenset, deque)
LIBRARIES = {"numpy", *sys.stdlib_module_names} - {"argparse", "collections"}  # whose classes hold what users put in
BY_NAME = {"getattr", "hasattr", "vars", "dir", "eval", "exec", "attrgetter", "__dict__", "asdict", "astuple"}
BY_NAME |= {"globals", "locals", "setattr", "methodcaller"}
MAY_LACK = BY_NAME | {"AttributeError"}  # code with these names may read an attribute that is not there
READS_ALL = BY_NAME | {"parameters", "named_parameters", "modules", "state_dict", "zero_grad"}
SPECIAL = {name for kind in (int, list, dict, types.FunctionType) for name in dir(kind) if name[:2] == "__"}
SPECIAL |= {"__getattr__", "__bool__", "__contains__", "__enter__", "__exit__", "__matmul__", "__missing__", "__next__"}
NEVER_CALLED = {"__init__", "__new__", "__repr__"}  # not called by a function that only uses an object
Place = tuple[Any, str, Any]  # container, the expression for the place in it, what is there


def guard(
    function: Any,
    used: Sequence[Any],
    trained: Sequence[Sequence[Any]] = (),
    given: Any = (),
    answers: Sequence[tuple[Any, bool]] = (),
) -> tuple[str, dict[str, Any]]:
    """The checks that `function` would still find the nodes used and all else that its code names.

    `given` is a tree of objects that it also reads: the keyword arguments.

    Also that what required no gradient still does not, that in each group of `trained` nodes at least one does, and
    that nodes whose `requires_grad` was read still give these answers.

    Returns:
        An expression, and the objects in it by name.
    """
    guards = guards_from(function, given, used)
    if guards.missing and not guards.everything:
        guards = Guards([function, *leaves(given)], used, guards.names | guards.read, everything=True)
    for node in guards.missing.values():
        raise frozen(UNWATCHED.format(f"{type(node).__name__} {node.label!r}" if node.label else f"{node!r:.60}"))
    guards.asked += [f"not {guards.name(x)}.requires_grad" for x in used if not x.requires_grad]
    guards.asked += [f"({' or '.join(f'{guards.name(x)}.requires_grad' for x in group)})" for group in trained if group]
    if wanted := [x for x, answer in answers if answer]:
        guards.asked.append(f"require({guards.name(wanted)})")
    return " and ".join(dict.fromkeys(guards.asked)) or "True", guards.held


def guards_from(function: Any, given: Any = (), used: Sequence[Any] = ()) -> Guards:
    """The paths from a function and its arguments to what the code that it reaches names."""
    roots = [function, *leaves(given)]
    names = {"forward", *_names_in(getattr(function, "__code__", None))}  # called by Module.__call__
    guards = Guards(roots, used, names)
    while not guards.read <= names and guards.read.isdisjoint(READS_ALL):
        names = names | guards.read
        guards = Guards(roots, used, names)
    return guards if guards.read.isdisjoint(READS_ALL) else Guards(roots, used, names | guards.read, everything=True)


def compile_guard(expression: str, names: dict[str, Any]) -> Callable[[], bool]:
    """The checks as a function."""
    source = f"def current():\n    try:\n        return {expression}\n"
    source += "    except (LookupError, AttributeError, ValueError):\n        return False\n"
    exec(compile(source, "<micrograd.compile>", "exec"), names)
    return names["current"]


class Guards:
    """The paths from the roots to what is used: `asked` are the checks on the way, `read` the names used by the code,
    `missing` the used nodes not reached.
    """

    def __init__(self, roots: Sequence[Any], used: Sequence[Any], names: set[str], everything: bool = False):
        self.names = names
        self.everything = everything
        self.used: dict[int, Any] = {id(x): x for x in used}
        self.missing: dict[int, Any] = dict(self.used)
        self.read: set[str] = set()
        self.asked: list[str] = []
        self.held: dict[str, Any] = {
            "contents": _contents,
            "same": same_objects,
            "kinds": kinds,
            "flat": chain.from_iterable,
            "require": _all_require,
        }
        self.containers: list[Any] = []  # what could be changed in place
        self._names: dict[int, str] = {}
        self.seen: set[int] = set()
        self.waiting: list[Any] = []
        for root in roots:
            self._meet(None, "", root)
        while self.waiting:
            x = self.waiting.pop()
            self.containers.append(x)
            as_whole = self._ask_as_whole(x)
            for container, place, child in self._places(x):
                in_a_container = container is x and place[:1] == "["
                self._meet(container, "" if as_whole else place, child, bound=not in_a_container)

    def name(self, x: Any) -> str:
        """The name of an object in the expression."""
        if id(x) not in self._names:
            self.held[name := f"g{len(self.held)}"] = x
            self._names[id(x)] = name
        return self._names[id(x)]

    def _meet(self, container: Any, place: str, child: Any, bound: bool = True) -> None:
        """Check what is at a place, unless it cannot be replaced, and follow it. A number is checked if it is bound to
        a name, which an element of a container is not.
        """
        if isinstance(child, (Value, Tensor)):
            if id(child) not in self.seen:
                self.seen.add(id(child))
                self._ask_attributes(child)
            if id(child) not in self.used:
                return
            self.missing.pop(id(child), None)
        elif self._is_constant(child):
            self.containers.append(child)
            there = f"{self.name(container)}{place}" if place else self.name(child)
            if place:
                (self._ask_same if bound else self._ask_class)(there, child)
            if isinstance(child, LENGTHY):
                self._ask_kinds(there, child)
            return
        elif id(child) not in self.seen and not isinstance(child, (str, bytes, bool, type(None))):
            self.seen.add(id(child))
            if isinstance(child, type) and place != ".__class__" and _is_users(child.__module__):
                self.read |= {"__init__", "__new__"}  # it may create objects
            self.waiting.append(child)
        if place:
            same = "==" if isinstance(child, (str, bytes)) else "is"
            self.asked.append(f"{self.name(container)}{place} {same} {self.name(child)}")

    def _ask_class(self, there: str, x: Any) -> None:
        """Check that what is there has the class of x."""
        self.asked.append(f"{there}.__class__ is {self.name(type(x))}")

    def _ask_same(self, there: str, x: Any) -> None:
        """Check that a name is bound to x, or to an equal number; zeros and nan are compared by their text."""
        if not isinstance(x, (int, float, complex, np.generic)):
            self.asked.append(f"{there} is {self.name(x)}")
            return
        self._ask_class(there, x)
        self.asked.append(f"{there} == {self.name(x)}" if x == x != 0 else f"repr({there}) == {repr(x)!r}")

    def _ask_kinds(self, there: str, x: Any) -> None:
        """Check what `kinds` says."""
        self.asked.append(self._without_a_call(there, x) or f"kinds({there}) == {self.name(kinds(x))}")

    def _without_a_call(self, there: str, x: Any) -> str:
        """The same check for numbers, for nodes, and for rows of numbers that have one length; "" for anything else."""
        inside = {*map(type, x)} if x.__class__ in SEQUENCES else set()
        if not inside:
            return ""
        alike = f"len({there}) == {len(x)} and {{*map(type, {there})}}"
        if inside <= NUMBERS:
            return f"{alike} == {self.name(inside)}"
        if inside <= VALUES:
            return f"{alike} <= {self.name(VALUES)}"
        if not inside <= SEQUENCES or len({*map(len, x)}) > 1 or not {*map(type, chain.from_iterable(x))} <= NUMBERS:
            return ""
        rows = f"{{*map(len, {there})}} == {self.name({*map(len, x)})}"
        numbers = f"{{*map(type, flat({there}))}} == {self.name({*map(type, chain.from_iterable(x))})}"
        same = f"same({there}, {self.name([*x])}) or " if inside == {tuple} else ""  # a tuple of numbers stays as it is
        return f"({same}{alike} == {self.name(inside)} and {rows} and {numbers})"

    def _ask_attributes(self, node: Any) -> None:
        """Check what the code may read of a node besides its numbers: what the node holds, or might hold later."""
        held = vars(node)
        for name in [name for name in held if name in self.names and name[0] != "_"]:
            self._meet(node, f".{name}", held[name])
        if "label" in self.names:
            self.asked.append(f"{self.name(node)}.label == {node.label!r}")
        if users := _is_users(type(node).__module__):
            self._meet(node, ".__class__", type(node))
        if users or not self.names.isdisjoint(MAY_LACK):
            self.asked.append(f"{self.name(self.names - held.keys())}.isdisjoint({self.name(node)}.__dict__)")

    def _is_constant(self, x: Any, depth: int = 0) -> bool:
        """True if x is a number or an array, or contains only these and nodes that were not used."""
        if isinstance(x, CONTAINERS) and x and depth < 50:
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
        elif self._is_of_values(x):
            self.asked.append(f"{self.name(x)} == {self.name([y[:] if y.__class__ is list else y for y in x])}")
            return True
        elif isinstance(x, (list, dict)):
            keys = f"[*{self.name(x)}] == {self.name([*x])}" if isinstance(x, dict) else ""
            self.asked.append(keys or f"len({self.name(x)}) == {len(x)}")
        return False

    def _is_of_values(self, x: Any) -> bool:
        """True for a list of used Values, and for a matrix with some: equal ones have the same Values."""
        if x.__class__ is not list or not x:
            return False
        if {*map(type, x)} == {list}:
            found = [*chain.from_iterable(x)]
            return {*map(type, found)} <= VALUES and not self.used.keys().isdisjoint(map(id, found))
        return all(isinstance(part, Value) and id(part) in self.used for part in x)

    def _places(self, x: Any) -> Iterator[Place]:
        """Where x holds something. The expression for the place is empty if it cannot be replaced."""
        if self._is_of_values(x):
            self.containers += (parts for parts in x if isinstance(parts, list))
            yield from ((x, "", part) for part in leaves(x))
        elif isinstance(x, types.FunctionType):
            yield from self._of_function(x)
        elif isinstance(x, type):
            for kind in x.__mro__:
                if _is_users(kind.__module__):
                    name, absent = self.name(kind), self.name({*dir(kind), *self.names, *SPECIAL} - vars(kind).keys())
                    same_mro = f"{name}.__mro__ is {self.name(kind.__mro__)}"
                    self.asked += [same_mro, f"{name}.__dict__.keys().isdisjoint({absent})"]  # else it hides a base's
                    yield from self._of_class(kind)
            if _is_users(type(x).__module__):
                yield x, ".__class__", type(x)
        elif isinstance(x, types.ModuleType) and _is_users(x.__name__):
            yield from self._of_names(vars(x), self.names)
        elif isinstance(x, Transformable):  # another compiled function: follow the original, not its programs
            yield x, "", x.origin  # type: ignore[attr-defined]
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
            yield x, f".{name}", (given := getattr(x, name))
            keys = given if isinstance(given, dict) else range(len(given))
            yield from ((x, f".{name}[{key!r}]", given[key]) for key in keys)
        for cell in x.__closure__ or ():
            yield from ((cell, ".cell_contents", part) for part in _contents(cell))
            if not _contents(cell):
                self.asked.append(f"not contents({self.name(cell)})")
        module = (x.__module__ or "").removeprefix("micrograd.")  # an example in a docstring of ours is a user's code
        if not x.__code__.co_filename.startswith(PACKAGE) and _is_users(module):
            yield x, ".__code__", x.__code__
            self.read |= _names_in(x.__code__)
            names = _globals_in(x.__code__)
            yield from self._of_names(x.__globals__, names)
            yield from self._of_names(x.__builtins__, names - x.__globals__.keys())
            yield from self._of_object(x)

    def _of_names(self, held: dict[str, Any], names: Iterable[str]) -> Iterator[Place]:
        """What a namespace holds under these names. It may not get one of the others."""
        if absent := names - held.keys():
            self.asked.append(f"{self.name(held)}.keys().isdisjoint({self.name(absent)})")
        yield from ((held, f"[{name!r}]", held[name]) for name in names & held.keys())

    def _of_class(self, kind: type) -> Iterator[Place]:
        """What a class holds under the names that are read, and the special methods, which Python calls."""
        for name, part in list(vars(kind).items()):
            implicit = name[:2] == "__" and isinstance(part, types.FunctionType) and name not in NEVER_CALLED
            if implicit or name in self.names:
                yield vars(kind), f"[{name!r}]", part
            elif self.everything and name[:2] != "__":
                yield from self._unnamed(vars(kind), f"[{name!r}]", part)

    def _unnamed(self, container: Any, place: str, part: Any) -> Iterator[Place]:
        """What is there, unless it is made of numbers: those that a program counts and lists may grow."""
        if self._is_constant(part):
            self._ask_class(f"{self.name(container)}{place}", part)
        else:
            yield container, place, part

    def _of_object(self, x: Any) -> Iterator[Place]:
        """Its attributes, in `__dict__` and slots, and its class."""
        kind = type(x)
        ours = kind.__module__.startswith("micrograd.")
        users = _is_users(kind.__module__) or kind in (types.SimpleNamespace, types.FunctionType)
        if kind.__module__.split(".")[0] in LIBRARIES and not users:
            return
        held = getattr(x, "__dict__", {})
        whole = (self.everything and users) or ours
        if ours and held and all(isinstance(y, (str, bool)) or self._is_of_values([y]) for y in held.values()):
            copy = {name: y[:] if isinstance(y, list) else y for name, y in held.items()}
            self.asked.append(f"{self.name(x)}.__dict__ == {self.name(copy)}")
            self.containers += (y for y in held.values() if isinstance(y, list))
            yield from ((x, "", part) for y in held.values() for part in leaves(y))
            return
        for name in list(held):
            if name in self.names or (isinstance(x, Module) and ours):
                yield x, f".{name}", held[name]
            elif whole:
                yield from self._unnamed(x, f".{name}", held[name])
        if hasattr(x, "__dict__"):
            others = f"{self.name(self.names - held.keys())}.isdisjoint({self.name(x)}.__dict__)"
            others = others if held else f"(not {self.name(x)}.__dict__ or {others})"
            self.asked.append(f"len({self.name(x)}.__dict__) == {len(held)}" if whole else others)
        if ours or kind is types.FunctionType:
            return
        for slot in {name for above in kind.__mro__ for name, part in vars(above).items() if isinstance(part, SLOT)}:
            if (whole or slot in self.names) and hasattr(x, slot):
                yield x, f".{slot}", getattr(x, slot)
            elif whole or slot in self.names:
                self.asked.append(f"not hasattr({self.name(x)}, {slot!r})")
        yield x, ".__class__", kind


SEQUENCES: set[type] = {list, tuple}
NUMBERS: set[type] = {float, int}
VALUES: set[type] = {Value, AwayValue}
SLOT = types.MemberDescriptorType
LENGTHY = (*CONTAINERS, *BUFFERS, np.ndarray)
STEPS: dict[type, tuple[str, ...]] = {  # immutable objects, and the attributes to follow
    types.MethodType: ("__self__", "__func__"),
    partialmethod: ("func",),
    partial: ("func", "args", "keywords"),
    property: ("fget",),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
}


def _contents(x: Any) -> list[Any]:
    """What is in a container of any kind."""
    return x.ravel().tolist() if isinstance(x, np.ndarray) else gc.get_referents(x)


def _all_require(nodes: list[Any]) -> bool:
    """True if all of these nodes require a gradient."""
    return None not in [x._row if isinstance(x, Value) else x._node._row for x in nodes]


@lru_cache
def _reads_training(kind: type[Module]) -> bool:
    """True if the code of a layer of ours reads its mode; what code of the user's reads is among the names."""
    methods = [method for above in kind.__mro__ if above is not Module for method in vars(above).values()]
    return any("training" in _names_in(getattr(method, "__code__", None)) for method in methods)


def same_objects(found: list[Any], wanted: list[Any]) -> bool:
    """True if the lists hold the same objects."""
    return len(found) == len(wanted) and all(map(is_, found, wanted))


def kinds(x: Any) -> Any:
    """What is watched of numbers in containers: lengths, the types of what is in them, keys, and the shapes of arrays.

    >>> kinds([[1.0, 2.0], [3.0, 4.0]]) == kinds([[5.0, 6.0], [7.0, 8.0]]) != kinds([[1.0, 2.0], [3.0, None]])
    True
    """
    level, found = [x], []
    while level and len(found) < 100 and {*map(type, level)} <= {list, tuple}:  # nested lists, in which all are alike
        found += [[*map(type, level)], [*map(len, level)]]
        level = [*chain.from_iterable(level)]
    inside = {Value if kind is AwayValue else kind for kind in map(type, level)}
    deeper = any(issubclass(kind, LENGTHY) for kind in inside)
    return found, inside, [*map(_kind, level)] if deeper else len(level)


def _kind(x: Any) -> Any:
    if isinstance(x, CONTAINERS):
        return type(x), kinds([*x.values()] if isinstance(x, dict) else [*x]), [*x] if isinstance(x, dict) else None
    return type(x), getattr(x, "shape", len(x) if isinstance(x, BUFFERS) else None), getattr(x, "dtype", None)


@lru_cache(maxsize=4096)
def _is_users(module: Any) -> bool:
    """True if this module belongs to the user, and so may change; those of Python and of installed packages do not.

    A script is its user's even if an installed program runs it, such as a debugger or pytest.
    """
    root = module.split(".")[0] if isinstance(module, str) else "builtins"  # a class written in C may have no name
    if root == "micrograd" or root in LIBRARIES:
        return False
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return root == "__main__" or {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


@lru_cache(maxsize=4096)
def _names_in(code: Any) -> frozenset[str]:
    """The names that a function's code, and that of the functions inside it, has for globals and attributes.

    If it looks names up in strings, these are among them.
    """
    if not isinstance(code, types.CodeType):
        return frozenset()
    names = set(code.co_names).union(*map(_names_in, code.co_consts))
    if any(step.opname == "MATCH_CLASS" for step in get_instructions(code)):  # `case Point(x=0)` names no attribute
        names.add("getattr")
    if not names.isdisjoint(BY_NAME):
        names.update(x for x in code.co_consts if isinstance(x, str) and x.isidentifier())
    return frozenset(names)


@lru_cache(maxsize=4096)
def _globals_in(code: types.CodeType) -> frozenset[str]:
    """The names that it looks up among globals and builtins, and those in strings."""
    names = {step.argval for step in get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = (_globals_in(x) for x in code.co_consts if isinstance(x, types.CodeType))
    return frozenset(names.union(*inner, _names_in(code) - {*code.co_names} if "globals" in code.co_names else ()))
