"""What leaves this folder: a wheel with all its files in it, and an import that asks for nothing but Python."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
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
def sdist(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution of what git knows."""
    source, made = (tmp_path_factory.mktemp(name) for name in ("source", "made"))
    for name in tracked:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)
    python(f"from setuptools.build_meta import build_sdist; build_sdist({str(made)!r})", cwd=source)
    return next(made.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def environment(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean environment with the package alone in it: the sdist to a wheel, and the wheel installed."""
    made, clean = (tmp_path_factory.mktemp(name) for name in ("wheel", "clean"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    # No build isolation: the build then takes the setuptools of the dev extra, and works without a network.
    output(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", made, sdist)
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


def test_source_distribution_holds_the_package_and_no_test_that_could_not_run_there(sdist, tracked):
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert [name for name in held if name.startswith("tests") or "test_" in name] == []
    assert {name for name in tracked if re.match(r"micrograd/|demos/\w+\.py|pyproject|setup\.py|LICENSE", name)} <= held


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


def test_three_fields_that_an_owner_fills_are_where_the_page_says():
    page = (ROOT / "docs" / "publish.md").read_text(encoding="utf-8")
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    lines = [line.removeprefix("# ") for line in lines]  # as one that is still to be filled in
    fields = re.findall(r"^\| `(\w+)` in `(\[[\w.]+\])`", page, re.MULTILINE)
    assert len(fields) == 3
    for field, section in fields:
        below = lines[lines.index(section) + 1 :]
        end = next((i for i, line in enumerate(below) if re.match(r"\[[\w.]+\]$", line)), None)
        assert any(line.startswith(f"{field} = ") for line in below[:end]), field


# ---- the same tomorrow: what others release does not change what is checked here


@pytest.mark.parametrize("tool", ["ruff", "pyright[nodejs]"])
def test_tool_that_judges_the_code_has_one_version_that_is_written_in_one_place(tool):
    [said] = [word for word in EXTRAS["dev"] if word.startswith(tool)]
    assert re.fullmatch(re.escape(tool) + r"==[\d.]+", said)
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"- repo: (.*)", hooks) == ["local"]  # any other would have a version of its own
    entries = re.findall(r"entry: (\S+)", hooks)
    assert f".venv/bin/{tool.partition('[')[0]}" in entries
    assert all(entry.startswith(".venv/bin/") for entry in entries)


@pytest.mark.parametrize(("name", "said"), [("graphviz", PROJECT["dependencies"]), ("jax", EXTRAS["jax"])])
def test_package_that_may_still_change_what_is_called_has_an_upper_bound(name, said):
    [bounds] = [word for word in said if word.startswith(name)]
    assert re.fullmatch(name + r">=[\d.]+,<[\d.]+", bounds)


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.name for path in WORKFLOWS])
def test_workflow_runs_pinned_actions_with_the_least_rights(path):
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used
    assert [words for words in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v[\d.]+", words)] == []
    assert re.search(r"^permissions: *(\{\}|\n  contents: read)$", text, re.MULTILINE)
    checkouts = len(re.findall("uses: actions/checkout@", text))
    assert text.count("persist-credentials: false") == checkouts


def test_two_workflows_use_the_same_version_of_an_action():
    used = {words for path in WORKFLOWS for words in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))}
    assert len({words.partition("@")[0] for words in used}) == len(used)
