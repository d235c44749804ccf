"""Guards: detect when a trace is stale.

A program reads nodes live, by object. Everything else that the function looked at is baked into the trace: the layers
of a list, the name of an activation, a function that it calls. So each call first checks, by identity, what the
function would find: in its closure, defaults, globals and imports, in `self` and its class, and from there in
attributes, lists, dicts and other functions.

Only what the code names is checked, in the function and in those that it reaches, so that a list of losses next to the
weights may grow. A name that is bound nowhere yet is checked too. Code that reads what it does not name (`getattr`,
`vars`, `parameters()`) is assumed to read everything. A node that was used but cannot be reached this way is refused,
since its replacement would not be detected. A number that a name is bound to is compared. Of a container of numbers,
only the keys and the classes of its items are, and of a long container of data the length (`data`). The code of
installed packages is not followed.

A walk before the trace finds the objects that the function could change (`remains`) or draw from. A second walk after
the trace, when it is known which nodes were used, gives the checks. A change that the function itself made while it was
traced is then part of what is checked.

The checks are one generated expression, `g0.cell_contents is g1 and g1.neurons is g2 and g3 == g4`, in which a list of
Values is compared as a whole: Values are equal only to themselves.

>>> def line(state):
...     return lambda x: state["w"] * x
>>> state = {"w": Value(2.0)}
>>> current = compile_guard(*Guards(line(state), used=[state["w"]]).checks())
>>> current()
True
>>> state["w"] = Value(2.0)
>>> current()
False
"""

from __future__ import annotations

import gc
import operator
import sys
import types
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dis import get_instructions
from enum import Enum
from functools import lru_cache
from importlib.util import resolve_name
from itertools import accumulate
from operator import is_
from typing import Any, NamedTuple

from ..common.trees import leaves, tree_map
from ..engine.value import Value
from ..nn.module import Module
from ..tensor.optional import np
from .data import (
    BUFFERS,
    CONTAINERS,
    LIKE_USERS,
    LONG,
    NODES,
    NUMBERS,
    STEPS,
    VALUES,
    VIEWS,
    Data,
    data_in,
    is_long,
    is_users,
    kinds_in,
)
from .trace_errors import PACKAGE, UNWATCHED, frozen

TEXT = (str, bytes, bool, type(None))
DEPTH = 8  # of containers of numbers, which may hold themselves
OTHERS = (set, frozenset, deque, np.ndarray)  # containers compared as a whole
BY_NAME = {"getattr", "hasattr", "vars", "dir", "eval", "exec", "attrgetter", "__dict__", "asdict", "astuple"}
BY_NAME |= {"globals", "__globals__", "locals", "setattr", "methodcaller"}
IMPORTERS = {"import_module", "__import__", "modules"}
ANY_GLOBAL = {"globals", "eval", "exec"}
LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
MAY_LACK = BY_NAME | {"AttributeError"}  # code with these names may read an attribute that is not there
READS_ALL = BY_NAME | {"parameters", "named_parameters", "modules", "state_dict", "zero_grad"}
SPECIAL = {name for kind in (int, list, dict, types.FunctionType) for name in dir(kind) if name[:2] == "__"}
SPECIAL |= {"__getattr__", "__bool__", "__contains__", "__enter__", "__exit__", "__matmul__", "__missing__", "__next__"}
MAKERS = {"__init__", "__new__"}
NEVER_CALLED = MAKERS | {"__repr__"}  # by a function that only uses an object, and names none of these
CALLS = {"type": MAKERS, "__class__": MAKERS, **{word: {"__repr__"} for word in ("repr", "str", "format")}}
SLOT = types.MemberDescriptorType
BUILT_IN = (SLOT, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType)
Place = tuple[Any, ...]  # container, the expression for the place in it, what is there, and perhaps how it is checked
# How a number, or a container of numbers, is checked at a place: as it is, by its class and lengths, by its class
NAMED, ITEM, UNNAMED = range(3)
INDEX = "[{!r}]"  # of a namespace, by name


def compile_guard(expression: str, names: dict[str, Any]) -> Callable[[], bool]:
    """The checks as a function."""
    source = f"def current():\n    try:\n        return {expression}\n"
    source += "    except (LookupError, AttributeError, ValueError):\n        return False\n"
    exec(compile(source, "<micrograd.compile>", "exec"), names)
    return names["current"]


