"""Gathers what Sphinx reads, in one folder: site/pages/, the lessons, and the repository's own pages."""

import json
import re
import sys
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "demos" / "lessons"))
import course

ROOT = Path(__file__).resolve().parent.parent

# A page of the repository, and where it is in the site.
PAGES = {
    "docs/use.md": "use.md",
    "demos/README.md": "lessons.md",
    "demos/one_page.py": "one-page.md",
    "CONTRIBUTING.md": "how/adding.md",
    "docs/publish.md": "how/publishing.md",
    "benchmarks/README.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
}
# Lessons whose cells run in a page without NumPy, all but those that use matplotlib; and what the others import.
RUN_HERE = ("01", "02", "03", "04", "05", "06", "07", "10", "25")
NUMPY = ("numpy", "matplotlib", "scikit-learn", "safetensors", "pillow")
DRILLS = {"02": (1,), "03": (2,), "05": (3,), "09": (4, 5)}  # the levels of the drills that a lesson leads to
GPT = ("17", "18", "19")  # lessons that lead to the page on which one trains
NOT_HERE = "need Python and Jupyter: in a checkout, <code>make lessons</code>"
LIVE = re.compile(r"`(live/\w+\.html)`")  # a page that Sphinx knows nothing of
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")


def runs(lesson: str, numpy: bool) -> bool:
    """Whether the cells of a lesson run in a browser."""
    return lesson.startswith(RUN_HERE) or (numpy and course.LESSONS[int(lesson[:2])].in_browser)


def gather(folder: Path, mathjax: Path, lite: bool = False, numpy: bool = False) -> None:
    """Write all sources, and MathJax beside them.

    A file that has not changed is left alone, so that Sphinx reads it once; one that is not wanted any more is removed.
    """
    wanted: dict[str, bytes] = {}
    here = ROOT / "site" / "pages"
    for path in sorted(here.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            wanted[path.relative_to(here).as_posix()] = path.read_bytes()
    for path in ROOT.glob("docs/*.*"):
        if path.suffix in (".svg", ".png", ".gif"):
            wanted[f"_static/{path.name}"] = path.read_bytes()  # where HTML may point, and a package index too
    for source, name in pages().items():
        text = (ROOT / source).read_text(encoding="utf-8")
        wanted[name] = moved(arranged(name, text, numpy), source, name).encode()
    for path in sorted(ROOT.glob("demos/lessons/*.ipynb")):
        wanted[f"lessons/{path.name}"] = lesson(path, lite, numpy).encode()
    wanted[f"_static/mathjax/{mathjax.name}"] = mathjax.read_bytes()
    for path in [*folder.rglob("*")]:
        if path.is_file() and path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    for name, content in wanted.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def pages() -> dict[str, str]:
    """All pages of the repository that are in the site; each one in docs/ is a guide unless it stands in the table."""
    guides = {path.relative_to(ROOT).as_posix(): f"guides/{path.name}" for path in sorted(ROOT.glob("docs/*.md"))}
    return guides | PAGES


def arranged(name: str, text: str, numpy: bool = False) -> str:
    """A page with what it needs in the site, such as lists of what is below."""
    if name == "lessons.md":
        lessons = [path.stem for path in sorted(ROOT.glob("demos/lessons/*.ipynb"))]
        names = "\n".join(f"lessons/{lesson}" for lesson in lessons)
        *some, last = [str(int(lesson[:2])) for lesson in lessons if runs(lesson, numpy)]
        here = f"The cells of lessons {', '.join(some)} and {last} run in the page; the others {NOT_HERE}."
        course = text[text.index("## Lessons") :].replace("## Lessons", f"# Lessons\n\n{here}", 1)
        return f"{course}\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    if name == "one-page.md":
        return f"# Micrograd on one page\n\n`python -m micrograd page` prints it.\n\n```python\n{text}```\n"
    if name == "changelog.md" or text.startswith("# "):
        return text
    return f"# {name}\n\n{text}"


def moved(text: str, source: str, name: str) -> str:
    """Links as they are right in the site; what is not in it is named, and not linked."""

    def link(found: re.Match[str]) -> str:
        picture, words, path, heading = found.groups()
        if not path:
            return found[0]
        target = (ROOT / source).parent / path
        inside = target.resolve().relative_to(ROOT).as_posix() if target.resolve().is_relative_to(ROOT) else ""
        there = pages().get(inside)
        if there is None and inside.startswith("demos/lessons/") and inside.endswith(".ipynb"):
            there = inside.removeprefix("demos/")
        if there is None and picture and inside.startswith("docs/"):
            there = inside.replace("docs/", "_static/", 1)
        if there is None:
            return words
        return f"{picture}[{words}]({up}{there}{heading or ''})"

    up = "../" * name.count("/")
    return LIVE.sub(rf'<a href="{up}\1">\1</a>', LINK.sub(link, text))


def lesson(path: Path, lite: bool, numpy: bool) -> str:
    """A notebook with links that are right in the site, and one to the lesson's own example in the playground."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    example = (ROOT / "site" / "live" / "examples" / f"lesson_{path.name[:2]}.py").read_text(encoding="utf-8")
    name = quote(example.partition("\n")[0].removeprefix("# "))
    here = runs(path.name, numpy)
    words = "run in this page" if here else NOT_HERE
    live = f'<a href="../live/playground.html#example={name}">Play with an example</a>: drag its numbers, and look'
    if lite and here:
        live += f'. <a href="../lite/lab/index.html?path={path.name}">Open it as a notebook in this browser</a>'
    for level in DRILLS.get(path.name[:2], ()):
        live += f'. <a href="../live/drills.html#level={level}">Drill it</a>: level {level}'
    if path.name.startswith(GPT):
        live += '. <a href="../live/names.html">See a GPT train</a>: its attention, and the names that it makes up'
    live = f"<p>The cells {words}. {live}.</p>"
    if here:
        packages = f' data-packages="{" ".join(NUMPY)}"' if numpy else ""
        live += f'<script type="module" src="../live/cells.js"{packages}></script>'
    notebook["cells"][0]["source"] = "".join(notebook["cells"][0]["source"]) + f"\n\n{live}\n"
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            source = f"demos/lessons/{path.name}"
            cell["source"] = moved("".join(cell["source"]), source, f"lessons/{path.name}")
    return json.dumps(notebook, ensure_ascii=False)


if __name__ == "__main__":
    gather(*map(Path, sys.argv[1:3]), lite="lite" in sys.argv[3:], numpy="numpy" in sys.argv[3:])
