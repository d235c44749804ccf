"""Install this checkout with one of its extras, and say in one line how far it is: `python tools/install.py demo`."""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
TERMINAL = sys.stdout.isatty()


def install(extra: str) -> None:
    """By pip, which is quoted whole if it fails."""
    print(f"installing micrograd[{extra}]: downloads on the first run, so it may take a minute", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"]
    command.append("--no-compile")  # what is imported is compiled then, which is little of it
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        pip = subprocess.Popen([*command, "--editable", f".[{extra}]"], cwd=ROOT, stdout=said, stderr=subprocess.STDOUT)
        while pip.poll() is None:
            follow(pip, said, start)
        said.seek(0)
        if pip.returncode:
            sys.exit(f"\n{said.read()}\npip failed; see above")
    show(f"installed in {time.monotonic() - start:.0f} s", "\n")


def follow(pip: subprocess.Popen[bytes], said, start: float) -> None:
    """Show pip's last line, at once on a terminal, and now and then in a log."""
    try:
        pip.wait(0.2 if TERMINAL else 15)
    except subprocess.TimeoutExpired:
        said.seek(0)
        last = said.read().strip().rpartition("\n")[2].strip() or "starting"
        show(f"{time.monotonic() - start:3.0f} s  {last}", "" if TERMINAL else "\n")


def show(text: str, end: str) -> None:
    """On a terminal, replacing what was shown before."""
    print(f"\r\033[K{text[:78]}" if TERMINAL else text[:78], end=end, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extra", help="a name in pyproject.toml's optional-dependencies")
    install(parser.parse_args().extra)