class Guards:
    """What a function reads, by the paths from it and from the keyword arguments that it is `given`.

    `reached` are the objects on these paths that could be changed in place. Of the nodes on them, only those in `used`
    are checked.
    """

    def __init__(self, function: Any, given: Any = (), used: Iterable[Any] = ()):
        self.reached: list[Any] = []
        self.held: dict[str, Any] = {
            "contents": _contents,
            "same": same_objects,
            "require": _all_require,
            "kinds_in": kinds_in,
        }
        self._names: set[str] = set()  # read by the code
        self._read: set[str] = {"forward", "backward", "__getattr__"}
        self._read |= _reads_of(getattr(function, "__code__", None)).names
        self._everything = False  # is so much read that it is not known by which names?
        self._asked: list[str] = []
        self._letters: dict[int, str] = {}
        self._seen: set[int] = set()
        self._waiting: list[Any] = []
        self._holders: list[tuple[Any, Any, str, int]] = []  # what `_hold` was called with
        self._late: list[tuple[Callable[[Guards, Any], str], Any]] = []  # checks that depend on all names that are read
        self._used: dict[int, Any] = {id(x): x for x in used}
        self._missing: dict[int, Any] = {**self._used}  # those that were not met yet
        for root in (function, *leaves(given)):
            self._meet(None, "", root)
        self._follow()

    def checks(
        self, trained: Sequence[Sequence[Any]] = (), answers: Sequence[tuple[Any, bool]] = ()
    ) -> tuple[str, dict[str, Any]]:
        """The checks that the function would still find the nodes used and all else that its code names.

        Also that what required no gradient still does not, that in each group of `trained` nodes at least one does, and
        that nodes whose `requires_grad` was read still give these answers.

        Returns:
            An expression, and the objects in it by name.
        """
        if self._missing and not self._everything:
            self._read.add("getattr")  # code that is not followed reads them, by names that are not known
            self._follow()
        for node in self._missing.values():
            raise frozen(UNWATCHED.format(f"{type(node).__name__} {node.label!r}" if node.label else f"{node!r:.60}"))
        self._asked += [check(self, x) for check, x in self._late]
        self._asked += [f"not {self._name(x)}.requires_grad" for x in self._used.values() if not x.requires_grad]
        groups = (" or ".join(f"{self._name(x)}.requires_grad" for x in group) for group in trained if group)
        self._asked += map("({})".format, groups)
        if wanted := [x for x, answer in answers if answer]:
            self._asked.append(f"require({self._name(wanted)})")  # one call, since `parameters()` reads it of each
        return " and ".join(filter(None, dict.fromkeys(self._asked))) or "True", self.held

    # ---- the walk

    def _follow(self) -> None:
        """Visit what was met, and meet what is held under the names that are new, until nothing is."""
        while True:
            while self._waiting:
                self._visit(self._waiting.pop())
            if self._everything:  # then only code that nothing named has new names
                return
            if new := self._read - self._names:
                self._names |= new
                self._meet_held(new)
            elif not self._names.isdisjoint(READS_ALL):
                self._everything = True
                self._meet_held(None)
            else:
                return

    def _hold(self, x: Any, held: Any, form: str = ".{}", unnamed: int = UNNAMED) -> None:
        """Meet what x holds under the names that are read, now and whenever there are more of them."""
        self._holders.append(holder := (x, held, form, unnamed))
        self._meet_all(self._places(*holder, self._names))
        if self._everything:
            self._meet_all(self._places(*holder, None))

    def _meet_held(self, names: set[str] | None) -> None:
        for holder in [*self._holders]:
            self._meet_all(self._places(*holder, names))

    def _places(self, x: Any, held: Any, form: str, unnamed: int, names: set[str] | None) -> list[Place]:
        """The places of these names; of None those of all others, which `parameters()` reads of objects alone."""
        if names is not None:
            return [(x, form.format(name), held[name]) for name in held.keys() & names]
        if form == INDEX and self._names.isdisjoint(BY_NAME):
            return []
        rest = held.keys() - self._names
        return [(x, form.format(name), held[name], unnamed) for name in rest if name[:2] != "__"]

    def _meet_all(self, places: Iterable[Place]) -> None:
        for place in places:
            self._meet(*place)

    def _meet(self, container: Any, at: str, child: Any, how: int = NAMED) -> None:
        """Check what is at a place, unless the expression for it is empty as it cannot be replaced, and follow it."""
        there = f"{self._name(container)}{at}" if at else ""
        if type(child) in TEXT:
            pass
        elif isinstance(child, NODES):
            if id(child) not in self._seen:
                self._seen.add(id(child))
                self._of_node(child)
            if id(child) not in self._used:
                return
            self._missing.pop(id(child), None)
        elif (data := data_in(child)) and self._is_constant(child, data):
            self._ask_constant(there, child, data, how)
            return
        elif id(child) not in self._seen:
            self._seen.add(id(child))
            if isinstance(child, type) and at != ".__class__" and is_users(child.__module__):
                self._read |= MAKERS  # it may create objects
            self._waiting.append(child)
        if there:
            self._ask_same(there, child)

    def _is_constant(self, x: Any, data: Data) -> bool:
        """True if x is followed no further: it has numbers alone, or many items, and no node that is used."""
        return (data.of_numbers or is_long(x)) and data.nodes.keys().isdisjoint(self._used)

    def _visit(self, x: Any) -> None:
        """Meet what x holds."""
        self.reached.append(x)
        if isinstance(x, types.FunctionType):
            self._of_function(x)
        elif isinstance(x, type):
            self._of_type(x)
        elif isinstance(x, types.ModuleType) and is_users(x.__name__):
            self._of_namespace(vars(x))
        elif isinstance(x, VIEWS):
            self._meet_all((x, "", part) for part in _contents(x))
        elif isinstance(x, tuple(STEPS)):
            names = next(names for kind, names in STEPS.items() if isinstance(x, kind))
            self._meet_all((x, "", getattr(x, name)) for name in names)
        elif isinstance(x, (operator.attrgetter, operator.methodcaller)):
            self._read |= {*repr(x).replace("'", ".").split(".")}
        else:
            self._of_container(x)
            self._of_object(x)
            if isinstance(x, Module):
                self._late.append((Guards._mode_of, x))

    def _of_container(self, x: Any) -> None:
        """Meet its items; of a long one only those that are more than data."""
        if self._are_used(x):
            self._asked.append(f"{self._name(x)} == {self._name(tree_map(lambda value: value, x))}")
            self._meet_all((x, "", part) for part in leaves(x))
        elif isinstance(x, np.ndarray) and not x.dtype.hasobject:  # of a user's class
            self._ask_kinds(self._name(x), x)
        elif isinstance(x, OTHERS):
            self._asked.append(f"same(contents({self._name(x)}), {self._name(_contents(x))})")
            self._meet_all((x, "", part) for part in _contents(x))
        elif isinstance(x, (dict, list, tuple)):
            self._of_items(x)

    def _of_items(self, x: Any) -> None:
        """Meet the items of a list, a tuple or a dict; of a long one only those that are more than data."""
        of_dict, short = isinstance(x, dict), len(x) <= LONG
        items: Any = [*x.items()] if of_dict else enumerate(x)
        if of_dict and short:
            self._asked.append(f"[*{self._name(x)}] == {self._name([*x])}")
        elif not isinstance(x, tuple):
            self._asked.append(f"len({self._name(x)}) == {len(x)}")
        if isinstance(x, defaultdict):
            self._meet(x, ".default_factory", x.default_factory)
        for key, part in items:
            data = None if short else data_in(part)
            if data is None or data.nodes:
                at = f"[{self._name(key) if of_dict else key}]" * (not isinstance(x, tuple))
                self._meet(x, at, part, ITEM)
            if of_dict:
                self._meet(x, "", key)

    def _of_function(self, x: types.FunctionType) -> None:
        if x.__defaults__:
            self._meet(x, ".__defaults__", x.__defaults__)
        if x.__kwdefaults__:
            self._meet(x, ".__kwdefaults__", x.__kwdefaults__)
            self._of_names(x.__kwdefaults__, x.__kwdefaults__.keys())
        for cell in x.__closure__ or ():
            if contents := _contents(cell):
                self._meet(cell, ".cell_contents", *contents)
            else:
                self._asked.append(f"not contents({self._name(cell)})")
        module = (x.__module__ or "").removeprefix("micrograd.")  # an example in a docstring of ours is a user's code
        if x.__code__.co_filename.startswith(PACKAGE) or not is_users(module):
            return
        self._meet(x, ".__code__", x.__code__)
        reads = _reads_of(x.__code__)
        self._read |= reads.names
        self._of_names(x.__globals__, reads.globals)
        self._of_names(x.__builtins__, reads.globals - x.__globals__.keys())
        modules = (resolve_name(name, x.__globals__.get("__package__")) for name in reads.modules)
        imported = {parent for name in modules for parent in accumulate(name.split("."), "{}.{}".format)}
        self._of_names(sys.modules, {name for name in imported if name not in sys.modules or is_users(name)})
        if "__globals__" in reads.names or not reads.globals.isdisjoint(ANY_GLOBAL):
            self._of_namespace(x.__globals__)
        self._of_object(x)

    def _of_names(self, held: dict[str, Any], names: AbstractSet[str]) -> None:
        """What a namespace holds under these names. It may not get one of the others."""
        if absent := names - held.keys():
            self._asked.append(f"{self._name(held)}.keys().isdisjoint({self._name(absent)})")
        self._meet_all(self._places(held, held, INDEX, NAMED, {*names}))

    def _of_namespace(self, held: dict[str, Any]) -> None:
        """What it holds under the names that are read, and under any if code reads what it does not name."""
        self._hold(held, held, INDEX)
        self._late.append((Guards._gets_no_name, held))

    def _gets_no_name(self, held: dict[str, Any]) -> str:
        """Check that a namespace gets no other name that the code reads."""
        return f"{self._name(held)}.keys().isdisjoint({self._name(self._names - held.keys())})"

    def _of_type(self, x: type) -> None:
        """What a class and those above it hold."""
        for kind in x.__mro__:
            if is_users(kind.__module__) and (kind is x or id(kind) not in self._seen):
                self._seen.add(id(kind))
                self._asked.append(f"{self._name(kind)}.__mro__ is {self._name(kind.__mro__)}")
                self._meet_all(_implicit(kind))
                self._hold(vars(kind), vars(kind), INDEX)
                self._late.append((Guards._hides_nothing, kind))
        if is_users(type(x).__module__):
            self._meet(x, ".__class__", type(x))

    def _hides_nothing(self, kind: type) -> str:
        """Check that a class does not get what would hide an attribute of one above it."""
        absent = self._name({*dir(kind), *self._names, *SPECIAL} - vars(kind).keys())
        return f"{self._name(kind)}.__dict__.keys().isdisjoint({absent})"

    def _of_object(self, x: Any) -> None:
        """Its attributes, in `__dict__` and slots, and its class."""
        kind = type(x)
        if kind.__module__.startswith("micrograd."):
            self._of_ours(x)
        elif is_users(kind.__module__) or kind in (*LIKE_USERS, types.FunctionType):
            self._hold(x, getattr(x, "__dict__", {}))
            self._hold(x, {slot: getattr(x, slot) for slot in _slots(kind) if hasattr(x, slot)}, unnamed=NAMED)
            self._late.append((Guards._gets_no_other, x))
            if kind is not types.FunctionType:
                self._meet(x, ".__class__", kind)
        elif not hasattr(x, "cache_clear"):  # what is cached is constant
            held = [*getattr(x, "__dict__", {}).values()]
            self._meet_all((x, "", part) for part in held if isinstance(part, types.FunctionType))

    def _gets_no_other(self, x: Any) -> str:
        """Check that an object gets no other attribute that the code reads."""
        all_read = self._everything and not isinstance(x, types.FunctionType)
        asked = [f"not hasattr({self._name(x)}, {slot!r})" for slot in _slots(type(x)) if not hasattr(x, slot)]
        if (held := getattr(x, "__dict__", None)) is not None:
            there = f"{self._name(x)}.__dict__"
            absent = self._names - held.keys()
            asked.append(f"len({there}) == {len(held)}" if all_read else f"{self._name(absent)}.isdisjoint({there})")
        return " and ".join(asked)

    def _of_ours(self, x: Any) -> None:
        """What one of our objects holds. That of a neuron is compared as a whole."""
        held = getattr(x, "__dict__", {})
        rest = [y for y in held.values() if not isinstance(y, (str, bool))]
        if rest and all(self._are_used(y if isinstance(y, list) else [y]) for y in rest):
            copy = {name: y[:] if isinstance(y, list) else y for name, y in held.items()}
            self._asked.append(f"{self._name(x)}.__dict__ == {self._name(copy)}")
            self._meet_all((x, "", part) for part in leaves(rest))
        else:
            self._asked.append(f"len({self._name(x)}.__dict__) == {len(held)}" if held else "")
            self._hold(x, held)
            self._meet_all(self._places(x, held, ".{}", NAMED if isinstance(x, Module) else UNNAMED, None))

    def _mode_of(self, x: Module) -> str:
        """Check the mode of a module that reads it."""
        reads = not self._names.isdisjoint({"training", *BY_NAME}) or _reads_training(type(x))
        return f"{self._name(x)}.training is {bool(x.training)}" if reads else ""

    def _of_node(self, node: Any) -> None:
        """What the code may read of a node besides its numbers: what the node holds, or might hold later."""
        self._late.append((Guards._label_of, node))
        if is_users(type(node).__module__):
            self._meet(node, ".__class__", type(node))
        if held := {name: x for name, x in vars(node).items() if name[0] != "_"}:
            self._hold(node, held)

    def _label_of(self, node: Any) -> str:
        """Check the label of a node, and that the node gets no other attribute, if the code might read them."""
        checks = [f"{self._name(node)}.label == {node.label!r}"] if "label" in self._names else []
        if is_users(type(node).__module__) or not self._names.isdisjoint(MAY_LACK):
            checks.append(f"{self._name(self._names - vars(node).keys())}.isdisjoint({self._name(node)}.__dict__)")
        return " and ".join(checks)

    def _are_used(self, x: Any) -> bool:
        """True for a list of Values that are all used, and for a matrix of Values of which any is."""
        if x.__class__ is not list or not x:
            return False
        is_matrix = {*map(type, x)} == {list}
        values = leaves(x) if is_matrix else x
        used = [id(value) in self._used for value in values]
        return VALUES.issuperset(map(type, values)) and (any(used) if is_matrix else all(used))

    # ---- the checks

    def _name(self, x: Any) -> str:
        """The name of an object in the expression."""
        if id(x) not in self._letters:
            self.held[name := f"g{len(self.held)}"] = x
            self._letters[id(x)] = name
        return self._letters[id(x)]

    def _ask_constant(self, there: str, x: Any, data: Data, how: int) -> None:
        """Check what is watched of a number, or of a container that is followed no further."""
        self.reached += data.containers[: 1 if is_long(x) and not data.nodes else None]
        if there and how == NAMED:
            self._ask_same(there, x)
        elif there:
            self._asked.append(f"{there}.__class__ is {self._name(type(x))}")
        if how != UNNAMED:
            self._ask_kinds(there if there and how == ITEM else self._name(x), x)
        kinds = [kind for kind in data.kinds if is_users(kind.__module__) and id(kind) not in self._seen]
        self._seen |= set(map(id, kinds))
        self._waiting += kinds

    def _ask_same(self, there: str, x: Any) -> None:
        """Check that x is there, or an equal number or text; zeros and nan are compared by their text."""
        if isinstance(x, (str, bytes)):
            self._asked.append(f"{there} == {self._name(x)}")
        elif isinstance(x, NUMBERS) and not isinstance(x, (bool, Enum)):
            self._asked.append(f"{there}.__class__ is {self._name(type(x))}")
            self._asked.append(f"{there} == {self._name(x)}" if x == x != 0 else f"repr({there}) == {repr(x)!r}")
        else:
            self._asked.append(f"{there} is {self._name(x)}")

    def _ask_kinds(self, there: str, x: Any, depth: int = 0) -> None:
        """Check the length of a container; of a short one also its keys and the classes of its items, at all levels."""
        if isinstance(x, np.ndarray):
            self._asked.append(f"({there}.shape, {there}.dtype) == {self._name((x.shape, x.dtype))}")
        elif is_long(x) or isinstance(x, BUFFERS):
            self._asked.append(f"len({there}) == {len(x)}")
        elif isinstance(x, CONTAINERS) and depth < DEPTH:
            of_dict = isinstance(x, dict)
            self._asked += [f"[*{there}] == {self._name([*x])}"] * of_dict
            parts = [*x.values()] if of_dict else [*x]
            items = f"{there}{'.values()' * of_dict}"
            kinds = f"[*map(type, {items})]" if VALUES.isdisjoint(map(type, parts)) else f"kinds_in({items})"
            self._asked.append(f"{kinds} == {self._name(kinds_in(parts))}")
            for key, part in zip(x if of_dict else range(len(x)), parts, strict=True):
                if isinstance(part, (*CONTAINERS, *BUFFERS, np.ndarray)) and not isinstance(x, (set, frozenset)):
                    self._ask_kinds(f"{there}[{self._name(key)}]", part, depth + 1)


