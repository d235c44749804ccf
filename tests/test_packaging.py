"""What leaves this folder: a wheel with all its files in it, and an import that asks for nothing but Python."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BASE = ["micrograd", "micrograd.engine", "micrograd.nn", "micrograd.optim"]


def output(*command: object, cwd: Path = ROOT) -> str:
    """What a command prints; when it fails, the test fails with all that it said."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"{command} exited {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def python(code: str, *flags: str, cwd: Path = ROOT) -> str:
    """What a fresh interpreter prints, with no `site-packages` under -S and none of the user's settings under -I."""
    return output(sys.executable, *flags, "-W", "error", "-c", code, cwd=cwd)


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """The files that git knows, so that what lies about in the folder cannot help the wheel."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no git checkout")
    return [name for name in output("git", "ls-files").splitlines() if (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def environment(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean environment with the package alone in it: checkout to sdist, sdist to wheel, and the wheel installed."""
    source, made, clean = (tmp_path_factory.mktemp(name) for name in ("source", "made", "clean"))
    for name in tracked:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    # No build isolation: the build then takes the setuptools of the dev extra, and works without a network.
    python(f"from setuptools.build_meta import build_sdist; build_sdist({str(made)!r})", cwd=source)
    output(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", made, *made.glob("*.tar.gz"))
    output(sys.executable, "-m", "venv", "--without-pip", clean)
    output(*pip, "--python", clean, "install", "--no-deps", "--no-index", *made.glob("*.whl"))
    return clean


@pytest.fixture(scope="module")
def installed(environment: Path) -> Path:
    """The folder with the installed package."""
    [package] = environment.rglob("micrograd/__init__.py")
    return package.parents[1]


def test_wheel_holds_every_file_of_the_package_and_nothing_beside_it(installed, tracked):
    missing = [name for name in tracked if name.startswith("micrograd/") and not (installed / name).is_file()]
    demos = [name for name in tracked if re.fullmatch(r"demos/\w+\.py", name)]  # lessons are read where they stand
    missing += [name for name in demos if not (installed / "micrograd" / name).is_file()]
    assert missing == []
    assert {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")} == {"micrograd"}


def test_import_loads_scalars_and_the_list_of_names_alone_and_never_numpy():
    code = "import sys, micrograd; print(*sorted(name for name in sys.modules if name.startswith('micrograd')))"
    loaded = {name.split(".")[1] for name in python(code).split()[1:]}
    assert loaded == {"face", "engine", "scalars", "common"}
    assert python(f"import sys; import {', '.join(BASE)}; print('numpy' in sys.modules)").strip() == "False"


def test_wheel_in_a_clean_environment_computes_and_prints_its_page(environment, tmp_path):
    [own] = [*environment.glob("bin/python"), *environment.glob("Scripts/python.exe")]
    run = [own, "-I", "-W", "error", "-m", "micrograd"]
    assert output(*run, "x**2", "x=3", cwd=tmp_path).startswith("x**2 = 9")
    assert output(*run, "page", cwd=tmp_path) == (ROOT / "demos" / "one_page.py").read_text(encoding="utf-8")


@pytest.mark.long
def test_type_checker_knows_every_type(tmp_path, monkeypatch):
    pytest.importorskip("pyright", reason="pyright, which proves the types, is not installed")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    command = [sys.executable, "-m", "pyright", "--verifytypes", "micrograd", "--ignoreexternal"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    unknown = [line for line in done.stdout.splitlines() if " error: " in line]
    assert (unknown, done.returncode) == ([], 0), done.stdout[-2000:] + done.stderr


def test_wheel_imports_where_nothing_else_is_installed_and_knows_its_version(installed, tmp_path):
    code = f"""
import importlib.metadata, sys
sys.path.insert(0, {str(installed)!r})
import {", ".join(BASE)}
print(micrograd.__file__, micrograd.__version__, importlib.metadata.version("micrograd-glass"), sep="\\n")"""
    place, version, metadata = python(code, "-I", "-S", cwd=tmp_path).splitlines()
    assert Path(place) == installed / "micrograd" / "__init__.py"
    assert version == metadata
