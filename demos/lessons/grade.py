"""Grade the notebooks in a folder: `python -m micrograd grade FOLDER` writes points.csv, with a row for each of them.

Each notebook runs in a separate process, in a scratch copy of the course, with limits of time and memory. The calls
of `check` in its cells are turned into calls that hand the answer to a second process. This one holds the checkers,
and reaches into the first to try a function or an object there; see apart.py. So nothing that a notebook prints,
replaces or overwrites is an answer, and nothing that it can find in its own process is a verdict. In a cell that was
changed, the last call of `check` for an exercise counts, so that trying all numbers is no answer.

A notebook may still do on this machine what you may do, so run this in a container.
"""

import argparse
import ast
import csv
import importlib
import io
import json
import linecache
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apart

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GIGABYTE = 1 << 30
LARGEST = 64 << 20  # bytes of a notebook, and of a file that a notebook writes
CELLS = 5  # a notebook may take as long as this many cells
KEPT = {"PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL", "SYSTEMROOT"}  # of the environment


# ---------------------------------------------------------------------------------------------------------------------
# What was handed in


@dataclass
class Paper:
    """A notebook that a student handed in, and what became of it."""

    student: str
    name: str
    cells: list[str] = field(default_factory=list)
    exercises: list[str] = field(default_factory=list)  # those that count
    right: dict[str, bool] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)  # by exercise, or "" for the whole notebook
    graded: bool = True  # False if the machine lacks something

    @property
    def points(self) -> int:
        return sum(self.right.get(name, False) for name in self.exercises)

    def row(self, names: Sequence[str]) -> list[object]:
        """Its row of the table, with a column for each of these exercises."""
        counted = self.exercises if self.graded else []
        marks = [int(self.right.get(name, False)) if name in counted else "" for name in names]
        points = (self.points, len(counted) or "") if self.graded else ("", "")
        notes = "; ".join(f"{name}: {note}" if name else note for name, note in sorted(self.notes.items()))
        return [plain(self.student), plain(self.name), *points, *marks, plain(notes)]


def plain(text: str) -> str:
    """Text that a spreadsheet shows, and neither computes nor breaks."""
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def papers(folder: Path, wanted: Sequence[str], leave_out: Path) -> Iterator[Paper]:
    """All that was handed in, in the order of the names: notebooks, and folders of one student each."""
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or entry.resolve() == leave_out.resolve():
            continue
        if not entry.is_dir():
            yield paper(entry, re.sub(r"^\d+[_ -]*", "", entry.stem) or entry.stem, entry.name, wanted)
            continue
        inside = [path for path in sorted(entry.rglob("*.ipynb")) if not hidden(path.relative_to(entry))]
        yield from (paper(path, entry.name, path.relative_to(folder).as_posix(), wanted) for path in inside)
        if not inside:
            yield Paper(entry.name, entry.name, exercises=[*wanted], notes={"": "there is no notebook in this folder"})


def hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def paper(path: Path, student: str, name: str, wanted: Sequence[str]) -> Paper:
    """What a file holds."""
    found = Paper(student, name, exercises=list(wanted))
    try:
        found.cells = code_cells(path)
    except ValueError as error:
        found.notes[""] = f"this is no notebook: {error}"
        return found
    asked = Counter(name for cell in found.cells for name in checked(cell))
    lessons = Counter(name.partition(".")[0] for name in asked)
    found.exercises = list(wanted) or [name for lesson, _ in lessons.most_common(1) for name in exercises_of(lesson)]
    if not found.exercises:
        found.notes[""] = "no cell of this notebook checks an exercise of the course"
    return found


def code_cells(path: Path) -> list[str]:
    """The code of a notebook's cells.

    Raises:
        ValueError: it is no notebook; the message says what was found.
    """
    if not path.is_file():
        raise ValueError("it is not a file that can be read")
    if path.suffix != ".ipynb":
        raise ValueError(f"its name ends in {path.suffix or 'nothing'!r}, not in '.ipynb'")
    if (size := path.stat().st_size) > LARGEST:
        raise ValueError(f"it has {size:,} bytes, and at most {LARGEST:,} are read")
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        return [source if isinstance(source, str) else "".join(source) for source in sources]
    except OSError as error:
        raise ValueError(error.strerror or "it cannot be read") from None
    except (KeyError, TypeError, AttributeError):
        raise ValueError("it has no list of cells, as notebooks of version 4 have") from None
    except (ValueError, RecursionError):
        raise ValueError("it holds something other than JSON") from None


