"""The engines that stand side by side: which there are, and where. `python -m benchmarks.engines` fetches them all."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / "peers"  # git-ignored
CLASSIC = "micrograd==0.1.0"
WRITTEN_HERE = ("numpy", "python", "scalars")  # by hand with NumPy, by hand in Python, a class as microgpt's
OTHERS = {"autograd": "autograd==1.9.1", "mygrad": "mygrad==2.5.0", "tinygrad": "tinygrad==0.14.0"}
PROBES = {"tinygrad": "from tinygrad import Tensor; Tensor([1.0]).tolist()"}  # it may find nothing to compute on


def installed() -> dict[str, Path | None]:
    """The engines at hand, with the folder to import each from; None: it is in the environment."""
    engines: dict[str, Path | None] = {"micrograd": HERE.parent, **dict.fromkeys(WRITTEN_HERE)}
    if install("classic", CLASSIC):
        engines["classic"] = PEERS / "classic"
    if importlib.util.find_spec("torch"):
        engines["torch"] = None
    return engines | {name: PEERS / name for name in OTHERS if works(name)}


def install(name: str, package: str) -> bool:
    """Fetch an engine once, into a folder of its own: some are imported under the same name as ours."""
    folder = PEERS / name
    if not folder.is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), package]
        if subprocess.run(pip).returncode:
            print(f"{package} could not be installed: its columns stay empty", file=sys.stderr)
            return False
    return True


def works(name: str) -> bool:
    """Is this one of `OTHERS` there, and does it run?"""
    if not (PEERS / name).is_dir():
        return False
    probe = [sys.executable, "-c", PROBES.get(name, f"import {name}")]
    environment = {**os.environ, "PYTHONPATH": str(PEERS / name)}
    done = subprocess.run(probe, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(f"{name} is installed and does not run: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    return not done.returncode


if __name__ == "__main__":
    results = [install(name, package) for name, package in {"classic": CLASSIC, **OTHERS}.items()]
    sys.exit(not all(results))
