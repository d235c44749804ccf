"""Grade the notebooks in a folder: `python -m micrograd grade FOLDER` writes points.csv, with a row for each of them.

Each notebook runs in a separate process, in a scratch copy of the course, with limits of time and memory. The calls
of `check` in its cells are turned into calls of a judge, which has loaded the checkers before the first cell runs. The
notebook imports other copies of `check` and of the exercises. So nothing that it prints, replaces or overwrites there
is an answer. In a cell that was changed, the last call of `check` for an exercise counts, so that trying all numbers is
no answer.

Python cannot lock a program out of the process that it runs in. If a checker accepts nonsense after a notebook has
run, the notebook has changed what the checker uses, and the table says so. Run this in a container, since a notebook
may do what you may.
"""

import argparse
import ast
import csv
import json
import linecache
import math
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

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GIGABYTE = 1 << 30
LARGEST = 64 << 20  # bytes of a notebook, and of a file that a notebook writes
CELLS = 5  # a notebook may take as long as this many cells
KEPT = {"PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL", "SYSTEMROOT"}  # of the environment
NONSENSE = (object(), math.nan, [math.nan] * 3, lambda *_, **__: None)  # no checker accepts one of these


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
# In the process of a notebook


class OutOfTime(BaseException):
    """A cell has run for too long; `except Exception` does not catch this."""


def work(asked: dict[str, Any], report: Callable[..., None]) -> None:
    """Run the cells of one notebook, and report a verdict for each exercise.

    Args:
        asked: the cells, the exercises and the limits; see `grade`.
        report: takes what became of one exercise.
    """
    limit(asked["bytes"])
    sys.path.insert(0, str(HERE))
    import check

    checkers: dict[str, check.Checker] = {}
    for lesson in {name.partition(".")[0] for name in asked["exercises"]}:
        try:
            __import__(f"exercises.lesson_{lesson:0>2}")
        except ImportError as error:
            report(lacks=error.name or str(error))
            return
    checkers |= check.EXERCISES
    untried = json.loads((HERE / "exercises" / "untried.json").read_text(encoding="utf-8"))
    digest, refused = check.digest, check.NotAnAnswer
    for name in [name for name in sys.modules if name == "check" or name.split(".")[0] == "exercises"]:
        del sys.modules[name]  # the notebook imports other copies, from the scratch folder
    sys.path[0] = os.getcwd()

    def hint(name: str, answer: Any) -> str | None:
        try:
            return checkers[name](answer)
        except refused as error:
            return str(error)
        except Exception as error:
            return f"trying it raised {type(error).__name__}: {error}"

    def judge(exercise: str | float, answer: Any) -> None:
        name = str(exercise)
        if name not in checkers:
            report(exercise=name, note="there is no such exercise")
        elif cell_digest == untried.get(name):
            report(exercise=name, note="nobody has tried it")
        elif (said := hint(name, answer)) is not None:
            report(exercise=name, note=said)
        elif any(hint(name, nonsense) is None for nonsense in NONSENSE):
            report(exercise=name, note="read this notebook: after it has run, the checker accepts nonsense too")
        else:
            report(exercise=name, right=True)
        judged.add(name)

    main = notebook_module()
    broken = ""
    for place, cell in enumerate(asked["cells"]):
        judged: set[str] = set()
        cell_digest, note = digest(cell), ""
        try:
            code = compiled(cell, f"<cell {place + 1}>")
            main.__dict__[JUDGE] = judge
            with alarm(asked["seconds"]):
                exec(code, main.__dict__)
        except OutOfTime:
            note = f"its cell was stopped after {asked['seconds']:g} seconds"
        except MemoryError:
            note = f"its cell needs more than {asked['bytes'] / GIGABYTE:g} GiB of memory"
        except SyntaxError as error:
            note = f"its cell is not Python: {error.msg}, in line {error.lineno}"
        except BaseException as error:  # SystemExit too
            note = f"its cell raised {type(error).__name__}: {error}"
        for name in set(checked(cell)) - judged if note else ():
            report(exercise=name, note=note)
        if note and not (checked(cell) or broken):  # what comes below may lack what this cell defines
            broken = note.replace("its cell", f"cell {place + 1}")
            report(broken=broken)
    report(ended=True)


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
def alarm(seconds: float) -> Iterator[None]:
    """Raise OutOfTime after a while, and every second from then on, where the system has such a clock."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise OutOfTime

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def worker() -> None:
    """The process of one notebook: stdin has what is asked as JSON, and the results go to a file that it names."""
    asked = json.loads(sys.stdin.readline())
    token = asked.pop("token")
    with open(asked.pop("results"), "a", encoding="utf-8") as results:

        def report(**what: object) -> None:
            what["note"] = str(what.get("note", ""))[:500]
            results.write(json.dumps(what | {"token": token}) + "\n")
            results.flush()

        work(asked, report)
        os._exit(0)  # what the notebook has registered for the end has nothing to say


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
        scratch, results = Path(place, "demos", "lessons"), Path(place, secrets.token_hex(8))
        leave_out = shutil.ignore_patterns("*.ipynb", "__pycache__", ".*", "out")
        shutil.copytree(HERE.parent, scratch.parent, ignore=leave_out)
        own = {"HOME": place, "TMPDIR": place, "MPLCONFIGDIR": str(kept), "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(HERE / "grade.py"), "--worker"],
            cwd=scratch,
            env={name: value for name, value in os.environ.items() if name in KEPT} | own | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        token = secrets.token_hex(16)
        asked = {"cells": paper.cells, "exercises": paper.exercises, "seconds": seconds, "bytes": size}
        late = False
        try:
            process.communicate(json.dumps(asked | {"token": token, "results": str(results)}) + "\n", seconds * CELLS)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
            process.wait()
        told = results.read_text(encoding="utf-8", errors="replace").splitlines() if results.exists() else []
    enter(paper, [entry for line in told if (entry := understood(line)).get("token") == token])
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
    sys.exit(worker() if sys.argv[1:] == ["--worker"] else main())