def checked(cell: str) -> list[str]:
    """The names of the exercises that a cell checks, whether or not it is Python."""
    return [name.strip("\"'") for name in re.findall(r"\bcheck\(\s*(\"\d+\.\d+\"|'\d+\.\d+'|\d+\.\d+)\s*,", cell)]


def exercises_of(lesson: str) -> list[str]:
    """The names of a lesson's exercises, read from its file; nothing is run."""
    path = HERE / "exercises" / f"lesson_{lesson:0>2}.py"
    if not path.is_file():
        return []
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    named = [call for call in calls if getattr(call.func, "id", "") in ("exercise", "number_exercise")]
    found = {call.args[0].value for call in named if call.args and isinstance(call.args[0], ast.Constant)}
    return sorted(map(str, found), key=place)


def place(exercise: str) -> tuple[int, ...]:
    """Where an exercise stands in the course: 4.2 comes before 4.10."""
    return tuple(int(part) for part in exercise.split("."))


# ---------------------------------------------------------------------------------------------------------------------
# In the process that judges, which runs nothing of the student's


def judge_notebook() -> None:
    """Judge one notebook: stdin has what is asked as JSON, see `grade`; a line goes to stdout for each verdict."""
    asked = json.loads(sys.stdin.readline())
    out, sys.stdout = sys.stdout, io.StringIO()  # what a checker prints is no verdict
    limit(asked["bytes"])
    hide()

    def report(**what: object) -> None:
        what["note"] = str(what.get("note", ""))[:500]
        out.write(json.dumps(what | {"token": asked["token"]}) + "\n")
        out.flush()

    try:
        import_checkers(asked["exercises"])
    except ImportError as error:
        report(lacks=error.name or str(error))
        return
    with suppress(apart.Lost, ValueError):  # the notebook has ended its process, or writes nonsense to its pipe
        judge_cells(asked, notebook_process(asked), report)
    os._exit(0)


def hide() -> None:
    """Forbid other processes of this user to look into this one, where the system can do so."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def import_checkers(names: Sequence[str]) -> list[types.ModuleType]:
    """The modules that check these exercises."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    lessons = dict.fromkeys(name.partition(".")[0] for name in names)
    return [importlib.import_module(f"exercises.lesson_{lesson:0>2}") for lesson in lessons]


def notebook_process(asked: dict[str, Any]) -> apart.Wire:
    """Start the process of the notebook, which has loaded the checkers' helpers, and give the wire to it."""
    command = [sys.executable, "-W", "ignore", str(HERE / "grade.py"), "--notebook", json.dumps(asked["exercises"])]
    command.append(str(asked["bytes"]))
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    assert process.stdout is not None
    wire = apart.Wire(process.stdout, process.stdin, allowed={"call"})
    for module in import_checkers(asked["exercises"]):
        for name, found in list(vars(module).items()):
            if lives_there(found):
                setattr(module, name, wire.ask("named", module.__name__, name))
    return wire


def lives_there(found: Any) -> bool:
    """Whether what a checker uses must be where the answer is: all of micrograd, and what is marked as such."""
    of = getattr(found, "__module__", None) or ""
    return callable(found) and (of.partition(".")[0] == "micrograd" or getattr(found, "beside", False))


def judge_cells(asked: dict[str, Any], wire: apart.Wire, report: Callable[..., None]) -> None:
    """Let the notebook's cells run one by one, and report a verdict for each answer that they give."""
    import check

    untried = json.loads((HERE / "exercises" / "untried.json").read_text(encoding="utf-8"))
    judged: set[str] = set()
    digest, broken = "", ""

    def judge(exercise: object, answer: Any) -> None:
        name = str(exercise)
        if name not in check.EXERCISES:
            report(exercise=name, note="there is no such exercise")
        elif digest == untried.get(name):
            report(exercise=name, note="nobody has tried it")
        elif (said := hint(check, name, answer)) is None:
            report(exercise=name, right=True)
        else:
            report(exercise=name, note=said)
        judged.add(name)

    wire.extra["check"] = judge
    for place, cell in enumerate(asked["cells"]):
        judged.clear()
        digest, note = check.digest(cell), ""
        try:
            wire.ask("run", cell, f"<cell {place + 1}>", asked["seconds"])
        except SyntaxError as error:
            note = f"its cell is not Python: {error}"
        except MemoryError:
            note = f"its cell needs more than {asked['bytes'] / GIGABYTE:g} GiB of memory"
        except apart.Lost as error:
            if error.name == "EOFError":
                raise
            late = error.name == "OutOfTime"
            said = f"was stopped after {asked['seconds']:g} seconds" if late else f"raised {error.name}: {error}"
            note = f"its cell {said}"
        except Exception as error:
            note = f"its cell raised {type(error).__name__}: {error}"
        for name in set(checked(cell)) - judged if note else ():
            report(exercise=name, note=note)
        if note and not (checked(cell) or broken):  # what comes below may lack what this cell defines
            broken = note.replace("its cell", f"cell {place + 1}")
            report(broken=broken)
    report(ended=True)