def _all_require(nodes: list[Any]) -> bool:
    """True if all of these nodes require a gradient."""
    return None not in [x._row if isinstance(x, Value) else x._node._row for x in nodes]


@lru_cache(maxsize=4096)
def _slots(kind: type) -> set[str]:
    """The names of an object's slots, or of what a function holds beside its `__dict__`."""
    if kind is types.FunctionType:
        return {"__name__", "__qualname__", "__doc__"}
    above = map(vars, kind.__mro__)
    return {name for held in above for name in held if isinstance(held[name], SLOT)} - {"__dict__"}


def _implicit(kind: type) -> Iterator[Place]:
    """The special methods of a class, which Python calls: functions, or other things that can be called or bound."""
    for name, part in list(vars(kind).items()):
        bound = callable(part) or hasattr(part, "__get__")
        if name[:2] == "__" and name not in NEVER_CALLED and bound and not isinstance(part, BUILT_IN):
            yield vars(kind), INDEX.format(name), part


def _contents(x: Any) -> list[Any]:
    """What is in a container of any kind."""
    if isinstance(x, np.ndarray):
        return x.ravel().tolist()
    return [*deque.__iter__(x)] if isinstance(x, deque) else gc.get_referents(x)  # a deque may refer to its class, too


def _reads_training(kind: type[Module]) -> bool:
    """True if the code of a layer of ours reads its mode; what code of the user's reads is among the names."""
    methods = [method for above in kind.__mro__ if above is not Module for method in vars(above).values()]
    return any("training" in _reads_of(getattr(method, "__code__", None)).names for method in methods)


