"""What the tests of the demos share."""

import sys

import pytest


def take_away(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test ends, importing this package or what lies in it fails as where it is not installed."""
    for name in [name for name in sys.modules if name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
