"""What the tests of the demos share."""

import importlib.util
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

DEMOS = Path(__file__).parent.parent / "demos"


def demo_module(name: str) -> ModuleType:
    """A demo as a module. Where it says that it needs what is not installed, the test is skipped, or the file."""
    spec = importlib.util.spec_from_file_location(f"{name}_demo", DEMOS / f"{name}.py")
    demo = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(demo)
    except SystemExit as stop:
        needed = re.search(r"needs (\w+)", str(stop))
        pytest.skip(f"no {needed[1]}", allow_module_level=True)
    return demo


def check_that_it_names_what_is_missing(
    demo: Path, package: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without the package a demo ends with one sentence, which says how to install it."""
    take_away(package, monkeypatch)
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(demo), run_name="__main__")
    install = {"sklearn": "scikit-learn", "micrograd": "."}.get(package, package)
    needed = f"This demo needs {package}, which is not installed here: pip install {install}"
    assert stop.value.code == needed  # Python prints it, and exits with 1
    assert capfd.readouterr() == ("", "")


def take_away(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test ends, importing this package or what lies in it fails as where it is not installed."""
    for name in [name for name in sys.modules if name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
