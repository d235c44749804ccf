"""Back ends: each makes a function of a lowered program, and is found by its name.

    python      source in plain Python and NumPy, as a person would write it (`expressions` writes an operation)

The other back ends of this package are in the folder `micrograd/backends`, a floor above. The compiler works without
them, and finds them in the same way as those of other packages.

A back end is a module, or any other object, with two functions:

    lacks(program) -> str               why it cannot compile the program, for an error; "" if it can
    compile(program) -> Executable      called with the program's parameters, returns its outputs

It imports the public form of programs, `micrograd.compiler.lowered`, and nothing else of this package. It may also have

    VERSION     the version of the form for which it was written
    RESIDENT    True if arrays stay on a device between the steps of a training program
    OPTIONS     the names of the options that its `compile` takes, such as "devices"

A package registers its back end as an entry point, in its own pyproject.toml, and `register` does so for one process:

    [project.entry-points."micrograd.backends"]
    mine = "my_package.my_backend"
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, Protocol

from ..lowered import VERSION, Lowered

GROUP = "micrograd.backends"
OWN = {"auto": "python", "python": "python", "numpy": "python"}  # names of the modules in this folder
ABOVE = ("c", "jax")  # names of the modules in the folder `micrograd/backends`
REGISTERED: dict[str, Any] = {}


class Executable(Protocol):
    """A program that runs."""

    source: str  # what `f.source` shows

    def __call__(self, *arguments: Any) -> Any: ...


class Backend(Protocol):
    """A back end, as a module or an object."""

    def lacks(self, program: Lowered) -> str: ...

    def compile(self, program: Lowered, **options: Any) -> Executable: ...


def register(name: str, backend: Any) -> None:
    """Register a back end for this process, as `compile(f, backend=name)` finds it.

    Args:
        name: a name that no back end of this package has.
        backend: a module or object with the functions `lacks` and `compile`.

    Raises:
        TypeError: the back end lacks one of the functions.
        ValueError: the name is one of ours.
    """
    if name in (*OWN, *ABOVE):
        raise ValueError(f"found the name {name!r}, which a back end of this package has: choose another one")
    _add(name, backend)


def _add(name: str, backend: Any) -> None:
    if missing := [name for name in ("lacks", "compile") if not callable(getattr(backend, name, None))]:
        raise TypeError(f"a back end has the functions lacks and compile, found no {missing[0]} in {backend!r:.60}")
    REGISTERED[name] = backend


def bundled(name: str) -> Any:
    """A module of `micrograd/backends`: a back end, or a module that `save` uses."""
    return import_module(f"{GROUP}.{name}")


def _installed() -> dict[str, EntryPoint]:
    """The entry points of the back ends of the floor above, if they are there, and of other packages."""
    above = [EntryPoint(name, f"{GROUP}.{name}", GROUP) for name in ABOVE]
    here = [entry for entry in above if find_spec(GROUP) and find_spec(entry.value)]
    return {entry.name: entry for entry in (*entry_points(group=GROUP), *here)}


def check_name(name: Any) -> None:
    """Raise if there is no back end of this name."""
    if name in OWN or name in REGISTERED or name in (installed := _installed()):
        return
    names = ", ".join(map(repr, dict.fromkeys([*OWN, *installed, *REGISTERED])))
    raise ValueError(f"found the backend {name!r}: it must be {names}")


def find(name: str) -> Backend:
    """The back end of this name."""
    check_name(name)
    if name in OWN:
        return import_module(f".{OWN[name]}", __name__)  # type: ignore[return-value]
    if name not in REGISTERED:
        try:
            _add(name, _installed()[name].load())
        except Exception as error:
            error.add_note(f"backend={name!r} is the entry point {_installed()[name].value}")
            raise
    return REGISTERED[name]


def has(name: str, attribute: str) -> Any:
    """An optional attribute of the back end of this name, such as RESIDENT. Without it, an empty tuple."""
    return getattr(find(name), attribute, ())


def compiled(name: str, program: Lowered, **options: Any) -> Executable:
    """The program, compiled by the back end of this name, with its options."""
    backend = find(name)
    if (version := has(name, "VERSION") or VERSION) != VERSION:
        raise RuntimeError(
            f"backend={name!r} is for version {version} of the form of programs, found {VERSION}: install a version "
            "of its package that fits this one"
        )
    if reason := backend.lacks(program):
        raise RuntimeError(f"backend={name!r} {reason}")
    return backend.compile(program, **options)
