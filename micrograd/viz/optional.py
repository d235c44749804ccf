"""Packages that only some pictures need, and that may be missing."""

from importlib import import_module
from typing import Any


def optional(module: str, package: str = "") -> Any:
    """A module, and where it is missing a ModuleNotFoundError that names the package to install."""
    package = package or module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"this picture needs {package}, which is not installed here: pip install {package}", name=error.name
        ) from None
