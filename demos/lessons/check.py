"""Answers to the exercises, checked offline: `check("1.2", answer)` says that it is right, or what is wrong with it.

An exercise is a function that takes the answer; it returns None if the answer is right, else a hint, a sentence. Those
of lesson 1 are in exercises/lesson_01.py, and so on; the solutions are in the notebooks, folded away. An unchanged cell
is recognised by its digest in exercises/untried.json, which refresh.py writes.
"""

import hashlib
import importlib
import importlib.util
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

if importlib.util.find_spec("micrograd") is None:  # on a fresh machine: this repository, two folders up, or its wheel
    there = next(HERE.parents[1].glob("micrograd_glass-*.whl"), HERE.parents[1])
    needed = (f"{there}[demo]", "names")  # Jupyter is there, since it runs the lesson
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *needed], check=True)
    importlib.invalidate_caches()
if importlib.util.find_spec("micrograd.tensor") is None:
    raise ImportError(
        "found the classic micrograd, which has the same name: make an environment without it "
        "(python -m venv lessons), and install this repository there (pip install '../..[demo]' names)"
    )

Checker = Callable[[Any], str | None]
EXERCISES: dict[str, Checker] = {}
RIGHT: dict[str, bool] = {}  # what the last check of an exercise said


class NotAnAnswer(TypeError):
    """The answer is of the wrong kind; the message says which."""


def digest(cell: str) -> str:
    """A digest of a cell's code."""
    return hashlib.sha256(cell.strip().encode()).hexdigest()[:12]


def is_untried(exercise: str) -> bool:
    """True if the notebook's cell is unchanged."""
    cells = getattr(sys.modules["__main__"], "In", [""])  # a notebook's, or that of a lesson's page
    untried = json.loads((HERE / "exercises" / "untried.json").read_text(encoding="utf-8"))
    return digest(cells[-1]) == untried.get(exercise)


def check(exercise: str | float, answer: Any) -> None:
    """Print whether the answer to an exercise is right, and if not, a hint; "your turn" while nobody has tried."""
    exercise = str(exercise)  # 1.2 is meant as "1.2"
    lesson = exercise.partition(".")[0]
    try:
        importlib.import_module(name := f"exercises.lesson_{lesson:0>2}")
    except ModuleNotFoundError as error:
        if error.name != name:  # a module that the exercise imports is missing
            raise
        raise LookupError(f"there is no lesson {lesson!r}: say which exercise as in '1.2'") from None
    if exercise not in EXERCISES:
        there = [name for name in EXERCISES if name.partition(".")[0] == lesson]
        raise LookupError(f"there is no exercise {exercise!r}; lesson {lesson} has {', '.join(there)}")
    RIGHT[exercise] = False
    if is_untried(exercise):
        print(f"{exercise}  your turn")
        return
    try:
        hint = EXERCISES[exercise](answer)
    except NotAnAnswer as error:
        hint = str(error)
    except Exception as error:
        hint = raised(error)
    RIGHT[exercise] = hint is None
    print(f"{exercise}  ✓ right" if hint is None else f"{exercise}  ✗ {hint}")


def progress(folder: Path = HERE) -> None:
    """Print a map of the course: exercises that are right (✓), wrong (✗) or not tried (·), as saved notebooks say."""
    untried = json.loads((HERE / "exercises" / "untried.json").read_text(encoding="utf-8"))
    count = 0
    for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", [])]
        printed = "".join("".join(output.get("text", "")) for output in outputs)
        said = dict(re.findall(r"^(\d+\.\d+)  (✓|✗)", printed, re.MULTILINE))
        names = [name for name in untried if int(name.partition(".")[0]) == int(path.name[:2])]
        marks = [said.get(name, "·") for name in names]
        count += marks.count("✓")
        print(f"{path.name[:2]}  {' '.join(marks):16} {path.stem[3:].replace('_', ' ')}")
    print(f"{count} of {len(untried)} exercises are right. Save a notebook to see its last answers here.")


def points(exercise: str) -> int:
    """Give 1 if the last check of an exercise said that it is right, else 0; nbgrader counts this number."""
    return int(RIGHT.get(exercise, False))


