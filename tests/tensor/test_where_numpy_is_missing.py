"""What the package has in the place of NumPy and of Tensors, where NumPy cannot be imported (seen in this process).

`tests/compiler/test_without_numpy.py` runs whole programs so, in a process of their own.
"""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import micrograd.tensor

FOLDER = Path(micrograd.tensor.__file__).parent
OPTIONAL, WHOLE = "micrograd.tensor.optional_again", "micrograd.tensor_again"


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], ModuleType]:
    """Execute `optional.py` or `__init__.py` once more, by another name, where a module cannot be imported."""

    def execute(name: str, missing: str) -> ModuleType:
        file, folder = ("optional.py", None) if name == OPTIONAL else ("__init__.py", [str(FOLDER)])
        spec = importlib.util.spec_from_file_location(name, FOLDER / file, submodule_search_locations=folder)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setitem(sys.modules, missing, None)
        spec.loader.exec_module(module)
        return module

    return execute


def test_objects_are_of_no_kind_that_numpy_would_have_made(again: Callable[[str, str], ModuleType]):
    there = again(OPTIONAL, "numpy")
    for kind in (there.Tensor, there.ArrayNode, there.np.ndarray, there.np.random.Generator):
        assert not isinstance(1.0, kind)
    assert not there.np
    with there.np.errstate(all="ignore"):
        assert there.np.random.default_rng(0) is not None
    assert all(hasattr(there, name) for name in there.__all__)


def test_folder_of_tensors_says_what_is_missing_once_a_tensor_is_asked_for(
    again: Callable[[str, str], ModuleType],
):
    there = again(WHOLE, "numpy")
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        _ = there.Tensor
    with pytest.raises(AttributeError, match="another"):
        _ = there.another


@pytest.mark.parametrize(("name", "missing"), [(OPTIONAL, "micrograd.tensor.node"), (WHOLE, f"{WHOLE}.tensor")])
def test_module_of_our_own_that_is_missing_is_not_taken_for_numpy(
    again: Callable[[str, str], ModuleType], name: str, missing: str
):
    with pytest.raises(ModuleNotFoundError, match=missing):
        again(name, missing)
