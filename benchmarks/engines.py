"""The engines that stand side by side: which there are, and where."""

import importlib.util
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / "peers"  # git-ignored
CLASSIC = "micrograd==0.1.0"


def installed() -> dict[str, Path | None]:
    """The engines at hand, with the folder to import each from; None: it is in the environment."""
    engines: dict[str, Path | None] = {"micrograd": HERE.parent, "numpy": None}
    if install_classic():
        engines["classic"] = PEERS / "classic"
    if importlib.util.find_spec("torch"):
        engines["torch"] = None
    return engines


def install_classic() -> bool:
    """Fetch the classic engine once, into a folder of its own, for it is imported under the same name as ours."""
    folder = PEERS / "classic"
    if not (folder / "micrograd").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), CLASSIC]
        if subprocess.run(pip).returncode:
            print(f"{CLASSIC} could not be installed: its columns stay empty", file=sys.stderr)
            return False
    return True
