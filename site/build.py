"""`make site`: the whole site as a static folder, out/site/, which any host can serve from any sub-folder.

It needs Python 3.11 and Node (with npm), and the registries of the two on the first run. What comes from there has the
versions and hashes of package-lock.json and requirements.txt, and is kept in site/.build/.

    live/        the playground, the training page, and the Python that runs in them; a page that runs a trained model
    phone.py     trains that model
    gpt.py       exports the training step of the GPT page
    front.py     exports what runs on the front page, the training page's steps, and tables that the pages share
    pages/       the other pages, in Markdown, and Sphinx's settings; sources.py adds the lessons
    lite.py      JupyterLite beside it, if asked
    check.py     what a site must be: links that lead somewhere, nothing from another host
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from check import faults
from lite import lite, released, tools, write

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KEPT = HERE / ".build"
OUT = ROOT / "out" / "site"
ONNXRUNTIME = ("ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm")
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
LICENCES = ("LICENSE", "LICENCE", "COPYING")  # how the names of such files begin
SMALL = 2**20  # bytes: a file that a browser keeps at the first visit, before it is asked for
STAMP = (1980, 1, 1, 0, 0, 0)  # of the files in an archive: the same sources give the same bytes


def main() -> None:
    """Build what was asked for, in a folder beside out/site/ that takes its place when all is well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--live", action="store_true", help="the live pages alone, without Sphinx")
    parser.add_argument("--lite", action="store_true", help="with JupyterLite, for the lessons that run without NumPy")
    parser.add_argument("--numpy", type=Path, metavar="FOLDER", help="with NumPy, from an unpacked Pyodide release")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder to write (default: out/site)")
    arguments = parser.parse_args()
    if arguments.numpy and not arguments.numpy.is_dir():
        parser.error(f"NUMPY is the folder of an unpacked Pyodide release; found {arguments.numpy}")
    began = time.perf_counter()
    new = arguments.out.with_name(arguments.out.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    packages = node_packages()
    libraries = python_packages()
    if not arguments.live:
        sphinx(new, packages, libraries, ["lite"] * arguments.lite + ["numpy"] * bool(arguments.numpy))
    live(new / "live", packages, libraries, arguments.numpy)
    shutil.copy2(HERE / "404.html", new)
    infos = jupyterlite(new, packages, arguments.numpy) if arguments.lite else []
    notices(new, packages, libraries, infos)
    found = list(faults(new.resolve(), live=arguments.live))
    if found:
        sys.exit("\n".join(found))
    shutil.rmtree(arguments.out, ignore_errors=True)
    new.rename(arguments.out)
    files = [path for path in arguments.out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"{arguments.out}: {len(files)} files, {size / 1e6:.1f} MB, in {time.perf_counter() - began:.0f} s")


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> None:
    """A command that must succeed; what it says is shown only if it does not."""
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, encoding="utf-8")
    if done.returncode:
        shown = " ".join(map(str, command))
        sys.exit(f"{done.stdout}\n{done.stderr}\n\n{shown}\nexited with {done.returncode}; see above")


# ------------------------------------------------------------------------------------------------ what is fetched
def fetched(name: str, locks: list[Path], fetch: Callable[[Path], None]) -> Path:
    """The folder for what lock files name, which `fetch` fills once; the files' hash is in its name."""
    digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()[:12]
    folder = KEPT / f"{name}-{digest}"
    if not (folder / ".whole").exists():
        for older in KEPT.glob(f"{name}-*"):
            shutil.rmtree(older)
        folder.mkdir(parents=True)
        print(f"fetching the packages of {' and '.join(lock.name for lock in locks)}", flush=True)
        fetch(folder)
        (folder / ".whole").touch()
    return folder


