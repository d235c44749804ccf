"""What is handed out: notebooks without solutions, solutions that are right, a key, slides, and sheets to fill in."""

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lessons

LESSONS = Path(__file__).parents[2] / "demos" / "lessons"
sys.path.insert(0, str(LESSONS))
import grade  # noqa: E402
import handout  # noqa: E402

PATHS = sorted(LESSONS.glob("[0-9]*.ipynb"))
over_lessons = pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])


# ------------------------------------------------------------------------------------------------ notebooks
@over_lessons
def test_students_get_every_cell_but_no_solution_and_no_output(path):
    before = handout.cells_of(path)
    after = handout.for_students(before)
    assert all(cell["outputs"] == [] for cell in after if cell["cell_type"] == "code")
    assert not any("<details>" in cell["source"] for cell in after if cell["cell_type"] == "markdown")
    code = [[cell["source"] for cell in cells if cell["cell_type"] == "code"] for cells in (before, after)]
    assert code[0] == code[1]  # so that a cell that nobody has tried is known
    solutions = handout.solutions_of(before)
    asked = [handout.exercise(cell) for cell in after if handout.exercise(cell)]
    assert asked == [*solutions] == [*handout.statements(before)]
    left = [name for name, code in solutions.items() if any(code in cell["source"] for cell in after)]
    assert left == []


@over_lessons
def test_nbgrader_gets_a_locked_cell_of_one_point_below_each_exercise(path):
    cells = handout.for_nbgrader(handout.cells_of(path))
    told = [cell["metadata"]["nbgrader"] for cell in cells if "nbgrader" in cell["metadata"]]
    names = [cell["grade_id"] for cell in told]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) for name in names)
    asked = handout.solutions_of(handout.cells_of(path))
    kinds = [(cell["solution"], cell["grade"], cell["locked"], cell["points"]) for cell in told]
    assert kinds == [(False, True, True, 1)] * len(asked)
    assert [cell["source"] for cell in cells if "nbgrader" in cell["metadata"]] == [
        f'from check import points\n\npoints("{name}")' for name in asked
    ]


def test_solutions_have_all_points_and_the_students_notebook_has_none(tmp_path, monkeypatch):
    (path,) = LESSONS.glob("06_*.ipynb")
    cells = handout.cells_of(path)
    handout.write(handout.solved(cells), tmp_path / "in" / "solved.ipynb")
    handout.write(handout.for_students(cells), tmp_path / "in" / "new.ipynb")
    monkeypatch.setattr(sys, "argv", ["grade", str(tmp_path / "in"), "-o", str(tmp_path / "points.csv")])
    assert grade.main() == 0
    table = (tmp_path / "points.csv").read_text(encoding="utf-8-sig").splitlines()
    count = len(handout.solutions_of(cells))
    assert table[1].startswith(f"new,new.ipynb,0,{count},")
    assert table[1].count("nobody has tried it") == count
    assert table[2].startswith(f"solved,solved.ipynb,{count},{count},")


def test_key_has_every_exercise_with_its_solution():
    text = handout.key(handout.cells_of(LESSONS / "04_closures.ipynb"))
    assert text.startswith("## 4. Each operation brings its own way back\n\n**4.1** Write the `send_back`")
    assert text.index("**4.1**") < text.index("b.grad += -out.grad") < text.index("**4.2**")
    assert text.count("```python") == 4


# ------------------------------------------------------------------------------------------------ slides
@over_lessons
def test_lesson_has_about_ten_slides_that_end_with_the_exercises(path):
    cells = handout.cells_of(path)
    shown = handout.slides(cells)
    kinds = [cell["metadata"]["slideshow"]["slide_type"] for cell in shown]
    assert 9 <= kinds.count("slide") <= 14
    assert kinds[0] == "slide"
    assert shown[0]["source"].startswith(handout.title(cells))
    assert shown[-1]["source"].count("\n\n**") == len(handout.solutions_of(cells))
    assert not any("<details>" in cell["source"] for cell in shown if cell["cell_type"] == "markdown")
    end = next((i for i, cell in enumerate(cells) if "## Exercises" in cell["source"]), len(cells))
    pictures = [sum("image/png" in str(cell.get("outputs")) for cell in some) for some in (shown, cells[:end])]
    assert pictures[0] == pictures[1]  # also those of cells that are folded away
    assert not any("hide-input" in cell["metadata"].get("tags", []) and not cell["outputs"] for cell in shown)
    talk = [cell["source"] for cell in shown if cell["cell_type"] == "markdown"]
    before = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    before = [handout.SOLUTION.sub("", text) for text in before]
    said, meant = ("".join("\n".join(texts).partition("## Exercises")[0].split()) for texts in (talk, before))
    assert sorted(meant) == sorted(said)  # nothing of the text is lost, in the notes or shown