def hint(check: types.ModuleType, name: str, answer: Any) -> str | None:
    """What the checker says of an answer."""
    try:
        return check.EXERCISES[name](answer)
    except check.NotAnAnswer as error:
        return str(error)
    except Exception as error:
        return check.raised(error)


# ---------------------------------------------------------------------------------------------------------------------
# In the process of the notebook


class OutOfTime(BaseException):
    """A cell has run for too long; `except Exception` does not catch this."""


def run_notebook(exercises: Sequence[str], size: int) -> None:
    """Do what the judge asks: run cells, and try on their answers what a checker does with them."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    limit(size)
    named = {
        (module.__name__, name): found for module in import_checkers(exercises) for name, found in vars(module).items()
    }
    for name in [name for name in sys.modules if name == "check" or name.split(".")[0] == "exercises"]:
        del sys.modules[name]  # the notebook imports other copies, from the scratch folder
    sys.path[:] = [os.getcwd(), *(place for place in sys.path if place != str(HERE))]
    main = notebook_module()
    at_the_wire = [False]
    wire = apart.Wire(source, sink, quiet=lambda quiet: at_the_wire.__setitem__(0, quiet))

    def run(cell: str, name: str, seconds: float) -> None:
        try:
            code = compiled(cell, name)
        except SyntaxError as error:
            raise SyntaxError(f"{error.msg}, in line {error.lineno}") from None
        main.__dict__[JUDGE] = lambda exercise, answer: wire.ask("check", exercise, answer)
        with alarm(seconds, at_the_wire):
            exec(code, main.__dict__)

    wire.extra = {"named": lambda module, name: named[module, name], "run": run}
    while True:
        wire.reply(wire.receive())


JUDGE = "__judge__"


def notebook_module() -> types.ModuleType:
    """An empty module for a notebook's names, with IPython's shell behind `get_ipython()` where it is installed."""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    with suppress(ImportError):
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        quiet = Config({"HistoryManager": {"enabled": False}})
        InteractiveShell.instance(user_module=main, user_ns=main.__dict__, config=quiet)
    return main


def compiled(cell: str, name: str) -> types.CodeType:
    """The code of a cell that calls the judge where the cell calls `check`; IPython's own commands are left out."""
    try:
        tree = ast.parse(cell, name)
    except SyntaxError:
        tree = ast.parse(re.sub(r"^(\s*)[%!?].*", r"\1pass", cell, flags=re.MULTILINE), name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check":
            node.func.id = JUDGE
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)  # for what reads sources
    return compile(tree, name, "exec")


def limit(size: int) -> None:
    """Let this process have so much memory and write files of a limited size, where the system can say so."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


@contextmanager
def alarm(seconds: float, waits: Sequence[bool]) -> Iterator[None]:
    """Raise OutOfTime after a while, and every second from then on, where the system has such a clock.

    While `waits` says that the process is at its wire, nothing is raised, since a message must not be cut off.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        if not waits[0]:
            raise OutOfTime

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


# ---------------------------------------------------------------------------------------------------------------------
# In the process of the teacher


