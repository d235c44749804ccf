"""Run lessons from clean and store what they print and draw: `python demos/lessons/refresh.py 05 07`, or all.

What differs from run to run or from machine to machine (times, the name of the kernel, how many pieces a text arrived
in) is not stored. The digests of the cells to be changed go to exercises/untried.json.

Headings, footers and the tables of demos/README.md come from course.py; `--order` writes them, and runs nothing.
"""

import argparse
import json
import re
from pathlib import Path

import course
import nbformat
from check import digest
from nbclient import NotebookClient

HERE = Path(__file__).parent
UNTRIED = HERE / "exercises" / "untried.json"


def untried(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The digest of each cell that checks an exercise, by the exercise's name."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return {name: digest(cell) for cell in code for name in re.findall(r'^check\("([\d.]+)"', cell, re.MULTILINE)}


def order(path: Path) -> nbformat.NotebookNode:
    """Write the heading and the footer of one lesson as the table has them, and give the notebook."""
    notebook = nbformat.read(path, as_version=4)
    (lesson,) = (lesson for lesson in course.LESSONS if lesson.file == path.name)
    first, last = notebook.cells[0], notebook.cells[-1]
    first.source, last.source = course.with_head(lesson, first.source), course.with_foot(lesson, last.source)
    nbformat.write(notebook, path)
    return notebook


def refresh(path: Path) -> None:
    """Run one lesson, and write it with its outputs."""
    notebook = order(path)
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lessons", nargs="*", default=[""], help="how their names begin, such as 05; by default all")
    parser.add_argument("--order", action="store_true", help="write headings, footers and README.md, and run nothing")
    asked = parser.parse_args()
    for path in sorted(path for start in asked.lessons for path in HERE.glob(f"{start}*.ipynb")):
        order(path) if asked.order else refresh(path)
    course.README.write_text(course.with_tables(course.README.read_text(encoding="utf-8")), encoding="utf-8")
