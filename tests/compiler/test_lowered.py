"""The public form of programs, and back ends that other packages bring."""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from compile_helpers import same, with_gradients

import micrograd
from micrograd import Tensor, nn
from micrograd.compiler import backends, lowered
from micrograd.compiler.lowered import Lowered
from micrograd.functional import cross_entropy
from micrograd.optim import SGD

FOLDER = Path(backends.__file__).parent
FILES = [*FOLDER.glob("*.py"), *(FOLDER.parents[1] / "backends").glob("*.py")]


class Interpreter:
    """A back end that runs the steps one by one; the guide has one that does so by itself."""

    def __init__(self, version: int = lowered.VERSION, lacking: str = ""):
        self.VERSION = version
        self.lacking = lacking
        self.compiled: list[Lowered] = []

    def lacks(self, program: Lowered) -> str:
        return self.lacking

    def compile(self, program: Lowered) -> Any:
        self.compiled.append(program)
        return Run(program)


class Run:
    source = "step by step"

    def __init__(self, program: Lowered):
        self.program = program

    def __call__(self, *given: Any) -> Any:
        return self.program.run(*given)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(backends, "REGISTERED", {})
    return backends.register


def outside(path: Path) -> set[str]:
    """What a file imports of the package, but for its own folder."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level > 1:
            found |= {node.module} if node.module else {name.name for name in node.names}
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and "micrograd" in ast.unparse(node):
            found.add(ast.unparse(node))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_back_end_imports_the_public_form_and_nothing_else_of_the_package(path: Path):
    assert outside(path) <= {"lowered" if path.parent == FOLDER else "compiler.lowered"}


def test_registered_back_end_runs_a_model_and_its_gradients_as_eager_mode_does(registered: Any):
    registered("steps", mine := Interpreter())
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    loss = lambda x, y: cross_entropy(model(x), y)  # noqa: E731
    x, y = np.random.default_rng(0).normal(size=(5, 3)), np.array([0, 1, 1, 0, 1])
    f = micrograd.compile(loss, backend="steps")
    same(*(with_gradients(call, model.parameters(), x, y) for call in (f, loss)))
    assert f.source == "step by step"
    assert f.lowered in mine.compiled


def test_back_end_of_another_package_is_found_by_its_entry_point(registered: Any, monkeypatch: pytest.MonkeyPatch):
    entry = SimpleNamespace(name="steps", value="other.package", load=Interpreter)
    monkeypatch.setattr(backends, "entry_points", lambda group: [entry] if group == "micrograd.backends" else [])
    assert micrograd.compile(lambda x: x * 2.0, backend="steps")(Tensor([1.0, 2.0])).data.tolist() == [2.0, 4.0]


def test_back_end_that_cannot_be_imported_names_its_entry_point(registered: Any, monkeypatch: pytest.MonkeyPatch):
    def load() -> Any:
        raise ImportError("no such module")

    entry = SimpleNamespace(name="steps", value="other.package", load=load)
    monkeypatch.setattr(backends, "entry_points", lambda group: [entry])
    with pytest.raises(ImportError, match="no such module") as error:
        micrograd.compile(lambda x: x * 2.0, backend="steps")(1.0)
    assert "is the entry point other.package" in error.value.__notes__[0]


def test_unknown_back_end_names_those_there_are(registered: Any):
    registered("steps", Interpreter())
    with pytest.raises(ValueError, match="'tpu': it must be 'auto', 'python', 'numpy', 'c', 'jax', 'steps'"):
        micrograd.compile(lambda x: x, backend="tpu")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"version": lowered.VERSION + 1}, "'mine' is for version 2 of the form of programs, found 1"),
        ({"lacking": "has no multiply"}, "backend='mine' has no multiply"),
    ],
)
def test_back_end_that_cannot_take_a_program_is_refused(registered: Any, settings: dict[str, Any], message: str):
    registered("mine", Interpreter(**settings))
    with pytest.raises(RuntimeError, match=message):
        micrograd.compile(lambda x: x * 2.0, backend="mine")(Tensor([1.0]))


def test_backend_is_registered_only_if_it_is_one(registered: Any):
    with pytest.raises(TypeError, match="found no compile in"):
        registered("half", SimpleNamespace(lacks=lambda program: ""))
    with pytest.raises(ValueError, match="'numpy', which a back end of this package has"):
        registered("numpy", Interpreter())
    assert backends.REGISTERED == {}


def test_program_runs_step_by_step_and_updates_nothing():
    w = Tensor([[1.0, 2.0]], requires_grad=True)
    step = micrograd.compile(lambda x: ((x @ w) ** 2).sum(), update=SGD([w], lr=0.1))
    x = np.array([[3.0]])
    step(x)
    before = w.detach().data.copy()
    values, gradients = step.lowered.run(*step.program._read(), x)
    np.testing.assert_allclose(values, [9 * (before**2).sum()])
    assert gradients == []
    np.testing.assert_array_equal(w.data, before)


def test_program_says_the_version_of_its_form():
    f = micrograd.compile(lambda x: x**3)
    f(2.0)
    assert f.lowered.version == lowered.VERSION == 1
