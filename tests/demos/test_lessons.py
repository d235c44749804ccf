"""The lessons run from clean; what they claim holds, their solutions are right, and they are committed as they run."""

import ast
import importlib.util
import io
import os
import re
import runpy
import subprocess
import sys
from contextlib import suppress
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
from late import nbclient, nbformat
from PIL import Image

from micrograd.viz.training.plots import class_look

LESSONS = Path(__file__).parents[2] / "demos" / "lessons"
PATHS = sorted(LESSONS.glob("[0-9]*.ipynb"))
over_lessons = pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
runs_lessons = pytest.mark.parametrize(  # all but the first of them in `make test-all`
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.lessons] if i != 1 else []) for i, path in enumerate(PATHS)],
)


def text_of(cell):
    """What a cell of code has printed and shown, without the pictures."""
    outputs = cell.get("outputs", [])
    return "".join(out.get("text", "") or out.get("data", {}).get("text/plain", "") for out in outputs).strip()


NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+\.\d+(?:e[-+]?\d+)?|(?<![\w.])[-+−]?\d+e[-+]?\d+")


ABOUT = re.compile(r"\babout +(\d[\d,]*(?:\.\d+)?)")  # what a trained network scores differs by more than digits


def same(found, committed):
    """The same words, and the same numbers but for their last digits: other machines add up in another order.

    What is printed of rounding itself, below a millionth, may be any such number. The words may be set otherwise,
    since a number that has changed may be shorter. A number behind "about" may differ by a twentieth, or by 3.
    """
    rough = [[float(number.replace(",", "")) for number in ABOUT.findall(text)] for text in (found, committed)]
    found, committed = (ABOUT.sub("about ~", text) for text in (found, committed))
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (found, committed)]
    numbers = [[Decimal(number.replace("−", "-")) for number in NUMBER.findall(text)] for text in (found, committed)]
    alike = all(abs(a - b) <= max(3, b / 20) for a, b in zip(*rough, strict=False))
    return words[0] == words[1] and alike and all(map(close, *numbers))


def close(a, b):
    """To a thousandth, or to one in the last digit that is printed."""
    digit = Decimal(10) ** max(a.as_tuple().exponent, b.as_tuple().exponent)
    return abs(a - b) <= max(digit, abs(b) / 1000, Decimal("1e-6"))


def solutions(notebook):
    """The code of the solutions that are folded away."""
    folded = re.compile(r"<details>.*?```python\n(.*?)```", re.DOTALL)
    return [code for cell in notebook.cells for code in folded.findall(cell.source)]


def exercises(notebook):
    """The code of the cells that check an answer."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return [cell for cell in code if re.search(r"^check\(", cell, re.MULTILINE)]


def execute(notebook):
    """Run its cells, in a kernel of its own that has nothing to save at the end."""
    where = {"metadata": {"path": str(LESSONS)}}
    nbclient().NotebookClient(notebook, timeout=120, shutdown_kernel="immediate", resources=where).execute()


@cache
def run(path):
    """The cells of the lesson as they run from clean, and then its exercises as if tried, and its solutions."""
    notebook = nbformat().read(path, as_version=4)
    lesson = len(notebook.cells)
    tries = [f"{code}  # tried" for code in exercises(notebook)]
    notebook.cells += [nbformat().v4.new_code_cell(code) for code in (*tries, *solutions(notebook))]
    execute(notebook)
    return notebook.cells[:lesson], notebook.cells[lesson : lesson + len(tries)], notebook.cells[lesson + len(tries) :]


@runs_lessons
def test_lesson_runs_from_clean_and_says_what_the_committed_one_says(path):
    cells, *_ = run(path)
    committed = nbformat().read(path, as_version=4).cells
    for cell, before in zip(cells, committed, strict=True):
        found, expected = text_of(cell), text_of(before)
        assert same(found, expected) or found == expected  # the second for what it shows


@runs_lessons
def test_every_solution_is_right_and_no_exercise_is_solved_already(path):
    cells, tried, solved = run(path)
    asked = [text_of(cell) for cell in cells if cell.cell_type == "code" and re.search(r"(?m)^check\(", cell.source)]
    assert 3 <= len(asked) <= {"00": 7, "19": 8}.get(path.stem[:2], 6)  # a self-test, and a lesson made of exercises
    assert all(text.endswith("your turn") for text in asked)
    assert all(" ✗ " in text_of(cell) for cell in tried)
    assert len(tried) == len(solved) == len(asked)
    assert all(text_of(cell).endswith("✓ right") for cell in solved)


@over_lessons
def test_lesson_asks_first_claims_what_it_asserts_and_ends_with_what_one_can_do(path):
    notebook = nbformat().read(path, as_version=4)
    words = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert re.match(r"# \d+\. ", words[0])
    assert re.search(r"\*\*[^*]+\?\*\*", words[0]), "the question, in bold"
    assert words[-1].startswith("## What you can now do")
    assert re.search(r"^\*Sources\*: .*\b\(?\d{4}\)", words[-1], re.MULTILINE), "papers, with their years"
    links = re.findall(r"\]\(((?!https?:)[^)#]+)", "\n".join(words))
    assert [link for link in links if not (LESSONS / link).exists()] == []
    assert any(re.search(r"^assert ", cell.source, re.MULTILINE) for cell in notebook.cells if cell.cell_type == "code")


DRAWS = re.compile(r"^.*\b(?:plt|figure|axes|ax|axs|left|right|panels)\.\w+\(.*$", re.MULTILINE)


def asserts(tree):
    """The assert statements outside functions: claims of the author."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Assert):
            yield ast.unparse(node)
        elif not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from asserts(node)


