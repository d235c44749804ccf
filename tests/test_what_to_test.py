"""What `make test` leaves to `make test-all`, and what it runs too since it was changed."""

import shutil
import subprocess
from pathlib import Path

import pytest
import what_to_test
from what_to_test import AREAS, ROOT, changes

LEFT_OUT = "not (long or back_ends or in_c or in_jax or in_node or lessons or pages)"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch, two commits after `main`."""
    if not shutil.which("git"):
        pytest.skip("no git")
    monkeypatch.setattr(what_to_test, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["what_to_test.py"])
    for words in (
        ["init", "--quiet", "--initial-branch", "main"],
        ["config", "user.name", "Somebody"],
        ["config", "user.email", "somebody@example.com"],
        ["commit", "--quiet", "--allow-empty", "--message", "first"],
        ["switch", "--quiet", "--create", "mine"],
        ["commit", "--quiet", "--allow-empty", "--message", "second"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def write(folder: Path, path: str, committed: bool) -> None:
    folder.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
    folder.joinpath(path).write_text("changed\n", encoding="utf-8")
    if committed:
        subprocess.run(["git", "add", path], cwd=folder, check=True)
        subprocess.run(["git", "commit", "--quiet", "--message", "third"], cwd=folder, check=True)


def test_clean_clone_leaves_all_areas_out(clone: Path, capsys: pytest.CaptureFixture[str]):
    what_to_test.main()
    assert capsys.readouterr().out == f"{LEFT_OUT}\n"


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "new"])
@pytest.mark.parametrize("marks", AREAS)
def test_area_that_was_changed_is_tested_too(
    marks: tuple[str, ...], committed: bool, clone: Path, capsys: pytest.CaptureFixture[str]
):
    path = AREAS[marks][0] + "changed.py"
    write(clone, path, committed)
    what_to_test.main()
    found = capsys.readouterr()
    assert not any(mark in found.out for mark in marks)
    assert all(mark in found.out for others in AREAS if others != marks for mark in others)
    assert f"{', '.join(marks)}: tested too, since {path} was changed" in found.err


def test_change_of_no_area_adds_none(clone: Path, capsys: pytest.CaptureFixture[str]):
    write(clone, "README.md", committed=False)
    what_to_test.main()
    assert capsys.readouterr().out == f"{LEFT_OUT}\n"


def test_folder_without_a_repository_has_no_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert changes(tmp_path) == []
    monkeypatch.setenv("PATH", "")
    assert changes(ROOT) == []


def test_areas_are_of_paths_and_marks_that_exist(pytestconfig: pytest.Config):
    declared = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert {mark for marks in AREAS for mark in marks} <= declared
    assert all((ROOT / path).exists() for paths in AREAS.values() for path in paths)
