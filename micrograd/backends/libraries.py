"""C as a library: the compiler, and a cache of what it made.

A library is cached in a folder of the user's own, under a hash of its source, the flags and the compiler; its name has
a hash of its content too, so that a file which is damaged or half there is never loaded. It is written elsewhere and
renamed, so two processes may do so at once. If the folder cannot be used, a temporary one is.
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
        RuntimeError: there is none.
    """
    if found := find_compiler():
        return found
    if chosen := os.environ.get("CC"):
        raise RuntimeError(
            f"backend='c' runs the compiler that CC names, and CC is {chosen!r}, which is no command here"
        )
    raise RuntimeError(NEEDS)


def find_compiler() -> list[str]:
    """The command that CC names, or that of a compiler which is found; empty if there is none."""
    return _found(os.environ.get("CC", ""), os.environ.get("PATH", ""))


@lru_cache(maxsize=64)
def _found(chosen: str, _path: str) -> list[str]:
    names = [shlex.split(chosen, posix=os.name != "nt")] if chosen else [["cc"], ["gcc"], ["clang"]]
    found = [[path, *rest] for name, *rest in names if (path := shutil.which(name))]
    if not found and not chosen and find_spec("ziglang"):
        found = [[sys.executable, "-m", "ziglang", "cc"]]
    return found[0] if found else []


@cache
def _machine() -> str:
    """The processor, since a library may use all that it can do."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = [platform.processor()]
    return "".join(
        [platform.machine(), *dict.fromkeys(x for x in lines if x.startswith(("model name", "flags", "Features")))]
    )


def _key(source: str, flags: Sequence[str]) -> str:
    """The hash of everything that a library is made from."""
    command = compiler()
    made = os.stat(command[0])
    parts = [source, *command, *FLAGS, *flags, str(made.st_size), str(made.st_mtime_ns), sys.platform, _machine()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def cache_folder() -> Path:
    """The user's folder of libraries.

    Raises:
        OSError: it cannot be made, or others could write to it.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or ("~/Library/Caches" if sys.platform == "darwin" else "~/.cache")
    folder = Path(base).expanduser() / "micrograd"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if sys.platform != "win32" and (found.st_uid != os.getuid() or found.st_mode & 0o077):
        raise PermissionError(f"{folder} must belong to the user alone")
    return folder


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """A folder for this process, if the user's cannot be used; it is private, and removed at the end."""
    return tempfile.TemporaryDirectory(prefix="micrograd-", ignore_cleanup_errors=True)


def cached(source: str, flags: Sequence[str]) -> Any:
    """The library, if it is in the cache as it was written; else None."""
    try:
        folder, key = cache_folder(), _key(source, flags)
        for path in folder.glob(f"{key}-*.so"):
            if _digest(path.read_bytes()) == path.stem.partition("-")[2]:
                os.utime(path)  # used: it is the oldest that goes
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
        made, copy = Path(place) / "program.so", Path(place) / "program.c"
        copy.write_text(source, encoding="utf-8")
        os.replace(copy, text)
        command = [*compiler(), *FLAGS, *flags, "-o", str(made), str(text), *["-lm"] * (sys.platform != "win32")]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode or not made.exists():
            line = next(
                (x for x in done.stderr.splitlines() if "error" in x), (done.stderr.splitlines() or ["no message"])[0]
            )
            raise RuntimeError(f"the C compiler {command[0]} failed: {line}\nThe source is {text}")
        target = folder / f"{key}-{_digest(made.read_bytes())}.so"
        os.replace(made, target)
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
