"""The order of the lessons stands in one table, and whatever names a lesson agrees with it."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LESSONS = ROOT / "demos" / "lessons"
sys.path.insert(0, str(LESSONS))
import course  # noqa: E402

over_lessons = pytest.mark.parametrize("lesson", course.LESSONS, ids=lambda lesson: lesson.name)
TEXTS = [
    path
    for folder in ("", "demos", "demos/lessons", "demos/lessons/exercises", "docs", "micrograd/command", "site/pages")
    for path in sorted((ROOT / folder).glob("*"))
    if path.suffix in {".md", ".py", ".ipynb"} and path.name not in {"CHANGELOG.md", "README.md"} | {"course.py"}
]
TEXTS.append(ROOT / "demos" / "README.md")


def written(path):
    """The text of a file; of a notebook, that of its cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text


def test_the_lessons_are_those_of_the_table():
    assert [path.name for path in sorted(LESSONS.glob("*.ipynb"))] == [lesson.file for lesson in course.LESSONS]
    for folder in (LESSONS / "exercises", ROOT / "site" / "live" / "examples"):
        numbers = [int(path.stem[-2:]) for path in sorted(folder.glob("lesson_*.py"))]
        assert numbers == [lesson.number for lesson in course.LESSONS], folder


@over_lessons
def test_a_lesson_begins_and_ends_as_the_table_says(lesson):
    cells = [
        "".join(cell["source"]) for cell in json.loads((LESSONS / lesson.file).read_text(encoding="utf-8"))["cells"]
    ]
    assert cells[0].startswith(lesson.head())
    assert cells[-1].splitlines()[-1] == lesson.foot()
    assert course.with_head(lesson, cells[0]) == cells[0]
    assert course.with_foot(lesson, cells[-1]) == cells[-1]


@over_lessons
def test_a_lesson_needs_only_what_comes_before_it(lesson):
    assert all(number < lesson.number for number in lesson.needed)


@over_lessons
def test_the_exercises_of_a_lesson_bear_its_number(lesson):
    text = written(LESSONS / lesson.file) + (LESSONS / "exercises" / f"lesson_{lesson.number:02}.py").read_text("utf-8")
    names = re.findall(r'check\("(\d+)\.\d+"', text) + re.findall(r'exercise\(\s*"(\d+)\.\d+"', text)
    names += re.findall(r"^\*\*(\d+)\.\d+\*\*", text, re.MULTILINE)
    assert set(names) == {str(lesson.number)}


@pytest.mark.parametrize("number", [11, 13, 21, 22])
def test_a_lesson_with_many_ideas_says_which_can_be_skipped(number):
    text = written(LESSONS / course.LESSONS[number].file)
    optional = re.findall(r"^## .* \(optional\)\n\n\*This section can be skipped", text, re.MULTILINE)
    assert 2 <= len(optional) == text.count("(optional)")


@over_lessons
def test_a_lesson_ends_with_one_problem_of_30_to_60_minutes(lesson):
    text = written(LESSONS / lesson.file)
    problems = [int(minutes) for minutes in re.findall(r"^### Problem \((\d+) minutes\)", text, re.MULTILINE)]
    if lesson is course.named("kill"):  # which is one problem
        assert (problems, lesson.minutes) == ([], 60)
    else:
        assert len(problems) == 1
        assert 30 <= problems[0] <= 60


def test_the_list_of_lessons_is_written_from_the_table():
    text = course.README.read_text(encoding="utf-8")
    assert course.with_tables(text) == text


def test_a_shortcut_goes_forwards():
    for starts in course.SHORTCUTS.values():
        numbers = [course.named(start).number for start in starts.split()]
        assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_whatever_names_a_lesson_means_one_that_is_there(path):
    text = written(path)
    for words, number, name in re.findall(r"\[([^\]]*)\]\([^)\s]*?(\d\d)_(\w+)\.ipynb", text):
        lesson = course.LESSONS[int(number)]
        assert lesson.name == name
        if found := re.match(r"(?:[Ll]esson )?(\d+)", words):
            assert int(found[1]) == lesson.number
        if ". " in words:
            assert " ".join(words.split()) == lesson.heading
    for found in re.findall(r"\b[Ll]essons?\s+(\d+(?:(?:, | and | to )\d+)*)", text):
        assert all(0 <= int(number) < len(course.LESSONS) for number in re.findall(r"\d+", found)), found