def grade(paper: Paper, seconds: float, size: int, kept: Path) -> Paper:
    """Run one notebook in a separate process, and enter what became of each exercise.

    Args:
        paper: the notebook.
        seconds: how long a cell may run.
        size: how many bytes of memory the process may have.
        kept: a folder for what all notebooks share, such as matplotlib's list of fonts.
    """
    if not (paper.cells and paper.exercises):
        return paper
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        scratch = Path(place, "demos", "lessons")
        leave_out = shutil.ignore_patterns("*.ipynb", "__pycache__", ".*", "out")
        shutil.copytree(HERE.parent, scratch.parent, ignore=leave_out)
        own = {"HOME": place, "TMPDIR": place, "MPLCONFIGDIR": str(kept), "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(HERE / "grade.py"), "--judge"],
            cwd=scratch,
            env={name: value for name, value in os.environ.items() if name in KEPT} | own | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        token = secrets.token_hex(16)
        asked = {"cells": paper.cells, "exercises": paper.exercises, "seconds": seconds, "bytes": size}
        late, told = False, ""
        try:
            told, _ = process.communicate(json.dumps(asked | {"token": token}) + "\n", seconds * CELLS)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
            told = process.communicate()[0] if late else told
    enter(paper, [entry for line in told.splitlines() if (entry := understood(line)).get("token") == token])
    ended = "the process of the notebook ended" if "" not in paper.right else "its cell ran and checked nothing"
    missing = f"the notebook was stopped after {seconds * CELLS:g} seconds" if late else ended
    written = {name for cell in paper.cells for name in checked(cell)}
    for name in set(paper.exercises) - paper.right.keys() if paper.graded else ():
        paper.notes[name] = missing if name in written else "it is not in the notebook"
    return paper


def understood(line: str) -> dict[str, Any]:
    """A line of the results, or nothing."""
    with suppress(ValueError):
        found = json.loads(line)
        return found if isinstance(found, dict) else {}
    return {}


def enter(paper: Paper, told: list[dict[str, Any]]) -> None:
    """Enter what the process told; the last word on an exercise counts."""
    for entry in told:
        if lacks := entry.get("lacks"):
            paper.graded = False
            paper.notes[""] = f"not graded, since this machine lacks {lacks}: install it, and grade again"
        elif broken := entry.get("broken"):
            paper.notes[""] = broken
        else:
            name = entry.get("exercise", "")  # none at the end of the notebook
            if entry["note"] == "nobody has tried it" and name in paper.right:
                continue  # the cell of the lesson, below the student's own
            paper.right[name] = entry.get("right", False)
            if name:
                paper.notes.pop(name, None)
            if entry["note"]:
                paper.notes[name] = entry["note"]


def write(found: Sequence[Paper], path: Path) -> None:
    """Write the table: who, which notebook, points, of how many, each exercise, and notes."""
    names = sorted({name for paper in found for name in paper.exercises}, key=place)
    with path.open("w", newline="", encoding="utf-8-sig") as file:  # the mark lets spreadsheets know the encoding
        table = csv.writer(file)
        table.writerow(["student", "notebook", "points", "of", *names, "note"])
        table.writerows(paper.row(names) for paper in found)


def main() -> int:
    """Grade a folder and return the exit code."""
    parser = argparse.ArgumentParser("python -m micrograd grade", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="notebooks such as 04_ada.ipynb, or a folder for each student")
    parser.add_argument("-o", "--output", type=Path, default=Path("points.csv"), help="the table (%(default)s)")
    parser.add_argument("--exercises", default="", help="what counts, as 4.1,4.2 (all of the notebook's lesson)")
    parser.add_argument(
        "--seconds", type=float, default=60, help=f"for a cell; a notebook has {CELLS} times as many (60)"
    )
    parser.add_argument("--memory", type=float, default=4, help="in GiB, for a notebook (%(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="how many notebooks run at a time (%(default)s)")
    asked = parser.parse_args()
    if not asked.folder.is_dir():
        parser.error(f"{asked.folder} is not a folder: name one that holds the notebooks")
    if asked.seconds <= 0 or asked.memory <= 0 or asked.jobs < 1:
        parser.error("--seconds, --memory and --jobs must be greater than 0")
    wanted = [name for name in re.split(r"[\s,]+", asked.exercises) if name]
    if unknown := [name for name in wanted if name not in exercises_of(name.partition(".")[0])]:
        parser.error(f"there is no exercise {unknown[0]!r}: write names as in --exercises 4.1,4.2")
    handed_in = list(papers(asked.folder, wanted, asked.output))
    if not handed_in:
        parser.error(f"{asked.folder} is empty: put the notebooks there")
    size = int(asked.memory * GIGABYTE)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as kept, ThreadPoolExecutor(asked.jobs) as pool:
        found = []
        for paper in pool.map(lambda paper: grade(paper, asked.seconds, size, Path(kept)), handed_in):
            found.append(paper)
            write(found, asked.output)  # at once, in case a notebook ends this process too
            total = f"{paper.points} of {len(paper.exercises)}" if paper.graded and paper.exercises else "not graded"
            encoding = sys.stdout.encoding or "ascii"
            print(f"{total:>10}  {plain(paper.name)}".encode(encoding, "replace").decode(encoding), flush=True)
    print(f"wrote {asked.output}")
    return 0 if all(paper.graded for paper in found) else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--judge"]:
        judge_notebook()
    elif sys.argv[1:2] == ["--notebook"]:
        run_notebook(json.loads(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(main())
