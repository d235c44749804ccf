"""What a program prints and writes is the same however Python is run, and wherever the package lies."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = """
import sys
from pathlib import Path

def refuse(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and (arguments[2] & 3 or "w" in str(arguments[1])):
        if Path(arguments[0]).resolve().is_relative_to(package):
            raise PermissionError(f"{arguments[0]} is in the package, which may be read-only")

import micrograd
package = Path(micrograd.__file__).resolve().parent
sys.addaudithook(refuse)

from micrograd import Tensor, Value, compile, load, nn, optim, save, viz

a, b = Value(-4.0, label="größe → λ"), Value(2.0, label="b")
program = compile(lambda a, b: (a * b + b**3).tanh() + a / b)
out = program(a, b) + (a * b + b**3).tanh() + a / b
out.backward()
print(out.data.hex(), a.grad.hex(), b.grad.hex(), program.source)
page = Path(sys.argv[1])
page.write_text(viz.draw_dot(out).svg() + viz.player(out).html + viz.animate(out).svg, encoding="utf-8")
model = nn.Linear(3, 1)
for p in model.parameters():
    p.data[:] = 0.5
(model(Tensor([[1.0, 2.0, 3.0]])) ** 2).mean().backward()
optim.Adam(model.parameters(), lr=0.1).step()
save(model, page.with_suffix(".safetensors"))
load(page.with_suffix(".safetensors"), into=model)
print(model.weight.tolist())
try:
    Value("three")
except TypeError as error:
    print(error)
"""


def run(folder: Path, *flags: str, package: Path = ROOT, **environment: str) -> tuple[str, bytes]:
    """What the program prints, and the page that it writes, into this folder."""
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-W", "error", *flags, str(folder / "program.py"), str(folder / "page.svg")]
    env = {**os.environ, "PYTHONPATH": str(package), **environment}
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, timeout=120, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout, (folder / "page.svg").read_bytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """As it comes out where nothing is out of the ordinary."""
    pytest.importorskip("numpy")
    return run(tmp_path_factory.mktemp("ordinary"))


def test_neither_asserts_and_docstrings_nor_hash_seeds_and_locales_change_anything(
    expected: tuple[str, bytes], tmp_path: Path
):
    assert run(tmp_path, "-OO", PYTHONHASHSEED="4711", LC_ALL="C", PYTHONUTF8="0") == expected


def test_read_only_install_in_a_path_with_a_blank_changes_nothing(expected: tuple[str, bytes], tmp_path: Path):
    """Root may write anywhere: so the program's audit hook refuses as well."""
    package = tmp_path / "a path, with blanks"
    shutil.copytree(ROOT / "micrograd", package / "micrograd", ignore=shutil.ignore_patterns("__pycache__"))
    places = [package, *package.rglob("*")]
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        assert run(tmp_path, package=package) == expected
    finally:
        for place in places:
            place.chmod(0o755)
