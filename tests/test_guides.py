"""The guides' blocks without prompts, which need packages that a reader may lack. Blocks with prompts are doctests."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_claims import SPAN, rows, section

import micrograd
from micrograd import Tensor, functional, nn, optim

ROOT = Path(__file__).parent.parent
GUIDES, LESSONS = ROOT / "docs", ROOT / "demos" / "lessons"


def programs(guide):
    """The blocks of a guide that are plain Python."""
    text = (GUIDES / f"{guide}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [block for block in blocks if not block.startswith(">>>")]


def test_what_is_taken_elsewhere_gives_the_same_numbers_there(tmp_path, monkeypatch):
    for package in ("torch", "onnx", "onnxruntime"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names = {}
    for program in programs("elsewhere"):
        exec(program, names)
    assert {path.name for path in tmp_path.iterdir()} == {"model.safetensors", "model.onnx", "small.onnx"}
    assert (tmp_path / "small.onnx").stat().st_size < 4096  # "a few kilobytes"


def test_the_words_that_replace_pytorchs_are_there(tmp_path, monkeypatch):
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


def test_what_a_teacher_runs_beside_the_lessons_runs():
    """The sheet has all exercises and no solution; a fresh notebook has nothing right; an own exercise is checked."""
    found = []
    for program in programs("teach"):
        done = subprocess.run(
            [sys.executable, "-X", "utf8"],
            input=program.replace('"graded").glob("*', '".").glob("04_*'),
            cwd=LESSONS,
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
    sheet, results, own = found
    names = re.findall(
        r'check\("(4\.\d+)"', (LESSONS / "04_closures.ipynb").read_text(encoding="utf-8").replace("\\", "")
    )
    assert re.findall(r"^\*\*(4\.\d+)\*\*", sheet, re.MULTILINE) == sorted({*names})
    assert re.findall(r'^check\("(4\.\d+)"', sheet, re.MULTILINE) == sorted({*names})  # with the cell to complete
    assert "<details>" not in sheet
    assert results.startswith("04_closures {")
    assert ast.literal_eval(results.split(maxsplit=1)[1]) == dict.fromkeys(sorted({*names}), False)
    assert own == "4.9  ✓ right\n"


def test_a_notebook_is_graded_by_what_the_checker_printed(tmp_path):
    def cell(source, *printed):
        return {"cell_type": "code", "source": source, "outputs": [{"text": text} for text in printed]}

    checked = cell('check("4.1", cube)', "4.1  ✗ no\n", "4.1  ✓ right\n"), cell('check("4.2", 1)', "4.2  your turn\n")
    cells = [*checked, cell('print("4.3  ✓ right")', "4.3  ✓ right\n"), cell('check("4.4"')]
    (tmp_path / "04_ada.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    names = {}
    exec(programs("teach")[1], names)
    assert names["results"](tmp_path / "04_ada.ipynb") == {"4.1": True, "4.2": False}
