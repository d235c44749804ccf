"""`save` and `load`: networks, optimizers and schedules in a safetensors file, a format that other tools read too.

A file consists of a header with names, shapes and dtypes, followed by the raw numbers. Unlike a pickle, it contains
nothing that is executed. Its metadata has the states of optimizers and schedules as JSON, in which an array is a name.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from ..common.undo import all_or_nothing
from ..engine.locks import holding
from ..scalars.kinds import plain
from .module import Module, named_leaves

FilePath = str | os.PathLike[str]
EXPORTS = {".onnx": "to_onnx", ".js": "to_js", ".mjs": "to_js"}  # the methods of a compiled function
STATES = "micrograd.states"  # the key in the metadata
FOREIGN_SUFFIXES = {".pt", ".pth", ".ckpt", ".bin", ".npz", ".npy", ".pkl", ".pickle", ".h5", ".hdf5"}
FOREIGN_BYTES = {  # the first bytes of files with weights in another format
    b"PK\3\4": "a file of torch.save, or NumPy's .npz",
    b"\x80": "a pickle, as an older torch.save wrote it",
    b"\x93NUMPY": "NumPy's .npy",
    b"\x89HDF": "HDF5",
    b"{": "JSON",
}
NAMES = ": names of the parameters"  # in the metadata, after the name of an optimizer
_saving = Lock()  # two threads may save to one path


def save(source: Any, path: FilePath, dtype: Any = None) -> None:
    """Save modules, optimizers, schedules and arrays as safetensors, or a compiled function as ONNX or JavaScript.

    Use it to keep a trained model, to resume a training later (`load`), or to run a model where there is no Python.

    Args:
        source: an object with `state_dict()` and `load_state_dict()`, or a dict of such objects and of arrays, Tensors,
            Values or numbers by name. For .onnx and .js it is a function made by `compile`, after a call.
        path: the file to write. For a compiled function its name ends in .onnx, .js or .mjs.
        dtype: dtype of the floats of an .onnx file, float32 (the default) or float64.

    Raises:
        IsADirectoryError: `path` is a directory.
        ModuleNotFoundError: an .onnx file needs the package onnx, which is missing.
        RuntimeError: the compiled function was not called yet, or uses an operation that the format lacks.
        TypeError: `source` is of another type, or its state has an object of a type that the format lacks.
        ValueError: a name is not a string, is reserved by the format, or begins with the name of another object and a
            dot. The file's name does not fit the source.

    A dict gives its names to the arrays, so `{"model": model}` stores `model.weight`. The write is atomic, so that a
    crash leaves either the old file or the new one. Only one process at a time may save to a path.

    A compiled function is saved as the last call traced it, with the parameters as they are now. For .onnx, call it
    under `no_grad` with the model in `eval` mode, and with two batch sizes above 1 if the batch is to be a free axis.
    Either file may also hold a training step (`update=`). A .js file goes on training, and an .onnx file takes the
    state, which `step.state()` returns, and returns the next state. The guides `docs/elsewhere.md` and `docs/fast.md`
    show how such files are run.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save({"steps": np.arange(3)}, folder + "/steps.safetensors")
    ...     load(folder + "/steps.safetensors")
    {'steps': array([0, 1, 2])}
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"save() needs the path of a file, found {os.fspath(path)!r}: that is a folder")
    export = getattr(type(source), EXPORTS.get(target.suffix, ""), None)
    if (target.suffix in EXPORTS) != hasattr(type(source), "to_onnx"):
        raise ValueError(
            f"found {type(source).__name__} to be saved as {target.name!r}: a function made by compile() is saved as "
            ".onnx or .js, and nothing else is"
        )
    if dtype is not None and target.suffix != ".onnx":
        raise TypeError(f"found dtype={dtype!r}: that is for .onnx files; other numbers keep their dtype")
    if target.suffix.lower() in FOREIGN_SUFFIXES:
        raise ValueError(f"{target.name} is a name of another format, and this is safetensors: end it in .safetensors")
    if export is None:
        content = _safetensors(source)
    elif target.suffix == ".onnx":
        content = export(source, dtype)
    else:
        content = export(source)
    if target.exists() and not target.is_file():
        target.write_bytes(content)
    else:
        holding(_saving, _replace, target.resolve(), content)


