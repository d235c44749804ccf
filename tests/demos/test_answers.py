"""What a thousand silly and wrong answers, 300 typical mistakes and two hundred right answers are told.

answers.json has the answers: an expression, or a piece of the solution and what stands there instead. Those that are
`hinted` begin with the words of the hint that they must get. The `wrong` ones were written before anybody looked at
what the checkers say."""

import ast
import io
import json
import math
import re
import sys
import warnings
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from micrograd import Function, Tensor, Value

pytestmark = pytest.mark.lessons

for package in ("names", "sklearn"):
    if find_spec(package) is None:
        pytest.skip(f"no {package}", allow_module_level=True)
LESSONS = Path(__file__).parents[2] / "demos" / "lessons"
sys.path.insert(0, str(LESSONS))
import check  # noqa: E402
import handout  # noqa: E402

ANSWERS = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))
NAMES = [*dict.fromkeys(name for name, *_ in ANSWERS["wrong"])]
over_lessons = pytest.mark.parametrize("lesson", [*dict.fromkeys(name.partition(".")[0] for name in NAMES)])


@cache
def cells_of(lesson):
    [path] = LESSONS.glob(f"{int(lesson):02}_*.ipynb")
    return handout.cells_of(path)


@cache
def before(name):
    """What a lesson defines above an exercise, as pieces of code that need no data, and the exercise's own cell."""
    code = []
    for cell in cells_of(name.partition(".")[0]):
        if handout.exercise(cell) == name:
            return code, re.sub(r"^check\(.*", "", cell["source"], flags=re.MULTILINE)
        if cell["cell_type"] == "code":
            tree = ast.parse(re.sub(r"^\s*[%!].*", "", cell["source"], flags=re.MULTILINE))
            code += [ast.unparse(node) for node in tree.body if is_quick(node)]
    raise LookupError(f"no cell checks {name}")


def is_quick(node):
    """Whether a statement defines or imports something, without training a network."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return not re.search(r"matplotlib|IPython|torch", ast.unparse(node))
    if isinstance(node, ast.Assign):
        return re.fullmatch(r"[\d.]+|'.*'|(Value|Number)\(.*\)", ast.unparse(node.value)) is not None
    return isinstance(node, (ast.FunctionDef, ast.ClassDef))


def answered(name, old, *new):
    """The answer that an expression is, where the solution has run, or the solution's with a piece exchanged."""
    code, asked = before(name)
    found, solution = [], handout.solutions_of(cells_of(name.partition(".")[0]))[name]
    space = {"__name__": "__main__", "np": np, "math": math, "Value": Value, "Tensor": Tensor, "Function": Function}
    with redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
        for piece in code:
            with suppress(NameError, ImportError):  # it needs the lesson's data, or a file beside the lessons
                exec(piece, space)
        space["check"] = lambda _, answer: found.append(answer)
        if new:
            assert old in solution, f"the solution of {name} has no {old!r}"
            start, _, end = solution.rpartition(old)
            exec(f"{asked}\n{start}{new[0]}{end}", space)
            return found[-1]
        with suppress(NameError):
            exec(f"{asked}\n{solution}", space)
        return eval(old, space)


def said(name, answer):
    """What check says of an answer, without the exercise's name."""
    out = io.StringIO()
    with redirect_stdout(out), warnings.catch_warnings(action="ignore"):
        check.check(name, answer)
    return out.getvalue().rpartition(f"{name}  ")[2].strip()


@cache
def told(kind, lesson):
    """The answers of a lesson, and what is said of each."""
    given = [row for row in ANSWERS[kind] if row[0].partition(".")[0] == lesson]
    return [(row, said(row[0], answered(*row))) for row in given]


@cache
def hinted(lesson):
    """The same of the typical mistakes: the answer, the words that its hint must have, and what is said of it."""
    given = [row for row in ANSWERS["hinted"] if row[1].partition(".")[0] == lesson]
    return [(answer, words, said(answer[0], answered(*answer))) for words, *answer in given]


@over_lessons
def test_silly_answers_are_refused(lesson):
    assert [row for row, hint in told("wrong", lesson) if not hint.startswith("✗ ")] == []


@over_lessons
def test_typical_mistake_gets_the_hint_at_it(lesson):
    assert [(answer, words, hint) for answer, words, hint in hinted(lesson) if words not in hint] == []


@over_lessons
def test_each_exercise_has_three_hints_for_three_mistakes(lesson):
    hints = {}
    for (name, *_), hint in [*told("wrong", lesson), *((answer, hint) for answer, _, hint in hinted(lesson))]:
        hints.setdefault(name, set()).add(re.sub(r"\[[^\]]*\]|\([^)]*\)|-?\d[\d.,e+-]*", "#", hint))
    assert {name: found for name, found in hints.items() if len(found) < 3} == {}


@over_lessons
def test_right_answers_are_accepted_however_they_are_put(lesson):
    assert [(row, hint) for row, hint in told("right", lesson) if hint != "✓ right"] == []


def test_every_exercise_has_wrong_answers():
    untried = json.loads((LESSONS / "exercises" / "untried.json").read_text(encoding="utf-8"))
    assert set(untried) == set(NAMES)
