"""Proofread the course: `python tools/proofread_course.py`, which `make lint` runs.

Prints each place where a lesson, the list of lessons, the glossary or a page for teachers says something other than the
table of lessons in demos/lessons/course.py.
"""

import argparse
import re
import sys
from collections.abc import Iterator

from proofread import ROOT, text_of, written

LESSONS = ROOT / "demos" / "lessons"
sys.path.append(str(LESSONS))
import course  # noqa: E402
from course import Lesson  # noqa: E402

SKIPPED = {11, 13, 21, 22}  # lessons with many ideas, which say what can be skipped
IN_WORDS = {21: "twenty-one", 26: "twenty-six"}


def page(name: str) -> str:
    """The text of a page of the guide."""
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def glossary() -> list[list[tuple[str, str, str]]]:
    """Its two tables, from the field's words to ours and back; a row ends with the number of a lesson."""
    row = re.compile(r"^\| ([^|]+) \| ([^|]+) \| \[(\d+)\]", re.MULTILINE)
    return [row.findall(table) for table in page("glossary").split("\n## ")[1:]]


def has(number: str, term: str) -> bool:
    """Whether the text of a lesson has the term."""
    text = text_of(LESSONS / course.LESSONS[int(number)].file).lower().replace("*", "")
    return term.lower().removesuffix("s") in " ".join(text.split())


def of_files() -> Iterator[str]:
    """The files beside a lesson are there, and no others."""
    if [path.name for path in sorted(LESSONS.glob("*.ipynb"))] != [lesson.file for lesson in course.LESSONS]:
        yield "the notebooks in demos/lessons are not those of the table"
    for folder in (LESSONS / "exercises", ROOT / "site" / "live" / "examples"):
        if [int(path.stem[-2:]) for path in sorted(folder.glob("lesson_*.py"))] != [*range(len(course.LESSONS))]:
            yield f"{folder}: there is not one file for each lesson"


def of_a_lesson(lesson: Lesson) -> Iterator[str]:
    """A lesson begins and ends as the table says, and bears its number; it has one problem, and the field's terms."""
    text, number = text_of(LESSONS / lesson.file), lesson.number
    end = text.partition("## What you can now do")[2]
    if course.with_head(lesson, text) != text or course.with_foot(lesson, text) != text.rstrip():
        yield "it begins or ends otherwise: run demos/lessons/refresh.py --order"
    if not text.startswith(lesson.head()) or any(other >= number for other in lesson.needed):
        yield "it needs a lesson that comes after it, or does not say what it needs"
    code = (LESSONS / "exercises" / f"lesson_{number:02}.py").read_text(encoding="utf-8")
    named = re.findall(r'(?:check\(|exercise\(\s*|^\*\*)"?(\d+)\.\d+(?:"|\*\*)', text + code, re.MULTILINE)
    if {*named} != {str(number)}:
        yield f"its exercises have the numbers of the lessons {sorted({*named})}"
    optional = re.findall(r"^## .* \(optional\)\n\n\*This section can be skipped", text, re.MULTILINE)
    if number in SKIPPED and not 2 <= len(optional) == text.count("(optional)"):
        yield "it has many ideas, and does not say which can be skipped"
    problems = [int(minutes) for minutes in re.findall(r"^### Problem \((\d+) minutes\)", text, re.MULTILINE)]
    problems = problems or [lesson.minutes] * (lesson is course.LESSONS[-1])  # which is one problem
    if len(problems) != 1 or not 30 <= problems[0] <= 60:
        yield f"one problem of 30 to 60 minutes is needed, found {problems}"
    called = re.search(r"^\*Elsewhere this is called\*: (.*?)\n\n", end, re.MULTILINE | re.DOTALL)
    bold = re.findall(r"\*\*(.+?)\*\*", called[1], re.DOTALL) if called else []
    if not bold:
        yield "it does not end with the terms of the field"
    if lost := {" ".join(term.split()).lower() for term in bold} - {term.lower() for term, _, _ in glossary()[0]}:
        yield f"the glossary lacks {lost}"


def of_links(text: str) -> Iterator[str]:
    """A link or a number that names a lesson means the one that has this name."""
    for words, number, name in re.findall(r"\[([^\]]*)\]\([^)\s]*?(\d\d)_(\w+)\.ipynb", text):
        lesson = course.LESSONS[int(number)]
        said = re.match(r"(?:[Ll]esson )?(\d+)(\. )?", words)
        titled = " ".join(words.split()) != lesson.heading if said and said[2] else False
        if lesson.name != name or titled or (said and int(said[1]) != lesson.number):
            yield f"[{words}] leads to {number}_{name}, where the table has {lesson.heading}"
    for found in re.findall(r"\b[Ll]essons?\s+(\d+(?:(?:, | and | to )\d+)*)", text):
        if any(int(number) >= len(course.LESSONS) for number in re.findall(r"\d+", found)):
            yield f"there is no lesson {found}"


