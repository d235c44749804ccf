"""The API reference: it builds without a warning, and has what users look for."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_reference_builds_without_a_warning(tmp_path):
    pytest.importorskip("pdoc")
    command = [sys.executable, "-W", "error", str(ROOT / "docs" / "build.py"), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    first = (tmp_path / "micrograd.html").read_text(encoding="utf-8")
    for name in ("Value", "Tensor", "backward", "grad", "no_grad", "gradcheck", "Function", "compile", "draw_dot"):
        assert f'id="{name}"' in first
    for page in ("nn", "optim", "functional", "viz"):
        assert (tmp_path / "micrograd" / f"{page}.html").is_file()


def test_the_stubs_are_those_that_the_tables_make(monkeypatch):
    pytest.importorskip("ruff", reason="ruff, which formats the stubs, is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import stubs

    for path, text in stubs.stubs().items():
        assert path.read_text(encoding="utf-8") == text, "run docs/stubs.py"