def node_packages() -> Path:
    """The folder node_modules, of exactly the versions and hashes in package-lock.json; no package runs a script."""

    def install(folder: Path) -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy2(HERE / name, folder)
        run(shutil.which("npm") or "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)

    for program in ("node", "npm"):
        if shutil.which(program) is None:
            sys.exit(f"the site needs Node 18 or newer, and its npm: {program} was not found on the PATH")
    return fetched("node", [HERE / "package-lock.json"], install) / "node_modules"


def python_packages() -> Path:
    """A folder of packages for Python, of exactly the versions and hashes in requirements.txt."""

    def install(folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        run(*pip, "--only-binary=:all:", "--require-hashes", "-r", HERE / "requirements.txt", "--target", folder)

    return fetched(f"python{sys.version_info.major}{sys.version_info.minor}", [HERE / "requirements.txt"], install)


# ------------------------------------------------------------------------------------------------ the live pages
def live(folder: Path, packages: Path, libraries: Path, numpy: Path | None) -> None:
    """The playground, the training page, the drills, the GPT and the phone page; NumPy for the lessons, if given."""
    vendor = folder / "vendor"
    vendor.mkdir(parents=True)
    for path in HERE.glob("live/*.*"):
        if path.name != "editor.entry.js":
            shutil.copy2(path, folder)
    for package, place, names in (("pyodide", "", PYODIDE), ("onnxruntime-web", "dist", ONNXRUNTIME)):
        (vendor / package).mkdir()
        for name in names:
            shutil.copy2(packages / package / place / name, vendor / package)
    lock = json.loads((packages / "pyodide" / "pyodide-lock.json").read_text(encoding="utf-8"))
    lock["packages"] = (
        dict(released(numpy, lock, vendor / "pyodide")) if numpy else {}
    )  # the others are on another host
    write(vendor / "pyodide" / "pyodide-lock.json", lock)
    bundle(HERE / "live" / "editor.entry.js", vendor / "editor.js", packages)
    archive(vendor / "python.zip", libraries)
    counted = [*(vendor / "pyodide" / name for name in PYODIDE), vendor / "python.zip"]
    sizes = {path.name: path.stat().st_size for path in counted if path.suffix != ".mjs"}
    version = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(counted))).hexdigest()[:12]
    write(vendor / "sizes.json", {"version": version, "sizes": sizes})
    examples(vendor)
    training(vendor)
    drills(vendor)
    for script in ("phone.py", "gpt.py", "front.py"):
        run(sys.executable, HERE / script, vendor, PYTHONPATH=os.pathsep.join(map(str, (ROOT, libraries))))
    one_file(folder, packages)
    later = ("offline.js", "python.zip")  # that goes with Pyodide, which is kept when it is used
    small = [path for path in folder.rglob("*.*") if path.stat().st_size < SMALL and path.name not in later]
    write(vendor / "offline.json", sorted(path.relative_to(folder).as_posix() for path in small))


def bundle(entry: Path, out: Path, packages: Path) -> None:
    """One module of an entry and all that it imports, by esbuild."""
    esbuild = [shutil.which("node") or "node", packages / "esbuild" / "bin" / "esbuild"]
    options = ["--bundle", "--minify", "--format=esm", "--target=es2022", "--legal-comments=none"]
    run(*esbuild, entry, *options, f"--outfile={out}", NODE_PATH=str(packages))


def one_file(folder: Path, packages: Path) -> None:
    """The GPT page: all that it needs goes into it, so that it works as a file too."""
    page, vendor = folder / "names.html", folder / "vendor"
    texts = {"settings": vendor / "gpt.json", "ours": folder / "names.txt", "player": vendor / "letter.html"}
    read = {name: path.read_text(encoding="utf-8") for name, path in texts.items()}
    for name in ("namespage.js", "namesworker.js", "style.css"):
        whole = vendor / f"whole-{name}"
        bundle(folder / name, whole, packages)
        read[name] = whole.read_text(encoding="utf-8")
        whole.unlink()
    given = {"settings": json.loads(read["settings"]), "ours": read["ours"], "player": read["player"]}
    json_place, page_place = '<script type="application/json" id="given">', '<script type="module">'
    parts = {
        '<link rel="stylesheet" href="style.css">': f"<style>{read['style.css']}</style>",
        json_place: json_place + script(given | {"thread": read["namesworker.js"]}),
        page_place: page_place + read["namespage.js"],
    }
    text = page.read_text(encoding="utf-8")
    for place, filled in parts.items():
        before, after = text.split(place)
        text = before + filled + after
    page.write_text(text, encoding="utf-8")
    texts["player"].unlink()
    (folder / "namespage.js").unlink()


def script(what: object) -> str:
    """As JSON that ends no script."""
    return json.dumps(what, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def archive(path: Path, libraries: Path) -> None:
    """The Python of the live pages: micrograd, lab, graphviz for drawings, and what checks the exercises."""
    lessons = ROOT / "demos" / "lessons"
    tops = (ROOT / "micrograd", HERE / "live" / "lab", libraries / "graphviz", lessons / "exercises")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        ours = [lessons / name for name in ("check.py", "pictures.py", "wrong_engines.py")]
        for source in (*ours, ROOT / "demos" / "one_page.py"):
            packed.writestr(zipfile.ZipInfo(source.name, STAMP), source.read_bytes(), zipfile.ZIP_DEFLATED)
        for top in tops:
            for source in sorted(top.rglob("*")):
                if source.is_file() and source.suffix in (".py", ".html", ".css", ".js", ".json"):
                    name = zipfile.ZipInfo(source.relative_to(top.parent).as_posix(), STAMP)
                    packed.writestr(name, source.read_bytes(), zipfile.ZIP_DEFLATED)


def examples(folder: Path) -> None:
    """Those of the playground: name, text, answer, so that there is a picture without Python; and the player's page."""
    sys.path[:0] = [str(ROOT), str(HERE / "live")]
    from lab.playing import drawn  # it needs no packages

    found = []
    for path in sorted(HERE.glob("live/examples/*.py")):
        title, _, code = path.read_text(encoding="utf-8").partition("\n")
        answer, page = drawn(code)
        if page is None:
            sys.exit(f"{path} draws nothing: {answer['error'] or answer['hint']}")
        if not found:
            page.save(folder / "player.html")
        found.append({"name": title.removeprefix("# "), "code": code, "answer": answer})
    write(folder / "examples.json", found)


def training(folder: Path) -> None:
    """The texts of the training page by kind of answer, and a training that was done now, to be seen without Python."""
    from lab.data import KINDS
    from lab.training import Training

    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(HERE.glob("live/training/*.py"))}
    seen = Training(texts["sign"], "moons", 0.1, 1)
    about, losses, norms, judged = seen.about(), [], [], []
    for _ in range(200):
        frame = seen.go(0, 20, 1)
        losses += frame["losses"]
        norms.append(frame["norms"])
        judged.append([rated(seen.model, points) for points in (seen.points, seen.held_out)])
    still = {"about": about, "frame": frame, "losses": losses, "norms": norms, "judged": judged}
    write(folder / "training.json", {"texts": texts, "kinds": KINDS, "still": still})


