"""A package's names, looked up when they are first asked for (PEP 562), so that to import it costs little."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .engine.words import unknown


def face(package: str, homes: dict[str, str], made: str = "") -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package; `__all__` leaves out what would hide one of Python's builtins.

    Args:
        package: its `__name__`.
        homes: for each module, the names that users find there; of a module that is public itself, its own name.
        made: the module that has the other names, which it makes as it is imported.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def others() -> dict[str, Any]:
        return import_module(f".{made}", package).FUNCTIONS if made else {}

    def lookup(name: str) -> Any:
        if name == "__all__":
            return [name for name in names() if not hasattr(builtins, name)]
        if name not in home_of and name[0] != "_" and find_spec(f"{package}.{name}"):
            return import_module(f".{name}", package)
        if name not in home_of and (name[0] == "_" or name not in others()):
            raise unknown(f"module {package!r}", name)
        home = import_module(f".{home_of.get(name, made)}", package)
        value = home if home_of.get(name) == name else getattr(home, name)
        if not hasattr(builtins, name):  # the package's own code, and its doctests, keep Python's
            setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*home_of, *others()})

    return lookup, names
