"""Words that are clear to their author alone: what a native engineer would write instead."""

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
