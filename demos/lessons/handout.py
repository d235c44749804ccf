"""Make what a teacher hands out, in out/handout/: `make handout`, or `make handout ARGS="--students 30 04 05"`.

    students/        the course as students get it: without solutions, outputs and key; copy it over their demos/
    nbgrader/        an assignment of each lesson, with a locked cell below each exercise that counts its point
    solutions/       the same notebooks with the solutions in the cells, to be run
    key.md           every exercise with its solution
    slides/          about ten slides for each lesson, the last with the exercises; more of the text is in the notes
    worksheets.html  graphs to fill in by hand, with other numbers for each student; worksheets_key.html has the numbers

The commands to grade are in docs/teach.md.
"""

import argparse
import ast
import html
import json
import random
import re
import shutil
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

from micrograd import Value, draw_dot

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOR_TEACHERS = ("apart.py", "grade.py", "handout.py", "refresh.py")
SLIDES = 10  # about so many for a lesson
Cell = dict[str, Any]
CHECK = re.compile(r'^check\("(\d+\.\d+)"', re.MULTILINE)
SOLUTION = re.compile(r"<details>.*?```python\n(.*?)```.*?</details>", re.DOTALL)


# ---------------------------------------------------------------------------------------------------------------------
# Notebooks


def cells_of(path: Path) -> list[Cell]:
    """The cells of a notebook, each with its source as one text."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in cells]


def exercise(cell: Cell) -> str:
    """The name of the exercise that a cell checks, or ""."""
    found = CHECK.search(cell["source"]) if cell["cell_type"] == "code" else None
    return found[1] if found else ""


def for_students(cells: Sequence[Cell]) -> list[Cell]:
    """The cells without solutions and outputs."""
    kept = []
    for cell in map(deepcopy, cells):
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
        cell["source"] = SOLUTION.sub("", cell["source"]).strip("\n")
        if cell["source"]:
            kept.append(cell)
    return kept


def for_nbgrader(cells: Sequence[Cell]) -> list[Cell]:
    """The students' cells, where a locked one below each exercise counts its point; nbgrader runs it to grade."""
    kept = []
    for cell in for_students(cells):
        kept.append(cell)
        if name := exercise(cell):
            place = name.replace(".", "-")
            code = f'from check import points\n\npoints("{name}")'
            about = {
                "schema_version": 3,
                "cell_type": "code",
                "grade_id": f"points-{place}",
                "grade": True,
                "solution": False,  # of a cell with True, nbgrader would release a stub instead
                "locked": True,
                "task": False,
                "points": 1,
            }
            one = {"cell_type": "code", "id": f"points-{place}", "metadata": {"nbgrader": about}, "source": code}
            kept.append(one | {"outputs": [], "execution_count": None})
    return kept


def solved(cells: Sequence[Cell]) -> list[Cell]:
    """The cells with each solution where the student's answer would be."""
    solutions = solutions_of(cells)
    kept = for_students(cells)
    for cell in kept:
        if solution := solutions.get(exercise(cell)):
            cell["source"] = given(cell["source"], solution) + solution
    return kept


def given(source: str, solution: str) -> str:
    """What the cell of an exercise gives to its solution: the definitions that the solution does not make itself."""
    made = set().union(*map(names_made, ast.parse(solution).body))
    lines, kept = source.splitlines(keepends=True), ""
    for node in ast.parse(source).body:
        if names_made(node) and names_made(node).isdisjoint(made):
            first = min([node.lineno, *(outer.lineno for outer in getattr(node, "decorator_list", []))])
            kept += "".join(lines[first - 1 : node.end_lineno]) + "\n\n"
    return kept


def names_made(node: ast.stmt) -> set[str]:
    """The names that a statement of a cell defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else []
    return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def solutions_of(cells: Sequence[Cell]) -> dict[str, str]:
    """The solutions by the exercises' names; each is folded below its exercise."""
    found, name = {}, ""
    for cell in cells:
        name = exercise(cell) or name
        if solution := SOLUTION.search(cell["source"]):
            found[name] = solution[1].strip("\n")
    return found