def same_objects(found: list[Any], wanted: list[Any]) -> bool:
    """True if the lists hold the same objects."""
    return len(found) == len(wanted) and all(map(is_, found, wanted))


class Reads(NamedTuple):
    """The names that a function's code, and that of the functions inside it, looks up."""

    names: frozenset[str]  # of globals and attributes
    globals: frozenset[str]  # and of builtins
    modules: frozenset[str]  # which it imports; with leading dots, they are relative


@lru_cache(maxsize=4096)
def _reads_of(code: Any) -> Reads:
    """What code looks up. If it looks names up in strings, these are among them."""
    codes = [*_codes_in(code)]
    steps = [step for part in codes for step in get_instructions(part) if step.opname != "EXTENDED_ARG"]
    opnames = {step.opname for step in steps}
    names = {name for part in codes for name in part.co_names}
    texts = {x for part in codes for x in part.co_consts if isinstance(x, str)}
    identifiers = {text for text in texts if text.isidentifier()}

    global_names = {step.argval for step in steps if step.opname in LOADS}
    if "globals" in names:
        global_names |= identifiers

    # IMPORT_NAME follows the number of dots, and the names that are imported from the module
    modules = {"." * steps[i - 2].argval + step.argval for i, step in enumerate(steps) if step.opname == "IMPORT_NAME"}
    if not IMPORTERS.isdisjoint(names):
        modules |= {text for text in texts if text[:1] != "."}

    if "MATCH_CLASS" in opnames:  # `case Point(x=0)` names no attribute
        names.add("getattr")
    if not names.isdisjoint(BY_NAME):
        names |= identifiers
    if not opnames.isdisjoint({"FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"}):
        names.add("format")
    names = names.union(*(CALLS.get(name, ()) for name in names))
    return Reads(frozenset(names), frozenset(global_names), frozenset(modules))


def _codes_in(code: Any) -> Iterator[types.CodeType]:
    """The code, and that of the functions inside it; nothing for a function that is not written in Python."""
    if isinstance(code, types.CodeType):
        yield code
        for constant in code.co_consts:
            yield from _codes_in(constant)