@over_lessons
def test_claims_and_drawings_are_folded_away(path):
    """A reader sees what the lesson computes; the cells that check and draw it can be opened."""
    for cell in nbformat().read(path, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        if not cell.metadata.get("jupyter", {}).get("source_hidden"):
            assert [*asserts(ast.parse(re.sub(r"^%.*", "", cell.source, flags=re.MULTILINE)))] == []
            assert len(DRAWS.findall(cell.source)) <= 2, cell.source
        else:
            assert cell.metadata["tags"] == ["hide-input"]


@over_lessons
def test_claims_stand_together_below_all_that_the_lesson_shows(path):
    """Folded bars between the cells would interrupt a reader, and some editors open them."""
    cells = nbformat().read(path, as_version=4).cells
    code = [re.sub(r"^%.*", "", cell.source, flags=re.MULTILINE) for cell in cells if cell.cell_type == "code"]
    assert sum(1 for source in code if [*asserts(ast.parse(source))]) == 1
    place = next(k for k, cell in enumerate(cells) if cell.source.startswith("# What this lesson claims, checked."))
    rest = cells[place + 1 :]
    others = [
        cell for cell in rest if cell.cell_type == "code" and not re.search(r"^check\(", cell.source, re.MULTILINE)
    ]
    assert rest[0].source.startswith("## Exercises") or others == []


@over_lessons
def test_lesson_is_committed_with_its_outputs_and_is_no_blob(path):
    notebook = nbformat().read(path, as_version=4)
    assert path.stat().st_size < 400_000  # a movie holds the code of the player, 110,000 of it
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.execution_count
            assert all(out.output_type != "error" for out in cell.outputs)
            assert " at 0x" not in text_of(cell), "an address, which is another in each run: end the cell with ;"
            results = [out for out in cell.outputs if out.output_type == "execute_result"]
            told = [out.data["text/plain"] for out in results if re.match(r"[\[(]?(Text\(|<)", out.data["text/plain"])]
            assert [text for text in told if "IPython" not in text] == [], "a part of a figure: end the cell with ;"
            for data in (out.get("data", {}) for out in cell.outputs):
                drawn = "image/svg+xml" in data or re.search("<(svg|iframe|script)", data.get("text/html", ""))
                seen = "image/png" in data or "<img " in data.get("text/html", "")
                assert seen or not drawn, "code hosts and untrusted notebooks drop it"


@pytest.mark.parametrize(
    ("found", "is_same"),
    [
        ("loss 0.25001 of 12", True),
        ("loss  0.2500 of 12", True),
        ("loss 0.26 of 12", True),
        ("loss 0.2700 of 12", False),
        ("loss 0.25 of 13", False),
        ("gain 0.25 of 12", False),
        ("loss -0.25 of 12", False),
    ],
)
def test_lesson_may_differ_in_the_last_digits_alone(found, is_same):
    assert same(found, "loss 0.25 of 12") == is_same
    assert same("an error of 3.1e-17", "an error of 0.0")


@pytest.mark.parametrize(
    ("found", "is_same"),
    [("about 348 of 360", True), ("about 320 of 360", False), ("about 348 of 361", False), ("348 of 360", False)],
)
def test_score_that_is_told_as_about_may_differ_by_a_little(found, is_same):
    assert same(found, "about 351 of 360") == is_same
    assert same("about 9%", "about 12%")
    assert not same("about 8%", "about 12%")


def test_checker_has_a_hint_for_an_answer_that_raises(capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(LESSONS))
    from check import check

    check("1.1", lambda f, x: 1 / 0)
    assert "ZeroDivisionError" in capsys.readouterr().out
    with pytest.raises(LookupError, match=r"no exercise '1\.9'; lesson 1 has 1\.1, 1\.2"):
        check("1.9", 1)
    with pytest.raises(LookupError, match="no lesson 'x'"):
        check("x", 1)


def test_progress_is_a_map_of_what_the_saved_notebooks_say(capsys, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(LESSONS))
    from check import progress

    new = nbformat().v4
    printed = ("1.1  ✗ no\n", "1.1  ✓ right\n", "1.2  ✗ no\n", "1.3  your turn\n")
    cells = [new.new_code_cell("check()", outputs=[new.new_output("stream", text=text)]) for text in printed]
    nbformat().write(new.new_notebook(cells=cells), tmp_path / "01_a_derivative_is_a_nudge.ipynb")
    nbformat().write(new.new_notebook(), tmp_path / "02_a_number_that_remembers.ipynb")
    progress(tmp_path)
    first, second, last = capsys.readouterr().out.splitlines()
    assert first.split("  ")[1] == "✓ ✗ · · ·"  # the last answer counts
    assert second.split()[1:5] == ["·"] * 4
    assert last.startswith("1 of ")


@pytest.mark.parametrize("answer", [float("nan"), *[[float("nan")] * count for count in range(1, 6)]], ids=str)
def test_nan_is_the_answer_to_no_exercise(answer, monkeypatch):
    monkeypatch.syspath_prepend(str(LESSONS))
    import check

    for path in PATHS:
        with suppress(ModuleNotFoundError, LookupError):  # a lesson without exercises
            check.check(f"{int(path.stem[:2])}.1", answer)
    right = []
    for name, checker in check.EXERCISES.items():
        with suppress(Exception):  # another kind of answer is asked for
            right += [name] if checker(answer) is None else []
    assert right == []


def test_figure_is_a_small_picture_that_says_how_large_it_is_shown(monkeypatch):
    monkeypatch.syspath_prepend(str(LESSONS))
    from matplotlib.figure import Figure
    from pictures import png

    figure = Figure(figsize=(4, 2), dpi=120)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.plot([0, 1], [0, 1], color="#123456")
    data, shown = png(figure)
    picture = Image.open(io.BytesIO(data))
    assert picture.mode == "P"
    assert len(picture.convert("RGB").getcolors()) <= 48
    assert shown == {"width": picture.width * 96 // 120, "height": picture.height * 96 // 120}
    assert len(data) < 10_000


@pytest.mark.parametrize("lesson", ["07_four_points", "08_two_moons"])
def test_points_of_a_lesson_look_as_in_the_movie_below_them(lesson, monkeypatch):
    monkeypatch.syspath_prepend(str(LESSONS))
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr("pictures.as_pictures", lambda: None)
    cells = nbformat().read(LESSONS / f"{lesson}.ipynb", as_version=4).cells
    drawing = next(cell.source for cell in cells if "as_pictures()" in cell.source)
    exec(drawing.removeprefix("%matplotlib inline"), {"points": [(0, 1), (1, 0)], "kinds": [-1, 1]})
    found = [(line.get_color(), line.get_marker()) for line in plt.gca().lines]
    plt.close()
    assert found == [class_look(k, 1) for k in range(2)]


def test_small_points_of_a_figure_keep_their_colours_on_many_shades(monkeypatch):
    monkeypatch.syspath_prepend(str(LESSONS))
    from matplotlib.figure import Figure
    from pictures import png

    figure = Figure(figsize=(4, 2), dpi=120)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow([[(1 - k / 200, 1 - j / 100, 1) for k in range(60)] for j in range(40)], aspect="auto")
    axes.plot(20, 20, "o", color="#C24E00", markersize=4)
    colours = [colour for _, colour in Image.open(io.BytesIO(png(figure)[0])).convert("RGB").getcolors()]
    assert min(sum(abs(a - b) for a, b in zip(colour, (0xC2, 0x4E, 0), strict=True)) for colour in colours) < 12


def test_fresh_machine_gets_what_the_lessons_import_and_no_second_jupyter(monkeypatch):
    asked = []
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "micrograd" else find_spec(name))
    monkeypatch.setattr(subprocess, "run", lambda command, **_: asked.append(command))
    runpy.run_path(str(LESSONS / "check.py"))
    assert [command[1:5] for command in asked] == [["-m", "pip", "install", "--quiet"]]
    assert asked[0][5:] == [f"{LESSONS.parents[1]}[demo]", "names"]


def test_classic_of_the_same_name_is_found_and_the_way_out_told(tmp_path):
    (tmp_path / "micrograd").mkdir()
    (tmp_path / "micrograd" / "__init__.py").touch()
    command = [sys.executable, "-P", "-S", "-c", "from check import check"]  # with nothing that is installed
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(LESSONS)])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert "ImportError: found the classic micrograd, which has the same name: make an environment" in done.stderr
