"""Data: numbers and text, and containers and objects in which there is nothing else.

A program has data as constants, so guards need not look into them. In long containers that would take longer than the
program. Of a list of 100,000 samples, guards check only which list it is and its length.

>>> data_in([[1.0, 2.0], [3.0, 4.0]]).classes == {list, float}
True
>>> data_in([1.0, print]) is None  # a function is more than data: it may read something
True
"""

from __future__ import annotations

import gc
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
from .trace_errors import GENERATORS

LONG = 100
# Guards do not look into objects of these libraries, except where users store their own objects in them
LIBRARIES = {"numpy", *sys.stdlib_module_names} - {"argparse", "collections"}
LIKE_USERS = (types.SimpleNamespace, threading.local)
BUFFERS = (bytearray, memoryview, array)
CONTAINERS = (list, tuple, dict, set, frozenset, deque)
NUMBERS = (int, float, complex, np.generic)
NODES = (Value, Tensor)
VALUES: set[type] = {Value, AwayValue}
VIEWS: tuple[type, ...] = (types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))  # of dicts
# Immutable objects, and the attributes that guards follow
STEPS: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__self__", "__func__"),
    types.BuiltinFunctionType: ("__self__",),
    types.MethodWrapperType: ("__self__",),
    types.GenericAlias: ("__origin__",),
    partial: ("func", "args", "keywords"),
    partialmethod: ("func",),
    property: ("fget",),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    Transformable: ("origin",),  # the function that was compiled, and not its programs
}
_EXACT = {*CONTAINERS, OrderedDict, Counter}
_CALLED = (type, types.ModuleType, types.FunctionType, Module, *STEPS)  # their code may read anything


class Data(NamedTuple):
    """The content of data: all classes in it, the nodes by their ids, and the containers."""

    classes: set[type]
    nodes: dict[int, Any]
    containers: list[Any]

    @property
    def of_numbers(self) -> bool:
        """True if it consists of numbers, arrays and nodes alone."""
        return all(map(_is_of_numbers, self.classes))


def data_in(x: Any) -> Data | None:
    """The content of a number, a text or a container; None if it is more than data.

    The content is read level by level, so that the loop over many items is in C.
    """
    if not (type(x) in _EXACT or type(x) is np.ndarray or is_flat(type(x))):
        return None
    level, seen = [x], set()
    classes, nodes, containers = set(), {}, []
    while level:
        here = {*map(type, level)}
        if not all(map(_may_be_data, here)):
            return None
        classes |= here
        flat = set(filter(is_flat, here))
        new = {id(part): part for part in level if type(part) not in flat and id(part) not in seen}
        seen |= new.keys()
        if here <= (_EXACT | flat) - {deque}:  # a deque refers to its class, since CPython 3.14
            level = gc.get_referents(*new.values())
        else:
            arrays = [part for part in new.values() if isinstance(part, np.ndarray) and part.dtype.hasobject]
            if not all(map(is_long, arrays)):
                return None
            nodes |= {key: part for key, part in new.items() if isinstance(part, NODES)}
            new = {key: part for key, part in new.items() if not isinstance(part, (*NODES, np.ndarray))}
            own_classes = set(map(id, here))  # objects refer to their class
            level = [part for part in gc.get_referents(*new.values()) if id(part) not in own_classes]
            level += chain.from_iterable(part.ravel().tolist() for part in arrays)
        containers += new.values()
    return Data(classes, nodes, containers)


def is_long(x: Any) -> bool:
    """True for a container of more than LONG items, including the items of short containers in it.

    >>> is_long([[1.0, 2.0]] * 50), is_long({"train": [1.0] * 4000, "act": "tanh"})
    (True, False)
    """
    if isinstance(x, np.ndarray):
        return x.dtype.hasobject and x.size > LONG
    count, waiting = 0, [x] * (type(x) in _EXACT)
    while waiting and count <= LONG:
        container = waiting.pop()
        count += len(container)
        items = container.values() if isinstance(container, dict) else container
        if count <= LONG:
            waiting += [item for item in items if type(item) in _EXACT and len(item) <= LONG]
    return count > LONG


@lru_cache(maxsize=4096)
def is_flat(cls: type) -> bool:
    """True for numbers, text and all other objects that guards do not look into."""
    followed = (*_CALLED, *CONTAINERS, *VIEWS, *GENERATORS, *LIKE_USERS, np.ndarray)
    return cls.__module__.split(".")[0] in LIBRARIES and not issubclass(cls, followed)


@lru_cache(maxsize=4096)
def _may_be_data(cls: type) -> bool:
    """True for flat objects, containers, arrays and nodes, and for objects of a user's class that cannot be called."""
    if is_flat(cls) or cls in _EXACT or cls in (np.ndarray, types.SimpleNamespace):
        return True
    if issubclass(cls, NODES):
        return cls.__module__.startswith("micrograd.")
    can_be_called = any("__call__" in vars(base) for base in cls.__mro__)
    return is_users_module(cls.__module__) and not can_be_called and not issubclass(cls, _CALLED)


@lru_cache(maxsize=4096)
def _is_of_numbers(cls: type) -> bool:
    numeric = (*NUMBERS, *BUFFERS, *NODES, np.ndarray)
    return cls in _EXACT or (issubclass(cls, numeric) and cls is not bool and not is_users_module(cls.__module__))


def classes_in(items: Any) -> list[type]:
    """The classes of the items of a container; a Value has one class, whether its number is away or not."""
    return [Value if cls is AwayValue else cls for cls in map(type, items)]


@lru_cache(maxsize=4096)
def is_users_module(module: Any) -> bool:
    """True for the name of a user's module, which may change. Modules of Python and of installed packages do not.

    A script is its user's even if an installed program runs it, such as a debugger or pytest.
    """
    # The module of a class written in C may not be a text
    root = module.split(".")[0] if isinstance(module, str) else "builtins"
    if root == "micrograd" or root in LIBRARIES:
        return False
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return root == "__main__" or {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)
