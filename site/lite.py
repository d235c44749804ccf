"""`make site LITE=1`: JupyterLite in lite/, with the lessons that run there, on the Pyodide of the live pages.

Pyodide's lock names the pure packages that a notebook's kernel needs, and their versions; they are fetched from the
registry by the hashes of lite-kernel.txt, and the lock gets those. micrograd comes as an archive, with what checks the
exercises.

Most lessons need NumPy, of which no registry has a build for the browser. Pyodide's full release has one: with
`NUMPY=FOLDER`, an unpacked release, it is taken from there, checked against the lock, and the lessons with it.
"""

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

from sources import NUMPY, runs

HERE = Path(__file__).resolve().parent
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
LESSONS = sorted((HERE.parent / "demos" / "lessons").glob("*.ipynb"))
OURS = "micrograd-lessons.zip"
MODIFIED = datetime(1980, 1, 1, tzinfo=UTC).isoformat()


def lite(
    folder: Path, pyodide: Path, known: Path, ours: Path, numpy: Path | None, kept: Path, run: Callable[..., None]
) -> None:
    """Write the folder lite/.

    Args:
        folder: where to.
        pyodide: the folder in the site that Pyodide is in; packages are added to it.
        known: Pyodide's own lock, of all packages.
        ours: the archive of the live pages' Python.
        numpy: a folder of Pyodide's full release, or None.
        kept: the folder that `tools` filled.
        run: runs a command that must succeed.
    """
    wheels = kept / "wheels"
    (command,) = [*kept.glob("env/bin/jupyter-lite"), *kept.glob("env/Scripts/jupyter-lite.exe")]
    nothing = kept / "nothing"  # it takes what lies in the folder where it is started
    nothing.mkdir(exist_ok=True)
    run(command, "build", "--output-dir", folder, "--apps", "lab", "--no-sourcemaps", cwd=nothing)
    contents(folder, {path.name: notebook(path, bool(numpy)) for path in LESSONS if runs(path.name, bool(numpy))})
    lock = json.loads(known.read_text(encoding="utf-8"))
    packages = dict(locked(sorted(wheels.glob("*.whl")), lock["packages"]))
    packages["micrograd"] = entry(ours, "micrograd", "0", ["graphviz"], OURS)
    shutil.copy2(ours, pyodide / OURS)
    for wheel in wheels.glob("*.whl"):
        shutil.copy2(wheel, pyodide)
    loaded = sorted(packages)
    if numpy:
        packages = dict(released(numpy, lock, pyodide)) | packages
    else:
        print("lite/ has the lessons without NumPy, which no registry has for browsers: NUMPY=FOLDER takes a release's")
    write(pyodide / "pyodide-lock.json", lock | {"packages": packages})
    settings = folder / "jupyter-lite.json"
    config = json.loads(settings.read_text(encoding="utf-8"))
    config["jupyter-config-data"] |= {
        "contentsAllJsonFile": "all.json",
        "litePluginSettings": {
            KERNEL: {
                **config["jupyter-config-data"].get("litePluginSettings", {}).get(KERNEL, {}),
                "pyodideUrl": f"../../{pyodide.relative_to(folder.parent).as_posix()}/pyodide.mjs",
                "loadPyodideOptions": {"packages": loaded},
                "disablePyPIFallback": True,
            }
        },
    }
    write(settings, config)


def tools(kept: Path, run: Callable[..., None]) -> None:
    """Fetch JupyterLite's command, and the packages of its kernel with their licences."""
    tool, wheels = kept / "env", kept / "wheels"
    run(sys.executable, "-m", "venv", "--without-pip", tool)
    (python,) = [*tool.glob("bin/python"), *tool.glob("Scripts/python.exe")]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    exactly = ["--no-deps", "--only-binary=:all:", "--require-hashes", "-r"]
    run(*pip, "--python", python, "install", *exactly, HERE / "lite.txt")
    of_the_kernel = ["--python-version", "3.14", "--platform", "any", "--dest", wheels]
    run(*pip, "download", *of_the_kernel, *exactly, HERE / "lite-kernel.txt")
    for wheel in wheels.glob("*.whl"):
        with ZipFile(wheel) as archive:
            archive.extractall(kept / "infos", [name for name in archive.namelist() if ".dist-info/" in name])


