"""`save` and `load`: what a network has learnt, as a file in the safetensors format, which other tools read too.

Such a file is a header of names, shapes and dtypes, and then plain numbers: nothing in it is ever executed, as a
pickle's content is. A SHA-256 of the content stands in its metadata.
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
except ImportError:  # Windows, which refuses to replace a file that another process has open
    fcntl = None

FilePath = str | os.PathLike[str]


def save(source: Module | Mapping[str, Any], path: FilePath) -> None:
    """Write the state of a module, or a dict of arrays by name, to a file.

    The file is written beside the one it replaces, whose permissions it takes over, and then moved: whatever happens,
    there is a whole file at the path, the old one or the new. What is no regular file (a pipe, `/dev/null`) is written
    to as it is.
    """
    from safetensors.numpy import save as to_bytes  # not at the top: only who saves or loads needs it

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
    """The arrays in a file, by name; given a module, they are loaded into it as well, or none of them is.

    A file that is damaged raises a ValueError, and so does a state that does not fit the module.

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
    with open(path, "rb"):  # raises what Python raises where there is no file, or none that may be read
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
    """An array as the format has them: contiguous, little-endian, of a dtype that it knows."""
    array = np.array(x.detach().numpy() if isinstance(x, Tensor) else x, order="C")
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise TypeError(
            f"{name} has dtype {array.dtype}, which safetensors cannot hold: it takes numbers up to 64 bits"
        )
    return array.astype(array.dtype.newbyteorder("<"))


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """The SHA-256 of names, dtypes, shapes and numbers."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name!r} {array.dtype.name} {array.shape}\n".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread saves into the folder. The lock ends with its holder, killed or not."""
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
    """Write a file in one move; what a killed save has left beside it is cleared away."""
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
