"""Print which tests `make test` runs, as an expression for pytest's -m; and why, as lines of the error output.

A mark stands for tests that only `make test-all` runs, unless this clone changed what they are about, in what is not
committed yet or in what was committed since the branch left `main`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
OPS = "micrograd/engine/rows.py", "tests/ops_list.py", "tests/tensor_ops_list.py"

# The marks of an area, and the paths of what its tests are about
AREAS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("back_ends", "in_c", "in_jax", "in_node"): (
        "micrograd/backends/", "micrograd/compiler/", "tests/backends/", "tests/compiler/", *OPS,
    ),
    ("lessons",): ("demos/", "tests/demos/"),
    ("pages",): ("micrograd/viz/", "site/", "tests/browser/", "tests/site/"),
}  # fmt: skip


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    changed = changes(ROOT)
    left_out = ["long"]
    for marks, paths in AREAS.items():
        touched = next((path for path in changed if path.startswith(paths)), None)
        if touched is None:
            left_out += marks
        else:
            print(f"{', '.join(marks)}: tested too, since {touched} was changed", file=sys.stderr)
    print(f"left to make test-all: {', '.join(left_out)}", file=sys.stderr)
    print(f"not ({' or '.join(left_out)})")
    return 0


def changes(folder: Path) -> list[str]:
    """The paths that differ from where this branch left `main`; none where there is no Git or no repository."""
    since = next(filter(None, (_git(folder, "merge-base", "HEAD", name) for name in ("origin/main", "main"))), ["HEAD"])
    new = _git(folder, "ls-files", "--others", "--exclude-standard")
    return sorted({*_git(folder, "diff", "--name-only", *since), *new})


def _git(folder: Path, *words: str) -> list[str]:
    """The lines that Git prints; none if it fails."""
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return done.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
