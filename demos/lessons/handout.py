"""Make what a teacher hands out, in out/handout/: `make handout`, or `make handout ARGS="--students 30 04 05"`.

    students/        the course as students get it: without solutions, outputs and key; copy it over their demos/
    nbgrader/        an assignment of each lesson, with a locked cell below each exercise that counts its point
    solutions/       the same notebooks with the solutions in the cells, to be run
    key.md           every exercise with its solution
    students.zip     the same with a wheel and three lines of instructions, so that nobody needs a checkout
    slides/          about ten slides for each lesson, the last with the exercises; more of the text is in the notes
    worksheets.html  graphs to fill in by hand, with other numbers for each student; worksheets_key.html has the numbers

The commands to grade are in docs/teach.md.
"""

import argparse
import ast
import html
import importlib.util
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
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
LINES = 14  # of code on a slide, at most
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
        shown, notes = split(cell["source"]) if place else asked_first(cell["source"])
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


def asked_first(text: str) -> tuple[str, str]:
    """What the title slide shows of the first cell, its title and the question in bold; and the rest."""
    head, question = text.split("\n\n")[0], re.search(r"\*\*[^*]+\?\*\*", text)
    if question is None:
        return split(text)
    rest = text.removeprefix(head).replace(question[0], "", 1)
    return f"{head}\n\n{question[0]}", rest.strip("\n")


def prose(block: str) -> bool:
    """Whether a part of a text is neither a heading, a list, a table, code, a picture nor a formula."""
    return not re.match(r"[#|>]|[-*] |\d+\. |```|!\[|\$\$|<", block)


def marked(cell: Cell, kind: str) -> Cell:
    """The cell with its part in the talk."""
    return cell | {"metadata": cell.get("metadata", {}) | {"slideshow": {"slide_type": kind}}}


