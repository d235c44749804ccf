"""C as a library: the C compiler, and a cache of compiled libraries.

A library is cached in the user's own folder, under a hash of its source, the flags and the compiler. The file name has
a hash of the content too, so a damaged or incomplete file is never loaded. A library is written elsewhere and then
renamed, so two processes may compile it at once. If the folder cannot be used, a temporary folder is used.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FLAGS = (
    "-std=gnu11",
    "-fPIC",
    "-shared",
    "-w",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
)
MOST = 256  # libraries that are cached; the oldest go first
NEEDS = (
    "backend='c' needs a C compiler, and found none as $CC, cc, gcc or clang. On Linux: apt install gcc (or dnf); on "
    "macOS: xcode-select --install; on Windows, or anywhere: pip install ziglang. The default back end needs none"
)


def compiler() -> list[str]:
    """The command of the C compiler.

    Raises:
        RuntimeError: there is no C compiler.
    """
    if command := find_compiler():
        return command
    if chosen := os.environ.get("CC"):
        raise RuntimeError(
            f"backend='c' runs the compiler that CC names, and CC is {chosen!r}, which is no command here"
        )
    raise RuntimeError(NEEDS)


def find_compiler() -> list[str]:
    """The command that CC names or, without CC, that of the first compiler here; empty if there is none."""
    return _find_compiler(os.environ.get("CC", ""), os.environ.get("PATH", ""))


@lru_cache(maxsize=64)
def _find_compiler(chosen: str, _path: str) -> list[str]:
    commands = [shlex.split(chosen, posix=os.name != "nt")] if chosen else [["cc"], ["gcc"], ["clang"]]
    for name, *options in commands:
        if path := shutil.which(name):
            return [path, *options]
    return [sys.executable, "-m", "ziglang", "cc"] if not chosen and find_spec("ziglang") else []


@cache
def _machine() -> str:
    """The processor, as text. A library may use every instruction that the processor has."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = [platform.processor()]
    return "".join(
        [platform.machine(), *dict.fromkeys(x for x in lines if x.startswith(("model name", "flags", "Features")))]
    )


def _key(source: str, flags: Sequence[str]) -> str:
    """The hash of everything that a library depends on."""
    command = compiler()
    file = os.stat(command[0])
    parts = [source, *command, *FLAGS, *flags, str(file.st_size), str(file.st_mtime_ns), sys.platform, _machine()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def cache_folder() -> Path:
    """The user's folder of libraries.

    Raises:
        OSError: the folder cannot be made, or other users could write to it.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or ("~/Library/Caches" if sys.platform == "darwin" else "~/.cache")
    folder = Path(base).expanduser() / "micrograd"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if sys.platform != "win32" and (status.st_uid != os.getuid() or status.st_mode & 0o077):
        raise PermissionError(f"{folder} must belong to the user alone")
    return folder


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """A private folder for this process, if the user's folder cannot be used. It is removed at the end."""
    return tempfile.TemporaryDirectory(prefix="micrograd-", ignore_cleanup_errors=True)


def cached(source: str, flags: Sequence[str]) -> Any:
    """The library, if the cache has it, undamaged; else None."""
    try:
        folder, key = cache_folder(), _key(source, flags)
        for path in folder.glob(f"{key}-*.so"):
            if _digest(path.read_bytes()) == path.stem.partition("-")[2]:
                os.utime(path)  # the libraries that were not used for longest are removed
                return ctypes.CDLL(str(path))
    except OSError:
        pass
    return None


def compiled(source: str, flags: Sequence[str]) -> Any:
    """The library, from the cache or else compiled and cached.

    Raises:
        RuntimeError: the compiler failed.
    """
    if library := cached(source, flags):
        return library
    try:
        return _compiled(source, flags, cache_folder())
    except (OSError, RuntimeError):
        return _compiled(source, flags, Path(_temporary().name))


def _compiled(source: str, flags: Sequence[str], folder: Path) -> Any:
    key = _key(source, flags)
    text = folder / f"{key}.c"
    with tempfile.TemporaryDirectory(prefix="making-", dir=folder, ignore_cleanup_errors=True) as place:
        library, copy = Path(place) / "program.so", Path(place) / "program.c"
        copy.write_text(source, encoding="utf-8")
        os.replace(copy, text)
        command = [*compiler(), *FLAGS, *flags, "-o", str(library), str(text), *["-lm"] * (sys.platform != "win32")]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode or not library.exists():
            lines = done.stderr.splitlines() or ["no message"]
            line = next((line for line in lines if "error" in line), lines[0])
            raise RuntimeError(f"the C compiler {command[0]} failed: {line}\nThe source is {text}")
        target = folder / f"{key}-{_digest(library.read_bytes())}.so"
        os.replace(library, target)
    _bound(folder)
    return ctypes.CDLL(str(target))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _bound(folder: Path) -> None:
    """Remove the libraries that were not used for longest."""
    dated = sorted((path.stat().st_mtime, path) for path in folder.glob("*-*.so"))
    for _, path in dated[:-MOST]:
        path.unlink(missing_ok=True)
        path.with_name(path.stem.partition("-")[0] + ".c").unlink(missing_ok=True)
