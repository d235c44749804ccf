"""A folder of notebooks is graded by the course's checkers, whatever the notebooks print, replace, eat or lack."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lessons

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


def test_last_call_counts_so_that_trying_all_numbers_is_no_answer(one):
    unchanged = 'check("4.3", 4.0)'  # the cell of the lesson, left below the student's own
    assert one("for guess in range(5):\n    check('4.3', guess)", unchanged)["4.3"] == "0"
    assert one("check('4.3', 5)", RIGHT, unchanged)["4.3"] == "1"


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
    "parent": """
import os
for number in range(20):
    try:
        with open(f"/proc/{os.getppid()}/fd/{number}", "w") as file:
            file.write('{"exercise": "4.2", "right": true, "note": ""}\\n')
    except OSError:
        pass""",
}


def test_notebook_that_prints_replaces_overwrites_or_reaches_a_verdict_gets_no_point(graded):
    files = {name: notebook("from check import check", cell) for name, cell in (FORGED | REACHED).items()}
    before = {path: path.read_bytes() for path in (LESSONS / "exercises").iterdir() if path.is_file()}
    rows = graded({f"{name}.ipynb": text for name, text in files.items()}, "--exercises", "4.1,4.2,4.3", "--jobs", "2")
    assert {Path(name).stem: (row["points"], row["of"]) for name, row in rows.items()} == dict.fromkeys(
        files, ("0", "3")
    )
    assert {path: path.read_bytes() for path in (LESSONS / "exercises").iterdir() if path.is_file()} == before


def test_notebook_sees_no_more_of_the_environment_than_it_needs(one, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_TEACHER", "1")
    assert one("import os\ncheck('4.3', float('SECRET_OF_THE_TEACHER' not in os.environ))")["4.3"] == "1"


# ------------------------------------------------------------------------------------------------ what goes wrong
BROKEN = {
    "4.1: its cell raised SystemExit: ": "import sys\nsys.exit()\ncheck('4.1', 1)",
    "4.2: its cell raised EOFError: EOF when reading a line": "check('4.2', input())",
    "4.4: its cell needs more than 0.5 GiB of memory": (
        "eaten = []\nwhile True:\n    eaten.append(bytearray(1 << 26))\ncheck('4.4', 1)"
    ),
}
ENDLESS = {
    "4.1: its cell was stopped after 3 seconds": "while True:\n    pass\ncheck('4.1', 1)",
    "4.2: its cell was stopped after 3 seconds": (
        "def forever(x):\n    while True:\n        pass\ncheck('4.2', forever)"
    ),
    "4.4: its cell is not Python: '(' was never closed, in line 1": "check('4.4', 1",
}


@POSIX
@pytest.mark.parametrize(("cells", "seconds"), [(BROKEN, "60"), (ENDLESS, "3")], ids=["broken", "endless"])
def test_cell_that_goes_wrong_is_named_and_the_others_count(cells, seconds, one):
    row = one(*cells.values(), "eaten = None", RIGHT, options=["--seconds", seconds, "--memory", "0.5"])
    assert row["note"].split("; ") == [*cells]
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
def test_notebook_that_cannot_go_on_keeps_its_points_and_stops_no_other(graded, monkeypatch):
    monkeypatch.setattr(grade, "CELLS", 1)  # so that less is waited for
    ends = {
        "exits": "import os\nos._exit(0)",
        "crashes": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
        "loops": "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        pass",
    }
    files = {f"{name}.ipynb": notebook(RIGHT, cell, "check('4.1', 0)  # mine") for name, cell in ends.items()}
    files["ends_its_judge.ipynb"] = notebook("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", RIGHT)
    rows = graded(files | {"right.ipynb": notebook(RIGHT)}, "--seconds", "6")
    assert {name.partition(".")[0]: row["points"] for name, row in rows.items()} == {
        "crashes": "1", "ends_its_judge": "0", "exits": "1", "loops": "1", "right": "1",
    }  # fmt: skip
    for name, exercise in (("exits", "4.1"), ("crashes", "4.1"), ("ends_its_judge", "4.3")):
        assert f"{exercise}: the process of the notebook ended" in rows[f"{name}.ipynb"]["note"]
    assert "4.1: the notebook was stopped after 6 seconds" in rows["loops.ipynb"]["note"]


@POSIX
def test_process_that_a_notebook_leaves_behind_is_ended(one, tmp_path):
    import fcntl

    lock = str(tmp_path / "lock")
    take = f"import fcntl\nheld = open({lock!r}, 'w')\nfcntl.flock(held, fcntl.LOCK_EX)"
    leave = "import subprocess\nsubprocess.Popen(['sleep', '600'], pass_fds=[held.fileno()])"
    assert one(take, leave, RIGHT)["4.3"] == "1"
    with open(lock) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # waits for the process, whose lock ends with it


@POSIX
def test_file_that_is_no_notebook_is_named_and_stops_nothing(graded, tmp_path):
    os.mkfifo(tmp_path / "in" / "04_i.ipynb")  # to which nobody writes
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
        "=1+1.ipynb": "{}",
    }
    rows = graded(files)
    assert {name: row["note"] for name, row in rows.items() if name != "04_h.ipynb"} == {
        "04_a.ipynb": "this is no notebook: it holds something other than JSON",
        "04_b.ipynb": "this is no notebook: it has no list of cells, as notebooks of version 4 have",
        "04_c.ipynb": "this is no notebook: it has no list of cells, as notebooks of version 4 have",
        "04_d.pdf": "this is no notebook: its name ends in '.pdf', not in '.ipynb'",
        "04_e.ipynb": "no cell of this notebook checks an exercise of the course",
        "04_f.ipynb": "this is no notebook: it holds something other than JSON",
        "04_i.ipynb": "this is no notebook: it is not a file that can be read",
        "'=1+1.ipynb": "this is no notebook: it has no list of cells, as notebooks of version 4 have",  # and no formula
        "g": "there is no notebook in this folder",
    }
    assert {row["points"] for name, row in rows.items() if name != "04_h.ipynb"} == {"0"}
    assert rows["04_h.ipynb"]["4.3"] == "1"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
@pytest.mark.skipif(sys.getfilesystemencoding() == "ascii", reason="no file can have such a name here")
def test_points_are_kept_when_a_notebook_ends_the_one_who_grades_whatever_its_terminal_can_show(tmp_path):
    end = "import os, signal\nwith open(f'/proc/{os.getppid()}/stat') as file:\n    parent = file.read().split()[3]\n"
    end += "os.kill(int(parent), signal.SIGKILL)"
    (tmp_path / "in" / "zoe").mkdir(parents=True)
    for name, cell in (("04_\u017du\u017eana", RIGHT), ("zoe/04", end)):
        (tmp_path / "in" / f"{name}.ipynb").write_text(notebook(cell, "check('4.1', 0)"), encoding="utf-8")
    command = [sys.executable, str(LESSONS / "grade.py"), str(tmp_path / "in"), "-o", str(tmp_path / "points.csv")]
    env = {**os.environ, "PYTHONPATH": str(LESSONS.parents[1]), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode != 0
    assert "1 of 4  04_?u?ana.ipynb" in done.stdout, done.stderr
    assert "\u017du\u017eana,04_\u017du\u017eana.ipynb,1,4" in (tmp_path / "points.csv").read_text(encoding="utf-8-sig")


def test_machine_that_lacks_what_a_checker_needs_gives_nobody_zero_points(graded, monkeypatch, tmp_path):
    leave_out = shutil.ignore_patterns("*.ipynb", "__pycache__")
    course = Path(shutil.copytree(LESSONS, tmp_path / "course" / "lessons", ignore=leave_out))
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
