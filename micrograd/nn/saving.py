"""`save` and `load`: the state of a network as a safetensors file, a format that other tools read too.

A file consists of a header with names, shapes and dtypes, followed by the raw numbers. Unlike a pickle, it contains
nothing that is executed. Its metadata holds a SHA-256 of the content.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..tensor.tensor import Tensor
from .module import Module

try:
    import fcntl
except ImportError:  # Windows, which does not replace a file that another process has open
    fcntl = None

FilePath = str | os.PathLike[str]


def save(source: Module | Mapping[str, Any], path: FilePath) -> None:
    """Save the state of a module, or a dict of arrays, to a safetensors file.

    Args:
        source: a module, whose `state_dict()` is saved, or arrays (or Tensors) by name, of dtypes up to 64 bits.
        path: the file to write.

    Raises:
        IsADirectoryError: `path` is a directory.
        TypeError: `source` is of another type, or an array has a dtype that the format lacks.
        ValueError: a name is not a string, or is reserved by the format.

    The write is atomic: a temporary file is written next to the target, takes over its permissions and replaces it, so
    that a crash leaves either the old file or the new one. A target that is not a regular file (a pipe, `/dev/null`) is
    written to directly.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save({"steps": np.arange(3)}, folder + "/steps.safetensors")
    ...     load(folder + "/steps.safetensors")
    {'steps': array([0, 1, 2])}
    """
    from safetensors.numpy import save as to_bytes  # not at the top: needed only to save or load

    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"save() needs the path of a file, found {os.fspath(path)!r}: that is a folder")
    state = type(source).state_dict(source) if isinstance(source, Module) else source
    if not isinstance(state, Mapping):
        raise TypeError(f"save() takes a module or a dict of arrays by name, found {type(source).__name__}")
    arrays = {_name(name): _array(x, name) for name, x in state.items()}
    content = to_bytes(arrays, {"sha256": _digest(arrays)})
    if target.exists() and not target.is_file():
        target.write_bytes(content)
    else:
        target = target.resolve()
        with _alone_in(target.parent):
            _replace(target, content)


def load(path: FilePath, into: Module | None = None) -> dict[str, Any]:
    """Load the arrays of a safetensors file.

    Args:
        path: the file to read.
        into: module to load them into, as by its `load_state_dict`; if they do not fit, nothing is loaded.

    Returns:
        Dict of NumPy arrays by name.

    Raises:
        OSError: the file does not exist, or cannot be read.
        TypeError: `into` is not a module.
        ValueError: the file is damaged or no safetensors file, or the arrays do not fit the module.

    >>> import tempfile
    >>> from micrograd.nn import Linear
    >>> model, twin = Linear(3, 2), Linear(3, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder + "/model.safetensors")
    ...     state = load(folder + "/model.safetensors", into=twin)
    >>> list(state), (model.weight == twin.weight).all()
    (['bias', 'weight'], np.True_)
    """
    from safetensors import SafetensorError, safe_open

    if into is not None and not isinstance(into, Module):
        raise TypeError(f"load() fills a module, found {type(into).__name__}")
    with open(path, "rb"):  # raises Python's own error if the file is missing or unreadable
        pass
    try:
        with safe_open(path, framework="np") as file:
            wanted = (file.metadata() or {}).get("sha256")
            arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, TypeError, AttributeError) as error:
        raise ValueError(f"{os.fspath(path)} cannot be read as safetensors: {error}") from error
    if wanted is not None and wanted != _digest(arrays):
        raise ValueError(f"{os.fspath(path)} is damaged: its content is not what its SHA-256 says")
    if into is not None:
        type(into).load_state_dict(into, arrays)
    return arrays


def _name(name: Any) -> str:
    if not isinstance(name, str) or name == "__metadata__":
        raise ValueError(f"found the name {name!r:.50}: names are strings, and '__metadata__' is the format's own")
    return name


def _array(x: Any, name: str) -> np.ndarray:
    """An array as the format stores it: contiguous, little-endian, of a supported dtype."""
    array = np.array(x.detach().numpy() if isinstance(x, Tensor) else x, order="C")
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise TypeError(
            f"{name} has dtype {array.dtype}, which safetensors cannot hold: it takes numbers up to 64 bits"
        )
    return array.astype(array.dtype.newbyteorder("<"))


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of names, dtypes, shapes and numbers."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name!r} {array.dtype.name} {array.shape}\n".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold a lock on the directory, against other saves. The system releases it if the process dies."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically; remove what a killed save has left."""
    beside = path.with_name(f".{path.name}.tmp")
    beside.unlink(missing_ok=True)
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