def load(path: FilePath, into: Any = None) -> dict[str, Any]:
    """Load a safetensors file, as arrays and into the objects whose states it holds.

    Use it to get a trained model back, or to resume a training.

    Args:
        path: the file to read.
        into: an object, or a dict of objects by name, as they were saved. The file may hold more objects. If the state
            of one object does not fit, none is changed.

    Returns:
        Dict of NumPy arrays by name.

    Raises:
        OSError: the file does not exist, or cannot be read.
        TypeError: `into` has no state.
        ValueError: the file is damaged or no safetensors file, or holds no state that fits.

    The states of an optimizer go to the parameters by name, if the module is saved and loaded together with it. A
    training that resumes bit for bit saves all that a step depends on, and draws its batches from the step.

    >>> import tempfile
    >>> from micrograd.nn import Linear
    >>> from micrograd.optim import Adam, StepLR
    >>> model = Linear(3, 2)
    >>> optimizer = Adam(model.parameters(), lr=0.1)
    >>> run = {"model": model, "optimizer": optimizer, "schedule": StepLR(optimizer, 10)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save({**run, "step": 20}, folder + "/run.safetensors")
    ...     state = load(folder + "/run.safetensors", into=run)
    >>> list(state), state["step"].item()
    (['model.bias', 'model.weight', 'step'], 20)
    >>> rng = np.random.default_rng([1337, 20])  # a seed and the step, from which a batch is drawn
    """
    from safetensors import SafetensorError, safe_open

    objects = {} if into is None else {"": into} if not isinstance(into, Mapping) else into
    for target in objects.values():
        if not _has_state(target):
            raise TypeError(f"load() fills modules, optimizers and schedules, found {type(target).__name__}")
    with open(path, "rb") as file:  # raises Python's own error if the file is missing or unreadable
        first_bytes = file.read(9)
    try:
        with safe_open(path, framework="np") as file:
            packed = json.loads((file.metadata() or {}).get(STATES, "{}"))
            arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
        # A package that onnx needs adds dtypes to NumPy.
        if added := [array.dtype for array in arrays.values() if array.dtype.kind not in "fiub"]:
            raise TypeError(f"NumPy has no {added[0]}")
    except (SafetensorError, TypeError, AttributeError, ValueError) as error:
        hints = [
            f"; it looks like {file_format}: read it with the program that wrote it, and pass the arrays to "
            "load_state_dict()"
            for mark, file_format in FOREIGN_BYTES.items()
            if first_bytes.startswith(mark)
        ]
        raise ValueError(f"{os.fspath(path)} cannot be read as safetensors: {error}{''.join(hints)}") from error
    undo: list[Any] = []  # gives the objects that were loaded before an error their own states back
    try:
        with all_or_nothing(undo):
            for name, target in objects.items():
                before = type(target).state_dict(target)
                state = _state_of(target, name, arrays, packed)
                if saved_names := packed.get(f"{name}{NAMES}"):
                    state = _in_order(state, saved_names, target, objects, arrays)
                type(target).load_state_dict(target, state)
                undo.append(partial(type(target).load_state_dict, target, before))
    except BaseException as error:
        error.add_note(f"while loading {os.fspath(path)}")
        raise
    return arrays


# ---------------------------------------------------------------------------------------------------------------------
# Objects and their states


def _has_state(x: Any) -> bool:
    return hasattr(type(x), "state_dict") and hasattr(type(x), "load_state_dict")


def _prefix(name: str) -> str:
    """The prefix of the names of an object's arrays. An object that is saved alone has the name ""."""
    return f"{name}." if name else ""


def _safetensors(source: Any) -> bytes:
    """The content of a safetensors file: all arrays by name, and as metadata the states of optimizers and schedules."""
    from safetensors.numpy import save as to_bytes  # not at the top: needed only to save or load

    objects = {"": source} if _has_state(source) else source
    if not isinstance(objects, Mapping):
        raise TypeError(
            "save() takes a module, an optimizer, a schedule, or a dict of these and of arrays by name, "
            f"found {type(source).__name__}"
        )
    arrays: dict[str, np.ndarray] = {}
    packed: dict[str, Any] = {}
    for name, x in objects.items():
        prefix = _prefix(_name(name))
        if not _has_state(x):
            arrays[name] = _storable(x, name)
            continue
        if clash := next((other for other in objects if other != name and _name(other).startswith(prefix)), None):
            raise ValueError(f"found the names {name!r} and {clash!r}: they overlap, so rename one of them")
        state = type(x).state_dict(x)
        if isinstance(x, Module):
            arrays |= {prefix + _name(key): _storable(array, key) for key, array in state.items()}
            continue
        packed[name] = _packed(state, name, arrays)
        is_of_optimizer = isinstance(state, dict) and isinstance(state.get("state"), list)
        if is_of_optimizer and any(names := _names(getattr(x, "params", ()), objects)):
            packed[f"{name}{NAMES}"] = names
    return to_bytes(arrays, {STATES: json.dumps(packed)} if packed else None)