@over_lessons
def test_title_asks_the_question_of_the_lesson_and_no_slide_has_much_code(path):
    pytest.importorskip("nbconvert", reason="nbconvert, which makes the slides, is not installed")
    cells = handout.cells_of(path)
    question = re.search(r"\*\*([^*]+\?)\*\*", cells[0]["source"])[1]
    shown = [*handout.steps(handout.slides(cells))]
    assert " ".join(question.split()).partition("`")[0] in html.unescape(" ".join(shown[0][1].split()))
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    assert max(len(piece.splitlines()) for source in code for piece in handout.pieces(source)) <= 14
    kinds = [kind for kind, _ in shown if kind != "notes"]
    results = [place for place, kind in enumerate(kinds) if kind == "result"]
    assert results  # each has a press for itself, below what it is the result of
    assert all(kinds[place - 1] != "notes" and place > 0 for place in results)


@over_lessons
def test_code_on_slides_is_that_of_the_lesson_in_order(path):
    for cell in handout.cells_of(path):
        if cell["cell_type"] == "code":
            lines = [line for piece in handout.pieces(cell["source"]) for line in piece.split("\n") if line.strip()]
            assert lines == [line for line in cell["source"].split("\n") if line.strip()]


def test_slide_shows_headings_lists_and_one_paragraph_and_the_rest_is_a_note():
    text = "## Why\n\nOne.\n\nTwo.\n\n- a\n- b\n\n```python\nx\n\ny\n```\n\nThree."
    assert handout.split(text) == ("## Why\n\nOne.\n\n- a\n- b\n\n```python\nx\n\ny\n```", "Two.\n\nThree.")


# ------------------------------------------------------------------------------------------------ worksheets
STUDENTS = ["Ada", "Blaise & <Son>", "Student 3"]


@pytest.mark.parametrize("place", range(len(handout.GRAPHS)))
def test_drawing_to_fill_in_has_the_inputs_and_nothing_else(place):
    given = handout.numbers("Ada", place, 0)
    out = handout.graph(place, given)
    full, blank = handout.drawing(out, False), handout.drawing(out, True)
    found = [re.findall(r'class="number data[^>]*>([^<]*)', svg) for svg in (full, blank)]
    assert len(found[0]) == len(found[1])
    assert sorted(float(text.replace("−", "-")) for text in found[1] if text != "......") == sorted(given)
    assert set(re.findall(r'class="number (grad[^>]*>[^<]*)', blank)) == {
        f'grad" x="{x}" y="{y}">......' for x, y in re.findall(r'class="number grad[^"]*" x="(\S+)" y="(\S+)"', full)
    }  # nor a colour, which would tell the sign
    assert blank.count("<title>") == 1  # that of the whole drawing: how many nodes
    assert "......" not in full


def test_each_student_has_other_numbers_and_the_same_ones_again():
    sheets = {name: [tuple(handout.numbers(name, place, 0)) for place in range(3)] for name in map(str, range(30))}
    assert len({tuple(sheet) for sheet in sheets.values()}) == 30
    assert sheets["7"] == [tuple(handout.numbers("7", place, 0)) for place in range(3)]
    assert sheets["7"] != [tuple(handout.numbers("7", place, 1)) for place in range(3)]
    assert all(0 not in given and 1 not in given for sheet in sheets.values() for given in sheet)


def test_key_has_the_numbers_of_every_sheet():
    sheets, key = (handout.worksheets(STUDENTS, 0, blank) for blank in (True, False))
    for student in STUDENTS:
        assert f"<h1>{html.escape(student)}</h1>" in sheets
    headings = [re.findall(r"<h2>.*?</h2>", page) for page in (sheets, key)]
    assert len(headings[0]) == 9
    assert headings[0] == headings[1]
    formula, a, b, c = re.match(r"<h2>1\. (.*), with a = (\S+), b = (\S+), c = (\S+)</h2>", headings[0][0]).groups()
    names = {"a": int(a), "b": int(b), "c": int(c)}
    exec(formula, {}, names)
    assert f">{names['L']:.4f}<".replace("-", "−") in key
    assert f">{names['L']:.4f}<".replace("-", "−") not in sheets.partition("</section>")[0]


