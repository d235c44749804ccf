"""What the pages in Markdown point at is there: files, and headings within them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("[a-z]*/*.md")])


def anchors(page):
    """What a code host makes of a page's headings: small letters, no marks, dashes for blanks."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name):
    page = ROOT / name
    for path, heading in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / path if path else page
        assert target.exists(), f"{name} points at {path}"
        if heading:
            assert heading in anchors(target), f"{name} points at {path}#{heading}"


def test_the_readme_leads_to_lessons_api_and_map():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    door = text[: text.index("\n## ")]
    assert {"demos/README.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= {path for path, _ in LINK.findall(door)}
    assert all(word in door for word in ("**Learn**", "**Use**", "**Change**", "make demo", "make test", "24.7041"))
