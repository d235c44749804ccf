"""What Sphinx is told to read is there: a build takes too long to find that out."""

import importlib
import re
from pathlib import Path

import pytest

import micrograd

PAGES = sorted((Path(__file__).parent.parent.parent / "site" / "pages").rglob("*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page_of_the_reference_names_modules_that_there_are(path):
    for name in re.findall(r"automodule:: (\S+)", path.read_text(encoding="utf-8")):
        assert importlib.import_module(name).__doc__, name


ENTRIES = [
    entry for path in PAGES for entry in re.findall(r"auto(?:class|function):: (\S+)", path.read_text(encoding="utf-8"))
]


def public_names(module):
    """What `__all__` names, or all that the module defines."""
    return getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if callable(value) and name[0] != "_" and str(getattr(value, "__module__", "")).startswith(module.__name__)
    ]


def test_every_public_name_has_one_place_in_the_reference():
    rooms = {"functional", "nn", "optim", "viz"}  # folders, whose names are public
    public = {name for room in rooms for name in public_names(getattr(micrograd, room))}
    assert public | {*micrograd.__all__} - rooms <= {entry.rpartition(".")[2] for entry in ENTRIES}
    assert len({*ENTRIES}) == len(ENTRIES)
