"""The guides' blocks without prompts, which need packages that a reader may lack. Blocks with prompts are doctests."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from proofread import section
from test_claims import SPAN, rows

import micrograd
from micrograd import Tensor, functional, nn, optim

ROOT = Path(__file__).parent.parent
GUIDES, LESSONS = ROOT / "docs", ROOT / "demos" / "lessons"


def programs(guide):
    """The blocks of a guide that are plain Python."""
    text = (GUIDES / f"{guide}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [block for block in blocks if not block.startswith(">>>")]


def test_exported_models_give_the_same_numbers_elsewhere(tmp_path, monkeypatch):
    for package in ("torch", "onnx", "onnxruntime"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names = {}
    for program in programs("elsewhere"):
        exec(program, names)
    assert {path.name for path in tmp_path.iterdir()} == {"model.safetensors", "model.onnx", "small.onnx"}
    assert (tmp_path / "small.onnx").stat().st_size < 4096  # "a few kilobytes"


def test_words_that_replace_pytorchs_are_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {name: getattr(micrograd, name) for name in dir(micrograd)}
    a, x, y = np.ones((2, 3)), Tensor(np.ones((2, 3)), requires_grad=True), Tensor(np.zeros((2, 3)))
    names |= {"np": np, "optim": optim, "functional": functional, "a": a, "x": x, "mse_loss": functional.mse_loss}
    names |= {"f": lambda x: (x * x).sum(), "loss": lambda: (x * x).sum(), "model": nn.Linear(3, 1)}
    text = (GUIDES / "from_pytorch.md").read_text(encoding="utf-8")
    for _, ours in rows(section(text, "Word for word")):
        for span in SPAN.findall(ours):
            total = (x * x).sum() if "create_graph" in span else y
            eval(span, names | {"y": total})


def test_exercise_that_a_teacher_adds_is_checked():
    (program,) = programs("teach")
    command = [sys.executable, "-X", "utf8"]
    done = subprocess.run(command, input=program, cwd=LESSONS, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, "4.9  ✓ right\n"), done.stderr


def test_public_name_is_imported_by_its_public_path():
    """A reader should not see two ways to the same name, nor one through a folder that may move."""
    homes = {name: home for home, names in micrograd._HOME.items() if "." in home for name in names.split()}
    code = [*ROOT.glob("demos/**/*.py"), *ROOT.glob("demos/lessons/*.ipynb"), *ROOT.glob("site/live/**/*.py")]
    found = []
    for path in [*code, *GUIDES.glob("*.md"), ROOT / "README.md"]:
        imports = re.findall(r"from micrograd\.([\w.]+) import ([\w, ]+)", path.read_text(encoding="utf-8"))
        found += [(path.name, name) for home, names in imports for name in names.split(", ") if homes.get(name) == home]
    assert found == []