def test_the_sessions_of_a_class_have_every_lesson_once_in_order_and_in_time():
    text = (ROOT / "docs" / "teach.md").read_text(encoding="utf-8")
    sessions = re.findall(r"^\| \d+ \| (\[.*?) \| ", text, re.MULTILINE)
    numbers = [[int(number) for number in re.findall(r"\[(\d+)\]", session)] for session in sessions]
    assert [number for session in numbers for number in session] == [lesson.number for lesson in course.LESSONS]
    for session in numbers:
        assert sum(course.LESSONS[number].minutes for number in session) <= 90, session


def test_a_project_names_lessons_that_are_there():
    text = (ROOT / "docs" / "project.md").read_text(encoding="utf-8")
    columns = re.findall(r"\| ([\d, ]+) \|$", text.partition("## Begin")[0], re.MULTILINE)
    assert len(columns) == 10
    for column in columns:
        numbers = [int(number) for number in column.split(",")]
        assert numbers == sorted(set(numbers))
        assert numbers[-1] < len(course.LESSONS)


def test_a_lesson_that_moves_takes_its_number_its_neighbours_and_its_needs_with_it(monkeypatch):
    zeroth, first, second, third, *rest = course.LESSONS
    monkeypatch.setattr(course, "LESSONS", [zeroth, first, third, second, *rest])
    assert third.file == "02_the_chain_rule.ipynb"
    assert zeroth.foot() == "Next: [1. A derivative is a nudge](01_a_derivative_is_a_nudge.ipynb)"
    assert first.foot().partition(" · ")[2] == "Next: [2. The chain rule, by hand](02_the_chain_rule.ipynb)"
    assert course.with_foot(second, "words\n\nBefore: [x](y) · Next: [z](w)").startswith(
        "words\n\nBefore: [2. The chain"
    )
    assert third.head() == "# 2. The chain rule, by hand\n\n*30 minutes. You need: lessons 1 and 3.*"
    assert course.with_head(third, "# 3. Old\n\n*1 minutes. You need: x.*\n\nmore") == f"{third.head()}\n\nmore"


# ------------------------------------------------------------------------------------------------ terms of the field
TERMS = [
    "XOR",
    "hidden layer",
    "initialization",
    "logits",
    "one-hot",
    "learning rate",
    "test set",
    "validation set",
    "token",
    "embedding",
    "stride",
    "computational graph",
    "loss function",
    "maximum likelihood",
    "perplexity",
    "self-attention",
    "autoregressive",
    "softmax",
    "hyperparameters",
    "linear regression",
    "logistic regression",
    "overfitting",
    "data augmentation",
    "forward pass",
    "epoch",
    "mini-batch",
    "dropout",
    "convolution",
    "momentum",
    "temperature",
    "sampling",
    "regularization",
    "broadcasting",
    "chain rule",
]
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| \[(\d+)\]", re.MULTILINE)


def glossary():
    """Its two tables, as rows of three."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    there, back = text.split("\n## ")[1:]
    return ROW.findall(there), ROW.findall(back)


def says(number, term):
    """Whether a lesson has the term in its text."""
    text = " ".join(written(LESSONS / course.LESSONS[int(number)].file).lower().replace("*", "").split())
    return term.lower().removesuffix("s") in text


@over_lessons
def test_a_lesson_ends_with_the_terms_of_the_field_and_the_glossary_has_them(lesson):
    end = written(LESSONS / lesson.file).partition("## What you can now do")[2]
    called = re.search(r"^\*Elsewhere this is called\*: (.*?)\n\n", end, re.MULTILINE | re.DOTALL)[1]
    terms = [" ".join(term.split()).lower() for term in re.findall(r"\*\*(.+?)\*\*", called, re.DOTALL)]
    assert terms
    assert set(terms) <= {term.lower() for term, _, _ in glossary()[0]}


def test_the_glossary_leads_from_each_term_to_a_lesson_that_has_it():
    there, _ = glossary()
    names = [term for term, _, _ in there]
    assert names == sorted(set(names), key=str.lower)
    assert [term for term in TERMS if term not in names] == []
    assert [(term, number) for term, _, number in there if not says(number, term)] == []


def test_the_glossary_leads_back_from_the_words_of_the_lessons():
    there, back = glossary()
    assert {term for _, term, _ in back} <= {term for term, _, _ in there}
    words = [(re.sub(r"^(a|the) ", "", word), number) for word, _, number in back]
    assert [(word, number) for word, number in words if not says(number, word)] == []
