"""The floors of the house come off one by one, from the top: what is below neither needs nor misses them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import micrograd

pytestmark = pytest.mark.long

PACKAGE, TESTS = Path(micrograd.__file__).parent, Path(__file__).parent

# From the top: what is taken off, besides all that was before, and some tests of what is left.
FLOORS: dict[str, tuple[list[str], list[str]]] = {
    "command": (["command", "__main__.py"], ["viz/test_rule_text.py"]),
    "viz": (["viz"], ["compiler/test_compile_unchanged.py"]),
    "backends": (["backends"], ["compiler/test_compile_source.py"]),
    "compiler": (["compiler"], ["nn/test_optim_state.py"]),
    "nn, optim, functional": (["nn", "optim", "functional"], ["autograd/test_function_saved.py"]),
    "autograd": (["autograd"], ["tensor/test_tensor_memory.py"]),
    "tensor": (["tensor"], ["engine/test_engine.py"]),
    "scalars": (["scalars", "common", "face.py", "__init__.pyi"], []),
}
ALONE = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder)]  # it would find what is gone
"""
IMPORT_ALL = """
import importlib, pkgutil
import micrograd
for module in pkgutil.walk_packages(micrograd.__path__, "micrograd."):
    if not module.name.startswith("micrograd.viz.from_torch."):  # which PyTorch has to be installed for
        importlib.import_module(module.name)
from micrograd.engine import Value
x = Value(3.0)
(x * x).backward()
assert x.grad == 6.0
"""
GONE = """
f = micrograd.compile(lambda x: x * x)
assert f(3.0).data == 9.0
for use in (lambda: micrograd.compile(f, backend="c"), f.to_js, f.to_onnx):
    try:
        use()
    except (ValueError, ModuleNotFoundError) as error:
        assert "must be 'auto', 'python', 'numpy'" in str(error) or "'micrograd.backends'" in str(error)
    else:
        raise AssertionError("found a back end that is not there")
"""


@pytest.mark.parametrize("last", FLOORS)
def test_without_its_upper_floors_the_rest_works(last: str, tmp_path: Path):
    house = tmp_path / "micrograd"
    shutil.copytree(PACKAGE, house, ignore=shutil.ignore_patterns("__pycache__"))
    for floor, (names, _) in FLOORS.items():
        for name in names:
            shutil.rmtree(house / name) if (house / name).is_dir() else (house / name).unlink()
        if floor == last:
            break
    if last == "scalars":
        (house / "__init__.py").write_text("")  # which attaches them
    works(tmp_path, FLOORS[last][1])


def test_without_the_folder_of_back_ends_alone_the_rest_works(tmp_path: Path):
    house = tmp_path / "micrograd"
    shutil.copytree(PACKAGE, house, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(house / "backends")
    works(
        tmp_path, ["compiler/test_compile.py", "compiler/test_compile_exact.py", "compiler/test_compile_batch.py"], GONE
    )


def works(tmp_path: Path, tests: list[str], more: str = "") -> None:
    """Import all of the package in this folder, and run these tests with it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(TESTS)])}
    environment.pop("MICROGRAD_HAS", None)  # not everything is there
    commands = [[sys.executable, "-P", "-c", ALONE + IMPORT_ALL + more]]
    if tests:
        quiet = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:nbmake", "-n", "0"]
        run = f"{ALONE}import pytest\nsys.exit(pytest.main({[*quiet, *(str(TESTS / file) for file in tests)]}))"
        commands.append([sys.executable, "-P", "-c", run])
    for command in commands:
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