ADVICE = {
    "NoneType": "is a `return` missing, or a `()` too many?",
    r"unsupported operand type.*'list'": "a list is no array: compute with its elements, one by one",
    r"multiply sequence": "a list is no array: compute with its elements, one by one",
    r"could not be broadcast": "the shapes do not fit; is `keepdims=True` missing?",
    r"truth value of an array": "arrays cannot be put in order; if you sort pairs, sort by the first part, with `key=`",
    r"inhomogeneous": "one array is needed, not a list of pairs",
    r"is not iterable": "return a list, not a single number",
    r"positional arguments? but|unexpected keyword": "answer with a function that takes what the original cell's takes",
    "math range error": "exp of a large number is too large for a float; subtract the largest score first",
    "StopIteration": "there is nothing left to take; does something wait for a thing that is counted twice?",
    r"'(float|int)' object has no attribute": "a plain number arrived there, which remembers nothing; is it a Value?",
    r"must have the same shape|zip\(\) argument": "the parts have different lengths; is one cut off, or one missing?",
    "cannot reshape": "a reshape keeps all numbers, so the lengths must have the same product",
    r"complex": "a negative number has no real root; is something squared that should be?",
}


def raised(error: Exception) -> str:
    """What an answer raised, with advice where the mistake behind it is known."""
    said = f"trying it raised {type(error).__name__}: {error}"
    return "; ".join([said, *(advice for mistake, advice in ADVICE.items() if re.search(mistake, said))][:2])


def exercise(name: str, of: Callable[[Any], Any] = lambda answer: answer) -> Callable[[Checker], Checker]:
    """Register a function as the checker of an exercise; `of=number`, `of=words` ... convert the answer."""

    def enter(checker: Checker) -> Checker:
        EXERCISES[name] = lambda answer: checker(of(answer))
        return checker

    return enter


def beside(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a helper of a checker that needs the process of the answer, if the checker runs in another; see grade.py."""
    function.beside = True  # type: ignore[attr-defined]
    return function


def number_exercise(name: str, wanted: float, hints: dict[float, str], otherwise: str, tolerance: float = 1e-2) -> None:
    """Register an exercise whose answer is one number: a hint for each typical wrong one, and one for all others.

    A number that someone reads off the page and types, 3.30 for log(27), is right: `tolerance` is relative.
    """

    @exercise(name, of=number)
    def _(found: float) -> str | None:
        if math.isclose(found, wanted, rel_tol=tolerance, abs_tol=min(tolerance, 1e-3)):
            return None
        known = (hint for wrong, hint in hints.items() if near(found, wrong, min(tolerance, 5e-3)))
        return next(known, otherwise.format(found))


def number(found: Any) -> float:
    """What was found as a plain number: a float, or a Value or an array of one."""
    try:
        if not isinstance(found, str):
            return float(found.item() if hasattr(found, "item") else found)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    raise NotAnAnswer(f"a number is needed here; found {kind(found)}")


def numbers(count: int) -> Callable[[Any], list[float]]:
    """What was found as a list of `count` plain numbers."""

    def all_of(found: Any) -> list[float]:
        try:
            listed = [number(each) for each in found]
        except TypeError:
            listed = []
        if len(listed) != count or isinstance(found, dict | set):
            raise NotAnAnswer(f"a list of {count} numbers is needed here; found {kind(found)}")
        return listed

    return all_of


def function(found: Any) -> Callable[..., Any]:
    """What was found, if it can be called."""
    if not callable(found):
        raise NotAnAnswer(f"answer with the function itself, without calling it; found {kind(found)}")
    return found


def functions(count: int) -> Callable[[Any], Any]:
    """What was found, if it is `count` functions or classes."""

    def all_of(found: Any) -> Any:
        if isinstance(found, tuple) and len(found) == count and all(map(callable, found)):
            return found
        raise NotAnAnswer(f"answer with a tuple of {count}, as in the original cell; found {kind(found)}")

    return all_of


def words(found: Any) -> Any:
    """What was found, if it is a list or set of strings."""
    if isinstance(found, list | tuple | set | frozenset) and all(isinstance(word, str) for word in found):
        return found
    raise NotAnAnswer(f"strings are needed here, as in {{'a', 'b'}} or ['a', 'b']; found {kind(found)}")


def shape(found: Any) -> tuple[int, ...]:
    """What was found, as a shape."""
    if isinstance(found, tuple | list) and all(isinstance(length, int) for length in found):
        return tuple(found)
    raise NotAnAnswer(f"a shape is needed here, such as (2, 3); found {kind(found)}")


def kind(found: Any) -> str:
    """What something is, in words, such as `the str 'cat'`."""
    if found is None:
        return "None: is a `return` missing?"
    if callable(found):
        return "a function"
    text, name = f"{found!r:.40}", found.__class__.__name__
    return f"an object of the class {name}" if " object at 0x" in text else f"the {name} {text}"


def near(found: Any, wanted: float, tolerance: float = 1e-3) -> bool:
    """True if a number (or a Value) is close enough to the one wanted."""
    return math.isclose(number(found), wanted, rel_tol=tolerance, abs_tol=tolerance)