def released(folder: Path, lock: dict, pyodide: Path) -> Iterator[tuple[str, dict]]:
    """The entries of NumPy and what else the lessons import, with all that these need; the files go to `pyodide`."""
    waiting, seen = [*NUMPY], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        package = lock["packages"][name]
        file = folder / package["file_name"]
        if not file.is_file():
            sys.exit(f"{file} is missing: NUMPY is the folder of an unpacked Pyodide release, with all its packages")
        if hashlib.sha256(file.read_bytes()).hexdigest() != package["sha256"]:
            sys.exit(
                f"{file} is not the file that Pyodide's lock names: take the release of the version in package.json"
            )
        shutil.copy2(file, pyodide)
        waiting += package["depends"]
        yield name, package


def write(path: Path, what: object) -> None:
    """As JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(what, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def notebook(path: Path, numpy: bool) -> str:
    """The notebook; without NumPy, a cell that matplotlib drew is what it says and its picture, and does not run."""
    found = json.loads(path.read_text(encoding="utf-8"))
    for cell in found["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and not numpy and re.search(r"\bplt\.", source):
            del cell["execution_count"]
            (picture,) = [output["data"]["image/png"] for output in cell.pop("outputs") if "data" in output]
            picture = "".join(picture).replace("\n", "")
            words = "matplotlib, which drew this, is not here. No other cell needs this one."
            source = f"```python\n{source}\n```\n\n![The picture](data:image/png;base64,{picture})\n\n{words}"
            cell |= {"cell_type": "markdown", "source": source}
    return json.dumps(found)


def contents(folder: Path, lessons: dict[str, str]) -> None:
    """The notebooks by name, and the list of them that JupyterLite shows as a folder."""
    (folder / "files").mkdir(exist_ok=True)
    common = {"created": MODIFIED, "last_modified": MODIFIED, "content": None, "format": None, "writable": True}
    listed = []
    for name, text in lessons.items():
        (folder / "files" / name).write_text(text, encoding="utf-8")
        about = {"name": name, "path": name, "type": "notebook", "mimetype": None, "size": len(text)}
        listed.append(common | about)
    whole = {"name": "", "path": "", "type": "directory", "mimetype": None, "size": None, "format": "json"}
    write(folder / "api" / "contents" / "all.json", common | whole | {"content": listed})


def locked(wheels: list[Path], known: dict[str, dict]) -> Iterator[tuple[str, dict]]:
    """The entries of a lock for these wheels; what Pyodide knows of one, its needs above all, stays."""
    names = {normal(name): name for name in known}
    here = {normal(wheel.name.split("-")[0]) for wheel in wheels}
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        old = known.get(names.get(normal(name), ""), {})
        if old and old["version"] != version:
            sys.exit(
                f"{wheel.name} is of another version than Pyodide's lock has, {old['version']}: see lite-kernel.txt"
            )
        needs = [need for need in old.get("depends", []) if normal(need) in here]
        found = entry(wheel, names.get(normal(name), name), version, needs, wheel.name)
        yield normal(found["name"]), found | {"imports": old.get("imports", found["imports"])}


def entry(path: Path, name: str, version: str, needs: list[str], file_name: str) -> dict:
    """A package of a lock."""
    with ZipFile(path) as archive:
        tops = {part.partition("/")[0].removesuffix(".py") for part in archive.namelist() if ".dist-info/" not in part}
    return {
        "name": name,
        "version": version,
        "file_name": file_name,
        "install_dir": "site",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(tops),
        "depends": needs,
        "unvendored_tests": False,
    }


def normal(name: str) -> str:
    """A package's name in the one way in which all can be compared."""
    return name.lower().replace("_", "-").replace(".", "-")