# ------------------------------------------------------------------------------------------------ the command
@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Write a handout to the folder `out`; the exit code, and all that is said."""

    def written(*words):
        monkeypatch.setattr(sys, "argv", ["handout", *words, "--out", str(tmp_path / "out")])
        try:
            code = handout.main()
        except SystemExit as stop:
            code = stop.code
        return code, "".join(capsys.readouterr())

    return written


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a handout of lessons 4 and 25, and what the command said."""
    pytest.importorskip("nbconvert", reason="nbconvert, which makes the slides, is not installed")
    pytest.importorskip("setuptools", reason="setuptools, which builds the wheel, is not installed")
    folder = tmp_path_factory.mktemp("made")
    (folder / "names.txt").write_text("Ada\n\nGrace\n", encoding="utf-8")
    command = [sys.executable, str(LESSONS / "handout.py"), "04", "25", "--names", str(folder / "names.txt")]
    done = subprocess.run([*command, "--out", str(folder / "out")], capture_output=True, encoding="utf-8", check=True)
    return folder / "out", done.stdout


def test_handout_is_one_folder_and_its_assignment_has_all_that_the_notebook_imports(made):
    out, said = made
    assert "worksheets for 2 students" in said
    there = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    wanted = "students/lessons/25_kill_the_mutant.ipynb students/lessons/exercises/lesson_25.py students/one_page.py"
    wanted += " solutions/25_kill_the_mutant.ipynb slides/25_kill_the_mutant.slides.html students.zip"
    assert {*wanted.split(), "key.md", "worksheets.html", "worksheets_key.html"} <= there
    assert not any(path.endswith("grade.py") for path in there)
    answer = "check('25.1', ('a * b', {'a': 2.0, 'b': 5.0}))"
    code = f"from check import check, points; {answer}; print(points('25.1')); check('25.1', 0); print(points('25.1'))"
    command, folder = [sys.executable, "-X", "utf8", "-c", code], out / "nbgrader" / "source" / "25_kill_the_mutant"
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=60)
    assert done.stdout.splitlines()[1::2] == ["1", "0"], done.stderr


def test_class_begins_from_one_archive_without_a_checkout(made, tmp_path):
    shutil.unpack_archive(made[0] / "students.zip", tmp_path)
    course = tmp_path / "course"
    (wheel,) = course.glob("*.whl")
    told = (course / "README.txt").read_text(encoding="utf-8")
    assert f'pip install "./{wheel.name}[demos]"' in told
    assert (course / re.search(r"jupyter lab (\S+)", told)[1]).is_file()
    lessons = course / "demos" / "lessons"
    texts = [path.read_text(encoding="utf-8") for path in lessons.glob("*.ipynb")]
    assert not any("<details>" in text for text in texts)
    links = {link for text in texts for link in re.findall(r"\]\((\.\./[^)#]+)", text)}
    assert links
    assert [link for link in links if not (lessons / link).exists()] == []
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "own")], check=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(tmp_path / "own")]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    (python,) = [*(tmp_path / "own").glob("bin/python"), *(tmp_path / "own").glob("Scripts/python.exe")]
    code = "from check import check; check('4.3', 1.0); import micrograd; print(micrograd.__file__)"
    env = {name: x for name, x in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), "-X", "utf8", "-c", code]
    done = subprocess.run(command, cwd=lessons, env=env, capture_output=True, encoding="utf-8")
    assert done.stdout.startswith("4.3  ✓ right\n"), done.stderr
    assert str(tmp_path) in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["99"], "no lesson begins with 99: write numbers as in 04"),
        (["--students", "0"], "there is no student: write --students 30"),
        (["--names", "nowhere.txt"], "nowhere.txt cannot be read: No such file"),
    ],
)
def test_wrong_use_says_what_is_needed(words, said, run, tmp_path):
    code, found = run(*words)
    assert code == 2
    assert said in found
    assert not (tmp_path / "out").exists()
