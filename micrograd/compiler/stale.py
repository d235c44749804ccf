"""Guards: detect when a trace is stale.

A program reads the numbers of nodes at each call. Everything else that the function looked at is baked into the trace:
the layers of a list, the name of an activation, a function that it calls. So each call first checks, by identity, what
the function would find in its closure, defaults, globals and imports, in `self` and its class, and from there in
attributes, lists, dicts and other functions.

Only what the code names is checked, in the function and in those that it reaches, so that a list of losses next to the
weights may grow. A name that is not bound yet is checked too. Code that looks names up as text (`getattr`, `vars`,
`parameters()`) is assumed to read every attribute. A used node that the walk cannot reach is refused, since its
replacement would not be detected. A number that a name is bound to is compared. Of a container of numbers, only the
keys and the classes of its items are checked, and of a long container of data only the length (`data`). The code of
installed packages is not followed.

A walk before the trace finds the objects that the function could change (`remains`) or draw from. It also keeps the
nodes alive, because a used node that no longer exists counts as created inside, and becomes a constant. A second walk,
after the trace, knows which nodes were used and writes the checks. They describe what is there after the trace, so a
change that the function itself makes while it is traced does not make its program stale.

The checks are one generated expression, `g0.cell_contents is g1 and g1.neurons is g2 and g3 == g4`, in which a list of
Values is compared as a whole, because Values are equal only to themselves.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    classes_in,
    data_in,
    is_long,
    is_users_module,
)
from .trace_errors import PACKAGE, UNWATCHED, frozen

TEXT = (str, bytes, bool, type(None))
DEPTH = 8  # of containers of numbers, which may contain themselves
COMPARED = (set, frozenset, deque, np.ndarray)  # containers whose contents are compared as a whole

# Names in code, and what code with such a name may do
ANY_GLOBAL = {"globals", "eval", "exec"}  # read any global
BY_NAME = ANY_GLOBAL | {"getattr", "hasattr", "setattr", "vars", "dir", "locals", "__dict__", "__globals__"}
BY_NAME |= {"attrgetter", "methodcaller", "asdict", "astuple"}  # read attributes whose names are text
IMPORTERS = {"import_module", "__import__", "modules"}  # import modules whose names are text
MAY_LACK = BY_NAME | {"AttributeError"}  # read an attribute that is not there
READS_ALL = BY_NAME | {"parameters", "named_parameters", "modules", "state_dict", "zero_grad"}  # read all attributes

# Instructions that read a global, and that format a value in an f-string
LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
FORMATS = {"FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"}

# Special methods: those that a class could get, those that create an object, and those that code with a name calls
SPECIAL = {name for cls in (int, list, dict, types.FunctionType) for name in dir(cls) if name[:2] == "__"}
SPECIAL |= {"__getattr__", "__bool__", "__contains__", "__enter__", "__exit__", "__matmul__", "__missing__", "__next__"}
MAKERS = {"__init__", "__new__"}
NEVER_CALLED = MAKERS | {"__repr__"}  # by a function that only uses an object, and names none of these
CALLS = {"type": MAKERS, "__class__": MAKERS, **{word: {"__repr__"} for word in ("repr", "str", "format")}}
SLOT = types.MemberDescriptorType
BUILT_IN = (SLOT, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType)

# How the code gets to a number, or to a container of numbers, which says what is checked of it.
# NAMED: by a name in the code; the number itself, or which container it is, and the classes and lengths in it.
# ITEM: by an index in a container; its class, and the classes and lengths in it.
# UNNAMED: by a name that the code computes; its class.
NAMED, ITEM, UNNAMED = range(3)
ATTRIBUTE, KEY = ".{}", "[{!r}]"  # how an expression reads a name of an object, and of a namespace


def compile_guard(expression: str, objects: dict[str, Any]) -> Callable[[], bool]:
    """The checks as a function."""
    source = f"def current():\n    try:\n        return {expression}\n"
    source += "    except (LookupError, AttributeError, ValueError):\n        return False\n"
    exec(compile(source, "<micrograd.compile>", "exec"), objects)
    return objects["current"]


class Guards:
    """A walk along all that a function reads, beginning at the function and at its `keywords` (keyword arguments).

    `reached` are the objects on the way that could be changed in place, and `nodes` are the nodes. Only the nodes in
    `used` are checked.
    """

    def __init__(self, function: Any, keywords: Any = (), used: Iterable[Any] = ()):
        self.reached: list[Any] = []
        self.nodes: list[Any] = []
        self._checks: list[str] = []
        self._late_checks: list[tuple[Callable[[Guards, Any], str], Any]] = []  # they depend on all names that are read
        self._objects: dict[str, Any] = {  # by their names in the checks
            "contents": _contents,
            "same": same_objects,
            "require": _all_require,
            "classes_in": classes_in,
        }
        self._object_names: dict[int, str] = {}
        self._used: dict[int, Any] = {id(node): node for node in used}
        self._missing: dict[int, Any] = {**self._used}  # used nodes that were not met yet

        self._met: set[int] = set()
        self._waiting: list[Any] = []  # met, and to be visited
        self._read: set[str] = {"forward", "backward", "__getattr__"}  # names in the code that was visited
        self._read |= _reads_of(getattr(function, "__code__", None)).names
        self._names: set[str] = set()  # the names that were looked up in all namespaces
        self._namespaces: list[tuple[Any, Mapping[str, Any], str, int]] = []  # the arguments of `_follow_names`
        self._reads_all = False  # True if the code reads attributes by names that are not known

        self._meet_each((function, *leaves(keywords)))
        self._follow()

    def checks(
        self, trained: Sequence[Sequence[Any]] = (), answers: Sequence[tuple[Any, bool]] = ()
    ) -> tuple[str, dict[str, Any]]:
        """The checks that the function would still find the nodes used and all else that its code names.

        They include that a node without a gradient still requires none, that in each group of `trained` nodes at least
        one requires a gradient, and that nodes whose `requires_grad` was read still give these answers.

        Returns:
            An expression, and the objects in it by name.
        """
        if self._missing:
            self._read.add("getattr")  # code that is not followed reads these nodes, by names that are not known
            self._follow()
        for node in self._missing.values():
            raise frozen(UNWATCHED.format(f"{type(node).__name__} {node.label!r}" if node.label else f"{node!r:.60}"))
        self._checks += [check(self, x) for check, x in self._late_checks]
        self._checks += [f"not {self._name(x)}.requires_grad" for x in self._used.values() if not x.requires_grad]
        groups = (" or ".join(f"{self._name(x)}.requires_grad" for x in group) for group in trained if group)
        self._checks += map("({})".format, groups)
        if required := [x for x, answer in answers if answer]:
            self._checks.append(f"require({self._name(required)})")  # one call, since `parameters()` reads all of them
        return " and ".join(filter(None, dict.fromkeys(self._checks))) or "True", self._objects

    # ---- the walk

    def _follow(self) -> None:
        """Visit what was met, and look up the names in the visited code, until nothing is new."""
        while True:
            while self._waiting:
                self._visit(self._waiting.pop())
            if self._reads_all:  # all attributes were met, and new names are only in code that no name leads to
                return
            if new := self._read - self._names:
                self._names |= new
                self._meet_names(new)
            elif not self._names.isdisjoint(READS_ALL):
                self._reads_all = True
                self._meet_names(None)
            else:
                return

    def _follow_names(self, x: Any, contents: Mapping[str, Any], form: str, unnamed: int = UNNAMED) -> None:
        """Meet the contents of x under the names that are read, now and whenever there are more names."""
        self._namespaces.append(namespace := (x, contents, form, unnamed))
        self._meet_places(*namespace, self._names)
        if self._reads_all:
            self._meet_places(*namespace, None)

    def _meet_names(self, names: set[str] | None) -> None:
        for namespace in [*self._namespaces]:
            self._meet_places(*namespace, names)

    def _meet_places(
        self, x: Any, contents: Mapping[str, Any], form: str, unnamed: int, names: AbstractSet[str] | None
    ) -> None:
        """Meet the contents of x under these names. None stands for all other names, which `parameters()` reads."""
        access = NAMED
        if names is None:
            if form == KEY and self._names.isdisjoint(BY_NAME):  # `parameters()` reads no namespaces
                return
            names, access = {name for name in contents.keys() - self._names if name[:2] != "__"}, unnamed
        for name in contents.keys() & names:
            self._meet(contents[name], f"{self._name(x)}{form.format(name)}", access)

    def _meet_each(self, parts: Iterable[Any]) -> None:
        """Follow objects that cannot be replaced at their places."""
        for part in parts:
            self._meet(part)

    def _meet(self, x: Any, path: str = "", access: int = NAMED) -> None:
        """Follow x. If the path, the expression for its place, is not empty, check that x is still there."""
        if type(x) in TEXT:
            pass
        elif isinstance(x, NODES):
            if id(x) not in self._met:
                self._met.add(id(x))
                self.nodes.append(x)
                self._meet_node(x)
            if id(x) not in self._used:
                return
            self._missing.pop(id(x), None)
        elif (data := data_in(x)) and self._is_constant(x, data):
            self._check_constant(path, x, data, access)
            return
        else:
            if isinstance(x, type) and not path.endswith(".__class__") and is_users_module(x.__module__):
                self._read |= MAKERS  # it may create objects
            if id(x) not in self._met:
                self._met.add(id(x))
                self._waiting.append(x)
        if path:
            self._check_same(path, x)

    def _is_constant(self, x: Any, data: Data) -> bool:
        """True if x is followed no further: it consists of numbers or is long, and no node in it is used."""
        return (data.of_numbers or is_long(x)) and data.nodes.keys().isdisjoint(self._used)

    def _visit(self, x: Any) -> None:
        """Meet the objects that x refers to."""
        self.reached.append(x)
        if isinstance(x, types.FunctionType):
            self._visit_function(x)
        elif isinstance(x, type):
            self._visit_class(x)
        elif isinstance(x, types.ModuleType) and is_users_module(x.__name__):
            self._visit_namespace(vars(x))
        elif isinstance(x, VIEWS):
            self._meet_each(_contents(x))
        elif isinstance(x, tuple(STEPS)):
            names = next(names for cls, names in STEPS.items() if isinstance(x, cls))
            self._meet_each(getattr(x, name) for name in names)
        elif isinstance(x, (operator.attrgetter, operator.methodcaller)):
            self._read |= {*repr(x).replace("'", ".").split(".")}
        else:
            self._visit_container(x)
            self._visit_object(x)
            if isinstance(x, Module):
                self._late_checks.append((Guards._mode_of, x))

    def _visit_container(self, x: Any) -> None:
        if self._are_used(x):
            copy = tree_map(lambda value: value, x)
            self._checks.append(f"{self._name(x)} == {self._name(copy)}")
            self._meet_each(leaves(x))
        elif isinstance(x, np.ndarray) and not x.dtype.hasobject:  # of a user's class
            self._check_classes(self._name(x), x)
        elif isinstance(x, COMPARED):
            self._checks.append(f"same(contents({self._name(x)}), {self._name(_contents(x))})")
            self._meet_each(_contents(x))
        elif isinstance(x, (dict, list, tuple)):
            self._visit_items(x)

    def _visit_items(self, x: Any) -> None:
        """Meet the items of a list, a tuple or a dict; of a long one only those that are more than data."""
        is_dict, is_tuple, is_short = isinstance(x, dict), isinstance(x, tuple), len(x) <= LONG
        if is_dict and is_short:
            self._checks.append(f"[*{self._name(x)}] == {self._name([*x])}")
        elif not is_tuple:
            self._checks.append(f"len({self._name(x)}) == {len(x)}")
        if isinstance(x, defaultdict):
            self._meet(x.default_factory, f"{self._name(x)}.default_factory")
        items: Any = [*x.items()] if is_dict else enumerate(x)
        for key, item in items:
            data = None if is_short else data_in(item)
            if data is None or data.nodes:
                index = self._name(key) if is_dict else key
                self._meet(item, "" if is_tuple else f"{self._name(x)}[{index}]", ITEM)
            if is_dict:
                self._meet(key)

    def _visit_function(self, function: types.FunctionType) -> None:
        """Meet the defaults and the closure of a function and, if its code is a user's, the objects that it names."""
        if function.__defaults__:
            self._meet(function.__defaults__, f"{self._name(function)}.__defaults__")
        if by_keyword := function.__kwdefaults__:
            self._meet(by_keyword, f"{self._name(function)}.__kwdefaults__")
            self._look_up(by_keyword, by_keyword.keys())
        for cell in function.__closure__ or ():
            if contents := _contents(cell):
                self._meet(contents[0], f"{self._name(cell)}.cell_contents")
            else:
                self._checks.append(f"not contents({self._name(cell)})")

        code, namespace = function.__code__, function.__globals__
        # An example in a docstring of micrograd's is a user's code
        module = (function.__module__ or "").removeprefix("micrograd.")
        if code.co_filename.startswith(PACKAGE) or not is_users_module(module):
            return
        self._meet(code, f"{self._name(function)}.__code__")
        reads = _reads_of(code)
        self._read |= reads.names
        self._look_up(namespace, reads.globals)
        self._look_up(function.__builtins__, reads.globals - namespace.keys())
        modules = (resolve_name(name, namespace.get("__package__")) for name in reads.modules)
        imported = {parent for name in modules for parent in accumulate(name.split("."), "{}.{}".format)}
        self._look_up(sys.modules, {name for name in imported if name not in sys.modules or is_users_module(name)})
        if "__globals__" in reads.names or not reads.globals.isdisjoint(ANY_GLOBAL):
            self._visit_namespace(namespace)
        self._visit_object(function)

    def _look_up(self, namespace: Mapping[str, Any], names: AbstractSet[str]) -> None:
        """Meet the objects in a namespace under these names, and check that it gets none of those that it lacks."""
        if names - namespace.keys():
            self._checks.append(self._still_lacks(self._name(namespace), namespace, names))
        self._meet_places(namespace, namespace, KEY, NAMED, names)

    def _visit_namespace(self, namespace: dict[str, Any]) -> None:
        """Meet the objects in a namespace under the names that are read, or all if names are looked up as text."""
        self._follow_names(namespace, namespace, KEY)
        self._late_checks.append((Guards._lacks_names, namespace))

    def _visit_class(self, cls: type) -> None:
        """Meet the attributes of a class and its bases."""
        for base in cls.__mro__:
            if is_users_module(base.__module__) and (base is cls or id(base) not in self._met):
                self._met.add(id(base))
                self._checks.append(f"{self._name(base)}.__mro__ is {self._name(base.__mro__)}")
                namespace = vars(base)
                self._look_up(namespace, _called_by_python(base))
                self._follow_names(namespace, namespace, KEY)
                self._late_checks.append((Guards._hides_nothing, base))
        self._meet_class_of(cls)

    def _meet_class_of(self, x: Any) -> None:
        if is_users_module(type(x).__module__):
            self._meet(type(x), f"{self._name(x)}.__class__")

    def _visit_object(self, x: Any) -> None:
        """Meet the attributes of an object, in `__dict__` and slots, and its class."""
        cls, attributes = type(x), getattr(x, "__dict__", {})
        if cls.__module__.startswith("micrograd."):
            self._visit_ours(x, attributes)
        elif is_users_module(cls.__module__) or cls in (*LIKE_USERS, types.FunctionType):
            slots = {slot: getattr(x, slot) for slot in _slots(cls) if hasattr(x, slot)}
            self._follow_names(x, attributes, ATTRIBUTE)
            self._follow_names(x, slots, ATTRIBUTE, NAMED)
            self._late_checks.append((Guards._lacks_attributes, x))
            self._meet_class_of(x)
        elif not hasattr(x, "cache_clear"):  # what is cached is constant
            self._meet_each(y for y in [*attributes.values()] if isinstance(y, types.FunctionType))

    def _visit_ours(self, x: Any, attributes: dict[str, Any]) -> None:
        """Meet the attributes of an object of micrograd's. Those of a neuron are compared as a whole."""
        rest = [y for y in attributes.values() if not isinstance(y, (str, bool))]
        if rest and all(self._are_used(y if isinstance(y, list) else [y]) for y in rest):
            copy = {name: y[:] if isinstance(y, list) else y for name, y in attributes.items()}
            self._checks.append(f"{self._name(x)}.__dict__ == {self._name(copy)}")
            self._meet_each(leaves(rest))
        elif attributes:
            self._checks.append(f"len({self._name(x)}.__dict__) == {len(attributes)}")
            self._follow_names(x, attributes, ATTRIBUTE)
            self._meet_places(x, attributes, ATTRIBUTE, NAMED if isinstance(x, Module) else UNNAMED, None)

    def _meet_node(self, node: Any) -> None:
        """Meet the class and the attributes of a node. Its numbers are live."""
        self._late_checks.append((Guards._label_of, node))
        self._meet_class_of(node)
        if attributes := {name: x for name, x in vars(node).items() if name[0] != "_"}:
            self._follow_names(node, attributes, ATTRIBUTE)

    def _are_used(self, x: Any) -> bool:
        """True for a list of Values that are all used, and for a matrix of Values of which any is."""
        if x.__class__ is not list or not x:
            return False
        is_matrix = {*map(type, x)} == {list}
        values = leaves(x) if is_matrix else x
        used = [id(value) in self._used for value in values]
        return VALUES.issuperset(map(type, values)) and (any(used) if is_matrix else all(used))

    # ---- late checks

    def _still_lacks(self, place: str, namespace: Mapping[str, Any], names: AbstractSet[str]) -> str:
        """Check that the dict at a place gets none of these names that it lacks now."""
        return f"{place}.keys().isdisjoint({self._name(names - namespace.keys())})"

    def _lacks_names(self, namespace: dict[str, Any]) -> str:
        return self._still_lacks(self._name(namespace), namespace, self._names)

    def _hides_nothing(self, cls: type) -> str:
        """Check that a class gets no attribute that would hide an attribute of its bases."""
        return self._still_lacks(f"{self._name(cls)}.__dict__", vars(cls), {*dir(cls), *self._names, *SPECIAL})

    def _lacks_attributes(self, x: Any) -> str:
        """Check that an object gets no other attribute that the code reads."""
        checks = [f"not hasattr({self._name(x)}, {slot!r})" for slot in _slots(type(x)) if not hasattr(x, slot)]
        if (attributes := getattr(x, "__dict__", None)) is not None:
            place = f"{self._name(x)}.__dict__"
            if self._reads_all and not isinstance(x, types.FunctionType):
                checks.append(f"len({place}) == {len(attributes)}")
            else:
                checks.append(self._still_lacks(place, attributes, self._names))
        return " and ".join(checks)

    def _mode_of(self, module: Module) -> str:
        """Check the mode of a module whose code reads it."""
        reads = not self._names.isdisjoint({"training", *BY_NAME}) or _reads_training(type(module))
        return f"{self._name(module)}.training is {bool(module.training)}" if reads else ""

    def _label_of(self, node: Any) -> str:
        """Check the label of a node, and that the node gets no other attribute, if the code might read them."""
        checks = [f"{self._name(node)}.label == {node.label!r}"] if "label" in self._names else []
        if is_users_module(type(node).__module__) or not self._names.isdisjoint(MAY_LACK):
            checks.append(self._still_lacks(f"{self._name(node)}.__dict__", vars(node), self._names))
        return " and ".join(checks)

    # ---- checks

    def _name(self, x: Any) -> str:
        """The name of an object in the expression."""
        if id(x) not in self._object_names:
            name = self._object_names[id(x)] = f"g{len(self._objects)}"
            self._objects[name] = x
        return self._object_names[id(x)]

    def _check_constant(self, path: str, x: Any, data: Data, access: int) -> None:
        """Check the watched properties of a number, or of a container that is followed no further."""
        self.reached += data.containers[: 1 if is_long(x) and not data.nodes else None]
        self.nodes += data.nodes.values()
        if path and access == NAMED:
            self._check_same(path, x)
        elif path:
            self._checks.append(f"{path}.__class__ is {self._name(type(x))}")
        if access != UNNAMED:
            self._check_classes(path if path and access == ITEM else self._name(x), x)
        classes = [cls for cls in data.classes if is_users_module(cls.__module__) and id(cls) not in self._met]
        self._met |= set(map(id, classes))
        self._waiting += classes

    def _check_same(self, path: str, x: Any) -> None:
        """Check that x is there, or an equal number or text; zeros and nan are compared by their text."""
        if isinstance(x, (str, bytes)):
            self._checks.append(f"{path} == {self._name(x)}")
        elif isinstance(x, NUMBERS) and not isinstance(x, (bool, Enum)):
            self._checks.append(f"{path}.__class__ is {self._name(type(x))}")
            self._checks.append(f"{path} == {self._name(x)}" if x == x != 0 else f"repr({path}) == {repr(x)!r}")
        else:
            self._checks.append(f"{path} is {self._name(x)}")

    def _check_classes(self, path: str, x: Any, depth: int = 0) -> None:
        """Check the length of a container; of a short one also its keys and the classes of its items, at all levels."""
        if isinstance(x, np.ndarray):
            self._checks.append(f"({path}.shape, {path}.dtype) == {self._name((x.shape, x.dtype))}")
        elif is_long(x) or isinstance(x, BUFFERS):
            self._checks.append(f"len({path}) == {len(x)}")
        elif isinstance(x, CONTAINERS) and depth < DEPTH:
            keys: Any = range(len(x))
            items, values = path, [*x]
            if isinstance(x, dict):
                keys, items, values = [*x], f"{path}.values()", [*x.values()]
                self._checks.append(f"[*{path}] == {self._name(keys)}")
            classes = f"[*map(type, {items})]" if VALUES.isdisjoint(map(type, values)) else f"classes_in({items})"
            self._checks.append(f"{classes} == {self._name(classes_in(values))}")
            if isinstance(x, (set, frozenset)):
                return
            for key, value in zip(keys, values, strict=True):
                if isinstance(value, (*CONTAINERS, *BUFFERS, np.ndarray)):
                    self._check_classes(f"{path}[{self._name(key)}]", value, depth + 1)


