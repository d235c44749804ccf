"""Run lessons from clean and keep what they print and draw: `python demos/lessons/refresh.py 05 07`, or all.

What differs from run to run or from machine to machine (times, the name of the kernel, how many pieces a text arrived
in) is not kept.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def refresh(path: Path) -> None:
    """Run one lesson, and write it back with its outputs."""
    notebook = nbformat.read(path, as_version=4)
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
