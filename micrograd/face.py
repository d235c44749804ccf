"""Lazy imports: a package's names are imported on first access (PEP 562), which keeps importing the package fast."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def face(package: str, homes: dict[str, str], made: str = "") -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the module-level `__getattr__` and `__dir__` of a package.

    Args:
        package: the package's `__name__`.
        homes: maps a module, relative to the package, to its public names, separated by spaces; a name equal to the
            module's is the module itself.
        made: a module with further names, generated on import, in its dict `FUNCTIONS`.

    Returns:
        The two functions. `__getattr__` also answers `__all__`, which leaves out names that would shadow
        builtins, and those that need what is not installed.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def others() -> dict[str, Any]:
        return import_module(f".{made}", package).FUNCTIONS if made else {}

    def lookup(name: str) -> Any:
        if name == "__all__":
            return [name for name in names() if not hasattr(builtins, name) and can_be_imported(name)]
        if name not in home_of and name[0] != "_" and find_spec(f"{package}.{name}"):
            return import_module(f".{name}", package)
        if name not in home_of and (name[0] == "_" or name not in others()):
            from .common.words import unknown  # not at the top: `import micrograd` loads no engine

            raise unknown(f"module {package!r}", name)
        home = import_module(f".{home_of.get(name, made)}", package)
        value = home if home_of.get(name) == name else getattr(home, name)
        if not hasattr(builtins, name):  # the package's own code and doctests use the builtin
            setattr(sys.modules[package], name, value)
        return value

    def can_be_imported(name: str) -> bool:
        try:
            lookup(name)
        except ImportError:
            return False  # it needs NumPy
        return True

    def names() -> list[str]:
        try:
            return sorted({*home_of, *others()})
        except ImportError:
            return sorted(home_of)

    return lookup, names
