"""Data: numbers and text, and containers and objects in which there is nothing else.

A program has data as constants. So guards need not look into them, and for long ones would take longer than the
program: of a list of 100,000 samples, only which list it is and how long it is are asked.

>>> data_in([[1.0, 2.0], [3.0, 4.0]]).classes == {list, float}
True
>>> data_in([1.0, print]) is None  # a function is more than data: it may read something
True
"""

from __future__ import annotations

import gc
import random
import sys
import threading
import types
from array import array
from collections import Counter, OrderedDict, deque
from functools import lru_cache, partial, partialmethod
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ..autograd.transforms import Transformable
from ..engine.value import Value
from ..nn.module import Module
from ..tensor.optional import Tensor, np
from .offload import AwayValue

LONG = 100
LIBRARIES = {"numpy", *sys.stdlib_module_names} - {"argparse", "collections"}  # whose classes hold what users put in
LIKE_USERS = (types.SimpleNamespace, threading.local)  # classes of which the same is true
BUFFERS = (bytearray, memoryview, array)
CONTAINERS = (list, tuple, dict, set, frozenset, deque)
NUMBERS = (int, float, complex, np.generic)
NODES = (Value, Tensor)
VALUES: set[type] = {Value, AwayValue}
GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)
VIEWS: tuple[type, ...] = (types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))  # of a dict
STEPS: dict[type, tuple[str, ...]] = {  # immutable objects, and the attributes to follow
    types.MethodType: ("__self__", "__func__"),
    types.BuiltinFunctionType: ("__self__",),
    types.MethodWrapperType: ("__self__",),
    types.GenericAlias: ("__origin__",),
    partial: ("func", "args", "keywords"),
    partialmethod: ("func",),
    property: ("fget",),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    Transformable: ("origin",),  # of another compiled function: the original, and not its programs
}
_EXACT = {*CONTAINERS, OrderedDict, Counter}
_MORE = (type, types.ModuleType, types.FunctionType, Module, *STEPS)  # they may read anything


class Data(NamedTuple):
    """What is in a container of data: the classes of everything, the nodes by their ids, and the containers."""

    classes: set[type]
    nodes: dict[int, Any]
    containers: list[Any]

    @property
    def of_numbers(self) -> bool:
        """True if there are numbers, arrays and nodes alone."""
        return all(map(_is_of_numbers, self.classes))


def data_in(x: Any) -> Data | None:
    """What is in a number, a text or a container; None if that is more than data. Level by level, at the speed of C."""
    if not (type(x) in _EXACT or type(x) is np.ndarray or is_flat(type(x))):
        return None
    level, seen = [x], set()
    kinds, nodes, containers = set(), {}, []
    while level:
        here = {*map(type, level)}
        if not all(map(_may_be_data, here)):
            return None
        kinds |= here
        flat = set(filter(is_flat, here))
        found = {id(part): part for part in level if type(part) not in flat and id(part) not in seen}
        seen |= found.keys()
        if here <= (_EXACT | flat) - {deque}:  # a deque refers to its class, since CPython 3.14
            level = gc.get_referents(*found.values())
        else:
            arrays = [part for part in found.values() if isinstance(part, np.ndarray) and part.dtype.hasobject]
            if not all(map(is_long, arrays)):
                return None
            nodes |= {key: part for key, part in found.items() if isinstance(part, NODES)}
            found = {key: part for key, part in found.items() if not isinstance(part, (*NODES, np.ndarray))}
            classes = set(map(id, here))  # which their objects refer to
            level = [part for part in gc.get_referents(*found.values()) if id(part) not in classes]
            level += chain.from_iterable(part.ravel().tolist() for part in arrays)
        containers += found.values()
    return Data(kinds, nodes, containers)


def is_long(x: Any) -> bool:
    """True for a container of more than LONG items, counted with those of the short ones in it.

    >>> is_long([[1.0, 2.0]] * 50), is_long({"train": [1.0] * 4000, "act": "tanh"})
    (True, False)
    """
    if isinstance(x, np.ndarray):
        return x.dtype.hasobject and x.size > LONG
    count, waiting = 0, [x] * (type(x) in _EXACT)
    while waiting and count <= LONG:
        held = waiting.pop()
        count += len(held)
        parts = held.values() if isinstance(held, dict) else held
        waiting += [part for part in parts if type(part) in _EXACT and len(part) <= LONG] if count <= LONG else []
    return count > LONG


@lru_cache(maxsize=4096)
def is_flat(kind: type) -> bool:
    """True for numbers and text, and for all else that guards do not follow."""
    followed = (*_MORE, *CONTAINERS, *VIEWS, *GENERATORS, *LIKE_USERS, np.ndarray)
    return kind.__module__.split(".")[0] in LIBRARIES and not issubclass(kind, followed)


@lru_cache(maxsize=4096)
def _may_be_data(kind: type) -> bool:
    """True for what is flat, for containers, arrays and nodes, and for an object of a user's that cannot be called."""
    if is_flat(kind) or kind in _EXACT or kind in (np.ndarray, types.SimpleNamespace):
        return True
    if issubclass(kind, NODES):
        return kind.__module__.startswith("micrograd.")
    calls = any("__call__" in vars(above) for above in kind.__mro__)
    return is_users(kind.__module__) and not calls and not issubclass(kind, _MORE)


@lru_cache(maxsize=4096)
def _is_of_numbers(kind: type) -> bool:
    known = (*NUMBERS, *BUFFERS, *NODES, np.ndarray)
    return kind in _EXACT or (issubclass(kind, known) and kind is not bool and not is_users(kind.__module__))


def classes_in(x: Any) -> list[type]:
    """The classes of what is in a container; a Value has one class, whether its number is away or not."""
    return [Value if kind is AwayValue else kind for kind in map(type, x)]


@lru_cache(maxsize=4096)
def is_users(module: Any) -> bool:
    """True if this module belongs to the user, and so may change; those of Python and of installed packages do not.

    A script is its user's even if an installed program runs it, such as a debugger or pytest.
    """
    root = module.split(".")[0] if isinstance(module, str) else "builtins"  # a class written in C may have no name
    if root == "micrograd" or root in LIBRARIES:
        return False
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return root == "__main__" or {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)