def of_the_glossary() -> Iterator[str]:
    """Each term leads to a lesson that has it, and each of our words back to the term."""
    there, back = glossary()
    names = [term for term, _, _ in there]
    if names != sorted({*names}, key=str.lower):
        yield "the terms are not in order, or one stands twice"
    yield from (f"leads back to {term}, which it lacks" for _, term, _ in back if term not in names)
    rows = [*there, *((re.sub(r"^(a|the) ", "", word), term, number) for word, term, number in back)]
    yield from (f"lesson {number} has no {term!r}" for term, _, number in rows if not has(number, term))


def of_teaching() -> Iterator[str]:
    """The sessions of a class have every lesson in order and in time, and each lesson has notes; so have projects."""
    sessions = re.findall(r"^\| (\d+) \| (\[.*?) \| (\d+) \|", page("teach"), re.MULTILINE)
    lessons = [[int(number) for number in re.findall(r"\[(\d+)\]", shown)] for _, shown, _ in sessions]
    if [*map(int, next(zip(*sessions, strict=True)))] != [*range(1, len(sessions) + 1)]:
        yield "teach.md: the sessions are not numbered in order"
    if [number for numbers in lessons for number in numbers] != [*range(len(course.LESSONS))]:
        yield "teach.md: the sessions do not have every lesson once, in order"
    for numbers, (session, _, minutes) in zip(lessons, sessions, strict=True):
        if not int(minutes) == sum(course.LESSONS[number].minutes for number in numbers) <= 90:
            yield f"teach.md: session {session} is not as long as its lessons, or longer than 90 minutes"
    for session, shown, minutes in re.findall(r"^\| ([A-Z]) \| (\[.*?) \| (\d+) \|", page("teach"), re.MULTILINE):
        numbers = [int(number) for number in re.findall(r"\[(\d+)\]", shown)]
        if int(minutes) != sum(course.LESSONS[number].minutes for number in numbers):
            yield f"teach.md: session {session} is not as long as its lessons"
    inside = sum(lesson.in_browser for lesson in course.LESSONS)
    if f"{IN_WORDS[inside]} of the {IN_WORDS[len(course.LESSONS)]} lessons run" not in page("teach").replace("\n", " "):
        yield f"teach.md: {inside} lessons run in the browser"
    notes = page("teach_lessons").split("\n## ")[1:]
    if [note.partition("]")[0].lstrip("[") for note in notes] != [lesson.heading for lesson in course.LESSONS]:
        yield "teach_lessons.md: there are not notes for each lesson, in order"
    for note in notes:
        parts = re.split(r"\*\*(?:Students think|Ask|Skip)\*\*", note)
        thought = re.findall(r"^- \*[^*]+\.\* [A-Z]", parts[1], re.MULTILINE)
        if len(parts) != 4 or (len(thought), len(re.findall(r"^- ", parts[2], re.MULTILINE))) != (3, 2):
            yield f"teach_lessons.md: three misconceptions, two questions and what to skip are needed: {note[:40]}"
    for column in re.findall(r"\| ([\d, ]+) \|$", page("project").partition("## Begin")[0], re.MULTILINE):
        numbers = [int(number) for number in column.split(",")]
        if numbers != sorted({*numbers}) or numbers[-1] >= len(course.LESSONS):
            yield f"project.md: the lessons {column} are not in order, or not there"


def of_the_table() -> Iterator[str]:
    """What is written from the table is as it would be written, and a shortcut goes forwards."""
    text = course.README.read_text(encoding="utf-8")
    if course.with_tables(text) != text:
        yield "demos/README.md is not written from the table: run demos/lessons/refresh.py --order"
    for starts in course.SHORTCUTS.values():
        numbers = [course.named(start).number for start in starts.split()]
        if numbers != sorted({*numbers}):
            yield f"the shortcut {starts} goes back"
    readme, count = (ROOT / "README.md").read_text(encoding="utf-8"), IN_WORDS[len(course.LESSONS)]
    if readme.count(f"{count} lessons") != 1:
        yield f"README.md does not say that there are {count} lessons"


def faults() -> Iterator[str]:
    """All that there are."""
    for lesson in course.LESSONS:
        yield from (f"lesson {lesson.number}: {fault}" for fault in of_a_lesson(lesson))
    for path in written(". demos docs micrograd/command site/pages", ".md .py .ipynb"):
        if path.name not in {"CHANGELOG.md", "course.py"}:
            yield from (f"{path.relative_to(ROOT)}: {fault}" for fault in of_links(text_of(path)))
    yield from (f"docs/glossary.md: {fault}" for fault in of_the_glossary())
    for check in (of_files, of_teaching, of_the_table):
        yield from check()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    sys.exit("\n".join(faults()) or 0)
