"""The engines that stand side by side: which there are, and where. `python -m benchmarks.engines` fetches them all."""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / "peers"  # git-ignored
CLASSIC = "micrograd==0.1.0"
WRITTEN_HERE = ("numpy", "python", "scalars")  # by hand with NumPy, by hand in Python, a class as microgpt's
OTHERS = {"autograd": "autograd==1.9.1", "mygrad": "mygrad==2.5.0", "tinygrad": "tinygrad==0.14.0"}
JAX = "jax==0.10.2 jaxlib==0.10.2 ml-dtypes==0.6.0 opt-einsum==3.4.0"  # as jax[cpu]; NumPy and SciPy are here already
FETCHED = {"classic": CLASSIC, **OTHERS, "jax": JAX}
COMPILERS = ("torch-compiled", "jax")
BACKENDS = {  # ours, beside "auto"; a probe says whether there is a compiler
    "backend=python": None,
    "backend=numpy": None,
    "backend=c": None,
    "backend=jax": PEERS / "jax",
}
PROBES = {  # a library that can be imported may still find nothing to compute with
    "tinygrad": "from tinygrad import Tensor; Tensor([1.0]).tolist()",
    "jax": "import jax; jax.jit(lambda x: x + 1)(1.0).block_until_ready()",
    "torch-compiled": "import torch; torch.compile(lambda x: x + 1)(torch.ones(2))",  # it needs a C++ compiler
    "backend=c": "import micrograd; micrograd.compile(lambda x: x * 2, backend='c')(1.0)",
}


def installed() -> dict[str, Path | None]:
    """The engines at hand, with the folder to import each from; None: it is in the environment."""
    engines: dict[str, Path | None] = {"micrograd": HERE.parent, **dict.fromkeys(WRITTEN_HERE)}
    if install("classic", CLASSIC):
        engines["classic"] = PEERS / "classic"
    if shutil.which("node"):
        engines["node"] = None  # which runs what `save(step, "step.js")` writes
    if importlib.util.find_spec("torch"):
        engines |= {"torch": None} | ({"torch-compiled": None} if works("torch-compiled") else {})
    engines |= {name: PEERS / name for name in (*OTHERS, "jax") if (PEERS / name).is_dir() and works(name)}
    lacking = {f"backend={name}" for name, there in (("jax", "jax" in engines), ("c", works("backend=c"))) if not there}
    return engines | {name: folder for name, folder in BACKENDS.items() if name not in lacking}


def install(name: str, packages: str) -> bool:
    """Fetch an engine once, into a separate folder: some are imported under the same name as ours."""
    folder = PEERS / name
    if not folder.is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
        if subprocess.run([*pip, *packages.split()]).returncode:
            print(f"{packages} could not be installed: its columns stay empty", file=sys.stderr)
            return False
    return True


def works(name: str) -> bool:
    """Does an engine that was found run? If not, the reason is printed."""
    probe = [sys.executable, "-c", PROBES.get(name, f"import {name}")]
    environment = {**os.environ, "PYTHONPATH": str(PEERS / name)}
    done = subprocess.run(probe, env=environment, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = next((line for line in reversed(lines) if "Error: " in line), lines[-1])
        print(f"{name} is installed and does not run: {reason}", file=sys.stderr)
    return not done.returncode


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__).parse_args()
    results = [install(name, packages) for name, packages in FETCHED.items()]
    sys.exit(not all(results))
