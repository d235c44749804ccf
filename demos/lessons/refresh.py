"""Run lessons from clean and store what they print and draw: `python demos/lessons/refresh.py 05 07`, or all.

What differs from run to run or from machine to machine (times, the name of the kernel, how many pieces a text arrived
in) is not stored. The digests of the cells to be changed go to exercises/untried.json.
"""

import json
import re
import sys
from pathlib import Path

import nbformat
from check import digest
from nbclient import NotebookClient

HERE = Path(__file__).parent
UNTRIED = HERE / "exercises" / "untried.json"


def untried(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The digest of each cell that checks an exercise, by the exercise's name."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return {name: digest(cell) for cell in code for name in re.findall(r'^check\("([\d.]+)"', cell, re.MULTILINE)}


def refresh(path: Path) -> None:
    """Run one lesson, and write it with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    known = json.loads(UNTRIED.read_text(encoding="utf-8")) if UNTRIED.exists() else {}
    UNTRIED.write_text(json.dumps(known | untried(notebook), indent=0) + "\n", encoding="utf-8")
    where = {"metadata": {"path": str(HERE)}}
    NotebookClient(notebook, timeout=120, coalesce_streams=True, resources=where).execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    nbformat.write(notebook, path)
    print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    asked = sys.argv[1:] or [""]
    for path in sorted(path for start in asked for path in HERE.glob(f"{start}*.ipynb")):
        refresh(path)
