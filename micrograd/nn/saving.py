"""`save` and `load`: networks, optimizers and schedules in a safetensors file, a format that other tools read too.

A file consists of a header with names, shapes and dtypes, followed by the raw numbers. Unlike a pickle, it contains
nothing that is executed. Its metadata holds, as JSON, what the states of optimizers and schedules hold besides arrays.
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
OTHERS = {".pt", ".pth", ".ckpt", ".bin", ".npz", ".npy", ".pkl", ".pickle", ".h5", ".hdf5"}  # read as something else
FOREIGN = {  # how files begin that hold weights in another format
    b"PK\3\4": "a file of torch.save, or NumPy's .npz",
    b"\x80": "a pickle, as an older torch.save wrote it",
    b"\x93NUMPY": "NumPy's .npy",
    b"\x89HDF": "HDF5",
    b"{": "JSON",
}
NAMES = ": names of the parameters"  # of an optimizer, after its own name
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
        RuntimeError: the compiled function was not called yet, or does something that the format has no form of.
        TypeError: `source` is of another type, or has something in its state that the format lacks.
        ValueError: a name is not a string, is reserved by the format, or begins like that of another object. The file's
            name does not fit what is saved.

    A dict gives its names to the arrays, so `{"model": model}` stores `model.weight`. The write is atomic, so that a
    crash leaves either the old file or the new one. Only one process at a time may save to a path.

    A compiled function is saved as the last call traced it, with the parameters as they are now. For .onnx, call it
    under `no_grad` with the model in `eval` mode, and with two batch sizes above 1 if the batch is to be a free axis.
    Either file may also hold a training step (`update=`). A .js file goes on training, and an .onnx file takes the
    state, which `step.state()` returns, and gives the next one. The guides `docs/elsewhere.md` and
    `docs/fast.md` show how such files are run.

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
    if target.suffix.lower() in OTHERS:
        raise ValueError(f"{target.name} is a name of another format, and this is safetensors: end it in .safetensors")
    content = _safetensors(source) if export is None else export(source, *[dtype] * (target.suffix == ".onnx"))
    if target.exists() and not target.is_file():
        target.write_bytes(content)
    else:
        holding(_saving, _replace, target.resolve(), content)


def load(path: FilePath, into: Any = None) -> dict[str, Any]:
    """Load a safetensors file, as arrays and into the objects whose states it holds.

    Use it to get a trained model back, or to resume a training.

    Args:
        path: the file to read.
        into: an object, or a dict of objects by name, as they were saved. The file may hold more than these. If one of
            them does not fit, none is changed.

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
    >>> rng = np.random.default_rng([1337, 20])  # a seed, and the step: what the batch is drawn with
    """
    from safetensors import SafetensorError, safe_open

    objects = {} if into is None else {"": into} if not isinstance(into, Mapping) else into
    for x in objects.values():
        if not _has_state(x):
            raise TypeError(f"load() fills modules, optimizers and schedules, found {type(x).__name__}")
    with open(path, "rb") as file:  # raises Python's own error if the file is missing or unreadable
        start = file.read(9)
    try:
        with safe_open(path, framework="np") as file:
            packed = json.loads((file.metadata() or {}).get(STATES, "{}"))
            arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
        if odd := [x.dtype for x in arrays.values() if x.dtype.kind not in "fiub"]:  # a package that onnx needs adds it
            raise TypeError(f"NumPy has no {odd[0]}")
    except (SafetensorError, TypeError, AttributeError, ValueError) as error:
        kind = next((kind for mark, kind in FOREIGN.items() if start.startswith(mark)), "")
        hint = kind and f"; it looks like {kind}: read it with what wrote it, and pass the arrays to load_state_dict()"
        raise ValueError(f"{os.fspath(path)} cannot be read as safetensors: {error}{hint}") from error
    undo: list[Any] = []  # those that did fit get their own states back
    try:
        with all_or_nothing(undo):
            for name, x in objects.items():
                before = type(x).state_dict(x)
                state = _state_of(x, name, arrays, packed)
                if then := packed.get(f"{name}{NAMES}"):
                    state = _in_order(state, then, x, objects, arrays)
                type(x).load_state_dict(x, state)
                undo.append(partial(type(x).load_state_dict, x, before))
    except BaseException as error:
        error.add_note(f"while loading {os.fspath(path)}")
        raise
    return arrays


# ---------------------------------------------------------------------------------------------------------------------
# Objects and their states


def _has_state(x: Any) -> bool:
    return hasattr(type(x), "state_dict") and hasattr(type(x), "load_state_dict")


def _prefix(name: str) -> str:
    """What the names of an object's arrays begin with; an object alone is called ""."""
    return f"{name}." if name else ""


