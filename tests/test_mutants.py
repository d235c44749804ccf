"""The mutation run finds what no test notices, and only that. (`make mutants` runs it over the package.)"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("resource", reason="the mutation run limits the memory of its tests, which takes Unix")
import mutants

TINY = '''
"""A tiny module: 1 < 2."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiny import absent

def size(a: int, b: int = 1 + 1) -> int:
    """Say how far from 0 it is: 3 > 2."""
    return abs(-a)

def unseen(a):
    return -a
'''
TESTS = """
from tiny import size

def test_size():
    assert [size(1), size(-2), size(0)] == [1, 2, 0]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {"tiny/__init__.py": TINY, "tests/tiny/test_size.py": TESTS}.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_planted_fault_is_caught_and_what_is_equivalent_or_unseen_survives(root: Path, capsys, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # which take longer to load than the tests to run
    monkeypatch.setattr(mutants, "PYTEST", [word for word in mutants.PYTEST if "hypothesis" not in word])
    run = lambda: mutants.main(["--only", "tiny"], root)  # noqa: E731
    run()
    first = capsys.readouterr().out
    assert "+    return abs((a))" in first  # the same for any number
    assert "+    return None" in first  # in `unseen`, which no test calls
    assert "1 of    4 caught" in first
    assert (root / "tiny/__init__.py").read_text(encoding="utf-8") == TINY

    monkeypatch.setattr(mutants, "run", None)  # an interrupted run goes on: nothing is run twice
    run()
    assert capsys.readouterr().out.endswith(first[first.index(".") :].splitlines()[-1] + "\n")
