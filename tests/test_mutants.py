"""The mutation run finds what no test notices, and only that. (`make mutants` runs it over the package.)"""

from __future__ import annotations

from collections.abc import Callable
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


CHANGED: dict[str, list[str]] = {
    "x = a < b": ["x = (a <= b)", "x = (a >= b)"],
    "x = a is b": ["x = (a is not b)", "x = (a == b)"],
    "x = a is None": ["x = (a is not None)"],
    "x = a.__class__ is b": ["x = (a.__class__ is not b)"],
    "x = zip(a, strict=True)": [],
    "x = a @ b": ["x = (a * b)"],
    "x = not a": ["x = (a)"],
    "x = f(a, k=b)": ["x = (f(a))"],
    "x = f(a, b)": ["x = (f(a))"],
    "f(a)": ["pass"],
    "x.a = b": ["pass"],
    "x += 1": ["x -= 1", "pass", "x += 2"],
    "while a: x": ["while False: x"],
    "if a: x": ["if True: x", "if False: x"],
    "raise E(1 + 1)": ["pass"],
    "def f(a: 1 = 2): return a": ["def f(a: 1 = 2): return None"],
    "def f():\n '1 < 2'\n return f'{1 + 1}'": ["def f():\n '1 < 2'\n return None"],
}


@pytest.mark.parametrize(("source", "expected"), CHANGED.items(), ids=CHANGED)
def test_place_is_changed_where_it_runs_and_nowhere_else(source: str, expected: list[str]):
    assert [mutant.text for mutant in mutants.mutants_of("x.py", source.encode())] == expected


def test_draw_depends_on_the_seed_alone(root: Path):
    draw: Callable = lambda seed: [m.text for m in mutants.drawn(root, ["tiny"], 4, seed)]  # noqa: E731
    assert draw(1) == draw(1) != draw(2)