def _safetensors(source: Any) -> bytes:
    """The content of a safetensors file: all arrays by name; in its metadata, the states that hold more than arrays."""
    from safetensors.numpy import save as to_bytes  # not at the top: needed only to save or load

    parts = {"": source} if _has_state(source) else source
    if not isinstance(parts, Mapping):
        raise TypeError(
            "save() takes a module, an optimizer, a schedule, or a dict of these and of arrays by name, "
            f"found {type(source).__name__}"
        )
    arrays: dict[str, np.ndarray] = {}
    packed: dict[str, Any] = {}
    for name, x in parts.items():
        prefix = _prefix(_name(name))
        if not _has_state(x):
            arrays[name] = _storable(x, name)
        elif clash := next((other for other in parts if other != name and _name(other).startswith(prefix)), None):
            raise ValueError(f"found the names {name!r} and {clash!r}: they overlap, so rename one of them")
        elif isinstance(x, Module):
            arrays |= {prefix + _name(key): _storable(array, key) for key, array in type(x).state_dict(x).items()}
        else:
            state, params = type(x).state_dict(x), getattr(x, "params", ())
            packed[name] = _packed(state, name, arrays)
            if isinstance(state, dict) and isinstance(state.get("state"), list) and any(names := _names(params, parts)):
                packed[f"{name}{NAMES}"] = names
    return to_bytes(arrays, {STATES: json.dumps(packed)} if packed else None)


def _packed(x: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """A state as JSON: a list there is a pair, of a type and what it holds. The arrays in it are added to `arrays`."""
    match x:
        case None | bool() | int() | float() | str() if not isinstance(x, np.generic):
            return x
        case Mapping():
            return ["dict", {_name(key): _packed(part, _prefix(name) + key, arrays) for key, part in x.items()}]
        case list() | tuple():
            kind = "list" if isinstance(x, list) else "tuple"
            return [kind, [_packed(part, f"{_prefix(name)}{i}", arrays) for i, part in enumerate(x)]]
    arrays[name] = _storable(x, name)
    return ["array", name]


def _unpacked(x: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    match x:
        case ["dict", parts]:
            return {key: _unpacked(part, arrays) for key, part in parts.items()}
        case ["list" | "tuple" as kind, parts]:
            return (list if kind == "list" else tuple)(_unpacked(part, arrays) for part in parts)
        case ["array", name] if name in arrays:
            return arrays[name][()]  # one number is no array in NumPy: the result of an eager step
    return x


def _state_of(x: Any, name: str, arrays: Mapping[str, np.ndarray], packed: Mapping[str, Any]) -> Any:
    """What a file holds for the object of this name."""
    prefix = _prefix(name)
    if isinstance(x, Module):
        return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
    if name not in packed:
        found = ", ".join(repr(key) for key in packed if not key.endswith(NAMES)) or "none"
        raise ValueError(f"the file has no state of a {type(x).__name__} called {name!r}; states there: {found}")
    return _unpacked(packed[name], arrays)


def _names(params: Sequence[Any], objects: Mapping[str, Any]) -> list[str]:
    """What an optimizer's parameters are called in the modules among the objects; "" for those of none."""
    names: dict[int, list[str]] = {}
    for name, x in objects.items():
        for key, leaf in named_leaves(x) if isinstance(x, Module) else ():
            names.setdefault(id(leaf), []).append(_prefix(name) + key)
    return [min(names.get(id(p), [""])) for p in params]  # of a shared one, the same in every order


def _in_order(state: Any, then: list[str], x: Any, objects: Any, arrays: Mapping[str, Any]) -> Any:
    """The state of an optimizer in the order of its parameters, which may be another one than when it was saved."""
    now = _names(x.params, objects)
    if not any(now):  # their module is not loaded now: if it was, their numbers are those of these names
        known = {f"{name}.{i}": number for name, a in arrays.items() if a.ndim == 1 for i, number in enumerate(a)}
        pairs = zip(then, x.params, strict=False)
        now = [name for name, p in pairs if not name or np.array_equal({**known, **arrays}[name], plain(p))]
    if sorted(now) != sorted(then):
        raise ValueError(
            f"the state is of {', '.join(then):.200}, not of this optimizer's parameters: load it in one call with its "
            "module"
        )
    parts: dict[str, list[Any]] = {name: [] for name in then}
    for name, part in zip(then, state["state"], strict=True):
        parts[name].append(part)
    return {**state, "state": [parts[name].pop(0) for name in now]}


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
    except OSError as error:
        error.add_note(f"{path} was not saved, and what was there is unchanged")
        raise
    finally:
        beside.unlink(missing_ok=True)