def rated(model: Any, points: list[Any]) -> dict[str, float]:
    """What the page computes of points whose answers are -1 and 1: the part that is right, and the mean hinge loss."""
    from micrograd import no_grad

    with no_grad():
        margins = [model(x).data * answer for x, answer in points]
    right, losses = sum(margin > 0 for margin in margins), [max(0.0, 1 - margin) for margin in margins]
    return {"right": right / len(points), "loss": round(sum(losses) / len(points), 5)}


def drills(folder: Path) -> None:
    """The levels of the drills page, and the first graph of each, to be seen without Python."""
    from lab.drilling import LEVELS, drilled

    first = {level: drilled(level, 1, []) for level in LEVELS}
    write(folder / "drills.json", {"levels": LEVELS, "first": first})


# ------------------------------------------------------------------------------------------------ the other pages
def sphinx(folder: Path, packages: Path, libraries: Path, with_: list[str]) -> None:
    """The pages that are read. A warning is an error."""
    pages, environment = KEPT / "pages", os.pathsep.join(map(str, (ROOT, libraries)))
    mathjax = packages / "mathjax" / "es5" / "tex-svg-full.js"
    run(sys.executable, HERE / "sources.py", pages, mathjax, *with_, PYTHONPATH=environment)
    builder = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-d", KEPT / "doctrees"]
    run(*builder, pages, folder, PYTHONPATH=environment, PYTHONWARNINGS="ignore")


def jupyterlite(folder: Path, packages: Path, numpy: Path | None) -> list[Path]:
    """JupyterLite, on the Pyodide that is there already; the folders of its packages' licences."""
    kept = fetched("lite", [HERE / "lite.txt", HERE / "lite-kernel.txt"], lambda folder: tools(folder, run))
    vendor, known = folder / "live" / "vendor", packages / "pyodide" / "pyodide-lock.json"
    lite(folder / "lite", vendor / "pyodide", known, vendor / "python.zip", numpy, kept, run)
    return [*kept.glob("env/**/*.dist-info"), *kept.glob("infos/*.dist-info")]


# ------------------------------------------------------------------------------------------------ licences
def notices(folder: Path, packages: Path, libraries: Path, infos: list[Path]) -> None:
    """NOTICES.txt: the licence of everything in the folder that others made, as its package has it."""
    parts = [(ROOT / "LICENSE").read_text(encoding="utf-8")]
    alone = sorted(HERE.glob("licences/*.txt"))  # of what has none in its package
    parts += [f"{path.stem}\n\n{path.read_text(encoding='utf-8')}" for path in alone]
    lock = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for name, entry in sorted(lock.items()):
        if name and not entry.get("dev"):
            parts.append(licence(name.removeprefix("node_modules/"), entry["version"], packages.parent / name, entry))
    here = ("graphviz", "sphinx", "furo", "pygments", "myst_nb")
    for info in [*(next(libraries.glob(f"{name}-*.dist-info")) for name in here), *infos]:
        name, _, version = info.name.removesuffix(".dist-info").rpartition("-")
        parts.append(licence(name, version, info, {}))
    text = "What this site is made of, and the licences of it.\n\n" + f"\n{'-' * 100}\n".join(parts)
    (folder / "NOTICES.txt").write_text(text, encoding="utf-8")


def licence(name: str, version: str, folder: Path, entry: dict[str, str]) -> str:
    """Name, version, the kind of licence, and its text where the package has a file of it."""
    files = sorted(path for path in folder.rglob("*") if path.name.upper().startswith(LICENCES) and path.is_file())
    texts = [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]
    return "\n\n".join([f"{name} {version}  {entry.get('license', '')}".strip(), *texts])


if __name__ == "__main__":
    main()
