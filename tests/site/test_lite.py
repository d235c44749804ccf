"""JupyterLite in the site: which lessons it has, and NumPy from a folder, checked against Pyodide's lock."""

import hashlib
import json
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

import micrograd

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "site"))

from lite import LESSONS, notebook, released  # noqa: E402
from sources import RUN_HERE, arranged, lesson, runs  # noqa: E402

NEEDS = {
    "numpy": ["blas"],
    "matplotlib": ["numpy"],
    "scikit-learn": ["numpy"],
    "safetensors": [],
    "pillow": [],
    "blas": [],
    "other": [],
}


@pytest.fixture
def release(tmp_path):
    """A folder of files, and the lock that names them."""
    folder, packages = tmp_path / "release", {}
    folder.mkdir()
    for name, needs in NEEDS.items():
        (folder / f"{name}.whl").write_text(name)
        digest = hashlib.sha256(name.encode()).hexdigest()
        packages[name] = {"file_name": f"{name}.whl", "sha256": digest, "depends": needs}
    (tmp_path / "pyodide").mkdir()
    return folder, {"packages": packages}, tmp_path / "pyodide"


def test_numpy_comes_with_all_that_the_lessons_import_and_that_needs(release):
    found = dict(released(*release))
    assert set(found) == NEEDS.keys() - {"other"}
    assert {path.stem for path in release[2].iterdir()} == set(found)


def test_file_that_is_missing_or_another_is_named(release):
    folder, lock, pyodide = release
    (folder / "blas.whl").write_text("something else")
    with pytest.raises(SystemExit, match=r"blas\.whl is not the file that Pyodide's lock names"):
        dict(released(folder, lock, pyodide))
    (folder / "blas.whl").unlink()
    with pytest.raises(SystemExit, match=r"blas\.whl is missing: NUMPY is the folder of an unpacked Pyodide release"):
        dict(released(folder, lock, pyodide))


def test_lessons_that_run_in_a_browser():
    plain = [path.name[:2] for path in LESSONS if runs(path.name, numpy=False)]
    assert plain == [*RUN_HERE]
    assert {path.name[:2] for path in LESSONS if not runs(path.name, numpy=True)} == {"17", "18", "19", "23", "24"}


def test_page_of_a_lesson_says_whether_its_cells_run_and_loads_what_they_import():
    plain, whole = (lesson(LESSONS[12], False, numpy) for numpy in (False, True))
    assert "cells.js" not in plain
    assert 'cells.js\\" data-packages=\\"numpy matplotlib' in whole
    course = (ROOT / "demos" / "README.md").read_text(encoding="utf-8")
    assert "lessons 1, 2, 3, 4, 5, 6, 7, 10 and 25 run in the page" in arranged("lessons.md", course)
    assert "15, 16, 20, 21, 22 and 25 run in the page" in arranged("lessons.md", course, numpy=True)


@pytest.mark.parametrize("path", [path for path in LESSONS if path.name.startswith(RUN_HERE)], ids=str)
def test_without_numpy_no_cell_of_a_notebook_needs_it_and_each_picture_is_kept(path):
    before, after = (json.loads(text)["cells"] for text in (path.read_text(encoding="utf-8"), notebook(path, False)))
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        if "plt." not in "".join(old["source"]) or old["cell_type"] != "code":
            assert new == old
        else:
            assert new["cell_type"] == "markdown"
            assert "".join(old["source"]) in new["source"]
            picture = "".join(old["outputs"][-1]["data"]["image/png"]).replace("\n", "")
            assert f"(data:image/png;base64,{picture})" in new["source"]
    assert json.loads(notebook(path, True))["cells"] == before


@pytest.mark.parametrize("path", [path for path in LESSONS if path.name.startswith(RUN_HERE)], ids=str)
def test_cells_need_none_that_draws_by_matplotlib(path, monkeypatch, capsys):
    """Neither the page nor a notebook without NumPy runs such a cell, and none of the others imports NumPy."""
    for module in pkgutil.walk_packages(micrograd.__path__, "micrograd."):
        if not module.name.startswith("micrograd.viz.from_torch."):  # which PyTorch has to be installed for
            import_module(module.name)  # with NumPy: what is loaded without it stays so for other tests
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.syspath_prepend(str(path.parent))
    monkeypatch.chdir(path.parent)
    names: dict[str, object] = {"display": lambda *_: None}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code" and "plt." not in text:
            exec(compile(text, path.stem, "exec"), names)
    assert f"{int(path.name[:2])}.1  ✗" in capsys.readouterr().out
