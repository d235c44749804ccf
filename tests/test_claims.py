"""What README.md and CONTRIBUTING.md claim, checked: tables, drawings, examples."""

import ast
import doctest
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from proofread import section
from test_layering import PACKAGE

import micrograd
from micrograd import Tensor, Value, functional, nn, optim, viz
from micrograd.nn import layers

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("use", "see")}
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(text):
    """The first block of code."""
    return re.search(r"^```.*?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]


def rows(text):
    """The cells of a table, without its head."""
    table = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in table[2:]]


def test_python_and_extras_are_those_that_are_said():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    python = f"Python {project['requires-python'].removeprefix('>=')} or newer"
    assert python in README
    assert python in install
    assert {*re.findall(r"\.\[(\w+)\]", install)} <= {*project["optional-dependencies"]}


# ---------------------------------------------------------------------------------------------------------------------
# The API by task

SPAN = re.compile(r"`([^`]+)`")


def test_table_of_the_api_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = Tensor([2.0, 3.0], requires_grad=True)
    model = nn.Linear(2, 1)
    loss = lambda x: (model(x) ** 2).sum()  # noqa: E731
    names = {name: getattr(home, name) for home in (nn, optim, functional, viz, micrograd) for name in dir(home)}
    names |= {"model": model, "loss": loss, "x": x, "t": Tensor(np.eye(2)), "u": x, "f": lambda x: (x * x).sum()}
    names |= {"np": np, "out": Value(1.0, (Value(1.0),)), "state_dict": model.state_dict}
    names |= {"optimizer": optim.SGD(model.parameters(), lr=0.1), "step": 20, "params": [x], "total": lambda flat: flat}
    names |= {"rank": 0, "workers": 2, "path": "run.safetensors"}
    names["load_state_dict"] = lambda: model.load_state_dict(model.state_dict())
    wanted = SPAN.findall(" ".join(row[1] for row in rows(section(GUIDES["use"], "By task"))))
    wanted.remove(".grad")
    assert len(wanted) > 50
    for span in wanted:
        names["y"] = (x * x).sum()
        if "onnx" in span and find_spec("onnx") is None:
            continue
        names["f"](x)
        code = span.replace("SGD(...)", "SGD(model.parameters(), lr=0.1)").replace("batches(x, y", "batches(x, x.data")
        code = code.replace("[t, u]", "[t, t]").replace("{...}", "{'model': model}")
        code = "y.backward(create_graph=True)" if span == "create_graph=True" else code
        exec(code.replace(":", ": pass") if span.endswith(":") else code, names)
        if span == "f = compile(model)":  # "call it under `no_grad`"
            exec("with no_grad(): f(x.data)", names)


# ---------------------------------------------------------------------------------------------------------------------
# Pictures and programs


def test_film_shows_a_network_that_learns_when_the_page_is_typed_in_order():
    names = {}
    for example in doctest.DocTestParser().get_examples(GUIDES["see"]):
        if "+SKIP" not in example.source:
            exec(example.source, names)
    frames = names["film"].frames
    assert frames[-1].loss < frames[0].loss / 2


def test_drawings_and_the_table_of_budgets_are_those_of_the_package(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import refresh

    for path, text in refresh.shown().items():
        assert path.read_text(encoding="utf-8") == text, "run docs/refresh.py"


def test_speed_beside_the_classic_is_as_was_measured():
    measured = [row for row in rows((ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")) if len(row) > 4]
    eager = [row for row in measured if row[1] == "default" and "classic" in row[3] and "compiled" not in row[0]]
    ratios = [float(re.match(r"\*\*([\d.]+)\*\* times", row[4])[1]) for row in eager if "times" in row[4]]
    assert f"{min(ratios):.0f} to {max(ratios):.0f} times as fast" in README


# ---------------------------------------------------------------------------------------------------------------------
# CONTRIBUTING.md


def test_examples_of_contributing_are_code_of_the_package_or_could_be():
    examples = re.findall(r"^```python\n(.*?)^```", CONTRIBUTING, re.DOTALL | re.MULTILINE)
    sources = [bare(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    new = [example for example in examples if not any(bare(example) in source for source in sources)]
    assert [example.partition("(")[0] for example in new] == ["class LeakyReLU"]
    exec(new[0], names := {**vars(layers)})
    layer = names["LeakyReLU"](0.5)
    assert (layer([-2.0, 2.0]).tolist(), repr(layer)) == ([-1.0, 2.0], "LeakyReLU(negative_slope=0.5)")


def bare(code):
    """Code without docstrings, comments and blanks, in one form."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return ast.unparse(tree).replace("  ", "")
