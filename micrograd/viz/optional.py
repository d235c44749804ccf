"""Packages that only some pictures need, and that may be missing."""

from importlib import import_module
from typing import Any


def optional(module: str, packages: str = "", what: str = "this picture") -> Any:
    """A module. If it is missing, the ModuleNotFoundError says what needs it and which packages to install."""
    packages = packages or module.partition(".")[0]
    names, are = packages.replace(" ", " and "), "are" if " " in packages else "is"
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{what} needs {names}, which {are} not installed here: pip install {packages}", name=error.name
        ) from None
