"""What make says where it cannot do what it was asked to."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
if shutil.which("make") is None:
    pytest.skip("no make", allow_module_level=True)
MAKES = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON"}
LESSON = "demos/lessons/00_the_python_that_you_need.ipynb"


@pytest.fixture
def make(tmp_path):
    """Run make in a folder where .venv is ready, with these programs before all others, each a line of shell."""
    for name in ("Makefile", "pyproject.toml", LESSON):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    program(tmp_path / ".venv" / "bin" / "jupyter", 'echo "jupyter $*"')

    def run(*words, path=os.environ["PATH"], **programs):
        for name, line in programs.items():
            program(tmp_path / "bin" / name.replace("_", "."), line)
        ours = {name: x for name, x in os.environ.items() if name not in MAKES}  # of the make that runs the tests
        env = {**ours, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{path}"}
        return subprocess.run(["make", *words], cwd=tmp_path, env=env, capture_output=True, text=True)

    return run


def program(path, line):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def ready(tmp_path):
    for stamp in (".made", ".demos"):
        (tmp_path / ".venv" / stamp).touch()


def opened(tmp_path):
    """What make runs to open the lessons; the guides that they link to are above them."""
    return f"jupyter lab --ServerApp.root_dir={tmp_path} {LESSON}"


def test_python_that_is_too_old_is_named(make):
    old = 'test "$1" = --version && echo Python 3.10.13'
    none = dict.fromkeys(("python3", "python", *(f"python3_{minor}" for minor in range(8, 20))), "exit 127")
    done = make("demo", **(none | {"python3_10": old}))
    assert done.returncode
    assert "needs Python 3.11 or newer; found: Python 3.10.13 (python3.10)." in done.stdout
    assert "found: none." in make("demo", **none).stdout
    assert "found: Python 3.10.13 (python3.10)." in make("demo", "PYTHON=python3.10", python3_10=old).stdout


def test_lessons_begin_with_the_first_in_a_jupyter_that_sees_the_whole_checkout(make, tmp_path):
    ready(tmp_path)
    done = make("lessons", id="echo 1000")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, opened(tmp_path))


def test_root_is_told_how_to_open_the_lessons(make, tmp_path):
    ready(tmp_path)
    done = make("lessons", id="echo 0")
    assert done.returncode
    assert "jupyter lab" not in done.stdout
    assert "as another user; or, in a container, say: make lessons ARGS=--allow-root" in done.stdout
    done = make("lessons", "ARGS=--allow-root", id="echo 0")
    assert done.stdout.splitlines()[-1] == f"{opened(tmp_path)} --allow-root"


def test_javascript_is_checked_by_what_npm_fetched_once(make, tmp_path):
    folder = tmp_path / "tools" / "javascript"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "package-lock.json").touch()
    said = [make("javascript", "DO=check", npm='echo "npm: $*"').stdout.splitlines() for _ in range(2)]
    first, second = ([line for line in lines if line.startswith("npm: ")] for lines in said)
    assert first[0].startswith("npm: ci ")
    assert first[1:] == second == ["npm: run --silent --prefix tools/javascript check"]


def test_where_npm_is_missing_javascript_is_left_out_unless_a_machine_has_everything(make, tmp_path, monkeypatch):
    for name in ("make", "sh"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    monkeypatch.delenv("MICROGRAD_HAS", raising=False)
    done = make("javascript", "DO=check", path="")
    assert (done.returncode, done.stdout) == (0, "JavaScript is left out: npm was not found. CI has it.\n")
    assert make("javascript", "DO=check", "MICROGRAD_HAS=everything", path="").returncode
