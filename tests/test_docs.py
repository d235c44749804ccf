"""The stubs, which editors and type checkers read. The pages are tested in browser/test_site.py."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_stubs_are_those_that_the_tables_make(monkeypatch):
    pytest.importorskip("ruff", reason="ruff, which formats the stubs, is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import stubs

    for path, text in stubs.stubs().items():
        assert path.read_text(encoding="utf-8") == text, "run docs/stubs.py"