def _all_require(nodes: list[Any]) -> bool:
    """True if all of these nodes require a gradient."""
    return all((x if isinstance(x, Value) else x._node)._row is not None for x in nodes)


@lru_cache(maxsize=4096)
def _slots(cls: type) -> set[str]:
    """The names of an object's slots, or of what a function has beside its `__dict__`."""
    if cls is types.FunctionType:
        return {"__name__", "__qualname__", "__doc__"}
    namespaces = map(vars, cls.__mro__)
    return {name for names in namespaces for name, x in names.items() if isinstance(x, SLOT)} - {"__dict__"}


def _called_by_python(cls: type) -> set[str]:
    """The special methods of a class that Python calls: functions, or other things that can be called or bound."""
    methods = {name: x for name, x in [*vars(cls).items()] if callable(x) or hasattr(x, "__get__")}
    special = {name for name, x in methods.items() if name[:2] == "__" and not isinstance(x, BUILT_IN)}
    return special - NEVER_CALLED


def _contents(x: Any) -> list[Any]:
    """What is in a container of any class."""
    if isinstance(x, np.ndarray):
        return x.ravel().tolist()
    return [*deque.__iter__(x)] if isinstance(x, deque) else gc.get_referents(x)  # a deque may refer to its class, too


def _reads_training(cls: type[Module]) -> bool:
    """True if the code of a layer of micrograd's reads its mode. (Names in a user's code are known from the walk.)"""
    methods = [method for base in cls.__mro__ if base is not Module for method in vars(base).values()]
    return any("training" in _reads_of(getattr(method, "__code__", None)).names for method in methods)


