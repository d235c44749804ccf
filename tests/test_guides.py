"""The guides' blocks without prompts, which need packages that a reader may lack. Blocks with prompts are doctests."""

import importlib
import re
import subprocess
import sys
from functools import partial
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
    written = {"model.safetensors", "model.onnx", "small.onnx", "forces.onnx", "step.onnx", "state.json"}
    assert {path.name for path in tmp_path.iterdir()} == written
    assert (tmp_path / "small.onnx").stat().st_size < 4096  # "a few kilobytes"
    step = importlib.import_module("onnxruntime").InferenceSession("step.onnx")
    assert {x.name: x.shape for x in step.get_inputs()}["x"] == ["batch", 2]


def test_program_in_pytorch_is_shown_as_the_guide_says(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    names = {}
    for program in programs("pytorch_program"):
        exec(program, names)
    assert (tmp_path / "torch.html").stat().st_size < 150_000


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


# ------------------------------------------------------------------------------------------------ ways to add an op
def by_closure(x):
    """The square, with a closure."""
    out = micrograd.Value(x.data**2, (x,), "square")
    out._backward = lambda: setattr(x, "grad", x.grad + out.grad * 2 * x.data)
    return out


class Square(micrograd.Function):
    """The square, as a Function of operations."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


class SquareOfNumbers(micrograd.Function):
    """The square, as a Function that reads numbers."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.data**2

    @staticmethod
    def backward(ctx, g):
        return g.data * 2 * ctx.saved_tensors[0].data


WAYS = {
    "a function of operations": lambda x: x * x,
    "a closure": by_closure,
    "a `Function` of operations": Square.apply,
    "a `Function` that reads numbers": SquareOfNumbers.apply,
    "a row of the table": lambda x: x**2,
}


def works(action):
    """Whether something can be done with an operation, and not what is wrong with it if it cannot."""
    try:
        return action() is not False
    except (TypeError, RuntimeError, ValueError):
        return False


def second_derivative(f):
    x = micrograd.Value(3.0)
    (slope,) = micrograd.grad(f(x), x, create_graph=True)
    return float(micrograd.grad(slope, x)[0]) == 2.0


def compiled_twice(f):
    return [micrograd.compile(f, backend=backend)(3.0).data for backend in ("python", "numpy")] == [9.0, 9.0]


def exported(f, path):
    compiled = micrograd.compile(f)
    with micrograd.no_grad():
        compiled(3.0)
    micrograd.save(compiled, path)


def formula(f):
    """Whether the player shows a rule with the operand in it, rather than numbers or nothing."""
    story = f(micrograd.Value(3.0, label="x")).show(names={}).story()
    return any("{0}" in rule for _, rule in story["rules"])


def test_table_of_ways_to_add_an_operation_says_what_each_can_do(tmp_path):
    pytest.importorskip("onnx")
    text = (GUIDES / "own_op.md").read_text(encoding="utf-8").partition("\n## ")[0]
    told = {re.sub(r"^\[(.*)\]\(.*\)$", r"\1", way): said for way, *said in rows(text) if "](" in way}
    assert [*told] == [*WAYS]
    for way, f in WAYS.items():
        actions = (
            partial(second_derivative, f),
            partial(compiled_twice, f),
            partial(exported, f, tmp_path / "model.js"),
            partial(exported, f, tmp_path / "model.onnx"),
            partial(formula, f),
        )
        assert [said.startswith("yes") for said in told[way]] == [works(action) for action in actions], way
