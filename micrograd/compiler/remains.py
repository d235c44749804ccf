"""Nodes of a trace that are left outside. Such a node would be a Symbol for ever, so it is taken back.

Before the trace, the contents of all objects that the function can change are noted. They are the objects that its code
reaches by name (`stale`). If a node of the trace is in one of them afterwards, its place gets back the former content,
and the trace is refused.

>>> from .api import compile
>>> class Mean:
...     now = None
...     def __call__(self, x):
...         self.now = x if self.now is None else 0.9 * self.now + 0.1 * x
...         return self.now * x
>>> mean = Mean()
>>> compile(lambda x: mean(x))(2.0)
Traceback (most recent call last):
...
micrograd.compiler.trace_errors.Frozen: a compiled function cannot store a node in the attribute 'now' of Mean: ...
>>> print(mean.now)
None
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterator
from operator import delitem, setitem
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from ..common.undo import all_or_nothing
from .data import data_in
from .stale import SLOT
from .trace_errors import REMAINS, frozen
from .traced_nodes import is_traced

DEPTH = 6  # of the search for nodes in a new object


class Place(NamedTuple):
    """Where something is stored, and its content before the trace.

    `holder` is a dict, of which these keys count, an object or a class with attributes of these names, or a list, a
    deque or a set. If `keys` is None, all of them count.
    """

    name: str
    holder: Any
    keys: Any
    before: Any

    def put_back(self) -> str:
        """Put back the former content in place of nodes of a trace; the name of the place, if there were any."""
        now = _read(self.holder, self.keys)
        if isinstance(self.before, list):
            data = data_in(self.holder)
            if not any(map(is_traced, data.nodes.values()) if data else map(_leads_to_a_node, now)):
                return ""
            self.holder.clear()
            (self.holder.update if isinstance(self.holder, set) else self.holder.extend)(self.before)
            return self.name
        changed = [key for key, x in now.items() if x is not self.before.get(key, self)]
        traced = [key for key in changed if _leads_to_a_node(now[key])]
        for key in traced:
            _write(self, key)
        return self.name.format(*traced) if traced else ""


def without_remains(objects: list[Any], run: Callable[[], Any]) -> Any:
    """The result of `run`; raises if it left nodes in one of the objects, and puts back their former content."""
    places = [place for x in objects for place in _places(x)]
    with all_or_nothing([place.put_back for place in places]):
        out = run()
    if names := [*filter(None, [place.put_back() for place in places])]:
        raise frozen(REMAINS.format(names[0]))
    return out


def _places(x: Any) -> Iterator[Place]:
    """The places in an object where a function may store something."""
    cls = type(x)
    attribute = f"the attribute {{!r}} of {x.__name__ if isinstance(x, type) else cls.__name__}"
    if isinstance(x, FunctionType):
        yield _place("the global {!r}", x.__globals__, x.__code__.co_names)
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            yield _place(f"the variable {name!r}", cell, ("cell_contents",))
    elif isinstance(x, type):
        yield _place(attribute, x)
    elif isinstance(x, (list, deque, set, dict)):
        yield _place(f"a {cls.__name__}", x)
    attributes = getattr(x, "__dict__", None)
    if isinstance(attributes, dict) and not isinstance(x, ModuleType):
        yield _place(attribute, attributes)
    if slots := [name for base in cls.__mro__ for name, slot in vars(base).items() if isinstance(slot, SLOT)]:
        yield _place(attribute, x, slots)


def _place(name: str, holder: Any, keys: Any = None) -> Place:
    return Place(name, holder, keys, _read(holder, keys))


def _read(holder: Any, keys: Any) -> Any:
    """The items of a list or a set, or the content of a dict or an object, by key or name."""
    if isinstance(holder, type):
        return {name: x for name, x in vars(holder).items() if name[:2] != "__"}
    if isinstance(holder, dict):
        return dict(holder) if keys is None else {key: holder[key] for key in keys if key in holder}
    if isinstance(holder, CellType):  # which refers to nothing, if the variable has no value yet
        return dict(zip(keys, gc.get_referents(holder), strict=False))
    return [*holder] if keys is None else {key: getattr(holder, key) for key in keys if hasattr(holder, key)}


def _write(place: Place, key: Any) -> None:
    """Put back the former content at this key."""
    write, delete = (setitem, delitem) if isinstance(place.holder, dict) else (setattr, delattr)
    if key in place.before:
        write(place.holder, key, place.before[key])
    else:
        delete(place.holder, key)


def _leads_to_a_node(x: Any) -> bool:
    """True if x is a node of a trace, or contains one."""
    waiting = [x]
    for _ in range(DEPTH):
        if any(map(is_traced, waiting)):
            return True
        waiting = [part for parent in waiting for part in _parts(parent)]
    return False


def _parts(x: Any) -> Any:
    """The objects that an object refers to, and may have been made with."""
    if isinstance(x, FunctionType):
        return x.__closure__ or ()
    return () if isinstance(x, (type, ModuleType, CodeType)) else gc.get_referents(x)
