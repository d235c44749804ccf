"""What the tests of the demos share."""

import runpy
import sys
from pathlib import Path

import pytest


def check_that_it_names_what_is_missing(
    demo: Path, package: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without the package a demo ends with one sentence, which says how to install it."""
    take_away(package, monkeypatch)
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(demo), run_name="__main__")
    needed = f'This demo needs {package}, which is not installed here: pip install "micrograd-glass[demos]"'
    assert stop.value.code == needed  # Python prints it, and exits with 1
    assert capfd.readouterr() == ("", "")


def take_away(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test ends, importing this package or what lies in it fails as where it is not installed."""
    for name in [name for name in sys.modules if name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