def same_objects(a: list[Any], b: list[Any]) -> bool:
    """True if the lists hold the same objects."""
    return len(a) == len(b) and all(map(is_, a, b))


class Reads(NamedTuple):
    """The names that a function's code, and that of the functions inside it, looks up."""

    names: frozenset[str]  # of globals and attributes
    globals: frozenset[str]  # and of builtins
    modules: frozenset[str]  # which it imports; with leading dots, they are relative


@lru_cache(maxsize=4096)
def _reads_of(code: Any) -> Reads:
    """The names that code looks up. If it looks names up as text, each text in it that could be a name is included."""
    codes = [*_codes_in(code)]
    steps = [step for part in codes for step in get_instructions(part) if step.opname != "EXTENDED_ARG"]
    opnames = {step.opname for step in steps}
    names = {name for part in codes for name in part.co_names}
    texts = {constant for part in codes for constant in part.co_consts if isinstance(constant, str)}
    identifiers = {text for text in texts if text.isidentifier()}

    global_names = {step.argval for step in steps if step.opname in LOADS}
    if "globals" in names:
        global_names |= identifiers

    # IMPORT_NAME comes two steps after the number of dots
    modules = {"." * steps[i - 2].argval + step.argval for i, step in enumerate(steps) if step.opname == "IMPORT_NAME"}
    if not IMPORTERS.isdisjoint(names):
        modules |= {text for text in texts if text[:1] != "."}

    if "MATCH_CLASS" in opnames:  # `case Point(x=0)` names no attribute
        names.add("getattr")
    if not names.isdisjoint(BY_NAME):
        names |= identifiers
    if not opnames.isdisjoint(FORMATS):
        names.add("format")
    names = names.union(*(CALLS.get(name, ()) for name in names))
    return Reads(frozenset(names), frozenset(global_names), frozenset(modules))


def _codes_in(code: Any) -> Iterator[types.CodeType]:
    """The code, and that of the functions inside it; nothing for a function that is not written in Python."""
    if isinstance(code, types.CodeType):
        yield code
        for constant in code.co_consts:
            yield from _codes_in(constant)