def _packed(state: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """A state, or an entry of one, as JSON. Its arrays are added to `arrays`.

    A dict, a list, a tuple or an array becomes a pair of the type's name and the content, or the name of the array.
    """
    match state:
        case None | bool() | int() | float() | str() if not isinstance(state, np.generic):
            return state
        case Mapping():
            return ["dict", {_name(key): _packed(entry, _prefix(name) + key, arrays) for key, entry in state.items()}]
        case list() | tuple():
            cls = list if isinstance(state, list) else tuple
            return [cls.__name__, [_packed(entry, f"{_prefix(name)}{i}", arrays) for i, entry in enumerate(state)]]
    arrays[name] = _storable(state, name)
    return ["array", name]


def _unpacked(json_state: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The state, or entry of one, that `_packed` has made JSON of."""
    match json_state:
        case ["dict", entries]:
            return {key: _unpacked(entry, arrays) for key, entry in entries.items()}
        case ["list", entries]:
            return [_unpacked(entry, arrays) for entry in entries]
        case ["tuple", entries]:
            return tuple(_unpacked(entry, arrays) for entry in entries)
        case ["array", name] if name in arrays:
            return arrays[name][()]  # a number if the shape is (), as after an eager step
    return json_state


def _state_of(x: Any, name: str, arrays: Mapping[str, np.ndarray], packed: Mapping[str, Any]) -> Any:
    """The state in a file of the object x of this name."""
    prefix = _prefix(name)
    if isinstance(x, Module):
        return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
    if name not in packed:
        names = ", ".join(repr(key) for key in packed if not key.endswith(NAMES)) or "none"
        raise ValueError(f"the file has no state of a {type(x).__name__} called {name!r}; states there: {names}")
    return _unpacked(packed[name], arrays)


def _names(params: Sequence[Any], objects: Mapping[str, Any]) -> list[str]:
    """The names of an optimizer's parameters in the modules among the objects; "" for a parameter of no such module."""
    names: dict[int, list[str]] = {}
    for name, x in objects.items():
        for key, leaf in named_leaves(x) if isinstance(x, Module) else ():
            names.setdefault(id(leaf), []).append(_prefix(name) + key)
    return [min(names.get(id(p), [""])) for p in params]  # of a shared parameter, the same name in every order


def _in_order(state: Any, saved_names: list[str], optimizer: Any, objects: Any, arrays: dict[str, Any]) -> Any:
    """The state of an optimizer in the order of its parameters, which may differ from the order when it was saved."""
    names = _names(optimizer.params, objects)
    # If the module of the parameters is not among the objects, it may be loaded already: then the numbers are equal.
    if not any(names):
        saved = {f"{name}.{i}": number for name, a in arrays.items() if a.ndim == 1 for i, number in enumerate(a)}
        saved |= arrays
        pairs = zip(saved_names, optimizer.params, strict=False)
        names = [name for name, p in pairs if not name or np.array_equal(saved[name], plain(p))]
    if sorted(names) != sorted(saved_names):
        raise ValueError(
            f"the state is of {', '.join(saved_names):.200}, not of this optimizer's parameters: load it in one call "
            "with its module"
        )
    states: dict[str, list[Any]] = {name: [] for name in saved_names}
    for name, state_of_one in zip(saved_names, state["state"], strict=True):
        states[name].append(state_of_one)
    return {**state, "state": [states[name].pop(0) for name in names]}


# ---------------------------------------------------------------------------------------------------------------------
# Arrays, and the file


def _name(name: Any) -> str:
    if not isinstance(name, str) or name == "__metadata__":
        raise ValueError(f"found the name {name!r:.50}: names are strings, and '__metadata__' is the format's own")
    return name


def _storable(x: Any, name: str) -> np.ndarray:
    """An array as the format stores it: contiguous, little-endian, of a supported dtype."""
    array = np.array(plain(x), order="C")
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise TypeError(
            f"{name} has dtype {array.dtype}, which safetensors cannot hold: it takes numbers up to 64 bits"
        )
    return array.astype(array.dtype.newbyteorder("<"))


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically, after removing the temporary file that a killed save may have left."""
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
    except OSError as error:
        error.add_note(f"{path} was not saved, and an older file there is unchanged")
        raise
    finally:
        beside.unlink(missing_ok=True)
