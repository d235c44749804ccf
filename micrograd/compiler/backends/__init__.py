"""Back ends: each makes a function of a lowered program.

    python      source in plain Python and NumPy, as one would write it (`expressions` writes an operation)
    xla         JAX on programs of arrays: CPU, GPU, TPU
    c           the program as loops in C (`loops` writes them, `libraries` compiles and caches them)
    javascript  the same loops as a module of JavaScript; it is asked by `save`, and runs nothing
    onnx        the content of an .onnx file; it is asked by `save`, and runs nothing

A back end is a module with two functions:

    lacks(program) -> str               why it cannot compile the program, for an error; "" if it can
    compile(program) -> Executable      called with the program's parameters, returns its outputs
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from ..lowered import Lowered

BACKENDS = {"auto": "python", "python": "python", "numpy": "python", "c": "c", "jax": "xla"}  # and the module of each


class Executable(Protocol):
    """A program that runs."""

    source: str  # what `f.source` shows
    run: Callable[..., Any]  # the same without a check: it may raise where a result is inf or nan

    def __call__(self, *given: Any) -> Any: ...


class Backend(Protocol):
    """What a back end offers."""

    def lacks(self, program: Lowered) -> str: ...

    def compile(self, program: Lowered, **options: Any) -> Executable: ...


def compiled(name: str, program: Lowered, **options: Any) -> Executable:
    """The program, compiled by the back end of this name, with its options."""
    backend: Backend = import_module(f".{BACKENDS[name]}", __name__)  # type: ignore[assignment]
    if reason := backend.lacks(program):
        raise RuntimeError(f"backend={name!r} {reason}")
    return backend.compile(program, **options)
