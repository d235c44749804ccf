"""A folder of notebooks is graded by the course's checkers, whatever the notebooks print, replace, eat or lack."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

LESSONS = Path(__file__).parents[2] / "demos" / "lessons"
sys.path.insert(0, str(LESSONS))
import grade  # noqa: E402

POSIX = pytest.mark.skipif(os.name != "posix", reason="no limits of memory and no alarm on Windows")
RIGHT = 'check("4.3", 1.0)  # c gives b 1'
CUBE = """\
from micrograd import Value

def cube(x):
    out = Value(x.data**3, (x,), "cube")

    def send_back():
        x.grad += out.grad * 3 * x.data**2

    out._backward = send_back
    return out

check("4.2", cube)
"""


def notebook(*cells):
    """A notebook with these cells of code, as text; their sources are lists of lines, as Jupyter writes them."""
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": "# 4"}, *code], "nbformat": 4})


@pytest.fixture
def graded(tmp_path, monkeypatch, capsys):
    """Grade notebooks, given as file name = text; the rows by name of the notebook."""
    folder, table = tmp_path / "in", tmp_path / "points.csv"
    folder.mkdir()

    def run(files, *options):
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        command = ["grade", str(folder), "-o", str(table), "--seconds", "20", *options]
        monkeypatch.setattr(sys, "argv", command)
        try:
            run.code = grade.main()
        except SystemExit as stop:
            run.code = stop.code
        run.said = "".join(capsys.readouterr())
        if run.code == 2:
            return {}
        with table.open(newline="", encoding="utf-8-sig") as file:
            return {row["notebook"]: row for row in csv.DictReader(file)}

    return run


@pytest.fixture
def one(graded):
    """The row of one notebook with these cells, below the usual first one."""

    def run(*cells, options=()):
        return graded({"04_ada.ipynb": notebook("from check import check", *cells)}, *options)["04_ada.ipynb"]

    return run


# ------------------------------------------------------------------------------------------------ points
def test_each_exercise_has_a_point_and_what_is_missing_or_wrong_is_named(one):
    row = one("check('4.3', 4.0)  # mine", CUBE)
    assert (row["student"], row["points"], row["of"]) == ("ada", "1", "4")
    assert (row["4.1"], row["4.2"], row["4.3"]) == ("0", "1", "0")
    first, third = row["note"].split("; ", 1)
    assert first == "4.1: it is not in the notebook"
    assert third.startswith("4.3: that would be right, but Forgetful finds another number")


def test_cell_that_nobody_has_changed_is_no_answer(one):
    row = one('check("4.3", 4.0)', RIGHT.replace("4.3", "4.2"))
    assert "4.3: nobody has tried it" in row["note"]
    assert one(RIGHT, 'check("4.3", 4.0)')["4.3"] == "1"  # the cell of the lesson, left below the student's own


def test_last_call_counts_so_that_trying_all_numbers_is_no_answer(one):
    assert one("for guess in range(5):\n    check('4.3', guess)")["4.3"] == "0"
    assert one("check('4.3', 5)", RIGHT)["4.3"] == "1"


def test_lesson_itself_has_all_points_with_its_solutions_and_none_without(graded):
    cells = json.loads((LESSONS / "04_closures.ipynb").read_text(encoding="utf-8"))["cells"]
    lesson = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    folded = ["".join(cell["source"]).partition("```python\n")[2] for cell in cells]
    solutions = [text.partition("```")[0] for text in folded if "</details>" in text]
    rows = graded({"04_solved.ipynb": notebook(*lesson, *solutions), "04_new.ipynb": notebook(*lesson)})
    assert rows["04_solved.ipynb"]["points"] == rows["04_solved.ipynb"]["of"] == "4"
    assert rows["04_new.ipynb"]["points"] == "0"
    assert rows["04_new.ipynb"]["note"].count("nobody has tried it") == 4


def test_students_are_files_or_folders_and_the_exercises_may_be_chosen(graded):
    files = {"ada/04_closures.ipynb": notebook("from check import check", RIGHT), "04-bob.ipynb": notebook(RIGHT)}
    rows = graded(files, "--exercises", "4.3", "--jobs", "2")
    assert {name: (row["student"], row["points"], row["of"]) for name, row in rows.items()} == {
        "ada/04_closures.ipynb": ("ada", "1", "1"),
        "04-bob.ipynb": ("bob", "1", "1"),
    }
    assert graded.code == 0
    assert "1 of 1  04-bob.ipynb\n" in graded.said


# ------------------------------------------------------------------------------------------------ what is no answer
FORGED = {
    "prints": "print('4.3  \\u2713 right')",
    "own check": "def check(name, answer):\n    print(name, ' \\u2713 right')\ncheck('4.3', 7)",
    "registry": "import check as c\nc.EXERCISES['4.3'] = lambda answer: None\ncheck('4.3', 7)",
    "module": "import sys\nimport exercises.lesson_04\n"
    "for module in list(sys.modules.values()):\n"
    "    if hasattr(module, 'EXERCISES'):\n        module.EXERCISES.clear()\n"
    "        module.EXERCISES['4.3'] = lambda answer: None\ncheck('4.3', 7)",
    "file": "from pathlib import Path\nPath('exercises/lesson_04.py').write_text('from check import exercise\\n"
    "exercise(\"4.3\")(lambda answer: None)')\ncheck('4.3', 7)",
    "digests": "from pathlib import Path\nPath('exercises/untried.json').write_text('{}')\ncheck('4.3', 4.0)",
    "isclose": "import math\nmath.isclose = lambda *a, **k: True\ncheck('4.3', 7)",
    "judge": "__judge__ = lambda *a: None\ncheck('4.3', 7)",
    "results": "import json, os\nline = json.dumps({'exercise': '4.3', 'right': True, 'note': ''}) + chr(10)\n"
    "for number in range(20):\n    try:\n        os.write(number, line.encode())\n    except OSError:\n        pass",
    "equal": "class Yes:\n    def __eq__(self, other):\n        return True\n    __hash__ = None\ncheck('4.3', Yes())",
    "comment": "# check('4.3', 1.0)",
}


REACHED = {  # from an answer that is a function, with all that it finds in its process
    "frames": """
