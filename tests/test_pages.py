"""What README.md shows here, on a package index, and once the site has an address; `make lint` proofreads the pages."""

import re
import runpy
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest
import setuptools
from proofread import LINK

ROOT = Path(__file__).parent.parent
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("[a-z]*/*.md")])
EXAMPLES = [path.read_text(encoding="utf-8").splitlines() for path in ROOT.glob("site/live/examples/*.py")]


def test_readme_is_read_in_a_few_minutes_with_its_links_to_the_site_too(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import refresh

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(refresh.DOOR.sub(refresh.door("https://there/"), text, count=1).split()) <= 900


def test_pages_link_to_no_site_that_is_not_published():
    site = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
    pages = "".join((ROOT / name).read_text(encoding="utf-8") for name in PAGES)
    assert site or not re.search(r"https?://[^\s)]*/live/|micrograd\.example", pages)


def test_once_the_site_has_an_address_the_readme_and_the_package_index_lead_there(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import refresh

    example = re.search(r"playground\.html#example=([^)]+)", refresh.door("https://there/"))
    assert example
    named = unquote(example[1])
    (lines,) = (lines for lines in EXAMPLES if lines[0] == f"# {named}")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [line for line in re.findall(r"^>>> (.+)", readme, re.MULTILINE)[:10] if line not in lines] == []


@pytest.mark.parametrize("site", ["", "https://there/"])
def test_package_index_gets_no_link_to_a_file_and_pictures_with_an_address(site, monkeypatch):
    monkeypatch.setattr(setuptools, "setup", lambda **settings: None)
    text = runpy.run_path(str(ROOT / "setup.py"))["readme"](site)
    assert not LINK.search(re.sub(r"!\[[^]]*\]\([^)]*\)", "", text))
    pictures = re.findall(r"""(?:src|srcset)="([^"]+)"|!\[[^]]*\]\(([^)]+)\)""", text)
    assert len(pictures) == 7
    for picture in map("".join, pictures):
        assert (ROOT / "docs" / picture.rpartition("/")[2]).exists()
        assert picture.startswith(f"{site}_static/" if site else "docs/")