def statements(cells: Sequence[Cell]) -> dict[str, str]:
    """The texts of the exercises, by name."""
    text = "\n\n".join(SOLUTION.sub("", cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    parts = re.split(r"^(?=\*\*\d+\.\d+\*\*|#)", text, flags=re.MULTILINE)
    named = ((re.match(r"\*\*(\d+\.\d+)\*\*", part), part) for part in parts)
    return {name[1]: part.strip() for name, part in named if name}


def key(cells: Sequence[Cell]) -> str:
    """The exercises of a lesson with their solutions, as Markdown."""
    solutions, said = solutions_of(cells), statements(cells)
    parts = [f"{said.get(name, f'**{name}**')}\n\n```python\n{code}\n```" for name, code in solutions.items()]
    return "\n\n".join([title(cells).replace("# ", "## ", 1), *parts])


def title(cells: Sequence[Cell]) -> str:
    return cells[0]["source"].splitlines()[0]


def write(cells: Sequence[Cell], path: Path) -> None:
    """Write a notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------------
# Slides


def slides(cells: Sequence[Cell]) -> list[Cell]:
    """The cells as a talk: what is shown, what is a note, and where a slide begins."""
    talk = []
    for cell in cells:
        text, asks, _ = SOLUTION.sub("", cell["source"]).partition("## Exercises")
        if text.strip() and not hidden(cell):
            talk.append(cell | {"source": text.strip("\n")})
        if asks:
            break
    begins = starts(talk)
    found = []
    for place, cell in enumerate(talk):
        if cell["cell_type"] == "code":
            found.append(marked(cell, "-"))
            continue
        shown, notes = split(cell["source"])
        found.append(marked(cell | {"source": shown}, "slide" if place in begins else "-"))
        if notes:
            found.append(marked({"cell_type": "markdown", "id": f"{cell['id']}-notes", "source": notes}, "notes"))
    asked = "\n\n".join(["## Exercises", *statements(cells).values()])
    return [*found, marked({"cell_type": "markdown", "id": "exercises", "source": asked}, "slide")]


def hidden(cell: Cell) -> bool:
    """Whether a cell is the authors': claims, and what is imported to check answers. A picture is for all."""
    folded = "hide-input" in cell["metadata"].get("tags", [])
    shows = any("image/png" in output.get("data", {}) for output in cell.get("outputs", []))
    return (folded and not shows) or cell["source"].strip() == "from check import check"


def starts(cells: Sequence[Cell]) -> set[int]:
    """Where slides begin: at headings and, while there are too few, at texts in the middle of the longest slides."""
    texts = [place for place, cell in enumerate(cells) if cell["cell_type"] == "markdown"]
    found = {place for place in texts if place == 0 or re.search(r"^#", cells[place]["source"], re.MULTILINE)}
    while len(found) < SLIDES - 1 and (free := [place for place in texts if place not in found]):
        ends = sorted([*found, len(cells)])
        found.add(min(free, key=lambda place: longest(ends, place)))
    return found


def longest(ends: Sequence[int], place: int) -> tuple[int, int]:
    """How good it is to split at a place, smaller being better: in a long slide, near its middle."""
    start, end = next((a, b) for a, b in pairwise(ends) if a <= place < b)
    return start - end, abs(2 * place - start - end)


def split(text: str) -> tuple[str, str]:
    """What a slide shows of a text, headings, lists, tables, code and the first paragraph of prose; and the rest."""
    shown, notes = [], []
    for block in re.split(r"\n\n+(?=(?:[^`]|`(?!``)|```[\s\S]*?```)*$)", text):
        (notes if prose(block) and any(map(prose, shown)) else shown).append(block)
    return "\n\n".join(shown), "\n\n".join(notes)


def prose(block: str) -> bool:
    """Whether a part of a text is neither a heading, a list, a table, code, a picture nor a formula."""
    return not re.match(r"[#|>]|[-*] |\d+\. |```|!\[|\$\$|<", block)


def marked(cell: Cell, kind: str) -> Cell:
    """The cell with its part in the talk."""
    return cell | {"metadata": cell.get("metadata", {}) | {"slideshow": {"slide_type": kind}}}


START = """
<style>.reveal .slides section > section {{ max-height: 700px; overflow-y: auto }}</style>
<script src="{reveal}/dist/reveal.js"></script>
<script src="{reveal}/plugin/notes/notes.js"></script>
<script>
Reveal.initialize({{width: 960, height: 700, history: true, center: false, plugins: [RevealNotes]}});
</script>"""


def write_slides(cells: Sequence[Cell], path: Path, reveal: str) -> None:
    """Write the slides of a lesson as a page."""
    import nbformat
    from nbconvert import SlidesExporter
    from traitlets.config import Config

    folded = Config({"TagRemovePreprocessor": {"enabled": True, "remove_input_tags": ["hide-input"]}})
    exporter = SlidesExporter(config=folded, **({"reveal_url_prefix": reveal} if reveal else {}))
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    notebook = nbformat.reads(text, as_version=4)  # which joins the lines of each output
    page, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": title(cells).removeprefix("# ")}})
    page = re.sub(r'<script src="https:[^"]*(?:jquery|require)[^"]*"></script>', "", page)  # which START needs not
    page = re.sub(
        r"<script>\s*require\(.*?</script>", START.format(reveal=exporter.reveal_url_prefix), page, flags=re.DOTALL
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------------
# Worksheets

GRAPHS = {
    "L = a * b + c": lambda a, b, c: a * b + c,
    "L = (a + b) * (b + c)": lambda a, b, c: (a + b) * (b + c),
    "L = relu(a * b) - a * c": lambda a, b, c: (a * b).relu() - a * c,
}


def numbers(student: str, place: int, seed: int) -> list[int]:
    """Three small numbers for a student's graph, all different and none of them 0 or 1."""
    return random.Random(f"{seed} {place} {student}").sample([-5, -4, -3, -2, 2, 3, 4, 5], 3)


def graph(place: int, given: Sequence[int]) -> Value:
    """A graph of the sheet with its gradients."""
    inputs = [Value(float(x), label=name) for x, name in zip(given, "abc", strict=True)]
    out = [*GRAPHS.values()][place](*inputs)
    out.label = "L"
    out.backward()
    return out


def drawing(out: Value, blank: bool) -> str:
    """The drawing of a graph; on a sheet, the inputs have their data, and all other numbers are to be filled in."""
    svg = draw_dot(out, names={}).svg()
    svg = svg[svg.index("<svg") :]
    if not blank:
        return svg
    svg = re.sub(r"<desc>.*?</desc>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"(?<=>)<title>.*?</title>", "", svg, flags=re.DOTALL)  # they say the numbers, too
    svg = re.sub(r'(<text class="number grad)[^"]*("[^>]*>)[^<]*', r"\1\2......", svg)
    groups = re.split(r'(?=<g class=")', svg)
    inner = r'(<text class="number data)[^"]*("[^>]*>)[^<]*'
    result = r'<g class="[^"]*\bresult\b'
    return "".join(re.sub(inner, r"\1\2......", group) if re.match(result, group) else group for group in groups)


SHEET = """\
<section><h1>{student}</h1>
<p>Compute the data of each result from left to right, and then the gradients from right to left. The gradient says how
fast L changes when this number changes.</p>
{graphs}</section>
"""
PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body{{font-family:system-ui,sans-serif;max-width:60em;margin:auto}}
section{{break-after:page}} svg{{max-width:100%;height:auto}} h1{{font-size:1.3em}} h2{{font-size:1em}}
</style></head><body>
{body}</body></html>
"""


def worksheets(students: Sequence[str], seed: int, blank: bool) -> str:
    """A page with a sheet for each student: to be filled in, or the key."""
    sheets = []
    for student in students:
        graphs = []
        for place, formula in enumerate(GRAPHS):
            given = numbers(student, place, seed)
            says = ", ".join(f"{name} = {x}" for name, x in zip("abc", given, strict=True))
            heading = f"<h2>{place + 1}. {formula}, with {says}</h2>"
            graphs.append(f"{heading}\n{drawing(graph(place, given), blank)}\n")
        sheets.append(SHEET.format(student=html.escape(student), graphs="".join(graphs)))
    return PAGE.format(title="Worksheets" if blank else "Key to the worksheets", body="".join(sheets))


# ---------------------------------------------------------------------------------------------------------------------


def handout(out: Path, lessons: Sequence[Path], students: Sequence[str], seed: int, reveal: str) -> Iterator[str]:
    """Write everything, and yield what was written."""
    leave_out = shutil.ignore_patterns("*.ipynb", "__pycache__", ".*", "out", *FOR_TEACHERS)
    shutil.copytree(HERE.parent, out / "students", ignore=leave_out, dirs_exist_ok=True)
    keys = ["# Answer key"]
    for path in lessons:
        cells = cells_of(path)
        write(for_students(cells), out / "students" / "lessons" / path.name)
        write(solved(cells), out / "solutions" / path.name)
        folder = out / "nbgrader" / "source" / path.stem  # an assignment, with what its notebook imports
        shutil.copytree(HERE, folder, ignore=leave_out, dirs_exist_ok=True)
        shutil.copy(HERE.parent / "one_page.py", folder)
        write(for_nbgrader(cells), folder / path.name)
        write_slides(slides(cells), out / "slides" / f"{path.stem}.slides.html", reveal)
        keys.append(key(cells))
        yield title(cells).removeprefix("# ")
    (out / "key.md").write_text("\n\n".join(keys) + "\n", encoding="utf-8")
    for name, blank in (("worksheets", True), ("worksheets_key", False)):
        (out / f"{name}.html").write_text(worksheets(students, seed, blank), encoding="utf-8")
    yield f"worksheets for {len(students)} students"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("lessons", nargs="*", default=[""], help="how their names begin, such as 04; by default all")
    parser.add_argument("--students", type=int, default=30, help="how many worksheets (%(default)s)")
    parser.add_argument("--names", type=Path, help="a file with a student's name in each line, instead of a number")
    parser.add_argument(
        "--seed", type=int, default=0, help="other numbers for the worksheets, such as 2 in the 2nd year"
    )
    parser.add_argument("--reveal", default="", help="where reveal.js is, if the slides must work without a connection")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "handout", help="the folder (out/handout)")
    asked = parser.parse_args()
    lessons = sorted({path for start in asked.lessons for path in HERE.glob(f"{start}*.ipynb")})
    if not lessons:
        parser.error(f"no lesson begins with {' or '.join(asked.lessons)}: write numbers as in 04")
    students = [f"Student {number}" for number in range(1, asked.students + 1)]
    if asked.names:
        try:
            lines = asked.names.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            parser.error(f"{asked.names} cannot be read: {error.strerror}")
        students = [line.strip() for line in lines if line.strip()]
    if not students:
        parser.error("there is no student: write --students 30, or a name in each line of the file")
    for written in handout(asked.out, lessons, students, asked.seed, asked.reveal):
        print(written)
    print(f"wrote {asked.out}")


if __name__ == "__main__":
    main()