import os, sys
def cube(x):
    frame = sys._getframe()
    while frame is not None:
        for found in [*frame.f_locals.values(), *frame.f_globals.values()]:
            if getattr(found, "__name__", "") == "report":
                found(exercise="4.2", right=True)
                os._exit(0)
        frame = frame.f_back
    return x
check("4.2", cube)""",
    "functions": """
import gc
from contextlib import suppress
def cube(x):
    for found in gc.get_objects():
        if callable(found) and getattr(found, "__name__", "") in ("report", "judge"):
            with suppress(Exception):
                found(exercise="4.2", right=True)
    return x
check("4.2", cube)""",
    "wire": """
import gc
def cube(x):
    for wire in gc.get_objects():
        if type(wire).__name__ == "Wire":
            for what in ("report", "set", "get", "named", "run"):
                try:
                    wire.ask(what, "4.2", True)
                except Exception:
                    pass
            wire.send({"is": None})
    return x
check("4.2", cube)""",
    "equality": """
class Yes(float):
    def __eq__(self, other):
        return True
    def __float__(self):
        return 1.0
    __hash__ = None
check("4.1", (Yes, lambda a, b: Yes()))""",
    "parent": """
import os
for number in range(20):
    try:
        with open(f"/proc/{os.getppid()}/fd/{number}", "w") as file:
            file.write('{"exercise": "4.2", "right": true, "note": ""}\\n')
    except OSError:
        pass""",
}


@pytest.mark.parametrize("cell", (FORGED | REACHED).values(), ids=FORGED | REACHED)
def test_what_a_notebook_prints_replaces_overwrites_or_reaches_is_no_answer(cell, one):
    row = one(cell, options=["--exercises", "4.1,4.2,4.3"])
    assert (row["points"], row["of"]) == ("0", "3")


def test_files_that_a_notebook_writes_are_thrown_away(one):
    before = {path: path.read_bytes() for path in (LESSONS / "exercises").glob("*.py")}
    one("open('exercises/lesson_04.py', 'w').close()\nopen('left.txt', 'w').close()", RIGHT)
    assert {path: path.read_bytes() for path in (LESSONS / "exercises").glob("*.py")} == before
    assert not (LESSONS / "left.txt").exists()


def test_notebook_sees_no_more_of_the_environment_than_it_needs(one, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_TEACHER", "1")
    assert one("import os\ncheck('4.3', float('SECRET_OF_THE_TEACHER' not in os.environ))")["4.3"] == "1"


# ------------------------------------------------------------------------------------------------ what goes wrong
BROKEN = {
    "loops": ("while True:\n    pass\ncheck('4.1', 1)", "4.1: its cell was stopped after 3 seconds"),
    "quits": ("import sys\nsys.exit()\ncheck('4.1', 1)", "4.1: its cell raised SystemExit"),
    "raises": ("1 / 0\ncheck('4.1', 1)", "4.1: its cell raised ZeroDivisionError: division by zero"),
    "loops when it is tried": (
        "def forever(x):\n    while True:\n        pass\ncheck('4.2', forever)",
        "4.2: its cell was stopped after 3 seconds",
    ),
    "asks": ("check('4.1', input())", "4.1: its cell raised EOFError"),
    "is no Python": ("check('4.1', 1", "4.1: its cell is not Python: '(' was never closed, in line 1"),
    "eats": (
        "eaten = []\nwhile True:\n    eaten.append(bytearray(1 << 26))\ncheck('4.1', 1)",
        "4.1: its cell needs more than 0.5 GiB of memory",
    ),
}


@POSIX
@pytest.mark.parametrize(("cell", "note"), BROKEN.values(), ids=[*BROKEN])
def test_cell_that_goes_wrong_is_named_and_the_others_count(cell, note, one):
    seconds = "3" if "seconds" in note else "60"  # for a machine that is loaded
    row = one(cell, "eaten = None", RIGHT, options=["--seconds", seconds, "--memory", "0.5"])
    assert note in row["note"]
    assert row["4.3"] == "1"


def test_cell_that_others_need_is_named_where_it_fails(one):
    row = one("%matplotlib inline\nimport no_such_module\nc = 1.0", "check('4.3', c)")
    first, *others = row["note"].split("; ")
    assert first == "cell 2 raised ModuleNotFoundError: No module named 'no_such_module'"
    assert "4.3: its cell raised NameError: name 'c' is not defined" in others


def test_cell_may_use_the_shell_of_a_notebook(one):
    pytest.importorskip("IPython")
    assert one("check('4.3', float(get_ipython() is not None))")["4.3"] == "1"


@POSIX
@pytest.mark.parametrize(
    ("cell", "note"),
    [
        ("import os\nos._exit(0)", "the process of the notebook ended"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "the process of the notebook ended"),
        (
            "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        pass",
            "the notebook was stopped after 10 seconds",
        ),
    ],
    ids=["exits", "crashes", "loops for ever"],
)
def test_notebook_that_cannot_go_on_keeps_its_points_and_stops_no_other(cell, note, graded):
    files = {"04_a.ipynb": notebook(RIGHT, cell, "check('4.1', 0)  # mine"), "04_b.ipynb": notebook(RIGHT)}
    rows = graded(files, "--seconds", "2")
    assert (rows["04_a.ipynb"]["4.3"], rows["04_b.ipynb"]["4.3"]) == ("1", "1")
    assert f"4.1: {note}" in rows["04_a.ipynb"]["note"]


@POSIX
def test_process_that_a_notebook_leaves_behind_is_ended(one, tmp_path):
    left = tmp_path / "left"
    code = f"import time; time.sleep(3); open({str(left)!r}, 'w')"
    assert one(f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {code!r}])", RIGHT)["4.3"] == "1"
    import time

    time.sleep(4)
    assert not left.exists()


def test_file_that_is_no_notebook_is_named_and_stops_nothing(graded):
    files = {
        "04_a.ipynb": "PK\x03\x04",
        "04_b.ipynb": "[1, 2]",
        "04_c.ipynb": '{"cells": [{"cell_type": "code"}]}',
        "04_d.pdf": "%PDF",
        "04_e.ipynb": notebook("print(1)"),
        "04_f.ipynb": "[" * 100_000,
        "g/notes.txt": "I could not do it",
        "g/.ipynb_checkpoints/04_g.ipynb": notebook(RIGHT),
        "04_h.ipynb": notebook(RIGHT),
        ".hidden": "",
    }
    rows = graded(files)
    assert {name: row["note"] for name, row in rows.items() if name != "04_h.ipynb"} == {
        "04_a.ipynb": "this is no notebook: it holds something other than JSON",
        "04_b.ipynb": "this is no notebook: it has no list of cells, as notebooks of version 4 have",
        "04_c.ipynb": "this is no notebook: it has no list of cells, as notebooks of version 4 have",
        "04_d.pdf": "this is no notebook: its name ends in '.pdf', not in '.ipynb'",
        "04_e.ipynb": "no cell of this notebook checks an exercise of the course",
        "04_f.ipynb": "this is no notebook: it holds something other than JSON",
        "g": "there is no notebook in this folder",
    }
    assert {row["points"] for name, row in rows.items() if name != "04_h.ipynb"} == {"0"}
    assert rows["04_h.ipynb"]["4.3"] == "1"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipe_that_nobody_writes_to_is_not_waited_for(graded, tmp_path):
    os.mkfifo(tmp_path / "in" / "04_a.ipynb")
    assert graded({})["04_a.ipynb"]["note"] == "this is no notebook: it is not a file that can be read"


def apart(folder, files, **environment):
    """Grade notebooks in a process of its own; the process, and the table that it wrote."""
    (folder / "in").mkdir()
    for name, text in files.items():
        (folder / "in" / f"{name}.ipynb").write_text(text, encoding="utf-8")
    command = [sys.executable, str(LESSONS / "grade.py"), str(folder / "in"), "-o", str(folder / "points.csv")]
    env = {**os.environ, "PYTHONPATH": str(LESSONS.parents[1]), **environment}
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", timeout=120)
    return done, (folder / "points.csv").read_text(encoding="utf-8-sig")


@pytest.mark.skipif(sys.getfilesystemencoding() == "ascii", reason="no file can have such a name here")
def test_name_that_a_terminal_cannot_show_is_graded_all_the_same(tmp_path):
    done, points = apart(tmp_path, {"04_\u017du\u017eana": notebook(RIGHT)}, PYTHONIOENCODING="ascii")
    assert "1 of 4  04_?u?ana.ipynb" in done.stdout, done.stderr
    assert "\u017du\u017eana" in points


@POSIX
def test_notebook_that_ends_its_judge_gets_nothing_and_the_others_are_graded(graded):
    end = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"
    rows = graded({"04_a.ipynb": notebook(end, RIGHT), "04_b.ipynb": notebook(RIGHT)})
    assert {name: row["points"] for name, row in rows.items()} == {"04_a.ipynb": "0", "04_b.ipynb": "1"}
    assert "4.3: the process of the notebook ended" in rows["04_a.ipynb"]["note"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_points_are_kept_when_a_notebook_ends_the_one_who_grades(tmp_path):
    end = "import os, signal\nwith open(f'/proc/{os.getppid()}/stat') as file:\n    parent = file.read().split()[3]\n"
    end += "os.kill(int(parent), signal.SIGKILL)"
    files = {name: notebook(cell, "check('4.1', 0)") for name, cell in (("04_a", RIGHT), ("04_b", end))}
    done, points = apart(tmp_path, files)
    assert done.returncode != 0
    assert "a,04_a.ipynb,1,4" in points


def test_name_that_a_spreadsheet_would_compute_is_text(graded):
    (row,) = graded({"=1+1.ipynb": "{}"}).values()
    assert (row["student"], row["notebook"]) == ("'=1+1", "'=1+1.ipynb")


def test_machine_that_lacks_what_a_checker_needs_gives_nobody_zero_points(graded, monkeypatch, tmp_path):
    course = tmp_path / "course" / "lessons"
    (course / "exercises").mkdir(parents=True)
    for name in ("check.py", "apart.py", "exercises/untried.json"):
        (course / name).write_text((LESSONS / name).read_text(encoding="utf-8"), encoding="utf-8")
    (course / "grade.py").write_text((LESSONS / "grade.py").read_text(encoding="utf-8"), encoding="utf-8")
    text = 'import no_such_module\nfrom check import exercise\n\nexercise("4.3")(lambda answer: None)\n'
    (course / "exercises" / "lesson_04.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(grade, "HERE", course)
    monkeypatch.setenv("PYTHONPATH", str(LESSONS.parents[1]))
    (row,) = graded({"04_ada.ipynb": notebook(RIGHT)}).values()
    assert (row["points"], row["of"]) == ("", "")
    assert row["note"] == "not graded, since this machine lacks no_such_module: install it, and grade again"
    assert graded.code == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--exercises", "4.9"], "there is no exercise '4.9': write names as in --exercises 4.1,4.2"),
        (["--exercises", "x"], "there is no exercise 'x'"),
        (["--seconds", "0"], "--seconds, --memory and --jobs must be greater than 0"),
        ([], "is empty: put the notebooks there"),
    ],
)
def test_wrong_use_says_what_is_needed(options, said, graded):
    graded({}, *options)
    assert graded.code == 2
    assert said in graded.said


def test_every_exercise_of_the_course_is_found_without_running_its_checker():
    untried = json.loads((LESSONS / "exercises" / "untried.json").read_text(encoding="utf-8"))
    lessons = {name.partition(".")[0] for name in untried}
    assert [name for lesson in sorted(lessons, key=int) for name in grade.exercises_of(lesson)] == sorted(
        untried, key=grade.place
    )
