"""What the package has in the place of NumPy and of Tensors, where NumPy cannot be imported (seen in this process).

`tests/compiler/test_without_numpy.py` runs whole programs so, in a process of their own.
"""

import runpy
import sys
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], dict[str, Any]]:
    """Execute a module of the folder once more, where another cannot be imported; its names."""

    def execute(name: str, missing: str) -> dict[str, Any]:
        monkeypatch.delitem(sys.modules, "micrograd.tensor.functions")
        monkeypatch.setitem(sys.modules, missing, None)
        return runpy.run_module(f"micrograd.tensor.{name}")

    return execute


def test_objects_are_of_no_kind_that_numpy_would_have_made(again: Callable):
    names = again("optional", "numpy")
    np = names["np"]
    for kind in (names["Tensor"], names["ArrayNode"], np.ndarray, np.random.Generator):
        assert not isinstance(1.0, kind)
    assert not np
    assert not hasattr(np, "__wrapped__")  # what looks for it would look for ever
    with np.errstate(all="ignore"):
        assert np.random.default_rng(0) is not None
    assert names.keys() >= {*names["__all__"]}


def test_folder_of_tensors_says_what_is_missing_once_a_tensor_is_asked_for(again: Callable):
    getattr_of_the_folder = again("__init__", "numpy")["__getattr__"]
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        getattr_of_the_folder("Tensor")
    with pytest.raises(AttributeError, match="another"):
        getattr_of_the_folder("another")


@pytest.mark.parametrize("name", ["optional", "__init__"])
def test_module_of_our_own_that_is_missing_is_not_taken_for_numpy(again: Callable, name: str):
    with pytest.raises(ModuleNotFoundError, match=r"micrograd\.tensor\.node"):
        again(name, "micrograd.tensor.node")
