"""What Sphinx is told to read is there: a build takes too long to find that out."""

import importlib
import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parent.parent.parent / "site" / "pages").rglob("*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_of_the_reference_names_modules_that_there_are(path):
    for name in re.findall(r"automodule:: (\S+)", path.read_text(encoding="utf-8")):
        assert importlib.import_module(name).__doc__, name
