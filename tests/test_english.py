"""Words that are clear to their author alone, and what a native engineer would write instead; and few telegrams."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
INSTEAD = {
    r"whoever|whomever": "the caller, anyone who",
    r"anew": "again",
    r"owe[sd]?": "the gradient it sends",
    r"of (?:its|their|ones) own": "separate, its own",
    r"go(?:es)? unseen|by stealth|without a word": "is not detected",
    r"in the place of": "instead of",
    r"(?:is|are|was|were) let go|lets? go of": "is released",
    r"inside of": "inside",
    r"asked is": "the question is",
    r"so many (?:bytes|numbers|pixels|plain|processes|steps|workers)": "n, a number of",
    r"we shall": "we will",
    r"(?:is|are) given (?:by keyword|to it)|what (?:is|was|it was) given": "takes, pass",
    r"must (?:be|stand) so": "must hold",
}
PAGES = [
    *ROOT.glob("*.md"),
    *(path for folder in ("micrograd", "demos", "docs") for path in ROOT.joinpath(folder).rglob("*")),
]
PAGES = [path for path in PAGES if path.suffix in {".py", ".md", ".ipynb", ".js"} and "api" not in path.parts]


def prose(path):
    """What is written in a file; of a notebook, without what its cells show."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return re.sub(r"\s+(?:#|//)?\s*", " ", text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_it_is_said_in_plain_english(path):
    text = prose(path)
    found = [
        f"...{text[max(m.start() - 40, 0) : m.end() + 20]}...: {instead}"
        for word, instead in INSTEAD.items()
        for m in re.finditer(rf"\b(?:{word})\b", text)
    ]
    assert found == []


# ---------------------------------------------------------------------------------------------------------------------
# A telegram is a clause, a colon or a semicolon, and then a phrase without a verb. Too many of them tire a reader.

READ = [
    *(path for folder in (".", "benchmarks", "docs") for path in ROOT.joinpath(folder).glob("*.md")),
    *ROOT.glob("demos/lessons/*.ipynb"),
]
READ = sorted(path.relative_to(ROOT).as_posix() for path in READ)
MARKS = {"colons": (r":(?![^\W_]|//)", 10), "semicolons": (r";", 5)}  # how many may stand in 1,000 words
NOT_READ = {
    r"<!-- make bench.*?<!-- to here -->": "",
    r"^```.*?^```": "",
    r"^(?:\||#|>).*$": "",
    r"<[^>]+>": "",
    r"`[^`]*`": "code",
    r"\]\([^)]*\)": "]",
    r"https?:\S+": "address",
}


def read_aloud(text):
    """The sentences of a page in Markdown, without its code, tables, headings, addresses and generated parts."""
    for what, instead in NOT_READ.items():
        text = re.sub(what, instead, text, flags=re.MULTILINE | (re.DOTALL if "*?" in what else 0))
    return text


def words_of(path):
    """The text of a page; of a notebook, that of its cells of text, without the solutions."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
    return "\n\n".join(cell for cell in cells if not cell.startswith("<details>"))


def too_many(text):
    """Which marks a text has too many of, and where."""
    text = read_aloud(text)
    words, found = len(text.split()), []
    for name, (mark, of_thousand) in MARKS.items():
        most = max(1, words * of_thousand // 1000)  # a short page may have one
        places = [text[max(m.start() - 30, 0) : m.end() + 15] for m in re.finditer(mark, text)]
        if len(places) > most:
            found.append(
                f"{len(places)} {name}, at most {most} in {words} words: write sentences with a verb. {places}"
            )
    return found


@pytest.mark.parametrize("name", READ)
def test_a_page_is_written_in_sentences_rather_than_in_telegrams(name):
    assert too_many(words_of(ROOT / name)) == []


def test_a_telegram_is_noticed_and_a_table_is_not():
    telegrams = "Speed: side by side. A reader: tired; a page: long; and so on.\n"
    assert [found.split(",")[0] for found in too_many(telegrams)] == ["3 colons", "2 semicolons"]
    assert (
        too_many("# A: b\n\n| a: b; c: d |\n\n```\na: int; b: int\n```\n\n`a: b; c`, [here](https://a.b: c).\n") == []
    )