def steps(cells: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    """What each press of a key shows, as a kind and HTML: a text, a piece of code or a result; notes are in between."""
    from nbconvert.filters import Highlight2HTML, markdown2html

    heading = ""
    for cell in cells:
        if cell["cell_type"] == "markdown":
            kind = "notes" if cell["metadata"]["slideshow"]["slide_type"] == "notes" else "text"
            said = re.findall(r"^##? (.*)$", cell["source"], re.MULTILINE)
            heading = said[-1] if said and kind == "text" else heading
            yield kind, markdown2html(cell["source"])
            continue
        above, code = f"<h3>{html.escape(heading)}</h3>", ""
        if "hide-input" not in cell["metadata"].get("tags", []):
            for piece in pieces(cell["source"]):
                code = Highlight2HTML(pygments_lexer="python")(piece)
                yield "code", above + code
        for shown in results(cell.get("outputs", [])):
            yield "result", above + (code if shown.startswith("<pre>") else "") + shown


def pieces(source: str) -> Iterator[str]:
    """Code in pieces of at most LINES lines, which end at blank lines if there is one in the second half."""
    lines = source.strip("\n").split("\n")
    while len(lines) > LINES:
        blank = [k for k in range(LINES // 2, LINES + 1) if not lines[k].strip()]
        end = blank[-1] if blank else LINES
        yield "\n".join(lines[:end]).strip("\n")
        lines = lines[end:]
        while lines and not lines[0].strip():
            lines.pop(0)
    yield "\n".join(lines)


def results(outputs: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What a cell has printed or shown, as HTML: a picture or a player alone, and text in pieces."""
    printed = ""
    for output in outputs:
        data = output.get("data", {})
        if picture := data.get("image/png"):
            yield f'<img alt="" src="data:image/png;base64,{"".join(picture).strip()}">'
        elif page := data.get("text/html"):
            yield "".join(page)
        else:
            printed += "".join(output.get("text", data.get("text/plain", "")))
    if printed.strip():
        yield from (f"<pre>{html.escape(piece)}</pre>" for piece in pieces(printed))


SLIDES_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>{mathjax}<style>
body {{ margin: 0; overflow: hidden; background: #fff; color: #1a2130; font-family: system-ui, sans-serif }}
.step {{ position: absolute; left: 0; top: 0; width: 1280px; height: 720px; box-sizing: border-box; padding: 36px 56px;
  transform-origin: 0 0; overflow: hidden }}
.step[hidden], aside[hidden] {{ display: none }}
h1 {{ font-size: 2em }} h1, h2, h3 {{ margin: 0 0 .5em }} h3 {{ color: #5b6678; font-size: 22px }}
pre {{ margin: 0 0 .8em; font-size: .85em; line-height: 1.35; white-space: pre-wrap; overflow-wrap: anywhere }}
.result > pre {{ color: #0b5d8a }} details pre {{ max-height: 480px; overflow: auto }}
img {{ max-width: 1160px; max-height: 560px }} iframe {{ width: 100% !important; height: 580px !important; border: 0 }}
table {{ border-collapse: collapse }} td, th {{ border: 1px solid #c8d0dc; padding: .2em .5em }}
aside {{ position: fixed; left: 0; right: 0; bottom: 0; max-height: 40%; overflow: auto; padding: 12px 56px;
  background: #f2f5f9; border-top: 1px solid #c8d0dc; font-size: 18px }}
{style}</style></head><body>
{steps}
<script>
const steps = [...document.querySelectorAll(".step")], notes = steps.map(e => e.nextElementSibling?.matches("aside") ?
  e.nextElementSibling : null);
let now = 0, told = false;
function fit(step) {{  // type as large as fits, from 28 pixels down
  for (let size = 28; size >= 12; size--) {{
    step.style.fontSize = `${{size}}px`;
    if (step.scrollHeight <= 720 && step.scrollWidth <= 1280) return;
  }}
}}
function go(to) {{
  now = Math.max(0, Math.min(steps.length - 1, to));
  const scale = Math.min(innerWidth / 1280, innerHeight / 720);
  steps.forEach((step, k) => {{ step.hidden = k !== now; step.style.transform = `scale(${{scale}})`; }});
  notes.forEach((note, k) => {{ if (note) note.hidden = !told || k !== now; }});
  fit(steps[now]);
  history.replaceState(null, "", `#${{now + 1}}`);
}}
addEventListener("keydown", event => {{
  const keys = {{ArrowRight: 1, " ": 1, PageDown: 1, ArrowLeft: -1, PageUp: -1, Home: -Infinity, End: Infinity}};
  const by = keys[event.key];
  if (by) {{ event.preventDefault(); go(now + by); }}
  if (event.key === "s") {{ told = !told; go(now); }}
}});
addEventListener("resize", () => go(now));
addEventListener("load", () => go((+location.hash.slice(1) || 1) - 1));
go((+location.hash.slice(1) || 1) - 1);
</script></body></html>
"""
MATHJAX = '<script async src="https://cdn.jsdelivr.net/npm/mathjax@3/es5/tex-chtml.js"></script>'


def write_slides(cells: Sequence[Cell], path: Path) -> None:
    """Write the slides of a lesson as one page, which needs no connection but for formulas."""
    from pygments.formatters import HtmlFormatter

    parts = []
    for kind, inside in steps(cells):
        tag = "aside" if kind == "notes" else "section"
        parts.append(f'<{tag} class="{"" if kind == "notes" else "step "}{kind}" hidden>{inside}</{tag}>')
    page = SLIDES_PAGE.format(
        title=html.escape(title(cells).removeprefix("# ")),
        mathjax=MATHJAX if any("$$" in cell["source"] for cell in cells if cell["cell_type"] == "markdown") else "",
        style=HtmlFormatter().get_style_defs(".highlight"),
        steps="\n".join(parts),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------------
# The archive for students

FOR_STUDENTS = """Install Python 3.11 or newer. Then open a terminal in this folder, and run three commands:

    python -m venv .venv
    .venv/bin/python -m pip install "./{wheel}[demos]"
    .venv/bin/jupyter lab {lesson}

On Windows, write .venv\\Scripts\\ instead of .venv/bin/.
"""


def wheel(folder: Path) -> Path:
    """Build a wheel of this checkout into a folder, from a copy of its files."""
    with tempfile.TemporaryDirectory() as copy:
        for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "LICENSE-docs"):
            shutil.copy(ROOT / name, copy)
        left_out = shutil.ignore_patterns("__pycache__", "lessons", "out")
        for name in ("micrograd", "demos"):
            shutil.copytree(ROOT / name, Path(copy) / name, ignore=left_out)
        command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel", "--no-deps"]
        if importlib.util.find_spec("setuptools"):  # then it needs no connection
            command.append("--no-build-isolation")
        subprocess.run([*command, "--wheel-dir", str(folder), copy], check=True)
    (made,) = folder.glob("*.whl")
    return made


def archive(out: Path) -> Path:
    """Write students.zip: the students' lessons, the guides that they link to, a wheel, and how to begin."""
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder) / "course"
        shutil.copytree(out / "students", course / "demos")
        left_out = shutil.ignore_patterns("*.py", "__pycache__", "peers")
        for guides in ("docs", "benchmarks"):
            shutil.copytree(ROOT / guides, course / guides, ignore=left_out)
        first = min((course / "demos" / "lessons").glob("*.ipynb")).relative_to(course).as_posix()
        text = FOR_STUDENTS.format(wheel=wheel(course).name, lesson=first)
        (course / "README.txt").write_text(text, encoding="utf-8")
        return Path(shutil.make_archive(str(out / "students"), "zip", folder))


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


def handout(out: Path, lessons: Sequence[Path], students: Sequence[str], seed: int) -> Iterator[str]:
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
        write_slides(slides(cells), out / "slides" / f"{path.stem}.slides.html")
        keys.append(key(cells))
        yield title(cells).removeprefix("# ")
    (out / "key.md").write_text("\n\n".join(keys) + "\n", encoding="utf-8")
    for name, blank in (("worksheets", True), ("worksheets_key", False)):
        (out / f"{name}.html").write_text(worksheets(students, seed, blank), encoding="utf-8")
    yield f"worksheets for {len(students)} students"
    yield archive(out).name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("lessons", nargs="*", default=[""], help="how their names begin, such as 04; by default all")
    parser.add_argument("--students", type=int, default=30, help="how many worksheets (%(default)s)")
    parser.add_argument("--names", type=Path, help="a file with a student's name in each line, instead of a number")
    parser.add_argument(
        "--seed", type=int, default=0, help="other numbers for the worksheets, such as 2 in the 2nd year"
    )
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
    for written in handout(asked.out, lessons, students, asked.seed):
        print(written)
    print(f"wrote {asked.out}")


if __name__ == "__main__":
    main()
